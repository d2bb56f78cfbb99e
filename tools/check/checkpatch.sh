#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs the kernel's checkpatch.pl --strict over our C files, makefiles and scripts.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

checkpatch=$("$vm_dir/borrow.sh")/checkpatch.pl
exceptions=$check_dir/checkpatch.ignore
# A file that passed has a stamp here, and is looked at again once it changes.
passed=$state_dir/checkpatch
typedefs=$state_dir/typedefs
export top_dir checkpatch exceptions passed typedefs

# The message types that do not apply to FILE, separated by commas.
ignored() {
	local type pattern
	sed 's/#.*//' "$exceptions" | while read -r type pattern; do
		# shellcheck disable=SC2053 # it is a pattern
		[ -z "$type" ] || [[ $1 != ${pattern:-*} ]] || printf '%s,' "$type"
	done
}

check_file() {
	local stamp=$passed/$1 ignore
	if [ "$stamp" -nt "$1" ] && [ "$stamp" -nt "$exceptions" ] &&
		[ "$stamp" -nt "$checkpatch" ]; then
		return
	fi
	ignore=$(ignored "$1")
	mkdir -p "$(dirname "$stamp")"
	# What changes while it runs counts as changed afterwards.
	touch "$stamp.started"
	# It leaves a file behind where it runs, and looks for include there.
	(cd "$passed" && perl "$checkpatch" --no-tree --root=. --strict --quiet --terse \
		--show-types --color=never --no-summary --max-line-length=100 \
		--typedefsfile="$typedefs" ${ignore:+--ignore="$ignore"} --file "$top_dir/$1") |
		sed "s|^$top_dir/||" && mv "$stamp.started" "$stamp"
}
export -f ignored check_file
mkdir -p "$passed/include"

# checkpatch cannot know that `DAT_EVENT *event` is no multiplication.
# It takes the first name that fits, so DAT_EVENT comes after DAT_EVENT_DATA.
our_files '*.h' | xargs -r cat | sed -nE '
	s/^(typedef .*[ \t*]|\} *)([A-Z][A-Z0-9_]+);.*/\2/p
	s/^typedef .*\(\*([A-Z0-9_]+)\)\(.*/\1/p' | sort -ru >"$typedefs"

# shellcheck disable=SC2016 # the inner shell expands it
our_files '*.c' '*.h' '*.sh' 'Kbuild' '*/Kbuild' 'Makefile' '*/Makefile' |
	xargs -r -P "$(nproc)" -I '{}' bash -o pipefail -c 'check_file "$1"' checkpatch '{}'
