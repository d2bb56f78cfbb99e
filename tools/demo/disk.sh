#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in the guest: a file system on a disk of the kernel's own SRP target, as a page.
set -eu
address=${KDAPL_ADDRESS:-10.0.2.15}
initiator=/sys/class/kdapl_srp/initiator

# shellcheck source=SCRIPTDIR/../vm/guest/await.sh
. /kdapl/await.sh

now() {
	cut -d ' ' -f 1 /proc/uptime
}

# did WHO TEXT: tells what was done since the last step
did() {
	awk -v began="$began" -v now="$(now)" -v who="$1" -v text="$2" 'BEGIN {
		printf "%9.0f ms  %-7s %s\n", (now - began) * 1000, who, text
	}'
	began=$(now)
}

fail() {
	echo "demo: $1"
	exit 1
}

# disk NUMBER: prints the name of the target's disk with this number
disk() {
	for path in /sys/class/scsi_disk/*:"$1"/device/block/sd*; do
		[ -b "/dev/${path##*/}" ] || return
		echo "${path##*/}"
	done
}

mib() {
	echo "$(($(cat "/sys/block/$1/size") / 2048)) MiB"
}

unloaded() {
	! grep -q "^$1 " /proc/modules || rmmod "$1" 2>/dev/null
}

began=$(now)
modprobe -a sd_mod scsi_transport_srp target_core_mod target_core_file ib_srpt ext4
options=$(/demo/target.sh "$address") || fail "the target cannot be set up"
did target "ib_srpt listens on port ${options##*:}, with a RAM disk and a file as disks"

insmod /demo/kdapl_srp.ko imm_data=0 || fail "kdapl_srp.ko does not load"
echo "$options,ia=rxe0" >"$initiator/add_target" || fail "the login failed"
await 300 disk 1 >/dev/null || fail "no disk appears"
sda=$(disk 0) sdb=$(disk 1)
did disk "kdapl_srp has logged in: $sda, $(mib "$sda"), and $sdb, $(mib "$sdb")"

mkfs.ext4 -q "/dev/$sdb" || fail "mkfs.ext4 fails"
mkdir -p /mnt
mount "/dev/$sdb" /mnt
did disk "$sdb has a file system, ext4, and is mounted"

sums=/tmp/demo.sums
(cd / && find usr demo -type f -exec sha256sum {} +) >"$sums"
cp -r /usr /demo /mnt
umount /mnt
read -r _ _ _ _ writes _ sectors _ <"/sys/block/$sdb/stat"
did disk "$(wc -l <"$sums") files are written: $writes requests, $((sectors / 2048)) MiB"
echo "          =>          the target took the data out of windows, each open for one request"

fsck.ext4 -fn "/dev/$sdb" >/dev/null 2>&1 || fail "the file system is broken"
did disk "the file system is sound"
echo 3 >/proc/sys/vm/drop_caches
mount -o ro "/dev/$sdb" /mnt
(cd /mnt && sha256sum -c "$sums") >/tmp/demo.check 2>&1 || fail "a file differs"
umount /mnt
did disk "all files are read back; $(grep -c ': OK$' /tmp/demo.check) checksums are right"

for port in /sys/class/srp_remote_ports/port-*; do
	echo 1 >"$port/delete"
done
await 300 unloaded kdapl_srp || fail "kdapl_srp.ko does not unload"
/demo/target.sh --stop
await 300 unloaded ib_srpt || fail "ib_srpt does not unload"
did disk "logged out; target and driver are unloaded"
