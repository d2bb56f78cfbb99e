// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fabric.c - a fabric is an IA, a domain is a PZ
 */
#include <stdlib.h>

#include "kfi.h"

static int fabric_close(struct fid *fid)
{
	struct kfi_fabric *fabric = kfi_container(fid, struct kfi_fabric, fid.fid);

	if (kfi_is_used(&fabric->refs))
		return -FI_EBUSY;
	dat_ia_close(fabric->ia, DAT_CLOSE_ABRUPT_FLAG);
	free(fabric);
	return 0;
}

static int no_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr,
			struct fid_wait **waitset)
{
	return -FI_ENOSYS;
}

/* See fi_trywait(3): the descriptors show what is in the EVDs, not what was taken out. */
static int fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		switch (fids[i]->fclass) {
		case FI_CLASS_CQ:
			if (!kfi_cq_is_empty(kfi_container(fids[i], struct kfi_cq, fid.fid)))
				return -FI_EAGAIN;
			break;
		case FI_CLASS_EQ:
			if (!kfi_eq_is_empty(kfi_container(fids[i], struct kfi_eq, fid.fid)))
				return -FI_EAGAIN;
			break;
		case FI_CLASS_CNTR:
			if (!kfi_cntr_is_quiet(kfi_container(fids[i], struct kfi_cntr, fid.fid)))
				return -FI_EAGAIN;
			break;
		default:
			return -FI_EINVAL;
		}
	}
	return 0;
}

static struct fi_ops fabric_fi_ops = {
	.size = sizeof(fabric_fi_ops),
	.close = fabric_close,
	.bind = kfi_no_bind,
	.control = kfi_no_control,
	.ops_open = kfi_no_ops_open,
};

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(fabric_ops),
	.domain = kfi_domain,
	.passive_ep = kfi_passive_ep,
	.eq_open = kfi_eq_open,
	.wait_open = no_wait_open,
	.trywait = fabric_trywait,
};

/**
 * kfi_fabric - see fi_fabric(3)
 * @attr: its name is that of the IA
 * @fabric: out
 * @context: of the program
 *
 * Return: 0, -FI_ENODEV, -FI_ENOMEM, another error.
 */
int kfi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	struct kfi_fabric *f;
	int ret;

	if (!attr || !attr->name)
		return -FI_EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -FI_ENOMEM;
	ret = kfi_ia_open(attr->name, f);
	if (ret) {
		free(f);
		return ret;
	}
	f->fid.fid.fclass = FI_CLASS_FABRIC;
	f->fid.fid.context = context;
	f->fid.fid.ops = &fabric_fi_ops;
	f->fid.ops = &fabric_ops;
	f->fid.api_version = attr->api_version;
	*fabric = &f->fid;
	return 0;
}

static int domain_close(struct fid *fid)
{
	struct kfi_domain *domain = kfi_container(fid, struct kfi_domain, fid.fid);

	if (kfi_is_used(&domain->refs))
		return -FI_EBUSY;
	dat_pz_free(domain->pz);
	kfi_put(&domain->fabric->refs);
	free(domain);
	return 0;
}

/* The EQ would report asynchronous registration. Registration is synchronous. */
static int domain_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	return other->fclass != FI_CLASS_EQ || flags & FI_REG_MR ? -FI_EINVAL : 0;
}

static int no_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
		      void *context)
{
	return -FI_ENOSYS;
}

static int no_scalable_ep(struct fid_domain *domain, struct fi_info *info,
			  struct fid_ep **sep, void *context)
{
	return -FI_ENOSYS;
}

static int no_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr,
			struct fid_poll **pollset)
{
	return -FI_ENOSYS;
}

static int no_stx_ctx(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
		      void *context)
{
	return -FI_ENOSYS;
}

static struct fi_ops domain_fi_ops = {
	.size = sizeof(domain_fi_ops),
	.close = domain_close,
	.bind = domain_bind,
	.control = kfi_no_control,
	.ops_open = kfi_no_ops_open,
};

static struct fi_ops_domain domain_ops = {
	.size = offsetof(struct fi_ops_domain, query_atomic),
	.av_open = no_av_open,
	.cq_open = kfi_cq_open,
	.endpoint = kfi_endpoint,
	.scalable_ep = no_scalable_ep,
	.cntr_open = kfi_cntr_open,
	.poll_open = no_poll_open,
	.stx_ctx = no_stx_ctx,
	.srx_ctx = kfi_srx,
};

/**
 * kfi_domain - see fi_domain(3)
 * @fabric: its fabric
 * @info: from fi_getinfo()
 * @domain: out
 * @context: of the program
 *
 * Return: 0, -FI_ENODEV, -FI_ENOMEM, another error.
 */
int kfi_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
	       void *context)
{
	struct kfi_fabric *f = kfi_container(fabric, struct kfi_fabric, fid);
	struct kfi_domain *d;
	DAT_RETURN ret;

	if (!info || !info->domain_attr)
		return -FI_EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -FI_ENOMEM;
	ret = dat_pz_create(f->ia, &d->pz);
	if (ret != DAT_SUCCESS) {
		free(d);
		return kfi_failed("dat_pz_create", ret);
	}
	d->fabric = f;
	d->threading = info->domain_attr->threading;
	d->fid.fid.fclass = FI_CLASS_DOMAIN;
	d->fid.fid.context = context;
	d->fid.fid.ops = &domain_fi_ops;
	d->fid.ops = &domain_ops;
	d->fid.mr = &kfi_mr_ops;
	kfi_get(&f->refs);
	*domain = &d->fid;
	return 0;
}
