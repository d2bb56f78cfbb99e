#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs the kernel's checkpatch.pl --strict over our C files, makefiles and scripts.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

checkpatch=$("$vm_dir/borrow.sh")/checkpatch.pl
exceptions=$check_dir/checkpatch.ignore
work=$state_dir/checkpatch
typedefs=$state_dir/typedefs
# A file that passed has a stamp here, named after all that the result depends on. So a new
# clone need not check it again.
passed=${checkpatch%/*}/passed
export top_dir checkpatch exceptions passed typedefs work

# ignored FILE: prints the message types that do not apply to FILE, separated by commas
ignored() {
	local type pattern
	sed 's/#.*//' "$exceptions" | while read -r type pattern; do
		# shellcheck disable=SC2053 # a pattern
		[ -z "$type" ] || [[ $1 != ${pattern:-*} ]] || printf '%s,' "$type"
	done
}

# stamp_of FILE: prints the name of the stamp
stamp_of() {
	local sum
	sum=$({ echo "$common $1" && cat "$1"; } | sha256sum)
	printf '%s/%s' "$passed" "${sum%% *}"
}

check_file() {
	local stamp ignore
	stamp=$(stamp_of "$1")
	[ ! -e "$stamp" ] || return 0
	ignore=$(ignored "$1")
	# checkpatch writes a file to its directory and searches include there.
	(cd "$work" && perl "$checkpatch" --no-tree --root=. --strict --quiet --terse \
		--show-types --color=never --no-summary --max-line-length=100 \
		--typedefsfile="$typedefs" ${ignore:+--ignore="$ignore"} --file "$top_dir/$1") |
		sed "s|^$top_dir/||" || return
	# Not if the file has changed meanwhile.
	[ "$stamp" != "$(stamp_of "$1")" ] || touch "$stamp"
}
export -f ignored stamp_of check_file
mkdir -p "$passed" "$work/include"

# Without a list of types, checkpatch takes `DAT_EVENT *event` for a multiplication. It
# uses the first name that fits, so DAT_EVENT comes after DAT_EVENT_DATA.
our_files '*.h' | xargs -r cat | sed -nE '
	s/^(typedef .*[ \t*]|\} *)([A-Z][A-Z0-9_]+);.*/\2/p
	s/^typedef .*\(\*([A-Z0-9_]+)\)\(.*/\1/p' | sort -ru >"$typedefs"
common=$(cat "$checkpatch" "$exceptions" "$typedefs" | sha256sum)
export common

# shellcheck disable=SC2016 # the inner shell expands it
our_files '*.c' '*.h' '*.sh' 'Kbuild' '*/Kbuild' 'Makefile' '*/Makefile' |
	xargs -r -P "$(nproc)" -I '{}' bash -o pipefail -c 'check_file "$1"' checkpatch '{}'
