#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in both guests of tools/vm/wire.sh --stock: Debian's programs at both ends of a
# wire, our provider with itself, and with libdaplofa.
#
# stock.sh server|client SERVER_ADDRESS

role=$1 server=$2
here=/selftests/dat2
# shellcheck source-path=SCRIPTDIR source=../dat2/programs.sh
. /selftests/dat2/programs.sh
sh /selftests/dat2/conf.sh >/tmp/dat.conf
export DAT_OVERRIDE=/tmp/dat.conf
ours=kdat-${DAT_TEST_IA:-rxe0}
other=ofa-${DAT_TEST_IA:-rxe0}
cm_passed="DAPL Connection Test Complete"

# The server tells the client to go on: tell PORT, and on the other side wait_for PORT
tell() {
	echo go | timeout 120 busybox nc -l -p "$1" >/dev/null
}

wait_for() {
	for try in $(seq 120); do
		[ "$(busybox nc -w 1 "$server" "$1" </dev/null 2>/dev/null)" != go ] || return
		sleep 1
	done
	echo "# the server has not told to go on, $try times"
}

# The client says what becomes of it: say PORT WORD, and on the other side said PORT
say() {
	for _ in $(seq 20); do
		echo "$2" | busybox nc -w 5 "$server" "$1" >/dev/null 2>&1 && return
		sleep 1
	done
}

said() {
	# Without an end of what it could send, it reads on.
	[ -p /tmp/open ] || mkfifo /tmp/open
	timeout 120 busybox nc -l -p "$1" <>/tmp/open
}

serve() {
	for attempt in 1 2 3; do
		start_server 90 "$@" >/tmp/dtest.server 2>&1 &
		pid=$!
		sleep 1
		tell $((7000 + 10 * num + attempt))
		[ "$(said $((8000 + num)))" = again ] || break
		busybox killall "$program"
		wait "$pid"
	done
	wait "$pid"
	server_rc=$?
	return $server_rc
}

ask() {
	for attempt in 1 2 3; do
		wait_for $((7000 + 10 * num + attempt))
		client "$server" "$client_ia" "$program" "$@"
		if [ "$attempt" -eq 3 ] || ! nobody_listened; then
			break
		fi
		say $((8000 + num)) again
	done
	say $((8000 + num)) "done"
	return "$client_rc"
}

# As one() of programs.sh, but there is only one of them here.
step() {
	name=$1 passed=$2 server_ia=$3 client_ia=$4 program=$5
	shift 5
	num=$((num + 1))
	case $role in
	server) serve "$@" ;;
	client) ask "$@" ;;
	esac
	rc=$?
	if [ "$rc" -eq 0 ] && grep -q "$passed" "/tmp/dtest.$role"; then
		echo "ok $num $program.$name.$role"
	else
		say_why
		echo "not ok $num $program.$name.$role"
	fi
	rm -f /tmp/dtest.server /tmp/dtest.client
}

# run IA_OF_SERVER IA_OF_CLIENT NAME
run() {
	step "$3" PASSED "$1" "$2" peer
	step "$3" PASSED "$1" "$2" dtest -b 4096 -B 20
	step "$3.polling" PASSED "$1" "$2" dtest -p -b 65536 -B 20
	step "$3" "IB extension test.*PASSED" "$1" "$2" dtestx
	step "$3" "$cm_passed" "$1" "$2" dtestcm -w -c 20
}

setup_verbs
echo "# BEGIN wire-stock-$role"
echo "1..16"
run "$ours" "$ours" ours_with_ours
step ours_with_ours.cno PASSED "$ours" "$ours" dtest -c -b 4096 -B 20
run "$other" "$ours" ours_with_other
run "$ours" "$other" other_with_ours
echo "# END wire rc=$failed"
exit $failed
