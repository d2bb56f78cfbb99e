// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * iov.c - checks the segments of a DTO
 *
 * The PD of a kernel consumer has a key that opens all memory. The rule is therefore: a
 * segment of a consumer reaches ib_post_send(), ib_post_recv() or ib_post_srq_recv()
 * only if its context was looked up here and its length is not 0. post_wr.h checks the
 * length again in kernels with debugging. Each post call uses this file, in any
 * context.
 */
#include <linux/build_bug.h>
#include <linux/slab.h>

#include "dev/ia.h"
#include "mem/iov.h"
#include "mem/lmr.h"
#include "mem/pz.h"

/* ib_post_send() receives the consumer's segments unchanged. */
static_assert(sizeof(DAT_LMR_TRIPLET) == sizeof(struct ib_sge));
static_assert(offsetof(DAT_LMR_TRIPLET, virtual_address) ==
	      offsetof(struct ib_sge, addr));
static_assert(offsetof(DAT_LMR_TRIPLET, segment_length) ==
	      offsetof(struct ib_sge, length));
static_assert(offsetof(DAT_LMR_TRIPLET, lmr_context) ==
	      offsetof(struct ib_sge, lkey));

static bool is_reserved(const struct dat_ia *ia, const DAT_LMR_TRIPLET *segment)
{
	return segment->lmr_context == DAT_RESERVED_CONTEXT &&
	       READ_ONCE(ia->reserved_lmr);
}

/**
 * dat_iov_check_all - slow path of dat_iov_check()
 * @ia: see dat_iov_check()
 * @pz: see dat_iov_check()
 * @iov: see dat_iov_check()
 * @max_num: see dat_iov_check()
 * @max_length: see dat_iov_check()
 * @lengthp: see dat_iov_check()
 *
 * Context: as dat_iov_check().
 * Return: as dat_iov_check().
 */
DAT_RETURN dat_iov_check_all(struct dat_ia *ia, const struct dat_pz *pz,
			     const struct dat_iov *iov, DAT_COUNT max_num,
			     DAT_SEG_LENGTH max_length, u32 *lengthp)
{
	DAT_RETURN form = DAT_SUCCESS;
	u64 length = 0;
	DAT_COUNT i;

	if (unlikely(iov->num < 0 || iov->num > max_num))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (unlikely(iov->num && !iov->segments))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	for (i = 0; i < iov->num; i++) {
		const DAT_LMR_TRIPLET *segment = &iov->segments[i];
		DAT_RETURN ret;

		/* The other fields of an empty segment have no meaning. */
		if (unlikely(!segment->segment_length)) {
			form = form ?: dat_iov_sparse();
			continue;
		}
		ret = dat_lmr_check(ia, pz, segment, iov->privilege);
		if (unlikely(ret && is_reserved(ia, segment))) {
			form = dat_iov_reserved();
		} else if (unlikely(ret)) {
			/* Device removal removes the LMRs. */
			return ia->unplugged ? DAT_ERROR(DAT_INTERNAL_ERROR,
							 DAT_NO_SUBTYPE) : ret;
		}
		length += segment->segment_length;
	}
	if (unlikely(length > max_length))
		return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	*lengthp = length;
	return form;
}

/**
 * dat_iov_copy - copy the segments of a request into a form that the device accepts
 * @lkey: the key that opens all memory, of the PD of the request
 * @iov: segments that passed dat_iov_check()
 * @num: in: number of segments; out: number of segments in the copy
 *
 * Empty segments are dropped: dat_iov_check() has not looked up their contexts, and
 * some devices (mlx5) read a length of 0 as 2 GiB. Segments of the reserved LMR receive
 * @lkey.
 *
 * Context: any; does not sleep.
 * Return: the copy, for kfree(), or NULL.
 */
struct ib_sge *dat_iov_copy(u32 lkey, const struct ib_sge *iov, int *num)
{
	struct ib_sge *copy = kmalloc_array(*num, sizeof(*copy),
					    GFP_ATOMIC | __GFP_ACCOUNT);
	int i, copied = 0;

	if (!copy)
		return NULL;
	for (i = 0; i < *num; i++) {
		if (!iov[i].length)
			continue;
		copy[copied] = iov[i];
		if (copy[copied].lkey == DAT_RESERVED_CONTEXT)
			copy[copied].lkey = lkey;
		copied++;
	}
	*num = copied;
	return copy;
}
