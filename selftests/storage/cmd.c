// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cmd.c - the way of a command: memory opened, command sent, response, memory closed
 *
 * A command with data is three requests on one EP: registrations of its pages
 * (dat_lmr_fmr()), the Send behind them, and, when the response has come, invalidations
 * (dat_lmr_invalidate()). SCSI gets the command back after the last invalidation: then the
 * target cannot reach the pages any more. The invalidation also shows that the Send has
 * left its buffer, so Sends of such commands are not signalled.
 */
#include <linux/blk-mq.h>

#include "srp.h"

/**
 * srp_req_busy - does the request have a command?
 * @req: the request; ch->lock is held
 */
bool srp_req_busy(const struct srp_req *req)
{
	return req->awaits_rsp || req->dtos;
}

/**
 * srp_req_tag - return the tag of a request in IUs
 * @ch: the channel
 * @req: the request
 *
 * The tag of the next use differs, so that a late response reaches no other command.
 */
u64 srp_req_tag(const struct srp_channel *ch, const struct srp_req *req)
{
	return (u64)(req->generation & S32_MAX) << 32 | (req - ch->reqs);
}

/**
 * srp_channel_of - return the channel of a command, and its request there
 * @target: the target
 * @scmd: the command
 * @index: out: index of the request
 */
struct srp_channel *srp_channel_of(struct srp_target *target, struct scsi_cmnd *scmd,
				   unsigned int *index)
{
	u32 tag = blk_mq_unique_tag(scsi_cmd_to_rq(scmd));

	*index = blk_mq_unique_tag_to_tag(tag);
	return &target->ch[blk_mq_unique_tag_to_hwq(tag)];
}

/* Returns -EPROTO for credits that the target takes and has not given. */
static int add_credits(struct srp_channel *ch, s32 delta)
{
	s64 sum = (s64)ch->credits + delta;

	lockdep_assert_held(&ch->lock);
	if (sum < 0)
		return -EPROTO;
	ch->credits = min_t(s64, sum, SRP_MAX_CREDITS);
	if (ch->credits != sum)
		pr_warn_ratelimited("kdapl_srp: the target gives %d credits\n", delta);
	return 0;
}

/*
 * Gives a command that waits for nothing any more to SCSI. eh.c finds the request free
 * before scsi_done() has returned, and waits for the end of the section.
 */
static void complete_if_idle(struct srp_channel *ch, struct srp_req *req)
{
	struct scsi_cmnd *scmd = NULL;

	rcu_read_lock();
	spin_lock_bh(&ch->lock);
	if (req->scmd && !srp_req_busy(req)) {
		scmd = req->scmd;
		req->scmd = NULL;
		scmd->result = req->result;
		if (req->withdrawn) {
			scmd = NULL;
			wake_up(&ch->eh_wait);
		}
	}
	spin_unlock_bh(&ch->lock);
	if (scmd)
		scsi_done(scmd);
	rcu_read_unlock();
}

/**
 * srp_req_close - take the memory of a request back from the target
 * @ch: the channel
 * @req: the request, whose response has come or is not waited for any more. Its
 *	completion follows, now or later.
 *
 * Context: process or softirq.
 */
void srp_req_close(struct srp_channel *ch, struct srp_req *req)
{
	DAT_DTO_COOKIE cookie = { .as_64 = SRP_COOKIE(SRP_COOKIE_DTO, req - ch->reqs) };
	unsigned int i, num = req->num_mrs, closed = 0;
	DAT_RETURN ret;

	/* The first completion may come before the second is posted. */
	spin_lock_bh(&ch->lock);
	req->dtos += num;
	spin_unlock_bh(&ch->lock);
	req->num_mrs = 0;
	for (i = 0; i < num; i++) {
		ret = dat_lmr_invalidate(req->mrs[i].lmr, ch->ep, cookie, 0);
		if (!ret)
			continue;
		/* Unless the target has invalidated it, only the end of the IA closes it. */
		if (DAT_GET_SUBTYPE(ret) == DAT_INVALID_STATE_LMR_FREE)
			closed++;
		else
			srp_connection_lost(ch->target);
	}
	spin_lock_bh(&ch->lock);
	req->dtos -= closed;
	spin_unlock_bh(&ch->lock);
	complete_if_idle(ch, req);
}

