#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Searches a console log for kernel complaints. Prints the first one (one line, then its
# context) and exits with 1 if there is any. A data race in which no function of kdapl.ko
# takes part is none: see races.sh.
set -euo pipefail

log=${1:?usage: splat.sh LOG}

# Extended regular expressions, matched against the text behind the time stamp.
patterns=(
	'BUG:' # oopses, KASAN, lockdep's sleeping and corruption reports, restrack
	'WARNING:' # WARN_ON(), lockdep, suspicious RCU usage
	'UBSAN:'
	'KASAN:'
	'KCSAN:'
	'KFENCE:'
	'Oops'
	'general protection fault'
	'Kernel panic'
	'Call Trace:'
	'cut here'
	'INFO: (task|rcu|trying|lockdep|possible)'
	'possible (circular|recursive|irq) lock'
	'blocked for more than'
	'(soft|hard) (lockup|LOCKUP)'
	'rcu.*detected (expedited )?stalls'
	'refcount_t:'
	'ODEBUG:'
	'list_(add|del) corruption'
	'new suspected memory leaks'
	'[Bb]ad page'
	'scheduling while atomic'
	'unregister_netdevice: waiting for'
	'Out of memory:'
)

# Messages of a healthy boot that match a pattern.
harmless=(
	'UBSAN: .*enabled'
	'trace_printk\(\) being used'
)

# end-checks.sh has checked each of these leaks and reported it.
! grep -qa '^guest: siw has lost' "$log" || harmless+=('new suspected memory leaks')

join() {
	local IFS='|'
	printf '%s' "$*"
}

# Line numbers stay the same without what is expected:
# - vmalloc() reports a failed allocation with a trace; other allocators do not. Tests inject
#   failures.
# - rxe, siw and the core of RDMA race with themselves.
without_expected() {
	awk '/^# BEGIN / { injecting = /fail_nth|fuzz/ }
		/BUG: KCSAN: / && !/\[kdapl\]/ { sub(/BUG: KCSAN: /, "race: ") }
		/vmalloc error: size/ { quiet = injecting }
		quiet && sub(/Call Trace:/, "trace:") { quiet = 0 }
		{ print }' "$1"
}

# Kernel lines have a time stamp. Lines of tests do not and are ignored.
stamp='^\[ *[0-9]+\.[0-9]+\]'
first=$(without_expected "$log" | grep -naE "$stamp.*($(join "${patterns[@]}"))" |
	grep -vE "$(join "${harmless[@]}")" | head -n 1 | cut -d : -f 1) || first=
[ -n "$first" ] || exit 0

# Behind the line 'cut here' stands one with the place. Each of these reads to the end: what
# is cut off by `head` would fail.
said=$(sed -n "${first},\$s/^\[[^]]*\] *//p" "$log" | awk '!/cut here/ && !n++')
test=$(head -n "$first" "$log" | sed -nE 's/^# (BEGIN| RUN) +([^ ]+).*/\2/p' | tail -n 1)
printf '%s:%s: %s%s\n' "$log" "$first" "$said" "${test:+, in $test}"
sed -n "$((first > 3 ? first - 3 : 1)),$((first + 30))p" "$log"
exit 1
