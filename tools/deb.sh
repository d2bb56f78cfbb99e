#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds the Debian packages of what is committed, in build/deb, and checks them with
# lintian. With a VERSION it builds packages that call themselves so, in build/deb-VERSION,
# as tests of an upgrade need them.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/vm/deps.sh deb
tarball=$(tools/dist.sh)
name=$(basename "$tarball" .tar.xz)
version=${1-}
dir=build/deb${version:+-$version}
rm -rf "$dir"
mkdir -p "$dir"
tar -xJf "$tarball" -C "$dir"
if [ -n "$version" ]; then
	(cd "$dir/$name" &&
		sed -i "s/${name#kdapl-}/$version/" debian/changelog kdapl/include/dat/version.h &&
		sed -i "s/ [0-9.]*$/ $version/" debian/libdat1.symbols)
fi
log=$dir/build.log
(cd "$dir/$name" && dpkg-buildpackage -us -uc -b) >"$log" 2>&1 ||
	{ tail -n 30 "$log" >&2; exit 1; }
rm -rf "${dir:?}/$name"
# The project has no mail address. A distributor has one, and a changelog of its own.
[ -n "$version" ] || lintian --fail-on error,warning --allow-root \
	--suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$dir"/*.changes
ls "$dir"/*.deb
