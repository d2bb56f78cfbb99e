#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Prints the build directory of the installed headers of a kernel of this machine's suite.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

version=${1:?usage: headers.sh NAME}
read -r _ _ suite meta _ < <(row "$version") || die "no kernel is called '$version'"
[ "$suite" = host ] || die "the headers of $version are not installed here"

headers=$(dpkg-query -W -f '${Depends}' "$meta" 2>/dev/null |
	sed -n 's/.*\(linux-headers-[^ ,]*\).*/\1/p') || headers=
[ -n "$headers" ] || die "$meta is not installed: run tools/vm/deps.sh test"
release=${headers#linux-headers-}
case $release in
"$version".*) ;;
*) die "$meta is for $release here, not for $version" ;;
esac
[ -d "/lib/modules/$release/build" ] ||
	die "$headers is not installed: apt-get install --reinstall $headers"
printf '%s\n' "/lib/modules/$release/build"
