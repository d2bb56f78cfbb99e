// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ia_test.c - IAs of in-kernel consumers: opening, attributes, handles
 */
#include <linux/in.h>
#include <linux/module.h>
#include <linux/net.h>
#include <rdma/ib_verbs.h>

#include "kpair.h"
#include "report.h"

static struct kpair pair;
static struct kregion a;
static DAT_IA_HANDLE second;
static DAT_IA_ATTR attr;

/* Opens the pair, also if a failed test has left it open. */
static bool open_pair(void)
{
	if (second)
		dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG);
	second = DAT_HANDLE_NULL;
	kpair_close(&pair);
	CHECK(kpair_open(&pair));
	CHECK_EQ(DAT_SUCCESS, dat_ia_query(pair.ia, NULL, DAT_IA_FIELD_ALL,
					   &attr, 0, NULL));
	return true;
}

static bool ia_open_creates_async_evd(void)
{
	static const DAT_COUNT qlens[] = { 1, 5, 64, 1000 };
	DAT_EVD_HANDLE evd, seen;
	DAT_EVD_PARAM param;
	DAT_EVENT event;
	int i;

	CHECK(open_pair());
	for (i = 0; i < ARRAY_SIZE(qlens); i++) {
		evd = DAT_HANDLE_NULL;
		CHECK_EQ(DAT_SUCCESS,
			 dat_ia_open(kpair_ia, qlens[i], &evd, &second));
		CHECK(second != pair.ia && evd && evd != pair.async_evd);
		CHECK_EQ(DAT_SUCCESS,
			 dat_ia_query(second, &seen, 0, NULL, 0, NULL));
		CHECK_EQ((uintptr_t)evd, (uintptr_t)seen);
		CHECK_EQ(DAT_SUCCESS,
			 dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
		CHECK(param.evd_qlen >= qlens[i]);
		CHECK_EQ(DAT_EVD_ASYNC_FLAG, param.evd_flags);
		CHECK_EQ((uintptr_t)second, (uintptr_t)param.ia_handle);
		/* It calls no upcall until the policy is modified. */
		CHECK_EQ(DAT_UPCALL_DISABLE, param.upcall_policy);
		CHECK_EQ(DAT_SUCCESS, dat_evd_resize(evd, qlens[i] + 7));
		CHECK_EQ(DAT_SUCCESS,
			 dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
		CHECK(param.evd_qlen >= qlens[i] + 7);
		CHECK_EQ(DAT_SUCCESS,
			 dat_ia_close(second, i & 1 ? DAT_CLOSE_GRACEFUL_FLAG :
						      DAT_CLOSE_ABRUPT_FLAG));
		second = DAT_HANDLE_NULL;
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
			  dat_evd_dequeue(evd, &event));
	}
	return true;
}

static bool ia_open_existing_async_evd(void)
{
	static const DAT_CLOSE_FLAGS flags[] = {
		DAT_CLOSE_GRACEFUL_FLAG, DAT_CLOSE_ABRUPT_FLAG,
	};
	DAT_EVD_PARAM before, after;
	DAT_EVD_HANDLE evd, seen;
	int i;

	CHECK(open_pair());
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_query(pair.async_evd, DAT_EVD_FIELD_ALL, &before));
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		/* With an EVD passed in, the length is ignored, even 0. */
		evd = pair.async_evd;
		CHECK_EQ(DAT_SUCCESS,
			 dat_ia_open(kpair_ia, -5, &evd, &second));
		CHECK_EQ((uintptr_t)pair.async_evd, (uintptr_t)evd);
		CHECK_EQ(DAT_SUCCESS,
			 dat_ia_query(second, &seen, 0, NULL, 0, NULL));
		CHECK_EQ((uintptr_t)pair.async_evd, (uintptr_t)seen);
		CHECK_EQ(DAT_SUCCESS, dat_ia_close(second, flags[i]));
		second = DAT_HANDLE_NULL;
		CHECK_EQ(DAT_SUCCESS, dat_evd_query(pair.async_evd,
						    DAT_EVD_FIELD_ALL, &after));
		CHECK_EQ(before.evd_qlen, after.evd_qlen);
		CHECK_EQ((uintptr_t)pair.ia, (uintptr_t)after.ia_handle);
	}
	evd = pair.a.conn_evd;
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC,
		  dat_ia_open(kpair_ia, 8, &evd, &second));
	CHECK_EQ((uintptr_t)pair.a.conn_evd, (uintptr_t)evd);
	return true;
}

