# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=sh
# For the scripts of a guest with a disk: prints TAP. The script sets program, its name.

num=0 failed=0

# ok NAME COMMAND...: one test
ok() {
	name=$1
	shift
	num=$((num + 1))
	if "$@" >/tmp/said 2>&1; then
		echo "ok $num $program.$name"
	else
		sed 's/^/# /' /tmp/said
		echo "not ok $num $program.$name"
		failed=$((failed + 1))
	fi
}

# as USER COMMAND: from a login of that user, with its limits
as() { su - "$1" -s /bin/sh -c "$2"; }
