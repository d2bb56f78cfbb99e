// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * post.c - how a DTO gets from an endpoint to libdat
 *
 * A DTO is posted at once, unless the program says that more of them follow (FI_MORE). Injected
 * data are copied into a slot. An endpoint with a counter for requests has an event for each of
 * them, and remembers which ones the program wants to see.
 */
#include <stdlib.h>
#include <string.h>

#include "kfi.h"

/* A full queue is no error: the program reads completions and tries again. */
static ssize_t post_errno(DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		return 0;
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES &&
	    DAT_GET_SUBTYPE(ret) != DAT_RESOURCE_MEMORY)
		return -FI_EAGAIN;
	return kfi_errno(ret);
}

static void ep_lock(struct kfi_ep *ep)
{
	if (ep->domain->threading != FI_THREAD_DOMAIN)
		pthread_mutex_lock(&ep->lock);
}

static void ep_unlock(struct kfi_ep *ep)
{
	if (ep->domain->threading != FI_THREAD_DOMAIN)
		pthread_mutex_unlock(&ep->lock);
}

static bool is_receive(const DAT_LINUX_DTO *dto)
{
	return dto->op == DAT_LINUX_RECV || dto->op == DAT_LINUX_SRQ_RECV;
}

/* Completions that are still in the EVD may leave no room. */
static bool is_full(const struct kfi_ep *ep)
{
	return ep->posted - __atomic_load_n(&ep->completed, __ATOMIC_RELAXED) == ep->num_silent;
}

/* Completions of requests come in the order of their posts. */
static ssize_t post_counted(struct kfi_ep *ep, DAT_LINUX_DTO *dto)
{
	bool is_silent = dto->completion_flags & DAT_COMPLETION_SUPPRESS_FLAG;
	DAT_COUNT posted;
	ssize_t ret;

	if (is_full(ep)) {
		kfi_cq_progress(ep->tx_cq);
		if (is_full(ep))
			return -FI_EAGAIN;
	}
	ep->silent[ep->posted++ % ep->num_silent] = is_silent;
	if (is_silent)
		dto->completion_flags ^= DAT_COMPLETION_SUPPRESS_FLAG;
	ret = post_errno(dat_linux_post(1, dto, &posted));
	if (ret)
		ep->posted--;
	return ret;
}

static enum kfi_counted counted_as(DAT_LINUX_OP op)
{
	switch (op) {
	case DAT_LINUX_SEND:
		return KFI_SEND;
	case DAT_LINUX_RDMA_WRITE:
		return KFI_WRITE;
	case DAT_LINUX_RDMA_READ:
		return KFI_READ;
	case DAT_LINUX_RECV_WRITE_IMMED:
		return KFI_NUM_COUNTED;
	default:
		return KFI_RECV;
	}
}

/**
 * kfi_ep_count - count a completion of an endpoint
 * @ep: the endpoint
 * @c: the completion, whose CQ is locked
 *
 * Return: true if the program wants to see it.
 */
bool kfi_ep_count(struct kfi_ep *ep, const DAT_LINUX_COMPLETION *c)
{
	enum kfi_counted what = counted_as(c->op);
	bool is_silent = false;

	if (what < KFI_NUM_COUNTED && ep->cntrs[what])
		kfi_cntr_count(ep->cntrs[what], c->status != DAT_DTO_SUCCESS);
	if (ep->silent && (what == KFI_SEND || what == KFI_WRITE || what == KFI_READ))
		is_silent = ep->silent[ep->completed++ % ep->num_silent];
	return !is_silent || c->status != DAT_DTO_SUCCESS;
}

/* Completes a DTO with an error: the program got success for its post. */
static void fail_first(struct kfi_ep *ep)
{
	struct kfi_batch *batch = ep->batch;
	DAT_LINUX_DTO *dto = &batch->dtos[batch->first++];

	batch->num--;
	/* Requests that are counted are in no batch. */
	if (is_receive(dto) && ep->cntrs[KFI_RECV])
		kfi_cntr_count(ep->cntrs[KFI_RECV], true);
	kfi_cq_fail(is_receive(dto) ? ep->rx_cq : ep->tx_cq, dto, DAT_DTO_ERR_LOCAL_EP);
}

