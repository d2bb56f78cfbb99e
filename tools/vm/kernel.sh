#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Makes sure that a kernel is in the cache and prints where, as NAME=VALUE:
#   arch, page         of Debian; bytes of a page
#   image, modules     what boots; its modules, if any are not in it
#   root, kdir, make   where it is built for: the root directory, if it is another one, the
#                      build directory in there, and what make has to be told
#   out                where our Makefile puts what it builds
#   release            what it calls itself
#   guest              what its guests consist of, if they are not of this machine's kind
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: kernel.sh [--headers] NAME [debug], with a NAME of $vm_dir/kernels"
headers=''
if [ "${1-}" = --headers ]; then
	headers=$1
	shift
fi
row "${1-}" >/dev/null || die "$usage"
case ${2-} in
'') exec "$vm_dir/kernel-stock.sh" ${headers:+"$headers"} "$1" ;;
debug) exec "$vm_dir/kernel-debug.sh" "$1" ;;
*) die "$usage" ;;
esac
