# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Sourced by the scripts that boot a guest with a storage target and kdapl_srp.

# Modules and programs for the guest of the storage tests. Kernels with sanitizers have
# the modules built in.
storage_modules=(sd_mod scsi_transport_srp target_core_mod target_core_file ib_srpt ib_srp ext4 xfs
	crct10dif_generic)
storage_tools=(sg_inq sg_readcap sg_reset mkfs.ext4 fsck.ext4 mkfs.xfs xfs_repair fio
	blkdiscard getconf)

# storage_files WHERE DIRECTORY: copies the driver, and the target that the kernel was built
# with
storage_files() {
	local modules srpt
	modules=$(field out <<<"$1")/$(field release <<<"$1")
	srpt=$(field kdir <<<"$1")/drivers/infiniband/ulp/srpt/ib_srpt.ko
	[ ! -e "$modules/selftests/storage/kdapl_srp.ko" ] ||
		cp "$modules/selftests/storage/kdapl_srp.ko" "$2"
	[ ! -e "$srpt" ] || cp "$srpt" "$2"
}

# storage_options: prints options of boot.sh, one a line
storage_options() {
	local name
	for name in "${storage_modules[@]}"; do
		printf '%s\n' --module "$name"
	done
	for name in "${storage_tools[@]}"; do
		printf '%s\n' --tool "$name"
	done
	# Libraries of fio stand in a directory of their own.
	for name in /usr/lib/*/ceph; do
		[ ! -d "$name" ] || printf '%s\n' --lib "$name"
	done
}
