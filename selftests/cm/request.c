// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * request.c - dat_cr_query(3DAT), dat_psp_free(3DAT), and what a request for a
 * connection meets with
 *
 * Side a asks, side b is asked.
 */
#include <arpa/inet.h>
#include "harness.h"

#include "link.h"
#include "pair.h"

/* What must not happen is given this many microseconds to happen. */
#define SILENCE		(50 * 1000)

static const char hello[] = "who asks";

FIXTURE(request)
{
	struct pair pair;
	DAT_IA_ADDRESS_PTR address;
};

FIXTURE_SETUP(request)
{
	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_DAT(ia_address(self->pair.ia, &self->address));
}

FIXTURE_TEARDOWN(request)
{
	pair_close(&self->pair);
}

static DAT_RETURN ask(FIXTURE_DATA(request) *self, DAT_EP_HANDLE ep,
		      DAT_TIMEOUT timeout, DAT_CONNECT_FLAGS flags)
{
	return dat_ep_connect(ep, self->address, self->pair.qual, timeout,
			      sizeof(hello), (DAT_PVOID)hello,
			      DAT_QOS_BEST_EFFORT, flags);
}

/* Side a asks, and side b knows. */
static DAT_RETURN request_of_a(FIXTURE_DATA(request) *self, DAT_CR_HANDLE *cr)
{
	return ask(self, self->pair.a.ep, DAT_TIMEOUT_INFINITE,
		   DAT_CONNECT_DEFAULT_FLAG) ?: next_cr(&self->pair, cr);
}

/* On iWARP every rejection is the peer's. */
static DAT_EVENT_NUMBER nobody_listens(void)
{
	return link_is_iwarp() ? DAT_CONNECTION_EVENT_PEER_REJECTED :
				 DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
}

TEST_F(request, infinite_timeout_slow_accept)
{
	DAT_CR_HANDLE cr;

	ASSERT_DAT(request_of_a(self, &cr));
	/* Longer than addresses may take to be resolved. */
	usleep(4 * 1000 * 1000);
	EXPECT_EQ(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
		  ep_state(self->pair.a.ep));
	EXPECT_TRUE(is_empty(self->pair.a.conn_evd));
	EXPECT_DAT(dat_cr_accept(cr, self->pair.b.ep, 0, NULL));
	EXPECT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
}

TEST_F(request, connect_multipath_flag)
{
	DAT_CR_HANDLE cr;

	EXPECT_EQ(0, DAT_CONNECT_DEFAULT_FLAG);
	EXPECT_EQ(1, DAT_CONNECT_MULTIPATH_FLAG);
	ASSERT_DAT(ask(self, self->pair.a.ep, DAT_TIMEOUT_INFINITE,
		       DAT_CONNECT_MULTIPATH_FLAG));
	ASSERT_DAT(next_cr(&self->pair, &cr));
	ASSERT_DAT(dat_cr_accept(cr, self->pair.b.ep, 0, NULL));
	EXPECT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
}

TEST_F(request, connect_supported_qos_only)
{
	static const DAT_QOS none[] = {
		(DAT_QOS)(DAT_QOS_ECONOMY | DAT_QOS_PREMIUM), (DAT_QOS)0x10,
	};
	DAT_PROVIDER_ATTR attr;
	DAT_CR_HANDLE cr;
	unsigned int i;
	DAT_QOS qos;

	ASSERT_DAT(dat_ia_query(self->pair.ia, NULL, 0, NULL,
				DAT_PROVIDER_FIELD_ALL, &attr));
	/* Two at once, and one that nobody has heard of. */
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		EXPECT_DAT_TYPE(DAT_MODEL_NOT_SUPPORTED,
				dat_ep_connect(self->pair.a.ep, self->address,
					       self->pair.qual,
					       DAT_TIMEOUT_INFINITE, 0, NULL,
					       none[i], 0));
	}
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, ep_state(self->pair.a.ep));
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(self->pair.cr_evd));
	for (qos = DAT_QOS_HIGH_THROUGHPUT; qos <= DAT_QOS_PREMIUM; qos <<= 1) {
		EXPECT_EQ(qos, qos & attr.dat_qos_supported);
		ASSERT_DAT(ep_like(&self->pair, &self->pair.a,
				   &self->pair.a.ep));
		ASSERT_DAT(dat_ep_connect(self->pair.a.ep, self->address,
					  self->pair.qual, DAT_TIMEOUT_INFINITE,
					  0, NULL, qos, 0));
		ASSERT_DAT(next_cr(&self->pair, &cr));
		ASSERT_DAT(dat_cr_reject(cr));
		EXPECT_DAT(wait_number(self->pair.a.conn_evd,
				       DAT_CONNECTION_EVENT_PEER_REJECTED));
	}
}

/* Where no test listens. */
#define FEW_PORTS	"61000 61001"

