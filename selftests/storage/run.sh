#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs the tests of kdapl_srp in the guest, against the kernel's own target, and prints TAP.
# Tests that are named run alone; KDAPL_THOROUGH=1 runs the long form.
# shellcheck disable=SC2317 # check() calls the tests
# With KDAPL_TARGET, the address of another guest, the target is there: target_guest.sh runs
# it, and tools/vm/target-death.sh kills the guest when a line "ready" asks for it.
dir=/selftests/storage
add=/sys/class/kdapl_srp/initiator/add_target
ia=${DAT_TEST_IA:-rxe0}
ipv4=${KDAPL_ADDRESS:-10.0.2.15}
case $ia in
# ib_srpt listens on ::, and on iWARP such a listener takes no connections of IPv4.
siw*)
	address=fd00:0000:0000:0000:0000:0000:0000:0015
	dest='[fd00::15]'
	;;
*)
	address=$ipv4
	dest=$address
	;;
esac

# shellcheck source=SCRIPTDIR/../../tools/vm/guest/await.sh
. /kdapl/await.sh

# Mebibytes that a test writes, and KiB where each block is waited for; less with sanitizers
mb=24 kb=2048
[ ! -e /sys/kernel/debug/kmemleak ] || mb=6 kb=256

num=0 failed=0

# check NAME: runs the function of this name as a test
check() {
	case " $only " in
	'  ' | *" $1 "*) ;;
	*) return ;;
	esac
	num=$((num + 1))
	echo "#  RUN           storage.$1 ..."
	# In a condition, set -e would mean nothing.
	(set -e; "$1") >/tmp/said 2>&1
	# shellcheck disable=SC2181 # the status of that
	if [ $? -eq 0 ]; then
		echo "ok $num storage.$1"
	else
		sed 's/^/# /' /tmp/said
		dmesg | tail -n 15 | sed 's/^/# dmesg: /'
		echo "not ok $num storage.$1"
		failed=1
		# The next test begins without a host.
		killall fake_target 2>/dev/null
		umount /mnt 2>/dev/null
		for port in $(rport); do
			echo 1 >"$port/delete"
		done
		await 300 has_no_host
	fi
}

# skip NAME REASON: counts a test that cannot run here
skip() {
	case " $only " in
	'  ' | *" $1 "*) ;;
	*) return ;;
	esac
	num=$((num + 1))
	echo "ok $num storage.$1 # SKIP $2"
}

# disk LUN: prints the name of the disk of kdapl_srp with this LUN
disk() {
	for sd in /sys/class/scsi_disk/*:"$1"/device/block/sd*; do
		host=${sd#/sys/class/scsi_disk/}
		host=${host%%:*}
		[ "$(cat "/sys/class/scsi_host/host$host/proc_name")" = kdapl_srp ] || continue
		echo "/dev/${sd##*/}"
		return
	done
	return 1
}

host() {
	for h in /sys/class/scsi_host/host*; do
		[ "$(cat "$h/proc_name" 2>/dev/null)" != kdapl_srp ] || echo "$h"
	done
}

rport() {
	ls -d /sys/class/srp_remote_ports/port-* 2>/dev/null
}

has_disks() {
	disk 0 >/dev/null && disk 1 >/dev/null && [ -b "$(disk 0)" ] && [ -b "$(disk 1)" ]
}

has_no_host() {
	[ -z "$(host)" ]
}

connect() {
	case ${KDAPL_TARGET-}$ia in
	# siw gives up an attempt to connect after 5 s, which a busy machine may need. A target in
	# another guest may still be booting.
	*siw* | [0-9]*) await 300 add_target "$options,ia=$ia${1:+,$1}" ;;
	*) add_target "$options,ia=$ia${1:+,$1}" ;;
	esac
	await 300 has_disks
}

disconnect() {
	echo 1 >"$(rport)/delete"
	await 300 has_no_host
}

is_blocked() {
	[ "$(cat "$(rport)/state")" != running ]
}

# write_until_death: begins to write, and has the guest of the target killed. The write goes
# on in the background, as $writer.
write_until_death() {
	d=$(disk 0)
	# Seconds until a command without answer is aborted
	echo 3 >"/sys/block/${d#/dev/}/device/timeout"
	head -c "$((mb << 20))" /dev/urandom >/tmp/data
	dd if=/tmp/data of="$d" bs=16384 oflag=direct 2>/tmp/dd &
	writer=$!
	before=$(writes)
	await 300 has_written
	echo '# ready: kill the target' >&3
	await 600 is_blocked
}

