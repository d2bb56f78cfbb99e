#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds the demo and runs it in a guest.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/storage-lib.sh"

version=${1:-6.1}
log=$top_dir/build/vm/demo.log

"$vm_dir/deps.sh" demo
where=$("$vm_dir/kernel.sh" "$version")
release=$(field release <<<"$where")
out=$(field out <<<"$where")
modules=$out/$release

mkdir -p "$top_dir/build"
progress "building the module" "$top_dir/build/demo-build.log" \
	make_for "$where" selftest-modules storage KDAPL_WANTED=demo "${for_guests[@]}"
progress "building libdat and the demo" "$top_dir/build/demo-programs.log" \
	programs_for "$where" demo-programs
disk=()
for name in "${storage_modules[@]}"; do
	disk+=(--module "$name")
done
for name in mkfs.ext4 fsck.ext4 getconf; do
	disk+=(--tool "$name")
done
say "booting Linux $release in QEMU ..."

rc=0
"$vm_dir/boot.sh" --kernel "$version" --timeout 300 --log "$log" \
	--insmod "$modules/kdapl.ko" --lib "$out/libdat" \
	--add "$out/demo:/demo" \
	--add "$modules/selftests/modules/kdapl_demo.ko:/demo/kdapl_demo.ko" \
	--add "$modules/selftests/modules/kdapl_testlib.ko:/demo/kdapl_testlib.ko" \
	--add "$modules/selftests/storage/kdapl_srp.ko:/demo/kdapl_srp.ko" \
	--add "$top_dir/selftests/storage/target.sh:/demo/target.sh" \
	--add "$top_dir/tools/demo/disk.sh:/demo/disk.sh" "${disk[@]}" \
	-- "$top_dir/tools/demo/run.sh" || rc=$?
if [ "$rc" -ne 0 ]; then
	echo "demo: failed with status $rc; the serial log is $log"
fi
exit "$rc"
