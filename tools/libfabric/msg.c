// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * msg.c - messages and RMA are DTOs
 */
#include <arpa/inet.h>

#include "kfi.h"

/* The kinds of completion are one: see NOT_IWARP for what a program may expect of it. */
#define MSG_FLAGS	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
			 FI_DELIVERY_COMPLETE | FI_MORE | FI_FENCE | FI_REMOTE_CQ_DATA)

/* False for a segment that is too long. */
static bool to_triplets(DAT_LMR_TRIPLET *to, const struct iovec *iov, void **desc, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (iov[i].iov_len > UINT32_MAX)
			return false;
		to[i] = (DAT_LMR_TRIPLET){
			.lmr_context = desc ? (DAT_LMR_CONTEXT)(uintptr_t)desc[i] : 0,
			.virtual_address = (uintptr_t)iov[i].iov_base,
			.segment_length = iov[i].iov_len,
		};
	}
	return true;
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

/**
 * struct request - what requests of libfabric have in common
 * @op: Send, RDMA Write or RDMA Read
 * @iov: the local segments
 * @desc: their descriptors, or NULL
 * @count: their number
 * @remote: the remote segment, for RMA
 * @context: of the program
 * @data: for FI_REMOTE_CQ_DATA
 */
struct request {
	DAT_LINUX_OP op;
	const struct iovec *iov;
	void **desc;
	size_t count;
	DAT_RMR_TRIPLET remote;
	void *context;
	uint64_t data;
};

static DAT_LINUX_DTO to_dto(const struct kfi_ep *ep, const struct request *r, uint64_t flags)
{
	DAT_LINUX_DTO dto = {
		.op = r->op,
		.handle = ep->ep,
		.num_segments = (DAT_COUNT)r->count,
		.user_cookie.as_ptr = r->context,
		.remote_buffer = r->remote,
		.completion_flags = completion_flags(ep, flags),
	};

	if (flags & FI_REMOTE_CQ_DATA) {
		dto.op = r->op == DAT_LINUX_SEND ? DAT_LINUX_SEND_IMMED :
						   DAT_LINUX_RDMA_WRITE_IMMED;
		dto.rmr_context = htonl((uint32_t)r->data);
	}
	return dto;
}

/* A DTO for an endpoint without an EP. One that was closed flushes it, see kfi_cq_keep(). */
static ssize_t post_to_none(struct kfi_ep *ep, struct kfi_cq *cq, const DAT_LINUX_DTO *dto)
{
	if (!ep->is_closed || !cq)
		return -FI_EOPBADSTATE;
	if (dto->user_cookie.as_ptr != &kfi_injected)
		kfi_cq_fail(cq, dto, DAT_DTO_ERR_FLUSHED);
	return 0;
}

static ssize_t request(struct fid_ep *fid, const struct request *r, uint64_t flags)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);
	DAT_LMR_TRIPLET triplets[KFI_MAX_IOV];
	DAT_LINUX_DTO dto = to_dto(ep, r, flags);

	if (!ep->ep || !ep->tx_cq)
		return post_to_none(ep, ep->tx_cq, &dto);
	if (r->count > ep->info->tx_attr->iov_limit)
		return -FI_EINVAL;
	if (flags & FI_INJECT)
		return kfi_ep_inject(ep, &dto, r->iov, r->count, flags);
	if (!to_triplets(triplets, r->iov, r->desc, r->count))
		return -FI_EMSGSIZE;
	dto.local_iov = triplets;
	return kfi_ep_post(ep, &dto, flags);
}

/* Only counters see how it ends, as with libfabric's provider for verbs. */
static ssize_t inject(struct fid_ep *fid, const struct request *r, uint64_t flags)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);
	DAT_LINUX_DTO dto = to_dto(ep, r, flags);

	dto.completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
	dto.user_cookie.as_ptr = &kfi_injected;
	if (!ep->ep || !ep->tx_cq)
		return post_to_none(ep, ep->tx_cq, &dto);
	return kfi_ep_inject(ep, &dto, r->iov, r->count, 0);
}

static uint64_t usual_flags(struct fid_ep *fid)
{
	return kfi_container(fid, struct kfi_ep, fid)->info->tx_attr->op_flags;
}

static ssize_t receive(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		       void *context, uint64_t flags)
{
	struct kfi_ep *ep = kfi_container(fid, struct kfi_ep, fid);
	DAT_LMR_TRIPLET triplets[KFI_MAX_IOV];
	DAT_LINUX_DTO dto = {
		.op = fid->fid.fclass == FI_CLASS_SRX_CTX ? DAT_LINUX_SRQ_RECV : DAT_LINUX_RECV,
		.handle = ep->receiver,
		.num_segments = (DAT_COUNT)count,
		.local_iov = triplets,
		.user_cookie.as_ptr = context,
	};

	if (!ep->receiver)
		return post_to_none(ep, ep->rx_cq, &dto);
	if (count > ep->info->rx_attr->iov_limit)
		return -FI_EINVAL;
	if (!to_triplets(triplets, iov, desc, count))
		return -FI_EMSGSIZE;
	return kfi_ep_post(ep, &dto, flags);
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src_addr, void *context)
{
	return receive(fid, iov, desc, count, context, 0);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
			fi_addr_t src_addr, void *context)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	return receive(fid, &iov, &desc, 1, context, 0);
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	if (flags & ~(FI_COMPLETION | FI_MORE))
		return -FI_EBADFLAGS;
	return receive(fid, msg->msg_iov, msg->desc, msg->iov_count, msg->context, flags);
}

