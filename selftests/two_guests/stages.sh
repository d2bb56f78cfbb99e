# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=sh
# What the guests share.

# A file, so that what runs in the background can tell, too.
has_failed() {
	: >/tmp/failed
}

result() {
	[ ! -e /tmp/failed ]
	exit
}

# The queue is there already: two-guests.sh has setup.sh put it in.
netem_on() {
	tc qdisc change dev eth0 root netem limit 4000 delay 1ms \
		reorder 25% 50% loss 1% duplicate 1% || has_failed
}

# Says what the link did to the packets, and what the device had to do about it.
netem_off() {
	tc -s qdisc show dev eth0 | sed 's/^/# /'
	grep '' /sys/class/infiniband/rxe0/ports/1/hw_counters/*_re* \
		/sys/class/infiniband/rxe0/ports/1/hw_counters/*_err | sed 's,^.*/,# ,'
	tc qdisc change dev eth0 root netem limit 4000 || has_failed
}

nothing_pinned() {
	pinned=$(/two_guests/two_guests pinned)
	echo "# BEGIN two-guests-pinned-$1"
	echo "1..1"
	if [ "$pinned" = 0 ]; then
		echo "ok 1 nothing_is_pinned.$1"
		echo "# END two-guests rc=0"
	else
		echo "not ok 1 nothing_is_pinned.$1: $pinned pages"
		echo "# END two-guests rc=1"
		has_failed
	fi
}
