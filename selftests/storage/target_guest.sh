#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in a guest of its own: the target for the initiator in another guest, until the guest
# is killed.
#
# target_guest.sh ADDRESS
dir=/selftests/storage

for module in target_core_mod target_core_file ib_srpt; do
	[ ! -d "/lib/modules/$(uname -r)" ] || modprobe "$module"
done
[ ! -f "$dir/ib_srpt.ko" ] || insmod "$dir/ib_srpt.ko"
"$dir/target.sh" "$1" || exit 1
while :; do
	sleep 1000
done
