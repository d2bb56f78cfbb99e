// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * usp.c - ioctls of service points: PSPs, RSPs and CSPs
 */
#include "uaddr.h"
#include "usimple.h"
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

/* Add the service point to the EVD before the first request can arrive. */
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

/* State of creating a service point, from usp_begin() to usp_end(). */
struct usp_parts {
	struct dat_uobj *ia;
	struct dat_uobj *evd;
	struct dat_usp *sp;
	bool learns;
};

/* With a @conn_qual of 0 the kernel chooses the qualifier during creation. */
static DAT_RETURN usp_begin(struct usp_parts *parts, struct dat_file *file,
			    DAT_HANDLE_TYPE type, u32 ia, u32 evd,
			    u64 conn_qual)
{
	DAT_RETURN ret;

	parts->ia = dat_uobj_get(file, ia, DAT_HANDLE_TYPE_IA);
	if (!parts->ia)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	parts->evd = dat_uobj_get(file, evd, DAT_HANDLE_TYPE_EVD);
	if (!parts->evd)
		goto put_ia;
	/* At most one service point of an EVD may have an unknown qualifier. */
	parts->learns = !conn_qual;
	if (parts->learns)
		mutex_lock(&to_uevd(parts->evd)->mutex);
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	parts->sp = usp_alloc(file, type, parts->ia, parts->evd, conn_qual);
	if (!parts->sp)
		goto unlock;
	return DAT_SUCCESS;
unlock:
	if (parts->learns)
		mutex_unlock(&to_uevd(parts->evd)->mutex);
	dat_uobj_put(parts->evd);
put_ia:
	dat_uobj_put(parts->ia);
	return ret;
}

/* Publishes the service point, or frees it. Sets @handle on DAT_SUCCESS only. */
static DAT_RETURN usp_end(struct usp_parts *parts, DAT_RETURN ret,
			  DAT_HANDLE khandle, __u32 *handle)
{
	if (!ret)
		*handle = parts->sp->uobj.handle;
	dat_usimple_finish(&parts->sp->uobj, ret, khandle);
	if (parts->learns)
		mutex_unlock(&to_uevd(parts->evd)->mutex);
	dat_uobj_put(parts->evd);
	dat_uobj_put(parts->ia);
	return ret;
}

static void usp_learn(struct dat_usp *sp, u64 conn_qual)
{
	spin_lock_bh(&sp->evd->lock);
	sp->conn_qual = conn_qual;
	spin_unlock_bh(&sp->evd->lock);
}

/* dat_psp_create() */
int dat_ioctl_psp_create(struct dat_file *file, void *arg)
{
	struct dat_dev_psp_create *p = arg;
	DAT_PSP_HANDLE khandle = DAT_HANDLE_NULL;
	struct usp_parts parts;

	p->result = usp_begin(&parts, file, DAT_HANDLE_TYPE_PSP, p->ia, p->evd,
			      p->conn_qual);
	if (p->result)
		return 0;
	p->result = dat_psp_create(parts.ia->khandle, p->conn_qual,
				   parts.evd->khandle, p->flags, &khandle);
	p->result = usp_end(&parts, p->result, khandle, &p->psp);
	return 0;
}

/* dat_psp_create_any() */
int dat_ioctl_psp_create_any(struct dat_file *file, void *arg)
{
	struct dat_dev_psp_create *p = arg;
	DAT_PSP_HANDLE khandle = DAT_HANDLE_NULL;
	struct usp_parts parts;

	p->result = usp_begin(&parts, file, DAT_HANDLE_TYPE_PSP, p->ia, p->evd,
			      0);
	if (p->result)
		return 0;
	p->result = dat_psp_create_any(parts.ia->khandle, &p->conn_qual,
				       parts.evd->khandle, p->flags, &khandle);
	if (!p->result)
		usp_learn(parts.sp, p->conn_qual);
	p->result = usp_end(&parts, p->result, khandle, &p->psp);
	return 0;
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
	DAT_RSP_HANDLE khandle = DAT_HANDLE_NULL;
	struct usp_parts parts;

	p->result = usp_begin(&parts, file, DAT_HANDLE_TYPE_RSP, p->ia, p->evd,
			      p->conn_qual);
	if (p->result)
		return 0;
	p->result = dat_rsp_create(parts.ia->khandle, p->conn_qual,
				   dat_uobj_khandle(file, p->ep,
						    DAT_HANDLE_TYPE_EP),
				   parts.evd->khandle, &khandle);
	p->result = usp_end(&parts, p->result, khandle, &p->rsp);
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

	/* The port has the same offset in both families. */
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
	usp_learn(sp, addr_port(&p->address));
	return DAT_SUCCESS;
}

/* dat_csp_create() */
int dat_ioctl_csp_create(struct dat_file *file, void *arg)
{
	struct dat_dev_csp_create *p = arg;
	DAT_CSP_HANDLE khandle = DAT_HANDLE_NULL;
	struct usp_parts parts;

	p->result = usp_begin(&parts, file, DAT_HANDLE_TYPE_CSP, p->ia, p->evd,
			      addr_port(&p->address));
	if (p->result)
		return 0;
	p->result = csp_create(p, parts.sp, parts.ia->khandle, &khandle);
	p->result = usp_end(&parts, p->result, khandle, &p->csp);
	return 0;
}

/* dat_csp_query() */
int dat_ioctl_csp_query(struct dat_file *file, void *arg)
{
	struct dat_dev_csp_create *p = arg;
	DAT_CSP_PARAM param;

	/* RCU keeps the memory of the parameters until they are copied. */
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
