/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * dat.h - the contract of /dev/dat: its ioctls and its event rings
 *
 * What is in this header is never broken again: no ioctl goes or gets another
 * number, no field moves or changes its meaning, no error that is named here
 * gets another cause. It grows, as the next paragraphs say. DAT_DEV_VERSION
 * would change if that had to be broken.
 *
 * General ioctl format
 *
 * Every structure begins with its own size, set by the caller, and grows only
 * at its end. Bytes past what the kernel knows must be zero; bytes that the
 * caller does not have are taken as zero. errno tells what was wrong with the
 * ioctl itself, and then nothing has happened:
 *
 *  - ENOTTY: no such ioctl
 *  - EINVAL: size is smaller than the structure's first published version
 *  - E2BIG: bytes that this kernel does not know are not zero, or size is
 *    larger than a page
 *  - EFAULT: a structure, or memory that it points to, cannot be read/written
 *  - EOPNOTSUPP: a field marked __reserved is not zero
 *  - ENOMEM: no memory to carry the ioctl out
 *
 * If the ioctl itself was sound it returns 0 and @result carries the
 * DAT_RETURN of the call, in the numbers of DAT 2.0. Output fields have a
 * meaning only when @result is DAT_SUCCESS (0), or where a comment says so.
 *
 * Handles are small numbers that belong to the open file, never 0. Constants
 * (flags, masks, states, event numbers) have the values that DAT gives them.
 */
#ifndef _UAPI_LINUX_DAT_H
#define _UAPI_LINUX_DAT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define DAT_DEV_TYPE	0xDA
#define DAT_DEV_VERSION	1

enum {
	DAT_DEV_CMD_IA_OPEN = 0,
	DAT_DEV_CMD_IA_CLOSE,
	DAT_DEV_CMD_IA_QUERY,
	DAT_DEV_CMD_PZ_CREATE,
	DAT_DEV_CMD_PZ_QUERY,
	DAT_DEV_CMD_PZ_FREE,
	DAT_DEV_CMD_EVD_CREATE,
	DAT_DEV_CMD_EVD_WAIT,
	DAT_DEV_CMD_EVD_PULL,
	DAT_DEV_CMD_EVD_FREE,
	DAT_DEV_CMD_PSP_CREATE,
	DAT_DEV_CMD_PSP_FREE,
	DAT_DEV_CMD_CR_QUERY,
	DAT_DEV_CMD_CR_ACCEPT,
	DAT_DEV_CMD_CR_REJECT,
	DAT_DEV_CMD_EP_CREATE,
	DAT_DEV_CMD_EP_QUERY,
	DAT_DEV_CMD_EP_CONNECT,
	DAT_DEV_CMD_EP_DISCONNECT,
	DAT_DEV_CMD_EP_GET_STATUS,
	DAT_DEV_CMD_EP_FREE,
	DAT_DEV_CMD_POST,
	DAT_DEV_CMD_LMR_CREATE,
	DAT_DEV_CMD_LMR_QUERY,
	DAT_DEV_CMD_LMR_FREE,
	DAT_DEV_CMD_LMR_SYNC,
	DAT_DEV_CMD_RMR_CREATE,
	DAT_DEV_CMD_RMR_QUERY,
	DAT_DEV_CMD_RMR_FREE,
	DAT_DEV_CMD_HANDLE_QUERY,
	DAT_DEV_CMD_CONTEXT,
	DAT_DEV_CMD_EP_MODIFY,
	DAT_DEV_CMD_EP_RESET,
	DAT_DEV_CMD_EP_DUP_CONNECT,
	DAT_DEV_CMD_EP_RECV_QUERY,
	DAT_DEV_CMD_EP_SET_WATERMARK,
	DAT_DEV_CMD_CR_HANDOFF,
	DAT_DEV_CMD_PSP_CREATE_ANY,
	DAT_DEV_CMD_PSP_QUERY,
	DAT_DEV_CMD_RSP_CREATE,
	DAT_DEV_CMD_RSP_QUERY,
	DAT_DEV_CMD_RSP_FREE,
	DAT_DEV_CMD_SRQ_CREATE,
	DAT_DEV_CMD_SRQ_QUERY,
	DAT_DEV_CMD_SRQ_RESIZE,
	DAT_DEV_CMD_SRQ_SET_LW,
	DAT_DEV_CMD_SRQ_FREE,
	DAT_DEV_CMD_EVD_QUERY,
	DAT_DEV_CMD_EVD_RESIZE,
	DAT_DEV_CMD_EVD_POST_SE,
	DAT_DEV_CMD_EVD_SET,
	DAT_DEV_CMD_EVD_MODIFY_CNO,
	DAT_DEV_CMD_CNO_CREATE,
	DAT_DEV_CMD_CNO_QUERY,
	DAT_DEV_CMD_CNO_WAIT,
	DAT_DEV_CMD_CNO_SET_AGENT,
	DAT_DEV_CMD_CNO_FREE,
	DAT_DEV_CMD_FD,
	DAT_DEV_CMD_IA_LIST,
	DAT_DEV_CMD_RMR_CREATE_FOR_EP,
	DAT_DEV_CMD_CR_REJECT_WITH_DATA,
	DAT_DEV_CMD_CSP_CREATE,
	DAT_DEV_CMD_CSP_QUERY,
	DAT_DEV_CMD_CSP_FREE,
	DAT_DEV_CMD_EP_COMMON_CONNECT,
};

/**
 * struct dat_dev_free - free an object (DAT_DEV_PZ_FREE, _EVD_FREE, _CNO_FREE,
 *	_PSP_FREE, _RSP_FREE, _CSP_FREE, _EP_FREE, _SRQ_FREE, _LMR_FREE,
 *	_RMR_FREE), reject a CR (DAT_DEV_CR_REJECT) or reset an EP
 *	(DAT_DEV_EP_RESET)
 * @size: sizeof(struct dat_dev_free)
 * @result: out: DAT_RETURN
 * @handle: the object
 * @__reserved: 0
 */
struct dat_dev_free {
	__u32 size;
	__u32 result;
	__u32 handle;
	__u32 __reserved;
};

