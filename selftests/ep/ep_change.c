// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ep_change.c - dat_ep_modify(3DAT), dat_ep_reset(3DAT), dat_ep_dup_connect(3DAT),
 * dat_ep_recv_query(3DAT), dat_ep_set_watermark(3DAT)
 *
 * Side a connects, side b listens.
 */
#include "harness.h"

#include "counts.h"
#include "link.h"
#include "pair.h"

#define REGION		4096
#define MAX_PRIVATE	56

/* What must not happen is given this many microseconds to happen. */
#define SILENCE		(50 * 1000)

#define FIELD(name)	DAT_EP_FIELD_##name
#define ATTR(name)	DAT_EP_FIELD_EP_ATTR_##name

PAIR_FIXTURE(ep_change, pair_open, REGION)

/* A parameter of an EP: where it is, and a value that it has not by default. */
struct field {
	DAT_EP_PARAM_MASK bit;
	size_t offset;
	size_t size;
	DAT_UINT64 value;
};

#define F(name, member, _value) {					\
		.bit = DAT_EP_FIELD_##name,				\
		.offset = offsetof(DAT_EP_PARAM, member),		\
		.size = sizeof(((DAT_EP_PARAM *)NULL)->member),		\
		.value = _value,					\
	}

static const struct field attrs[] = {
	F(EP_ATTR_SERVICE_TYPE, ep_attr.service_type, DAT_SERVICE_TYPE_RC),
	F(EP_ATTR_MAX_MESSAGE_SIZE, ep_attr.max_message_size, 100),
	F(EP_ATTR_MAX_RDMA_SIZE, ep_attr.max_rdma_size, 200),
	F(EP_ATTR_QOS, ep_attr.qos, DAT_QOS_LOW_LATENCY),
	F(EP_ATTR_RECV_COMPLETION_FLAGS, ep_attr.recv_completion_flags,
	  DAT_COMPLETION_UNSIGNALLED_FLAG),
	F(EP_ATTR_REQUEST_COMPLETION_FLAGS, ep_attr.request_completion_flags,
	  DAT_COMPLETION_EVD_THRESHOLD_FLAG),
	F(EP_ATTR_MAX_RECV_DTOS, ep_attr.max_recv_dtos, 3),
	F(EP_ATTR_MAX_REQUEST_DTOS, ep_attr.max_request_dtos, 5),
	F(EP_ATTR_MAX_RECV_IOV, ep_attr.max_recv_iov, 2),
	F(EP_ATTR_MAX_REQUEST_IOV, ep_attr.max_request_iov, 1),
	F(EP_ATTR_MAX_RDMA_READ_IN, ep_attr.max_rdma_read_in, 3),
	F(EP_ATTR_MAX_RDMA_READ_OUT, ep_attr.max_rdma_read_out, 2),
	F(EP_ATTR_MAX_RDMA_READ_IOV, ep_attr.max_rdma_read_iov, 1),
	F(EP_ATTR_MAX_RDMA_WRITE_IOV, ep_attr.max_rdma_write_iov, 1),
};

/* Garbage, but for one field. */
static void set_only(DAT_EP_PARAM *param, const struct field *f,
		     DAT_UINT64 value)
{
	memset(param, 0xa5, sizeof(*param));
	memcpy((char *)param + f->offset, &value, f->size);
}

/* That field, and nothing else, has become @value. */
static void expect_only(struct __test_metadata *_metadata, DAT_EP_HANDLE ep,
			DAT_EP_PARAM *before, const struct field *f,
			DAT_UINT64 value)
{
	DAT_EP_PARAM after;

	ASSERT_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &after));
	memcpy((char *)before + f->offset, &value, f->size);
	EXPECT_EQ(0, memcmp(before, &after, sizeof(after))) {
		TH_LOG("field %#llx", (unsigned long long)f->bit);
	}
	*before = after;
}

TEST_F(ep_change, modify_each_attribute_alone)
{
	DAT_EP_HANDLE ep = self->pair.a.ep;
	DAT_EP_PARAM param, before;
	unsigned int i;

	ASSERT_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &before));
	for (i = 0; i < ARRAY_LEN(attrs); i++) {
		set_only(&param, &attrs[i], attrs[i].value);
		ASSERT_EQ(DAT_SUCCESS,
			  dat_ep_modify(ep, attrs[i].bit, &param)) {
			TH_LOG("field %#llx",
			       (unsigned long long)attrs[i].bit);
		}
		expect_only(_metadata, ep, &before, &attrs[i], attrs[i].value);
	}
	/* They are not just written down. */
	for (i = 0; i < 3; i++) {
		ASSERT_DAT(post_recv(ep, &self->a, 0, 8, i));
	}
	EXPECT_DAT_RET(ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP),
		       post_recv(ep, &self->a, 0, 8, i));
	ASSERT_DAT(pair_connect(&self->pair));
	EXPECT_DAT_TYPE(DAT_LENGTH_ERROR, post_send(ep, &self->a, 0, 101, 1));
	EXPECT_DAT_TYPE(DAT_LENGTH_ERROR,
			post_write(ep, &self->a, 0, 201, self->b.rmr_context,
				   self->b.buf, 1));
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(&self->pair, &self->a, self->b.rmr_context,
			       self->b.buf, 200));
}

