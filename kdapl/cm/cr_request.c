// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cr_request.c - creates connection requests and reports them to the consumer
 *
 * A PSP with DAT_PSP_CONSUMER_FLAG or a CSP reports in the handler of rdma_cm. A PSP with
 * DAT_PSP_PROVIDER_FLAG creates an EP first, and an RSP stops listening first. The
 * handler can do neither, so a work item reports. The work item needs a live reference to
 * the IA (dat_ia_get_or_defer()).
 */
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <rdma/ib_cm.h>

#include "base/account.h"
#include "cm/cm.h"
#include "dev/addr.h"
#include "dev/ia.h"
#include "ep/ep.h"
#include "queue/evd.h"

static void cr_shutdown(struct dat_object *obj)
{
	struct dat_cr *cr = to_cr(obj);

	/* Destroying the id of an unanswered request rejects the request. */
	if (cr->id)
		rdma_destroy_id(cr->id);
	cr->id = NULL;
}

static void cr_release(struct dat_object *obj)
{
	struct dat_cr *cr = to_cr(obj);

	if (cr->ep)
		dat_object_put(&cr->ep->obj);
	kfree(cr);
}

static const struct dat_object_ops cr_ops = {
	.shutdown = cr_shutdown,
	.release = cr_release,
};

static bool is_one_shot(const struct dat_sp *sp)
{
	return sp->obj.type == DAT_HANDLE_TYPE_RSP;
}

static bool provides_eps(const struct dat_sp *sp)
{
	return sp->flags & DAT_PSP_PROVIDER_FLAG;
}

/* Returns false if the EVD has no room for the event. */
static bool post_arrival(struct dat_cr *cr, struct dat_sp *sp)
{
	DAT_EVENT_DATA data = {
		.cr_arrival_event_data = {
			.sp_handle.psp_handle = sp->obj.handle,
			.local_ia_address_ptr =
				(DAT_SOCK_ADDR *)dat_addr(sp->obj.ia),
			.conn_qual = sp->conn_qual,
			.cr_handle = cr->obj.handle,
		},
	};

	return dat_evd_post(sp->evd, DAT_CONNECTION_REQUEST_EVENT, &data);
}

static bool cr_get_ep(struct dat_cr *cr, struct dat_sp *sp)
{
	if (is_one_shot(sp)) {
		cr->ep = sp->ep;
		kref_get(&cr->ep->obj.ref);
		cr->ep_is_ours = sp->ep_is_ours;
		return dat_ep_now_pending(cr->ep, &cr->remote_addr,
					  dat_addr_port(&sp->addr));
	}
	if (cr->obj.ia->unplugged)
		return false;
	cr->ep_is_ours = true;
	if (dat_ep_provide(cr->obj.ia, DAT_EP_STATE_UNCONFIGURED_TENTATIVE,
			   cr->responder_resources, cr->initiator_depth,
			   &cr->ep))
		return false;
	mutex_lock(&cr->ep->mutex);
	dat_ep_set_peer(cr->ep, &cr->remote_addr, dat_addr_port(&sp->addr));
	mutex_unlock(&cr->ep->mutex);
	return true;
}

/* Delivers a request. The caller holds a live reference. An RSP gets no other request. */
static bool deliver(struct dat_cr *cr, struct dat_sp *sp)
{
	bool used = dat_object_use_get(&sp->evd->obj);
	bool delivered = false;

	if (is_one_shot(sp))
		dat_sp_stop(sp);
	/*
	 * The request of an RSP is reported even if this overflows the EVD. The request
	 * gets the EP in any case: dat_cr_end() returns the EP to the consumer.
	 */
	if ((is_one_shot(sp) || (used && !dat_evd_is_full(sp->evd))) &&
	    cr_get_ep(cr, sp))
		delivered = used && post_arrival(cr, sp);
	if (used)
		dat_object_use_put(&sp->evd->obj);
	return delivered;
}

/* Delivers a request or rejects it. The caller holds a live reference to the IA. */
static void deliver_or_reject(struct dat_cr *cr, struct dat_sp *sp)
{
	if (!deliver(cr, sp))
		dat_cr_refuse(cr, 0, NULL, IB_CM_REJ_NO_RESOURCES);
}

