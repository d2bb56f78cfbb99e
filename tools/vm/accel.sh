#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Prints kvm if KVM can boot the given kernel image on this machine, else tcg.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

image=${1:?usage: accel.sh IMAGE}
# Cached until the machine reboots: a failed attempt takes ten seconds.
answer=$cache_dir/accel-$(cat /proc/sys/kernel/random/boot_id)

# Some machines have a /dev/kvm that cannot boot a guest, so require the first line of a
# kernel. Without an initramfs the kernel panics and QEMU exits.
kvm_boots() {
	[ -w /dev/kvm ] || return 1
	timeout -k 1 10 qemu-system-x86_64 -accel kvm -cpu host -m 512 -nodefaults -display none \
		-no-reboot -serial stdio -kernel "$image" \
		-append 'console=ttyS0 earlyprintk=serial panic=-1' </dev/null 2>/dev/null |
		grep -qa 'Linux version'
}

try() {
	[ ! -s "$answer" ] || return 0
	rm -f "$cache_dir"/accel-*
	if kvm_boots; then echo kvm; else echo tcg; fi >"$answer"
}

with_lock accel try
cat "$answer"
