// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * post_iov.c - checking the segments of a DTO
 */
#include <linux/build_bug.h>

#include "ia.h"
#include "lmr.h"
#include "post.h"
#include "pz.h"

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

/* As dat_iov_check(), but knows that there is one in the reserved LMR. */
static noinline DAT_RETURN check_reserved(struct dat_ia *ia,
					  const struct dat_pz *pz,
					  const struct dat_iov *iov,
					  DAT_SEG_LENGTH max_length,
					  u32 *lengthp)
{
	u64 length = 0;
	DAT_COUNT i;

	for (i = 0; i < iov->num; i++) {
		const DAT_LMR_TRIPLET *segment = &iov->segments[i];
		DAT_RETURN ret = dat_lmr_check(ia, pz, segment, iov->privilege);

		if (ret && !is_reserved(ia, segment))
			return ret;
		length += segment->segment_length;
	}
	if (length > max_length)
		return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	*lengthp = length;
	return dat_iov_reserved();
}

/**
 * dat_iov_check_all - dat_iov_check() where it is not told at once
 * @ia: as there
 * @pz: as there
 * @iov: as there
 * @max_num: as there
 * @max_length: as there
 * @lengthp: as there
 *
 * Context: as dat_iov_check().
 * Return: as dat_iov_check().
 */
DAT_RETURN dat_iov_check_all(struct dat_ia *ia, const struct dat_pz *pz,
			     const struct dat_iov *iov, DAT_COUNT max_num,
			     DAT_SEG_LENGTH max_length, u32 *lengthp)
{
	u64 length = 0;
	DAT_COUNT i;

	if (unlikely(iov->num < 0 || iov->num > max_num))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (unlikely(iov->num && !iov->segments))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	for (i = 0; i < iov->num; i++) {
		const DAT_LMR_TRIPLET *segment = &iov->segments[i];
		DAT_RETURN ret = dat_lmr_check(ia, pz, segment, iov->privilege);

		if (unlikely(ret && is_reserved(ia, segment)))
			return check_reserved(ia, pz, iov, max_length, lengthp);
		/* With the device all LMRs are gone. */
		if (unlikely(ret && ia->unplugged))
			return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
		if (unlikely(ret))
			return ret;
		length += segment->segment_length;
	}
	if (unlikely(length > max_length))
		return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	*lengthp = length;
	return DAT_SUCCESS;
}
