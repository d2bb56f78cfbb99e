#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds a kernel with sanitizers from Debian's source package, patches/ and
# debug*.config, unless the cache has it. --is-there only exits with 0 if the cache has
# it.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

only_ask=''
if [ "${1-}" = --is-there ]; then
	only_ask=yes
	shift
fi
name=${1:?usage: kernel-debug.sh [--is-there] NAME}
read -r arch page suite _ < <(row "$name") || die "no kernel is called '$name'"
version=${name%%-*}
package=linux-source-$version
# debug.config applies to all kernels, debug-6.config to 6.x.
configs=("$vm_dir/debug.config")
[ ! -e "$vm_dir/debug-${version%%.*}.config" ] ||
	configs+=("$vm_dir/debug-${version%%.*}.config")
# Matches lines that set an option or turn one off.
setting='^(CONFIG_|# CONFIG_[A-Z0-9_]+ is not set$)'
root=
if [ "$suite" = host ]; then
	package_version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null) ||
		die "$package is not installed: run tools/vm/deps.sh debug"
else
	# The kernel needs the compiler of its own suite.
	root=$("$vm_dir/root.sh" build "$suite")
	package_version=$("$vm_dir/archive.sh" "$suite" "$arch" version "$package")
fi
mapfile -t patches < <(patches_of "$version")
# Hash the settings only: a changed comment must not cause a new build.
dir=$cache_dir/debug/$package_version-$(grep -hE "$setting" "${configs[@]}" |
	cat - "${patches[@]}" | sha256sum | cut -c 1-12)

# An empty LOCALVERSION keeps the state of a surrounding git tree out of the release.
kbuild() {
	in_root "$root" make -C "$source" O="$tmp" LOCALVERSION= -j"$(nproc)" "$@"
}

configure() {
	local lost
	kbuild allnoconfig &&
		in_root "$root" "$source/scripts/kconfig/merge_config.sh" -m -O "$tmp" \
			"$tmp/.config" "${configs[@]}" &&
		kbuild olddefconfig || return
	# kbuild drops an option that this kernel does not have without a message.
	lost=$(grep -hE "$setting" "${configs[@]}" | grep -vxFf "$tmp/.config" || :)
	[ -z "$lost" ] || {
		printf 'not in the resulting configuration: %s\n' "$lost"
		return 1
	}
}

# The target `modules` creates Module.symvers, which external modules need for linking.
compile() {
	kbuild bzImage modules
}

# Remove 500 MB of objects. Building modules needs only the headers, the host tools and
# Module.symvers.
prune() {
	find "$tmp" \( -path "$tmp/scripts" -o -path "$tmp/tools" \) -prune -o \
		-type f \( -name '*.[oa]' -o -name '.*.[oa].cmd' -o -name '.tmp_*' \) \
		-exec rm -f {} +
}

build() {
	local source tmp log
	[ ! -d "$dir" ] || return 0
	source=$("$vm_dir/source.sh" "$name")
	tmp=$(mktemp -d "$cache_dir/debug/.build.XXXXXX")
	log=$cache_dir/debug/build-$name.log
	say "the $name debug kernel is built once, in about 8 minutes on two cores"
	if ! progress "configuring it" "$log" configure ||
		! progress "building it" "$log" compile; then
		rm -rf "$tmp"
		die "cannot build the $name debug kernel"
	fi
	prune
	# Since 6.13 the Makefile contains the path of the build directory.
	sed -i "s|$tmp|$dir|g" "$tmp/Makefile"
	mv "$tmp" "$dir"
}

[ -z "$only_ask" ] || exec test -d "$dir"
mkdir -p "$cache_dir/debug"
with_lock "debug-$name" build

printf '%s\n' "arch=$arch" "page=$page" "image=$dir/arch/x86/boot/bzImage" modules= \
	"root=$root" "kdir=$dir" make= "out=$top_dir/build" guest= \
	"release=$(cat "$dir/include/config/kernel.release")"
