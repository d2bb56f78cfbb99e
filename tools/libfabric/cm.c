// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cm.c - a passive endpoint is a PSP; endpoints connect, accept and disconnect
 */
#include <stdlib.h>
#include <string.h>

#include "kfi.h"

/* Puts the size in front, see kfi_private_data(). Returns the bytes, or an error. */
static int pack(const struct kfi_fabric *fabric, uint8_t *to, const void *param, size_t len)
{
	if (len + 1 > (size_t)fabric->max_private || len > UINT8_MAX)
		return -FI_EINVAL;
	if (!len)
		return 0;
	to[0] = (uint8_t)len;
	memcpy(to + 1, param, len);
	return (int)len + 1;
}

/* See fi_getname(3): a short buffer gets a part of the address. @size returns its bytes. */
static int put_name(const void *name, void *addr, size_t *size)
{
	size_t need = kfi_sockaddr_size(name), room = *size;

	memcpy(addr, name, room < need ? room : need);
	*size = need;
	return room < need ? -FI_ETOOSMALL : 0;
}

/* Guards the requests of all passive endpoints, which may end before them. */
static pthread_mutex_t connreq_lock = PTHREAD_MUTEX_INITIALIZER;

static void unlink_connreq(struct kfi_connreq *connreq)
{
	struct kfi_connreq **link;

	if (!connreq->pep)
		return;
	for (link = &connreq->pep->connreqs; *link != connreq;)
		link = &(*link)->next;
	*link = connreq->next;
	connreq->pep = NULL;
}

static void free_connreq(struct kfi_connreq *connreq, bool reject)
{
	pthread_mutex_lock(&connreq_lock);
	unlink_connreq(connreq);
	pthread_mutex_unlock(&connreq_lock);
	if (reject)
		dat_cr_reject(connreq->cr);
	free(connreq);
}

/**
 * kfi_connreq_take - find the request that an endpoint will accept
 * @info: what the endpoint is created of
 * @ep: the endpoint; its connreq is an output, NULL for one that connects
 *
 * Return: 0, -FI_EINVAL.
 */
int kfi_connreq_take(struct fi_info *info, struct kfi_ep *ep)
{
	struct kfi_connreq *connreq;
	int ret = -FI_EINVAL;

	if (!info->handle)
		return 0;
	if (info->handle->fclass != FI_CLASS_CONNREQ)
		return -FI_EINVAL;
	connreq = kfi_container(info->handle, struct kfi_connreq, fid);
	pthread_mutex_lock(&connreq_lock);
	if (!connreq->ep && connreq->fabric == ep->domain->fabric) {
		connreq->ep = ep;
		ep->connreq = connreq;
		ret = 0;
	}
	pthread_mutex_unlock(&connreq_lock);
	return ret;
}

/**
 * kfi_connreq_put - an endpoint is closed that has not accepted its request
 * @ep: the endpoint
 *
 * The program may still reject the request, or accept it with another endpoint. Without the
 * passive endpoint it cannot.
 */
void kfi_connreq_put(struct kfi_ep *ep)
{
	bool is_left;

	if (!ep->connreq)
		return;
	pthread_mutex_lock(&connreq_lock);
	ep->connreq->ep = NULL;
	is_left = !ep->connreq->pep;
	pthread_mutex_unlock(&connreq_lock);
	if (is_left)
		free_connreq(ep->connreq, true);
}

/* The entry of FI_CONNREQ: the one of the passive endpoint, with the address of the peer. */
static struct fi_info *request_info(struct kfi_pep *pep, const DAT_CR_PARAM *param,
				    struct kfi_connreq *connreq)
{
	struct fi_info *info = fi_dupinfo(pep->info);

	if (!info)
		return NULL;
	free(info->dest_addr);
	info->dest_addr = kfi_copy_addr(param->remote_ia_address_ptr, &info->dest_addrlen);
	if (!info->dest_addr) {
		fi_freeinfo(info);
		return NULL;
	}
	kfi_set_port(info->dest_addr, (uint16_t)param->remote_port_qual);
	info->handle = &connreq->fid;
	return info;
}

/**
 * kfi_connection_request - make FI_CONNREQ of a connection request
 * @data: the DAT event
 *
 * Return: the event; NULL if the passive endpoint was closed, and without memory, which
 * rejects the request.
 */
