#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in the guest of tools/vm/scale.sh: scale, and unless SCALE_ALONE is set crowd with one
# process and with 64.
set -eu

# Ten thousand EPs are more than a process may have by default.
for limit in file user; do
	echo $((1 << 33)) >"/sys/module/kdapl/parameters/max_${limit}_bytes"
done
/selftests/bench/scale "$@"
[ -z "${SCALE_ALONE-}" ] || exit 0
for processes in 1 64; do
	/selftests/bench/crowd.sh $processes 64 20
done
