// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cr.c - connection requests, whose handles go with the answer
 */
#include <string.h>

#include "kdat.h"

static DAT_RETURN answered(DAT_CR_HANDLE cr_handle, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		kdat_handle_drop(cr_handle);
	return ret;
}

static DAT_RETURN rejected(DAT_CR_HANDLE cr_handle, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS) {
		kdat_count_ia(cr_handle, DCNT_IA_SP_CR_REJECTED);
		kdat_count_ia(cr_handle, DCNT_IA_CM_USER_REJ_TX);
	}
	return answered(cr_handle, ret);
}

/**
 * kdat_cr_accept - dat_cr_accept()
 * @cr_handle: the CR; gone on DAT_SUCCESS
 * @ep_handle: the EP to connect, or DAT_HANDLE_NULL
 * @private_data_size: bytes of @private_data
 * @private_data: for the peer
 *
 * Thread safe.
 *
 * Return: as libdat's.
 */
DAT_RETURN kdat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			  DAT_COUNT private_data_size,
			  const DAT_PVOID private_data)
{
	DAT_RETURN ret;

	kdat_handle_set_asked(ep_handle, false);
	ret = libdat_cr_accept(cr_handle, ep_handle, private_data_size,
			       private_data);
	if (ret == DAT_SUCCESS) {
		kdat_count_ia(cr_handle, DCNT_IA_SP_CR_ACCEPTED);
		kdat_count_ia(cr_handle, DCNT_IA_CM_REP_TX);
	}
	return answered(cr_handle, ret);
}

/**
 * kdat_cr_reject - dat_cr_reject()
 * @cr_handle: the CR; gone on DAT_SUCCESS
 * @private_data_size: bytes of @private_data
 * @private_data: for the peer
 *
 * Thread safe.
 *
 * Return: as libdat's, DAT_INVALID_PARAMETER.
 */
DAT_RETURN kdat_cr_reject(DAT_CR_HANDLE cr_handle, DAT_COUNT private_data_size,
			  const DAT_PVOID private_data)
{
	struct dat_dev_cr_accept arg = {
		.size = sizeof(arg),
		.cr = libdat_to_kernel(cr_handle),
		.private_data_size = (__u32)private_data_size,
	};

	if (private_data_size < 0 ||
	    (size_t)private_data_size > sizeof(arg.private_data))
		return BAD_ARG(2);
	if (private_data_size && !private_data)
		return BAD_ARG(3);
	if (!private_data_size)
		return rejected(cr_handle, libdat_cr_reject(cr_handle));
	memcpy(arg.private_data, private_data, (size_t)private_data_size);
	return rejected(cr_handle,
			libdat_cr_dismiss(DAT_DEV_CR_REJECT_WITH_DATA, &arg,
					  cr_handle));
}

/**
 * kdat_cr_handoff - dat_cr_handoff()
 * @cr_handle: the CR; gone on DAT_SUCCESS
 * @handoff: connection qualifier that somebody on this host listens on
 *
 * Thread safe.
 *
 * Return: as libdat's.
 */
DAT_RETURN kdat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	return answered(cr_handle, libdat_cr_handoff(cr_handle, handoff));
}