/* Posts what waits; the last DTO is not yet taken for posted. */
static ssize_t flush(struct kfi_ep *ep)
{
	struct kfi_batch *batch = ep->batch;
	DAT_COUNT posted;
	ssize_t ret = 0;

	while (batch->num) {
		ret = post_errno(dat_linux_post(batch->num, &batch->dtos[batch->first], &posted));
		batch->first += posted;
		batch->num -= posted;
		if (!ret || ret == -FI_EAGAIN || ret == -FI_ENOMEM || batch->num == 1)
			break;
		fail_first(ep);
	}
	if (ret)
		batch->num--;
	if (!batch->num)
		batch->first = 0;
	return ret;
}

static struct kfi_batch *batch_of(struct kfi_ep *ep)
{
	if (!ep->batch)
		ep->batch = calloc(1, sizeof(*ep->batch));
	return ep->batch;
}

/* Adds a DTO to those that wait. Posts them without FI_MORE, or when there is no more room. */
static ssize_t post_later(struct kfi_ep *ep, const DAT_LINUX_DTO *dto, uint64_t flags)
{
	struct kfi_batch *batch = batch_of(ep);
	DAT_COUNT at;

	if (!batch)
		return -FI_ENOMEM;
	at = batch->first + batch->num;
	/* The rest of a batch that did not fit in the queue */
	if (at == KFI_BATCH) {
		at = 0;
		memmove(batch->dtos, &batch->dtos[batch->first],
			(size_t)batch->num * sizeof(batch->dtos[0]));
		memmove(batch->iovs, &batch->iovs[batch->first],
			(size_t)batch->num * sizeof(batch->iovs[0]));
		batch->first = 0;
		for (; at < batch->num; at++)
			batch->dtos[at].local_iov = batch->iovs[at];
	}
	batch->dtos[at] = *dto;
	batch->dtos[at].local_iov = batch->iovs[at];
	memcpy(batch->iovs[at], dto->local_iov,
	       (size_t)dto->num_segments * sizeof(batch->iovs[at][0]));
	batch->num++;
	if (flags & FI_MORE && batch->first + batch->num < KFI_BATCH)
		return 0;
	return flush(ep);
}

static ssize_t post_locked(struct kfi_ep *ep, DAT_LINUX_DTO *dto, uint64_t flags)
{
	DAT_COUNT posted;

	if (ep->silent && !is_receive(dto))
		return post_counted(ep, dto);
	if (flags & FI_MORE || (ep->batch && ep->batch->num))
		return post_later(ep, dto, flags);
	return post_errno(dat_linux_post(1, dto, &posted));
}

/* The endpoints of a shared receive context may come and go. */
static ssize_t post_shared(struct kfi_ep *srx, DAT_LINUX_DTO *dto)
{
	struct kfi_feed *feed;
	DAT_COUNT posted;
	bool has_room = true;

	ep_lock(srx);
	for (feed = srx->feeds; feed && has_room; feed = feed->next)
		has_room = kfi_cq_has_room(feed->cq);
	ep_unlock(srx);
	return has_room ? post_errno(dat_linux_post(1, dto, &posted)) : -FI_EAGAIN;
}

/**
 * kfi_ep_post - post a DTO
 * @ep: the endpoint, which is enabled
 * @dto: the DTO
 * @flags: FI_MORE, if more DTOs follow
 *
 * Return: 0, -FI_EAGAIN if the queue is full, another error.
 */
