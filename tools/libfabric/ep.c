// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep.c - an endpoint is an EP, a shared receive context is an SRQ
 *
 * The EP is created when the endpoint is enabled: only then all its queues are known.
 */
#include <stdlib.h>

#include "kfi.h"

#define REQUESTS	(FI_SEND | FI_READ | FI_WRITE)
/* Of one connection; there are at most two. */
#define CONNECTION_EVENTS	2

static int bind_eq(struct kfi_ep *ep, struct kfi_eq *eq, uint64_t flags)
{
	if (flags)
		return -FI_EBADFLAGS;
	if (ep->eq || eq->fabric != ep->domain->fabric)
		return -FI_EINVAL;
	ep->eq = eq;
	kfi_get(&eq->queue.refs);
	return 0;
}

static int bind_cq(struct kfi_ep *ep, struct kfi_cq *cq, uint64_t flags)
{
	if (flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION))
		return -FI_EBADFLAGS;
	if (cq->domain != ep->domain || !(flags & (FI_TRANSMIT | FI_RECV)) ||
	    (flags & FI_TRANSMIT && ep->tx_cq) || (flags & FI_RECV && ep->rx_cq))
		return -FI_EINVAL;
	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->selective = flags & FI_SELECTIVE_COMPLETION;
		kfi_get(&cq->queue.refs);
	}
	/* A receive always completes, as with libfabric's provider for verbs. */
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		kfi_get(&cq->queue.refs);
	}
	return 0;
}

/* Reads and writes of a peer have no completions. */
static int bind_cntr(struct kfi_ep *ep, struct kfi_cntr *cntr, uint64_t flags)
{
	static const uint64_t counted[KFI_NUM_COUNTED] = {
		[KFI_SEND] = FI_SEND,
		[KFI_RECV] = FI_RECV,
		[KFI_WRITE] = FI_WRITE,
		[KFI_READ] = FI_READ,
	};
	int i;

	if (flags & ~(REQUESTS | FI_RECV))
		return -FI_ENOSYS;
	if (cntr->domain != ep->domain || !flags)
		return -FI_EINVAL;
	for (i = 0; i < KFI_NUM_COUNTED; i++)
		if (flags & counted[i] && ep->cntrs[i])
			return -FI_EINVAL;
	for (i = 0; i < KFI_NUM_COUNTED; i++) {
		if (flags & counted[i]) {
			ep->cntrs[i] = cntr;
			kfi_get(&cntr->refs);
		}
	}
	return 0;
}

static int bind_srx(struct kfi_ep *ep, struct kfi_ep *srx)
{
	if (ep->srx || srx->domain != ep->domain)
		return -FI_EINVAL;
	ep->srx = srx;
	kfi_get(&srx->refs);
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid.fid);

	if (ep->ep || ep->receiver)
		return -FI_EOPBADSTATE;
	switch (other->fclass) {
	case FI_CLASS_EQ:
		return bind_eq(ep, kfi_container(other, struct kfi_eq, fid.fid), flags);
	case FI_CLASS_CQ:
		return bind_cq(ep, kfi_container(other, struct kfi_cq, fid.fid), flags);
	case FI_CLASS_CNTR:
		return bind_cntr(ep, kfi_container(other, struct kfi_cntr, fid.fid), flags);
	case FI_CLASS_SRX_CTX:
		return bind_srx(ep, kfi_container(other, struct kfi_ep, fid.fid));
	default:
		return -FI_EINVAL;
	}
}

static DAT_COUNT min_count(size_t a, DAT_COUNT b)
{
	return a < (size_t)b ? (DAT_COUNT)a : b;
}

static void fill_attr(DAT_EP_ATTR *attr, const struct fi_info *info, const DAT_IA_ATTR *ia)
{
	DAT_COUNT iov = (DAT_COUNT)info->tx_attr->iov_limit;

	*attr = (DAT_EP_ATTR){
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = ia->max_message_size,
		.max_rdma_size = ia->max_rdma_size,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = (DAT_COUNT)info->rx_attr->size,
		.max_request_dtos = (DAT_COUNT)info->tx_attr->size,
		.max_recv_iov = (DAT_COUNT)info->rx_attr->iov_limit,
		.max_request_iov = iov,
		.max_rdma_read_in = ia->max_rdma_read_per_ep_in,
		.max_rdma_read_out = ia->max_rdma_read_per_ep_out,
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = min_count((size_t)iov, ia->max_iov_segments_per_rdma_read),
		.max_rdma_write_iov = min_count((size_t)iov, ia->max_iov_segments_per_rdma_write),
	};
}

