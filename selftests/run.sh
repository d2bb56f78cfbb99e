#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs tests in the guest and prints TAP: the programs and modules that are named, or all
# of them. These names stand for groups:
#
#   programs   all programs, as root
#   users      programs that also run as a user
#   modules    all test modules, and the examples
#   slow       programs and modules that take longest or are new, which those groups leave out
#   once       programs that only the last kernel of a run has in `programs`
#   replay     the corpora of the fuzzer, on a kernel with sanitizers
#   dat2       the programs for libdat2 alone
#   variants   programs again: for 32 bits, with ThreadSanitizer, linked with libdat2, with
#              posts and waits by io_uring
#   cqs        programs and modules again, with EPs that use the third CQ of their EVD: those
#              that need not free it
#   short      tests that a new kernel or architecture is likely to break, and the demo
#   models     memory, windows, DTOs, SRQs and EVDs with rxe as each adapter of this
#              kernel: see modules/model.c
#   model/NAME what follows, with rxe as the adapter of that driver
#   uapi, exit the programs of that folder
#   storage    tests of the storage driver, in a guest with a target; storage/TEST: one
#
# run.sh starts no test after KDAPL_SECONDS seconds of uptime.
#
# Programs are below /selftests, modules below /selftests/modules. A module runs its tests
# when it is loaded and leaves their results, as TAP, in debugfs.

failed=0
# In front of the name of a program: the adapter and a colon
adapter=

begin() {
	echo "# BEGIN $adapter$1"
	began=$(date +%s)
}

end() {
	echo "# END $adapter$1 rc=$2 $(($(date +%s) - began)) s"
	[ "$2" -eq 0 ] || failed=1
}

time_is_up() {
	[ -n "${KDAPL_SECONDS-}" ] &&
		[ "$(cut -d. -f1 /proc/uptime)" -ge "$KDAPL_SECONDS" ]
}

# unload MODULE: a module that remains is reported as what end-checks.sh reports
unload() {
	rmmod "$1" || {
		echo "guest: $1 cannot be unloaded"
		return 1
	}
}

skip() {
	begin "$1"
	echo "1..0 # SKIP no time left"
	end "$1" 0
}

run_program() {
	begin "$1"
	case $1 in
	dat2/*) DAT_OVERRIDE=/tmp/dat.conf "/selftests/$1" 2>&1 ;;
	# So many locks are held in fork() that it loses count of them.
	tsan/*)
		TSAN_OPTIONS=detect_deadlocks=0 DAT_OVERRIDE=/tmp/tsan.conf \
			"/selftests/$1" 2>&1
		;;
	cqs/uring) KDAPL_MANY_CQS=1 /selftests/uring/uring 2>&1 ;;
	cqs/*) KDAPL_MANY_CQS=1 "/selftests/${1#*/}" 2>&1 ;;
	uring/uring) /selftests/uring/uring 2>&1 ;;
	uring/*) LD_PRELOAD=/selftests/uring/lib/ioctl_by_uring.so "/selftests/${1#*/}" 2>&1 ;;
	*) "/selftests/$1" 2>&1 ;;
	esac
	end "$1" $?
}

# Each processor has a count of its own of what is pinned. To add them up takes
# root: who is not asks here.
serve_refresh() {
	exec 3<>/tmp/refresh.ask 4<>/tmp/refresh.done
	while read -r line <&3; do
		cat /proc/sys/vm/stat_refresh >/dev/null
		echo "$line" >&4
	done
}

# What guards others from a process must not be that it is not root. The device
# belongs to the group that tools/udev gives it to.
run_as_user() {
	if [ ! -p /tmp/refresh.ask ]; then
		mkfifo -m 666 /tmp/refresh.ask /tmp/refresh.done
		serve_refresh >/dev/null 2>&1 &
	fi
	begin "$1"
	chgrp rdma /dev/dat && chmod 660 /dev/dat
	su -c "exec /selftests/${1#user/}" nobody 2>&1
	end "$1" $?
}

