// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cq.c - a completion queue is an EVD for DTOs
 *
 * Completions are taken out of the EVD in batches. The size that a program asks for is only
 * where the EVD begins: it grows with its EPs.
 *
 * A full EVD would lose completions. When the EVD was found empty, at most all DTOs that the EPs
 * can have outstanding were to complete. The EVD has room for them and half as many. So who posts
 * these takes completions out of the EVD, whether the program reads them or not.
 */
#include <arpa/inet.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "kfi.h"

/* More than this the EVD grows to when its EPs need it. */
#define MAX_FIRST_QLEN	256

/* Its address is the cookie of injections. */
char kfi_injected;

/**
 * kfi_cq_lock - lock the completions, unless threads take turns in the domain
 * @cq: the CQ
 */
void kfi_cq_lock(struct kfi_cq *cq)
{
	if (cq->domain->threading != FI_THREAD_DOMAIN)
		pthread_mutex_lock(&cq->queue.lock);
}

/**
 * kfi_cq_unlock - unlock the completions
 * @cq: the CQ
 */
void kfi_cq_unlock(struct kfi_cq *cq)
{
	if (cq->domain->threading != FI_THREAD_DOMAIN)
		pthread_mutex_unlock(&cq->queue.lock);
}

/* Makes room for a batch behind the completions; NULL without memory. */
static DAT_LINUX_COMPLETION *make_room(struct kfi_cq *cq)
{
	DAT_LINUX_COMPLETION *more;

	if (!cq->num)
		cq->first = 0;
	if (cq->first + cq->num + KFI_BATCH <= cq->size)
		return cq->completions + cq->first + cq->num;
	memmove(cq->completions, cq->completions + cq->first,
		(size_t)cq->num * sizeof(cq->completions[0]));
	cq->first = 0;
	if (cq->num + KFI_BATCH > cq->size) {
		more = realloc(cq->completions, 2 * (size_t)cq->size * sizeof(*more));
		if (!more)
			return NULL;
		cq->completions = more;
		cq->size *= 2;
	}
	return cq->completions + cq->num;
}

/* The keys of the tree are the EPs. */
static int compare(const void *a, const void *b)
{
	uintptr_t first = (uintptr_t)*(const DAT_EP_HANDLE *)a;
	uintptr_t second = (uintptr_t)*(const DAT_EP_HANDLE *)b;

	return (first > second) - (first < second);
}

/* Counts a completion. Does the program get it? */
static bool is_kept(struct kfi_cq *cq, const DAT_LINUX_COMPLETION *c)
{
	DAT_EP_HANDLE **key = tfind(&c->handle, &cq->eps, compare);

	return key && kfi_ep_count(kfi_container(*key, struct kfi_ep, ep), c) && !cq->only_counts;
}

/* Takes a batch out of the EVD; false if it is empty. */
static bool fetch(struct kfi_cq *cq)
{
	DAT_LINUX_COMPLETION *batch = make_room(cq);
	DAT_COUNT got, kept = 0, i;

	if (!batch)
		return false;
	if (dat_linux_dequeue(cq->queue.evd, KFI_BATCH, batch, &got) != DAT_SUCCESS || !got) {
		__atomic_store_n(&cq->posts, 0, __ATOMIC_RELAXED);
		return false;
	}
	if (!cq->is_counted && !cq->closing) {
		cq->num += got;
		return true;
	}
	for (i = 0; i < got; i++)
		if (is_kept(cq, &batch[i]))
			batch[kept++] = batch[i];
	cq->num += kept;
	return true;
}

static void unflag(struct kfi_cq *cq)
{
	if (!cq->num && !cq->signalled)
		kfi_queue_unflag(&cq->queue);
}

static void pop(struct kfi_cq *cq)
{
	cq->first++;
	cq->num--;
	unflag(cq);
}

/* A failed injection has no entry: it has no context of the program. */
static bool is_hidden(const DAT_LINUX_COMPLETION *c)
{
	return c->status != DAT_DTO_SUCCESS && c->user_cookie.as_ptr == &kfi_injected;
}

/* The next completion, locked; NULL without. */
static DAT_LINUX_COMPLETION *peek(struct kfi_cq *cq)
{
	for (;;) {
		while (!cq->num)
			if (!fetch(cq))
				return NULL;
		if (!is_hidden(&cq->completions[cq->first]))
			return &cq->completions[cq->first];
		pop(cq);
	}
}

static void drain(struct kfi_cq *cq)
{
	while (fetch(cq))
		;
}

/* Unlocks the CQ. Other threads that wait may have what this one leaves. */
static void leave(struct kfi_cq *cq)
{
	kfi_queue_leave(&cq->queue, cq->num);
	kfi_cq_unlock(cq);
}

/* Was fi_cq_signal() called since? Locked. */
static bool take_signal(struct kfi_cq *cq)
{
	bool signalled = cq->signalled;

	cq->signalled = false;
	unflag(cq);
	return signalled;
}

/**
 * kfi_cq_progress - take all completions out of the EVD, and count them
 * @cq: the CQ
 */
