#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs each sequence of the corpus once. It fails if a process cannot begin or be killed;
# boot.sh looks for complaints of the kernel and for what is left behind.
mode=$(stat -c %a /dev/dat) && chmod 666 /dev/dat || exit 1
# As run.sh does
[ ! -e /proc/sys/vm/unprivileged_userfaultfd ] || echo 1 >/proc/sys/vm/unprivileged_userfaultfd
/selftests/fuzz/datfuzz --jobs 4 ${KDAPL_REPLAY:+"$KDAPL_REPLAY"} --replay /selftests/fuzz/corpus/*
rc=$?
# Other programs test who may open it.
chmod "$mode" /dev/dat
exit $rc
