// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * counters.c - query and print the counters of an object
 *
 * counted.c counts the calls and events, port.c adds counters of the device.
 */
#include <stdio.h>

#include "kdat.h"

#define IA(name) \
	[DCNT_IA_ ## name] = #name
#define EP(name) \
	[DCNT_EP_ ## name] = #name
#define EVD(name) \
	[DCNT_EVD_ ## name] = #name

static const char *const ia_names[DCNT_IA_ALL_COUNTERS] = {
	IA(PZ_CREATE), IA(PZ_FREE), IA(LMR_CREATE), IA(LMR_FREE),
	IA(RMR_CREATE), IA(RMR_FREE), IA(PSP_CREATE), IA(PSP_CREATE_ANY),
	IA(PSP_FREE), IA(RSP_CREATE), IA(RSP_FREE), IA(EVD_CREATE),
	IA(EVD_FREE), IA(EP_CREATE), IA(EP_FREE), IA(SRQ_CREATE),
	IA(SRQ_FREE), IA(SP_CR), IA(SP_CR_ACCEPTED), IA(SP_CR_REJECTED),
	IA(MEM_ALLOC), IA(MEM_ALLOC_DATA), IA(MEM_FREE), IA(ASYNC_ERROR),
	IA(ASYNC_QP_ERROR), IA(ASYNC_CQ_ERROR), IA(CM_LISTEN), IA(CM_REQ_TX),
	IA(CM_REQ_RX), IA(CM_REP_TX), IA(CM_REP_RX), IA(CM_RTU_TX),
	IA(CM_RTU_RX), IA(CM_USER_REJ_TX), IA(CM_USER_REJ_RX),
	IA(CM_ACTIVE_EST), IA(CM_PASSIVE_EST), IA(CM_AH_REQ_TX),
	IA(CM_AH_REQ_RX), IA(CM_AH_RESOLVED), IA(CM_DREQ_TX), IA(CM_DREQ_RX),
	IA(CM_DREP_TX), IA(CM_DREP_RX), IA(CM_MRA_TX), IA(CM_MRA_RX),
	IA(CM_REQ_FULLQ_POLL), IA(CM_ERR), IA(CM_ERR_REQ_FULLQ),
	IA(CM_ERR_REQ_DUP), IA(CM_ERR_REQ_RETRY), IA(CM_ERR_REP_DUP),
	IA(CM_ERR_REP_RETRY), IA(CM_ERR_RTU_DUP), IA(CM_ERR_RTU_RETRY),
	IA(CM_ERR_REFUSED), IA(CM_ERR_RESET), IA(CM_ERR_TIMEOUT),
	IA(CM_ERR_REJ_TX), IA(CM_ERR_REJ_RX), IA(CM_ERR_DREQ_DUP),
	IA(CM_ERR_DREQ_RETRY), IA(CM_ERR_DREP_DUP), IA(CM_ERR_DREP_RETRY),
	IA(CM_ERR_MRA_DUP), IA(CM_ERR_MRA_RETRY), IA(CM_ERR_UNEXPECTED),
	IA(LNK_ERR_RCV), IA(LNK_ERR_RCV_REM_PHYS), IA(LNK_ERR_RCV_CONSTRAINT),
	IA(LNK_ERR_XMT_DISCARDS), IA(LNK_ERR_XMT_CONTRAINT),
	IA(LNK_ERR_INTEGRITY), IA(LNK_ERR_EXC_BUF_OVERRUN),
	IA(LNK_WARN_RCV_SW_RELAY), IA(LNK_WARN_XMT_WAIT), IA(DIAG_ERR_RQ_RAE),
	IA(DIAG_ERR_RQ_OOS), IA(DIAG_ERR_RQ_RIRE), IA(DIAG_ERR_RQ_UDSDPRD),
	IA(DIAG_ERR_SQ_RAE), IA(DIAG_ERR_SQ_OOS), IA(DIAG_ERR_SQ_RIRE),
	IA(DIAG_ERR_SQ_RREE), IA(DIAG_ERR_SQ_TREE),
};

static const char *const ep_names[DCNT_EP_ALL_COUNTERS] = {
	EP(CONNECT), EP(DISCONNECT), EP(POST_SEND), EP(POST_SEND_DATA),
	EP(POST_SEND_UD), EP(POST_SEND_UD_DATA), EP(POST_RECV),
	EP(POST_RECV_DATA), EP(POST_WRITE), EP(POST_WRITE_DATA),
	EP(POST_WRITE_IMM), EP(POST_WRITE_IMM_DATA), EP(POST_READ),
	EP(POST_READ_DATA), EP(POST_CMP_SWAP), EP(POST_FETCH_ADD), EP(RECV),
	EP(RECV_DATA), EP(RECV_UD), EP(RECV_UD_DATA), EP(RECV_IMM),
	EP(RECV_IMM_DATA), EP(RECV_RDMA_IMM), EP(RECV_RDMA_IMM_DATA),
};

static const char *const evd_names[DCNT_EVD_ALL_COUNTERS] = {
	EVD(WAIT), EVD(WAIT_BLOCKED), EVD(WAIT_NOTIFY), EVD(DEQUEUE),
	EVD(DEQUEUE_FOUND), EVD(DEQUEUE_NOT_FOUND), EVD(DEQUEUE_POLL),
	EVD(DEQUEUE_POLL_FOUND), EVD(CONN_CALLBACK), EVD(DTO_CALLBACK),
};

static const struct {
	DAT_HANDLE_TYPE type;
	const char *type_name;
	const char *const *names;
} kinds[KDAT_NUM_COUNTED] = {
	[KDAT_COUNTED_IA] = { DAT_HANDLE_TYPE_IA, "IA", ia_names },
	[KDAT_COUNTED_EP] = { DAT_HANDLE_TYPE_EP, "EP", ep_names },
	[KDAT_COUNTED_EVD] = { DAT_HANDLE_TYPE_EVD, "EVD", evd_names },
};

/* The counters of a query, from @first up to, but not including, @end */
struct range {
	enum kdat_counted kind;
	unsigned int first;
	unsigned int end;
	struct kdat_counter *counters;
};

static DAT_RETURN find(struct range *range, DAT_HANDLE handle, int counter)
{
	DAT_HANDLE_TYPE type;
	unsigned int num;
	DAT_RETURN ret;
	int kind;

	ret = libdat_get_handle_type(handle, &type);
	if (ret != DAT_SUCCESS)
		return ret;
	for (kind = 0; kind < KDAT_NUM_COUNTED; kind++)
		if (type == kinds[kind].type && kinds[kind].names)
			break;
	if (kind == KDAT_NUM_COUNTED)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	num = kdat_num_counters((enum kdat_counted)kind);
	if (counter < 0 || (unsigned int)counter > num)
		return BAD_ARG(3);
	range->kind = (enum kdat_counted)kind;
	/* The number of counters stands for all of them. */
	range->first = (unsigned int)counter < num ? (unsigned int)counter : 0;
	range->end = (unsigned int)counter < num ? range->first + 1 : num;
	if (range->kind == KDAT_COUNTED_IA)
		kdat_port_sample(handle);
	range->counters = kdat_counters_of(handle, range->kind);
	return range->counters ? DAT_SUCCESS :
				 NO_MEMORY;
}

static DAT_UINT64 value_of(struct kdat_counter *counter, bool reset)
{
	return reset ? atomic_exchange(&counter->value, 0) :
		       atomic_load(&counter->value);
}

/**
 * kdat_counters_query - dat_ib_query_counters()
 * @handle: an IA, an EP, or an EVD
 * @counter: DCNT_IA_*, DCNT_EP_*, or DCNT_EVD_*; DCNT_*_ALL_COUNTERS for all
 * @values: out: one value, or all values
 * @reset: set the counters to 0
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN kdat_counters_query(DAT_HANDLE handle, int counter,
			       DAT_UINT64 *values, bool reset)
{
	struct range range;
	DAT_RETURN ret;
	unsigned int i;

	ret = find(&range, handle, counter);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!values)
		return BAD_ARG(4);
	for (i = range.first; i < range.end; i++)
		values[i - range.first] = value_of(&range.counters[i], reset);
	return DAT_SUCCESS;
}

/**
 * kdat_counters_print - dat_ib_print_counters()
 * @handle: an IA, an EP, or an EVD
 * @counter: as for kdat_counters_query()
 * @reset: set the counters to 0
 *
 * Prints one line for each counter on the standard output. Thread safe.
 *
 * Return: as kdat_counters_query().
 */
DAT_RETURN kdat_counters_print(DAT_HANDLE handle, int counter, bool reset)
{
	struct range range;
	DAT_RETURN ret;
	unsigned int i;

	ret = find(&range, handle, counter);
	if (ret != DAT_SUCCESS)
		return ret;
	for (i = range.first; i < range.end; i++)
		printf("%s %p %s %llu\n", kinds[range.kind].type_name, handle,
		       kinds[range.kind].names[i],
		       (unsigned long long)value_of(&range.counters[i], reset));
	return DAT_SUCCESS;
}
