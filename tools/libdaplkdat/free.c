// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * free.c - freeing objects, and their handles with them
 */
#include "kdat.h"

static DAT_RETURN freed(DAT_HANDLE handle, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		kdat_handle_drop(handle);
	return ret;
}

/* Of some types the IA counts how many have been freed. */
static DAT_RETURN counted(DAT_HANDLE handle, DAT_RETURN ret,
			  DAT_IA_COUNTERS counter)
{
	if (ret == DAT_SUCCESS)
		kdat_count_ia(handle, counter);
	return freed(handle, ret);
}

/**
 * kdat_cno_free - dat_cno_free()
 * @cno_handle: the CNO
 *
 * Thread safe.
 *
 * Return: as libdat's.
 */
DAT_RETURN kdat_cno_free(DAT_CNO_HANDLE cno_handle)
{
	return freed(cno_handle, libdat_cno_free(cno_handle));
}

/**
 * kdat_csp_free - dat_csp_free()
 * @csp_handle: the CSP
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE.
 */
DAT_RETURN kdat_csp_free(DAT_CSP_HANDLE csp_handle)
{
	__u32 handle = libdat_to_kernel(csp_handle);
	DAT_RETURN ret = libdat_free_call(DAT_DEV_CSP_FREE, handle);

	if (ret == DAT_SUCCESS)
		libdat_object_remove(handle, LIBDAT_CSP);
	return freed(csp_handle, ret);
}

/**
 * kdat_ep_free - dat_ep_free()
 * @ep_handle: the EP
 *
 * Thread safe.
 *
 * Return: as libdat's.
 */
DAT_RETURN kdat_ep_free(DAT_EP_HANDLE ep_handle)
{
	return counted(ep_handle, libdat_ep_free(ep_handle),
		       DCNT_IA_EP_FREE);
}

/**
 * kdat_evd_free - dat_evd_free()
 * @evd_handle: the EVD
 *
 * Thread safe.
 *
 * Return: as libdat's.
 */
DAT_RETURN kdat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	return counted(evd_handle, libdat_evd_free(evd_handle),
		       DCNT_IA_EVD_FREE);
}

/**
 * kdat_lmr_free - dat_lmr_free()
 * @lmr_handle: the LMR
 *
 * Thread safe.
 *
 * Return: as libdat's.
 */
DAT_RETURN kdat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	return counted(lmr_handle, libdat_lmr_free(lmr_handle),
		       DCNT_IA_LMR_FREE);
}

/**
 * kdat_psp_free - dat_psp_free()
 * @psp_handle: the PSP
 *
 * Thread safe.
 *
 * Return: as libdat's.
 */
DAT_RETURN kdat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	return counted(psp_handle, libdat_psp_free(psp_handle),
		       DCNT_IA_PSP_FREE);
}

/**
 * kdat_pz_free - dat_pz_free()
 * @pz_handle: the PZ
 *
 * Thread safe.
 *
 * Return: as libdat's.
 */
DAT_RETURN kdat_pz_free(DAT_PZ_HANDLE pz_handle)
{
	return counted(pz_handle, libdat_pz_free(pz_handle),
		       DCNT_IA_PZ_FREE);
}

/**
 * kdat_rmr_free - dat_rmr_free()
 * @rmr_handle: the RMR
 *
 * Thread safe.
 *
 * Return: as libdat's.
 */
DAT_RETURN kdat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	return counted(rmr_handle, libdat_rmr_free(rmr_handle),
		       DCNT_IA_RMR_FREE);
}

/**
 * kdat_rsp_free - dat_rsp_free()
 * @rsp_handle: the RSP
 *
 * Thread safe.
 *
 * Return: as libdat's.
 */
DAT_RETURN kdat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	return counted(rsp_handle, libdat_rsp_free(rsp_handle),
		       DCNT_IA_RSP_FREE);
}

/**
 * kdat_srq_free - dat_srq_free()
 * @srq_handle: the SRQ
 *
 * Thread safe.
 *
 * Return: as libdat's.
 */
DAT_RETURN kdat_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	return counted(srq_handle, libdat_srq_free(srq_handle),
		       DCNT_IA_SRQ_FREE);
}
