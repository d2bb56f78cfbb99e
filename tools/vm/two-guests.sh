#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs selftests/two_guests in two guests that a link connects, and prints TAP.
# With --stock runs Debian's programs that are linked with libdat2 instead.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage() {
	cat >&2 <<-EOT
	usage: two-guests.sh [OPTION]... CLIENT_VERSION SERVER_VERSION
	  --debug, --kcsan    kernels with sanitizers
	  --stock             selftests/two_guests/stock.sh instead, on kernels without
	  --mib NUMBER        to write and to read on a good link; default 1024,
	                      with sanitizers 16
	  --lossy-mib NUMBER  on a bad link; default 32, with sanitizers 4
	  --timeout SECONDS   default 600, with sanitizers 1800
	  --log FILE.log      default build/vm/two-guests.log; FILE-server.log is the server's
	Everything must have been built: make selftests, make selftest-modules KDIR=...
	exit status: boot.sh's, of the client or else of the server
	EOT
	exit 126
}

die_status=126
debug='' stock='' mib='' lossy_mib='' limit='' log='' versions=()
while [ $# -gt 0 ]; do
	case $1 in
	--debug | --kcsan) debug=${1#--} ;;
	--stock) stock=stock ;;
	--mib | --lossy-mib | --timeout | --log)
		[ $# -ge 2 ] || usage
		case $1 in
		--mib) mib=$2 ;;
		--lossy-mib) lossy_mib=$2 ;;
		--timeout) limit=$2 ;;
		--log) log=$2 ;;
		esac
		shift
		;;
	-*) usage ;;
	*) versions+=("$1") ;;
	esac
	shift
done
[ ${#versions[@]} -eq 2 ] || usage
# On the bad link a single connection mostly waits until the transport detects a loss, so
# use many. With sanitizers many connections wait for the processor instead: if ACKs take
# longer than the transport waits several times, a connection breaks. For the same reason
# the chunks on the good link are small.
if [ -n "$debug" ]; then
	mib=${mib:-16} kib=64 lossy_mib=${lossy_mib:-4} connections=4 limit=${limit:-1800}
else
	mib=${mib:-1024} kib=1024 lossy_mib=${lossy_mib:-32} connections=16 limit=${limit:-600}
fi

client_address=10.0.2.1
server_address=10.0.2.2
log=${log:-$top_dir/build/vm/two-guests.log}
tmp=$(mktemp -d)

# shellcheck disable=SC2317 # called by the trap
cleanup() {
	# boot.sh kills its QEMU when it is killed.
	jobs -rp | xargs -r kill 2>/dev/null || :
	wait
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# boot NAME VERSION LOG OPTION... -- SCRIPT ARGUMENT...
boot() {
	local name=$1 version=$2 log=$3 where release
	shift 3
	where=$("$vm_dir/kernel.sh" "$version" ${debug:+"$debug"}) || die "no $version kernel"
	release=$(field release <<<"$where")
	exec "$vm_dir/boot.sh" --kernel "$version" ${debug:+"--$debug"} \
		--timeout "$limit" --log "$log" --pidfile "$tmp/$name.pid" \
		--insmod "$top_dir/build/$release/kdapl.ko" --lib "$top_dir/build/libdat" \
		"${adds[@]}" "$@"
}

# The scripts of both ends and their arguments
if [ -n "$stock" ]; then
	adds=(--add "$top_dir/build/selftests/dat2:/selftests/dat2")
	for name in bin lib; do
		fi_dir=$top_dir/build/selftests/fi/$name
		[ ! -e "$fi_dir" ] || adds+=(--add "$fi_dir:/selftests/fi/$name")
	done
	server_script=("$top_dir/selftests/two_guests/stock.sh" server "$server_address")
	client_script=("$top_dir/selftests/two_guests/stock.sh" client "$server_address")
else
	adds=(--env "KDAPL_QDISC=netem limit 4000"
		--add "$top_dir/build/selftests/two_guests/two_guests:/two_guests/two_guests"
		--add "$top_dir/selftests/two_guests/stages.sh:/two_guests/stages.sh")
	server_script=("$top_dir/selftests/two_guests/server.sh" "$connections")
	client_script=("$top_dir/selftests/two_guests/client.sh" "$server_address" "$mib" "$kib"
		"$lossy_mib" "$connections")
fi

# Forwards the client's output and kills the server's QEMU when the client requests it.
forward() {
	local line
	while IFS= read -r line; do
		printf '%s\n' "$line"
		case $line in
		'# ready: '*)
			: >"$tmp/killed"
			kill -KILL "$(cat "$tmp/server.pid")"
			say "two-guests.sh: has killed the server's guest, as planned"
			;;
		esac
	done
}

# Runs both guests until they exit. Sets status and server_status. The output is in
# client.tap and server.out.
run_both() {
	local port server client forwarder first
	rm -f "$tmp/client.out" "$tmp/killed"
	mkfifo "$tmp/client.out"
	port=$(free_port tcp)
	boot server "${versions[1]}" "${log%.log}-server.log" \
		--link "listen:$port" --address "$server_address" \
		-- "${server_script[@]}" >"$tmp/server.out" &
	server=$!
	boot client "${versions[0]}" "$log" --link "connect:$port" --address "$client_address" \
		-- "${client_script[@]}" >"$tmp/client.out" &
	client=$!
	forward <"$tmp/client.out" >"$tmp/client.tap" &
	forwarder=$!

	# A client retries for ever if its server does not start or fails.
	status=0 server_status=0
	wait -n -p first "$client" "$server" || status=$?
	if [ "$first" = "$server" ]; then
		server_status=$status status=0
		[ "$server_status" -lt 123 ] || [ -e "$tmp/killed" ] ||
			kill "$client" 2>/dev/null || :
		wait "$client" || status=$?
	else
		# After a failure of the client, the server waits for another client.
		if [ ! -e "$tmp/killed" ] && { [ -z "$stock" ] || [ "$status" -ge 123 ]; }; then
			kill "$server" 2>/dev/null || :
		fi
		wait "$server" || server_status=$?
	fi
	wait "$forwarder"
}

for try in 1 2 3; do
	run_both
	if [ "$status" -ne 123 ] && [ "$server_status" -ne 123 ]; then
		break
	fi
	say "two-guests.sh: a kernel failed because of QEMU, see ${log%.log}*.log.panic$(
		[ "$try" -eq 3 ] || echo '; once more')"
done

# The server's guest has a result only if it was not killed.
if [ -e "$tmp/killed" ] && [ "$server_status" -eq 126 ]; then
	server_status=0
fi

cat "$tmp/client.tap"
cat "$tmp/server.out"
echo "# BEGIN two-guests-server"
echo "1..1"
if [ "$server_status" -ne 0 ] || grep -q '^not ok\|has failed$' "$tmp/server.out"; then
	echo "not ok 1 server.served_every_stage, status $server_status"
	echo "# END two-guests-server rc=1"
	[ "$status" -ne 0 ] || status=${server_status/#0/1}
else
	echo "ok 1 server.served_every_stage"
	echo "# END two-guests-server rc=0"
fi
exit "$status"
