// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * layout.c - <linux/dat.h> as it was published: nothing in it ever moves
 *
 * Compiled for 32 and for 64 bits. A structure that grows gets lines more, and
 * another size; no other line changes.
 */
#include <stddef.h>

#include <linux/dat.h>

#define AT(type, field, offset) \
	_Static_assert(offsetof(struct type, field) == (offset), #type "." #field)
#define SIZE(type, size) \
	_Static_assert(sizeof(struct type) == (size), #type)

_Static_assert(DAT_DEV_VERSION == 1, "the version of all this");

AT(dat_dev_free, size, 0);
AT(dat_dev_free, result, 4);
AT(dat_dev_free, handle, 8);
AT(dat_dev_free, __reserved, 12);
SIZE(dat_dev_free, 16);

AT(dat_dev_ia_open, size, 0);
AT(dat_dev_ia_open, result, 4);
AT(dat_dev_ia_open, name, 8);
AT(dat_dev_ia_open, dat_major, 264);
AT(dat_dev_ia_open, dat_minor, 268);
AT(dat_dev_ia_open, async_evd_qlen, 272);
AT(dat_dev_ia_open, ia, 276);
AT(dat_dev_ia_open, async_evd, 280);
AT(dat_dev_ia_open, async_ring_entries, 284);
SIZE(dat_dev_ia_open, 288);

AT(dat_dev_ia_close, size, 0);
AT(dat_dev_ia_close, result, 4);
AT(dat_dev_ia_close, ia, 8);
AT(dat_dev_ia_close, flags, 12);
SIZE(dat_dev_ia_close, 16);

AT(dat_dev_addr, bytes, 0);
SIZE(dat_dev_addr, 32);

AT(dat_dev_ia_query, size, 0);
AT(dat_dev_ia_query, result, 4);
AT(dat_dev_ia_query, ia, 8);
AT(dat_dev_ia_query, async_evd, 12);
AT(dat_dev_ia_query, adapter_name, 16);
AT(dat_dev_ia_query, vendor_name, 272);
AT(dat_dev_ia_query, ia_address, 528);
AT(dat_dev_ia_query, max_lmr_block_size, 560);
AT(dat_dev_ia_query, max_lmr_virtual_address, 568);
AT(dat_dev_ia_query, max_rmr_target_address, 576);
AT(dat_dev_ia_query, evd_merging, 584);
AT(dat_dev_ia_query, hardware_version_major, 592);
AT(dat_dev_ia_query, hardware_version_minor, 596);
AT(dat_dev_ia_query, firmware_version_major, 600);
AT(dat_dev_ia_query, firmware_version_minor, 604);
AT(dat_dev_ia_query, max_eps, 608);
AT(dat_dev_ia_query, max_dto_per_ep, 612);
AT(dat_dev_ia_query, max_rdma_read_per_ep_in, 616);
AT(dat_dev_ia_query, max_rdma_read_per_ep_out, 620);
AT(dat_dev_ia_query, max_evds, 624);
AT(dat_dev_ia_query, max_evd_qlen, 628);
AT(dat_dev_ia_query, max_iov_segments_per_dto, 632);
AT(dat_dev_ia_query, max_lmrs, 636);
AT(dat_dev_ia_query, max_pzs, 640);
AT(dat_dev_ia_query, max_message_size, 644);
AT(dat_dev_ia_query, max_rdma_size, 648);
AT(dat_dev_ia_query, max_rmrs, 652);
AT(dat_dev_ia_query, max_iov_segments_per_rdma_read, 656);
AT(dat_dev_ia_query, max_iov_segments_per_rdma_write, 660);
AT(dat_dev_ia_query, max_rdma_read_in, 664);
AT(dat_dev_ia_query, max_rdma_read_out, 668);
AT(dat_dev_ia_query, provider_version_major, 672);
AT(dat_dev_ia_query, provider_version_minor, 676);
AT(dat_dev_ia_query, completion_flags_supported, 680);
AT(dat_dev_ia_query, max_private_data_size, 684);
AT(dat_dev_ia_query, optimal_buffer_alignment, 688);
AT(dat_dev_ia_query, lmr_sync_req, 692);
AT(dat_dev_ia_query, max_srqs, 696);
AT(dat_dev_ia_query, max_ep_per_srq, 700);
AT(dat_dev_ia_query, max_recv_per_srq, 704);
AT(dat_dev_ia_query, dat_qos_supported, 708);
AT(dat_dev_ia_query, ep_creator, 712);
AT(dat_dev_ia_query, srq_supported, 716);
AT(dat_dev_ia_query, srq_watermarks_supported, 720);
AT(dat_dev_ia_query, srq_ep_pz_difference_supported, 724);
AT(dat_dev_ia_query, srq_info_supported, 728);
AT(dat_dev_ia_query, ep_recv_info_supported, 732);
AT(dat_dev_ia_query, dto_async_return_guaranteed, 736);
AT(dat_dev_ia_query, rdma_write_for_rdma_read_req, 740);
AT(dat_dev_ia_query, extensions, 744);
AT(dat_dev_ia_query, named_attrs, 752);
AT(dat_dev_ia_query, named_attrs_size, 760);
SIZE(dat_dev_ia_query, 768);

AT(dat_dev_ia_info, name, 0);
AT(dat_dev_ia_info, dat_major, 256);
AT(dat_dev_ia_info, dat_minor, 260);
AT(dat_dev_ia_info, is_thread_safe, 264);
AT(dat_dev_ia_info, __reserved, 268);
SIZE(dat_dev_ia_info, 272);

AT(dat_dev_ia_list, size, 0);
AT(dat_dev_ia_list, result, 4);
AT(dat_dev_ia_list, infos, 8);
AT(dat_dev_ia_list, max, 16);
AT(dat_dev_ia_list, info_size, 20);
AT(dat_dev_ia_list, num, 24);
AT(dat_dev_ia_list, __reserved, 28);
SIZE(dat_dev_ia_list, 32);

AT(dat_dev_pz_create, size, 0);
AT(dat_dev_pz_create, result, 4);
AT(dat_dev_pz_create, ia, 8);
AT(dat_dev_pz_create, pz, 12);
SIZE(dat_dev_pz_create, 16);

AT(dat_dev_event, number, 0);
AT(dat_dev_event, status, 4);
AT(dat_dev_event, handle, 8);
AT(dat_dev_event, cr, 12);
AT(dat_dev_event, cookie, 16);
AT(dat_dev_event, length, 24);
AT(dat_dev_event, operation, 28);
AT(dat_dev_event, rmr_context, 32);
AT(dat_dev_event, flags, 36);
AT(dat_dev_event, __reserved, 40);
SIZE(dat_dev_event, 64);

AT(dat_dev_ring, head, 0);
AT(dat_dev_ring, __pad0, 4);
AT(dat_dev_ring, tail, 64);
AT(dat_dev_ring, waiting, 68);
AT(dat_dev_ring, is_old, 72);
AT(dat_dev_ring, state, 76);
AT(dat_dev_ring, __pad1, 80);
AT(dat_dev_ring, events, 128);
SIZE(dat_dev_ring, 128);

AT(dat_dev_evd_create, size, 0);
AT(dat_dev_evd_create, result, 4);
AT(dat_dev_evd_create, ia, 8);
AT(dat_dev_evd_create, min_qlen, 12);
AT(dat_dev_evd_create, flags, 16);
AT(dat_dev_evd_create, evd, 20);
AT(dat_dev_evd_create, ring_entries, 24);
AT(dat_dev_evd_create, cno, 28);
SIZE(dat_dev_evd_create, 32);

AT(dat_dev_evd_query, size, 0);
AT(dat_dev_evd_query, result, 4);
AT(dat_dev_evd_query, evd, 8);
AT(dat_dev_evd_query, ia, 12);
AT(dat_dev_evd_query, qlen, 16);
AT(dat_dev_evd_query, flags, 20);
AT(dat_dev_evd_query, cno, 24);
AT(dat_dev_evd_query, state, 28);
AT(dat_dev_evd_query, ring_entries, 32);
AT(dat_dev_evd_query, __reserved, 36);
SIZE(dat_dev_evd_query, 40);

AT(dat_dev_evd_resize, size, 0);
AT(dat_dev_evd_resize, result, 4);
AT(dat_dev_evd_resize, evd, 8);
AT(dat_dev_evd_resize, min_qlen, 12);
AT(dat_dev_evd_resize, ring_entries, 16);
AT(dat_dev_evd_resize, __reserved, 20);
SIZE(dat_dev_evd_resize, 24);

AT(dat_dev_evd_post_se, size, 0);
AT(dat_dev_evd_post_se, result, 4);
AT(dat_dev_evd_post_se, evd, 8);
AT(dat_dev_evd_post_se, __reserved, 12);
AT(dat_dev_evd_post_se, pointer, 16);
SIZE(dat_dev_evd_post_se, 24);

AT(dat_dev_evd_set, size, 0);
AT(dat_dev_evd_set, result, 4);
AT(dat_dev_evd_set, evd, 8);
AT(dat_dev_evd_set, mask, 12);
AT(dat_dev_evd_set, state, 16);
AT(dat_dev_evd_set, __reserved, 20);
SIZE(dat_dev_evd_set, 24);

AT(dat_dev_evd_modify_cno, size, 0);
AT(dat_dev_evd_modify_cno, result, 4);
AT(dat_dev_evd_modify_cno, evd, 8);
AT(dat_dev_evd_modify_cno, cno, 12);
SIZE(dat_dev_evd_modify_cno, 16);

AT(dat_dev_cno_create, size, 0);
AT(dat_dev_cno_create, result, 4);
AT(dat_dev_cno_create, ia, 8);
AT(dat_dev_cno_create, cno, 12);
SIZE(dat_dev_cno_create, 16);

AT(dat_dev_cno_wait, size, 0);
AT(dat_dev_cno_wait, result, 4);
AT(dat_dev_cno_wait, cno, 8);
AT(dat_dev_cno_wait, timeout, 12);
AT(dat_dev_cno_wait, agent, 16);
AT(dat_dev_cno_wait, evd, 20);
SIZE(dat_dev_cno_wait, 24);

AT(dat_dev_cno_set_agent, size, 0);
AT(dat_dev_cno_set_agent, result, 4);
AT(dat_dev_cno_set_agent, cno, 8);
AT(dat_dev_cno_set_agent, agent, 12);
SIZE(dat_dev_cno_set_agent, 16);

AT(dat_dev_fd, size, 0);
AT(dat_dev_fd, result, 4);
AT(dat_dev_fd, handle, 8);
AT(dat_dev_fd, fd, 12);
SIZE(dat_dev_fd, 16);

AT(dat_dev_evd_wait, size, 0);
AT(dat_dev_evd_wait, result, 4);
AT(dat_dev_evd_wait, evd, 8);
AT(dat_dev_evd_wait, timeout, 12);
AT(dat_dev_evd_wait, threshold, 16);
AT(dat_dev_evd_wait, __reserved, 20);
AT(dat_dev_evd_wait, dtos, 24);
AT(dat_dev_evd_wait, num_dtos, 32);
AT(dat_dev_evd_wait, dto_size, 36);
AT(dat_dev_evd_wait, posted, 40);
AT(dat_dev_evd_wait, __reserved2, 44);
SIZE(dat_dev_evd_wait, 48);

AT(dat_dev_psp_create, size, 0);
AT(dat_dev_psp_create, result, 4);
AT(dat_dev_psp_create, ia, 8);
AT(dat_dev_psp_create, evd, 12);
AT(dat_dev_psp_create, conn_qual, 16);
AT(dat_dev_psp_create, flags, 24);
AT(dat_dev_psp_create, psp, 28);
SIZE(dat_dev_psp_create, 32);

AT(dat_dev_rsp_create, size, 0);
AT(dat_dev_rsp_create, result, 4);
AT(dat_dev_rsp_create, ia, 8);
AT(dat_dev_rsp_create, evd, 12);
AT(dat_dev_rsp_create, conn_qual, 16);
AT(dat_dev_rsp_create, ep, 24);
AT(dat_dev_rsp_create, rsp, 28);
SIZE(dat_dev_rsp_create, 32);

AT(dat_dev_cr_query, size, 0);
AT(dat_dev_cr_query, result, 4);
AT(dat_dev_cr_query, cr, 8);
AT(dat_dev_cr_query, private_data_size, 12);
AT(dat_dev_cr_query, ep, 16);
AT(dat_dev_cr_query, __reserved, 20);
AT(dat_dev_cr_query, remote_port, 24);
AT(dat_dev_cr_query, remote_address, 32);
AT(dat_dev_cr_query, private_data, 64);
SIZE(dat_dev_cr_query, 320);

AT(dat_dev_cr_accept, size, 0);
AT(dat_dev_cr_accept, result, 4);
AT(dat_dev_cr_accept, cr, 8);
AT(dat_dev_cr_accept, ep, 12);
AT(dat_dev_cr_accept, private_data_size, 16);
AT(dat_dev_cr_accept, __reserved, 20);
AT(dat_dev_cr_accept, private_data, 24);
SIZE(dat_dev_cr_accept, 280);

AT(dat_dev_cr_handoff, size, 0);
AT(dat_dev_cr_handoff, result, 4);
AT(dat_dev_cr_handoff, cr, 8);
AT(dat_dev_cr_handoff, __reserved, 12);
AT(dat_dev_cr_handoff, conn_qual, 16);
SIZE(dat_dev_cr_handoff, 24);

AT(dat_dev_ep_attr, service_type, 0);
AT(dat_dev_ep_attr, max_message_size, 4);
AT(dat_dev_ep_attr, max_rdma_size, 8);
AT(dat_dev_ep_attr, qos, 12);
AT(dat_dev_ep_attr, recv_completion_flags, 16);
AT(dat_dev_ep_attr, request_completion_flags, 20);
AT(dat_dev_ep_attr, max_recv_dtos, 24);
AT(dat_dev_ep_attr, max_request_dtos, 28);
AT(dat_dev_ep_attr, max_recv_iov, 32);
AT(dat_dev_ep_attr, max_request_iov, 36);
AT(dat_dev_ep_attr, max_rdma_read_in, 40);
AT(dat_dev_ep_attr, max_rdma_read_out, 44);
AT(dat_dev_ep_attr, max_rdma_read_iov, 48);
AT(dat_dev_ep_attr, max_rdma_write_iov, 52);
AT(dat_dev_ep_attr, srq_soft_hw, 56);
AT(dat_dev_ep_attr, __reserved, 60);
SIZE(dat_dev_ep_attr, 64);

AT(dat_dev_ep_create, size, 0);
AT(dat_dev_ep_create, result, 4);
AT(dat_dev_ep_create, ia, 8);
AT(dat_dev_ep_create, pz, 12);
AT(dat_dev_ep_create, recv_evd, 16);
AT(dat_dev_ep_create, request_evd, 20);
AT(dat_dev_ep_create, connect_evd, 24);
AT(dat_dev_ep_create, has_attr, 28);
AT(dat_dev_ep_create, attr, 32);
AT(dat_dev_ep_create, ep, 96);
AT(dat_dev_ep_create, srq, 100);
SIZE(dat_dev_ep_create, 104);

AT(dat_dev_ep_modify, size, 0);
AT(dat_dev_ep_modify, result, 4);
AT(dat_dev_ep_modify, ep, 8);
AT(dat_dev_ep_modify, __reserved, 12);
AT(dat_dev_ep_modify, mask, 16);
AT(dat_dev_ep_modify, pz, 24);
AT(dat_dev_ep_modify, recv_evd, 28);
AT(dat_dev_ep_modify, request_evd, 32);
AT(dat_dev_ep_modify, connect_evd, 36);
AT(dat_dev_ep_modify, attr, 40);
SIZE(dat_dev_ep_modify, 104);

AT(dat_dev_ep_query, size, 0);
AT(dat_dev_ep_query, result, 4);
AT(dat_dev_ep_query, ep, 8);
AT(dat_dev_ep_query, state, 12);
AT(dat_dev_ep_query, ia, 16);
AT(dat_dev_ep_query, pz, 20);
AT(dat_dev_ep_query, recv_evd, 24);
AT(dat_dev_ep_query, request_evd, 28);
AT(dat_dev_ep_query, connect_evd, 32);
AT(dat_dev_ep_query, private_data_size, 36);
AT(dat_dev_ep_query, srq, 40);
AT(dat_dev_ep_query, __reserved, 44);
AT(dat_dev_ep_query, local_port, 48);
AT(dat_dev_ep_query, remote_port, 56);
AT(dat_dev_ep_query, local_address, 64);
AT(dat_dev_ep_query, remote_address, 96);
AT(dat_dev_ep_query, attr, 128);
AT(dat_dev_ep_query, private_data, 192);
SIZE(dat_dev_ep_query, 448);

AT(dat_dev_ep_connect, size, 0);
AT(dat_dev_ep_connect, result, 4);
AT(dat_dev_ep_connect, ep, 8);
AT(dat_dev_ep_connect, timeout, 12);
AT(dat_dev_ep_connect, conn_qual, 16);
AT(dat_dev_ep_connect, remote_address, 24);
AT(dat_dev_ep_connect, qos, 56);
AT(dat_dev_ep_connect, flags, 60);
AT(dat_dev_ep_connect, private_data_size, 64);
AT(dat_dev_ep_connect, __reserved, 68);
AT(dat_dev_ep_connect, private_data, 72);
SIZE(dat_dev_ep_connect, 328);

AT(dat_dev_ep_dup_connect, size, 0);
AT(dat_dev_ep_dup_connect, result, 4);
AT(dat_dev_ep_dup_connect, ep, 8);
AT(dat_dev_ep_dup_connect, dup, 12);
AT(dat_dev_ep_dup_connect, timeout, 16);
AT(dat_dev_ep_dup_connect, qos, 20);
AT(dat_dev_ep_dup_connect, private_data_size, 24);
AT(dat_dev_ep_dup_connect, __reserved, 28);
AT(dat_dev_ep_dup_connect, private_data, 32);
SIZE(dat_dev_ep_dup_connect, 288);

AT(dat_dev_ep_disconnect, size, 0);
AT(dat_dev_ep_disconnect, result, 4);
AT(dat_dev_ep_disconnect, ep, 8);
AT(dat_dev_ep_disconnect, flags, 12);
SIZE(dat_dev_ep_disconnect, 16);

AT(dat_dev_ep_status, size, 0);
AT(dat_dev_ep_status, result, 4);
AT(dat_dev_ep_status, ep, 8);
AT(dat_dev_ep_status, state, 12);
AT(dat_dev_ep_status, recv_idle, 16);
AT(dat_dev_ep_status, request_idle, 20);
SIZE(dat_dev_ep_status, 24);

AT(dat_dev_ep_recv_query, size, 0);
AT(dat_dev_ep_recv_query, result, 4);
AT(dat_dev_ep_recv_query, ep, 8);
AT(dat_dev_ep_recv_query, nbufs_allocated, 12);
AT(dat_dev_ep_recv_query, bufs_alloc_span, 16);
AT(dat_dev_ep_recv_query, __reserved, 20);
SIZE(dat_dev_ep_recv_query, 24);

AT(dat_dev_ep_set_watermark, size, 0);
AT(dat_dev_ep_set_watermark, result, 4);
AT(dat_dev_ep_set_watermark, ep, 8);
AT(dat_dev_ep_set_watermark, soft, 12);
AT(dat_dev_ep_set_watermark, hard, 16);
AT(dat_dev_ep_set_watermark, __reserved, 20);
SIZE(dat_dev_ep_set_watermark, 24);

AT(dat_dev_srq_create, size, 0);
AT(dat_dev_srq_create, result, 4);
AT(dat_dev_srq_create, ia, 8);
AT(dat_dev_srq_create, pz, 12);
AT(dat_dev_srq_create, max_recv_dtos, 16);
AT(dat_dev_srq_create, max_recv_iov, 20);
AT(dat_dev_srq_create, low_watermark, 24);
AT(dat_dev_srq_create, srq, 28);
SIZE(dat_dev_srq_create, 32);

AT(dat_dev_srq_query, size, 0);
AT(dat_dev_srq_query, result, 4);
AT(dat_dev_srq_query, srq, 8);
AT(dat_dev_srq_query, state, 12);
AT(dat_dev_srq_query, ia, 16);
AT(dat_dev_srq_query, pz, 20);
AT(dat_dev_srq_query, max_recv_dtos, 24);
AT(dat_dev_srq_query, max_recv_iov, 28);
AT(dat_dev_srq_query, low_watermark, 32);
AT(dat_dev_srq_query, available, 36);
AT(dat_dev_srq_query, outstanding, 40);
AT(dat_dev_srq_query, __reserved, 44);
SIZE(dat_dev_srq_query, 48);

AT(dat_dev_srq_set, size, 0);
AT(dat_dev_srq_set, result, 4);
AT(dat_dev_srq_set, srq, 8);
AT(dat_dev_srq_set, value, 12);
SIZE(dat_dev_srq_set, 16);

AT(dat_dev_segment, virtual_address, 0);
AT(dat_dev_segment, length, 8);
AT(dat_dev_segment, lmr_context, 12);
SIZE(dat_dev_segment, 16);

AT(dat_dev_dto, opcode, 0);
AT(dat_dev_dto, ep, 4);
AT(dat_dev_dto, flags, 8);
AT(dat_dev_dto, num_segments, 12);
AT(dat_dev_dto, segments, 16);
AT(dat_dev_dto, cookie, 24);
AT(dat_dev_dto, remote_address, 32);
AT(dat_dev_dto, remote_length, 40);
AT(dat_dev_dto, remote_context, 44);
AT(dat_dev_dto, rmr, 48);
AT(dat_dev_dto, privileges, 52);
AT(dat_dev_dto, rmr_context, 56);
AT(dat_dev_dto, __reserved, 60);
SIZE(dat_dev_dto, 64);

AT(dat_dev_post, size, 0);
AT(dat_dev_post, result, 4);
AT(dat_dev_post, dtos, 8);
AT(dat_dev_post, num_dtos, 16);
AT(dat_dev_post, dto_size, 20);
AT(dat_dev_post, posted, 24);
AT(dat_dev_post, __reserved, 28);
SIZE(dat_dev_post, 32);

AT(dat_dev_lmr_create, size, 0);
AT(dat_dev_lmr_create, result, 4);
AT(dat_dev_lmr_create, ia, 8);
AT(dat_dev_lmr_create, pz, 12);
AT(dat_dev_lmr_create, mem_type, 16);
AT(dat_dev_lmr_create, privileges, 20);
AT(dat_dev_lmr_create, address, 24);
AT(dat_dev_lmr_create, length, 32);
AT(dat_dev_lmr_create, lmr, 40);
AT(dat_dev_lmr_create, lmr_context, 44);
AT(dat_dev_lmr_create, rmr_context, 48);
AT(dat_dev_lmr_create, base, 52);
AT(dat_dev_lmr_create, registered_address, 56);
AT(dat_dev_lmr_create, registered_size, 64);
AT(dat_dev_lmr_create, cookie, 72);
SIZE(dat_dev_lmr_create, 112);

AT(dat_dev_lmr_sync, size, 0);
AT(dat_dev_lmr_sync, result, 4);
AT(dat_dev_lmr_sync, ia, 8);
AT(dat_dev_lmr_sync, direction, 12);
AT(dat_dev_lmr_sync, segments, 16);
AT(dat_dev_lmr_sync, num_segments, 24);
SIZE(dat_dev_lmr_sync, 32);

AT(dat_dev_rmr_create, size, 0);
AT(dat_dev_rmr_create, result, 4);
AT(dat_dev_rmr_create, pz, 8);
AT(dat_dev_rmr_create, rmr, 12);
AT(dat_dev_rmr_create, ia, 16);
AT(dat_dev_rmr_create, privileges, 20);
AT(dat_dev_rmr_create, segment, 24);
AT(dat_dev_rmr_create, rmr_context, 40);
AT(dat_dev_rmr_create, __reserved, 44);
SIZE(dat_dev_rmr_create, 48);

AT(dat_dev_handle_query, size, 0);
AT(dat_dev_handle_query, result, 4);
AT(dat_dev_handle_query, handle, 8);
AT(dat_dev_handle_query, type, 12);
SIZE(dat_dev_handle_query, 16);

AT(dat_dev_context, size, 0);
AT(dat_dev_context, result, 4);
AT(dat_dev_context, handle, 8);
AT(dat_dev_context, set, 12);
AT(dat_dev_context, context, 16);
SIZE(dat_dev_context, 24);

/* The numbers of the ioctls */
#define NR(name, number) \
	_Static_assert(_IOC_NR(DAT_DEV_ ## name) == (number), #name)

NR(IA_OPEN, 0);
NR(IA_CLOSE, 1);
NR(IA_QUERY, 2);
NR(PZ_CREATE, 3);
NR(PZ_QUERY, 4);
NR(PZ_FREE, 5);
NR(EVD_CREATE, 6);
NR(EVD_WAIT, 7);
NR(EVD_PULL, 8);
NR(EVD_FREE, 9);
NR(PSP_CREATE, 10);
NR(PSP_FREE, 11);
NR(CR_QUERY, 12);
NR(CR_ACCEPT, 13);
NR(CR_REJECT, 14);
NR(EP_CREATE, 15);
NR(EP_QUERY, 16);
NR(EP_CONNECT, 17);
NR(EP_DISCONNECT, 18);
NR(EP_GET_STATUS, 19);
NR(EP_FREE, 20);
NR(POST, 21);
NR(LMR_CREATE, 22);
NR(LMR_QUERY, 23);
NR(LMR_FREE, 24);
NR(LMR_SYNC, 25);
NR(RMR_CREATE, 26);
NR(RMR_QUERY, 27);
NR(RMR_FREE, 28);
NR(HANDLE_QUERY, 29);
NR(CONTEXT, 30);
NR(EP_MODIFY, 31);
NR(EP_RESET, 32);
NR(EP_DUP_CONNECT, 33);
NR(EP_RECV_QUERY, 34);
NR(EP_SET_WATERMARK, 35);
NR(CR_HANDOFF, 36);
NR(PSP_CREATE_ANY, 37);
NR(PSP_QUERY, 38);
NR(RSP_CREATE, 39);
NR(RSP_QUERY, 40);
NR(RSP_FREE, 41);
NR(SRQ_CREATE, 42);
NR(SRQ_QUERY, 43);
NR(SRQ_RESIZE, 44);
NR(SRQ_SET_LW, 45);
NR(SRQ_FREE, 46);
NR(EVD_QUERY, 47);
NR(EVD_RESIZE, 48);
NR(EVD_POST_SE, 49);
NR(EVD_SET, 50);
NR(EVD_MODIFY_CNO, 51);
NR(CNO_CREATE, 52);
NR(CNO_QUERY, 53);
NR(CNO_WAIT, 54);
NR(CNO_SET_AGENT, 55);
NR(CNO_FREE, 56);
NR(FD, 57);
NR(IA_LIST, 58);
