// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * eh.c - what the error handler of SCSI asks for: abort, LUN reset, host reset
 *
 * SCSI may use the memory of a command again as soon as a function here has returned
 * SUCCESS. So the command is withdrawn first: its memory is closed to the target. What
 * fails here goes up to the host reset, which closes the transport and with it everything.
 */
#include <linux/delay.h>

#include "srp.h"

#define TM_TIMEOUT	(5 * HZ)

/* Ticks between two polls of a channel without upcalls */
#define POLL_TIME	1

static bool wait_tm(struct srp_channel *ch)
{
	unsigned long end = jiffies + TM_TIMEOUT;

	if (!ch->polled)
		return wait_for_completion_timeout(&ch->tm_done, TM_TIMEOUT);
	while (time_before(jiffies, end)) {
		srp_channel_poll(ch);
		if (wait_for_completion_timeout(&ch->tm_done, POLL_TIME))
			return true;
	}
	return false;
}

/* Takes the credit that is kept for it. */
static bool begin_tm(struct srp_channel *ch)
{
	bool can;

	spin_lock_bh(&ch->lock);
	can = ch->connected && ch->credits > 0;
	if (can) {
		ch->credits--;
		ch->tm_tag = (ch->tm_tag + 1) | SRP_TAG_TM;
		ch->tm_status = -EINPROGRESS;
		reinit_completion(&ch->tm_done);
	}
	spin_unlock_bh(&ch->lock);
	return can;
}

/*
 * Returns true if the target has done it. A target that does not answer may be dead, and the
 * device may need longer to report that: the connection is given up. Under rport->mutex.
 */
static bool task_management(struct srp_channel *ch, u8 function, u64 lun, u64 task_tag)
{
	struct srp_tsk_mgmt *tm = srp_iu_of_tm(ch);

	lockdep_assert_held(&ch->target->rport->mutex);
	if (!begin_tm(ch))
		return false;
	memset(tm, 0, sizeof(*tm));
	tm->opcode = SRP_TSK_MGMT;
	tm->tag = ch->tm_tag;
	int_to_scsilun(lun, &tm->lun);
	tm->tsk_mgmt_func = function;
	tm->task_tag = task_tag;
	if (srp_post_iu(ch, tm, sizeof(*tm), SRP_COOKIE_NONE, DAT_COMPLETION_SUPPRESS_FLAG))
		return false;
	if (!wait_tm(ch)) {
		shost_printk(KERN_ERR, ch->target->shost,
			     "no response to task management %#x\n", function);
		srp_connection_lost(ch->target);
		return false;
	}
	if (ch->tm_status)
		shost_printk(KERN_ERR, ch->target->shost, "task management %#x: status %d\n",
			     function, ch->tm_status);
	return !ch->tm_status;
}

static bool is_withdrawn(struct srp_channel *ch, struct srp_req *req, struct scsi_cmnd *scmd)
{
	bool is;

	spin_lock_bh(&ch->lock);
	is = req->scmd != scmd;
	spin_unlock_bh(&ch->lock);
	return is;
}

static bool wait_withdrawn(struct srp_channel *ch, struct srp_req *req,
			   struct scsi_cmnd *scmd)
{
	unsigned long end = jiffies + TM_TIMEOUT;

	if (!ch->polled)
		return wait_event_timeout(ch->eh_wait, is_withdrawn(ch, req, scmd), TM_TIMEOUT);
	while (time_before(jiffies, end)) {
		srp_channel_poll(ch);
		if (wait_event_timeout(ch->eh_wait, is_withdrawn(ch, req, scmd), POLL_TIME))
			return true;
	}
	return false;
}

/*
 * Returns true if the target cannot reach the memory of the command any more. *taken: the
 * caller completes it.
 */
static bool withdraw(struct srp_channel *ch, struct srp_req *req, struct scsi_cmnd *scmd,
		     int result, bool *taken)
{
	bool close = false;

	spin_lock_bh(&ch->lock);
	*taken = req->scmd == scmd;
	if (*taken) {
		req->withdrawn = true;
		close = req->awaits_rsp;
		if (close)
			req->result = result;
		req->awaits_rsp = false;
	}
	spin_unlock_bh(&ch->lock);
	if (close)
		srp_req_close(ch, req);
	if (!*taken) {
		/* Another thread may be about to call scsi_done(). */
		synchronize_rcu();
		return true;
	}
	if (wait_withdrawn(ch, req, scmd))
		return true;
	/* It stays where it is, until the transport is closed. */
	spin_lock_bh(&ch->lock);
	if (req->scmd == scmd)
		req->withdrawn = false;
	spin_unlock_bh(&ch->lock);
	return false;
}

