#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Boots a kernel in QEMU, runs a script in it, and exits with the script's status.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage() {
	cat >&2 <<-EOT
	usage: boot.sh --kernel NAME [OPTION]... -- GUEST_SCRIPT [ARGUMENT]...
	  --debug                     the kernel with sanitizers
	  --kcsan                     the kernel that finds data races
	  --fuzz                      the kernel of datfuzz
	  --rdma rxe|siw              the software device on eth0: rxe0, or siw0, which
	                              only these three kernels have; default rxe
	  --insmod FILE.ko            load this module before the script, repeatable
	  --add HOSTPATH:GUESTPATH    a file or directory for the guest, repeatable
	  --module NAME               a module of the kernel that the script loads, repeatable
	  --tool NAME                 a program of this machine for the guest, repeatable
	  --lib DIR                   where shared libraries of our own are, repeatable
	  --env NAME=VALUE            for the script's environment, repeatable
	  --coverage FILE             what the profiled modules counted, as .tar.gz
	  --timeout SECONDS           default 600
	  --log FILE                  everything that kernel and script say;
	                              default build/vm/KERNEL.log
	  --dmesg                     show the kernel's messages from then on, too
	  --mem SIZE                  default 1024M, with one of these kernels 2048M
	  --smp NUMBER                default 2
	  --icount                    a clock that counts instructions, one processor
	  --append PARAMETERS         for the kernel's command line
	  --link listen:PORT|connect:PORT|udp:PORT:PEER
	                              eth0 is a link to another guest, by way of this
	                              TCP port of the loopback; connect waits for listen;
	                              udp: of its own UDP port and that of its peer, which
	                              may go and come back
	  --address A.B.C.D           of eth0, default 10.0.2.15
	  --disk FILE                 an ext4 image; its systemd runs the script
	  --pidfile FILE              where QEMU's process id goes
	  --monitor SOCKET            where QEMU's monitor listens
	exit status: the script's own; 123 with a link by TCP, the kernel did not come up, or
	QEMU broke it: its peer has to be booted again, too; 124 out of time; 125 the kernel
	complained or something was left behind; 126 the harness itself failed
	EOT
	exit 126
}

die_status=126
kernel='' debug='' insmod=() add=() libs='' limit=600 log='' dmesg=''
mem='' smp=2 icount='' append='' rdma=rxe link='' address=10.0.2.15 pidfile='' monitor=''
coverage='' disk='' settings=() modules='' tools=''
while [ $# -gt 0 ]; do
	case $1 in
	--debug | --kcsan | --fuzz) debug=${1#--} ;;
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
		--module) modules+=" $2" ;;
		--tool) tools+=" $2" ;;
		--lib) libs=$libs${libs:+:}$2 ;;
		--env) settings+=("$2") ;;
		--coverage) coverage=$2 ;;
		--timeout) limit=$2 ;;
		--log) log=$2 ;;
		--mem) mem=$2 ;;
		--smp) smp=$2 ;;
		--append) append=$2 ;;
		--link) link=$2 ;;
		--address) address=$2 ;;
		--disk) disk=$2 ;;
		--pidfile) pidfile=$2 ;;
		--monitor) monitor=$2 ;;
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
case $link in
'' | listen:* | connect:* | udp:*:*) ;;
*) usage ;;
esac
where=$("$vm_dir/kernel.sh" "$kernel" ${debug:+"$debug"}) || die "no $kernel kernel"
image=$(field image <<<"$where")
arch=$(field arch <<<"$where")

# The QEMU machine of the architecture, its console, and the script's port
case $arch in
amd64)
	qemu=qemu-system-x86_64 triplet=x86_64-linux-gnu type=q35 cpu=max
	console=ttyS0 port=ttyS1 script_port=(-serial chardev:script)
	;;
arm64)
	qemu=qemu-system-aarch64 triplet=aarch64-linux-gnu type=virt cpu=cortex-a76
	console=ttyAMA0 port=ttyS0 script_port=(-device "pci-serial,chardev=script")
	;;
*) die "boot.sh knows no machine for $arch" ;;
esac
command -v "$qemu" >/dev/null || die "$qemu is missing: run tools/vm/deps.sh test"

