#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Checks the order of the folders of kdapl/ in the object files. A folder may use symbols
# of itself, of a folder before it and of the kernel. Includes follow the same order.
# chardev/ may call exported functions only.
# usage: layers.sh BUILD_DIRECTORY, with kdapl/ and chardev/ built in it
set -euo pipefail
. "$(dirname "$0")/lib.sh"

layers=(base dev mem queue ep cm api)
build=${1:?usage: layers.sh BUILD_DIRECTORY}

# Prints `FOLDER KIND SYMBOL FILE` for each symbol of each object; KIND is the type of nm.
symbols() {
	local layer object
	for layer in "${layers[@]}" chardev; do
		for object in "$build/kdapl/$layer"/*.o "$build/$layer"/*.o; do
			case $object in *\** | *.mod.o) continue ;; esac
			nm "$object" | awk -v layer="$layer" -v file="${object#"$build"/}" \
				'{ print layer, $(NF - 1), $NF, file }'
		done
	done
}

our_files 'kdapl/*.c' 'kdapl/*.h' | awk -v order="${layers[*]}" '
BEGIN { n = split(order, layer, " "); for (i = 1; i <= n; i++) rank[layer[i]] = i }
{
	split($0, path, "/")
	if (!(path[2] in rank))
		next
	while ((getline line < $0) > 0)
		if (match(line, /^#include "[a-z]+\//)) {
			to = substr(line, RSTART + 10, RLENGTH - 11)
			if (to in rank && rank[to] > rank[path[2]]) {
				print $0 ": includes a header of " to "/"
				bad = 1
			}
		}
	close($0)
}
END { exit bad }'

symbols | awk -v order="${layers[*]}" -v exported="$(exported_calls | tr '\n' ' ')" '
BEGIN {
	n = split(order, layer, " ")
	for (i = 1; i <= n; i++)
		rank[layer[i]] = i
	# Loading the module initialises /dev/dat, so api/ may call chardev/.
	rank["chardev"] = n
	n = split(exported, name, " ")
	for (i = 1; i <= n; i++)
		public[name[i]] = 1
}
$2 ~ /[TDRBVW]/ { home[$3] = $1 }
$2 == "U" { user[++num] = $1; symbol[num] = $3; file[num] = $4 }
END {
	if (!num) {
		print "no object file was found"
		exit 1
	}
	for (i = 1; i <= num; i++) {
		to = home[symbol[i]]
		if (to == "" || to == user[i])
			continue
		if (rank[to] > rank[user[i]]) {
			print file[i] ": " symbol[i] " is defined in " to "/"
			bad = 1
		}
		if (user[i] == "chardev" && !(symbol[i] in public)) {
			print file[i] ": " symbol[i] " of " to "/ is not exported"
			bad = 1
		}
	}
	exit bad
}'
