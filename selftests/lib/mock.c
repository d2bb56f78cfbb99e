// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mock.c - a provider that writes down how its functions are called
 *
 * As DAT has it, its handles point to something that begins with a pointer to
 * its functions. Nothing of it is ever given out twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mock.h"

struct mock mock;

struct object {
	const DAT_PROVIDER *provider;
};

DAT_HANDLE mock_make(void)
{
	struct object *object = malloc(sizeof(*object));

	if (!object)
		abort();
	object->provider = &mock_provider;
	return object;
}

__u64 mock_value(const void *value, size_t size)
{
	__u64 words[4] = { 0 };

	memcpy(words, value, size);
	return words[0] + 3 * words[1] + 5 * words[2] + 7 * words[3];
}

struct mock_call mock_call(const char *func, const __u64 *args, size_t num)
{
	struct mock_call call = { .func = func, .num = (int)num };

	memcpy(call.args, args, num * sizeof(*args));
	return call;
}

/* Was @expected the last call, and the only one since one was asked for? */
bool mock_saw(struct mock_call expected)
{
	struct mock_call *last = &mock.last;
	unsigned int calls = mock.calls;
	int i;

	mock.calls = 0;
	if (calls == 1 && !strcmp(last->func, expected.func) &&
	    last->num == expected.num &&
	    !memcmp(last->args, expected.args, sizeof(last->args)))
		return true;
	printf("# %u calls, %s instead of %s\n", calls,
	       calls ? last->func : "none", expected.func);
	for (i = 0; i < MOCK_MAX_ARGS; i++)
		if (last->args[i] != expected.args[i])
			printf("# argument %d: %#llx instead of %#llx\n", i + 1,
			       (unsigned long long)last->args[i],
			       (unsigned long long)expected.args[i]);
	return false;
}

static DAT_RETURN note(struct mock_call call)
{
	mock.calls++;
	mock.last = call;
	return mock.ret;
}

