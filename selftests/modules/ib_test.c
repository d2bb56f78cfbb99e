// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ib_test.c - immediate data, and atomic operations
 */
#include <linux/module.h>
#include <linux/vmalloc.h>

#include <rdma/ib_verbs.h>

#include <dat/dat_ib_extensions.h>

#include "kpair.h"
#include "report.h"

#define SIZE	4096

static struct kpair pair;
static struct kregion a, b;

static DAT_CONTEXT cookie(u64 value)
{
	return (DAT_CONTEXT){ .as_64 = value };
}

static DAT_RMR_TRIPLET at_b(size_t offset, size_t len)
{
	return (DAT_RMR_TRIPLET){
		.virtual_address = (uintptr_t)b.buf + offset,
		.segment_length = len,
		.rmr_context = b.rmr_context,
	};
}

static DAT_RETURN write_immed(size_t len, u32 immediate, u64 id, int flags)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, len);
	DAT_RMR_TRIPLET to = at_b(100, len);

	return dat_ib_post_rdma_write_immed(pair.a.ep, 1, &seg, cookie(id), &to,
					    immediate, flags);
}

static DAT_RETURN send_immed(size_t len, u32 immediate, u64 id, int flags)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, len);

	return dat_ib_post_send_immed(pair.a.ep, 1, &seg, cookie(id), flags, immediate);
}

static DAT_RETURN fetch_and_add(u64 value, size_t offset, u64 id)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 64, 8);
	DAT_RMR_TRIPLET at = at_b(offset, 8);

	return dat_ib_post_fetch_and_add(pair.a.ep, value, &seg, cookie(id),
					 &at, DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN cmp_and_swap(u64 compare, u64 swap, size_t offset, u64 id)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 64, 8);
	DAT_RMR_TRIPLET at = at_b(offset, 8);

	return dat_ib_post_cmp_and_swap(pair.a.ep, compare, swap, &seg,
					cookie(id), &at,
					DAT_COMPLETION_DEFAULT_FLAG);
}

/* Checks for an event of the extension and for no other event. */
static bool ended(DAT_EVD_HANDLE evd, DAT_DTO_COMPLETION_STATUS status,
		  DAT_DTOS operation, DAT_IB_EXT_TYPE type, u64 id,
		  u32 immediate)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_IB_EXTENSION_EVENT_DATA *ext;
	DAT_EVENT event;

	CHECK(kwait_event(evd, &event));
	d = &event.event_data.dto_completion_event_data;
	ext = (DAT_IB_EXTENSION_EVENT_DATA *)event.event_extension_data;
	CHECK_EQ(DAT_IB_DTO_EVENT, event.event_number);
	CHECK_EQ(status, d->status);
	CHECK_EQ(operation, d->operation);
	CHECK_EQ(id, d->user_cookie.as_64);
	CHECK_EQ(type, ext->type);
	CHECK_EQ(status, ext->status);
	if (immediate)
		CHECK_EQ(immediate, ext->val.immed.data);
	return true;
}

static bool extended(DAT_EVD_HANDLE evd, DAT_DTOS operation,
		     DAT_IB_EXT_TYPE type, u64 id, u32 immediate)
{
	return ended(evd, DAT_DTO_SUCCESS, operation, type, id, immediate);
}

static const char *named(const DAT_PROVIDER_ATTR *attr, const char *name)
{
	DAT_COUNT i;

	for (i = 0; i < attr->num_provider_specific_attr; i++)
		if (!strcmp(attr->provider_specific_attr[i].name, name))
			return attr->provider_specific_attr[i].value;
	return "none";
}

