/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * dat.h - ABI of /dev/dat: its ioctls and its event rings
 *
 * This ABI is stable. No ioctl is removed or renumbered. No field moves or changes
 * its meaning. No error named here gets another cause. The ABI grows as described
 * below. An incompatible change would change DAT_DEV_VERSION.
 *
 * General ioctl format
 *
 * Every structure begins with its own size, set by the caller, and grows only
 * at its end. Bytes beyond the kernel's structure must be zero. Bytes beyond the
 * caller's structure are taken as zero. errno reports an error of the ioctl itself;
 * then the call has had no effect:
 *
 *  - ENOTTY: no such ioctl
 *  - EINVAL: size is smaller than the structure's first published version
 *  - E2BIG: bytes that this kernel does not define are not zero, or size is
 *    larger than a page
 *  - EFAULT: a structure, or memory that it points to, cannot be read or written
 *  - EOPNOTSUPP: a field marked __reserved is not zero
 *  - ENOMEM: no memory to execute the ioctl
 *
 * Otherwise the ioctl returns 0 and @result carries the DAT_RETURN of the call, in
 * the numbers of DAT 2.0. Output fields are valid only when @result is DAT_SUCCESS
 * (0), or where a comment states otherwise.
 *
 * io_uring
 *
 * DAT_DEV_POST, DAT_DEV_EVD_WAIT and DAT_DEV_CNO_WAIT can also be requests of
 * io_uring(7): IORING_OP_URING_CMD with the number of the ioctl in cmd_op and struct
 * dat_dev_uring in cmd. The result of the request is 0 or a negative errno of the
 * list above, and EOPNOTSUPP for any other ioctl. The structure must stay where it is
 * until the request completes. A wait that is cancelled carries DAT_INTERRUPTED_CALL
 * in @result, or the request ends with ECANCELED.
 *
 * Handles are small numbers that belong to the open file, never 0. Constants
 * (flags, masks, states, event numbers) have the values of DAT.
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
 * struct dat_dev_uring - an ioctl as a request of io_uring(7)
 * @argument: address of the structure of the ioctl
 * @__reserved: must be 0
 */
struct dat_dev_uring {
	__u64 argument;
	__u64 __reserved;
};

/**
 * struct dat_dev_free - free an object (DAT_DEV_PZ_FREE, _EVD_FREE, _CNO_FREE,
 *	_PSP_FREE, _RSP_FREE, _CSP_FREE, _EP_FREE, _SRQ_FREE, _LMR_FREE,
 *	_RMR_FREE), reject a CR (DAT_DEV_CR_REJECT) or reset an EP
 *	(DAT_DEV_EP_RESET)
 * @size: sizeof(struct dat_dev_free)
 * @result: out: DAT_RETURN
 * @handle: the object
 * @__reserved: must be 0, as in all structures
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
 * @dat_major: major version of DAT for which the caller was written
 * @dat_minor: minor version of it
 * @async_evd_qlen: minimum queue length of the asynchronous EVD, in events
 * @ia: out: handle of the IA
 * @async_evd: out: handle of the asynchronous EVD
 * @async_ring_entries: out: entries of that EVD's ring, see dat_dev_evd_create
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
 * struct dat_dev_ia_query - query the attributes of an IA
 * @size: sizeof(struct dat_dev_ia_query)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @async_evd: out: handle of its asynchronous EVD
 *
 * All other fields are out. Each has the meaning of the field of DAT_IA_ATTR or
 * DAT_PROVIDER_ATTR with the same name. In @evd_merging, bit 6 * row + column is set
 * if the two event streams may share an EVD. @extensions is DAT_DEV_EXT_*.
 *
 * The named attributes are pairs of strings, a name and its value, each with its null
 * byte. The kernel writes those pairs that fit.
 *
 * @named_attrs: in: address of a buffer for the named attributes
 * @named_attrs_size: in: bytes of the buffer, may be 0; out: bytes of all pairs
 * @__reserved2: 0
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
	__u64 named_attrs;
	__u32 named_attrs_size;
	__u32 __reserved2;
};

/* @extensions: InfiniBand extensions that the IA supports */
#define DAT_DEV_EXT_WRITE_IMMED		0x1
#define DAT_DEV_EXT_FETCH_ADD		0x2
#define DAT_DEV_EXT_CMP_SWAP		0x4

#define DAT_DEV_IA_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_IA_QUERY)

