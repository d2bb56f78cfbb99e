/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * libdat.h - what the files of libdat share
 *
 * libdat is a shim: the kernel has the state of all objects. A hash table by
 * handle (table.c) holds only what must live in the process: the mapped ring of
 * an EVD, and the memory behind pointers that DAT returns to the program.
 *
 * Most files are also compiled into libdaplkdat, the provider of libdat2, with
 * a <dat/udat.h> that has the types and numbers of DAT 2.0.
 */
#ifndef _LIBDAT_H
#define _LIBDAT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dat/udat.h>
#include <linux/dat.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* Not in <dat/dat_error.h>: programs define it for themselves. */
#define DAT_ERROR(type, subtype) \
	((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))

#define BAD_ARG(number) \
	DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG ## number)

#define NO_MEMORY \
	DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)

/* Handle values; see libdat_to_kernel(). */
#define NO_HANDLE	0
#define BAD_HANDLE	UINT32_MAX

/*
 * fork() takes the locks of all files, the outer ones first, so that no other thread holds one.
 * It runs the handlers of pthread_atfork() that were registered last first: these are the
 * priorities of the constructors, from the inner locks to the outer ones. The lock of loader.c
 * is the outermost.
 */
#define LIBDAT_FORK_HANDLES	101
#define LIBDAT_FORK_TABLE	102
#define LIBDAT_FORK_DEVICE	103
#define LIBDAT_FORK_EXTERNAL	104
#define LIBDAT_FORK_REGISTRY	105

/* dev.c */
const char *libdat_device(void);
DAT_RETURN libdat_open(void);
DAT_RETURN libdat_call(unsigned long cmd, void *arg);
DAT_RETURN libdat_uring_fd(unsigned long cmd, int *fd);
struct dat_dev_ring *libdat_map_ring(__u32 evd, __u32 entries);
void libdat_unmap_ring(struct dat_dev_ring *ring, __u32 entries);

DAT_RETURN libdat_return_from_errno(int err);

/* handles.c */
void libdat_handles_disown(void);

/**
 * libdat_free_call - make an ioctl whose only argument is a handle
 * @cmd: the ioctl
 * @handle: the kernel's handle of the object
 *
 * Thread safe.
 *
 * Return: as libdat_call().
 */
static inline DAT_RETURN libdat_free_call(unsigned long cmd, __u32 handle)
{
	struct dat_dev_free arg = { .size = sizeof(arg), .handle = handle };

	return libdat_call(cmd, &arg);
}

/* convert.c */

/**
 * struct libdat_iov - an iov in the format of the kernel
 * @segments: the array; free it by libdat_iov_free()
 * @count: entries of @segments
 * @inline_segments: memory of a short array
 */
struct libdat_iov {
	struct dat_dev_segment *segments;
	__u32 count;
	struct dat_dev_segment inline_segments[16];
};

#define LIBDAT_MAX_IOV	4096

DAT_RETURN libdat_iov_to_kernel(struct libdat_iov *iov, const DAT_LMR_TRIPLET *triplet,
				DAT_COUNT count);
void libdat_iov_free(struct libdat_iov *iov);
bool libdat_segment_to_kernel(struct dat_dev_segment *segment,
			      const DAT_LMR_TRIPLET *triplet);
bool libdat_ep_attr_to_kernel(struct dat_dev_ep_attr *out, const DAT_EP_ATTR *in,
			      DAT_EP_PARAM_MASK mask);
void libdat_ep_attr_to_user(DAT_EP_ATTR *out, const struct dat_dev_ep_attr *in);
DAT_RETURN libdat_addr_to_kernel(struct dat_dev_addr *out,
				 const DAT_SOCK_ADDR *in);
DAT_RETURN libdat_private_data_to_kernel(__u8 *out, DAT_COUNT size,
					 const void *data, DAT_RETURN bad_size);

#if DAT_VERSION_MAJOR >= 2

/* libdaplkdat: handles are pointers, and events have more fields. */
__u32 libdat_to_kernel(DAT_HANDLE handle);
DAT_HANDLE libdat_to_user(__u32 handle);
void libdat_event_finish(DAT_EVENT *out, const struct dat_dev_event *in);