static bool ia_open_bad_arguments(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	CHECK_RET(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED,
		  dat_ia_open("nobody0", 8, &evd, &ia));
	CHECK_RET(DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND,
		  dat_ia_openv(kpair_ia, 8, &evd, &ia, 3, 0, DAT_TRUE));
	CHECK_RET(DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND,
		  dat_ia_openv(kpair_ia, 8, &evd, &ia, 1, 3, DAT_TRUE));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1,
		  dat_ia_open(NULL, 8, &evd, &ia));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_ia_open(kpair_ia, 0, &evd, &ia));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_ia_open(kpair_ia, 8, NULL, &ia));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4,
		  dat_ia_open(kpair_ia, 8, &evd, NULL));
	CHECK_EQ(DAT_INSUFFICIENT_RESOURCES,
		 DAT_GET_TYPE(dat_ia_open(kpair_ia, INT_MAX, &evd, &ia)));
	CHECK(!evd);
	return true;
}

static bool ia_query_bad_arguments(void)
{
	static DAT_PROVIDER_ATTR provider;

	CHECK(open_pair());
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_ia_query(pair.ia, NULL, DAT_IA_FIELD_ALL + 1, &attr, 0,
			       NULL));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4,
		  dat_ia_query(pair.ia, NULL, 1, NULL, 0, NULL));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
		  dat_ia_query(pair.ia, NULL, 0, NULL,
			       DAT_PROVIDER_FIELD_ALL + 1, &provider));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6,
		  dat_ia_query(pair.ia, NULL, 0, NULL, 1, NULL));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
		  dat_ia_query(pair.a.pz, NULL, 0, NULL, 0, NULL));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
		  dat_ia_query(DAT_HANDLE_NULL, NULL, 0, NULL, 0, NULL));
	return true;
}

static bool attributes_are_of(struct ib_device *ibdev)
{
	const struct ib_device_attr *dev = &ibdev->attrs;
	char vendor[16];

	snprintf(vendor, sizeof(vendor), "0x%06x", dev->vendor_id);
	CHECK(!strcmp(kpair_ia, attr.adapter_name));
	CHECK(!strcmp(vendor, attr.vendor_name));
	CHECK_EQ(dev->hw_ver, attr.hardware_version_major);
	CHECK_EQ(dev->fw_ver, (u64)attr.firmware_version_major << 32 |
			      attr.firmware_version_minor);
	/* One QP, on iWARP two, of a PZ */
	CHECK_EQ(dev->max_qp - (kpair_is_siw() ? 2 : 1), attr.max_eps);
	CHECK_EQ(dev->max_cq, attr.max_evds);
	CHECK_EQ(dev->max_mr, attr.max_lmrs);
	CHECK_EQ(dev->max_pd, attr.max_pzs);
	/* Each RMR uses two MRs. */
	CHECK_EQ(dev->max_mr / 2, attr.max_rmrs);
	return true;
}

static bool ia_attr_matches_device(void)
{
	struct ib_device *ibdev;
	bool ok;

	CHECK(open_pair());
	ibdev = kpair_ibdev();
	CHECK(ibdev);
	ok = attributes_are_of(ibdev);
	ib_device_put(ibdev);
	CHECK(ok);
	CHECK_EQ(1, attr.num_transport_attr);
	CHECK(!strcmp("DAT_IB_TRANSPORT_MTU", attr.transport_attr[0].name));
	CHECK_EQ(0, attr.num_vendor_attr);
	return true;
}

static DAT_RETURN try_ep(const DAT_EP_ATTR *wanted)
{
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;

	ret = dat_ep_create(pair.ia, pair.a.pz, DAT_HANDLE_NULL,
			    DAT_HANDLE_NULL, DAT_HANDLE_NULL, wanted, &ep);
	return ret ?: dat_ep_free(ep);
}