static struct kfi_cq *cq_of(const struct kfi_ep *ep, int what)
{
	return what == KFI_RECV ? ep->rx_cq : ep->tx_cq;
}

/* Each queue has a CQ, perhaps that of a counter. */
static int complete_cqs(struct kfi_ep *ep)
{
	struct kfi_cq **cq;
	int ret, i;

	for (i = 0; i < KFI_NUM_COUNTED; i++) {
		cq = i == KFI_RECV ? &ep->rx_cq : &ep->tx_cq;
		if (*cq || !ep->cntrs[i])
			continue;
		ret = kfi_cntr_cq(ep->cntrs[i], cq);
		if (ret)
			return ret;
		kfi_get(&(*cq)->queue.refs);
	}
	if ((!ep->tx_cq && ep->info->caps & REQUESTS) ||
	    (!ep->rx_cq && ep->info->caps & FI_RECV))
		return -FI_ENOCQ;
	return 0;
}

static void unwatch(struct kfi_ep *ep, int num)
{
	while (num--)
		if (ep->cntrs[num])
			kfi_cntr_unwatch(ep->cntrs[num], cq_of(ep, num));
}

static int start_counting(struct kfi_ep *ep)
{
	struct kfi_cq *cq;
	int ret, i;

	if (ep->cntrs[KFI_SEND] || ep->cntrs[KFI_WRITE] || ep->cntrs[KFI_READ]) {
		ep->num_silent = (size_t)ep->max_requests + 1;
		ep->silent = calloc(ep->num_silent, sizeof(ep->silent[0]));
		if (!ep->silent)
			return -FI_ENOMEM;
	}
	for (i = 0; i < KFI_NUM_COUNTED; i++) {
		if (!ep->cntrs[i])
			continue;
		cq = cq_of(ep, i);
		kfi_cq_lock(cq);
		cq->is_counted = true;
		kfi_cq_unlock(cq);
		ret = kfi_cntr_watch(ep->cntrs[i], cq);
		if (ret) {
			unwatch(ep, i);
			return ret;
		}
	}
	return 0;
}

/* From now on receives of the shared receive context complete in this CQ. */
static int add_feed(struct kfi_ep *srx, struct kfi_cq *cq)
{
	struct kfi_feed *feed;
	int ret = 0;

	pthread_mutex_lock(&srx->lock);
	for (feed = srx->feeds; feed && feed->cq != cq;)
		feed = feed->next;
	if (feed) {
		feed->users++;
		goto unlock;
	}
	feed = calloc(1, sizeof(*feed));
	ret = feed ? kfi_cq_reserve(cq, srx->max_receives) : -FI_ENOMEM;
	if (ret) {
		free(feed);
		goto unlock;
	}
	*feed = (struct kfi_feed){ srx->feeds, cq, 1 };
	srx->feeds = feed;
unlock:
	pthread_mutex_unlock(&srx->lock);
	return ret;
}

static void drop_feed(struct kfi_ep *srx, struct kfi_cq *cq)
{
	struct kfi_feed **link, *feed;

	pthread_mutex_lock(&srx->lock);
	for (link = &srx->feeds; (*link)->cq != cq;)
		link = &(*link)->next;
	feed = *link;
	if (!--feed->users) {
		*link = feed->next;
		kfi_cq_release(cq, srx->max_receives);
		free(feed);
	}
	pthread_mutex_unlock(&srx->lock);
}

/* Room in the queues for all that can be outstanding, and for the events of a connection */
static int reserve(struct kfi_ep *ep)
{
	int ret = kfi_queue_reserve(&ep->eq->queue, CONNECTION_EVENTS);

	if (ret)
		return ret;
	if (ep->tx_cq)
		ret = kfi_cq_reserve(ep->tx_cq, ep->max_requests);
	if (ret)
		goto release_eq;
	if (ep->rx_cq)
		ret = ep->srx ? add_feed(ep->srx, ep->rx_cq) :
				kfi_cq_reserve(ep->rx_cq, ep->max_receives);
	if (!ret)
		return 0;
	if (ep->tx_cq)
		kfi_cq_release(ep->tx_cq, ep->max_requests);
release_eq:
	kfi_queue_release(&ep->eq->queue, CONNECTION_EVENTS);
	return ret;
}

