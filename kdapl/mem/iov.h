/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * iov.h - the segments of a DTO, checked against the LMRs
 */
#ifndef _KDAPL_IOV_H
#define _KDAPL_IOV_H

#include "mem/lmr.h"

struct dat_ia;
struct dat_pz;
struct ib_sge;

/**
 * struct dat_iov - the segments of a DTO
 * @num: how many
 * @segments: where they are
 * @privilege: what the LMRs must allow
 */
struct dat_iov {
	DAT_COUNT num;
	const DAT_LMR_TRIPLET *segments;
	DAT_MEM_PRIV_FLAGS privilege;
};

/* iov.c */
DAT_RETURN dat_iov_check_all(struct dat_ia *ia, const struct dat_pz *pz,
			     const struct dat_iov *iov, DAT_COUNT max_num,
			     DAT_SEG_LENGTH max_length, u32 *lengthp);
struct ib_sge *dat_iov_copy(u32 lkey, const struct ib_sge *iov, int *num);

/**
 * dat_iov_check - may these segments be used?
 * @ia: the IA
 * @pz: the PZ that they must be in
 * @iov: the segments
 * @max_num: of segments
 * @max_length: of all together, in bytes
 * @lengthp: out: bytes of all together
 *
 * Context: any; in an RCU read-side section.
 * Return: DAT_SUCCESS: the device may get them as they are; dat_iov_sparse() or
 * dat_iov_reserved(): it may get what dat_iov_copy() makes of them;
 * DAT_INVALID_PARAMETER (the second argument of the call is their number,
 * the third where they are), DAT_LENGTH_ERROR, DAT_PROTECTION_VIOLATION,
 * DAT_PRIVILEGES_VIOLATION, DAT_INTERNAL_ERROR (the device has gone).
 */
static inline DAT_RETURN dat_iov_check(struct dat_ia *ia,
				       const struct dat_pz *pz,
				       const struct dat_iov *iov,
				       DAT_COUNT max_num,
				       DAT_SEG_LENGTH max_length, u32 *lengthp)
{
	const DAT_LMR_TRIPLET *segment = iov->segments;

	/* As most DTOs are: one segment, of an LMR that is found at once. */
	if (likely(iov->num == 1 && max_num > 0 && segment &&
		   segment->segment_length &&
		   segment->segment_length <= max_length &&
		   dat_lmr_allows(ia, pz, segment, iov->privilege))) {
		*lengthp = segment->segment_length;
		return DAT_SUCCESS;
	}
	return dat_iov_check_all(ia, pz, iov, max_num, max_length, lengthp);
}

/* Nothing is wrong with them, but some are of the reserved LMR. */
static inline DAT_RETURN dat_iov_reserved(void)
{
	return DAT_ERROR(DAT_RESERVED_LMR, DAT_NO_SUBTYPE);
}

/* Nothing is wrong with them, but some have no bytes. */
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
