#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds the module and tests for each named kernel, runs the selftests, adds up the
# results.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/storage-lib.sh"

usage() {
	cat >&2 <<-EOT
	usage: run-tests.sh [--debug|--kcsan] [--rdma rxe|siw] [--model DRIVER]
	                    [KERNEL...] [-- PROGRAM...]
	  --debug         kernels with sanitizers, the long form of the tests on the last
	  --kcsan         kernels that find data races; a race in which kdapl takes part is
	                  a failure, others are counted
	  --rdma DRIVER   this device on all kernels
	  --model DRIVER  rxe with the limits of this driver's adapters, for the programs
	tools/vm/kernels lists the kernels, with their sets and their devices. Without
	KERNEL the script runs what is listed there.
	The programs, or groups of them, are handed to selftests/run.sh; without any it
	runs them all but for the variants, and a link between the last kernel and the first,
	of which Debian's programs are at the ends. With --debug the link is our own, the
	modules run on rxe where the device is siw, and what sanitizers make too slow or keep
	from running without them: the variants, a thousand connections and a flood of
	requests on the last, rxe as each adapter on the first of all.
	Five guests run at a time, three of those with sanitizers, or as many as
	KDAPL_JOBS says. After the second of the epoch that KDAPL_DEADLINE names no test
	program is begun, and no kernel is built that takes longer; all of these count as
	skipped. A guest that still runs ten minutes later is killed, which is a failure.
	EOT
	exit 2
}

debug='' versions=() driver='' model=''
while [ $# -gt 0 ]; do
	case $1 in
	--debug | --kcsan) debug=${1#--} ;;
	--rdma | --model)
		[ $# -ge 2 ] || usage
		[ "$1" = --rdma ] && driver=$2 || model=$2
		shift
		;;
	--)
		shift
		break
		;;
	-*) usage ;;
	*) versions+=("$1") ;;
	esac
	shift
