#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs every check and prints a line for each. Prints the output of a check that fails.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
. "$vm_dir/lib.sh"

status=0

# step LABEL COMMAND...
step() {
	local label=$1 start=$SECONDS said
	shift
	if said=$("$@" 2>&1); then
		printf '%-28s ok  %3d s\n' "$label" $((SECONDS - start))
	else
		printf '%-28s FAILED  %3d s\n%s\n' "$label" $((SECONDS - start)) "$said"
		status=1
	fi
}

"$vm_dir/deps.sh" check || exit
mapfile -t names < <(kernels full short build)
# On a new machine this unpacks for minutes, with one processor, what the later kernels need.
for name in "${names[@]:1}"; do
	"$vm_dir/kernel.sh" --headers "$name" || :
done >"$state_dir/headers" 2>&1 </dev/null &
for name in "${names[@]}"; do
	# Test modules are for the kernels of guests.
	goals=(selftest-modules)
	! kernels build | grep -qx "$name" || goals=(modules)
	label='W=1 and sparse'
	case $name in
	"${names[0]}" | "${names[-1]}") ;;
	*) goals+=("$no_docs") label='W=1' ;;
	esac
	step "$label, $name" "$check_dir/kbuild.sh" "$name" "${goals[@]}"
done
where=$("$vm_dir/kernel.sh" --headers "${names[0]}")
# Each of the others keeps one core busy: two at once.
sources() {
	step 'layers' "$check_dir/layers.sh" "$(field out <<<"$where")/$(field release <<<"$where")"
	step 'checkpatch' "$check_dir/checkpatch.sh"
	step 'libdat alone' make -s -C tools/libdat "O=$state_dir/libdat" all check
	step 'layout of <linux/dat.h>' "$check_dir/layout.sh"
	step 'tested kernels' "$check_dir/kernels.sh"
	step 'contexts' "$check_dir/contexts.sh"
	step 'conformance' "$check_dir/conformance.sh"
	step 'failure points' "$check_dir/failpoints.sh"
	step 'fuzzed calls' "$check_dir/kapi.sh"
	step 'list of mutations' "$check_dir/mutation.sh"
	step 'codespell' "$check_dir/spelling.sh"
	step 'shellcheck' "$check_dir/shell.sh"
	return $status
}

others() {
	step 'verdicts of the gate' "$check_dir/gate.sh"
	step 'models' "$check_dir/models.sh"
	step 'exported calls' "$check_dir/exports.sh"
	step 'man pages' "$check_dir/man.sh"
	step 'documents' "$check_dir/docs.sh"
	return $status
}

others >"$state_dir/others" &
sources
wait $! || status=1
cat "$state_dir/others"
exit $status
