#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Sees to it that datfuzz can make each exported call: it has a row in
# selftests/modules/kapi/calls.def, with the context that Documentation/kdapl.rst gives it,
# and one in selftests/fuzz/kapi_desc.c.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

table=selftests/modules/kapi/calls.def
description=selftests/fuzz/kapi_desc.c
rc=0
complain() {
	echo "$1"
	rc=1
}

# Prints the context of each call in the document, in the words of the table. The columns at
# the end of a row are sleep, upcall and softirq.
documented() {
	awk '/^dat_[a-z0-9_]+  .* [-+] +[-+] +[-+]$/ {
		print substr($1, 5), $(NF - 2) == "-" ? "ANY" : $(NF - 1) == "+" ? "SLEEP" : "TASK"
	}' Documentation/kdapl.rst
}

exported=$(exported_calls | sed 's/^dat_//')
rows=$(sed -nE 's/^KAPI\(([a-z0-9_]+), ([A-Z]+)\)$/\1 \2/p' "$table")
described=$(sed -nE 's/^	CALL\(([a-z0-9_]+),.*/\1/p' "$description")
contexts=$(documented)

[ -n "$exported" ] || complain "no exported call was found"
for call in $exported; do
	row=$(grep "^$call " <<<"$rows") || complain "$table: no row for dat_$call()"
	grep -qx "$call" <<<"$described" || complain "$description: no CALL() for dat_$call()"
	[ -z "$row" ] || grep -qx "$row" <<<"$contexts" ||
		complain "$table: '$row', but Documentation/kdapl.rst gives another context"
done
exit $rc
