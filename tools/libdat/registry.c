// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * registry.c - which IAs there are
 */
#include <stdlib.h>
#include <string.h>

#include "libdat.h"
#include "foreign.h"

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

/* A device with one port has two names: its own, and that with the port. */
static const struct dat_dev_ia_info *find(const struct dat_dev_ia_info *infos,
					  __u32 num, const char *name)
{
	size_t len;
	__u32 i;

	for (i = 0; i < num; i++) {
		len = strnlen(infos[i].name, sizeof(infos[i].name));
		if (!strncmp(name, infos[i].name, len) &&
		    (!name[len] || !strcmp(name + len, ":1")))
			return &infos[i];
	}
	return NULL;
}

/* Behind the IAs come the other names that they have. */
static __u32 add_aliases(struct dat_dev_ia_info *infos, __u32 num)
{
	const struct dat_dev_ia_info *ia;
	const struct libdat_alias *alias;
	struct dat_dev_ia_info *info = infos + num;
	size_t num_aliases;

	for (alias = libdat_aliases(&num_aliases); num_aliases--; alias++) {
		ia = alias->library ? NULL : find(infos, num, alias->ia);
		if (!ia || find(infos, num, alias->name))
			continue;
		*info = *ia;
		memcpy(info->name, alias->name, strlen(alias->name) + 1);
		info++;
	}
	return (__u32)(info - infos);
}

/*
 * All that the kernel knows, by all their names; to be freed, whatever is
 * returned.
 */
static DAT_RETURN list_all(struct dat_dev_ia_info **infos, __u32 *num)
{
	size_t num_aliases;
	DAT_RETURN ret;

	*infos = NULL;
	*num = 0;
	if (libdat_open() != DAT_SUCCESS)
		return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);

	/* The number first: a program may ask for as many as it likes. */
	ret = list(NULL, 0, num);
	if (!*num)
		return ret;
	libdat_aliases(&num_aliases);
	*infos = calloc(*num + num_aliases, sizeof(**infos));
	if (!*infos)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	ret = list(*infos, *num, num);
	if (ret == DAT_SUCCESS)
		*num = add_aliases(*infos, *num);
	return ret;
}

/**
 * libdat_ia_is_new - is a name free for another provider's IA?
 * @name: the name
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, also if the kernel cannot be asked,
 * DAT_PROVIDER_ALREADY_REGISTERED if it has an IA of this name,
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN libdat_ia_is_new(const char *name)
{
	struct dat_dev_ia_info *infos;
	DAT_RETURN ret;
	__u32 num;

	ret = list_all(&infos, &num);
	if (ret == DAT_SUCCESS && find(infos, num, name))
		ret = DAT_ERROR(DAT_PROVIDER_ALREADY_REGISTERED,
				DAT_NO_SUBTYPE);
	else if (DAT_GET_TYPE(ret) == DAT_INTERNAL_ERROR)
		ret = DAT_SUCCESS;
	free(infos);
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
 * An IA that has other names in dat.conf(5) is there once for each of them, too.
 *
 * Thread safe. See dat_registry_list_providers(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER if
 * there are more than @max_to_return, DAT_INTERNAL_ERROR if /dev/dat cannot be
 * opened and no other provider has registered itself.
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return,
				       DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[])
{
	struct dat_dev_ia_info *infos;
	DAT_PROVIDER_INFO *others;
	size_t num_others, i;
	DAT_RETURN ret;
	__u32 num;

	if (max_to_return < 0)
		return BAD_ARG(1);
	if (!entries_returned)
		return BAD_ARG(2);

	ret = list_all(&infos, &num);
	if (!libdat_provider_list(&others, &num_others))
		ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				DAT_RESOURCE_MEMORY);
	/* They need no device. */
	if (others && DAT_GET_TYPE(ret) == DAT_INTERNAL_ERROR)
		ret = DAT_SUCCESS;
	*entries_returned = libdat_count_out(num + (__u32)num_others);
	if (ret != DAT_SUCCESS)
		goto free;
	ret = BAD_ARG(3);
	if (*entries_returned > max_to_return ||
	    (*entries_returned && !dat_provider_list))
		goto free;
	for (i = 0; i < num + num_others; i++)
		if (!dat_provider_list[i])
			goto free;
	for (i = 0; i < num; i++)
		info_out(dat_provider_list[i], &infos[i]);
	for (i = 0; i < num_others; i++)
		*dat_provider_list[num + i] = others[i];
	ret = DAT_SUCCESS;
free:
	free(others);
	free(infos);
	return ret;
}