/*
 * Returns false if another thread reports the request or has reported it. The caller has
 * a live reference to the IA or was refused one, so the winner never waits for one.
 */
static bool rsp_begin(struct dat_sp *sp)
{
	return !test_and_set_bit(DAT_RSP_REPORTING, &sp->spent);
}

static void rsp_end(struct dat_sp *sp)
{
	set_bit(DAT_RSP_REPORTED, &sp->spent);
	/* Pairs with the barrier of the waiter in dat_rsp_finish(). */
	smp_mb__after_atomic();
	wake_up_var(&sp->spent);
}

/**
 * dat_rsp_finish - wait until the request of an RSP has been reported
 * @sp: the RSP, in which another thread has set DAT_RSP_SPENT
 *
 * The work item that reports the request may wait for a live reference to the IA. It gets
 * none while another task quiesces the IA, and that task waits for the caller. So the
 * caller reports the request itself.
 *
 * Context: process, may sleep; the caller holds a live reference to the IA.
 */
void dat_rsp_finish(struct dat_sp *sp)
{
	/* dat_cr_report() sets sp->cr right after DAT_RSP_SPENT, without waiting. */
	wait_var_event(&sp->spent, smp_load_acquire(&sp->cr));
	if (rsp_begin(sp)) {
		deliver_or_reject(sp->cr, sp);
		rsp_end(sp);
	}
	wait_var_event(&sp->spent, test_bit(DAT_RSP_REPORTED, &sp->spent));
}

static void report_work(struct work_struct *work)
{
	struct dat_cr *cr = container_of(work, struct dat_cr, report_work);
	struct dat_ia *ia = cr->obj.ia;
	struct dat_sp *sp = cr->sp;
	enum dat_ia_get_result entry;

	entry = dat_ia_get_or_defer(ia, &cr->deferred);
	if (entry == DAT_IA_DEFERRED)
		return;
	if (!is_one_shot(sp) || rsp_begin(sp)) {
		/* Without a live reference: dat_ia_close() destroys the CR. */
		if (entry == DAT_IA_GOT)
			deliver_or_reject(cr, sp);
		if (is_one_shot(sp))
			rsp_end(sp);
	}
	if (entry == DAT_IA_GOT)
		dat_ia_put_live(ia);
	if (atomic_dec_and_test(&sp->reports))
		wake_up_var(&sp->reports);
	dat_object_put(&sp->obj);
	dat_object_put(&cr->obj);
}

static void reject_work(struct work_struct *work)
{
	struct dat_cr *cr = container_of(work, struct dat_cr, reject_work);
	struct dat_ia *ia = cr->obj.ia;
	enum dat_ia_get_result entry;

	entry = dat_ia_get_or_defer(ia, &cr->reject_deferred);
	if (entry == DAT_IA_DEFERRED)
		return;
	/* Otherwise dat_ia_close() destroys the CR, which rejects the request. */
	if (entry == DAT_IA_GOT) {
		dat_cr_refuse(cr, 0, NULL, IB_CM_REJ_NO_RESOURCES);
		dat_ia_put_live(ia);
	}
	dat_object_put(&cr->obj);
}

/**
 * dat_cr_reject_no_room - reject a connection request because a queue is full
 * @cr_handle: the CR; the caller must not use it any more
 *
 * For a consumer that queues requests for others, and whose queue is full. The peer
 * gets DAT_CONNECTION_EVENT_NON_PEER_REJECTED, as if the EVD were full. A work item of the
 * user rejects the request, so an upcall may call this. Extension of kdapl, in no
 * specification.
 *
 * Context: process or softirq; does not sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_cr_reject_no_room(DAT_CR_HANDLE cr_handle)
{
	struct dat_object *obj = dat_object_get(cr_handle, DAT_HANDLE_TYPE_CR);

	if (!obj)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	if (test_and_set_bit(0, &to_cr(obj)->is_rejected)) {
		dat_object_put(obj);
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	}
	/* The work item puts the reference. */
	queue_work(dat_wq(obj), &to_cr(obj)->reject_work);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_cr_reject_no_room);

