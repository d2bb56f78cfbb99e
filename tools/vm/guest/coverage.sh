#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs after the modules are unloaded: sends their gcov counters to boot.sh, if requested.
gcov=/sys/kernel/debug/gcov
copy=/tmp/coverage

# The port of boot.sh on the PCI bus
port=
for dir in /sys/class/tty/ttyS*; do
	case $(readlink -f "$dir") in
	*/pci*) port=/dev/${dir##*/} ;;
	esac
done
if [ -z "$port" ] || [ ! -d $gcov ]; then
	exit 0
fi

# The gcov files report a size of 0, so copy them before tar reads them.
find $gcov -name '*.gcda' | while read -r file; do
	to=$copy${file#"$gcov"}
	mkdir -p "${to%/*}"
	cat "$file" >"$to"
done
[ -d $copy ] || exit 0
stty -F "$port" raw -echo
tar -C $copy -czf - . >"$port"
