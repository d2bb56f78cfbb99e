#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Finds the Debian kernel that the installed headers belong to, or unpacks it into the cache.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

version=${1:?usage: kernel-stock.sh 6.1|6.12}
# A module is built with the headers, so the headers say which image is wanted.
kdir=$("$vm_dir/headers.sh" "$version")
release=${kdir#/lib/modules/}
release=${release%/build}

image=linux-image-$release
image_version=$(dpkg-query -W -f '${Version}' "linux-headers-$release")
dir=$cache_dir/stock/${image}_$image_version
kernel=$cache_dir/stock/vmlinux-${release}_$image_version

# Prints the path of the image's package, downloading it if needed.
deb_file() {
	local tmp file
	file=$cache_dir/deb/${image}_${image_version}_amd64.deb
	if [ ! -f "$file" ]; then
		tmp=$(mktemp -d "$cache_dir/deb/.get.XXXXXX")
		if ! (cd "$tmp" && progress "downloading $image" "$tmp/log" download); then
			rm -rf "$tmp"
			die "cannot download $image; newer headers may help: apt-get upgrade"
		fi
		mv "$tmp"/*.deb "$file"
		rm -rf "$tmp"
	fi
	printf '%s\n' "$file"
}

# Within one release Debian keeps the module ABI, so a newer revision will do
# when the archive no longer has that of the headers.
download() {
	local get=(apt-get -q -o APT::Sandbox::User=root download)
	"${get[@]}" "$image=$image_version" && return
	as_root apt-get -q update
	"${get[@]}" "$image=$image_version" || "${get[@]}" "$image"
}

unpack() {
	local file tmp
	[ ! -d "$dir" ] || return 0
	file=$(deb_file)
	tmp=$(mktemp -d "$cache_dir/stock/.unpack.XXXXXX")
	if ! progress "unpacking $image $image_version" "$tmp/log" dpkg -x "$file" "$tmp/root" ||
		! progress "indexing its modules" "$tmp/log" depmod -b "$tmp/root" "$release"; then
		rm -rf "$tmp"
		die "cannot unpack $file"
	fi
	mv "$tmp/root" "$dir"
	rm -rf "$tmp"
}

# Without KVM it takes a guest two seconds to unpack a kernel. Some are like that only.
unpack_kernel() {
	[ ! -e "$kernel" ] || return 0
	"$vm_dir/vmlinux.sh" "$dir/boot/vmlinuz-$release" "$kernel.new" ||
		ln -sf "$dir/boot/vmlinuz-$release" "$kernel.new"
	mv "$kernel.new" "$kernel"
}

PATH=$PATH:/usr/sbin:/sbin
mkdir -p "$cache_dir/deb" "$cache_dir/stock"
if [ -r "/boot/vmlinuz-$release" ] && [ -r "/lib/modules/$release/modules.dep" ]; then
	# Some of Debian's headers bring the image with them.
	dir=
else
	with_lock "$image" unpack
fi
with_lock "$image" unpack_kernel

printf '%s\n' "image=$kernel" "modules=$dir/lib/modules/$release" \
	"kdir=$kdir" "release=$release"
