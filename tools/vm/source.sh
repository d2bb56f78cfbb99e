#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Unpacks Debian's linux-source-VERSION into the cache and prints the directory.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

version=${1:?usage: source.sh VERSION}
package=linux-source-$version
tarball=/usr/src/$package.tar.xz
dir=$cache_dir/src/$package
# Beside the tree, not in it: kbuild wants the tree as it came.
stamp=$dir.version

unpack() {
	local tmp
	[ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || return 0
	tmp=$(mktemp -d "$cache_dir/src/.unpack.XXXXXX")
	if ! progress "unpacking $package $wanted" "$tmp/log" tar -C "$tmp" -xJf "$tarball"; then
		rm -rf "$tmp"
		die "cannot unpack $tarball"
	fi
	rm -rf "$stamp" "$dir"
	mv "$tmp/$package" "$dir"
	rm -rf "$tmp"
	printf '%s\n' "$wanted" >"$stamp"
}

wanted=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null) || wanted=
if [ -z "$wanted" ] || [ ! -r "$tarball" ]; then
	die "$package is not installed: run tools/vm/deps.sh debug"
fi
mkdir -p "$cache_dir/src"
with_lock "$package" unpack
printf '%s\n' "$dir"
