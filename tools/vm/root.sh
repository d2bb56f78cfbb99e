#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Creates a small Debian of another release or architecture once. Prints its directory.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage() {
	cat >&2 <<-EOT
	usage: root.sh build SUITE | guest SUITE ARCH | packages SUITE | mpi SUITE
	  build   compilers for modules and kernels, for all architectures
	  guest   programs, libraries and headers of that architecture, for guests and for
	          cross builds; this machine runs none of them
	  packages  what the packages of kdapl depend on
	  mpi     the same and sudo; apt can install Open MPI there without a network
	EOT
	exit 2
}

small=(dkms adduser udev kmod libc6-dev libelf1 pahole libdapl2 dapl2-utils libfabric-bin
	systemd-sysv iproute2)
options=()
kind=${1-} suite=${2-} arch=${3-$(dpkg --print-architecture)}
case $kind in
build)
	variant=apt
	packages=(gcc make bc bison ccache flex cpio kmod patch perl python3-minimal rsync sparse
		xz-utils libdw-dev libelf-dev libssl-dev gcc-aarch64-linux-gnu
		gcc-s390x-linux-gnu)
	;;
guest)
	variant=extract
	packages=(base-files busybox-static dash iproute2 libc6-dev libssl-dev)
	;;
packages)
	variant=apt
	# DKMS need not compile again what has not changed.
	packages=("${small[@]}" ccache)
	;;
mpi)
	variant=apt
	packages=("${small[@]}" sudo)
	# shellcheck disable=SC2016 # the shell of mmdebstrap expands it
	options=(--skip=cleanup/apt --aptopt='APT::Install-Recommends "false"'
		--customize-hook='APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -y --download-only \
			install openmpi-bin libopenmpi-dev')
	;;
*) usage ;;
esac
[ -n "$suite" ] || usage
# A backports suite extends a release.
release=${suite%-backports}
include=$(IFS=, && echo "${packages[*]}")
dir=$cache_dir/root/$release-$kind-$arch-$(sha256sum <<<"$include${options[*]}" | cut -c 1-12)

make_root() {
	local tmp mirror
	[ ! -d "$dir" ] || return 0
	mirror=$("$vm_dir/archive.sh" --mirror)
	tmp=$(mktemp -d "$cache_dir/root/.make.XXXXXX")
	as_root chmod 755 "$tmp"
	if ! progress "making a Debian $release ($kind, $arch), once" "$dir.log" \
		as_root mmdebstrap --variant=$variant --architectures="$arch" \
		--include="$include" --skip=check/qemu "${options[@]}" "$release" "$tmp" \
		"$mirror"; then
		as_root rm -rf "$tmp"
		die "cannot create a root directory of Debian $release"
	fi
	as_root mv "$tmp" "$dir"
}

command -v mmdebstrap >/dev/null || die "mmdebstrap is missing: run tools/vm/deps.sh test"
mkdir -p "$cache_dir/root"
with_lock "root-$release-$kind-$arch" make_root
printf '%s\n' "$dir"
