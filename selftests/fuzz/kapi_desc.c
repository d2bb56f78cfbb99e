// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * kapi_desc.c - the description of the kernel API: each exported call and its arguments
 *
 * The arguments are those of the functions in selftests/modules/kapi, mostly in the order of
 * the call. kdapl promises to survive any value of a handle, a triplet, a context, a number
 * or a flag, so these are fuzzed. The module keeps the promises of a caller: memory exists,
 * and a call that sleeps is not made in softirq. The field "null" replaces pointers by NULL
 * where the comment of the call defines the answer. tools/check/kapi.sh compares the table
 * with the exports.
 */
#include <dat/udat.h>

#include "exec.h"
#include "kapi/kapi.h"

/* A field that is argument @_i of the call */
#define A(_name, _i, _kind, _arg, _def) \
	{ #_name, offsetof(struct kapi_call, arg[_i]), 8, _kind, _arg, _def }
/* An address, which takes two arguments */
#define ADDRESS(_def) \
	{ "address", offsetof(struct kapi_call, arg[1]), 16, F_IA_ADDR, _def, 0 }
#define WHERE(_softirq) \
	{ "where", offsetof(struct kapi_call, where), 4, F_WHERE, _softirq, 0 }
/* The contexts of calls.def; a call in a task only has none of them. */
#define SLEEP	WHERE(0)
#define ANY	WHERE(1)
#define CAN_BE_NULL	A(null, KAPI_NULL, F_OPT, 0, 0)

#define HANDLE(_name, _i, _type, _def)	A(_name, _i, F_HANDLE, _type, _def)
#define IA		HANDLE(ia, 0, T_IA, 0)
#define PRIVILEGES	0x273
#define MAX_MASK	0x7fffffff

#define TABLE_OF_HANDLE(_name, _type, _where) \
	static const struct field _name[] = { HANDLE(_name, 0, _type, 0), _where }

TABLE_OF_HANDLE(ia, T_IA, SLEEP);
TABLE_OF_HANDLE(pz, T_PZ, SLEEP);
TABLE_OF_HANDLE(evd, T_EVD, SLEEP);
TABLE_OF_HANDLE(ep, T_EP, SLEEP);
TABLE_OF_HANDLE(lmr, T_LMR, SLEEP);
TABLE_OF_HANDLE(rmr, T_RMR, SLEEP);
TABLE_OF_HANDLE(psp, T_PSP, SLEEP);
TABLE_OF_HANDLE(rsp, T_RSP, SLEEP);
TABLE_OF_HANDLE(csp, T_CSP, SLEEP);
TABLE_OF_HANDLE(cr, T_CR, SLEEP);
TABLE_OF_HANDLE(srq, T_SRQ, SLEEP);

#define TABLE_OF_QUERY(_name, _type, _where)					\
	static const struct field _name##_query[] = {				\
		HANDLE(_name, 0, _type, 0), A(mask, 1, F_FLAGS, MAX_MASK, 0x1f), \
		CAN_BE_NULL, _where,						\
	}

TABLE_OF_QUERY(pz, T_PZ, ANY);
TABLE_OF_QUERY(evd, T_EVD, SLEEP);
TABLE_OF_QUERY(ep, T_EP, SLEEP);
TABLE_OF_QUERY(lmr, T_LMR, SLEEP);
TABLE_OF_QUERY(rmr, T_RMR, ANY);
TABLE_OF_QUERY(psp, T_PSP, ANY);
TABLE_OF_QUERY(rsp, T_RSP, SLEEP);
TABLE_OF_QUERY(csp, T_CSP, ANY);
TABLE_OF_QUERY(cr, T_CR, ANY);
TABLE_OF_QUERY(srq, T_SRQ, SLEEP);

/* Accounts: without a limit, of 1 MiB, of 100 KiB */
static const struct field account_charge[] = {
	A(account, 0, F_ENUM, 2, 0), A(bytes, 1, F_LEN, 0, 4096),
};

static const struct field ia_set_account[] = {
	IA, A(account, 1, F_ENUM, 2, 1), CAN_BE_NULL,
};

/* Names: the device, two IAs of the module's provider, one that does not exist, none */
static const struct field ia_openv[] = {
	A(name, 0, F_ENUM, 4, 0), A(qlen, 1, F_COUNT, 8, 8), A(async_evd, 2, F_OPT, T_EVD, 0),
	A(dat_major, 3, F_ENUM, 2, 1), A(dat_minor, 4, F_ENUM, 3, 2),
	A(thread_safety, 5, F_ENUM, 1, 1), CAN_BE_NULL, SLEEP,
};

