// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * usp.c - the ioctls of service points
 */
#include "uaddr.h"
#include "usimple.h"
#include "usp.h"

/**
 * dat_usp_handle - which service point a request has come to
 * @evd: the EVD that is told of it
 * @conn_qual: the qualifier that the peer named
 *
 * Context: any.
 * Return: the handle, 0 if it has been freed.
 */
u32 dat_usp_handle(struct dat_uevd *evd, u64 conn_qual)
{
	struct dat_usp *sp;
	u32 handle = 0;

	spin_lock_bh(&evd->lock);
	list_for_each_entry(sp, &evd->sps, node) {
		/* If no other is it, it is the one that does not know yet. */
		if (sp->conn_qual != conn_qual && sp->conn_qual)
			continue;
		handle = sp->uobj.handle;
		if (sp->conn_qual)
			break;
	}
	spin_unlock_bh(&evd->lock);
	return handle;
}

static void usp_release(struct dat_uobj *uobj)
{
	struct dat_usp *sp = to_usp(uobj);

	spin_lock_bh(&sp->evd->lock);
	list_del(&sp->node);
	spin_unlock_bh(&sp->evd->lock);
	dat_uobj_put(&sp->evd->uobj);
}

/* The EVD has to know it before the first request comes. */
static struct dat_usp *usp_alloc(struct dat_file *file, DAT_HANDLE_TYPE type,
				 struct dat_uobj *ia, struct dat_uobj *evd,
				 u64 conn_qual)
{
	struct dat_usp *sp = dat_usimple_alloc(file, sizeof(*sp), type,
					       to_uia(ia));

	if (!sp)
		return NULL;
	kref_get(&evd->ref);
	sp->evd = to_uevd(evd);
	sp->conn_qual = conn_qual;
	sp->uobj.release = usp_release;
	spin_lock_bh(&sp->evd->lock);
	list_add_tail(&sp->node, &sp->evd->sps);
	spin_unlock_bh(&sp->evd->lock);
	return sp;
}

static DAT_RETURN psp_create(struct dat_dev_psp_create *p, struct dat_usp *sp,
			     DAT_IA_HANDLE kia, bool any,
			     DAT_PSP_HANDLE *khandle)
{
	DAT_RETURN ret;

	if (!any)
		return dat_psp_create(kia, p->conn_qual, sp->evd->uobj.khandle,
				      p->flags, khandle);
	ret = dat_psp_create_any(kia, &p->conn_qual, sp->evd->uobj.khandle,
				 p->flags, khandle);
	spin_lock_bh(&sp->evd->lock);
	if (!ret)
		sp->conn_qual = p->conn_qual;
	spin_unlock_bh(&sp->evd->lock);
	return ret;
}

static int ioctl_psp_create(struct dat_file *file,
			    struct dat_dev_psp_create *p, bool any)
{
	struct dat_uobj *ia, *evd;
	DAT_PSP_HANDLE khandle;
	struct dat_usp *sp;

	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return 0;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	evd = dat_uobj_get(file, p->evd, DAT_HANDLE_TYPE_EVD);
	if (!evd)
		goto put_ia;
	/* There is at most one whose qualifier is not known. */
	if (any)
		mutex_lock(&to_uevd(evd)->mutex);
	p->result = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	sp = usp_alloc(file, DAT_HANDLE_TYPE_PSP, ia, evd,
		       any ? 0 : p->conn_qual);
	if (!sp)
		goto unlock;
	p->result = psp_create(p, sp, ia->khandle, any, &khandle);
	if (!p->result)
		p->psp = sp->uobj.handle;
	dat_usimple_finish(&sp->uobj, p->result, khandle);
unlock:
	if (any)
		mutex_unlock(&to_uevd(evd)->mutex);
	dat_uobj_put(evd);
put_ia:
	dat_uobj_put(ia);
	return 0;
}

/* dat_psp_create() */
int dat_ioctl_psp_create(struct dat_file *file, void *arg)
{
	return ioctl_psp_create(file, arg, false);
}

/* dat_psp_create_any() */
int dat_ioctl_psp_create_any(struct dat_file *file, void *arg)
{
	return ioctl_psp_create(file, arg, true);
}

/* dat_psp_query() */
int dat_ioctl_psp_query(struct dat_file *file, void *arg)
{
	struct dat_dev_psp_create *p = arg;
	DAT_PSP_PARAM param;

	p->result = dat_psp_query(dat_uobj_khandle(file, p->psp,
						   DAT_HANDLE_TYPE_PSP),
				  DAT_PSP_FIELD_ALL, &param);
	if (p->result)
		return 0;
	p->ia = dat_uobj_user_handle(param.ia_handle);
	p->evd = dat_uobj_user_handle(param.evd_handle);
	p->conn_qual = param.conn_qual;
	p->flags = param.psp_flags;
	return 0;
}

/* dat_psp_free() */
int dat_ioctl_psp_free(struct dat_file *file, void *arg)
{
	return dat_usimple_free(file, arg, DAT_HANDLE_TYPE_PSP, dat_psp_free);
}