ssize_t kfi_ep_post(struct kfi_ep *ep, DAT_LINUX_DTO *dto, uint64_t flags)
{
	DAT_COUNT posted;
	ssize_t ret;

	/* A shared receive context has no CQ for what fails later. */
	if (dto->op == DAT_LINUX_SRQ_RECV)
		return post_shared(ep, dto);
	if (!kfi_cq_has_room(is_receive(dto) ? ep->rx_cq : ep->tx_cq))
		return -FI_EAGAIN;
	if ((!(flags & FI_MORE) && !ep->silent && !__atomic_load_n(&ep->batch, __ATOMIC_RELAXED)))
		return post_errno(dat_linux_post(1, dto, &posted));
	ep_lock(ep);
	ret = post_locked(ep, dto, flags);
	ep_unlock(ep);
	return ret;
}

/*
 * The first injection makes the slots: one more than requests that can be outstanding, so
 * that the slot of the oldest injection is free, whether the queue is full or not.
 */
static int make_slots(struct kfi_ep *ep)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR address;
	DAT_VLEN size;
	void *slots;
	int ret;

	ep->num_slots = (size_t)ep->max_requests + KFI_BATCH + 1;
	slots = aligned_alloc(KFI_INJECT_SIZE, ep->num_slots * KFI_INJECT_SIZE);
	if (!slots)
		return -FI_ENOMEM;
	region.for_va = slots;
	ret = kfi_failed("dat_lmr_create",
			 dat_lmr_create(ep->domain->fabric->ia, DAT_MEM_TYPE_VIRTUAL, region,
					ep->num_slots * KFI_INJECT_SIZE, ep->domain->pz,
					DAT_MEM_PRIV_LOCAL_READ_FLAG, &ep->slots_lmr,
					&ep->slots_context, &rmr_context, &size, &address));
	if (ret)
		free(slots);
	else
		ep->slots = slots;
	return ret;
}

static ssize_t inject_locked(struct kfi_ep *ep, DAT_LINUX_DTO *dto, const struct iovec *iov,
			     size_t count, uint64_t flags)
{
	DAT_LMR_TRIPLET triplet = { .segment_length = 0 };
	uint8_t *slot;
	ssize_t ret;
	size_t i;

	ret = ep->slots ? 0 : make_slots(ep);
	if (ret)
		return ret;
	slot = ep->slots + ep->next_slot * KFI_INJECT_SIZE;
	for (i = 0; i < count; i++) {
		if (triplet.segment_length + iov[i].iov_len > KFI_INJECT_SIZE)
			return -FI_EMSGSIZE;
		memcpy(slot + triplet.segment_length, iov[i].iov_base, iov[i].iov_len);
		triplet.segment_length += iov[i].iov_len;
	}
	triplet.lmr_context = ep->slots_context;
	triplet.virtual_address = (uintptr_t)slot;
	dto->num_segments = triplet.segment_length ? 1 : 0;
	dto->local_iov = &triplet;
	ret = post_locked(ep, dto, flags);
	if (!ret)
		ep->next_slot = (ep->next_slot + 1) % ep->num_slots;
	return ret;
}

/**
 * kfi_ep_inject - post a copy of the data
 * @ep: the endpoint, which is enabled
 * @dto: a request without its segments
 * @iov: the data
 * @count: entries of @iov
 * @flags: as for kfi_ep_post()
 *
 * Return: as kfi_ep_post(), -FI_EMSGSIZE.
 */
ssize_t kfi_ep_inject(struct kfi_ep *ep, DAT_LINUX_DTO *dto, const struct iovec *iov,
		      size_t count, uint64_t flags)
{
	ssize_t ret;

	if (!kfi_cq_has_room(ep->tx_cq))
		return -FI_EAGAIN;
	ep_lock(ep);
	ret = inject_locked(ep, dto, iov, count, flags);
	ep_unlock(ep);
	return ret;
}

/**
 * kfi_ep_free_posts - free what posts have allocated
 * @ep: the endpoint, whose EP is free
 */
void kfi_ep_free_posts(struct kfi_ep *ep)
{
	if (ep->slots)
		dat_lmr_free(ep->slots_lmr);
	free(ep->slots);
	free(ep->silent);
	free(ep->batch);
}
