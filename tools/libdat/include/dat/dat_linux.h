/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dat_linux.h - calls that libdat adds to uDAPL 1.2
 *
 * A program that includes this header compiles with no other DAT library.
 */
#ifndef _DAT_LINUX_H_
#define _DAT_LINUX_H_

#include <stddef.h>
#include <string.h>

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
	DAT_LINUX_SRQ_RECV,
	/* With immediate data for the peer, which iWARP does not have */
	DAT_LINUX_SEND_IMMED,
	DAT_LINUX_RDMA_WRITE_IMMED,
	/* Operations of completions alone: a receive with the immediate data of a Send, Write */
	DAT_LINUX_RECV_SEND_IMMED,
	DAT_LINUX_RECV_WRITE_IMMED
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
	DAT_RMR_CONTEXT		rmr_context;	/* out: bind; in: immediate data */
} DAT_LINUX_DTO;

/*
 * Posts DTOs in order with one system call. Stops at the first failure, and
 * returns its return value. num_posted is the number of DTOs before it.
 */
DAT_RETURN dat_linux_post(IN DAT_COUNT num, INOUT DAT_LINUX_DTO *dtos,
			  OUT DAT_COUNT *num_posted);

/*
 * dat_linux_post(), and then dat_evd_wait() unless a DTO was not posted, with one system
 * call. Nothing is posted if the arguments of the wait are wrong.
 */
DAT_RETURN dat_linux_post_wait(IN DAT_COUNT num, INOUT DAT_LINUX_DTO *dtos,
			       OUT DAT_COUNT *num_posted, IN DAT_EVD_HANDLE evd_handle,
			       IN DAT_TIMEOUT timeout, IN DAT_COUNT threshold,
			       OUT DAT_EVENT *event, OUT DAT_COUNT *nmore);

/*
 * One completion. transfered_length and immediate_data are valid only for DAT_DTO_SUCCESS. The
 * length of DAT_LINUX_RECV_WRITE_IMMED is that of the Write: its receive has no data.
 */
typedef struct dat_linux_completion {
	DAT_LINUX_OP			op;
	DAT_DTO_COMPLETION_STATUS	status;
	DAT_HANDLE			handle;		/* EP; RMR of a bind */
	DAT_CONTEXT			user_cookie;
	DAT_VLEN			transfered_length;
	DAT_UINT32			immediate_data;
} DAT_LINUX_COMPLETION;

/*
 * Takes up to max completions of DTOs and binds out of an EVD, as dat_evd_dequeue() takes
 * one, and tells the operation of each. num is their number. It is 0 with DAT_SUCCESS if the
 * first event is no completion: dat_evd_dequeue() takes it.
 */
DAT_RETURN dat_linux_dequeue(IN DAT_EVD_HANDLE evd_handle, IN DAT_COUNT max,
			     OUT DAT_LINUX_COMPLETION *completions, OUT DAT_COUNT *num);

/*
 * Posts and waits as requests of io_uring(7). A program prepares a request in a
 * submission queue entry, submits the entry, and passes the result of the completion
 * queue entry to dat_linux_end_post() or dat_linux_end_wait(). In between the request,
 * dtos and local_iov stay where they are. The members of DAT_LINUX_REQUEST belong to
 * the library.
 */
typedef struct dat_linux_request {
	int		fd;
	unsigned int	op;
	DAT_UINT64	space[26];
} DAT_LINUX_REQUEST;

struct io_uring_sqe;

DAT_RETURN dat_linux_begin_post(IN DAT_COUNT num, IN DAT_LINUX_DTO *dtos,
				OUT DAT_LINUX_REQUEST *request);
DAT_RETURN dat_linux_begin_wait(IN DAT_HANDLE evd_or_cno_handle, IN DAT_TIMEOUT timeout,
				IN DAT_COUNT threshold, OUT DAT_LINUX_REQUEST *request);

/*
 * The value that dat_linux_post() would have returned, and num_posted. A request that
 * was prepared and not submitted ends with a result of -ECANCELED.
 */
DAT_RETURN dat_linux_end_post(INOUT DAT_LINUX_REQUEST *request, IN int result,
			      OUT DAT_COUNT *num_posted);

/*
 * DAT_SUCCESS if an EVD has threshold events, which dat_evd_dequeue() returns, or if a
 * CNO was triggered. evd_handle is an output for a CNO; NULL is permitted for an EVD.
 */
DAT_RETURN dat_linux_end_wait(INOUT DAT_LINUX_REQUEST *request, IN int result,
			      OUT DAT_EVD_HANDLE *evd_handle);

/*
 * Fills in an entry for a request that was begun. The caller sets user_data and flags of
 * the entry afterwards. A request that has completed can be submitted again.
 */
static inline void dat_linux_prep(struct io_uring_sqe *sqe, const DAT_LINUX_REQUEST *request)
{
	/* As in <linux/io_uring.h>, which need not be installed: IORING_OP_URING_CMD */
	struct {
		unsigned char	opcode;
		unsigned char	unused[3];
		int		fd;
		DAT_UINT32	cmd_op;
		DAT_UINT32	unused2;
		DAT_UINT64	unused3[4];
		DAT_UINT64	cmd[2];
	} entry = { 46, { 0 }, request->fd, (DAT_UINT32)request->op, 0, { 0 },
		    { (DAT_UINT64)(size_t)request->space, 0 } };

	memcpy(sqe, &entry, sizeof(entry));
}

/* dat_linux_post() as a request */
static inline DAT_RETURN dat_linux_prep_post(struct io_uring_sqe *sqe, DAT_COUNT num,
					     DAT_LINUX_DTO *dtos, DAT_LINUX_REQUEST *request)
{
	DAT_RETURN ret = dat_linux_begin_post(num, dtos, request);

	if (ret == DAT_SUCCESS)
		dat_linux_prep(sqe, request);
	return ret;
}

/* The wait of dat_evd_wait() or dat_cno_wait() as a request; threshold is for an EVD. */
static inline DAT_RETURN dat_linux_prep_wait(struct io_uring_sqe *sqe,
					     DAT_HANDLE evd_or_cno_handle,
					     DAT_TIMEOUT timeout, DAT_COUNT threshold,
					     DAT_LINUX_REQUEST *request)
{
	DAT_RETURN ret = dat_linux_begin_wait(evd_or_cno_handle, timeout, threshold,
					      request);

	if (ret == DAT_SUCCESS)
		dat_linux_prep(sqe, request);
	return ret;
}

#ifdef __cplusplus
}
#endif

#endif /* _DAT_LINUX_H_ */
