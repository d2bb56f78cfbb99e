#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Tests a booted Debian in which the packages of kdapl are installed, as its users would
# use them. Prints TAP. packages.sh has made the users and compiled the program.

# shellcheck disable=SC2317 # ok and await call functions by name
program=installed
# shellcheck source=../../tools/vm/guest/await.sh
. /kdapl/await.sh
# shellcheck source=../../tools/vm/guest/ok.sh
. /kdapl/ok.sh

module_is_loaded() { [ -d /sys/module/kdapl ]; }
device_is_rdma() { [ "$(stat -c '%G %a' /dev/dat)" = "rdma 660" ]; }
conf_lines() { [ "$(grep -c "^kdat-rxe0 " /etc/dat.conf)" -eq "$1" ]; }
has_address() { dat-info rxe0 2>/dev/null | grep -qF "$KDAPL_ADDRESS"; }

refused() {
	! as outsider /usr/local/bin/first || return
	as outsider dat-info >/tmp/refused 2>&1
	cat /tmp/refused
	grep -q "$1" /tmp/refused
}

# Debian's program for DAT 2.0, a server and a client
run_dtest() {
	as member "dtest -s -P kdat-rxe0 -b 4096 -B 20" >/tmp/server 2>&1 &
	server=$!
	await 300 grep -q ':3DD4 [^ ]* 0A' /proc/net/tcp || return
	as member "dtest -h $KDAPL_ADDRESS -P kdat-rxe0 -b 4096 -B 20" >/tmp/client 2>&1
	wait "$server"
	tail -n 5 /tmp/server /tmp/client
	grep -q PASSED /tmp/server && grep -q PASSED /tmp/client
}

# libfabric finds the provider in its own folder, without FI_PROVIDER_PATH.
fi_info_prints() { as member "fi_info $1" >/tmp/fi; cat /tmp/fi; grep -qx "$2" /tmp/fi; }

ok module_loaded_at_boot await 300 module_is_loaded
ok device_belongs_to_rdma await 300 device_is_rdma
ok no_device_no_lines conf_lines 0
ok rxe_device sh -c "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev $KDAPL_NIC"
ok udev_adds_dat_conf_lines await 300 conf_lines 2
ok ia_has_address await 300 has_address
ok member_runs_first_program as member /usr/local/bin/first
ok member_checks_ia as member "dat-info --check rxe0"
ok member_runs_dtest run_dtest
ok fi_info_lists_provider fi_info_prints -l 'kdapl:'
ok fi_info_names_ia fi_info_prints '-p kdapl' ' *domain: rxe0'
ok outsider_is_refused refused "Permission denied"
ok udev_adds_lines_once conf_lines 2
echo "1..$num"
exit $((failed > 0))
