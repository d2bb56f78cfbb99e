// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cr.c - connection requests: query, accept, reject, hand off
 *
 * The entry of a CR has the memory that dat_cr_query() returns pointers to. The
 * arrival event creates the entry, the answer to the request removes it.
 */
#include <string.h>

#include "libdat.h"

/* The CR ended now or before: remove its entry. */
static DAT_RETURN remove_if_ended(DAT_RETURN ret, __u32 cr)
{
	if (ret == DAT_SUCCESS ||
	    ret == DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR))
		libdat_object_remove(cr, LIBDAT_CR);
	return ret;
}

/* The EP that the kernel created for a CR, or that its RSP has, or NO_HANDLE */
static __u32 ep_of(__u32 cr)
{
	struct dat_dev_cr_query arg = { .size = sizeof(arg), .cr = cr };

	return libdat_call(DAT_DEV_CR_QUERY, &arg) == DAT_SUCCESS ? arg.ep :
								    NO_HANDLE;
}

DAT_RETURN libdat_cr_query(DAT_CR_HANDLE cr_handle,
			   DAT_CR_PARAM_MASK cr_param_mask,
			   DAT_CR_PARAM *cr_param)
{
	struct dat_dev_cr_query arg = {
		.size = sizeof(arg),
		.cr = libdat_to_kernel(cr_handle),
	};
	struct libdat_cr *cr;
	DAT_RETURN ret;

	if (cr_param_mask & ~DAT_CR_FIELD_ALL)
		return BAD_ARG(2);
	if (!cr_param)
		return BAD_ARG(3);

	ret = libdat_call(DAT_DEV_CR_QUERY, &arg);
	if (ret != DAT_SUCCESS)
		return remove_if_ended(ret, arg.cr);
	if (arg.private_data_size > sizeof(cr->private_data))
		return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);

	cr = libdat_object_lock(arg.cr, LIBDAT_CR);
	if (!cr)
		return NO_MEMORY;
	cr->remote.dev = arg.remote_address;
	memcpy(cr->private_data, arg.private_data, arg.private_data_size);

	memset(cr_param, 0, sizeof(*cr_param));
	cr_param->remote_ia_address_ptr = &cr->remote.generic;
	cr_param->remote_port_qual = arg.remote_port;
	cr_param->private_data_size = (DAT_COUNT)arg.private_data_size;
	cr_param->local_ep_handle = libdat_to_user(arg.ep);
	if (arg.private_data_size)
		cr_param->private_data = cr->private_data;
	libdat_object_unlock(arg.cr);
	return DAT_SUCCESS;
}

DAT_RETURN libdat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			    DAT_COUNT private_data_size,
			    const DAT_PVOID private_data)
{
	struct dat_dev_cr_accept arg = {
		.size = sizeof(arg),
		.cr = libdat_to_kernel(cr_handle),
		.ep = libdat_to_kernel(ep_handle),
		.private_data_size = (__u32)private_data_size,
	};
	DAT_RETURN ret;

	ret = libdat_private_data_to_kernel(arg.private_data, private_data_size,
					    private_data, BAD_ARG(3));
	if (ret != DAT_SUCCESS)
		return ret;
	return remove_if_ended(libdat_call(DAT_DEV_CR_ACCEPT, &arg), arg.cr);
}

/**
 * libdat_cr_dismiss - reject a connection request, or hand it off
 * @cmd: the ioctl
 * @arg: its structure
 * @cr_handle: the CR
 *
 * Removes the entries of the CR and of an EP that the kernel created for it.
 * Thread safe.
 *
 * Return: as libdat_call().
 */
DAT_RETURN libdat_cr_dismiss(unsigned long cmd, void *arg,
			     DAT_CR_HANDLE cr_handle)
{
	__u32 cr = libdat_to_kernel(cr_handle);
	__u32 ep = ep_of(cr);
	DAT_RETURN ret = libdat_call(cmd, arg);

	if (ret == DAT_SUCCESS)
		libdat_ep_remove_if_freed(ep);
	return remove_if_ended(ret, cr);
}
