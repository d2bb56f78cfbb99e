/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * iov.h - checks the segments of a DTO against the LMRs
 *
 * The fast path is inline because each DTO runs it; lmr_find.c has the slow path.
 */
#ifndef _KDAPL_IOV_H
#define _KDAPL_IOV_H

#include "mem/lmr.h"

struct dat_ia;
struct dat_pz;
struct ib_sge;

/**
 * struct dat_iov - the segments of a DTO
 * @num: number of segments
 * @segments: the segments
 * @privilege: the privilege that the LMRs must have, see dat_lmr_allows()
 */
struct dat_iov {
	DAT_COUNT num;
	const DAT_LMR_TRIPLET *segments;
	DAT_MEM_PRIV_FLAGS privilege;
};

/* lmr_find.c */
DAT_RETURN dat_iov_check_all(struct dat_ia *ia, const struct dat_pz *pz,
			     const struct dat_iov *iov, DAT_COUNT max_num,
			     DAT_SEG_LENGTH max_length, u32 *lengthp);
struct ib_sge *dat_iov_copy(u32 lkey, const struct ib_sge *iov, int *num);
bool dat_iov_gather(struct dat_ia *ia, const struct dat_pz *pz, const struct dat_iov *iov,
		    u8 *to);

/**
 * dat_iov_check - may a DTO use these segments?
 * @ia: the IA
 * @pz: the PZ that their LMRs must be in
 * @iov: the segments
 * @max_num: maximum number of segments
 * @max_length: maximum total length, in bytes
 * @lengthp: out: total length, in bytes
 *
 * Context: any; in an RCU read-side section.
 * Return: DAT_SUCCESS: the device can receive them unchanged; dat_iov_sparse() or
 * dat_iov_reserved(): the device can receive the result of dat_iov_copy();
 * DAT_INVALID_PARAMETER (the second argument of the call is their number, the third
 * their array), DAT_LENGTH_ERROR, DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION,
 * DAT_INTERNAL_ERROR (the device is removed).
 */
static inline DAT_RETURN dat_iov_check(struct dat_ia *ia,
				       const struct dat_pz *pz,
				       const struct dat_iov *iov,
				       DAT_COUNT max_num,
				       DAT_SEG_LENGTH max_length, u32 *lengthp)
{
	const DAT_LMR_TRIPLET *segment = iov->segments;

	/*
	 * Fast path: most DTOs have one segment, of an LMR that is in the lookup cache.
	 */
	if (likely(iov->num == 1 && max_num > 0 && segment &&
		   segment->segment_length &&
		   segment->segment_length <= max_length &&
		   dat_lmr_allows(ia, pz, segment, iov->privilege))) {
		*lengthp = segment->segment_length;
		return DAT_SUCCESS;
	}
	return dat_iov_check_all(ia, pz, iov, max_num, max_length, lengthp);
}

/* The segments are valid, but some belong to the reserved LMR. */
static inline DAT_RETURN dat_iov_reserved(void)
{
	return DAT_ERROR(DAT_RESERVED_LMR, DAT_NO_SUBTYPE);
}

/* The segments are valid, but some are empty. */
static inline DAT_RETURN dat_iov_sparse(void)
{
	return DAT_ERROR(DAT_RESERVED_LMR, DAT_INVALID_ARG1);
}

/* Is it dat_iov_reserved() or dat_iov_sparse()? */
static inline bool dat_iov_needs_copy(DAT_RETURN ret)
{
	return DAT_GET_TYPE(ret) == DAT_RESERVED_LMR;
}

#endif /* _KDAPL_IOV_H */
