// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * target.c - the transport to a target port: opened, lost, opened again, closed
 *
 * The transport is an open IA with all objects in it. dat_ia_close() with
 * DAT_CLOSE_ABRUPT_FLAG ends it in any state: afterwards no upcall runs, and the device
 * reaches no memory. Only then are commands given back. A new connection begins with a new
 * IA of the same name, so the device may have been removed and added in between.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>

#include "srp.h"

#define LOGOUT_TIMEOUT	(5 * HZ)
#define ASYNC_QLEN	8
#define MAX_PIECES_OF_QUEUE	3

struct workqueue_struct *srp_wq;

/**
 * srp_check - log a call that has failed
 * @ret: what it returned
 * @call: its text
 *
 * Return: 0, -ENODEV, -ENOMEM or -EIO.
 */
int srp_check(DAT_RETURN ret, const char *call)
{
	const char *type, *subtype;

	if (ret == DAT_SUCCESS)
		return 0;
	if (!dat_strerror(ret, &type, &subtype))
		pr_err_ratelimited("kdapl_srp: %.*s: %s %s\n", (int)strcspn(call, "("), call,
				   type, subtype);
	switch (DAT_GET_TYPE(ret)) {
	case DAT_PROVIDER_NOT_FOUND:
		return -ENODEV;
	case DAT_INSUFFICIENT_RESOURCES:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

/**
 * srp_connection_lost - report that the target cannot be reached, or does not obey
 * @target: the target
 *
 * Only the first report of a connection counts.
 *
 * Context: any.
 */
void srp_connection_lost(struct srp_target *target)
{
	if (!atomic_xchg(&target->broken, 1))
		queue_work(srp_wq, &target->error_work);
}

/* After it no thread posts. Under rport->mutex, or without other users of the target. */
static void srp_transport_quiesce(struct srp_target *target)
{
	unsigned int i;

	for (i = 0; i < srp_all_channels(target); i++)
		srp_channel_quiesce(&target->ch[i]);
	synchronize_rcu();
}

/* Ends all channels: the others are of no use without the one that has ended. */
static void error_worker(struct work_struct *work)
{
	struct srp_target *target = container_of(work, struct srp_target, error_work);
	unsigned int i;

	/* The host is still being made, and looks at target->broken afterwards. */
	if (!target->rport)
		return;
	mutex_lock(&target->rport->mutex);
	if (!target->ia || !atomic_read(&target->broken)) {
		mutex_unlock(&target->rport->mutex);
		return;
	}
	srp_transport_quiesce(target);
	for (i = 0; i < srp_all_channels(target); i++)
		dat_ep_disconnect(target->ch[i].ep, DAT_CLOSE_ABRUPT_FLAG);
	mutex_unlock(&target->rport->mutex);
	shost_printk(KERN_ERR, target->shost, "the connection is lost\n");
	srp_start_tl_fail_timers(target->rport);
}

static void async_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct srp_target *target = data;

	shost_printk(KERN_WARNING, target->shost, "%s: asynchronous event %#x\n",
		     target->ia_name, event->event_number);
	if (event->event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC)
		srp_connection_lost(target);
}

static int open_ia(struct srp_target *target)
{
	DAT_UPCALL_OBJECT upcall = { target, async_upcall };
	int ret;

	target->async_evd = DAT_HANDLE_NULL;
	ret = SRP_CHECK(dat_ia_open(target->ia_name, ASYNC_QLEN, &target->async_evd, &target->ia));
	if (ret) {
		target->ia = DAT_HANDLE_NULL;
		return ret;
	}
	return SRP_CHECK(dat_evd_modify_upcall(target->async_evd, DAT_UPCALL_SINGLE_INSTANCE,
					       &upcall, DAT_UPCALL_INVOC_ANY)) ?:
	       SRP_CHECK(dat_pz_create(target->ia, &target->pz));
}

static int try_open(struct srp_target *target)
{
	unsigned int i;
	int ret;

	atomic_set(&target->broken, 0);
	ret = open_ia(target);
	for (i = 0; !ret && i < srp_all_channels(target); i++)
		ret = srp_channel_open(&target->ch[i], !i);
	if (ret)
		srp_transport_close(target);
	return ret;
}

/**
 * srp_transport_open - open the IA and log in with all channels
 * @target: the target, closed
 *
 * Context: process, under rport->mutex, or before the rport exists.
 * Return: 0 or a negative errno; then it is closed.
 */
int srp_transport_open(struct srp_target *target)
{
	int ret = try_open(target);

	/* Some targets have no room for immediate data. */
	if (ret == -EMSGSIZE && target->imm_data) {
		target->imm_data = 0;
		ret = try_open(target);
	}
	return ret;
}

/**
 * srp_transport_close - close the IA, with all that is in it
 * @target: the target
 *
 * Context: process, under rport->mutex, or without other users of the target.
 */
void srp_transport_close(struct srp_target *target)
{
	srp_transport_quiesce(target);
	if (target->ia)
		SRP_CHECK(dat_ia_close(target->ia, DAT_CLOSE_ABRUPT_FLAG));
	target->ia = DAT_HANDLE_NULL;
}

static void finish_req(struct srp_channel *ch, struct srp_req *req, int result)
{
	struct scsi_cmnd *scmd;

	spin_lock_bh(&ch->lock);
	scmd = req->scmd;
	if (scmd) {
		/* A response that has arrived counts. */
		scmd->result = req->awaits_rsp ? result : req->result;
		req->scmd = NULL;
		req->awaits_rsp = false;
		req->dtos = 0;
		req->num_mrs = 0;
		if (req->withdrawn)
			scmd = NULL;
	}
	spin_unlock_bh(&ch->lock);
	if (scmd)
		scsi_done(scmd);
}

/**
 * srp_finish_all - give all commands back to SCSI
 * @target: the target, closed
 * @result: of those that the target has not responded to
 *
 * Context: process.
 */
void srp_finish_all(struct srp_target *target, int result)
{
	unsigned int i, k;

	for (i = 0; i < srp_all_channels(target); i++) {
		for (k = 0; k < target->queue_size; k++)
			finish_req(&target->ch[i], &target->ch[i].reqs[k], result);
		wake_up(&target->ch[i].eh_wait);
	}
}

/**
 * srp_logout - end the connections in order
 * @target: the target; SCSI sends it nothing any more
 *
 * Context: process, under rport->mutex.
 */
void srp_logout(struct srp_target *target)
{
	struct srp_i_logout *iu = srp_iu_of_tm(&target->ch[0]);
	struct srp_channel *ch;
	unsigned int i;

	/* Otherwise error_worker() has ended or will end the connections. */
	if (!target->ia || atomic_read(&target->broken))
		return;
	srp_transport_quiesce(target);
	memset(iu, 0, sizeof(*iu));
	iu->opcode = SRP_I_LOGOUT;
	srp_post_iu(&target->ch[0], iu, sizeof(*iu), SRP_COOKIE_NONE,
		    DAT_COMPLETION_SUPPRESS_FLAG);
	for (i = 0; i < srp_all_channels(target); i++) {
		ch = &target->ch[i];
		reinit_completion(&ch->step);
		if (!dat_ep_disconnect(ch->ep, DAT_CLOSE_GRACEFUL_FLAG))
			wait_for_completion_timeout(&ch->step, LOGOUT_TIMEOUT);
	}
}

/* As ib_srp names an initiator on RoCE: half of the address, then initiator_ext. */
static void set_port_id(struct srp_target *target, const struct sockaddr *address)
{
	const struct sockaddr_in6 *sin6 = (const void *)address;
	const struct sockaddr_in *sin = (const void *)address;

	memset(target->port_id, 0, 8);
	if (address->sa_family == AF_INET6) {
		memcpy(target->port_id, &sin6->sin6_addr.s6_addr[8], 8);
	} else {
		memset(target->port_id + 2, 0xff, 2);
		memcpy(target->port_id + 4, &sin->sin_addr, 4);
	}
	memcpy(target->port_id + 8, &target->initiator_ext, 8);
}

/* What the IA limits: the pages of an LMR, the memory of IUs, and the requests of an EP. */
static int adapt_to_ia(struct srp_target *target)
{
	/* A buffer may begin and end within a page. */
	unsigned int pages = target->shost->max_sectors / (PAGE_SIZE >> SECTOR_SHIFT) + 1;
	DAT_IA_ATTR *attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	DAT_COUNT most;
	int ret;

	if (!attr)
		return -ENOMEM;
	ret = open_ia(target) ?:
	      SRP_CHECK(dat_ia_query(target->ia, NULL, DAT_IA_FIELD_ALL, attr, 0, NULL));
	if (ret)
		goto close;
	ret = -EADDRNOTAVAIL;
	if (!attr->ia_address_ptr || !((struct sockaddr *)attr->ia_address_ptr)->sa_family)
		goto close;
	ret = -ENOSPC;
	set_port_id(target, (struct sockaddr *)attr->ia_address_ptr);
	target->lmr_pages = min3(pages, target->lmr_pages,
				 (unsigned int)(attr->max_lmr_block_size >> PAGE_SHIFT));
	if (!target->lmr_pages)
		goto close;
	target->mrs_per_req = DIV_ROUND_UP(pages, target->lmr_pages);
	if (target->mrs_per_req > SRP_MAX_DESCS) {
		target->mrs_per_req = SRP_MAX_DESCS;
		pages = target->lmr_pages * SRP_MAX_DESCS;
		target->shost->max_sectors = (pages - 1) * (PAGE_SIZE >> SECTOR_SHIFT);
	}
	target->shost->sg_tablesize = pages;
	/* All IUs of a channel are one region. */
	most = min_t(u64, attr->max_lmr_block_size / target->iu_size / 2,
		     attr->max_dto_per_ep / MAX_PIECES_OF_QUEUE / (2 * target->mrs_per_req + 1)) -
	       SRP_TM_CREDITS - SRP_ANSWERS;
	if (most < 1)
		goto close;
	target->queue_size = min_t(unsigned int, target->queue_size, most);
	ret = 0;
close:
	if (target->ia)
		SRP_CHECK(dat_ia_close(target->ia, DAT_CLOSE_ABRUPT_FLAG));
	target->ia = DAT_HANDLE_NULL;
	kfree(attr);
	return ret;
}

/**
 * srp_target_init - adapt a target to its IA, and allocate its channels
 * @target: the target, with the options that it was added with
 *
 * Context: process.
 * Return: 0 or a negative errno; srp_target_destroy() is needed in both cases.
 */
int srp_target_init(struct srp_target *target)
{
	unsigned int i;
	int ret;

	INIT_WORK(&target->error_work, error_worker);
	target->iu_size = max_t(unsigned int, SRP_IU_SIZE, SRP_IMM_OFFSET + target->imm_data);
	ret = adapt_to_ia(target);
	if (ret)
		return ret;
	target->ch = kcalloc(srp_all_channels(target), sizeof(*target->ch), GFP_KERNEL);
	if (!target->ch)
		return -ENOMEM;
	for (i = 0; !ret && i < srp_all_channels(target); i++)
		ret = srp_channel_init(&target->ch[i], target, i >= target->num_channels);
	return ret;
}

/**
 * srp_target_destroy - free what srp_target_init() has allocated
 * @target: the target, closed
 *
 * Context: process.
 */
void srp_target_destroy(struct srp_target *target)
{
	unsigned int i;

	if (!target->error_work.func)
		return;
	cancel_work_sync(&target->error_work);
	for (i = 0; target->ch && i < srp_all_channels(target); i++)
		srp_channel_destroy(&target->ch[i]);
	kfree(target->ch);
}
