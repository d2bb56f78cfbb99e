// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ia.c - open, query, and close IAs by the names of dat.conf
 *
 * The functions call those of libdat, set the provider of the handle, and add the
 * attributes that only DAT 2.0 has.
 */
#include <stdio.h>

#include "kdat.h"

/* Many programs print only a number, so print the reason of a failed open. */
static DAT_RETURN report_failure(const char *name, const char *ia, bool is_open,
				 DAT_RETURN ret)
{
	const char *path = libdat_device();

	if (DAT_GET_TYPE(ret) != DAT_PROVIDER_NOT_FOUND)
		return ret;
	fprintf(stderr, "libdaplkdat: cannot open %s (%s): ", name, ia);
	if (is_open)
		fprintf(stderr, "the kernel has no such IA; dat-info lists the IAs\n");
	else if (DAT_GET_SUBTYPE(ret) == DAT_NAME_NOT_REGISTERED)
		fprintf(stderr, "there is no %s; is kdapl.ko loaded?\n", path);
	else
		fprintf(stderr, "no permission to open %s\n", path);
	return ret;
}

static DAT_RETURN open_named(const char *name, DAT_BOOLEAN is_thread_safe,
			     DAT_COUNT async_evd_min_qlen,
			     DAT_EVD_HANDLE *async_evd_handle,
			     DAT_IA_HANDLE *ia_handle)
{
	const DAT_PROVIDER *provider;
	const char *ia;
	DAT_RETURN ret;

	if (!name)
		return BAD_ARG(1);
	provider = kdat_find(name, is_thread_safe, &ia);
	if (!provider)
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND,
				 DAT_NAME_NOT_REGISTERED);
	ret = libdat_open();
	if (ret != DAT_SUCCESS)
		return report_failure(name, ia, false, ret);
	ret = libdat_ia_openv((DAT_NAME_PTR)ia, async_evd_min_qlen,
			      async_evd_handle, ia_handle, DAT_VERSION_MAJOR,
			      DAT_VERSION_MINOR, is_thread_safe);
	if (ret != DAT_SUCCESS)
		return report_failure(name, ia, true, ret);
	kdat_handle_set_provider(*ia_handle, provider);
	kdat_handle_set_ia(*ia_handle, *ia_handle);
	if (*async_evd_handle != DAT_EVD_OUT_OF_SCOPE)
		kdat_handle_set_ia(*async_evd_handle, *ia_handle);
	return DAT_SUCCESS;
}

/**
 * kdat_ia_open - dat_ia_open() of a line of dat.conf with threadsafe
 * @name: the name in dat.conf
 * @async_evd_min_qlen: minimum queue length of its asynchronous EVD
 * @async_evd_handle: in: DAT_HANDLE_NULL, out: the asynchronous EVD
 * @ia_handle: out
 *
 * Thread safe.
 *
 * Return: as dat_ia_openv().
 */
DAT_RETURN kdat_ia_open(const DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_HANDLE *ia_handle)
{
	return open_named(name, DAT_TRUE, async_evd_min_qlen, async_evd_handle,
			  ia_handle);
}

/**
 * kdat_ia_open_unsafe - dat_ia_open() of a line with nonthreadsafe
 * @name: the name in dat.conf
 * @async_evd_min_qlen: minimum queue length of its asynchronous EVD
 * @async_evd_handle: in: DAT_HANDLE_NULL, out: the asynchronous EVD
 * @ia_handle: out
 *
 * libdat2 distinguishes the two lines. Thread safe.
 *
 * Return: as dat_ia_openv().
 */
DAT_RETURN kdat_ia_open_unsafe(const DAT_NAME_PTR name,
			       DAT_COUNT async_evd_min_qlen,
			       DAT_EVD_HANDLE *async_evd_handle,
			       DAT_IA_HANDLE *ia_handle)
{
	return open_named(name, DAT_FALSE, async_evd_min_qlen, async_evd_handle,
			  ia_handle);
}

static void ia_attr_more(DAT_IA_ATTR *out)
{
	out->zb_supported = DAT_TRUE;
	/* Every IA has the extension of the counters. */
	out->extension_supported = DAT_EXTENSION_IB;
	out->extension_version = DAT_IB_EXTENSION_VERSION;
}

/* libdat2 identifies the line of dat.conf at close by the first three fields. */
static void provider_attr_more(DAT_PROVIDER_ATTR *out,
			       const DAT_PROVIDER_INFO *info)
{
	out->dapl_version_major = info->dapl_version_major;
	out->dapl_version_minor = info->dapl_version_minor;
	out->is_thread_safe = info->is_thread_safe;
	out->supports_multipath = DAT_FALSE;
	out->rmr_scope_supported = DAT_RMR_SCOPE_ANY;
	out->is_signal_safe = DAT_FALSE;
	out->ha_supported = DAT_FALSE;
	out->ha_loadbalancing = DAT_HA_LB_NONE;
}

/**
 * kdat_ia_query - dat_ia_query()
 * @ia_handle: the IA
 * @async_evd_handle: out: its asynchronous EVD; may be NULL
 * @ia_attr_mask: the wanted fields of @ia_attributes; all are filled in
 * @ia_attributes: out; may be NULL if @ia_attr_mask is 0
 * @provider_attr_mask: the wanted fields of @provider_attributes; all are filled
 *	in
 * @provider_attributes: out; may be NULL if @provider_attr_mask is 0
 *
 * Thread safe.
 *
 * Return: as libdat_ia_query().
 */
DAT_RETURN kdat_ia_query(DAT_IA_HANDLE ia_handle,
			 DAT_EVD_HANDLE *async_evd_handle,
			 DAT_IA_ATTR_MASK ia_attr_mask,
			 DAT_IA_ATTR *ia_attributes,
			 DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			 DAT_PROVIDER_ATTR *provider_attributes)
{
	DAT_RETURN ret = libdat_ia_query(ia_handle, async_evd_handle, ia_attr_mask,
					 ia_attributes, provider_attr_mask,
					 provider_attributes);

	if (ret != DAT_SUCCESS)
		return ret;
	if (ia_attr_mask)
		ia_attr_more(ia_attributes);
	if (provider_attr_mask)
		provider_attr_more(provider_attributes, kdat_info(ia_handle));
	return DAT_SUCCESS;
}

/**
 * kdat_ia_close - dat_ia_close()
 * @ia_handle: the IA
 * @ia_flags: DAT_CLOSE_ABRUPT_FLAG frees all its objects with it
 *
 * Thread safe.
 *
 * Return: as libdat_ia_close().
 */
DAT_RETURN kdat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS ia_flags)
{
	DAT_RETURN ret = libdat_ia_close(ia_handle, ia_flags);

	if (ret == DAT_SUCCESS)
		kdat_handles_remove_freed();
	return ret;
}

/**
 * kdat_ia_ha_related - dat_ia_ha_related()
 * @ia_handle: the IA
 * @name: another IA
 * @answer: out: DAT_FALSE, because kdapl has no failover
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdat_ia_ha_related(DAT_IA_HANDLE ia_handle, const DAT_NAME_PTR name,
			      DAT_BOOLEAN *answer)
{
	(void)ia_handle;
	if (!name)
		return BAD_ARG(2);
	if (!answer)
		return BAD_ARG(3);
	*answer = DAT_FALSE;
	return DAT_SUCCESS;
}
