# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# What the checks share: where things are, and which files are ours.

# The flags of a make that called us (-s, -j) are not for those that we call.
unset MAKEFLAGS MFLAGS

check_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top_dir=${check_dir%/tools/check}
# shellcheck disable=SC2034 # for those who source this
vm_dir=$top_dir/tools/vm
state_dir=$top_dir/build/check
mkdir -p "$state_dir"
cd "$top_dir" || exit 1

# Our files whose names match the given git patterns; deleted ones are not there.
our_files() {
	local file
	git ls-files --cached --others --exclude-standard -- "$@" | sort -u |
		while IFS= read -r file; do
			[ ! -f "$file" ] || printf '%s\n' "$file"
		done
}

# The calls that the module exports: those of the table in dispatch.c, and the others
exported_calls() {
	sed -nE 's/^(CALL|QUERY|CREATE|FREE|ANY_TYPE)\(([a-z0-9_]+),.*/dat_\2/p' \
		kdapl/api/dispatch.c
	our_files 'kdapl/*.c' 'chardev/*.c' |
		xargs sed -nE 's/^EXPORT_SYMBOL(_GPL)?\((dat_[a-z0-9_]*)\);/\2/p'
}
