#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Sees to it that every exported call is in a session that lets it fail at every point:
# those of the kernel in kdapl_fail_nth_test, those of libdat, and with them every
# ioctl, in a step of selftests/fail_nth/*.c that is not quiet.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

rc=0
complain() {
	echo "$1"
	rc=1
}

exported=$(exported_calls)
# Called, that is; a comment that names a function has nothing in its parentheses.
called=$(grep -hoE '\<dat_[a-z0-9_]+\(([^)]|$)' selftests/modules/fail_nth_*.c |
	sed 's/(.*//')

[ -n "$exported" ] || complain "no exported call was found"
for call in $exported; do
	grep -qx "$call" <<<"$called" ||
		complain "$call() is in no session of selftests/modules/fail_nth_*.c"
done

# The calls of libdat that the steps reach, by themselves or through functions of
# their own file and of the library of the tests.
reached=$(awk '
function visit(file, fn,    i, callee)
{
	if (seen[file, fn]++)
		return
	for (i = 1; i <= num[file, fn]; i++) {
		callee = calls[file, fn, i]
		if (callee ~ /^dat_/)
			print callee
		else if ((file, callee) in num)
			visit(file, callee)
		else if (callee in lib)
			visit(lib[callee], callee)
	}
}

FNR == 1 { fn = ""; in_table = 0 }

# A definition, whose name is in front of the first parenthesis.
/^[A-Za-z].*\(/ && !/;$/ && match($0, /[a-z0-9_]+\(/) {
	fn = substr($0, RSTART, RLENGTH - 1)
	num[FILENAME, fn] = 0
	if (FILENAME !~ /fail_nth/)
		lib[fn] = FILENAME
	next
}

/^static const struct step / { in_table = 1 }
/^}/ { fn = ""; in_table = 0 }

in_table && !/QUIET\(|BEGIN\(/ && match($0, /^\t([A-Z_]+\(|\{ "[a-z0-9_]+", )[a-z0-9_]+/) {
	rest = substr($0, RSTART, RLENGTH)
	sub(/.*[( ]/, "", rest)
	steps[FILENAME, rest] = 1
}

fn != "" {
	rest = $0
	while (match(rest, /[A-Za-z0-9_]+\(/)) {
		calls[FILENAME, fn, ++num[FILENAME, fn]] = substr(rest, RSTART, RLENGTH - 1)
		rest = substr(rest, RSTART + RLENGTH)
	}
}

END {
	for (step in steps) {
		split(step, part, SUBSEP)
		visit(part[1], part[2])
	}
}' selftests/lib/pair.c selftests/lib/software_event.c selftests/fail_nth/*.c)

offered=$(sed -n 's/^DAT_RETURN \(dat_[a-z0-9_]*\)(.*/\1/p' tools/libdat/*.c
	sed -nE 's/^(CALL|SHIM|FREE|EVD_SET)\(([a-z_]*),.*/dat_\2/p' tools/libdat/calls.def)
[ -n "$offered" ] || complain "no call of libdat was found"
for call in $offered; do
	case $call in
	# Asks nobody.
	dat_strerror) continue ;;
	# Make no ioctl; those of their requests fail in the steps of posts and waits.
	dat_linux_begin_* | dat_linux_end_*) continue ;;
	# What the program calls is a macro.
	dat_ia_openv) call=dat_ia_open ;;
	esac
	grep -qx "$call" <<<"$reached" ||
		complain "no step of selftests/fail_nth/*.c lets $call() fail"
done

ioctls=$(sed -n 's/^\tDAT_DEV_CMD_\([A-Z_]*\).*/\1/p' uapi/linux/dat.h)
[ -n "$ioctls" ] || complain "no ioctl was found"
for ioctl in $ioctls; do
	# Those of libdat's calls, or by themselves.
	grep -qw "DAT_DEV_$ioctl" tools/libdat/*.c tools/libdat/calls.def \
		selftests/fail_nth/*.c ||
		complain "no step of selftests/fail_nth/*.c makes DAT_DEV_$ioctl"
done
exit $rc
