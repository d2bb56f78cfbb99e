#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Extracts the kernel's kselftest headers and checkpatch into the cache. Prints the
# directory.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

package=linux-source-6.12
tree=$package
tarball=/usr/src/$package.tar.xz
files=(scripts/checkpatch.pl scripts/spelling.txt scripts/const_structs.checkpatch
	tools/testing/selftests/kselftest.h tools/testing/selftests/kselftest_harness.h)

version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null) ||
	die "$package is not installed: run tools/vm/deps.sh test"
dir=$cache_dir/borrowed/$version

extract() {
	local tmp
	[ ! -d "$dir" ] || return 0
	tmp=$(mktemp -d "$cache_dir/borrowed/.extract.XXXXXX")
	# --occurrence lets tar stop after the last file.
	if ! progress "taking kselftest's headers and checkpatch from $package" "$tmp/log" \
		tar -C "$tmp" --occurrence=1 -xJf "$tarball" "${files[@]/#/$tree/}"; then
		rm -rf "$tmp"
		die "cannot read $tarball"
	fi
	mkdir "$tmp/flat"
	mv "${files[@]/#/$tmp/$tree/}" "$tmp/flat"
	mv "$tmp/flat" "$dir"
	rm -rf "$tmp"
}

mkdir -p "$cache_dir/borrowed"
with_lock borrowed extract
printf '%s\n' "$dir"
