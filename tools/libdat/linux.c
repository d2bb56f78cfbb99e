// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * linux.c - the calls of <dat/dat_linux.h>, which DAT does not have
 *
 * External providers do not have these calls. dat_linux_post() translates an array
 * of DTOs into one block of memory and makes one ioctl.
 */
#include <stdlib.h>

#include <dat/dat_linux.h>

#include "libdat.h"

/* Events that dat_linux_dequeue() takes at a time */
#define DEQUEUE_BATCH	16

/**
 * dat_linux_get_fd - get a file descriptor to poll an EVD or CNO
 * @handle: the EVD or CNO
 * @fd: out: the descriptor, which the caller closes
 *
 * The descriptor of an EVD is readable while the EVD has events. That of a CNO is
 * readable from a trigger until dat_cno_wait() returns it. Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_linux_get_fd(DAT_HANDLE handle, int *fd)
{
	struct dat_dev_fd arg = {
		.size = sizeof(arg),
		.handle = libdat_to_kernel(handle),
	};
	DAT_RETURN ret;

	if (!fd)
		return BAD_ARG(2);
	ret = libdat_call(DAT_DEV_FD, &arg);
	if (ret == DAT_SUCCESS)
		*fd = arg.fd;
	return ret;
}

/* The opcode of an operation that can be posted; -1 for another one. */
static int op_to_kernel(DAT_LINUX_OP op)
{
	static const signed char opcodes[] = {
		[DAT_LINUX_SEND] = DAT_DEV_SEND,
		[DAT_LINUX_RECV] = DAT_DEV_RECV,
		[DAT_LINUX_RDMA_WRITE] = DAT_DEV_RDMA_WRITE,
		[DAT_LINUX_RDMA_READ] = DAT_DEV_RDMA_READ,
		[DAT_LINUX_RMR_BIND] = DAT_DEV_RMR_BIND,
		[DAT_LINUX_SRQ_RECV] = DAT_DEV_SRQ_RECV,
		[DAT_LINUX_SEND_IMMED] = DAT_DEV_SEND_IMMED,
		[DAT_LINUX_RDMA_WRITE_IMMED] = DAT_DEV_RDMA_WRITE_IMMED,
	};

	return (unsigned int)op < ARRAY_SIZE(opcodes) ? opcodes[op] : -1;
}

static bool has_immediate(DAT_LINUX_OP op)
{
	return op == DAT_LINUX_SEND_IMMED || op == DAT_LINUX_RDMA_WRITE_IMMED;
}

static bool has_remote(DAT_LINUX_OP op)
{
	return op == DAT_LINUX_RDMA_WRITE || op == DAT_LINUX_RDMA_READ ||
	       op == DAT_LINUX_RDMA_WRITE_IMMED;
}

/* @segments has room for the iov. Fields that @op does not use are ignored. */
static DAT_RETURN dto_to_kernel(struct dat_dev_dto *out, const DAT_LINUX_DTO *in,
				struct dat_dev_segment *segments)
{
	DAT_COUNT i;

	*out = (struct dat_dev_dto){
		.opcode = (__u32)op_to_kernel(in->op),
		.ep = libdat_to_kernel(in->handle),
		.segments = (uintptr_t)segments,
		.cookie = in->user_cookie.as_64,
	};

	if (has_immediate(in->op)) {
		out->immediate = in->rmr_context;
	} else if (in->op == DAT_LINUX_RMR_BIND) {
		out->rmr = libdat_to_kernel(in->rmr_handle);
		out->privileges = libdat_priv_to_kernel(in->mem_privileges);
	}
	if (in->op != DAT_LINUX_SRQ_RECV)
		out->flags = in->completion_flags;
	if (has_remote(in->op) && !libdat_remote_to_kernel(out, &in->remote_buffer))
		return BAD_ARG(2);
	for (i = 0; i < in->num_segments; i++) {
		/* Only a bind may have length 0: it unbinds the RMR. */
		if (!in->local_iov[i].segment_length &&
		    in->op != DAT_LINUX_RMR_BIND)
			continue;
		if (!libdat_segment_to_kernel(&segments[out->num_segments++],
					      &in->local_iov[i]))
			return BAD_ARG(2);
	}
	return DAT_SUCCESS;
}

/**
 * libdat_batch_segments - count the segments of DTOs
 * @num: entries of @dtos
 * @dtos: the DTOs
 *
 * Entries may share an iov, so the number may exceed what fits in memory.
 *
 * Return: the number, or -1 for a bad entry.
 */
int64_t libdat_batch_segments(DAT_COUNT num, const DAT_LINUX_DTO *dtos)
{
	int64_t total = 0;
	DAT_COUNT i;

	for (i = 0; i < num; i++) {
		if (dtos[i].num_segments < 0 ||
		    dtos[i].num_segments > LIBDAT_MAX_IOV ||
		    (dtos[i].num_segments && !dtos[i].local_iov) ||
		    op_to_kernel(dtos[i].op) < 0)
			return -1;
		total += dtos[i].num_segments;
	}
	return total;
}

