#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Searches console logs for kernel complaints. Prints one, a line and then its context: the
# first with a function of ours in its call trace, or else the first whose cause is not known,
# or else the first. A data race in which no function of kdapl.ko takes part is no complaint:
# see races.sh.
# exit status: 0 no complaint; 1 one of ours; 3 complaints without a function of ours; 4 only
# complaints of known-complaints
set -euo pipefail

[ $# -gt 0 ] || {
	echo "usage: splat.sh LOG..." >&2
	exit 2
}

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

mapfile -t known < <(grep -vE '^(#|$)' "$(dirname "$0")/known-complaints")

join() {
	local IFS='|'
	printf '%s' "$*"
}

# One pass over a log. Line numbers stay the same without what is expected:
# - vmalloc() reports a failed allocation with a trace; other allocators do not. Tests inject
#   failures.
# - rxe, siw and the core of RDMA race with themselves.
# - end-checks.sh has checked and reported each leak of siw.
#
# A complaint extends to the line that ends its trace, at most 150 lines of the kernel. A line
# is ours if a frame of the trace names one of our modules. The list of modules is no frame,
# and the unwinder does not vouch for a frame behind `?`. A complaint is known if its place is,
# and nothing but its trace follows. One of ours is never known.
search() {
	local leaks='' stock=''
	! grep -qa '^guest: siw has lost' "$1" || leaks='|new suspected memory leaks'
	# The sanitizer kernels are built on this machine.
	! grep -qa 'Linux version .*debian-kernel@lists' "$1" || stock=$(join "${known[@]}")
	KNOWN=$stock PATTERNS=$(join "${patterns[@]}") HARMLESS=$(join "${harmless[@]}")$leaks \
		awk -v log_name="$1" '
	function show(at, whose,	i)
	{
		found = whose
		# Behind the line "cut here" stands one with the place.
		said = text[text[at] ~ /cut here/ && at < NR ? at + 1 : at]
		sub(/^\[[^]]*\] */, "", said)
		printf "%s:%d: %s%s\n", log_name, at, said, in_test[at]
		for (i = at > 3 ? at - 3 : 1; i <= NR && i <= at + 30; i++)
			print text[i]
	}

	{ text[NR] = $0 }
	/^# BEGIN / { injecting = /fail_nth|fuzz/ }
	/^# (BEGIN| RUN) / { test = $0; sub(/^# (BEGIN| RUN) +/, "", test); sub(/ .*/, "", test) }
	/^\[[^]]*\] kdapl_[a-z0-9_]+\.[a-z0-9_]+$/ { test = $NF }
	!/^\[ *[0-9]+\.[0-9]+\]/ { next }
	{ line = $0 }
	line ~ /BUG: KCSAN: / && line !~ /\[kdapl\]/ { sub(/BUG: KCSAN: /, "race: ", line) }
	line ~ /vmalloc error: size/ { quiet = injecting }
	quiet && sub(/Call Trace:/, "trace:", line) { quiet = 0 }
	line ~ ENVIRON["PATTERNS"] && line !~ ENVIRON["HARMLESS"] {
		if (!first)
			first = NR
		if (!left)
			start = NR
		begun[start]
		if (ENVIRON["KNOWN"] != "" && line ~ ENVIRON["KNOWN"]) {
			if (NR <= start + 1)
				known[start]
		} else if (start in known && !strange && line !~ /cut here|Call Trace:/) {
			strange = NR
		}
		left = 150
		in_test[NR] = test == "" ? "" : ", in " test
	}
	left {
		left--
		if (line ~ /\[kdapl[_a-z0-9]*[] ]/ && line !~ /Modules linked in:/ &&
		    line !~ /^\[[^]]*\] +\? / && !ours)
			ours = start
		if (line ~ /---\[ end trace/)
			left = 0
	}
	END {
		for (at in begun) {
			if (!(at in known) && (!strange || at + 0 < strange))
				strange = at + 0
		}
		if (ours)
			show(ours, 1)
		else if (strange)
			show(strange, 3)
		else if (first)
			show(first, 4)
		exit found
	}' "$1"
}

# The complaint of ours, in whichever log it is
said='' status=0
for log; do
	rc=0
	found=$(search "$log") || rc=$?
	case $rc in
	0) ;;
	1)
		printf '%s\n' "$found"
		exit 1
		;;
	3 | 4)
		if [ "$status" -eq 0 ] || [ "$rc" -lt "$status" ]; then
			said=$found
			status=$rc
		fi
		;;
	*) exit "$rc" ;;
	esac
done
[ -z "$said" ] || printf '%s\n' "$said"
exit "$status"
