#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Checks the manual pages: mandoc and groff report no warning, groff's page header names Linux,
# every page that a page refers to exists, every call of libdat has a page, and every
# example compiles.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

include=tools/libdat/include
pages=Documentation/man3dat
example=$state_dir/example

bad=0

complain() {
	printf '%s\n' "$*"
	bad=1
}

lint() {
	local said
	said=$(mandoc -T lint -W warning "$1") || complain "${said//mandoc: /}"
	said=$(groff -mandoc -Tutf8 -ww -z "$1" 2>&1) || said+=", which groff refuses"
	[ -z "$said" ] || complain "$said"
}

# groff's header is "BSD Library Functions Manual" unless this line precedes .Dt.
volume() {
	grep -B 1 '^\.Dt ' "$1" | grep -qxF '.ds doc-volume-operating-system Linux' ||
		complain "$1: the page header does not name Linux"
}

# Pages of other packages that ours refer to.
system_pages='dlopen\.3|epoll\.7|fork\.2|memfd_create\.2|mlock\.2|modinfo\.8'
system_pages+='|io_uring\.7|io_uring_enter\.2|perror\.3|poll\.2|select\.2|shmget\.2|udev\.7'

references() {
	local page
	while IFS= read -r page; do
		[ -f "Documentation/man${page##*.}/$page" ] ||
			[[ $page =~ ^($system_pages)$ ]] ||
			complain "$1: refers to $page, which does not exist"
	done < <(sed -nE 's/^\.Xr ([^ ]+) ([0-9a-z]+).*/\1.\2/p' "$1" | LC_ALL=C sort -u)
}

declared() {
	sed -nE 's/^DAT_RETURN (dat_[a-z0-9_]*)\(.*/\1/p' \
		"$include/dat/dat.h" "$include/dat/udat.h" "$include/dat/dat_registry.h" \
		"$include/dat/dat_linux.h"
}

# The names at the head of a page: .Nm dat_ia_open ,
named() {
	sed -nE '/^\.Sh NAME/,/^\.Sh LIBRARY/ s/^\.Nm ([a-z0-9_]+)( ,)?$/\1/p' "$@"
}

# The example as people see it. A page has one.
extract() {
	awk '
		$0 == ".Sh EXAMPLES" { wanted = 1 }
		wanted && /^\.Bd / { inside = 1; next }
		inside && $0 == ".Ed" { exit }
		inside { print }
	' "$1" | sed 's/\\e/\\/g'
}

files=()
while IFS= read -r file; do
	files+=("$file")
done < <(our_files "$pages/*.3dat")
[ ${#files[@]} -gt 0 ] || { echo "$pages: no manual pages"; exit 1; }

while IFS= read -r call; do
	complain "$pages/$call.3dat: missing"
done < <(LC_ALL=C comm -23 <(declared | LC_ALL=C sort -u) \
	<(named "${files[@]}" | LC_ALL=C sort -u))

for file in "${files[@]}"; do
	named "$file" | grep -qxF "$(basename "$file" .3dat)" ||
		complain "$file: does not name its call"
	lint "$file"
	volume "$file"
	references "$file"
	extract "$file" >"$example.c"
	if [ ! -s "$example.c" ]; then
		complain "$file: no example"
	elif ! said=$(cc -std=gnu11 -Wall -Wextra -Werror "-I$include" -c \
		-o "$example.o" "$example.c" 2>&1); then
		complain "$file: the example does not compile: $(grep -m 1 'error:' <<<"$said")"
	fi
done
while IFS= read -r file; do
	lint "$file"
	volume "$file"
	references "$file"
done < <(our_files 'Documentation/man[158]/*')
exit $bad
