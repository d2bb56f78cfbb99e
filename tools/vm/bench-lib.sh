# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Sourced by the scripts that measure: builds the benchmarks and boots a guest for them.
# shellcheck disable=SC2154 # set by lib.sh; the caller sets tmp to a directory

# build_bench VERSION LOG
build_bench() {
	local where release
	where=$("$vm_dir/kernel.sh" "$1") || return
	release=$(field release <<<"$where")
	printf '%s\n' "$where" >"$tmp/$1.kernel"
	checked_for "$1"
	progress "building for $1" "$2" \
		make_for "$where" selftest-modules "${checked[@]}" "$no_docs" || return
	progress "building programs for $1" "$2.programs" \
		programs_for "$where" selftests || return
	mkdir "$tmp/$1"
	cp "$top_dir/build/$release/selftests/modules/kdapl_testlib.ko" \
		"$top_dir/build/$release/selftests/modules/kdapl_bench.ko" "$tmp/$1"
	mkdir "$tmp/$1/storage"
	storage_files "$where" "$tmp/$1/storage"
	cp "$top_dir/build/selftests/storage/target.sh" "$tmp/$1/storage"
}

# boot_bench VERSION OPTION... -- SCRIPT ARGUMENT...: boots a guest and runs SCRIPT in it
boot_bench() {
	local version=$1 release
	shift
	release=$(field release <"$tmp/$version.kernel")
	[ ! -e "$top_dir/build/selftests/fi/lib" ] ||
		set -- --add "$top_dir/build/selftests/fi/lib:/selftests/fi/lib" "$@"
	exec "$vm_dir/boot.sh" --kernel "$version" --mem 1536M \
		--insmod "$top_dir/build/$release/kdapl.ko" --lib "$top_dir/build/libdat" \
		--add "$top_dir/build/selftests/dat2:/selftests/dat2" \
		--add "$top_dir/build/selftests/bench:/selftests/bench" \
		--add "$tmp/$version:/selftests/modules" \
		--add "$tmp/$version/storage:/selftests/storage" "$@"
}
