#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Sees to it that every exported call is in a session of kdapl_fail_nth_test, which
# lets it fail at every point.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

exported=$(sed -n 's/^EXPORT_SYMBOL_GPL(\(dat_[a-z0-9_]*\));$/\1/p' kdapl/*.c)
# Called, that is; a comment that names a function has nothing in its parentheses.
called=$(grep -hoE '\<dat_[a-z0-9_]+\(([^)]|$)' selftests/modules/fail_nth_*.c |
	sed 's/(.*//')

rc=0
[ -n "$exported" ] || {
	echo "no exported call was found"
	rc=1
}
for call in $exported; do
	grep -qx "$call" <<<"$called" || {
		echo "$call() is in no session of selftests/modules/fail_nth_*.c"
		rc=1
	}
done
exit $rc
