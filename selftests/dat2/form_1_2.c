// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * form_1_2.c - calls in the form of DAT 1.2, made with that of DAT 2.0
 */
#include <pthread.h>
#include <stdlib.h>

#include <dat/udat.h>

#undef dat_cr_reject
#undef dat_lmr_create
#undef dat_rmr_bind

/* Which LMR a context is of: the last one that was given it */
struct known {
	struct known *next;
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *first;

static void add(DAT_LMR_CONTEXT context, DAT_LMR_HANDLE lmr)
{
	struct known *known = malloc(sizeof(*known));

	if (!known)
		abort();
	known->context = context;
	known->lmr = lmr;
	pthread_mutex_lock(&lock);
	known->next = first;
	first = known;
	pthread_mutex_unlock(&lock);
}

static DAT_LMR_HANDLE find(DAT_LMR_CONTEXT context)
{
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	struct known *known;

	pthread_mutex_lock(&lock);
	for (known = first; known && !lmr; known = known->next)
		if (known->context == context)
			lmr = known->lmr;
	/* Any will do to bind to what is no LMR. */
	if (!lmr && first)
		lmr = first->lmr;
	pthread_mutex_unlock(&lock);
	return lmr;
}

/**
 * form_1_2_cr_reject - dat_cr_reject() of DAT 1.2
 *
 * Return: what DAT 2.0's says.
 */
DAT_RETURN form_1_2_cr_reject(DAT_CR_HANDLE cr)
{
	return dat_cr_reject(cr, 0, NULL);
}

/**
 * form_2_told_ia - what queries call an IA
 *
 * Return: what the query of its asynchronous EVD calls it.
 */
DAT_IA_HANDLE form_2_told_ia(DAT_IA_HANDLE ia)
{
	DAT_EVD_HANDLE async_evd;
	DAT_EVD_PARAM param;

	if (dat_ia_query(ia, &async_evd, 0, NULL, 0, NULL) ||
	    dat_evd_query(async_evd, DAT_EVD_FIELD_ALL, &param))
		return DAT_HANDLE_NULL;
	return param.ia_handle;
}

/* There is one more argument in front of the second, and one of the fourth. */
static DAT_RETURN bind_result(DAT_RETURN ret)
{
	static const DAT_RETURN arg[] = {
		[DAT_INVALID_ARG2] = DAT_INVALID_ARG2,
		[DAT_INVALID_ARG3] = DAT_INVALID_ARG2,
		[DAT_INVALID_ARG4] = DAT_INVALID_ARG3,
		[DAT_INVALID_ARG8] = DAT_INVALID_ARG6,
		[DAT_INVALID_ARG9] = DAT_INVALID_ARG7,
	};
	unsigned int subtype = DAT_GET_SUBTYPE(ret);

	if (ret == (DAT_CLASS_ERROR | DAT_INVALID_HANDLE |
		    DAT_INVALID_HANDLE_LMR))
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER |
		       DAT_INVALID_ARG2;
	if (DAT_GET_TYPE(ret) != DAT_INVALID_PARAMETER ||
	    subtype >= sizeof(arg) / sizeof(arg[0]) || !arg[subtype])
		return ret;
	return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | arg[subtype];
}

/**
 * form_1_2_lmr_create - dat_lmr_create() of DAT 1.2
 *
 * Return: what DAT 2.0's says.
 */
DAT_RETURN form_1_2_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
			       DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			       DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			       DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			       DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size,
			       DAT_VADDR *address)
{
	DAT_RETURN ret = dat_lmr_create(ia, type, region, length, pz,
					privileges, DAT_VA_TYPE_VA, lmr,
					lmr_context, rmr_context, size,
					address);

	if (ret == DAT_SUCCESS)
		add(*lmr_context, *lmr);
	return ret;
}

/**
 * form_1_2_rmr_bind - dat_rmr_bind() of DAT 1.2
 *
 * Return: what DAT 2.0's says.
 */
DAT_RETURN form_1_2_rmr_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
			     DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep,
			     DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			     DAT_RMR_CONTEXT *context)
{
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;

	if (triplet)
		lmr = find(triplet->lmr_context);
	return bind_result(dat_rmr_bind(rmr, lmr, triplet, privileges,
					DAT_VA_TYPE_VA, ep, cookie, flags,
					context));
}