# The write waits for a target that comes back. Its RAM disk is a new one.
target_dies_and_comes_back() {
	connect
	echo 1 >"$(rport)/reconnect_delay"
	echo 600 >"$(rport)/dev_loss_tmo"
	echo off >"$(rport)/fast_io_fail_tmo"
	write_until_death
	echo '# gone: boot the target' >&3
	await 900 is_running
	wait "$writer"
	rm /tmp/data
	copy "$(disk 0)" 65536 64
	disconnect
}

# The host of a dead target can be removed before dev_loss_tmo, whatever the error handler waits
# for.
host_of_dead_target_is_removed() {
	connect
	echo 600 >"$(rport)/dev_loss_tmo"
	echo off >"$(rport)/fast_io_fail_tmo"
	dmesg -c >/dev/null
	write_until_death
	# The error handler resets the host.
	await 300 is_reset
	echo 1 >"$(rport)/delete"
	await 300 has_no_host
	refused wait "$writer"
	rm /tmp/data
	echo '# gone: boot the target' >&3
}

is_reset() {
	dmesg | grep -q 'host reset'
}

# The write fails, the host is removed, and nothing is left.
target_dies_for_good() {
	connect
	echo 1 >"$(rport)/fast_io_fail_tmo"
	echo 3 >"$(rport)/dev_loss_tmo"
	write_until_death
	refused wait "$writer"
	await 600 has_no_host
	rm /tmp/data
}

# refused COMMAND...: succeeds if the command fails; set -e does not see `!`
refused() {
	if "$@" >/dev/null 2>&1; then
		echo "not refused: $*"
		return 1
	fi
}

add_target() {
	echo "$1" >"$add"
}

# refuses OPTIONS: add_target fails, and leaves no host
refuses() {
	refused add_target "$1"
	has_no_host
}

# The commands of Documentation/storage.rst, with the target not set up before
manual_is_right() {
	"$dir/target.sh" --stop
	# shellcheck disable=SC1091 # made from the manual
	. "$dir/guide"
	await 300 disk 0
	disconnect
	cd /
	"$dir/target.sh" --stop
	"$dir/target.sh" "$address" "$ia" >/dev/null
}

bad_options_are_refused() {
	refuses "$options"
	refuses "$options,ia=$ia,nonsense=1"
	refuses "$options,ia=none"
	refuses "$options,ia=$ia,max_sect=0"
	refuses "$options,ia=$ia,queue_size=999999999999"
	refuses "id_ext=zz,ioc_guid=1,dest=$dest:7000,ia=$ia"
	refuses "id_ext=1,ioc_guid=1,dest=$dest,ia=$ia"
	refuses "id_ext=1,ioc_guid=1,dest=$dest:0,ia=$ia"
	refuses ''
}

login_is_refused() {
	# No such target port; a port without a listener
	refuses "id_ext=1,ioc_guid=1,dest=$dest:7000,ia=$ia"
	dmesg | grep -q 'login refused, reason 0x10003: no such target port'
	refuses "${options%:*}:7001,ia=$ia"
}

login_and_removal() {
	connect
	[ "$(cat "$(rport)/state")" = running ]
	grep -qF "$dest:7000" "$(host)/dest"
	refused add_target "$options,ia=$ia"
	disconnect
}

inquiry_and_capacity() {
	connect
	sg_inq "$(disk 0)" >/tmp/inquiry
	grep -q 'Vendor identification: LIO-ORG' /tmp/inquiry
	sg_readcap --16 "$(disk 0)" | grep -q 'Device size: 67108864 bytes'
	# A page that does not exist: sense data
	refused sg_inq --page=0x55 "$(disk 0)"
	disconnect
}

# copy DISK BLOCK COUNT: writes random data through, reads it back
copy() {
	head -c "$(($2 * $3))" /dev/urandom >/tmp/data
	dd if=/tmp/data of="$1" bs="$2" oflag=direct 2>/dev/null
	dd if="$1" of=/tmp/back bs="$2" count="$3" iflag=direct 2>/dev/null
	cmp /tmp/data /tmp/back
	rm /tmp/data /tmp/back
}