/* A function that does no more than that */
#define FUNC(name, params, ...)						\
static DAT_RETURN name params						\
{									\
	return note(MOCK_CALL(#name, __VA_ARGS__));			\
}

/* One that makes an object, whose handle is the argument @out */
#define MAKE(name, out, params, ...)					\
static DAT_RETURN name params						\
{									\
	DAT_RETURN ret = note(MOCK_CALL(#name, __VA_ARGS__));		\
									\
	if (ret == DAT_SUCCESS)						\
		*(out) = mock_make();					\
	return ret;							\
}

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
	DAT_RETURN ret = note(MOCK_CALL("ia_open", name[0], qlen, async_evd,
					ia));

	if (ret != DAT_SUCCESS)
		return ret;
	if (*async_evd == DAT_HANDLE_NULL)
		*async_evd = mock_make();
	*ia = mock_make();
	return ret;
}

FUNC(ia_query, (DAT_IA_HANDLE a, DAT_EVD_HANDLE *b, DAT_IA_ATTR_MASK c,
		DAT_IA_ATTR *d, DAT_PROVIDER_ATTR_MASK e, DAT_PROVIDER_ATTR *f),
	a, b, c, d, e, f)
FUNC(ia_close, (DAT_IA_HANDLE a, DAT_CLOSE_FLAGS b), a, b)

FUNC(set_consumer_context, (DAT_HANDLE a, DAT_CONTEXT b), a, b)
FUNC(get_consumer_context, (DAT_HANDLE a, DAT_CONTEXT *b), a, b)
FUNC(get_handle_type, (DAT_HANDLE a, DAT_HANDLE_TYPE *b), a, b)

MAKE(cno_create, c, (DAT_IA_HANDLE a, DAT_OS_WAIT_PROXY_AGENT b,
		     DAT_CNO_HANDLE *c), a, b, c)
FUNC(cno_modify_agent, (DAT_CNO_HANDLE a, DAT_OS_WAIT_PROXY_AGENT b), a, b)
FUNC(cno_query, (DAT_CNO_HANDLE a, DAT_CNO_PARAM_MASK b, DAT_CNO_PARAM *c),
	a, b, c)
FUNC(cno_free, (DAT_CNO_HANDLE a), a)
FUNC(cno_wait, (DAT_CNO_HANDLE a, DAT_TIMEOUT b, DAT_EVD_HANDLE *c), a, b, c)

static DAT_RETURN cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask,
			   DAT_CR_PARAM *param)
{
	DAT_RETURN ret = note(MOCK_CALL("cr_query", cr, mask, param));

	/* No more than what is asked for. */
	if (ret == DAT_SUCCESS && (mask & DAT_CR_FIELD_LOCAL_EP_HANDLE))
		param->local_ep_handle = mock.ep;
	return ret;
}

FUNC(cr_accept, (DAT_CR_HANDLE a, DAT_EP_HANDLE b, DAT_COUNT c,
		 const DAT_PVOID d), a, b, c, d)
FUNC(cr_reject, (DAT_CR_HANDLE a), a)
FUNC(cr_handoff, (DAT_CR_HANDLE a, DAT_CONN_QUAL b), a, b)

MAKE(evd_create, e, (DAT_IA_HANDLE a, DAT_COUNT b, DAT_CNO_HANDLE c,
		     DAT_EVD_FLAGS d, DAT_EVD_HANDLE *e), a, b, c, d, e)
FUNC(evd_query, (DAT_EVD_HANDLE a, DAT_EVD_PARAM_MASK b, DAT_EVD_PARAM *c),
	a, b, c)
FUNC(evd_modify_cno, (DAT_EVD_HANDLE a, DAT_CNO_HANDLE b), a, b)
FUNC(evd_enable, (DAT_EVD_HANDLE a), a)
FUNC(evd_disable, (DAT_EVD_HANDLE a), a)
FUNC(evd_set_unwaitable, (DAT_EVD_HANDLE a), a)
FUNC(evd_clear_unwaitable, (DAT_EVD_HANDLE a), a)
FUNC(evd_resize, (DAT_EVD_HANDLE a, DAT_COUNT b), a, b)
FUNC(evd_post_se, (DAT_EVD_HANDLE a, const DAT_EVENT *b), a, b)
FUNC(evd_free, (DAT_EVD_HANDLE a), a)

static DAT_RETURN evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout,
			   DAT_COUNT threshold, DAT_EVENT *event,
			   DAT_COUNT *nmore)
{
	if (event)
		*event = mock.event;
	return note(MOCK_CALL("evd_wait", evd, timeout, threshold, event,
			      nmore));
}

static DAT_RETURN evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	if (event)
		*event = mock.event;
	return note(MOCK_CALL("evd_dequeue", evd, event));
}

MAKE(ep_create, g, (DAT_IA_HANDLE a, DAT_PZ_HANDLE b, DAT_EVD_HANDLE c,
		    DAT_EVD_HANDLE d, DAT_EVD_HANDLE e, const DAT_EP_ATTR *f,
		    DAT_EP_HANDLE *g), a, b, c, d, e, f, g)
MAKE(ep_create_with_srq, h, (DAT_IA_HANDLE a, DAT_PZ_HANDLE b, DAT_EVD_HANDLE c,
			     DAT_EVD_HANDLE d, DAT_EVD_HANDLE e,
			     DAT_SRQ_HANDLE f, const DAT_EP_ATTR *g,
			     DAT_EP_HANDLE *h), a, b, c, d, e, f, g, h)
FUNC(ep_query, (DAT_EP_HANDLE a, DAT_EP_PARAM_MASK b, DAT_EP_PARAM *c), a, b, c)
FUNC(ep_modify, (DAT_EP_HANDLE a, DAT_EP_PARAM_MASK b, const DAT_EP_PARAM *c),
	a, b, c)
FUNC(ep_connect, (DAT_EP_HANDLE a, DAT_IA_ADDRESS_PTR b, DAT_CONN_QUAL c,
		  DAT_TIMEOUT d, DAT_COUNT e, const DAT_PVOID f, DAT_QOS g,
		  DAT_CONNECT_FLAGS h), a, b, c, d, e, f, g, h)
