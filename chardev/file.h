/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * file.h - struct dat_file, an open /dev/dat, and the objects that it owns
 */
#ifndef _CHARDEV_FILE_H
#define _CHARDEV_FILE_H

#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/xarray.h>

#include <linux/dat.h>

#include "base/error.h"
#include "lookup_cache.h"

struct dat_ucharge;
struct dat_uevd;
struct dat_uia;
struct dat_ushare;
struct file;
struct io_uring_cmd;

/**
 * struct dat_file - an open /dev/dat
 * @ref: one for the open file, one for each descriptor that polls an EVD or CNO
 * @objects: all objects created through the file, by user handle; upcalls take
 *	the lock of the xarray
 * @cache: lookup cache in front of @objects
 * @next_handle: start of the search for a free handle
 * @kept_handle: last withdrawn handle, whose slot is kept; or 0
 * @num_objects: entries in @objects that are in use
 * @charge: counters of the memory charged to the file
 * @pinned_bytes: bytes of the pages that LMRs keep pinned
 * @node: in the list of open files
 * @pid: process that opened the file
 * @comm: name of that process
 * @close_rwsem: held for writing while an IA is closed, for reading by other ioctls
 *	that create or free objects
 */
struct dat_file {
	struct kref ref;
	struct xarray objects;
	struct dat_lookup_cache cache;
	u32 next_handle;
	u32 kept_handle;
	atomic_t num_objects;
	struct dat_ucharge *charge;
	atomic_long_t pinned_bytes;
	struct list_head node;
	pid_t pid;
	char comm[TASK_COMM_LEN];
	struct rw_semaphore close_rwsem;
};

/**
 * struct dat_uobj - an object with a user handle
 * @ref: one for the table, one for each ioctl that uses the object
 * @type: type of the object
 * @handle: the process's handle
 * @khandle: the kernel's handle; its consumer context is @handle
 * @file: the file
 * @ia: the object's IA, referenced; NULL for an IA
 * @context: the process's consumer context
 * @release: frees what the object owns beside its structure; may sleep; or NULL
 * @bytes: bytes charged to the file for the structure
 * @rcu: for the release
 */
struct dat_uobj {
	struct kref ref;
	DAT_HANDLE_TYPE type;
	u32 handle;
	DAT_HANDLE khandle;
	struct dat_file *file;
	struct dat_uia *ia;
	u64 context;
	void (*release)(struct dat_uobj *uobj);
	u32 bytes;
	struct rcu_head rcu;
};

/**
 * struct dat_uia - an IA
 * @uobj: base object
 * @async_evd: asynchronous EVD of the IA; freed with the IA
 * @max_lmr: largest LMR in bytes
 */
struct dat_uia {
	struct dat_uobj uobj;
	struct dat_uevd *async_evd;
	u64 max_lmr;
};

/**
 * struct dat_uep - an EP
 * @uobj: base object
 * @lock: guards the fields below
 * @private_data_len: bytes of @private_data
 * @private_data: private data from the peer's accept or reject
 */
struct dat_uep {
	struct dat_uobj uobj;
	spinlock_t lock;
	u32 private_data_len;
	u8 private_data[DAT_DEV_PRIVATE_DATA_MAX];
};

static inline struct dat_uia *to_uia(struct dat_uobj *uobj)
{
	return container_of(uobj, struct dat_uia, uobj);
}

static inline struct dat_uep *to_uep(struct dat_uobj *uobj)
{
	return container_of(uobj, struct dat_uep, uobj);
}

/* ioctl.c asserts at build time that this covers all ioctls. */
#define DAT_NUM_IOCTLS	(DAT_DEV_CMD_EP_COMMON_CONNECT + 1)

/* Handle types that the kernel API does not have: CNOs, and any type. */
#define DAT_UOBJ_CNO	((DAT_HANDLE_TYPE)DAT_DEV_HANDLE_TYPE_CNO)
#define DAT_UOBJ_ANY	((DAT_HANDLE_TYPE)-1)

/* chardev.c */
void dat_file_put(struct dat_file *file);