struct kfi_event *kfi_connection_request(const DAT_CR_ARRIVAL_EVENT_DATA *data)
{
	struct kfi_connreq *connreq;
	struct kfi_event *e = NULL;
	DAT_CR_PARAM param;
	DAT_CONTEXT context;
	struct kfi_pep *pep;

	if (dat_get_consumer_context(data->sp_handle.psp_handle, &context) != DAT_SUCCESS ||
	    !context.as_ptr) {
		dat_cr_reject(data->cr_handle);
		return NULL;
	}
	pep = context.as_ptr;
	connreq = calloc(1, sizeof(*connreq));
	if (connreq && dat_cr_query(data->cr_handle, DAT_CR_FIELD_ALL, &param) == DAT_SUCCESS)
		e = calloc(1, sizeof(*e));
	if (e)
		e->entry.info = request_info(pep, &param, connreq);
	if (!e || !e->entry.info) {
		dat_cr_reject(data->cr_handle);
		free(connreq);
		free(e);
		return NULL;
	}
	connreq->fid.fclass = FI_CLASS_CONNREQ;
	connreq->pep = pep;
	connreq->fabric = pep->fabric;
	connreq->cr = data->cr_handle;
	pthread_mutex_lock(&connreq_lock);
	connreq->next = pep->connreqs;
	pep->connreqs = connreq;
	pthread_mutex_unlock(&connreq_lock);

	e->type = FI_CONNREQ;
	e->fid = &pep->fid.fid;
	e->entry.fid = e->fid;
	e->size = sizeof(e->entry) +
		  kfi_private_data(e->data, param.private_data, param.private_data_size);
	return e;
}

static int pep_setname(fid_t fid, void *addr, size_t size)
{
	struct kfi_pep *pep = kfi_container(fid, struct kfi_pep, fid.fid);

	if (pep->psp)
		return -FI_EOPBADSTATE;
	if (size < sizeof(struct sockaddr) || !kfi_sockaddr_size(addr) ||
	    size < kfi_sockaddr_size(addr) ||
	    kfi_sockaddr_size(addr) != pep->info->src_addrlen)
		return -FI_EINVAL;
	memcpy(pep->info->src_addr, addr, pep->info->src_addrlen);
	return 0;
}

static int pep_getname(fid_t fid, void *addr, size_t *size)
{
	struct kfi_pep *pep = kfi_container(fid, struct kfi_pep, fid.fid);

	return put_name(pep->info->src_addr, addr, size);
}

/* Port 0 is any that is free. */
static int create_psp(struct kfi_pep *pep, DAT_CONN_QUAL *qual)
{
	DAT_EVD_HANDLE evd = pep->eq->requests;
	DAT_RETURN ret;

	if (*qual)
		ret = dat_psp_create(pep->fabric->ia, *qual, evd, DAT_PSP_CONSUMER_FLAG, &pep->psp);
	else
		ret = dat_psp_create_any(pep->fabric->ia, qual, evd, DAT_PSP_CONSUMER_FLAG,
					 &pep->psp);
	if (ret != DAT_SUCCESS)
		pep->psp = DAT_HANDLE_NULL;
	return kfi_failed("dat_psp_create", ret);
}

static int pep_listen(struct fid_pep *fid)
{
	struct kfi_pep *pep = kfi_container(fid, struct kfi_pep, fid);
	DAT_CONTEXT context = { .as_ptr = pep };
	DAT_CONN_QUAL qual;
	int ret;

	if (!pep->eq)
		return -FI_ENOEQ;
	if (pep->psp)
		return -FI_EOPBADSTATE;
	qual = kfi_port(pep->info->src_addr);
	/* A request that arrives at once finds the passive endpoint. */
	pthread_mutex_lock(&pep->eq->queue.lock);
	ret = kfi_eq_listen(pep->eq) ?: create_psp(pep, &qual);
	if (!ret)
		dat_set_consumer_context(pep->psp, context);
	pthread_mutex_unlock(&pep->eq->queue.lock);
	if (!ret)
		kfi_set_port(pep->info->src_addr, (uint16_t)qual);
	return ret;
}

/* DAT rejects without data, see dat_cr_reject(3DAT). */
static int pep_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t paramlen)
{
	struct kfi_connreq *connreq = kfi_container(handle, struct kfi_connreq, fid);

	if (!handle || handle->fclass != FI_CLASS_CONNREQ || connreq->ep)
		return -FI_EINVAL;
	free_connreq(connreq, true);
	return 0;
}