/* An attribute equal to the limit succeeds, one more fails. */
#define CHECK_LIMIT(member, limit)					\
	do {								\
		DAT_EP_ATTR __w = { .member = (limit) };		\
									\
		CHECK(__w.member > 0);					\
		CHECK_EQ(DAT_SUCCESS, try_ep(&__w));			\
		/* The largest value of the type cannot be exceeded. */	\
		if (!++__w.member)					\
			break;						\
		CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6,	\
			  try_ep(&__w));				\
	} while (0)

static bool ia_attr_ep_limits(void)
{
	CHECK(open_pair());
	CHECK_LIMIT(max_request_dtos, attr.max_dto_per_ep);
	CHECK_LIMIT(max_recv_dtos, attr.max_dto_per_ep);
	CHECK_LIMIT(max_rdma_read_in, attr.max_rdma_read_per_ep_in);
	CHECK_LIMIT(max_rdma_read_out, attr.max_rdma_read_per_ep_out);
	CHECK_LIMIT(max_request_iov, attr.max_iov_segments_per_dto);
	CHECK_LIMIT(max_message_size, attr.max_message_size);
	CHECK_LIMIT(max_rdma_size, attr.max_rdma_size);
	return true;
}

/* More receives than a list or an index of 16 bits would hold */
#define MANY	70000

static bool ia_attr_max_dto_per_ep(void)
{
	DAT_EP_ATTR wanted = {};
	DAT_COUNT max = min(attr.max_dto_per_ep, MANY);
	DAT_EP_HANDLE ep;
	/* One EVD need not have room for the deepest queue and another. */
	DAT_EVD_HANDLE evds[2];
	DAT_COUNT i;

	CHECK(open_pair());
	CHECK(kregion_open(&pair, pair.a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG));
	for (i = 0; i < 2; i++)
		CHECK_EQ(DAT_SUCCESS,
			 dat_evd_kcreate(pair.ia, 64, DAT_UPCALL_DISABLE, NULL,
					 DAT_EVD_DTO_FLAG, &evds[i]));
	wanted.max_recv_dtos = max;
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create(pair.ia, pair.a.pz, evds[0], evds[1], DAT_HANDLE_NULL,
			       &wanted, &ep));
	for (i = 0; i < max; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_recv(ep, &a, 0, 8, i));
	CHECK_EQ(DAT_INSUFFICIENT_RESOURCES,
		 DAT_GET_TYPE(kpost_recv(ep, &a, 0, 8, i)));
	kpair_close(&pair);
	kregion_close(&a);
	return true;
}

static bool ia_attr_max_evd_qlen(void)
{
	const DAT_COUNT max = min(attr.max_evd_qlen, MANY);
	DAT_EVD_HANDLE evd;
	DAT_COUNT i;

	/* More than any CQ of a device need have: the ring is no CQ. */
	CHECK(attr.max_evd_qlen >= 4 * 1024 * 1024);

	CHECK(open_pair());
	CHECK_EQ(DAT_INSUFFICIENT_RESOURCES,
		 DAT_GET_TYPE(dat_evd_kcreate(pair.ia, attr.max_evd_qlen + 1,
					      DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_DTO_FLAG, &evd)));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(pair.ia, max, DAT_UPCALL_DISABLE, NULL,
				 DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG,
				 &evd));
	for (i = 0; i <= max; i++) {
		DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

		CHECK_EQ(i < max ? DAT_SUCCESS : DAT_QUEUE_FULL,
			 DAT_GET_TYPE(dat_evd_post_se(evd, &event)));
	}
	return true;
}