/* uia.c */
void dat_uia_hang_up(struct dat_file *file, const struct dat_uia *ia);

/* uobj.c */
void *dat_uobj_alloc(struct dat_file *file, size_t size, DAT_HANDLE_TYPE type,
		     struct dat_uia *ia, gfp_t gfp);
int dat_uobj_reserve(struct dat_uobj *uobj, gfp_t gfp);
void dat_uobj_publish(struct dat_uobj *uobj, DAT_HANDLE khandle);
void dat_uobj_unreserve(struct dat_uobj *uobj);
void *dat_uobj_create(struct dat_uia *ia, size_t size, DAT_HANDLE_TYPE type,
		      gfp_t gfp);
DAT_RETURN dat_uobj_finalize(struct dat_uobj *uobj, DAT_RETURN result, u32 *handle);
struct dat_uobj *dat_uobj_lookup(struct dat_file *file, u32 handle,
				 DAT_HANDLE_TYPE type);
struct dat_uobj *dat_uobj_get(struct dat_file *file, u32 handle,
			      DAT_HANDLE_TYPE type);
struct dat_uobj *dat_uobj_get_any(struct dat_file *file, u32 handle);
struct dat_uobj *dat_uobj_next(struct dat_file *file, unsigned long *index);
void dat_uobj_put(struct dat_uobj *uobj);
void dat_uobj_remove(struct dat_uobj *uobj);
void dat_uobj_remove_all(struct dat_file *file, struct dat_uia *ia);
DAT_HANDLE dat_uobj_khandle(struct dat_file *file, u32 handle,
			    DAT_HANDLE_TYPE type);
u32 dat_uobj_user_handle(DAT_HANDLE khandle);

/* uep.c */
u32 dat_uep_publish(struct dat_uia *ia, DAT_EP_HANDLE khandle);

/* ustats.c */
void dat_ustats_ioctl(unsigned int nr, int err, DAT_RETURN result);
void dat_ustats_overflow(const struct dat_uevd *evd);
void dat_files_add(struct dat_file *file);
void dat_files_del(struct dat_file *file);

/* ushare.c */
int dat_ushare_init(void);
void dat_ushare_exit(void);
DAT_RETURN dat_ushare_get(const struct dat_dev_lmr_create *p,
			  struct dat_ushare **sharep);
void dat_ushare_put(struct dat_ushare *share);

/* The loop body must put each @uobj. Upcalls may remove other objects meanwhile. */
#define dat_for_each_uobj(file, index, uobj)				\
	for ((index) = 0; ((uobj) = dat_uobj_next(file, &(index)));	\
	     (index)++)

