// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fuzz.c - kdapl_fuzz.ko: /dev/kdapl_fuzz, through which datfuzz calls kdapl
 *
 * Owns the states of open files and the list of IAs that their calls have opened. The
 * release of a file closes the IAs, and with them all their objects. A file state outlives
 * its file: it is used again, and freed when the module is unloaded.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "fuzz.h"

/**
 * struct owned_ia - an open IA
 * @node: in @ias
 * @file: file through which it was opened
 * @ia: its handle
 */
struct owned_ia {
	struct list_head node;
	struct file_state *file;
	DAT_IA_HANDLE ia;
};

static LIST_HEAD(ias);
static LIST_HEAD(free_files);
/* Guards both lists. */
static DEFINE_SPINLOCK(list_lock);

/**
 * kapi_own_ia - remember an IA, so that the release of the file closes it
 * @file: the file
 * @ia: the IA
 *
 * Context: process, may sleep.
 */
void kapi_own_ia(struct file_state *file, DAT_IA_HANDLE ia)
{
	struct owned_ia *owned = kmalloc(sizeof(*owned), GFP_KERNEL | __GFP_NOFAIL);

	owned->file = file;
	owned->ia = ia;
	spin_lock(&list_lock);
	list_add(&owned->node, &ias);
	spin_unlock(&list_lock);
}

/**
 * kapi_disown_ia - forget an IA that has been closed
 * @ia: the IA
 *
 * Context: process.
 */
void kapi_disown_ia(DAT_IA_HANDLE ia)
{
	struct owned_ia *owned, *found = NULL;

	spin_lock(&list_lock);
	list_for_each_entry(owned, &ias, node)
		if (owned->ia == ia)
			found = owned;
	if (found)
		list_del(&found->node);
	spin_unlock(&list_lock);
	kfree(found);
}

static struct owned_ia *take_ia(struct file_state *file)
{
	struct owned_ia *owned, *found = NULL;

	spin_lock(&list_lock);
	list_for_each_entry(owned, &ias, node)
		if (owned->file == file)
			found = owned;
	if (found)
		list_del(&found->node);
	spin_unlock(&list_lock);
	return found;
}

static void softirq_call(struct tasklet_struct *tasklet)
{
	struct kapi *k = container_of(tasklet, struct kapi, tasklet);

	k->c.result = kapi_make(k);
	complete(&k->done);
}

static void call_in_softirq(struct kapi *k)
{
	tasklet_setup(&k->tasklet, softirq_call);
	tasklet_schedule(&k->tasklet);
	wait_for_completion(&k->done);
	tasklet_kill(&k->tasklet);
}

/* Returns false if @k now belongs to an upcall. */
static bool make_call(struct kapi *k)
{
	switch (k->c.where) {
	case KAPI_WHERE_TASK:
		k->c.result = kapi_make(k);
		return true;
	case KAPI_WHERE_BH:
		local_bh_disable();
		k->c.result = kapi_make(k);
		local_bh_enable();
		return true;
	case KAPI_WHERE_SOFTIRQ:
		call_in_softirq(k);
		return true;
	default:
		return kapi_run_in_upcall(k);
	}
}

static int copy_call(struct kapi *k, struct kapi_call __user *from)
{
	struct kapi_segment segments[KAPI_SEGMENTS];

	if (copy_from_user(&k->c, from, sizeof(k->c)))
		return -EFAULT;
	if (k->c.number >= KAPI_NUM_CALLS || k->c.num_segments > KAPI_SEGMENTS)
		return -EINVAL;
	if (copy_from_user(segments, u64_to_user_ptr(k->c.segments),
			   k->c.num_segments * sizeof(segments[0])))
		return -EFAULT;
	kapi_fix_segments(k, segments);
	memset(k->c.out, 0, sizeof(k->c.out));
	return 0;
}

