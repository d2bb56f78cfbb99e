#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Compares the exported calls of kdapl with the table in Documentation/kdapl.rst: each
# call must have one row, and each row must name an exported call.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

table=Documentation/kdapl.rst

# In running text calls are in backquotes. A table row begins with the bare name.
rows() {
	sed -nE 's/^(dat_[a-z0-9_]*)  .*/\1/p' "$table" | LC_ALL=C sort
}

rc=0
difference=$(diff <(exported_calls | LC_ALL=C sort) <(rows)) || rc=$?
[ "$rc" -ne 0 ] || exit 0
[ "$rc" -eq 1 ] || exit "$rc"
sed -nE "s|^< (.*)|$table: no row for \1|p
	s|^> (.*)|$table: \1 is not exported, or has two rows|p" <<<"$difference"
exit 1
