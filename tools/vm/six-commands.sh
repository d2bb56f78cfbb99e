#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs the six commands of Documentation/libfabric.rst in a small Debian, as they are printed
# there, as an ordinary user: the first one, apt, in the root directory, the others after its
# boot. Prints TAP in the format of selftests/run.sh.
# six-commands.sh [--log FILE]: FILE is the guest's log, default build/vm/six-commands.log
# exit status: as that of packages.sh
# shellcheck disable=SC2317 # ok calls functions by name
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/packages-lib.sh"

log=$top_dir/build/vm/six-commands.log
[ "${1-}" != --log ] || log=$2
"$vm_dir/deps.sh" deb test
"$top_dir/tools/deb.sh" >&2
make_debian mpi

# An installed Debian has a user with sudo, and a host name that resolves.
in_it useradd -m -s /bin/bash alice
as_root sh -c "cd '$root/etc' && echo debian >hostname &&
	printf '127.0.0.1 localhost\n127.0.1.1 debian\n' >hosts &&
	echo 'alice ALL=(ALL) NOPASSWD: ALL' >sudoers.d/alice"
home=$root/home/alice
"$top_dir/tools/check/example.sh" mpi | sed ':a; /\\$/N; s/\\\n[ \t]*//; ta; /^$/d' >"$tmp/commands"
first=$(head -n 1 "$tmp/commands")
sed 1d "$tmp/commands" >"$tmp/others"
as_root cp "$tmp/others" "$home/commands"
as_root cp "$top_dir"/build/deb/*.deb "$home"
as_root cp "$top_dir/selftests/fi/mpi_traffic.c" "$home/program.c"
in_it chown -R alice: /home/alice

six_commands() { [ "$(wc -l <"$tmp/commands")" -eq 6 ]; }
# apt asks whether to go on.
run_first() { in_it su - alice -c "$first" <<<y; }

echo "# BEGIN six-commands"
ok six_commands six_commands
ok apt run_first
echo "1..$num"
echo "# END six-commands rc=$((failed > 0)) 0 s"
[ "$failed" -eq 0 ] || exit 1
in_it apt-get clean

echo "# BEGIN booted"
boot_it "$top_dir/selftests/packages/six_commands.sh"
echo "# END booted rc=$boot_status 0 s"
exit "$boot_status"
