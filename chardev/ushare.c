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
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "ushare.h"

/**
 * struct dat_ushare - a shared region
 * @node: in shares
 * @users: LMRs; guarded by shares_lock
 * @uid: whose
 * @cookie: what it is called
 * @file: what is mapped; referenced, for the sake of its file system
 * @offset: bytes from its beginning
 * @length: bytes
 */
struct dat_ushare {
	struct hlist_node node;
	unsigned int users;
	kuid_t uid;
	u8 cookie[DAT_DEV_COOKIE_SIZE];
	struct file *file;
	u64 offset;
	u64 length;
};

static DEFINE_HASHTABLE(shares, 8);
static DEFINE_MUTEX(shares_lock);

static u32 hash(const u8 *cookie)
{
	return jhash(cookie, DAT_DEV_COOKIE_SIZE, 0);
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

static struct dat_ushare *find_share(const struct dat_ushare *wanted)
{
	struct dat_ushare *share;

	hash_for_each_possible(shares, share, node, hash(wanted->cookie))
		if (uid_eq(share->uid, wanted->uid) &&
		    !memcmp(share->cookie, wanted->cookie,
			    sizeof(share->cookie)))
			return share;
	return NULL;
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
	share = find_share(new);
	if (!share) {
		hash_add(shares, &new->node, hash(new->cookie));
		share = new;
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
	share->uid = current_euid();
	share->length = p->length;
	memcpy(share->cookie, p->cookie, sizeof(share->cookie));
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
		hash_del(&share->node);
	mutex_unlock(&shares_lock);
	if (is_last)
		free_share(share);
}
