# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=sh
# For the scripts of the guest: waits for what the kernel or udev does later.

# await SECONDS COMMAND...: repeats COMMAND until it succeeds, or fails after SECONDS
await() {
	tries=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.1
	done
}
