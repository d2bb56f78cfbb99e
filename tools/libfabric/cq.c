// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cq.c - a completion queue is an EVD for DTOs
 *
 * Completions are taken out of the EVD in batches. The size that a program asks for is only
 * where the EVD begins: it grows with its EPs, so no completion is lost.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kfi.h"

/* More than this the EVD grows to when its EPs need it. */
#define FIRST_QLEN	256

static void cq_lock(struct kfi_cq *cq)
{
	if (cq->domain->threading != FI_THREAD_DOMAIN)
		pthread_mutex_lock(&cq->lock);
}

static void cq_unlock(struct kfi_cq *cq)
{
	if (cq->domain->threading != FI_THREAD_DOMAIN)
		pthread_mutex_unlock(&cq->lock);
}

/* The next completion, locked; NULL without. fi_cq_signal() leaves a software event. */
static DAT_LINUX_COMPLETION *peek(struct kfi_cq *cq)
{
	DAT_EVENT event;

	while (!cq->num) {
		cq->first = 0;
		if (dat_linux_dequeue(cq->evd, KFI_BATCH, cq->completions, &cq->num) !=
		    DAT_SUCCESS)
			return NULL;
		if (!cq->num && dat_evd_dequeue(cq->evd, &event) != DAT_SUCCESS)
			return NULL;
	}
	return &cq->completions[cq->first];
}

static void pop(struct kfi_cq *cq)
{
	cq->first++;
	cq->num--;
}

static uint64_t completion_flags(DAT_LINUX_OP op)
{
	switch (op) {
	case DAT_LINUX_SEND:
		return FI_SEND | FI_MSG;
	case DAT_LINUX_RDMA_WRITE:
		return FI_WRITE | FI_RMA;
	case DAT_LINUX_RDMA_READ:
		return FI_READ | FI_RMA;
	default:
		return FI_RECV | FI_MSG;
	}
}

/* The formats are prefixes of each other. */
static size_t entry_size(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	case FI_CQ_FORMAT_TAGGED:
		return sizeof(struct fi_cq_tagged_entry);
	default:
		return sizeof(struct fi_cq_entry);
	}
}

static void fill_entry(enum fi_cq_format format, void *buf, size_t i,
		       const DAT_LINUX_COMPLETION *c)
{
	struct fi_cq_tagged_entry entry = {
		.op_context = c->user_cookie.as_ptr,
	};
	size_t size = entry_size(format);

	if (format == FI_CQ_FORMAT_CONTEXT) {
		((struct fi_cq_entry *)buf)[i].op_context = entry.op_context;
		return;
	}
	entry.flags = completion_flags(c->op);
	entry.len = entry.flags & FI_RECV ? (size_t)c->transfered_length : 0;
	memcpy((char *)buf + i * size, &entry, size);
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid);
	const DAT_LINUX_COMPLETION *c;
	ssize_t num;
	size_t i;

	cq_lock(cq);
	for (i = 0; i < count; i++) {
		c = peek(cq);
		if (!c || c->status != DAT_DTO_SUCCESS)
			break;
		fill_entry(cq->format, buf, i, c);
		pop(cq);
	}
	num = i ? (ssize_t)i : cq->num ? -FI_EAVAIL : -FI_EAGAIN;
	/* The program may read nothing, to make progress. */
	if (!count && (!cq->num || cq->completions[cq->first].status == DAT_DTO_SUCCESS))
		num = 0;
	cq_unlock(cq);
	return num;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src_addr)
{
	ssize_t num = cq_read(fid, buf, count);
	ssize_t i;

	for (i = 0; src_addr && i < num; i++)
		src_addr[i] = FI_ADDR_NOTAVAIL;
	return num;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid);
	const DAT_LINUX_COMPLETION *c;
	ssize_t num = -FI_EAGAIN;

	cq_lock(cq);
	c = peek(cq);
	if (c && c->status != DAT_DTO_SUCCESS) {
		entry->op_context = c->user_cookie.as_ptr;
		entry->flags = completion_flags(c->op);
		entry->len = 0;
		entry->buf = NULL;
		entry->data = 0;
		entry->tag = 0;
		entry->olen = 0;
		entry->err = kfi_dto_errno(c->status);
		entry->prov_errno = (int)c->status;
		/* Before 1.5 the entry ended here; later a size of 0 says that there is none. */
		entry->err_data_size = 0;
		pop(cq);
		num = 1;
	}
	cq_unlock(cq);
	return num;
}

