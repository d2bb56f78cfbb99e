// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * registry.c - which IAs there are
 */
#include <stdlib.h>
#include <string.h>

#include "libdat.h"

static DAT_RETURN list(struct dat_dev_ia_info *infos, __u32 max, __u32 *num)
{
	struct dat_dev_ia_list arg = {
		.size = sizeof(arg),
		.infos = (uintptr_t)infos,
		.max = max,
		.info_size = sizeof(*infos),
	};
	DAT_RETURN ret = libdat_call(DAT_DEV_IA_LIST, &arg);

	*num = arg.num;
	return ret;
}

static void info_out(DAT_PROVIDER_INFO *out, const struct dat_dev_ia_info *in)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->ia_name, in->name, sizeof(out->ia_name));
	out->ia_name[sizeof(out->ia_name) - 1] = '\0';
	/* The kernel tells its own version; this library speaks this one. */
	out->dapl_version_major = DAT_VERSION_MAJOR;
	out->dapl_version_minor = DAT_VERSION_MINOR;
	out->is_thread_safe = in->is_thread_safe ? DAT_TRUE : DAT_FALSE;
}

/**
 * dat_registry_list_providers - which IAs can be opened
 * @max_to_return: entries of @dat_provider_list
 * @entries_returned: out, also for DAT_INVALID_PARAMETER: how many IAs there are
 * @dat_provider_list: where each of them goes
 *
 * Thread safe. See dat_registry_list_providers(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER if there are more than
 * @max_to_return, DAT_INTERNAL_ERROR if /dev/dat cannot be opened.
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return,
				       DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[])
{
	struct dat_dev_ia_info *infos = NULL;
	DAT_RETURN ret;
	__u32 num, i;

	if (max_to_return < 0)
		return BAD_ARG(1);
	if (!entries_returned)
		return BAD_ARG(2);
	*entries_returned = 0;
	if (libdat_open() != DAT_SUCCESS)
		return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);

	/* The number first: a program may ask for as many as it likes. */
	list(NULL, 0, &num);
	if (num) {
		infos = calloc(num, sizeof(*infos));
		if (!infos)
			return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
					 DAT_RESOURCE_MEMORY);
	}
	ret = list(infos, num, &num);
	*entries_returned = libdat_count_out(num);
	if (ret != DAT_SUCCESS)
		goto free;
	ret = BAD_ARG(3);
	if (num > (__u32)max_to_return || (num && !dat_provider_list))
		goto free;
	for (i = 0; i < num; i++)
		if (!dat_provider_list[i])
			goto free;
	for (i = 0; i < num; i++)
		info_out(dat_provider_list[i], &infos[i]);
	ret = DAT_SUCCESS;
free:
	free(infos);
	return ret;
}