static struct iovec to_iov(const void *buf, size_t len)
{
	return (struct iovec){ .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t dest_addr, void *context)
{
	struct request r = { DAT_LINUX_SEND, iov, desc, count, .context = context };

	return request(fid, &r, usual_flags(fid));
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			fi_addr_t dest_addr, void *context)
{
	struct iovec iov = to_iov(buf, len);

	return msg_sendv(fid, &iov, &desc, 1, dest_addr, context);
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct request r = {
		DAT_LINUX_SEND, msg->msg_iov, msg->desc, msg->iov_count,
		.context = msg->context, .data = msg->data,
	};

	return flags & ~MSG_FLAGS ? -FI_EBADFLAGS : request(fid, &r, flags);
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr)
{
	struct iovec iov = to_iov(buf, len);
	struct request r = { .op = DAT_LINUX_SEND, .iov = &iov, .count = 1 };

	return inject(fid, &r, 0);
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t dest_addr, void *context)
{
	struct iovec iov = to_iov(buf, len);
	struct request r = {
		DAT_LINUX_SEND, &iov, &desc, 1, .context = context, .data = data,
	};

	return request(fid, &r, usual_flags(fid) | FI_REMOTE_CQ_DATA);
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest_addr)
{
	struct iovec iov = to_iov(buf, len);
	struct request r = { DAT_LINUX_SEND, &iov, NULL, 1, .data = data };

	return inject(fid, &r, FI_REMOTE_CQ_DATA);
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
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};

/* The remote segment is as long as the local ones. */
static ssize_t set_remote(struct request *r, uint64_t addr, uint64_t key)
{
	size_t len = 0, i;

	for (i = 0; i < r->count; i++)
		len += r->iov[i].iov_len;
	if (key > UINT32_MAX)
		return -FI_EINVAL;
	if (len > UINT32_MAX)
		return -FI_EMSGSIZE;
	r->remote = (DAT_RMR_TRIPLET){
		.rmr_context = (DAT_RMR_CONTEXT)key,
		.target_address = addr,
		.segment_length = len,
	};
	return 0;
}

static ssize_t rma(struct fid_ep *fid, struct request *r, uint64_t addr, uint64_t key,
		   uint64_t flags)
{
	ssize_t ret = set_remote(r, addr, key);

	return ret ?: request(fid, r, flags);
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	struct request r = { DAT_LINUX_RDMA_READ, iov, desc, count, .context = context };

	return rma(fid, &r, addr, key, usual_flags(fid) & ~FI_INJECT);
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc,
			fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	struct iovec iov = to_iov(buf, len);

	return rma_readv(fid, &iov, &desc, 1, src_addr, addr, key, context);
}

static ssize_t rma_msg(struct fid_ep *fid, DAT_LINUX_OP op, const struct fi_msg_rma *msg,
		       uint64_t flags)
{
	struct request r = {
		op, msg->msg_iov, msg->desc, msg->iov_count,
		.context = msg->context, .data = msg->data,
	};
	ssize_t ret;

	if (msg->rma_iov_count != 1)
		return -FI_EINVAL;
	ret = set_remote(&r, msg->rma_iov->addr, msg->rma_iov->key);
	if (!ret && r.remote.segment_length != msg->rma_iov->len)
		ret = -FI_EINVAL;
	return ret ?: request(fid, &r, flags);
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	if (flags & ~(MSG_FLAGS & ~(FI_INJECT | FI_REMOTE_CQ_DATA)))
		return -FI_EBADFLAGS;
	return rma_msg(fid, DAT_LINUX_RDMA_READ, msg, flags);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	struct request r = { DAT_LINUX_RDMA_WRITE, iov, desc, count, .context = context };

	return rma(fid, &r, addr, key, usual_flags(fid));
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			 fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	struct iovec iov = to_iov(buf, len);

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
	struct iovec iov = to_iov(buf, len);
	struct request r = { .op = DAT_LINUX_RDMA_WRITE, .iov = &iov, .count = 1 };
	ssize_t ret = set_remote(&r, addr, key);

	return ret ?: inject(fid, &r, 0);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
			     void *context)
{
	struct iovec iov = to_iov(buf, len);
	struct request r = {
		DAT_LINUX_RDMA_WRITE, &iov, &desc, 1, .context = context, .data = data,
	};

	return rma(fid, &r, addr, key, usual_flags(fid) | FI_REMOTE_CQ_DATA);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest_addr, uint64_t addr, uint64_t key)
{
	struct iovec iov = to_iov(buf, len);
	struct request r = { DAT_LINUX_RDMA_WRITE, &iov, NULL, 1, .data = data };
	ssize_t ret = set_remote(&r, addr, key);

	return ret ?: inject(fid, &r, FI_REMOTE_CQ_DATA);
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
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