static inline DAT_RETURN dat_uobj_no_memory(void)
{
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

/* Clamp, so that a value beyond DAT_COUNT is rejected as too large, not as negative. */
static inline DAT_COUNT dat_to_count(u32 value)
{
	return min_t(u32, value, INT_MAX);
}

static inline ktime_t dat_timeout_to_ktime(u32 usecs)
{
	return usecs == DAT_TIMEOUT_INFINITE ? KTIME_MAX :
					       ns_to_ktime((u64)usecs * NSEC_PER_USEC);
}

/* Microseconds of a timeout that are left, if it began at @start. */
static inline u32 dat_timeout_left(u32 usecs, ktime_t start)
{
	s64 gone = ktime_us_delta(ktime_get(), start);

	return usecs == U32_MAX ? usecs : usecs - (u32)min_t(s64, gone, usecs);
}

/**
 * dat_addr_to_user - convert an address to its ioctl form
 * @addr: the address; every family except IPv4 and IPv6 becomes AF_UNSPEC
 * @uaddr: out: the converted address
 */
static inline void dat_addr_to_user(const DAT_SOCK_ADDR *addr,
				    struct dat_dev_addr *uaddr)
{
	memset(uaddr, 0, sizeof(*uaddr));
	if (addr->sa_family == AF_INET)
		memcpy(uaddr, addr, sizeof(struct sockaddr_in));
	else if (addr->sa_family == AF_INET6)
		memcpy(uaddr, addr, sizeof(struct sockaddr_in6));
}

/*
 * The ioctls, each in the source file of its object. The table of ioctl.c looks up the
 * handles and says which kind of function an ioctl has:
 *
 * dat_ioctl_uobj_t: the handle is valid; the caller holds a reference to its object
 * dat_ioctl_khandle_t: the kernel API checks the handle, in its order of checks
 * dat_ioctl_file_t: the function looks up its handles and sets the result
 */
typedef DAT_RETURN dat_ioctl_uobj_t(struct dat_uobj *uobj, void *arg);
typedef DAT_RETURN dat_ioctl_khandle_t(DAT_HANDLE khandle, void *arg);
typedef int dat_ioctl_file_t(struct dat_file *file, void *arg);

long dat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
int dat_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
const char *dat_ioctl_name(unsigned int nr);

dat_ioctl_file_t dat_ioctl_ia_open, dat_ioctl_ia_query, dat_ioctl_ia_list;
dat_ioctl_file_t dat_ioctl_lmr_create, dat_ioctl_lmr_sync, dat_ioctl_post;
dat_ioctl_file_t dat_ioctl_ep_modify, dat_ioctl_ep_dup_connect, dat_ioctl_evd_set;
dat_ioctl_file_t dat_ioctl_evd_wait;

dat_ioctl_uobj_t dat_ioctl_handle_query, dat_ioctl_context, dat_ioctl_fd;
dat_ioctl_uobj_t dat_ioctl_ia_close, dat_ioctl_pz_create;
dat_ioctl_uobj_t dat_ioctl_lmr_query, dat_ioctl_rmr_create, dat_ioctl_rmr_create_for_ep;
dat_ioctl_uobj_t dat_ioctl_evd_create, dat_ioctl_evd_query, dat_ioctl_evd_resize;
dat_ioctl_uobj_t dat_ioctl_evd_pull, dat_ioctl_evd_post_se;
dat_ioctl_uobj_t dat_ioctl_evd_modify_cno, dat_ioctl_evd_free;
dat_ioctl_uobj_t dat_ioctl_cno_create, dat_ioctl_cno_query, dat_ioctl_cno_wait;
dat_ioctl_uobj_t dat_ioctl_cno_set_agent, dat_ioctl_cno_free;
dat_ioctl_uobj_t dat_ioctl_psp_create, dat_ioctl_psp_create_any;
dat_ioctl_uobj_t dat_ioctl_rsp_create, dat_ioctl_csp_create;
dat_ioctl_uobj_t dat_ioctl_psp_free, dat_ioctl_rsp_free, dat_ioctl_csp_free;
dat_ioctl_uobj_t dat_ioctl_cr_accept, dat_ioctl_cr_handoff;
dat_ioctl_uobj_t dat_ioctl_cr_reject, dat_ioctl_cr_reject_with_data;
dat_ioctl_uobj_t dat_ioctl_ep_create, dat_ioctl_ep_query, dat_ioctl_ep_free;
dat_ioctl_uobj_t dat_ioctl_srq_create;

dat_ioctl_khandle_t dat_ioctl_pz_query, dat_ioctl_rmr_query;
dat_ioctl_khandle_t dat_ioctl_psp_query, dat_ioctl_rsp_query, dat_ioctl_csp_query;
dat_ioctl_khandle_t dat_ioctl_cr_query;
dat_ioctl_khandle_t dat_ioctl_ep_connect, dat_ioctl_ep_common_connect;
dat_ioctl_khandle_t dat_ioctl_ep_disconnect, dat_ioctl_ep_reset;
dat_ioctl_khandle_t dat_ioctl_ep_get_status, dat_ioctl_ep_recv_query;
dat_ioctl_khandle_t dat_ioctl_ep_set_watermark;
dat_ioctl_khandle_t dat_ioctl_srq_query, dat_ioctl_srq_resize, dat_ioctl_srq_set_lw;

#endif /* _CHARDEV_FILE_H */