run_module() {
	module=${1##*/}
	results=/sys/kernel/debug/$module/results
	begin "$1"
	rc=1
	many_cqs=0
	[ "$module" = "$1" ] || many_cqs=1
	# No longer than needed: it keeps kdapl.ko from being unloaded.
	insmod /selftests/modules/kdapl_testlib.ko ia="${DAT_TEST_IA:-rxe0}" \
		thorough="${KDAPL_THOROUGH:-0}" many_cqs=$many_cqs
	if insmod "/selftests/modules/$module.ko"; then
		if [ -r "$results" ]; then
			cat "$results"
			grep -q '^not ok' "$results" || rc=0
		else
			echo "# $module left no results"
		fi
		unload "$module" || rc=1
	fi
	unload kdapl_testlib || rc=1
	end "$1" $rc
}

# What the suites left in debugfs is KTAP: a plan and results of each, indented
# by four spaces. On 6.1 the log of a test is full after 512 characters, so that
# of one that fails may end within a line and without a result. A result that is
# not there is therefore a failure.
# flatten_ktap RESULTS...: prints them as one TAP, returns 1 if a test failed.
flatten_ktap() {
	echo "1..$(awk '/^    1\.\./ { n += substr($1, 4) } END { print n + 0 }' "$@")"
	awk '
	function result(ok, name)
	{
		num++
		print ok " " num " " suite "." name
		if (ok != "ok")
			failed = 1
	}

	# The results up to number to; their complaints tell the names.
	function missing(to)
	{
		for (seen++; seen < to; seen++) {
			used++
			result("not ok", used <= named ? names[used] : seen)
		}
		named = used = 0
	}

	function line(s, words)
	{
		if (s ~ /^    (not )?ok [0-9]+ /) {
			split(s, words, " ")
			missing(words[1] == "not" ? words[3] : words[2])
			sub(/ok [0-9]+ (- )?/, "ok ", s)
			result(words[1] == "not" ? "not ok" : "ok",
			       substr(s, index(s, "ok ") + 3))
		} else if (s ~ /^    1\.\./) {
			plan = substr(s, 8) + 0
		} else if (s ~ /^    / && s !~ /# Subtest:|# module:|KTAP version/) {
			sub(/^ +(# )?/, "", s)
			print "# " s
			if (s ~ /^[a-z0-9_]+: (EXPECTATION|ASSERTION) FAILED/) {
				sub(/:.*/, "", s)
				if (s != names[named])
					names[++named] = s
			}
		}
	}

	FNR == 1 {
		missing(plan + 1)
		n = split(FILENAME, parts, "/")
		suite = parts[n - 1]
		plan = seen = 0
	}

	{
		if (match($0, /[^ ]    (not )?ok [0-9]+ /)) {
			line(substr($0, 1, RSTART))
			line(substr($0, RSTART + 1))
		} else {
			line($0)
		}
	}

	END {
		missing(plan + 1)
		exit failed
	}' "$@"
}

# Only a kernel with KUnit has this module.
run_kunit() {
	[ -f /selftests/modules/kdapl_kunit.ko ] || return 0
	begin kunit
	rc=1
	if insmod /selftests/modules/kdapl_kunit.ko; then
		flatten_ktap /sys/kernel/debug/kunit/kdapl_*/results && rc=0
		unload kdapl_kunit || rc=1
	fi
	end kunit $rc
}

# load_as MODEL: loads kdapl, with rxe as the adapter of another driver or as it is
load_as() {
	if [ "$1" = rxe ]; then
		insmod "$KDAPL_INSMOD"
	else
		insmod "$KDAPL_INSMOD" "model=$1"
	fi
}

# set_profile MODEL: lets rxe behave so; kdapl must not be loaded
set_profile() {
	{ [ -d /sys/module/kdapl_model ] || insmod /selftests/modules/kdapl_model.ko; } &&
		echo "$1" >/sys/module/kdapl_model/parameters/profile
}

is_offered() {
	/selftests/tools/dat-info | grep -q "${DAT_TEST_IA:-rxe0}"
}

# kdapl must not offer what it cannot use; dat-info must be able to tell.
is_refused() {
	/selftests/tools/dat-info >/tmp/offered && ! grep -q "${DAT_TEST_IA:-rxe0}" /tmp/offered
}

use_model() {
	adapter=
	begin "model/$1"
	echo "1..1"
	rc=0
	case $1 in
	hns | ocrdma | hfi1) { unload kdapl && load_as "$1" && is_refused; } || rc=1 ;;
	*) { unload kdapl && set_profile "$1" && load_as "$1" && is_offered; } || rc=1 ;;
	esac
	[ "$rc" -eq 0 ] && echo "ok 1 model.$1" || echo "not ok 1 model.$1"
	end "model/$1" "$rc"
	[ "$1" = rxe ] || adapter=$1:
}

# excuse PROGRAM: turns failures that model.list names for the adapter into skipped tests.
# Returns 1 if others remain.
excuse() {
	awk -v adapter="${adapter%:}" -v program="$1" '
	BEGIN {
		while ((getline line <"/selftests/model.list") > 0) {
			if (line ~ /^(#|$)/)
				continue
			n = split(line, word, " ")
			if (word[1] != program || !index("," word[3] ",", "," adapter ","))
				continue
			reason = word[4]
			for (i = 5; i <= n; i++)
				reason = reason " " word[i]
			lucky = sub(/\?$/, "", word[2])
			excused[word[2]] = reason
			if (lucky)
				may_pass[word[2]]
		}
	}
	/^(not )?ok / {
		results++
		good = /^ok/
		name = $(good ? 3 : 4)
		sub(/^.*\./, "", name)
		number = $(good ? 2 : 3)
		if (good && name in excused && !(name in may_pass) && !/# SKIP/) {
			$0 = "not ok " number " " program "." name
			$0 = $0 " passes, though model.list names it"
			failed = 1
		} else if (!good && (name in excused || "*" in excused)) {
			skipped++
			reason = excused[name in excused ? name : "*"]
			$0 = "ok " number " # SKIP " program "." name ": the adapter " reason
		} else if (!good) {
			failed = 1
		}
	}
	/^1\.\./ { plan = 1 }
	/^# END / {
		# A module whose setup fails prints no plan.
		if (!plan && results && results == skipped)
			print "1.." results
		# The status of a program with other failures remains.
		if (skipped)
			sub(/rc=[0-9]+/, "rc=" (failed + 0))
		else if (!/ rc=0 /)
			failed = 1
	}
	{ print; fflush() }
	END { exit failed }'
}

# The demo, as `make demo` runs it
run_demo() {
	begin demo
	echo "1..1"
	if sh /demo/run.sh >/tmp/demo.story 2>&1; then
		echo "ok 1 demo.ends_well"
		end demo 0
	else
		sed 's/^/# /' /tmp/demo.story
		echo "not ok 1 demo.ends_well"
		end demo 1
	fi
}

# Tests that are not named all run.
run_storage() {
	begin "$1"
	only=${1#storage}
	sh /selftests/storage/run.sh ${only:+"${only#/}"} 2>&1
	end "$1" $?
}

# The examples of README.md, as a reader would run them, and the module of
# Documentation/kdapl.rst, which does not load unless its data has arrived.
run_examples() {
	begin examples
	rc=0
	echo "1..3"
	if /selftests/examples/udapl; then
		echo "ok 1 examples.udapl"
	else
		echo "not ok 1 examples.udapl"
		rc=1
	fi
	if insmod /selftests/modules/example_kdapl.ko && rmmod example_kdapl &&
	   dmesg | grep -q 'a peer reaches us with rmr_context'; then
		echo "ok 2 examples.kdapl"
	else
		echo "not ok 2 examples.kdapl"
		rc=1
	fi
	if insmod /selftests/modules/example_guide.ko && rmmod example_guide &&
	   dmesg | grep -q 'guide: the block has arrived'; then
		echo "ok 3 examples.guide"
	else
		dmesg | grep 'guide: ' | sed 's/^/# /'
		echo "not ok 3 examples.guide"
		rc=1
	fi
	end examples $rc
}

# is_program FILE: whether it is a program, not a directory
is_program() {
	[ -f "$1" ] && [ -x "$1" ]
}

# programs_of FOLDER: the programs of a folder of selftests/ that begin with its name
programs_of() {
	for f in "/selftests/$1"_*; do
		! is_program "$f" || echo "${f##*/}"
	done
}

groups=
[ $# -gt 0 ] || groups='programs users variants dat2 modules'
for name; do
	shift
	case $name in
	programs | users | variants | dat2 | modules | slow | once | replay)
		groups="$groups $name"
		;;
	cqs)
		for program in batch dto evd evd_change evd_take fd post removal request rmr_bind \
			rmr_flags rmr_state srq kdapl_ep_test kdapl_evd_policy_test \
			kdapl_fmr_test kdapl_post_test kdapl_removal_test kdapl_rmr_test \
			kdapl_upcall_test; do
			set -- "$@" "cqs/$program"
		done
		[ ! -e /selftests/uring/uring ] || set -- "$@" cqs/uring
		;;
	uapi | exit)
		# shellcheck disable=SC2046 # no program has a space in its name
		set -- "$@" $(programs_of "$name")
		;;
	user/uapi)
		for program in $(programs_of uapi); do
			set -- "$@" "user/$program"
		done
		;;
	short)
		# shellcheck disable=SC2046 # likewise
		set -- "$@" dto lmr_create lmr_free lmr_pages lmr_types mem_rules memlock \
			post rmr_bind rmr_flags rmr_free rmr_state \
			$(programs_of uapi) kdapl_fmr_test \
			kdapl_lmr_test kdapl_rmr_test demo
		;;
	models)
		# Kernels before 6.18 have no ionic.
		case $(uname -r) in
		6.*) adapters='mlx5 mlx4 cxgb4 bnxt_re irdma qedr erdma vmw_pvrdma unknown' ;;
		*) adapters=ionic ;;
		esac
		for model in $adapters; do
			set -- "$@" "model/$model" dto lmr_create lmr_types mem_rules \
				rmr_bind rmr_flags rmr_window srq post evd \
				kdapl_ep_test kdapl_fmr_test kdapl_ib_test kdapl_lmr_test \
				kdapl_mem_test kdapl_post_test kdapl_rmr_test \
				kdapl_srq_test
		done
		[ "$adapters" = ionic ] || set -- "$@" model/hns model/ocrdma model/hfi1
		set -- "$@" model/rxe
		;;
	*) set -- "$@" "$name" ;;
	esac
