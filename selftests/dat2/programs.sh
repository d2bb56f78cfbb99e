# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=sh
# For the scripts beside it: runs Debian's test programs, as a server and a client.

num=0
failed=0
# Where it is, for who is not there.
here=${here-${0%/*}}
bin=$here/bin

# On iWARP it is the side that asked that speaks first: siw ends a connection whose
# other side sends at once, as dtest's server does when it is early.
case ${DAT_TEST_IA-} in
siw*)
	echo "1..0 # SKIP not for iWARP"
	exit 0
	;;
esac

# The other provider needs verbs for processes.
setup_verbs() {
	modprobe -a ib_uverbs rdma_ucm 2>/dev/null
	mkdir -p /etc/libibverbs.d /usr/lib/x86_64-linux-gnu/libibverbs
	for driver in rxe siw; do
		echo "driver $driver" >/etc/libibverbs.d/$driver.driver
		cp "$here/lib/lib$driver-rdmav34.so" \
			/usr/lib/x86_64-linux-gnu/libibverbs/
	done
}

# start_client LIMIT [OPTION]...: $program with $client_ia, of the server at $address
start_client() {
	limit=$1
	shift
	case $program in
	peer) set -- "$client_ia" "$address" ;;
	*) set -- -h "$address" -P "$client_ia" "$@" ;;
	esac
	timeout "$limit" "$bin/$program" "$@"
}

# start_server LIMIT [OPTION]...: $program with $server_ia
start_server() {
	limit=$1
	shift
	case $program in
	peer) set -- "$server_ia" ;;
	*) set -- -s -P "$server_ia" "$@" ;;
	esac
	timeout "$limit" "$bin/$program" "$@"
}

# say_why: what both of them have said, and that it was not good
say_why() {
	failed=1
	for side in server client; do
		[ ! -e /tmp/dtest.$side ] || sed "s/^/# $side: /" /tmp/dtest.$side
	done
	echo "# server ${server_rc--}, client ${client_rc--}"
}

# Who is refused by a server that does not listen yet tries once more.
# client SERVER_ADDRESS IA PROGRAM [OPTION]...
client() {
	address=$1 client_ia=$2 program=$3
	shift 3
	for try in 1 2 3 4 5; do
		sleep 1
		start_client 60 "$@" >/tmp/dtest.client 2>&1
		client_rc=$?
		grep -qi "could.* connect" /tmp/dtest.client || break
		echo "# not yet: $try"
	done
}

# dtestx's server tells its client to connect before it listens. A client that was
# refused so is none any more, and neither is its server.
nobody_listened() {
	grep -q "event.* 0x4003" /tmp/dtest.client
}

# dtest's client takes leave as soon as it sees what the server's last write has
# written, which an emulated machine may not have acknowledged by then.
leave_came_early() {
	grep -q "rdma_write: status=0x1 " /tmp/dtest.server
}

# dtestcm's server takes the first events, one for each connection, for their
# beginnings, and the next for their ends, whatever they say. If the first end comes
# before the last beginning, it frees an EP that is connected and waits for its end.
end_came_early() {
	[ "$program" = dtestcm ] && [ $client_rc -eq 0 ] || return
	# It was waiting when its time was up.
	[ $server_rc -eq 124 ] || [ $server_rc -eq 143 ]
}

# one NAME PASSED SERVER_IA CLIENT_IA PROGRAM [OPTION]...: a server and a client with
# these options, both of which must say PASSED
one() {
	name=$1 passed=$2 server_ia=$3 client_ia=$4 program=$5
	shift 5
	num=$((num + 1)) server_rc=1
	for attempt in 1 2 3; do
		start_server 90 "$@" >/tmp/dtest.server 2>&1 &
		server=$!
		client "$KDAPL_ADDRESS" "$client_ia" "$program" "$@"
		if nobody_listened; then
			echo "# nobody listened: $attempt"
			busybox killall "$program"
			continue
		fi
		wait "$server"
		server_rc=$?
		leave_came_early || end_came_early || break
		echo "# the leave came early: $attempt"
	done
	if [ $client_rc -eq 0 ] && [ $server_rc -eq 0 ] &&
	   grep -q "$passed" /tmp/dtest.client && grep -q "$passed" /tmp/dtest.server; then
		echo "ok $num $program.$name"
	else
		say_why
		echo "not ok $num $program.$name"
	fi
	rm -f /tmp/dtest.server /tmp/dtest.client
}
