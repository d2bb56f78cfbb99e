#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in the guest: every test program and test module, or those named, as TAP.
#
# Programs are below /selftests, modules below /selftests/modules. A module runs
# its tests when it is loaded and leaves their results, as TAP, in debugfs.

failed=0

begin() {
	echo "# BEGIN $1"
}

end() {
	echo "# END $1 rc=$2"
	[ "$2" -eq 0 ] || failed=1
}

run_program() {
	begin "$1"
	"/selftests/$1" 2>&1
	end "$1" $?
}

run_module() {
	results=/sys/kernel/debug/$1/results
	begin "$1"
	rc=1
	if insmod "/selftests/modules/$1.ko"; then
		if [ -r "$results" ]; then
			cat "$results"
			grep -q '^not ok' "$results" || rc=0
		else
			echo "# $1 left no results"
		fi
		rmmod "$1" || rc=1
	fi
	end "$1" $rc
}

# The examples of README.md, as a reader would run them.
run_examples() {
	begin examples
	rc=0
	echo "1..2"
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
	end examples $rc
}

if [ $# -eq 0 ]; then
	for f in /selftests/*; do
		if [ -f "$f" ] && [ -x "$f" ]; then
			set -- "$@" "${f##*/}"
		fi
	done
	for f in /selftests/modules/*_test.ko; do
		[ -f "$f" ] || continue
		f=${f##*/}
		set -- "$@" "${f%.ko}"
	done
fi

insmod /selftests/modules/kdapl_testlib.ko ia="${DAT_TEST_IA:-rxe0}" || failed=1
for name; do
	if [ -f "/selftests/modules/$name.ko" ]; then
		run_module "$name"
	else
		run_program "$name"
	fi
done

# They name rxe0.
[ "${DAT_TEST_IA:-rxe0}" != rxe0 ] || run_examples
rmmod kdapl_testlib || failed=1

# Whatever the tests did, nothing is in use now.
begin unload
if rmmod kdapl; then
	echo "1..1"
	echo "ok 1 kdapl.unload"
	end unload 0
else
	echo "1..1"
	echo "not ok 1 kdapl.unload"
	end unload 1
fi
exit $failed
