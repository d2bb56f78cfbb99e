// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * upost.c - the ioctl that posts DTOs and binds
 *
 * Runs in process context, once per post. The kernel API looks up every context among
 * the LMRs of the IA. Each file has its own IAs, so a process can only post memory of
 * its own.
 */
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include <dat/dat_ib_extensions.h>

#include "file.h"

/* Upper limit of segments in one work request, for every device. */
#define MAX_SEGMENTS	32

static DAT_RETURN post_dto(DAT_EP_HANDLE kep, struct dat_dev_dto *dto,
			   DAT_LMR_TRIPLET *segments)
{
	DAT_CONTEXT cookie = { .as_64 = dto->cookie };
	DAT_RMR_TRIPLET remote = {
		.virtual_address = dto->remote_address,
		.segment_length = dto->remote_length,
		.rmr_context = dto->remote_context,
	};
	DAT_RMR_TRIPLET local = {};

	switch (dto->opcode) {
	case DAT_DEV_SEND:
		return dat_ep_post_send(kep, dto->num_segments, segments,
					cookie, dto->flags);
	case DAT_DEV_RECV:
		return dat_ep_post_recv(kep, dto->num_segments, segments,
					cookie, dto->flags);
	case DAT_DEV_RDMA_WRITE:
		return dat_ep_post_rdma_write(kep, dto->num_segments, segments,
					      cookie, &remote, dto->flags);
	case DAT_DEV_SEND_INVALIDATE:
		return dat_ep_post_send_with_invalidate(kep, dto->num_segments,
							segments, cookie,
							dto->flags, DAT_TRUE,
							dto->remote_context);
	case DAT_DEV_RDMA_READ_TO_RMR:
		local.virtual_address = segments->virtual_address;
		local.segment_length = segments->segment_length;
		local.rmr_context = segments->lmr_context;
		return dat_ep_post_rdma_read_to_rmr(kep, &local, cookie,
						    &remote, dto->flags);
	case DAT_DEV_RDMA_WRITE_IMMED:
		return dat_ib_post_rdma_write_immed(kep, dto->num_segments,
						    segments, cookie, &remote,
						    dto->immediate, dto->flags);
	case DAT_DEV_SEND_IMMED:
		return dat_ib_post_send_immed(kep, dto->num_segments, segments,
					      cookie, dto->flags, dto->immediate);
	case DAT_DEV_FETCH_ADD:
		return dat_ib_post_fetch_and_add(kep, dto->compare_add,
						 segments, cookie, &remote,
						 dto->flags);
	case DAT_DEV_CMP_SWAP:
		return dat_ib_post_cmp_and_swap(kep, dto->compare_add,
						dto->swap, segments, cookie,
						&remote, dto->flags);
	default:
		return dat_ep_post_rdma_read(kep, dto->num_segments, segments,
					     cookie, &remote, dto->flags);
	}
}

static DAT_RETURN bind_once(struct dat_file *file, DAT_EP_HANDLE kep,
			    DAT_RMR_HANDLE krmr, struct dat_dev_dto *dto,
			    const DAT_LMR_TRIPLET *segment)
{
	DAT_CONTEXT cookie = { .as_64 = dto->cookie };

	if (dto->privileges & DAT_DEV_PRIV_ZERO_BASED)
		return dat_rmr_bind(krmr,
				    dat_uobj_khandle(file, dto->remote_context,
						     DAT_HANDLE_TYPE_LMR),
				    segment,
				    dto->privileges & ~DAT_DEV_PRIV_ZERO_BASED,
				    DAT_VA_TYPE_ZB, kep, cookie, dto->flags,
				    &dto->rmr_context);
	return dat_rmr_bind(krmr, segment, dto->privileges, kep, cookie,
			    dto->flags, &dto->rmr_context);
}

/* Without a free region, dat_rmr_renew() may sleep for one, as dat_rmr_bind() may not. */
static DAT_RETURN post_bind(struct dat_file *file, DAT_EP_HANDLE kep,
			    struct dat_dev_dto *dto,
			    const DAT_LMR_TRIPLET *segment)
{
	DAT_RMR_HANDLE krmr = dat_uobj_khandle(file, dto->rmr,
					       DAT_HANDLE_TYPE_RMR);
	DAT_RETURN ret = bind_once(file, kep, krmr, dto, segment);

	if (unlikely(ret == DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				      DAT_RESOURCE_MEMORY_REGION)) &&
	    !dat_rmr_renew(krmr))
		ret = bind_once(file, kep, krmr, dto, segment);
	return ret;
}

static DAT_RETURN post_srq(struct dat_file *file, struct dat_dev_dto *dto,
			   DAT_LMR_TRIPLET *segments)
{
	DAT_CONTEXT cookie = { .as_64 = dto->cookie };

	return dat_srq_post_recv(dat_uobj_khandle(file, dto->ep,
						  DAT_HANDLE_TYPE_SRQ),
				 dto->num_segments, segments, cookie);
}

