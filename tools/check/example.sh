#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Prints an example of README.md, the module of Documentation/kdapl.rst, or the commands of
# Documentation/storage.rst or libfabric.rst, so that the tests compile or run the published
# text.
set -eu

usage() {
	echo "usage: example.sh udapl|kdapl|guide|storage|mpi" >&2
	exit 2
}

[ $# -eq 1 ] || usage
top=$(dirname "$0")/../..

# Prints the C block after the comment that names it.
from_readme() {
	awk -v name="$1" '
		$0 == "<!-- example: " name " -->" { wanted = 1; next }
		wanted && $0 == "```c" { inside = 1; next }
		inside && $0 == "```" { found = 1; exit }
		inside { print }
		END { exit !found }
	' "$top/README.md"
}

# Prints all blocks after comments that name them, in order. A block is the text
# indented by a tab, with the empty lines in it.
from_rst() {
	awk -v name="$1" '
		$0 == ".. example: " name { wanted = 1; next }
		wanted && /^\.\. code-block:: / { wanted = 0; inside = 1; next }
		/^[^\t]/ { inside = 0 }
		inside && $0 == "" { empty++; next }
		inside {
			if (found && empty)
				print ""
			empty = 0
			found = 1
			print substr($0, 2)
		}
		END { exit !found }
	' "$2"
}

case $1 in
udapl | kdapl) from_readme "$1" ;;
guide) from_rst guide "$top/Documentation/kdapl.rst" ;;
storage) from_rst storage "$top/Documentation/storage.rst" ;;
mpi) from_rst mpi "$top/Documentation/libfabric.rst" ;;
*) usage ;;
esac