static int register_table(struct srp_channel *ch, struct srp_req *req, struct scatterlist *sgl,
			  unsigned int nents, u32 length, DAT_MEM_PRIV_FLAGS privileges)
{
	struct sg_table table = { .sgl = sgl, .orig_nents = nents };
	struct dat_platform_region platform = {
		.table = &table,
		.first_offset = offset_in_page(sgl->offset),
		/* Any address will do. This one tells the target nothing. */
		.virtual_address = offset_in_page(sgl->offset),
	};
	DAT_REGION_DESCRIPTION region = { .for_platform = &platform };
	struct srp_mr *mr = &req->mrs[req->num_mrs];
	DAT_LMR_CONTEXT local;
	DAT_RETURN ret;

	ret = dat_lmr_fmr(mr->lmr, DAT_MEM_TYPE_PLATFORM, region, ch->target->lmr_pages,
			  privileges, DAT_VA_TYPE_VA, ch->ep, (DAT_LMR_COOKIE){},
			  DAT_COMPLETION_SUPPRESS_FLAG, &local, &mr->context);
	switch (DAT_GET_TYPE(ret)) {
	case DAT_SUCCESS:
		break;
	case DAT_INSUFFICIENT_RESOURCES:
		return -EAGAIN;
	case DAT_INVALID_STATE:
	case DAT_INVALID_HANDLE:
		return -ENOTCONN;
	default:
		return srp_check(ret, "dat_lmr_fmr()");
	}
	mr->address = platform.virtual_address;
	mr->length = length;
	req->num_mrs++;
	return 0;
}

/* Cuts the table of a command into pieces of at most lmr_pages pages each. */
static int register_pieces(struct srp_channel *ch, struct srp_req *req, struct scsi_cmnd *scmd,
			   DAT_MEM_PRIV_FLAGS privileges)
{
	u32 room = 0, used = 0, length = 0, most = ch->target->lmr_pages * PAGE_SIZE;
	unsigned int i, nents = 0;
	struct scatterlist *sg;
	int ret;

	scsi_for_each_sg(scmd, sg, scsi_sg_count(scmd), i) {
		for (used = 0; used < sg->length; used += req->sgl[nents - 1].length) {
			if (nents && !room) {
				ret = register_table(ch, req, req->sgl, nents, length, privileges);
				if (ret)
					return ret;
				nents = 0;
				length = 0;
			}
			if (!nents) {
				if (req->num_mrs == ch->target->mrs_per_req)
					return -E2BIG;
				sg_init_table(req->sgl, ch->target->lmr_pages);
				room = most - offset_in_page(sg->offset + used);
			}
			sg_set_page(&req->sgl[nents], sg_page(sg), min(sg->length - used, room),
				    sg->offset + used);
			room -= req->sgl[nents].length;
			length += req->sgl[nents++].length;
		}
	}
	return register_table(ch, req, req->sgl, nents, length, privileges);
}

static int register_data(struct srp_channel *ch, struct srp_req *req, struct scsi_cmnd *scmd)
{
	DAT_MEM_PRIV_FLAGS privileges = scmd->sc_data_direction == DMA_TO_DEVICE ?
						DAT_MEM_PRIV_REMOTE_READ_FLAG :
						DAT_MEM_PRIV_REMOTE_WRITE_FLAG;

	if (ch->target->mrs_per_req > 1)
		return register_pieces(ch, req, scmd, privileges);
	return register_table(ch, req, scsi_sglist(scmd), scsi_sg_count(scmd), scsi_bufflen(scmd),
			      privileges);
}

static struct srp_direct_buf descriptor_of(const struct srp_mr *mr)
{
	return (struct srp_direct_buf){
		.va = cpu_to_be64(mr->address),
		.key = cpu_to_be32(mr->context),
		.len = cpu_to_be32(mr->length),
	};
}

/* Small writes go with the command; the target reaches no memory of theirs. */
static bool goes_with_command(const struct srp_channel *ch, struct scsi_cmnd *scmd)
{
	return scmd->sc_data_direction == DMA_TO_DEVICE &&
	       scsi_bufflen(scmd) <= READ_ONCE(ch->imm_data);
}

