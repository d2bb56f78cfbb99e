#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Packs the guest's root file system: busybox, rdma, kernel modules and the files to add.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

[ $# -ge 3 ] || die "usage: initramfs.sh OUTPUT RELEASE MODULES_DIR [HOSTPATH:GUESTPATH]..."
output=$1 release=$2 modules=$3
shift 3

# What the guest may load, with all that they depend on. Debug kernels have
# everything built in, and siw too, which Debian's kernels lack.
wanted_modules=(virtio_pci virtio_net rdma_rxe ib_uverbs rdma_ucm
	crc32_generic crc32c_generic veth dummy sch_netem)
tools=(ip rdma tc)

PATH=$PATH:/usr/sbin:/sbin
stage=$(mktemp -d)
# It becomes the root directory, which is everybody's.
chmod 755 "$stage"
trap 'rm -rf "$stage"' EXIT

mkdir -p "$stage"/usr/{bin,sbin,lib,lib64,local/lib} "$stage"/{dev,proc,sys,tmp,run,root,etc,kdapl}
for dir in bin sbin lib lib64; do
	ln -s "usr/$dir" "$stage/$dir"
done

# What these programs and libraries are linked with: add_libraries FILE... Libraries of
# the system keep their place, others go where the guest's LD_LIBRARY_PATH looks.
add_libraries() {
	local list path
	# Some are scripts, or static, which it takes for a failure.
	list=$(ldd "$@" 2>/dev/null) || :
	case $list in
	*'not found'*) die "a library is missing: $(grep -m 1 'not found' <<<"$list")" ;;
	esac
	while read -r path; do
		case $path in
		/lib/* | /lib64/* | /usr/lib/* | /usr/lib64/*)
			[ -e "$stage$path" ] || install -D "$path" "$stage$path"
			;;
		*) install -D "$path" "$stage/usr/local/lib/${path##*/}" ;;
		esac
	done < <(sed -nE 's/^(.* => |\t)(\/[^ ]*) \(.*/\2/p' <<<"$list" | sort -u)
}

add() {
	local from=$1 to=$stage/${2#/} files
	[ -e "$from" ] || die "$from does not exist"
	mkdir -p "$(dirname "$to")"
	cp -rLT "$from" "$to"
	mapfile -d '' files < <(find -L "$from" -type f \( -perm -u+x -o -name '*.so*' \) -print0)
	[ ${#files[@]} -eq 0 ] || add_libraries "${files[@]}"
}

add_tools() {
	local tool
	install "$(command -v busybox)" "$stage/bin/busybox"
	if ldd "$stage/bin/busybox" >/dev/null 2>&1; then
		die "busybox is not static: run tools/vm/deps.sh test"
	fi
	# busybox's own shell would prefer busybox's ip and tc to the real ones.
	add "$(command -v dash)" /bin/sh
	for tool in "${tools[@]}"; do
		add "$(command -v "$tool")" "/sbin/$tool"
	done
}

# Prints the path of each module to copy.
module_files() {
	local name
	for name in "${wanted_modules[@]}"; do
		modprobe -d "${modules%/lib/modules/*}/" -S "$release" --show-depends "$name" |
			sed -n 's/^insmod \([^ ]*\).*/\1/p'
	done | sort -u
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
