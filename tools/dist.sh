#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Makes build/dist/kdapl-VERSION.tar.xz of what is committed, with a dkms.conf.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/#define DAT_KDAPL_VERSION[^"]*"\(.*\)"/\1/p' kdapl/include/dat/version.h)
mkdir -p build/dist
dkms=$(sed "s/#MODULE_VERSION#/$version/" debian/kdapl-dkms.dkms)
git archive --format=tar --prefix="kdapl-$version/" \
	--add-virtual-file="kdapl-$version/dkms.conf:$dkms" HEAD | xz -T0 -c \
	>"build/dist/kdapl-$version.tar.xz"
echo "build/dist/kdapl-$version.tar.xz"