static long ioctl_call(struct file_state *file, struct kapi_call __user *arg)
{
	struct kapi *k = kzalloc(sizeof(*k), GFP_KERNEL);
	u32 result = KAPI_NOT_MADE;
	long ret;

	if (!k)
		return -ENOMEM;
	init_completion(&k->done);
	k->file = file;
	ret = copy_call(k, arg);
	if (!ret && !make_call(k))
		return put_user(result, &arg->result) ? -EFAULT : 0;
	if (!ret && copy_to_user(arg, &k->c, sizeof(k->c)))
		ret = -EFAULT;
	kfree(k);
	return ret;
}

static long ioctl_take_request(struct file_state *file, struct kapi_request __user *arg)
{
	struct kapi_request request = {};
	unsigned int i;

	spin_lock_bh(&file->lock);
	if (file->num_requests) {
		request.cr = (uintptr_t)file->requests[0];
		file->num_requests--;
		for (i = 0; i < file->num_requests; i++)
			file->requests[i] = file->requests[i + 1];
	}
	spin_unlock_bh(&file->lock);
	return copy_to_user(arg, &request, sizeof(request)) ? -EFAULT : 0;
}

static long fuzz_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case KAPI_CALL:
		return ioctl_call(filp->private_data, (void __user *)arg);
	case KAPI_TAKE_REQUEST:
		return ioctl_take_request(filp->private_data, (void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static struct file_state *new_file(void)
{
	struct file_state *file = kzalloc(sizeof(*file), GFP_KERNEL);
	unsigned int i;

	if (!file)
		return NULL;
	spin_lock_init(&file->lock);
	for (i = 0; i < KAPI_SLOTS; i++) {
		spin_lock_init(&file->slots[i].lock);
		INIT_LIST_HEAD(&file->slots[i].pending);
		file->slots[i].file = file;
	}
	return file;
}

static int fuzz_open(struct inode *inode, struct file *filp)
{
	struct file_state *file;

	spin_lock(&list_lock);
	file = list_first_entry_or_null(&free_files, struct file_state, node);
	if (file)
		list_del(&file->node);
	spin_unlock(&list_lock);
	if (!file)
		file = new_file();
	if (!file)
		return -ENOMEM;
	filp->private_data = file;
	return 0;
}

/* Upcalls may open more IAs until theirs is closed. */
static int fuzz_release(struct inode *inode, struct file *filp)
{
	struct file_state *file = filp->private_data;
	struct owned_ia *owned;

	while ((owned = take_ia(file)) != NULL) {
		dat_ia_close(owned->ia, DAT_CLOSE_ABRUPT_FLAG);
		kfree(owned);
	}
	kapi_drop_pending(file);
	file->num_requests = 0;
	spin_lock(&list_lock);
	list_add(&file->node, &free_files);
	spin_unlock(&list_lock);
	return 0;
}

static const struct file_operations fuzz_fops = {
	.owner = THIS_MODULE,
	.open = fuzz_open,
	.release = fuzz_release,
	.unlocked_ioctl = fuzz_ioctl,
};

static struct miscdevice fuzz_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kdapl_fuzz",
	.mode = 0600,
	.fops = &fuzz_fops,
};

static int __init fuzz_init(void)
{
	int ret = kapi_memory_init();

	if (ret)
		return ret;
	ret = misc_register(&fuzz_device);
	if (ret)
		kapi_memory_exit();
	return ret;
}

static void __exit fuzz_exit(void)
{
	struct file_state *file, *next;

	misc_deregister(&fuzz_device);
	kapi_remove_providers();
	kapi_check_accounts();
	list_for_each_entry_safe(file, next, &free_files, node)
		kfree(file);
	kapi_memory_exit();
}

module_init(fuzz_init);
module_exit(fuzz_exit);

MODULE_DESCRIPTION("Makes the calls of kdapl that datfuzz asks for");
MODULE_LICENSE("Dual BSD/GPL");