/**
 * struct dat_dev_ia_info - an IA that can be opened
 * @name: name of the IA
 * @dat_major: major version of DAT that the IA implements
 * @dat_minor: minor version of it
 * @is_thread_safe: 1 if several threads may use the IA at once
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
 * struct dat_dev_ia_list - list the IAs
 * @size: sizeof(struct dat_dev_ia_list)
 * @result: out: DAT_RETURN
 * @infos: address of an array of struct dat_dev_ia_info
 * @max: entries of that array
 * @info_size: sizeof(struct dat_dev_ia_info)
 * @num: out, always: number of IAs; if it is more than @max the call fails and
 *	writes nothing to the array
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
 * struct dat_dev_pz_create - create a PZ, or query one (DAT_DEV_PZ_QUERY)
 * @size: sizeof(struct dat_dev_pz_create)
 * @result: out: DAT_RETURN
 * @ia: IA; in for DAT_DEV_PZ_CREATE, out for DAT_DEV_PZ_QUERY
 * @pz: handle; out for DAT_DEV_PZ_CREATE, in for DAT_DEV_PZ_QUERY
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
 *	or the object of an async event; 0 if the object no longer exists
 * @cr: the CR of a connection request
 * @cookie: user_cookie of a DTO or bind, conn_qual of a connection request,
 *	pointer of a software event
 * @length: transferred bytes of a DTO, private data bytes of a connection event
 * @operation: DAT_DTOS of a DTO
 * @rmr_context: rmr_context of a DTO; immediate data of a receive with such
 *	data, whose @number is DAT_IB_DTO_EVENT
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

/*
 * Event number of completions of DAT_DEV_RDMA_WRITE_IMMED, of atomic operations, and of receives
 * with immediate data
 */
#define DAT_DEV_IB_DTO_EVENT	0x40000

/* @operation of a receive that took the immediate data of an RDMA Write */
#define DAT_DEV_RECV_IMMED	9
/* @operation of a receive of a message with immediate data */
#define DAT_DEV_RECV_MSG_IMMED	12

#define DAT_DEV_EVENT_TRUNCATED	1	/* private data of a CR was truncated */

#define DAT_DEV_EVD_DISABLED	1	/* does not trigger its CNO */
#define DAT_DEV_EVD_UNWAITABLE	2	/* DAT_DEV_EVD_WAIT is rejected */

/**
 * struct dat_dev_ring - the mapping of an EVD
 * @head: events consumed, modulo 2^32; written by the process
 * @__pad0: keeps the cache lines of process and kernel apart
 * @tail: events produced, modulo 2^32; written by the kernel
 * @waiting: not 0 while a thread waits in DAT_DEV_EVD_WAIT; written by the
 *	kernel
 * @is_old: not 0 if the EVD has been resized: unmap this ring, which stays empty,
 *	and map the new one; written by the kernel
 * @state: current DAT_DEV_EVD_DISABLED and DAT_DEV_EVD_UNWAITABLE; written
 *	by the kernel
 * @__pad1: keeps the events in cache lines of their own
 * @events: entry N is events[N % entries]
 *
 * Map the ring at file offset (handle * page size), with a length of
 * sizeof(struct dat_dev_ring) + entries * sizeof(struct dat_dev_event). A mapping keeps the
 * file of /dev/dat open. A child of fork() does not inherit it.
 * Read @tail with acquire, write @head with release semantics. A process that
 * writes to any other field affects only itself.
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
 * struct dat_dev_evd_create - create an EVD
 * @size: sizeof(struct dat_dev_evd_create)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @min_qlen: minimum number of events that the EVD can hold
 * @flags: DAT_EVD_FLAGS
 * @evd: out: handle
 * @ring_entries: out: entries of the ring, a power of two
 * @cno: the CNO that the EVD triggers, or 0
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
 * struct dat_dev_evd_query - query the parameters of an EVD
 * @size: sizeof(struct dat_dev_evd_query)
 * @result: out: DAT_RETURN
 * @evd: the EVD
 * @ia: out: its IA
 * @qlen: out: requested queue length, in events
 * @flags: out: DAT_EVD_FLAGS
 * @cno: out: the CNO, 0 if none
 * @state: out: current DAT_DEV_EVD_DISABLED and DAT_DEV_EVD_UNWAITABLE
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
 * struct dat_dev_evd_resize - change the queue length of an EVD
 * @size: sizeof(struct dat_dev_evd_resize)
 * @result: out: DAT_RETURN
 * @evd: the EVD
 * @min_qlen: minimum number of events that the EVD can hold
 * @ring_entries: out: entries of the new ring
 * @__reserved: 0
 *
 * @result is DAT_INVALID_STATE if @min_qlen is less than the number of queued events
 * or than the threshold of a waiting thread.
 *
 * The queued events move to a new ring, which the process has to map. The old ring
 * stays empty and its @is_old is set.
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
 * @pointer: value that the event carries
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
 * @mask: bits to change, of DAT_DEV_EVD_DISABLED and DAT_DEV_EVD_UNWAITABLE
 * @state: new values of the bits in @mask
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
 * struct dat_dev_evd_modify_cno - replace the CNO of an EVD
 * @size: sizeof(struct dat_dev_evd_modify_cno)
 * @result: out: DAT_RETURN
 * @evd: the EVD
 * @cno: the new CNO, of the same IA, or 0 for none
 */
