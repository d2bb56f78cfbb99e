# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Sourced by packages.sh and six-commands.sh: a small Debian on an overlay, with the headers and
# modules of this machine's kernels, and its boot. The scripts print TAP.

tmp=$(mktemp -d)
root=$tmp/root
cleanup() {
	unmount_within
	as_root umount "$root" 2>/dev/null || :
	as_root rm -rf --one-file-system "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# The kernel that the small Debian boots
booted=$(awk '$4 == "host" && !/^#/ { print $1; exit }' "$vm_dir/kernels")

# in_it COMMAND...: in the small Debian, as root, without anything of this machine but a directory
# for ccache, which the headers of Debian's kernels can use
in_it() {
	as_root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C \
		DEBIAN_FRONTEND=noninteractive DEBIAN_KERNEL_USE_CCACHE=1 \
		CCACHE_DEPEND=1 CCACHE_DIR=/tmp/ccache CCACHE_MAXSIZE=1G chroot "$root" "$@"
}

# Directories with the headers of this machine's kernels
headers=(/usr/src/linux-headers-* /usr/lib/linux-kbuild-*)

mount_within() {
	local dir
	as_root mount -t proc none "$root/proc"
	as_root mkdir -p "$root/tmp/ccache" "$cache_dir/dkms"
	as_root mount --bind "$cache_dir/dkms" "$root/tmp/ccache"
	for dir in "${headers[@]}"; do
		as_root mkdir -p "$root$dir"
		as_root mount -o bind,ro "$dir" "$root$dir"
	done
}

unmount_within() {
	local dir
	for dir in /proc /tmp/ccache "${headers[@]}"; do
		as_root umount "$root$dir" 2>/dev/null || :
	done
}

# add_headers RELEASE: lets a kernel appear
add_headers() {
	as_root mkdir -p "$root/lib/modules/$1"
	as_root ln -s "/usr/src/linux-headers-$1" "$root/lib/modules/$1/build"
}

# Adds the modules that the kernel of the boot loads besides kdapl.
add_modules() {
	local modules
	modules=$("$vm_dir/kernel.sh" "$booted" | field modules)
	PATH=$PATH:/usr/sbin:/sbin
	for name in ib_uverbs rdma_cm rdma_ucm rdma_rxe crc32_generic; do
		modprobe -d "${modules%/lib/modules/*}/" -S "${releases[0]}" \
			--show-depends "$name"
	done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u |
		while read -r file; do
			as_root install -D -m 644 "$file" \
				"$root/lib/modules/${releases[0]}/kernel/${file#"$modules"/kernel/}"
		done
}

# make_debian KIND: mounts a root directory of root.sh. It has the headers of this machine's
# kernels, as their packages install them, but only the first kernel is there. Sets releases.
make_debian() {
	local base
	mapfile -t releases < <(awk '$4 == "host" && !/^#/ { print $1 }' "$vm_dir/kernels" |
		while read -r name; do
			"$vm_dir/kernel.sh" --headers "$name" </dev/null | field release
		done)
	[ ${#releases[@]} -gt 0 ] || die "no kernel headers on this machine"
	base=$("$vm_dir/root.sh" "$1" bookworm)
	mkdir "$tmp/upper" "$tmp/work" "$root"
	as_root mount -t overlay -o "lowerdir=$base,upperdir=$tmp/upper,workdir=$tmp/work" \
		overlay "$root"
	mount_within
	add_headers "${releases[0]}"
	add_modules
}

num=0 failed=0
# ok NAME COMMAND...: one test
ok() {
	local name=${0##*/}
	name=${name%.sh}.$1
	shift
	num=$((num + 1))
	if "$@" >"$tmp/said" 2>&1; then
		echo "ok $num $name"
	else
		sed 's/^/# /' "$tmp/said"
		echo "not ok $num $name"
		failed=$((failed + 1))
	fi
}

# boot_it SCRIPT: boots a copy of the small Debian and runs SCRIPT in it. Sets boot_status.
boot_it() {
	local size
	unmount_within
	size=$(as_root du -xsm "$root" | cut -f 1)
	as_root mke2fs -q -t ext4 -d "$root" "$tmp/disk" "$((size * 3 / 2 + 200))M" >&2
	mount_within
	as_root chown "$(id -u)" "$tmp/disk"
	boot_status=0
	"$vm_dir/boot.sh" --kernel "$booted" --disk "$tmp/disk" --timeout 900 \
		--log "$log" -- "$1" || boot_status=$?
}
