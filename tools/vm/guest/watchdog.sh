#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Shortly before the time limit of boot.sh: logs the stack of every blocked task.

# At the end of the guest it is killed.
sleep $((KDAPL_LIMIT > 40 ? KDAPL_LIMIT - 20 : KDAPL_LIMIT / 2)) || exit 0
exec >/dev/console 2>/dev/null
echo "watchdog: almost out of time; tasks and their kernel stacks:"
for dir in /proc/[0-9]*/task/[0-9]*; do
	state=$(sed -n 's/^State:[^A-Z]*//p' "$dir/status")
	command=$(tr '\0' ' ' <"$dir/cmdline")
	# Skip kernel threads that only wait for work.
	case $state:$command in
	:* | I* | S*:) continue ;;
	esac
	echo "watchdog: ${dir##*/} $(cat "$dir/comm"), $state: $command"
	cat "$dir/stack"
done
