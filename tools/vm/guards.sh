#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Takes each guard of guards.list out of a copy of the module: some test must fail then.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: guards.sh 6.1|6.12 [NAME]"
version=${1:?$usage}
only=${2-}

"$vm_dir/deps.sh" test
where=$("$vm_dir/kernel.sh" "$version") || die "no $version kernel"
kdir=$(field kdir <<<"$where")
release=$(field release <<<"$where")
logs=$top_dir/build/guards
mkdir -p "$logs"
tmp=$(mktemp -d)
tree=$tmp/tree
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

mkdir "$tree"
# The guest's programs, some of which are nobody's, read it.
chmod 755 "$tmp" "$tree"
git -C "$top_dir" ls-files -z | (cd "$top_dir" && xargs -0 cp --parents -t "$tree")
make -s -j"$(nproc)" -C "$tree" modules selftests KDIR="$kdir" >"$logs/build.log" 2>&1 ||
	die "does not build: see $logs/build.log"

# Some program fails, or the kernel: fails LOG PROGRAM...
fails() {
	local log=$1 rc=0
	shift
	"$vm_dir/boot.sh" --kernel "$version" --timeout 300 --log "$log" \
		--insmod "$tree/build/$release/kdapl.ko" --lib "$tree/build/libdat" \
		--add "$tree/build/selftests:/selftests" \
		-- "$tree/selftests/run.sh" "$@" >"$log.tap" 2>&1 || rc=$?
	by=$(sed -n "s/^not ok [0-9]* //p" "$log.tap" | grep -v '^examples\.' | head -n 1)
	[ -n "$by" ] || [ "$rc" -ge 124 ] || return 1
	by=${by:-the kernel}
}

num=0 bad=0
# Not on stdin, which is for what is started below.
while IFS= read -r line <&3; do
	case $line in '' | '#'*) continue ;; esac
	mapfile -t field <<<"${line// :: /$'\n'}"
	[ ${#field[@]} -eq 4 ] || die "guards.list: not four fields: $line"
	[ -z "$only" ] || [ "$only" = "${field[0]}" ] || continue
	num=$((num + 1))
	file=$tree/${field[1]} log=$logs/$num.log by=
	cp -p "$file" "$tmp/saved"
	sed -i "${field[3]}" "$file"
	read -ra programs <<<"${field[2]}"
	if cmp -s "$file" "$tmp/saved"; then
		said="NOT FOUND in ${field[1]}"
	elif ! make -s -j"$(nproc)" -C "$tree" modules KDIR="$kdir" \
		KCFLAGS=-Wno-error >"$log" 2>&1; then
		said="DOES NOT BUILD without: see $log"
	elif fails "$log" "${programs[@]}"; then
		said=
	else
		said="NOT HELD by ${field[2]}"
	fi
	if [ -n "$said" ]; then
		bad=$((bad + 1))
		printf '%-40s %s\n' "${field[0]}" "$said"
	else
		printf '%-40s held by %s\n' "${field[0]}" "$by"
	fi
	cp -p "$tmp/saved" "$file"
	touch "$file"
done 3<"$vm_dir/guards.list"

echo "$num guards, $((num - bad)) held by a test"
[ "$bad" -eq 0 ]