struct dat_dev_evd_modify_cno {
	__u32 size;
	__u32 result;
	__u32 evd;
	__u32 cno;
};

#define DAT_DEV_EVD_MODIFY_CNO _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EVD_MODIFY_CNO)

/**
 * struct dat_dev_cno_create - create a CNO, or query one (DAT_DEV_CNO_QUERY)
 * @size: sizeof(struct dat_dev_cno_create)
 * @result: out: DAT_RETURN
 * @ia: IA; in for DAT_DEV_CNO_CREATE, out for DAT_DEV_CNO_QUERY
 * @cno: handle; out for DAT_DEV_CNO_CREATE, in for DAT_DEV_CNO_QUERY
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
 * @result: out: DAT_SUCCESS, DAT_QUEUE_EMPTY (@timeout has expired),
 *	DAT_INTERRUPTED_CALL, DAT_INVALID_HANDLE, DAT_INVALID_STATE (@agent has
 *	been replaced)
 * @cno: the CNO
 * @timeout: microseconds, ~0 for no limit; ignored if @agent is not 0
 * @agent: 0: take the pending trigger of the CNO, or wait for one. Otherwise wait
 *	for the trigger of the agent that DAT_DEV_CNO_SET_AGENT has set by this
 *	number.
 * @evd: out: an EVD that has triggered the CNO; 0 if the IA has been closed, or the
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
 * struct dat_dev_cno_set_agent - set an agent, which also gets the next trigger
 * @size: sizeof(struct dat_dev_cno_set_agent)
 * @result: out: DAT_RETURN
 * @cno: the CNO
 * @agent: a number for DAT_DEV_CNO_WAIT, 0 for no agent; the previous agent gets
 *	no more triggers
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
 * The descriptor is readable while the ring of the EVD holds events, or while the CNO
 * has a pending trigger. It reports a hangup after the object is freed. read() is not
 * supported. The descriptor does not keep the file of /dev/dat open: its objects are freed
 * when the last descriptor of that file is closed.
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
 * @size: sizeof(struct dat_dev_evd_wait); the first version ended before @dtos
 * @result: out: DAT_SUCCESS, DAT_TIMEOUT_EXPIRED, DAT_INTERRUPTED_CALL (a
 *	signal), DAT_ABORT (the EVD or IA has been freed), DAT_INVALID_STATE (another
 *	thread waits, or the EVD is unwaitable), DAT_INVALID_PARAMETER,
 *	DAT_INVALID_HANDLE; if not all of @dtos were posted, the result of the one that
 *	failed, and the call does not wait
 * @evd: the EVD
 * @timeout: microseconds, ~0 for no limit
 * @threshold: number of events, at least 1, at most the EVD's queue length
 * @__reserved: 0
 * @dtos: address of an array of struct dat_dev_dto, which are posted before the wait as
 *	DAT_DEV_POST posts them; nothing is posted to wait on an EVD that does not exist
 * @num_dtos: entries of that array; 0: nothing is posted
 * @dto_size: sizeof(struct dat_dev_dto)
 * @posted: out: number of posted DTOs
 * @__reserved2: 0
 *
 * DAT_DEV_EVD_PULL takes the same structure and uses only @evd. It moves
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
	__u64 dtos;
	__u32 num_dtos;
	__u32 dto_size;
	__u32 posted;
	__u32 __reserved2;
};

#define DAT_DEV_EVD_WAIT _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EVD_WAIT)
#define DAT_DEV_EVD_PULL _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EVD_PULL)

/**
 * struct dat_dev_psp_create - listen on a connection qualifier
 * @size: sizeof(struct dat_dev_psp_create)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @evd: EVD that reports connection requests
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
 * For DAT_DEV_PSP_CREATE_ANY the kernel chooses the connection qualifier: @conn_qual
 * is out. For DAT_DEV_PSP_QUERY @psp is in and all other fields are out.
 */
