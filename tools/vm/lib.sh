# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Sourced by every script of the harness: messages, the cache, long commands, kernels.

# Do not pass the flags of a calling make (-s, -j) to the makes that we start.
unset MAKEFLAGS MFLAGS

# Results go to stdout, so messages go to stderr.
say() {
	printf '%s\n' "$*" >&2
}

# Exit status of a failure of the harness itself; boot.sh changes it.
die_status=1

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit "$die_status"
}

vm_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # for the scripts that source this file
top_dir=${vm_dir%/tools/vm}

cache_dir=${KDAPL_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kdapl}
mkdir -p "$cache_dir" || die "cannot create the cache $cache_dir; set KDAPL_CACHE"

# with_lock NAME COMMAND...: serialises runs that fill the same part of the cache
with_lock() {
	# The command sees local variables, so it must not use this name.
	local what_is_locked=$1
	shift
	(
		flock -n 9 || {
			say "waiting for another run that works on $what_is_locked"
			flock 9
		}
		"$@"
	) 9>"$cache_dir/.lock-$what_is_locked"
}

# free_port tcp|udp: prints an unused port of the loopback
free_port() {
	local port
	for ((port = 20000 + RANDOM % 10000; ; port++)); do
		grep -q ":$(printf '%04X' "$port") " "/proc/net/$1" || break
	done
	echo "$port"
}

# is_emulators LOG: did the guest panic because of a bug of QEMU? On a busy machine an emulated
# processor may execute a breakpoint of the kernel itself, which is changing a static key,
# after it was removed. The bytes in the log no longer show a breakpoint, cc.
is_emulators() {
	grep -qa 'Oops: int3: ' "$1" && ! grep -qaE 'Code: .*\bcc <' "$1"
}

# progress LABEL LOG COMMAND...: runs a long command with its output in a file. Reports
# progress every ten seconds and prints the end of the file if the command fails.
progress() {
	local label=$1 log=$2 start=$SECONDS pid rc=0
	shift 2
	say "$label ..."
	"$@" >"$log" 2>&1 </dev/null 9>&- &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		# tail exits with the command, timeout after ten seconds.
		timeout 10 tail -s 0.2 --pid="$pid" -f /dev/null && continue
		say "$label: $((SECONDS - start)) s, $(wc -l <"$log") lines:" \
			"$(tail -n 1 "$log" | cut -c 1-60)"
	done
	wait "$pid" || rc=$?
	if [ "$rc" -ne 0 ]; then
		tail -n 25 "$log" >&2
		say "$label: failed with status $rc after $((SECONDS - start)) s; all of it in $log"
	fi
	return "$rc"
}

# Runs a command as root. Fails without a message if that is impossible.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		# Without a terminal sudo must not ask for a password.
		if [ -t 0 ]; then sudo "$@"; else sudo -n "$@"; fi
	else
		return 1
	fi
}

# row NAME: prints the line of NAME in the file kernels, without the name. Fails if the
# file has no such line. KDAPL_NEW is a further line, for a kernel outside the file.
row() {
	awk -v name="$1" '$1 == name { $1 = ""; print; found = 1 } END { exit !found }' \
		"$vm_dir/kernels" <(echo "${KDAPL_NEW-}")
}

# kernels SET...: prints the names of the rows whose TEST is one of the sets
kernels() {
	awk -v wanted=" $* " '!/^#/ && NF >= 6 && index(wanted, " " $6 " ") { print $1 }' \
		"$vm_dir/kernels"
}

# ccache reuses objects and warnings of earlier builds, across clones. It compares paths, and
# kbuild uses absolute ones, so every clone is built at this path, in a mount namespace.
build_tree=$cache_dir/tree
compiler_cache=("CCACHE_DIR=$cache_dir/ccache" "CCACHE_BASEDIR=$top_dir" CCACHE_NOHASHDIR=1
	CCACHE_MAXSIZE=2G)

# in_root ROOT COMMAND...: runs COMMAND in that root directory, or in this one if ROOT is
# empty. The tree, the cache and /tmp have the same paths in both, and the tree is also at
# build_tree. Only root can do that: without root, and in this root directory, COMMAND works on
# the tree itself.
in_root() {
	local root=$1
	shift
	if [ -z "$root" ] && ! as_root true 2>/dev/null; then
		env "${compiler_cache[@]}" "${@//"$build_tree"/"$top_dir"}"
		return
	fi
	mkdir -p "$build_tree"
	as_root unshare -m "$vm_dir/enter.sh" "${root:-/}" "$(id -u):$(id -g)" \
		"$top_dir:$cache_dir:/tmp" "$top_dir" "$build_tree" \
		env "${compiler_cache[@]}" "$@"
}

# make_for WHERE ARGUMENT...: runs our Makefile for a kernel; WHERE is kernel.sh's output
make_for() {
	local where=$1 settings
	shift
	read -ra settings < <(field make <<<"$where") || :
	! command -v ccache >/dev/null || settings+=(KDAPL_CCACHE=ccache)
	settings+=("$@")
	in_root "$(field root <<<"$where")" make -s -j"$(nproc)" -C "$build_tree" \
		KDIR="$(field kdir <<<"$where")" "${settings[@]//"$top_dir"/"$build_tree"}"
}

# programs_for WHERE ARGUMENT...: as make_for, for programs. Programs of this machine's
# architecture are built in this root directory, for all kernels.
programs_for() {
	local where=$1 settings=()
	shift
	if [ -z "$(field guest <<<"$where")" ]; then
		! command -v ccache >/dev/null || settings=(KDAPL_CCACHE=ccache)
		env "${compiler_cache[@]}" make -s -j"$(nproc)" -C "$top_dir" \
			"${settings[@]}" "$@"
	else
		make_for "$where" KSELFTEST="$("$vm_dir/borrow.sh")" "$@"
	fi
}

# patches_of VERSION: prints the files of patches/ for every kernel and for this one
patches_of() {
	find "$vm_dir/patches" -maxdepth 1 -name '*.patch' | sort
	[ ! -d "$vm_dir/patches/$1" ] || find "$vm_dir/patches/$1" -name '*.patch' | sort
}

# field NAME: prints the value of NAME from the NAME=VALUE lines on standard input
field() {
	sed -n "s/^$1=//p"
}

# Variables for building modules for guests, which do not need debug information. On Linux
# 6.1 it takes a fifth of the build time. make passes the setting of ccache on to it: kbuild has
# gcc list the files that it reads, so ccache need not run the preprocessor, which takes a third
# of the time of a file that it does not have.
# shellcheck disable=SC2034 # for the scripts that source this file
for_guests=(KCFLAGS=-g0 CONFIG_DEBUG_INFO_BTF_MODULES= CCACHE_DEPEND=1)
# Comments are checked on the oldest and on the newest kernel only.
# shellcheck disable=SC2034
no_docs=cmd_checkdoc=

# checked_for NAME: sets checked: the same, with W=1, and warnings are errors. For the oldest and
# the newest kernel sparse reads every file before gcc does; KDAPL_READ=all lets it do so for all.
# What `make check` has built need not be built again for the guests.
checked_for() {
	checked=("${for_guests[@]}" KCFLAGS="-Werror -g0" W=1)
	if [ "${KDAPL_READ-}" = all ] ||
	   kernels full short build | sed -n '1p; $p' | grep -qxF "$1"; then
		checked+=(KDAPL_CC="$top_dir/tools/check/sparse-gcc")
	fi
}