static int pep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct kfi_pep *pep = kfi_container(fid, struct kfi_pep, fid.fid);

	if (other->fclass != FI_CLASS_EQ || pep->eq)
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	pep->eq = kfi_container(other, struct kfi_eq, fid.fid);
	kfi_get(&pep->eq->queue.refs);
	return 0;
}

/* But not what an endpoint will accept */
static void reject_all(struct kfi_pep *pep)
{
	struct kfi_connreq *connreq;
	bool is_taken;

	for (;;) {
		pthread_mutex_lock(&connreq_lock);
		connreq = pep->connreqs;
		is_taken = connreq && connreq->ep;
		if (connreq)
			unlink_connreq(connreq);
		pthread_mutex_unlock(&connreq_lock);
		if (!connreq)
			return;
		if (!is_taken)
			free_connreq(connreq, true);
	}
}

static int pep_close(struct fid *fid)
{
	DAT_CONTEXT nothing = { .as_ptr = NULL };
	struct kfi_pep *pep = kfi_container(fid, struct kfi_pep, fid.fid);

	if (pep->psp) {
		/* Who has found it by an event holds the lock. */
		pthread_mutex_lock(&pep->eq->queue.lock);
		dat_set_consumer_context(pep->psp, nothing);
		pthread_mutex_unlock(&pep->eq->queue.lock);
		dat_psp_free(pep->psp);
	}
	if (pep->eq) {
		kfi_eq_forget(pep->eq, fid);
		kfi_put(&pep->eq->queue.refs);
	}
	reject_all(pep);
	kfi_put(&pep->fabric->refs);
	fi_freeinfo(pep->info);
	free(pep);
	return 0;
}

/* The backlog is that of rdma_cm. */
static int pep_control(struct fid *fid, int command, void *arg)
{
	return command == FI_BACKLOG ? 0 : -FI_ENOSYS;
}

static int pep_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen)
{
	struct kfi_pep *pep = kfi_container(fid, struct kfi_pep, fid.fid);

	return kfi_getopt(pep->fabric, level, optname, optval, optlen);
}

static int pep_no_connect(struct fid_ep *ep, const void *addr, const void *param, size_t len)
{
	return -FI_ENOSYS;
}

static int pep_no_accept(struct fid_ep *ep, const void *param, size_t len)
{
	return -FI_ENOSYS;
}

static int pep_no_getpeer(struct fid_ep *ep, void *addr, size_t *len)
{
	return -FI_ENOSYS;
}

static int pep_no_shutdown(struct fid_ep *ep, uint64_t flags)
{
	return -FI_ENOSYS;
}

static struct fi_ops pep_fi_ops = {
	.size = sizeof(pep_fi_ops),
	.close = pep_close,
	.bind = pep_bind,
	.control = pep_control,
	.ops_open = kfi_no_ops_open,
};

static struct fi_ops_ep pep_ops = {
	.size = offsetof(struct fi_ops_ep, tx_ctx),
	.getopt = pep_getopt,
	.setopt = kfi_no_setopt,
};

static struct fi_ops_cm pep_cm_ops = {
	.size = offsetof(struct fi_ops_cm, join),
	.setname = pep_setname,
	.getname = pep_getname,
	.getpeer = pep_no_getpeer,
	.connect = pep_no_connect,
	.listen = pep_listen,
	.accept = pep_no_accept,
	.reject = pep_reject,
	.shutdown = pep_no_shutdown,
};

/**
 * kfi_passive_ep - see fi_passive_ep(3)
 * @fabric: its fabric
 * @info: from fi_getinfo(); without a source address it listens at any port
 * @pep: out
 * @context: of the program
 *
 * Return: 0, -FI_EINVAL, -FI_ENOMEM.
 */
int kfi_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
		   void *context)
{
	struct kfi_fabric *f = kfi_container(fabric, struct kfi_fabric, fid);
	struct kfi_pep *p;

	if (!info || info->ep_attr->type != FI_EP_MSG ||
	    (info->src_addr && info->src_addrlen != kfi_sockaddr_size(f->attr.ia_address_ptr)))
		return -FI_EINVAL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -FI_ENOMEM;
	p->info = fi_dupinfo(info);
	if (p->info && !p->info->src_addr)
		p->info->src_addr = kfi_copy_addr(f->attr.ia_address_ptr, &p->info->src_addrlen);
	if (!p->info || !p->info->src_addr) {
		fi_freeinfo(p->info);
		free(p);
		return -FI_ENOMEM;
	}
	p->fabric = f;
	p->fid.fid.fclass = FI_CLASS_PEP;
	p->fid.fid.context = context;
	p->fid.fid.ops = &pep_fi_ops;
	p->fid.ops = &pep_ops;
	p->fid.cm = &pep_cm_ops;
	kfi_get(&f->refs);
	*pep = &p->fid;
	return 0;
}