TEST_F(request, connect_no_local_port_left)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EP_HANDLE ep[3];
	char before[64];
	int i, failed;

	for (i = 0; i < 3; i++)
		ASSERT_DAT(ep_like(&self->pair, &self->pair.a, &ep[i]));
	ASSERT_LT(0, read_ports(before, sizeof(before)));
	ASSERT_LT(0, write_ports(FEW_PORTS));
	for (failed = 0; failed < 3; failed++) {
		ret = ask(self, ep[failed], DAT_TIMEOUT_INFINITE, 0);
		if (ret)
			break;
	}
	EXPECT_LT(0, write_ports(before));
	ASSERT_GT(3, failed);
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES, ret);
	/* Nothing has happened to that one. */
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, ep_state(ep[failed]));
	EXPECT_DAT(ask(self, ep[failed], DAT_TIMEOUT_INFINITE, 0));
}

static void expect_field(struct __test_metadata *_metadata,
			 FIXTURE_DATA(request) *self, unsigned int mask,
			 const DAT_CR_PARAM *cr)
{
	DAT_EP_PARAM ep;

	if (mask & DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR) {
		EXPECT_EQ(((struct sockaddr_in *)self->address)->sin_addr.s_addr,
			  ((struct sockaddr_in *)cr->remote_ia_address_ptr)
				  ->sin_addr.s_addr);
	}
	ASSERT_DAT(dat_ep_query(self->pair.a.ep, DAT_EP_FIELD_ALL, &ep));
	if (mask & DAT_CR_FIELD_REMOTE_PORT_QUAL)
		EXPECT_EQ(ep.local_port_qual, cr->remote_port_qual);
	/* Transports may pad it. */
	if (mask & DAT_CR_FIELD_PRIVATE_DATA_SIZE) {
		EXPECT_LE((DAT_COUNT)sizeof(hello), cr->private_data_size);
		EXPECT_GT(1024, cr->private_data_size);
	}
	if (mask & DAT_CR_FIELD_PRIVATE_DATA)
		EXPECT_EQ(0, memcmp(hello, cr->private_data, sizeof(hello)));
	if (mask & DAT_CR_FIELD_LOCAL_EP_HANDLE)
		EXPECT_EQ(DAT_HANDLE_NULL, cr->local_ep_handle);
}

TEST_F(request, cr_query_each_field)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	unsigned int mask;

	ASSERT_DAT(request_of_a(self, &cr));
	for (mask = 0; mask <= DAT_CR_FIELD_ALL; mask++) {
		memset(&param, 0xff, sizeof(param));
		ASSERT_DAT(dat_cr_query(cr, mask, &param));
		expect_field(_metadata, self, mask, &param);
	}
}

TEST_F(request, cr_query_bad_args)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	unsigned int bit;

	ASSERT_DAT(request_of_a(self, &cr));
	for (bit = DAT_CR_FIELD_ALL + 1; bit; bit <<= 1) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			       dat_cr_query(cr, bit, &param));
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			       dat_cr_query(cr, bit | DAT_CR_FIELD_ALL,
					    &param));
	}
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_cr_query(cr, DAT_CR_FIELD_ALL, NULL));
	EXPECT_DAT(dat_cr_accept(cr, self->pair.b.ep, 0, NULL));
}

TEST_F(request, failed_accept_keeps_request)
{
	char wrong[] = "of a call that failed", right[] = "right";
	struct pair *pair = &self->pair;
	DAT_EP_HANDLE asking, fresh;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	ASSERT_DAT(ep_like(pair, &pair->a, &asking));
	ASSERT_DAT(ep_like(pair, &pair->b, &fresh));
	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(ask(self, asking, DAT_TIMEOUT_INFINITE, 0));
	ASSERT_DAT(next_cr(pair, &cr));
	/* Connected; connecting; none; and one that would do, but for the size. */
	EXPECT_DAT_TYPE(DAT_INVALID_STATE,
			dat_cr_accept(cr, pair->b.ep, sizeof(wrong), wrong));
	EXPECT_DAT_TYPE(DAT_INVALID_STATE,
			dat_cr_accept(cr, asking, sizeof(wrong), wrong));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE,
			dat_cr_accept(cr, pair->psp, sizeof(wrong), wrong));
	EXPECT_DAT_TYPE(DAT_INVALID_PARAMETER,
			dat_cr_accept(cr, fresh, -1, wrong));
	usleep(SILENCE);
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(pair->b.ep));
	EXPECT_EQ(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, ep_state(asking));
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, ep_state(fresh));
	EXPECT_TRUE(is_empty(pair->a.conn_evd));
	EXPECT_TRUE(is_empty(pair->b.conn_evd));
	ASSERT_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	EXPECT_EQ(0, memcmp(hello, param.private_data, sizeof(hello)));

	ASSERT_DAT(dat_cr_accept(cr, fresh, sizeof(right), right));
	ASSERT_DAT(wait_for(pair->a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED,
			    &event));
	EXPECT_STREQ(right, event.event_data.connect_event_data.private_data);
	EXPECT_DAT(wait_number(pair->b.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
}

TEST_F(request, accept_timed_out_request_flushes)
{
	struct region b;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	int i;

	ASSERT_DAT(region_open(&self->pair, self->pair.b.pz, &b, 4096,
			       DAT_MEM_PRIV_ALL_FLAG));
	for (i = 0; i < 4; i++) {
		ASSERT_DAT(post_recv(self->pair.b.ep, &b, 0, 8, i));
	}
	ASSERT_DAT(ask(self, self->pair.a.ep, 100 * 1000, 0));
	ASSERT_DAT(next_cr(&self->pair, &cr));
	ASSERT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_TIMED_OUT));
	ASSERT_DAT(dat_cr_accept(cr, self->pair.b.ep, 0, NULL));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(DAT_DTO_ERR_FLUSHED,
			  wait_dto(self->pair.b.dto_evd, i));
	ASSERT_DAT(wait_event(self->pair.b.conn_evd, &event));
	if (link_is_iwarp()) {
		/* It is connected, and then it is not. */
		EXPECT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
		EXPECT_DAT(wait_event(self->pair.b.conn_evd, &event));
	} else {
		EXPECT_EQ(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
			  event.event_number);
		EXPECT_EQ(self->pair.b.ep,
			  event.event_data.connect_event_data.ep_handle);
	}
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.b.ep));
}

