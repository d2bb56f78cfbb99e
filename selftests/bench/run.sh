#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in the guest of tools/vm/bench.sh: each case on each side, so many times.
#
# run.sh TIMES: prints lines "CASE SIDE NANOSECONDS"; the sides are ours, other (which
# is libdaplofa) and raw (verbs). A line "# failed: COMMAND: MESSAGE" names a failure.
# BENCH_MEMORY=1 adds the memory of objects, BENCH_DISK=1 the cases of srp.sh.
# BENCH_SMOKE=1 shortens the cases.

times=${1:-1}
here=/selftests/dat2
# shellcheck source-path=SCRIPTDIR source=../dat2/programs.sh
. /selftests/dat2/programs.sh
sh /selftests/dat2/conf.sh >/tmp/dat.conf
export DAT_OVERRIDE=/tmp/dat.conf
rc=0

# try COMMAND...: reports a failure with the last message of the command
try() {
	status=0
	"$@" 2>/tmp/errors || status=$?
	sed 's/^/# /' /tmp/errors
	[ $status -ne 0 ] || return 0
	echo "# failed: $*: status $status, $(tail -n 1 /tmp/errors)"
	rc=1
}

# of SIDE COMMAND...: the cases of one program
of() {
	side=$1
	shift
	try "$@" >/tmp/results
	sed "/^#/!s/ / $side /" /tmp/results
}

in_kernel() {
	try insmod /selftests/modules/kdapl_testlib.ko ia="$DAT_TEST_IA"
	try insmod /selftests/modules/kdapl_bench.ko
	try cat /sys/kernel/debug/kdapl_bench/results >/tmp/results
	cat /tmp/results
	! grep -q '^# failed: ' /tmp/results || rc=1
	try rmmod kdapl_bench kdapl_testlib
}

setup_verbs
ours=kdat-$DAT_TEST_IA
other=ofa-$DAT_TEST_IA
dto="u-write-64 u-write-64-x32 u-dequeue-empty u-pingpong-64 u-write-1M u-read-1M"
lmr="lmr-4K lmr-1M lmr-64M"
bind="rmr-bind-4K rmr-bind-1M"
scale="scale-1 scale-1000-lmrs scale-10000-lmrs scale-100-eps scale-1000-eps"
verbs="u-write-64 u-write-64-x32 $bind many-2 many-16 many-1024"

bench=/selftests/bench/bench
# A thousand EPs are more than a process may have by default.
for limit in file user; do
	echo $((1 << 30)) >"/sys/module/kdapl/parameters/max_${limit}_bytes"
done
# Memory is not a matter of time.
if [ -n "${BENCH_MEMORY-}" ]; then
	try sh /selftests/bench/memory.sh ours /selftests/bench/memory_dat "$ours"
	try sh /selftests/bench/memory.sh raw /selftests/bench/memory_verbs "$DAT_TEST_IA"
fi
for _ in $(seq "$times"); do
	in_kernel
	# shellcheck disable=SC2086 # lists
	{
		of ours $bench "$ours" $dto
		of other $bench "$other" $dto u-batch-64-x32
		of ours env -u DAT_OVERRIDE /selftests/bench/batch
		of ours env -u DAT_OVERRIDE /selftests/bench/dequeue
		of ours $bench "$ours" $lmr
		of other $bench "$other" $lmr
		of ours $bench "$ours" lmr-over-lmr-1M $bind
		of raw /selftests/bench/verbs "$DAT_TEST_IA" $verbs
		of ours $bench "$ours" connect
		of other $bench "$other" connect
		of ours $bench "$ours" $scale
		if [ -e /selftests/bench/fi ]; then
			of ours /selftests/bench/fi kdapl "$KDAPL_ADDRESS"
			of raw /selftests/bench/fi verbs "$KDAPL_ADDRESS"
		fi
	}
done
if [ -n "${BENCH_DISK-}" ]; then
	sh /selftests/bench/srp.sh "$times" || rc=1
fi
exit $rc
