/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * libdat.h - what the files of libdat share
 *
 * The library keeps no copy of what the kernel knows. It remembers, in one
 * table keyed by handle (table.c), only what has to live in the process: the
 * mapped ring of an EVD, and the memory that DAT lets it hand out pointers to.
 *
 * Most files are also compiled for the provider of libdat2 in tools/libdaplkdat,
 * with a <dat/udat.h> that has the types and numbers of DAT 2.0.
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

#define BAD_ARG(number) \
	DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG ## number)

/* handle values: see libdat_handle_in() */
#define NO_HANDLE	0
#define BAD_HANDLE	UINT32_MAX

/* dev.c */
const char *libdat_device(void);
DAT_RETURN libdat_open(void);
DAT_RETURN libdat_call(unsigned long cmd, void *arg);
DAT_RETURN libdat_free_call(unsigned long cmd, DAT_HANDLE handle);
struct dat_dev_ring *libdat_map_ring(__u32 evd, __u32 entries);
void libdat_unmap_ring(struct dat_dev_ring *ring, __u32 entries);

/* error.c */
DAT_RETURN libdat_return_in(__u32 kernel);

/* errno.c */
DAT_RETURN libdat_errno_in(int err);

/* convert.c */

/**
 * struct libdat_iov - an iov in the kernel's form
 * @segments: the array; free it with libdat_iov_free()
 * @count: how many
 * @inline_segments: where a short one is kept
 */
struct libdat_iov {
	struct dat_dev_segment *segments;
	__u32 count;
	struct dat_dev_segment inline_segments[16];
};

#define LIBDAT_MAX_IOV	4096

DAT_RETURN libdat_iov_in(struct libdat_iov *iov, const DAT_LMR_TRIPLET *triplet,
			 DAT_COUNT count);
void libdat_iov_free(struct libdat_iov *iov);
bool libdat_segment_in(struct dat_dev_segment *segment,
		       const DAT_LMR_TRIPLET *triplet);
bool libdat_ep_attr_in(struct dat_dev_ep_attr *out, const DAT_EP_ATTR *in);
void libdat_ep_attr_out(DAT_EP_ATTR *out, const struct dat_dev_ep_attr *in);
DAT_RETURN libdat_addr_in(struct dat_dev_addr *out, const DAT_SOCK_ADDR *in);

#if DAT_VERSION_MAJOR >= 2

/* tools/libdaplkdat: there handles are pointers, and events say more. */
__u32 libdat_handle_in(DAT_HANDLE handle);
DAT_HANDLE libdat_handle_out(__u32 handle);
void libdat_event_more(DAT_EVENT *out, const struct dat_dev_event *in);

#else

/**
 * libdat_handle_in - the kernel's name of an object
 * @handle: what the program passed
 *
 * A handle carries 32 bits. Anything wider was never given out, and must not
 * come to mean another object, or none: it becomes BAD_HANDLE, which the
 * kernel does not give out either.
 *
 * Return: the handle, NO_HANDLE for DAT_HANDLE_NULL.
 */
static inline __u32 libdat_handle_in(DAT_HANDLE handle)
{
	__u64 value = (uintptr_t)handle;

	return value > BAD_HANDLE ? BAD_HANDLE : (__u32)value;
}

static inline DAT_HANDLE libdat_handle_out(__u32 handle)
{
	return (DAT_HANDLE)(uintptr_t)handle;
}

static inline void libdat_event_more(DAT_EVENT *out,
				     const struct dat_dev_event *in)
{
	(void)out;
	(void)in;
}

#endif

/**
 * libdat_priv_in - memory privileges for the kernel
 * @flags: what the program passed
 *
 * Solaris's wish to do without relaxed ordering is not the kernel's to fulfil:
 * there nothing has it that does not ask for it.
 *
 * Return: the flags that the kernel knows, and any that nobody does.
 */
static inline __u32 libdat_priv_in(DAT_MEM_PRIV_FLAGS flags)
{
	return (__u32)flags & ~(__u32)DAT_MEM_PRIV_RO_DISABLE_FLAG;
}

/**
 * libdat_priv_is_wrong - are there bits that are not a program's to set?
 * @flags: as libdat_priv_in() returns them
 */
static inline bool libdat_priv_is_wrong(__u32 flags)
{
	/* DAT 2.0 has atomic operations, and the other is an argument there. */
	if (DAT_VERSION_MAJOR >= 2)
		flags &= ~(__u32)(DAT_DEV_PRIV_ZERO_BASED |
				  DAT_DEV_PRIV_ATOMIC);
	return flags & (DAT_DEV_PRIV_RELAXED | DAT_DEV_PRIV_ZERO_BASED |
			DAT_DEV_PRIV_ATOMIC);
}

/**
 * libdat_count_out - a number of the kernel's as a DAT_COUNT, which is signed
 * @count: the number
 *
 * Return: the number, or the greatest DAT_COUNT.
 */
static inline DAT_COUNT libdat_count_out(__u32 count)
{
	return count <= INT_MAX ? (DAT_COUNT)count : INT_MAX;
}

/* conf.c */

/**
 * struct libdat_alias - a name that dat.conf(5) gives to an IA
 * @name: the name
 * @library: what provides it; NULL if it is another name of one of the kernel's
 * @ia: what the kernel knows the IA by, or what the library is to be told
 * @minor: version of DAT 1 that the library speaks
 * @is_thread_safe: whether it is
 */
struct libdat_alias {
	const char *name;
	const char *library;
	const char *ia;
	unsigned int minor;
	bool is_thread_safe;
};

/**
 * struct libdat_conf - the text of a dat.conf(5) that is being read
 * @text: what has not been read yet
 * @end: its end, where a byte can be written
 * @line: number of the line that was read last; 0 at first
 * @why: what is wrong with that line; NULL if it gives an alias
 * @alias: what it gives; points into the text
 */
