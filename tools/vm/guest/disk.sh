#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Process 1 of a guest with a disk: hands over to the system on the disk, which runs the
# script as a service.

# shellcheck source-path=SCRIPTDIR source=await.sh
. /kdapl/await.sh

fail() {
	echo "$KDAPL_MARK guest: $*" >"/dev/$KDAPL_PORT"
	exec poweroff -f
}

for name in virtio_pci virtio_net virtio_blk ext4; do
	modprobe "$name" || fail "cannot load $name"
done
await 60 test -b /dev/vda || fail "no disk"
mkdir -p /disk
mount -t ext4 /dev/vda /disk || fail "the disk cannot be mounted"

cp -r /kdapl /disk
unit=/disk/etc/systemd/system/kdapl-test.service
cat >$unit <<-EOT
	[Unit]
	Description=The script of boot.sh
	After=systemd-modules-load.service systemd-udev-trigger.service

	[Service]
	Type=oneshot
	ExecStart=/kdapl/system.sh

	[Install]
	WantedBy=multi-user.target
EOT
mkdir -p /disk/etc/systemd/system/multi-user.target.wants
ln -sf ../kdapl-test.service /disk/etc/systemd/system/multi-user.target.wants

for dir in proc sys dev; do
	mount --move /$dir /disk/$dir
done
exec switch_root /disk /sbin/init