static unsigned int copy_data(struct srp_cmd *cmd, struct scsi_cmnd *scmd)
{
	struct srp_imm_buf *imm = (void *)cmd->add_data;

	cmd->buf_fmt = SRP_DATA_DESC_IMM << 4;
	imm->len = cpu_to_be32(scsi_bufflen(scmd));
	sg_copy_to_buffer(scsi_sglist(scmd), scsi_sg_count(scmd), (void *)cmd + SRP_IMM_OFFSET,
			  scsi_bufflen(scmd));
	return SRP_IMM_OFFSET + scsi_bufflen(scmd);
}

/* Returns the length of the IU in bytes. */
static unsigned int describe_data(struct srp_cmd *cmd, const struct srp_req *req,
				  struct scsi_cmnd *scmd)
{
	struct srp_indirect_buf *indirect = (void *)cmd->add_data;
	struct srp_direct_buf *direct = (void *)cmd->add_data;
	bool out = scmd->sc_data_direction == DMA_TO_DEVICE;
	unsigned int i, length = sizeof(*cmd);
	u8 format = SRP_NO_DATA_DESC;

	if (req->num_mrs == 1) {
		format = SRP_DATA_DESC_DIRECT;
		*direct = descriptor_of(&req->mrs[0]);
		length += sizeof(*direct);
	} else if (req->num_mrs) {
		/* The list is complete, so the table that it is part of is never read. */
		format = SRP_DATA_DESC_INDIRECT;
		indirect->table_desc = (struct srp_direct_buf){
			.len = cpu_to_be32(req->num_mrs * sizeof(*direct)),
		};
		indirect->len = cpu_to_be32(scsi_bufflen(scmd));
		for (i = 0; i < req->num_mrs; i++)
			indirect->desc_list[i] = descriptor_of(&req->mrs[i]);
		if (out)
			cmd->data_out_desc_cnt = req->num_mrs;
		else
			cmd->data_in_desc_cnt = req->num_mrs;
		length += struct_size(indirect, desc_list, req->num_mrs);
	}
	cmd->buf_fmt = out ? format << 4 : format;
	return length;
}

static int send_command(struct srp_channel *ch, struct srp_req *req, struct scsi_cmnd *scmd)
{
	struct srp_cmd *cmd = srp_iu_of_req(ch, req - ch->reqs);
	bool registers = !req->dtos;
	unsigned int length;
	int ret;

	if (registers) {
		ret = register_data(ch, req, scmd);
		if (ret)
			return ret;
	}
	memset(cmd, 0, sizeof(*cmd));
	cmd->opcode = SRP_CMD;
	int_to_scsilun(scmd->device->lun, &cmd->lun);
	cmd->tag = srp_req_tag(ch, req);
	memcpy(cmd->cdb, scmd->cmnd, min_t(unsigned int, scmd->cmd_len, sizeof(cmd->cdb)));
	if (registers || !scsi_sg_count(scmd))
		length = describe_data(cmd, req, scmd);
	else
		length = copy_data(cmd, scmd);
	return srp_post_iu(ch, cmd, length, SRP_COOKIE(SRP_COOKIE_DTO, req - ch->reqs),
			   registers ? DAT_COMPLETION_SUPPRESS_FLAG : 0);
}

/* Takes a credit and the request. Returns false if the target cannot take the command. */
static bool begin(struct srp_channel *ch, struct srp_req *req, struct scsi_cmnd *scmd)
{
	bool can;

	spin_lock_bh(&ch->lock);
	can = ch->connected && ch->credits > SRP_TM_CREDITS && !req->scmd;
	if (can) {
		ch->credits--;
		req->scmd = scmd;
		req->awaits_rsp = true;
		req->dtos = !scsi_sg_count(scmd) || goes_with_command(ch, scmd);
		req->generation++;
		req->withdrawn = false;
		req->num_mrs = 0;
		req->result = 0;
	}
	spin_unlock_bh(&ch->lock);
	return can;
}

/* The target has not seen the command. SCSI tries again what can succeed then. */
static void not_sent(struct srp_channel *ch, struct srp_req *req, int error)
{
	bool again = error == -EAGAIN || error == -ENOTCONN;

	spin_lock_bh(&ch->lock);
	ch->credits++;
	req->awaits_rsp = false;
	req->dtos = 0;
	req->result = (again ? DID_REQUEUE : DID_ERROR) << 16;
	spin_unlock_bh(&ch->lock);
	srp_req_close(ch, req);
}

