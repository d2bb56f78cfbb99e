// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * msg.c - messages and RMA are DTOs
 */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "kfi.h"

#define MSG_FLAGS	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
			 FI_MORE | FI_FENCE)

/* A full queue is no error: the program reads completions and tries again. */
static ssize_t post_errno(DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		return 0;
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES &&
	    DAT_GET_SUBTYPE(ret) != DAT_RESOURCE_MEMORY)
		return -FI_EAGAIN;
	return kfi_errno(ret);
}

static void ep_lock(struct kfi_ep *ep)
{
	if (ep->domain->threading != FI_THREAD_DOMAIN)
		pthread_mutex_lock(&ep->lock);
}

static void ep_unlock(struct kfi_ep *ep)
{
	if (ep->domain->threading != FI_THREAD_DOMAIN)
		pthread_mutex_unlock(&ep->lock);
}

static DAT_COUNT to_triplets(DAT_LMR_TRIPLET *to, const struct iovec *iov, void **desc,
			     size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		to[i] = (DAT_LMR_TRIPLET){
			.lmr_context = desc ? (DAT_LMR_CONTEXT)(uintptr_t)desc[i] : 0,
			.virtual_address = (uintptr_t)iov[i].iov_base,
			.segment_length = iov[i].iov_len,
		};
	}
	return (DAT_COUNT)count;
}

static DAT_COMPLETION_FLAGS completion_flags(const struct kfi_ep *ep, uint64_t flags)
{
	int out = DAT_COMPLETION_DEFAULT_FLAG;

	if (ep->selective && !(flags & FI_COMPLETION))
		out |= DAT_COMPLETION_SUPPRESS_FLAG;
	if (flags & FI_FENCE)
		out |= DAT_COMPLETION_BARRIER_FENCE_FLAG;
	return (DAT_COMPLETION_FLAGS)out;
}

static ssize_t post(struct kfi_ep *ep, DAT_LINUX_OP op, DAT_COUNT num, DAT_LMR_TRIPLET *iov,
		    void *context, const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	DAT_DTO_COOKIE cookie = { .as_ptr = context };

	if (!ep->ep)
		return -FI_EOPBADSTATE;
	switch (op) {
	case DAT_LINUX_SEND:
		return post_errno(dat_ep_post_send(ep->ep, num, iov, cookie, flags));
	case DAT_LINUX_RDMA_WRITE:
		return post_errno(dat_ep_post_rdma_write(ep->ep, num, iov, cookie, remote, flags));
	case DAT_LINUX_RDMA_READ:
		return post_errno(dat_ep_post_rdma_read(ep->ep, num, iov, cookie, remote, flags));
	default:
		return post_errno(dat_ep_post_recv(ep->ep, num, iov, cookie,
						   DAT_COMPLETION_DEFAULT_FLAG));
	}
}

/*
 * The first injection makes the slots: one more than requests that can be outstanding, so
 * that the slot of the oldest injection is free, whether the queue is full or not.
 */
static int make_slots(struct kfi_ep *ep)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rmr_context;
	DAT_EP_PARAM param;
	DAT_VADDR address;
	DAT_RETURN ret;
	DAT_VLEN size;
	void *slots;

	ret = dat_ep_query(ep->ep, DAT_EP_FIELD_ALL, &param);
	if (ret != DAT_SUCCESS)
		return kfi_errno(ret);
	ep->num_slots = (size_t)param.ep_attr.max_request_dtos + 1;
	slots = aligned_alloc(KFI_INJECT_SIZE, ep->num_slots * KFI_INJECT_SIZE);
	if (!slots)
		return -FI_ENOMEM;
	region.for_va = slots;
	ret = dat_lmr_create(ep->domain->fabric->ia, DAT_MEM_TYPE_VIRTUAL, region,
			     ep->num_slots * KFI_INJECT_SIZE, ep->domain->pz,
			     DAT_MEM_PRIV_LOCAL_READ_FLAG, &ep->slots_lmr, &ep->slots_context,
			     &rmr_context, &size, &address);
	if (ret != DAT_SUCCESS) {
		free(slots);
		return kfi_failed("dat_lmr_create", ret);
	}
	ep->slots = slots;
	return 0;
}

/* Posts a copy of the data. */
static ssize_t inject(struct kfi_ep *ep, DAT_LINUX_OP op, const struct iovec *iov, size_t count,
		      void *context, const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET triplet = { .segment_length = 0 };
	uint8_t *slot;
	ssize_t ret;
	size_t i;

	if (!ep->ep)
		return -FI_EOPBADSTATE;
	ep_lock(ep);
	ret = ep->slots ? 0 : make_slots(ep);
	if (ret)
		goto unlock;
	slot = ep->slots + ep->next_slot * KFI_INJECT_SIZE;
	for (i = 0; i < count; i++) {
		if (triplet.segment_length + iov[i].iov_len > KFI_INJECT_SIZE) {
			ret = -FI_EMSGSIZE;
			goto unlock;
		}
		memcpy(slot + triplet.segment_length, iov[i].iov_base, iov[i].iov_len);
		triplet.segment_length += iov[i].iov_len;
	}
	triplet.lmr_context = ep->slots_context;
	triplet.virtual_address = (uintptr_t)slot;
	ret = post(ep, op, triplet.segment_length ? 1 : 0, &triplet, context, remote, flags);
	if (!ret)
		ep->next_slot = (ep->next_slot + 1) % ep->num_slots;
unlock:
	ep_unlock(ep);
	return ret;
}