#define DAT_DEV_PZ_FREE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_PZ_FREE)
#define DAT_DEV_EVD_FREE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EVD_FREE)
#define DAT_DEV_PSP_FREE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_PSP_FREE)
#define DAT_DEV_EP_FREE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EP_FREE)
#define DAT_DEV_LMR_FREE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_LMR_FREE)
#define DAT_DEV_RMR_FREE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_RMR_FREE)
#define DAT_DEV_CR_REJECT _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CR_REJECT)
#define DAT_DEV_EP_RESET _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EP_RESET)
#define DAT_DEV_RSP_FREE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_RSP_FREE)
#define DAT_DEV_SRQ_FREE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_SRQ_FREE)
#define DAT_DEV_CSP_FREE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CSP_FREE)
#define DAT_DEV_CNO_FREE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CNO_FREE)

#define DAT_DEV_NAME_MAX 256

/**
 * struct dat_dev_ia_open - open an IA and its asynchronous EVD
 * @size: sizeof(struct dat_dev_ia_open)
 * @result: out: DAT_RETURN
 * @name: name of the IA, with its terminating 0
 * @dat_major: version of DAT that the caller was written for
 * @dat_minor: the same
 * @async_evd_qlen: minimum queue length of the asynchronous EVD
 * @ia: out: handle of the IA
 * @async_evd: out: handle of the asynchronous EVD
 * @async_ring_entries: out: size of that EVD's ring, see dat_dev_evd_create
 */
struct dat_dev_ia_open {
	__u32 size;
	__u32 result;
	char name[DAT_DEV_NAME_MAX];
	__u32 dat_major;
	__u32 dat_minor;
	__u32 async_evd_qlen;
	__u32 ia;
	__u32 async_evd;
	__u32 async_ring_entries;
};

#define DAT_DEV_IA_OPEN _IO(DAT_DEV_TYPE, DAT_DEV_CMD_IA_OPEN)

/**
 * struct dat_dev_ia_close - close an IA
 * @size: sizeof(struct dat_dev_ia_close)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @flags: DAT_CLOSE_FLAGS
 */
struct dat_dev_ia_close {
	__u32 size;
	__u32 result;
	__u32 ia;
	__u32 flags;
};

#define DAT_DEV_IA_CLOSE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_IA_CLOSE)

/**
 * struct dat_dev_addr - a struct sockaddr_in or sockaddr_in6, padded with 0
 * @bytes: the structure
 */
struct dat_dev_addr {
	__u8 bytes[32];
};

/**
 * struct dat_dev_ia_query - what the IA can do
 * @size: sizeof(struct dat_dev_ia_query)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @async_evd: out: its asynchronous EVD
 *
 * The rest is the fields of DAT_IA_ATTR and DAT_PROVIDER_ATTR that have the
 * same name; all are filled in. @evd_merging has bit 6 * row + column set
 * where the two event streams may share an EVD. @extensions is DAT_DEV_EXT_*.
 */
struct dat_dev_ia_query {
	__u32 size;
	__u32 result;
	__u32 ia;
	__u32 async_evd;
	char adapter_name[DAT_DEV_NAME_MAX];
	char vendor_name[DAT_DEV_NAME_MAX];
	struct dat_dev_addr ia_address;
	__u64 max_lmr_block_size;
	__u64 max_lmr_virtual_address;
	__u64 max_rmr_target_address;
	__u64 evd_merging;
	__u32 hardware_version_major;
	__u32 hardware_version_minor;
	__u32 firmware_version_major;
	__u32 firmware_version_minor;
	__u32 max_eps;
	__u32 max_dto_per_ep;
	__u32 max_rdma_read_per_ep_in;
	__u32 max_rdma_read_per_ep_out;
	__u32 max_evds;
	__u32 max_evd_qlen;
	__u32 max_iov_segments_per_dto;
	__u32 max_lmrs;
	__u32 max_pzs;
	__u32 max_message_size;
	__u32 max_rdma_size;
	__u32 max_rmrs;
	__u32 max_iov_segments_per_rdma_read;
	__u32 max_iov_segments_per_rdma_write;
	__u32 max_rdma_read_in;
	__u32 max_rdma_read_out;
	__u32 provider_version_major;
	__u32 provider_version_minor;
	__u32 completion_flags_supported;
	__u32 max_private_data_size;
	__u32 optimal_buffer_alignment;
	__u32 lmr_sync_req;
	__u32 max_srqs;
	__u32 max_ep_per_srq;
	__u32 max_recv_per_srq;
	__u32 dat_qos_supported;
	__u32 ep_creator;
	__u32 srq_supported;
	__u32 srq_watermarks_supported;
	__u32 srq_ep_pz_difference_supported;
	__u32 srq_info_supported;
	__u32 ep_recv_info_supported;
	__u32 dto_async_return_guaranteed;
	__u32 rdma_write_for_rdma_read_req;
	__u32 extensions;
	__u32 __reserved;
};

/* @extensions: what InfiniBand has more, and this IA */
#define DAT_DEV_EXT_WRITE_IMMED		0x1
#define DAT_DEV_EXT_FETCH_ADD		0x2
#define DAT_DEV_EXT_CMP_SWAP		0x4

#define DAT_DEV_IA_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_IA_QUERY)

/**
 * struct dat_dev_ia_info - an IA that can be opened
 * @name: its name
 * @dat_major: version of DAT that it speaks
 * @dat_minor: the same
 * @is_thread_safe: 1 if several threads may use it
 * @__reserved: 0
 */
struct dat_dev_ia_info {
	char name[DAT_DEV_NAME_MAX];
	__u32 dat_major;
	__u32 dat_minor;
	__u32 is_thread_safe;
	__u32 __reserved;
};

/**
 * struct dat_dev_ia_list - which IAs there are
 * @size: sizeof(struct dat_dev_ia_list)
 * @result: out: DAT_RETURN
 * @infos: address of an array of struct dat_dev_ia_info
 * @max: how many it has room for
 * @info_size: sizeof(struct dat_dev_ia_info)
 * @num: out, always: how many IAs there are; more than @max is an error, and
 *	then nothing is written to the array
 * @__reserved: 0
 */
struct dat_dev_ia_list {
	__u32 size;
	__u32 result;
	__u64 infos;
	__u32 max;
	__u32 info_size;
	__u32 num;
	__u32 __reserved;
};

#define DAT_DEV_IA_LIST _IO(DAT_DEV_TYPE, DAT_DEV_CMD_IA_LIST)

