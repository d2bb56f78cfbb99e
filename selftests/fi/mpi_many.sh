#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Larger jobs of Open MPI; the memory of a usual guest is too small for 16 processes.
exec "${0%/*}/mpi.sh" 8 16
