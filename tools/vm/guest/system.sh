#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The service of a guest with a disk: sets up the network, runs the script, reports its
# status, powers off.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
# shellcheck disable=SC1091 # written by boot.sh
. /kdapl/settings
stty -F "/dev/$KDAPL_PORT" raw -echo
exec </dev/null >"/dev/$KDAPL_PORT" 2>&1
export DAT_TEST_IA="${KDAPL_RDMA}0"

# udev gives it another name.
udevadm settle
nic=$(basename /sys/bus/virtio/drivers/virtio_net/virtio*/net/*)
ip link set lo up
ip addr add "$KDAPL_ADDRESS/24" dev "$nic"
ip link set "$nic" up

echo "$KDAPL_MARK start" | tee /dev/console
KDAPL_NIC=$nic /kdapl/run.sh
echo "$KDAPL_MARK exit $?"
# Closing the port waits until the line has been sent.
exec >/dev/console 2>&1
sync
# The kernel powers off a moment later.
echo o >/proc/sysrq-trigger
sleep 60