static DAT_RETURN post_one(struct dat_file *file, struct dat_dev_dto *dto,
			   DAT_LMR_TRIPLET *segments)
{
	DAT_EP_HANDLE kep;

	if (dto->opcode == DAT_DEV_SRQ_RECV)
		return post_srq(file, dto, segments);
	kep = dat_uobj_khandle(file, dto->ep, DAT_HANDLE_TYPE_EP);
	if (dto->opcode == DAT_DEV_RMR_BIND)
		return post_bind(file, kep, dto, segments);
	return post_dto(kep, dto, segments);
}

static bool has_one_segment(const struct dat_dev_dto *dto)
{
	switch (dto->opcode) {
	case DAT_DEV_RMR_BIND:
	case DAT_DEV_RDMA_READ_TO_RMR:
	case DAT_DEV_FETCH_ADD:
	case DAT_DEV_CMP_SWAP:
		return true;
	default:
		return false;
	}
}

static int post_and_return_context(struct dat_file *file, struct dat_dev_post *p,
				   struct dat_dev_dto *dto,
				   DAT_LMR_TRIPLET *segments, void __user *udto)
{
	struct dat_dev_dto __user *uarg = udto;

	/* Check that the context can be written before anything is bound. */
	if (dto->opcode == DAT_DEV_RMR_BIND && put_user(0, &uarg->rmr_context))
		return -EFAULT;
	p->result = post_one(file, dto, segments);
	if (!p->result && dto->opcode == DAT_DEV_RMR_BIND)
		put_user(dto->rmr_context, &uarg->rmr_context);
	return 0;
}

/* noinline: kernels that clear the stack would clear the array at every post. */
static noinline int post_many_segments(struct dat_file *file,
				       struct dat_dev_post *p,
				       struct dat_dev_dto *dto,
				       void __user *udto)
{
	DAT_LMR_TRIPLET segments[MAX_SEGMENTS];

	if (copy_from_user(segments, u64_to_user_ptr(dto->segments),
			   dto->num_segments * sizeof(segments[0])))
		return -EFAULT;
	return post_and_return_context(file, p, dto, segments, udto);
}

/* A constant size avoids the checks of copy_from_user() for a variable size. */
static int copy_dto(struct dat_dev_dto *dto, void __user *udto, u32 size)
{
	if (likely(size == sizeof(*dto)))
		return copy_from_user(dto, udto, sizeof(*dto)) ? -EFAULT : 0;
	return copy_struct_from_user(dto, sizeof(*dto), udto, size);
}

/* Copies one DTO from the process, posts it, and copies the context to the process. */
static int copy_and_post(struct dat_file *file, struct dat_dev_post *p,
			 void __user *udto)
{
	DAT_LMR_TRIPLET segment;
	struct dat_dev_dto dto;
	int ret;

	BUILD_BUG_ON(sizeof(segment) != sizeof(struct dat_dev_segment));
	ret = copy_dto(&dto, udto, p->dto_size);
	if (ret)
		return ret;
	if (dto.__reserved && dto.opcode != DAT_DEV_CMP_SWAP)
		return -EOPNOTSUPP;
	if (dto.opcode > DAT_DEV_SEND_IMMED ||
	    (dto.opcode == DAT_DEV_SRQ_RECV && dto.flags))
		return -EOPNOTSUPP;
	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (dto.num_segments > MAX_SEGMENTS ||
	    (has_one_segment(&dto) && dto.num_segments != 1))
		return 0;
	if (dto.num_segments > 1)
		return post_many_segments(file, p, &dto, udto);
	if (dto.num_segments &&
	    copy_from_user(&segment, u64_to_user_ptr(dto.segments),
			   sizeof(segment)))
		return -EFAULT;
	return post_and_return_context(file, p, &dto, &segment, udto);
}

/* dat_ep_post_*(), dat_srq_post_recv(), dat_rmr_bind() */
int dat_ioctl_post(struct dat_file *file, void *arg)
{
	struct dat_dev_post *p = arg;
	int ret = 0;

	if (p->__reserved)
		return -EOPNOTSUPP;
	if (p->dto_size < sizeof(struct dat_dev_dto))
		return -EINVAL;
	if (p->dto_size > PAGE_SIZE)
		return -E2BIG;
	p->result = DAT_SUCCESS;
	for (p->posted = 0; p->posted < p->num_dtos; p->posted++) {
		ret = copy_and_post(file, p,
				    u64_to_user_ptr(p->dtos) +
					    (u64)p->posted * p->dto_size);
		if (ret || p->result)
			break;
		if (fatal_signal_pending(current))
			break;
		cond_resched();
	}
	/* The DTOs before the unreadable one have been posted. */
	if (ret && p->posted) {
		p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE);
		ret = 0;
	}
	return ret;
}
