// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * kapi.c - datfuzz: executes calls of the kernel API, through kdapl_fuzz.ko
 *
 * The module makes the calls. The objects that they return are remembered here, with their
 * handles as the consumer gets them.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <dat/udat.h>

#include "exec.h"
#include "kapi/kapi.h"

static void post_segment(struct seq *seq, unsigned int *at, unsigned int thread, bool to_rmr,
			 unsigned int len)
{
	struct step *step = insert_op(seq, at, "segment", thread);
	int lmr = one_in(8) ? 1 : 0;

	set_obj(step, "virtual_address", V_LMR, T_LMR, lmr, rnd(32) * 64);
	set_obj(step, "lmr_context", to_rmr ? V_WINDOW : V_LMR_CONTEXT, 0, to_rmr ? 0 : lmr, 0);
	set_num(step, "length", len);
	if (one_in(8))
		renew_val(step, rnd(api->ops[step->op].num_fields));
}

static void set_remote(struct step *step, bool atomic, unsigned int len)
{
	set_num(step, "remote_length", len);
	set_obj(step, "remote_address", V_LMR, T_LMR, atomic, rnd(64) * 8);
	if (atomic)
		set_obj(step, "remote_context", V_RMR_CONTEXT, T_LMR, 1, 0);
	else if (one_in(2))
		set_obj(step, "remote_context", V_WINDOW, T_RMR, 0, 0);
}

static void set_where(struct step *step)
{
	int field = find_field(&api->ops[step->op], "where");

	if (field >= 0 && one_in(2))
		renew_val(step, field);
}

static void generate_post(struct seq *seq, unsigned int at, unsigned int thread)
{
	static const char * const names[] = {
		"ep_post_send", "ep_post_send", "ep_post_send", "ep_post_recv", "ep_post_recv",
		"ep_post_rdma_write", "ep_post_rdma_write", "ep_post_rdma_read", "rmr_bind",
		"srq_post_recv", "ep_post_send_with_invalidate", "ep_post_rdma_read_to_rmr",
		"ib_post_rdma_write_immed", "ib_post_fetch_and_add", "ib_post_cmp_and_swap",
	};
	unsigned int times = 1 + rnd(one_in(3) ? 8 : 2), i, segments, len;
	const char *name = names[rnd(ARRAY_LEN(names))];
	bool atomic = strstr(name, "fetch") || strstr(name, "swap");
	bool is_recv = strstr(name, "recv"), to_rmr = strstr(name, "to_rmr");
	struct step *step;

	while (times--) {
		segments = !atomic && !to_rmr && one_in(4) ? 1 + rnd(4) : 1;
		len = atomic ? 8 : is_recv ? 4096 : rnd(64) * 8 + 8;
		for (i = 0; i < segments; i++)
			post_segment(seq, &at, thread, to_rmr, len / segments);
		step = insert_op(seq, &at, name, thread);
		if (strcmp(name, "srq_post_recv"))
			set_obj(step, "ep", V_HANDLE, T_EP, rnd(2), 0);
		if (strstr(name, "rdma") || atomic)
			set_remote(step, atomic, len);
		else if (strstr(name, "invalidate"))
			set_obj(step, "remote_context", V_WINDOW, T_RMR, 0, 0);
		if (one_in(6) && find_field(&api->ops[step->op], "flags") >= 0)
			set_num(step, "flags", 1U << rnd(6));
		set_where(step);
		if (one_in(8))
			renew_val(step, rnd(api->ops[step->op].num_fields));
		if (one_in(40))
			step->fail = 1 + rnd(6);
	}
}

static long make_call(unsigned int file, struct kapi_call *call)
{
	return ioctl(proc.fds[file], KAPI_CALL, call) ? -errno : (long)call->result;
}

/* Handles of kdapl are never used again; those of the module's provider are addresses. */
static bool is_freed(struct worker *w, const struct op *op, uint64_t handle)
{
	const struct field *f = &op->fields[0];
	struct obj *obj;
	bool freed;

	if (f->kind != F_HANDLE || f->arg == T_ANY || (int64_t)handle < 0)
		return false;
	pthread_mutex_lock(&proc.lock);
	obj = obj_of(w->file, f->arg, handle);
	freed = obj && obj->dead;
	pthread_mutex_unlock(&proc.lock);
	return freed;
}

static long kapi_call(struct worker *w, const struct op *op, void *arg)
{
	struct kapi_call *call = arg;
	bool freed = is_freed(w, op, call->arg[0]);
	long ret;

	call->number = op->number;
	call->segments = (uintptr_t)w->segments;
	call->num_segments = w->num_segments;
	/* The number is that of an event unless the step has one. */
	if (op->number == KAPI_evd_post_se && !call->arg[1])
		call->arg[1] = DAT_SOFTWARE_EVENT;
	ret = make_call(w->file, call);
	w->num_segments = 0;
	if (freed && !ret)
		proc.run->stale = op - api->ops + 1;
	return ret;
}

