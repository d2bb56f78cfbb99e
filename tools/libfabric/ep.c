// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep.c - an endpoint is an EP
 *
 * The EP is created when the endpoint is enabled: only then all its queues are known.
 */
#include <stdlib.h>

#include "kfi.h"

static int bind_eq(struct kfi_ep *ep, struct kfi_eq *eq, uint64_t flags)
{
	if (flags)
		return -FI_EBADFLAGS;
	if (ep->eq || eq->fabric != ep->domain->fabric)
		return -FI_EINVAL;
	ep->eq = eq;
	kfi_get(&eq->refs);
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
		kfi_get(&cq->refs);
	}
	/* A receive always completes, as with libfabric's provider for verbs. */
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		kfi_get(&cq->refs);
	}
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid.fid);

	if (ep->ep)
		return -FI_EOPBADSTATE;
	switch (other->fclass) {
	case FI_CLASS_EQ:
		return bind_eq(ep, kfi_container(other, struct kfi_eq, fid.fid), flags);
	case FI_CLASS_CQ:
		return bind_cq(ep, kfi_container(other, struct kfi_cq, fid.fid), flags);
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

/* Also for an endpoint that is enabled already: fi_connect() and fi_accept() enable it. */
static int enable(struct kfi_ep *ep)
{
	DAT_CONTEXT context = { .as_ptr = ep };
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	if (ep->ep)
		return 0;
	if (!ep->eq)
		return -FI_ENOEQ;
	if ((!ep->tx_cq && ep->info->caps & (FI_SEND | FI_READ | FI_WRITE)) ||
	    (!ep->rx_cq && ep->info->caps & FI_RECV))
		return -FI_ENOCQ;
	fill_attr(&attr, ep->info, &ep->domain->fabric->attr);
	ret = dat_ep_create(ep->domain->fabric->ia, ep->domain->pz,
			    ep->rx_cq ? ep->rx_cq->evd : DAT_HANDLE_NULL,
			    ep->tx_cq ? ep->tx_cq->evd : DAT_HANDLE_NULL, ep->eq->evd, &attr,
			    &ep->ep);
	if (ret != DAT_SUCCESS) {
		ep->ep = DAT_HANDLE_NULL;
		return kfi_failed("dat_ep_create", ret);
	}
	dat_set_consumer_context(ep->ep, context);
	return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid.fid);

	return command == FI_ENABLE ? enable(ep) : -FI_ENOSYS;
}

static int ep_close(struct fid *fid)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid.fid);

	if (ep->ep)
		dat_ep_free(ep->ep);
	if (ep->slots)
		dat_lmr_free(ep->slots_lmr);
	free(ep->slots);
	kfi_connreq_put(ep);
	if (ep->eq) {
		kfi_eq_forget(ep->eq, fid);
		kfi_put(&ep->eq->refs);
	}
	if (ep->tx_cq)
		kfi_put(&ep->tx_cq->refs);
	if (ep->rx_cq)
		kfi_put(&ep->rx_cq->refs);
	pthread_mutex_destroy(&ep->lock);
	kfi_put(&ep->domain->refs);
	fi_freeinfo(ep->info);
	free(ep);
	return 0;
}

static ssize_t no_cancel(fid_t fid, void *context)
{
	return -FI_ENOSYS;
}

static int ep_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid.fid);

	if (level != FI_OPT_ENDPOINT || optname != FI_OPT_CM_DATA_SIZE)
		return -FI_ENOPROTOOPT;
	if (*optlen < sizeof(size_t))
		return -FI_ETOOSMALL;
	*(size_t *)optval = (size_t)ep->domain->fabric->max_private - 1;
	*optlen = sizeof(size_t);
	return 0;
}

static int ep_setopt(fid_t fid, int level, int optname, const void *optval, size_t optlen)
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
	.setopt = ep_setopt,
	.tx_ctx = no_tx_ctx,
	.rx_ctx = no_rx_ctx,
	.rx_size_left = no_size_left,
	.tx_size_left = no_size_left,
};

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
	e = calloc(1, sizeof(*e));
	if (!e)
		return -FI_ENOMEM;
	e->domain = d;
	e->info = fi_dupinfo(info);
	ret = e->info ? kfi_connreq_take(info, e) : -FI_ENOMEM;
	if (ret) {
		fi_freeinfo(e->info);
		free(e);
		return ret;
	}
	pthread_mutex_init(&e->lock, NULL);
	e->fid.fid.fclass = FI_CLASS_EP;
	e->fid.fid.context = context;
	e->fid.fid.ops = &ep_fi_ops;
	e->fid.ops = &ep_ops;
	e->fid.cm = &kfi_ep_cm_ops;
	e->fid.msg = &kfi_msg_ops;
	e->fid.rma = &kfi_rma_ops;
	kfi_get(&d->refs);
	*ep = &e->fid;
	return 0;
}
