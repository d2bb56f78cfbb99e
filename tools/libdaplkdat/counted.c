// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * counted.c - libdat's calls with the counters of dat_ib_extensions.h
 *
 * The table of entries has these in place of libdat's calls. Each calls the
 * function of libdat that has the same name, counts, and returns its return
 * value. Counters belong to the handle of an IA, EP, or EVD; without memory for
 * counters nothing is counted. All functions are thread safe.
 */
#include "kdat.h"

/**
 * kdat_count - add to a counter of an object
 * @handle: the object, or DAT_HANDLE_NULL
 * @kind: type of the object
 * @counter: number of the counter
 * @by: the number to add
 */
void kdat_count(DAT_HANDLE handle, enum kdat_counted kind, unsigned int counter,
		DAT_UINT64 by)
{
	struct kdat_counter *counters;

	counters = handle ? kdat_counters_of(handle, kind) : NULL;
	if (counters)
		kdat_counter_add(&counters[counter], by);
}

/**
 * kdat_count_ia - increment a counter of the IA of an object
 * @of: the object
 * @counter: number of the counter
 */
void kdat_count_ia(DAT_HANDLE of, DAT_IA_COUNTERS counter)
{
	kdat_count(kdat_handle_ia(of), KDAT_COUNTED_IA, counter, 1);
}

/**
 * kdat_count_create - count the creation of an object
 * @ret: return value of the call that creates the object
 * @handle: where that call stored the handle
 * @of: the IA of the object, or another object of that IA
 * @counter: the counter of the IA for this type
 *
 * Return: @ret.
 */
DAT_RETURN kdat_count_create(DAT_RETURN ret, const DAT_HANDLE *handle,
			     DAT_HANDLE of, DAT_IA_COUNTERS counter)
{
	if (ret == DAT_SUCCESS) {
		kdat_handle_set_ia(*handle, of);
		kdat_count_ia(*handle, counter);
	}
	return ret;
}

/**
 * kdat_count_listen - count the creation of a service point
 * @ret: return value of the call that creates the service point
 * @handle: where that call stored the handle
 * @ia: the IA
 * @counter: the counter of the IA for this type
 *
 * Return: @ret.
 */
DAT_RETURN kdat_count_listen(DAT_RETURN ret, const DAT_HANDLE *handle,
			     DAT_HANDLE ia, DAT_IA_COUNTERS counter)
{
	ret = kdat_count_create(ret, handle, ia, counter);
	if (ret == DAT_SUCCESS)
		kdat_count_ia(*handle, DCNT_IA_CM_LISTEN);
	return ret;
}

DAT_RETURN kdat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	return kdat_count_create(libdat_pz_create(ia_handle, pz_handle), pz_handle,
				 ia_handle, DCNT_IA_PZ_CREATE);
}

DAT_RETURN kdat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	return kdat_count_create(libdat_rmr_create(pz_handle, rmr_handle),
				 rmr_handle, pz_handle, DCNT_IA_RMR_CREATE);
}