TEST_F(ep_change, modify_zero_sets_default)
{
	DAT_EP_PARAM param = {}, seen;
	DAT_EP_HANDLE fresh;

	param.ep_attr.max_recv_dtos = 7;
	ASSERT_DAT(dat_ep_modify(self->pair.a.ep, ATTR(MAX_RECV_DTOS), &param));
	param.ep_attr.max_recv_dtos = 0;
	ASSERT_DAT(dat_ep_modify(self->pair.a.ep, ATTR(MAX_RECV_DTOS), &param));
	ASSERT_DAT(dat_ep_query(self->pair.a.ep, DAT_EP_FIELD_ALL, &seen));
	ASSERT_DAT(ep_like(&self->pair, &self->pair.a, &fresh));
	ASSERT_DAT(dat_ep_query(fresh, DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(param.ep_attr.max_recv_dtos, seen.ep_attr.max_recv_dtos);
}

/* Those bits are elsewhere in the kernel's mask. */
TEST_F(ep_change, modify_each_handle_alone)
{
	static const struct field handles[] = {
		F(PZ_HANDLE, pz_handle, 0),
		F(RECV_EVD_HANDLE, recv_evd_handle, 0),
		F(REQUEST_EVD_HANDLE, request_evd_handle, 0),
		F(CONNECT_EVD_HANDLE, connect_evd_handle, 0),
	};
	struct side fresh = {};
	DAT_EP_HANDLE ep = self->pair.a.ep;
	DAT_HANDLE value[ARRAY_LEN(handles)];
	DAT_EP_PARAM param, before;
	unsigned int i;

	ASSERT_DAT(side_open(&self->pair, &fresh));
	ASSERT_DAT(dat_ep_free(fresh.ep));
	value[0] = fresh.pz;
	value[1] = fresh.dto_evd;
	value[2] = fresh.dto_evd;
	value[3] = fresh.conn_evd;
	ASSERT_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &before));
	for (i = 0; i < ARRAY_LEN(handles); i++) {
		set_only(&param, &handles[i], (uintptr_t)value[i]);
		ASSERT_EQ(DAT_SUCCESS,
			  dat_ep_modify(ep, handles[i].bit, &param)) {
			TH_LOG("handle %u", i);
		}
		expect_only(_metadata, ep, &before, &handles[i],
			    (uintptr_t)value[i]);
	}
	/* The EP uses the new ones, and the old ones no more. */
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE),
		       dat_pz_free(fresh.pz));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE),
		       dat_evd_free(fresh.dto_evd));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE),
		       dat_evd_free(fresh.conn_evd));
	EXPECT_DAT(dat_evd_free(self->pair.a.dto_evd));
	EXPECT_DAT(dat_evd_free(self->pair.a.conn_evd));
	EXPECT_DAT(dat_lmr_free(self->a.lmr));
	EXPECT_DAT(dat_pz_free(self->pair.a.pz));
	self->pair.a = fresh;
	self->pair.a.ep = ep;
	ASSERT_DAT(region_open(&self->pair, fresh.pz, &self->a, REGION,
			       DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(pair_connect(&self->pair));
	EXPECT_TRUE(carries(&self->pair, ep, self->pair.b.ep, &self->a,
			    &self->b));
}

TEST_F(ep_change, modify_evds_to_null)
{
	const DAT_EP_PARAM_MASK mask = FIELD(RECV_EVD_HANDLE) |
				       FIELD(REQUEST_EVD_HANDLE) |
				       FIELD(CONNECT_EVD_HANDLE);
	struct side *side = &self->pair.a;
	DAT_EP_PARAM param = {};

	ASSERT_DAT(dat_ep_modify(side->ep, mask, &param));
	ASSERT_DAT(dat_ep_query(side->ep, DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(DAT_HANDLE_NULL, param.recv_evd_handle);
	EXPECT_EQ(DAT_HANDLE_NULL, param.request_evd_handle);
	EXPECT_EQ(DAT_HANDLE_NULL, param.connect_evd_handle);
	EXPECT_EQ(side->pz, param.pz_handle);
	EXPECT_DAT(dat_evd_free(side->dto_evd));
	EXPECT_DAT(dat_evd_free(side->conn_evd));
}

TEST_F(ep_change, modify_read_only_fields)
{
	static const DAT_EP_PARAM_MASK never[] = {
		FIELD(IA_HANDLE), FIELD(EP_STATE), FIELD(LOCAL_IA_ADDRESS_PTR),
		FIELD(LOCAL_PORT_QUAL), FIELD(REMOTE_IA_ADDRESS_PTR),
		FIELD(REMOTE_PORT_QUAL), FIELD(SRQ_HANDLE),
		ATTR(SRQ_SOFT_HW),
		/* Nothing has these. */
		0x800, UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_C(1) << 63,
	};
	DAT_EP_HANDLE ep = self->pair.a.ep;
	DAT_EP_PARAM before, param, after;
	unsigned int i;

	ASSERT_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &before));
	param = before;
	param.pz_handle = self->pair.b.pz;
	for (i = 0; i < ARRAY_LEN(never); i++) {
		EXPECT_EQ(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			  dat_ep_modify(ep, never[i], &param)) {
			TH_LOG("field %#llx", (unsigned long long)never[i]);
		}
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			       dat_ep_modify(ep, never[i] | FIELD(PZ_HANDLE),
					     &param));
	}
	/* Nothing is always possible, and does nothing. */
	EXPECT_DAT(dat_ep_modify(ep, 0, &param));
	ASSERT_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(after)));
}