/**
 * struct dat_dev_pz_create - make a PZ; also queries one (DAT_DEV_PZ_QUERY)
 * @size: sizeof(struct dat_dev_pz)
 * @result: out: DAT_RETURN
 * @ia: in for DAT_DEV_PZ_CREATE, out for DAT_DEV_PZ_QUERY
 * @pz: out for DAT_DEV_PZ_CREATE, in for DAT_DEV_PZ_QUERY
 */
struct dat_dev_pz_create {
	__u32 size;
	__u32 result;
	__u32 ia;
	__u32 pz;
};

#define DAT_DEV_PZ_CREATE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_PZ_CREATE)
#define DAT_DEV_PZ_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_PZ_QUERY)

/**
 * struct dat_dev_event - one event in an EVD's ring
 * @number: DAT_EVENT_NUMBER
 * @status: DAT_DTO_COMPLETION_STATUS of a DTO or bind, reason of an async event
 * @handle: the EP (DTO, connection), RMR (bind), PSP or RSP (connection request)
 *	or whatever object an async event concerns; 0 if it no longer exists
 * @cr: the CR of a connection request
 * @cookie: user_cookie of a DTO or bind, conn_qual of a connection request,
 *	pointer of a software event
 * @length: transferred length of a DTO, private data size of a connection event
 * @operation: DAT_DTOS of a DTO
 * @rmr_context: rmr_context of a DTO; the immediate data of a receive that has
 *	any, whose number is DAT_IB_DTO_EVENT
 * @flags: DAT_DEV_EVENT_*
 * @__reserved: 0
 */
struct dat_dev_event {
	__u32 number;
	__u32 status;
	__u32 handle;
	__u32 cr;
	__u64 cookie;
	__u32 length;
	__u32 operation;
	__u32 rmr_context;
	__u32 flags;
	__u64 __reserved[3];
};

/* The number of what completes DAT_DEV_RDMA_WRITE_IMMED and atomic operations */
#define DAT_DEV_IB_DTO_EVENT	0x40000

#define DAT_DEV_EVENT_TRUNCATED	1	/* private data of a CR was cut */

#define DAT_DEV_EVD_DISABLED	1	/* does not trigger its CNO */
#define DAT_DEV_EVD_UNWAITABLE	2	/* DAT_DEV_EVD_WAIT is refused */

/**
 * struct dat_dev_ring - what mmap() of an EVD shows
 * @head: events consumed, modulo 2^32; written by the process
 * @__pad0: keeps the two writers' cache lines apart
 * @tail: events produced, modulo 2^32; written by the kernel
 * @waiting: not 0 while a thread is inside DAT_DEV_EVD_WAIT; written by the
 *	kernel
 * @is_old: not 0 if the EVD has been resized: unmap this ring, which stays empty,
 *	and map the new one; written by the kernel
 * @state: DAT_DEV_EVD_DISABLED and DAT_DEV_EVD_UNWAITABLE as they apply; written
 *	by the kernel
 * @__pad1: the same
 * @events: entry N is events[N % entries]
 *
 * Map it at file offset (handle * page size), with a length of
 * sizeof(struct dat_dev_ring) + entries * sizeof(struct dat_dev_event).
 * Read @tail with acquire, write @head with release semantics. A process that
 * writes anything else here confuses itself only.
 */
struct dat_dev_ring {
	__u32 head;
	__u32 __pad0[15];
	__u32 tail;
	__u32 waiting;
	__u32 is_old;
	__u32 state;
	__u32 __pad1[12];
	struct dat_dev_event events[];
};

/**
 * struct dat_dev_evd_create - make an EVD
 * @size: sizeof(struct dat_dev_evd_create)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @min_qlen: minimum number of events that it can hold
 * @flags: DAT_EVD_FLAGS
 * @evd: out: handle
 * @ring_entries: out: entries of the ring, a power of two
 * @cno: the CNO that it triggers, or 0
 */
struct dat_dev_evd_create {
	__u32 size;
	__u32 result;
	__u32 ia;
	__u32 min_qlen;
	__u32 flags;
	__u32 evd;
	__u32 ring_entries;
	__u32 cno;
};

#define DAT_DEV_EVD_CREATE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EVD_CREATE)

/**
 * struct dat_dev_evd_query - the parameters of an EVD
 * @size: sizeof(struct dat_dev_evd_query)
 * @result: out: DAT_RETURN
 * @evd: the EVD
 * @ia: out
 * @qlen: out: events that it was asked to hold
 * @flags: out: DAT_EVD_FLAGS
 * @cno: out: the CNO, 0 if none
 * @state: out: DAT_DEV_EVD_DISABLED and DAT_DEV_EVD_UNWAITABLE as they apply
 * @ring_entries: out: entries of the ring
 * @__reserved: 0
 */
struct dat_dev_evd_query {
	__u32 size;
	__u32 result;
	__u32 evd;
	__u32 ia;
	__u32 qlen;
	__u32 flags;
	__u32 cno;
	__u32 state;
	__u32 ring_entries;
	__u32 __reserved;
};

#define DAT_DEV_EVD_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EVD_QUERY)

/**
 * struct dat_dev_evd_resize - change how many events an EVD can hold
 * @size: sizeof(struct dat_dev_evd_resize)
 * @result: out: DAT_RETURN
 * @evd: the EVD
 * @min_qlen: minimum number of events that it can hold
 * @ring_entries: out: entries of the new ring
 * @__reserved: 0
 *
 * It must not be too few for the events that are queued, nor for the threshold
 * of a thread that waits: DAT_INVALID_STATE.
 *
 * The events that are left move to a new ring, which the process has to map;
 * the old one stays empty, with its @is_old set.
 */
struct dat_dev_evd_resize {
	__u32 size;
	__u32 result;
	__u32 evd;
	__u32 min_qlen;
	__u32 ring_entries;
	__u32 __reserved;
};

#define DAT_DEV_EVD_RESIZE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EVD_RESIZE)

/**
 * struct dat_dev_evd_post_se - queue a software event
 * @size: sizeof(struct dat_dev_evd_post_se)
 * @result: out: DAT_RETURN
 * @evd: the EVD
 * @__reserved: 0
 * @pointer: what the event carries
 */
