#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds fabtests, the test programs of libfabric's authors, into the cache. Prints the
# directory of the programs.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# --built: does not build, prints nothing if the programs are not there
[ $# -eq 0 ] || [ "$*" = --built ] || die "usage: fabtests.sh [--built]"

# The mirror of Debian 12 may lack the source of its own libfabric.
suite=trixie
installed=$(dpkg-query -W -f '${Version}' libfabric-dev 2>/dev/null) || installed=
# The programs depend on the library of this machine and on how they were built.
id=$installed-$(cat "$0" "$vm_dir/fabtests.h" | sha256sum | cut -c 1-12)
dir=$cache_dir/fabtests/$id

# What config.h would define
flags=(-O2 -w -D_GNU_SOURCE -DHAVE_CLOCK_GETTIME=1 -DHAVE_EPOLL=1 -DHAVE___INT128=1
	'-DFT_FIVERSION=FI_VERSION(FI_MAJOR_VERSION,FI_MINOR_VERSION)'
	-Iinclude -Ibenchmarks -include "$vm_dir/fabtests.h")

# compile: in the directory of fabtests, writes the programs to bin
compile() {
	local file name
	: >config.h
	# This member is not in 1.17. With 64 buffers of 8 MiB a program does not fit into a guest.
	sed -i 's/attr->dmabuf = dmabuf;/;/' common/shared.c
	# A second after its control connection the client expects that the server listens.
	sed -i 's/^\t\tsleep(1);/\t\tAWAIT_LISTENER();/' common/shared.c
	sed -i 's/\.window_size = 64/.window_size = 8/' include/shared.h
	# It promises descriptors of its memory and has none: ofi_rxm crashes above any provider
	# that needs them.
	sed -i 's/ | FI_MR_LOCAL//' functional/rdm_stress.c
	mkdir -p obj bin
	for file in common/{shared,hmem,hmem_*,ofi_atomic}.c unit/common.c \
		benchmarks/benchmark_shared.c; do
		gcc "${flags[@]}" -c -o "obj/${file//\//_}.o" "$file" || return
	done
	ar rcs obj/lib.a obj/*.o
	for file in functional/*.c unit/{*_test,mr_cache_evict}.c benchmarks/*[!d].c; do
		name=${file##*/}
		gcc "${flags[@]}" -o "bin/fi_${name%.c}" "$file" obj/lib.a -lfabric -lpthread ||
			return
	done
	cp test_configs/rdm_stress/stress.json bin
}

build() {
	local tmp tarball
	[ ! -d "$dir" ] || return 0
	tarball=$("$vm_dir/archive.sh" "$suite" source get libfabric)
	tmp=$(mktemp -d "$cache_dir/fabtests/.build.XXXXXX")
	if ! tar -C "$tmp" --strip-components=2 --wildcards -xf "$tarball" '*/fabtests' ||
	   ! (cd "$tmp" && progress "compiling fabtests" "$cache_dir/fabtests/log" compile); then
		rm -rf "$tmp"
		die "cannot build fabtests"
	fi
	mv "$tmp/bin" "$dir"
	rm -rf "$tmp"
}

if [ $# -eq 0 ]; then
	[ -n "$installed" ] || die "libfabric-dev is not installed: run tools/vm/deps.sh test"
	mkdir -p "$cache_dir/fabtests"
	with_lock fabtests build
fi
[ ! -d "$dir" ] || printf '%s\n' "$dir"
