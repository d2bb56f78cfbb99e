#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in the guest of tools/vm/profile.sh: one case on one side, until it is stopped.
#
# profile.sh CASE SIDE: SIDE is ours, other or raw, as in run.sh. Prints the symbols of
# the kernel, as lines "symbol ADDRESS NAME MODULE", and "begin" when it begins.

name=$1 side=$2
here=/selftests/dat2
# shellcheck source-path=SCRIPTDIR source=../dat2/programs.sh
. /selftests/dat2/programs.sh
sh /selftests/dat2/conf.sh >/tmp/dat.conf
export DAT_OVERRIDE=/tmp/dat.conf

setup_verbs
insmod /selftests/modules/kdapl_testlib.ko ia="$DAT_TEST_IA"

names=$(seq 20000 | sed "s/.*/$name/")
case $name:$side in
k-*)
	set -- insmod /selftests/modules/kdapl_bench.ko only_case="$name" only_side="$side" \
		times=100000
	;;
*:ours) set -- /selftests/bench/bench "kdat-$DAT_TEST_IA" ;;
*:other) set -- /selftests/bench/bench "ofa-$DAT_TEST_IA" ;;
*:raw) set -- /selftests/bench/verbs "$DAT_TEST_IA" ;;
esac
# shellcheck disable=SC2086 # a list
case $name in
k-*) "$@" & ;;
*) "$@" $names >/dev/null & ;;
esac
pid=$!
# Modules are in place now.
sleep 1
sed -n 's/^\([0-9a-f]*\) [tTwW] \([^\t]*\)\(\t\[\(.*\)\]\)*$/symbol \1 \2 \4/p' /proc/kallsyms
sed -n 's/^\([0-9a-f]*\)-.*r-xp \([0-9a-f]*\).*\/\([^/]*\)$/symbol \1 user \3/p' /proc/$pid/maps
echo begin
wait