DAT_RETURN kdat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
			  DAT_EVD_HANDLE connect_evd, const DAT_EP_ATTR *attr,
			  DAT_EP_HANDLE *ep_handle)
{
	return kdat_count_create(libdat_ep_create(ia_handle, pz_handle, recv_evd,
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
	return kdat_count_create(libdat_ep_create_with_srq(ia_handle, pz_handle,
							   recv_evd, request_evd,
							   connect_evd, srq_handle,
							   attr, ep_handle),
				 ep_handle, ia_handle, DCNT_IA_EP_CREATE);
}

DAT_RETURN kdat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			   DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle)
{
	return kdat_count_create(libdat_srq_create(ia_handle, pz_handle, srq_attr,
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

/* Free an object: libdat's call, the counter of the IA, and the handle */
#define FREE(object, OBJECT)						\
DAT_RETURN kdat_ ## object ## _free(DAT_ ## OBJECT ## _HANDLE handle)	\
{									\
	DAT_RETURN ret = libdat_ ## object ## _free(handle);		\
									\
	if (ret == DAT_SUCCESS) {					\
		kdat_count_ia(handle, DCNT_IA_ ## OBJECT ## _FREE);	\
		kdat_handle_remove(handle);				\
	}								\
	return ret;							\
}

FREE(ep, EP)
FREE(evd, EVD)
FREE(lmr, LMR)
FREE(psp, PSP)
FREE(pz, PZ)
FREE(rmr, RMR)
FREE(rsp, RSP)
FREE(srq, SRQ)

/**
 * kdat_count_post - count a posted DTO
 * @ret: return value of the call that posts the DTO
 * @ep_handle: the EP
 * @counter: the counter of the EP for this operation
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
 * kdat_count_post_data - count a posted DTO and its bytes
 * @ret: return value of the call that posts the DTO
 * @ep_handle: the EP
 * @counter: the counter of the EP for this operation; the next counter is that
 *	of the bytes
 * @num_segments: entries of @local_iov
 * @local_iov: iov of the DTO
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
 * kdat_count_connect - count a connection request of an EP
 * @ret: return value of the call that connects the EP
 * @ep_handle: the EP
 *
 * Another thread may take the connection event before this function runs, so the
 * caller calls kdat_handle_set_active() before it connects.
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
	kdat_handle_set_active(ep_handle, true);
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
	kdat_handle_set_active(ep_handle, true);
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

static void count_data(DAT_EP_HANDLE ep, DAT_EP_COUNTERS counter,
		       const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	kdat_count(ep, KDAT_COUNTED_EP, counter, 1);
	kdat_count(ep, KDAT_COUNTED_EP, counter + 1, dto->transfered_length);
}

static void count_dto(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	if (dto->status != DAT_DTO_SUCCESS)
		return;
	switch ((int)dto->operation) {
	case DAT_DTO_RECEIVE:
	case DAT_DTO_RECEIVE_WITH_INVALIDATE:
		count_data(dto->ep_handle, DCNT_EP_RECV, dto);
		break;
	case DAT_IB_DTO_RECV_MSG_IMMED:
		count_data(dto->ep_handle, DCNT_EP_RECV_IMM, dto);
		break;
	case DAT_IB_DTO_RECV_IMMED:
		count_data(dto->ep_handle, DCNT_EP_RECV_RDMA_IMM, dto);
		break;
	default:
		break;
	}
}

static void count_connection(DAT_EVD_HANDLE evd, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data =
		&event->event_data.connect_event_data;

	switch (event->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		if (kdat_handle_is_active(data->ep_handle)) {
			kdat_count_ia(evd, DCNT_IA_CM_REP_RX);
			kdat_count_ia(evd, DCNT_IA_CM_ACTIVE_EST);
		} else {
			kdat_count_ia(evd, DCNT_IA_CM_PASSIVE_EST);
		}
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		kdat_count_ia(evd, DCNT_IA_CM_USER_REJ_RX);
		break;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		kdat_count_ia(evd, DCNT_IA_CM_ERR_REJ_RX);
		break;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		kdat_count_ia(evd, DCNT_IA_CM_ERR_TIMEOUT);
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		kdat_count_ia(evd, DCNT_IA_CM_DREQ_RX);
		break;
	default:
		kdat_count_ia(evd, DCNT_IA_CM_ERR);
		break;
	}
}

static void count_async(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	kdat_count_ia(evd, DCNT_IA_ASYNC_ERROR);
	if (number == DAT_ASYNC_ERROR_EP_BROKEN)
		kdat_count_ia(evd, DCNT_IA_ASYNC_QP_ERROR);
	else if (number == DAT_ASYNC_ERROR_EVD_OVERFLOW)
		kdat_count_ia(evd, DCNT_IA_ASYNC_CQ_ERROR);
}

static void count_request(DAT_EVD_HANDLE evd_handle,
			  const DAT_CR_ARRIVAL_EVENT_DATA *cr)
{
	kdat_handle_set_ia(cr->cr_handle, evd_handle);
	kdat_count_ia(evd_handle, DCNT_IA_SP_CR);
	kdat_count_ia(evd_handle, DCNT_IA_CM_REQ_RX);
}

/**
 * kdat_count_event - count an event that the program takes
 * @evd_handle: EVD of the event
 * @event: the event
 */
void kdat_count_event(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	const DAT_EVENT_DATA *data = &event->event_data;

	switch ((int)event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
	case DAT_IB_DTO_EVENT:
		count_dto(&data->dto_completion_event_data);
		kdat_count(evd_handle, KDAT_COUNTED_EVD, DCNT_EVD_DTO_CALLBACK,
			   1);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		kdat_count(evd_handle, KDAT_COUNTED_EVD, DCNT_EVD_DTO_CALLBACK,
			   1);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		count_request(evd_handle, &data->cr_arrival_event_data);
		kdat_count(evd_handle, KDAT_COUNTED_EVD, DCNT_EVD_CONN_CALLBACK,
			   1);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED ... DAT_CONNECTION_EVENT_UNREACHABLE:
		count_connection(evd_handle, event);
		kdat_count(evd_handle, KDAT_COUNTED_EVD, DCNT_EVD_CONN_CALLBACK,
			   1);
		break;
	case DAT_SOFTWARE_EVENT:
		break;
	default:
		count_async(evd_handle, event->event_number);
		break;
	}
}