log=${log:-$top_dir/build/vm/$kernel${debug:+-$debug}.log}
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

# The mark is random, so that no program prints it by accident.
mark=@@$(tr -d - </proc/sys/kernel/random/uuid)

make_initramfs() {
	local file name guest names=() list=()
	for file in "${insmod[@]}"; do
		name=/kdapl/modules/${file##*/}
		names+=("$name")
		list+=("$file:$name")
	done
	printf 'export KDAPL_MARK=%s KDAPL_LIMIT=%s KDAPL_INSMOD="%s" KDAPL_RDMA=%s' \
		"$mark" "$limit" "${names[*]}" "$rdma" >"$tmp/settings"
	printf ' KDAPL_ADDRESS=%s KDAPL_PORT=%s KDAPL_DISK=%s\n' "$address" "$port" \
		"${disk:+yes}" >>"$tmp/settings"
	[ ${#settings[@]} -eq 0 ] ||
		printf 'export %s\n' "${settings[*]@Q}" >>"$tmp/settings"
	printf '#!/bin/sh\nexec %s\n' "/kdapl/script ${*@Q}" >"$tmp/run.sh"
	chmod +x "$tmp/run.sh"
	guest=$(field guest <<<"$where")
	[ -z "$disk" ] || modules+=' virtio_blk ext4'
	LD_LIBRARY_PATH=$libs "$vm_dir/initramfs.sh" ${guest:+--guest "$guest"} \
		--modules "$modules" --tools "$tools" "$tmp/initramfs" \
		"$(field release <<<"$where")" "$(field modules <<<"$where")" "$triplet" \
		"$tmp/settings:/kdapl/settings" "$tmp/run.sh:/kdapl/run.sh" \
		"$script:/kdapl/script" "${list[@]}" "${add[@]}"
}

script=$1
shift
[ -x "$script" ] || die "$script is not an executable file"
make_initramfs "$@" || die "cannot create the initramfs"

if [ -n "$icount" ]; then
	machine=(-accel 'tcg,thread=single' -icount 'shift=0,sleep=off' -smp 1 -cpu "$cpu")
elif [ "$arch" = "$(dpkg --print-architecture)" ] &&
     [ "${KDAPL_ACCEL:-$("$vm_dir/accel.sh" "$image")}" = kvm ]; then
	machine=(-accel kvm -smp "$smp" -cpu host)
else
	machine=(-accel 'tcg,thread=multi' -smp "$smp" -cpu "$cpu")
fi
mem=${mem:-$([ -n "$debug" ] && echo 2048M || echo 1024M)}

# QEMU does not retry a failed connect. A listening QEMU accepts one peer only, so look
# in /proc/net/tcp instead of connecting.
is_listening() {
	grep -q "^ *[0-9]*: 0100007F:$(printf '%04X' "$1") .* 0A " /proc/net/tcp
}

nic=virtio-net-pci,netdev=net0,romfile=
case $link in
'')
	# restrict=on: the guest cannot reach any host.
	netdev=user,id=net0,restrict=on,ipv6=off
	;;
*)
	IFS=: read -r kind own peer <<<"$link"
	netdev=socket,id=net0,$kind=127.0.0.1:${peer:-$own}${peer:+,localaddr=127.0.0.1:$own}
	# Without mac= every QEMU uses the same MAC. The MTU allows rxe's largest packets,
	# which are the fastest.
	nic=$nic,host_mtu=9000,mac=$(printf '52:54:00:12:34:%02x' "${address##*.}")
	;;
esac

parameters=("console=$console" loglevel=7 printk.time=1 printk.devkmsg=on panic=-1 oops=panic
	mitigations=off random.trust_cpu=on)

# The ports are on the PCI bus: a third port on the ISA bus would share its interrupt with
# the console.
ports=()
if [ -n "$coverage" ]; then
	rm -f "$coverage"
	ports=(-chardev "file,id=coverage,path=$coverage" -device 'pci-serial,chardev=coverage')
fi
strip='s/\r$//'

# Seconds until init runs. A guest that needs more hangs: on 6.1 the emulator has stayed in one
# function of an idle processor for ever.
if [ -z "$debug$icount" ]; then boot_limit=120; else boot_limit=300; fi

has_init() {
	grep -qa 'Run /init as init process' "$log"
}

# watch_boot PID: ends QEMU if init does not run in time
watch_boot() {
	local end=$((SECONDS + boot_limit))
	while kill -0 "$1" 2>/dev/null && ! has_init; do
		if [ "$SECONDS" -ge "$end" ]; then
			: >"$tmp/hung"
			kill "$1" 2>/dev/null || :
			return
		fi
		sleep 1
	done
}

# Both ports write into the log line by line. The script's lines also go to stdout,
# unchanged. Sets status and readers.
run_qemu() {
	rm -f "$tmp/console" "$tmp/script"
	mkfifo "$tmp/console" "$tmp/script"
	: >"$log"
	rm -f "$tmp/hung"
	sed -u "$strip" <"$tmp/console" |
		if [ -n "$dmesg" ]; then
			tee -a "$log" | sed -un "/^$mark start/,\$ { /^$mark/!p }"
		else
			cat >>"$log"
		fi &
	readers=($!)
	sed -u "$strip" <"$tmp/script" | tee -a "$log" | sed -u "/^$mark/d; s/$mark.*//" &
	readers+=($!)

	status=0
	began=$SECONDS
	timeout --foreground -k 5 "$limit" "$qemu" \
		-M "$type" -nodefaults -no-user-config -display none -no-reboot -m "$mem" \
		"${machine[@]}" \
		-kernel "$image" -initrd "$tmp/initramfs" \
		-append "${parameters[*]} $append" \
		-chardev "file,id=console,path=$tmp/console" -serial chardev:console \
		-chardev "file,id=script,path=$tmp/script" "${script_port[@]}" \
		"${ports[@]}" ${disk:+-drive "file=$disk,format=raw,if=virtio"} \
		-netdev "$netdev" -device "$nic" ${pidfile:+-pidfile "$pidfile"} \
		${monitor:+-monitor "unix:$monitor,server=on,wait=off"} \
		</dev/null >"$tmp/qemu" 2>&1 &
	qemu_pid=$!
	watch_boot "$qemu_pid" &
	# bash prints a message about a killed process.
	wait "$qemu_pid" 2>/dev/null || status=$?
	qemu_pid=
	wait $! || :
	# A reader waits for a writer. QEMU may have failed before it opened the pipes.
	exec 8<>"$tmp/console" 9<>"$tmp/script"
	exec 8>&- 9>&-
	wait "${readers[@]}" || :
}

if [ "${link%%:*}" = connect ]; then
	for ((tries = 600; tries > 0; tries--)); do
		! is_listening "${link#*:}" || break
		sleep 0.1
	done
	[ "$tries" -gt 0 ] || die "the other guest does not listen on the link"
fi

# About one in a hundred boots of 6.12 without KVM panics early, and more on a busy
# machine: a processor takes an interrupt before it is ready, or as in is_emulators().
# Others hang, or the machine resets and QEMU ends. kdapl has not run by then.
is_stillborn() {
	[ -e "$tmp/hung" ] || { [ "$status" -eq 0 ] && ! has_init; }
}

is_by_tcp() {
	[ -n "$link" ] && [ "${link%%:*}" != udp ]
}

for try in 1 2; do
	run_qemu
	if [ "$try" -eq 2 ] || ! is_stillborn; then
		break
	fi
	mv "$log" "$log.panic"
	! is_by_tcp || exit 123
	say "boot.sh: the kernel died before init, see $log.panic; starting it again"
done

if is_by_tcp && is_emulators "$log"; then
	mv "$log" "$log.panic"
	exit 123
fi
splat=0
"$vm_dir/splat.sh" "$log" >&2 || splat=$?
# judge.sh reports what is known.
[ "$splat" -ne 4 ] || splat=0
guest_status=$(sed -n "s/^.*$mark exit //p" "$log")
case $status in
124 | 137)
	# Before the limit, timeout(1) has not sent this SIGKILL.
	[ "$status" = 124 ] || [ $((SECONDS - began)) -ge "$limit" ] || {
		[ "$splat" -eq 0 ] || exit 125
		die "QEMU was killed before its time limit; the log is $log"
	}
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
