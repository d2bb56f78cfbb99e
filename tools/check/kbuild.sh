#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds the modules for one kernel with W=1 and sparse; whatever they say is a failure.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

version=${1:?usage: kbuild.sh VERSION}
kdir=$("$vm_dir/headers.sh" "$version")
out=$state_dir/kbuild-$version
log=$state_dir/kbuild-$version.log

# What Debian's headers bring with them, nothing of which is about our code.
harmless='^Skipping BTF generation|^warning: the compiler differs'
harmless=$harmless'|^  (The kernel was built by|You are using): '

# C=1 and W=1 look at each file as it is compiled, in a tree of their own. With
# warnings as errors, a file about which something was said is not compiled, so
# next time it is looked at again. The same goes for modpost without its output.
rc=0
make -s -k -j"$(nproc)" -C "$top_dir" selftest-modules KDIR="$kdir" BUILD_DIR="$out" \
	W=1 C=1 KCFLAGS=-Werror CF=-Wsparse-error >"$log" 2>&1 || rc=$?
if said=$(grep -vE "$harmless" "$log") || [ "$rc" -ne 0 ]; then
	find "$out" -name Module.symvers -exec rm {} +
	printf '%s\n' "$said" | sed "/not remade because\|Deleting file/d; s|$out/[^/]*/||g"
	exit 1
fi
