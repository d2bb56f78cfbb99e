#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds for one kernel with W=1 and, as checked_for() says, sparse. Every warning is a failure.
# `make test` loads the result into its guests.
# shellcheck disable=SC2154 # lib.sh sets build_tree and checked
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/lib.sh"

name=${1:?usage: kbuild.sh KERNEL GOAL...}
shift
where=$("$vm_dir/kernel.sh" --headers "$name")
out=$(field out <<<"$where")/$(field release <<<"$where")
log=$state_dir/kbuild-$name.log

# Messages caused by Debian's headers, not by our code.
harmless='^Skipping BTF generation|^warning: the compiler differs'
harmless=$harmless'|^warning: pahole version differs'
harmless=$harmless'|^  (The kernel was built (by|with)|You are using): '

# A file with a warning is not compiled and is checked again next time. This also applies to
# modpost, which then has no output.
rc=0
checked_for "$name"
make_for "$where" -k "${checked[@]}" "$@" >"$log" 2>&1 || rc=$?
if said=$(grep -vE "$harmless" "$log") || [ "$rc" -ne 0 ]; then
	find "$out" -name Module.symvers -exec rm {} +
	printf '%s\n' "$said" |
		sed "/not remade because\|Deleting file/d
			s|$build_tree/||g; s|^[^ ]*/${out##*/}/||"
	exit 1
fi
