# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=sh
# Prints a dat.conf for libdat2: our provider and the other one, for the same device.

# libdat2 knows IAs by this alone. A program that does not ask for thread safety
# does not get what is thread safe.
ia=${DAT_TEST_IA:-rxe0}
for name in "$ia $ia" "kdat-$ia $ia" "kdat-none none0"; do
	for safety in threadsafe nonthreadsafe; do
		echo "${name% *} u2.0 $safety default" \
			"/selftests/dat2/lib/libdaplkdat.so.2 kdapl.2.0" \
			"\"${name#* }\" \"\""
	done
done
for safety in threadsafe nonthreadsafe; do
	echo "ofa-$ia u2.0 $safety default" \
		"/selftests/dat2/lib/libdaplofa.so.2 dapl.2.0 \"eth0 0\" \"\""
done