FUNC(ep_dup_connect, (DAT_EP_HANDLE a, DAT_EP_HANDLE b, DAT_TIMEOUT c,
		      DAT_COUNT d, const DAT_PVOID e, DAT_QOS f),
	a, b, c, d, e, f)
FUNC(ep_disconnect, (DAT_EP_HANDLE a, DAT_CLOSE_FLAGS b), a, b)
FUNC(ep_post_send, (DAT_EP_HANDLE a, DAT_COUNT b, DAT_LMR_TRIPLET *c,
		    DAT_DTO_COOKIE d, DAT_COMPLETION_FLAGS e), a, b, c, d, e)
FUNC(ep_post_recv, (DAT_EP_HANDLE a, DAT_COUNT b, DAT_LMR_TRIPLET *c,
		    DAT_DTO_COOKIE d, DAT_COMPLETION_FLAGS e), a, b, c, d, e)
FUNC(ep_post_rdma_read, (DAT_EP_HANDLE a, DAT_COUNT b, DAT_LMR_TRIPLET *c,
			 DAT_DTO_COOKIE d, const DAT_RMR_TRIPLET *e,
			 DAT_COMPLETION_FLAGS f), a, b, c, d, e, f)
FUNC(ep_post_rdma_write, (DAT_EP_HANDLE a, DAT_COUNT b, DAT_LMR_TRIPLET *c,
			  DAT_DTO_COOKIE d, const DAT_RMR_TRIPLET *e,
			  DAT_COMPLETION_FLAGS f), a, b, c, d, e, f)
FUNC(ep_get_status, (DAT_EP_HANDLE a, DAT_EP_STATE *b, DAT_BOOLEAN *c,
		     DAT_BOOLEAN *d), a, b, c, d)
FUNC(ep_recv_query, (DAT_EP_HANDLE a, DAT_COUNT *b, DAT_COUNT *c), a, b, c)
FUNC(ep_set_watermark, (DAT_EP_HANDLE a, DAT_COUNT b, DAT_COUNT c), a, b, c)
FUNC(ep_reset, (DAT_EP_HANDLE a), a)
FUNC(ep_free, (DAT_EP_HANDLE a), a)

MAKE(lmr_create, g, (DAT_IA_HANDLE a, DAT_MEM_TYPE b, DAT_REGION_DESCRIPTION c,
		     DAT_VLEN d, DAT_PZ_HANDLE e, DAT_MEM_PRIV_FLAGS f,
		     DAT_LMR_HANDLE *g, DAT_LMR_CONTEXT *h, DAT_RMR_CONTEXT *i,
		     DAT_VLEN *j, DAT_VADDR *k), a, b, c, d, e, f, g, h, i, j, k)
FUNC(lmr_query, (DAT_LMR_HANDLE a, DAT_LMR_PARAM_MASK b, DAT_LMR_PARAM *c),
	a, b, c)
FUNC(lmr_sync_rdma_read, (DAT_IA_HANDLE a, const DAT_LMR_TRIPLET *b,
			  DAT_VLEN c), a, b, c)
FUNC(lmr_sync_rdma_write, (DAT_IA_HANDLE a, const DAT_LMR_TRIPLET *b,
			   DAT_VLEN c), a, b, c)
FUNC(lmr_free, (DAT_LMR_HANDLE a), a)

MAKE(rmr_create, b, (DAT_PZ_HANDLE a, DAT_RMR_HANDLE *b), a, b)
FUNC(rmr_query, (DAT_RMR_HANDLE a, DAT_RMR_PARAM_MASK b, DAT_RMR_PARAM *c),
	a, b, c)
FUNC(rmr_bind, (DAT_RMR_HANDLE a, const DAT_LMR_TRIPLET *b,
		DAT_MEM_PRIV_FLAGS c, DAT_EP_HANDLE d, DAT_RMR_COOKIE e,
		DAT_COMPLETION_FLAGS f, DAT_RMR_CONTEXT *g), a, b, c, d, e, f, g)
FUNC(rmr_free, (DAT_RMR_HANDLE a), a)