struct libdat_conf {
	char *text;
	char *end;
	unsigned int line;
	const char *why;
	struct libdat_alias alias;
};

bool libdat_conf_next(struct libdat_conf *conf);

/* alias.c */
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
 * struct libdat_object - the head of what is remembered of an object
 * @next: chain of the hash table
 * @handle: the kernel's handle
 * @ia: the kernel's handle of its IA; an IA names itself
 * @kind: which structure follows
 * @serial: no two entries of the table ever have the same
 */
struct libdat_object {
	struct libdat_object *next;
	__u32 handle;
	__u32 ia;
	enum libdat_kind kind;
	unsigned long serial;
};

/**
 * union libdat_addr - memory for a DAT_IA_ADDRESS_PTR
 * @dev: as the kernel passes it
 * @generic: as the program sees it
 * @in6: for the alignment
 */
union libdat_addr {
	struct dat_dev_addr dev;
	DAT_SOCK_ADDR generic;
	DAT_SOCK_ADDR6 in6;
};

/**
 * struct libdat_ia - an open IA
 * @object: head
 * @is_ro_aware: the program copes with relaxed ordering
 * @has_no_evd: the program was given no asynchronous EVD
 * @addr: where ia_address_ptr and local_ia_address_ptr point
 */
struct libdat_ia {
	struct libdat_object object;
	bool is_ro_aware;
	bool has_no_evd;
	union libdat_addr addr;
};

/**
 * struct libdat_evd - an EVD
 * @object: head
 * @ring: mapped; NULL before it is
 * @entries: of the ring, a power of two
 * @qlen: the queue length that was asked for, the limit of thresholds
 * @pull: some of its events came without notification, so an empty ring asks
 *	the kernel whether there are any
 * @unnotified: EPs that feed it so
 * @solicited: those of them with DAT_COMPLETION_SOLICITED_WAIT_FLAG
 * @waiting: a thread is in dat_evd_wait()
 *
 * peek.c reads @pull and @waiting without the lock.
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
 * @local: where local_ia_address_ptr points
 * @remote: where remote_ia_address_ptr points
 * @private_data: where the private_data of connection events points
 * @recv_evd: EVD of its receives, or NO_HANDLE
 * @recv_flags: completion flags of its receives
 * @request_evd: EVD of its requests, or NO_HANDLE
 * @request_flags: completion flags of its requests
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
 * @remote: where remote_ia_address_ptr points
 * @private_data: where private_data points
 */
struct libdat_cr {
	struct libdat_object object;
	union libdat_addr remote;
	__u8 private_data[DAT_DEV_PRIVATE_DATA_MAX];
};

/**
 * struct libdat_cno - a CNO
 * @object: head
 * @agent: whom to call when it is triggered; NULL if there is nobody
 */
struct libdat_cno {
	struct libdat_object object;
	struct libdat_agent *agent;
};

/**
 * struct libdat_lmr - an LMR of shared memory
 * @object: head
 * @cookie: where shared_memory_id points
 */
struct libdat_lmr {
	struct libdat_object object;
	char cookie[DAT_LMR_COOKIE_SIZE];
};

/**
 * struct libdat_csp - a CSP; DAT 1.2 has none
 * @object: head
 * @comm: where comm points
 * @address: where address_ptr points
 */
struct libdat_csp {
	struct libdat_object object;
#if DAT_VERSION_MAJOR >= 2
	DAT_COMM comm;
#endif
	union libdat_addr address;
};

void *libdat_object_alloc(enum libdat_kind kind);
void libdat_object_discard(struct libdat_object *object);
void libdat_object_add(struct libdat_object *object, __u32 handle,
		       __u32 ia);
void *libdat_object_lock(__u32 handle, enum libdat_kind kind);
void libdat_object_unlock(__u32 handle);
void libdat_object_drop(__u32 handle, enum libdat_kind kind);
void libdat_object_drop_ia(__u32 ia);

/* peek.c */
void libdat_peek_show(struct libdat_evd *evd);
void libdat_peek_hide(struct libdat_evd *evd);
void libdat_peek_after_fork(void);
bool libdat_peek_is_empty(__u32 handle);

/* ring.c */
__u32 libdat_ring_count(struct libdat_evd *evd);
void libdat_ring_renew(struct libdat_evd *evd);
void libdat_ring_check(struct libdat_evd *evd);
void libdat_ring_consume(struct libdat_evd *evd, struct dat_dev_event *event);
bool libdat_ring_has_waiter(const struct libdat_evd *evd);
bool libdat_ring_is_unwaitable(const struct libdat_evd *evd);

/* cr.c */
DAT_RETURN libdat_cr_dismiss(unsigned long cmd, void *arg, __u32 cr);

/* event.c */
void libdat_event_out(DAT_EVENT *out, const struct dat_dev_event *in,
		      __u32 evd, __u32 ia);

/* evd.c */
DAT_RETURN libdat_evd_add(struct libdat_evd *evd, __u32 handle, __u32 ia,
			  __u32 entries, DAT_COUNT qlen);
void libdat_evd_unnotified(__u32 handle, __u32 flags, int count);

/* cno.c */
void libdat_agent_put(struct libdat_agent *agent);

/* ep.c */
void libdat_ep_forget_if_gone(__u32 handle);

/* registry.c */
DAT_RETURN libdat_ia_is_new(const char *name);

/* post.c */
DAT_RETURN libdat_post(struct dat_dev_dto *dto);
DAT_RETURN libdat_post_iov(struct dat_dev_dto *dto, DAT_COUNT num_segments,
			   const DAT_LMR_TRIPLET *local_iov);

#endif /* _LIBDAT_H */
