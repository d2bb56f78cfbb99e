#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in the guest of tools/vm/bench.sh: each case on each side, so many times.
#
# run.sh TIMES: prints lines "CASE SIDE NANOSECONDS"; the sides are ours, other (which
# is libdaplofa) and raw (verbs).

times=${1:-1}
here=/selftests/dat2
# shellcheck source-path=SCRIPTDIR source=../dat2/programs.sh
. /selftests/dat2/programs.sh
sh /selftests/dat2/conf.sh >/tmp/dat.conf
export DAT_OVERRIDE=/tmp/dat.conf
rc=0

# of SIDE COMMAND...: the cases of one program
of() {
	side=$1
	shift
	"$@" >/tmp/results || {
		echo "# $side: $1 has failed"
		rc=1
	}
	sed "s/ / $side /" /tmp/results
}

in_kernel() {
	insmod /selftests/modules/kdapl_testlib.ko ia="$DAT_TEST_IA" &&
		insmod /selftests/modules/kdapl_bench.ko &&
		cat /sys/kernel/debug/kdapl_bench/results || rc=1
	rmmod kdapl_bench kdapl_testlib
}

setup_verbs
ours=kdat-$DAT_TEST_IA
other=ofa-$DAT_TEST_IA
dto="u-write-64 u-write-64-x32 u-dequeue-empty u-pingpong-64 u-write-1M u-read-1M"
lmr="lmr-4K lmr-1M lmr-64M"
bind="rmr-bind-4K rmr-bind-1M"
scale="scale-1 scale-1000-lmrs scale-10000-lmrs scale-100-eps scale-1000-eps"
verbs="u-write-64 u-write-64-x32 $bind"

bench=/selftests/bench/bench
# A thousand EPs are more than a process may have by default.
for limit in file user; do
	echo $((1 << 30)) >"/sys/module/kdapl/parameters/max_${limit}_bytes"
done
# Memory is not a matter of time.
if [ -n "${BENCH_MEMORY-}" ]; then
	sh /selftests/bench/memory.sh ours /selftests/bench/memory_dat "$ours" || rc=1
	sh /selftests/bench/memory.sh raw /selftests/bench/memory_verbs "$DAT_TEST_IA" || rc=1
fi
for _ in $(seq "$times"); do
	in_kernel
	# shellcheck disable=SC2086 # lists
	{
		of ours $bench "$ours" $dto
		of other $bench "$other" $dto u-batch-64-x32
		of ours env -u DAT_OVERRIDE /selftests/bench/batch
		of ours $bench "$ours" $lmr
		of other $bench "$other" $lmr
		of ours $bench "$ours" lmr-over-lmr-1M $bind
		of raw /selftests/bench/verbs "$DAT_TEST_IA" $verbs
		of ours $bench "$ours" connect
		of other $bench "$other" connect
		of ours $bench "$ours" $scale
	}
done
exit $rc
