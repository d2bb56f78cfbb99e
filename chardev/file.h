/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * file.h - struct dat_file, an open /dev/dat, and the objects that it owns
 */
#ifndef _CHARDEV_FILE_H
#define _CHARDEV_FILE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/xarray.h>

#include <dat/kdat.h>
#include <linux/dat.h>

#include "lookup_cache.h"

struct dat_ucharge;
struct dat_uevd;
struct dat_uia;
struct file;

/**
 * struct dat_file - an open /dev/dat
 * @filp: the file itself
 * @objects: all objects created through the file, by user handle; upcalls take
 *	the lock of the xarray
 * @recent: lookup cache in front of @objects
 * @next_handle: start of the search for a free handle
 * @kept_handle: last withdrawn handle, whose slot is kept; or 0
 * @num_objects: entries in @objects that are in use
 * @charge: counters of the memory charged to the file
 * @pinned_bytes: bytes of the pages that LMRs keep pinned
 * @node: in the list of open files
 * @pid: process that opened the file
 * @comm: name of that process
 * @ends: held for writing while an IA is closed, for reading by other ioctls
 *	that create or free objects
 */
struct dat_file {
	struct file *filp;
	struct xarray objects;
	struct dat_lookup_cache recent;
	u32 next_handle;
	u32 kept_handle;
	atomic_t num_objects;
	struct dat_ucharge *charge;
	atomic_long_t pinned_bytes;
	struct list_head node;
	pid_t pid;
	char comm[TASK_COMM_LEN];
	struct rw_semaphore ends;
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
 * @private_data_len: bytes of @private_data
 * @private_data: private data from the peer's accept or reject
 */
struct dat_uep {
	struct dat_uobj uobj;
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

/* uobj.c */
void *dat_uobj_alloc(struct dat_file *file, size_t size, DAT_HANDLE_TYPE type,
		     struct dat_uia *ia, gfp_t gfp);
int dat_uobj_reserve(struct dat_uobj *uobj, gfp_t gfp);
void dat_uobj_publish(struct dat_uobj *uobj, DAT_HANDLE khandle);
void dat_uobj_unreserve(struct dat_uobj *uobj);
struct dat_uobj *dat_uobj_peek(struct dat_file *file, u32 handle,
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
u32 dat_uep_made(struct dat_file *file, struct dat_uia *ia,
		 DAT_EP_HANDLE khandle);

/* The loop body must put each @uobj. Upcalls may remove other objects meanwhile. */
#define dat_for_each_uobj(file, index, uobj)				\
	for ((index) = 0; ((uobj) = dat_uobj_next(file, &(index)));	\
	     (index)++)

/* Each ioctl is in the source file of its object. The op table is in ioctl.c. */
long dat_ioctl(struct dat_file *file, unsigned int cmd, unsigned long arg);

int dat_ioctl_ia_open(struct dat_file *file, void *arg);
int dat_ioctl_ia_close(struct dat_file *file, void *arg);
int dat_ioctl_ia_query(struct dat_file *file, void *arg);
int dat_ioctl_pz_create(struct dat_file *file, void *arg);
int dat_ioctl_pz_query(struct dat_file *file, void *arg);
int dat_ioctl_pz_free(struct dat_file *file, void *arg);
int dat_ioctl_evd_create(struct dat_file *file, void *arg);
int dat_ioctl_evd_wait(struct dat_file *file, void *arg);
int dat_ioctl_evd_pull(struct dat_file *file, void *arg);
int dat_ioctl_evd_free(struct dat_file *file, void *arg);
int dat_ioctl_psp_create(struct dat_file *file, void *arg);
int dat_ioctl_psp_free(struct dat_file *file, void *arg);
int dat_ioctl_cr_query(struct dat_file *file, void *arg);
int dat_ioctl_cr_accept(struct dat_file *file, void *arg);
int dat_ioctl_cr_reject(struct dat_file *file, void *arg);
int dat_ioctl_cr_reject_with_data(struct dat_file *file, void *arg);
int dat_ioctl_ep_create(struct dat_file *file, void *arg);
int dat_ioctl_ep_query(struct dat_file *file, void *arg);
int dat_ioctl_ep_connect(struct dat_file *file, void *arg);
int dat_ioctl_ep_common_connect(struct dat_file *file, void *arg);
int dat_ioctl_ep_disconnect(struct dat_file *file, void *arg);
int dat_ioctl_ep_get_status(struct dat_file *file, void *arg);
int dat_ioctl_ep_free(struct dat_file *file, void *arg);
int dat_ioctl_post(struct dat_file *file, void *arg);
int dat_ioctl_lmr_create(struct dat_file *file, void *arg);
int dat_ioctl_lmr_query(struct dat_file *file, void *arg);
int dat_ioctl_lmr_free(struct dat_file *file, void *arg);
int dat_ioctl_lmr_sync(struct dat_file *file, void *arg);
int dat_ioctl_rmr_create(struct dat_file *file, void *arg);
int dat_ioctl_rmr_create_for_ep(struct dat_file *file, void *arg);
int dat_ioctl_rmr_query(struct dat_file *file, void *arg);
int dat_ioctl_rmr_free(struct dat_file *file, void *arg);
int dat_ioctl_handle_query(struct dat_file *file, void *arg);
int dat_ioctl_context(struct dat_file *file, void *arg);
int dat_ioctl_ep_modify(struct dat_file *file, void *arg);
int dat_ioctl_ep_reset(struct dat_file *file, void *arg);
int dat_ioctl_ep_dup_connect(struct dat_file *file, void *arg);
int dat_ioctl_ep_recv_query(struct dat_file *file, void *arg);
int dat_ioctl_ep_set_watermark(struct dat_file *file, void *arg);
int dat_ioctl_cr_handoff(struct dat_file *file, void *arg);
int dat_ioctl_psp_create_any(struct dat_file *file, void *arg);
int dat_ioctl_psp_query(struct dat_file *file, void *arg);
int dat_ioctl_rsp_create(struct dat_file *file, void *arg);
int dat_ioctl_rsp_query(struct dat_file *file, void *arg);
int dat_ioctl_rsp_free(struct dat_file *file, void *arg);
int dat_ioctl_csp_create(struct dat_file *file, void *arg);
int dat_ioctl_csp_query(struct dat_file *file, void *arg);
int dat_ioctl_csp_free(struct dat_file *file, void *arg);
int dat_ioctl_srq_create(struct dat_file *file, void *arg);
int dat_ioctl_srq_query(struct dat_file *file, void *arg);
int dat_ioctl_srq_resize(struct dat_file *file, void *arg);
int dat_ioctl_srq_set_lw(struct dat_file *file, void *arg);
int dat_ioctl_srq_free(struct dat_file *file, void *arg);
int dat_ioctl_evd_query(struct dat_file *file, void *arg);
int dat_ioctl_evd_resize(struct dat_file *file, void *arg);
int dat_ioctl_evd_post_se(struct dat_file *file, void *arg);
int dat_ioctl_evd_set(struct dat_file *file, void *arg);
int dat_ioctl_evd_modify_cno(struct dat_file *file, void *arg);
int dat_ioctl_cno_create(struct dat_file *file, void *arg);
int dat_ioctl_cno_query(struct dat_file *file, void *arg);
int dat_ioctl_cno_wait(struct dat_file *file, void *arg);
int dat_ioctl_cno_set_agent(struct dat_file *file, void *arg);
int dat_ioctl_cno_free(struct dat_file *file, void *arg);
int dat_ioctl_fd(struct dat_file *file, void *arg);
int dat_ioctl_ia_list(struct dat_file *file, void *arg);

#endif /* _CHARDEV_FILE_H */