static void expect_bad_handle(struct __test_metadata *_metadata,
			      DAT_EP_HANDLE ep, const DAT_EP_PARAM *good,
			      DAT_HANDLE bad)
{
	DAT_EP_PARAM param = *good;

	param.recv_evd_handle = bad;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV),
		       dat_ep_modify(ep,
				     FIELD(PZ_HANDLE) | ATTR(MAX_RECV_DTOS) |
					     FIELD(RECV_EVD_HANDLE),
				     &param));
	param = *good;
	param.request_evd_handle = bad;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE,
			     DAT_INVALID_HANDLE_EVD_REQUEST),
		       dat_ep_modify(ep,
				     FIELD(PZ_HANDLE) |
					     FIELD(REQUEST_EVD_HANDLE),
				     &param));
	param = *good;
	param.connect_evd_handle = bad;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN),
		       dat_ep_modify(ep,
				     FIELD(PZ_HANDLE) |
					     FIELD(CONNECT_EVD_HANDLE),
				     &param));
	param = *good;
	param.pz_handle = bad;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ),
		       dat_ep_modify(ep, FIELD(PZ_HANDLE) | ATTR(MAX_RECV_DTOS),
				     &param));
}

TEST_F(ep_change, modify_bad_handles)
{
	DAT_EP_HANDLE ep = self->pair.a.ep, freed;
	DAT_EP_PARAM before, good, after;
	DAT_EVD_HANDLE evd;
	struct pair other;

	if (HANDLES_ARE_POINTERS)
		SKIP(return, "libdat2 follows a handle to its provider");
	ASSERT_DAT(pair_open(&other));
	ASSERT_DAT(ep_like(&self->pair, &self->pair.a, &freed));
	ASSERT_DAT(dat_ep_free(freed));
	ASSERT_DAT(dat_evd_create(self->pair.ia, 8, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
				  &evd));
	ASSERT_DAT(dat_evd_free(evd));
	ASSERT_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &before));
	good = before;
	good.pz_handle = self->pair.b.pz;
	good.ep_attr.max_recv_dtos = 7;
	/* Forged; of another type or purpose; that was; of another IA. */
	expect_bad_handle(_metadata, ep, &good, (DAT_HANDLE)0x1234567);
	expect_bad_handle(_metadata, ep, &good,
			  (DAT_HANDLE)((uintptr_t)good.pz_handle | 1UL << 40));
	expect_bad_handle(_metadata, ep, &good, ep);
	expect_bad_handle(_metadata, ep, &good, self->pair.cr_evd);
	expect_bad_handle(_metadata, ep, &good, evd);
	good.recv_evd_handle = other.a.dto_evd;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV),
		       dat_ep_modify(ep, FIELD(RECV_EVD_HANDLE), &good));
	good.pz_handle = other.a.pz;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ),
		       dat_ep_modify(ep, FIELD(PZ_HANDLE), &good));
	/* An EP has to have a PZ. */
	good.pz_handle = DAT_HANDLE_NULL;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ),
		       dat_ep_modify(ep, FIELD(PZ_HANDLE), &good));

	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_modify(freed, FIELD(PZ_HANDLE), &before));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_modify(self->pair.psp, FIELD(PZ_HANDLE),
				     &before));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_modify(DAT_HANDLE_NULL, FIELD(PZ_HANDLE),
				     &before));

	ASSERT_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(after)));
	pair_close(&other);
	ASSERT_DAT(pair_connect(&self->pair));
	EXPECT_TRUE(carries(&self->pair, ep, self->pair.b.ep, &self->a,
			    &self->b));
}

TEST_F(ep_change, modify_bad_values)
{
	static const struct field bad[] = {
		F(EP_ATTR_MAX_MESSAGE_SIZE, ep_attr.max_message_size,
		  UINT64_C(1) << 32),
		F(EP_ATTR_MAX_RDMA_SIZE, ep_attr.max_rdma_size,
		  (UINT64_C(1) << 32) + 8),
		F(EP_ATTR_RECV_COMPLETION_FLAGS, ep_attr.recv_completion_flags,
		  0x1000),
		F(EP_ATTR_REQUEST_COMPLETION_FLAGS,
		  ep_attr.request_completion_flags, 0x1000),
		F(EP_ATTR_MAX_RECV_DTOS, ep_attr.max_recv_dtos, 1 << 30),
		F(EP_ATTR_MAX_RECV_DTOS, ep_attr.max_recv_dtos, -1),
		F(EP_ATTR_MAX_REQUEST_DTOS, ep_attr.max_request_dtos, 1 << 30),
		F(EP_ATTR_MAX_REQUEST_DTOS, ep_attr.max_request_dtos, -1),
		F(EP_ATTR_MAX_RECV_IOV, ep_attr.max_recv_iov, 1 << 30),
		F(EP_ATTR_MAX_REQUEST_IOV, ep_attr.max_request_iov, -1),
		F(EP_ATTR_MAX_RDMA_READ_IN, ep_attr.max_rdma_read_in, 1 << 30),
		F(EP_ATTR_MAX_RDMA_READ_OUT, ep_attr.max_rdma_read_out, -1),
		F(EP_ATTR_MAX_RDMA_READ_IOV, ep_attr.max_rdma_read_iov,
		  1 << 30),
		F(EP_ATTR_MAX_RDMA_WRITE_IOV, ep_attr.max_rdma_write_iov, -1),
		F(EP_ATTR_NUM_TRANSPORT_ATTR,
		  ep_attr.ep_transport_specific_count, 1),
		F(EP_ATTR_NUM_PROVIDER_ATTR,
		  ep_attr.ep_provider_specific_count, 1),
	};
	DAT_EP_HANDLE ep = self->pair.a.ep;
	DAT_EP_PARAM before, param, after;
	unsigned int i;

	ASSERT_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &before));
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		if (IS_CUT(bad[i].value, param.ep_attr.max_rdma_size))
			continue;
		set_only(&param, &bad[i], bad[i].value);
		EXPECT_EQ(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			  dat_ep_modify(ep, bad[i].bit, &param)) {
			TH_LOG("field %#llx to %lld",
			       (unsigned long long)bad[i].bit,
			       (long long)bad[i].value);
		}
	}
	param = before;
	param.ep_attr.qos = (DAT_QOS)(2 * DAT_QOS_PREMIUM);
	EXPECT_DAT_TYPE(DAT_MODEL_NOT_SUPPORTED,
			dat_ep_modify(ep, ATTR(QOS), &param));
	param.ep_attr.service_type = (DAT_SERVICE_TYPE)1;
	EXPECT_DAT_TYPE(DAT_MODEL_NOT_SUPPORTED,
			dat_ep_modify(ep, ATTR(SERVICE_TYPE), &param));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_ep_modify(ep, FIELD(PZ_HANDLE), NULL));
	ASSERT_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(after)));
	/* There are none of these, and none is what an EP can have. */
	set_only(&param, &bad[ARRAY_LEN(bad) - 1], 0);
	EXPECT_DAT(dat_ep_modify(ep, ATTR(NUM_PROVIDER_ATTR), &param));
}

