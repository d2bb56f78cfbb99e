#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in the guest: server and client, the kernel's own demo, and a disk, as a page.

rule() {
	echo "--------------------------------------------------------------------------"
}

balance() {
	# Else each processor keeps its part of the counts for a while.
	echo 1 >/proc/sys/vm/stat_refresh
	awk '$1 == "nr_foll_pin_acquired" { a = $2 }
	     $1 == "nr_foll_pin_released" { r = $2 }
	     END { print a - r }' /proc/vmstat
}

cat <<EOT
kdapl: Direct Access Transport on Linux $(uname -r), IA rxe0 (software RDMA)
==========================================================================

A server lets a client write into its memory, over RDMA and without a copy,
but only through a window that it opens, moves and closes as it likes: a
remote memory region, RMR. Nothing else can be reached.

1. Two processes, /dev/dat and libdat (uDAPL)
$(rule)
        took  who     did
EOT

{
	/demo/server
	echo $? >/tmp/server.status
} | tee /tmp/story &
until grep -q listens /tmp/story 2>/dev/null || [ -e /tmp/server.status ]; do
	sleep 0.1
done
/demo/client | tee /tmp/client.story
wait
if grep -h '^demo:' /tmp/story /tmp/client.story; then
	exit 1
fi
server=$(cat /tmp/server.status)
if [ "$server" -ne 0 ]; then
	echo "demo: the server ended with status $server"
	exit 1
fi
if ! grep -q 'closed the IA' /tmp/client.story; then
	echo "demo: the client did not come to its end"
	exit 1
fi

pinned=$(balance)
echo "          =>          pages that are still pinned now: $pinned"
[ "$pinned" -eq 0 ] || {
	echo "demo: pages were left pinned"
	exit 1
}

cat <<EOT

2. An in-kernel consumer, exported dat_* symbols (kDAPL)
$(rule)
        took  who     did
EOT
{ insmod /demo/kdapl_testlib.ko && insmod /demo/kdapl_demo.ko; } || {
	echo "demo: kdapl_demo.ko does not load"
	exit 1
}
cat /sys/kernel/debug/kdapl_demo/results
grep -q '^demo:' /sys/kernel/debug/kdapl_demo/results && exit 1
rmmod kdapl_demo kdapl_testlib

act=3
if [ -e /demo/kdapl_srp.ko ]; then
	cat <<EOT

3. A disk of a target that knows nothing of DAT (kdapl_srp.ko, kDAPL)
$(rule)
        took  who     did
EOT
	/demo/disk.sh || exit 1
	act=4
fi

cat <<EOT

$act. The end
$(rule)
EOT
rmmod kdapl || {
	echo "demo: kdapl.ko does not unload"
	exit 1
}
echo "kdapl.ko is unloaded: nothing was left in use."
echo
echo "demo: ok"