static int left_ms(const struct timespec *until)
{
	struct timespec now;
	int64_t ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (until->tv_sec - now.tv_sec) * 1000 + (until->tv_nsec - now.tv_nsec) / 1000000;
	return ms > 0 ? (int)ms : 0;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src_addr,
			    const void *cond, int timeout)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid);
	struct pollfd pollfd = { .fd = cq->fd, .events = POLLIN };
	struct timespec until;
	ssize_t num;

	if (cq->fd < 0)
		return -FI_ENOSYS;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += timeout / 1000;
	until.tv_nsec += timeout % 1000 * 1000000L;
	for (;;) {
		num = cq_readfrom(fid, buf, count, src_addr);
		if (num != -FI_EAGAIN || !timeout ||
		    __atomic_exchange_n(&cq->signalled, false, __ATOMIC_ACQUIRE))
			return num;
		if (poll(&pollfd, 1, timeout < 0 ? -1 : left_ms(&until)) < 0)
			return -errno;
		if (pollfd.revents & (POLLHUP | POLLERR | POLLNVAL))
			return -FI_ENODEV;
		if (!pollfd.revents)
			timeout = 0;
	}
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond,
			int timeout)
{
	return cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

static int cq_signal(struct fid_cq *fid)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid);
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	if (cq->fd < 0)
		return -FI_ENOSYS;
	__atomic_store_n(&cq->signalled, true, __ATOMIC_RELEASE);
	return kfi_errno(dat_evd_post_se(cq->evd, &event));
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data,
			       char *buf, size_t len)
{
	static const char *const texts[] = {
		[DAT_DTO_SUCCESS] = "success",
		[DAT_DTO_ERR_FLUSHED] = "flushed: the connection has ended",
		[DAT_DTO_ERR_LOCAL_LENGTH] = "the message is longer than the receive",
		[DAT_DTO_ERR_LOCAL_EP] = "local endpoint error",
		[DAT_DTO_ERR_LOCAL_PROTECTION] = "local memory is not registered for this",
		[DAT_DTO_ERR_BAD_RESPONSE] = "bad response of the peer",
		[DAT_DTO_ERR_REMOTE_ACCESS] = "the peer's memory is not registered for this",
		[DAT_DTO_ERR_REMOTE_RESPONDER] = "the peer could not execute the request",
		[DAT_DTO_ERR_TRANSPORT] = "no answer of the peer",
		[DAT_DTO_ERR_RECEIVER_NOT_READY] = "the peer has posted no receive",
		[DAT_DTO_ERR_PARTIAL_PACKET] = "partial packet",
		[DAT_RMR_OPERATION_FAILED] = "bind failed",
	};
	const char *text = "unknown status";

	if (prov_errno >= 0 && prov_errno < (int)ARRAY_SIZE(texts))
		text = texts[prov_errno];
	return kfi_text(text, buf, len);
}

/**
 * kfi_cq_is_empty - test whether the descriptor of a CQ may be waited for
 * @cq: the CQ
 *
 * Return: true if no completion was taken out of the EVD or can be.
 */
bool kfi_cq_is_empty(struct kfi_cq *cq)
{
	bool is_empty;

	cq_lock(cq);
	is_empty = !peek(cq);
	cq_unlock(cq);
	return is_empty;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid.fid);

	switch (command) {
	case FI_GETWAIT:
		if (cq->wait_obj != FI_WAIT_FD)
			return -FI_ENODATA;
		*(int *)arg = cq->fd;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = cq->wait_obj;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static int cq_close(struct fid *fid)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid.fid);

	if (kfi_is_used(&cq->refs))
		return -FI_EBUSY;
	if (cq->fd >= 0)
		close(cq->fd);
	dat_evd_free(cq->evd);
	pthread_mutex_destroy(&cq->lock);
	kfi_put(&cq->domain->refs);
	free(cq);
	return 0;
}

static struct fi_ops cq_fi_ops = {
	.size = sizeof(cq_fi_ops),
	.close = cq_close,
	.bind = kfi_no_bind,
	.control = cq_control,
	.ops_open = kfi_no_ops_open,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(cq_ops),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = cq_signal,
	.strerror = cq_strerror,
};

/**
 * kfi_cq_open - see fi_cq(3)
 * @domain: its domain
 * @attr: size, format and wait object
 * @cq: out
 * @context: of the program
 *
 * Return: 0, -FI_ENOSYS for what the provider does not have, -FI_ENOMEM, another error.
 */
int kfi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		void *context)
{
	struct kfi_domain *d = kfi_container(domain, struct kfi_domain, fid);
	DAT_COUNT qlen = FIRST_QLEN;
	struct kfi_cq *c;
	DAT_RETURN ret;

	if (attr->format > FI_CQ_FORMAT_TAGGED || attr->wait_cond != FI_CQ_COND_NONE ||
	    (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
	     attr->wait_obj != FI_WAIT_FD))
		return -FI_ENOSYS;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -FI_ENOMEM;
	c->fd = -1;
	c->domain = d;
	c->format = attr->format ?: FI_CQ_FORMAT_CONTEXT;
	c->wait_obj = attr->wait_obj;
	pthread_mutex_init(&c->lock, NULL);
	if (attr->size && attr->size < FIRST_QLEN)
		qlen = (DAT_COUNT)attr->size;
	ret = dat_evd_create(d->fabric->ia, qlen, DAT_HANDLE_NULL,
			     (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG), &c->evd);
	if (ret != DAT_SUCCESS)
		goto free;
	if (c->wait_obj != FI_WAIT_NONE) {
		ret = dat_linux_get_fd(c->evd, &c->fd);
		if (ret != DAT_SUCCESS)
			goto free_evd;
	}
	c->fid.fid.fclass = FI_CLASS_CQ;
	c->fid.fid.context = context;
	c->fid.fid.ops = &cq_fi_ops;
	c->fid.ops = &cq_ops;
	kfi_get(&d->refs);
	*cq = &c->fid;
	return 0;

free_evd:
	dat_evd_free(c->evd);
free:
	pthread_mutex_destroy(&c->lock);
	free(c);
	return kfi_failed("dat_evd_create", ret);
}
