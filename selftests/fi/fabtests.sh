#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The programs of fabtests on the provider for libfabric, as fabtests.list says. Prints TAP.
# A test for later counts as skipped. If it passes, it counts as failed: change the list.
here=$(cd "${0%/*}" && pwd)
address=${KDAPL_ADDRESS:-10.0.2.15}
# FI_PROVIDER excludes the other providers, which cost time.
export FI_PROVIDER_PATH="$here/lib" FI_PROVIDER=kdapl,ofi_rxm
export FI_LOG_LEVEL=warn FI_LOG_PROV=kdapl,ofi_rxm
# Seconds that a program may take
limit=60
num=0 failed=0

# Some programs read files of this folder.
if ! cd "$here/fabtests" 2>/dev/null; then
	echo '1..0 # SKIP tools/vm/fabtests.sh has not built fabtests'
	exit
fi
# The buffers of ofi_rxm take more than the usual limit of 8 MiB.
# shellcheck disable=SC3045 # dash has it
ulimit -l unlimited
ip link set lo up
# fi_av_test looks this service up.
[ -e /etc/services ] || echo 'discard 9/tcp' >/etc/services
tmp=$(mktemp -d)
grep -v -e '^#' -e '^$' "$here/fabtests.list" >"$tmp/list"

# result STATUS NAME
result() {
	num=$((num + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $num fabtests.$2"
	else
		echo "not ok $num fabtests.$2"
		failed=1
	fi
}

# program SIDE NAME [OPTION]...: replaces this process by a program
program() {
	side=$1
	shift
	PATH=.:$PATH exec timeout -s KILL "$limit" "$@" >"$tmp/$side" 2>&1 </dev/null
}

# await_server PID: waits until the server listens for connections, or for control on port 3000
await_server() {
	while kill -0 "$1" 2>/dev/null; do
		! rdma resource show cm_id | grep -q 'LISTEN .*:9228 ' || return 0
		! grep -q ':0BB8 00000000:0000 0A' /proc/net/tcp || return 0
		sleep 0.05
	done
	return 1
}

# pair NAME [OPTION]...: a server and a client
pair() {
	(program server "$@" -s "$address") &
	status=0
	if await_server $!; then
		(program client "$@" -s "$address" "$address")
		status=$?
	fi
	# The server may wait for a client that has failed.
	[ "$status" -eq 0 ] || killall -q -KILL "$1"
	wait $!
	server=$?
	[ "$status" -ne 0 ] || status=$server
	return "$status"
}

# stress NAME [OPTION]...: as pair. The server has no end, and the status of the client is the ID of
# a process. All of its 16 clients must do the last operation, exit, and the server must survive.
stress() {
	(program server "$@" -s "$address") &
	status=1
	if await_server $!; then
		(program client "$@" -s "$address" "$address")
		if [ "$(grep -c ' rpc op exit ' "$tmp/client")" -eq 16 ] && kill -0 $!; then
			status=0
		fi
	fi
	killall -q -KILL "$1"
	wait $!
	return "$status"
}

# run HOW NAME [OPTION]...: runs a test
run() {
	how=$1
	shift
	case $how in
	msg) pair "$@" -p kdapl ;;
	rxm) pair "$@" -p 'kdapl;ofi_rxm' ;;
	rxm_stress) stress "$@" -p 'kdapl;ofi_rxm' ;;
	one) (program client "$@" -p kdapl) ;;
	one_rxm) (program client "$@" -p 'kdapl;ofi_rxm') ;;
	*) echo "fabtests.list says $how" >"$tmp/client" && return 1 ;;
	esac
}

echo "1..$(($(grep -cv '^no ' "$tmp/list") + 1))"
for name in fi_*; do
	grep -q "\<$name\>" "$tmp/list" || echo "# $name is missing"
done >"$tmp/missing"
cat "$tmp/missing"
[ ! -s "$tmp/missing" ]
result $? list_is_complete

while read -r line; do
	set -f
	# shellcheck disable=SC2046 # words
	set -- $(echo "${line%%#*}" | sed "s/ADDRESS/$address/g")
	later=
	case $1 in
	no) continue ;;
	later)
		later="# SKIP later:${line##*#}"
		shift
		;;
	esac
	test=$(echo "$*" | tr ' ' _)
	began=$(date +%s)
	rm -f "$tmp/server" "$tmp/client"
	run "$@"
	status=$?
	if [ "$status" -ne 0 ]; then
		for side in server client; do
			[ ! -e "$tmp/$side" ] || sed "s/^/# $side: /" "$tmp/$side"
		done
		echo "# status $status"
	fi
	echo "# $(($(date +%s) - began)) s"
	if [ -z "$later" ]; then
		result "$status" "$test"
	elif [ "$status" -ne 0 ]; then
		result 0 "$test $later"
	else
		result 1 "$test passes, though fabtests.list names it for later"
	fi
done <"$tmp/list"
rm -rf "$tmp"
exit $failed
