#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Boots a kernel in QEMU, runs a script in it, and exits with the script's status.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage() {
	cat >&2 <<-EOT
	usage: boot.sh --kernel 6.1|6.12 [OPTION]... -- GUEST_SCRIPT [ARGUMENT]...
	  --debug                     the kernel with sanitizers
	  --rdma rxe|siw              the software device on eth0: rxe0, or siw0, which
	                              only debug kernels have; default rxe
	  --insmod FILE.ko            load this module before the script, repeatable
	  --add HOSTPATH:GUESTPATH    a file or directory for the guest, repeatable
	  --lib DIR                   where shared libraries of our own are, repeatable
	  --timeout SECONDS           default 600
	  --log FILE                  everything that kernel and script say;
	                              default build/vm/KERNEL.log
	  --dmesg                     show the kernel's messages from then on, too
	  --mem SIZE                  default 1024M, with --debug 2048M
	  --smp NUMBER                default 2
	  --icount                    a clock that counts instructions, one processor
	  --append PARAMETERS         for the kernel's command line
	exit status: the script's own; 124 out of time; 125 the kernel complained or
	something was left behind; 126 the harness itself failed
	EOT
	exit 126
}

die_status=126
kernel='' debug='' insmod=() add=() libs='' limit=600 log='' dmesg=''
mem='' smp=2 icount='' append='' rdma=rxe
while [ $# -gt 0 ]; do
	case $1 in
	--debug) debug=debug ;;
	--dmesg) dmesg=yes ;;
	--icount) icount=yes ;;
	--)
		shift
		break
		;;
	--*)
		[ $# -ge 2 ] || usage
		case $1 in
		--kernel) kernel=$2 ;;
		--rdma) rdma=$2 ;;
		--insmod) insmod+=("$2") ;;
		--add) add+=("$2") ;;
		--lib) libs=$libs${libs:+:}$2 ;;
		--timeout) limit=$2 ;;
		--log) log=$2 ;;
		--mem) mem=$2 ;;
		--smp) smp=$2 ;;
		--append) append=$2 ;;
		*) usage ;;
		esac
		shift
		;;
	*) break ;;
	esac
	shift
done
if [ -z "$kernel" ] || [ $# -eq 0 ]; then
	usage
fi
command -v qemu-system-x86_64 >/dev/null || die "qemu is missing: run tools/vm/deps.sh test"

where=$("$vm_dir/kernel.sh" "$kernel" ${debug:+"$debug"}) || die "no $kernel kernel"
setting() { sed -n "s/^$1=//p" <<<"$where"; }
image=$(setting image)

log=${log:-$top_dir/build/vm/$kernel${debug:+-debug}.log}
mkdir -p "$(dirname "$log")"
tmp=$(mktemp -d)
qemu_pid=
# shellcheck disable=SC2317 # called by the trap
cleanup() {
	[ -z "$qemu_pid" ] || kill "$qemu_pid" 2>/dev/null || :
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# The mark is different every time, so no program prints it by accident.
mark=@@$(tr -d - </proc/sys/kernel/random/uuid)

make_initramfs() {
	local file name names=() list=()
	for file in "${insmod[@]}"; do
		name=/kdapl/modules/${file##*/}
		names+=("$name")
		list+=("$file:$name")
	done
	printf 'export KDAPL_MARK=%s KDAPL_LIMIT=%s KDAPL_INSMOD="%s" KDAPL_RDMA=%s\n' \
		"$mark" "$limit" "${names[*]}" "$rdma" >"$tmp/settings"
	printf '#!/bin/sh\nexec %s\n' "/kdapl/script ${*@Q}" >"$tmp/run.sh"
	chmod +x "$tmp/run.sh"
	LD_LIBRARY_PATH=$libs "$vm_dir/initramfs.sh" "$tmp/initramfs" \
		"$(setting release)" "$(setting modules)" \
		"$tmp/settings:/kdapl/settings" "$tmp/run.sh:/kdapl/run.sh" \
		"$script:/kdapl/script" "${list[@]}" "${add[@]}"
}

script=$1
shift
[ -x "$script" ] || die "$script is not an executable file"
make_initramfs "$@" || die "cannot make the initramfs"

if [ -n "$icount" ]; then
	machine=(-accel 'tcg,thread=single' -icount 'shift=0,sleep=off' -smp 1 -cpu max)
elif [ "${KDAPL_ACCEL:-$("$vm_dir/accel.sh" "$image")}" = kvm ]; then
	machine=(-accel kvm -smp "$smp" -cpu host)
else
	machine=(-accel 'tcg,thread=multi' -smp "$smp" -cpu max)
fi
mem=${mem:-$([ -n "$debug" ] && echo 2048M || echo 1024M)}

parameters=(console=ttyS0 loglevel=7 printk.time=1 printk.devkmsg=on panic=-1 oops=panic
	mitigations=off random.trust_cpu=on)

# Both ports write into the log line by line; the script's lines also go to
# stdout, as they are.
mkfifo "$tmp/console" "$tmp/script"
: >"$log"
strip='s/\r$//'
sed -u "$strip" <"$tmp/console" |
	if [ -n "$dmesg" ]; then
		tee -a "$log" | sed -un "/^$mark start/,\$ { /^$mark/!p }"
	else
		cat >>"$log"
	fi &
readers=($!)
sed -u "$strip" <"$tmp/script" | tee -a "$log" | sed -u "/^$mark/d; s/$mark.*//" &
readers+=($!)

# restrict=on: the guest reaches nothing outside.
status=0
timeout --foreground -k 5 "$limit" qemu-system-x86_64 \
	-M q35 -nodefaults -no-user-config -display none -no-reboot -m "$mem" "${machine[@]}" \
	-kernel "$image" -initrd "$tmp/initramfs" \
	-append "${parameters[*]} $append" \
	-chardev "file,id=console,path=$tmp/console" -serial chardev:console \
	-chardev "file,id=script,path=$tmp/script" -serial chardev:script \
	-netdev user,id=net0,restrict=on,ipv6=off -device virtio-net-pci,netdev=net0,romfile= \
	</dev/null >"$tmp/qemu" 2>&1 &
qemu_pid=$!
wait "$qemu_pid" || status=$?
qemu_pid=
# A reader waits for a writer, and QEMU may have failed before it was one.
exec 8<>"$tmp/console" 9<>"$tmp/script"
exec 8>&- 9>&-
wait "${readers[@]}" || :

splat=0
"$vm_dir/splat.sh" "$log" >&2 || splat=1
guest_status=$(sed -n "s/^.*$mark exit //p" "$log")
case $status in
124 | 137)
	say "boot.sh: out of time after $limit s; the end of $log:"
	tail -n 30 "$log" >&2
	exit 124
	;;
esac
[ "$splat" -eq 0 ] || exit 125
if [ -z "$guest_status" ]; then
	tail -n 30 "$log" >&2
	cat "$tmp/qemu" >&2
	die "the guest ended without a result (QEMU's status: $status); everything in $log"
fi
grep -qa "$mark start" "$log" || die "the guest could not be set up; everything in $log"
if grep -qa "$mark leftovers" "$log"; then
	say "boot.sh: something was left behind; everything in $log"
	exit 125
fi
exit "$guest_status"
