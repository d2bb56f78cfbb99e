#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# crowd.sh PROCESSES EPS SECONDS: runs crowd, and prints for which locks tasks and softirqs had
# to wait meanwhile: the function that took the lock, and how often it had to wait.
set -eu
dir=${0%/*}
tracefs=/sys/kernel/tracing
[ -d $tracefs/events ] || mount -t tracefs none $tracefs
trigger=$tracefs/events/lock/contention_begin/trigger
hist=$tracefs/events/lock/contention_begin/hist

# The field of the stack has another name before 6.3.
echo 'hist:keys=common_stacktrace:size=8192:pause' >$trigger 2>/dev/null ||
	echo 'hist:keys=stacktrace:size=8192:pause' >$trigger
key=$(sed -n 's/^hist:keys=\([a-z_]*\).*/\1/p' $trigger)
export CROWD_BEGIN="echo 'hist:keys=$key:cont' >>$trigger"
export CROWD_END="echo 'hist:keys=$key:pause' >>$trigger"
"$dir/crowd" "$@"

# Of each stack the first function that is not of the lock itself
awk '
	/stacktrace:/ { taker = ""; next }
	/hitcount:/ {
		match($0, /hitcount: *[0-9]+/)
		count = substr($0, RSTART + 9, RLENGTH - 9)
		waits[taker] += count
		next
	}
	/^ *[a-z_0-9.]+(\+0x.*|) *(\[[a-z_0-9]+\])? *$/ && taker == "" {
		if ($1 ~ /contention|slowpath|raw_spin|raw_read|raw_write|down_|up_/)
			next
		if ($1 !~ /mutex_lock|rwsem/)
			taker = $1 ($2 ~ /^\[/ ? " " $2 : "")
		sub(/\+0x[^ ]*/, "", taker)
	}
	END {
		for (taker in waits) {
			print waits[taker], taker
			all += waits[taker]
		}
		print all + 0, "in all"
	}' $hist | sort -rn | sed 's/^/# waits: /'
