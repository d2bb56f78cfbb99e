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

# Seconds after which a program counts as hung: ten times the need of a busy machine.
limit=600

# start_client [OPTION]...: $program with $client_ia, of the server at $address;
# $client_conf, if set, is the client's dat.conf
client_conf=
start_client() {
	case $program in
	peer) set -- "$client_ia" "$address" ;;
	*) set -- -h "$address" -P "$client_ia" "$@" ;;
	esac
	DAT_OVERRIDE=${client_conf:-$DAT_OVERRIDE} LD_PRELOAD=$preload LATE_END=$late_end \
		timeout $limit "$bin/$program" "$@"
}

# start_server [OPTION]...: $program with $server_ia, in the background
start_server() {
	case $program in
	peer) set -- "$server_ia" ;;
	*) set -- -s -P "$server_ia" "$@" ;;
	esac
	rm -f /tmp/dtest.ended
	# The log of an earlier attempt must not be read as this server's.
	: >/tmp/dtest.server
	{
		LD_PRELOAD=$preload timeout $limit "$bin/$program" "$@" >/tmp/dtest.server 2>&1
		echo $? >/tmp/dtest.ended
	} &
	server_job=$!
}

# Waits until the server accepts clients. peer prints "listening"; Debian's programs
# listen on TCP port 0x3DD4.
await_server() {
	until [ -e /tmp/dtest.ended ]; do
		case $program in
		peer) ! grep -q listening /tmp/dtest.server || return ;;
		*) ! grep -q ':3DD4 [^ ]* 0A' /proc/net/tcp || return ;;
		esac
		sleep 0.1
	done 2>/dev/null
}

await_server_end() {
	wait "$server_job"
	server_rc=$(cat /tmp/dtest.ended)
}

stop_server() {
	busybox killall "$program" 2>/dev/null
	await_server_end
}

# Ends when the dtestcm server has counted all connections: see late_end.c.
all_connected="until [ -e /tmp/dtest.ended ] || grep -q 'ALL .* CONNECTED' /tmp/dtest.server
do sleep 0.1; done"

# as_it_needs COMMAND: sets LATE_END to COMMAND for dtestcm
as_it_needs() {
	preload='' late_end=''
	[ "$program" = dtestcm ] || return 0
	preload=$here/lib/late_end.so late_end=$1
}

# say_why: what both of them have said, and that it was not good
say_why() {
	failed=1
	for side in server client; do
		[ ! -e /tmp/dtest.$side ] || sed "s/^/# $side: /" /tmp/dtest.$side
	done
	echo "# server ${server_rc--}, client ${client_rc--}"
}

# client SERVER_ADDRESS IA PROGRAM [OPTION]...
client() {
	address=$1 client_ia=$2 program=$3
	shift 3
	start_client "$@" >/tmp/dtest.client 2>&1
	client_rc=$?
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

# Both are known defects of Debian's programs, so the test repeats them.
attempts=$(seq 20)

# A second text that both sides must print
also=

# has_passed SIDE
has_passed() {
	grep -q "$passed" "/tmp/dtest.$1" && grep -q "$also" "/tmp/dtest.$1"
}

# one NAME PASSED SERVER_IA CLIENT_IA PROGRAM [OPTION]...: a server and a client with
# these options, both of which must say PASSED
one() {
	name=$1 passed=$2 server_ia=$3 client_ia=$4 program=$5
	shift 5
	num=$((num + 1)) server_rc=1
	as_it_needs "$all_connected"
	for attempt in $attempts; do
		start_server "$@"
		await_server
		client "$KDAPL_ADDRESS" "$client_ia" "$program" "$@"
		if nobody_listened; then
			echo "# nobody listened: $attempt"
			stop_server
			continue
		fi
		await_server_end
		leave_came_early || break
		echo "# the leave came early: $attempt"
	done
	if [ "$client_rc" -eq 0 ] && [ "$server_rc" -eq 0 ] &&
	   has_passed client && has_passed server; then
		echo "ok $num $program.$name"
	else
		say_why
		echo "not ok $num $program.$name"
	fi
	rm -f /tmp/dtest.server /tmp/dtest.client
}
