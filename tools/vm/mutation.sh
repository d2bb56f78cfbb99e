#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Mutation tests: removes each check of mutation.list from a copy of the module and runs
# tests, of which one must fail. While two guests test two checks, the script builds the
# module without the next. usage: mutation.sh [NAME]
set -euo pipefail
. "$(dirname "$0")/lib.sh"

only=${1-}
max_jobs=${KDAPL_JOBS:-2}

"$vm_dir/deps.sh" test
logs=$top_dir/build/mutation
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

# The tests for one kernel, with all checks in place: build_tests VERSION
build_tests() {
	local log=$logs/build-$1.log modules=$tree/build/selftests/modules
	where=$("$vm_dir/kernel.sh" "$1") || die "no $1 kernel"
	release=$(field release <<<"$where")
	{ build selftest-modules && make -s -C "$tree" selftests; } >"$log" 2>&1 ||
		die "does not build: see $log"
	rm -rf "$modules"
	mkdir -p "$modules"
	find "$tree/build/$release/selftests/modules" -name '*.ko' -exec cp {} "$modules" \;
	find "$tree/build/selftests" -name '*.[od]' -delete
}

# Succeeds if a program or the kernel fails: fails NUMBER PROGRAM...
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

# Writes one line about a check to a file of its own: say_of NUMBER NAME TEXT
say_of() {
	printf '%-40s %s\n' "$2" "$3" | tee "$logs/$1.said"
}

# Runs the tests of a check: judge NUMBER NAME PROGRAM...
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

# Removes the check of one line of the list: try NAME FILE PROGRAMS EXPRESSION
try() {
	local name=$1 file=$tree/$2 programs
	num=$((num + 1))
	read -ra programs <<<"$3"
	cp -p "$file" "$tmp/saved"
	sed -i "$4" "$file"
	if cmp -s "$file" "$tmp/saved"; then
		say_of "$num" "$name" "NOT FOUND in $2"
	elif ! build modules KCFLAGS="-g0 -Wno-error" >"$logs/$num.log" 2>&1; then
		say_of "$num" "$name" "DOES NOT BUILD without: see $logs/$num.log"
	else
		mkdir "$tmp/$num"
		cp "$tree/build/$release/kdapl.ko" "$tmp/$num"
		while [ "$(jobs -rp | wc -l)" -ge "$max_jobs" ]; do
			wait -n || :
		done
		judge "$num" "$name" "${programs[@]}" &
	fi
	cp -p "$tmp/saved" "$file"
	touch "$file"
}

mkdir "$tree"
# Programs of the guest that run as an ordinary user read the directory.
chmod 755 "$tmp" "$tree"
git -C "$top_dir" ls-files -z | (cd "$top_dir" && xargs -0 cp --parents -t "$tree")

num=0
for version in $(kernels full short); do
	built=''
	# Not on stdin, which the commands started in the loop would read.
	while IFS= read -r line <&3; do
		case $line in '' | '#'*) continue ;; esac
		mapfile -t field <<<"${line// :: /$'\n'}"
		[ ${#field[@]} -eq 5 ] || die "mutation.list: not five fields: $line"
		row "${field[1]}" >/dev/null || die "mutation.list: no such kernel: $line"
		[ "$version" = "${field[1]}" ] || continue
		[ -z "$only" ] || [ "$only" = "${field[0]}" ] || continue
		[ -n "$built" ] || build_tests "$version"
		built=yes
		try "${field[0]}" "${field[@]:2}"
	done 3<"$vm_dir/mutation.list"
	# The tests of the next kernel replace the tests of this one.
	wait
done

held=$(cat "$logs"/*.said 2>/dev/null | grep -c ' held by ' || :)
echo "$num checks, $held held by a test"
[ "$num" -gt 0 ] && [ "$held" -eq "$num" ]
