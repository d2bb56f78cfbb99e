/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * calls.h - kdapl's implementation of the DAT calls on RDMA devices
 *
 * kdapl_NAME() has the type of dat_NAME(). Consumers call dat_NAME() in api/.
 * dat_NAME() calls kdapl_NAME() first. If kdapl has no such handle, dat_NAME() calls
 * the provider of another module. The kernel-doc of kdapl_NAME() is that of dat_NAME().
 */
#ifndef _KDAPL_CALLS_H
#define _KDAPL_CALLS_H

#include <dat/kdat.h>

#define DAT_CALL(name)	extern __typeof__(dat_##name) kdapl_##name

DAT_CALL(cr_accept);
DAT_CALL(cr_handoff);
DAT_CALL(cr_query);
DAT_CALL(cr_reject);
DAT_CALL(csp_create);
DAT_CALL(csp_free);
DAT_CALL(csp_query);
DAT_CALL(ep_common_connect);
DAT_CALL(ep_connect);
DAT_CALL(ep_create);
DAT_CALL(ep_create_with_srq);
DAT_CALL(ep_disconnect);
DAT_CALL(ep_dup_connect);
DAT_CALL(ep_free);
DAT_CALL(ep_get_status);
DAT_CALL(ep_modify);
DAT_CALL(ep_post_rdma_read);
DAT_CALL(ep_post_rdma_read_to_rmr);
DAT_CALL(ep_post_rdma_write);
DAT_CALL(ep_post_recv);
DAT_CALL(ep_post_send);
DAT_CALL(ep_post_send_with_invalidate);
DAT_CALL(ep_query);
DAT_CALL(ep_recv_query);
DAT_CALL(ep_reset);
DAT_CALL(ep_set_watermark);
DAT_CALL(evd_dequeue);
DAT_CALL(evd_free);
DAT_CALL(evd_kcreate);
DAT_CALL(evd_modify_upcall);
DAT_CALL(evd_post_se);
DAT_CALL(evd_query);
DAT_CALL(evd_resize);
DAT_CALL(get_consumer_context);
DAT_CALL(get_handle_type);
DAT_CALL(ia_close);
DAT_CALL(ia_memtype_hint);
DAT_CALL(ia_openv);
DAT_CALL(ia_query);
DAT_CALL(ia_reserved_lmr);
DAT_CALL(lmr_allocate);
DAT_CALL(lmr_fmr);
DAT_CALL(lmr_free);
DAT_CALL(lmr_invalidate);
DAT_CALL(lmr_kcreate);
DAT_CALL(lmr_query);
DAT_CALL(lmr_sync_rdma_read);
DAT_CALL(lmr_sync_rdma_write);
DAT_CALL(psp_create);
DAT_CALL(psp_create_any);
DAT_CALL(psp_free);
DAT_CALL(psp_query);
DAT_CALL(pz_create);
DAT_CALL(pz_free);
DAT_CALL(pz_query);
DAT_CALL(rmr_bind);
DAT_CALL(rmr_bind_1_2);
DAT_CALL(rmr_create);
DAT_CALL(rmr_create_for_ep);
DAT_CALL(rmr_free);
DAT_CALL(rmr_query);
DAT_CALL(rsp_create);
DAT_CALL(rsp_free);
DAT_CALL(rsp_query);
DAT_CALL(set_consumer_context);
DAT_CALL(srq_create);
DAT_CALL(srq_free);
DAT_CALL(srq_post_recv);
DAT_CALL(srq_query);
DAT_CALL(srq_resize);
DAT_CALL(srq_set_lw);

#undef DAT_CALL

#endif /* _KDAPL_CALLS_H */
