#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Jobs of Debian's Open MPI on the provider for libfabric, as an ordinary user. Prints TAP.
# mpi.sh [PROCESSES...]: a job of each size, default 2 and 4
here=${0%/*}
export FI_PROVIDER_PATH="$here/lib" OPAL_PREFIX="$here/openmpi" HOME=/tmp TMPDIR=/tmp
# The log of libfabric shows the reason of a failure. The guest has no help files of PMIx.
export FI_LOG_LEVEL=warn PMIX_MCA_pcompress_base_silence_warning=1
num=0 failed=0

# The buffers of ofi_rxm take more than the usual limit of 8 MiB: see tools/limits.d.
# shellcheck disable=SC3045 # dash has it
ulimit -l unlimited
chgrp rdma /dev/dat && chmod 660 /dev/dat
ip link set lo up
# Open MPI needs a name.
[ "$(hostname)" != '(none)' ] || hostname guest
[ -e /etc/hosts ] || echo "127.0.0.1 localhost $(hostname)" >/etc/hosts

# job PROCESSES: all kinds of traffic; each process has its own endpoints, also for itself.
# For windows, the default of Open MPI 4.1.4 is RMA of another provider, never of ofi_rxm.
job() {
	su -s /bin/sh -c "exec $here/openmpi/bin/orterun -n $1 --oversubscribe \
		--mca pml cm --mca osc pt2pt --mca mtl ofi \
		--mca mtl_ofi_provider_include 'kdapl;ofi_rxm' \
		--mca plm_rsh_agent /bin/true --mca orte_tmpdir_base /tmp \
		-x FI_PROVIDER_PATH -x FI_LOG_LEVEL -x LD_LIBRARY_PATH $here/mpi_traffic" nobody \
		>/tmp/job 2>&1
}

[ $# -gt 0 ] || set -- 2 4
echo "1..$(($# * 5))"
for processes; do
	job "$processes" || echo "status $?" >>/tmp/job
	sed 's/^/# /' /tmp/job
	for kind in ring ping_pong all_to_all unexpected one_sided; do
		num=$((num + 1))
		if grep -qx "good $kind with $processes processes" /tmp/job; then
			echo "ok $num mpi.${kind}_of_$processes"
		else
			echo "not ok $num mpi.${kind}_of_$processes"
			failed=1
		fi
	done
done
exit $failed