static bool provider_specific_attributes(void)
{
	const char *extension = kpair_is_siw() ? "none" : "TRUE";
	struct ib_device *ibdev = kpair_ibdev();
	static DAT_PROVIDER_ATTR attr;
	struct ib_port_attr port;
	char text[40], device[40];

	CHECK(ibdev);
	CHECK_EQ(0, ib_query_port(ibdev, 1, &port));
	snprintf(text, sizeof(text), "%04x:%04x:%04x:%04x",
		 be16_to_cpup((__be16 *)&ibdev->node_guid),
		 be16_to_cpup((__be16 *)&ibdev->node_guid + 1),
		 be16_to_cpup((__be16 *)&ibdev->node_guid + 2),
		 be16_to_cpup((__be16 *)&ibdev->node_guid + 3));
	strscpy(device, dev_name(&ibdev->dev), sizeof(device));
	ib_device_put(ibdev);
	CHECK_EQ(DAT_SUCCESS,
		 dat_ia_query(pair.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL,
			      &attr));
	CHECK(!strcmp(named(&attr, "DAT_IB_PROVIDER_NAME"), "kdapl"));
	CHECK(!strcmp(named(&attr, "DAT_IB_DEVICE_NAME"), device));
	CHECK(!strcmp(named(&attr, "DAT_IB_CONNECTIVITY_MODE"), "DIRECT"));
	CHECK(!strcmp(named(&attr, "DAT_IB_RDMA_READ"), "TRUE"));
	CHECK(!strcmp(named(&attr, "DAT_IB_NODE_GUID"), text));
	CHECK_EQ(39, strlen(named(&attr, "DAT_IB_GID")));
	CHECK(!strcmp(named(&attr, "DAT_IB_PORT_STATUS"), "ACTIVE"));
	CHECK(!strcmp(named(&attr, "DAT_IB_PORT_NUMBER"), "1"));
	snprintf(text, sizeof(text), "%d", ib_mtu_enum_to_int(port.active_mtu));
	CHECK(!strcmp(named(&attr, "DAT_IB_TRANSPORT_MTU"), text));
	CHECK(!strcmp(named(&attr, "DAT_EXTENSION_INTERFACE"), extension));
	CHECK(!strcmp(named(&attr, DAT_IB_ATTR_IMMED_DATA), extension));
	CHECK(!strcmp(named(&attr, DAT_IB_ATTR_FETCH_AND_ADD), extension));
	CHECK(!strcmp(named(&attr, DAT_IB_ATTR_CMP_AND_SWAP), extension));
	return true;
}

/* Completes a receive of the peer, whose buffer does not change. */
static bool write_immed_completions(void)
{
	unsigned int i;

	for (i = 0; i < 20; i++) {
		kfill(a.buf, 1000, i);
		memset(b.buf, 0, SIZE);
		CHECK_EQ(DAT_SUCCESS,
			 kpost_recv(pair.b.ep, &b, 2000, 100, i));
		CHECK_EQ(DAT_SUCCESS,
			 write_immed(i * 50, 0x1234567 + i, 100 + i, 0));
		CHECK(extended(pair.a.dto_evd, DAT_IB_DTO_RDMA_WRITE_IMMED,
			       DAT_IB_RDMA_WRITE_IMMED, 100 + i, 0));
		CHECK(extended(pair.b.dto_evd, DAT_IB_DTO_RECV_IMMED,
			       DAT_IB_RDMA_WRITE_IMMED_DATA, i,
			       0x1234567 + i));
		CHECK(!memcmp(a.buf, b.buf + 100, i * 50));
		CHECK(!memchr_inv(b.buf + 100 + i * 50, 0,
				  SIZE - 100 - i * 50));
	}
	return true;
}

static bool write_immed_suppressed(void)
{
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 2000, 100, 1));
	CHECK_EQ(DAT_SUCCESS,
		 write_immed(8, 77, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	CHECK(extended(pair.b.dto_evd, DAT_IB_DTO_RECV_IMMED,
		       DAT_IB_RDMA_WRITE_IMMED_DATA, 1, 77));
	CHECK_EQ(DAT_SUCCESS, fetch_and_add(0, 0, 3));
	CHECK(extended(pair.a.dto_evd, DAT_IB_DTO_FETCH_ADD,
		       DAT_IB_FETCH_AND_ADD, 3, 0));
	return true;
}

/* The message arrives as any other; the Send completes as any other. */
static bool send_immed_completions(void)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT event;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		kfill(a.buf, 1000, i);
		memset(b.buf, 0, SIZE);
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 100, 1000, i));
		CHECK_EQ(DAT_SUCCESS, send_immed(i * 50, 0x1234567 + i, 100 + i, 0));
		CHECK(kwait_event(pair.a.dto_evd, &event));
		d = &event.event_data.dto_completion_event_data;
		CHECK_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
		CHECK_EQ(DAT_DTO_SEND, d->operation);
		CHECK_EQ(100 + i, d->user_cookie.as_64);
		CHECK(extended(pair.b.dto_evd, DAT_IB_DTO_RECV_MSG_IMMED,
			       DAT_IB_RECV_IMMED_DATA, i, 0x1234567 + i));
		CHECK(!memcmp(a.buf, b.buf + 100, i * 50));
		CHECK(!memchr_inv(b.buf + 100 + i * 50, 0, SIZE - 100 - i * 50));
	}
	return true;
}

