#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs dat-perf through libdat2: the client on our provider, the server on the other one.

# shellcheck source-path=SCRIPTDIR
. "${0%/*}/programs.sh"

setup_verbs
ia=${DAT_TEST_IA:-rxe0}
export PERF="$bin/dat-perf" PERF_CLIENT_IA="kdat-$ia" PERF_SERVER_IA="ofa-$ia"
exec /selftests/perf/perf.sh
