// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ulist.c - the ioctl that lists the registered IAs
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "file.h"

/* Upper limit of the IAs listed by one call. */
#define MAX_INFOS	4096

static int copy_infos(struct dat_dev_ia_list *p, DAT_PROVIDER_INFO **infos)
{
	void __user *to = u64_to_user_ptr(p->infos);
	u32 i;

	for (i = 0; i < p->num; i++, to += p->info_size) {
		struct dat_dev_ia_info info = {
			.dat_major = infos[i]->dapl_version_major,
			.dat_minor = infos[i]->dapl_version_minor,
			.is_thread_safe = infos[i]->is_thread_safe,
		};

		strscpy(info.name, infos[i]->ia_name, sizeof(info.name));
		if (copy_to_user(to, &info, min_t(u32, p->info_size,
						  sizeof(info))))
			return -EFAULT;
	}
	return 0;
}

static DAT_PROVIDER_INFO **alloc_infos(u32 max)
{
	DAT_PROVIDER_INFO **list;
	u32 i;

	/* The infos follow the pointers to them. 0 bytes would return NULL. */
	list = kvzalloc(max(max, 1U) * (sizeof(**list) + sizeof(*list)),
			GFP_KERNEL_ACCOUNT);
	for (i = 0; list && i < max; i++)
		list[i] = (DAT_PROVIDER_INFO *)(list + max) + i;
	return list;
}

/* dat_registry_list_providers() */
int dat_ioctl_ia_list(struct dat_file *file, void *arg)
{
	struct dat_dev_ia_list *p = arg;
	u32 max = min_t(u32, p->max, MAX_INFOS);
	DAT_PROVIDER_INFO **infos;
	DAT_COUNT num = 0;
	int ret = 0;

	if (p->__reserved)
		return -EOPNOTSUPP;
	if (p->info_size < sizeof(struct dat_dev_ia_info))
		return -EINVAL;
	if (p->info_size > PAGE_SIZE)
		return -E2BIG;
	infos = alloc_infos(max);
	if (!infos)
		return -ENOMEM;
	p->result = dat_registry_list_providers(max, &num, infos);
	p->num = num;
	if (!p->result)
		ret = copy_infos(p, infos);
	kvfree(infos);
	return ret;
}
