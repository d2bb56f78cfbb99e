# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Sourced by run-tests.sh, and by tools/check/gate.sh with prepared results: judges units and
# decides what runs again.
#
# A unit is a guest, or several that belong together. Its folder $results/UNIT has
#   tap      what the tests printed, in the format of selftests/run.sh
#   log*     what the kernel of each guest printed, as boot.sh keeps it
#   rc       the exit status of boot.sh
#
# What fails runs again, alone on the machine:
#   - a program twice, in a new guest each time. If it passes both times, its tests count as
#     passed and it is flaky.
#   - a unit whose guest hung, died or did not boot, once. If it passes it is flaky.
#   - a unit in which the kernel complained without a function of ours, once. That is foreign.
# A complaint of known-complaints is foreign too, but no reason to run anything again.
# Nothing else runs again. More than max_flaky flaky programs fail the run.
#
# The caller defines run_again UNIT FOLDER [PROGRAM], which runs the unit, or this program of
# it, and fills FOLDER; it fails if no time is left. It also defines divides UNIT, which
# succeeds if the programs of a unit can run one by one.
# shellcheck disable=SC2154 # results and vm_dir are the caller's

max_flaky=5
passed=0 failed=0 skipped=0
flaky=() foreign=() failures=() late=()
# Programs that have failed, as "UNIT PROGRAM"
suspects=()

fail() {
	failures+=("$*")
	failed=$((failed + 1))
}

# complaint FOLDER: prints the first line about a complaint. Returns splat.sh's status, but a
# panic of the emulator is never ours.
complaint() {
	local said status=0 log logs=()
	for log in "$1"/log*; do
		case $log in
		*.panic) ;;
		*) [ ! -f "$log" ] || logs+=("$log") ;;
		esac
	done
	[ ${#logs[@]} -gt 0 ] || return 0
	said=$("$vm_dir/splat.sh" "${logs[@]}") || status=$?
	if [ "$status" -eq 1 ]; then
		for log in "${logs[@]}"; do
			! is_emulators "$log" || status=3
		done
	fi
	[ -z "$said" ] || sed "1q; s|^$results/||" <<<"$said" | sed "s|^$results/||"
	return "$status"
}

# leftover FOLDER: prints what the guest reports as left behind: a page that is pinned, a leak,
# a module that cannot be unloaded. Fails if there is nothing.
leftover() {
	local marked=()
	mapfile -t marked < <(grep -lasE '^@@[0-9a-f]+ leftovers' "$1"/log*)
	if [ ${#marked[@]} -gt 0 ]; then
		grep -ah '^guest: ' "${marked[@]}" | tail -n 1
		return
	fi
	grep -ahs '^guest: .* cannot be unloaded' "$1/tap" | head -n 1 | grep .
}

# programs_of FOLDER: prints a line for each program: its name and the tests that passed, failed
# and were skipped
programs_of() {
	"$vm_dir/tap.sh" "$1/tap" | sed -n 's/^program: //p'
}

# verdict FOLDER: prints a word and its reason:
#   pass      all programs have passed
#   programs  which of them have failed
#   fail      a failure that is never repeated
#   dead      the guest hung, died, or did not boot
#   foreign   the kernel complained without a function of ours
verdict() {
	local rc said status=0 names
	rc=$(cat "$1/rc" 2>/dev/null) || rc=126
	said=$(complaint "$1") || status=$?
	if [ "$status" -eq 1 ]; then
		echo "fail $said"
	elif said=$(leftover "$1"); then
		echo "fail $said"
	elif [ "$status" -eq 3 ]; then
		echo "foreign $(complaint "$1")"
	elif [ "$rc" -eq 124 ]; then
		echo "dead out of time"
	elif [ "$rc" -eq 123 ] || [ "$rc" -eq 126 ]; then
		echo "dead the guest died, or did not boot"
	elif [ "$rc" -eq 125 ]; then
		echo "fail boot.sh reports a complaint that is not in the log"
	else
		names=$(programs_of "$1" | awk '$3 > 0 { printf " %s", $1 }')
		if [ -n "$names" ]; then
			echo "programs$names"
		elif [ "$rc" -ne 0 ]; then
			echo "fail exit status $rc though no test failed"
		else
			echo "pass"
		fi
	fi
}

# note_known UNIT FOLDER: reports a complaint whose cause is known
note_known() {
	local said status=0
	said=$(complaint "$2") || status=$?
	[ "$status" -ne 4 ] || foreign+=("$1: $said, which is known")
}

# keep FOLDER WHAT: keeps a failed try in $results/flaky/WHAT
keep() {
	mkdir -p "$results/flaky/$2"
	cp -r "$1/." "$results/flaky/$2"
}

# first_failure FOLDER PROGRAM: prints the name of the test that failed first
first_failure() {
	"$vm_dir/tap.sh" "$1/tap" | awk -v program="$2" '
		$1 == "failed:" && $2 == program ":" {
			if ($3 == "not")
				print $6
			else {
				sub(/^failed: [^ ]+ /, "")
				print
			}
			exit
		}'
}

# settle_unit UNIT: runs the unit again if its guest died or its kernel complained. Adds the
# programs that have failed to suspects.
settle_unit() {
	local unit=$1 dir=$results/$1 kind reason first name
	read -r kind reason < <(verdict "$dir")
	case $kind in
	dead | foreign)
		first=$kind
		keep "$dir" "$unit/1"
		if ! run_again "$unit" "$dir"; then
			fail "$unit: $reason; no time left"
			return
		fi
		if [ "$first" = dead ]; then
			flaky+=("$unit: $reason")
		else
			foreign+=("$unit: $reason")
		fi
		read -r kind reason < <(verdict "$dir")
		;;
	esac
	note_known "$unit" "$dir"
	case $kind in
	dead | foreign)
		keep "$dir" "$unit/2"
		fail "$unit: $reason, twice"
		;;
	fail) fail "$unit: $reason" ;;
	programs)
		if divides "$unit"; then
			for name in $reason; do
				suspects+=("$unit $name")
			done
		else
			suspects+=("$unit *")
		fi
		;;
	esac
	# boot.sh starts a guest again that panicked or hung before init.
	for name in "$dir"/log*.panic; do
		[ ! -f "$name" ] ||
			foreign+=("$unit: the kernel died before init, ${name#"$results/"}")
	done
}