static void after_make(struct worker *w, const struct op *op, const struct kapi_call *call)
{
	struct obj *obj = call->out[0] ? add_obj(w->file, op->makes, call->out[0]) : NULL;

	if (!obj)
		return;
	switch (op->makes) {
	case T_IA:
		add_obj(w->file, T_EVD, call->out[1]);
		break;
	case T_LMR:
		obj->local = call->out[1];
		obj->remote = call->out[2];
		obj->length = call->out[3];
		obj->address = call->out[4];
		break;
	case T_PSP:
	case T_RSP:
	case T_CSP:
		obj->qual = call->out[1];
		break;
	default:
		break;
	}
}

/* Contexts change with each bind and each fast registration. */
static void after_post(struct worker *w, const struct op *op, const struct kapi_call *call)
{
	bool binds = op->number == KAPI_rmr_bind || op->number == KAPI_rmr_bind_1_2;
	struct obj *obj = obj_of(w->file, binds ? T_RMR : T_LMR, call->arg[0]);

	if (!obj || (!binds && op->number != KAPI_lmr_fmr))
		return;
	obj->remote = call->out[2];
	if (binds)
		return;
	obj->local = call->out[1];
	obj->length = call->out[3];
	obj->address = call->out[4];
}

static void kapi_after(struct worker *w, const struct op *op, long ret, void *arg)
{
	const struct kapi_call *call = arg;
	struct obj *obj;

	if (!w->in_start && (op->flags & OP_POSTS) && ret != KAPI_NOT_MADE) {
		__atomic_fetch_add(&proc.run->tried, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&proc.run->posted, !ret, __ATOMIC_RELAXED);
	}
	if (ret)
		return;
	if (op->makes)
		after_make(w, op, call);
	if (op->frees) {
		obj = obj_of(w->file, op->frees, call->arg[0]);
		if (obj)
			obj->dead = true;
	}
	if (op->flags & OP_POSTS)
		after_post(w, op, call);
	if (op->number == KAPI_evd_dequeue && call->out[2])
		add_obj(w->file, T_CR, call->out[2]);
}

/* Takes a connection request that an upcall has received. */
static bool take_request(struct worker *w)
{
	struct kapi_request request = { 0 };

	if (ioctl(proc.fds[w->file], KAPI_TAKE_REQUEST, &request) || !request.cr)
		return false;
	pthread_mutex_lock(&proc.lock);
	add_obj(w->file, T_CR, request.cr);
	pthread_mutex_unlock(&proc.lock);
	return true;
}

static bool dequeue(struct worker *w, uint64_t evd)
{
	struct kapi_call call = { .number = KAPI_evd_dequeue, .arg[0] = evd };

	if (make_call(w->file, &call))
		return false;
	pthread_mutex_lock(&proc.lock);
	if (call.out[2])
		add_obj(w->file, T_CR, call.out[2]);
	pthread_mutex_unlock(&proc.lock);
	return true;
}

/**
 * trick_kapi_harvest - take all events from an EVD, and a request from the upcalls
 *
 * The argument "wait" is the number of half seconds to wait for one.
 */
void trick_kapi_harvest(struct worker *w, void *arg)
{
	const struct trick *t = arg;
	unsigned int i, num = 0;

	for (i = 0; i <= t->a[1] * 50 && !num; i++) {
		if (i)
			usleep(10000);
		num += take_request(w);
		while (num < 100 && dequeue(w, t->a[0]))
			num++;
	}
}

static int state_of(unsigned int file, uint64_t ep)
{
	struct kapi_call call = { .number = KAPI_ep_get_status, .arg[0] = ep };

	return make_call(file, &call) ? -1 : (int)call.out[1];
}

/**
 * trick_kapi_await - wait until an EP is in a state
 *
 * The argument "wait" is the number of half seconds to wait.
 */
void trick_kapi_await(struct worker *w, void *arg)
{
	const struct trick *t = arg;
	unsigned int i;

	for (i = 0; i < t->a[2] * 50; i++) {
		int state = state_of(w->file, t->a[0]);

		if (state < 0 || state == (int)t->a[1])
			return;
		usleep(10000);
	}
}

static int first_state(void)
{
	return proc.num_objs[0][T_EP] ? state_of(0, proc.objs[0][T_EP][0].handle) : -1;
}

struct api kapi = {
	.device = KAPI_DEVICE,
	.ops = kapi_ops,
	.starts = kapi_starts,
	.templates = kapi_templates,
	.call = kapi_call,
	.after = kapi_after,
	.generate_post = generate_post,
	.first_state = first_state,
};
