/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * fabtests.h - what fabtests of libfabric 2.1 needs with Debian 12's libfabric 1.17
 *
 * fabtests.sh includes this header in front of each file. The options get an error from every
 * provider of 1.17, and fabtests runs without them.
 */
#ifndef KDAPL_FABTESTS_H
#define KDAPL_FABTESTS_H

#include <stdlib.h>
#include <unistd.h>
#include <rdma/fi_endpoint.h>

/* Waits at most ten seconds until a server listens for connections of FI_EP_MSG. */
#define AWAIT_LISTENER() \
	do { \
		int tries = hints->ep_attr->type == FI_EP_MSG ? 100 : 0; \
		if (!tries) \
			sleep(1); \
		while (tries-- > 0 && \
		       system("rdma resource show cm_id | grep -q 'LISTEN .*:9228 '")) \
			usleep(100000); \
	} while (0)

/* Memory of other devices: no flag, as no test registers any. */
#define FI_MR_DMABUF 0

#define fi_hmem_ze_device(...) 0

struct fi_mr_dmabuf {
	int fd;
	uint64_t offset;
	size_t len;
	void *base_addr;
};

enum {
	FI_OPT_CUDA_API_PERMITTED = 10,
	FI_OPT_MAX_MSG_SIZE = 12,
	FI_OPT_INJECT_MSG_SIZE = 16,
	FI_OPT_INJECT_RMA_SIZE = 18,
};

enum {
	FI_PROGRESS_CONTROL_UNIFIED = 3,
};

#endif