struct dat_dev_evd_post_se {
	__u32 size;
	__u32 result;
	__u32 evd;
	__u32 __reserved;
	__u64 pointer;
};

#define DAT_DEV_EVD_POST_SE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EVD_POST_SE)

/**
 * struct dat_dev_evd_set - enable, disable, set or clear unwaitable
 * @size: sizeof(struct dat_dev_evd_set)
 * @result: out: DAT_RETURN
 * @evd: the EVD
 * @mask: DAT_DEV_EVD_DISABLED, DAT_DEV_EVD_UNWAITABLE: what shall change
 * @state: the same: what it shall be
 * @__reserved: 0
 */
struct dat_dev_evd_set {
	__u32 size;
	__u32 result;
	__u32 evd;
	__u32 mask;
	__u32 state;
	__u32 __reserved;
};

#define DAT_DEV_EVD_SET _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EVD_SET)

/**
 * struct dat_dev_evd_modify_cno - give an EVD another CNO
 * @size: sizeof(struct dat_dev_evd_modify_cno)
 * @result: out: DAT_RETURN
 * @evd: the EVD
 * @cno: the CNO, of the same IA, or 0 for none
 */
struct dat_dev_evd_modify_cno {
	__u32 size;
	__u32 result;
	__u32 evd;
	__u32 cno;
};

#define DAT_DEV_EVD_MODIFY_CNO _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EVD_MODIFY_CNO)

/**
 * struct dat_dev_cno_create - make a CNO; also queries one (DAT_DEV_CNO_QUERY)
 * @size: sizeof(struct dat_dev_cno_create)
 * @result: out: DAT_RETURN
 * @ia: in for DAT_DEV_CNO_CREATE, out for DAT_DEV_CNO_QUERY
 * @cno: out for DAT_DEV_CNO_CREATE, in for DAT_DEV_CNO_QUERY
 */
struct dat_dev_cno_create {
	__u32 size;
	__u32 result;
	__u32 ia;
	__u32 cno;
};

#define DAT_DEV_CNO_CREATE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CNO_CREATE)
#define DAT_DEV_CNO_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CNO_QUERY)

/**
 * struct dat_dev_cno_wait - wait until a CNO is triggered
 * @size: sizeof(struct dat_dev_cno_wait)
 * @result: out: DAT_SUCCESS, DAT_QUEUE_EMPTY (@timeout is over),
 *	DAT_INTERRUPTED_CALL, DAT_INVALID_HANDLE, DAT_INVALID_STATE (the agent
 *	is not this one any more)
 * @cno: the CNO
 * @timeout: microseconds, ~0 for ever
 * @agent: 0: take the trigger that the CNO remembers, or wait for one. Else wait
 *	until the agent that DAT_DEV_CNO_SET_AGENT has set by this number is due;
 *	@timeout means nothing then.
 * @evd: out: an EVD that has triggered it; 0 if the IA has been closed, or the
 *	last EVD of the CNO freed
 */
struct dat_dev_cno_wait {
	__u32 size;
	__u32 result;
	__u32 cno;
	__u32 timeout;
	__u32 agent;
	__u32 evd;
};

#define DAT_DEV_CNO_WAIT _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CNO_WAIT)

/**
 * struct dat_dev_cno_set_agent - somebody else is told of the next trigger, too
 * @size: sizeof(struct dat_dev_cno_set_agent)
 * @result: out: DAT_RETURN
 * @cno: the CNO
 * @agent: a number for DAT_DEV_CNO_WAIT, 0 for nobody; the agent before this
 *	one is not told any more
 */
struct dat_dev_cno_set_agent {
	__u32 size;
	__u32 result;
	__u32 cno;
	__u32 agent;
};

#define DAT_DEV_CNO_SET_AGENT _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CNO_SET_AGENT)

/**
 * struct dat_dev_fd - a file descriptor of an EVD or CNO, for poll() and epoll
 * @size: sizeof(struct dat_dev_fd)
 * @result: out: DAT_RETURN
 * @handle: the EVD or CNO
 * @fd: out: a new descriptor, closed by exec
 *
 * It is readable as long as the ring of the EVD holds events, or the CNO
 * remembers a trigger; when the object has gone it hangs up. There is nothing
 * to read(). It keeps the file of /dev/dat open.
 */
struct dat_dev_fd {
	__u32 size;
	__u32 result;
	__u32 handle;
	__s32 fd;
};

#define DAT_DEV_FD _IO(DAT_DEV_TYPE, DAT_DEV_CMD_FD)

/**
 * struct dat_dev_evd_wait - wait until the ring holds @threshold events
 * @size: sizeof(struct dat_dev_evd_wait)
 * @result: out: DAT_SUCCESS, DAT_TIMEOUT_EXPIRED, DAT_INTERRUPTED_CALL (a
 *	signal), DAT_ABORT (the EVD or IA has gone), DAT_INVALID_STATE (another
 *	thread waits, or the EVD is unwaitable), DAT_INVALID_PARAMETER,
 *	DAT_INVALID_HANDLE
 * @evd: the EVD
 * @timeout: microseconds, ~0 for ever
 * @threshold: at least 1, at most the EVD's queue length
 * @__reserved: 0
 *
 * DAT_DEV_EVD_PULL takes the same structure, looks at @evd only, and moves
 * events that came without notification (DAT_COMPLETION_UNSIGNALLED_FLAG)
 * into the ring.
 */
struct dat_dev_evd_wait {
	__u32 size;
	__u32 result;
	__u32 evd;
	__u32 timeout;
	__u32 threshold;
	__u32 __reserved;
};

#define DAT_DEV_EVD_WAIT _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EVD_WAIT)
#define DAT_DEV_EVD_PULL _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EVD_PULL)

/**
 * struct dat_dev_psp_create - listen on a connection qualifier
 * @size: sizeof(struct dat_dev_psp_create)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @evd: where connection requests go
 * @conn_qual: RDMA_PS_TCP port
 * @flags: DAT_PSP_FLAGS
 * @psp: out: handle
 */
struct dat_dev_psp_create {
	__u32 size;
	__u32 result;
	__u32 ia;
	__u32 evd;
	__u64 conn_qual;
	__u32 flags;
	__u32 psp;
};

#define DAT_DEV_PSP_CREATE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_PSP_CREATE)

