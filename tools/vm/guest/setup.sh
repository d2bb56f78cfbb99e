#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Sets up the network and the RDMA device, and loads the modules under test.
fail() {
	echo "guest: $*"
	exit 1
}

# shellcheck source-path=SCRIPTDIR source=await.sh
. /kdapl/await.sh

has_ipv6() {
	ip -6 addr show dev eth0 | grep -q 'inet6 fe80'
}

# The addresses appear as GIDs a moment later; the second GID is IPv4. iWARP has no such
# GIDs.
# shellcheck disable=SC2086 # four numbers are four arguments
gid=$(IFS=. && printf '%02x%02x:%02x%02x' $KDAPL_ADDRESS)
has_gids() {
	[ "$KDAPL_RDMA" = rxe ] || return 0
	# The table has a thousand entries. The addresses are the first four.
	cat /sys/class/infiniband/rxe0/ports/1/gids/[0-3] >/tmp/gids 2>/dev/null
	grep -q '^fe80:' /tmp/gids && grep -q "ffff:$gid\$" /tmp/gids
}

is_active() {
	rdma link show "${KDAPL_RDMA}0/1" | grep -q ACTIVE
}

# Old kernels have checksums as modules. rxe of Linux 6.1 requests "crc32" by name and has
# no dependency on the module.
modprobe crc32_generic 2>/dev/null
# For lmr_fuse, which is skipped without it
modprobe fuse 2>/dev/null
for name in virtio_pci virtio_net ib_uverbs rdma_ucm rdma_rxe; do
	[ ! -d "/lib/modules/$(uname -r)" ] || modprobe "$name" || fail "cannot load $name"
done

# Disable duplicate address detection: no other host is on this network.
echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
ip link set lo up
await 60 ip link show eth0 || fail "no eth0"
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
ip addr add "$KDAPL_ADDRESS/24" dev eth0
echo "$KDAPL_ADDRESS guest" >>/etc/hosts
# Set the queue before there is a QP. While the kernel replaces a queue it rejects
# packets, and rxe of Linux 6.12 moves a QP whose packet is rejected to the error state.
# shellcheck disable=SC2086 # a list
[ -z "${KDAPL_QDISC-}" ] || tc qdisc add dev eth0 root $KDAPL_QDISC ||
	fail "eth0 gets no queue"
ip link set eth0 up
await 60 has_ipv6 || fail "eth0 gets no IPv6 address"

rdma link add "${KDAPL_RDMA}0" type "$KDAPL_RDMA" netdev eth0 ||
	fail "cannot create ${KDAPL_RDMA}0"
await 60 is_active || fail "${KDAPL_RDMA}0 does not become active"
await 60 has_gids || fail "${KDAPL_RDMA}0 has no GIDs for its addresses"
rm -f /tmp/gids

# Injected failures must not print messages or call traces.
for file in /sys/kernel/debug/fail*/verbose; do
	[ ! -e "$file" ] || echo 0 >"$file"
done

# Seconds after which the kernel reports a hung task. No test blocks that long.
echo 60 >/proc/sys/kernel/hung_task_timeout_secs

for file in $KDAPL_INSMOD; do
	insmod "$file" && continue
	dmesg | tail -n 5
	fail "cannot insert ${file##*/}"
done
