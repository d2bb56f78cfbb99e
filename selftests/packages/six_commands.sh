#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in a booted Debian the commands of Documentation/libfabric.rst that follow the
# installation, as they are printed there. Each has a login of its own. Prints TAP.
# six-commands.sh has made the user and installed the packages.
# shellcheck disable=SC2317 # ok calls functions by name
program=booted
# shellcheck source=SCRIPTDIR/../../tools/vm/guest/await.sh
. /kdapl/await.sh
# shellcheck source=SCRIPTDIR/../../tools/vm/guest/ok.sh
. /kdapl/ok.sh

# run COMMAND: keeps the output for the tests after it
run() {
	status=0
	as alice "$1" >/tmp/job 2>&1 || status=$?
	cat /tmp/job
	return "$status"
}

# The adapter of this host
ok rxe_device sh -c "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev $KDAPL_NIC"
while read -r line <&3; do
	command=${line#sudo }
	ok "${command%% *}" run "$line"
done 3</home/alice/commands
# The last command was the job: selftests/fi/mpi_traffic.c.
for kind in ring ping_pong all_to_all unexpected one_sided; do
	ok "job_$kind" grep -x "good $kind with 2 processes" /tmp/job
done
echo "1..$num"
exit $((failed > 0))