static void release(struct kfi_ep *ep)
{
	if (ep->rx_cq && ep->srx)
		drop_feed(ep->srx, ep->rx_cq);
	else if (ep->rx_cq)
		kfi_cq_release(ep->rx_cq, ep->max_receives);
	if (ep->tx_cq)
		kfi_cq_release(ep->tx_cq, ep->max_requests);
	kfi_queue_release(&ep->eq->queue, CONNECTION_EVENTS);
}

static int create(struct kfi_ep *ep)
{
	const struct kfi_fabric *fabric = ep->domain->fabric;
	DAT_EVD_HANDLE tx_evd = ep->tx_cq ? ep->tx_cq->queue.evd : DAT_HANDLE_NULL;
	DAT_EVD_HANDLE rx_evd = ep->rx_cq ? ep->rx_cq->queue.evd : DAT_HANDLE_NULL;
	DAT_EP_ATTR attr;

	fill_attr(&attr, ep->info, &fabric->attr);
	if (ep->srx)
		return kfi_failed("dat_ep_create_with_srq",
				  dat_ep_create_with_srq(fabric->ia, ep->domain->pz, rx_evd, tx_evd,
							 ep->eq->queue.evd, ep->srx->receiver,
							 &attr, &ep->ep));
	return kfi_failed("dat_ep_create",
			  dat_ep_create(fabric->ia, ep->domain->pz, rx_evd, tx_evd,
					ep->eq->queue.evd, &attr, &ep->ep));
}

static int add_to_cqs(struct kfi_ep *ep)
{
	int ret = ep->tx_cq ? kfi_cq_add(ep->tx_cq, ep) : 0;

	if (!ret && ep->rx_cq && ep->rx_cq != ep->tx_cq)
		ret = kfi_cq_add(ep->rx_cq, ep);
	return ret;
}

/* Frees the EP. The operations that it flushes are discarded, see fi_endpoint(3). */
static void free_dat_ep(struct kfi_ep *ep)
{
	struct kfi_cq *tx_cq = ep->tx_cq;
	struct kfi_cq *rx_cq = ep->rx_cq != tx_cq ? ep->rx_cq : NULL;

	if (tx_cq)
		kfi_cq_remove(tx_cq, ep);
	if (rx_cq)
		kfi_cq_remove(rx_cq, ep);
	dat_ep_free(ep->ep);
	if (tx_cq)
		kfi_cq_discard(tx_cq);
	if (rx_cq)
		kfi_cq_discard(rx_cq);
}

/* Also for an endpoint that is enabled already: fi_connect() and fi_accept() enable it. */
static int enable(struct kfi_ep *ep)
{
	DAT_CONTEXT context = { .as_ptr = ep };
	DAT_EP_PARAM param;
	int ret;

	/* A shared receive context needs no more. */
	if (ep->ep || ep->receiver)
		return 0;
	if (!ep->eq)
		return -FI_ENOEQ;
	if (!ep->srx && ep->info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT)
		return -FI_EINVAL;
	ret = complete_cqs(ep);
	if (ret)
		return ret;
	ret = create(ep);
	if (ret) {
		ep->ep = DAT_HANDLE_NULL;
		return ret;
	}
	ret = kfi_failed("dat_ep_query", dat_ep_query(ep->ep, DAT_EP_FIELD_ALL, &param));
	if (ret)
		goto free;
	ep->max_requests = param.ep_attr.max_request_dtos;
	ep->max_receives = param.ep_attr.max_recv_dtos;
	dat_set_consumer_context(ep->ep, context);
	ret = reserve(ep);
	if (ret)
		goto free;
	ret = add_to_cqs(ep) ?: start_counting(ep);
	if (ret)
		goto release;
	if (!ep->srx && ep->rx_cq)
		ep->receiver = ep->ep;
	return 0;

release:
	release(ep);
free:
	free_dat_ep(ep);
	free(ep->silent);
	ep->silent = NULL;
	ep->ep = DAT_HANDLE_NULL;
	return ret;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid.fid);

	return command == FI_ENABLE ? enable(ep) : -FI_ENOSYS;
}