/* A file is charged for its queues. */
TEST_F(ep_change, failed_modify_not_charged)
{
	long long before = charged_bytes(getpid());
	DAT_EP_HANDLE ep = self->pair.a.ep;
	DAT_EP_PARAM param = {};
	DAT_IA_ATTR attr;
	DAT_RETURN ret;
	int i;

	ASSERT_DAT(dat_ia_query(self->pair.ia, NULL, DAT_IA_FIELD_ALL, &attr,
				DAT_PROVIDER_FIELD_NONE, NULL));
	for (i = 0; i < 20; i++) {
		param.ep_attr.max_recv_dtos = 1 << 30;
		param.ep_attr.max_request_dtos = 1 << 30;
		ASSERT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			       dat_ep_modify(ep,
					     ATTR(MAX_RECV_DTOS) |
						     ATTR(MAX_REQUEST_DTOS),
					     &param));
		/* As many as an EP can have of each: too many for a CQ of most devices */
		param.ep_attr.max_recv_dtos = attr.max_dto_per_ep;
		param.ep_attr.max_request_dtos = attr.max_dto_per_ep;
		ret = dat_ep_modify(ep, ATTR(MAX_RECV_DTOS) | ATTR(MAX_REQUEST_DTOS), &param);
		if (!i && ret == DAT_SUCCESS)
			SKIP(return, "a CQ has room for both");
		ASSERT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES, ret);
	}
	EXPECT_EQ(before, charged_bytes(getpid()));
}

TEST_F(ep_change, modify_wrong_ep_state)
{
	struct pair *pair = &self->pair;
	DAT_EP_PARAM param = {};

	param.pz_handle = pair->a.pz;
	param.recv_evd_handle = pair->b.dto_evd;
	param.connect_evd_handle = pair->b.conn_evd;
	param.ep_attr.max_message_size = 64;
	/* No device carries receives over to another queue. */
	ASSERT_DAT(post_recv(pair->b.ep, &self->b, 0, 64, 1));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_UNCONNECTED),
		       dat_ep_modify(pair->b.ep, FIELD(PZ_HANDLE), &param));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_UNCONNECTED),
		       dat_ep_modify(pair->b.ep, ATTR(RECV_COMPLETION_FLAGS),
				     &param));
	EXPECT_DAT(dat_ep_modify(pair->b.ep,
				 FIELD(CONNECT_EVD_HANDLE) |
					 ATTR(MAX_MESSAGE_SIZE),
				 &param));
	ASSERT_DAT(pair_connect(pair));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED),
		       dat_ep_modify(pair->b.ep, ATTR(MAX_MESSAGE_SIZE),
				     &param));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED),
		       dat_ep_modify(pair->b.ep, FIELD(CONNECT_EVD_HANDLE),
				     &param));
	ASSERT_DAT(dat_ep_disconnect(pair->b.ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_DISCONNECTED));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_DISCONNECTED),
		       dat_ep_modify(pair->b.ep, ATTR(MAX_MESSAGE_SIZE),
				     &param));
}

/* May a thread wait for more than one event? 0, or the subtype that says no. */
static DAT_RETURN two_at_once(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_RETURN ret = dat_evd_wait(evd, 1000, 2, &event, &nmore);

	return DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED ? DAT_SUCCESS : ret;
}

static DAT_RETURN set_flags(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
			    DAT_COMPLETION_FLAGS flags)
{
	DAT_EP_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	param.ep_attr.recv_completion_flags = flags;
	param.ep_attr.request_completion_flags = flags;
	return dat_ep_modify(ep, mask, &param);
}

#define NOT_NOTIFIED	ERROR(DAT_INVALID_STATE, \
			      DAT_INVALID_STATE_EVD_CONFIG_NOTIFY)
#define SOLICITED	ERROR(DAT_INVALID_STATE, \
			      DAT_INVALID_STATE_EVD_CONFIG_SOLICITED)

