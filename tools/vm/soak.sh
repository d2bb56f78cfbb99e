#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs selftests/soak in a guest: hundreds of consumers for hours, on a wire with losses.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage() {
	cat >&2 <<-EOT
	usage: soak.sh [--hours N | --minutes N] [--processes N] [--rdma rxe|siw] [--loss PERCENT]
	               [--warm-up MINUTES] [--seed N] [--mem SIZE] [--smp N] [--stock] [KERNEL]
	  --hours N         how long, default 1
	  --minutes N       the same in minutes
	  --processes N     that live at the same time, default 500
	  --rdma DRIVER     the software device, default rxe
	  --loss PERCENT    of the packets of the wire, default 1%
	  --warm-up MINUTES at least, before the values are taken to which the end is compared;
	                    default 1
	  --seed N          of the random numbers, default: the time
	  --mem SIZE        of the guest, default 6144M
	  --smp N           processors of the guest, default 2
	  --stock           Debian's kernel: without sanitizers, with memory control groups
	KERNEL is 6.12 by default. Results are in build/soak: output (TAP), log, samples.csv and
	plot.svg. The run fails if a test fails or the kernel complains.
	EOT
	exit 2
}

minutes=60 processes=500 rdma=rxe loss=1% warm_up=1 seed=$(date +%s) mem=6144M smp=2 debug=debug
while [ $# -gt 0 ]; do
	case $1 in
	--hours | --minutes | --processes | --rdma | --loss | --warm-up | --seed | --mem | --smp)
		[ $# -ge 2 ] || usage
		case $1 in
		--hours) minutes=$(awk -v n="$2" 'BEGIN { print n * 60 }') ;;
		--minutes) minutes=$2 ;;
		--processes) processes=$2 ;;
		--rdma) rdma=$2 ;;
		--loss) loss=${2%\%}% ;;
		--warm-up) warm_up=$2 ;;
		--seed) seed=$2 ;;
		--mem) mem=$2 ;;
		--smp) smp=$2 ;;
		esac
		shift
		;;
	--stock) debug='' ;;
	-*) usage ;;
	*) break ;;
	esac
	shift
done
[ $# -le 1 ] || usage
version=${1:-6.12}
seconds=$(awk -v n="$minutes" 'BEGIN { print int(n * 60) }')
warm_up=$(awk -v n="$warm_up" 'BEGIN { print int(n * 60) }')

"$vm_dir/deps.sh" ${debug:-test}
results=$top_dir/build/soak
mkdir -p "$results"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

where=$("$vm_dir/kernel.sh" "$version" ${debug:+"$debug"}) || die "no $version kernel"
out=$(field out <<<"$where")
checked_for "$version"
settings=("${checked[@]}" "$no_docs")
[ -z "$debug" ] || settings=("${for_guests[@]}")
make_for "$where" modules "${settings[@]}"
programs_for "$where" selftests
mkdir -p "$tmp/soak"
cp "$out/selftests/soak/soak" "$out/selftests/soak/"*.sh "$tmp/soak"
cp "$out/$(field release <<<"$where")/kdapl.ko" "$tmp"
find "$tmp" -type f -exec strip -g {} + 2>/dev/null || :

# The first round and both ends take as long as 500 processes take to start and to end. soak
# itself limits them to an hour each.
limit=$((seconds + warm_up + 3 * 3600 + 1200))
say "soak: $processes processes, $minutes minutes, $version, $rdma, loss $loss"
arguments="--seconds $seconds --warm-up $warm_up --processes $processes --seed $seed"
rc=0
"$vm_dir/boot.sh" --kernel "$version" ${debug:+--debug} --rdma "$rdma" --mem "$mem" --smp "$smp" \
	--timeout "$limit" --log "$results/log" --lib "$out/libdat" \
	--env "KDAPL_LOSS=$loss" \
	--env "KDAPL_SOAK=$arguments" \
	--insmod "$tmp/kdapl.ko" --add "$tmp/soak:/selftests/soak" \
	-- "$top_dir/selftests/soak/run.sh" | tee "$results/output" |
	grep --line-buffered -E '^(# |ok|not ok|Bail)' |
	grep --line-buffered -v '^# sample' || rc=$?

"$vm_dir/soak-plot.sh" "$results/output" "$results"
say "soak: $(sed -n 's/^# total: //p' "$results/output"); plot in $results/plot.svg"
exit "$rc"