#define DAT_DEV_PSP_CREATE_ANY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_PSP_CREATE_ANY)
#define DAT_DEV_PSP_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_PSP_QUERY)

/**
 * struct dat_dev_rsp_create - listen for one connection request, or query an RSP
 *	(DAT_DEV_RSP_QUERY: @rsp is in, all other fields are out)
 * @size: sizeof(struct dat_dev_rsp_create)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @evd: EVD that reports the connection request
 * @conn_qual: RDMA_PS_TCP port
 * @ep: the EP to connect; 0 if the kernel creates one
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
 * struct dat_dev_csp_create - listen on a socket-like address, or query a CSP
 *	(DAT_DEV_CSP_QUERY: @csp is in, all other fields are out)
 * @size: sizeof(struct dat_dev_csp_create)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @evd: EVD that reports connection requests
 * @domain: domain, as for socket()
 * @type: type, as for socket()
 * @protocol: protocol, as for socket()
 * @csp: out: handle
 * @address: address of the IA, with the port; for port 0 the kernel chooses a port,
 *	which DAT_DEV_CSP_QUERY returns
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
 * struct dat_dev_cr_query - query a connection request
 * @size: sizeof(struct dat_dev_cr_query)
 * @result: out: DAT_RETURN
 * @cr: the CR
 * @private_data_size: out: bytes in @private_data
 * @ep: out: the EP that the service point provides, 0 if none
 * @__reserved: 0
 * @remote_port: out: port qualifier of the peer
 * @remote_address: out: address of the peer
 * @private_data: out: private data of the peer
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
 * @cr: the CR; freed when @result is DAT_SUCCESS
 * @ep: the EP to connect; 0 if the request has one
 * @private_data_size: bytes in @private_data
 * @__reserved: 0
 * @private_data: private data for the peer
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
 * DAT_DEV_CR_REJECT_WITH_DATA is DAT_DEV_CR_REJECT with private data. It takes
 * struct dat_dev_cr_accept, with @ep 0.
 */
#define DAT_DEV_CR_REJECT_WITH_DATA _IO(DAT_DEV_TYPE, DAT_DEV_CMD_CR_REJECT_WITH_DATA)

/**
 * struct dat_dev_cr_handoff - hand a connection request off to another service point
 * @size: sizeof(struct dat_dev_cr_handoff)
 * @result: out: DAT_RETURN
 * @cr: the CR; freed when @result is DAT_SUCCESS
 * @__reserved: 0
 * @conn_qual: connection qualifier of that service point
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
 * struct dat_dev_ep_attr - DAT_EP_ATTR; 0 selects the default
 * @__reserved: 0
 *
 * Each other field has the meaning of the field of DAT_EP_ATTR with the same name.
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
 * struct dat_dev_ep_create - create an EP
 * @size: sizeof(struct dat_dev_ep_create)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @pz: the PZ
 * @recv_evd: EVD for completions of receives, or 0
 * @request_evd: EVD for all other completions, or 0
 * @connect_evd: EVD for connection events, or 0
 * @has_attr: 1 if @attr is valid, 0 to use the defaults
 * @attr: requested attributes
 * @ep: out: handle
 * @srq: SRQ for receives, or 0; an SRQ requires @attr
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
 * struct dat_dev_ep_modify - modify an EP that has no connection
 * @size: sizeof(struct dat_dev_ep_modify)
 * @result: out: DAT_RETURN
 * @ep: the EP
 * @__reserved: 0
 * @mask: DAT_EP_FIELD_* of DAT 2.0: which of the following fields to change
 * @pz: the PZ
 * @recv_evd: see dat_dev_ep_create
 * @request_evd: see dat_dev_ep_create
 * @connect_evd: see dat_dev_ep_create
 * @attr: new attributes
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
 * struct dat_dev_ep_query - query the parameters of an EP
 * @size: sizeof(struct dat_dev_ep_query)
 * @result: out: DAT_RETURN
 * @ep: the EP
 * @state: out: DAT_EP_STATE
 * @ia: out: its IA
 * @pz: out: its PZ
 * @recv_evd: out: EVD for receives, 0 if none
 * @request_evd: out: EVD for other completions, 0 if none
 * @connect_evd: out: EVD for connection events, 0 if none
 * @private_data_size: out: bytes in @private_data
 * @srq: out: its SRQ, 0 if none
 * @__reserved: 0
 * @local_port: out: local port qualifier
 * @remote_port: out: port qualifier of the peer
 * @local_address: out: address of the IA
 * @remote_address: out: address of the peer
 * @attr: out: attributes of the EP
 * @private_data: out: private data of the peer's accept or reject
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
 * @timeout: microseconds, ~0 for no limit
 * @conn_qual: remote connection qualifier
 * @remote_address: address of the remote IA
 * @qos: DAT_QOS
 * @flags: DAT_CONNECT_FLAGS
 * @private_data_size: bytes in @private_data
 * @__reserved: 0
 * @private_data: private data for the peer
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
 * DAT_DEV_EP_COMMON_CONNECT also takes struct dat_dev_ep_connect. @remote_address
 * includes the port. @conn_qual, @qos and @flags must be 0.
 */
