#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Compares kdapl with raw verbs and with libdaplofa: prints a line per case, a table, a
# plot.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/storage-lib.sh"
. "$vm_dir/bench-lib.sh"

usage() {
	cat >&2 <<-EOT
	usage: bench.sh [--times NUMBER] VERSION...
	  --times NUMBER   so often without the counting clock, on two processors;
	                   default 5, 0 for not at all
	What it finds is in build/bench; VERSION-memory.txt tells who asked for the
	memory of an object.
	EOT
	exit 2
}

times=5 versions=()
while [ $# -gt 0 ]; do
	case $1 in
	--times)
		[ $# -ge 2 ] || usage
		times=$2
		shift
		;;
	-*) usage ;;
	*) versions+=("$1") ;;
	esac
	shift
done
[ ${#versions[@]} -gt 0 ] || usage
out=$top_dir/build/bench
mkdir -p "$out"
rm -f "$out"/*-insn.txt "$out"/*-time.txt
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

# Medians: the state of the slabs changes the count by some hundred instructions.
counts=5

mapfile -t storage < <(storage_options)

# run VERSION RESULTS TIMES OPTION...
run() {
	local version=$1 results=$2 times=$3
	shift 3
	(boot_bench "$version" --timeout 1500 --log "$out/$version.log" "$@" \
		-- "$top_dir/selftests/bench/run.sh" "$times") >"$results" ||
		die "the measurement on $version has failed; see $out/$version.log"
	(boot_bench "$version" --timeout 1500 --log "$out/$version-srp.log" "$@" \
		"${storage[@]}" -- "$top_dir/selftests/bench/srp.sh" "$times") >>"$results" ||
		die "the measurement of a disk on $version has failed; see $out/$version-srp.log"
}

"$vm_dir/deps.sh" bench
for version in "${versions[@]}"; do
	build_bench "$version" "$out/build-$version.log"
	say "counting instructions on $version"
	run "$version" "$out/$version-insn.txt" $counts --icount --env BENCH_MEMORY=1
	sed -n 's/^# \(mem-[^ ]* [a-z]* [0-9]* [^ ]*\)$/\1/p' "$out/$version-insn.txt" |
		sort -k 1,2 -k 3,3nr >"$out/$version-memory.txt"
	[ "$times" -eq 0 ] || {
		say "measuring time on $version, $times times"
		run "$version" "$out/$version-time.txt" "$times"
	}
done

# lines UNIT FILE-SUFFIX: prints a line for each case that has a counterpart
lines() {
	local version
	for version in "${versions[@]}"; do
		[ ! -e "$out/$version-$2.txt" ] ||
			awk -v unit="$1" -v version="$version" -f "$vm_dir/bench.awk" \
				"$vm_dir/bench.goals" "$out/$version-$2.txt"
	done
}

rm -f "$out"/*.csv
lines insn/op insn | tee "$out/insn.lines"
lines ns/op time | tee "$out/time.lines"
for kind in insn time; do
	{
		echo "case,kernel,ours,peer,ratio,goal,unit,low,high"
		awk -F '[ =]' 'BEGIN { OFS = "," }
			{ print $2, $12, $4, $6, $8, $14, $10, $16, $18 }' "$out/$kind.lines"
	} >"$out/$kind.csv"
done
"$vm_dir/bench-plot.sh" "$out/insn.csv" >"$out/insn.svg"
[ "$times" -eq 0 ] || "$vm_dir/bench-plot.sh" "$out/time.csv" >"$out/time.svg"
cut -d , -f 1-7 "$out/insn.csv" | column -s, -t | tee "$out/table.txt"
say "the figures are in $out"
