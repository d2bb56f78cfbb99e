#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Lists what failed on this machine and passed when it ran again: how often, when last and on
# which commit, the unit, the program and its test. The most frequent is first.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

[ -s "$cache_dir/flaky" ] || {
	echo "nothing was flaky on this machine"
	exit
}
# Line numbers of logs differ from run to run.
awk '{
	what = $0
	sub(/^[^ ]+ [^ ]+ /, "", what)
	gsub(/log:[0-9]+/, "log", what)
	count[what]++
	when[what] = $1 " " $2
} END {
	for (what in count)
		printf "%4d  %s  %s\n", count[what], when[what], what
}' "$cache_dir/flaky" | sort -rn