static bool provider_attr_values(void)
{
	static DAT_PROVIDER_ATTR p;
	int i, j;

	CHECK(open_pair());
	memset(&p, 0x5a, sizeof(p));
	CHECK_EQ(DAT_SUCCESS, dat_ia_query(pair.ia, NULL, 0, NULL,
					   DAT_PROVIDER_FIELD_ALL, &p));
	CHECK(!strcmp("kdapl", p.provider_name));
	CHECK(p.provider_version_major || p.provider_version_minor);
	CHECK_EQ(1, p.dapl_version_major);
	CHECK_EQ(2, p.dapl_version_minor);
	CHECK_EQ(DAT_IOV_CONSUMER, p.iov_ownership_on_return);
	CHECK_EQ(2 * DAT_QOS_PREMIUM - 1, p.dat_qos_supported);
	CHECK_EQ(DAT_TRUE, p.is_thread_safe);
	CHECK_EQ(DAT_FALSE, p.supports_multipath);
	CHECK_EQ(DAT_PSP_CREATES_EP_IFASKED, p.ep_creator);
	CHECK(p.optimal_buffer_alignment);
	CHECK(p.optimal_buffer_alignment <= 256);
	CHECK_EQ(0, DAT_OPTIMAL_ALIGNMENT % p.optimal_buffer_alignment);
	for (i = 0; i < 6; i++)
		for (j = 0; j < 6; j++)
			CHECK_EQ(DAT_TRUE,
				 p.evd_stream_merging_supported[i][j]);
	/* ib_test.c checks the attributes themselves. */
	CHECK_EQ(kpair_is_siw() ? 9 : 13, p.num_provider_specific_attr);
	return true;
}

/* Every supported flag is accepted, every other flag is rejected. */
static bool provider_completion_flags(void)
{
	static const DAT_COMPLETION_FLAGS of_eps[] = {
		DAT_COMPLETION_SUPPRESS_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG,
		DAT_COMPLETION_SOLICITED_WAIT_FLAG,
		DAT_COMPLETION_EVD_THRESHOLD_FLAG,
	};
	static DAT_PROVIDER_ATTR p;
	DAT_EP_ATTR wanted = {};
	int i;

	CHECK(open_pair());
	CHECK_EQ(DAT_SUCCESS, dat_ia_query(pair.ia, NULL, 0, NULL,
					   DAT_PROVIDER_FIELD_ALL, &p));
	for (i = 0; i < ARRAY_SIZE(of_eps); i++) {
		wanted = (DAT_EP_ATTR){};
		/* The sender sets the solicited flag, and the receiver waits. */
		if (of_eps[i] == DAT_COMPLETION_SOLICITED_WAIT_FLAG)
			wanted.recv_completion_flags = of_eps[i];
		else
			wanted.request_completion_flags = of_eps[i];
		CHECK_EQ(!(p.completion_flags_supported & of_eps[i]),
			 !!try_ep(&wanted));
	}
	CHECK(p.completion_flags_supported & DAT_COMPLETION_SUPPRESS_FLAG);
	CHECK(p.completion_flags_supported & DAT_COMPLETION_UNSIGNALLED_FLAG);
	CHECK(p.completion_flags_supported &
	      DAT_COMPLETION_BARRIER_FENCE_FLAG);
	return true;
}

static DAT_HANDLE objects[DAT_HANDLE_TYPE_CSP + 1];

