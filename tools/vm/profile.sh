#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Counts the instructions of a case of `make bench` per function.
set -euo pipefail
export LC_ALL=C
. "$(dirname "$0")/lib.sh"
. "$vm_dir/storage-lib.sh"
. "$vm_dir/bench-lib.sh"

usage() {
	cat >&2 <<-EOT
	usage: profile.sh VERSION CASE SIDE PER
	  CASE, SIDE   as in a line "CASE SIDE NUMBER" of selftests/bench/run.sh: SIDE is
	               ours, other or raw
	  PER          a function that an operation calls once
	For each function: instructions and calls for one operation, name, module. What
	else the guest does meanwhile, as its timer, is in there as well.
	EOT
	exit 2
}

[ $# -eq 4 ] || usage
version=$1 name=$2 side=$3 per=$4
# Size limit of the trace, which has a line for each instruction.
megabytes=${KDAPL_TRACE_MB:-150}
out=$top_dir/build/profile/$version-$name-$side
mkdir -p "${out%/*}"
tmp=$(mktemp -d)
boot=
trap '[ -z "$boot" ] || kill "$boot" 2>/dev/null || :; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

# monitor COMMAND...: sends commands to QEMU's monitor
monitor() {
	printf '%s\n' "$*" | socat - "unix-connect:$tmp/monitor" >/dev/null
}

size_of_trace() {
	stat -c %s "$tmp/trace" 2>/dev/null || echo 0
}

"$vm_dir/deps.sh" bench
build_bench "$version" "$out.build"
boot_bench "$version" --icount --timeout 900 --monitor "$tmp/monitor" \
	--append norandmaps --log "$out.log" \
	-- "$top_dir/selftests/bench/profile.sh" "$name" "$side" >"$tmp/said" 2>&1 &
boot=$!
until grep -qx begin "$tmp/said"; do
	kill -0 "$boot" 2>/dev/null || { cat "$tmp/said" >&2; die "the guest has ended"; }
	sleep 0.5
done

monitor singlestep on
monitor logfile "$tmp/trace"
monitor log exec,nochain
while [ "$(size_of_trace)" -lt $((megabytes << 20)) ]; do
	kill -0 "$boot" 2>/dev/null || die "the guest has ended"
	sleep 0.5
done
monitor quit
wait "$boot" || :
boot=

# A line of the trace is "Trace 0: HOST [CS/PC/FLAGS/CFLAGS]".
awk -F / '/^Trace/ { n[$2]++ } END { for (pc in n) print pc, n[pc] }' "$tmp/trace" |
	sort >"$tmp/counts"
awk '/^symbol/ {
	print substr("0000000000000000", length($2) + 1) $2, "-", $3, $4
}' "$tmp/said" | sort >"$tmp/symbols"
sort -m "$tmp/symbols" "$tmp/counts" | awk -v per="$per" -f "$vm_dir/profile.awk" >"$tmp/table" ||
	die "it cannot be told how many operations there were"
sort -rn "$tmp/table" >"$out.txt"
cp "$tmp/symbols" "$out.symbols"
cp "$tmp/counts" "$out.counts"
cat "$out.txt"