/* From now on no event leads to the endpoint. Who has found it by one holds the lock. */
static void hide(struct kfi_ep *ep)
{
	DAT_CONTEXT nothing = { .as_ptr = NULL };

	pthread_mutex_lock(&ep->eq->queue.lock);
	dat_set_consumer_context(ep->ep, nothing);
	pthread_mutex_unlock(&ep->eq->queue.lock);
}

static void free_ep(struct kfi_ep *ep)
{
	hide(ep);
	free_dat_ep(ep);
	unwatch(ep, KFI_NUM_COUNTED);
	release(ep);
}

static void put_bound(struct kfi_ep *ep)
{
	int i;

	if (ep->eq) {
		kfi_eq_forget(ep->eq, &ep->fid.fid);
		kfi_put(&ep->eq->queue.refs);
	}
	if (ep->tx_cq)
		kfi_put(&ep->tx_cq->queue.refs);
	if (ep->srx)
		kfi_put(&ep->srx->refs);
	for (i = 0; i < KFI_NUM_COUNTED; i++)
		if (ep->cntrs[i])
			kfi_put(&ep->cntrs[i]->refs);
}

/**
 * kfi_ep_free - free the memory of a closed endpoint
 * @ep: the endpoint
 */
void kfi_ep_free(struct kfi_ep *ep)
{
	pthread_mutex_destroy(&ep->lock);
	fi_freeinfo(ep->info);
	free(ep);
}

static int ep_close(struct fid *fid)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid.fid);
	struct kfi_cq *cq = ep->rx_cq;

	if (kfi_is_used(&ep->refs))
		return -FI_EBUSY;
	if (ep->ep)
		free_ep(ep);
	else if (ep->receiver)
		dat_srq_free(ep->receiver);
	kfi_ep_free_posts(ep);
	kfi_connreq_put(ep);
	put_bound(ep);
	kfi_put(&ep->domain->refs);
	ep->ep = DAT_HANDLE_NULL;
	ep->receiver = DAT_HANDLE_NULL;
	ep->is_closed = true;
	/* The program may close another CQ now. */
	if (ep->tx_cq != cq)
		ep->tx_cq = NULL;
	if (!cq) {
		kfi_ep_free(ep);
		return 0;
	}
	/* From here on a reader of the CQ may free it. */
	kfi_cq_keep(cq, ep);
	kfi_put(&cq->queue.refs);
	return 0;
}

static ssize_t no_cancel(fid_t fid, void *context)
{
	return -FI_ENOSYS;
}

/**
 * kfi_getopt - see fi_getopt(3)
 * @fabric: of the object
 * @level: FI_OPT_ENDPOINT
 * @optname: FI_OPT_CM_DATA_SIZE
 * @optval: out: the value
 * @optlen: in: room for the value; out: its size
 *
 * Return: 0, -FI_ENOPROTOOPT, -FI_ETOOSMALL.
 */
int kfi_getopt(const struct kfi_fabric *fabric, int level, int optname, void *optval,
	       size_t *optlen)
{
	if (level != FI_OPT_ENDPOINT || optname != FI_OPT_CM_DATA_SIZE)
		return -FI_ENOPROTOOPT;
	if (*optlen < sizeof(size_t))
		return -FI_ETOOSMALL;
	*(size_t *)optval = (size_t)fabric->max_private - 1;
	*optlen = sizeof(size_t);
	return 0;
}

static int ep_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid.fid);

	return kfi_getopt(ep->domain->fabric, level, optname, optval, optlen);
}

/**
 * kfi_no_setopt - no option of endpoints can be set
 * @fid: the object
 * @level: level
 * @optname: option
 * @optval: value
 * @optlen: its size
 *
 * Return: -FI_ENOPROTOOPT.
 */
int kfi_no_setopt(fid_t fid, int level, int optname, const void *optval, size_t optlen)
{
	return -FI_ENOPROTOOPT;
}

static int no_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr,
		     struct fid_ep **tx_ep, void *context)
{
	return -FI_ENOSYS;
}

