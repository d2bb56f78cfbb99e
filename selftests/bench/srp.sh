#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in the guest of tools/vm/bench.sh: the same disk of the same target, by kdapl_srp and
# by the kernel's ib_srp.
#
# srp.sh TIMES: prints lines "CASE SIDE NANOSECONDS"; the sides are ours and raw. A line
# "# failed: ..." names a failure.
# shellcheck disable=SC2317 # await calls functions by name
here=/selftests/storage
address=${KDAPL_ADDRESS:-10.0.2.15}
# shellcheck source=SCRIPTDIR/../../tools/vm/guest/await.sh
. /kdapl/await.sh

fail() {
	echo "# failed: srp: $*"
	exit 1
}

rc=0
for module in sd_mod scsi_transport_srp target_core_mod target_core_file ib_srpt; do
	modprobe "$module" || fail "no $module"
done
modprobe ib_srp ch_count=1 || fail "no ib_srp"
options=$("$here/target.sh" "$address") || fail "no target"
insmod "$here/kdapl_srp.ko" ch_count=1 || fail "no kdapl_srp"

# disk: prints the name of the RAM disk, LUN 0
disk() {
	for sd in /sys/class/scsi_disk/*:0/device/block/sd*; do
		[ ! -b "/dev/${sd##*/}" ] || echo "/dev/${sd##*/}"
	done
}

is_there() {
	[ -n "$(disk)" ]
}

is_gone() {
	! ls /sys/class/srp_remote_ports/port-* >/dev/null 2>&1
}

# side NAME FILE OPTIONS: all cases
side() {
	echo "$options,$3" >"$2" || fail "$1: add_target fails"
	await 300 is_there || fail "$1: no disk"
	for case in randread-4k:400 randwrite-4k:400 read-1m:16 write-1m:16; do
		number=${case#*:}
		[ -z "${BENCH_SMOKE-}" ] || number=$((number / 10))
		/selftests/bench/disk "$(disk)" "srp-${case%:*}" "$number" "${threads:-1}" \
			>/tmp/results 2>/tmp/errors || {
			echo "# failed: $1: srp-${case%:*}: $(tail -n 1 /tmp/errors)"
			rc=1
		}
		sed "s/ / $1 /" /tmp/results
	done
	for port in /sys/class/srp_remote_ports/port-*; do
		echo 1 >"$port/delete"
	done
	await 300 is_gone || fail "$1: does not go"
}

threads=${BENCH_THREADS:-$([ "$(nproc)" -eq 1 ] && echo 1 || echo 8)}
for _ in $(seq "${1:-1}"); do
	side ours /sys/class/kdapl_srp/initiator/add_target ia=rxe0,ch_count=1
	side raw /sys/class/infiniband_srp/srp-rxe0-1/add_target max_sect=2048
done
rmmod kdapl_srp || fail "kdapl_srp stays"
exit $rc
