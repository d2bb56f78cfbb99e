#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Adds a kernel to the cache if needed and prints its data as NAME=VALUE:
#   arch, page         architecture of Debian; page size in bytes
#   image, modules     the kernel image; the directory of its modules (empty: none)
#   root, kdir, make   the root directory for builds (empty: this one), the kernel's build
#                      directory in it, and further arguments for make
#   out                the build directory of our Makefile
#   release            the kernel's release
#   guest              the root directory of guests of another architecture
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: kernel.sh [--headers] NAME [debug|kcsan|fuzz], with a NAME of $vm_dir/kernels"
headers=''
if [ "${1-}" = --headers ]; then
	headers=$1
	shift
fi
row "${1-}" >/dev/null || die "$usage"
case ${2-} in
'') exec "$vm_dir/kernel-stock.sh" ${headers:+"$headers"} "$1" ;;
debug | kcsan | fuzz) exec "$vm_dir/kernel-debug.sh" "$1" "$2" ;;
*) die "$usage" ;;
esac
