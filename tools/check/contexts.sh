#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Holds the contexts that kernel-doc promises: an exported call that may sleep says so
# to DEBUG_ATOMIC_SLEEP, before anything else can return; one that does not, does not.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

awk '
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

match($0, /^(DAT_RETURN|void|bool) \(?dat_[a-z0-9_]+\)?\(/) {
	name = $2
	gsub(/[()].*/, "", name)
}
/^dat_[a-z0-9_]+\(/ { name = $1; sub(/\(.*/, "", name) }
/^\tmight_sleep\(\);/ { sleeps[name] = 1 }

/^EXPORT_SYMBOL_GPL\(dat_/ {
	call = $0
	gsub(/EXPORT_SYMBOL_GPL\(|\);/, "", call)
	exported++
	context = contexts[call]
	if (context == "") {
		print FILENAME ": " call "() does not tell its context"
		bad = 1
	} else if ((context ~ /may sleep/) != (call in sleeps)) {
		print FILENAME ": " call "():" context ", but " \
			(call in sleeps ? "it has" : "it has no") " might_sleep()"
		bad = 1
	}
}

END {
	if (!exported) {
		print "no exported call was found"
		bad = 1
	}
	exit bad
}' "$top_dir"/kdapl/*.c
