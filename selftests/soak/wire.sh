# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=sh
# Sourced by run.sh: devices of this guest with a wire between them that loses packets.
#
# rxe delivers packets to itself without the network device, so the queue of the network
# device cannot drop any. Two rxe devices on the two ends of a veth pair use the network
# devices. Both ends are in one network namespace because rxe of Linux 6.12 knows no other.
# The host has a route to each of its addresses over the other end, and accepts packets from
# its own addresses.

# siw uses TCP: connections of the guest with itself run over lo.
wire_siw() {
	tc qdisc add dev lo root netem limit 100000 loss "$1"
	devices="--device siw0,eth0,$KDAPL_ADDRESS"
}

# wire_end OWN OTHER: sets up soakOWN with the address 10.9.0.OWN
wire_end() {
	echo 0 >"/proc/sys/net/ipv4/conf/soak$1/rp_filter"
	echo 1 >"/proc/sys/net/ipv4/conf/soak$1/accept_local"
	ip addr add "10.9.0.$1/32" dev "soak$1"
	# Set the queue before there is a QP: see setup.sh.
	tc qdisc add dev "soak$1" root netem limit 100000 loss "$3"
	ip link set "soak$1" up
	ip route add "10.9.0.$2/32" dev "soak$1" src "10.9.0.$1"
	ip neigh add "10.9.0.$2" lladdr "$(cat "/sys/class/net/soak$2/address")" \
		dev "soak$1" nud permanent
	devices="$devices --device rxe$1,soak$1,10.9.0.$1"
}

wire_rxe() {
	devices=
	rdma link delete rxe0
	ip link add soak1 type veth peer name soak2
	echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
	echo 100000 >/proc/sys/net/core/netdev_max_backlog
	wire_end 1 2 "$1"
	wire_end 2 1 "$1"
	for i in 1 2; do
		rdma link add "rxe$i" type rxe netdev "soak$i" || return 1
	done
	await 60 has_gids
}

# The addresses appear as GIDs a moment later.
# shellcheck disable=SC2317 # await calls it by name
has_gids() {
	for i in 1 2; do
		grep -q "ffff:0a09:000$i" "/sys/class/infiniband/rxe$i/ports/1/gids/"[0-3] ||
			return 1
	done
}

# Prints what the wire has dropped. Fails if that is nothing.
wire_lossy() {
	tc -s qdisc show | sed 's/^/# /'
	tc -s qdisc show | grep -q 'dropped [1-9]'
}