/* With an EVD for receives, and one for requests. */
FIXTURE(flags)
{
	struct pair pair;
	struct region a, b;
	DAT_EVD_HANDLE recv, request;
	DAT_EP_HANDLE ep;
};

FIXTURE_SETUP(flags)
{
	struct pair *pair = &self->pair;

	ASSERT_DAT(pair_open(pair));
	ASSERT_DAT(regions_open(pair, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(dat_evd_create(pair->ia, 256, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG, &self->recv));
	ASSERT_DAT(dat_evd_create(pair->ia, 256, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG, &self->request));
	ASSERT_DAT(dat_ep_create(pair->ia, pair->a.pz, self->recv,
				 self->request, pair->a.conn_evd, NULL,
				 &self->ep));
}

FIXTURE_TEARDOWN(flags)
{
	pair_close(&self->pair);
}

TEST_F(flags, modify_flags_limit_wait_threshold)
{
	const DAT_EP_PARAM_MASK recv = ATTR(RECV_COMPLETION_FLAGS);
	const DAT_EP_PARAM_MASK request = ATTR(REQUEST_COMPLETION_FLAGS);
	DAT_EVENT event;
	DAT_COUNT nmore;

	EXPECT_DAT(two_at_once(self->recv));
	EXPECT_DAT(two_at_once(self->request));
	ASSERT_DAT(set_flags(self->ep, recv, DAT_COMPLETION_UNSIGNALLED_FLAG));
	EXPECT_EQ(NOT_NOTIFIED, two_at_once(self->recv));
	EXPECT_DAT(two_at_once(self->request));
	/* For one anybody may wait. */
	EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED,
			dat_evd_wait(self->recv, 1000, 1, &event, &nmore));
	/* Again, and with what has nothing to do with it: still one EP. */
	ASSERT_DAT(set_flags(self->ep, recv, DAT_COMPLETION_UNSIGNALLED_FLAG));
	ASSERT_DAT(set_flags(self->ep, 0, 0));
	ASSERT_DAT(set_flags(self->ep, request,
			     DAT_COMPLETION_UNSIGNALLED_FLAG));
	EXPECT_EQ(NOT_NOTIFIED, two_at_once(self->request));
	ASSERT_DAT(set_flags(self->ep, recv,
			     DAT_COMPLETION_EVD_THRESHOLD_FLAG));
	EXPECT_DAT(two_at_once(self->recv));
	EXPECT_EQ(NOT_NOTIFIED, two_at_once(self->request));
	ASSERT_DAT(set_flags(self->ep, request, DAT_COMPLETION_DEFAULT_FLAG));
	EXPECT_DAT(two_at_once(self->request));
}

TEST_F(flags, modify_flags_solicited_wait)
{
	if (link_is_iwarp())
		SKIP(return, "siw forgets that a message was solicited");
	ASSERT_DAT(set_flags(self->ep, ATTR(RECV_COMPLETION_FLAGS),
			     DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	EXPECT_EQ(SOLICITED, two_at_once(self->recv));
	ASSERT_DAT(set_flags(self->ep, ATTR(RECV_COMPLETION_FLAGS),
			     DAT_COMPLETION_UNSIGNALLED_FLAG));
	EXPECT_EQ(NOT_NOTIFIED, two_at_once(self->recv));
	ASSERT_DAT(set_flags(self->ep, ATTR(RECV_COMPLETION_FLAGS),
			     DAT_COMPLETION_DEFAULT_FLAG));
	EXPECT_DAT(two_at_once(self->recv));
}

TEST_F(flags, modify_evd_moves_flags)
{
	DAT_EP_PARAM param;

	ASSERT_DAT(set_flags(self->ep, ATTR(RECV_COMPLETION_FLAGS),
			     DAT_COMPLETION_UNSIGNALLED_FLAG));
	memset(&param, 0xa5, sizeof(param));
	param.recv_evd_handle = self->request;
	ASSERT_DAT(dat_ep_modify(self->ep, FIELD(RECV_EVD_HANDLE), &param));
	EXPECT_DAT(two_at_once(self->recv));
	EXPECT_EQ(NOT_NOTIFIED, two_at_once(self->request));
	/* A modification that is refused changes nothing here, either. */
	param.recv_evd_handle = self->pair.psp;
	ASSERT_DAT_TYPE(DAT_INVALID_HANDLE,
			dat_ep_modify(self->ep, FIELD(RECV_EVD_HANDLE),
				      &param));
	EXPECT_EQ(NOT_NOTIFIED, two_at_once(self->request));
	ASSERT_DAT(dat_ep_free(self->ep));
	EXPECT_DAT(two_at_once(self->request));
}

/* Events that nobody is notified of have to be looked for. */
TEST_F(flags, modify_unsignalled_event_dequeued)
{
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 0x1234 };
	struct pair *pair = &self->pair;
	DAT_EVENT event;
	int i;

	ASSERT_DAT(set_flags(self->ep, ATTR(REQUEST_COMPLETION_FLAGS),
			     DAT_COMPLETION_UNSIGNALLED_FLAG));
	pair->a.ep = self->ep;
	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(post_recv(pair->b.ep, &self->b, 0, 8, 1));
	ASSERT_DAT(dat_ep_post_send(self->ep, 1, &seg, cookie,
				    DAT_COMPLETION_UNSIGNALLED_FLAG));
	ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->b.dto_evd, 1));
	for (i = 0; i < PAIR_TIMEOUT / 10000; i++) {
		if (!dat_evd_dequeue(self->request, &event))
			break;
		usleep(10000);
	}
	ASSERT_GT(PAIR_TIMEOUT / 10000, i);
	EXPECT_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
	EXPECT_EQ(0x1234, event.event_data.dto_completion_event_data
				  .user_cookie.as_64);
	EXPECT_EQ(self->ep,
		  event.event_data.dto_completion_event_data.ep_handle);
}

