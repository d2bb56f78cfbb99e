// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr_test.c - RMRs of in-kernel consumers
 */
#include <linux/module.h>

#include "kpair.h"
#include "report.h"

static struct kpair pair;
static struct kregion a, b;
static DAT_RMR_HANDLE rmr;

struct offer {
	u64 address;
	u32 context;
};

/* As the manual page guarantees: a Send behind a bind needs no wait in between. */
static bool send_behind_bind(void)
{
	struct offer *out = (void *)b.buf, *in = (void *)a.buf;
	int i;

	for (i = 0; i < 200; i++) {
		size_t offset = 4096 + 13 * i;

		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.a.ep, &a, 0, 64, 1));
		CHECK_EQ(DAT_SUCCESS,
			 kbind(rmr, &b, offset, 777, KREMOTE_ALL, pair.b.ep, 2,
			       DAT_COMPLETION_SUPPRESS_FLAG, &out->context));
		out->address = (uintptr_t)b.buf + offset;
		CHECK_EQ(DAT_SUCCESS, kpost_send(pair.b.ep, &b, 0,
						 sizeof(*out), 3));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 1));
		a.buf[100] = i;
		CHECK_EQ(DAT_DTO_SUCCESS,
			 kwrite(&pair, &a, 100, 777, in->context,
				(void *)(uintptr_t)in->address));
		CHECK_EQ((u8)i, b.buf[offset]);
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 3));
	}
	return true;
}

static bool lmr_in_use_until_unbind(void)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;
	struct kregion r;

	CHECK(kregion_open(&pair, pair.b.pz, &r, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &r, 1, 10, KREMOTE_ALL, pair.b.ep, 5,
				    0, &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 5));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE,
		  dat_lmr_free(r.lmr));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	CHECK_EQ(context, param.rmr_context);
	CHECK_EQ(10, param.lmr_triplet.segment_length);
	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &r, 0, 0, 0, pair.b.ep, 6, 0,
				    &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 6));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	CHECK_EQ(0, param.lmr_triplet.segment_length);
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(r.lmr));
	kregion_close(&r);
	return true;
}

static bool bind_bad_range_privileges_pz(void)
{
	DAT_RMR_CONTEXT context;
	struct kregion r;

	CHECK(kregion_open(&pair, pair.b.pz, &r, 4096,
			   DAT_MEM_PRIV_LOCAL_READ_FLAG));
	CHECK_RET(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_WRITE,
		  kbind(rmr, &r, 0, 10, DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			pair.b.ep, 5, 0, &context));
	CHECK_EQ(DAT_PROTECTION_VIOLATION,
		 DAT_GET_TYPE(kbind(rmr, &a, 0, 10, KREMOTE_ALL, pair.b.ep, 5,
				    0, &context)));
	CHECK_EQ(DAT_PROTECTION_VIOLATION,
		 DAT_GET_TYPE(kbind(rmr, &b, 0, 10, KREMOTE_ALL, pair.a.ep, 5,
				    0, &context)));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  kbind(rmr, &b, b.len - 9, 10, KREMOTE_ALL, pair.b.ep, 5, 0,
			&context));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR,
		  kbind(pair.b.ep, &b, 0, 10, KREMOTE_ALL, pair.b.ep, 5, 0,
			&context));
	kregion_close(&r);
	return true;
}

static DAT_RETURN bind_2_0(DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
			   DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
			   DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	DAT_RMR_COOKIE cookie = { .as_64 = 10 };

	return dat_rmr_bind(rmr, lmr, triplet, privileges, va_type, pair.b.ep,
			    cookie, flags, context);
}

static bool zero_based_rmr(void)
{
	DAT_LMR_TRIPLET part = ksegment(&b, 2 * PAGE_SIZE, 1000);
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;

	CHECK_EQ(DAT_SUCCESS, bind_2_0(b.lmr, &part, KREMOTE_ALL,
				       DAT_VA_TYPE_ZB, 0, &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 10));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	CHECK_EQ(DAT_VA_TYPE_ZB, param.va_type);
	CHECK_EQ(part.virtual_address, param.lmr_triplet.virtual_address);
	memset(b.buf + 2 * PAGE_SIZE, 0, 1000);
	memset(a.buf, 0x5a, 1000);
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kwrite(&pair, &a, 0, 990, context, (void *)10));
	CHECK(!memchr_inv(b.buf + 2 * PAGE_SIZE, 0, 10));
	CHECK(!memchr_inv(b.buf + 2 * PAGE_SIZE + 10, 0x5a, 990));

	CHECK_EQ(DAT_SUCCESS, bind_2_0(b.lmr, &part, KREMOTE_ALL,
				       DAT_VA_TYPE_VA, 0, &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 10));
	CHECK_EQ(DAT_DTO_SUCCESS, kwrite(&pair, &a, 0, 1000, context,
					 b.buf + 2 * PAGE_SIZE));
	/* An unbind has no LMR. */
	part.segment_length = 0;
	CHECK_EQ(DAT_SUCCESS, bind_2_0(DAT_HANDLE_NULL, &part, 0,
				       DAT_VA_TYPE_VA, 0, &context));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 10));
	return true;
}

