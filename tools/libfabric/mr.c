// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mr.c - a memory region is an LMR
 */
#include <stdlib.h>

#include "kfi.h"

/* ofi_rxm asks not to cache its own registrations. There is no cache here. */
#define LAYER_FLAGS	(UINT64_C(0xf) << 60)

static int mr_close(struct fid *fid)
{
	struct kfi_mr *mr = kfi_container(fid, struct kfi_mr, fid.fid);
	DAT_RETURN ret = dat_lmr_free(mr->lmr);

	/* The memory of a device that was removed is free already. */
	if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE)
		return -FI_EBUSY;
	kfi_put(&mr->domain->refs);
	free(mr);
	return 0;
}

static struct fi_ops mr_fi_ops = {
	.size = sizeof(mr_fi_ops),
	.close = mr_close,
	.bind = kfi_no_bind,
	.control = kfi_no_control,
	.ops_open = kfi_no_ops_open,
};

/* As with verbs, local requests may always read. */
static DAT_MEM_PRIV_FLAGS privileges(const struct kfi_fabric *fabric, uint64_t access)
{
	int priv = DAT_MEM_PRIV_LOCAL_READ_FLAG;

	if (access & (FI_RECV | FI_READ))
		priv |= DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	if (access & FI_REMOTE_READ)
		priv |= DAT_MEM_PRIV_REMOTE_READ_FLAG;
	if (access & FI_REMOTE_WRITE || (access & FI_READ && fabric->is_iwarp))
		priv |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	return (DAT_MEM_PRIV_FLAGS)priv;
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access,
		  uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr_fid,
		  void *context)
{
	struct kfi_domain *domain = kfi_container(fid, struct kfi_domain, fid.fid);
	DAT_REGION_DESCRIPTION region = { .for_va = (DAT_PVOID)(uintptr_t)buf };
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VADDR address;
	struct kfi_mr *mr;
	DAT_RETURN ret;
	DAT_VLEN size;

	/* With FI_MR_PROV_KEY and FI_MR_VIRT_ADDR the two mean nothing. */
	if (fid->fclass != FI_CLASS_DOMAIN || !buf || !len)
		return -FI_EINVAL;
	if (flags & ~LAYER_FLAGS)
		return -FI_EBADFLAGS;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	ret = dat_lmr_create(domain->fabric->ia, DAT_MEM_TYPE_VIRTUAL, region, len, domain->pz,
			     privileges(domain->fabric, access), &mr->lmr, &lmr_context,
			     &rmr_context, &size, &address);
	if (ret != DAT_SUCCESS) {
		free(mr);
		return kfi_failed("dat_lmr_create", ret);
	}
	mr->domain = domain;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = context;
	mr->fid.fid.ops = &mr_fi_ops;
	mr->fid.mem_desc = (void *)(uintptr_t)lmr_context;
	mr->fid.key = rmr_context;
	kfi_get(&domain->refs);
	*mr_fid = &mr->fid;
	return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		   uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
		   void *context)
{
	if (count != 1)
		return -FI_EINVAL;
	return mr_reg(fid, iov->iov_base, iov->iov_len, access, offset, requested_key, flags, mr,
		      context);
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **mr)
{
	return mr_regv(fid, attr->mr_iov, attr->iov_count, attr->access, attr->offset,
		       attr->requested_key, flags, mr, attr->context);
}

struct fi_ops_mr kfi_mr_ops = {
	.size = sizeof(kfi_mr_ops),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};