/**
 * libdat_batch_alloc - allocate memory for DTOs of the kernel and their segments
 * @num: number of DTOs
 * @total: from libdat_batch_segments()
 * @segments: out: the segments, behind the DTOs
 *
 * Return: the DTOs, for free(); NULL without memory.
 */
struct dat_dev_dto *libdat_batch_alloc(DAT_COUNT num, int64_t total,
				       struct dat_dev_segment **segments)
{
	uint64_t size = (uint64_t)num * sizeof(struct dat_dev_dto) +
			(uint64_t)total * sizeof(struct dat_dev_segment);
	struct dat_dev_dto *out = size <= SIZE_MAX ? malloc((size_t)size) : NULL;

	if (out)
		*segments = (struct dat_dev_segment *)(out + num);
	return out;
}

/**
 * libdat_batch_to_kernel - translate DTOs
 * @arg: out: the argument of DAT_DEV_POST
 * @num: entries of @dtos
 * @dtos: the DTOs
 * @out: out: as many entries
 * @segments: out: as many entries as libdat_batch_segments() has counted
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER (argument 2).
 */
DAT_RETURN libdat_batch_to_kernel(struct dat_dev_post *arg, DAT_COUNT num,
				  const DAT_LINUX_DTO *dtos, struct dat_dev_dto *out,
				  struct dat_dev_segment *segments)
{
	DAT_RETURN ret;
	DAT_COUNT i;

	*arg = (struct dat_dev_post){
		.size = sizeof(*arg),
		.dtos = (uintptr_t)out,
		.num_dtos = (__u32)num,
		.dto_size = sizeof(*out),
	};
	for (i = 0; i < num; i++) {
		ret = dto_to_kernel(&out[i], &dtos[i], segments);
		if (ret != DAT_SUCCESS)
			return ret;
		segments += out[i].num_segments;
	}
	return DAT_SUCCESS;
}

/**
 * libdat_batch_posted - return what the kernel has posted to the program
 * @arg: from libdat_batch_to_kernel(), after the post
 * @dtos: the DTOs; binds receive their context
 *
 * Return: number of DTOs that were posted.
 */
DAT_COUNT libdat_batch_posted(const struct dat_dev_post *arg, DAT_LINUX_DTO *dtos)
{
	const struct dat_dev_dto *out = (const void *)(uintptr_t)arg->dtos;
	DAT_COUNT i;

	for (i = 0; i < (DAT_COUNT)arg->posted; i++)
		if (dtos[i].op == DAT_LINUX_RMR_BIND)
			dtos[i].rmr_context = out[i].rmr_context;
	return i;
}

/* What most posts fit in */
struct small_batch {
	struct dat_dev_dto dtos[16];
	struct dat_dev_segment segments[32];
};

/* Translates DTOs. If it succeeds, end_post() frees what it has allocated. */
static DAT_RETURN begin_post(struct dat_dev_post *arg, struct small_batch *small, DAT_COUNT num,
			     const DAT_LINUX_DTO *dtos, DAT_COUNT *num_posted)
{
	struct dat_dev_segment *segments;
	struct dat_dev_dto *out;
	int64_t total;
	DAT_RETURN ret;

	if (num < 0)
		return BAD_ARG(1);
	if (num && !dtos)
		return BAD_ARG(2);
	if (!num_posted)
		return BAD_ARG(3);
	*num_posted = 0;
	*arg = (struct dat_dev_post){ .size = sizeof(*arg) };
	if (!num)
		return DAT_SUCCESS;
	total = libdat_batch_segments(num, dtos);
	if (total < 0)
		return BAD_ARG(2);

	out = small->dtos;
	segments = small->segments;
	if (num > (DAT_COUNT)ARRAY_SIZE(small->dtos) ||
	    total > (int64_t)ARRAY_SIZE(small->segments))
		out = libdat_batch_alloc(num, total, &segments);
	if (!out)
		return NO_MEMORY;
	ret = libdat_batch_to_kernel(arg, num, dtos, out, segments);
	if (ret != DAT_SUCCESS && out != small->dtos)
		free(out);
	return ret;
}

static void end_post(struct dat_dev_post *arg, struct small_batch *small, DAT_LINUX_DTO *dtos,
		     DAT_COUNT *num_posted)
{
	void *out = (void *)(uintptr_t)arg->dtos;

	*num_posted = libdat_batch_posted(arg, dtos);
	if (out != small->dtos)
		free(out);
}