done

# Some are for a user. To the sanitizers of the kernel it makes no difference, nor do
# other variants, and the debug kernels have no futex() for a process of 32 bits.
users=' batch dto handles rmr_bind rmr_state ' variants=yes
[ ! -e /sys/kernel/debug/kmemleak ] || users='' variants=''
# `make test-all` runs these. They take more than 20 seconds on an idle machine, or are new.
slow_programs='compat_mpi exit_rounds hostile_connect hostile_flood hostile_rdma rmr_window'
# New ones
slow_programs="$slow_programs addr_load compat_fork early_data ep_evds evd_batch evd_cqs fork"
slow_programs="$slow_programs fork_server handoff job qual userns"
slow_modules='kdapl_conn_test kdapl_evd_cqs_test kdapl_mem_test'
left_out=" $slow_programs $slow_modules "
# One kernel is enough for Debian's programs, and for these, which test libraries and tools or
# wait for seconds. run-tests.sh sets KDAPL_ONCE for the last kernel of a run.
once=${KDAPL_ONCE-}
once_programs='admin compat_cno compat_deep compat_loop conf info lmr_fuse lmr_userfault loader'
[ -n "$once" ] || left_out="$left_out$once_programs "

# has GROUP: is it wanted?
has() {
	case " $groups " in
	*" $1 "*) ;;
	*) return 1 ;;
	esac
}

