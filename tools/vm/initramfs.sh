#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Packs the guest's root file system: busybox, rdma, kernel modules and the files to add.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage="usage: initramfs.sh [--guest DIR] [--modules NAMES] [--tools NAMES] OUTPUT RELEASE \
MODULES_DIR TRIPLET [HOST:GUEST]..."
# The directory with the guest's programs and libraries; empty: this machine
guest=
if [ "${1-}" = --guest ]; then
	guest=${2:?$usage}
	shift 2
fi
# Further modules and programs for the guest
modules_too=() tools_too=()
while [ $# -gt 0 ]; do
	case $1 in
	--modules) read -ra modules_too <<<"${2?$usage}" ;;
	--tools) read -ra tools_too <<<"${2?$usage}" ;;
	*) break ;;
	esac
	shift 2
done
[ $# -ge 4 ] || die "$usage"
output=$1 release=$2 modules=$3 triplet=$4
shift 4

# Modules to load, packed with their dependencies. Debug kernels have all of them built
# in, and siw, which Debian's kernels lack.
wanted_modules=(virtio_pci virtio_net rdma_rxe ib_uverbs rdma_ucm veth dummy sch_netem
	"${modules_too[@]}")
# Modules of old kernels only, and one that a test uses
if_there=(crc32_generic crc32c_generic fuse)
tools=(ip rdma tc "${tools_too[@]}")

PATH=$PATH:/usr/sbin:/sbin
stage=$(mktemp -d)
# The directory becomes the root directory, which every user must be able to read.
chmod 755 "$stage"
trap 'rm -rf "$stage"' EXIT

mkdir -p "$stage"/usr/{bin,sbin,lib,lib64,local/lib} "$stage"/{dev,proc,sys,tmp,run,root,etc,kdapl}
for dir in bin sbin lib lib64; do
	ln -s "usr/$dir" "$stage/$dir"
done

# needs FILE...: prints the libraries and the loader that ELF files need
needs() {
	readelf -Wld "$@" 2>/dev/null | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p
		s/.*program interpreter: (.*)\]/\1/p' | sort -u
}

# library NAME: prints the path of the library on this machine
library() {
	local path paths=()
	case $1 in
	/*) paths=("$guest$1") ;;
	*)
		IFS=: read -ra paths <<<"${LD_LIBRARY_PATH-}"
		paths+=("$guest/usr/lib/$triplet" "$guest/lib/$triplet" "$guest/usr/lib")
		paths=("${paths[@]/%//$1}")
		;;
	esac
	for path in "${paths[@]}"; do
		[ ! -e "$path" ] || break
	done
	[ -e "$path" ] || die "a library is missing: $1"
	printf '%s\n' "$path"
}

# add_libraries FILE...: adds the libraries that these files are linked with. System
# libraries keep their path; the others go to the guest's LD_LIBRARY_PATH.
declare -A has_library
add_libraries() {
	local name names path new
	mapfile -t names < <(needs "$@" || :)
	while [ ${#names[@]} -gt 0 ]; do
		new=()
		for name in "${names[@]}"; do
			[ -z "${has_library[$name]-}" ] || continue
			has_library[$name]=yes
			path=$(library "$name")
			new+=("$path")
			case ${path#"$guest"} in
			/lib*/* | /usr/lib*/*) install -D "$path" "$stage${path#"$guest"}" ;;
			*) install -D "$path" "$stage/usr/local/lib/${path##*/}" ;;
			esac
		done
		[ ${#new[@]} -gt 0 ] || break
		mapfile -t names < <(needs "${new[@]}" || :)
	done
}

add() {
	local from=$1 to=$stage/${2#/} files
	[ -e "$from" ] || die "$from does not exist"
	mkdir -p "$(dirname "$to")"
	cp -rLT "$from" "$to"
	mapfile -d '' files < <(find -L "$from" -type f \( -perm -u+x -o -name '*.so*' \) -print0)
	[ ${#files[@]} -eq 0 ] || add_libraries "${files[@]}"
}

# tool NAME: prints the path of the program on this machine
tool() {
	local dir
	for dir in "$guest"/{usr/bin,usr/sbin,bin,sbin}; do
		if [ -x "$dir/$1" ]; then
			printf '%s\n' "$dir/$1"
			return
		fi
	done
	die "$1 is missing: run tools/vm/deps.sh test"
}

add_tools() {
	local name
	install "$(tool busybox)" "$stage/bin/busybox"
	if [ -n "$(needs "$stage/bin/busybox")" ]; then
		die "busybox is not static: run tools/vm/deps.sh test"
	fi
	# The shell of busybox would run busybox's ip and tc instead of the real programs.
	add "$(tool dash)" /bin/sh
	for name in "${tools[@]}"; do
		add "$(tool "$name")" "/sbin/$name"
	done
}

# Prints the path of each module to copy.
module_files() {
	local name
	local show=(modprobe -d "${modules%/lib/modules/*}/" -S "$release" --show-depends)
	{
		for name in "${wanted_modules[@]}"; do
			"${show[@]}" "$name"
		done
		for name in "${if_there[@]}"; do
			"${show[@]}" "$name" 2>/dev/null || :
		done
	} | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u
}

add_modules() {
	local dest=$stage/lib/modules/$release files file
	mkdir -p "$dest"
	files=$(module_files)
	while read -r file; do
		case $file in
		*.xz) xz -dc "$file" >"$dest/$(basename "$file" .xz)" ;;
		*.zst) zstd -qdc "$file" >"$dest/$(basename "$file" .zst)" ;;
		*) cp "$file" "$dest" ;;
		esac
	done <<<"$files"
	cp "$modules"/modules.{order,builtin,builtin.modinfo} "$dest"
	depmod -b "$stage" "$release"
}

add_tools
[ -z "$modules" ] || add_modules
cp -r "$vm_dir/guest/." "$stage/kdapl"
ln -s kdapl/init "$stage/init"
printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$stage/etc/passwd"
printf 'root:x:0:\nrdma:x:101:nobody\nnogroup:x:65534:\n' >"$stage/etc/group"
echo '127.0.0.1 localhost' >"$stage/etc/hosts"
for pair in "$@"; do
	add "${pair%%:*}" "${pair#*:}"
done

(cd "$stage" && find . -print0 | cpio --quiet -0 -o -H newc -R +0:+0) >"$output"
