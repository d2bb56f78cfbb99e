#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in the server's guest: the servers for each stage of client.sh. The last is
# killed, with the guest.
#
# server.sh CONNECTIONS

connections=$1
# shellcheck source-path=SCRIPTDIR source=stages.sh
. /two_guests/stages.sh

# run NAME QUALIFIER
run() {
	name=$1
	shift
	/two_guests/two_guests server "$@" && return
	echo "# the server of $name has failed"
	has_failed
}

run clean 4700
nothing_pinned server-clean

run farewell 4750

netem_on
for i in $(seq "$connections"); do
	run "lossy-$i" $((4800 + i)) &
done
wait
netem_off
nothing_pinned server-lossy

run vanish 4900
result
