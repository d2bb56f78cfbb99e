// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uapi.c - datfuzz: executes the ioctls of /dev/dat, and generates posts
 */
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "exec.h"

static void post_segment(struct seq *seq, unsigned int *at, unsigned int thread,
			 unsigned int opcode, unsigned int len)
{
	struct step *step = insert_op(seq, at, "segment", thread);
	int lmr = one_in(8) ? 1 : 0;

	set_obj(step, "virtual_address", V_LMR, T_LMR, lmr, rnd(32) * 64);
	set_obj(step, "lmr_context", opcode == DAT_DEV_RDMA_READ_TO_RMR ? V_WINDOW : V_LMR_CONTEXT,
		0, opcode == DAT_DEV_RDMA_READ_TO_RMR ? 0 : lmr, 0);
	set_num(step, "length", len);
	if (one_in(8))
		renew_val(step, rnd(api->ops[step->op].num_fields));
}

static void generate_post(struct seq *seq, unsigned int at, unsigned int thread)
{
	static const uint8_t opcodes[] = {
		DAT_DEV_SEND, DAT_DEV_SEND, DAT_DEV_SEND, DAT_DEV_RECV, DAT_DEV_RECV,
		DAT_DEV_RDMA_WRITE, DAT_DEV_RDMA_WRITE, DAT_DEV_RDMA_READ, DAT_DEV_RMR_BIND,
		DAT_DEV_SRQ_RECV, DAT_DEV_SEND_INVALIDATE, DAT_DEV_RDMA_READ_TO_RMR,
		DAT_DEV_RDMA_WRITE_IMMED, DAT_DEV_FETCH_ADD, DAT_DEV_CMP_SWAP,
		DAT_DEV_SEND_IMMED,
	};
	unsigned int dtos = 1 + rnd(3), i, segments, len, op;
	struct step *step;

	while (dtos--) {
		op = opcodes[rnd(ARRAY_LEN(opcodes))];
		segments = op <= DAT_DEV_RDMA_READ && one_in(4) ? 1 + rnd(4) : 1;
		len = op >= DAT_DEV_FETCH_ADD ? 8 : rnd(64) * 8 + 8;
		if (op == DAT_DEV_RECV || op == DAT_DEV_SRQ_RECV)
			len = 4096;
		for (i = 0; i < segments; i++)
			post_segment(seq, &at, thread, op, len / segments);
		step = insert_op(seq, &at, "dto", thread);
		set_num(step, "opcode", op);
		set_obj(step, "ep", V_HANDLE, op == DAT_DEV_SRQ_RECV ? T_SRQ : T_EP, rnd(2), 0);
		set_num(step, "remote_length", len);
		set_obj(step, "remote_address", V_LMR, T_LMR, op >= DAT_DEV_FETCH_ADD,
			rnd(64) * 8);
		if (one_in(2) || op == DAT_DEV_SEND_INVALIDATE)
			set_obj(step, "remote_context", V_WINDOW, T_RMR, 0, 0);
		else if (op >= DAT_DEV_FETCH_ADD)
			set_obj(step, "remote_context", V_RMR_CONTEXT, T_LMR, 1, 0);
		if (one_in(3))
			set_num(step, "times", 1 + rnd(8));
		if (one_in(6))
			set_num(step, "flags", 1U << rnd(6));
		if (one_in(8))
			renew_val(step, rnd(api->ops[step->op].num_fields));
	}
	step = insert_op(seq, &at, "post", thread);
	if (one_in(20))
		step->fail = 1 + rnd(6);
}

static long uapi_call(struct worker *w, const struct op *op, void *arg)
{
	return try_ioctl(proc.fds[w->file], op->cmd, arg);
}

static void after_lmr(struct obj *obj, const struct dat_dev_lmr_create *p)
{
	obj->address = p->registered_address;
	obj->length = p->registered_size;
	obj->local = p->lmr_context;
	obj->remote = p->rmr_context;
	/* The addresses of such a region begin with 0. */
	if (p->privileges & DAT_DEV_PRIV_ZERO_BASED)
		obj->address = 0;
}

