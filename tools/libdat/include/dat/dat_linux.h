/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dat_linux.h - calls that libdat adds to uDAPL 1.2
 *
 * A program that includes this header compiles with no other DAT library.
 */
#ifndef _DAT_LINUX_H_
#define _DAT_LINUX_H_

#include <dat/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A file descriptor for poll(2), select(2) and epoll(7), which the caller closes.
 * The descriptor of an EVD is readable while the EVD has events, except events
 * without notification (DAT_COMPLETION_UNSIGNALLED_FLAG). The descriptor of a CNO
 * is readable from a trigger until dat_cno_wait() returns the trigger. Freeing
 * the object hangs up its descriptors.
 */
DAT_RETURN dat_linux_get_fd(IN DAT_HANDLE evd_or_cno_handle, OUT int *fd);

typedef enum dat_linux_op {
	DAT_LINUX_SEND,
	DAT_LINUX_RECV,
	DAT_LINUX_RDMA_WRITE,
	DAT_LINUX_RDMA_READ,
	DAT_LINUX_RMR_BIND,
	DAT_LINUX_SRQ_RECV
} DAT_LINUX_OP;

/*
 * One DTO or bind. A field has the meaning of the argument of the same name of
 * dat_ep_post_send(), dat_ep_post_rdma_read(), or dat_rmr_bind(). The other fields
 * are ignored. handle is the EP, for DAT_LINUX_SRQ_RECV the SRQ. local_iov of a
 * bind is its range, with num_segments 1.
 */
typedef struct dat_linux_dto {
	DAT_LINUX_OP		op;
	DAT_HANDLE		handle;
	DAT_COUNT		num_segments;
	DAT_LMR_TRIPLET		*local_iov;
	DAT_CONTEXT		user_cookie;
	DAT_RMR_TRIPLET		remote_buffer;
	DAT_COMPLETION_FLAGS	completion_flags;
	DAT_RMR_HANDLE		rmr_handle;
	DAT_MEM_PRIV_FLAGS	mem_privileges;
	DAT_RMR_CONTEXT		rmr_context;	/* out: bind */
} DAT_LINUX_DTO;

/*
 * Posts DTOs in order with one system call. Stops at the first failure, and
 * returns its return value. num_posted is the number of DTOs before it.
 */
DAT_RETURN dat_linux_post(IN DAT_COUNT num, INOUT DAT_LINUX_DTO *dtos,
			  OUT DAT_COUNT *num_posted);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_LINUX_H_ */
