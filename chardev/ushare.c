// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ushare.c - memory that several processes register under one cookie
 *
 * All LMRs with one cookie must register the same memory: the same range of the same
 * mapped file, which may be unnamed. A cookie is valid among the processes of one user,
 * so that no other user can block it. Owns the table of shared regions. The ioctls of
 * LMRs call it in process context.
 */
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "file.h"

/**
 * struct dat_ushare_key - key of a shared region
 * @uid: effective user of the processes
 * @cookie: cookie that the processes pass
 */
struct dat_ushare_key {
	kuid_t uid;
	u8 cookie[DAT_DEV_COOKIE_SIZE];
};

/**
 * struct dat_ushare - a shared region
 * @node: in shares
 * @users: number of LMRs; guarded by shares_lock
 * @key: key in the table
 * @file: the mapped file; referenced to keep its file system
 * @offset: start of the region in the file, in bytes
 * @length: bytes
 */
struct dat_ushare {
	struct rhash_head node;
	unsigned int users;
	struct dat_ushare_key key;
	struct file *file;
	u64 offset;
	u64 length;
};

/*
 * The table grows with its entries. Its hash has a random seed, so that no process can
 * choose cookies that collide. The lock covers only the look-up and the insert.
 */
static const struct rhashtable_params share_params = {
	.head_offset = offsetof(struct dat_ushare, node),
	.key_offset = offsetof(struct dat_ushare, key),
	.key_len = sizeof(struct dat_ushare_key),
	.automatic_shrinking = true,
};

static struct rhashtable shares;
static DEFINE_MUTEX(shares_lock);

/**
 * dat_ushare_init - create the table of shared regions
 *
 * Return: 0 or a negative errno.
 */
int dat_ushare_init(void)
{
	return rhashtable_init(&shares, &share_params);
}

/**
 * dat_ushare_exit - destroy the table of shared regions, which must be empty
 */
void dat_ushare_exit(void)
{
	rhashtable_destroy(&shares);
}

static u64 offset_in_file(const struct vm_area_struct *vma, u64 address)
{
	return ((u64)vma->vm_pgoff << PAGE_SHIFT) + address - vma->vm_start;
}

/*
 * Only regular files: another kind of file may reference the /dev/dat of this LMR, and
 * neither would ever be released. Shared memory is always a regular file.
 */
static bool is_shared(const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_MAYSHARE && vma->vm_file &&
	       S_ISREG(file_inode(vma->vm_file)->i_mode);
}

/*
 * Find the mapped file of the region. Several mappings are accepted if they map
 * consecutive ranges. Mappings that the process changes later are not checked.
 */
static DAT_RETURN find_file(struct dat_ushare *share, u64 address)
{
	u64 end = address + share->length, at = address;
	struct vm_area_struct *vma;
	DAT_RETURN ret = DAT_SUCCESS;

	if (mmap_read_lock_killable(current->mm))
		return DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
	while (at < end) {
		vma = find_vma(current->mm, at);
		if (!vma || vma->vm_start > at) {
			ret = DAT_ERROR(DAT_INVALID_PARAMETER,
					DAT_INVALID_ARG3);
			break;
		}
		if (at == address && is_shared(vma)) {
			share->file = get_file(vma->vm_file);
			share->offset = offset_in_file(vma, at);
		}
		if (!is_shared(vma) ||
		    file_inode(vma->vm_file) != file_inode(share->file) ||
		    offset_in_file(vma, at) - share->offset != at - address) {
			ret = DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
			break;
		}
		at = vma->vm_end;
	}
	mmap_read_unlock(current->mm);
	return ret;
}

static void free_share(struct dat_ushare *share)
{
	if (share->file)
		fput(share->file);
	kfree(share);
}

static bool is_same_memory(const struct dat_ushare *a,
			   const struct dat_ushare *b)
{
	return file_inode(a->file) == file_inode(b->file) && a->offset == b->offset &&
	       a->length == b->length;
}

/* Returns the existing region with this key, or inserts @new. */
static struct dat_ushare *join(struct dat_ushare *new, DAT_RETURN *ret)
{
	struct dat_ushare *share;

	mutex_lock(&shares_lock);
	share = rhashtable_lookup_get_insert_fast(&shares, &new->node,
						  share_params);
	if (!share) {
		share = new;
	} else if (IS_ERR(share)) {
		*ret = dat_uobj_no_memory();
		share = NULL;
	} else if (!is_same_memory(share, new)) {
		*ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
		share = NULL;
	}
	if (share)
		share->users++;
	mutex_unlock(&shares_lock);
	return share;
}

/**
 * dat_ushare_get - find or create the shared region that a process registers
 * @p: cookie, address and length of the region; the range must not wrap around
 * @sharep: out: the region, for dat_ushare_put()
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_STATE (the memory is not shared),
 * DAT_INVALID_PARAMETER (nothing is mapped, or the cookie belongs to other
 * memory), DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_ushare_get(const struct dat_dev_lmr_create *p,
			  struct dat_ushare **sharep)
{
	struct dat_ushare *share = kzalloc(sizeof(*share), GFP_KERNEL_ACCOUNT);
	DAT_RETURN ret;

	if (!share)
		return dat_uobj_no_memory();
	share->key.uid = current_euid();
	share->length = p->length;
	memcpy(share->key.cookie, p->cookie, sizeof(share->key.cookie));
	ret = find_file(share, p->address);
	*sharep = ret ? NULL : join(share, &ret);
	if (*sharep != share)
		free_share(share);
	return ret;
}

/**
 * dat_ushare_put - drop the reference of an LMR to its shared region
 * @share: the region
 *
 * Context: process, may sleep.
 */
void dat_ushare_put(struct dat_ushare *share)
{
	bool is_last;

	mutex_lock(&shares_lock);
	is_last = !--share->users;
	if (is_last)
		rhashtable_remove_fast(&shares, &share->node, share_params);
	mutex_unlock(&shares_lock);
	if (is_last)
		free_share(share);
}
