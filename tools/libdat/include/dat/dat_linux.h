/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dat_linux.h - what libdat offers beyond uDAPL 1.2
 *
 * A program that includes this does not compile with other DAT libraries.
 */
#ifndef _DAT_LINUX_H_
#define _DAT_LINUX_H_

#include <dat/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A file descriptor for poll(2), select(2) and epoll(7): readable as long as the
 * EVD holds events, or the CNO has been triggered and dat_cno_wait() has not
 * told anybody. Events that come without notification
 * (DAT_COMPLETION_UNSIGNALLED_FLAG) do not make it readable. It hangs up when
 * the object has gone. The caller closes it.
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
 * One DTO or bind. The fields mean what the arguments of that name mean to
 * dat_ep_post_send() and its like; those that the operation has no use for are
 * not looked at. handle is the EP, of DAT_LINUX_SRQ_RECV the SRQ; a bind's
 * range is local_iov, with num_segments 1.
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
	DAT_RMR_CONTEXT		rmr_context;	/* out, of a bind */
} DAT_LINUX_DTO;

/*
 * Posts all of them, in order, with one system call. Stops at the first that
 * fails, and returns what it returned; num_posted tells how many went before it.
 */
DAT_RETURN dat_linux_post(IN DAT_COUNT num, INOUT DAT_LINUX_DTO *dtos,
			  OUT DAT_COUNT *num_posted);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_LINUX_H_ */
