#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs datfuzz, the fuzzer of /dev/dat and of the kernel API, in a guest and keeps the
# sequences that it finds.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage() {
	cat >&2 <<-EOT
	usage: fuzz.sh [--kernel-api] [--time SECONDS] [--rdma rxe|siw] [--model DRIVER]
	               [--seed N] [--jobs N] [--corpus DIR] [--stock] [--replay] [--outcomes]
	               [--distill] [KERNEL]
	  --kernel-api    calls of the kernel API by a test module, not ioctls of /dev/dat
	  --time SECONDS  how long datfuzz runs, default 600
	  --model DRIVER  rxe with the limits of this driver's adapters
	  --seed N        seed of the random numbers, default: the time
	  --jobs N        sequences that run at a time, default 6
	  --stock         Debian's kernel, which has neither sanitizers nor KCOV
	  --corpus DIR    sequences to begin with, default selftests/fuzz/corpus, or kcorpus
	  --replay        only run the sequences of the corpus
	  --outcomes      with --replay: print each step with its outcome
	  --distill       only find the sequences of the corpus that reach what none before does
	KERNEL is 6.12 by default. Results are in build/fuzz: log, output, and new/ with the
	sequences that reached something new, in the format of selftests/fuzz/corpus. A
	finding is in found/: the last sequences of each job.
	EOT
	exit 2
}

seconds=600 rdma=rxe model='' seed=$(date +%s) jobs=6 debug=fuzz replay='' distill=''
outcomes='' corpus='' kernel='' name=corpus
while [ $# -gt 0 ]; do
	case $1 in
	--time | --rdma | --model | --seed | --jobs | --corpus)
		[ $# -ge 2 ] || usage
		case $1 in
		--time) seconds=$2 ;;
		--rdma) rdma=$2 ;;
		--model) model=$2 ;;
		--seed) seed=$2 ;;
		--jobs) jobs=$2 ;;
		--corpus) corpus=$2 ;;
		esac
		shift
		;;
	--kernel-api) kernel=--kernel name=kcorpus ;;
	--stock) debug='' ;;
	--replay) replay=yes ;;
	--outcomes) outcomes=--outcomes ;;
	--distill) distill=--distill ;;
	-*) usage ;;
	*) break ;;
	esac
	shift
done
[ $# -le 1 ] || usage
version=${1:-6.12}
corpus=${corpus:-$top_dir/selftests/fuzz/$name}

"$vm_dir/deps.sh" "$([ -n "$debug" ] && echo debug || echo test)"
results=$top_dir/build/fuzz
mkdir -p "$results"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

where=$("$vm_dir/kernel.sh" "$version" ${debug:+"$debug"}) || die "no $version kernel"
out=$(field out <<<"$where")
# The module with KCOV has a tree of its own, so that the tests need not be built again.
build=$top_dir/build/kcov
settings=(BUILD_DIR="$build" KDAPL_KCOV="$debug" KDAPL_FAIL="$debug" "${for_guests[@]}")
make_for "$where" modules "${settings[@]}"
module=$build/$(field release <<<"$where")
programs_for "$where" selftests
mkdir -p "$tmp/selftests/modules"
cp -r "$out/selftests/fuzz" "$out/selftests/tools" "$out/selftests/model.list" "$tmp/selftests"
rm -rf "$tmp"/selftests/fuzz/*corpus
cp -r "$corpus" "$tmp/selftests/fuzz/$name"
set --
[ -z "$model" ] || set -- model
[ -z "$kernel" ] || set -- "$@" fuzz testlib
if [ $# -gt 0 ]; then
	make_for "$where" selftest-modules KDAPL_WANTED="$*" "${settings[@]}"
	for wanted; do
		cp "$module/selftests/modules/kdapl_$wanted.ko" "$tmp/selftests/modules"
	done
fi
set --
[ -z "$model" ] || set -- "model/$model"
cp "$module/kdapl.ko" "$tmp"
find "$tmp" -name '*.[od]' -delete
find "$tmp" -type f -exec strip -g {} + 2>/dev/null || :

program=fuzz/run.sh
[ -z "$replay" ] || program=fuzz/${kernel:+k}replay.sh
say "datfuzz: ${kernel:+kernel API, }seed $seed, $seconds s on $version with ${model:-$rdma}"
arguments=(${kernel:+"$kernel"} --seed "$seed" --seconds "$seconds" --jobs "$jobs"
	${distill:+"$distill"} --corpus "/selftests/fuzz/$name")
rc=0
"$vm_dir/boot.sh" --kernel "$version" ${debug:+"--$debug"} --rdma "$rdma" \
	--timeout $((seconds + 600)) --log "$results/log" --lib "$out/libdat" \
	--env "KDAPL_FUZZ=${arguments[*]}" --env "KDAPL_REPLAY=$outcomes" \
	--insmod "$tmp/kdapl.ko" --add "$tmp/selftests:/selftests" \
	-- "$top_dir/selftests/run.sh" "$@" "$program" | tee "$results/output" |
	grep --line-buffered -E '^(#|ok|not ok)' || rc=$?

# unpack MARK DIRECTORY: writes the sequences of the output with this mark to files
unpack() {
	mkdir -p "$results/$2"
	awk -v mark="$1" -v dir="$results/$2" '
		$1 == mark {
			file = dir "/" (mark == "!" ? ++n "-" : "") $NF
			printf "" >file
			next
		}
		/^\| / && file { print substr($0, 3) >>file; next }
		{ if (file) close(file); file = "" }' "$results/output"
}

unpack + new
rm -rf "$results/found"
unpack '!' found
exit "$rc"