done
if [ -n "$model" ]; then
	[ $# -gt 0 ] || usage
	set -- "model/$model" "$@" model/rxe
fi
# Only these kernels count which lines run. They also run the long form of tests that have
# one.
gcov='' thorough=''
[ "$debug" != debug ] || gcov=yes thorough=yes
# Names of kernels with the short test set; a newer series than those in the file kernels
short=" " new='' by_matrix=''
if [ ${#versions[@]} -eq 0 ]; then
	by_matrix=yes
	if [ -n "$debug" ]; then
		mapfile -t versions < <(kernels DEBUG rxe siw ${driver:+all})
	else
		mapfile -t versions < <(kernels TEST full short)
		short=" $(kernels TEST short | tr '\n' ' ')"
	fi
fi
# Sanitizers slow the tests down several times. The limits only stop a guest that hangs.
if [ -z "$debug" ]; then limit=1800; elif [ -z "$driver" ]; then limit=3600; else limit=10800; fi
# Seconds for a kernel with sanitizers; some need twice as many.
kernel_time=900
# Minimum coverage of all tests together, in percent of the lines.
least=90
if [ -n "$debug" ]; then max_jobs=3; else max_jobs=5; fi
max_jobs=${KDAPL_JOBS:-$max_jobs}
programs=selftests
# The named tests may be in any of the variants.
[ $# -eq 0 ] || programs=selftest-variants
results=$top_dir/build/test
passed=0 failed=0 skipped=0 failures=() late=()
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM HUP

# is_new NAME: succeeds if this boot or failure belongs to a kernel outside the matrix
is_new() {
	case $1 in
	"$new" | "$new"[-:]*) [ -n "$new" ] ;;
	*) return 1 ;;
	esac
}

# Reports a failure. A failure on a kernel outside the matrix counts as skipped.
fail() {
	if is_new "$1"; then
		say "new: $*"
		skipped=$((skipped + 1))
		return
	fi
	failures+=("$*")
	failed=$((failed + 1))
}

# time_left SECONDS_OTHERWISE: prints the seconds until the deadline, if there is one
time_left() {
	if [ -n "${KDAPL_DEADLINE-}" ]; then
		echo $((KDAPL_DEADLINE - $(date +%s)))
	else
		echo "$1"
	fi
}

# guest_limit: prints the seconds after which a guest hangs. What was begun before the deadline
# may take ten minutes more.
guest_limit() {
	local left
	left=$(($(time_left "$limit") + 600))
	echo $((left < limit ? left : limit))
}

# give_up WHAT: records a part of the tests for which no time is left
give_up() {
	late+=("$*")
	skipped=$((skipped + 1))
}

# step LABEL COMMAND...: runs a command and reports its duration
step() {
	local label=$1 start=$SECONDS rc=0
	shift
	say "== $label"
	"$@" || rc=$?
	say "== $label: $((SECONDS - start)) s$([ "$rc" -eq 0 ] || echo ", status $rc")"
	return "$rc"
}

# Builds the tests. In the guest they are below /selftests.
build() {
	local version=$1 where=$2 stage=$tmp/$1$debug out modules with_demo='' goal=$programs
	[[ $short != *" $version "* ]] || with_demo=yes
	out=$(field out <<<"$where")
	modules=$out/$(field release <<<"$where")
	make_for "$where" selftest-modules KDAPL_GCOV="$gcov" KDAPL_FAIL="$debug" \
		KDAPL_WANTED="tests${with_demo:+ demo}" "${for_guests[@]}" || return
	# The variants need libraries that guests of other architectures lack.
	[ -z "$(field guest <<<"$where")" ] || goal=selftests
	programs_for "$where" "$goal" ${with_demo:+demo-programs} || return
	mkdir -p "$stage/modules"
	cp -r "$out/selftests/." "$stage"
	cp -r "$out/libdat" "$stage.lib"
	find "$modules/selftests/modules" -name "*.ko" -exec cp {} "$stage/modules" \;
	storage_files "$where" "$stage/storage"
	cp "$modules/kdapl.ko" "$stage.ko"
	mkdir "$stage.demo"
	[ -z "$with_demo" ] || cp "$out"/demo/{server,client} "$top_dir/tools/demo/run.sh" \
		"$modules"/selftests/modules/kdapl_{demo,testlib}.ko "$stage.demo"
	# Each guest unpacks the stage into memory, so remove files that it does not need.
	find "$stage" -name '*.[od]' -delete
	find "$stage" "$stage.ko" -type f -exec strip -g {} + 2>/dev/null || :
}

# prepare VERSION: builds the module and tests for a kernel
prepare() {
	local version=$1 label=$1${debug:+-$debug} where
	if [ -n "$debug" ] && ! "$vm_dir/kernel-debug.sh" --is-there "$version" "$debug" &&
	   [ "$(time_left $kernel_time)" -lt $kernel_time ]; then
		give_up "$label: its kernel"
		return 1
	fi
	where=$(step "$label: kernel" "$vm_dir/kernel.sh" "$version" ${debug:+"$debug"}) || {
		fail "$label: no kernel"
		return 1
	}
	root_of[$version]=$(field root <<<"$where")
	step "$label: build" build "$version" "$where" || {
		fail "$label: does not build"
		return 1
	}
}

boot_once() {
	local name=$1 version=$2 rdma=$3 options=() left
	shift 3
	left=$(time_left '')
	[ -z "$left" ] || options+=(--env "KDAPL_SECONDS=$left")
	[ -z "$debug" ] || options+=("--$debug")
	[ -z "$gcov" ] || options+=(--coverage "$results/$name.gcda.tar.gz")
	[[ " $* " != *" storage"* ]] || mapfile -t -O "${#options[@]}" options < <(storage_options)
	# The long form and Debian's programs run on one kernel only.
	if [ "$version" = "${versions[-1]}" ]; then
		options+=(--env KDAPL_ONCE=1)
		[ -z "$thorough" ] || options+=(--env KDAPL_THOROUGH=1)
		# What would take CI too long
		[ -z "$thorough" ] || [ -z "$driver" ] || options+=(--env KDAPL_LONG=1)
	elif [ -n "$thorough" ] && [ -n "$driver" ] && [[ " $* " == *" storage"* ]]; then
		options+=(--env KDAPL_THOROUGH=1)
	fi
	"$vm_dir/boot.sh" --kernel "$version" --rdma "$rdma" "${options[@]}" \
		--timeout "$(guest_limit)" --log "$results/$name.log" \
		--insmod "$tmp/$version$debug.ko" --lib "$tmp/$version$debug.lib" \
		--add "$tmp/$version$debug:/selftests" --add "$tmp/$version$debug.demo:/demo" \
		-- "$top_dir/selftests/run.sh" "$@" \
		>"$results/$name.tap"
}

# Debian's 6.12 and 7.3 warn about once in 30 runs, each in its own form: rxe schedules a
# task of a QP whose last reference was dropped with a packet. patches/ fixes the kernels
# that are built here.
is_known() {
	local place='drivers/infiniband/sw/rxe/rxe_task\.c:[0-9]+'

	[ -z "$debug" ] && grep -qaE "WARNING: (.* at )?$place (at )?rxe_sched_task" "$1"
}

# twice COMMAND NAME...: runs it again if the complaint is not about kdapl
twice() {
	local rc=0 log=$results/$2.log
	"$@" || rc=$?
	if [ "$rc" -eq 125 ] && { is_known "$log" || is_emulators "$log"; }; then
		mv "$log" "$log.known"
		say "$2: not kdapl's fault, see $log.known; once more"
		rc=0
		"$@" || rc=$?
	fi
	return "$rc"
}

boot() {
	twice boot_once "$@"
}

# Runs one boot or link test and prints its output when it has finished.
run() {
	local name=$1 rc=0
	# If the build fails, the results of an earlier run must not be counted.
	: >"$results/$name.tap"
	step "$name: test" "${@:2}" || rc=$?
	echo "$rc" >"$tmp/$name.rc"
	flock "$tmp/rc.lock" cat "$results/$name.tap"
}

# start: as run, in a background job, as soon as a job slot is free
start() {
	while [ "$(jobs -rp | wc -l)" -ge "$max_jobs" ]; do
		wait -n || :
	done
	if [ "$(time_left 60)" -lt 60 ]; then
		give_up "$1"
		return
	fi
	names+=("$1")
	run "$@" &
}

# start_boot VERSION DRIVER [PROGRAM...]
start_boot() {
	local name=$1${debug:+-$debug-$2}
	# A second boot with the same device
	[[ " ${names[*]} " != *" $name "* ]] || name+=-$3
	start "$name" boot "$name" "$@"
}

# device VERSION: prints the RDMA device of the kernel's guests
device() {
	local column=''
	[ -z "$debug" ] || read -r _ _ _ _ _ column < <(row "$1")
	case ${driver:-$column} in
	siw) echo siw ;;
	*) echo rxe ;;
	esac
}