/**
 * dat_cr_new - allocate a connection request
 * @ia: the IA
 * @data: private data from the peer, or NULL
 * @data_len: bytes of @data
 *
 * Context: process, may sleep.
 * Return: the CR, without an id, for dat_object_publish() or dat_object_put();
 * or NULL.
 */
struct dat_cr *dat_cr_new(struct dat_ia *ia, const void *data, u8 data_len)
{
	struct dat_cr *cr;

	if (!data)
		data_len = 0;
	cr = kzalloc(struct_size(cr, data, data_len), GFP_KERNEL_ACCOUNT);
	if (!cr)
		return NULL;
	cr->data_len = data_len;
	memcpy(cr->data, data, data_len);
	INIT_WORK(&cr->report_work, report_work);
	cr->deferred.work = &cr->report_work;
	INIT_WORK(&cr->reject_work, reject_work);
	cr->reject_deferred.work = &cr->reject_work;
	dat_object_init(&cr->obj, DAT_HANDLE_TYPE_CR, &ia->owner, &cr_ops);
	/* The handler of rdma_cm must not wait until other objects are freed. */
	if (dat_object_try_charge(&cr->obj, struct_size(cr, data, data_len) +
					    DAT_BYTES_CM_ID + DAT_BYTES_HANDLE))
		return cr;
	dat_object_put(&cr->obj);
	return NULL;
}

/**
 * dat_cr_report - report a connection request to the consumer, at once or by a work item
 * @cr: the CR, published, with its id
 * @sp: the service point of the request
 *
 * Context: process, may sleep.
 * Return: false if the request cannot be reported: the RSP has another request, or
 * the EVD is full.
 */
bool dat_cr_report(struct dat_cr *cr, struct dat_sp *sp)
{
	if (!is_one_shot(sp) && !provides_eps(sp))
		return post_arrival(cr, sp);
	if (is_one_shot(sp) && test_and_set_bit(DAT_RSP_SPENT, &sp->spent))
		return false;
	kref_get(&cr->obj.ref);
	kref_get(&sp->obj.ref);
	cr->sp = sp;
	atomic_inc(&sp->reports);
	if (is_one_shot(sp)) {
		kref_get(&cr->obj.ref);
		/* Pairs with dat_rsp_finish(), which may take over from here. */
		smp_store_release(&sp->cr, cr);
		/* Pairs with the barrier of wait_var_event() there. */
		smp_mb();
		wake_up_var(&sp->spent);
	}
	queue_work(dat_wq(&cr->obj), &cr->report_work);
	return true;
}

/**
 * dat_cr_request - handle the request of a peer to connect to a service point
 * @sp: the service point
 * @id: id of the new connection
 * @event: the request
 *
 * Context: process, with the handler lock of @id.
 * Return: 0, or a negative errno to have the request rejected.
 */
int dat_cr_request(struct dat_sp *sp, struct rdma_cm_id *id,
		   struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	int reason = IB_CM_REJ_NO_RESOURCES;
	struct dat_cr *cr;

	/* The length of the EVD limits the number of waiting requests. */
	if (dat_evd_is_full(sp->evd))
		goto reject;
	cr = dat_cr_new(sp->obj.ia, conn->private_data,
			conn->private_data_len);
	if (!cr)
		goto reject;
	cr->responder_resources = conn->responder_resources;
	cr->initiator_depth = conn->initiator_depth;
	cr->remote_addr = id->route.addr.dst_addr;
	cr->id = id;
	id->context = &cr->obj;
	if (dat_object_publish(&cr->obj))
		goto drop;
	if (dat_cr_report(cr, sp))
		return 0;

	cr->id = NULL;
	if (dat_object_claim(&cr->obj))
		dat_object_retire(&cr->obj);
	if (is_one_shot(sp))
		reason = IB_CM_REJ_INVALID_SERVICE_ID;
	goto reject;

drop:
	cr->id = NULL;
	dat_object_put(&cr->obj);
reject:
	/* Reject here: a rejection by rdma_cm would look like one of the consumer. */
	rdma_reject(id, NULL, 0, reason);
	return -ECONNREFUSED;
}