static bool bind_2_0_bad_arguments(void)
{
	DAT_LMR_TRIPLET part = ksegment(&b, PAGE_SIZE, 1000);
	DAT_RMR_CONTEXT context;

	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
		  bind_2_0(DAT_HANDLE_NULL, &part, 0, 0, 0, &context));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR,
		  bind_2_0(pair.b.ep, &part, 0, 0, 0, &context));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  bind_2_0(a.lmr, &part, 0, 0, 0, &context));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  bind_2_0(b.lmr, NULL, 0, 0, 0, &context));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4,
		  bind_2_0(b.lmr, &part, 0x40, 0, 0, &context));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
		  bind_2_0(b.lmr, &part, 0, 7, 0, &context));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8,
		  bind_2_0(b.lmr, &part, 0, 0, 0x100, &context));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG9,
		  bind_2_0(b.lmr, &part, 0, 0, 0, NULL));
	part.virtual_address++;
	CHECK_EQ(DAT_MODEL_NOT_SUPPORTED,
		 DAT_GET_TYPE(bind_2_0(b.lmr, &part, KREMOTE_ALL,
				       DAT_VA_TYPE_ZB, 0, &context)));
	CHECK_EQ(DAT_QUEUE_EMPTY,
		 DAT_GET_TYPE(dat_evd_dequeue(pair.b.dto_evd,
					      &(DAT_EVENT){})));
	return true;
}

/* Last, because the test breaks the connection. */
static bool rebind_invalidates_old_context(void)
{
	DAT_RMR_CONTEXT old, new;

	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &b, 8192, 4096, KREMOTE_ALL,
				    pair.b.ep, 7, 0, &old));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 7));
	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &b, 8192, 4096, KREMOTE_ALL,
				    pair.b.ep, 8, 0, &new));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_bind(pair.b.dto_evd, 8));
	CHECK(old != new);
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kwrite(&pair, &a, 0, 4096, new, b.buf + 8192));
	memset(b.buf + 8192, 0, 4096);
	memset(a.buf, 0xff, 4096);
	CHECK_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
		 kwrite(&pair, &a, 0, 4096, old, b.buf + 8192));
	CHECK(!memchr_inv(b.buf + 8192, 0, 4096));
	CHECK(kwait_refusal(&pair));
	return true;
}

static bool bind_disconnected_ep_flushed(void)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM before, after;

	CHECK_EQ(DAT_SUCCESS, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &before));
	CHECK_EQ(DAT_SUCCESS, kbind(rmr, &b, 0, 100, KREMOTE_ALL, pair.b.ep, 9,
				    0, &context));
	CHECK_EQ(DAT_DTO_ERR_FLUSHED, kwait_bind(pair.b.dto_evd, 9));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &after));
	CHECK_EQ(before.rmr_context, after.rmr_context);
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	CHECK_EQ(DAT_SUCCESS, dat_lmr_free(b.lmr));
	return true;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(send_behind_bind),
	TEST(lmr_in_use_until_unbind),
	TEST(bind_bad_range_privileges_pz),
	TEST(zero_based_rmr),
	TEST(bind_2_0_bad_arguments),
	TEST(rebind_invalidates_old_context),
	TEST(bind_disconnected_ep_flushed),
};

static int __init rmr_test_init(void)
{
	int ret = report_open("kdapl_rmr_test");

	if (ret)
		return ret;
	if (kpair_open(&pair) && kpair_connect(&pair) &&
	    kregion_open(&pair, pair.a.pz, &a, 65536, DAT_MEM_PRIV_ALL_FLAG) &&
	    kregion_open(&pair, pair.b.pz, &b, 65536, DAT_MEM_PRIV_ALL_FLAG) &&
	    !dat_rmr_create(pair.b.pz, &rmr))
		report_run("kdapl_rmr_test", tests, ARRAY_SIZE(tests));
	else
		report("not ok 1 kdapl_rmr_test.setup\n");
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	return 0;
}

static void __exit rmr_test_exit(void)
{
	report_close();
}

module_init(rmr_test_init);
module_exit(rmr_test_exit);
MODULE_DESCRIPTION("Tests RMRs of in-kernel consumers");
MODULE_LICENSE("Dual BSD/GPL");
