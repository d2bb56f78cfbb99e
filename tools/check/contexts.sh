#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Compares the contexts in the kernel-doc with the code. An exported call that may sleep
# must call might_sleep() before it can return; no other call may. The kernel-doc of a
# call in dispatch.c is at its kdapl_NAME().
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2046 # names without blanks
awk -v calls="$(sed -nE 's/^DAT_[A-Z_]+\(([a-z0-9_]+)[,)].*/\1/p' \
	kdapl/base/calls.def kdapl/base/calls.h | tr '\n' ' ')" '
BEGIN {
	n = split(calls, name_of, " ")
	for (i = 1; i <= n; i++)
		own["dat_" name_of[i]] = "kdapl_" name_of[i]
}
FNR == 1 { name = ""; doc = 0 }

# The kernel-doc of a function: the sentence after Context:.
/^\/\*\*/ { doc = 1; about = ""; context = ""; in_context = 0; next }
doc && about == "" && match($0, /^ \* [a-z0-9_]+ - /) { about = $2 }
doc && /Context: / { in_context = 1; context = ""; sub(/.*Context: /, "") }
doc && in_context {
	if (/Return:|^ \*$|^ \*\//)
		in_context = 0
	else
		context = context " " $0
}
/^ \*\// { if (doc) { contexts[about] = context; doc = 0 } next }

match($0, /^(DAT_RETURN|void|bool) \(?(dat|kdapl)_[a-z0-9_]+\)?\(/) {
	name = $2
	gsub(/[()].*/, "", name)
}
/^(dat|kdapl)_[a-z0-9_]+\(/ { name = $1; sub(/\(.*/, "", name) }
/^\tmight_sleep\(\);/ { sleeps[name] = 1 }

/^EXPORT_SYMBOL_GPL\(dat_[a-z0-9_]+\)/ {
	call = $0
	gsub(/EXPORT_SYMBOL_GPL\(|\);/, "", call)
	if (!(call in own))
		own[call] = call
}

function check(call, context)
{
	if (context == "") {
		print call "() has no Context in its kernel-doc"
		return 1
	}
	if ((context ~ /may sleep/) != (call in sleeps)) {
		print call "():" context ", but " \
			(call in sleeps ? "it has" : "it has no") " might_sleep()"
		return 1
	}
	return 0
}

END {
	for (call in own) {
		exported++
		bad += check(own[call], contexts[own[call]])
	}
	if (!exported) {
		print "no exported call was found"
		bad = 1
	}
	exit bad > 0
}' $(our_files 'kdapl/*.c')
