#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Unpacks Debian's linux-source of a kernel into the cache, applies patches/ and prints
# the directory.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

name=${1:?usage: source.sh NAME}
read -r arch _ suite _ < <(row "$name") || die "no kernel is called '$name'"
version=${name%%-*}
package=linux-source-$version
dir=$cache_dir/src/$package
# Beside the tree: kbuild expects the tree unchanged.
stamp=$dir.version

mend() {
	cat "${patches[@]}" | patch -d "$1" -p1 -s
}

unpack() {
	local tmp
	[ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || return 0
	tmp=$(mktemp -d "$cache_dir/src/.unpack.XXXXXX")
	if [ -z "$tarball" ]; then
		tarball=$tmp/usr/src/$package.tar.xz
		dpkg-deb -x "$("$vm_dir/archive.sh" "$suite" "$arch" get "$package")" "$tmp"
	fi
	if ! progress "unpacking $package $wanted" "$tmp/log" tar -C "$tmp" -xJf "$tarball"; then
		rm -rf "$tmp"
		die "cannot unpack $tarball"
	fi
	mend "$tmp/$package" >&2 || {
		rm -rf "$tmp"
		die "patches/ does not fit $package $wanted"
	}
	rm -rf "$stamp" "$dir"
	mv "$tmp/$package" "$dir"
	rm -rf "$tmp"
	printf '%s\n' "$wanted" >"$stamp"
}

mapfile -t patches < <(patches_of "$version")
if [ "$suite" = host ]; then
	tarball=/usr/src/$package.tar.xz
	wanted=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null) || wanted=
	if [ -z "$wanted" ] || [ ! -r "$tarball" ]; then
		die "$package is not installed: run tools/vm/deps.sh debug"
	fi
else
	tarball=
	wanted=$("$vm_dir/archive.sh" "$suite" "$arch" version "$package")
	[ -n "$wanted" ] || die "Debian $suite has no $package"
fi
wanted+=-$(cat "${patches[@]}" | sha256sum | cut -c 1-12)
mkdir -p "$cache_dir/src"
with_lock "$package" unpack
printf '%s\n' "$dir"