static int ep_connect(struct fid_ep *fid, const void *addr, const void *param, size_t len)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);
	uint8_t data[KFI_MAX_PRIVATE];
	int size = pack(ep->domain->fabric, data, param, len);
	int ret;

	if (!addr)
		addr = ep->info->dest_addr;
	if (!addr || !kfi_sockaddr_size(addr))
		return -FI_EINVAL;
	if (size < 0)
		return size;
	ret = fi_enable(fid);
	if (ret)
		return ret;
	/* The connection manager has a time limit of its own. */
	ret = kfi_failed("dat_ep_connect",
			 dat_ep_connect(ep->ep, (DAT_IA_ADDRESS_PTR)(uintptr_t)addr,
					kfi_port(addr), DAT_TIMEOUT_INFINITE, size, data,
					DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	/* What is no mistake of the program it expects in its event queue. */
	if (!ret || ret == -FI_EINVAL || ret == -FI_EOPBADSTATE)
		return ret;
	return kfi_eq_fail(ep->eq, &fid->fid, ret == -FI_EADDRNOTAVAIL ? FI_EHOSTUNREACH : -ret);
}

static int ep_accept(struct fid_ep *fid, const void *param, size_t len)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);
	uint8_t data[KFI_MAX_PRIVATE];
	int size = pack(ep->domain->fabric, data, param, len);
	int ret;

	if (!ep->connreq)
		return -FI_EINVAL;
	if (size < 0)
		return size;
	ret = fi_enable(fid);
	if (!ret)
		ret = kfi_failed("dat_cr_accept",
				 dat_cr_accept(ep->connreq->cr, ep->ep, size, data));
	if (ret)
		return ret;
	free_connreq(ep->connreq, false);
	ep->connreq = NULL;
	return 0;
}

static int ep_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);

	if (flags)
		return -FI_EINVAL;
	if (!ep->ep)
		return -FI_EOPBADSTATE;
	return kfi_errno(dat_ep_disconnect(ep->ep, DAT_CLOSE_GRACEFUL_FLAG));
}

static int ep_addresses(struct kfi_ep *ep, DAT_EP_PARAM *param)
{
	if (!ep->ep)
		return -FI_EOPBADSTATE;
	return kfi_errno(dat_ep_query(ep->ep, DAT_EP_FIELD_ALL, param));
}

static int put_endpoint(const struct sockaddr *name, DAT_PORT_QUAL port, void *addr,
			size_t *size)
{
	struct sockaddr_storage copy;

	if (!name || !kfi_sockaddr_size(name))
		return -FI_EADDRNOTAVAIL;
	memcpy(&copy, name, kfi_sockaddr_size(name));
	kfi_set_port(&copy, (uint16_t)port);
	return put_name(&copy, addr, size);
}

static int ep_getname(fid_t fid, void *addr, size_t *size)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid.fid);
	DAT_EP_PARAM param;
	int ret;

	if (!ep->ep && ep->info->src_addr)
		return put_name(ep->info->src_addr, addr, size);
	ret = ep_addresses(ep, &param);
	return ret ?: put_endpoint(param.local_ia_address_ptr, param.local_port_qual, addr, size);
}

static int ep_getpeer(struct fid_ep *fid, void *addr, size_t *size)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);
	DAT_EP_PARAM param;
	int ret = ep_addresses(ep, &param);

	return ret ?: put_endpoint(param.remote_ia_address_ptr, param.remote_port_qual, addr,
				   size);
}

static int ep_no_setname(fid_t fid, void *addr, size_t size)
{
	return -FI_ENOSYS;
}

static int ep_no_listen(struct fid_pep *pep)
{
	return -FI_ENOSYS;
}

static int ep_no_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t len)
{
	return -FI_ENOSYS;
}

struct fi_ops_cm kfi_ep_cm_ops = {
	.size = offsetof(struct fi_ops_cm, join),
	.setname = ep_no_setname,
	.getname = ep_getname,
	.getpeer = ep_getpeer,
	.connect = ep_connect,
	.listen = ep_no_listen,
	.accept = ep_accept,
	.reject = ep_no_reject,
	.shutdown = ep_shutdown,
};