/**
 * srp_queuecommand - begin a command
 * @shost: the host
 * @scmd: the command
 *
 * The transport is not closed in the middle: srp_transport_quiesce() waits.
 *
 * Context: any; does not sleep.
 * Return: 0; SCSI_MLQUEUE_HOST_BUSY: not connected, or no credit.
 */
srp_qc_t srp_queuecommand(struct Scsi_Host *shost, struct scsi_cmnd *scmd)
{
	struct srp_target *target = srp_target_of(shost);
	unsigned int index;
	struct srp_channel *ch = srp_channel_of(target, scmd, &index);
	struct srp_req *req = &ch->reqs[index];
	int ret = srp_chkready(target->rport);

	if (unlikely(ret)) {
		scmd->result = ret;
		scsi_done(scmd);
		return 0;
	}
	rcu_read_lock();
	if (!begin(ch, req, scmd)) {
		ret = SCSI_MLQUEUE_HOST_BUSY;
		goto unlock_rcu;
	}
	/* A device in software begins when bottom halves run: not before all has been posted. */
	local_bh_disable();
	ret = send_command(ch, req, scmd);
	local_bh_enable();
	if (unlikely(ret))
		not_sent(ch, req, ret);
	/* The block layer does not poll for the error handler. */
	else if (ch->polled && shost->ehandler == current)
		queue_delayed_work(srp_wq, &ch->poll_work, 0);
	ret = 0;
unlock_rcu:
	rcu_read_unlock();
	return ret;
}

/* Copies what the target says of a command. Returns -EPROTO if that is not possible. */
static int take_response(struct srp_req *req, const struct srp_rsp *rsp, u32 length)
{
	u32 sense = be32_to_cpu(rsp->sense_data_len), data = be32_to_cpu(rsp->resp_data_len);
	struct scsi_cmnd *scmd = req->scmd;
	u32 residual = 0;

	if (!(rsp->flags & SRP_RSP_FLAG_RSPVALID))
		data = 0;
	if (!(rsp->flags & SRP_RSP_FLAG_SNSVALID))
		sense = 0;
	if ((u64)data + sense > length - sizeof(*rsp))
		return -EPROTO;
	if (rsp->flags & SRP_RSP_FLAG_DIUNDER)
		residual = be32_to_cpu(rsp->data_in_res_cnt);
	else if (rsp->flags & SRP_RSP_FLAG_DOUNDER)
		residual = be32_to_cpu(rsp->data_out_res_cnt);
	if (residual > scsi_bufflen(scmd))
		return -EPROTO;

	/* The target could not execute it; then the status has no meaning. */
	if (data >= 4 && rsp->data[3]) {
		req->result = DID_ERROR << 16;
		return 0;
	}
	scsi_set_resid(scmd, residual);
	memcpy(scmd->sense_buffer, rsp->data + data, min_t(u32, sense, SCSI_SENSE_BUFFERSIZE));
	req->result = rsp->status;
	return 0;
}

static void tm_response(struct srp_channel *ch, const struct srp_rsp *rsp, u32 length)
{
	bool valid = rsp->flags & SRP_RSP_FLAG_RSPVALID &&
		     be32_to_cpu(rsp->resp_data_len) >= 4 && length >= sizeof(*rsp) + 4;

	if (rsp->tag != ch->tm_tag || ch->tm_status != -EINPROGRESS)
		return;
	ch->tm_status = valid ? rsp->data[3] : -EPROTO;
	complete(&ch->tm_done);
}

static int response(struct srp_channel *ch, const struct srp_rsp *rsp, u32 length)
{
	u32 index = (u32)rsp->tag;
	struct srp_req *req = NULL;
	int ret;

	if (length < sizeof(*rsp))
		return -EPROTO;
	spin_lock_bh(&ch->lock);
	ret = add_credits(ch, be32_to_cpu(rsp->req_lim_delta));
	if (ret) {
		/* The caller ends the connection. */
	} else if (rsp->tag & SRP_TAG_TM) {
		tm_response(ch, rsp, length);
	} else if (index < ch->target->queue_size && ch->reqs[index].awaits_rsp &&
		   srp_req_tag(ch, &ch->reqs[index]) == rsp->tag) {
		ret = take_response(&ch->reqs[index], rsp, length);
		if (!ret) {
			req = &ch->reqs[index];
			req->awaits_rsp = false;
		}
	} else {
		pr_warn_ratelimited("kdapl_srp: no command has the tag %#llx\n", rsp->tag);
	}
	spin_unlock_bh(&ch->lock);
	if (req)
		srp_req_close(ch, req);
	return ret;
}

