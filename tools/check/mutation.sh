#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Checks that each line of tools/vm/mutation.list names a kernel of the matrix, and a file
# that its expression changes, so that a check that is moved or renamed takes its line
# along. tools/vm/mutation.sh runs the tests.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/lib.sh"

rc=0
complain() {
	echo "mutation.list: $1"
	rc=1
}

num=0
while IFS= read -r line; do
	case $line in '' | '#'*) continue ;; esac
	mapfile -t field <<<"${line// :: /$'\n'}"
	if [ ${#field[@]} -ne 5 ]; then
		complain "not five fields: $line"
		continue
	fi
	num=$((num + 1))
	row "${field[1]}" >/dev/null || complain "${field[0]}: no such kernel: ${field[1]}"
	if ! changed=$(sed "${field[4]}" "${field[2]}"); then
		complain "${field[0]}: cannot be removed from ${field[2]}"
	elif [ "$changed" = "$(<"${field[2]}")" ]; then
		complain "${field[0]}: not found in ${field[2]}"
	fi
done <"$vm_dir/mutation.list"
[ "$num" -gt 0 ] || complain "lists nothing"
exit $rc
