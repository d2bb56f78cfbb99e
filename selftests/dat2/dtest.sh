#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Debian's dtest, dtestx and dtestcm, as a server and a client, through libdat2 and
# our provider.

# shellcheck source-path=SCRIPTDIR
. "${0%/*}/programs.sh"

ia=kdat-${DAT_TEST_IA:-rxe0}
cm_passed="DAPL Connection Test Complete"

# Without -b and -B the buffers are of 4 MB, and a thousand of them.
echo "1..9"
# dtest reads only if its provider has the named attribute DAT_IB_RDMA_READ.
also="RDMA READ DATA with SEND MSG"
one blocking PASSED "$ia" "$ia" dtest -b 4096 -B 20
one polling PASSED "$ia" "$ia" dtest -p -b 4096 -B 20
one cno PASSED "$ia" "$ia" dtest -c -b 4096 -B 20
also=
one streaming PASSED "$ia" "$ia" dtest -w -b 4096 -B 20
one validate PASSED "$ia" "$ia" dtest -W -D -b 4096 -B 20
one all_sizes PASSED "$ia" "$ia" dtest -W -a -b 65536 -B 20
one extensions "IB extension test.*PASSED" "$ia" "$ia" dtestx
one polling "$cm_passed" "$ia" "$ia" dtestcm -c 50
one blocking "$cm_passed" "$ia" "$ia" dtestcm -w -c 50
exit $failed