/* Its credits count. A target that asks faster than it takes answers breaks the protocol. */
static int answer(struct srp_channel *ch, u8 opcode, u64 tag, s32 credits)
{
	struct srp_cred_rsp *iu;
	unsigned int index;
	bool can;

	spin_lock_bh(&ch->lock);
	index = find_first_zero_bit(&ch->answers_busy, SRP_ANSWERS);
	can = index < SRP_ANSWERS && !add_credits(ch, credits);
	if (can)
		__set_bit(index, &ch->answers_busy);
	spin_unlock_bh(&ch->lock);
	if (!can)
		return -EPROTO;
	BUILD_BUG_ON(sizeof(struct srp_cred_rsp) != sizeof(struct srp_aer_rsp));
	iu = srp_iu_of_answer(ch, index);
	memset(iu, 0, sizeof(*iu));
	iu->opcode = opcode;
	iu->tag = tag;
	return srp_post_iu(ch, iu, sizeof(*iu), SRP_COOKIE(SRP_COOKIE_ANSWER, index), 0);
}

static int credit_request(struct srp_channel *ch, const struct srp_cred_req *req, u32 length)
{
	if (length < sizeof(*req))
		return -EPROTO;
	return answer(ch, SRP_CRED_RSP, req->tag, be32_to_cpu(req->req_lim_delta));
}

static int event_request(struct srp_channel *ch, const struct srp_aer_req *req, u32 length)
{
	if (length < sizeof(*req))
		return -EPROTO;
	shost_printk(KERN_WARNING, ch->target->shost, "asynchronous event of LUN %llu\n",
		     scsilun_to_int((struct scsi_lun *)&req->lun));
	return answer(ch, SRP_AER_RSP, req->tag, be32_to_cpu(req->req_lim_delta));
}

static int received(struct srp_channel *ch, const void *iu, u32 length)
{
	const struct srp_t_logout *logout = iu;

	if (length < sizeof(struct srp_i_logout))
		return -EPROTO;
	switch (*(const u8 *)iu) {
	case SRP_RSP:
		return response(ch, iu, length);
	case SRP_CRED_REQ:
		return credit_request(ch, iu, length);
	case SRP_AER_REQ:
		return event_request(ch, iu, length);
	case SRP_T_LOGOUT:
		shost_printk(KERN_WARNING, ch->target->shost, "the target has logged out\n");
		return length < sizeof(*logout) ? -EPROTO : -ESHUTDOWN;
	default:
		return -EPROTO;
	}
}

/**
 * srp_dto_upcall - process a completion
 * @data: the channel
 * @event: the event
 * @more: unused
 *
 * Completions with errors are ignored: the connection has ended, and closing the transport
 * finishes all commands.
 *
 * Context: softirq, or of the poller.
 */
void srp_dto_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct srp_channel *ch = data;
	u32 index = (u32)dto->user_cookie.as_64;
	int ret;

	if (dto->status != DAT_DTO_SUCCESS)
		return;
	switch (dto->user_cookie.as_64 >> 32) {
	case SRP_COOKIE_RECV:
		ret = received(ch, srp_iu_received(ch, index), dto->transfered_length);
		if (ret == -EPROTO)
			shost_printk(KERN_ERR, ch->target->shost,
				     "the target violates the protocol: IU %#x of %llu bytes\n",
				     *(u8 *)srp_iu_received(ch, index),
				     (u64)dto->transfered_length);
		if (ret || srp_post_recv(ch, index))
			srp_connection_lost(ch->target);
		break;
	case SRP_COOKIE_ANSWER:
		spin_lock_bh(&ch->lock);
		__clear_bit(index, &ch->answers_busy);
		spin_unlock_bh(&ch->lock);
		break;
	case SRP_COOKIE_DTO:
		spin_lock_bh(&ch->lock);
		ch->reqs[index].dtos--;
		spin_unlock_bh(&ch->lock);
		complete_if_idle(ch, &ch->reqs[index]);
		break;
	}
}