/* The kernel uses the numbers of DAT 2.0. */
static inline DAT_RETURN libdat_return_from_kernel(__u32 kernel)
{
	return kernel;
}

#else

/* handles.c: 0, unless a child of fork() inherited handles */
extern uintptr_t libdat_handle_mark __attribute__((visibility("hidden")));

/* error.c */
DAT_RETURN libdat_return_from_kernel(__u32 kernel);

/**
 * libdat_to_kernel - the kernel's handle of an object
 * @handle: the handle that the program passed
 *
 * A handle is the kernel's, of 31 bits, and the mark of the process. A value with another mark,
 * such as a handle that a child of fork() inherited, must not refer to an object, nor be taken
 * for DAT_HANDLE_NULL.
 *
 * Return: the handle, NO_HANDLE for DAT_HANDLE_NULL; for a value with another mark BAD_HANDLE
 * or another number that the kernel never returns.
 */
static inline __u32 libdat_to_kernel(DAT_HANDLE handle)
{
	__u64 value = (uintptr_t)handle ^ libdat_handle_mark;

	/* With 64 bits the mark does not reach the number, so the test below finds 0. */
	if (sizeof(handle) == sizeof(__u32) && handle == DAT_HANDLE_NULL)
		return NO_HANDLE;
	if (value - 1 < BAD_HANDLE)
		return (__u32)value;
	return handle == DAT_HANDLE_NULL ? NO_HANDLE : BAD_HANDLE;
}

static inline DAT_HANDLE libdat_to_user(__u32 handle)
{
	return handle == NO_HANDLE ? DAT_HANDLE_NULL :
				     (DAT_HANDLE)(handle ^ libdat_handle_mark);
}

/*
 * DAT 1.2 has no immediate data: their receive is a plain one. The length is that of the
 * Write, and the buffer of the receive is empty.
 */
static inline void libdat_event_finish(DAT_EVENT *out,
				       const struct dat_dev_event *in)
{
	if (in->number == DAT_DEV_IB_DTO_EVENT && in->operation == DAT_DEV_RECV_IMMED)
		out->event_data.dto_completion_event_data.transfered_length = 0;
}

#endif

/**
 * libdat_priv_to_kernel - memory privileges for the kernel
 * @flags: the flags that the program passed
 *
 * Removes the flag of Solaris that forbids relaxed ordering: the kernel uses
 * relaxed ordering only if asked.
 *
 * Return: the flags that the kernel knows, and unknown bits.
 */
static inline __u32 libdat_priv_to_kernel(DAT_MEM_PRIV_FLAGS flags)
{
	return (__u32)flags & ~(__u32)DAT_MEM_PRIV_RO_DISABLE_FLAG;
}

/**
 * libdat_priv_is_reserved - test for bits that a program must not set
 * @flags: return value of libdat_priv_to_kernel()
 */
static inline bool libdat_priv_is_reserved(__u32 flags)
{
	/* In DAT 2.0 atomics are a privilege, and zero based an argument. */
	if (DAT_VERSION_MAJOR >= 2)
		flags &= ~(__u32)(DAT_DEV_PRIV_ZERO_BASED |
				  DAT_DEV_PRIV_ATOMIC);
	return flags & (DAT_DEV_PRIV_RELAXED | DAT_DEV_PRIV_ZERO_BASED |
			DAT_DEV_PRIV_ATOMIC);
}

/**
 * libdat_count_to_user - a number of the kernel as a DAT_COUNT, which is signed
 * @count: the number
 *
 * Return: the number, or the greatest DAT_COUNT.
 */
static inline DAT_COUNT libdat_count_to_user(__u32 count)
{
	return count <= INT_MAX ? (DAT_COUNT)count : INT_MAX;
}

/*
 * The kinds of fields of dat_attrs.def. COPY_TO_USER() copies a field.
 */