/*
 * DAT_DEV_PSP_CREATE_ANY chooses the connection qualifier: there @conn_qual is
 * out. For DAT_DEV_PSP_QUERY @psp is in, all the rest is out.
 */
#define DAT_DEV_PSP_CREATE_ANY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_PSP_CREATE_ANY)
#define DAT_DEV_PSP_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_PSP_QUERY)

/**
 * struct dat_dev_rsp_create - listen for one connection request; also queries
 *	(DAT_DEV_RSP_QUERY: @rsp is in, all the rest is out)
 * @size: sizeof(struct dat_dev_rsp_create)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @evd: where the connection request goes
 * @conn_qual: RDMA_PS_TCP port
 * @ep: the EP that will be connected; 0 if the kernel is to make one
 * @rsp: out: handle
 */
struct dat_dev_rsp_create {
	__u32 size;
	__u32 result;
	__u32 ia;
	__u32 evd;
	__u64 conn_qual;
	__u32 ep;
	__u32 rsp;
};

#define DAT_DEV_RSP_CREATE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_RSP_CREATE)
#define DAT_DEV_RSP_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_RSP_QUERY)

/**
 * struct dat_dev_csp_create - listen as a socket would; also queries
 *	(DAT_DEV_CSP_QUERY: @csp is in, all the rest is out)
 * @size: sizeof(struct dat_dev_csp_create)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @evd: where connection requests go
 * @domain: arguments of socket()
 * @type: the same
 * @protocol: the same
 * @csp: out: handle
 * @address: of the IA, with the port; DAT_DEV_CSP_QUERY tells the one that was
 *	chosen if it is 0
 */
struct dat_dev_csp_create {
	__u32 size;
	__u32 result;
	__u32 ia;
	__u32 evd;
	__s32 domain;
	__s32 type;
	__s32 protocol;
	__u32 csp;
	struct dat_dev_addr address;
};

#define DAT_DEV_CSP_CREATE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CSP_CREATE)
#define DAT_DEV_CSP_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CSP_QUERY)

#define DAT_DEV_PRIVATE_DATA_MAX 256

/**
 * struct dat_dev_cr_query - who wants to connect
 * @size: sizeof(struct dat_dev_cr_query)
 * @result: out: DAT_RETURN
 * @cr: the CR
 * @private_data_size: out: bytes in @private_data
 * @ep: out: the EP that its service point has for it, 0 if none
 * @__reserved: 0
 * @remote_port: out: port qualifier of the peer
 * @remote_address: out: address of the peer
 * @private_data: out
 */
struct dat_dev_cr_query {
	__u32 size;
	__u32 result;
	__u32 cr;
	__u32 private_data_size;
	__u32 ep;
	__u32 __reserved;
	__u64 remote_port;
	struct dat_dev_addr remote_address;
	__u8 private_data[DAT_DEV_PRIVATE_DATA_MAX];
};

#define DAT_DEV_CR_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CR_QUERY)

/**
 * struct dat_dev_cr_accept - accept a connection request
 * @size: sizeof(struct dat_dev_cr_accept)
 * @result: out: DAT_RETURN
 * @cr: the CR; gone when @result is DAT_SUCCESS
 * @ep: the EP to connect; 0 if the request has one
 * @private_data_size: bytes in @private_data
 * @__reserved: 0
 * @private_data: for the peer
 */
struct dat_dev_cr_accept {
	__u32 size;
	__u32 result;
	__u32 cr;
	__u32 ep;
	__u32 private_data_size;
	__u32 __reserved;
	__u8 private_data[DAT_DEV_PRIVATE_DATA_MAX];
};

#define DAT_DEV_CR_ACCEPT _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CR_ACCEPT)

/*
 * DAT_DEV_CR_REJECT_WITH_DATA takes struct dat_dev_cr_accept too, @ep is 0:
 * DAT_DEV_CR_REJECT with private data.
 */
#define DAT_DEV_CR_REJECT_WITH_DATA _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CR_REJECT_WITH_DATA)

/**
 * struct dat_dev_cr_handoff - pass a connection request on
 * @size: sizeof(struct dat_dev_cr_handoff)
 * @result: out: DAT_RETURN
 * @cr: the CR; gone when @result is DAT_SUCCESS
 * @__reserved: 0
 * @conn_qual: to whoever listens there
 */
struct dat_dev_cr_handoff {
	__u32 size;
	__u32 result;
	__u32 cr;
	__u32 __reserved;
	__u64 conn_qual;
};

#define DAT_DEV_CR_HANDOFF _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CR_HANDOFF)

/**
 * struct dat_dev_ep_attr - DAT_EP_ATTR; 0 asks for the default
 * @__reserved: 0
 *
 * The other fields are those of DAT_EP_ATTR that have the same name.
 */
struct dat_dev_ep_attr {
	__u32 service_type;
	__u32 max_message_size;
	__u32 max_rdma_size;
	__u32 qos;
	__u32 recv_completion_flags;
	__u32 request_completion_flags;
	__u32 max_recv_dtos;
	__u32 max_request_dtos;
	__u32 max_recv_iov;
	__u32 max_request_iov;
	__u32 max_rdma_read_in;
	__u32 max_rdma_read_out;
	__u32 max_rdma_read_iov;
	__u32 max_rdma_write_iov;
	__u32 srq_soft_hw;
	__u32 __reserved;
};

/**
 * struct dat_dev_ep_create - make an EP
 * @size: sizeof(struct dat_dev_ep_create)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @pz: the PZ
 * @recv_evd: EVD for completions of receives, or 0
 * @request_evd: EVD for all other completions, or 0
 * @connect_evd: EVD for connection events, or 0
 * @has_attr: 1 if @attr was given, 0 for defaults only
 * @attr: wishes
 * @ep: out: handle
 * @srq: where receives come from, or 0; then @attr is needed, too
 */
struct dat_dev_ep_create {
	__u32 size;
	__u32 result;
	__u32 ia;
	__u32 pz;
	__u32 recv_evd;
	__u32 request_evd;
	__u32 connect_evd;
	__u32 has_attr;
	struct dat_dev_ep_attr attr;
	__u32 ep;
	__u32 srq;
};

#define DAT_DEV_EP_CREATE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EP_CREATE)

