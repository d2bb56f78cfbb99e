// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ushare.c - memory that several processes register by one name
 *
 * The cookie is the name of a shared region: whoever uses it must mean the same
 * memory. What memory is the same is told by what is mapped: the same part of
 * the same file, be it one without a name. A cookie holds among the processes
 * of a user, so that nobody can spoil another user's by taking it first.
 */
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "ushare.h"

/**
 * struct dat_ushare_key - what a shared region is found by
 * @uid: whose
 * @cookie: what it is called
 */
struct dat_ushare_key {
	kuid_t uid;
	u8 cookie[DAT_DEV_COOKIE_SIZE];
};

/**
 * struct dat_ushare - a shared region
 * @node: in shares
 * @users: LMRs; guarded by shares_lock
 * @key: what it is found by
 * @file: what is mapped; referenced, for the sake of its file system
 * @offset: bytes from its beginning
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
 * It grows with what is in it, and its hash has a random seed, so that no process can
 * choose cookies that make a look-up long. Nothing else is done under the lock.
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
 * dat_ushare_init - make the table of shared regions
 *
 * Return: 0 or a negative errno.
 */
int dat_ushare_init(void)
{
	return rhashtable_init(&shares, &share_params);
}

/**
 * dat_ushare_exit - the reverse of dat_ushare_init(); there is no region left
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
 * A file of another kind may hold the one that the LMR is of, so that neither
 * would ever be released. Memory that is shared is always in a regular one.
 */
static bool is_shared(const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_MAYSHARE && vma->vm_file &&
	       S_ISREG(file_inode(vma->vm_file)->i_mode);
}

/*
 * What is mapped where the region is. It may take several mappings, as long as
 * they continue each other. What the process maps there later is its affair.
 */
static DAT_RETURN find_file(struct dat_ushare *share, u64 address)
{
	u64 end = address + share->length, at = address;
	struct vm_area_struct *vma;
	DAT_RETURN ret = DAT_SUCCESS;

	mmap_read_lock(current->mm);
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

/* Either @new, or the one that is there already by that name. */
static struct dat_ushare *join(struct dat_ushare *new, DAT_RETURN *ret)
{
	struct dat_ushare *share;

	mutex_lock(&shares_lock);
	share = rhashtable_lookup_get_insert_fast(&shares, &new->node,
						  share_params);
	if (!share) {
		share = new;
	} else if (IS_ERR(share)) {
		*ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
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
 * dat_ushare_get - find or make the shared region that a process wants to join
 * @p: the cookie, and where the process has the region; it does not wrap around
 * @sharep: out: the region, for dat_ushare_put()
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_STATE (the memory is not shared),
 * DAT_INVALID_PARAMETER (there is no memory, or the cookie is that of other
 * memory), DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_ushare_get(const struct dat_dev_lmr_create *p,
			  struct dat_ushare **sharep)
{
	struct dat_ushare *share = kzalloc(sizeof(*share), GFP_KERNEL_ACCOUNT);
	DAT_RETURN ret;

	if (!share)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
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
 * dat_ushare_put - an LMR over a shared region has gone
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