data_of_every_size() {
	connect
	for size in 512 4096 5120 65536 1048576 4194304; do
		copy "$(disk 0)" "$size" 3
	done
	disconnect
}

# A command that is longer than an LMR takes several, and an indirect descriptor.
several_descriptors() {
	rmmod kdapl_srp
	insmod "$dir/kdapl_srp.ko" lmr_pages=32
	connect max_sect=2048
	grep -q '^9 of 32 pages' "$(host)/descriptors"
	copy "$(disk 0)" 1048576 8
	copy "$(disk 0)" 66048 8
	disconnect
	rmmod kdapl_srp
	insmod "$dir/kdapl_srp.ko"
}

# tree DIRECTORY: files of many sizes and a list of their checksums
tree() {
	mkdir "$1/tree"
	size=1
	for number in $(seq 1 24); do
		head -c "$size" /dev/urandom >"$1/tree/$number"
		size=$((size * 17 / 10 + 1))
	done
	(cd "$1/tree" && sha256sum ./[0-9]* >list)
}

# file_system DISK MKFS FSCK TYPE: files survive that the file system is mounted again
file_system() {
	mkdir -p /mnt
	$2 "$1" >/dev/null 2>&1
	mount -t "$4" "$1" /mnt
	tree /mnt
	umount /mnt
	$3 "$1" >/dev/null 2>&1
	mount -t "$4" "$1" /mnt
	(cd /mnt/tree && sha256sum -c list >/dev/null)
	# Not while it is in use
	refused rmmod kdapl_srp
	umount /mnt
}

ext4_keeps_files() {
	connect
	file_system "$(disk 0)" 'mkfs.ext4 -q -F' 'fsck.ext4 -f -n' ext4
	disconnect
}

# LUN 1 takes FUA, which the log of xfs asks for.
xfs_keeps_files() {
	connect
	file_system "$(disk 1)" 'mkfs.xfs -q -f' 'xfs_repair -n' xfs
	disconnect
}

discard_and_write_zeroes() {
	connect
	copy "$(disk 1)" 65536 16
	blkdiscard -o 0 -l 524288 "$(disk 1)"
	blkdiscard -z -o 524288 -l 524288 "$(disk 1)"
	dd if="$(disk 1)" of=/tmp/back bs=65536 count=16 iflag=direct 2>/dev/null
	head -c 1048576 /dev/zero | cmp - /tmp/back
	rm /tmp/back
	disconnect
}

# verify OPTION...: fio writes, reads back and compares
verify() {
	fio --name=verify --filename="$(disk 0)" --rw=randrw --verify=crc32c --verify_fatal=1 \
		--thread --group_reporting "$@" >/tmp/fio 2>&1 || {
		cat /tmp/fio
		return 1
	}
}

fio_verifies() {
	connect
	verify --ioengine=libaio --direct=1 --bsrange=4k-1m --iodepth=32 --numjobs=4 \
		--size="$((mb / 3))m" --offset_increment=8m
	verify --ioengine=psync --direct=0 --bsrange=4k-1m --numjobs=2 \
		--size="$((mb / 3))m" --offset_increment=8m --fsync=8
	disconnect
}

polled_queues() {
	rmmod kdapl_srp
	insmod "$dir/kdapl_srp.ko" ch_count=1 poll_queues=1
	connect
	verify --ioengine=pvsync2 --hipri --direct=1 --bs=4k --size="${kb}k"
	disconnect
	rmmod kdapl_srp
	insmod "$dir/kdapl_srp.ko"
}

is_running() {
	[ "$(cat "$(rport)/state")" = running ]
}

# write_during COMMAND...: while the disk is written, something happens. The write ends
# well, and the disk has what was written.
write_during() {
	connect
	echo 1 >"$(rport)/reconnect_delay"
	head -c "$((mb << 20))" /dev/urandom >/tmp/data
	dd if=/tmp/data of="$(disk 0)" bs=65536 oflag=direct 2>/tmp/dd &
	writer=$!
	before=$(writes)
	await 300 has_written
	"$@"
	await 600 is_running
	wait "$writer"
	dd if="$(disk 0)" of=/tmp/back bs=1048576 count="$mb" iflag=direct 2>/dev/null
	cmp /tmp/data /tmp/back
	rm /tmp/data /tmp/back
	disconnect
}