if has programs; then
	for f in /selftests/*; do
		is_program "$f" || continue
		case $users$left_out in
		*" ${f##*/} "*) ;;
		*) set -- "$@" "${f##*/}" ;;
		esac
	done
fi
if has programs && [ -z "$variants" ] && [ -e /selftests/perf/perf.sh ]; then
	set -- "$@" perf/perf.sh
fi
# The provider for libfabric: in `make test` on one kernel. fi_pingpong: sometimes, on 7.3, rxe does
# not answer it for 15 seconds. Only larger guests have room for 16 processes.
libfabric=
! has programs || libfabric=$once
! has slow || libfabric=yes
for name in fi_close fi_more fi_msg fi_wait mpi.sh mpi_many.sh pingpong.sh; do
	case $name in
	mpi_many.sh | pingpong.sh) has slow || continue ;;
	esac
	[ -z "$libfabric" ] || [ -z "$variants" ] || [ ! -e "/selftests/fi/$name" ] ||
		set -- "$@" "fi/$name"
done
if has replay; then
	set -- "$@" fuzz/replay.sh
	[ ! -e /selftests/modules/kdapl_fuzz.ko ] || set -- "$@" fuzz/kreplay.sh
fi
if has users && [ -n "$users" ]; then
	# Some tests of uapi need root: run them as root and as an ordinary user.
	for name in $users ${once:+$(programs_of uapi)}; do
		set -- "$@" "user/$name"
	done
