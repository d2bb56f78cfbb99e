// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * count_made.c - libdat's calls that make objects, counted
 *
 * Each does what libdat's of the same name does, and returns what that does.
 */
#include "kdat.h"

/**
 * kdat_count_listen - a service point has been made, or not
 * @ret: what the call says that makes it
 * @handle: where it has put the handle
 * @ia: its IA
 * @counter: which counter of the IA tells of such service points
 *
 * Thread safe.
 *
 * Return: @ret.
 */
DAT_RETURN kdat_count_listen(DAT_RETURN ret, const DAT_HANDLE *handle,
			     DAT_HANDLE ia, DAT_IA_COUNTERS counter)
{
	ret = kdat_count_made(ret, handle, ia, counter);
	if (ret == DAT_SUCCESS)
		kdat_count_ia(*handle, DCNT_IA_CM_LISTEN);
	return ret;
}

DAT_RETURN kdat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	return kdat_count_made(libdat_pz_create(ia_handle, pz_handle), pz_handle,
			       ia_handle, DCNT_IA_PZ_CREATE);
}

DAT_RETURN kdat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	return kdat_count_made(libdat_rmr_create(pz_handle, rmr_handle),
			       rmr_handle, pz_handle, DCNT_IA_RMR_CREATE);
}

DAT_RETURN kdat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
			  DAT_EVD_HANDLE connect_evd, const DAT_EP_ATTR *attr,
			  DAT_EP_HANDLE *ep_handle)
{
	return kdat_count_made(libdat_ep_create(ia_handle, pz_handle, recv_evd,
					     request_evd, connect_evd, attr,
					     ep_handle),
			       ep_handle, ia_handle, DCNT_IA_EP_CREATE);
}

DAT_RETURN kdat_ep_create_with_srq(DAT_IA_HANDLE ia_handle,
				   DAT_PZ_HANDLE pz_handle,
				   DAT_EVD_HANDLE recv_evd,
				   DAT_EVD_HANDLE request_evd,
				   DAT_EVD_HANDLE connect_evd,
				   DAT_SRQ_HANDLE srq_handle,
				   const DAT_EP_ATTR *attr,
				   DAT_EP_HANDLE *ep_handle)
{
	return kdat_count_made(libdat_ep_create_with_srq(ia_handle, pz_handle,
						      recv_evd, request_evd,
						      connect_evd, srq_handle,
						      attr, ep_handle),
			       ep_handle, ia_handle, DCNT_IA_EP_CREATE);
}

DAT_RETURN kdat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			   DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle)
{
	return kdat_count_made(libdat_srq_create(ia_handle, pz_handle, srq_attr,
					      srq_handle),
			       srq_handle, ia_handle, DCNT_IA_SRQ_CREATE);
}

DAT_RETURN kdat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			   DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
			   DAT_PSP_HANDLE *psp_handle)
{
	return kdat_count_listen(libdat_psp_create(ia_handle, conn_qual,
						evd_handle, flags, psp_handle),
				 psp_handle, ia_handle, DCNT_IA_PSP_CREATE);
}

DAT_RETURN kdat_psp_create_any(DAT_IA_HANDLE ia_handle,
			       DAT_CONN_QUAL *conn_qual,
			       DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
			       DAT_PSP_HANDLE *psp_handle)
{
	return kdat_count_listen(libdat_psp_create_any(ia_handle, conn_qual,
						    evd_handle, flags,
						    psp_handle),
				 psp_handle, ia_handle, DCNT_IA_PSP_CREATE_ANY);
}

DAT_RETURN kdat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			   DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			   DAT_RSP_HANDLE *rsp_handle)
{
	return kdat_count_listen(libdat_rsp_create(ia_handle, conn_qual, ep_handle,
						evd_handle, rsp_handle),
				 rsp_handle, ia_handle, DCNT_IA_RSP_CREATE);
}