TEST_F(request, connect_to_freed_psp_rejected)
{
	ASSERT_DAT(dat_psp_free(self->pair.psp));
	ASSERT_DAT(ask(self, self->pair.a.ep, DAT_TIMEOUT_INFINITE, 0));
	EXPECT_DAT(wait_number(self->pair.a.conn_evd, nobody_listens()));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.a.ep));
	EXPECT_TRUE(is_empty(self->pair.cr_evd));
}

TEST_F(request, queued_request_outlives_psp)
{
	struct pair *pair = &self->pair;
	DAT_CR_ARRIVAL_EVENT_DATA *d;
	DAT_EVENT event;
	DAT_COUNT nmore;

	ASSERT_DAT(ask(self, pair->a.ep, DAT_TIMEOUT_INFINITE, 0));
	/* Waits for two, and takes none. */
	ASSERT_DAT_TYPE(DAT_TIMEOUT_EXPIRED,
			dat_evd_wait(pair->cr_evd, 1000 * 1000, 2, &event,
				     &nmore));
	ASSERT_EQ(1, nmore);
	ASSERT_DAT(dat_psp_free(pair->psp));
	ASSERT_DAT(dat_evd_dequeue(pair->cr_evd, &event));
	d = &event.event_data.cr_arrival_event_data;
	EXPECT_EQ(DAT_CONNECTION_REQUEST_EVENT, event.event_number);
	EXPECT_EQ(pair->psp, d->sp_handle.psp_handle);
	EXPECT_EQ(pair->qual, d->conn_qual);
	ASSERT_DAT(dat_cr_accept(d->cr_handle, pair->b.ep, 0, NULL));
	EXPECT_DAT(wait_number(pair->a.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
}

/*
 * ib_cm rejects as the peer would, if it drops a request with its listener. With
 * siw, TCP may have connected before the listener went, and nobody answers.
 */
static bool is_refusal(DAT_EVENT_NUMBER number)
{
	return number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
	       number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
	       (number == DAT_CONNECTION_EVENT_UNREACHABLE && link_is_iwarp());
}

/* Either the request is in the EVD when the PSP is freed, or it is refused. */
static void expect_one_or_the_other(struct __test_metadata *_metadata,
				    struct pair *pair, int *told)
{
	DAT_EVENT here, there;

	if (!dat_evd_dequeue(pair->cr_evd, &here)) {
		++*told;
		ASSERT_DAT(dat_cr_reject(here.event_data.cr_arrival_event_data.cr_handle));
		ASSERT_DAT(wait_number(pair->a.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED));
		return;
	}
	ASSERT_DAT(wait_event(pair->a.conn_evd, &there));
	EXPECT_TRUE(is_refusal(there.event_number));
	EXPECT_TRUE(is_empty(pair->cr_evd));
}

TEST_F_TIMEOUT(request, psp_free_races_request, 600)
{
	struct pair *pair = &self->pair;
	/* Some of siw's attempts end after ten seconds. */
	int i, told = 0, rounds = link_is_iwarp() ? 10 : 40;

	for (i = 0; i < rounds; i++) {
		ASSERT_DAT(ask(self, pair->a.ep, DAT_TIMEOUT_INFINITE, 0));
		usleep(i * 250);
		ASSERT_DAT(dat_psp_free(pair->psp));
		expect_one_or_the_other(_metadata, pair, &told);
		ASSERT_DAT(dat_ep_free(pair->a.ep));
		ASSERT_DAT(ep_like(pair, &pair->a, &pair->a.ep));
		pair->qual++;
		ASSERT_DAT(dat_psp_create(pair->ia, pair->qual, pair->cr_evd,
					  DAT_PSP_CONSUMER_FLAG, &pair->psp));
	}
	TH_LOG("%d of %d were told", told, rounds);
}

TEST_HARNESS_MAIN
