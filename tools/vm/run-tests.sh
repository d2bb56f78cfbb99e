#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds the module and tests for each named kernel, runs the selftests, repeats what failed,
# adds up the results.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/storage-lib.sh"
. "$vm_dir/judge.sh"

usage() {
	cat >&2 <<-EOT
	usage: run-tests.sh [--debug|--kcsan] [--rdma rxe|siw] [--model DRIVER]
	                    [--thorough|--long] [--results NAME] [KERNEL...] [-- PROGRAM...]
	  --debug         kernels with sanitizers
	  --kcsan         kernels that find data races; a race in which kdapl takes part is
	                  a failure, others are counted
	  --rdma DRIVER   this device on all kernels, default rxe
	  --model DRIVER  rxe with the limits of this driver's adapters, for the programs
	  --thorough      the thorough form of tests that have one
	  --long          also 2000 rounds, and pairs of failures, for hours
	  --results NAME  of a directory below build that is emptied first, default test
	tools/vm/kernels lists the kernels and the sets. The programs, or groups of them, are
	handed to selftests/run.sh. Without KERNEL and PROGRAM the script runs what make test
	runs: the sets on all kernels, the storage driver, Debian's programs between two guests,
	the packages, and each benchmark once. These are PROGRAMs too: packages, six-commands,
	target-death, two-guests, two-guests-loss, bench, bench-goals, soak.
	Two guests run at a time, or as many as KDAPL_JOBS says. What fails runs again at the
	end: see tools/vm/judge.sh. After the second of the epoch that KDAPL_DEADLINE names the
	script begins nothing; what it does not begin counts as skipped. A guest that still runs
	ten minutes later is killed, which is a failure.
	EOT
	exit 2
}