# Runs the tests in several boots at once, because tests mostly wait. On all versions but
# the last some groups have only a few programs, which are not worth a boot of their own.
start_groups() {
	local version=$1 all=(programs 'modules users dat2') groups
	[ "$version" != "${versions[-1]}" ] || all=(programs modules 'users dat2')
	for groups in "${all[@]}"; do
		# shellcheck disable=SC2086 # a list
		start "$version-${groups%% *}" boot "$version-${groups%% *}" "$version" rxe $groups
	done
}

# stock NAME VERSION: runs tests that a kernel with sanitizers cannot run or is too slow
# for
stock() {
	debug='' gcov='' programs=selftest-variants
	prepare "$2" || return 126
	boot "$1" "$2" rxe models variants kdapl_conn_test hostile_flood
}

# start_models VERSION: runs tests on a kernel without sanitizers, with rxe as each adapter
start_models() {
	local debug='' gcov='' programs=selftests
	prepare "$1" || return 0
	start "$1-models" boot "$1-models" "$1" rxe models
}

count() {
	local name=$1 numbers line p f s
	! grep -q "# SKIP no time" "$results/$name.tap" || late+=("$name: the rest of it")
	while read -r line; do
		case $line in
		failed:*)
			if is_new "$name"; then
				say "new: $name: $line"
			else
				failures+=("$name: ${line#failed: }")
			fi
			;;
		*) numbers=$line ;;
		esac
	done < <("$vm_dir/tap.sh" <"$results/$name.tap")
	read -r p f s <<<"$numbers"
	if is_new "$name"; then
		say "new: $new, not yet in the matrix: $name: $p passed, $f failed, $s skipped"
		s=$((p + f + s)) p=0 f=0
	fi
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
	# The caller checks whether failed tests explain a bad exit status.
	failed_here=$f
}