static const struct field ia_close[] = {
	IA, A(flags, 1, F_ENUM, 1, 0),
};

static const struct field ia_query[] = {
	IA, A(ia_mask, 1, F_FLAGS, 0x7fffffffffULL, 0x7fffffffffULL),
	A(provider_mask, 2, F_FLAGS, 0x1ffffffffULL, 0x1ffffffffULL), CAN_BE_NULL, SLEEP,
};

static const struct field ia_memtype_hint[] = {
	IA, A(mem_type, 1, F_ENUM, 6, 0), A(length, 2, F_LEN, 0, 0x400000),
	A(optimization, 3, F_FLAGS, 7, 0), SLEEP,
};

static const struct field ia_reserved_lmr[] = {
	IA, CAN_BE_NULL, SLEEP,
};

static const struct field provider[] = {
	A(name, 0, F_ENUM, 1, 0), CAN_BE_NULL, SLEEP,
};

static const struct field registry_list_providers[] = {
	A(max, 0, F_ENUM, 4, 4), CAN_BE_NULL, SLEEP,
};

static const struct field any_handle[] = {
	HANDLE(handle, 0, T_ANY, 0), A(context, 1, F_ANY, 0, 0), CAN_BE_NULL, ANY,
};

static const struct field strerror_fields[] = {
	A(value, 0, F_ANY, 0, 0x80000000), ANY,
};

static const struct field pz_create[] = {
	IA, CAN_BE_NULL, SLEEP,
};

static const struct field evd_kcreate[] = {
	IA, A(qlen, 1, F_COUNT, 64, 64), A(policy, 2, F_ENUM, 4, 0), A(slot, 3, F_ENUM, 7, 0),
	A(flags, 4, F_FLAGS, 0x1f1, 0xa1), CAN_BE_NULL, SLEEP,
};

static const struct field evd_modify_upcall[] = {
	HANDLE(evd, 0, T_EVD, 0), A(policy, 1, F_ENUM, 4, 1), A(slot, 2, F_ENUM, 7, 0),
	A(flag, 3, F_ENUM, 1, 1), CAN_BE_NULL, SLEEP,
};

/* No EP may feed the EVD: it is a new one, or the handle is forged, if "forged" is not 0. */
static const struct field evd_set_completion[] = {
	A(forged, 0, F_OPT, 0, 0), HANDLE(ia, 1, T_IA, 0), A(qlen, 2, F_COUNT, 64, 64),
	A(slot, 3, F_ENUM, 7, 1), A(flags, 4, F_FLAGS, 0x1f1, 0xa1), SLEEP,
};

static const struct field evd_dequeue[] = {
	HANDLE(evd, 0, T_EVD, 1), CAN_BE_NULL, ANY,
};

static const struct field evd_post_se[] = {
	HANDLE(evd, 0, T_EVD, 1), A(number, 1, F_OPT, 0, 0), A(pointer, 2, F_ANY, 0, 0),
	CAN_BE_NULL, ANY,
};

static const struct field evd_resize[] = {
	HANDLE(evd, 0, T_EVD, 1), A(qlen, 1, F_COUNT, 64, 128), SLEEP,
};

static const struct field cr_accept[] = {
	HANDLE(cr, 0, T_CR, 0), HANDLE(ep, 1, T_EP, 0), A(size, 2, F_COUNT, 16, 0), SLEEP,
};

static const struct field cr_reject[] = {
	HANDLE(cr, 0, T_CR, 0), A(size, 1, F_COUNT, 16, 0), SLEEP,
};

static const struct field cr_handoff[] = {
	HANDLE(cr, 0, T_CR, 0), A(qual, 1, F_QUAL, 0, 0), SLEEP,
};

static const struct field psp_create[] = {
	IA, A(qual, 1, F_QUAL, 0, 0), HANDLE(evd, 2, T_EVD, 5), A(flags, 3, F_ENUM, 1, 0),
	CAN_BE_NULL, SLEEP,
};

static const struct field rsp_create[] = {
	IA, A(qual, 1, F_QUAL, 0, 0), HANDLE(evd, 2, T_EVD, 5), HANDLE(ep, 3, T_EP, 0),
	CAN_BE_NULL, SLEEP,
};

static const struct field csp_create[] = {
	IA, ADDRESS(0), HANDLE(evd, 3, T_EVD, 5), A(domain, 4, F_ENUM, 10, 2),
	A(type, 5, F_ENUM, 5, 1), A(protocol, 6, F_ENUM, 6, 0), CAN_BE_NULL, SLEEP,
};