/* Side b accepts with a text: side a gets to know that, and no more. */
static void connect_with(struct __test_metadata *_metadata, struct pair *pair,
			 const char *text)
{
	const DAT_CONNECTION_EVENT_DATA *d;
	DAT_COUNT i, size = strlen(text);
	const char *said;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	ASSERT_DAT(connect_to(pair, pair->a.ep, pair->qual));
	ASSERT_DAT(next_cr(pair, &cr));
	ASSERT_DAT(dat_cr_accept(cr, pair->b.ep, size,
				 size ? (DAT_PVOID)text : NULL));
	ASSERT_DAT(wait_event(pair->a.conn_evd, &event));
	d = &event.event_data.connect_event_data;
	ASSERT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	EXPECT_EQ(pair->a.ep, d->ep_handle);
	ASSERT_LE(size, d->private_data_size);
	said = d->private_data;
	/* Transports may pad it with zeroes. */
	for (i = 0; i < d->private_data_size; i++)
		EXPECT_EQ(i < size ? text[i] : 0, said[i]);
	ASSERT_DAT(wait_number(pair->b.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
}

TEST_F(ep_change, reset_allows_reconnect)
{
	static const char *const texts[] = {
		"the first connection", "2nd", "", "and the last",
	};
	struct pair *pair = &self->pair;
	DAT_EP_PARAM param;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(texts); i++) {
		connect_with(_metadata, pair, texts[i]);
		EXPECT_TRUE(carries(pair, pair->a.ep, pair->b.ep, &self->a,
				    &self->b));
		EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
				     DAT_INVALID_STATE_EP_CONNECTED),
			       dat_ep_reset(pair->a.ep));
		ASSERT_DAT(dat_ep_disconnect(i & 1 ? pair->a.ep : pair->b.ep,
					     DAT_CLOSE_ABRUPT_FLAG));
		ASSERT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_DISCONNECTED));
		ASSERT_DAT(dat_ep_reset(pair->a.ep));
		ASSERT_DAT(dat_ep_reset(pair->b.ep));
		EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, ep_state(pair->a.ep));
		EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, ep_state(pair->b.ep));
		/* Once more does no harm. */
		ASSERT_DAT(dat_ep_reset(pair->a.ep));
	}
	/* It has kept what it was made with. */
	ASSERT_DAT(dat_ep_query(pair->a.ep, DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(pair->a.dto_evd, param.recv_evd_handle);
	EXPECT_EQ(pair->a.conn_evd, param.connect_evd_handle);
	EXPECT_EQ(64, param.ep_attr.max_recv_dtos);
}

TEST_F(ep_change, reset_flushes_recvs)
{
	struct pair *pair = &self->pair;
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EP_STATE state;
	DAT_EVENT event;
	int i;

	d = &event.event_data.dto_completion_event_data;
	for (i = 0; i < 5; i++) {
		ASSERT_DAT(post_recv(pair->a.ep, &self->a, 0, 64, i));
	}
	/* Without a connection there is nothing to forget. */
	ASSERT_DAT(dat_ep_reset(pair->a.ep));
	EXPECT_TRUE(is_empty(pair->a.dto_evd));
	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(dat_ep_disconnect(pair->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(wait_number(pair->a.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	ASSERT_DAT(dat_ep_reset(pair->a.ep));
	ASSERT_DAT(dat_ep_get_status(pair->a.ep, &state, &recv_idle,
				     &request_idle));
	EXPECT_EQ(DAT_TRUE, recv_idle);
	for (i = 0; i < 5; i++) {
		ASSERT_DAT(wait_event(pair->a.dto_evd, &event));
		EXPECT_EQ(i, d->user_cookie.as_64);
		EXPECT_EQ(DAT_DTO_ERR_FLUSHED, d->status);
		EXPECT_EQ(pair->a.ep, d->ep_handle);
	}
	EXPECT_TRUE(is_empty(pair->a.dto_evd));
}

TEST_F(ep_change, reset_bad_handle)
{
	DAT_EP_HANDLE freed;

	ASSERT_DAT(ep_like(&self->pair, &self->pair.a, &freed));
	ASSERT_DAT(dat_ep_free(freed));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_reset(freed));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_reset(self->pair.a.pz));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_reset(DAT_HANDLE_NULL));
}

FIXTURE(dup)
{
	struct pair pair;
	struct region a, b;
	DAT_EP_HANDLE dup, passive;
};

FIXTURE_SETUP(dup)
{
	struct pair *pair = &self->pair;

	ASSERT_DAT(pair_open(pair));
	ASSERT_DAT(regions_open(pair, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(ep_like(pair, &pair->a, &self->dup));
	ASSERT_DAT(ep_like(pair, &pair->b, &self->passive));
	ASSERT_DAT(pair_connect(pair));
}

FIXTURE_TEARDOWN(dup)
{
	pair_close(&self->pair);
}

static DAT_RETURN dup_connect(FIXTURE_DATA(dup) *self, DAT_TIMEOUT timeout,
			      DAT_COUNT size, const void *data)
{
	return dat_ep_dup_connect(self->dup, self->pair.a.ep, timeout, size,
				  (DAT_PVOID)data, DAT_QOS_BEST_EFFORT);
}

TEST_F(dup, dup_connect_same_peer)
{
	unsigned char data[MAX_PRIVATE], answer[] = "welcome";
	struct pair *pair = &self->pair;
	DAT_CONNECTION_EVENT_DATA *d;
	DAT_EP_PARAM first, second;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	memset(data, 0x5a, sizeof(data));
	ASSERT_DAT(dup_connect(self, DAT_TIMEOUT_INFINITE, sizeof(data), data));
	EXPECT_EQ(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, ep_state(self->dup));
	ASSERT_DAT(wait_event(pair->cr_evd, &event));
	EXPECT_EQ(pair->psp,
		  event.event_data.cr_arrival_event_data.sp_handle.psp_handle);
	EXPECT_EQ(pair->qual, event.event_data.cr_arrival_event_data.conn_qual);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	ASSERT_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ASSERT_LE(MAX_PRIVATE, param.private_data_size);
	EXPECT_EQ(0, memcmp(data, param.private_data, MAX_PRIVATE));
	ASSERT_DAT(dat_cr_accept(cr, self->passive, sizeof(answer), answer));
	ASSERT_DAT(wait_event(pair->a.conn_evd, &event));
	d = &event.event_data.connect_event_data;
	EXPECT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	EXPECT_EQ(self->dup, d->ep_handle);
	ASSERT_LE((DAT_COUNT)sizeof(answer), d->private_data_size);
	EXPECT_STREQ((char *)answer, d->private_data);
	ASSERT_DAT(wait_number(pair->b.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
	EXPECT_TRUE(carries(pair, self->dup, self->passive, &self->a,
			    &self->b));
	EXPECT_TRUE(carries(pair, pair->a.ep, pair->b.ep, &self->a, &self->b));
	ASSERT_DAT(dat_ep_query(pair->a.ep, DAT_EP_FIELD_ALL, &first));
	ASSERT_DAT(dat_ep_query(self->dup, DAT_EP_FIELD_ALL, &second));
	EXPECT_EQ(first.remote_port_qual, second.remote_port_qual);
	EXPECT_NE(first.local_port_qual, second.local_port_qual);
}

TEST_F(dup, dup_connect_rejected_or_timeout)
{
	struct pair *pair = &self->pair;
	DAT_CR_HANDLE cr;

	ASSERT_DAT(dup_connect(self, DAT_TIMEOUT_INFINITE, 0, NULL));
	ASSERT_DAT(next_cr(pair, &cr));
	ASSERT_DAT(dat_cr_reject(cr));
	EXPECT_DAT(wait_number(pair->a.conn_evd,
			       DAT_CONNECTION_EVENT_PEER_REJECTED));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->dup));
	ASSERT_DAT(dat_ep_reset(self->dup));
	/* Nobody answers. */
	ASSERT_DAT(dup_connect(self, 100 * 1000, 0, NULL));
	EXPECT_DAT(wait_number(pair->a.conn_evd,
			       DAT_CONNECTION_EVENT_TIMED_OUT));
	/* The one that is connected does not notice. */
	EXPECT_TRUE(carries(pair, pair->a.ep, pair->b.ep, &self->a, &self->b));
}

TEST_F(dup, dup_connect_bad_args)
{
	static const DAT_COUNT sizes[] = { -1, MAX_PRIVATE + 1, 257, INT32_MAX };
	struct pair *pair = &self->pair;
	unsigned char data[MAX_PRIVATE + 1] = {};
	DAT_HANDLE bad[4];
	unsigned int i;

	if (HANDLES_ARE_POINTERS)
		SKIP(return, "libdat2 follows a handle to its provider");
	ASSERT_DAT(ep_like(pair, &pair->a, &bad[0]));
	ASSERT_DAT(dat_ep_free(bad[0]));
	bad[1] = DAT_HANDLE_NULL;
	bad[2] = pair->a.pz;
	bad[3] = (DAT_HANDLE)0x1234567;
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
			       dat_ep_dup_connect(bad[i], pair->a.ep,
						  DAT_TIMEOUT_INFINITE, 0, NULL,
						  DAT_QOS_BEST_EFFORT));
		EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
			       dat_ep_dup_connect(self->dup, bad[i],
						  DAT_TIMEOUT_INFINITE, 0, NULL,
						  DAT_QOS_BEST_EFFORT));
	}
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_UNCONNECTED),
		       dat_ep_dup_connect(self->dup, self->passive,
					  DAT_TIMEOUT_INFINITE, 0, NULL,
					  DAT_QOS_BEST_EFFORT));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED),
		       dat_ep_dup_connect(pair->a.ep, pair->a.ep,
					  DAT_TIMEOUT_INFINITE, 0, NULL,
					  DAT_QOS_BEST_EFFORT));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dup_connect(self, 0, 0, NULL));
	for (i = 0; i < ARRAY_LEN(sizes); i++) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
			       dup_connect(self, DAT_TIMEOUT_INFINITE, sizes[i],
					   data));
	}
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
		       dup_connect(self, DAT_TIMEOUT_INFINITE, 1, NULL));
	EXPECT_DAT_TYPE(DAT_MODEL_NOT_SUPPORTED,
			dat_ep_dup_connect(self->dup, pair->a.ep,
					   DAT_TIMEOUT_INFINITE, 0, NULL,
					   (DAT_QOS)0x10));
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, ep_state(self->dup));
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(pair->cr_evd));
}

