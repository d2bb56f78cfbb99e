// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * usp.c - ioctls of service points (PSPs, RSPs, CSPs) and of connection requests (CRs)
 *
 * event.c publishes a CR when its request arrives, and finds the service point of the
 * request here. The ioctls of CRs answer the request and remove the handle. They run in
 * process context.
 */
#include "usp.h"

/**
 * dat_usp_handle - find the service point of a request
 * @evd: the EVD that reports the request
 * @conn_qual: the connection qualifier that the peer used
 *
 * Context: any.
 * Return: the user handle; 0 if the service point has been freed.
 */
u32 dat_usp_handle(struct dat_uevd *evd, u64 conn_qual)
{
	struct dat_usp *sp;
	u32 handle = 0;

	spin_lock_bh(&evd->lock);
	list_for_each_entry(sp, &evd->sps, node) {
		/* Last choice: the service point whose qualifier is unknown. */
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

/**
 * struct sp_args - arguments of the function that creates a service point
 * @ia: the IA
 * @evd: the EVD
 * @sp: the new service point; the function sets its khandle
 * @arg: structure of the ioctl
 */
struct sp_args {
	struct dat_uobj *ia;
	struct dat_uobj *evd;
	struct dat_usp *sp;
	void *arg;
};

/* Adds the service point to the EVD before the first request can arrive. */
static DAT_RETURN create_on_evd(struct sp_args *c, DAT_HANDLE_TYPE type,
				u64 conn_qual, DAT_RETURN (*create)(struct sp_args *),
				u32 *handle)
{
	struct dat_uevd *evd = to_uevd(c->evd);
	struct dat_usp *sp;

	sp = dat_uobj_create(to_uia(c->ia), sizeof(*sp), type, GFP_KERNEL);
	if (!sp)
		return dat_uobj_no_memory();
	kref_get(&evd->uobj.ref);
	sp->evd = evd;
	sp->conn_qual = conn_qual;
	sp->uobj.release = usp_release;
	spin_lock_bh(&evd->lock);
	list_add_tail(&sp->node, &evd->sps);
	spin_unlock_bh(&evd->lock);
	c->sp = sp;
	return dat_uobj_finalize(&sp->uobj, create(c), handle);
}

/*
 * With a @conn_qual of 0 the kernel chooses the qualifier during creation. At most one
 * service point of an EVD may have an unknown qualifier.
 */
static DAT_RETURN sp_create(struct dat_uobj *ia, void *arg, DAT_HANDLE_TYPE type,
			    u32 evd, u64 conn_qual,
			    DAT_RETURN (*create)(struct sp_args *), u32 *handle)
{
	struct sp_args c = {
		.ia = ia,
		.evd = dat_uobj_get(ia->file, evd, DAT_HANDLE_TYPE_EVD),
		.arg = arg,
	};
	DAT_RETURN ret;

	if (!c.evd)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	if (!conn_qual)
		mutex_lock(&to_uevd(c.evd)->mutex);
	ret = create_on_evd(&c, type, conn_qual, create, handle);
	if (!conn_qual)
		mutex_unlock(&to_uevd(c.evd)->mutex);
	dat_uobj_put(c.evd);
	return ret;
}

static void set_conn_qual(struct dat_usp *sp, u64 conn_qual)
{
	spin_lock_bh(&sp->evd->lock);
	sp->conn_qual = conn_qual;
	spin_unlock_bh(&sp->evd->lock);
}

static DAT_RETURN create_psp(struct sp_args *c)
{
	struct dat_dev_psp_create *p = c->arg;

	return dat_psp_create(c->ia->khandle, p->conn_qual, c->evd->khandle, p->flags,
			      &c->sp->uobj.khandle);
}

/* dat_psp_create() */
DAT_RETURN dat_ioctl_psp_create(struct dat_uobj *ia, void *arg)
{
	struct dat_dev_psp_create *p = arg;

	return sp_create(ia, p, DAT_HANDLE_TYPE_PSP, p->evd, p->conn_qual, create_psp,
			 &p->psp);
}

static DAT_RETURN create_any_psp(struct sp_args *c)
{
	struct dat_dev_psp_create *p = c->arg;
	DAT_RETURN ret = dat_psp_create_any(c->ia->khandle, &p->conn_qual,
					    c->evd->khandle, p->flags,
					    &c->sp->uobj.khandle);

	if (!ret)
		set_conn_qual(c->sp, p->conn_qual);
	return ret;
}

/* dat_psp_create_any() */
DAT_RETURN dat_ioctl_psp_create_any(struct dat_uobj *ia, void *arg)
{
	struct dat_dev_psp_create *p = arg;

	return sp_create(ia, p, DAT_HANDLE_TYPE_PSP, p->evd, 0, create_any_psp,
			 &p->psp);
}

/* The process finds every request that has arrived in its ring when this returns. */
static DAT_RETURN sp_free(struct dat_uobj *uobj, DAT_RETURN (*free)(DAT_HANDLE khandle))
{
	DAT_RETURN ret = free(uobj->khandle);

	dat_evd_flush_upcalls(to_usp(uobj)->evd->uobj.khandle);
	if (!ret)
		dat_uobj_remove(uobj);
	return ret;
}

/* dat_psp_free() */
DAT_RETURN dat_ioctl_psp_free(struct dat_uobj *uobj, void *arg)
{
	return sp_free(uobj, dat_psp_free);
}

/* dat_rsp_free() */
DAT_RETURN dat_ioctl_rsp_free(struct dat_uobj *uobj, void *arg)
{
	return sp_free(uobj, dat_rsp_free);
}

/* dat_csp_free() */
DAT_RETURN dat_ioctl_csp_free(struct dat_uobj *uobj, void *arg)
{
	return sp_free(uobj, dat_csp_free);
}

/* dat_psp_query() */
DAT_RETURN dat_ioctl_psp_query(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_psp_create *p = arg;
	DAT_PSP_PARAM param;
	DAT_RETURN ret = dat_psp_query(khandle, DAT_PSP_FIELD_ALL, &param);

	if (ret)
		return ret;
	p->ia = dat_uobj_user_handle(param.ia_handle);
	p->evd = dat_uobj_user_handle(param.evd_handle);
	p->conn_qual = param.conn_qual;
	p->flags = param.psp_flags;
	return DAT_SUCCESS;
}

static DAT_RETURN create_rsp(struct sp_args *c)
{
	struct dat_dev_rsp_create *p = c->arg;

	return dat_rsp_create(c->ia->khandle, p->conn_qual,
			      dat_uobj_khandle(c->ia->file, p->ep, DAT_HANDLE_TYPE_EP),
			      c->evd->khandle, &c->sp->uobj.khandle);
}

/* dat_rsp_create() */
DAT_RETURN dat_ioctl_rsp_create(struct dat_uobj *ia, void *arg)
{
	struct dat_dev_rsp_create *p = arg;

	return sp_create(ia, p, DAT_HANDLE_TYPE_RSP, p->evd, p->conn_qual, create_rsp,
			 &p->rsp);
}

/* dat_rsp_query() */
DAT_RETURN dat_ioctl_rsp_query(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_rsp_create *p = arg;
	DAT_RSP_PARAM param;
	DAT_RETURN ret = dat_rsp_query(khandle, DAT_RSP_FIELD_ALL, &param);

	if (ret)
		return ret;
	p->ia = dat_uobj_user_handle(param.ia_handle);
	p->evd = dat_uobj_user_handle(param.evd_handle);
	p->conn_qual = param.conn_qual;
	p->ep = dat_uobj_user_handle(param.ep_handle);
	return DAT_SUCCESS;
}

static u64 addr_port(const struct dat_dev_addr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr->bytes;

	/* The port has the same offset in both families. */
	BUILD_BUG_ON(offsetof(struct sockaddr_in, sin_port) !=
		     offsetof(struct sockaddr_in6, sin6_port));
	return ntohs(in6->sin6_port);
}

static DAT_RETURN create_csp(struct sp_args *c)
{
	struct dat_dev_csp_create *p = c->arg;
	DAT_CSP_HANDLE *khandle = &c->sp->uobj.khandle;
	DAT_COMM comm = {
		.domain = p->domain,
		.type = p->type,
		.protocol = p->protocol,
	};
	DAT_CSP_PARAM param;
	DAT_RETURN ret;

	ret = dat_csp_create(c->ia->khandle, &comm,
			     (DAT_IA_ADDRESS_PTR)p->address.bytes,
			     c->evd->khandle, khandle);
	if (ret || c->sp->conn_qual)
		return ret;
	ret = dat_csp_query(*khandle, DAT_CSP_FIELD_ALL, &param);
	if (ret) {
		dat_csp_free(*khandle);
		return ret;
	}
	dat_addr_to_user(param.address_ptr, &p->address);
	set_conn_qual(c->sp, addr_port(&p->address));
	return DAT_SUCCESS;
}

/* dat_csp_create() */
DAT_RETURN dat_ioctl_csp_create(struct dat_uobj *ia, void *arg)
{
	struct dat_dev_csp_create *p = arg;

	return sp_create(ia, p, DAT_HANDLE_TYPE_CSP, p->evd, addr_port(&p->address),
			 create_csp, &p->csp);
}

/* dat_csp_query() */
DAT_RETURN dat_ioctl_csp_query(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_csp_create *p = arg;
	DAT_CSP_PARAM param;
	DAT_RETURN ret;

	/* RCU keeps the memory of the parameters until they are copied. */
	rcu_read_lock();
	ret = dat_csp_query(khandle, DAT_CSP_FIELD_ALL, &param);
	if (!ret) {
		p->ia = dat_uobj_user_handle(param.ia_handle);
		p->evd = dat_uobj_user_handle(param.evd_handle);
		p->domain = param.comm->domain;
		p->type = param.comm->type;
		p->protocol = param.comm->protocol;
		dat_addr_to_user(param.address_ptr, &p->address);
	}
	rcu_read_unlock();
	return ret;
}

/**
 * dat_ucr_remove_ep - remove the EP that came with a request that has ended
 * @cr: the CR, referenced
 *
 * Context: process or softirq.
 */
void dat_ucr_remove_ep(struct dat_ucr *cr)
{
	struct dat_uobj *ep;

	if (!cr->ep)
		return;
	ep = dat_uobj_get(cr->uobj.file, cr->ep, DAT_HANDLE_TYPE_EP);
	if (ep) {
		dat_uobj_remove(ep);
		dat_uobj_put(ep);
	}
}

/* dat_cr_query() */
DAT_RETURN dat_ioctl_cr_query(DAT_HANDLE khandle, void *arg)
{
	struct dat_dev_cr_query *p = arg;
	DAT_CR_PARAM param;
	DAT_RETURN ret;

	/* RCU keeps the memory of the parameters until they are copied. */
	rcu_read_lock();
	ret = dat_cr_query(khandle, DAT_CR_FIELD_ALL, &param);
	if (!ret) {
		p->private_data_size = min_t(u32, param.private_data_size,
					     sizeof(p->private_data));
		memcpy(p->private_data, param.private_data,
		       p->private_data_size);
		p->ep = dat_uobj_user_handle(param.local_ep_handle);
		p->remote_port = param.remote_port_qual;
		dat_addr_to_user(param.remote_ia_address_ptr,
				 &p->remote_address);
	}
	rcu_read_unlock();
	return ret;
}

/* dat_cr_accept() */
DAT_RETURN dat_ioctl_cr_accept(struct dat_uobj *cr, void *arg)
{
	struct dat_dev_cr_accept *p = arg;
	DAT_RETURN ret;

	ret = dat_cr_accept(cr->khandle,
			    dat_uobj_khandle(cr->file, p->ep, DAT_HANDLE_TYPE_EP),
			    p->private_data_size, p->private_data);
	if (!ret)
		dat_uobj_remove(cr);
	return ret;
}

/* Removes the handle of a request that has been rejected or handed off. */
static DAT_RETURN remove_cr(struct dat_uobj *cr, DAT_RETURN ret)
{
	if (!ret) {
		dat_ucr_remove_ep(to_ucr(cr));
		dat_uobj_remove(cr);
	}
	return ret;
}

/* dat_cr_handoff() */
DAT_RETURN dat_ioctl_cr_handoff(struct dat_uobj *cr, void *arg)
{
	struct dat_dev_cr_handoff *p = arg;

	return remove_cr(cr, dat_cr_handoff(cr->khandle, p->conn_qual));
}

/* dat_cr_reject() */
DAT_RETURN dat_ioctl_cr_reject(struct dat_uobj *cr, void *arg)
{
	return remove_cr(cr, dat_cr_reject(cr->khandle, 0, NULL));
}

/* dat_cr_reject() of DAT 2.0, with private data */
DAT_RETURN dat_ioctl_cr_reject_with_data(struct dat_uobj *cr, void *arg)
{
	struct dat_dev_cr_accept *p = arg;

	return remove_cr(cr, dat_cr_reject(cr->khandle, p->private_data_size,
					   p->private_data));
}