#define VALUE_TO_USER(value)	(value)
#define LENGTH_TO_USER(value)	(value)
#define COUNT_TO_USER(value)	libdat_count_to_user(value)
#define BOOL_TO_USER(value)	((value) ? DAT_TRUE : DAT_FALSE)
#define COPY_TO_USER(kind, field) \
	(out->field = (__typeof__(out->field))kind ## _TO_USER(in->field))

/* conf.c */

/**
 * struct libdat_alias - a name that dat.conf(5) defines
 * @name: the name
 * @library: library of its external provider, NULL for an IA of the kernel
 * @ia: the kernel's name of the IA, or the argument of dat_provider_init()
 * @minor: minor version of DAT 1 that the library has
 * @is_thread_safe: whether the library is thread safe
 */
struct libdat_alias {
	const char *name;
	const char *library;
	const char *ia;
	unsigned int minor;
	bool is_thread_safe;
};

/**
 * struct libdat_conf - parser of the text of a dat.conf(5)
 * @text: the unread part
 * @end: its end, a byte that the parser may write
 * @line: number of the last line that was read; 0 before the first
 * @why: what is wrong with that line; NULL if the line defines @alias
 * @alias: the definition; its strings are in the text
 */
struct libdat_conf {
	char *text;
	char *end;
	unsigned int line;
	const char *why;
	struct libdat_alias alias;
};

bool libdat_conf_next(struct libdat_conf *conf);
const struct libdat_alias *libdat_aliases(size_t *num);
const struct libdat_alias *libdat_alias_find(const char *name);

/* table.c */

#define LIBDAT_NUM_BUCKETS	256

static inline unsigned int libdat_bucket_of(__u32 handle)
{
	return (handle * UINT32_C(0x61c88647)) >> 24;
}

struct libdat_agent;

enum libdat_kind {
	LIBDAT_IA,
	LIBDAT_EVD,
	LIBDAT_EP,
	LIBDAT_CR,
	LIBDAT_CNO,
	LIBDAT_LMR,
	LIBDAT_CSP,
};

/**
 * struct libdat_object - head of an entry of the table
 * @next: chain of the hash table
 * @handle: the kernel's handle of the object
 * @ia: the kernel's handle of its IA; an IA refers to itself
 * @kind: type of the structure that begins with this head
 * @serial: serial number, unique for the life of the process
 */
struct libdat_object {
	struct libdat_object *next;
	__u32 handle;
	__u32 ia;
	enum libdat_kind kind;
	unsigned long serial;
};

/**
 * union libdat_addr - memory behind a DAT_IA_ADDRESS_PTR
 * @dev: the kernel's format
 * @generic: the program's format
 * @in6: aligns the union
 */
union libdat_addr {
	struct dat_dev_addr dev;
	DAT_SOCK_ADDR generic;
	DAT_SOCK_ADDR6 in6;
};

/* Named attributes of an IA, and bytes of their strings: twice what the kernel has */
#define LIBDAT_MAX_NAMED	32
#define LIBDAT_NAMED_SIZE	1024

/**
 * struct libdat_ia - an open IA
 * @object: head
 * @is_ro_aware: the program opened the IA with the prefix RO_AWARE_
 * @has_no_evd: the program has no asynchronous EVD
 * @addr: target of ia_address_ptr and local_ia_address_ptr
 * @named: the named attributes when the IA was opened
 * @num_named: their number
 * @strings: their names and values
 */
struct libdat_ia {
	struct libdat_object object;
	bool is_ro_aware;
	bool has_no_evd;
	union libdat_addr addr;
	DAT_NAMED_ATTR named[LIBDAT_MAX_NAMED];
	DAT_COUNT num_named;
	char strings[LIBDAT_NAMED_SIZE];
};

/**
 * struct libdat_evd - an EVD
 * @object: head
 * @ring: the mapped ring; NULL before libdat_evd_add()
 * @entries: entries of @ring, a power of two
 * @qlen: requested queue length, the limit of thresholds
 * @pull: an EP has fed the EVD without notification: if the ring is empty, the
 *	kernel may have events that are not in the ring
 * @unnotified: number of EPs that feed the EVD without notification
 * @solicited: number of these with DAT_COMPLETION_SOLICITED_WAIT_FLAG
 * @waiting: a thread is in dat_evd_wait()
 *
 * lockless.c reads @pull and @waiting without the lock.
 */
struct libdat_evd {
	struct libdat_object object;
	struct dat_dev_ring *ring;
	__u32 entries;
	__u32 qlen;
	bool pull;
	int unnotified;
	int solicited;
	bool waiting;
};

/**
 * struct libdat_ep - an EP
 * @object: head
 * @recv_evd: EVD of its receives, or NO_HANDLE
 * @recv_flags: completion flags of its receives
 * @request_evd: EVD of its requests, or NO_HANDLE
 * @request_flags: completion flags of its requests
 * @local: target of local_ia_address_ptr
 * @remote: target of remote_ia_address_ptr
 * @private_data: target of private_data in connection events
 */
struct libdat_ep {
	struct libdat_object object;
	__u32 recv_evd;
	__u32 recv_flags;
	__u32 request_evd;
	__u32 request_flags;
	union libdat_addr local;
	union libdat_addr remote;
	__u8 private_data[DAT_DEV_PRIVATE_DATA_MAX];
};

/**
 * struct libdat_cr - a connection request
 * @object: head
 * @remote: target of remote_ia_address_ptr
 * @private_data: target of private_data
 */
struct libdat_cr {
	struct libdat_object object;
	union libdat_addr remote;
	__u8 private_data[DAT_DEV_PRIVATE_DATA_MAX];
};

/**
 * struct libdat_cno - a CNO
 * @object: head
 * @agent: the agent that the next trigger calls, or NULL
 */
struct libdat_cno {
	struct libdat_object object;
	struct libdat_agent *agent;
};

/**
 * struct libdat_lmr - an LMR of shared memory
 * @object: head
 * @cookie: target of shared_memory_id
 */
struct libdat_lmr {
	struct libdat_object object;
	char cookie[DAT_LMR_COOKIE_SIZE];
};

/**
 * struct libdat_csp - a CSP, which only DAT 2.0 has
 * @object: head
 * @comm: target of comm
 * @address: target of address_ptr
 */
struct libdat_csp {
	struct libdat_object object;
#if DAT_VERSION_MAJOR >= 2
	DAT_COMM comm;
#endif
	union libdat_addr address;
};

void *libdat_object_alloc(enum libdat_kind kind);
void libdat_object_destroy(struct libdat_object *object);
DAT_RETURN libdat_object_call(struct libdat_object *object, unsigned long cmd,
			      void *arg);
void libdat_object_add(struct libdat_object *object, __u32 handle,
		       __u32 ia);
void *libdat_object_lock(__u32 handle, enum libdat_kind kind);
void libdat_object_unlock(__u32 handle);
void libdat_object_remove(__u32 handle, enum libdat_kind kind);
void libdat_object_remove_ia(__u32 ia);
void libdat_objects_disown(void);

/* lockless.c */
void libdat_lockless_publish(struct libdat_evd *evd);
void libdat_lockless_withdraw(struct libdat_evd *evd);
void libdat_lockless_disown(void);
bool libdat_lockless_is_empty(__u32 handle);

/* ring.c */
__u32 libdat_ring_count(struct libdat_evd *evd);
void libdat_ring_renew(struct libdat_evd *evd);
void libdat_ring_check(struct libdat_evd *evd);
void libdat_ring_first(const struct libdat_evd *evd, struct dat_dev_event *event);
void libdat_ring_advance(struct libdat_evd *evd);
void libdat_ring_consume(struct libdat_evd *evd, struct dat_dev_event *event);
bool libdat_ring_has_waiter(const struct libdat_evd *evd);

/* cr.c */
DAT_RETURN libdat_cr_dismiss(unsigned long cmd, void *arg,
			     DAT_CR_HANDLE cr_handle);

/* event.c */
DAT_DTO_COMPLETION_STATUS libdat_status_to_user(__u32 status);
void libdat_event_to_user(DAT_EVENT *out, const struct dat_dev_event *in,
			  __u32 evd, __u32 ia);

/* evd.c */
DAT_RETURN libdat_evd_post_wait(DAT_EVD_HANDLE evd_handle, struct dat_dev_post *post,
				DAT_TIMEOUT timeout, DAT_COUNT threshold,
				DAT_EVENT *event, DAT_COUNT *nmore);
DAT_RETURN libdat_evd_take(__u32 handle, __u32 max, struct dat_dev_event *raw, __u32 *num);
DAT_RETURN libdat_evd_begin_wait(__u32 handle, DAT_TIMEOUT timeout,
				 DAT_COUNT threshold, struct dat_dev_evd_wait *arg);
DAT_RETURN libdat_evd_add(struct libdat_evd *evd, __u32 handle, __u32 ia,
			  __u32 entries, DAT_COUNT qlen);
DAT_RETURN libdat_evd_param_to_user(DAT_EVD_PARAM *out,
				    const struct dat_dev_evd_query *in);
void libdat_evd_unnotified(__u32 handle, __u32 flags, int count);

/* cno.c */
void libdat_cno_param_to_user(DAT_CNO_PARAM *out,
			      const struct dat_dev_cno_create *in);
void libdat_agent_put(struct libdat_agent *agent);

/* ep.c */
DAT_RETURN libdat_ep_create_common(DAT_IA_HANDLE ia_handle,
				   DAT_PZ_HANDLE pz_handle,
				   DAT_EVD_HANDLE recv_evd_handle,
				   DAT_EVD_HANDLE request_evd_handle,
				   DAT_EVD_HANDLE connect_evd_handle,
				   __u32 srq, const DAT_EP_ATTR *attr,
				   DAT_RETURN bad_attr,
				   DAT_EP_HANDLE *ep_handle);
void libdat_ep_param_to_user(DAT_EP_PARAM *out,
			     const struct dat_dev_ep_query *in);
void libdat_ep_remove(__u32 handle);
void libdat_ep_remove_if_freed(__u32 handle);

/* ia.c */
size_t libdat_ro_aware_prefix(const char *name);
DAT_RETURN libdat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT qlen,
			   DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia,
			   DAT_UINT32 major, DAT_UINT32 minor,
			   DAT_BOOLEAN thread_safety);

