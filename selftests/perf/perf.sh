#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs dat-perf as a server and a client, and prints TAP. PERF is the program, if not that
# for libdat; PERF_CLIENT_IA and PERF_SERVER_IA are its IAs.
# shellcheck disable=SC2317 # check() calls the tests
ia=${DAT_TEST_IA:-rxe0}
address=${KDAPL_ADDRESS:-10.0.2.15}
perf=${PERF:-/selftests/perf/dat-perf}
client_ia=${PERF_CLIENT_IA:-$ia} server_ia=${PERF_SERVER_IA:-$ia}
tmp=$(mktemp -d)
num=0 failed=0 server=

# check NAME [ARGUMENT]...: runs the function of this name as a test
check() {
	num=$((num + 1))
	# In a condition, set -e would mean nothing.
	(set -e; "$@") >"$tmp/said" 2>&1
	# shellcheck disable=SC2181 # the status of that
	if [ $? -eq 0 ]; then
		echo "ok $num perf.$(echo "$*" | tr ' ' _)"
	else
		sed 's/^/# /' "$tmp/said" "$tmp/server"
		echo "not ok $num perf.$(echo "$*" | tr ' ' _)"
		failed=1
	fi
}

# says FILE TEXT: waits until a program has said it
says() {
	tries=6000
	until grep -q "$2" "$1" 2>/dev/null; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.1
	done
}

start_server() {
	"$perf" --ia "$server_ia" "$@" >"$tmp/server" 2>&1 &
	server=$!
	says "$tmp/server" listens
}

stop_server() {
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null || :
}

client() {
	test=$1
	shift
	"$perf" "$test" --ia "$client_ia" "$@" "$address"
}

# fails STATUS COMMAND...: it fails with this status and one line on the standard error
fails() {
	expected=$1
	shift
	rc=0
	"$@" >"$tmp/out" 2>"$tmp/err" || rc=$?
	cat "$tmp/out" "$tmp/err"
	[ "$rc" -eq "$expected" ] && [ "$(grep -c . "$tmp/err")" -eq 1 ] &&
		grep -q '^dat-perf: ' "$tmp/err"
}

# set -e does not see `!`
fails_to_find() {
	if grep "$@"; then
		return 1
	fi
}

bad_command_lines() {
	"$perf" --help | grep -q '^usage: dat-perf'
	"$perf" --version | grep -q '^dat-perf '
	fails 2 "$perf" latency "$address"
	fails 2 "$perf" lat
	fails 2 "$perf" lat one two
	fails 2 "$perf" lat --once "$address"
	fails 2 "$perf" --op write
	fails 2 "$perf" lat --op atomic "$address"
	fails 2 "$perf" lat --depth 2 "$address"
	for size in 0 -1 64x 17M 4G 18446744073709551617 8-4 '' 1,,2; do
		fails 2 "$perf" bw --size "$size" "$address"
	done
	fails 2 "$perf" bw --iterations 0 "$address"
	fails 2 "$perf" bw --depth 1025 "$address"
	fails 2 "$perf" bw --port 65536 "$address"
}

nobody_there() {
	fails 1 client lat --port 18599
	grep -q 'nobody listens' "$tmp/err"
	fails 1 "$perf" lat --ia none "$address"
	fails 1 "$perf" lat --ia "$client_ia" no.such.host.invalid
}

# The numbers of the JSON are there, and in order.
measures() {
	client "$1" --op "$2" --iterations 40 --size 64,8K --json >"$tmp/json"
	cat "$tmp/json"
	[ "$(grep -c "\"test\": \"$1\", \"op\": \"$2\"" "$tmp/json")" -eq 2 ]
	tr -d '{},:[]"' <"$tmp/json" | awk -v test="$1" '
		NF {
			for (i = 1; i < NF; i++)
				v[$i] = $(i + 1)
			lines++
			if (v["iterations"] != 40 || v["bytes"] != (lines == 1 ? 64 : 8192))
				bad = 1
			if (test == "lat" &&
			    !(0 < v["min_us"] && v["min_us"] <= v["p50_us"] &&
			      v["p50_us"] <= v["p90_us"] && v["p90_us"] <= v["p99_us"] &&
			      v["p99_us"] <= v["p99.9_us"] && v["p99.9_us"] <= v["max_us"] &&
			      v["min_us"] <= v["mean_us"] && v["mean_us"] <= v["max_us"]))
				bad = 1
			if (test != "lat" &&
			    !(v["seconds"] > 0 && v["mb_per_second"] > 0 && v["per_second"] > 0))
				bad = 1
		}
		END { exit bad || lines != 2 }'
}

ranges_polling_and_a_plot() {
	client lat --poll --iterations 20 --size 32-128 --plot "$tmp/plot.svg" >"$tmp/table"
	cat "$tmp/table"
	[ "$(awk '$1 == "lat" { print $3 }' "$tmp/table" | xargs)" = "32 64 128" ]
	head -n 1 "$tmp/plot.svg" | grep -q '^<svg'
	tail -n 1 "$tmp/plot.svg" | grep -q '^</svg>'
	[ "$(grep -c '<polyline' "$tmp/plot.svg")" -eq 3 ]
	[ "$(grep -c '<circle' "$tmp/plot.svg")" -eq 9 ]
	fails_to_find 'nan\|inf' "$tmp/plot.svg"
	fails 1 client bw --iterations 1 --plot /nowhere/plot.svg
}

# The server goes on when a client is killed, and a client ends when the server is.
either_end_dies() {
	"$perf" bw --ia "$client_ia" --op send --iterations 100000000 "$address" &
	client=$!
	says "$tmp/server" 'bw send, 65536 bytes'
	kill -9 "$client"
	wait "$client" || :
	client lat --iterations 5
	"$perf" rate --ia "$client_ia" --iterations 100000000 "$address" >"$tmp/out" 2>"$tmp/err" &
	client=$!
	says "$tmp/server" 'rate write'
	kill -9 "$server"
	rc=0
	wait "$client" || rc=$?
	[ "$rc" -eq 1 ] && [ "$(grep -c . "$tmp/err")" -eq 1 ]
}

stopped_and_continued() {
	start_server
	kill -STOP "$server"
	until grep -q '^State:.*T' "/proc/$server/status"; do
		sleep 0.1
	done
	kill -CONT "$server"
	client lat --op write --iterations 5
	stop_server
}

client_without_output() {
	client lat --op write --iterations 5 >/dev/full
}

full_output() {
	start_server --once
	fails 1 client_without_output
	wait "$server"
}

serves_once() {
	start_server --once
	client rate --op send --iterations 5
	wait "$server"
}

echo "1..16"
check bad_command_lines
check nobody_there
start_server
for test in lat bw rate; do
	for op in send write read; do
		check measures $test $op
	done
done
check ranges_polling_and_a_plot
check either_end_dies
stop_server
check stopped_and_continued
check full_output
check serves_once
rm -r "$tmp"
exit $failed
