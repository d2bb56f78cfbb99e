#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Prints an example of README.md, so that the tests compile what people read.
set -eu

[ $# -eq 1 ] || { echo "usage: example.sh udapl|kdapl" >&2; exit 2; }
awk -v name="$1" '
	$0 == "<!-- example: " name " -->" { wanted = 1; next }
	wanted && $0 == "```c" { inside = 1; next }
	inside && $0 == "```" { found = 1; exit }
	inside { print }
	END { exit !found }
' "$(dirname "$0")/../../README.md"