/**
 * srp_eh_abort - abort a command
 * @scmd: the command
 *
 * Context: process.
 * Return: SUCCESS, FAILED, or FAST_IO_FAIL if the port is being removed.
 */
int srp_eh_abort(struct scsi_cmnd *scmd)
{
	struct srp_target *target = srp_target_of(scmd->device->host);
	unsigned int index;
	struct srp_channel *ch = srp_channel_of(target, scmd, &index);
	struct srp_req *req = &ch->reqs[index];
	bool done, taken;

	mutex_lock(&target->rport->mutex);
	/* Without a request in the target it only waits for scsi_done(). */
	done = (is_withdrawn(ch, req, scmd) ||
		task_management(ch, SRP_TSK_ABORT_TASK, scmd->device->lun,
				srp_req_tag(ch, req))) &&
	       withdraw(ch, req, scmd, DID_ABORT << 16, &taken);
	mutex_unlock(&target->rport->mutex);
	scmd_printk(KERN_WARNING, scmd, "abort: %s\n", done ? "done" : "failed");
	if (done)
		return SUCCESS;
	return target->rport->state == SRP_RPORT_LOST ? FAST_IO_FAIL : FAILED;
}

/* The error handler has some of these commands already; scsi_done() ignores them. */
static bool withdraw_all(struct srp_channel *ch, struct scsi_device *sdev)
{
	struct scsi_cmnd *scmd;
	unsigned int i;
	bool taken;

	for (i = 0; i < ch->target->queue_size; i++) {
		spin_lock_bh(&ch->lock);
		scmd = ch->reqs[i].scmd;
		if (scmd && scmd->device != sdev)
			scmd = NULL;
		spin_unlock_bh(&ch->lock);
		if (!scmd)
			continue;
		if (!withdraw(ch, &ch->reqs[i], scmd, DID_RESET << 16, &taken))
			return false;
		if (taken)
			scsi_done(scmd);
	}
	return true;
}

/**
 * srp_eh_reset_device - reset a logical unit
 * @scmd: a command to it
 *
 * The target answers no command to it any more.
 *
 * Context: process: the error handler, or an ioctl() beside commands.
 * Return: SUCCESS or FAILED.
 */
int srp_eh_reset_device(struct scsi_cmnd *scmd)
{
	struct srp_target *target = srp_target_of(scmd->device->host);
	unsigned int i;
	bool done;

	mutex_lock(&target->rport->mutex);
	/* The command of an ioctl() has no queue. */
	done = task_management(&target->ch[0], SRP_TSK_LUN_RESET, scmd->device->lun, 0);
	for (i = 0; done && i < srp_all_channels(target); i++)
		done = withdraw_all(&target->ch[i], scmd->device);
	mutex_unlock(&target->rport->mutex);
	sdev_printk(KERN_WARNING, scmd->device, "LUN reset: %s\n", done ? "done" : "failed");
	return done ? SUCCESS : FAILED;
}

/*
 * While the port is blocked, the transport class connects again and again. If the error
 * handler gave up meanwhile, it would take the devices offline, although their time is not
 * over. The class has no wait queue: poll, as fc_block_scsi_eh(). The removal of the
 * host waits for the error handler.
 */
static enum srp_rport_state wait_unblocked(const struct srp_target *target)
{
	while (READ_ONCE(target->rport->state) == SRP_RPORT_BLOCKED) {
		if (test_bit(0, &target->removing))
			return SRP_RPORT_LOST;
		msleep(100);
	}
	return READ_ONCE(target->rport->state);
}

/**
 * srp_eh_reset_host - connect again
 * @scmd: a command to the host
 *
 * Context: process. Sleeps as long as the port is blocked: at most until fast_io_fail_tmo or
 * dev_loss_tmo, or the removal of the host.
 * Return: SUCCESS, FAILED, or FAST_IO_FAIL if one of these has come.
 */
int srp_eh_reset_host(struct scsi_cmnd *scmd)
{
	struct srp_target *target = srp_target_of(scmd->device->host);

	shost_printk(KERN_WARNING, target->shost, "host reset\n");
	/* Report the lost connection to the transport class before a new one is opened. */
	flush_work(&target->error_work);
	if (!srp_reconnect_rport(target->rport))
		return SUCCESS;
	switch (wait_unblocked(target)) {
	case SRP_RPORT_RUNNING:
		return SUCCESS;
	case SRP_RPORT_FAIL_FAST:
	case SRP_RPORT_LOST:
		return FAST_IO_FAIL;
	default:
		return FAILED;
	}
}
