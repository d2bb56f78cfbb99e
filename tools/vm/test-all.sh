#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs the parts of tools/vm/parts and keeps the result of each by commit in the cache.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage() {
	cat >&2 <<-EOT
	usage: test-all.sh [--part NAME] [--time SECONDS]
	       test-all.sh --status
	  --part NAME      this part only
	  --time SECONDS   begins no part that would end later
	  --status         prints what this machine has run: for each part its last green commit
	                   and how many commits ago that was, the flaky programs and minutes of
	                   that run, and a later run that failed
	The part whose last green run is oldest begins. Logs are in build/parts.
	EOT
	exit 2
}

records=$cache_dir/parts
mkdir -p "$records"

# parts: prints the names of all parts
parts() {
	awk '!/^#/ && NF { print $1 }' "$vm_dir/parts"
}

# of_part NAME: prints the minutes and the arguments of a part
of_part() {
	awk -v name="$1" '$1 == name { $1 = ""; print; found = 1 } END { exit !found }' \
		"$vm_dir/parts"
}

# A record of a run: EPOCH COMMIT green|red PASSED FAILED SKIPPED FLAKES SECONDS. The name of
# a commit ends with + if the tree had other changes.
last() {
	[ ! -e "$records/$1" ] || awk -v result="$2" '$3 == result' "$records/$1" | tail -n 1
}

# by_age: prints the names of the parts, the oldest green run first
by_age() {
	local name when
	for name in $(parts); do
		read -r when _ < <(last "$name" green) || when=0
		printf '%s %s\n' "${when:-0}" "$name"
	done | sort -s -n -k 1,1 | cut -d ' ' -f 2
}

commit() {
	local dirty=''
	[ -z "$(git -C "$top_dir" status --porcelain)" ] || dirty=+
	echo "$(git -C "$top_dir" rev-parse HEAD)$dirty"
}

# Minimum coverage of all parts with sanitizers together, in percent of the lines
least=90

# coverage: adds up the lines that ran in the parts of this build. Prints a total as
# run-tests.sh does.
coverage() {
	local archives percent=0 table=$top_dir/build/parts/coverage.table
	mapfile -t archives < <(cat "$top_dir"/build/parts/*/archives 2>/dev/null)
	if [ ${#archives[@]} -gt 0 ] &&
	   "$vm_dir/coverage.sh" "${table%.table}.txt" "${archives[@]}" >"$table"; then
		cat "$table"
		percent=$(awk '$1 == "total" { print $4 }' "$table")
	fi
	if awk "BEGIN { exit !($percent >= $least) }"; then
		echo '1 passed, 0 failed, 0 skipped'
	else
		echo "failed: coverage: $percent % of the lines, not $least"
		echo '0 passed, 1 failed, 0 skipped'
		return 1
	fi
}

# sparse: has sparse read all modules for each kernel. Prints as run-tests.sh does.
sparse() {
	local name goal passed=0 failed=0
	for name in $(kernels full short build); do
		goal=selftest-modules
		! kernels build | grep -qxF "$name" || goal=modules
		if KDAPL_READ=all "$top_dir/tools/check/kbuild.sh" "$name" "$goal"; then
			passed=$((passed + 1))
		else
			echo "failed: sparse: $name"
			failed=$((failed + 1))
		fi
	done
	echo "$passed passed, $failed failed, 0 skipped"
	[ "$failed" -eq 0 ]
}

# run_part NAME: runs a part and records the result. Fails if the part does.
run_part() {
	local name=$1 start rc=0 minutes arguments commit out=$top_dir/build/parts/$1.log
	local passed=0 failed=1 skipped=0 flakes result=green
	start=$(date +%s)
	commit=$(commit)
	read -r minutes arguments < <(of_part "$name") || die "no part is called '$name'"
	mkdir -p "${out%/*}"
	echo "=== $name (about $minutes minutes)"
	# shellcheck disable=SC2086 # a list
	case $arguments in
	coverage) coverage ;;
	sparse) sparse ;;
	*) "$vm_dir/run-tests.sh" --results "parts/$name" $arguments ;;
	esac 2>&1 | tee "$out" || rc=$?
	read -r passed _ failed _ skipped _ < <(
		grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$out" | tail -n 1) || :
	flakes=$(grep -c '^flaky: ' "$out") || :
	[ "$rc" -eq 0 ] || result=red
	echo "$start $commit $result ${passed:-0} ${failed:-1} ${skipped:-0} $flakes" \
		"$(($(date +%s) - start))" >>"$records/$name"
	return "$rc"
}

# ago COMMIT: prints how many commits ago that was
ago() {
	git -C "$top_dir" merge-base --is-ancestor "${1%+}" HEAD 2>/dev/null || {
		echo '?'
		return
	}
	git -C "$top_dir" rev-list --count "${1%+}..HEAD"
}

show_status() {
	local name when commit flakes seconds red
	printf '%-20s %-9s %5s %7s %6s %7s  %s\n' part green ago passed flakes minutes \
		'last failure'
	for name in $(parts); do
		red=$(last "$name" red |
			awk '{ print strftime("%F", $1), substr($2, 1, 7), $5, "failed" }')
		if read -r when commit _ passed _ _ flakes seconds \
			< <(last "$name" green); then
			printf '%-20s %-9s %5s %7s %6s %7s  %s\n' "$name" \
				"${commit:0:7}${commit:40}" "$(ago "$commit")" "$passed" "$flakes" \
				$(((seconds + 59) / 60)) "$red"
		else
			printf '%-20s %-9s %5s %7s %6s %7s  %s\n' "$name" never - - - - "$red"
		fi
	done
}

part='' seconds=''
while [ $# -gt 0 ]; do
	case $1 in
	--status)
		show_status
		exit
		;;
	--part | --time)
		[ $# -ge 2 ] || usage
		[ "$1" = --part ] && part=$2 || seconds=$2
		shift
		;;
	*) usage ;;
	esac
	shift
done
[[ $seconds =~ ^[0-9]*$ ]] || usage

"$vm_dir/deps.sh" check test
"$vm_dir/fabtests.sh" >/dev/null || say "without fabtests: its tests count as skipped"
status=0
if [ -n "$part" ]; then
	run_part "$part" || status=1
else
	for name in $(by_age); do
		read -r minutes _ < <(of_part "$name")
		if [ -n "$seconds" ] && [ $((SECONDS + minutes * 60)) -gt "$seconds" ]; then
			continue
		fi
		run_part "$name" || status=1
	done
fi
show_status
exit $status