TEST_F(ep_change, recv_query_counts_outstanding)
{
	struct pair *pair = &self->pair;
	DAT_COUNT num = 77, span = 77;
	int i;

	ASSERT_DAT(dat_ep_recv_query(pair->b.ep, &num, &span));
	EXPECT_EQ(0, num);
	EXPECT_EQ(0, span);
	for (i = 0; i < 3; i++) {
		ASSERT_DAT(post_recv(pair->b.ep, &self->b, 0, 64, i));
	}
	/* Either, both, or none. */
	ASSERT_DAT(dat_ep_recv_query(pair->b.ep, &num, NULL));
	EXPECT_EQ(3, num);
	ASSERT_DAT(dat_ep_recv_query(pair->b.ep, NULL, &span));
	EXPECT_EQ(3, span);
	EXPECT_DAT(dat_ep_recv_query(pair->b.ep, NULL, NULL));

	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(post_send(pair->a.ep, &self->a, 0, 64, 9));
	ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(pair->b.dto_evd, 0));
	ASSERT_DAT(dat_ep_recv_query(pair->b.ep, &num, &span));
	EXPECT_EQ(2, num);
	EXPECT_EQ(2, span);
	/* Requests are none of them. */
	ASSERT_DAT(dat_ep_recv_query(pair->a.ep, &num, &span));
	EXPECT_EQ(0, num);

	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_recv_query(pair->b.pz, &num, &span));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_recv_query(DAT_HANDLE_NULL, &num, &span));
	ASSERT_DAT(dat_ep_free(pair->b.ep));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_recv_query(pair->b.ep, NULL, NULL));
}