fi
for f in /selftests/i386/* /selftests/tsan/* /selftests/dat2/*; do
	is_program "$f" || continue
	f=${f#/selftests/}
	case $f in
	dat2/calls | dat2/counters | dat2/provider) group=dat2 here=yes ;;
	dat2/perf.sh) group=slow here=yes ;;
	dat2/*.sh) group=dat2 here=$once ;;
	*) group=variants here=$variants ;;
	esac
	! has $group || [ -z "$here" ] || set -- "$@" "$f"
done
# Programs whose posts and waits also go by io_uring. They count no threads: io_uring has some.
by_uring='batch dto evd evd_take post removal request rmr_bind uapi_post'
if [ -e /selftests/uring/uring ]; then
	! has programs || set -- "$@" uring/uring
	if has variants && [ -n "$variants" ] && [ -n "$once" ]; then
		for name in $by_uring; do
			set -- "$@" "uring/$name"
		done
	fi
fi
if has modules; then
	for f in /selftests/modules/*_test.ko; do
		[ -f "$f" ] || continue
		f=${f##*/}
		f=${f%.ko}
		case $left_out in
		*" $f "*) ;;
		*) set -- "$@" "$f" ;;
		esac
	done
	set -- "$@" kunit
	# They name rxe0.
	[ "${DAT_TEST_IA:-rxe0}" != rxe0 ] || set -- "$@" examples
fi

for name in $once_programs; do
	! has once || set -- "$@" "$name"
done
for name in $slow_programs $slow_modules; do
	# With sanitizers the hostile programs take minutes on siw.
	case $name in
	hostile_*) [ -n "$variants" ] || [ "$KDAPL_RDMA" != siw ] || continue ;;
	esac
	! has slow || set -- "$@" "$name"
done

[ ! -e /selftests/dat2/conf.sh ] || sh /selftests/dat2/conf.sh >/tmp/dat.conf
[ ! -e /tmp/dat.conf ] ||
	sed 's,/dat2/lib/libdaplk,/tsan/lib/libdaplk,' /tmp/dat.conf >/tmp/tsan.conf
run_one() {
	if [ "$1" = kunit ]; then
		run_kunit
	elif [ "$1" = demo ]; then
		run_demo
	elif [ "$1" = examples ]; then
		run_examples
	elif [ "${1%%/*}" = storage ]; then
		run_storage "$1"
	elif [ "${1%/*}" = user ]; then
		run_as_user "$1"
	elif [ -f "/selftests/modules/${1#cqs/}.ko" ]; then
		run_module "$1"
	else
		run_program "$1"
	fi
}

for name; do
	if time_is_up; then
		skip "$name"
	elif [ "${name%/*}" = model ]; then
		use_model "${name#*/}"
	elif [ -n "$adapter" ]; then
		run_one "$name" | excuse "$name" || failed=1
	else
		run_one "$name"
	fi
done
adapter=

# Nothing may be in use after the tests. The demo has already unloaded the module.
begin unload
if [ ! -d /sys/module/kdapl ] || unload kdapl; then
	echo "1..1"
	echo "ok 1 kdapl.unload"
	end unload 0
else
	echo "1..1"
	echo "not ok 1 kdapl.unload"
	end unload 1
fi
exit $failed
