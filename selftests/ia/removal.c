// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * removal.c - every post, with every flag, on an EP whose device has been removed
 *
 * The posts go by the ioctl itself, since the library would refuse some of them.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness.h"

#include <linux/dat.h>

#include "link.h"
#include "ioctls.h"
#include "pair.h"

#define NUM_OPCODES	(DAT_DEV_SEND_IMMED + 1)
/* One more than all flags that a request can have. */
#define NUM_FLAGS	64

/**
 * struct victim - what posts name
 * @pair: two connected EPs
 * @unconfigured: the EP that a PSP provides for a request, without PZ and EVDs
 * @srq: an SRQ
 * @rmr: an RMR
 * @region: memory of @pair.a
 */
struct victim {
	struct pair pair;
	DAT_EP_HANDLE unconfigured;
	DAT_SRQ_HANDLE srq;
	DAT_RMR_HANDLE rmr;
	struct region region;
};

/* Of a request to a PSP that provides EPs */
static DAT_RETURN get_unconfigured(struct victim *v)
{
	DAT_CONN_QUAL qual = v->pair.qual + 12001;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_RETURN ret;

	ret = dat_psp_create(v->pair.ia, qual, v->pair.cr_evd,
			     DAT_PSP_PROVIDER_FLAG, &psp);
	ret = ret ?: ep_like(&v->pair, &v->pair.a, &ep);
	ret = ret ?: connect_to(&v->pair, ep, qual);
	ret = ret ?: next_cr(&v->pair, &cr);
	ret = ret ?: dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
	v->unconfigured = ret ? DAT_HANDLE_NULL : param.local_ep_handle;
	return ret;
}

static DAT_RETURN victim_open(struct victim *v)
{
	DAT_SRQ_ATTR attr = { 4, 1, 0 };
	DAT_RETURN ret;

	ret = pair_open(&v->pair) ?: pair_connect(&v->pair);
	ret = ret ?: region_open(&v->pair, v->pair.a.pz, &v->region, 65536,
				 DAT_MEM_PRIV_ALL_FLAG);
	ret = ret ?: dat_rmr_create(v->pair.a.pz, &v->rmr);
	ret = ret ?: dat_srq_create(v->pair.ia, v->pair.a.pz, &attr, &v->srq);
	return ret ?: get_unconfigured(v);
}

/* Everything about it is right but the device and the EP. */
static struct dat_dev_dto make_dto(const struct victim *v, DAT_EP_HANDLE ep,
				   __u32 opcode, __u32 flags,
				   const struct dat_dev_segment *segment)
{
	struct dat_dev_dto dto = {
		.opcode = opcode,
		.ep = handle_number(ep),
		.flags = flags,
		.num_segments = 1,
		.segments = (uintptr_t)segment,
		.cookie = 1,
		.remote_address = (uintptr_t)v->region.buf,
		.remote_length = 8,
		.remote_context = v->region.rmr_context,
	};

	if (opcode == DAT_DEV_SRQ_RECV)
		dto.ep = handle_number(v->srq);
	if (opcode == DAT_DEV_RMR_BIND) {
		dto.rmr = handle_number(v->rmr);
		dto.privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG;
	}
	return dto;
}

/* What became of it: a type of DAT_RETURN, or -1 for an errno. */
static int post(const struct victim *v, DAT_EP_HANDLE ep, __u32 opcode,
		__u32 flags, __u32 length)
{
	struct dat_dev_segment segment = {
		.virtual_address = (uintptr_t)v->region.buf,
		.length = length,
		.lmr_context = opcode == DAT_DEV_RDMA_READ_TO_RMR ?
				       v->region.rmr_context :
				       v->region.lmr_context,
	};
	struct dat_dev_dto dto = make_dto(v, ep, opcode, flags, &segment);
	struct dat_dev_post arg = {
		.size = sizeof(arg),
		.dtos = (uintptr_t)&dto,
		.num_dtos = 1,
		.dto_size = sizeof(dto),
	};

	if (ioctl(library_fd(), DAT_DEV_POST, &arg))
		return -1;
	return DAT_GET_TYPE(arg.result);
}

FIXTURE(removal)
{
	struct victim v;
	atomic_bool stop;
	pthread_t thread[2];
};

FIXTURE_SETUP(removal)
{
	if (!link_is_there())
		SKIP(return, "not a software device, which could be removed");
	ASSERT_DAT(victim_open(&self->v));
}

FIXTURE_TEARDOWN(removal)
{
	pair_close(&self->v.pair);
	if (!link_is_there())
		link_add();
}

TEST_F(removal, post_all_opcodes_after_removal)
{
	const DAT_EP_HANDLE eps[] = {
		self->v.pair.a.ep, self->v.pair.b.ep, self->v.unconfigured,
	};
	__u32 opcode, flags;
	unsigned int i;

	ASSERT_EQ(0, link_delete());
	for (i = 0; i < ARRAY_LEN(eps); i++) {
		for (opcode = 0; opcode < NUM_OPCODES; opcode++) {
			for (flags = 0; flags < NUM_FLAGS; flags++) {
				EXPECT_NE(DAT_SUCCESS, post(&self->v, eps[i],
							    opcode, flags, 8));
				EXPECT_NE(DAT_SUCCESS, post(&self->v, eps[i],
							    opcode, flags, 0));
			}
			EXPECT_EQ(DAT_INTERNAL_ERROR,
				  post(&self->v, eps[i], opcode, 0, 8)) {
				TH_LOG("EP %u, opcode %u", i, opcode);
			}
		}
	}
}

/* Without end; what becomes of the posts does not matter. */
static void *hammer(void *arg)
{
	FIXTURE_DATA(removal) *self = arg;
	const DAT_EP_HANDLE eps[] = {
		self->v.pair.a.ep, self->v.pair.b.ep, self->v.unconfigured,
	};
	unsigned int i;

	for (i = 0; !atomic_load(&self->stop); i++)
		post(&self->v, eps[i % ARRAY_LEN(eps)], i / 3 % NUM_OPCODES,
		     i / 3 / NUM_OPCODES % NUM_FLAGS, i % 7 ? 8 : 0);
	return NULL;
}

TEST_F(removal, post_all_opcodes_during_removal)
{
	unsigned int i, round;

	for (round = 0; round < 10; round++) {
		atomic_store(&self->stop, false);
		for (i = 0; i < ARRAY_LEN(self->thread); i++)
			ASSERT_EQ(0, pthread_create(&self->thread[i], NULL,
						    hammer, self));
		EXPECT_EQ(0, link_delete());
		atomic_store(&self->stop, true);
		for (i = 0; i < ARRAY_LEN(self->thread); i++)
			pthread_join(self->thread[i], NULL);
		ASSERT_EQ(0, link_add());
		pair_close(&self->v.pair);
		region_close(&self->v.region);
		ASSERT_DAT(victim_open(&self->v));
	}
}

TEST_HARNESS_MAIN