# try_again UNIT PROGRAM FOLDER: runs a program again. Succeeds if it passes.
try_again() {
	local unit=$1 program=$2 dir=$3 kind reason try
	for try in 1 2; do
		run_again "$unit" "$dir" "$program" || return
		read -r kind reason < <(verdict "$dir")
		note_known "$unit $program" "$dir"
		case $kind in
		pass) return 0 ;;
		foreign)
			foreign+=("$unit $program: $reason")
			keep "$dir" "${dir#"$results/flaky/"}-foreign"
			;;
		dead) ;;
		*) return 1 ;;
		esac
	done
	return 1
}

# settle_suspect UNIT PROGRAM: runs a program twice. If it passes both times it is flaky, and
# its results replace those of the unit.
settle_suspect() {
	local unit=$1 program=$2 dir=$results/$1 what name kept try
	what=$unit/${program//[^a-zA-Z0-9_.-]/_}
	kept=$results/flaky/$what
	[ "$program" != '*' ] || program=''
	keep "$dir" "$what/1"
	for try in 2 3; do
		mkdir -p "$kept/$try"
		if ! try_again "$unit" "$program" "$kept/$try"; then
			return
		fi
	done
	for name in ${program:-$(programs_of "$dir" | awk '$3 > 0 { print $1 }')}; do
		flaky+=("$unit $name: $(first_failure "$dir" "$name")")
		settled["$unit $name"]=$(programs_of "$kept/3" | sed -n "s|^$name ||p")
	done
}

# count_unit UNIT: adds its results to the total
count_unit() {
	local unit=$1 line key name p f s
	! grep -q '# SKIP no time' "$results/$unit/tap" || late+=("$unit: the rest of it")
	while read -r line; do
		case $line in
		program:*)
			read -r _ name p f s <<<"$line"
			key="$unit $name"
			[ -z "${settled[$key]-}" ] || read -r p f s <<<"${settled[$key]}"
			passed=$((passed + p))
			failed=$((failed + f))
			skipped=$((skipped + s))
			;;
		failed:*)
			line=${line#failed: }
			key="$unit ${line%%: *}"
			[ -n "${settled[$key]-}" ] || failures+=("$unit: $line")
			;;
		esac
	done < <("$vm_dir/tap.sh" "$results/$unit/tap")
}

# judge UNIT...: settles and counts all units
judge() {
	local unit suspect name
	declare -A settled
	for unit; do
		settle_unit "$unit"
	done
	# Repeating them cannot save the run.
	if [ ${#suspects[@]} -gt "$max_flaky" ]; then
		say "${#suspects[@]} programs have failed, more than $max_flaky: none runs again"
	else
		for suspect in "${suspects[@]}"; do
			settle_suspect "${suspect%% *}" "${suspect#* }"
		done
	fi
	for unit; do
		count_unit "$unit"
	done
	[ ${#flaky[@]} -le "$max_flaky" ] ||
		fail "${#flaky[@]} flaky programs, more than $max_flaky"
	[ $((passed + failed)) -gt 0 ] || [ ${#late[@]} -gt 0 ] || fail 'no test ran'
}

# report: prints the verdict and the total. Fails if the run has failed.
report() {
	local line
	for line in "${late[@]}"; do
		echo "no time for $line"
	done
	for line in "${foreign[@]}"; do
		echo "foreign: $line"
	done
	for line in "${flaky[@]}"; do
		echo "flaky: $line"
	done
	for line in "${failures[@]}"; do
		echo "failed: $line"
	done
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}