writes() {
	d=$(disk 0)
	awk '{ print $5 }' "/sys/block/${d#/dev/}/stat"
}

has_written() {
	[ "$(writes)" -gt "$((before + 8))" ]
}

remove_and_add_link() {
	"$dir/target.sh" --withdraw
	rdma link delete "$ia"
	rdma link add "$ia" type "${ia%0}" netdev eth0
	await 300 link_is_active
	"$dir/target.sh" "$address" "$ia" >/dev/null
}

link_goes_and_comes() {
	write_during remove_and_add_link
}

enable_again() {
	for file in /sys/kernel/config/target/srpt/*:*/*:*/enable; do
		echo 0 >"$file"
		echo 1 >"$file"
	done
}

target_ends_connections() {
	write_during enable_again
}

reset_lun() {
	sg_reset --device "$(disk 0)"
}

lun_is_reset() {
	write_during reset_lun
}

reset_host() {
	sg_reset --host "$(disk 0)"
}

host_is_reset() {
	write_during reset_host
}

link_is_active() {
	rdma link show "$ia/1" | grep -q ACTIVE
}

# lie BEHAVIOUR: connects to a target that behaves so, and waits until both are done with
# each other. The output of the target is in /tmp/fake, messages of the kernel since then in
# /tmp/messages, the number of devices that were found in $devices.
lie() {
	dmesg -c >/dev/null
	# The port of a connection that has just ended is still in use.
	echo . >>/tmp/lies
	port=$((7100 + $(wc -l </tmp/lies)))
	: >/tmp/fake
	"$dir/fake_target" "$ia" "$port" "$1" >>/tmp/fake 2>&1 &
	fake=$!
	await 300 said_something
	grep -q ready /tmp/fake
	added=yes
	add_target "id_ext=1,ioc_guid=2,dest=$ipv4:$port,ia=$ia,ch_count=1" || added=no
	devices=$(find /sys/class/scsi_device/ -mindepth 1 | wc -l)
	for port in $(rport); do
		echo 1 >"$port/delete" || :
	done
	await 300 has_no_host
	wait "$fake" || added=
	dmesg >/tmp/messages
	echo "$1: added: $added, devices: $devices"
	sort -u /tmp/fake
	[ -n "$added" ]
}

# lie_says BEHAVIOUR TEXT: a message of the kernel has the text
lie_says() {
	lie "$1"
	grep -q "$2" /tmp/messages
}

said_something() {
	[ -s /tmp/fake ]
}

# These logins must fail.
lying_logins() {
	for how in no_credits negative_credits short_ius long_ius login_opcode login_short; do
		lie "$how"
		[ "$added" = no ]
	done
}

# The initiator ends the connection.
lies_that_end_connections() {
	for how in short_response residual sense takes_credits opcode empty; do
		lie_says "$how" 'the target violates the protocol'
		grep -q 'the connection is lost' /tmp/messages
		[ "$devices" -eq 0 ]
	done
	lie_says logout 'the target has logged out'
	lie_says vanishes 'the connection is lost'
	# During the login or after it
	lie hangs_up
}

# The initiator goes on: it finds the devices that a target without lies has.
lies_without_effect() {
	lie_says wrong_tag 'kdapl_srp: no command has the tag'
	[ "$devices" -gt 0 ]
	lie_says credits 'kdapl_srp: the target gives'
	[ "$devices" -gt 0 ]
	for how in honest twice asks event; do
		lie "$how"
		[ "$devices" -gt 0 ]
	done
	# More requests than answers: either outcome
	lie flood
}

# A command that the target could not execute has failed, although its status is GOOD.
response_code_is_an_error() {
	lie code
	[ "$devices" -eq 0 ]
}

target_asks_for_credits() {
	lie asks
	grep -q 'answer 0x41' /tmp/fake
	lie event
	grep -q 'answer 0x42' /tmp/fake
}

# When SCSI has a command back, the target cannot reach its memory.
no_page_stays_open() {
	case $ia in
	# On iWARP a Write completes before the peer refuses it. The refusal ends the connection.
	siw*)
		lie writes_late || grep -q 'late write: status 0' /tmp/fake
		grep -q 'the connection is lost' /tmp/messages
		;;
	*)
		lie writes_late
		grep -q 'late write: status [^0]' /tmp/fake
		;;
	esac
}

