#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Compares the tested kernels in version.h and README.md with tools/vm/kernels, and the
# version with that of the packages.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/lib.sh"

status=0
complain() {
	printf '%s\n' "$*"
	status=1
}

# The list in the form of version.h: grouped by architecture and page size.
tested=$(for name in $(kernels full short); do
	read -r arch page _ < <(row "$name")
	case $arch in amd64) arch=x86-64 ;; esac
	case $name in *-rt) arch="$arch, PREEMPT_RT" ;; esac
	[ "$page" -eq 4096 ] || arch="$arch, $((page / 1024)) KiB pages"
	printf '%s\t%s\n' "$arch" "${name%%-*}"
done | awk -F '\t' '
	!($1 in series) { order[++n] = $1 }
	{ series[$1] = series[$1] (series[$1] == "" ? "" : ", ") $2 }
	END {
		for (i = 1; i <= n; i++)
			printf("%s%s (%s)", (i > 1 ? "; " : ""), series[order[i]], order[i])
	}')
said=$(tr '\n' ' ' <kdapl/include/dat/version.h |
	sed -n 's/.*#define DAT_KDAPL_KERNELS[^"]*"\([^"]*\)".*/\1/p')
[ "$said" = "$tested" ] || complain "version.h says '$said', tools/vm/kernels '$tested'"

while read -r name; do
	read -r arch page _ < <(row "$name")
	[ "$arch" != amd64 ] || arch=x86-64
	case $name in *-rt) arch="$arch, PREEMPT_RT" ;; esac
	grep -qF "| ${name%%-*} | $arch | $((page / 1024)) KiB |" README.md ||
		complain "README.md has no line for $name"
done < <(kernels full short)
# The packages have the version of the module.
version=$(sed -n 's/#define DAT_KDAPL_VERSION[^"]*"\(.*\)"/\1/p' kdapl/include/dat/version.h)
head -n 1 debian/changelog | grep -qF "kdapl ($version" ||
	complain "debian/changelog does not begin with version $version"
exit $status