/**
 * struct dat_dev_ep_modify - change an EP that has no connection
 * @size: sizeof(struct dat_dev_ep_modify)
 * @result: out: DAT_RETURN
 * @ep: the EP
 * @__reserved: 0
 * @mask: DAT_EP_FIELD_* of DAT 2.0: which of the following count
 * @pz: the PZ
 * @recv_evd: as for dat_dev_ep_create
 * @request_evd: the same
 * @connect_evd: the same
 * @attr: the same
 */
struct dat_dev_ep_modify {
	__u32 size;
	__u32 result;
	__u32 ep;
	__u32 __reserved;
	__u64 mask;
	__u32 pz;
	__u32 recv_evd;
	__u32 request_evd;
	__u32 connect_evd;
	struct dat_dev_ep_attr attr;
};

#define DAT_DEV_EP_MODIFY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EP_MODIFY)

/**
 * struct dat_dev_ep_query - everything about an EP
 * @size: sizeof(struct dat_dev_ep_query)
 * @result: out: DAT_RETURN
 * @ep: the EP
 * @state: out: DAT_EP_STATE
 * @ia: out
 * @pz: out
 * @recv_evd: out, 0 if none
 * @request_evd: out, 0 if none
 * @connect_evd: out, 0 if none
 * @private_data_size: out: bytes in @private_data
 * @srq: out, 0 if none
 * @__reserved: 0
 * @local_port: out
 * @remote_port: out
 * @local_address: out
 * @remote_address: out
 * @attr: out
 * @private_data: out: what the peer sent when it accepted or rejected
 */
struct dat_dev_ep_query {
	__u32 size;
	__u32 result;
	__u32 ep;
	__u32 state;
	__u32 ia;
	__u32 pz;
	__u32 recv_evd;
	__u32 request_evd;
	__u32 connect_evd;
	__u32 private_data_size;
	__u32 srq;
	__u32 __reserved;
	__u64 local_port;
	__u64 remote_port;
	struct dat_dev_addr local_address;
	struct dat_dev_addr remote_address;
	struct dat_dev_ep_attr attr;
	__u8 private_data[DAT_DEV_PRIVATE_DATA_MAX];
};

#define DAT_DEV_EP_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EP_QUERY)

/**
 * struct dat_dev_ep_connect - connect an EP to a remote service point
 * @size: sizeof(struct dat_dev_ep_connect)
 * @result: out: DAT_RETURN
 * @ep: the EP
 * @timeout: microseconds, ~0 for ever
 * @conn_qual: remote connection qualifier
 * @remote_address: remote IA
 * @qos: DAT_QOS
 * @flags: DAT_CONNECT_FLAGS
 * @private_data_size: bytes in @private_data
 * @__reserved: 0
 * @private_data: for the peer
 */
struct dat_dev_ep_connect {
	__u32 size;
	__u32 result;
	__u32 ep;
	__u32 timeout;
	__u64 conn_qual;
	struct dat_dev_addr remote_address;
	__u32 qos;
	__u32 flags;
	__u32 private_data_size;
	__u32 __reserved;
	__u8 private_data[DAT_DEV_PRIVATE_DATA_MAX];
};

#define DAT_DEV_EP_CONNECT _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EP_CONNECT)

/*
 * DAT_DEV_EP_COMMON_CONNECT takes struct dat_dev_ep_connect too: the port is in
 * @remote_address, and @conn_qual, @qos and @flags are 0.
 */
#define DAT_DEV_EP_COMMON_CONNECT _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EP_COMMON_CONNECT)

/**
 * struct dat_dev_ep_dup_connect - connect an EP where another one is connected
 * @size: sizeof(struct dat_dev_ep_dup_connect)
 * @result: out: DAT_RETURN
 * @ep: the EP
 * @dup: the EP that is connected
 * @timeout: microseconds, ~0 for ever
 * @qos: DAT_QOS
 * @private_data_size: bytes in @private_data
 * @__reserved: 0
 * @private_data: for the peer
 */
struct dat_dev_ep_dup_connect {
	__u32 size;
	__u32 result;
	__u32 ep;
	__u32 dup;
	__u32 timeout;
	__u32 qos;
	__u32 private_data_size;
	__u32 __reserved;
	__u8 private_data[DAT_DEV_PRIVATE_DATA_MAX];
};

#define DAT_DEV_EP_DUP_CONNECT _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EP_DUP_CONNECT)

/**
 * struct dat_dev_ep_disconnect - end a connection
 * @size: sizeof(struct dat_dev_ep_disconnect)
 * @result: out: DAT_RETURN
 * @ep: the EP
 * @flags: DAT_CLOSE_FLAGS
 */
struct dat_dev_ep_disconnect {
	__u32 size;
	__u32 result;
	__u32 ep;
	__u32 flags;
};

#define DAT_DEV_EP_DISCONNECT _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EP_DISCONNECT)

/**
 * struct dat_dev_ep_status - the state of an EP
 * @size: sizeof(struct dat_dev_ep_status)
 * @result: out: DAT_RETURN
 * @ep: the EP
 * @state: out: DAT_EP_STATE
 * @recv_idle: out: 1 if no receive is outstanding
 * @request_idle: out: 1 if no other DTO or bind is outstanding
 */
struct dat_dev_ep_status {
	__u32 size;
	__u32 result;
	__u32 ep;
	__u32 state;
	__u32 recv_idle;
	__u32 request_idle;
};

#define DAT_DEV_EP_GET_STATUS _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EP_GET_STATUS)

/**
 * struct dat_dev_ep_recv_query - how many receive buffers an EP has
 * @size: sizeof(struct dat_dev_ep_recv_query)
 * @result: out: DAT_RETURN
 * @ep: the EP
 * @nbufs_allocated: out: receives that are posted, or taken from the SRQ
 * @bufs_alloc_span: out: from the first of them to the last
 * @__reserved: 0
 */
struct dat_dev_ep_recv_query {
	__u32 size;
	__u32 result;
	__u32 ep;
	__u32 nbufs_allocated;
	__u32 bufs_alloc_span;
	__u32 __reserved;
};

#define DAT_DEV_EP_RECV_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EP_RECV_QUERY)

