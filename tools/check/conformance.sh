#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Compares Documentation/conformance with the tests. Every row must name a test, every
# named test must exist, and every page with requirements must have rows, some of them
# tested by programs.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

tests=$state_dir/tests.list

# Prints `PROGRAM TEST program` for the lines of kselftest_harness: TEST(t),
# TEST_F(fixture, t), ...
programs() {
	local file
	local folders=(admin cm ep evd exit fail_nth ia lmr registry rmr srq uapi uring)
	for file in $(printf 'selftests/%s/*.c ' "${folders[@]}"); do
		sed -En 's/^TEST[_A-Z]*\(([a-z0-9_]+, *)?([a-z0-9_]+).*/\2 program/p' "$file" |
			sed "s/^/$(basename "$file" .c) /"
	done
}

# Prints `MODULE TEST` for the tables of the test modules, whose sources Kbuild lists.
modules() {
	local module objects object
	sed -e ':a' -e '/\\$/ { N; s/\\\n//; ta' -e '}' selftests/modules/Kbuild |
		sed -n '/^kdapl_.*_test-y/ { s/-y *:=//; p }' |
		while read -r module objects; do
			for object in $objects; do
				sed -En "s/^\tTEST\(([a-z0-9_]+)\).*/$module \1/p" \
					"selftests/modules/${object%.o}.c"
			done
		done
	sed -En 's/^\tKUNIT_CASE\(([a-z0-9_]+)\).*/kdapl_kunit \1/p' \
		selftests/modules/kunit/*.c
}

{ programs; modules; } | sort -u >"$tests"
[ -s "$tests" ] || { echo "no test was found"; exit 1; }
pages=$(grep -lx '.Sh RETURN VALUES' Documentation/man3dat/*.3dat)

awk -v pages="$pages" '
function complain(what)
{
	print FILENAME ":" FNR ": " what
	bad = 1
}

function end_of_row()
{
	if (in_row && !held)
		complain("the row before names no test")
	in_row = 0
}

NR == FNR { exists[$1 " " $2] = 1; program[$1 " " $2] = NF > 2; next }
FNR == 1 { in_row = 0; call = "" }

/^-+$/ { call = before }
{ before = $0 }

/^   \* - / {
	end_of_row()
	if (/What the page says/)
		next
	in_row = 1
	held = 0
	rows++
}

/^[^ ]/ { end_of_row() }

# A name must not be split over lines.
in_row {
	rest = $0
	while (match(rest, /``[a-z0-9_]+: [a-z0-9_]+``/)) {
		name = substr(rest, RSTART + 2, RLENGTH - 4)
		rest = substr(rest, RSTART + RLENGTH)
		held++
		sub(/:/, "", name)
		if (!(name in exists))
			complain("there is no test " name)
		else if (program[name])
			by_program[call] = 1
	}
}

END {
	end_of_row()
	if (!rows) {
		print "no row was found"
		bad = 1
	}
	num = split(pages, page, "\n")
	for (i = 1; i <= num; i++) {
		call = page[i]
		gsub(/.*\/|\.3dat/, "", call)
		if (!(call in by_program)) {
			print page[i] ": no row that a program holds"
			bad = 1
		}
	}
	exit bad
}' "$tests" Documentation/conformance/*.rst
