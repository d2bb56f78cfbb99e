#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Debian's fi_info and fi_pingpong on the provider for libfabric. Prints TAP.
# shellcheck disable=SC2317,SC2031 # check() calls the tests; programs.sh sets failed in a subshell
here=${0%/*}
ia=${DAT_TEST_IA:-rxe0}
address=${KDAPL_ADDRESS:-10.0.2.15}
export FI_PROVIDER_PATH="$here/lib"
tmp=$(mktemp -d)
num=0 failed=0 server=

# check NAME [ARGUMENT]...: runs the function of this name as a test
check() {
	num=$((num + 1))
	# In a condition, set -e would mean nothing.
	(set -e; "$@") >"$tmp/said" 2>&1
	# shellcheck disable=SC2181 # the status of that
	if [ $? -eq 0 ]; then
		echo "ok $num libfabric.$(echo "$*" | tr ' ' _)"
	else
		killall fi_pingpong 2>/dev/null
		sed 's/^/# /' "$tmp/said" "$tmp"/server*
		echo "not ok $num libfabric.$(echo "$*" | tr ' ' _)"
		failed=1
	fi
}

info() {
	"$here/bin/fi_info" "$@"
}

lists_provider() {
	info -l | grep -A1 '^kdapl:' | grep 'version: 1'
}

describes_ia() {
	info -p kdapl -v >"$tmp/info"
	cat "$tmp/info"
	grep "^ *name: $ia\$" "$tmp/info"
	grep 'type: FI_EP_MSG' "$tmp/info"
	grep "src_addr: fi_sockaddr_in://$address:0" "$tmp/info"
}

# FI_EP_RDM comes from ofi_rxm above the provider.
gives_reliable_datagrams() {
	info -p 'kdapl;ofi_rxm' -t FI_EP_RDM | grep "domain: $ia"
}

refuses() {
	! info -p kdapl "$@"
}

# start_server PROVIDER ENDPOINT [OPTION]...: returns when it listens for its control connection
start_server() {
	provider=$1 type=$2
	shift 2
	"$here/bin/fi_pingpong" -p "$provider" -e "$type" "$@" >"$tmp/server" 2>&1 &
	server=$!
	tries=600
	until grep -q ':B9E8 00000000:0000 0A' /proc/net/tcp /proc/net/tcp6 2>/dev/null; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		kill -0 "$server" || return 1
		sleep 0.1
	done
}

# finished STATUS OUTPUT: prints the output and fails unless everything went well, or everything but
# the completion of the last message. A peer that has this message closes, perhaps before its device
# acknowledges it (see the table in drivers.c).
finished() {
	cat "$2"
	[ "$1" -ne 0 ] || return 0
	[ "$(grep -cF '[error]' "$2")" -eq 1 ]
	grep -E "cq_readerr: (flushed: the connection has ended|Work Request Flushed Error)" "$2"
	grep "^$last " "$2"
}

# between SERVER CLIENT ENDPOINT [OPTION]...: two processes, with these providers
between() {
	server_provider=$1 client_provider=$2 type=$3 last=1m
	shift 3
	case " $* " in *' -S 64 '*) last=64 ;; esac
	start_server "$server_provider" "$type" "$@"
	ended=0
	FI_LOG_LEVEL=warn "$here/bin/fi_pingpong" -p "$client_provider" -e "$type" "$@" \
		"$address" >"$tmp/client" 2>&1 || ended=$?
	finished "$ended" "$tmp/client"
	ended=0
	wait "$server" || ended=$?
	finished "$ended" "$tmp/server"
}

pingpong() {
	between "$1" "$@"
}

# ofi_rxm has one queue of receives for all peers.
shared() {
	export FI_OFI_RXM_USE_SRX=1
	pingpong "$@"
}

# The provider for verbs needs verbs for processes.
with_verbs() {
	# shellcheck source-path=SCRIPTDIR source=../dat2/programs.sh
	(here=/selftests/dat2 && . "$here/programs.sh" && setup_verbs)
	between "$@"
}

echo "1..11"
check lists_provider
check describes_ia
check gives_reliable_datagrams
check refuses -c FI_ATOMIC -t FI_EP_MSG
check refuses -t FI_EP_DGRAM
check pingpong kdapl msg -I 200 -S 64 -c
check pingpong kdapl msg -I 10 -c
check pingpong 'kdapl;ofi_rxm' rdm -I 10 -c
check shared 'kdapl;ofi_rxm' rdm -I 10 -c
check with_verbs verbs kdapl msg -d "$ia" -I 10 -c
check with_verbs kdapl verbs msg -d "$ia" -I 10 -c
rm -rf "$tmp"
exit $failed