debug='' versions=() driver=rxe model='' thorough=() results=$top_dir/build/test
while [ $# -gt 0 ]; do
	case $1 in
	--debug | --kcsan) debug=${1#--} ;;
	--thorough) thorough=(--env KDAPL_THOROUGH=1) ;;
	--long) thorough=(--env KDAPL_THOROUGH=1 --env KDAPL_LONG=1) ;;
	--rdma | --model | --results)
		[ $# -ge 2 ] || usage
		case $1 in
		--rdma) driver=$2 ;;
		--model) model=$2 ;;
		--results)
			[[ $2 =~ ^(parts/)?[a-z0-9][a-z0-9.-]*$ ]] || usage
			results=$top_dir/build/$2
			;;
		esac
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
# Only these kernels count which lines run.
gcov=''
[ "$debug" != debug ] || gcov=yes
# Names of kernels with the short test set; a newer series than those in the file kernels
short=" $(kernels short | tr '\n' ' ')" new='' by_matrix=''
if [ ${#versions[@]} -eq 0 ]; then
	[ $# -gt 0 ] || [ -n "$debug" ] || by_matrix=yes
	mapfile -t versions < <(kernels full short)
fi
# Sanitizers slow the tests down several times. The limits only stop a guest that hangs.
if [ -z "$debug" ]; then limit=1200; else limit=3600; fi
max_jobs=${KDAPL_JOBS:-2}
programs=selftests
# The named tests may be in any of the variants.
[ $# -eq 0 ] || programs=selftest-variants
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM HUP

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
	if [ -z "$debug" ]; then
		checked_for "$version"
		make_for "$where" selftest-modules "${checked[@]}" "$no_docs" || return
	else
		make_for "$where" selftest-modules KDAPL_GCOV="$gcov" KDAPL_FAIL="$debug" \
			KDAPL_WANTED="tests${with_demo:+ demo}" "${for_guests[@]}" || return
	fi
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

# prepare VERSION: builds the module and tests for a kernel. A newer series than those in the
# matrix cannot fail the run.
prepare() {
	local version=$1 label=$1${debug:+-$debug} where complain=fail
	[ "$version" != "$new" ] || complain=say
	where=$(step "$label: kernel" "$vm_dir/kernel.sh" "$version" ${debug:+"$debug"}) || {
		$complain "$label: no kernel"
		return 1
	}
	root_of[$version]=$(field root <<<"$where")
	step "$label: build" build "$version" "$where" || {
		$complain "$label: does not build"
		return 1
	}
}

# The functions that run a unit. The first argument is its folder: see judge.sh.

# boot FOLDER VERSION PROGRAM...
boot() {
	local dir=$1 version=$2 options=("${thorough[@]}") left
	shift 2
	left=$(time_left '')
	[ -z "$left" ] || options+=(--env "KDAPL_SECONDS=$left")
	[ -z "$debug" ] || options+=("--$debug")
	[ -z "$gcov" ] || options+=(--coverage "$dir/gcda.tar.gz")
	[[ " $* " != *" storage"* ]] || mapfile -t -O "${#options[@]}" options < <(storage_options)
	case " $* " in *' slow '* | *' fi/mpi_many.sh '*) options+=(--mem 3072M) ;; esac
	# Debian's programs run on one kernel only.
	[ "$version" != "${versions[-1]}" ] || options+=(--env KDAPL_ONCE=1)
	"$vm_dir/boot.sh" --kernel "$version" --rdma "$driver" "${options[@]}" \
		--timeout "$(guest_limit)" --log "$dir/log" \
		--insmod "$tmp/$version$debug.ko" --lib "$tmp/$version$debug.lib" \
		--add "$tmp/$version$debug:/selftests" --add "$tmp/$version$debug.demo:/demo" \
		-- "$top_dir/selftests/run.sh" "$@"
}

# two_guests FOLDER stock|loss CLIENT_VERSION SERVER_VERSION: Debian's programs, or a bad link
two_guests() {
	local kind=--stock
	[ "$2" = stock ] || kind=${debug:+--$debug}
	"$vm_dir/two-guests.sh" ${kind:+"$kind"} --timeout "$(guest_limit)" --log "$1/log" "${@:3}"
}

# target_death FOLDER VERSION
target_death() {
	local files=$tmp/$2$debug
	"$vm_dir/target-death.sh" ${debug:+"--$debug"} --timeout "$(guest_limit)" \
		--log "$1/log" "$2" "$files" "$files.ko" "$files.lib"
}

# packages FOLDER
packages() {
	"$vm_dir/packages.sh" --log "$1/log"
}

# six_commands FOLDER
six_commands() {
	"$vm_dir/six-commands.sh" --log "$1/log"
}

# bench FOLDER VERSION
bench() {
	"$vm_dir/bench.sh" --smoke --timeout "$(guest_limit)" --log "$1/log" "$2"
}

# bench_goals FOLDER VERSION
bench_goals() {
	"$vm_dir/bench.sh" --times 0 --goals "$2"
}

# soak FOLDER VERSION
soak() {
	local rc=0
	"$vm_dir/soak.sh" --minutes 10 --processes 100 "$2" >&2 || rc=$?
	cp "$top_dir/build/soak/log" "$1/log"
	echo "# BEGIN soak"
	cat "$top_dir/build/soak/output"
	echo "# END soak rc=$rc"
	return "$rc"
}

# The command of each unit: one of these functions, without the folder
declare -A commands

# run_unit FOLDER COMMAND...
run_unit() {
	local dir=$1 rc=0
	shift
	# Nothing of an earlier run may be counted.
	rm -rf "$dir"
	mkdir -p "$dir"
	"$1" "$dir" "${@:2}" >"$dir/tap" || rc=$?
	echo "$rc" >"$dir/rc"
	return "$rc"
}

# Runs a unit in a background job and prints its output when it has finished.
run_and_show() {
	step "$1" run_unit "$results/$1" "${@:2}" || :
	flock "$tmp/output.lock" cat "$results/$1/tap"
}

# start UNIT COMMAND...: runs a unit as soon as a job slot is free
start() {
	while [ "$(jobs -rp | wc -l)" -ge "$max_jobs" ]; do
		wait -n || :
	done
	if [ "$(time_left 60)" -lt 60 ]; then
		give_up "$1"
		return
	fi
	commands[$1]=${*:2}
	units+=("$1")
	run_and_show "$@" &
}

# For judge.sh
divides() {
	[ "${commands[$1]%% *}" = boot ]
}

# For judge.sh: run_again UNIT FOLDER [PROGRAM]
run_again() {
	local unit=$1 dir=$2 program=${3-} command
	[ "$(time_left 60)" -ge 60 ] || return
	read -ra command <<<"${commands[$unit]}"
	case $program in
	'') ;;
	*:*) command=("${command[@]:0:2}" "model/${program%%:*}" "${program#*:}" model/rxe) ;;
	model/*) command=("${command[@]:0:2}" "$program" model/rxe) ;;
	*) command=("${command[@]:0:2}" "$program") ;;
	esac
	step "again: $unit${program:+ $program}" run_unit "$dir" "${command[@]}" || :
}

# start_groups VERSION: runs all tests in several boots. On all versions but the last some
# groups have only a few programs, which are not worth a boot of their own.
start_groups() {
	local version=$1 all=(programs 'modules users dat2') groups
	[ "$version" != "${versions[-1]}" ] || all=(programs modules 'users dat2')
	for groups in "${all[@]}"; do
		# shellcheck disable=SC2086 # a list
		start "$version-${groups%% *}" boot "$version" $groups
	done
}

# start_named VERSION [PROGRAM...]: runs the named programs, or all
start_named() {
	local version=$1 name=$1${debug:+-$debug-$driver} program here=()
	shift
	for program; do
		case $program in
		target-death) start "$name-$program" target_death "$version" ;;
		packages) start "$name-$program" packages ;;
		six-commands) start "$name-$program" six_commands ;;
		bench) start "$name-$program" bench "$version" ;;
		bench-goals) start "$name-$program" bench_goals "$version" ;;
		soak) start "$name-$program" soak "$version" ;;
		two-guests) start "$name-$program" two_guests stock "$version" "$version" ;;
		two-guests-loss) start "$name-$program" two_guests loss "$version" "$version" ;;
		*) here+=("$program") ;;
		esac
	done
	if [ $# -eq 0 ] || [ ${#here[@]} -gt 0 ]; then
		start "$name" boot "$version" "${here[@]}"
	fi
}

# coverage: reports the lines that ran
coverage() {
	local archives=() unit version
	for unit in "${units[@]}"; do
		read -r _ version _ <<<"${commands[$unit]}"
		! gzip -qt "$results/$unit/gcda.tar.gz" 2>/dev/null ||
			archives+=("${root_of[$version]-}=$results/$unit/gcda.tar.gz")
	done
	[ ${#archives[@]} -gt 0 ] || return 0
	# For the coverage of all parts of make test-all
	printf '%s\n' "${archives[@]}" >"$results/archives"
	if ! "$vm_dir/coverage.sh" "$results/coverage.txt" "${archives[@]}" \
		>"$results/coverage.table"; then
		fail "coverage: cannot be told"
		return
	fi
	cat "$results/coverage.table"
	say "what no test reaches is in $results/coverage.txt"
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
		export KDAPL_NEW="$new $arch $page $suite $meta full"
		return
	done <"$vm_dir/kernels"
}

# count_new: a newer series than those in the matrix cannot fail the run, so all its results
# count as skipped.
count_new() {
	local p f s n=0 line
	while read -r line; do
		case $line in
		program:*)
			read -r _ _ p f s <<<"$line"
			n=$((n + p + f + s))
			;;
		*) say "new: $new: $line" ;;
		esac
	done < <("$vm_dir/tap.sh" "$results/$new/tap")
	say "new: $new, not yet in the matrix: $n results"
	skipped=$((skipped + n))
}

# remember: adds what was flaky or foreign to the list of this machine, for make flaky
remember() {
	local line now
	now="$(date +%F) $(git -C "$top_dir" rev-parse --short HEAD 2>/dev/null || echo unknown)"
	{
		for line in "${flaky[@]}"; do
			echo "$now flaky $line"
		done
		for line in "${foreign[@]}"; do
			echo "$now foreign $line"
		done
	} >>"$cache_dir/flaky"
}

"$vm_dir/deps.sh" ${debug:+debug} ${by_matrix:+deb bench} test
rm -rf "$results"
mkdir -p "$results"
units=() judged=() ready=()
# The root directory in which the module of each kernel was built
declare -A root_of
[ -z "$by_matrix" ] || {
	find_new
	# It takes longest, and builds in a tree of its own.
	start installed packages
}
for version in ${new:+"$new"} "${versions[@]}"; do
	prepare "$version" || continue
	if [ "$version" = "$new" ]; then
		start "$new" boot "$new" programs modules
		continue
	fi
	ready+=("$version")
	if [ -n "$debug" ] || [ $# -gt 0 ] || [ "$driver" != rxe ]; then
		start_named "$version" "$@"
	elif [[ $short = *" $version "* ]]; then
		start "$version" boot "$version" short
	else
		start_groups "$version"
	fi
done
if [ -n "$by_matrix" ] && [ ${#ready[@]} -gt 0 ]; then
	start storage boot "${ready[0]}" storage
	start two-guests two_guests stock "${ready[-1]}" "${ready[0]}"
	# It builds in the same tree as the kernels above.
	start benchmarks bench "${ready[0]}"
fi
wait
[ ! -f "$results/$new/tap" ] || count_new
for unit in "${units[@]}"; do
	[ "$unit" = "$new" ] || judged+=("$unit")
done
judge "${judged[@]}"
[ -z "$gcov" ] || coverage
[ "$debug" != kcsan ] || "$vm_dir/races.sh" "$results"/*/log
remember
report