# Prints why boot.sh has failed although the run completed.
complaint() {
	local said
	if said=$("$vm_dir/splat.sh" "$1"); then
		grep -a '^guest: ' "$1" | tail -n 1
	else
		head -n 1 <<<"$said"
	fi
}

# two_guests NAME CLIENT_VERSION SERVER_VERSION
two_guests() {
	local name=$1 kind=--stock
	shift
	[ -z "$debug" ] || kind=--$debug
	"$vm_dir/two-guests.sh" "$kind" --timeout "$(guest_limit)" --log "$results/$name.log" "$@" \
		>"$results/$name.tap"
}

# target_death NAME VERSION
target_death() {
	local name=$1 files=$tmp/$2$debug
	"$vm_dir/target-death.sh" ${debug:+"--$debug"} --timeout "$(guest_limit)" \
		--log "$results/$name.log" "$2" "$files" "$files.ko" "$files.lib" \
		>"$results/$name.tap"
}

# judge NAME: adds up the results of a boot
judge() {
	local name=$1 rc failed_here=0
	rc=$(cat "$tmp/$name.rc" 2>/dev/null) || rc=126
	count "$name"
	case $rc in
	0) ;;
	124) fail "$name: out of time" ;;
	125) fail "$name: $(complaint "$results/$name.log")" ;;
	126) fail "$name: the harness failed" ;;
	*) [ "$failed_here" -gt 0 ] || fail "$name: run.sh ended with status $rc" ;;
	esac
}

