#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in the client's guest: each stage of two-guests.sh, as TAP. A server waits for each.
#
# client.sh SERVER_ADDRESS MIB KIB_PER_CHUNK LOSSY_MIB CONNECTIONS

server=$1 mib=$2 kib=$3 lossy_mib=$4 connections=$5
# shellcheck source-path=SCRIPTDIR source=stages.sh
. /two_guests/stages.sh

# run NAME ARGUMENT...
run() {
	echo "# BEGIN two-guests-$1"
	shift
	rc=0
	/two_guests/two_guests "$@" || rc=$?
	echo "# END two-guests rc=$rc"
	[ "$rc" -eq 0 ] || has_failed
}

# The rxe of 6.12, unlike that of 6.1, takes an ACK that comes late, amid the
# answer to a read, for the end of that answer: it drops the rest, reports success
# for data that has not come, and stops the queue pair. An ACK is for a message, so
# where ACKs come late no message is on its way while a read is.
case $(uname -r) in
6.1.*) apart='' ;;
*) apart=apart ;;
esac

run clean client 4700 "$server" $((mib * 1024)) "$kib"
nothing_pinned client-clean

run farewell leaver 4750 "$server"

netem_on
for i in $(seq "$connections"); do
	# Small chunks, as a lost packet takes the rest of its chunk with it.
	run "lossy-$i" client $((4800 + i)) "$server" $((lossy_mib * 1024 / connections)) \
		32 $apart >"/tmp/$i" &
done
wait
for i in $(seq "$connections"); do
	cat "/tmp/$i"
done
netem_off
nothing_pinned client-lossy

run vanish peer-death 4900 "$server"
result