silent_target_is_aborted() {
	lie silent
	grep -q 'task management 0x1' /tmp/fake
}

# add_failing NUMBER OPTIONS: adds a target while this allocation of the task fails. /tmp/left
# has the status, and what fail-nth counts then: 0 if an allocation has failed. `echo` and
# `read` are the task.
add_failing() {
	(
		echo "$1" >/proc/self/fail-nth
		echo "$2" >"$add" && rc=0 || rc=1
		read -r left </proc/self/fail-nth
		echo 0 >/proc/self/fail-nth
		echo "$rc ${left:-0}" >/tmp/left
	) 2>/dev/null
}

# Each allocation of add_target fails once.
allocations_fail() {
	nth=1
	one=$options,ia=$ia,ch_count=1,queue_size=1,max_sect=8
	while :; do
		echo '1 0' >/tmp/left
		add_failing "$nth" "$one" || :
		read -r rc left </tmp/left
		if [ -n "$(host)" ]; then
			await 300 rport
			disconnect
		fi
		[ "$rc" -ne 0 ] || [ "$left" -eq 0 ] || break
		nth=$((nth + 1))
	done
	echo "$nth allocations"
	[ "$nth" -gt 30 ]
}

# Nothing of kdapl is in use any more.
unload() {
	has_no_host
	rmmod kdapl_srp
	[ "$(cat /sys/module/kdapl/refcnt)" -eq 0 ]
}

only="$*"
exec 3>&1
for module in sd_mod scsi_transport_srp target_core_mod target_core_file ib_srpt ext4 xfs; do
	[ ! -d "/lib/modules/$(uname -r)" ] || modprobe "$module"
done
case $address in
*:*)
	ip addr add "$address/64" dev eth0 nodad
	await 300 ip route get "$address"
	;;
esac
[ ! -f "$dir/ib_srpt.ko" ] || insmod "$dir/ib_srpt.ko"
if [ -n "${KDAPL_TARGET-}" ]; then
	# The target's GUID comes from its MAC, which ends with the last byte of its address.
	guid=$(printf '505400fffe1234%02x' "${KDAPL_TARGET##*.}")
	options=id_ext=$guid,ioc_guid=$guid,dest=$KDAPL_TARGET:7000
	insmod "$dir/kdapl_srp.ko" || exit 1
	# Only when the target is there does a login succeed.
	check target_dies_and_comes_back
	check host_of_dead_target_is_removed
	check target_dies_for_good
	check unload
	echo "1..$num"
	exit $failed
fi
options=$("$dir/target.sh" "$address" "$ia") || echo "# no target"
options=${options%dest=*}dest=$dest:7000
insmod "$dir/kdapl_srp.ko" || exit 1

check bad_options_are_refused
check login_is_refused
[ ! -d "/lib/modules/$(uname -r)" ] || check manual_is_right
check login_and_removal
check inquiry_and_capacity
check data_of_every_size
check several_descriptors
check ext4_keeps_files
[ ! -d "/lib/modules/$(uname -r)" ] || check xfs_keeps_files
check discard_and_write_zeroes
check fio_verifies
check polled_queues
check target_ends_connections
check lun_is_reset
check host_is_reset
case $ia in
# ib_srpt waits for ever for a request that siw neither executes nor flushes.
siw*) skip link_goes_and_comes 'ib_srpt hangs on siw' ;;
*) check link_goes_and_comes ;;
esac
[ -z "${KDAPL_THOROUGH-}" ] || [ ! -e /proc/self/fail-nth ] || check allocations_fail
rmmod kdapl_srp && insmod "$dir/kdapl_srp.ko" reconnect_delay=off fast_io_fail_tmo=1 dev_loss_tmo=2
check lying_logins
check lies_that_end_connections
check lies_without_effect
check response_code_is_an_error
check target_asks_for_credits
check no_page_stays_open
check silent_target_is_aborted
check unload
"$dir/target.sh" --stop
# It holds its channels a moment longer.
await 300 rmmod ib_srpt || failed=1
echo "1..$num"
exit $failed
