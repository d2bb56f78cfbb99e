#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Debian's dtest, dtestx and dtestcm between our provider and libdaplofa, which is the
# other one, on the same device.

# shellcheck source-path=SCRIPTDIR
. "${0%/*}/programs.sh"

ours=kdat-${DAT_TEST_IA:-rxe0}
other=ofa-${DAT_TEST_IA:-rxe0}
cm_passed="DAPL Connection Test Complete"

setup_verbs

echo "1..13"
one other_with_itself PASSED "$other" "$other" dtest -b 4096 -B 20
one ours_with_other PASSED "$other" "$ours" dtest -b 4096 -B 20
one other_with_ours PASSED "$ours" "$other" dtest -b 4096 -B 20
one ours_with_other_polls PASSED "$other" "$ours" dtest -p -W -D -b 4096 -B 20
one other_with_ours_polls PASSED "$ours" "$other" dtest -p -W -D -b 4096 -B 20
one ours_with_other "IB extension test.*PASSED" "$other" "$ours" dtestx
one other_with_ours "IB extension test.*PASSED" "$ours" "$other" dtestx
one ours_with_other "$cm_passed" "$other" "$ours" dtestcm -w -c 20
one other_with_ours "$cm_passed" "$ours" "$other" dtestcm -w -c 20
one ours_with_ours PASSED "$ours" "$ours" peer
one ours_with_other PASSED "$other" "$ours" peer
one other_with_ours PASSED "$ours" "$other" peer
if "$bin/refusals" "$ours" "$other"; then
	echo "ok 13 refusals.are_not_ours"
else
	echo "not ok 13 refusals.are_not_ours"
	failed=1
fi
exit $failed
