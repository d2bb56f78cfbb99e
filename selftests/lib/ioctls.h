/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ioctls.h - the ioctls of /dev/dat, without libdat
 *
 * The functions return the type of the DAT_RETURN, or IOCTL_FAILED if the ioctl
 * itself failed.
 */
#ifndef SELFTESTS_IOCTLS_H
#define SELFTESTS_IOCTLS_H

#include <stddef.h>

#include <dat/udat.h>
#include <linux/dat.h>

#include "pair.h"

/* No DAT_RETURN has this type. */
#define IOCTL_FAILED	0xffff

__u32 handle_number(DAT_HANDLE handle);
DAT_HANDLE number_handle(__u32 handle);

int dev_open(void);
int dev_errno(int fd, unsigned long cmd, void *arg);
DAT_UINT32 dev_type(int fd, unsigned long cmd, void *arg);

DAT_UINT32 dev_free(int fd, unsigned long cmd, __u32 handle);
DAT_UINT32 dev_ia_open(int fd, struct dat_dev_ia_open *arg);
DAT_UINT32 dev_ia_close(int fd, __u32 ia, __u32 flags);
DAT_UINT32 dev_pz_create(int fd, __u32 ia, __u32 *pz);
DAT_UINT32 dev_evd_create(int fd, __u32 ia, __u32 qlen, __u32 flags,
			  struct dat_dev_evd_create *arg);
DAT_UINT32 dev_ep_create(int fd, __u32 ia, __u32 pz, __u32 *ep);
DAT_UINT32 dev_lmr_create(int fd, __u32 ia, __u32 pz, void *buf, __u64 len,
			  struct dat_dev_lmr_create *arg);

struct dat_dev_segment dev_segment(const struct region *region, size_t offset,
				   __u32 len);
struct dat_dev_post dev_posts(void *dtos, __u32 num);
DAT_UINT32 dev_post_one(int fd, struct dat_dev_dto *dto);
void *dev_map_ring(int fd, __u32 handle, size_t len, int prot, int flags);

#endif /* SELFTESTS_IOCTLS_H */