void kfi_cq_progress(struct kfi_cq *cq)
{
	kfi_cq_lock(cq);
	drain(cq);
	leave(cq);
}

/* Events of so many DTOs, see above */
static DAT_COUNT events(DAT_COUNT dtos)
{
	return dtos + dtos / 2 + 1;
}

/**
 * kfi_cq_reserve - make room for DTOs
 * @cq: the CQ
 * @dtos: DTOs that a new user can have outstanding
 *
 * Return: 0, -FI_ENOMEM, another error.
 */
int kfi_cq_reserve(struct kfi_cq *cq, DAT_COUNT dtos)
{
	int ret = kfi_queue_reserve(&cq->queue, events(dtos));

	if (!ret)
		__atomic_add_fetch(&cq->dtos, dtos, __ATOMIC_RELAXED);
	return ret;
}

/**
 * kfi_cq_release - give back the room of a user
 * @cq: the CQ
 * @dtos: as in kfi_cq_reserve()
 */
void kfi_cq_release(struct kfi_cq *cq, DAT_COUNT dtos)
{
	__atomic_sub_fetch(&cq->dtos, dtos, __ATOMIC_RELAXED);
	kfi_queue_release(&cq->queue, events(dtos));
}

/**
 * kfi_cq_has_room - a DTO is about to be posted
 * @cq: the CQ
 *
 * Return: false if the program must read completions first.
 */
bool kfi_cq_has_room(struct kfi_cq *cq)
{
	DAT_COUNT dtos = __atomic_load_n(&cq->dtos, __ATOMIC_RELAXED);

	if (__atomic_add_fetch(&cq->posts, 1, __ATOMIC_RELAXED) <= dtos / 2)
		return true;
	if (__atomic_load_n(&cq->num, __ATOMIC_RELAXED) > dtos) {
		__atomic_sub_fetch(&cq->posts, 1, __ATOMIC_RELAXED);
		return false;
	}
	kfi_cq_progress(cq);
	return true;
}

/**
 * kfi_cq_fail - add the completion of a DTO that could not be posted
 * @cq: the CQ
 * @dto: the DTO, which the program takes for posted
 * @status: why
 *
 * Without memory the completion is lost.
 */
void kfi_cq_fail(struct kfi_cq *cq, const DAT_LINUX_DTO *dto, DAT_DTO_COMPLETION_STATUS status)
{
	DAT_LINUX_COMPLETION *c;

	kfi_cq_lock(cq);
	c = cq->only_counts ? NULL : make_room(cq);
	if (c) {
		*c = (DAT_LINUX_COMPLETION){
			.op = dto->op,
			.status = status,
			.user_cookie = dto->user_cookie,
		};
		cq->num++;
	}
	leave(cq);
}

/**
 * kfi_cq_add - an endpoint begins to use a CQ
 * @cq: the CQ
 * @ep: the endpoint, with its EP
 *
 * Return: 0, -FI_ENOMEM.
 */
int kfi_cq_add(struct kfi_cq *cq, struct kfi_ep *ep)
{
	bool is_there;

	kfi_cq_lock(cq);
	is_there = tsearch(&ep->ep, &cq->eps, compare);
	kfi_cq_unlock(cq);
	return is_there ? 0 : -FI_ENOMEM;
}

/**
 * kfi_cq_remove - an endpoint is about to free its EP
 * @cq: the CQ
 * @ep: the endpoint
 *
 * Completions of before stay there. From now until kfi_cq_discard() those of the EP are discarded.
 */
void kfi_cq_remove(struct kfi_cq *cq, struct kfi_ep *ep)
{
	kfi_cq_lock(cq);
	drain(cq);
	tdelete(&ep->ep, &cq->eps, compare);
	cq->closing++;
	leave(cq);
}

/**
 * kfi_cq_discard - an endpoint has freed its EP
 * @cq: the CQ, of kfi_cq_remove()
 */
void kfi_cq_discard(struct kfi_cq *cq)
{
	kfi_cq_lock(cq);
	drain(cq);
	cq->closing--;
	leave(cq);
}

/**
 * kfi_cq_keep - keep a closed endpoint until the program has read its completions
 * @cq: the CQ of its receives
 * @ep: the endpoint, without an EP
 *
 * A program may handle a message of the endpoint after its end, and post to it once more, as
 * ofi_rxm does. Such a DTO is flushed.
 */
void kfi_cq_keep(struct kfi_cq *cq, struct kfi_ep *ep)
{
	kfi_cq_lock(cq);
	if (peek(cq)) {
		ep->next_closed = cq->closed;
		cq->closed = ep;
		ep = NULL;
	}
	leave(cq);
	if (ep)
		kfi_ep_free(ep);
}

static void free_closed(struct kfi_cq *cq)
{
	struct kfi_ep *ep;

	while (cq->closed) {
		ep = cq->closed;
		cq->closed = ep->next_closed;
		kfi_ep_free(ep);
	}
}

