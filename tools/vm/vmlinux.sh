#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Unpacks an x86 kernel (bzImage) to the ELF file, which QEMU can also boot.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

[ $# -eq 2 ] || die "usage: vmlinux.sh BZIMAGE OUTPUT"
image=$1 output=$2

# Documentation/arch/x86/boot.rst: number SIZE OFFSET, little-endian
number() {
	od -An -t "u$1" -j "$2" -N "$1" "$image" | tr -d ' '
}

begin=$((($(number 1 0x1f1) + 1) * 512 + $(number 4 0x248)))
length=$(number 4 0x24c)
payload() {
	tail -c "+$((begin + 1))" "$image" | head -c "$length"
}

# The length of the kernel follows the compressed data. Some tools complain about it.
case $(payload | od -An -t x1 -N 4 | tr -d ' ') in
fd377a58) unpack=(xz -dc --single-stream) ;;
28b52ffd) unpack=(zstd -qdc) ;;
1f8b*) unpack=(gzip -qdc) ;;
*) exit 1 ;;
esac
payload | "${unpack[@]}" >"$output" 2>/dev/null || :
# This note has QEMU's entry point.
if [ "$(stat -c %s "$output")" != "$(number 4 $((begin + length - 4)))" ] ||
	! readelf -n "$output" 2>/dev/null | grep '^ *Xen .*0x00000012)' >/dev/null; then
	rm -f "$output"
	exit 1
fi