#define DAT_DEV_EP_COMMON_CONNECT _IO(DAT_DEV_TYPE, DAT_DEV_CMD_EP_COMMON_CONNECT)

/**
 * struct dat_dev_ep_dup_connect - connect an EP to the peer of a connected EP
 * @size: sizeof(struct dat_dev_ep_dup_connect)
 * @result: out: DAT_RETURN
 * @ep: the EP
 * @dup: the connected EP
 * @timeout: microseconds, ~0 for no limit
 * @qos: DAT_QOS
 * @private_data_size: bytes in @private_data
 * @__reserved: 0
 * @private_data: private data for the peer
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
 * struct dat_dev_ep_disconnect - disconnect an EP
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
 * struct dat_dev_ep_status - query the state of an EP
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
 * struct dat_dev_ep_recv_query - query the number of receive buffers of an EP
 * @size: sizeof(struct dat_dev_ep_recv_query)
 * @result: out: DAT_RETURN
 * @ep: the EP
 * @nbufs_allocated: out: receives that are posted, or taken from the SRQ
 * @bufs_alloc_span: out: span from the first to the last of these receives
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
 * struct dat_dev_ep_set_watermark - limit the number of receive buffers of an EP
 * @size: sizeof(struct dat_dev_ep_set_watermark)
 * @result: out: DAT_RETURN
 * @ep: the EP
 * @soft: more buffers than this cause an event, ~0 for no limit
 * @hard: more buffers than this break the connection, ~0 for no limit
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
 * struct dat_dev_srq_create - create an SRQ
 * @size: sizeof(struct dat_dev_srq_create)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @pz: the PZ
 * @max_recv_dtos: maximum number of posted receives
 * @max_recv_iov: maximum number of segments per receive
 * @low_watermark: see @value of dat_dev_srq_set
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
 * struct dat_dev_srq_query - query the parameters of an SRQ
 * @size: sizeof(struct dat_dev_srq_query)
 * @result: out: DAT_RETURN
 * @srq: the SRQ
 * @state: out: DAT_SRQ_STATE
 * @ia: out: its IA
 * @pz: out: its PZ
 * @max_recv_dtos: out: see dat_dev_srq_create
 * @max_recv_iov: out: see dat_dev_srq_create
 * @low_watermark: out: see dat_dev_srq_create
 * @available: out: receives that are posted and not yet taken by an EP
 * @outstanding: out: receives that EPs have taken and not completed
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
 * @value: DAT_DEV_SRQ_RESIZE: maximum number of posted receives.
 *	DAT_DEV_SRQ_SET_LW: fewer posted receives than this cause one event.
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
 * @virtual_address: address of the first byte
 * @length: bytes
 * @lmr_context: context of the LMR
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
	DAT_DEV_SEND_IMMED,
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
 * @cookie: value that the completion event returns
 * @remote_address: RDMA: address of the first byte in the remote region
 * @remote_length: RDMA: bytes in the remote region
 * @remote_context: RDMA: rmr_context of the remote region; DAT_DEV_SEND_INVALIDATE:
 *	the context that the peer invalidates; DAT_DEV_PRIV_ZERO_BASED: the LMR
 * @rmr: bind: the RMR
 * @privileges: bind: DAT_MEM_PRIV_FLAGS, DAT_DEV_PRIV_ZERO_BASED
 * @rmr_context: bind, out: the new context
 * @__reserved: 0
 * @immediate: DAT_DEV_RDMA_WRITE_IMMED, DAT_DEV_SEND_IMMED: immediate data for the peer, sent
 *	without byte swapping
 * @compare_add: atomic operations: operand to add or to compare with
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
 * @result: out: DAT_RETURN of the last DTO that was tried
 * @dtos: address of an array of struct dat_dev_dto
 * @num_dtos: entries of that array
 * @dto_size: sizeof(struct dat_dev_dto)
 * @posted: out, always: number of posted DTOs
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
 * @address: address of the first byte; ignored for DAT_DEV_MEM_LMR
 * @length: bytes; ignored for DAT_DEV_MEM_LMR
 * @lmr: out: handle
 * @lmr_context: out: context for local access
 * @rmr_context: out: context for peers, 0 without remote privileges
 * @base: the LMR of DAT_DEV_MEM_LMR, else 0
 * @registered_address: out: address of the registered region
 * @registered_size: out: bytes of the registered region
 * @cookie: DAT_DEV_MEM_SHARED: identifier that all sharing processes pass
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
#define DAT_DEV_MEM_LMR		1	/* memory of another LMR */
#define DAT_DEV_MEM_SHARED	2	/* a shared mapping */