static void post_recvs(struct __test_metadata *_metadata,
		       FIXTURE_DATA(ep_change) *self, int num)
{
	while (num--)
		ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, 0, 64, num));
}

static void expect_told_once(struct __test_metadata *_metadata,
			     FIXTURE_DATA(ep_change) *self)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *d;
	DAT_EVENT event;

	ASSERT_DAT(wait_event(self->pair.async_evd, &event));
	d = &event.event_data.asynch_error_event_data;
	EXPECT_EQ(DAT_ASYNC_ERROR_EP_BROKEN, event.event_number);
	EXPECT_EQ(self->pair.async_evd, event.evd_handle);
	EXPECT_EQ(self->pair.b.ep, d->dat_handle);
	EXPECT_EQ(DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT, d->reason);
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(self->pair.async_evd));
}

TEST_F(ep_change, soft_watermark_fires_once)
{
	struct pair *pair = &self->pair;
	DAT_EP_PARAM param;

	ASSERT_DAT(dat_ep_set_watermark(pair->b.ep, 2, DAT_WATERMARK_INFINITE));
	ASSERT_DAT(dat_ep_query(pair->b.ep, DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(2, param.ep_attr.srq_soft_hw);
	post_recvs(_metadata, self, 2);
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(pair->async_evd));
	post_recvs(_metadata, self, 1);
	expect_told_once(_metadata, self);
	post_recvs(_metadata, self, 1);
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(pair->async_evd));
	/* Set again, when there are more already. */
	ASSERT_DAT(dat_ep_set_watermark(pair->b.ep, 3, DAT_WATERMARK_INFINITE));
	expect_told_once(_metadata, self);
	ASSERT_DAT(dat_ep_set_watermark(pair->b.ep, DAT_WATERMARK_INFINITE,
					DAT_WATERMARK_INFINITE));
	post_recvs(_metadata, self, 4);
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(pair->async_evd));
	ASSERT_DAT(pair_connect(pair));
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(pair->b.ep));
}

TEST_F(ep_change, hard_watermark_breaks_connection)
{
	struct pair *pair = &self->pair;

	ASSERT_DAT(dat_ep_set_watermark(pair->b.ep, DAT_WATERMARK_INFINITE, 2));
	ASSERT_DAT(pair_connect(pair));
	post_recvs(_metadata, self, 2);
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(pair->b.conn_evd));
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(pair->b.ep));
	post_recvs(_metadata, self, 1);
	EXPECT_DAT(wait_number(pair->b.conn_evd, DAT_CONNECTION_EVENT_BROKEN));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(pair->b.ep));
	/* The soft one is another matter. */
	EXPECT_TRUE(is_empty(pair->async_evd));
}

TEST_F(ep_change, set_watermark_bad_args)
{
	static const DAT_COUNT bad[] = { -2, -3, INT32_MIN };
	DAT_EP_HANDLE ep = self->pair.b.ep;
	DAT_EP_PARAM param;
	unsigned int i;

	ASSERT_DAT(dat_ep_set_watermark(ep, 33, DAT_WATERMARK_INFINITE));
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			       dat_ep_set_watermark(ep, bad[i], 1));
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			       dat_ep_set_watermark(ep, 1, bad[i]));
	}
	ASSERT_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	EXPECT_EQ(33, param.ep_attr.srq_soft_hw);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_set_watermark(self->pair.psp, 1, 1));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_set_watermark(DAT_HANDLE_NULL, 1, 1));
	ASSERT_DAT(dat_ep_free(ep));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_set_watermark(ep, 1, 1));
}

TEST_HARNESS_MAIN
