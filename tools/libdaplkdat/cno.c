// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cno.c - the calls of CNOs that differ in DAT 2.0
 *
 * DAT 2.0 adds CNOs with a file descriptor, and another form of the query.
 */
#include "kdat.h"

/* DAT_CNO_FIELD_ALL of the header lacks some fields. */
#define ALL_FIELDS \
	(DAT_CNO_FIELD_IA_HANDLE | DAT_CNO_FIELD_PROXY_TYPE | \
	 DAT_CNO_FIELD_PROXY | DAT_CNO_FIELD_ALL)

/**
 * kdat_cno_query - dat_cno_query()
 * @cno_handle: the CNO
 * @cno_param_mask: the wanted fields; all are filled in
 * @cno_param: out; without the file descriptor, which is not stored
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdat_cno_query(DAT_CNO_HANDLE cno_handle,
			  DAT_CNO_PARAM_MASK cno_param_mask,
			  DAT2_CNO_PARAM *cno_param)
{
	DAT_CNO_PARAM param;
	DAT_RETURN ret;

	if (cno_param_mask & ~ALL_FIELDS)
		return BAD_ARG(2);
	if (!cno_param)
		return BAD_ARG(3);

	ret = libdat_cno_query(cno_handle, DAT_CNO_FIELD_ALL, &param);
	if (ret != DAT_SUCCESS)
		return ret;
	cno_param->ia_handle = param.ia_handle;
	cno_param->proxy_type = DAT_PROXY_TYPE_NONE;
	cno_param->proxy.agent = param.agent;
	if (param.agent.proxy_agent_func)
		cno_param->proxy_type = DAT_PROXY_TYPE_AGENT;
	return DAT_SUCCESS;
}

/**
 * kdat_cno_fd_create - dat_cno_fd_create()
 * @ia_handle: the IA
 * @fd: out: descriptor that a trigger makes readable; the caller closes it
 * @cno_handle: out: the CNO
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdat_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *fd,
			      DAT_CNO_HANDLE *cno_handle)
{
	struct dat_dev_fd arg = { .size = sizeof(arg) };
	DAT_CNO_HANDLE cno;
	DAT_RETURN ret;

	if (!fd)
		return BAD_ARG(2);
	if (!cno_handle)
		return BAD_ARG(3);
	ret = libdat_cno_create(ia_handle, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno);
	if (ret != DAT_SUCCESS)
		return ret;
	arg.handle = libdat_to_kernel(cno);
	ret = libdat_call(DAT_DEV_FD, &arg);
	if (ret != DAT_SUCCESS) {
		kdat_cno_free(cno);
		return ret;
	}
	*fd = arg.fd;
	*cno_handle = cno;
	return DAT_SUCCESS;
}

/**
 * kdat_cno_trigger - dat_cno_trigger(): take a trigger without waiting
 * @cno_handle: the CNO
 * @evd_handle: out: the EVD that triggered the CNO
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_QUEUE_EMPTY without a trigger, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdat_cno_trigger(DAT_CNO_HANDLE cno_handle,
			    DAT_EVD_HANDLE *evd_handle)
{
	if (!evd_handle)
		return BAD_ARG(2);
	return libdat_cno_wait(cno_handle, 0, evd_handle);
}

/**
 * kdat_cno_free - dat_cno_free()
 * @cno_handle: the CNO
 *
 * Thread safe.
 *
 * Return: as libdat_cno_free().
 */
DAT_RETURN kdat_cno_free(DAT_CNO_HANDLE cno_handle)
{
	DAT_RETURN ret = libdat_cno_free(cno_handle);

	if (ret == DAT_SUCCESS)
		kdat_handle_remove(cno_handle);
	return ret;
}
