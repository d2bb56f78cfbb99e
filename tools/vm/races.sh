#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Lists the data races that KCSAN reports in console logs: each pair of functions of which
# one is in kdapl.ko, with the number of reports, and the number of all other reports.
set -euo pipefail

[ $# -gt 0 ] || {
	echo "usage: races.sh LOG[.log]..." >&2
	exit 2
}
for log; do
	[ -e "$log" ] || log=$log.log
	[ ! -e "$log" ] || sed -n 's/.*BUG: KCSAN: [a-z: -]* in //p' "$log"
done | awk '/\[kdapl\]/ { reports[$0]++; next }
	{ others++; if (!($0 in seen)) { seen[$0] = 1; pairs++ } }
	END {
		for (pair in reports)
			printf "%4d data races: %s\n", reports[pair], pair
		printf "%4d data races without kdapl, %d pairs of functions\n", others, pairs
	}' | sort
