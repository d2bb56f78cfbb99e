#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# tap.sh [FILE]: reads the output of selftests/run.sh. Prints each failure with the messages of
# its test, and a line for each program, `program: NAME PASSED FAILED SKIPPED`.

# The output of a program is between `# BEGIN name` and `# END name rc=N`, which is
# followed by the duration. Only lines that start at the left margin count: indented lines
# are subtests.
exec awk '
function fail(what)
{
	print "failed: " program ": " what
	complaints++
}

function finish(rc)
{
	if (plan == "")
		fail("no plan, exit status " rc)
	else if (results != plan)
		fail(results " of " plan " results, exit status " rc)
	else if (rc == 4 && skips)
		;	# how kselftest reports a skipped program
	else if (rc != 0 && !complaints)
		fail("exit status " rc " though no test failed")
	print "program: " program, passes, complaints, skips
	program = ""
}

/^# BEGIN / {
	if (program != "")
		finish("unknown")
	program = $3
	plan = said = ""
	results = complaints = skips = passes = 0
	next
}

program == "" { next }

/^# END / {
	rc = $4
	sub(/^rc=/, "", rc)
	finish(rc)
	next
}

/^1\.\.[0-9]+/ {
	plan = $1
	sub(/^1\.\./, "", plan)
	if (plan == 0 && /# SKIP/)
		skips++
}

# Lines of kselftest itself are not messages of a test. RUN begins a test. The last messages
# tell why it failed.
/^#  +RUN / { said = "" }
/^# [^ ]/ {
	said = said (said == "" ? "" : "; ") substr($0, 3)
	if (length(said) > 600)
		said = "..." substr(said, length(said) - 596)
}

/^ok / {
	said = ""
	results++
	if (/# SKIP/)
		skips++
	else
		passes++
}

/^not ok / {
	results++
	fail($0 (said == "" ? "" : " (" said ")"))
	said = ""
}

END {
	if (program != "")
		finish("unknown")
}
' "$@"