/**
 * struct dat_dev_ep_set_watermark - how many receive buffers an EP may have
 * @size: sizeof(struct dat_dev_ep_set_watermark)
 * @result: out: DAT_RETURN
 * @ep: the EP
 * @soft: more than these are an event, ~0 for no limit
 * @hard: more than these end the connection, ~0 for no limit
 * @__reserved: 0
 */
struct dat_dev_ep_set_watermark {
	__u32 size;
	__u32 result;
	__u32 ep;
	__u32 soft;
	__u32 hard;
	__u32 __reserved;
};

#define DAT_DEV_EP_SET_WATERMARK \
	_IO(DAT_DEV_TYPE, DAT_DEV_CMD_EP_SET_WATERMARK)

/**
 * struct dat_dev_srq_create - make an SRQ
 * @size: sizeof(struct dat_dev_srq_create)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @pz: the PZ
 * @max_recv_dtos: receives that can be posted
 * @max_recv_iov: segments of each
 * @low_watermark: as for dat_dev_srq_set
 * @srq: out: handle
 */
struct dat_dev_srq_create {
	__u32 size;
	__u32 result;
	__u32 ia;
	__u32 pz;
	__u32 max_recv_dtos;
	__u32 max_recv_iov;
	__u32 low_watermark;
	__u32 srq;
};

#define DAT_DEV_SRQ_CREATE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_SRQ_CREATE)

/**
 * struct dat_dev_srq_query - everything about an SRQ
 * @size: sizeof(struct dat_dev_srq_query)
 * @result: out: DAT_RETURN
 * @srq: the SRQ
 * @state: out: DAT_SRQ_STATE
 * @ia: out
 * @pz: out
 * @max_recv_dtos: out
 * @max_recv_iov: out
 * @low_watermark: out
 * @available: out: posted, and not taken by an EP yet
 * @outstanding: out: taken by EPs, and not completed yet
 * @__reserved: 0
 */
struct dat_dev_srq_query {
	__u32 size;
	__u32 result;
	__u32 srq;
	__u32 state;
	__u32 ia;
	__u32 pz;
	__u32 max_recv_dtos;
	__u32 max_recv_iov;
	__u32 low_watermark;
	__u32 available;
	__u32 outstanding;
	__u32 __reserved;
};

#define DAT_DEV_SRQ_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_SRQ_QUERY)

/**
 * struct dat_dev_srq_set - resize an SRQ, or set its low watermark
 * @size: sizeof(struct dat_dev_srq_set)
 * @result: out: DAT_RETURN
 * @srq: the SRQ
 * @value: receives that can be posted (DAT_DEV_SRQ_RESIZE); fewer posted ones
 *	than these are an event, once (DAT_DEV_SRQ_SET_LW)
 */
struct dat_dev_srq_set {
	__u32 size;
	__u32 result;
	__u32 srq;
	__u32 value;
};

#define DAT_DEV_SRQ_RESIZE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_SRQ_RESIZE)
#define DAT_DEV_SRQ_SET_LW _IO(DAT_DEV_TYPE, DAT_DEV_CMD_SRQ_SET_LW)

/**
 * struct dat_dev_segment - a range of an LMR
 * @virtual_address: where it begins
 * @length: bytes
 * @lmr_context: the LMR
 */
struct dat_dev_segment {
	__u64 virtual_address;
	__u32 length;
	__u32 lmr_context;
};

enum dat_dev_opcode {
	DAT_DEV_SEND,
	DAT_DEV_RECV,
	DAT_DEV_RDMA_WRITE,
	DAT_DEV_RDMA_READ,
	DAT_DEV_RMR_BIND,
	DAT_DEV_SRQ_RECV,
	DAT_DEV_SEND_INVALIDATE,
	DAT_DEV_RDMA_READ_TO_RMR,
	DAT_DEV_RDMA_WRITE_IMMED,
	DAT_DEV_FETCH_ADD,
	DAT_DEV_CMP_SWAP,
};

/**
 * struct dat_dev_dto - one DTO or bind to post
 * @opcode: enum dat_dev_opcode
 * @ep: the EP; the SRQ of DAT_DEV_SRQ_RECV
 * @flags: DAT_COMPLETION_FLAGS; 0 for DAT_DEV_SRQ_RECV
 * @num_segments: number of @segments; 1 for a bind, an atomic operation, and a
 *	read to an RMR, whose segment has the rmr_context in the place of the
 *	lmr_context
 * @segments: address of an array of struct dat_dev_segment
 * @cookie: comes back in the completion event
 * @remote_address: RDMA: where in the remote region
 * @remote_length: RDMA: bytes there
 * @remote_context: RDMA: rmr_context of the remote region; DAT_DEV_SEND_INVALIDATE:
 *	what the peer shall lose; DAT_DEV_PRIV_ZERO_BASED: the LMR
 * @rmr: bind: the RMR
 * @privileges: bind: DAT_MEM_PRIV_FLAGS, DAT_DEV_PRIV_ZERO_BASED
 * @rmr_context: bind, out: the new context
 * @__reserved: 0
 * @immediate: DAT_DEV_RDMA_WRITE_IMMED: what the peer is told; its bytes go
 *	over the wire as they are
 * @compare_add: atomic operations: what to add, or to compare with
 * @swap: DAT_DEV_CMP_SWAP: the new value
 */
struct dat_dev_dto {
	__u32 opcode;
	__u32 ep;
	__u32 flags;
	__u32 num_segments;
	__u64 segments;
	__u64 cookie;
	__u64 remote_address;
	__u32 remote_length;
	__u32 remote_context;
	union {
		struct {
			__u32 rmr;
			__u32 privileges;
		};
		__u32 immediate;
		__u64 compare_add;
	};
	union {
		struct {
			__u32 rmr_context;
			__u32 __reserved;
		};
		__u64 swap;
	};
};

/**
 * struct dat_dev_post - post DTOs in order, stop at the first that fails
 * @size: sizeof(struct dat_dev_post)
 * @result: out: DAT_RETURN of the last that was tried
 * @dtos: address of an array of struct dat_dev_dto
 * @num_dtos: how many
 * @dto_size: sizeof(struct dat_dev_dto)
 * @posted: out, always: how many were posted
 * @__reserved: 0
 */
struct dat_dev_post {
	__u32 size;
	__u32 result;
	__u64 dtos;
	__u32 num_dtos;
	__u32 dto_size;
	__u32 posted;
	__u32 __reserved;
};

