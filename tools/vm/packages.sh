#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Installs the packages of `make deb` in a small Debian over older ones, builds the module
# there with DKMS for each kernel of this machine's suite, boots that Debian, and removes
# the packages again. Prints TAP in the format of selftests/run.sh.
# packages.sh [--log FILE]: FILE is the guest's log, default build/vm/packages.log
# exit status: boot.sh's if the guest has failed, or else 1 if a test has
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/packages-lib.sh"

log=$top_dir/build/vm/packages.log
[ "${1-}" != --log ] || log=$2
"$vm_dir/deps.sh" deb test
version=$(sed -n 's/#define DAT_KDAPL_VERSION[^"]*"\(.*\)"/\1/p' \
	"$top_dir/kdapl/include/dat/version.h")
older=$version~1
env "${compiler_cache[@]}" KDAPL_CCACHE=ccache "$top_dir/tools/deb.sh" >&2

# make_older DEB DIR: the package once more, which says that it is older. Its module, which is
# there to be removed, is empty: DKMS needs no minute to compile it.
make_older() {
	local pkg=$tmp/pkg src
	as_root rm -rf "$pkg"
	as_root dpkg-deb -R "$1" "$pkg"
	as_root sed -i "s/${version//./\\.}/$older/g" "$pkg"/DEBIAN/*
	src=$pkg/usr/src/kdapl-$version
	if [ -d "$src" ]; then
		as_root sed -i "s/\"$version\"/\"$older\"/" "$src/dkms.conf"
		as_root find "$src" -mindepth 1 ! -name dkms.conf -delete
		as_root tee "$src/Kbuild" <<<'obj-m := kdapl.o'
		as_root tee "$src/kdapl.c" <<-EOT
			#include <linux/module.h>
			MODULE_DESCRIPTION("An older version");
			MODULE_VERSION("$older");
			MODULE_LICENSE("Dual BSD/GPL");
		EOT
		as_root mv "$src" "${src%-*}-$older"
	fi
	as_root dpkg-deb -Znone -b "$pkg" "$2"
}

make_debian packages
as_root mkdir "$root/deb" "$root/deb-$older"
for deb in "$top_dir/build/deb"/*.deb; do
	[[ $deb != *dbgsym* ]] || continue
	as_root cp "$deb" "$root/deb"
	make_older "$deb" "$root/deb-$older" >&2
done

# files: lists the files of the small Debian, but for what dpkg and apt write for
# themselves, and what this script adds
files() {
	as_root find "$root" -xdev ! -type d -printf '%P\n' |
		grep -vE '^(proc|run|deb[^/]*|tmp|root|usr/local|home)/' |
		grep -vE '^var/(lib/(dpkg|apt|dkms)|cache|log)/|^etc/ld.so.cache$' |
		grep -vE '^(usr/)?lib/modules/[^/]*/(modules\.|build$)' |
		grep -vE '^etc/(group|gshadow|passwd|shadow|subuid|subgid)-?$' |
		grep -vE '^usr/lib/udev/hwdb.bin$' |
		sort
}

# The end of the log of DKMS
show_log() { in_it sh -c 'tail -n 20 /var/lib/dkms/kdapl/*/build/make.log' | sed 's/^/# /'; }
built_for() { in_it dkms status -m kdapl -k "$1" | grep -q installed; }
module_of() { in_it sh -c "modinfo -k $1 -F version kdapl" | grep -qx "$version"; }
nothing_left() { diff "$tmp/before" "$tmp/after"; }
conf_has() { in_it sh -c "[ \$(grep -c '^kdat-' /etc/dat.conf) -eq $1 ]"; }
# A device with one port and one with two
fake_devices() {
	as_root mkdir -p "$root"/tmp/ib/{rxe0/ports/1,mlx5_0/ports/1,mlx5_0/ports/2}
}
update_conf() { in_it env KDAT_DEVICES=/tmp/ib /usr/lib/kdapl/kdat-conf update; }

packages=(kdapl-dkms kdapl-utils kdapl-doc libdat1 libdat-dev libdaplkdat2
	libfabric-kdapl)
old_is_gone() {
	in_it sh -c "[ ! -e /usr/src/kdapl-$older ] && [ ! -e /var/lib/dkms/kdapl/$older ]" &&
		! in_it dkms status | grep -F "kdapl/$older"
}
own_line_kept() { in_it grep -q '^mine ' /etc/dat.conf; }
add_users() { in_it useradd -d /tmp -G rdma member && in_it useradd -d /tmp outsider; }

run() {
	echo "# BEGIN packages"
	files >"$tmp/before"
	ok install_older in_it sh -c "dpkg -i /deb-$older/*.deb"
	ok older_is_built built_for "${releases[0]}"
	fake_devices
	ok dat_conf_update update_conf
	ok dat_conf_lines conf_has 6
	in_it sed -i '$ a mine u2.0 threadsafe default libdaplkdat.so.2 kdapl.2.0 "rxe0" ""' \
		/etc/dat.conf
	# The older packages are built for one kernel only.
	for release in "${releases[@]:1}"; do
		add_headers "$release"
	done
	ok upgrade in_it sh -c 'dpkg -i /deb/*.deb'
	[ "$failed" -eq 0 ] || show_log
	for release in "${releases[@]}"; do
		ok "dkms_builds_for_$release" built_for "$release"
		ok "modinfo_of_$release" module_of "$release"
	done
	ok upgrade_removes_older old_is_gone
	ok upgrade_keeps_own_line own_line_kept
	ok dat_info_runs in_it dat-info --version
	ok dat_perf_runs in_it dat-perf --version
	ok pkg_config_version in_it sh -c \
		"grep -qx 'Version: $version' /usr/lib/*/pkgconfig/libdat.pc"
	ok udev_rule_and_module_load in_it sh -c \
		'[ -f /usr/lib/udev/rules.d/70-kdapl.rules ] &&
		 [ -f /usr/lib/modules-load.d/kdapl.conf ]'
	"$top_dir/tools/check/example.sh" udapl >"$tmp/first.c"
	as_root cp "$tmp/first.c" "$root/tmp"
	ok readme_program_compiles in_it gcc -o /usr/local/bin/first /tmp/first.c -ldat
	ok users_in_and_outside_rdma add_users
	as_root rm -rf "$root/tmp/ib"
	in_it /usr/lib/kdapl/kdat-conf update
	ok no_device_no_lines conf_has 0
	echo "1..$num"
	echo "# END packages rc=$((failed > 0)) 0 s"

	echo "# BEGIN installed"
	boot_it "$top_dir/selftests/packages/installed.sh"
	echo "# END installed rc=$boot_status 0 s"

	echo "# BEGIN removed"
	num=0
	fake_devices
	ok dat_conf_update_again update_conf
	ok dat_conf_same_lines conf_has 6
	ok remove in_it dpkg -r "${packages[@]}"
	ok dat_conf_clean conf_has 0
	ok purge in_it dpkg -P "${packages[@]}"
	files >"$tmp/after"
	ok purge_leaves_nothing nothing_left
	echo "1..$num"
	echo "# END removed rc=$((failed > 0)) 0 s"
}

boot_status=126
run
[ "$boot_status" -eq 0 ] || exit "$boot_status"
[ "$failed" -eq 0 ]