/* From argument 6 on, as in dat_ep_modify() */
#define EP_ATTR									\
	A(max_message_size, 6, F_LEN, 0, 0), A(max_rdma_size, 7, F_LEN, 0, 0),	\
	A(qos, 8, F_ENUM, 4, 0), A(recv_completion_flags, 9, F_FLAGS, 0x3f, 0),	\
	A(request_completion_flags, 10, F_FLAGS, 0x3f, 4),			\
	A(max_recv_dtos, 11, F_COUNT, 32, 24),					\
	A(max_request_dtos, 12, F_COUNT, 32, 24), A(max_recv_iov, 13, F_COUNT, 2, 4), \
	A(max_request_iov, 14, F_IOV, 2, 4), A(max_rdma_read_in, 15, F_COUNT, 2, 4), \
	A(max_rdma_read_out, 16, F_COUNT, 2, 4), A(srq_soft_hw, 17, F_COUNT, 4, 0), \
	A(max_rdma_read_iov, 18, F_COUNT, 1, 0), A(max_rdma_write_iov, 19, F_COUNT, 1, 0)
#define EP_EVDS									\
	HANDLE(recv_evd, 2, T_EVD, 1), HANDLE(request_evd, 3, T_EVD, 1),	\
	HANDLE(connect_evd, 4, T_EVD, 3)

static const struct field ep_create[] = {
	IA, HANDLE(pz, 1, T_PZ, 0), EP_EVDS, EP_ATTR, CAN_BE_NULL, SLEEP,
};

static const struct field ep_create_with_srq[] = {
	IA, HANDLE(pz, 1, T_PZ, 0), EP_EVDS, HANDLE(srq, 5, T_SRQ, 0), EP_ATTR, CAN_BE_NULL,
	SLEEP,
};

static const struct field ep_modify[] = {
	HANDLE(ep, 0, T_EP, 0), HANDLE(pz, 1, T_PZ, 0), EP_EVDS,
	A(mask, 5, F_FLAGS, 0x7fff780, 0), EP_ATTR, CAN_BE_NULL, SLEEP,
};

static const struct field ep_connect[] = {
	HANDLE(ep, 0, T_EP, 0), ADDRESS(0), A(qual, 3, F_QUAL, 1, 0),
	A(timeout, 4, F_TIME, 0, ~0U), A(size, 5, F_COUNT, 16, 0), A(qos, 6, F_ENUM, 4, 0),
	A(flags, 7, F_ENUM, 2, 0), CAN_BE_NULL, SLEEP,
};

static const struct field ep_common_connect[] = {
	HANDLE(ep, 0, T_EP, 0), ADDRESS(1), A(timeout, 4, F_TIME, 0, ~0U),
	A(size, 5, F_COUNT, 16, 0), CAN_BE_NULL, SLEEP,
};

static const struct field ep_dup_connect[] = {
	HANDLE(ep, 0, T_EP, 2), HANDLE(dup, 1, T_EP, 0), A(timeout, 4, F_TIME, 0, ~0U),
	A(size, 5, F_COUNT, 16, 0), A(qos, 6, F_ENUM, 4, 0), SLEEP,
};

static const struct field ep_disconnect[] = {
	HANDLE(ep, 0, T_EP, 0), A(flags, 1, F_ENUM, 1, 0), SLEEP,
};

static const struct field ep_get_status[] = {
	HANDLE(ep, 0, T_EP, 0), CAN_BE_NULL, ANY,
};

static const struct field ep_recv_query[] = {
	HANDLE(ep, 0, T_EP, 0), CAN_BE_NULL, SLEEP,
};

static const struct field ep_set_watermark[] = {
	HANDLE(ep, 0, T_EP, 0), A(soft, 1, F_COUNT, 4, 4), A(hard, 2, F_COUNT, 8, ~0U), SLEEP,
};

#define POST(_handle)								\
	_handle, A(num_segments, 1, F_NUM, LIST_SEGMENTS, 0), A(cookie, 2, F_ANY, 0, 0), ANY
#define FLAGS	A(flags, 3, F_FLAGS, 0x3f, 0)
#define REMOTE									\
	A(remote_address, 4, F_LMR_ADDR, 0, 0), A(remote_length, 5, F_LEN, 0, 64), \
	A(remote_context, 6, F_RMR_CONTEXT, 0, 0)