/* Creates an object of each type. */
static bool make_objects(void)
{
	DAT_COMM comm = { AF_INET, SOCK_STREAM, 0 };
	DAT_SRQ_ATTR srq_attr = { 1, 1, DAT_SRQ_LW_DEFAULT };
	struct sockaddr_in sin;
	DAT_EVENT event;

	CHECK(open_pair());
	CHECK_EQ(AF_INET, attr.ia_address_ptr->sa_family);
	sin = *(struct sockaddr_in *)attr.ia_address_ptr;
	sin.sin_port = 0;
	objects[DAT_HANDLE_TYPE_IA] = pair.ia;
	objects[DAT_HANDLE_TYPE_PZ] = pair.a.pz;
	objects[DAT_HANDLE_TYPE_EVD] = pair.cr_evd;
	objects[DAT_HANDLE_TYPE_EP] = pair.a.ep;
	objects[DAT_HANDLE_TYPE_PSP] = pair.psp;
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_connect(pair.a.ep, attr.ia_address_ptr, KPAIR_QUAL,
				DAT_TIMEOUT_INFINITE, 0, NULL,
				DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	CHECK(kwait_event(pair.cr_evd, &event));
	objects[DAT_HANDLE_TYPE_CR] =
		event.event_data.cr_arrival_event_data.cr_handle;
	CHECK_EQ(DAT_SUCCESS,
		 dat_rsp_create(pair.ia, KPAIR_QUAL + 1, pair.b.ep,
				pair.cr_evd, &objects[DAT_HANDLE_TYPE_RSP]));
	CHECK_EQ(DAT_SUCCESS,
		 dat_csp_create(pair.ia, &comm, (DAT_IA_ADDRESS_PTR)&sin,
				pair.cr_evd, &objects[DAT_HANDLE_TYPE_CSP]));
	CHECK_EQ(DAT_SUCCESS,
		 dat_srq_create(pair.ia, pair.a.pz, &srq_attr,
				&objects[DAT_HANDLE_TYPE_SRQ]));
	CHECK_EQ(DAT_SUCCESS,
		 dat_rmr_create(pair.a.pz, &objects[DAT_HANDLE_TYPE_RMR]));
	CHECK(kregion_open(&pair, pair.a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG));
	objects[DAT_HANDLE_TYPE_LMR] = a.lmr;
	return true;
}

static bool get_handle_type_until_close(void)
{
	DAT_HANDLE_TYPE type, seen;

	CHECK(make_objects());
	for (type = 0; type < ARRAY_SIZE(objects); type++) {
		seen = -1;
		CHECK_EQ(DAT_SUCCESS,
			 dat_get_handle_type(objects[type], &seen));
		CHECK_EQ(type, seen);
	}
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE,
		  dat_ia_close(pair.ia, DAT_CLOSE_GRACEFUL_FLAG));
	for (type = 0; type < ARRAY_SIZE(objects); type++)
		CHECK_EQ(DAT_SUCCESS,
			 dat_get_handle_type(objects[type], &seen));
	kpair_close(&pair);
	for (type = 0; type < ARRAY_SIZE(objects); type++)
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
			  dat_get_handle_type(objects[type], &seen));
	kregion_close(&a);
	return true;
}

static bool consumer_context_per_object(void)
{
	DAT_CONTEXT context;
	unsigned int i;

	CHECK(make_objects());
	for (i = 0; i < ARRAY_SIZE(objects); i++) {
		context.as_64 = i;
		CHECK_EQ(DAT_SUCCESS,
			 dat_set_consumer_context(objects[i], context));
		context.as_64 = ~(u64)i;
		CHECK_EQ(DAT_SUCCESS,
			 dat_set_consumer_context(objects[i], context));
	}
	for (i = 0; i < ARRAY_SIZE(objects); i++) {
		context.as_64 = 0;
		CHECK_EQ(DAT_SUCCESS,
			 dat_get_consumer_context(objects[i], &context));
		CHECK_EQ(~(u64)i, context.as_64);
		/* Set it to none again. */
		context.as_64 = 0;
		context.as_ptr = NULL;
		CHECK_EQ(DAT_SUCCESS,
			 dat_set_consumer_context(objects[i], context));
		context.as_64 = 1;
		CHECK_EQ(DAT_SUCCESS,
			 dat_get_consumer_context(objects[i], &context));
		CHECK(!context.as_ptr);
	}
	kpair_close(&pair);
	for (i = 0; i < ARRAY_SIZE(objects); i++) {
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
			  dat_set_consumer_context(objects[i], context));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
			  dat_get_consumer_context(objects[i], &context));
	}
	kregion_close(&a);
	return true;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(ia_open_creates_async_evd),
	TEST(ia_open_existing_async_evd),
	TEST(ia_open_bad_arguments),
	TEST(ia_query_bad_arguments),
	TEST(ia_attr_matches_device),
	TEST(ia_attr_ep_limits),
	TEST(ia_attr_max_dto_per_ep),
	TEST(ia_attr_max_evd_qlen),
	TEST(provider_attr_values),
	TEST(provider_completion_flags),
	TEST(get_handle_type_until_close),
	TEST(consumer_context_per_object),
};

static int __init ia_test_init(void)
{
	int ret = report_open("kdapl_ia_test");

	if (ret)
		return ret;
	report_run("kdapl_ia_test", tests, ARRAY_SIZE(tests));
	/* Close the IA that a failed test has left open. */
	if (second)
		dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG);
	kpair_close(&pair);
	return 0;
}

static void __exit ia_test_exit(void)
{
	report_close();
}

module_init(ia_test_init);
module_exit(ia_test_exit);
MODULE_DESCRIPTION("Tests IAs of in-kernel consumers");
MODULE_LICENSE("Dual BSD/GPL");
