#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Compares kdapl with raw verbs and with libdaplofa: prints a line per case, a table, a
# plot.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/storage-lib.sh"
. "$vm_dir/bench-lib.sh"

usage() {
	cat >&2 <<-EOT
	usage: bench.sh [--times NUMBER] [--goals] VERSION...
	       bench.sh --smoke [--log FILE] [--timeout SECONDS] VERSION
	  --times NUMBER     so often without the counting clock, on two processors;
	                     default 5, 0 for not at all
	  --goals            also print TAP: a test for each goal of bench.goals, which
	                     passes up to 3 % above the goal; the status is 1 if one fails
	  --smoke            only run each case once, in one guest on two processors, and
	                     print TAP: a test for each case of bench.goals, which passes
	                     if both sides have a figure
	  --log FILE         of the guest of --smoke
	  --timeout SECONDS  of the guest of --smoke; default 600
	What it finds is in build/bench; VERSION-memory.txt tells who asked for the
	memory of an object.
	exit status: 1 if a case failed; with --smoke also boot.sh's from 123 to 126
	EOT
	exit 2
}

times=5 goals='' smoke='' log='' limit=600 versions=()
while [ $# -gt 0 ]; do
	case $1 in
	--goals) goals=yes ;;
	--smoke) smoke=yes ;;
	--times | --log | --timeout)
		[ $# -ge 2 ] || usage
		case $1 in
		--times) times=$2 ;;
		--log) log=$2 ;;
		--timeout) limit=$2 ;;
		esac
		shift
		;;
	-*) usage ;;
	*) versions+=("$1") ;;
	esac
	shift
done
[ ${#versions[@]} -gt 0 ] || usage
[ -z "$smoke" ] || [ ${#versions[@]} -eq 1 ] || usage
out=$top_dir/build/bench
mkdir -p "$out"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

# Medians: the state of the slabs changes the count by some hundred instructions.
counts=5

mapfile -t storage < <(storage_options)

# judge FORM UNIT VERSION FILE...: prints TAP; see bench.awk
judge() {
	local form=$1 unit=$2 version=$3
	shift 3
	awk -v form="$form" -v unit="$unit" -v version="$version" -f "$vm_dir/bench.awk" \
		"$vm_dir/bench.goals" "$@"
}

# smoke VERSION: prints TAP and exits
smoke() {
	local version=$1 began=$SECONDS rc=0 status=0
	build_bench "$version" "$out/build-$version.log" || exit 1
	(boot_bench "$version" --timeout "$limit" --log "${log:-$out/$version-smoke.log}" \
		--add "$top_dir/selftests/bench/srp.sh:/selftests/bench/srp.sh" \
		--env BENCH_SMOKE=1 --env BENCH_MEMORY=1 --env BENCH_DISK=1 "${storage[@]}" \
		-- "$top_dir/selftests/bench/run.sh" 1) >"$tmp/results" || status=$?
	echo "# BEGIN bench"
	judge cases ns/op "$version" "$tmp/results" | tee "$tmp/tap"
	if [ "$status" -ge 123 ]; then
		rc=$status
	elif [ "$status" -ne 0 ] || grep -q '^not ok ' "$tmp/tap"; then
		rc=1
	fi
	echo "# END bench rc=$rc $((SECONDS - began)) s"
	exit "$rc"
}

if [ -n "$smoke" ]; then
	"$vm_dir/deps.sh" test || exit 126
	smoke "${versions[0]}"
fi

# measure WHAT VERSION LOG RESULTS OPTION... -- SCRIPT TIMES: appends the figures. A script
# that fails reports its failed cases among them.
measure() {
	local what=$1 version=$2 log=$3 results=$4 status=0
	shift 4
	(boot_bench "$version" --timeout 1500 --log "$log" "$@") >>"$results" || status=$?
	[ "$status" -le 1 ] || {
		grep '^# failed: ' "$results" >&2 || :
		die "the measurement of $what on $version has ended with status $status; see $log"
	}
}

# run VERSION RESULTS TIMES OPTION...
run() {
	local version=$1 results=$2 times=$3
	shift 3
	measure "all cases" "$version" "$out/$version.log" "$results" "$@" \
		-- "$top_dir/selftests/bench/run.sh" "$times"
	measure "a disk" "$version" "$out/$version-srp.log" "$results" "$@" "${storage[@]}" \
		-- "$top_dir/selftests/bench/srp.sh" "$times"
}

"$vm_dir/deps.sh" bench
rm -f "$out"/*-insn.txt "$out"/*-time.txt
for version in "${versions[@]}"; do
	build_bench "$version" "$out/build-$version.log"
	say "counting instructions on $version"
	run "$version" "$out/$version-insn.txt" $counts --icount --env BENCH_MEMORY=1
	sed -n 's/^# \(mem-[^ ]* [a-z]* [0-9]* [^ ]*\)$/\1/p' "$out/$version-insn.txt" |
		sort -k 1,2 -k 3,3nr >"$out/$version-memory.txt"
	[ "$times" -eq 0 ] || {
		say "measuring time on $version, $times times"
		run "$version" "$out/$version-time.txt" "$times"
	}
done

# lines UNIT FILE-SUFFIX: prints a line for each case that has a counterpart
lines() {
	local version
	for version in "${versions[@]}"; do
		[ ! -e "$out/$version-$2.txt" ] ||
			awk -v unit="$1" -v version="$version" -f "$vm_dir/bench.awk" \
				"$vm_dir/bench.goals" "$out/$version-$2.txt"
	done
}

rm -f "$out"/*.csv
lines insn/op insn | tee "$out/insn.lines"
lines ns/op time | tee "$out/time.lines"
for kind in insn time; do
	{
		echo "case,kernel,ours,peer,ratio,goal,unit,low,high"
		awk -F '[ =]' 'BEGIN { OFS = "," }
			{ print $2, $12, $4, $6, $8, $14, $10, $16, $18 }' "$out/$kind.lines"
	} >"$out/$kind.csv"
done
"$vm_dir/bench-plot.sh" "$out/insn.csv" >"$out/insn.svg"
[ "$times" -eq 0 ] || "$vm_dir/bench-plot.sh" "$out/time.csv" >"$out/time.svg"
cut -d , -f 1-7 "$out/insn.csv" | column -s, -t | tee "$out/table.txt"
say "the figures are in $out"

failed=0
for version in "${versions[@]}"; do
	# With --times 0 there is no second part.
	cp "$out/$version-insn.txt" "$tmp/results"
	[ "$times" -eq 0 ] || cat "$out/$version-time.txt" >>"$tmp/results"
	judge cases insn/op "$version" "$tmp/results" >"$tmp/cases"
	! grep -q '^not ok ' "$tmp/cases" || {
		say "cases that failed on $version:"
		grep -v '^ok \|^1\.\.' "$tmp/cases" >&2
		failed=1
	}
	[ -n "$goals" ] || continue
	echo "# BEGIN bench-goals-$version"
	rc=0
	judge goals insn/op "$version" "$out/$version-insn.txt" | tee "$tmp/goals"
	! grep -q '^not ok ' "$tmp/goals" || rc=1 failed=1
	echo "# END bench-goals-$version rc=$rc"
done
exit "$failed"