static uint64_t completion_flags(DAT_LINUX_OP op)
{
	switch (op) {
	case DAT_LINUX_SEND:
	case DAT_LINUX_SEND_IMMED:
		return FI_SEND | FI_MSG;
	case DAT_LINUX_RDMA_WRITE:
	case DAT_LINUX_RDMA_WRITE_IMMED:
		return FI_WRITE | FI_RMA;
	case DAT_LINUX_RDMA_READ:
		return FI_READ | FI_RMA;
	case DAT_LINUX_RECV_SEND_IMMED:
		return FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA;
	case DAT_LINUX_RECV_WRITE_IMMED:
		return FI_REMOTE_WRITE | FI_RMA | FI_REMOTE_CQ_DATA;
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
	if (entry.flags & (FI_RECV | FI_REMOTE_WRITE))
		entry.len = (size_t)c->transfered_length;
	/* The byte order of libfabric's provider for verbs */
	if (entry.flags & FI_REMOTE_CQ_DATA)
		entry.data = ntohl(c->immediate_data);
	memcpy((char *)buf + i * size, &entry, size);
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid);
	const DAT_LINUX_COMPLETION *c;
	ssize_t num;
	size_t i;

	kfi_cq_lock(cq);
	for (i = 0; i < count; i++) {
		c = peek(cq);
		if (!c || c->status != DAT_DTO_SUCCESS)
			break;
		fill_entry(cq->format, buf, i, c);
		pop(cq);
	}
	num = i ? (ssize_t)i : cq->num ? -FI_EAVAIL : -FI_EAGAIN;
	/* The program may read nothing, to make progress. */
	if (!count) {
		c = peek(cq);
		num = c && c->status != DAT_DTO_SUCCESS ? -FI_EAVAIL : 0;
	}
	if (num == -FI_EAGAIN)
		free_closed(cq);
	leave(cq);
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

	kfi_cq_lock(cq);
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
		/* Before 1.5 the entry ended before this; later 0 says that there is none. */
		if (FI_VERSION_GE(cq->domain->fabric->fid.api_version, FI_VERSION(1, 5)))
			entry->err_data_size = 0;
		pop(cq);
		num = 1;
	}
	leave(cq);
	return num;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src_addr,
			    const void *cond, int timeout)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid);
	int64_t deadline = kfi_deadline(timeout);
	bool signalled;
	ssize_t num;
	int ret;

	if (cq->queue.fd < 0)
		return -FI_ENOSYS;
	kfi_get(&cq->queue.waiters);
	do {
		num = cq_readfrom(fid, buf, count, src_addr);
		kfi_cq_lock(cq);
		signalled = num == -FI_EAGAIN && take_signal(cq);
		kfi_cq_unlock(cq);
		ret = num == -FI_EAGAIN && !signalled ? kfi_queue_wait(&cq->queue, deadline) : 1;
	} while (!ret);
	kfi_put(&cq->queue.waiters);
	return ret < 0 ? ret : num;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond,
			int timeout)
{
	return cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

static int cq_signal(struct fid_cq *fid)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid);

	if (cq->queue.fd < 0)
		return -FI_ENOSYS;
	kfi_cq_lock(cq);
	cq->signalled = true;
	kfi_queue_flag(&cq->queue);
	kfi_cq_unlock(cq);
	return 0;
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

	kfi_cq_lock(cq);
	is_empty = !peek(cq) && !take_signal(cq);
	if (is_empty)
		kfi_queue_may_poll(&cq->queue);
	leave(cq);
	return is_empty;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct kfi_queue *queue = &kfi_container(fid, struct kfi_cq, fid.fid)->queue;

	return kfi_wait_control(queue->wait_obj, queue->fd, command, arg);
}

static int cq_close(struct fid *fid)
{
	struct kfi_cq *cq = kfi_container(fid, struct kfi_cq, fid.fid);

	if (kfi_is_used(&cq->queue.refs))
		return -FI_EBUSY;
	kfi_queue_close(&cq->queue);
	kfi_put(&cq->domain->refs);
	free_closed(cq);
	free(cq->completions);
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
	size_t qlen = attr->size < MAX_FIRST_QLEN ? attr->size : MAX_FIRST_QLEN;
	struct kfi_cq *c;
	int ret;

	if (attr->format > FI_CQ_FORMAT_TAGGED || attr->wait_cond != FI_CQ_COND_NONE)
		return -FI_ENOSYS;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -FI_ENOMEM;
	c->domain = d;
	c->format = attr->format ?: FI_CQ_FORMAT_CONTEXT;
	c->size = KFI_BATCH;
	c->completions = malloc((size_t)c->size * sizeof(c->completions[0]));
	ret = c->completions ? kfi_queue_open(&c->queue, d->fabric->ia, (DAT_COUNT)qlen,
					      DAT_EVD_DTO_FLAG, attr->wait_obj) : -FI_ENOMEM;
	if (ret) {
		free(c->completions);
		free(c);
		return ret;
	}
	c->fid.fid.fclass = FI_CLASS_CQ;
	c->fid.fid.context = context;
	c->fid.fid.ops = &cq_fi_ops;
	c->fid.ops = &cq_ops;
	kfi_get(&d->refs);
	*cq = &c->fid;
	return 0;
}
