#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Debian's dtestx, and peer, between our provider and libdaplofa, which is the other one,
# on the same device. The clients of dtest and dtestcm receive the name of the server's IA
# and open that IA, despite their option -P. So both ends would have the same provider.

# shellcheck source-path=SCRIPTDIR
. "${0%/*}/programs.sh"

ours=kdat-${DAT_TEST_IA:-rxe0}
other=ofa-${DAT_TEST_IA:-rxe0}

setup_verbs

echo "1..7"
one other_with_itself PASSED "$other" "$other" dtest -b 4096 -B 20
one ours_with_other "IB extension test.*PASSED" "$other" "$ours" dtestx
one other_with_ours "IB extension test.*PASSED" "$ours" "$other" dtestx
one ours_with_ours PASSED "$ours" "$ours" peer
one ours_with_other PASSED "$other" "$ours" peer
one other_with_ours PASSED "$ours" "$other" peer
if "$bin/refusals" "$ours" "$other"; then
	echo "ok 7 refusals.are_not_ours"
else
	echo "not ok 7 refusals.are_not_ours"
	failed=1
fi
exit $failed