/* DAT_IB_MEM_PRIV_REMOTE_ATOMIC: peers may execute atomic operations. */
#define DAT_DEV_PRIV_ATOMIC	0x40
/* Writes of a peer may become visible in any order. */
#define DAT_DEV_PRIV_RELAXED	0x200
/* DAT_VA_TYPE_ZB: addresses for the context start at 0. */
#define DAT_DEV_PRIV_ZERO_BASED	0x400
/* DAT_DEV_RMR_QUERY: DAT_DEV_RMR_CREATE_FOR_EP has created the RMR. */
#define DAT_DEV_PRIV_FOR_EP	0x800

#define DAT_DEV_LMR_CREATE _IO(DAT_DEV_TYPE, DAT_DEV_CMD_LMR_CREATE)

/*
 * DAT_DEV_LMR_QUERY also takes struct dat_dev_lmr_create. @lmr is in, all other
 * fields are out.
 */
#define DAT_DEV_LMR_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_LMR_QUERY)

/**
 * struct dat_dev_lmr_sync - dat_lmr_sync_rdma_read() and _write()
 * @size: sizeof(struct dat_dev_lmr_sync)
 * @result: out: DAT_RETURN
 * @ia: the IA
 * @direction: DAT_DEV_SYNC_READ or DAT_DEV_SYNC_WRITE
 * @segments: address of an array of struct dat_dev_segment
 * @num_segments: entries of that array
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
 * struct dat_dev_rmr_create - create an RMR, or query one (DAT_DEV_RMR_QUERY)
 * @size: sizeof(struct dat_dev_rmr_create)
 * @result: out: DAT_RETURN
 * @pz: PZ; in for DAT_DEV_RMR_CREATE, out for DAT_DEV_RMR_QUERY
 * @rmr: handle; out for DAT_DEV_RMR_CREATE, in for DAT_DEV_RMR_QUERY
 * @ia: out for DAT_DEV_RMR_QUERY: its IA
 * @privileges: out for DAT_DEV_RMR_QUERY: DAT_MEM_PRIV_FLAGS of the last
 *	bind, DAT_DEV_PRIV_ZERO_BASED, DAT_DEV_PRIV_FOR_EP
 * @segment: out for DAT_DEV_RMR_QUERY: the bound range, length 0 if the RMR is
 *	not bound
 * @rmr_context: out for DAT_DEV_RMR_QUERY: the current context
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
/* As DAT_DEV_RMR_CREATE; the RMR is tied to the EP on which it is bound. */
#define DAT_DEV_RMR_CREATE_FOR_EP _IO(DAT_DEV_TYPE, DAT_DEV_CMD_RMR_CREATE_FOR_EP)
#define DAT_DEV_RMR_QUERY _IO(DAT_DEV_TYPE, DAT_DEV_CMD_RMR_QUERY)

/**
 * struct dat_dev_handle_query - query the type of a handle
 * @size: sizeof(struct dat_dev_handle_query)
 * @result: out: DAT_RETURN
 * @handle: the handle
 * @type: out: DAT_HANDLE_TYPE of the kernel API, which has no CNO, or
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
 * struct dat_dev_context - get or set the consumer context of an object
 * @size: sizeof(struct dat_dev_context)
 * @result: out: DAT_RETURN
 * @handle: the object
 * @set: 1 to set the context, 0 to get it
 * @context: 64 bits for the consumer, initially 0
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
