#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds the Debian packages of what is committed, in build/deb, and checks them with lintian
set -euo pipefail
cd "$(dirname "$0")/.."

tools/vm/deps.sh deb
tarball=$(tools/dist.sh)
name=$(basename "$tarball" .tar.xz)
dir=build/deb
rm -rf "$dir"
mkdir -p "$dir"
tar -xJf "$tarball" -C "$dir"
log=$dir/build.log
(cd "$dir/$name" && dpkg-buildpackage -us -uc -b) >"$log" 2>&1 ||
	{ tail -n 30 "$log" >&2; exit 1; }
rm -rf "${dir:?}/$name"
# The project has no mail address. A distributor has one, and a changelog of its own.
# tools/check/man.sh checks the manual pages.
lintian --fail-on error,warning --allow-root -X documentation/manual \
	--suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$dir"/*.changes
ls "$dir"/*.deb
