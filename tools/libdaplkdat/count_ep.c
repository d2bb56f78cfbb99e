// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * count_ep.c - libdat's calls for EPs, counted
 *
 * Each does what libdat's of the same name does, and returns what that does.
 */
#include "kdat.h"

/**
 * kdat_count_post - a DTO has been posted, or not
 * @ret: what the call says that posts it
 * @ep_handle: the EP
 * @counter: which counter of the EP tells of such DTOs
 *
 * Thread safe.
 *
 * Return: @ret.
 */
DAT_RETURN kdat_count_post(DAT_RETURN ret, DAT_EP_HANDLE ep_handle,
			   DAT_EP_COUNTERS counter)
{
	if (ret == DAT_SUCCESS)
		kdat_count(ep_handle, KDAT_COUNTED_EP, counter, 1);
	return ret;
}

/**
 * kdat_count_post_data - a DTO has been posted, or not, with data
 * @ret: what the call says that posts it
 * @ep_handle: the EP
 * @counter: which counter of the EP tells of such DTOs; the next one tells of
 *	their bytes
 * @num_segments: entries of @local_iov
 * @local_iov: the data
 *
 * Thread safe.
 *
 * Return: @ret.
 */
DAT_RETURN kdat_count_post_data(DAT_RETURN ret, DAT_EP_HANDLE ep_handle,
				DAT_EP_COUNTERS counter, DAT_COUNT num_segments,
				const DAT_LMR_TRIPLET *local_iov)
{
	DAT_UINT64 bytes = 0;
	DAT_COUNT i;

	if (ret != DAT_SUCCESS)
		return ret;
	for (i = 0; i < num_segments; i++)
		bytes += local_iov[i].segment_length;
	kdat_count(ep_handle, KDAT_COUNTED_EP, counter + 1, bytes);
	return kdat_count_post(ret, ep_handle, counter);
}

DAT_RETURN kdat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	return kdat_count_post_data(libdat_ep_post_send(ep_handle, num_segments,
						     local_iov, cookie, flags),
				    ep_handle, DCNT_EP_POST_SEND, num_segments,
				    local_iov);
}

DAT_RETURN kdat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	return kdat_count_post_data(libdat_ep_post_recv(ep_handle, num_segments,
						     local_iov, cookie, flags),
				    ep_handle, DCNT_EP_POST_RECV, num_segments,
				    local_iov);
}

DAT_RETURN kdat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle,
				  DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov,
				  DAT_DTO_COOKIE cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS flags)
{
	return kdat_count_post_data(libdat_ep_post_rdma_read(ep_handle,
							  num_segments,
							  local_iov, cookie,
							  remote_buffer, flags),
				    ep_handle, DCNT_EP_POST_READ, num_segments,
				    local_iov);
}

DAT_RETURN kdat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle,
				   DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov,
				   DAT_DTO_COOKIE cookie,
				   const DAT_RMR_TRIPLET *remote_buffer,
				   DAT_COMPLETION_FLAGS flags)
{
	return kdat_count_post_data(libdat_ep_post_rdma_write(ep_handle,
							   num_segments,
							   local_iov, cookie,
							   remote_buffer,
							   flags),
				    ep_handle, DCNT_EP_POST_WRITE, num_segments,
				    local_iov);
}

/**
 * kdat_count_connect - a request for a connection is on its way, or not
 * @ret: what the call says that asks
 * @ep_handle: the EP
 *
 * Thread safe. The event can be taken before this: who asks says so with
 * kdat_handle_set_asked() first.
 *
 * Return: @ret.
 */
DAT_RETURN kdat_count_connect(DAT_RETURN ret, DAT_EP_HANDLE ep_handle)
{
	if (ret == DAT_SUCCESS) {
		kdat_count(ep_handle, KDAT_COUNTED_EP, DCNT_EP_CONNECT, 1);
		kdat_count_ia(ep_handle, DCNT_IA_CM_REQ_TX);
	}
	return ret;
}

DAT_RETURN kdat_ep_connect(DAT_EP_HANDLE ep_handle,
			   DAT_IA_ADDRESS_PTR remote_ia_address,
			   DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			   DAT_COUNT private_data_size,
			   const DAT_PVOID private_data, DAT_QOS quality,
			   DAT_CONNECT_FLAGS flags)
{
	kdat_handle_set_asked(ep_handle, true);
	return kdat_count_connect(libdat_ep_connect(ep_handle, remote_ia_address,
						 remote_conn_qual, timeout,
						 private_data_size,
						 private_data, quality, flags),
				  ep_handle);
}

DAT_RETURN kdat_ep_dup_connect(DAT_EP_HANDLE ep_handle,
			       DAT_EP_HANDLE dup_ep_handle, DAT_TIMEOUT timeout,
			       DAT_COUNT private_data_size,
			       const DAT_PVOID private_data, DAT_QOS quality)
{
	kdat_handle_set_asked(ep_handle, true);
	return kdat_count_connect(libdat_ep_dup_connect(ep_handle, dup_ep_handle,
						     timeout, private_data_size,
						     private_data, quality),
				  ep_handle);
}

DAT_RETURN kdat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS flags)
{
	DAT_RETURN ret = libdat_ep_disconnect(ep_handle, flags);

	if (ret == DAT_SUCCESS) {
		kdat_count(ep_handle, KDAT_COUNTED_EP, DCNT_EP_DISCONNECT, 1);
		kdat_count_ia(ep_handle, DCNT_IA_CM_DREQ_TX);
	}
	return ret;
}
