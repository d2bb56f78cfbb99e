// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_mr.c - registers the memory of an LMR with its device
 *
 * dat_lmr_kcreate() calls dat_lmr_register() in process context. It tries whole pages
 * first (not with DAT_MEM_OPTIMIZE_IA), then a page size from dat_lmr_fit(), and last a
 * region that the device pins itself.
 */
#include <linux/err.h>

#include "dev/device.h"
#include "mem/lmr.h"
#include "mem/pz.h"

static struct ib_mr *alloc_mr(const struct dat_lmr *lmr,
			      const struct dat_lmr_fit *fit)
{
	if (fit->type == IB_MR_TYPE_MEM_REG)
		return dat_dev_alloc_mr(lmr->pz->pd, fit->num);
	return ib_alloc_mr(lmr->pz->pd, fit->type, fit->num);
}

static void set_mr(struct dat_lmr *lmr, struct ib_mr *mr)
{
	lmr->mr = mr;
	lmr->lkey = mr->lkey;
	lmr->rkey = mr->rkey;
}

static int register_user_mr(struct dat_lmr *lmr)
{
	struct ib_mr *mr = dat_lmr_reg_user_mr(lmr);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	set_mr(lmr, mr);
	return 0;
}

/* Return -ERANGE if the memory does not fit with this layout. */
static int register_fit(struct dat_lmr *lmr, const struct dat_lmr_fit *fit)
{
	struct ib_mr *mr = alloc_mr(lmr, fit);
	int ret;

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	ret = ib_map_mr_sg(mr, lmr->sgt.sgl, lmr->sgt.nents, NULL,
			   fit->page_size);
	if (ret != lmr->sgt.nents) {
		ret = ret < 0 ? ret : -ERANGE;
		goto dereg;
	}
	/* Register the consumer's addresses with the device. */
	mr->iova = lmr->address;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	ret = dat_regqp_register(&lmr->pz->reg, mr,
				 dat_lmr_access(lmr->privileges));
	if (ret)
		goto dereg;
	set_mr(lmr, mr);
	return 0;

dereg:
	ib_dereg_mr(mr);
	return ret;
}

/**
 * dat_lmr_register - register the memory of a new LMR with its device
 * @lmr: the LMR, from dat_lmr_map()
 *
 * dat_dev_dereg_mr() destroys the MR.
 *
 * Context: process, may sleep.
 * Return: 0; -E2BIG if no registration can hold the memory; -ESTALE if the process now
 * has other pages mapped there; -EINTR if a signal arrived first; another negative
 * errno.
 */
int dat_lmr_register(struct dat_lmr *lmr)
{
	struct ib_device *ibdev = lmr->pz->pd->device;
	bool large = lmr->optimization & DAT_MEM_OPTIMIZE_IA;
	u32 max_pages = dat_dev_max_lmr_pages(ibdev);
	struct dat_lmr_fit fit;
	int ret;

	if (lmr->length > U32_MAX)
		return register_user_mr(lmr);
	if (!large && dat_lmr_fit_pages(ibdev, max_pages,
					sg_dma_address(lmr->sgt.sgl),
					lmr->address, lmr->length, &fit)) {
		ret = register_fit(lmr, &fit);
		if (likely(ret != -ERANGE))
			return ret;
	}
	if (dat_lmr_fit(ibdev, max_pages, large, lmr->sgt.sgl, lmr->sgt.nents,
			lmr->address, lmr->length, &fit))
		return register_user_mr(lmr);
	return register_fit(lmr, &fit);
}