#define EP	HANDLE(ep, 0, T_EP, 0)

static const struct field post[] = {
	POST(EP), FLAGS,
};

static const struct field post_send_with_invalidate[] = {
	POST(EP), FLAGS, A(remote_context, 6, F_RMR_CONTEXT, 0, 0), A(invalidate, 7, F_ENUM, 1, 1),
};

static const struct field post_send_immed[] = {
	POST(EP), FLAGS, A(immediate, 7, F_ANY, 0, 0),
};

static const struct field post_rdma[] = {
	POST(EP), FLAGS, REMOTE, A(immediate, 7, F_ANY, 0, 0), A(swap, 8, F_OPT, 0, 0),
	CAN_BE_NULL,
};

static const struct field srq_post_recv[] = {
	POST(HANDLE(srq, 0, T_SRQ, 0)),
};

/* Types: virtual, LMR, physical, platform, IA, bypass, pages of another size */
#define REGION									\
	A(mem_type, 1, F_ENUM, 6, 0), A(address, 2, F_ADDR, 0, 0),		\
	A(page_size, 9, F_ENUM, 5, 0)

static const struct field lmr_kcreate[] = {
	IA, REGION, A(length, 3, F_LEN, 0, 8192), HANDLE(pz, 4, T_PZ, 0),
	A(privileges, 5, F_FLAGS, PRIVILEGES, 0x33), A(va_type, 6, F_ENUM, 1, 0),
	A(optimization, 7, F_FLAGS, 7, 0), A(base, 8, F_HANDLE, T_LMR, 0), CAN_BE_NULL, SLEEP,
};

static const struct field lmr_allocate[] = {
	IA, HANDLE(pz, 1, T_PZ, 0), A(pages, 2, F_COUNT, 8, 16), A(scope, 3, F_ENUM, 2, 1),
	CAN_BE_NULL, SLEEP,
};

static const struct field lmr_fmr[] = {
	HANDLE(lmr, 0, T_LMR, 2), REGION, A(pages, 3, F_COUNT, 8, 4),
	A(privileges, 4, F_FLAGS, PRIVILEGES, 0x33), A(va_type, 5, F_ENUM, 1, 0),
	HANDLE(ep, 6, T_EP, 0), A(cookie, 7, F_ANY, 0, 0), A(flags, 10, F_FLAGS, 0x3f, 0),
	CAN_BE_NULL, ANY,
};

static const struct field lmr_invalidate[] = {
	HANDLE(lmr, 0, T_LMR, 2), HANDLE(ep, 1, T_EP, 0), A(cookie, 2, F_ANY, 0, 0),
	A(flags, 3, F_FLAGS, 0x3f, 0), ANY,
};

static const struct field lmr_sync[] = {
	IA, A(num_segments, 1, F_NUM, LIST_SEGMENTS, 0), SLEEP,
};

static const struct field rmr_create[] = {
	HANDLE(pz, 0, T_PZ, 0), CAN_BE_NULL, SLEEP,
};

static const struct field rmr_bind[] = {
	HANDLE(rmr, 0, T_RMR, 0), HANDLE(lmr, 1, T_LMR, 0),
	A(privileges, 2, F_FLAGS, PRIVILEGES, 0x22), A(va_type, 3, F_ENUM, 1, 0),
	HANDLE(ep, 4, T_EP, 0), A(cookie, 5, F_ANY, 0, 0), A(flags, 6, F_FLAGS, 0x3f, 0),
	CAN_BE_NULL, ANY,
};

static const struct field srq_create[] = {
	IA, HANDLE(pz, 1, T_PZ, 0), A(max_recv_dtos, 2, F_COUNT, 16, 32),
	A(max_recv_iov, 3, F_COUNT, 2, 2), A(low_watermark, 4, F_COUNT, 4, 0), CAN_BE_NULL,
	SLEEP,
};

static const struct field srq_set[] = {
	HANDLE(srq, 0, T_SRQ, 0), A(value, 1, F_COUNT, 8, 16), SLEEP,
};

static const struct field segment[] = {
	{ "virtual_address", offsetof(struct kapi_segment, virtual_address), 8, F_LMR_ADDR, 0, 0 },
	{ "length", offsetof(struct kapi_segment, length), 4, F_LEN, 0, 64 },
	{ "lmr_context", offsetof(struct kapi_segment, lmr_context), 4, F_LMR_CONTEXT, 0, 0 },
};

