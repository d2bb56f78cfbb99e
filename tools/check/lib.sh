# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Sourced by the checks: paths, our files, exported calls.

# Do not pass the flags of a calling make (-s, -j) to the makes that we start.
unset MAKEFLAGS MFLAGS

check_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top_dir=${check_dir%/tools/check}
# shellcheck disable=SC2034 # for the scripts that source this file
vm_dir=$top_dir/tools/vm
state_dir=$top_dir/build/check
mkdir -p "$state_dir"
cd "$top_dir" || exit 1

# Prints our existing files whose names match the given git patterns.
our_files() {
	local file
	git ls-files --cached --others --exclude-standard -- "$@" | sort -u |
		while IFS= read -r file; do
			[ ! -f "$file" ] || printf '%s\n' "$file"
		done
}

# Prints the exported calls: those in the table calls.def, those that dispatch.c defines
# by the same macro, and all others
exported_calls() {
	local row='DAT_(CALL|CALL_ANY|QUERY|CREATE|FREE)|DEFINE_CALL'
	sed -nE "s/^($row)\(([a-z0-9_]+),.*/dat_\3/p" kdapl/base/calls.def kdapl/api/dispatch.c
	our_files 'kdapl/*.c' 'chardev/*.c' |
		xargs sed -nE 's/^EXPORT_SYMBOL(_GPL)?\((dat_[a-z0-9_]*)\);/\2/p'
}
