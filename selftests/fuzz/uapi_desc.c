// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uapi_desc.c - the description of the uAPI: each ioctl and the meaning of each field
 *
 * The steps "segment" and "dto" are no ioctls. They collect the arrays to which the
 * structures of the next ioctl point. The tricks at the end are in tricks.c.
 */
#include <dat/udat.h>
#include <linux/dat.h>

#include "exec.h"
#include "fuzz.h"

/* A field of struct dat_dev_##_s */
#define F(_s, _f, _kind, _arg, _def)						\
	{ #_f, offsetof(struct dat_dev_##_s, _f),				\
	  sizeof(((struct dat_dev_##_s *)NULL)->_f), _kind, _arg, _def }
#define F_HEAD(_s)	F(_s, size, F_SIZE, 0, 0)
#define F_TAIL(_s)	F(_s, __reserved, F_OPT, 0, 0)

#define PRIVILEGES	(0x33 | DAT_DEV_PRIV_ATOMIC | DAT_DEV_PRIV_RELAXED | \
			 DAT_DEV_PRIV_ZERO_BASED)
#define ALL		0x33

/* Structures that are no more than a handle */
#define TABLE_OF_HANDLE(_name, _type)						\
	static const struct field _name[] = {					\
		F_HEAD(free), F(free, handle, F_HANDLE, _type, 0), F_TAIL(free)	\
	}

TABLE_OF_HANDLE(pz_free, T_PZ);
TABLE_OF_HANDLE(evd_free, T_EVD);
TABLE_OF_HANDLE(psp_free, T_PSP);
TABLE_OF_HANDLE(rsp_free, T_RSP);
TABLE_OF_HANDLE(csp_free, T_CSP);
TABLE_OF_HANDLE(ep_free, T_EP);
TABLE_OF_HANDLE(srq_free, T_SRQ);
TABLE_OF_HANDLE(lmr_free, T_LMR);
TABLE_OF_HANDLE(rmr_free, T_RMR);
TABLE_OF_HANDLE(cno_free, T_CNO);
TABLE_OF_HANDLE(cr_reject, T_CR);

static const struct field ia_open[] = {
	F_HEAD(ia_open), F(ia_open, name, F_NAME, 0, 0),
	F(ia_open, dat_major, F_ENUM, 3, 2), F(ia_open, dat_minor, F_ENUM, 2, 0),
	F(ia_open, async_evd_qlen, F_COUNT, 8, 8),
};

static const struct field ia_close[] = {
	F_HEAD(ia_close), F(ia_close, ia, F_HANDLE, T_IA, 0),
	F(ia_close, flags, F_ENUM, 1, 0),
};

static const struct field ia_query[] = {
	F_HEAD(ia_query), F(ia_query, ia, F_HANDLE, T_IA, 0),
	F(ia_query, named_attrs, F_ADDR, 0, 0), F(ia_query, named_attrs_size, F_LEN, 0, 0),
	F(ia_query, __reserved, F_OPT, 0, 0), F(ia_query, __reserved2, F_OPT, 0, 0),
};

static const struct field ia_list[] = {
	F_HEAD(ia_list), F(ia_list, infos, F_ADDR, 0, 0),
	F(ia_list, max, F_COUNT, 4, 4),
	F(ia_list, info_size, F_LEN, 0, sizeof(struct dat_dev_ia_info)), F_TAIL(ia_list),
};

static const struct field pz_create[] = {
	F_HEAD(pz_create), F(pz_create, ia, F_HANDLE, T_IA, 0),
};

static const struct field pz_query[] = {
	F_HEAD(pz_create), F(pz_create, pz, F_HANDLE, T_PZ, 0),
};

static const struct field evd_create[] = {
	F_HEAD(evd_create), F(evd_create, ia, F_HANDLE, T_IA, 0),
	F(evd_create, min_qlen, F_COUNT, 64, 64), F(evd_create, flags, F_FLAGS, 0x1f1, 0xa0),
	F(evd_create, cno, F_HANDLE, T_CNO, 0),
};

static const struct field evd_query[] = {
	F_HEAD(evd_query), F(evd_query, evd, F_HANDLE, T_EVD, 0), F_TAIL(evd_query),
};

static const struct field evd_resize[] = {
	F_HEAD(evd_resize), F(evd_resize, evd, F_HANDLE, T_EVD, 0),
	F(evd_resize, min_qlen, F_COUNT, 32, 128), F_TAIL(evd_resize),
};

static const struct field evd_post_se[] = {
	F_HEAD(evd_post_se), F(evd_post_se, evd, F_HANDLE, T_EVD, 0),
	F(evd_post_se, pointer, F_ANY, 0, 0), F_TAIL(evd_post_se),
};

static const struct field evd_set[] = {
	F_HEAD(evd_set), F(evd_set, evd, F_HANDLE, T_EVD, 0),
	F(evd_set, mask, F_FLAGS, 3, 1), F(evd_set, state, F_FLAGS, 3, 0), F_TAIL(evd_set),
};

static const struct field evd_modify_cno[] = {
	F_HEAD(evd_modify_cno), F(evd_modify_cno, evd, F_HANDLE, T_EVD, 0),
	F(evd_modify_cno, cno, F_HANDLE, T_CNO, 0),
};

static const struct field evd_wait[] = {
	F_HEAD(evd_wait), F(evd_wait, evd, F_HANDLE, T_EVD, 0),
	F(evd_wait, timeout, F_TIME, 0, 1000), F(evd_wait, threshold, F_COUNT, 1, 1),
	F(evd_wait, dtos, F_LIST, LIST_DTOS, 0), F(evd_wait, num_dtos, F_NUM, LIST_DTOS, 0),
	F(evd_wait, dto_size, F_ITEM_SIZE, 0, 0), F_TAIL(evd_wait),
};

static const struct field cno_create[] = {
	F_HEAD(cno_create), F(cno_create, ia, F_HANDLE, T_IA, 0),
};

static const struct field cno_query[] = {
	F_HEAD(cno_create), F(cno_create, cno, F_HANDLE, T_CNO, 0),
};

static const struct field cno_wait[] = {
	F_HEAD(cno_wait), F(cno_wait, cno, F_HANDLE, T_CNO, 0),
	F(cno_wait, timeout, F_TIME, 0, 1000), F(cno_wait, agent, F_ENUM, 3, 0),
};

static const struct field cno_set_agent[] = {
	F_HEAD(cno_set_agent), F(cno_set_agent, cno, F_HANDLE, T_CNO, 0),
	F(cno_set_agent, agent, F_ENUM, 3, 1),
};

static const struct field fd[] = {
	F_HEAD(fd), F(fd, handle, F_HANDLE, T_EVD, 0),
};

static const struct field psp_create[] = {
	F_HEAD(psp_create), F(psp_create, ia, F_HANDLE, T_IA, 0),
	F(psp_create, evd, F_HANDLE, T_EVD, 5), F(psp_create, conn_qual, F_QUAL, 0, 0),
	F(psp_create, flags, F_ENUM, 1, 0),
};

static const struct field psp_query[] = {
	F_HEAD(psp_create), F(psp_create, psp, F_HANDLE, T_PSP, 0),
};

static const struct field rsp_create[] = {
	F_HEAD(rsp_create), F(rsp_create, ia, F_HANDLE, T_IA, 0),
	F(rsp_create, evd, F_HANDLE, T_EVD, 5), F(rsp_create, conn_qual, F_QUAL, 0, 0),
	F(rsp_create, ep, F_HANDLE, T_EP, 0),
};

static const struct field rsp_query[] = {
	F_HEAD(rsp_create), F(rsp_create, rsp, F_HANDLE, T_RSP, 0),
};

static const struct field csp_create[] = {
	F_HEAD(csp_create), F(csp_create, ia, F_HANDLE, T_IA, 0),
	F(csp_create, evd, F_HANDLE, T_EVD, 5), F(csp_create, domain, F_ENUM, 10, 2),
	F(csp_create, type, F_ENUM, 5, 1), F(csp_create, protocol, F_ENUM, 6, 0),
	F(csp_create, address, F_IA_ADDR, 0, 0),
};

static const struct field csp_query[] = {
	F_HEAD(csp_create), F(csp_create, csp, F_HANDLE, T_CSP, 0),
};

static const struct field cr_query[] = {
	F_HEAD(cr_query), F(cr_query, cr, F_HANDLE, T_CR, 0), F_TAIL(cr_query),
};

static const struct field cr_accept[] = {
	F_HEAD(cr_accept), F(cr_accept, cr, F_HANDLE, T_CR, 0),
	F(cr_accept, ep, F_HANDLE, T_EP, 0), F(cr_accept, private_data_size, F_COUNT, 16, 0),
	F_TAIL(cr_accept),
};

static const struct field cr_reject_with_data[] = {
	F_HEAD(cr_accept), F(cr_accept, cr, F_HANDLE, T_CR, 0),
	F(cr_accept, ep, F_OPT, 0, 0), F(cr_accept, private_data_size, F_COUNT, 16, 16),
	F_TAIL(cr_accept),
};

static const struct field cr_handoff[] = {
	F_HEAD(cr_handoff), F(cr_handoff, cr, F_HANDLE, T_CR, 0),
	F(cr_handoff, conn_qual, F_QUAL, 0, 0), F_TAIL(cr_handoff),
};

#define EP_ATTR(_s)								\
	F(_s, attr.service_type, F_OPT, 0, 0), F(_s, attr.max_message_size, F_LEN, 0, 0), \
	F(_s, attr.max_rdma_size, F_LEN, 0, 0), F(_s, attr.qos, F_ENUM, 4, 0),	\
	F(_s, attr.recv_completion_flags, F_FLAGS, 0x3f, 0),			\
	F(_s, attr.request_completion_flags, F_FLAGS, 0x3f, 4),			\
	F(_s, attr.max_recv_dtos, F_COUNT, 32, 24),				\
	F(_s, attr.max_request_dtos, F_COUNT, 32, 24),				\
	F(_s, attr.max_recv_iov, F_COUNT, 2, 4),				\
	F(_s, attr.max_request_iov, F_IOV, 2, 4),				\
	F(_s, attr.max_rdma_read_in, F_COUNT, 2, 4),				\
	F(_s, attr.max_rdma_read_out, F_COUNT, 2, 4),				\
	F(_s, attr.max_rdma_read_iov, F_COUNT, 1, 0),				\
	F(_s, attr.max_rdma_write_iov, F_COUNT, 1, 0),				\
	F(_s, attr.srq_soft_hw, F_COUNT, 4, 0), F(_s, attr.__reserved, F_OPT, 0, 0)

static const struct field ep_create[] = {
	F_HEAD(ep_create), F(ep_create, ia, F_HANDLE, T_IA, 0),
	F(ep_create, pz, F_HANDLE, T_PZ, 0), F(ep_create, recv_evd, F_HANDLE, T_EVD, 1),
	F(ep_create, request_evd, F_HANDLE, T_EVD, 1),
	F(ep_create, connect_evd, F_HANDLE, T_EVD, 3), F(ep_create, has_attr, F_ENUM, 1, 1),
	EP_ATTR(ep_create), F(ep_create, srq, F_OPT, T_SRQ, 0),
};

static const struct field ep_modify[] = {
	F_HEAD(ep_modify), F(ep_modify, ep, F_HANDLE, T_EP, 0),
	F(ep_modify, __reserved, F_OPT, 0, 0), F(ep_modify, mask, F_FLAGS, 0x7fff780, 0),
	F(ep_modify, pz, F_HANDLE, T_PZ, 0), F(ep_modify, recv_evd, F_HANDLE, T_EVD, 1),
	F(ep_modify, request_evd, F_HANDLE, T_EVD, 1),
	F(ep_modify, connect_evd, F_HANDLE, T_EVD, 3), EP_ATTR(ep_modify),
};

static const struct field ep_query[] = {
	F_HEAD(ep_query), F(ep_query, ep, F_HANDLE, T_EP, 0), F_TAIL(ep_query),
};

static const struct field ep_connect[] = {
	F_HEAD(ep_connect), F(ep_connect, ep, F_HANDLE, T_EP, 0),
	F(ep_connect, timeout, F_TIME, 0, ~0U), F(ep_connect, conn_qual, F_QUAL, 1, 0),
	F(ep_connect, remote_address, F_IA_ADDR, 0, 0), F(ep_connect, qos, F_ENUM, 4, 0),
	F(ep_connect, flags, F_ENUM, 2, 0),
	F(ep_connect, private_data_size, F_COUNT, 16, 0), F_TAIL(ep_connect),
};

static const struct field ep_common_connect[] = {
	F_HEAD(ep_connect), F(ep_connect, ep, F_HANDLE, T_EP, 0),
	F(ep_connect, timeout, F_TIME, 0, ~0U), F(ep_connect, conn_qual, F_OPT, 0, 0),
	F(ep_connect, remote_address, F_IA_ADDR, 1, 0),
	F(ep_connect, private_data_size, F_COUNT, 16, 0), F_TAIL(ep_connect),
};

static const struct field ep_dup_connect[] = {
	F_HEAD(ep_dup_connect), F(ep_dup_connect, ep, F_HANDLE, T_EP, 2),
	F(ep_dup_connect, dup, F_HANDLE, T_EP, 0), F(ep_dup_connect, timeout, F_TIME, 0, ~0U),
	F(ep_dup_connect, qos, F_ENUM, 4, 0),
	F(ep_dup_connect, private_data_size, F_COUNT, 16, 0), F_TAIL(ep_dup_connect),
};

static const struct field ep_disconnect[] = {
	F_HEAD(ep_disconnect), F(ep_disconnect, ep, F_HANDLE, T_EP, 0),
	F(ep_disconnect, flags, F_ENUM, 1, 0),
};

static const struct field ep_get_status[] = {
	F_HEAD(ep_status), F(ep_status, ep, F_HANDLE, T_EP, 0),
};

static const struct field ep_recv_query[] = {
	F_HEAD(ep_recv_query), F(ep_recv_query, ep, F_HANDLE, T_EP, 0),
	F_TAIL(ep_recv_query),
};

static const struct field ep_set_watermark[] = {
	F_HEAD(ep_set_watermark), F(ep_set_watermark, ep, F_HANDLE, T_EP, 0),
	F(ep_set_watermark, soft, F_COUNT, 4, 4), F(ep_set_watermark, hard, F_COUNT, 8, ~0U),
	F_TAIL(ep_set_watermark),
};

static const struct field srq_create[] = {
	F_HEAD(srq_create), F(srq_create, ia, F_HANDLE, T_IA, 0),
	F(srq_create, pz, F_HANDLE, T_PZ, 0), F(srq_create, max_recv_dtos, F_COUNT, 16, 32),
	F(srq_create, max_recv_iov, F_COUNT, 2, 2),
	F(srq_create, low_watermark, F_COUNT, 4, 0),
};

static const struct field srq_query[] = {
	F_HEAD(srq_query), F(srq_query, srq, F_HANDLE, T_SRQ, 0), F_TAIL(srq_query),
};

static const struct field srq_set[] = {
	F_HEAD(srq_set), F(srq_set, srq, F_HANDLE, T_SRQ, 0),
	F(srq_set, value, F_COUNT, 8, 16),
};

static const struct field lmr_create[] = {
	F_HEAD(lmr_create), F(lmr_create, ia, F_HANDLE, T_IA, 0),
	F(lmr_create, pz, F_HANDLE, T_PZ, 0), F(lmr_create, mem_type, F_ENUM, 2, 0),
	F(lmr_create, privileges, F_FLAGS, PRIVILEGES, ALL),
	F(lmr_create, address, F_ADDR, 0, 0), F(lmr_create, length, F_LEN, 0, 8192),
	F(lmr_create, base, F_OPT, T_LMR, 0), F(lmr_create, cookie, F_OPT, 0, 0),
};

static const struct field lmr_query[] = {
	F_HEAD(lmr_create), F(lmr_create, lmr, F_HANDLE, T_LMR, 0),
};

static const struct field lmr_sync[] = {
	F_HEAD(lmr_sync), F(lmr_sync, ia, F_HANDLE, T_IA, 0),
	F(lmr_sync, direction, F_ENUM, 1, 0), F(lmr_sync, segments, F_LIST, LIST_SEGMENTS, 0),
	F(lmr_sync, num_segments, F_NUM, LIST_SEGMENTS, 0),
};

static const struct field rmr_create[] = {
	F_HEAD(rmr_create), F(rmr_create, pz, F_HANDLE, T_PZ, 0), F_TAIL(rmr_create),
};

static const struct field rmr_query[] = {
	F_HEAD(rmr_create), F(rmr_create, rmr, F_HANDLE, T_RMR, 0),
	F_TAIL(rmr_create),
};

static const struct field handle_query[] = {
	F_HEAD(handle_query), F(handle_query, handle, F_HANDLE, T_ANY, 0),
};

static const struct field context[] = {
	F_HEAD(context), F(context, handle, F_HANDLE, T_ANY, 0),
	F(context, set, F_ENUM, 1, 0), F(context, context, F_ANY, 0, 0),
};

static const struct field segment[] = {
	F(segment, virtual_address, F_LMR_ADDR, 0, 0), F(segment, length, F_LEN, 0, 64),
	F(segment, lmr_context, F_LMR_CONTEXT, 0, 0),
};

static const struct field dto[] = {
	F(dto, opcode, F_ENUM, DAT_DEV_SEND_IMMED, 0), F(dto, ep, F_HANDLE, T_EP, 0),
	F(dto, flags, F_FLAGS, 0x3f, 0), F(dto, num_segments, F_NUM, LIST_SEGMENTS, 0),
	F(dto, segments, F_LIST, LIST_SEGMENTS, 0), F(dto, cookie, F_ANY, 0, 0),
	F(dto, remote_address, F_LMR_ADDR, 0, 0), F(dto, remote_length, F_LEN, 0, 64),
	F(dto, remote_context, F_RMR_CONTEXT, 0, 0), F(dto, rmr, F_HANDLE, T_RMR, 0),
	F(dto, privileges, F_FLAGS, PRIVILEGES, 0x22), F(dto, immediate, F_OPT, 0, 0),
	F(dto, compare_add, F_OPT, 0, 0), F_TAIL(dto), F(dto, swap, F_OPT, 0, 0),
	{ "times", sizeof(struct dat_dev_dto), 4, F_ENUM, 20, 1 },
};

static const struct field post[] = {
	F_HEAD(post), F(post, dtos, F_LIST, LIST_DTOS, 0),
	F(post, num_dtos, F_NUM, LIST_DTOS, 0), F(post, dto_size, F_ITEM_SIZE, 0, 0),
	F_TAIL(post),
};

/* An argument of a trick */
#define A(_name, _i, _kind, _arg, _def)						\
	{ #_name, offsetof(struct trick, a[_i]), 8, _kind, _arg, _def }

static const struct field harvest[] = {
	A(evd, 0, F_HANDLE, T_EVD, 0), A(wait, 1, F_ENUM, 20, 0),
};

static const struct field scribble[] = {
	A(evd, 0, F_HANDLE, T_EVD, 0), A(offset, 1, F_COUNT, 64, 0),
	A(value, 2, F_ANY, 0, 0),
};

static const struct field map_ring[] = {
	A(evd, 0, F_HANDLE, T_EVD, 0), A(pages, 1, F_COUNT, 2, 0),
	A(prot, 2, F_FLAGS, 7, 3),
};

static const struct field unmap_ring[] = {
	A(evd, 0, F_HANDLE, T_EVD, 0), A(move, 1, F_ENUM, 1, 0),
};

static const struct field range[] = {
	A(address, 0, F_ADDR, 0, 0), A(pages, 1, F_COUNT, 4, 1),
};

static const struct field protect[] = {
	A(address, 0, F_ADDR, 0, 0), A(pages, 1, F_COUNT, 4, 1),
	A(prot, 2, F_FLAGS, 3, 1),
};

/* By default the pages of most LMRs */
static const struct field stall[] = {
	A(address, 0, F_ADDR, 0, 0), A(pages, 1, F_COUNT, 64, 16), A(time, 2, F_ENUM, 6, 3),
};

static const struct field fork[] = {
	A(steps, 0, F_ENUM, 6, 2), A(wait, 1, F_ENUM, 1, 1),
};

static const struct field thread[] = {
	A(thread, 0, F_ENUM, 7, 0),
};

static const struct field number[] = {
	A(number, 0, F_ENUM, 7, 0),
};

static const struct field poll[] = {
	A(fd, 0, F_HANDLE, T_FD, 0), A(wait, 1, F_ENUM, 5, 0), A(epoll, 2, F_ENUM, 1, 0),
};

static const struct field close_fd[] = {
	A(fd, 0, F_HANDLE, T_FD, 0),
};

static const struct field none[] = {
	A(unused, 0, F_OPT, 0, 0),
};

#define IOCTL(_name, _cmd, _s, _fields, _weight, ...)				\
	{ .name = _name, .cmd = DAT_DEV_##_cmd, .size = sizeof(struct dat_dev_##_s), \
	  .weight = _weight, .fields = _fields, .num_fields = ARRAY_LEN(_fields), ##__VA_ARGS__ }
#define MAKES(_type, _s, _f) \
	.makes = T_##_type, .made_at = offsetof(struct dat_dev_##_s, _f)
#define FREES(_type, _s, _f) \
	.frees = T_##_type, .freed_at = offsetof(struct dat_dev_##_s, _f)
#define DATA(_name, _size, _fields, _run, _weight)				\
	{ .name = _name, .size = _size, .weight = _weight, .run = _run,		\
	  .fields = _fields, .num_fields = ARRAY_LEN(_fields) }
#define TRICK(_name, _fields, _weight) \
	DATA(#_name, sizeof(struct trick), _fields, trick_##_name, _weight)

const struct op uapi_ops[] = {
	IOCTL("ia_open", IA_OPEN, ia_open, ia_open, 4, MAKES(IA, ia_open, ia)),
	IOCTL("ia_close", IA_CLOSE, ia_close, ia_close, 2, FREES(IA, ia_close, ia)),
	IOCTL("ia_query", IA_QUERY, ia_query, ia_query, 1),
	IOCTL("ia_list", IA_LIST, ia_list, ia_list, 1),
	IOCTL("pz_create", PZ_CREATE, pz_create, pz_create, 4, MAKES(PZ, pz_create, pz)),
	IOCTL("pz_query", PZ_QUERY, pz_create, pz_query, 1),
	IOCTL("pz_free", PZ_FREE, free, pz_free, 3, FREES(PZ, free, handle)),
	IOCTL("evd_create", EVD_CREATE, evd_create, evd_create, 8,
	      MAKES(EVD, evd_create, evd)),
	IOCTL("evd_query", EVD_QUERY, evd_query, evd_query, 1),
	IOCTL("evd_resize", EVD_RESIZE, evd_resize, evd_resize, 8),
	IOCTL("evd_post_se", EVD_POST_SE, evd_post_se, evd_post_se, 5),
	IOCTL("evd_set", EVD_SET, evd_set, evd_set, 4),
	IOCTL("evd_modify_cno", EVD_MODIFY_CNO, evd_modify_cno, evd_modify_cno, 5),
	IOCTL("evd_wait", EVD_WAIT, evd_wait, evd_wait, 6),
	IOCTL("evd_pull", EVD_PULL, evd_wait, evd_wait, 5),
	IOCTL("evd_free", EVD_FREE, free, evd_free, 4, FREES(EVD, free, handle)),
	IOCTL("cno_create", CNO_CREATE, cno_create, cno_create, 5,
	      MAKES(CNO, cno_create, cno)),
	IOCTL("cno_query", CNO_QUERY, cno_create, cno_query, 1),
	IOCTL("cno_wait", CNO_WAIT, cno_wait, cno_wait, 4),
	IOCTL("cno_set_agent", CNO_SET_AGENT, cno_set_agent, cno_set_agent, 4),
	IOCTL("cno_free", CNO_FREE, free, cno_free, 3, FREES(CNO, free, handle)),
	IOCTL("fd", FD, fd, fd, 5, MAKES(FD, fd, fd)),
	IOCTL("psp_create", PSP_CREATE, psp_create, psp_create, 3,
	      MAKES(PSP, psp_create, psp)),
	IOCTL("psp_create_any", PSP_CREATE_ANY, psp_create, psp_create, 3,
	      MAKES(PSP, psp_create, psp)),
	IOCTL("psp_query", PSP_QUERY, psp_create, psp_query, 1),
	IOCTL("psp_free", PSP_FREE, free, psp_free, 2, FREES(PSP, free, handle)),
	IOCTL("rsp_create", RSP_CREATE, rsp_create, rsp_create, 5,
	      MAKES(RSP, rsp_create, rsp)),
	IOCTL("rsp_query", RSP_QUERY, rsp_create, rsp_query, 1),
	IOCTL("rsp_free", RSP_FREE, free, rsp_free, 3, FREES(RSP, free, handle)),
	IOCTL("csp_create", CSP_CREATE, csp_create, csp_create, 4,
	      MAKES(CSP, csp_create, csp)),
	IOCTL("csp_query", CSP_QUERY, csp_create, csp_query, 1),
	IOCTL("csp_free", CSP_FREE, free, csp_free, 2, FREES(CSP, free, handle)),
	IOCTL("cr_query", CR_QUERY, cr_query, cr_query, 2),
	IOCTL("cr_accept", CR_ACCEPT, cr_accept, cr_accept, 6, FREES(CR, cr_accept, cr),
	      .flags = OP_HURTS_SIW),
	IOCTL("cr_reject", CR_REJECT, free, cr_reject, 3, FREES(CR, free, handle)),
	IOCTL("cr_reject_with_data", CR_REJECT_WITH_DATA, cr_accept, cr_reject_with_data, 3,
	      FREES(CR, cr_accept, cr)),
	IOCTL("cr_handoff", CR_HANDOFF, cr_handoff, cr_handoff, 3, FREES(CR, cr_handoff, cr)),
	IOCTL("ep_create", EP_CREATE, ep_create, ep_create, 10, MAKES(EP, ep_create, ep),
	      .flags = OP_HURTS_OLD_RXE),
	IOCTL("ep_modify", EP_MODIFY, ep_modify, ep_modify, 8, .flags = OP_HURTS_OLD_RXE),
	IOCTL("ep_query", EP_QUERY, ep_query, ep_query, 2),
	IOCTL("ep_connect", EP_CONNECT, ep_connect, ep_connect, 6),
	IOCTL("ep_common_connect", EP_COMMON_CONNECT, ep_connect, ep_common_connect, 3),
	IOCTL("ep_dup_connect", EP_DUP_CONNECT, ep_dup_connect, ep_dup_connect, 4),
	IOCTL("ep_disconnect", EP_DISCONNECT, ep_disconnect, ep_disconnect, 3),
	IOCTL("ep_get_status", EP_GET_STATUS, ep_status, ep_get_status, 2),
	IOCTL("ep_recv_query", EP_RECV_QUERY, ep_recv_query, ep_recv_query, 2),
	IOCTL("ep_set_watermark", EP_SET_WATERMARK, ep_set_watermark, ep_set_watermark, 3),
	IOCTL("ep_reset", EP_RESET, free, ep_free, 4, .flags = OP_HURTS_OLD_RXE),
	IOCTL("ep_free", EP_FREE, free, ep_free, 4, FREES(EP, free, handle)),
	IOCTL("srq_create", SRQ_CREATE, srq_create, srq_create, 6, MAKES(SRQ, srq_create, srq)),
	IOCTL("srq_query", SRQ_QUERY, srq_query, srq_query, 1),
	IOCTL("srq_resize", SRQ_RESIZE, srq_set, srq_set, 5),
	IOCTL("srq_set_lw", SRQ_SET_LW, srq_set, srq_set, 4),
	IOCTL("srq_free", SRQ_FREE, free, srq_free, 3, FREES(SRQ, free, handle)),
	IOCTL("lmr_create", LMR_CREATE, lmr_create, lmr_create, 12,
	      MAKES(LMR, lmr_create, lmr), .flags = OP_HURTS_SIW | OP_HURTS_OLD_RXE),
	IOCTL("lmr_query", LMR_QUERY, lmr_create, lmr_query, 2),
	IOCTL("lmr_free", LMR_FREE, free, lmr_free, 5, FREES(LMR, free, handle)),
	IOCTL("lmr_sync", LMR_SYNC, lmr_sync, lmr_sync, 3),
	IOCTL("rmr_create", RMR_CREATE, rmr_create, rmr_create, 5, MAKES(RMR, rmr_create, rmr),
	      .flags = OP_HURTS_SIW),
	IOCTL("rmr_create_for_ep", RMR_CREATE_FOR_EP, rmr_create, rmr_create, 4,
	      MAKES(RMR, rmr_create, rmr), .flags = OP_HURTS_SIW),
	IOCTL("rmr_query", RMR_QUERY, rmr_create, rmr_query, 2),
	IOCTL("rmr_free", RMR_FREE, free, rmr_free, 3, FREES(RMR, free, handle)),
	IOCTL("handle_query", HANDLE_QUERY, handle_query, handle_query, 1),
	IOCTL("context", CONTEXT, context, context, 2),
	IOCTL("post", POST, post, post, 1, .flags = OP_HURTS_SIW),
	DATA("segment", sizeof(struct dat_dev_segment), segment, trick_segment, 0),
	DATA("dto", sizeof(struct dat_dev_dto) + 8, dto, trick_dto, 0),
	TRICK(harvest, harvest, 10),
	TRICK(scribble, scribble, 5),
	TRICK(map_ring, map_ring, 3),
	TRICK(unmap_ring, unmap_ring, 2),
	TRICK(munmap, range, 3),
	TRICK(mremap, range, 2),
	TRICK(remap, range, 3),
	TRICK(discard, range, 2),
	TRICK(mprotect, protect, 2),
	TRICK(touch, range, 2),
	TRICK(stall, stall, 12),
	TRICK(fork, fork, 2),
	TRICK(signal, thread, 4),
	TRICK(kill, none, 1),
	TRICK(pass_fd, number, 2),
	TRICK(reopen, none, 1),
	TRICK(poll, poll, 4),
	TRICK(close_fd, close_fd, 3),
	TRICK(pause, number, 4),
	TRICK(read_debugfs, number, 1),
	TRICK(unplug, none, 0),
	{ NULL },
};
