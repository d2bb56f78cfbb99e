/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * srp.h - the objects of kdapl_srp and the functions that its files share
 *
 * A SCSI host is a target port. It has one IA, one PZ, and as many channels as it has
 * hardware queues. A channel is a connection with its own EP, EVDs, buffers and requests.
 * Nothing on the way of a request is shared between channels.
 *
 * Locking: rport->mutex orders everything that opens or closes the transport or waits for
 * the target. ch->poll_lock is held while a polled channel is polled. ch->lock guards the
 * requests and the credits of a channel; no other lock is taken under it. A command begins
 * and completes in RCU read-side sections: after synchronize_rcu(), no thread is in the
 * middle of a command that it began, or took, before.
 */
#ifndef KDAPL_SRP_H
#define KDAPL_SRP_H

#include <linux/completion.h>
#include <linux/scatterlist.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <scsi/scsi_cmnd.h>
#include <scsi/scsi_host.h>
#include <scsi/scsi_transport_srp.h>
#include <scsi/srp.h>
#include <dat/kdat.h>

/* Bytes of an IU, in both directions, without immediate data; SRP demands at least 64. */
#define SRP_IU_SIZE		512
/* Where immediate data stand in the IU of a command */
#define SRP_IMM_OFFSET		(sizeof(struct srp_cmd) + sizeof(struct srp_imm_buf))
#define SRP_MAX_IMM_DATA	8192
/* Most descriptors of a command. They all fit into its IU. */
#define SRP_MAX_DESCS		16
/* One credit of each channel is kept for task management. */
#define SRP_TM_CREDITS		1
/* Answers to requests of the target that may be outstanding. */
#define SRP_ANSWERS		4
/* No honest target gives as many credits. */
#define SRP_MAX_CREDITS		65536

/**
 * struct srp_mr - an LMR of a request
 * @lmr: from dat_lmr_allocate()
 * @context: names it for the target
 * @address: what the target calls its first byte
 * @length: in bytes
 */
struct srp_mr {
	DAT_LMR_HANDLE lmr;
	DAT_RMR_CONTEXT context;
	DAT_VADDR address;
	u32 length;
};

/**
 * struct srp_req - a request, and what opens its memory to the target
 * @scmd: the command of SCSI, NULL while the request is free
 * @awaits_rsp: the target has not responded
 * @dtos: completions that are still to come: of the Send of a command without data, of
 *	each invalidation
 * @generation: part of the tag; a response to an earlier use is recognised by it
 * @withdrawn: eh.c completes the command
 * @result: of the command, from the response
 * @num_mrs: LMRs that are registered
 * @mrs: as many as the host has for each request
 * @sgl: room for the part of a table that one LMR covers; NULL if one covers all
 */
struct srp_req {
	struct scsi_cmnd *scmd;
	bool awaits_rsp;
	unsigned int dtos;
	u32 generation;
	bool withdrawn;
	int result;
	unsigned int num_mrs;
	struct srp_mr *mrs;
	struct scatterlist *sgl;
};

/**
 * struct srp_channel - a connection to the target
 * @target: the target
 * @ep: the EP
 * @dto_evd: receives and requests; without upcalls for a channel that is polled
 * @conn_evd: events of the connection
 * @iu_lmr: covers @ius
 * @iu_context: its context
 * @ius: the buffers: received IUs, then one of each request, then others
 * @reqs: requests, by the tag of the block layer
 * @polled: completions are found by polling
 * @poll_work: polls while the error handler waits for a command
 * @poll_lock: held by who polls
 * @lock: guards what follows, and @reqs
 * @connected: commands can be posted
 * @credits: commands that the target takes
 * @imm_data: bytes that a command to the target may carry with it
 * @answers_busy: bitmap of answers whose Send has not completed
 * @tm_tag: tag of the latest task management request
 * @tm_status: -EINPROGRESS, then response code of the target, or -EPROTO
 * @tm_done: completed by its response
 * @eh_wait: woken when a withdrawn request gets free
 * @step: completed by an event of a connection that is being made
 * @login: outcome of the login; 0, -EINPROGRESS or an errno
 */
struct srp_channel {
	struct srp_target *target;
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE dto_evd;
	DAT_EVD_HANDLE conn_evd;
	DAT_LMR_HANDLE iu_lmr;
	DAT_LMR_CONTEXT iu_context;
	u8 *ius;
	struct srp_req *reqs;
	bool polled;
	struct delayed_work poll_work;
	spinlock_t poll_lock;

	spinlock_t lock;
	bool connected;
	int credits;
	unsigned int imm_data;
	unsigned long answers_busy;
	u64 tm_tag;
	int tm_status;
	struct completion tm_done;
	wait_queue_head_t eh_wait;

	struct completion step;
	int login;
};

