#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Tests the storage driver in a guest whose target, in another guest, is killed when the tests
# ask for it, and booted again. Prints TAP.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/storage-lib.sh"

die_status=126
usage() {
	cat >&2 <<-EOT
	usage: target-death.sh [OPTION]... VERSION STAGE KDAPL.KO LIBS
	  --debug, --kcsan    a kernel with sanitizers
	  --timeout SECONDS   default 600
	  --log FILE.log      default build/vm/target-death.log; FILE-target.log is the target's
	STAGE is a directory that is /selftests in the guests, LIBS one with libdat.
	exit status: boot.sh's, of the initiator
	EOT
	exit 126
}

debug='' limit=600 log=$top_dir/build/vm/target-death.log
while [[ ${1-} == --* ]]; do
	case $1 in
	--debug | --kcsan) debug=${1#--} ;;
	--timeout) limit=$2 && shift ;;
	--log) log=$2 && shift ;;
	*) usage ;;
	esac
	shift
done
[ $# -eq 4 ] || usage
version=$1 stage=$2 module=$3 libs=$4
initiator_address=10.0.2.1 target_address=10.0.2.2
tmp=$(mktemp -d)

# shellcheck disable=SC2317 # called by the trap
cleanup() {
	jobs -rp | xargs -r kill 2>/dev/null || :
	wait
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# boot LOG PORT PEER OPTION... -- SCRIPT ARGUMENT...
boot() {
	local log=$1 link=udp:$2:$3
	shift 3
	exec "$vm_dir/boot.sh" --kernel "$version" ${debug:+"--$debug"} --timeout "$limit" \
		--log "$log" --link "$link" --add "$stage:/selftests" --insmod "$module" \
		--lib "$libs" "${options[@]}" "$@"
}

boot_target() {
	boot "${log%.log}-target.log" "$port" "$peer" --address "$target_address" \
		--pidfile "$tmp/pid" -- "$top_dir/selftests/storage/target_guest.sh" \
		"$target_address" >"$tmp/target.out" 2>&1 &
	target=$!
}

kill_target() {
	kill -KILL "$(cat "$tmp/pid")"
	wait "$target" || :
	say "target-death.sh: $1"
}

mapfile -t options < <(storage_options)
port=$(free_port udp)
peer=$((port + 1))
mkfifo "$tmp/out"
boot_target
# A login succeeds as soon as the target has been set up.
until grep -qs id_ext= "$tmp/target.out"; do
	kill -0 "$target" 2>/dev/null || { cat "$tmp/target.out" >&2; die "no target"; }
	sleep 0.2
done
boot "$log" "$peer" "$port" --address "$initiator_address" --env "KDAPL_TARGET=$target_address" \
	-- "$top_dir/selftests/run.sh" storage >"$tmp/out" &
initiator=$!
while IFS= read -r line; do
	printf '%s\n' "$line"
	case $line in
	'# ready: '*) kill_target "has killed the target's guest, as planned" ;;
	'# gone: '*) boot_target ;;
	esac
done <"$tmp/out"
status=0
wait "$initiator" || status=$?
exit "$status"
