#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Sets up the kernel's own SRP target on an RDMA device, with a RAM disk as LUN 0 and a
# file as LUN 1, and prints the options that add_target needs to reach it. --withdraw
# takes the disks from the device, but keeps them; --stop also removes them. An IPv6
# address is given with all its digits, because ib_srpt compares that form.
usage='usage: target.sh ADDRESS [DEVICE] | target.sh --withdraw | target.sh --stop'
set -eu

port=7000 ram_size=$((64 << 20)) file_size=$((320 << 20)) file=/tmp/srp.file
target=/sys/kernel/config/target
core=$target/core

withdraw() {
	for tpg in "$target"/srpt/*:*/*:*; do
		[ -d "$tpg" ] || continue
		echo 0 >"$tpg/enable"
		for link in "$tpg"/acls/*/lun_*/* "$tpg"/lun/lun_*/*; do
			[ ! -L "$link" ] || rm "$link"
		done
		rmdir "$tpg"/acls/*/lun_* "$tpg"/acls/* "$tpg"/lun/lun_* "$tpg" "${tpg%/*}"
	done
}

stop() {
	withdraw
	for disk in "$core"/*_0/*/enable; do
		[ ! -e "$disk" ] || rmdir "${disk%/*}" "${disk%/*/*}"
	done
	# As long as it is there, ib_srpt is in use.
	[ ! -d "$target/srpt" ] || rmdir "$target/srpt"
	rm -f "$file"
}

# lun NUMBER BACKSTORE TPG: makes a backstore a LUN
lun() {
	mkdir "$3/lun/lun_$1"
	ln -s "$core/$2" "$3/lun/lun_$1/${2##*/}"
}

# allow NAME TPG: lets initiators log in whose requests arrive at this address: ib_srpt names
# a session by it (srpt_rdma_cm_req_recv(): the source address of the passive side).
allow() {
	mkdir "$2/acls/$1"
	for number in 0 1; do
		mkdir "$2/acls/$1/lun_$number"
		ln -s "$2/lun/lun_$number" "$2/acls/$1/lun_$number/lun_$number"
	done
}

case ${1-} in
--stop | --withdraw)
	"${1#--}"
	exit
	;;
esac
address=${1:?$usage} device=${2:-rxe0}

backstores() {
	mkdir -p "$core/rd_mcp_0/ram" "$core/fileio_0/file"
	echo "rd_pages=$((ram_size / $(getconf PAGESIZE)))" >"$core/rd_mcp_0/ram/control"
	echo 1 >"$core/rd_mcp_0/ram/enable"
	echo "fd_dev_name=$file,fd_dev_size=$file_size" >"$core/fileio_0/file/control"
	echo 1 >"$core/fileio_0/file/enable"
	for flag in emulate_tpu emulate_tpws emulate_write_cache emulate_fua_write; do
		echo 1 >"$core/fileio_0/file/attrib/$flag"
	done
}

[ -d "$target" ] || mount -t configfs none /sys/kernel/config
[ -d "$core/rd_mcp_0/ram" ] || backstores

# The target is named by the second half of the port's first GID.
name=$(cut -d: -f5-8 "/sys/class/infiniband/$device/ports/1/gids/0")
mkdir -p "$target/srpt/$name/$name"
tpg=$target/srpt/$name/$name
lun 0 rd_mcp_0/ram "$tpg"
lun 1 fileio_0/file "$tpg"
allow "$address" "$tpg"
echo "$port" >"$target/srpt/discovery_auth/rdma_cm_port"
echo 1 >"$tpg/enable"

guid=$(cat /sys/module/ib_srpt/parameters/srpt_service_guid)
case $address in
*:*) dest=[$address] ;;
*) dest=$address ;;
esac
echo "id_ext=${guid#0x},ioc_guid=${guid#0x},dest=$dest:$port"
