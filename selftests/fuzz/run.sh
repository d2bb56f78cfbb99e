#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs datfuzz in the guest as tools/vm/fuzz.sh asks: KDAPL_FUZZ has its arguments. The
# result is TAP with one test.

# An oops must kill the process alone, so that datfuzz can print the sequence.
echo 0 >/proc/sys/kernel/panic_on_oops
chmod 666 /dev/dat
# An ordinary user, too, may let the kernel's accesses to its memory stall.
[ ! -e /proc/sys/vm/unprivileged_userfaultfd ] || echo 1 >/proc/sys/vm/unprivileged_userfaultfd
modules=''
case " $KDAPL_FUZZ " in
*' --kernel '*) modules='kdapl_testlib kdapl_fuzz' ;;
esac

# load: loads the modules that make calls of the kernel API
load() {
	for module in $modules; do
		parameters=''
		[ "$module" != kdapl_testlib ] || parameters="ia=${DAT_TEST_IA:-rxe0}"
		insmod "/selftests/modules/$module.ko" ${parameters:+"$parameters"} || return 1
	done
}

# unload: removes them; kdapl_fuzz warns about memory that is still charged
unload() {
	for module in $modules; do
		set -- "$module" "$@"
	done
	for module; do
		rmmod "$module" || return 1
	done
}

echo 1..1
# shellcheck disable=SC2086 # a list of arguments
if load && /selftests/fuzz/datfuzz $KDAPL_FUZZ && unload; then
	echo "ok 1 fuzz.no_finding"
else
	echo "not ok 1 fuzz.no_finding"
	exit 1
fi
