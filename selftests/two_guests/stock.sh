#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in both guests of tools/vm/two-guests.sh --stock: Debian's programs at both ends of a
# link, our provider with itself, and with libdaplofa; and fi_pingpong of libfabric.
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

# The server sends one word to the client: tell PORT WORD, and on the client told PORT
tell() {
	echo "$2" | busybox nc -l -p "$1" >/dev/null
}

# hear PORT: prints the command that receives the word. It repeats refused connections.
# It must not drop an accepted one, because the word would be lost.
hear() {
	echo "until word=\$(busybox nc -w $limit $server $1 </dev/null 2>/dev/null) &&
		[ -n \"\$word\" ]; do sleep 0.2; done"
}

told() {
	word=
	eval "$(hear "$1")"
	echo "$word"
}

# The client sends its result to the server: say PORT WORD, and on the server said PORT
say() {
	until echo "$2" | busybox nc -w $limit "$server" "$1" >/dev/null 2>&1; do
		sleep 0.2
	done
}

said() {
	# Without an end of what it could send, it reads on.
	[ -p /tmp/open ] || mkfifo /tmp/open
	busybox nc -l -p "$1" <>/tmp/open
}

serve() {
	for attempt in $attempts; do
		start_server "$@"
		await_server
		tell $((7000 + num)) go
		teller=
		if [ "$program" = dtestcm ]; then
			{ eval "$all_connected" && tell $((9000 + num)) go; } &
			teller=$!
		fi
		answer=$(said $((8000 + num)))
		# A client that failed does not connect to the teller.
		[ -z "$teller" ] || kill "$teller" 2>/dev/null
		busybox killall nc 2>/dev/null
		if [ "$answer" = again ]; then
			stop_server
			continue
		fi
		await_server_end
		leave_came_early || break
	done
	tell $((7000 + num)) end
	return "$server_rc"
}

ask() {
	while [ "$(told $((7000 + num)))" = go ]; do
		client "$server" "$client_ia" "$program" "$@"
		if nobody_listened; then
			say $((8000 + num)) again
		else
			say $((8000 + num)) "done"
		fi
	done
	return "$client_rc"
}

# As one() of programs.sh, but there is only one of them here.
step() {
	name=$1 passed=$2 server_ia=$3 client_ia=$4 program=$5
	shift 5
	num=$((num + 1))
	as_it_needs "$(hear $((9000 + num)))"
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
	step "$3" "IB extension test.*PASSED" "$1" "$2" dtestx
}

# Waits until fi_pingpong listens for its control connection, whose port is 47592.
await_pingpong() {
	until grep -q ':B9E8 00000000:0000 0A' /proc/net/tcp /proc/net/tcp6 2>/dev/null; do
		kill -0 "$1" 2>/dev/null || return
		sleep 0.1
	done
}

# pingpong SERVER CLIENT [OPTION]...: a connection of libfabric, with these providers
pingpong() {
	server_provider=$1 client_provider=$2
	shift 2
	num=$((num + 1))
	set -- /selftests/fi/bin/fi_pingpong -e msg -d "${DAT_TEST_IA:-rxe0}" -c "$@"
	case $role in
	server)
		timeout $limit "$@" -p "$server_provider" >/tmp/pingpong 2>&1 &
		await_pingpong $!
		tell $((7000 + num)) go
		wait $!
		;;
	client)
		told $((7000 + num)) >/dev/null
		timeout $limit "$@" -p "$client_provider" "$server" >/tmp/pingpong 2>&1
		;;
	esac
	rc=$?
	sed 's/^/# /' /tmp/pingpong
	if [ $rc -eq 0 ]; then
		echo "ok $num fi_pingpong.${server_provider}_with_$client_provider.$role"
	else
		failed=1
		echo "not ok $num fi_pingpong.${server_provider}_with_$client_provider.$role"
	fi
}

setup_verbs
echo "# BEGIN two-guests-stock-$role"
echo "1..$([ -e /selftests/fi/bin/fi_pingpong ] && echo 13 || echo 10)"
run "$ours" "$ours" ours_with_ours
# These open the IA that the server has, at both ends.
step ours_with_ours PASSED "$ours" "$ours" dtest -b 4096 -B 20
step ours_with_ours.polling PASSED "$ours" "$ours" dtest -p -b 65536 -B 20
step ours_with_ours.cno PASSED "$ours" "$ours" dtest -c -b 4096 -B 20
step ours_with_ours "$cm_passed" "$ours" "$ours" dtestcm -w -c 20
run "$other" "$ours" ours_with_other
run "$ours" "$other" other_with_ours
if [ -e /selftests/fi/bin/fi_pingpong ]; then
	export FI_PROVIDER_PATH=/selftests/fi/lib
	fi=kdapl
	pingpong "$fi" "$fi" -I 10
	pingpong verbs "$fi" -I 10
	pingpong "$fi" verbs -I 10
fi
echo "# END two-guests rc=$failed"
exit $failed
