#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Checks the models of selftests/models with spin, and that each model can fail. A line of the table
# that has been right has a stamp in the cache, named after all that it depends on, so that a new
# clone need not search it again.
#
# models.sh [MODEL]...
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/lib.sh"

# shellcheck disable=SC2154 # lib.sh sets it
right_dir=$cache_dir/models
models_dir=$top_dir/selftests/models

# MODEL  RESULT  DEFINE...
#
# RESULT: "holds", or how spin must report the failure: "assertion", "deadlock" (an
# invalid end state) or "cycle" (of an ltl property). Each model describes its defines.
table() {
	cat <<-EOT
		lookup  holds
		lookup  assertion BROKEN_1
		lookup  assertion BROKEN_2
		lookup  assertion BROKEN_3
		lookup  assertion BROKEN_4
		lookup  assertion BROKEN_5
		quiesce holds
		quiesce assertion BROKEN_1
		quiesce deadlock  BROKEN_2
		quiesce deadlock  BROKEN_3
		quiesce deadlock  BROKEN_4
		quiesce deadlock  BROKEN_5
		quiesce assertion BROKEN_6
		quiesce deadlock  BROKEN_7
		quiesce assertion BROKEN_8
		window  holds
		window  holds     EPS=2 BINDS=3 KEYS=2 SPARE_AT=1
		window  holds     BINDS=6 FAILURES=0 KEYS=2 SPARE_AT=1
		window  holds     FAILURES=0 REVOKES=1
		window  holds     BINDS=3 REVOKES=1
		window  assertion BROKEN_1 BINDS=3 FAILURES=0
		window  assertion BROKEN_2 BINDS=6 FAILURES=0 KEYS=2 SPARE_AT=1
		window  assertion BROKEN_3 EPS=2 BINDS=3
		window  assertion BROKEN_4
		window  assertion BROKEN_5 BINDS=3 FAILURES=0
		window  assertion BROKEN_6 FAILURES=0
		window  assertion BROKEN_7
		ring    holds
		ring    holds     LTL
		ring    assertion BROKEN_1
		ring    assertion BROKEN_2
		ring    assertion BROKEN_3
		ring    deadlock  BROKEN_4
		ring    cycle     BROKEN_4 LTL
		ring    assertion BROKEN_5
		ring    assertion BROKEN_6
		ring    assertion LIMIT_1
	EOT
}

# Prints how spin has judged: holds, assertion, deadlock, cycle or incomplete.
verdict() {
	case $(cat "$1") in
	*'Search not completed'* | *'max search depth'* | *'out of memory'* | *truncated*)
		# A search also stops at the first error.
		case $(grep '^pan:[0-9]*:' "$1") in
		*'assertion violated'*) echo assertion ;;
		*'invalid end state'*) echo deadlock ;;
		*'acceptance cycle'*) echo cycle ;;
		*) echo incomplete ;;
		esac
		;;
	*'errors: 0'*) echo holds ;;
	*) echo incomplete ;;
	esac
}

# Runs one line of the table.
check() {
	local model=$1 expected=$2 dir found start=$EPOCHREALTIME stamp
	local defines=() flags=(-DSAFETY) search=()
	stamp=$right_dir/$({ echo "$*" && spin -V && gcc --version &&
		cat "$check_dir/models.sh" "$models_dir/$model.pml"; } | sha256sum)
	stamp=${stamp%% *}
	[ ! -e "$stamp" ] || return 0
	shift 2
	for define in "$@"; do
		defines+=("-D$define")
		[ "$define" != LTL ] || flags=() search=(-a -f)
	done
	# Optimise only what searches all states.
	[ "$expected" != holds ] || flags+=(-O1)
	dir=$(mktemp -d)
	(
		cd "$dir"
		spin "${defines[@]}" -a "$models_dir/$model.pml"
		gcc -w -DMEMLIM=1024 "${flags[@]}" pan.c -o pan
		./pan -m10000 "${search[@]}"
	) >"$dir/log" 2>&1 || true
	found=$(verdict "$dir/log")
	printf '%-8s %-34s %-10s %6d ms\n' "$model" "$*" "$found" \
		$(((${EPOCHREALTIME/./} - ${start/./}) / 1000))
	if [ "$found" != "$expected" ]; then
		printf '%s\n' "expected: $expected" "$(cat "$dir/log")"
		rm -r "$dir"
		return 1
	fi
	rm -r "$dir"
	touch "$stamp"
}

if [ "${1-}" = --one ]; then
	shift
	check "$@"
	exit
fi

for file in "$models_dir"/*.pml; do
	table | grep -q "^$(basename "$file" .pml) *holds" || {
		echo "$file is not checked"
		exit 1
	}
done
mkdir -p "$right_dir"
table | grep -E "^($(IFS='|' && echo "${*:-.*}")) " |
	xargs -P "$(nproc)" -L 1 nice "$check_dir/models.sh" --one
