#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Debian's dtest and dtestx, and peer, between our provider and libdaplofa, which is the
# other one, on the same device.

# shellcheck source-path=SCRIPTDIR
. "${0%/*}/programs.sh"

ours=kdat-${DAT_TEST_IA:-rxe0}
other=ofa-${DAT_TEST_IA:-rxe0}

setup_verbs

# The client of dtest receives the name of the server's IA and opens that one, despite its
# option -P. So the client gets a dat.conf that calls its own provider by that name.

# swapped PROVIDER NAME: prints the lines of a provider's IA with another name
swapped() {
	sed -n "s/^$1 /$2 /p" "$DAT_OVERRIDE"
}

echo "1..9"
one other_with_itself PASSED "$other" "$other" dtest -b 4096 -B 20
client_conf=/tmp/swapped.conf
also="RDMA READ DATA with SEND MSG"
swapped "$ours" "$other" >$client_conf
one other_with_ours PASSED "$other" "$other" dtest -b 4096 -B 20
swapped "$other" "$ours" >$client_conf
one ours_with_other PASSED "$ours" "$ours" dtest -b 4096 -B 20
client_conf='' also=''
one ours_with_other "IB extension test.*PASSED" "$other" "$ours" dtestx
one other_with_ours "IB extension test.*PASSED" "$ours" "$other" dtestx
one ours_with_ours PASSED "$ours" "$ours" peer
one ours_with_other PASSED "$other" "$ours" peer
one other_with_ours PASSED "$ours" "$other" peer
if "$bin/refusals" "$ours" "$other"; then
	echo "ok 9 refusals.are_not_ours"
else
	echo "not ok 9 refusals.are_not_ours"
	failed=1
fi
exit $failed
