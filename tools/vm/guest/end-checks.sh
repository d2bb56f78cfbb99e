#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs after the script: unloads modules and devices, checks for pinned pages and leaks.
# shellcheck disable=SC2317 # await calls functions by name
status=0

complain() {
	echo "guest: $*"
	status=1
}

# shellcheck source-path=SCRIPTDIR source=await.sh
. /kdapl/await.sh

# Kills processes that the script has left running.
kill_leftovers() {
	for dir in /proc/[0-9]*; do
		pid=${dir#/proc/}
		case $pid in 1 | "$$") continue ;; esac
		# Kernel threads have no executable.
		readlink "$dir/exe" >/dev/null 2>&1 && kill -9 "$pid" 2>/dev/null
	done
}

unloaded() {
	[ ! -d "/sys/module/$1" ] || rmmod "$1" 2>/dev/null
}

unload_modules() {
	reversed=
	for file in $KDAPL_INSMOD; do
		reversed="$file $reversed"
	done
	for file in $reversed; do
		name=$(basename "$file" .ko | tr - _)
		await 10 unloaded "$name" ||
			complain "$name cannot be unloaded: $(grep "^$name " /proc/modules)"
	done
}

# Removing a device waits for its users, possibly for ever.
delete_links() {
	for link in /sys/class/infiniband/*; do
		[ -d "$link" ] || continue
		timeout 30 rdma link delete "${link##*/}" ||
			complain "${link##*/} cannot be deleted"
	done
}

pinned_pages() {
	# Each processor has its own count until stat_refresh is written.
	echo 1 >/proc/sys/vm/stat_refresh 2>/dev/null
	awk '$1 == "nr_foll_pin_acquired" { n += $2; seen++ }
		$1 == "nr_foll_pin_released" { n -= $2; seen++ }
		END { print seen == 2 ? n : "unknown" }' /proc/vmstat
}

nothing_pinned() {
	[ "$(pinned_pages)" = 0 ]
}

# Known leaks of iWARP: siw's connection manager loses an endpoint about once in some
# thousand connections. iw_cm loses the private data of a request that is pending when its
# listener is destroyed. Pass over only memory allocated by these functions: the first
# function of the backtrace that is not an allocator must be one of them.
but_iwarp() {
	awk 'function end()
		{
			if (text != "" && !iwarp)
				printf "%s", text
			text = by = ""
			iwarp = trace = 0
		}
		/^unreferenced object/ { end() }
		trace && by == "" && !/kmemleak|kmalloc|kmem_cache|kmemdup/ {
			# Linux 6.1 prints an address before the function.
			by = $1 ~ /^\[</ ? $2 : $1
			sub(/\+.*/, "", by)
			iwarp = by == "cm_event_handler" ||
				by ~ /^siw_(cep_alloc|cm_alloc_work|cm_work_handler|recv_mpa_rr)$/
		}
		/^  backtrace/ { trace = 1 }
		{ text = text $0 "\n" }
		END { end() }' "$1"
}

# kmemleak reports an object once it is five seconds old. Two scans must agree.
check_kmemleak() {
	leaks=/sys/kernel/debug/kmemleak
	[ -e $leaks ] || return 0
	sleep 6
	echo scan >$leaks || {
		complain "kmemleak does not work"
		return
	}
	sleep 1
	echo scan >$leaks
	found=$(but_iwarp $leaks)
	if [ -n "$found" ]; then
		echo "$found"
		complain "kmemleak found leaks"
	elif [ -n "$(cat $leaks)" ]; then
		echo "guest: siw has lost $(grep -c siw_cep_alloc $leaks) endpoints, left alone"
	fi
}

kill_leftovers
unload_modules
delete_links
await 10 nothing_pinned || complain "pages still pinned: $(pinned_pages)"
check_kmemleak
exit $status