MAKE(psp_create, e, (DAT_IA_HANDLE a, DAT_CONN_QUAL b, DAT_EVD_HANDLE c,
		     DAT_PSP_FLAGS d, DAT_PSP_HANDLE *e), a, b, c, d, e)
MAKE(psp_create_any, e, (DAT_IA_HANDLE a, DAT_CONN_QUAL *b, DAT_EVD_HANDLE c,
			 DAT_PSP_FLAGS d, DAT_PSP_HANDLE *e), a, b, c, d, e)
FUNC(psp_query, (DAT_PSP_HANDLE a, DAT_PSP_PARAM_MASK b, DAT_PSP_PARAM *c),
	a, b, c)
FUNC(psp_free, (DAT_PSP_HANDLE a), a)

MAKE(rsp_create, e, (DAT_IA_HANDLE a, DAT_CONN_QUAL b, DAT_EP_HANDLE c,
		     DAT_EVD_HANDLE d, DAT_RSP_HANDLE *e), a, b, c, d, e)

static DAT_RETURN rsp_query(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask,
			    DAT_RSP_PARAM *param)
{
	DAT_RETURN ret = note(MOCK_CALL("rsp_query", rsp, mask, param));

	if (ret == DAT_SUCCESS && (mask & DAT_RSP_FIELD_EP_HANDLE))
		param->ep_handle = mock.ep;
	return ret;
}

FUNC(rsp_free, (DAT_RSP_HANDLE a), a)

MAKE(pz_create, b, (DAT_IA_HANDLE a, DAT_PZ_HANDLE *b), a, b)
FUNC(pz_query, (DAT_PZ_HANDLE a, DAT_PZ_PARAM_MASK b, DAT_PZ_PARAM *c), a, b, c)
FUNC(pz_free, (DAT_PZ_HANDLE a), a)

MAKE(srq_create, d, (DAT_IA_HANDLE a, DAT_PZ_HANDLE b, DAT_SRQ_ATTR *c,
		     DAT_SRQ_HANDLE *d), a, b, c, d)
FUNC(srq_query, (DAT_SRQ_HANDLE a, DAT_SRQ_PARAM_MASK b, DAT_SRQ_PARAM *c),
	a, b, c)
FUNC(srq_resize, (DAT_SRQ_HANDLE a, DAT_COUNT b), a, b)
FUNC(srq_set_lw, (DAT_SRQ_HANDLE a, DAT_COUNT b), a, b)
FUNC(srq_post_recv, (DAT_SRQ_HANDLE a, DAT_COUNT b, DAT_LMR_TRIPLET *c,
		     DAT_DTO_COOKIE d), a, b, c, d)
FUNC(srq_free, (DAT_SRQ_HANDLE a), a)

/* As DAT 1.2 orders them: a table that names none of its members */
const DAT_PROVIDER mock_provider = {
	"mock", NULL,
	ia_open, ia_query, ia_close, set_consumer_context, get_consumer_context,
	get_handle_type, cno_create, cno_modify_agent, cno_query, cno_free,
	cno_wait, cr_query, cr_accept, cr_reject, cr_handoff, evd_create,
	evd_query, evd_modify_cno, evd_enable, evd_disable, evd_wait,
	evd_resize, evd_post_se, evd_dequeue, evd_free, ep_create, ep_query,
	ep_modify, ep_connect, ep_dup_connect, ep_disconnect, ep_post_send,
	ep_post_recv, ep_post_rdma_read, ep_post_rdma_write, ep_get_status,
	ep_free, lmr_create, lmr_query, lmr_free, rmr_create, rmr_query,
	rmr_bind, rmr_free, psp_create, psp_query, psp_free, rsp_create,
	rsp_query, rsp_free, pz_create, pz_query, pz_free, psp_create_any,
	ep_reset, evd_set_unwaitable, evd_clear_unwaitable, lmr_sync_rdma_read,
	lmr_sync_rdma_write, ep_create_with_srq, ep_recv_query,
	ep_set_watermark, srq_create, srq_free, srq_post_recv, srq_query,
	srq_resize, srq_set_lw,
};
