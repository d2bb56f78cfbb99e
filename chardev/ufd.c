// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ufd.c - file descriptors of EVDs and CNOs, for poll() and epoll
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>

#include "ucno.h"
#include "uevd.h"

static __poll_t evd_poll(struct file *filp, poll_table *table)
{
	struct dat_uevd *evd = to_uevd(filp->private_data);
	__poll_t mask = 0;

	poll_wait(filp, &evd->poll_wq, table);
	spin_lock_bh(&evd->lock);
	if (dat_uevd_used(evd))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (evd->is_dead)
		mask |= EPOLLHUP;
	spin_unlock_bh(&evd->lock);
	return mask;
}

static __poll_t cno_poll(struct file *filp, poll_table *table)
{
	struct dat_ucno *cno = to_ucno(filp->private_data);
	__poll_t mask = 0;

	poll_wait(filp, &cno->wq, table);
	spin_lock_bh(&cno->lock);
	if (cno->is_triggered)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (cno->is_dead)
		mask |= EPOLLHUP;
	spin_unlock_bh(&cno->lock);
	return mask;
}

static int fd_release(struct inode *inode, struct file *filp)
{
	struct dat_uobj *uobj = filp->private_data;
	struct file *device = uobj->file->filp;

	dat_uobj_put(uobj);
	fput(device);
	return 0;
}

static const struct file_operations evd_fops = {
	.owner		= THIS_MODULE,
	.poll		= evd_poll,
	.release	= fd_release,
	.llseek		= noop_llseek,
};

static const struct file_operations cno_fops = {
	.owner		= THIS_MODULE,
	.poll		= cno_poll,
	.release	= fd_release,
	.llseek		= noop_llseek,
};

/* The descriptor references the file: the file's objects are freed with it. */
static int make_fd(struct dat_uobj *uobj)
{
	bool is_evd = uobj->type == DAT_HANDLE_TYPE_EVD;
	int fd;

	get_file(uobj->file->filp);
	fd = anon_inode_getfd(is_evd ? "[dat-evd]" : "[dat-cno]",
			      is_evd ? &evd_fops : &cno_fops, uobj,
			      O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fput(uobj->file->filp);
	return fd;
}

/* Return a file descriptor for polling an EVD or a CNO. */
int dat_ioctl_fd(struct dat_file *file, void *arg)
{
	struct dat_dev_fd *p = arg;
	struct dat_uobj *uobj = dat_uobj_get_any(file, p->handle);
	int fd;

	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!uobj)
		return 0;
	if (uobj->type != DAT_HANDLE_TYPE_EVD && uobj->type != DAT_UOBJ_CNO) {
		dat_uobj_put(uobj);
		return 0;
	}
	fd = make_fd(uobj);
	if (fd < 0) {
		dat_uobj_put(uobj);
		p->result = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				      fd == -ENOMEM ? DAT_RESOURCE_MEMORY :
						      DAT_RESOURCE_DEVICE);
		return 0;
	}
	/* The descriptor keeps the reference. */
	p->fd = fd;
	p->result = DAT_SUCCESS;
	return 0;
}
