#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Measures what an EP costs in a process with 100, 1000 and 10,000 of them, and counts how
# often the posts of 64 processes wait for a lock.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/storage-lib.sh"
. "$vm_dir/bench-lib.sh"

usage() {
	cat >&2 <<-EOT
	usage: scale.sh [--icount] VERSION [NUMBER...]
	NUMBER of EPs is 100, 1000 and 10000 by default. Prints microseconds per EP: to kill a
	process whose EPs are connected, and to create, connect, disconnect and free an EP; at
	last to close the IA, with its EVDs; and how much longer the last tenth of the EPs took
	to connect than the first. Then one process with 64 EPs posts, and 64 such processes, on
	four processors; for each lock that somebody had to wait for there is a line with the
	function that took it, the most waits first.
	  --icount  without the posts, on one processor, and in thousands of instructions
	            instead of microseconds
	EOT
	exit 2
}

icount=''
if [ "${1-}" = --icount ]; then
	icount=yes
	shift
fi
[ $# -ge 1 ] || usage
version=$1
shift
[ $# -gt 0 ] || set -- 100 1000 10000
out=$top_dir/build/bench
mkdir -p "$out"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

"$vm_dir/deps.sh" bench
build_bench "$version" "$out/build-$version.log"
# With two processors a spin lock that is taken has one waiter at most, whom the tracepoint does
# not count.
options=(--smp 4)
[ -z "$icount" ] || options=(--icount --env SCALE_ALONE=1)
(boot_bench "$version" "${options[@]}" --timeout 3600 --log "$out/$version-scale.log" --mem 6144M \
	-- "$top_dir/selftests/bench/scale.sh" "$@") | tee "$out/$version-scale.txt"