/* dat_rsp_create() */
int dat_ioctl_rsp_create(struct dat_file *file, void *arg)
{
	struct dat_dev_rsp_create *p = arg;
	struct dat_uobj *ia, *evd;
	DAT_RSP_HANDLE khandle;
	struct dat_usp *sp;

	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return 0;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	evd = dat_uobj_get(file, p->evd, DAT_HANDLE_TYPE_EVD);
	if (!evd)
		goto put_ia;
	p->result = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	sp = usp_alloc(file, DAT_HANDLE_TYPE_RSP, ia, evd, p->conn_qual);
	if (!sp)
		goto put_evd;
	p->result = dat_rsp_create(ia->khandle, p->conn_qual,
				   dat_uobj_khandle(file, p->ep,
						    DAT_HANDLE_TYPE_EP),
				   evd->khandle, &khandle);
	if (!p->result)
		p->rsp = sp->uobj.handle;
	dat_usimple_finish(&sp->uobj, p->result, khandle);
put_evd:
	dat_uobj_put(evd);
put_ia:
	dat_uobj_put(ia);
	return 0;
}

/* dat_rsp_query() */
int dat_ioctl_rsp_query(struct dat_file *file, void *arg)
{
	struct dat_dev_rsp_create *p = arg;
	DAT_RSP_PARAM param;

	p->result = dat_rsp_query(dat_uobj_khandle(file, p->rsp,
						   DAT_HANDLE_TYPE_RSP),
				  DAT_RSP_FIELD_ALL, &param);
	if (p->result)
		return 0;
	p->ia = dat_uobj_user_handle(param.ia_handle);
	p->evd = dat_uobj_user_handle(param.evd_handle);
	p->conn_qual = param.conn_qual;
	p->ep = dat_uobj_user_handle(param.ep_handle);
	return 0;
}

/* dat_rsp_free() */
int dat_ioctl_rsp_free(struct dat_file *file, void *arg)
{
	return dat_usimple_free(file, arg, DAT_HANDLE_TYPE_RSP, dat_rsp_free);
}

static u64 addr_port(const struct dat_dev_addr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr->bytes;

	/* In the same place in both families. */
	BUILD_BUG_ON(offsetof(struct sockaddr_in, sin_port) !=
		     offsetof(struct sockaddr_in6, sin6_port));
	return ntohs(in6->sin6_port);
}

static DAT_RETURN csp_create(struct dat_dev_csp_create *p, struct dat_usp *sp,
			     DAT_IA_HANDLE kia, DAT_CSP_HANDLE *khandle)
{
	DAT_COMM comm = {
		.domain = p->domain,
		.type = p->type,
		.protocol = p->protocol,
	};
	DAT_CSP_PARAM param;
	DAT_RETURN ret;

	ret = dat_csp_create(kia, &comm, (DAT_IA_ADDRESS_PTR)p->address.bytes,
			     sp->evd->uobj.khandle, khandle);
	if (ret || sp->conn_qual)
		return ret;
	ret = dat_csp_query(*khandle, DAT_CSP_FIELD_ALL, &param);
	if (ret) {
		dat_csp_free(*khandle);
		return ret;
	}
	dat_uaddr_to_user(param.address_ptr, &p->address);
	spin_lock_bh(&sp->evd->lock);
	sp->conn_qual = addr_port(&p->address);
	spin_unlock_bh(&sp->evd->lock);
	return DAT_SUCCESS;
}

/* dat_csp_create() */
int dat_ioctl_csp_create(struct dat_file *file, void *arg)
{
	struct dat_dev_csp_create *p = arg;
	struct dat_uobj *ia, *evd;
	DAT_CSP_HANDLE khandle;
	struct dat_usp *sp;

	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return 0;
	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	evd = dat_uobj_get(file, p->evd, DAT_HANDLE_TYPE_EVD);
	if (!evd)
		goto put_ia;
	/* There is at most one whose qualifier is not known. */
	mutex_lock(&to_uevd(evd)->mutex);
	p->result = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	sp = usp_alloc(file, DAT_HANDLE_TYPE_CSP, ia, evd,
		       addr_port(&p->address));
	if (!sp)
		goto unlock;
	p->result = csp_create(p, sp, ia->khandle, &khandle);
	if (!p->result)
		p->csp = sp->uobj.handle;
	dat_usimple_finish(&sp->uobj, p->result, khandle);
unlock:
	mutex_unlock(&to_uevd(evd)->mutex);
	dat_uobj_put(evd);
put_ia:
	dat_uobj_put(ia);
	return 0;
}

/* dat_csp_query() */
int dat_ioctl_csp_query(struct dat_file *file, void *arg)
{
	struct dat_dev_csp_create *p = arg;
	DAT_CSP_PARAM param;

	/* The parameters' memory may go with the CSP, but not before this. */
	rcu_read_lock();
	p->result = dat_csp_query(dat_uobj_khandle(file, p->csp,
						   DAT_HANDLE_TYPE_CSP),
				  DAT_CSP_FIELD_ALL, &param);
	if (!p->result) {
		p->ia = dat_uobj_user_handle(param.ia_handle);
		p->evd = dat_uobj_user_handle(param.evd_handle);
		p->domain = param.comm->domain;
		p->type = param.comm->type;
		p->protocol = param.comm->protocol;
		dat_uaddr_to_user(param.address_ptr, &p->address);
	}
	rcu_read_unlock();
	return 0;
}

/* dat_csp_free() */
int dat_ioctl_csp_free(struct dat_file *file, void *arg)
{
	return dat_usimple_free(file, arg, DAT_HANDLE_TYPE_CSP, dat_csp_free);
}
