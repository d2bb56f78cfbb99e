#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Queries and downloads packages of other Debian suites and architectures. It keeps its
# own apt lists in the cache, refreshes them daily, and leaves the machine's lists alone.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage() {
	cat >&2 <<-EOT
	usage: archive.sh --mirror
	       archive.sh SUITE ARCH names REGEX       names of packages, in order of version
	       archive.sh SUITE ARCH depends PACKAGE   what it depends on, a line each
	       archive.sh SUITE ARCH version PACKAGE   the candidate version
	       archive.sh SUITE ARCH get PACKAGE...    paths of their files, downloaded
	ARCH source means source packages: get downloads the tarball of the authors alone.
	EOT
	exit 2
}

# The mirror of Debian's main archive in this machine's apt configuration
mirror() {
	local found
	# shellcheck disable=SC2016 # apt expands the names
	found=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(SUITE) $(CODENAME)' \
		'Created-By: Packages' | awk '$2 == "Debian" && $NF !~ /-/ { print $1; exit }')
	[ -n "$found" ] || die "apt does not say where this machine takes Debian from"
	echo "$found"
}

[ "${1-}" != --mirror ] || {
	mirror
	exit
}
[ $# -ge 4 ] || usage
suite=$1 arch=$2 what=$3
shift 3
state=$cache_dir/archive/$suite-$arch
native=$(dpkg --print-architecture)
options=(-q -o "Dir::State=$state/state" -o "Dir::State::status=$state/status"
	-o "Dir::Cache=$state/cache" -o "Dir::Etc=$state/etc" -o APT::Sandbox::User=root
	-o "APT::Architecture=$native" -o "APT::Architectures::=$native"
	-o "APT::Default-Release=$suite")
if [ "$arch" = source ]; then
	type='deb-src ['
else
	type="deb [arch=$native,$arch"
	options+=(-o "APT::Architectures::=$arch")
fi

update() {
	local url release=${suite%-backports} name
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	[ -z "$(find "$state/fresh" -mmin -1440 2>/dev/null)" ] || return 0
	mkdir -p "$state"/etc/{apt.conf.d,preferences.d,sources.list.d} \
		"$state"/{state/lists,cache/archives}/partial
	: >"$state/status"
	# Use the keys of this machine.
	ln -sfn /etc/apt/trusted.gpg.d "$state/etc/trusted.gpg.d"
	url=$(mirror)
	for name in "$release" "$release-updates" "$suite"; do
		echo "$type signed-by=$keyring] $url $name main"
	done | sort -u >"$state/etc/sources.list"
	if progress "asking what Debian $suite has for $arch" "$state/log" \
		apt-get "${options[@]}" update; then
		: >"$state/fresh"
	else
		# Use old lists without a connection.
		[ -e "$state/fresh" ] || die "cannot fetch package lists of Debian $suite"
	fi
}

get() {
	local package file tmp version fetch
	for package; do
		version=$(version_of "$package")
		file=$cache_dir/deb/${package%:*}_${version//:/%3a}_$suite-$arch
		if [ "$arch" = source ]; then
			file+=.tar fetch=(source --tar-only "$package=$version")
		else
			file+=.deb fetch=(download "$package")
		fi
		if [ ! -f "$file" ]; then
			tmp=$(mktemp -d "$cache_dir/deb/.get.XXXXXX")
			(cd "$tmp" && progress "downloading $package $version" "$state/log" \
				apt-get "${options[@]}" "${fetch[@]}") || {
				rm -rf "$tmp"
				die "cannot download $package"
			}
			mv "$tmp"/* "$file"
			rm -rf "$tmp"
		fi
		printf '%s\n' "$file"
	done
}

version_of() {
	if [ "$arch" = source ]; then
		apt-cache "${options[@]}" showsrc --only-source "$1" |
			sed -n 's/^Version: //p' | sort -V | tail -n 1
		return
	fi
	apt-cache "${options[@]}" policy "$1" | sed -n 's/^ *Candidate: \([^(].*\)/\1/p'
}

mkdir -p "$cache_dir/deb" "$state"
with_lock "archive-$suite-$arch" update
case $what in
names) apt-cache "${options[@]}" pkgnames | grep -xE "$1" | sort -V || : ;;
depends)
	apt-cache "${options[@]}" show --no-all-versions "$1" |
		sed -n 's/^Depends: //p' | tr ',' '\n' | tr '|' '\n' | sed 's/^ *\([^ (]*\).*/\1/'
	;;
version) version_of "$1" ;;
get) get "$@" ;;
*) usage ;;
esac