/**
 * struct srp_target - a target port, private data of its SCSI host
 * @shost: the host
 * @rport: of the SRP transport class
 * @list: in the list of all targets
 * @ia_name: name of the IA
 * @ia: the IA; DAT_HANDLE_NULL while the transport is closed
 * @pz: the PZ
 * @async_evd: asynchronous errors of the IA
 * @address: address of the target
 * @qual: its port
 * @id_ext: first half of the target's port identifier, in network order
 * @ioc_guid: second half
 * @initiator_ext: second half of the initiator's port identifier
 * @port_id: the initiator's port identifier
 * @queue_size: requests of a channel
 * @imm_data: bytes of immediate data to ask for at the login
 * @iu_size: bytes of each buffer for an IU
 * @num_channels: channels that report by upcalls
 * @num_polled: channels after these that are polled
 * @lmr_pages: pages that an LMR of a request covers
 * @mrs_per_req: LMRs of a request
 * @ch: the channels
 * @broken: the end of the connection has been reported to the transport class
 * @removing: the host is being removed
 * @error_work: reports the end of a connection
 * @remove_work: removes the host
 */
struct srp_target {
	struct Scsi_Host *shost;
	struct srp_rport *rport;
	struct list_head list;
	char ia_name[DAT_NAME_MAX_LENGTH];
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async_evd;
	struct sockaddr_storage address;
	DAT_CONN_QUAL qual;
	__be64 id_ext;
	__be64 ioc_guid;
	__be64 initiator_ext;
	u8 port_id[16];
	unsigned int queue_size;
	unsigned int imm_data;
	unsigned int iu_size;
	unsigned int num_channels;
	unsigned int num_polled;
	unsigned int lmr_pages;
	unsigned int mrs_per_req;
	struct srp_channel *ch;
	atomic_t broken;
	unsigned long removing;
	struct work_struct error_work;
	struct work_struct remove_work;
};

/* target.c */
extern struct workqueue_struct *srp_wq;
int srp_check(DAT_RETURN ret, const char *call);
#define SRP_CHECK(call)	srp_check(call, #call)
int srp_transport_open(struct srp_target *target);
void srp_transport_close(struct srp_target *target);
void srp_finish_all(struct srp_target *target, int result);
void srp_connection_lost(struct srp_target *target);
int srp_target_init(struct srp_target *target);
void srp_target_destroy(struct srp_target *target);
void srp_logout(struct srp_target *target);

/* channel.c */
int srp_channel_open(struct srp_channel *ch, bool first);
int srp_channel_init(struct srp_channel *ch, struct srp_target *target, bool polled);
void srp_channel_destroy(struct srp_channel *ch);
void *srp_iu_of_req(struct srp_channel *ch, unsigned int index);
void *srp_iu_of_tm(struct srp_channel *ch);
void *srp_iu_of_answer(struct srp_channel *ch, unsigned int index);
int srp_post_iu(struct srp_channel *ch, const void *iu, unsigned int length, u64 cookie,
		DAT_COMPLETION_FLAGS flags);
int srp_post_recv(struct srp_channel *ch, unsigned int index);
void *srp_iu_received(struct srp_channel *ch, unsigned int index);
int srp_channel_poll(struct srp_channel *ch);
void srp_channel_quiesce(struct srp_channel *ch);

/* cmd.c */
enum srp_cookie {
	/* Of requests whose success is suppressed */
	SRP_COOKIE_NONE,
	SRP_COOKIE_RECV,
	SRP_COOKIE_DTO,
	SRP_COOKIE_ANSWER,
};

#define SRP_COOKIE(kind, index)	((u64)(kind) << 32 | (index))
/* Set in the tags of task management. */
#define SRP_TAG_TM		(1ULL << 63)

typedef typeof(((struct scsi_host_template *)NULL)->queuecommand(NULL, NULL)) srp_qc_t;

srp_qc_t srp_queuecommand(struct Scsi_Host *shost, struct scsi_cmnd *scmd);
struct srp_channel *srp_channel_of(struct srp_target *target, struct scsi_cmnd *scmd,
				   unsigned int *index);
void srp_dto_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more);
bool srp_req_busy(const struct srp_req *req);
u64 srp_req_tag(const struct srp_channel *ch, const struct srp_req *req);
void srp_req_close(struct srp_channel *ch, struct srp_req *req);

/* eh.c */
int srp_eh_abort(struct scsi_cmnd *scmd);
int srp_eh_reset_device(struct scsi_cmnd *scmd);
int srp_eh_reset_host(struct scsi_cmnd *scmd);

static inline struct srp_target *srp_target_of(struct Scsi_Host *shost)
{
	return (struct srp_target *)shost->hostdata;
}

static inline unsigned int srp_all_channels(const struct srp_target *target)
{
	return target->num_channels + target->num_polled;
}

#endif /* KDAPL_SRP_H */
