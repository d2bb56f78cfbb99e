#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Removes each guard of guards.list from a copy of the module: some test must fail then.
# While two guests run the tests of two guards, the module without the next is built.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: guards.sh 6.1|6.12 [NAME]"
version=${1:?$usage}
only=${2-}
max_jobs=${KDAPL_JOBS:-2}

"$vm_dir/deps.sh" test
where=$("$vm_dir/kernel.sh" "$version") || die "no $version kernel"
release=$(field release <<<"$where")
logs=$top_dir/build/guards
rm -rf "$logs"
mkdir -p "$logs"
tmp=$(mktemp -d)
tree=$tmp/tree
trap 'rm -rf "$tmp"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM HUP

build() {
	top_dir=$tree make_for "$where" KDAPL_WANTED=tests BUILD_DIR="$tree/build" \
		"${for_guests[@]}" "$@"
}

mkdir "$tree"
# Programs of the guest that run as an ordinary user read it.
chmod 755 "$tmp" "$tree"
git -C "$top_dir" ls-files -z | (cd "$top_dir" && xargs -0 cp --parents -t "$tree")
{ build selftest-modules && make -s -C "$tree" selftests; } >"$logs/build.log" 2>&1 ||
	die "does not build: see $logs/build.log"
mkdir -p "$tree/build/selftests/modules"
find "$tree/build/$release/selftests/modules" -name '*.ko' \
	-exec cp {} "$tree/build/selftests/modules" \;
find "$tree/build/selftests" -name '*.[od]' -delete

# Some program fails, or the kernel: fails NUMBER PROGRAM...
fails() {
	local log=$logs/$1.log num=$1 rc=0
	shift
	"$vm_dir/boot.sh" --kernel "$version" --timeout 600 --log "$log" \
		--insmod "$tmp/$num/kdapl.ko" --lib "$tree/build/libdat" \
		--add "$tree/build/selftests:/selftests" \
		-- "$tree/selftests/run.sh" "$@" >"$log.tap" 2>&1 || rc=$?
	by=$(sed -n "s/^not ok [0-9]* //p" "$log.tap" | grep -v '^examples\.' | head -n 1)
	[ -n "$by" ] || [ "$rc" -ge 124 ] || return 1
	by=${by:-the kernel}
}

# One line about a guard, in a file of its own: say_of NUMBER NAME TEXT
say_of() {
	printf '%-40s %s\n' "$2" "$3" | tee "$logs/$1.said"
}

# Runs its tests: judge NUMBER NAME PROGRAM...
judge() {
	local num=$1 name=$2 by=
	shift 2
	if fails "$num" "$@"; then
		say_of "$num" "$name" "held by $by"
	else
		say_of "$num" "$name" "NOT HELD by $*"
	fi
	rm -rf "${tmp:?}/$num"
}

num=0
# Not on stdin, which is for what is started below.
while IFS= read -r line <&3; do
	case $line in '' | '#'*) continue ;; esac
	mapfile -t field <<<"${line// :: /$'\n'}"
	[ ${#field[@]} -eq 4 ] || die "guards.list: not four fields: $line"
	[ -z "$only" ] || [ "$only" = "${field[0]}" ] || continue
	num=$((num + 1))
	file=$tree/${field[1]}
	read -ra programs <<<"${field[2]}"
	cp -p "$file" "$tmp/saved"
	sed -i "${field[3]}" "$file"
	if cmp -s "$file" "$tmp/saved"; then
		say_of "$num" "${field[0]}" "NOT FOUND in ${field[1]}"
	elif ! build modules KCFLAGS="-g0 -Wno-error" >"$logs/$num.log" 2>&1; then
		say_of "$num" "${field[0]}" "DOES NOT BUILD without: see $logs/$num.log"
	else
		mkdir "$tmp/$num"
		cp "$tree/build/$release/kdapl.ko" "$tmp/$num"
		while [ "$(jobs -rp | wc -l)" -ge "$max_jobs" ]; do
			wait -n || :
		done
		judge "$num" "${field[0]}" "${programs[@]}" &
	fi
	cp -p "$tmp/saved" "$file"
	touch "$file"
done 3<"$vm_dir/guards.list"
wait

held=$(cat "$logs"/*.said 2>/dev/null | grep -c ' held by ' || :)
echo "$num guards, $held held by a test"
[ "$held" -eq "$num" ]
