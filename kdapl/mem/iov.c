// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * iov.c - checking the segments of a DTO
 *
 * A PD of the kernel has a key that opens all of memory, so the rule is: no segment of
 * a consumer's reaches ib_post_send(), ib_post_recv() or ib_post_srq_recv() unless its
 * context was looked up here and its length is not 0. post_wr.h checks it once more
 * where debugging is on.
 */
#include <linux/build_bug.h>
#include <linux/slab.h>

#include "dev/ia.h"
#include "mem/iov.h"
#include "mem/lmr.h"
#include "mem/pz.h"

/* The consumer's segments go to ib_post_send() as they are. */
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
 * dat_iov_check_all - dat_iov_check() where the short way does not tell
 * @ia: as for dat_iov_check()
 * @pz: as for dat_iov_check()
 * @iov: as for dat_iov_check()
 * @max_num: as for dat_iov_check()
 * @max_length: as for dat_iov_check()
 * @lengthp: as for dat_iov_check()
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

		/* Without bytes the rest of a triplet has no meaning. */
		if (unlikely(!segment->segment_length)) {
			form = form ?: dat_iov_sparse();
			continue;
		}
		ret = dat_lmr_check(ia, pz, segment, iov->privilege);
		if (unlikely(ret && is_reserved(ia, segment))) {
			form = dat_iov_reserved();
		} else if (unlikely(ret)) {
			/* The LMRs are removed with the device. */
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
 * dat_iov_copy - the segments of a request, as the device may get them
 * @lkey: the key that opens all of memory, of the PD that they are posted in
 * @iov: segments that passed dat_iov_check()
 * @num: in: how many; out: how many there are in the copy
 *
 * Segments without bytes are dropped. Their context was not looked up, and there are
 * devices to which a length of 0 means 2 GiB (mlx5). Segments of the reserved LMR get
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
