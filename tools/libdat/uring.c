// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uring.c - posts and waits as requests of io_uring
 *
 * The library knows no ring. The program owns it and submits what dat_linux_prep() of
 * <dat/dat_linux.h> writes: the address of the ioctl's structure, which is in the
 * program's DAT_LINUX_REQUEST. External providers do not have these calls.
 */
#include <errno.h>
#include <stdlib.h>

#include <dat/dat_linux.h>

#include "libdat.h"

/* Segments of a single DTO that fit in a request */
#define FEW_SEGMENTS	4

/**
 * struct request - content of DAT_LINUX_REQUEST.space
 * @post: argument of a post
 * @evd_wait: argument of a wait for an EVD
 * @cno_wait: argument of a wait for a CNO
 * @dtos: DTOs of the program
 * @block: memory for more than one DTO; or NULL
 * @dto: the DTO of a request without @block
 * @segments: its segments
 */
struct request {
	union {
		struct dat_dev_post post;
		struct dat_dev_evd_wait evd_wait;
		struct dat_dev_cno_wait cno_wait;
	};
	DAT_LINUX_DTO *dtos;
	void *block;
	struct dat_dev_dto dto;
	struct dat_dev_segment segments[FEW_SEGMENTS];
};

static struct request *content(DAT_LINUX_REQUEST *request)
{
	_Static_assert(sizeof(struct request) <= sizeof(request->space),
		       "DAT_LINUX_REQUEST is too small");
	return (struct request *)request->space;
}

/* The result of the request, or of its ioctl */
static DAT_RETURN end(const struct request *r, int result)
{
	if (result >= 0)
		return libdat_return_from_kernel(r->post.result);
	if (result == -ECANCELED)
		return DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
	if (result == -EOPNOTSUPP)
		return DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
	return libdat_return_from_errno(-result);
}

/**
 * dat_linux_begin_post - prepare a request that posts DTOs and binds
 * @num: entries of @dtos
 * @dtos: the DTOs, as for dat_linux_post()
 * @request: out: the request, for dat_linux_prep()
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES;
 * DAT_INVALID_HANDLE if no IA was ever opened.
 */
DAT_RETURN dat_linux_begin_post(DAT_COUNT num, DAT_LINUX_DTO *dtos,
				DAT_LINUX_REQUEST *request)
{
	struct dat_dev_segment *segments;
	struct dat_dev_dto *out;
	struct request *r;
	int64_t total;
	DAT_RETURN ret;

	if (num < 0)
		return BAD_ARG(1);
	if (num && !dtos)
		return BAD_ARG(2);
	if (!request)
		return BAD_ARG(3);
	total = libdat_batch_segments(num, dtos);
	if (total < 0)
		return BAD_ARG(2);
	ret = libdat_uring_fd(DAT_DEV_POST, &request->fd);
	if (ret != DAT_SUCCESS)
		return ret;

	r = content(request);
	request->op = DAT_DEV_POST;
	r->dtos = dtos;
	r->block = NULL;
	out = &r->dto;
	segments = r->segments;
	if (num > 1 || total > FEW_SEGMENTS) {
		out = libdat_batch_alloc(num, total, &segments);
		if (!out)
			return NO_MEMORY;
		r->block = out;
	}
	ret = libdat_batch_to_kernel(&r->post, num, dtos, out, segments);
	if (ret != DAT_SUCCESS) {
		free(r->block);
		r->block = NULL;
	}
	return ret;
}

/**
 * dat_linux_end_post - take the result of a request that posts
 * @request: from dat_linux_begin_post(); its memory is free afterwards
 * @result: result in the completion queue entry; -ECANCELED if it was not submitted
 * @num_posted: out: number of DTOs that were posted
 *
 * Thread safe.
 *
 * Return: as dat_linux_post(); DAT_INTERRUPTED_CALL if the request was cancelled,
 * DAT_NOT_IMPLEMENTED if the kernel or the module cannot post by io_uring.
 */
DAT_RETURN dat_linux_end_post(DAT_LINUX_REQUEST *request, int result,
			      DAT_COUNT *num_posted)
{
	struct request *r;
	DAT_RETURN ret;

	if (!request)
		return BAD_ARG(1);
	if (!num_posted)
		return BAD_ARG(3);
	r = content(request);
	*num_posted = 0;
	if (result >= 0)
		*num_posted = libdat_batch_posted(&r->post, r->dtos);
	ret = end(r, result);
	free(r->block);
	r->block = NULL;
	return ret;
}

/**
 * dat_linux_begin_wait - prepare a request that waits for an EVD or a CNO
 * @handle: the EVD or CNO
 * @timeout: in microseconds, or DAT_TIMEOUT_INFINITE
 * @threshold: number of events to wait for; ignored for a CNO
 * @request: out: the request, for dat_linux_prep()
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE.
 */
DAT_RETURN dat_linux_begin_wait(DAT_HANDLE handle, DAT_TIMEOUT timeout,
				DAT_COUNT threshold, DAT_LINUX_REQUEST *request)
{
	__u32 number = libdat_to_kernel(handle);
	struct libdat_object *cno;
	struct request *r;

	if (!request)
		return BAD_ARG(4);
	r = content(request);
	r->block = NULL;
	cno = libdat_object_lock(number, LIBDAT_CNO);
	if (cno) {
		libdat_object_unlock(number);
		request->op = DAT_DEV_CNO_WAIT;
		r->cno_wait = (struct dat_dev_cno_wait){
			.size = sizeof(r->cno_wait),
			.cno = number,
			.timeout = timeout,
		};
		return libdat_uring_fd(DAT_DEV_CNO_WAIT, &request->fd);
	}
	request->op = DAT_DEV_EVD_WAIT;
	return libdat_evd_begin_wait(number, timeout, threshold, &r->evd_wait) ?:
	       libdat_uring_fd(DAT_DEV_EVD_WAIT, &request->fd);
}

/**
 * dat_linux_end_wait - take the result of a request that waits
 * @request: from dat_linux_begin_wait()
 * @result: result in the completion queue entry; -ECANCELED if it was not submitted
 * @evd_handle: out: the EVD that triggered the CNO; NULL is permitted for an EVD
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_ABORT, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_STATE, DAT_TIMEOUT_EXPIRED, DAT_QUEUE_EMPTY (CNO), DAT_INTERRUPTED_CALL,
 * DAT_NOT_IMPLEMENTED.
 */
DAT_RETURN dat_linux_end_wait(DAT_LINUX_REQUEST *request, int result,
			      DAT_EVD_HANDLE *evd_handle)
{
	struct request *r;
	DAT_RETURN ret;

	if (!request)
		return BAD_ARG(1);
	r = content(request);
	if (request->op == DAT_DEV_CNO_WAIT && !evd_handle)
		return BAD_ARG(3);
	ret = end(r, result);
	if (evd_handle)
		*evd_handle = DAT_HANDLE_NULL;
	if (request->op == DAT_DEV_CNO_WAIT && ret == DAT_SUCCESS)
		*evd_handle = libdat_to_user(r->cno_wait.evd);
	return ret;
}
