#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Compares <linux/dat.h> with what was published, on 32 and on 64 bits.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# There need not be a C library of 32 bits: none of its headers is included.
headers=/usr/include/$(gcc -print-multiarch)
rc=0
for bits in 32 64; do
	gcc -m"$bits" -fsyntax-only -idirafter uapi -idirafter "$headers" \
		"$check_dir/layout.c" || rc=1
done
exit $rc