static bool fetch_and_add_result(void)
{
	u64 *there = (u64 *)b.buf, *here = (u64 *)(a.buf + 64);
	u64 sum = 0xffffffff;
	unsigned int i;

	*there = sum;
	for (i = 0; i < 20; i++) {
		CHECK_EQ(DAT_SUCCESS, fetch_and_add(i * 0x100000001, 0, i));
		CHECK(extended(pair.a.dto_evd, DAT_IB_DTO_FETCH_ADD,
			       DAT_IB_FETCH_AND_ADD, i, 0));
		CHECK_EQ(sum, *here);
		sum += i * 0x100000001;
		CHECK_EQ(sum, *there);
	}
	return true;
}

static bool cmp_and_swap_result(void)
{
	u64 *there = (u64 *)(b.buf + 8), *here = (u64 *)(a.buf + 64);

	*there = 5;
	CHECK_EQ(DAT_SUCCESS, cmp_and_swap(4, 9, 8, 1));
	CHECK(extended(pair.a.dto_evd, DAT_IB_DTO_CMP_SWAP,
		       DAT_IB_CMP_AND_SWAP, 1, 0));
	CHECK_EQ(5, *here);
	CHECK_EQ(5, *there);
	CHECK_EQ(DAT_SUCCESS, cmp_and_swap(5, ~0ULL, 8, 2));
	CHECK(extended(pair.a.dto_evd, DAT_IB_DTO_CMP_SWAP,
		       DAT_IB_CMP_AND_SWAP, 2, 0));
	CHECK_EQ(5, *here);
	CHECK_EQ(~0ULL, *there);
	return true;
}

static bool ib_post_bad_arguments(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 8), more = ksegment(&a, 0, 9);
	DAT_RMR_TRIPLET at = at_b(0, 8), odd = at_b(4, 8), less = at_b(0, 7);

	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
		  dat_ib_post_rdma_write_immed(pair.a.ep, 1, &seg, cookie(0),
					       NULL, 1, 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7,
		  dat_ib_post_rdma_write_immed(pair.a.ep, 1, &seg, cookie(0),
					       &at, 1, 0x1000));
	CHECK_EQ(DAT_LENGTH_ERROR,
		 DAT_GET_TYPE(dat_ib_post_rdma_write_immed(pair.a.ep, 1, &more,
							   cookie(0), &at, 1,
							   0)));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ib_post_rdma_write_immed(pair.a.pz, 1, &seg, cookie(0),
					       &at, 1, 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5, send_immed(8, 1, 0, 0x1000));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ib_post_send_immed(pair.a.pz, 1, &seg, cookie(0), 0, 1));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_ib_post_fetch_and_add(pair.a.ep, 1, NULL, cookie(0), &at,
					    0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
		  dat_ib_post_fetch_and_add(pair.a.ep, 1, &seg, cookie(0),
					    &odd, 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6,
		  dat_ib_post_fetch_and_add(pair.a.ep, 1, &seg, cookie(0), &at,
					    DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	CHECK_EQ(DAT_LENGTH_ERROR,
		 DAT_GET_TYPE(dat_ib_post_fetch_and_add(pair.a.ep, 1, &more,
							cookie(0), &at, 0)));
	CHECK_EQ(DAT_LENGTH_ERROR,
		 DAT_GET_TYPE(dat_ib_post_fetch_and_add(pair.a.ep, 1, &seg,
							cookie(0), &less, 0)));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6,
		  dat_ib_post_cmp_and_swap(pair.a.ep, 1, 1, &seg, cookie(0),
					   NULL, 0));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ib_post_cmp_and_swap(pair.a.dto_evd, 1, 1, &seg,
					   cookie(0), &at, 0));
	return true;
}

