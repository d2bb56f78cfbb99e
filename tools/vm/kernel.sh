#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Makes sure that a kernel is in the cache and prints where: image=, modules=, kdir=, release=.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: kernel.sh 6.1|6.12 [debug]"
case ${1-} in
6.1 | 6.12) ;;
*) die "$usage" ;;
esac
case ${2-} in
'') exec "$vm_dir/kernel-stock.sh" "$1" ;;
debug) exec "$vm_dir/kernel-debug.sh" "$1" ;;
*) die "$usage" ;;
esac