static int no_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr,
		     struct fid_ep **rx_ep, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_size_left(struct fid_ep *ep)
{
	return -FI_ENOSYS;
}

static struct fi_ops ep_fi_ops = {
	.size = sizeof(ep_fi_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
	.ops_open = kfi_no_ops_open,
};

static struct fi_ops_ep ep_ops = {
	.size = sizeof(ep_ops),
	.cancel = no_cancel,
	.getopt = ep_getopt,
	.setopt = kfi_no_setopt,
	.tx_ctx = no_tx_ctx,
	.rx_ctx = no_rx_ctx,
	.rx_size_left = no_size_left,
	.tx_size_left = no_size_left,
};

/* @info belongs to the endpoint; NULL without memory, which also frees @info. */
static struct kfi_ep *ep_alloc(struct kfi_domain *domain, struct fi_info *info, size_t fclass,
			       void *context)
{
	struct kfi_ep *ep = info ? calloc(1, sizeof(*ep)) : NULL;

	if (!ep) {
		fi_freeinfo(info);
		return NULL;
	}
	ep->domain = domain;
	ep->info = info;
	pthread_mutex_init(&ep->lock, NULL);
	ep->fid.fid.fclass = fclass;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fi_ops;
	ep->fid.ops = &ep_ops;
	ep->fid.cm = &kfi_ep_cm_ops;
	ep->fid.msg = &kfi_msg_ops;
	ep->fid.rma = &kfi_rma_ops;
	kfi_get(&domain->refs);
	return ep;
}

/**
 * kfi_endpoint - see fi_endpoint(3)
 * @domain: its domain
 * @info: from fi_getinfo(), or of FI_CONNREQ
 * @ep: out
 * @context: of the program
 *
 * Return: 0, -FI_EINVAL, -FI_ENOMEM.
 */
int kfi_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		 void *context)
{
	struct kfi_domain *d = kfi_container(domain, struct kfi_domain, fid);
	struct kfi_ep *e;
	int ret;

	if (!info || !info->ep_attr || !info->tx_attr || !info->rx_attr ||
	    info->ep_attr->type != FI_EP_MSG || info->tx_attr->iov_limit > KFI_MAX_IOV ||
	    info->rx_attr->iov_limit > KFI_MAX_IOV)
		return -FI_EINVAL;
	e = ep_alloc(d, fi_dupinfo(info), FI_CLASS_EP, context);
	if (!e)
		return -FI_ENOMEM;
	ret = kfi_connreq_take(info, e);
	if (ret) {
		fi_close(&e->fid.fid);
		return ret;
	}
	*ep = &e->fid;
	return 0;
}

/**
 * kfi_srx - see fi_srx_context(3)
 * @domain: its domain
 * @attr: number of receives, and of their segments
 * @rx_ep: out
 * @context: of the program
 *
 * Return: 0, -FI_EINVAL, -FI_ENOMEM, another error.
 */
int kfi_srx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
	    void *context)
{
	struct kfi_domain *d = kfi_container(domain, struct kfi_domain, fid);
	DAT_SRQ_ATTR srq_attr = { .low_watermark = DAT_SRQ_LW_DEFAULT };
	struct kfi_ep *e;
	int ret;

	if (!attr || attr->iov_limit > KFI_MAX_IOV ||
	    attr->size > (size_t)d->fabric->attr.max_recv_per_srq)
		return -FI_EINVAL;
	e = ep_alloc(d, fi_allocinfo(), FI_CLASS_SRX_CTX, context);
	if (!e)
		return -FI_ENOMEM;
	e->info->rx_attr->iov_limit = attr->iov_limit ?: 1;
	srq_attr.max_recv_iov = (DAT_COUNT)e->info->rx_attr->iov_limit;
	e->max_receives = (DAT_COUNT)(attr->size ?: KFI_DEFAULT_SIZE);
	srq_attr.max_recv_dtos = e->max_receives;
	ret = kfi_failed("dat_srq_create",
			 dat_srq_create(d->fabric->ia, d->pz, &srq_attr, &e->receiver));
	if (ret) {
		e->receiver = DAT_HANDLE_NULL;
		fi_close(&e->fid.fid);
		return ret;
	}
	*rx_ep = &e->fid;
	return 0;
}
