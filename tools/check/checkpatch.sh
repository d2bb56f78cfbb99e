#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs the kernel's checkpatch.pl --strict over our C files, makefiles and scripts.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

checkpatch=$("$vm_dir/borrow.sh")/checkpatch.pl
exceptions=$check_dir/checkpatch.ignore
# A file that passed has a stamp here and is checked again after a change.
passed=$state_dir/checkpatch
typedefs=$state_dir/typedefs
export top_dir checkpatch exceptions passed typedefs

# ignored FILE: prints the message types that do not apply to FILE, separated by commas
ignored() {
	local type pattern
	sed 's/#.*//' "$exceptions" | while read -r type pattern; do
		# shellcheck disable=SC2053 # a pattern
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
	# A file that changes during the check counts as changed after it.
	touch "$stamp.started"
	# checkpatch writes a file to its directory and searches include there.
	(cd "$passed" && perl "$checkpatch" --no-tree --root=. --strict --quiet --terse \
		--show-types --color=never --no-summary --max-line-length=100 \
		--typedefsfile="$typedefs" ${ignore:+--ignore="$ignore"} --file "$top_dir/$1") |
		sed "s|^$top_dir/||" && mv "$stamp.started" "$stamp"
}
export -f ignored check_file
mkdir -p "$passed/include"

# Without a list of types, checkpatch takes `DAT_EVENT *event` for a multiplication. It
# uses the first name that fits, so DAT_EVENT comes after DAT_EVENT_DATA.
our_files '*.h' | xargs -r cat | sed -nE '
	s/^(typedef .*[ \t*]|\} *)([A-Z][A-Z0-9_]+);.*/\2/p
	s/^typedef .*\(\*([A-Z0-9_]+)\)\(.*/\1/p' | sort -ru >"$typedefs"

# shellcheck disable=SC2016 # the inner shell expands it
our_files '*.c' '*.h' '*.sh' 'Kbuild' '*/Kbuild' 'Makefile' '*/Makefile' |
	xargs -r -P "$(nproc)" -I '{}' bash -o pipefail -c 'check_file "$1"' checkpatch '{}'