static ssize_t request(struct kfi_ep *ep, DAT_LINUX_OP op, const struct iovec *iov, void **desc,
		       size_t count, void *context, const DAT_RMR_TRIPLET *remote, uint64_t flags)
{
	DAT_LMR_TRIPLET triplets[KFI_MAX_IOV];

	if (count > ep->info->tx_attr->iov_limit)
		return -FI_EINVAL;
	if (flags & FI_INJECT)
		return inject(ep, op, iov, count, context, remote, completion_flags(ep, flags));
	return post(ep, op, to_triplets(triplets, iov, desc, count), triplets, context, remote,
		    completion_flags(ep, flags));
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src_addr, void *context)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);
	DAT_LMR_TRIPLET triplets[KFI_MAX_IOV];

	if (count > ep->info->rx_attr->iov_limit)
		return -FI_EINVAL;
	return post(ep, DAT_LINUX_RECV, to_triplets(triplets, iov, desc, count), triplets, context,
		    NULL, DAT_COMPLETION_DEFAULT_FLAG);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
			fi_addr_t src_addr, void *context)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	return msg_recvv(fid, &iov, &desc, 1, src_addr, context);
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	if (flags & ~(FI_COMPLETION | FI_MORE))
		return -FI_EBADFLAGS;
	return msg_recvv(fid, msg->msg_iov, msg->desc, msg->iov_count, msg->addr, msg->context);
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t dest_addr, void *context)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);

	return request(ep, DAT_LINUX_SEND, iov, desc, count, context, NULL,
		       ep->info->tx_attr->op_flags);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			fi_addr_t dest_addr, void *context)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	return msg_sendv(fid, &iov, &desc, 1, dest_addr, context);
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);

	if (flags & ~MSG_FLAGS)
		return -FI_EBADFLAGS;
	return request(ep, DAT_LINUX_SEND, msg->msg_iov, msg->desc, msg->iov_count, msg->context,
		       NULL, flags);
}

/* Never completes, unless it fails. */
static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);

	return inject(ep, DAT_LINUX_SEND, &iov, 1, NULL, NULL, DAT_COMPLETION_SUPPRESS_FLAG);
}

static ssize_t no_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			   uint64_t data, fi_addr_t dest_addr, void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			     fi_addr_t dest_addr)
{
	return -FI_ENOSYS;
}

struct fi_ops_msg kfi_msg_ops = {
	.size = sizeof(kfi_msg_ops),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = no_senddata,
	.injectdata = no_injectdata,
};

static size_t total(const struct iovec *iov, size_t count)
{
	size_t sum = 0;

	while (count--)
		sum += iov[count].iov_len;
	return sum;
}

static DAT_RMR_TRIPLET to_remote(uint64_t addr, uint64_t key, size_t len)
{
	return (DAT_RMR_TRIPLET){
		.rmr_context = (DAT_RMR_CONTEXT)key,
		.target_address = addr,
		.segment_length = len,
	};
}

static ssize_t rma(struct fid_ep *fid, DAT_LINUX_OP op, const struct iovec *iov, void **desc,
		   size_t count, uint64_t addr, uint64_t key, void *context, uint64_t flags)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);
	DAT_RMR_TRIPLET remote = to_remote(addr, key, total(iov, count));

	if (key > UINT32_MAX)
		return -FI_EINVAL;
	return request(ep, op, iov, desc, count, context, &remote, flags);
}

static uint64_t usual_flags(struct fid_ep *fid)
{
	return kfi_container(fid, struct kfi_ep, fid)->info->tx_attr->op_flags;
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	return rma(fid, DAT_LINUX_RDMA_READ, iov, desc, count, addr, key, context,
		   usual_flags(fid) & ~FI_INJECT);
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc,
			fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	return rma_readv(fid, &iov, &desc, 1, src_addr, addr, key, context);
}

static ssize_t rma_msg(struct fid_ep *fid, DAT_LINUX_OP op, const struct fi_msg_rma *msg,
		       uint64_t flags)
{
	if (msg->rma_iov_count != 1 ||
	    msg->rma_iov->len != total(msg->msg_iov, msg->iov_count))
		return -FI_EINVAL;
	return rma(fid, op, msg->msg_iov, msg->desc, msg->iov_count, msg->rma_iov->addr,
		   msg->rma_iov->key, msg->context, flags);
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	if (flags & ~(MSG_FLAGS & ~FI_INJECT))
		return -FI_EBADFLAGS;
	return rma_msg(fid, DAT_LINUX_RDMA_READ, msg, flags);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	return rma(fid, DAT_LINUX_RDMA_WRITE, iov, desc, count, addr, key, context,
		   usual_flags(fid));
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			 fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };

	return rma_writev(fid, &iov, &desc, 1, dest_addr, addr, key, context);
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	if (flags & ~MSG_FLAGS)
		return -FI_EBADFLAGS;
	return rma_msg(fid, DAT_LINUX_RDMA_WRITE, msg, flags);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr,
			  uint64_t addr, uint64_t key)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);
	DAT_RMR_TRIPLET remote = to_remote(addr, key, len);

	if (key > UINT32_MAX)
		return -FI_EINVAL;
	return inject(ep, DAT_LINUX_RDMA_WRITE, &iov, 1, NULL, &remote,
		      DAT_COMPLETION_SUPPRESS_FLAG);
}

static ssize_t no_writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
			    void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_inject_writedata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
				   fi_addr_t dest_addr, uint64_t addr, uint64_t key)
{
	return -FI_ENOSYS;
}

struct fi_ops_rma kfi_rma_ops = {
	.size = sizeof(kfi_rma_ops),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = no_writedata,
	.injectdata = no_inject_writedata,
};