/**
 * dat_linux_post - post many DTOs and binds with one system call
 * @num: entries of @dtos
 * @dtos: the DTOs, in the order of posting; for any EPs and SRQs
 * @num_posted: out: number of DTOs posted; the first failure ends the posting
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS if all DTOs were posted; DAT_INVALID_PARAMETER, with none
 * posted, for a bad entry; else as the call that posts the DTO that failed.
 */
DAT_RETURN dat_linux_post(DAT_COUNT num, DAT_LINUX_DTO *dtos,
			  DAT_COUNT *num_posted)
{
	struct small_batch small;
	struct dat_dev_post arg;
	DAT_RETURN ret;

	ret = begin_post(&arg, &small, num, dtos, num_posted);
	if (ret != DAT_SUCCESS || !num)
		return ret;
	ret = libdat_call(DAT_DEV_POST, &arg);
	end_post(&arg, &small, dtos, num_posted);
	return ret;
}

/**
 * dat_linux_post_wait - post many DTOs and binds, and wait for an event, with one system call
 * @num: entries of @dtos
 * @dtos: as for dat_linux_post()
 * @num_posted: out: as for dat_linux_post()
 * @evd_handle: the EVD to wait on, any EVD of the program
 * @timeout: as for dat_evd_wait()
 * @threshold: as for dat_evd_wait()
 * @event: out: as for dat_evd_wait()
 * @nmore: out: as for dat_evd_wait()
 *
 * Thread safe.
 *
 * Return: as dat_linux_post() if @num_posted is less than @num, and then it has not waited;
 * else as dat_evd_wait().
 */
DAT_RETURN dat_linux_post_wait(DAT_COUNT num, DAT_LINUX_DTO *dtos, DAT_COUNT *num_posted,
			       DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout,
			       DAT_COUNT threshold, DAT_EVENT *event, DAT_COUNT *nmore)
{
	struct small_batch small;
	struct dat_dev_post arg;
	DAT_RETURN ret;

	if (!event)
		return BAD_ARG(7);
	if (!nmore)
		return BAD_ARG(8);
	ret = begin_post(&arg, &small, num, dtos, num_posted);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = libdat_evd_post_wait(evd_handle, &arg, timeout, threshold, event, nmore);
	end_post(&arg, &small, dtos, num_posted);
	return ret;
}

/* Atomic operations have no call in DAT 1.2. */
static DAT_LINUX_OP op_to_user(const struct dat_dev_event *in)
{
	if (in->number == DAT_RMR_BIND_COMPLETION_EVENT)
		return DAT_LINUX_RMR_BIND;
	/* The numbers of DAT_DTOS in DAT 2.0; 8 is a Write with immediate data. */
	switch (in->operation) {
	case 0:
		return DAT_LINUX_SEND;
	case 1:
	case 8:
		return DAT_LINUX_RDMA_WRITE;
	case 2:
		return DAT_LINUX_RDMA_READ;
	case DAT_DEV_RECV_IMMED:
		return DAT_LINUX_RECV_WRITE_IMMED;
	case DAT_DEV_RECV_MSG_IMMED:
		return DAT_LINUX_RECV_SEND_IMMED;
	default:
		return DAT_LINUX_RECV;
	}
}

/**
 * dat_linux_dequeue - take many completions out of an EVD
 * @evd_handle: the EVD
 * @max: entries of @completions
 * @completions: out: the completions, oldest first
 * @num: out: their number; 0 with DAT_SUCCESS if the first event is no completion of a DTO
 *	or bind
 *
 * Thread safe. See dat_linux_dequeue(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_QUEUE_EMPTY, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_STATE if a thread waits on the EVD.
 */
DAT_RETURN dat_linux_dequeue(DAT_EVD_HANDLE evd_handle, DAT_COUNT max,
			     DAT_LINUX_COMPLETION *completions, DAT_COUNT *num)
{
	struct dat_dev_event raw[DEQUEUE_BATCH];
	__u32 want, got, i;
	DAT_RETURN ret;

	if (max < 1)
		return BAD_ARG(2);
	if (!completions)
		return BAD_ARG(3);
	if (!num)
		return BAD_ARG(4);
	*num = 0;
	do {
		want = (__u32)(max - *num);
		if (want > DEQUEUE_BATCH)
			want = DEQUEUE_BATCH;
		ret = libdat_evd_take(libdat_to_kernel(evd_handle), want, raw, &got);
		for (i = 0; i < got; i++)
			completions[(*num)++] = (DAT_LINUX_COMPLETION){
				.op = op_to_user(&raw[i]),
				.status = libdat_status_to_user(raw[i].status),
				.handle = libdat_to_user(raw[i].handle),
				.user_cookie.as_64 = raw[i].cookie,
				.transfered_length = raw[i].length,
				.immediate_data = raw[i].rmr_context,
			};
	} while (got == DEQUEUE_BATCH && *num < max);
	/* The caller gets the completions that were taken, whatever follows them. */
	return *num ? DAT_SUCCESS : ret;
}
