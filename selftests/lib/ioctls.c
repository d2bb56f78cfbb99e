// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ioctls.c - the ioctls of /dev/dat, without libdat
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ioctls.h"

/**
 * handle_number - the number by which the kernel knows an object of libdat
 * @handle: its handle
 */
__u32 handle_number(DAT_HANDLE handle)
{
	return (uintptr_t)handle;
}

/**
 * number_handle - the reverse of handle_number()
 * @handle: the number
 */
DAT_HANDLE number_handle(__u32 handle)
{
	return (DAT_HANDLE)(uintptr_t)handle;
}

/**
 * dev_open - open another file
 */
int dev_open(void)
{
	return open("/dev/dat", O_RDWR | O_CLOEXEC);
}

/**
 * dev_errno - make an ioctl
 * @fd: the file
 * @cmd: the ioctl
 * @arg: its structure
 *
 * Return: errno, or 0.
 */
int dev_errno(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? errno : 0;
}

/**
 * dev_type - make an ioctl
 * @fd: the file
 * @cmd: the ioctl
 * @arg: its structure
 *
 * Return: the type of the result in @arg, or IOCTL_FAILED.
 */
DAT_UINT32 dev_type(int fd, unsigned long cmd, void *arg)
{
	const __u32 *size_and_result = arg;

	return dev_errno(fd, cmd, arg) ? IOCTL_FAILED :
					 DAT_GET_TYPE(size_and_result[1]);
}

DAT_UINT32 dev_free(int fd, unsigned long cmd, __u32 handle)
{
	struct dat_dev_free arg = { .size = sizeof(arg), .handle = handle };

	return dev_type(fd, cmd, &arg);
}

DAT_UINT32 dev_ia_open(int fd, struct dat_dev_ia_open *arg)
{
	memset(arg, 0, sizeof(*arg));
	arg->size = sizeof(*arg);
	snprintf(arg->name, sizeof(arg->name), "%s", ia_name());
	arg->dat_major = 1;
	arg->dat_minor = 2;
	arg->async_evd_qlen = 8;
	return dev_type(fd, DAT_DEV_IA_OPEN, arg);
}

DAT_UINT32 dev_ia_close(int fd, __u32 ia, __u32 flags)
{
	struct dat_dev_ia_close arg = {
		.size = sizeof(arg),
		.ia = ia,
		.flags = flags,
	};

	return dev_type(fd, DAT_DEV_IA_CLOSE, &arg);
}

DAT_UINT32 dev_pz_create(int fd, __u32 ia, __u32 *pz)
{
	struct dat_dev_pz_create arg = { .size = sizeof(arg), .ia = ia };
	DAT_UINT32 ret = dev_type(fd, DAT_DEV_PZ_CREATE, &arg);

	*pz = arg.pz;
	return ret;
}

DAT_UINT32 dev_evd_create(int fd, __u32 ia, __u32 qlen, __u32 flags,
			  struct dat_dev_evd_create *arg)
{
	*arg = (struct dat_dev_evd_create){
		.size = sizeof(*arg),
		.ia = ia,
		.min_qlen = qlen,
		.flags = flags,
	};
	return dev_type(fd, DAT_DEV_EVD_CREATE, arg);
}

DAT_UINT32 dev_ep_create(int fd, __u32 ia, __u32 pz, __u32 *ep)
{
	struct dat_dev_ep_create arg = {
		.size = sizeof(arg),
		.ia = ia,
		.pz = pz,
	};
	DAT_UINT32 ret = dev_type(fd, DAT_DEV_EP_CREATE, &arg);

	*ep = arg.ep;
	return ret;
}

DAT_UINT32 dev_lmr_create(int fd, __u32 ia, __u32 pz, void *buf, __u64 len,
			  struct dat_dev_lmr_create *arg)
{
	*arg = (struct dat_dev_lmr_create){
		.size = sizeof(*arg),
		.ia = ia,
		.pz = pz,
		.privileges = DAT_MEM_PRIV_ALL_FLAG,
		.address = ADDR(buf),
		.length = len,
	};
	return dev_type(fd, DAT_DEV_LMR_CREATE, arg);
}

/**
 * dev_segment - part of a region as a segment
 * @region: the region
 * @offset: in bytes
 * @len: in bytes
 */
struct dat_dev_segment dev_segment(const struct region *region, size_t offset,
				   __u32 len)
{
	struct dat_dev_segment s = {
		.virtual_address = ADDR(region->buf) + offset,
		.length = len,
		.lmr_context = region->lmr_context,
	};

	return s;
}

/**
 * dev_posts - the structure of DAT_DEV_POST
 * @dtos: an array of DTOs
 * @num: how many
 */
struct dat_dev_post dev_posts(void *dtos, __u32 num)
{
	struct dat_dev_post post = {
		.size = sizeof(post),
		.dtos = ADDR(dtos),
		.num_dtos = num,
		.dto_size = sizeof(struct dat_dev_dto),
		.posted = 0x5555,
	};

	return post;
}

/**
 * dev_post_one - post one DTO
 * @fd: the file
 * @dto: the DTO
 */
DAT_UINT32 dev_post_one(int fd, struct dat_dev_dto *dto)
{
	struct dat_dev_post post = dev_posts(dto, 1);
	DAT_UINT32 type = dev_type(fd, DAT_DEV_POST, &post);

	/* The number of posted DTOs must agree with the result. */
	return (type == DAT_SUCCESS) == (post.posted == 1) ? type : IOCTL_FAILED;
}

/**
 * dev_map_ring - mmap() the ring of an EVD
 * @fd: the file
 * @handle: the EVD
 * @len: bytes
 * @prot: as for mmap()
 * @flags: as for mmap()
 */
void *dev_map_ring(int fd, __u32 handle, size_t len, int prot, int flags)
{
	return mmap(NULL, len, prot, flags, fd,
		    (off_t)handle * sysconf(_SC_PAGESIZE));
}
