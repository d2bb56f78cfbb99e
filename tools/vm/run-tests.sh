#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds everything for each kernel named, runs the selftests in it, and adds up the results.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage() {
	cat >&2 <<-EOT
	usage: run-tests.sh [--debug] VERSION... [-- PROGRAM...]
	The programs are handed to selftests/run.sh; without any it runs them all.
	EOT
	exit 2
}

debug='' versions=()
while [ $# -gt 0 ]; do
	case $1 in
	--debug) debug=debug ;;
	--)
		shift
		break
		;;
	-*) usage ;;
	*) versions+=("$1") ;;
	esac
	shift
done
[ ${#versions[@]} -gt 0 ] || usage

# Sanitizers make everything several times slower.
if [ -n "$debug" ]; then limit=2400; else limit=900; fi
results=$top_dir/build/test
passed=0 failed=0 skipped=0 failures=()
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
	failures+=("$*")
	failed=$((failed + 1))
}

# step LABEL COMMAND...: runs a command and says how long it took.
step() {
	local label=$1 start=$SECONDS rc=0
	shift
	say "== $label"
	"$@" || rc=$?
	say "== $label: $((SECONDS - start)) s$([ "$rc" -eq 0 ] || echo ", status $rc")"
	return "$rc"
}

# In the guest everything is below /selftests.
build() {
	local kdir=$1 release=$2 stage=$tmp/selftests
	make -s -C "$top_dir" selftest-modules selftests KDIR="$kdir" || return
	rm -rf "$stage"
	mkdir -p "$stage/modules"
	cp -r "$top_dir/build/selftests/." "$stage"
	find "$top_dir/build/$release/selftests/modules" -name "*.ko" \
		-exec cp {} "$stage/modules" \;
}

boot() {
	local name=$1 version=$2 release=$3
	shift 3
	"$vm_dir/boot.sh" --kernel "$version" ${debug:+--debug} --timeout "$limit" \
		--log "$results/$name.log" --insmod "$top_dir/build/$release/kdapl.ko" \
		--lib "$top_dir/build/libdat" --add "$tmp/selftests:/selftests" \
		-- "$top_dir/selftests/run.sh" "$@" | tee "$results/$name.tap"
}

count() {
	local name=$1 numbers line p f s
	while read -r line; do
		case $line in
		failed:*) failures+=("$name: ${line#failed: }") ;;
		*) numbers=$line ;;
		esac
	done < <("$vm_dir/tap.sh" <"$results/$name.tap")
	read -r p f s <<<"$numbers"
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
	# For the caller: did this kernel's tests account for a bad exit status?
	failed_here=$f
}

# Why boot.sh was not content with a run that ended.
complaint() {
	local said
	if said=$("$vm_dir/splat.sh" "$1"); then
		grep -a '^guest: ' "$1" | tail -n 1
	else
		head -n 1 <<<"$said"
	fi
}

# test_kernel VERSION [PROGRAM...]
test_kernel() {
	local version=$1 name=$1${debug:+-debug} where kdir release rc=0 failed_here=0
	shift
	where=$(step "$name: kernel" "$vm_dir/kernel.sh" "$version" ${debug:+"$debug"}) || {
		fail "$name: no kernel"
		return
	}
	kdir=$(sed -n 's/^kdir=//p' <<<"$where")
	release=$(sed -n 's/^release=//p' <<<"$where")
	step "$name: build" build "$kdir" "$release" || {
		fail "$name: does not build"
		return
	}
	step "$name: test" boot "$name" "$version" "$release" "$@" || rc=$?
	count "$name"
	case $rc in
	0) ;;
	124) fail "$name: out of time" ;;
	125) fail "$name: $(complaint "$results/$name.log")" ;;
	126) fail "$name: the harness failed" ;;
	*) [ "$failed_here" -gt 0 ] || fail "$name: run.sh ended with status $rc" ;;
	esac
}

"$vm_dir/deps.sh" ${debug:-test}
mkdir -p "$results"
for version in "${versions[@]}"; do
	test_kernel "$version" "$@"
done

for failure in "${failures[@]}"; do
	echo "failed: $failure"
done
if [ $((passed + failed)) -eq 0 ]; then
	echo "failed: no test ran"
	failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
