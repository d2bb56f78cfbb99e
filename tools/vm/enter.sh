#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs a command in another root directory: for in_root of lib.sh, as root, in a mount
# namespace of its own. There the directory TREE is also at ALIAS.
set -euo pipefail

[ $# -ge 6 ] || {
	echo "usage: enter.sh ROOT UID:GID DIRECTORY[:DIRECTORY...] TREE ALIAS COMMAND..." >&2
	exit 2
}
root=$1 owner=$2 shared=$3 tree=$4 alias=$5
shift 5
where=$PWD

mount --make-rprivate /
mount --bind "$tree" "$alias"
if [ "$root" != / ]; then
	mount -t proc proc "$root/proc"
	IFS=: read -ra shared <<<"/dev:$shared"
	for dir in "${shared[@]}"; do
		mkdir -p "$root$dir"
		mount --rbind "$dir" "$root$dir"
	done
fi
# LD_LIBRARY_PATH names libraries of this machine.
unset LD_LIBRARY_PATH
# shellcheck disable=SC2016 # for the inner shell
exec env LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	chroot --userspec="$owner" "$root" \
	sh -c 'cd "$1" && shift && exec "$@"' sh "$where" "$@"
