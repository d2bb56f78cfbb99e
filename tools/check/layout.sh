#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Compares the layout of <linux/dat.h> with the published layout, on 32 and on 64 bits.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# No header of the C library is included, so no 32-bit C library is needed.
headers=/usr/include/$(gcc -print-multiarch)
rc=0
for bits in 32 64; do
	gcc -m"$bits" -fsyntax-only -idirafter uapi -idirafter "$headers" \
		"$check_dir/layout.c" || rc=1
done
exit $rc
