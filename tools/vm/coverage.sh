#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Adds up the lines of the module that ran in any boot. Prints a table and all other
# lines.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

[ $# -ge 2 ] || die "usage: coverage.sh OUTPUT ROOT=ARCHIVE..."
output=$1
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# gcov must belong to the compiler that built the module, in the root directory of that
# build. gcov resolves relative source paths in the build directory: all_gcov DIRECTORY
all_gcov() {
	local dir=$1 file build
	while IFS= read -r -d '' file; do
		build=${file#"$dir"}
		build=${build%/@(kdapl|chardev)/*}
		cd "$build" && gcov -t "$file" 2>"$dir/complaint" || return
		! grep 'stamp mismatch' "$dir/complaint" >&2 || return
	done < <(find "$dir" -name '*.gcda' -print0)
}

# Prints `hits:line:path` for each compiled line: lines ROOT=ARCHIVE
# The archive has each counter file under the path of its object. The notes file of the
# compiler is beside the object.
lines() {
	local root=${1%%=*} archive=${1#*=} dir file object
	dir=$(mktemp -d "$tmp/XXXXXX")
	chmod 755 "$tmp" "$dir"
	tar -C "$dir" -xzf "$archive" || die "$archive is not complete"
	while IFS= read -r -d '' file; do
		object=/${file#"$dir"/}
		object=${object/#"$build_tree"/"$top_dir"}
		cp "${object%.gcda}.gcno" "${file%.gcda}.gcno"
	done < <(find "$dir" -name '*.gcda' -print0)
	in_root "$root" bash -O extglob -c "$(declare -f all_gcov); all_gcov '$dir'" \
		>"$tmp/counts" ||
		die "gcov: $(cat "$dir/complaint") ($archive may be of another build)"
	awk '
		# Each kernel has its own tree of links to the sources. Since 6.13 paths
		# are relative to it.
		/^ +-: +0:Source:/ {
			path = $0
			sub(/^ +-: +0:Source:/, "", path)
			sub(/^.*\/build\/[^\/]*\//, "", path)
			ours = path ~ /^(kdapl|chardev)\//
			next
		}
		!ours { next }
		{
			split($0, field, ":")
			hits = field[1]
			gsub(/[ *]/, "", hits)
			if (hits != "-")
				print (hits ~ /^[#=]/ ? 0 : 1) ":" field[2] + 0 ":" path
		}' "$tmp/counts"
}

for archive; do
	lines "$archive"
done >"$tmp/all"
[ -s "$tmp/all" ] || die "nothing was counted"

# path:line:0|1, each line once.
awk -F : '
	{ key = $3 ":" $2; ran[key] += $1 }
	END { for (key in ran) print key ":" (ran[key] > 0) }
' "$tmp/all" | sort -t : -k 1,1 -k 2,2n >"$tmp/merged"

# Skip empty lines: the source line has been removed since the build.
awk -F : -v top="$top_dir" '
	$3 == 1 { next }
	{
		if ($1 != path) {
			path = $1
			for (number = 0; (getline text < (top "/" path)) > 0; )
				source[++number] = text
			close(top "/" path)
		}
		text = source[$2]
		gsub(/^[ \t]+/, "", text)
		print $1 ":" $2 ": " text
	}
' "$tmp/merged" >"$output"

awk -F : '
	function row(name, of, ran)
	{
		printf "%-28s %6d %8d %7.1f\n", name, of, ran, 100 * ran / of
	}
	function finish()
	{
		if (path != "")
			row(path, of, ran)
		all_of += of
		all_ran += ran
		of = ran = 0
	}
	BEGIN { printf "%-28s %6s %8s %7s\n", "file", "lines", "covered", "percent" }
	$1 != path { finish(); path = $1 }
	{ of++; ran += $3 }
	END { finish(); row("total", all_of, all_ran) }
' "$tmp/merged"