# coverage [PROGRAM...]: reports the lines that ran
coverage() {
	local archives=() name percent
	# A boot that died counts as a failure already and has no counters. Wires have
	# none.
	for name in "${names[@]}"; do
		! gzip -qt "$results/$name.gcda.tar.gz" 2>/dev/null ||
			archives+=("${root_of[${name%%-debug*}]-}=$results/$name.gcda.tar.gz")
	done
	# No kernel with counters has run for lack of time.
	[ ${#archives[@]} -gt 0 ] || [ ${#late[@]} -eq 0 ] || return 0
	if ! "$vm_dir/coverage.sh" "$results/coverage.txt" "${archives[@]}" \
		>"$results/coverage.table"; then
		fail "coverage: cannot be told"
		return
	fi
	cat "$results/coverage.table"
	say "what no test reaches is in $results/coverage.txt"
	percent=$(awk '$1 == "total" { print $4 }' "$results/coverage.table")
	# A run of named tests need not reach the minimum.
	[ $# -gt 0 ] || [ ${#late[@]} -gt 0 ] || awk "BEGIN { exit !($percent >= $least) }" ||
		fail "coverage: $percent % of the lines, not $least"
}

# Sets new to a series that Debian has and the file kernels lacks.
find_new() {
	local name arch page suite meta release series
	while read -r name arch page suite meta _; do
		case $name in '' | '#'*) continue ;; esac
		[ "$suite" != host ] || continue
		release=$("$vm_dir/archive.sh" "$suite" "$arch" depends "$meta:$arch" |
			sed -n 's/^linux-headers-\([0-9].*\)/\1/p' | head -n 1)
		series=$(cut -d . -f 1,2 <<<"$release")
		if [ -z "$series" ] || row "$series" >/dev/null ||
		   row "$series-$arch" >/dev/null; then
			continue
		fi
		say "new: $series, not yet in the matrix"
		# One new series per run.
		new=$series
		[ "$arch" = amd64 ] || new=$series-$arch
		export KDAPL_NEW="$new $arch $page $suite $meta full -"
		return
	done <"$vm_dir/kernels"
}

if [ -n "$debug" ]; then "$vm_dir/deps.sh" debug; else "$vm_dir/deps.sh" test; fi
mkdir -p "$results"
names=() ready=()
# The root directory in which the module of each kernel was built
declare -A root_of
# Skip with sanitizers: building such a kernel takes a quarter of an hour.
[ -z "$by_matrix" ] || [ -n "$debug" ] || find_new
# First, because they take as long as a kernel with sanitizers. rxe of that kernel lacks the
# bug that is_known() looks for.
if [ -n "$by_matrix" ] && [ "$debug" = debug ] && [ -z "$driver" ]; then
	start_models "$(kernels TEST full | head -n 1)"
fi
for version in ${new:+"$new"} "${versions[@]}"; do
	prepare "$version" || continue
	[ "$version" = "$new" ] || ready+=("$version")
	# Debian's kernels have no siw. Each boot of a debug kernel takes a quarter
	# of an hour on two processors, so each device runs once.
	if [ -n "$debug" ] && [ $# -eq 0 ] && [ "$version" = "${versions[-1]}" ]; then
		# The long form: in two boots it ends sooner.
		start_boot "$version" "$(device "$version")" programs dat2
		start_boot "$version" "$(device "$version")" modules
	elif [ -n "$debug" ] || [ -n "$driver" ] || [ $# -gt 0 ]; then
		start_boot "$version" "$(device "$version")" "$@"
	elif [[ $short = *" $version "* ]]; then
		start_boot "$version" rxe short
	else
		start_groups "$version"
	fi
done
if [ $# -eq 0 ] && [ ${#ready[@]} -gt 0 ]; then
	# In-kernel tests also run on rxe of each version, because the versions differ.
	for version in ${debug:+"${ready[@]}"}; do
		if [ "$(device "$version")" = siw ] && [ -z "$driver" ]; then
			start_boot "$version" rxe brief
		fi
	done
	if [ "$debug" = debug ] && [ -z "$driver" ]; then
		name=${ready[-1]}-stock
		start "$name" stock "$name" "${ready[-1]}"
	fi
	name=${ready[0]}${debug:+-$debug}-storage
	start "$name" boot "$name" "${ready[0]}" rxe storage
	if [ -n "$debug" ] && [ "$(device "${ready[0]}")" = siw ] && [ -z "$driver" ]; then
		start "$name-siw" boot "$name-siw" "${ready[0]}" siw storage
	fi
	# With sanitizers only in test-debug-all, which names a driver
	if [ -z "$debug" ] || [ -n "$driver" ]; then
		start target-death twice target_death target-death "${ready[0]}"
	fi
	name=two-guests${debug:+-$debug}
	start "$name" two_guests "$name" "${ready[-1]}" "${ready[0]}"
fi
wait
for name in "${names[@]}"; do
	judge "$name"
done
if [ -n "$gcov" ] && [ ${#names[@]} -gt 0 ]; then
	coverage "$@"
fi
[ "$debug" != kcsan ] || "$vm_dir/races.sh" "${names[@]/#/$results/}"

for what in "${late[@]}"; do
	echo "no time for $what"
done
for failure in "${failures[@]}"; do
	echo "failed: $failure"
done
if [ $((passed + failed)) -eq 0 ] && [ ${#late[@]} -eq 0 ]; then
	echo "failed: no test ran"
	failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