/* An argument of a trick */
#define T(_name, _i, _kind, _arg, _def) \
	{ #_name, offsetof(struct trick, a[_i]), 8, _kind, _arg, _def }

static const struct field harvest[] = {
	T(evd, 0, F_HANDLE, T_EVD, 5), T(wait, 1, F_ENUM, 20, 0),
};

/* States are those of DAT_EP_STATE: 9 is CONNECTED. */
static const struct field await[] = {
	T(ep, 0, F_HANDLE, T_EP, 0), T(state, 1, F_ENUM, 11, 9), T(wait, 2, F_ENUM, 20, 20),
};

static const struct field fork_fields[] = {
	T(steps, 0, F_ENUM, 6, 2), T(wait, 1, F_ENUM, 1, 1),
};

static const struct field number[] = {
	T(number, 0, F_ENUM, 7, 0),
};

static const struct field none[] = {
	T(unused, 0, F_OPT, 0, 0),
};

#define CALL(_name, _fields, _weight, ...)					\
	{ .name = #_name, .cmd = KAPI_CALL, .number = KAPI_##_name,		\
	  .size = sizeof(struct kapi_call), .weight = _weight, .fields = _fields, \
	  .num_fields = ARRAY_LEN(_fields), ##__VA_ARGS__ }
#define MAKES(_type) \
	.makes = T_##_type, .made_at = offsetof(struct kapi_call, out[0])
#define FREES(_type) \
	.frees = T_##_type, .freed_at = offsetof(struct kapi_call, arg[0])
#define POSTS	.flags = OP_POSTS | OP_HURTS_SIW
#define DATA(_name, _size, _fields, _run, _weight)				\
	{ .name = _name, .size = _size, .weight = _weight, .run = _run,		\
	  .fields = _fields, .num_fields = ARRAY_LEN(_fields) }
#define TRICK(_name, _fields, _run, _weight) \
	DATA(#_name, sizeof(struct trick), _fields, _run, _weight)

const struct op kapi_ops[] = {
	CALL(account_charge, account_charge, 1),
	CALL(ia_close, ia_close, 2, FREES(IA)),
	CALL(ia_max_user_lmr, ia, 1),
	CALL(ia_memtype_hint, ia_memtype_hint, 2),
	CALL(ia_openv, ia_openv, 4, MAKES(IA)),
	CALL(ia_query, ia_query, 1),
	CALL(ia_reserved_lmr, ia_reserved_lmr, 2, MAKES(LMR)),
	CALL(ia_set_account, ia_set_account, 3),
	CALL(provider_fini, provider, 1),
	CALL(provider_init, provider, 1),
	CALL(registry_add_module, provider, 2),
	CALL(registry_list_providers, registry_list_providers, 1),
	CALL(registry_remove_provider, provider, 2),
	CALL(get_consumer_context, any_handle, 2),
	CALL(get_handle_type, any_handle, 1),
	CALL(set_consumer_context, any_handle, 2),
	CALL(strerror, strerror_fields, 1),
	CALL(pz_create, pz_create, 4, MAKES(PZ)),
	CALL(pz_free, pz, 3, FREES(PZ)),
	CALL(pz_query, pz_query, 1),
	CALL(evd_dequeue, evd_dequeue, 6),
	CALL(evd_flush_upcalls, evd, 5),
	CALL(evd_free, evd, 5, FREES(EVD)),
	CALL(evd_kcreate, evd_kcreate, 8, MAKES(EVD)),
	CALL(evd_modify_upcall, evd_modify_upcall, 10),
	CALL(evd_post_se, evd_post_se, 6),
	CALL(evd_query, evd_query, 1),
	CALL(evd_resize, evd_resize, 8),
	CALL(evd_set_completion, evd_set_completion, 3, MAKES(EVD)),
	CALL(cr_accept, cr_accept, 6, FREES(CR), .flags = OP_HURTS_SIW),
	CALL(cr_handoff, cr_handoff, 3, FREES(CR)),
	CALL(cr_query, cr_query, 2),
	CALL(cr_reject, cr_reject, 3, FREES(CR)),
	CALL(cr_reject_no_room, cr, 2, FREES(CR)),
	CALL(csp_create, csp_create, 4, MAKES(CSP)),
	CALL(csp_free, csp, 2, FREES(CSP)),
	CALL(csp_query, csp_query, 1),
	CALL(psp_create, psp_create, 3, MAKES(PSP)),
	CALL(psp_create_any, psp_create, 3, MAKES(PSP)),
	CALL(psp_free, psp, 2, FREES(PSP)),
	CALL(psp_query, psp_query, 1),
	CALL(rsp_create, rsp_create, 5, MAKES(RSP)),
	CALL(rsp_free, rsp, 3, FREES(RSP)),
	CALL(rsp_query, rsp_query, 1),
	CALL(ep_common_connect, ep_common_connect, 3),
	CALL(ep_connect, ep_connect, 6),
	CALL(ep_create, ep_create, 8, MAKES(EP), .flags = OP_HURTS_OLD_RXE),
	CALL(ep_create_with_srq, ep_create_with_srq, 5, MAKES(EP), .flags = OP_HURTS_OLD_RXE),
	CALL(ep_disconnect, ep_disconnect, 3),
	CALL(ep_dup_connect, ep_dup_connect, 4),
	CALL(ep_free, ep, 4, FREES(EP)),
	CALL(ep_get_status, ep_get_status, 2),
	CALL(ep_modify, ep_modify, 8, .flags = OP_HURTS_OLD_RXE),
	CALL(ep_query, ep_query, 2),
	CALL(ep_recv_query, ep_recv_query, 2),
	CALL(ep_reset, ep, 4, .flags = OP_HURTS_OLD_RXE),
	CALL(ep_set_watermark, ep_set_watermark, 3),
	CALL(ep_post_rdma_read, post_rdma, 1, POSTS),
	CALL(ep_post_rdma_read_to_rmr, post_rdma, 1, POSTS),
	CALL(ep_post_rdma_write, post_rdma, 1, POSTS),
	CALL(ep_post_recv, post, 1, POSTS),
	CALL(ep_post_send, post, 1, POSTS),
	CALL(ep_post_send_with_invalidate, post_send_with_invalidate, 1, POSTS),
	CALL(ib_post_cmp_and_swap, post_rdma, 1, POSTS),
	CALL(ib_post_fetch_and_add, post_rdma, 1, POSTS),
	CALL(ib_post_rdma_write_immed, post_rdma, 1, POSTS),
	CALL(ib_post_send_immed, post_send_immed, 1, POSTS),
	CALL(lmr_allocate, lmr_allocate, 5, MAKES(LMR),
	     .flags = OP_HURTS_SIW | OP_HURTS_OLD_RXE),
	CALL(lmr_fmr, lmr_fmr, 8, POSTS),
	CALL(lmr_free, lmr, 5, FREES(LMR)),
	CALL(lmr_invalidate, lmr_invalidate, 6, POSTS),
	CALL(lmr_kcreate, lmr_kcreate, 12, MAKES(LMR), .flags = OP_HURTS_SIW | OP_HURTS_OLD_RXE),
	CALL(lmr_query, lmr_query, 2),
	CALL(lmr_sync_rdma_read, lmr_sync, 2),
	CALL(lmr_sync_rdma_write, lmr_sync, 2),
	CALL(rmr_bind, rmr_bind, 4, POSTS),
	CALL(rmr_bind_1_2, rmr_bind, 2, POSTS),
	CALL(rmr_create, rmr_create, 5, MAKES(RMR), .flags = OP_HURTS_SIW),
	CALL(rmr_create_for_ep, rmr_create, 4, MAKES(RMR), .flags = OP_HURTS_SIW),
	CALL(rmr_free, rmr, 3, FREES(RMR)),
	CALL(rmr_query, rmr_query, 2),
	CALL(rmr_renew, rmr, 2, .flags = OP_HURTS_SIW),
	CALL(srq_create, srq_create, 6, MAKES(SRQ)),
	CALL(srq_free, srq, 3, FREES(SRQ)),
	CALL(srq_post_recv, srq_post_recv, 1, POSTS),
	CALL(srq_query, srq_query, 1),
	CALL(srq_resize, srq_set, 5),
	CALL(srq_set_lw, srq_set, 4),
	DATA("segment", sizeof(struct kapi_segment), segment, trick_segment, 0),
	TRICK(harvest, harvest, trick_kapi_harvest, 10),
	TRICK(await, await, trick_kapi_await, 0),
	TRICK(fork, fork_fields, trick_fork, 1),
	TRICK(signal, number, trick_signal, 1),
	TRICK(kill, none, trick_kill, 1),
	TRICK(pass_fd, number, trick_pass_fd, 1),
	TRICK(reopen, none, trick_reopen, 1),
	TRICK(pause, number, trick_pause, 4),
	TRICK(read_debugfs, number, trick_read_debugfs, 1),
	TRICK(unplug, none, trick_unplug, 0),
	{ NULL },
};
