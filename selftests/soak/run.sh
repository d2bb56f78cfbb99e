#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs soak in the guest as tools/vm/soak.sh asks: KDAPL_SOAK has its arguments, KDAPL_LOSS
# the share of packets that the wire loses.

# shellcheck source-path=SCRIPTDIR source=../../tools/vm/guest/await.sh
. /kdapl/await.sh
# shellcheck source-path=SCRIPTDIR source=wire.sh
. /selftests/soak/wire.sh

# With 500 children on two emulated processors, a removal waits for each of them in turn.
echo 600 >/proc/sys/kernel/hung_task_timeout_secs
chmod 666 /dev/dat

"wire_$KDAPL_RDMA" "$KDAPL_LOSS" || {
	echo "Bail out! the wire cannot be set up"
	exit 1
}
status=0
# shellcheck disable=SC2086 # lists of arguments
/selftests/soak/soak $devices $KDAPL_SOAK || status=1
wire_lossy || {
	echo "# the wire has lost nothing"
	status=1
}
exit $status
