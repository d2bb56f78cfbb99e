#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Gives prepared results to tools/vm/judge.sh and compares its report, total and exit status
# with what each case must end with. No guest runs.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/lib.sh"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0

# try UNIT[~PROGRAM] RC PROGRAM=RESULTS... [-- LOG]: prepares the next try of a unit, or of a
# program that runs alone. RESULTS has a letter for each test: p passes, f fails, s is skipped.
# Without PROGRAM the guest printed nothing. Each line of LOG is one of the kernel.
try() {
	local what=$1 rc=$2 number=1 dir program results i
	shift 2
	while [ -d "$tmp/tries/$what/$number" ]; do
		number=$((number + 1))
	done
	dir=$tmp/tries/$what/$number
	mkdir -p "$dir"
	echo "$rc" >"$dir/rc"
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		program=${1%%=*} results=${1#*=}
		echo "# BEGIN $program"
		echo "1..${#results}"
		for ((i = 0; i < ${#results}; i++)); do
			case ${results:i:1} in
			p) echo "ok $((i + 1)) $program.test$i" ;;
			s) echo "ok $((i + 1)) # SKIP $program.test$i" ;;
			f) echo "not ok $((i + 1)) $program.test$i" ;;
			esac
		done
		rc=0
		[[ $results != *f* ]] || rc=1
		echo "# END $program rc=$rc 0 s"
		shift
	done >"$dir/tap"
	{
		echo "[    1.000000] Run /init as init process"
		while [ $# -gt 1 ]; do
			echo "$2"
			shift
		done
	} >"$dir/log"
}

# take WHAT FOLDER: moves the next prepared try to FOLDER
take() {
	local number=1
	while [ ! -d "$tmp/tries/$1/$number" ]; do
		number=$((number + 1))
		[ "$number" -lt 9 ] || die "no try of $1 is prepared: it must not run again"
	done
	rm -rf "$2"
	mkdir -p "${2%/*}"
	mv "$tmp/tries/$1/$number" "$2"
}

# kept_tries: prints the folders below flaky/ in which a try was kept
kept_tries() {
	(cd "$tmp/results/flaky" && find . -name rc -printf '%P\n') | sed 's|/rc$||' | sort |
		paste -sd ' '
}

# expect CASE STATUS REPORT [FOLDER...]: judges all units and compares. With FOLDER, compares
# also the folders below flaky/ in which a try was kept.
expect() {
	local title=$1 wanted=$2 report=$3 got rc kept
	shift 3
	# As in run-tests.sh, a command that fails ends the shell. It would not behind `||`.
	set +e
	# shellcheck disable=SC2317 # judge.sh calls the functions
	got=$(
		exec 2>"$tmp/stderr"
		set -e
		# shellcheck source-path=SCRIPTDIR source=../vm/judge.sh
		. "$vm_dir/judge.sh"
		results=$tmp/results
		run_again() { [ -z "${no_time-}" ] && take "$1${3:+~$3}" "$2"; }
		divides() { [ "$1" != pair ]; }
		units=()
		for unit in "$tmp"/tries/*; do
			unit=${unit##*/}
			case $unit in
			*~* | '*') continue ;;
			esac
			take "$unit" "$results/$unit"
			units+=("$unit")
		done
		judge "${units[@]}"
		report
	)
	rc=$?
	set -e
	if [ "$rc" -ne "$wanted" ] || [ "$got" != "$report" ]; then
		printf '%s: status %s, wanted %s\n%s\nwanted:\n%s\n' "$title" "$rc" "$wanted" \
			"$got" "$report"
		cat "$tmp/stderr"
		status=1
	elif [ $# -gt 0 ] && kept=$(kept_tries) && [ "$kept" != "$*" ]; then
		echo "$title: kept $kept, wanted $*"
		status=1
	elif [ -n "$(find "$tmp/tries" -mindepth 2 -maxdepth 2)" ]; then
		echo "$title: a prepared try did not run"
		status=1
	fi
	rm -rf "$tmp/tries" "$tmp/results"
}

rxe='WARNING: rxe_verbs.c:1021 at rxe_post_recv+0x1/0x2 [rdma_rxe], CPU#1'
mine='WARNING: CPU: 0 PID: 9 at evd.c:7 dat_evd_free+0x1/0x2 [kdapl]'
ours=('[    5.000000] ------------[ cut here ]------------'
	"[    5.000001] $mine"
	'[    5.000002] Modules linked in: kdapl(O) rdma_rxe'
	'[    5.000003] ---[ end trace 0000000000000000 ]---')
foreign=('[    5.000000] ------------[ cut here ]------------'
	"[    5.000001] $rxe"
	'[    5.000002] Modules linked in: kdapl(O) kdapl_testlib(O) rdma_rxe'
	'[    5.000003] Call Trace:'
	'[    5.000004]  ? dat_evd_wait+0x1/0x2 [kdapl]'
	'[    5.000005]  ib_mad_post_receive_mads+0x1/0x2 [ib_core]'
	'[    5.000006] ---[ end trace 0000000000000000 ]---')
caller=("${foreign[@]:0:4}" '[    5.000004]  dat_ep_post_recv+0x1/0x2 [kdapl]' "${foreign[@]:6}")
emulator=('[    5.000000] Oops: int3: 0000 [#1] SMP'
	'[    5.000001] Code: 00 <0f> 1f 44 00 00'
	'[    5.000002]  dat_evd_wait+0x1/0x2 [kdapl]'
	'[    5.000003] Kernel panic - not syncing: Fatal exception')
stock='[    0.000000] Linux version 7.3.4+deb13-amd64 (debian-kernel@lists.debian.org)'
task='WARNING: drivers/infiniband/sw/rxe/rxe_task.c:249 at rxe_sched_task+0x1/0x2 [rdma_rxe]'
known=('[    5.000000] ------------[ cut here ]------------'
	"[    5.000001] $task"
	'[    5.000002] Modules linked in: kdapl(O) rdma_rxe'
	'[    5.000003] Call Trace:'
	'[    5.000004]  rxe_xmit_packet+0x1/0x2 [rdma_rxe]')
end='[    5.000006] ---[ end trace 0000000000000000 ]---'
left='@@0123 leftovers'

try a 0 post=ppp evd=pps
try b 0 dto=p
expect all_pass 0 '6 passed, 0 failed, 1 skipped'

try a 1 post=pfp evd=pp
try a~post 0 post=ppp unload=p
try a~post 0 post=ppp unload=p
expect program_fails_once 0 'flaky: a post: post.test1
5 passed, 0 failed, 0 skipped'

try a 1 post=pfp evd=pp
try a~post 1 post=ppf
expect program_fails_twice 1 'failed: a: post: not ok 2 post.test1
4 passed, 1 failed, 0 skipped'

try a 1 post=pfp evd=pp
try a~post 0 post=ppp
try a~post 1 post=fff
expect program_fails_in_second_repeat 1 'failed: a: post: not ok 2 post.test1
4 passed, 1 failed, 0 skipped'

try a 1 mlx4:post=fp
try a~mlx4:post 0 model/mlx4=p mlx4:post=pp model/rxe=p
try a~mlx4:post 0 model/mlx4=p mlx4:post=pp model/rxe=p
expect program_of_a_model 0 'flaky: a mlx4:post: mlx4:post.test0
2 passed, 0 failed, 0 skipped'

try pair 1 client=pf server=p
try pair 0 client=pp server=p
try pair 0 client=pp server=p
expect units_that_do_not_divide_repeat_whole 0 'flaky: pair client: client.test1
3 passed, 0 failed, 0 skipped'

try a 125 post=pp -- "${ours[@]}"
expect our_complaint 1 "failed: a: a/log:2: $mine
2 passed, 1 failed, 0 skipped"

try a 125 post=pp -- "${caller[@]}"
expect our_function_calls 1 "failed: a: a/log:2: $rxe
2 passed, 1 failed, 0 skipped"

try a 125 post=pp -- "${foreign[@]}" "${ours[@]}"
expect our_complaint_behind_a_foreign_one 1 "failed: a: a/log:9: $mine
2 passed, 1 failed, 0 skipped"

try a 125 post=pp -- '[    4.000000] kdapl_srq_test.srq_high_watermarks' "${foreign[@]}"
try a 0 post=pp
expect foreign_complaint 0 "foreign: a: a/log:3: $rxe, in kdapl_srq_test.srq_high_watermarks
2 passed, 0 failed, 0 skipped"

try a 125 post=pp -- "${foreign[@]}"
try a 125 post=pp -- "${foreign[@]}"
expect foreign_complaint_twice 1 "foreign: a: a/log:2: $rxe
failed: a: a/log:2: $rxe, twice
2 passed, 1 failed, 0 skipped"

try a 0 post=pp -- "$stock" "${known[@]}" "$end" "${known[@]}" "$end"
expect known_complaints 0 "foreign: a: a/log:3: $task, which is known
2 passed, 0 failed, 0 skipped"

try a 125 post=pp -- "${known[@]}" "$end"
try a 125 post=pp -- "${known[@]}" "$end"
expect known_complaint_of_a_corrected_kernel 1 "foreign: a: a/log:2: $task
failed: a: a/log:2: $task, twice
2 passed, 1 failed, 0 skipped"

try a 125 post=pp -- "$stock" "${known[@]}" '[    5.000005]  dat_ep_free+0x1/0x2 [kdapl]' "$end"
expect our_function_in_a_known_complaint 1 "failed: a: a/log:3: $task
2 passed, 1 failed, 0 skipped"

try a 125 post=pp -- "$stock" "${known[@]}" "$end" "${ours[@]}"
expect our_complaint_behind_a_known_one 1 "failed: a: a/log:9: $mine
2 passed, 1 failed, 0 skipped"

try a 125 post=pp -- "$stock" "${known[@]}" '[    5.000005] BUG: page fault in rxe' "$end"
try a 0 post=pp -- "$stock" "${known[@]}" "$end"
expect unknown_complaint_in_a_known_one 0 'foreign: a: a/log:8: BUG: page fault in rxe
foreign: a: a/log:3: '"$task, which is known
2 passed, 0 failed, 0 skipped"

try a 125 post=pp -- "$stock" "${known[@]}" "$end" '[    6.000000] Oops: rxe'
try a 0 post=pp
expect unknown_complaint_behind_a_known_one 0 'foreign: a: a/log:9: Oops: rxe
2 passed, 0 failed, 0 skipped'

try a 1 post=pf -- "$stock" "${known[@]}" "$end"
try a~post 0 post=pp -- "$stock" "${known[@]}" "$end"
try a~post 0 post=pp
expect known_complaint_beside_a_failure 0 "foreign: a: a/log:3: $task, which is known
foreign: a post: flaky/a/post/2/log:3: $task, which is known
flaky: a post: post.test1
2 passed, 0 failed, 0 skipped" a/post/1 a/post/2 a/post/3

try a 125 post=pp -- "${emulator[@]}"
try a 0 post=pp
expect panic_of_the_emulator 0 'foreign: a: a/log:2: Oops: int3: 0000 [#1] SMP
2 passed, 0 failed, 0 skipped'

try a 1 post=pf
try a~post 125 post=pp -- "${foreign[@]}"
try a~post 0 post=pp
try a~post 0 post=pp
expect foreign_complaint_in_a_repeat 0 "foreign: a post: flaky/a/post/2/log:2: $rxe
flaky: a post: post.test1
2 passed, 0 failed, 0 skipped" a/post/1 a/post/2 a/post/2-foreign a/post/3

try a 1 post=pf
try a~post 125 post=pp -- "${ours[@]}"
expect our_complaint_in_a_repeat 1 'failed: a: post: not ok 2 post.test1
1 passed, 1 failed, 0 skipped'

try a 125 post=pp -- 'guest: pages still pinned: 3' "$left"
expect pinned_page 1 'failed: a: guest: pages still pinned: 3
2 passed, 1 failed, 0 skipped'

try a 125 post=pp -- "${foreign[@]}" 'guest: kmemleak found leaks' "$left"
expect leak_beside_a_foreign_complaint 1 'failed: a: guest: kmemleak found leaks
2 passed, 1 failed, 0 skipped'

try a 1 post=pf
echo 'guest: kdapl cannot be unloaded' >>"$tmp/tries/a/1/tap"
expect module_in_use 1 'failed: a: guest: kdapl cannot be unloaded
failed: a: post: not ok 2 post.test1
1 passed, 2 failed, 0 skipped'

try a 126 post=p
try a 0 post=pp
expect guest_dies_once 0 'flaky: a: the guest died, or did not boot
2 passed, 0 failed, 0 skipped'

try a 126
try a 124 post=p
expect guest_dies_twice 1 'flaky: a: the guest died, or did not boot
failed: a: out of time, twice
1 passed, 1 failed, 0 skipped' a/1 a/2

try a 124 post=p
try a 1 post=pf
try a~post 0 post=pp
try a~post 0 post=pp
expect guest_hangs_then_a_program_fails 0 'flaky: a: out of time
flaky: a post: post.test1
2 passed, 0 failed, 0 skipped'

try a 1 p1=f p2=f p3=f p4=f p5=f
for program in p1 p2 p3 p4 p5; do
	try "a~$program" 0 "$program=p"
	try "a~$program" 0 "$program=p"
done
expect five_flaky_programs 0 'flaky: a p1: p1.test0
flaky: a p2: p2.test0
flaky: a p3: p3.test0
flaky: a p4: p4.test0
flaky: a p5: p5.test0
5 passed, 0 failed, 0 skipped'

try a 1 p1=f p2=f p3=f
try b 1 p1=f p2=f p3=fp
expect six_flaky_programs 1 'failed: a: p1: not ok 1 p1.test0
failed: a: p2: not ok 1 p2.test0
failed: a: p3: not ok 1 p3.test0
failed: b: p1: not ok 1 p1.test0
failed: b: p2: not ok 1 p2.test0
failed: b: p3: not ok 1 p3.test0
1 passed, 6 failed, 0 skipped'

try a 126
try a 1 p1=f p2=f p3=f p4=f p5=f
for program in p1 p2 p3 p4 p5; do
	try "a~$program" 0 "$program=p"
	try "a~$program" 0 "$program=p"
done
expect dead_guest_and_five_flaky_programs 1 'flaky: a: the guest died, or did not boot
flaky: a p1: p1.test0
flaky: a p2: p2.test0
flaky: a p3: p3.test0
flaky: a p4: p4.test0
flaky: a p5: p5.test0
failed: 6 flaky programs, more than 5
5 passed, 1 failed, 0 skipped'

try a 2 post=pp
expect status_without_a_failure 1 'failed: a: exit status 2 though no test failed
2 passed, 1 failed, 0 skipped'

try a 0
expect no_test_ran 1 'failed: no test ran
0 passed, 1 failed, 0 skipped'

try a 126 evd=p
try b 1 post=pf
no_time=yes expect no_time_to_run_again 1 'failed: a: the guest died, or did not boot; no time left
failed: b: post: not ok 2 post.test1
2 passed, 2 failed, 0 skipped'

mkdir "$tmp/tries"
expect no_unit 1 'failed: no test ran
0 passed, 1 failed, 0 skipped'
exit $status
