#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds a kernel with sanitizers from Debian's source package, patches/ and *.config,
# unless the cache has it. --is-there only exits with 0 if the cache has it.
#
# The kind of kernel is debug (KASAN, lockdep, kmemleak), kcsan (data races) or fuzz (debug with
# userfaultfd). A kind has the settings of debug.config, of debug-6.config on 6.x, and then of
# KIND.config.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

only_ask=''
if [ "${1-}" = --is-there ]; then
	only_ask=yes
	shift
fi
usage='usage: kernel-debug.sh [--is-there] NAME KIND'
name=${1:?$usage} kind=${2:?$usage}
read -r arch page suite _ < <(row "$name") || die "no kernel is called '$name'"
version=${name%%-*}
package=linux-source-$version
[ -e "$vm_dir/$kind.config" ] || die "there are no $kind kernels"
configs=("$vm_dir/debug.config")
[ ! -e "$vm_dir/debug-${version%%.*}.config" ] ||
	configs+=("$vm_dir/debug-${version%%.*}.config")
[ "$kind" = debug ] || configs+=("$vm_dir/$kind.config")

# Prints the settings without comments, of each option the last one.
settings() {
	awk '/^CONFIG_/ { option = $1; sub(/=.*/, "", option) }
		/^# CONFIG_[A-Z0-9_]+ is not set$/ { option = $2 }
		option != "" {
			if (!(option in line))
				order[++n] = option
			line[option] = $0
			option = ""
		}
		END { for (i = 1; i <= n; i++) print line[order[i]] }' "${configs[@]}"
}

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
dir=$cache_dir/debug/$package_version-$(settings | cat - "${patches[@]}" | sha256sum |
	cut -c 1-12)

# An empty LOCALVERSION keeps the state of a surrounding git tree out of the release.
kbuild() {
	local compiler=gcc
	# A changed patch or setting compiles little again.
	! in_root "$root" which ccache >/dev/null || compiler='ccache gcc'
	in_root "$root" make -C "$source" O="$tmp" LOCALVERSION= -j"$(nproc)" \
		CC="$compiler" HOSTCC="$compiler" "$@"
}

configure() {
	local lost
	settings >"$tmp/settings"
	kbuild allnoconfig &&
		in_root "$root" "$source/scripts/kconfig/merge_config.sh" -m -O "$tmp" \
			"$tmp/.config" "$tmp/settings" &&
		kbuild olddefconfig || return
	# kbuild drops an option that this kernel does not have without a message. An option
	# that depends on one that is off has no line.
	lost=$(awk 'NR == FNR { has[$0] = 1; sub(/=.*/, ""); on[$0] = 1; next }
		/^#/ ? $2 in on : !($0 in has)' "$tmp/.config" "$tmp/settings")
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
	log=$cache_dir/debug/build-$name-$kind.log
	say "the $name $kind kernel is built once, in about 25 minutes on two cores"
	if ! progress "configuring it" "$log" configure ||
		! progress "building it" "$log" compile; then
		rm -rf "$tmp"
		die "cannot build the $name $kind kernel"
	fi
	prune
	# Since 6.13 the Makefile contains the path of the build directory.
	sed -i "s|$tmp|$dir|g" "$tmp/Makefile"
	mv "$tmp" "$dir"
}

[ -z "$only_ask" ] || exec test -d "$dir"
mkdir -p "$cache_dir/debug"
with_lock "$kind-$name" build

printf '%s\n' "arch=$arch" "page=$page" "image=$dir/arch/x86/boot/bzImage" modules= \
	"root=$root" "kdir=$dir" make= "out=$top_dir/build" guest= \
	"release=$(cat "$dir/include/config/kernel.release")"
