#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs each sequence of kcorpus once: calls of the kernel API, which kdapl_fuzz.ko makes.
# It fails if a process cannot begin or be killed, or if the module cannot be unloaded.
modules=/selftests/modules
insmod $modules/kdapl_testlib.ko ia="${DAT_TEST_IA:-rxe0}" || exit 1
insmod $modules/kdapl_fuzz.ko || exit 1
/selftests/fuzz/datfuzz --kernel --jobs 4 ${KDAPL_REPLAY:+"$KDAPL_REPLAY"} \
	--replay /selftests/fuzz/kcorpus/*
rc=$?
rmmod kdapl_fuzz && rmmod kdapl_testlib || rc=1
exit $rc
