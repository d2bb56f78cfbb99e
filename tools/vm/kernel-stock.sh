#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Finds a Debian kernel on this machine or unpacks it into the cache. Called by kernel.sh.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# With --headers it skips the image: building a module needs only the headers.
only_headers=''
if [ "${1-}" = --headers ]; then
	only_headers=yes
	shift
fi
name=${1:?usage: kernel-stock.sh [--headers] NAME}
read -r arch page suite meta _ < <(row "$name") || die "no kernel is called '$name'"
series=${name%%-*}
root='' guest='' told='' out=$top_dir/build
PATH=$PATH:/usr/sbin:/sbin

archive() {
	"$vm_dir/archive.sh" "$suite" "$arch" "$@"
}

# Prints the newest release of the series. If the meta package depends on a newer series
# already, looks up the release by name.
release_of_series() {
	local package kind=${meta#linux-headers-}
	package=$(archive depends "$meta:$arch" | grep -E '^linux-headers-[0-9]' | head -n 1)
	case $package in
	linux-headers-"$series".*) ;;
	*)
		package=$(archive names "linux-headers-${series//./\\.}\..*[0-9]-$kind" |
			tail -n 1)
		;;
	esac
	[ -n "$package" ] || die "Debian $suite has no $series for $arch any more"
	echo "${package#linux-headers-}"
}

# into DIRECTORY FILE...: unpacks packages
into() {
	local dir=$1 file
	shift
	for file; do
		dpkg-deb --fsys-tarfile "$file" |
			tar -x --keep-directory-symlink -C "$dir" || return
	done
}

# into_once: as into, but skips packages that are already unpacked in DIRECTORY. Kernels
# share packages, and a build may be reading them.
into_once() {
	local dir=$1 file stamp
	shift
	mkdir -p "$dir/.unpacked"
	for file; do
		stamp=$dir/.unpacked/${file##*/}
		[ -e "$stamp" ] || { into "$dir" "$file" && touch "$stamp"; } || return
	done
}

# mend_sparse SCRIPTS: adds the script that lets kbuild run sparse. Debian's headers of
# Linux 7.x lack it.
mend_sparse() {
	[ ! -e "$root$1/checker-valid.sh" ] || return 0
	printf '#!/bin/sh\n"$@" -E - </dev/null >/dev/null 2>&1 && echo 1\n' |
		as_root tee "$root$1/checker-valid.sh" >/dev/null
	as_root chmod 755 "$root$1/checker-valid.sh"
}

# Unpacks the headers of another suite into the root directory of that suite.
foreign_headers() {
	local files package wanted=("linux-headers-$release:$arch")
	while read -r package; do
		case $package in
		linux-headers-*-common | linux-kbuild-*) wanted+=("$package") ;;
		esac
	done < <(archive depends "linux-headers-$release:$arch")
	mapfile -t files < <(archive get "${wanted[@]}")
	[ ${#files[@]} -eq ${#wanted[@]} ] || die "cannot get the headers of $release"
	export -f into into_once
	progress "unpacking the headers of $release" "$cache_dir/stock/headers.log" \
		as_root bash -o pipefail -c 'into_once "$@"' into_once "$root" "${files[@]}" ||
		die "cannot unpack ${files[*]}"
	mend_sparse "$(sed -n 's|^include \(.*\)/Makefile$|\1|p' "$root$kdir/Makefile")/scripts"
	as_root touch "$root$kdir/.complete"
}

find_foreign() {
	release=$(release_of_series)
	root=$("$vm_dir/root.sh" build "$suite")
	kdir=/usr/src/linux-headers-$release
	[ -e "$root$kdir/.complete" ] || with_lock "headers-$suite" foreign_headers
	image_version=$(archive version "linux-image-$release:$arch")
	case $arch in
	amd64) ;;
	arm64)
		guest=$("$vm_dir/root.sh" guest "$suite" "$arch")
		told="ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-"
		;;
	s390x) told="ARCH=s390 CROSS_COMPILE=s390x-linux-gnu-" ;;
	*) die "kernel-stock.sh does not know what to build $arch with" ;;
	esac
	[ "$arch" = amd64 ] || out=$top_dir/build/$arch
	told+=" BUILD_DIR=$out"
	[ -z "$guest" ] || told+=" SYSROOT=$guest"
}

find_installed() {
	kdir=$("$vm_dir/headers.sh" "$name")
	release=${kdir#/lib/modules/}
	release=${release%/build}
	image_version=$(dpkg-query -W -f '${Version}' "linux-headers-$release")
}

# Debian keeps the module ABI within one release. If the archive no longer has the
# revision of the headers, use a newer one.
download() {
	local get=(apt-get -q -o APT::Sandbox::User=root download)
	"${get[@]}" "$image=$image_version" && return
	as_root apt-get -q update
	"${get[@]}" "$image=$image_version" || "${get[@]}" "$image"
}

# Prints the paths of the packages with the image and its modules.
image_files() {
	local tmp file package wanted=("$image:$arch")
	if [ -n "$root" ]; then
		# Since Linux 7.0 the image and the modules are separate packages.
		while read -r package; do
			case $package in
			linux-base-* | linux-binary-* | linux-modules-*)
				wanted+=("$package:$arch")
				;;
			esac
		done < <(archive depends "$image:$arch")
		archive get "${wanted[@]}"
		return
	fi
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

unpack() {
	local files tmp
	[ ! -d "$dir" ] || return 0
	files=$(image_files)
	mapfile -t files <<<"$files"
	tmp=$(mktemp -d "$cache_dir/stock/.unpack.XXXXXX")
	# Old packages use /lib, new packages /usr/lib.
	mkdir -p "$tmp/root/usr/lib"
	ln -s usr/lib "$tmp/root/lib"
	export -f into
	if ! progress "unpacking $image $image_version" "$tmp/log" \
		bash -o pipefail -c 'into "$@"' into "$tmp/root" "${files[@]}" ||
		! progress "indexing its modules" "$tmp/log" depmod -b "$tmp/root" "$release"; then
		rm -rf "$tmp"
		die "cannot unpack $image"
	fi
	mv "$tmp/root" "$dir"
	rm -rf "$tmp"
}

# Unpacks a compressed image: without KVM a guest takes two seconds for that.
unpack_kernel() {
	local packed=$dir/boot/vmlinuz-$release
	[ ! -e "$kernel" ] || return 0
	[ -e "$packed" ] || packed=$dir/usr/lib/modules/$release/vmlinuz
	[ -e "$packed" ] || die "$image has no kernel"
	"$vm_dir/vmlinux.sh" "$packed" "$kernel.new" || ln -sf "$packed" "$kernel.new"
	mv "$kernel.new" "$kernel"
}

mkdir -p "$cache_dir/deb" "$cache_dir/stock"
if [ "$suite" = host ]; then find_installed; else find_foreign; fi
image=linux-image-$release
dir=$cache_dir/stock/${image}_$image_version
kernel=$cache_dir/stock/vmlinux-${release}_$image_version
if [ -z "$only_headers" ]; then
	if [ "$suite" = host ] && [ -r "/boot/vmlinuz-$release" ] &&
	   [ -r "/lib/modules/$release/modules.dep" ]; then
		# Some header packages of Debian include the image.
		dir=
	else
		with_lock "$image" unpack
	fi
	with_lock "$image" unpack_kernel
	printf '%s\n' "image=$kernel" "modules=$dir/lib/modules/$release"
fi
printf '%s\n' "arch=$arch" "page=$page" "root=$root" "kdir=$kdir" "make=$told" "out=$out" \
	"release=$release" "guest=$guest"