static void after_make(struct worker *w, const struct op *op, void *arg)
{
	const struct dat_dev_csp_create *csp = arg;
	const struct sockaddr_in *sin = (void *)&csp->address;
	const struct dat_dev_psp_create *psp = arg;
	const struct dat_dev_evd_create *evd = arg;
	const struct dat_dev_ia_open *ia = arg;
	uint32_t handle;
	struct obj *obj;

	memcpy(&handle, arg + op->made_at, sizeof(handle));
	obj = add_obj(w->file, op->makes, handle);
	if (!obj)
		return;
	switch (op->makes) {
	case T_IA:
		obj = add_obj(w->file, T_EVD, ia->async_evd);
		if (obj)
			obj->entries = ia->async_ring_entries;
		break;
	case T_EVD:
		obj->entries = evd->ring_entries;
		break;
	case T_LMR:
		after_lmr(obj, arg);
		break;
	case T_PSP:
	case T_RSP:
		obj->qual = psp->conn_qual;
		break;
	case T_CSP:
		obj->qual = ntohs(sin->sin_port);
		break;
	default:
		break;
	}
}

static void after_free(struct worker *w, const struct op *op, void *arg)
{
	struct obj *obj;
	uint32_t handle;

	memcpy(&handle, arg + op->freed_at, sizeof(handle));
	obj = obj_of(w->file, op->frees, handle);
	if (obj)
		obj->dead = true;
}

/* Counts DTOs, and takes the contexts of windows. */
static void after_post(struct worker *w, unsigned int posted, bool failed)
{
	unsigned int i;

	for (i = 0; i < posted && i < MAX_DTOS; i++) {
		struct obj *rmr;

		if (w->dtos[i].opcode != DAT_DEV_RMR_BIND)
			continue;
		rmr = obj_of(w->file, T_RMR, w->dtos[i].rmr);
		if (rmr)
			rmr->remote = w->dtos[i].rmr_context;
	}
	if (!w->in_start && posted <= MAX_DTOS) {
		__atomic_fetch_add(&proc.run->posted, posted, __ATOMIC_RELAXED);
		__atomic_fetch_add(&proc.run->tried, posted + failed, __ATOMIC_RELAXED);
	}
	w->num_dtos = 0;
	w->num_pool = 0;
}

static void uapi_after(struct worker *w, const struct op *op, long ret, void *arg)
{
	const struct dat_dev_evd_resize *resize = arg;
	const struct dat_dev_evd_wait *wait = arg;
	const struct dat_dev_post *post = arg;
	struct obj *evd;

	if (op->cmd == DAT_DEV_POST)
		after_post(w, ret < 0 ? 0 : post->posted, ret);
	/* Its result may be that of the wait. */
	if (op->cmd == DAT_DEV_EVD_WAIT && wait->num_dtos)
		after_post(w, ret < 0 ? 0 : wait->posted, wait->posted < wait->num_dtos);
	if (op->cmd == DAT_DEV_LMR_SYNC)
		w->num_segments = 0;
	if (ret)
		return;
	if (op->makes)
		after_make(w, op, arg);
	if (op->frees)
		after_free(w, op, arg);
	if (op->cmd == DAT_DEV_EVD_RESIZE) {
		evd = obj_of(w->file, T_EVD, resize->evd);
		if (evd) {
			evd->entries = resize->ring_entries;
			evd->ring = NULL;
		}
	}
}

static int first_state(void)
{
	struct dat_dev_ep_status arg = { .size = sizeof(arg) };

	arg.ep = proc.num_objs[0][T_EP] ? proc.objs[0][T_EP][0].handle : 0;
	return try_ioctl(proc.fds[0], DAT_DEV_EP_GET_STATUS, &arg) ? -1 : (int)arg.state;
}

struct api uapi = {
	.device = "/dev/dat",
	.has_users = true,
	.ops = uapi_ops,
	.starts = uapi_starts,
	.templates = uapi_templates,
	.call = uapi_call,
	.after = uapi_after,
	.generate_post = generate_post,
	.first_state = first_state,
};
