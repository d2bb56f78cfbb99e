// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * chardev.c - file operations of /dev/dat
 *
 * Registers the misc device and owns a struct dat_file for each open file. Open,
 * release, ioctl and mmap run in process context and may sleep. Ioctls continue in
 * ioctl.c, mmap in uevd.c.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "chardev.h"
#include "charge.h"
#include "file.h"
#include "uevd.h"

static int dat_open(struct inode *inode, struct file *filp)
{
	struct dat_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return -ENOMEM;
	file->charge = dat_ucharge_open();
	if (!file->charge) {
		kfree(file);
		return -ENOMEM;
	}
	xa_init_flags(&file->objects, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
	init_rwsem(&file->close_rwsem);
	kref_init(&file->ref);
	filp->private_data = file;
	dat_files_add(file);
	return nonseekable_open(inode, filp);
}

static void file_free(struct kref *ref)
{
	struct dat_file *file = container_of(ref, struct dat_file, ref);

	xa_destroy(&file->objects);
	dat_ucharge_put(file->charge);
	kfree(file);
}

/**
 * dat_file_put - drop a reference
 * @file: the file; its last object has been put
 *
 * Context: process, may sleep.
 */
void dat_file_put(struct dat_file *file)
{
	kref_put(&file->ref, file_free);
}

/*
 * A descriptor that polls an EVD does not keep its objects: a child of fork() inherits the
 * descriptor and may outlive the process that opened the IA.
 */
static int dat_release(struct inode *inode, struct file *filp)
{
	struct dat_file *file = filp->private_data;
	struct dat_uobj *uobj;
	unsigned long index;

	dat_files_del(file);
	/* A device stops using memory when its IA is closed. Unpin the memory after. */
	dat_for_each_uobj(file, index, uobj) {
		if (uobj->type == DAT_HANDLE_TYPE_IA)
			dat_ia_close(uobj->khandle, DAT_CLOSE_ABRUPT_FLAG);
		dat_uobj_put(uobj);
	}
	dat_uia_hang_up(file, NULL);
	dat_uobj_remove_all(file, NULL);
	dat_file_put(file);
	return 0;
}

static const struct file_operations dat_fops = {
	.owner		= THIS_MODULE,
	.open		= dat_open,
	.release	= dat_release,
	.unlocked_ioctl	= dat_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= dat_uevd_mmap,
	.uring_cmd	= dat_uring_cmd,
};

static struct miscdevice dat_miscdev = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "dat",
	.fops	= &dat_fops,
	.mode	= 0660,
};

/**
 * dat_chardev_init - register /dev/dat
 *
 * Return: 0 or a negative errno.
 */
int dat_chardev_init(void)
{
	int ret;

	dat_limits_init();
	ret = dat_ushare_init();
	if (ret)
		return ret;
	ret = misc_register(&dat_miscdev);
	if (ret)
		dat_ushare_exit();
	return ret;
}

/**
 * dat_chardev_exit - unregister /dev/dat; no file may be open
 */
void dat_chardev_exit(void)
{
	misc_deregister(&dat_miscdev);
	dat_ushare_exit();
}