#define DAT_DEV_POST _IO(DAT_DEV_TYPE, DAT_DEV_CMD_POST)

#define DAT_DEV_COOKIE_SIZE	40

/**
 * struct dat_dev_lmr_create - pin and register memory of the caller
 * @size: sizeof(struct dat_dev_lmr_create)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @pz: the PZ
 * @mem_type: DAT_DEV_MEM_*
 * @privileges: DAT_MEM_PRIV_FLAGS, DAT_DEV_PRIV_ATOMIC, DAT_DEV_PRIV_RELAXED,
 *	DAT_DEV_PRIV_ZERO_BASED
 * @address: where the region begins; nothing for DAT_DEV_MEM_LMR
 * @length: bytes; nothing for DAT_DEV_MEM_LMR
 * @lmr: out: handle
 * @lmr_context: out
 * @rmr_context: out, 0 without remote privileges
 * @base: the LMR of DAT_DEV_MEM_LMR, else 0
 * @registered_address: out
 * @registered_size: out
 * @cookie: DAT_DEV_MEM_SHARED: what all who share the region call it
 */
struct dat_dev_lmr_create {
	__u32 size;
	__u32 result;
	__u32 ia;
	__u32 pz;
	__u32 mem_type;
	__u32 privileges;
	__u64 address;
	__u64 length;
	__u32 lmr;
	__u32 lmr_context;
	__u32 rmr_context;
	__u32 base;
	__u64 registered_address;
	__u64 registered_size;
	__u8 cookie[DAT_DEV_COOKIE_SIZE];
};

#define DAT_DEV_MEM_VIRTUAL	0	/* memory of the process */
#define DAT_DEV_MEM_LMR		1	/* that of another LMR */
#define DAT_DEV_MEM_SHARED	2	/* a shared mapping */

/* Peers may do atomic operations: DAT_IB_MEM_PRIV_REMOTE_ATOMIC */
#define DAT_DEV_PRIV_ATOMIC	0x40
/* What a peer writes may become visible in any order. */
#define DAT_DEV_PRIV_RELAXED	0x200
/* DAT_VA_TYPE_ZB: whoever uses the context counts from 0. */
#define DAT_DEV_PRIV_ZERO_BASED	0x400
/* DAT_DEV_RMR_QUERY: it was made by DAT_DEV_RMR_CREATE_FOR_EP. */
#define DAT_DEV_PRIV_FOR_EP	0x800

#define DAT_DEV_LMR_CREATE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_LMR_CREATE)

/*
 * DAT_DEV_LMR_QUERY takes struct dat_dev_lmr_create too: @lmr is in, all the
 * rest is out.
 */
#define DAT_DEV_LMR_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_LMR_QUERY)

/**
 * struct dat_dev_lmr_sync - dat_lmr_sync_rdma_read() and _write()
 * @size: sizeof(struct dat_dev_lmr_sync)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @direction: DAT_DEV_SYNC_READ or DAT_DEV_SYNC_WRITE
 * @segments: address of an array of struct dat_dev_segment
 * @num_segments: how many
 */
struct dat_dev_lmr_sync {
	__u32 size;
	__u32 result;
	__u32 ia;
	__u32 direction;
	__u64 segments;
	__u64 num_segments;
};

#define DAT_DEV_SYNC_READ	0
#define DAT_DEV_SYNC_WRITE	1

#define DAT_DEV_LMR_SYNC _IO(DAT_DEV_TYPE, DAT_DEV_CMD_LMR_SYNC)

/**
 * struct dat_dev_rmr_create - make an RMR; also queries one
 * @size: sizeof(struct dat_dev_rmr_create)
 * @result: out: DAT_RETURN
 * @pz: in for DAT_DEV_RMR_CREATE, out for DAT_DEV_RMR_QUERY
 * @rmr: out for DAT_DEV_RMR_CREATE, in for DAT_DEV_RMR_QUERY
 * @ia: out for DAT_DEV_RMR_QUERY
 * @privileges: out for DAT_DEV_RMR_QUERY: DAT_MEM_PRIV_FLAGS of the last
 *	bind, DAT_DEV_PRIV_ZERO_BASED, DAT_DEV_PRIV_FOR_EP
 * @segment: out for DAT_DEV_RMR_QUERY: what it is bound to, length 0 if it is
 *	not bound
 * @rmr_context: out for DAT_DEV_RMR_QUERY
 * @__reserved: 0
 */
struct dat_dev_rmr_create {
	__u32 size;
	__u32 result;
	__u32 pz;
	__u32 rmr;
	__u32 ia;
	__u32 privileges;
	struct dat_dev_segment segment;
	__u32 rmr_context;
	__u32 __reserved;
};

#define DAT_DEV_RMR_CREATE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_RMR_CREATE)
/* The same, of an RMR that goes with the EP on which it is bound */
#define DAT_DEV_RMR_CREATE_FOR_EP _IO(DAT_DEV_TYPE, DAT_DEV_CMD_RMR_CREATE_FOR_EP)
#define DAT_DEV_RMR_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_RMR_QUERY)

/**
 * struct dat_dev_handle_query - what type of object a handle names
 * @size: sizeof(struct dat_dev_handle_query)
 * @result: out: DAT_RETURN
 * @handle: the handle
 * @type: out: DAT_HANDLE_TYPE in the kernel's numbers, which have no CNO, or
 *	DAT_DEV_HANDLE_TYPE_CNO
 */
struct dat_dev_handle_query {
	__u32 size;
	__u32 result;
	__u32 handle;
	__u32 type;
};

#define DAT_DEV_HANDLE_TYPE_CNO	0x100

#define DAT_DEV_HANDLE_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_HANDLE_QUERY)

/**
 * struct dat_dev_context - the consumer context of an object
 * @size: sizeof(struct dat_dev_context)
 * @result: out: DAT_RETURN
 * @handle: the object
 * @set: 1 to set the context, 0 to get it
 * @context: 64 bits that belong to the consumer, 0 at first
 */
struct dat_dev_context {
	__u32 size;
	__u32 result;
	__u32 handle;
	__u32 set;
	__u64 context;
};

#define DAT_DEV_CONTEXT _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CONTEXT)

#endif /* _UAPI_LINUX_DAT_H */