/* shim.c and others: libdat_<name>() for each call of the table */
#define CALL(name, type, parameters, arguments, external) \
	DAT_RETURN libdat_ ## name parameters;
#define SHIM(name, type, parameters, ...) \
	DAT_RETURN libdat_ ## name parameters;
#define VIA	SHIM
#include "calls.def"

/* lmr.c */
void libdat_lmr_param_to_user(DAT_LMR_PARAM *out,
			      const struct dat_dev_lmr_create *in);
DAT_RETURN libdat_lmr_sync(DAT_IA_HANDLE ia_handle,
			   const DAT_LMR_TRIPLET *local_segments,
			   DAT_VLEN num_segments, __u32 direction);

/* post.c */
DAT_RETURN libdat_post_dto(__u32 opcode, DAT_HANDLE handle,
			   DAT_COUNT num_segments,
			   const DAT_LMR_TRIPLET *local_iov,
			   DAT_DTO_COOKIE user_cookie,
			   const DAT_RMR_TRIPLET *remote,
			   DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN libdat_post(struct dat_dev_dto *dto);
bool libdat_remote_to_kernel(struct dat_dev_dto *dto, const DAT_RMR_TRIPLET *in);
DAT_RETURN libdat_post_iov(struct dat_dev_dto *dto, DAT_COUNT num_segments,
			   const DAT_LMR_TRIPLET *local_iov);

/* linux.c */
struct dat_linux_dto;

int64_t libdat_batch_segments(DAT_COUNT num, const struct dat_linux_dto *dtos);
struct dat_dev_dto *libdat_batch_alloc(DAT_COUNT num, int64_t total,
				       struct dat_dev_segment **segments);
DAT_RETURN libdat_batch_to_kernel(struct dat_dev_post *arg, DAT_COUNT num,
				  const struct dat_linux_dto *dtos, struct dat_dev_dto *out,
				  struct dat_dev_segment *segments);
DAT_COUNT libdat_batch_posted(const struct dat_dev_post *arg, struct dat_linux_dto *dtos);

#endif /* _LIBDAT_H */