/* Last, because the test breaks the connection. */
static bool remote_atomic_needs_privilege(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 64, 8);
	struct kregion plain;
	DAT_RMR_TRIPLET at;

	CHECK(kregion_open(&pair, pair.b.pz, &plain, SIZE,
			   DAT_MEM_PRIV_ALL_FLAG));
	at.virtual_address = (uintptr_t)plain.buf;
	at.segment_length = 8;
	at.rmr_context = plain.rmr_context;
	CHECK_EQ(DAT_SUCCESS,
		 dat_ib_post_fetch_and_add(pair.a.ep, 1, &seg, cookie(1), &at,
					   DAT_COMPLETION_DEFAULT_FLAG));
	CHECK(ended(pair.a.dto_evd, DAT_DTO_ERR_REMOTE_ACCESS,
		    DAT_IB_DTO_FETCH_ADD, DAT_IB_FETCH_AND_ADD, 1, 0));
	CHECK(kwait_refusal(&pair));
	CHECK_EQ(0, *(u64 *)plain.buf);
	kregion_close(&plain);
	return true;
}

static bool iwarp_not_supported(void)
{
	struct kregion r;
	bool is_open;

	CHECK_EQ(DAT_MODEL_NOT_SUPPORTED, DAT_GET_TYPE(write_immed(8, 1, 1, 0)));
	CHECK_EQ(DAT_MODEL_NOT_SUPPORTED, DAT_GET_TYPE(send_immed(8, 1, 1, 0)));
	CHECK_EQ(DAT_MODEL_NOT_SUPPORTED, DAT_GET_TYPE(fetch_and_add(1, 0, 1)));
	CHECK_EQ(DAT_MODEL_NOT_SUPPORTED,
		 DAT_GET_TYPE(cmp_and_swap(1, 2, 0, 1)));
	is_open = kregion_open(&pair, pair.b.pz, &r, SIZE,
			       DAT_MEM_PRIV_ALL_FLAG |
			       DAT_IB_MEM_PRIV_REMOTE_ATOMIC);
	kregion_close(&r);
	CHECK(!is_open);
	return true;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(provider_specific_attributes),
	TEST(write_immed_completions),
	TEST(write_immed_suppressed),
	TEST(send_immed_completions),
	TEST(fetch_and_add_result),
	TEST(cmp_and_swap_result),
	TEST(ib_post_bad_arguments),
	TEST(remote_atomic_needs_privilege),
};

static const struct ktest iwarp_tests[] = {
	TEST(provider_specific_attributes),
	TEST(iwarp_not_supported),
};

static int __init ib_test_init(void)
{
	DAT_MEM_PRIV_FLAGS privileges = DAT_MEM_PRIV_ALL_FLAG;
	int ret = report_open("kdapl_ib_test");

	if (ret)
		return ret;
	if (!kpair_is_siw())
		privileges |= DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	if (!kpair_open(&pair) || !kpair_connect(&pair) ||
	    !kregion_open(&pair, pair.a.pz, &a, SIZE, DAT_MEM_PRIV_ALL_FLAG) ||
	    !kregion_open(&pair, pair.b.pz, &b, SIZE, privileges))
		report("not ok 1 kdapl_ib_test.setup\n");
	else if (kpair_is_siw())
		report_run("kdapl_ib_test", iwarp_tests,
			   ARRAY_SIZE(iwarp_tests));
	else
		report_run("kdapl_ib_test", tests, ARRAY_SIZE(tests));
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	return 0;
}

static void __exit ib_test_exit(void)
{
	report_close();
}

module_init(ib_test_init);
module_exit(ib_test_exit);
MODULE_DESCRIPTION("Tests RDMA Write with immediate data, and atomic operations");
MODULE_LICENSE("Dual BSD/GPL");
