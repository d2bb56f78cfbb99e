#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Installs the Debian packages that the named tasks (demo, test, check, debug, bench, deb) need
set -euo pipefail
. "$(dirname "$0")/lib.sh"

build=(build-essential linux-headers-amd64)
vm=(qemu-system-x86 busybox-static cpio kmod iproute2 xz-utils)
# For kernels of other suites and architectures
foreign=(ccache mmdebstrap debian-archive-keyring util-linux)
# Headers of the kernels in this machine's suite
mapfile -t headers < <(awk '$4 == "host" && !/^#/ { print $5 }' "$vm_dir/kernels")

packages() {
	case $1 in
	demo) printf '%s\n' "${build[@]}" "${vm[@]}" libssl-dev e2fsprogs ;;
	test)
		packages demo
		# The source package has the kselftest headers. Some tests are also
		# built for 32 bits, some for libdat2, some use verbs.
		printf '%s\n' "${headers[@]}" "${foreign[@]}" qemu-system-arm \
			linux-source-6.12 gcc-multilib \
			libdapl-dev libdapl2 dapl2-utils ibverbs-providers \
			libibverbs-dev librdmacm-dev liburing-dev sg3-utils fio xfsprogs \
			libfabric-dev libfabric-bin openmpi-bin libopenmpi-dev sparse
		;;
	bench)
		packages test
		printf '%s\n' bsdextrautils socat
		;;
	debug)
		packages test
		printf '%s\n' linux-source-6.1 flex bison bc libelf-dev patch
		;;
	check)
		# The source package has checkpatch.
		printf '%s\n' "${build[@]}" "${headers[@]}" "${foreign[@]}" linux-source-6.12 \
			sparse codespell shellcheck mandoc groff-base python3-sphinx git xz-utils \
			perl spin
		;;
	deb)
		printf '%s\n' build-essential debhelper dh-dkms fakeroot lintian \
			libdapl-dev libfabric-dev python3-sphinx git xz-utils
		;;
	*) die "unknown task '$1': demo, test, check, debug, bench or deb" ;;
	esac
}

installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

[ $# -gt 0 ] || die "usage: deps.sh demo|test|check|debug|bench|deb..."
command -v dpkg-query >/dev/null || die "this is not Debian: dpkg-query is missing"

wanted=$(for task in "$@"; do packages "$task"; done | sort -u)
missing=()
for package in $wanted; do
	installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

say "missing Debian packages: ${missing[*]}"
by_hand="apt-get update && apt-get install --no-install-recommends ${missing[*]}"
as_root true 2>/dev/null || die "neither root nor sudo here; as root, run: $by_hand"

apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120)
say "apt-get update"
as_root "${apt[@]}" update >&2 </dev/null || die "apt-get update failed"
say "apt-get install ${missing[*]}"
as_root "${apt[@]}" install --no-install-recommends "${missing[@]}" >&2 </dev/null ||
	die "installing failed; by hand, as root: $by_hand"
