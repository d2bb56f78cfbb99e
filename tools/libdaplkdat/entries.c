// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * entries.c - the table of functions that libdat2 calls
 *
 * libdat_*() are the functions of libdat without changes. kdat_*() are those of
 * this folder, which count, retire handles, or have other arguments.
 */
#include "kdat.h"

const DAT_PROVIDER kdat_entries = {
	.device_name = "kdat",

	.ia_open_func = kdat_ia_open,
	.ia_query_func = kdat_ia_query,
	.ia_close_func = kdat_ia_close,
	.ia_ha_related_func = kdat_ia_ha_related,

	.set_consumer_context_func = libdat_set_consumer_context,
	.get_consumer_context_func = libdat_get_consumer_context,
	.get_handle_type_func = libdat_get_handle_type,
	.handle_extendedop_func = kdat_extended_op,

	.cno_create_func = libdat_cno_create,
	.cno_modify_agent_func = libdat_cno_modify_agent,
	.cno_query_func = kdat_cno_query,
	.cno_free_func = kdat_cno_free,
	.cno_wait_func = libdat_cno_wait,
	.cno_fd_create_func = kdat_cno_fd_create,
	.cno_trigger_func = kdat_cno_trigger,

	.cr_query_func = libdat_cr_query,
	.cr_accept_func = kdat_cr_accept,
	.cr_reject_func = kdat_cr_reject,
	.cr_handoff_func = kdat_cr_handoff,

	.evd_create_func = kdat_evd_create,
	.evd_query_func = libdat_evd_query,
	.evd_modify_cno_func = libdat_evd_modify_cno,
	.evd_enable_func = libdat_evd_enable,
	.evd_disable_func = libdat_evd_disable,
	.evd_wait_func = kdat_evd_wait,
	.evd_resize_func = libdat_evd_resize,
	.evd_post_se_func = libdat_evd_post_se,
	.evd_dequeue_func = kdat_evd_dequeue,
	.evd_free_func = kdat_evd_free,
	.evd_set_unwaitable_func = libdat_evd_set_unwaitable,
	.evd_clear_unwaitable_func = libdat_evd_clear_unwaitable,

	.ep_create_func = kdat_ep_create,
	.ep_create_with_srq_func = kdat_ep_create_with_srq,
	.ep_query_func = libdat_ep_query,
	.ep_modify_func = libdat_ep_modify,
	.ep_connect_func = kdat_ep_connect,
	.ep_common_connect_func = kdat_ep_common_connect,
	.ep_dup_connect_func = kdat_ep_dup_connect,
	.ep_disconnect_func = kdat_ep_disconnect,
	.ep_get_status_func = libdat_ep_get_status,
	.ep_recv_query_func = libdat_ep_recv_query,
	.ep_set_watermark_func = libdat_ep_set_watermark,
	.ep_reset_func = libdat_ep_reset,
	.ep_free_func = kdat_ep_free,

	.ep_post_send_func = kdat_ep_post_send,
	.ep_post_send_with_invalidate_func = kdat_ep_post_send_with_invalidate,
	.ep_post_recv_func = kdat_ep_post_recv,
	.ep_post_rdma_read_func = kdat_ep_post_rdma_read,
	.ep_post_rdma_read_to_rmr_func = kdat_ep_post_rdma_read_to_rmr,
	.ep_post_rdma_write_func = kdat_ep_post_rdma_write,

	.lmr_create_func = kdat_lmr_create,
	.lmr_query_func = kdat_lmr_query,
	.lmr_free_func = kdat_lmr_free,
	.lmr_sync_rdma_read_func = libdat_lmr_sync_rdma_read,
	.lmr_sync_rdma_write_func = libdat_lmr_sync_rdma_write,

	.rmr_create_func = kdat_rmr_create,
	.rmr_create_for_ep_func = kdat_rmr_create_for_ep,
	.rmr_query_func = kdat_rmr_query,
	.rmr_bind_func = kdat_rmr_bind,
	.rmr_free_func = kdat_rmr_free,

	.psp_create_func = kdat_psp_create,
	.psp_create_any_func = kdat_psp_create_any,
	.psp_query_func = libdat_psp_query,
	.psp_free_func = kdat_psp_free,

	.rsp_create_func = kdat_rsp_create,
	.rsp_query_func = libdat_rsp_query,
	.rsp_free_func = kdat_rsp_free,

	.csp_create_func = kdat_csp_create,
	.csp_query_func = kdat_csp_query,
	.csp_free_func = kdat_csp_free,

	.pz_create_func = kdat_pz_create,
	.pz_query_func = libdat_pz_query,
	.pz_free_func = kdat_pz_free,

	.srq_create_func = kdat_srq_create,
	.srq_query_func = libdat_srq_query,
	.srq_resize_func = libdat_srq_resize,
	.srq_set_lw_func = libdat_srq_set_lw,
	.srq_post_recv_func = libdat_srq_post_recv,
	.srq_free_func = kdat_srq_free,
};

/* libdat passes return values of the kernel on: the numbers must be the same. */
enum {
#define DAT_SUBTYPE(name)	KERNEL_ ## name,
#define DAT_SUBTYPE_2_0(name)	KERNEL_ ## name,
#include "../../kdapl/include/dat/dat_errors.def"
};

#define DAT_SUBTYPE(name) \
	_Static_assert(KERNEL_ ## name == (int)name, #name);
#define DAT_SUBTYPE_2_0(name) \
	_Static_assert(KERNEL_ ## name == (int)name, #name);
#define DAT_TYPE(name, dat_1_2, dat_2_0) \
	_Static_assert((dat_2_0) << 16 == (int)name, #name);
#define DAT_TYPE_2_0(name, dat_2_0, nearest) \
	_Static_assert((dat_2_0) << 16 == (int)name, #name);
#include "../../kdapl/include/dat/dat_errors.def"
