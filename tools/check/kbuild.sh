#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds for one kernel with W=1 and sparse. Every warning is a failure.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/lib.sh"

name=${1:?usage: kbuild.sh KERNEL [GOAL]}
goal=${2-modules}
where=$("$vm_dir/kernel.sh" --headers "$name")
out=$state_dir/kbuild-$name
log=$state_dir/kbuild-$name.log

# Messages caused by Debian's headers, not by our code.
harmless='^Skipping BTF generation|^warning: the compiler differs'
harmless=$harmless'|^warning: pahole version differs'
harmless=$harmless'|^  (The kernel was built (by|with)|You are using): '

# C=1 and W=1 check each file when it is compiled, in a build tree of their own. Warnings
# are errors, so a file with a warning is not compiled and is checked again next time.
# This also applies to modpost, which then has no output.
sparse=(-Wsparse-error -include "$check_dir/sparse.h")
# arm64's cmpxchg() casts its constants to every size. sparse reports each cast.
[ "$(field arch <<<"$where")" != arm64 ] || sparse+=(-Wno-cast-truncate)

rc=0
# shellcheck disable=SC2154 # lib.sh sets for_guests
make_for "$where" -k "$goal" BUILD_DIR="$out" W=1 C=1 CF="${sparse[*]}" \
	"${for_guests[@]}" KCFLAGS="-Werror -g0" >"$log" 2>&1 || rc=$?
if said=$(grep -vE "$harmless" "$log") || [ "$rc" -ne 0 ]; then
	find "$out" -name Module.symvers -exec rm {} +
	printf '%s\n' "$said" |
		sed "/not remade because\|Deleting file/d; s|[^ ]*/kbuild-$name/[^/]*/||g"
	exit 1
fi
