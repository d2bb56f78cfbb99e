// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * connect.c - dat_ep_connect(3DAT), dat_cr_accept(3DAT), dat_ep_disconnect(3DAT)
 *
 * Side a connects, side b listens.
 */
#include <arpa/inet.h>
#include "harness.h"
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "link.h"
#include "pair.h"

#define REGION		65536
#define MAX_PRIVATE	56

/* Tests wait this many microseconds for an event that must not come. */
#define SILENCE		(50 * 1000)

FIXTURE(connect)
{
	struct pair pair;
	DAT_IA_ADDRESS_PTR address;
};

FIXTURE_SETUP(connect)
{
	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_DAT(ia_address(self->pair.ia, &self->address));
}

FIXTURE_TEARDOWN(connect)
{
	pair_close(&self->pair);
}

/* An attempt of side a to connect, with nothing special about it. */
static DAT_RETURN try_connect(FIXTURE_DATA(connect) *self, DAT_CONN_QUAL qual,
			      DAT_TIMEOUT timeout)
{
	return dat_ep_connect(self->pair.a.ep, self->address, qual, timeout, 0,
			      NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static bool is_zero(const unsigned char *buf, size_t len)
{
	while (len--)
		if (buf[len])
			return false;
	return true;
}

static long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/*
 * Side b has accepted, and side a has not waited. On iWARP, where accepting is
 * all there is to it, the connection comes and goes.
 */
static DAT_RETURN wait_accept_failed(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_RETURN ret = wait_event(evd, &event);

	if (!ret && link_is_iwarp() &&
	    event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		return wait_broken(evd);
	if (ret || event.event_number ==
			   DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR)
		return ret;
	fprintf(stderr, "# event %#x\n", event.event_number);
	return DAT_INTERNAL_ERROR;
}

TEST_F(connect, request_event_psp_and_sender)
{
	DAT_CR_ARRIVAL_EVENT_DATA *d;
	DAT_CR_PARAM cr;
	DAT_EP_PARAM ep;
	DAT_EVENT event;

	ASSERT_DAT(try_connect(self, self->pair.qual, DAT_TIMEOUT_INFINITE));
	EXPECT_EQ(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
		  ep_state(self->pair.a.ep));
	ASSERT_DAT(wait_event(self->pair.cr_evd, &event));
	d = &event.event_data.cr_arrival_event_data;
	EXPECT_EQ(DAT_CONNECTION_REQUEST_EVENT, event.event_number);
	EXPECT_EQ(self->pair.cr_evd, event.evd_handle);
	EXPECT_EQ(self->pair.psp, d->sp_handle.psp_handle);
	EXPECT_EQ(self->pair.qual, d->conn_qual);

	ASSERT_DAT(dat_cr_query(d->cr_handle, DAT_CR_FIELD_ALL, &cr));
	ASSERT_DAT(dat_ep_query(self->pair.a.ep, DAT_EP_FIELD_ALL, &ep));
	EXPECT_EQ(AF_INET, cr.remote_ia_address_ptr->sa_family);
	EXPECT_EQ(((struct sockaddr_in *)self->address)->sin_addr.s_addr,
		  ((struct sockaddr_in *)cr.remote_ia_address_ptr)
			  ->sin_addr.s_addr);
	/* The local EP is bound to a port, and the peer knows which. */
	EXPECT_NE(0, ep.local_port_qual);
	EXPECT_EQ(ep.local_port_qual, cr.remote_port_qual);
	EXPECT_EQ(self->pair.qual, ep.remote_port_qual);
	EXPECT_EQ(DAT_HANDLE_NULL, cr.local_ep_handle);
}

FIXTURE(private_data)
{
	struct pair pair;
	DAT_IA_ADDRESS_PTR address;
};

FIXTURE_VARIANT(private_data)
{
	DAT_COUNT size;
};

FIXTURE_VARIANT_ADD(private_data, of_0)
{
	.size = 0,
};

FIXTURE_VARIANT_ADD(private_data, of_1)
{
	.size = 1,
};

FIXTURE_VARIANT_ADD(private_data, of_56)
{
	.size = MAX_PRIVATE,
};

FIXTURE_SETUP(private_data)
{
	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_DAT(ia_address(self->pair.ia, &self->address));
}

FIXTURE_TEARDOWN(private_data)
{
	pair_close(&self->pair);
}

TEST_F(private_data, connect_private_data_both_ways)
{
	unsigned char ours[MAX_PRIVATE], theirs[MAX_PRIVATE];
	DAT_COUNT size = variant->size;
	struct pair *pair = &self->pair;
	DAT_CONNECTION_EVENT_DATA *d;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_EVENT event;

	memset(ours, 0xa5, MAX_PRIVATE);
	memset(theirs, 0x5a, MAX_PRIVATE);
	ASSERT_DAT(dat_ep_connect(pair->a.ep, self->address, pair->qual,
				  DAT_TIMEOUT_INFINITE, size,
				  size ? ours : NULL, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG));
	ASSERT_DAT(next_cr(pair, &cr));
	ASSERT_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	/* All of it, and at most zeroes after it. */
	ASSERT_GE(param.private_data_size, size);
	if (param.private_data_size) {
		EXPECT_EQ(0, memcmp(ours, param.private_data, size));
		EXPECT_TRUE(is_zero((unsigned char *)param.private_data + size,
				    param.private_data_size - size));
	}

	ASSERT_DAT(dat_cr_accept(cr, pair->b.ep, size, size ? theirs : NULL));
	ASSERT_DAT(wait_event(pair->a.conn_evd, &event));
	d = &event.event_data.connect_event_data;
	EXPECT_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	EXPECT_EQ(pair->a.ep, d->ep_handle);
	ASSERT_GE(d->private_data_size, size);
	if (d->private_data_size) {
		EXPECT_EQ(0, memcmp(theirs, d->private_data, size));
		EXPECT_TRUE(is_zero((unsigned char *)d->private_data + size,
				    d->private_data_size - size));
	}
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(pair->a.ep));

	/* The ESTABLISHED event of the passive side carries no private data. */
	ASSERT_DAT(wait_for(pair->b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED,
			    &event));
	EXPECT_EQ(pair->b.ep, d->ep_handle);
	EXPECT_EQ(0, d->private_data_size);
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(pair->b.ep));
}

TEST_F(connect, private_data_kept_until_free)
{
	static const char text[] = "valid while disconnected, too";
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	ASSERT_DAT(try_connect(self, self->pair.qual, DAT_TIMEOUT_INFINITE));
	ASSERT_DAT(next_cr(&self->pair, &cr));
	ASSERT_DAT(dat_cr_accept(cr, self->pair.b.ep, sizeof(text),
				 (DAT_PVOID)text));
	ASSERT_DAT(wait_event(self->pair.a.conn_evd, &event));
	ASSERT_DAT(dat_ep_disconnect(self->pair.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	EXPECT_STREQ(text,
		     event.event_data.connect_event_data.private_data);
}

TEST_F(connect, private_data_bad_args)
{
	unsigned char data[MAX_PRIVATE + 1] = {};
	static const DAT_COUNT bad[] = { -1, MAX_PRIVATE + 1, INT32_MAX };
	DAT_CR_HANDLE cr;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
			       dat_ep_connect(self->pair.a.ep, self->address,
					      self->pair.qual, 1000000, bad[i],
					      data, DAT_QOS_BEST_EFFORT,
					      DAT_CONNECT_DEFAULT_FLAG));
	}
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6),
		       dat_ep_connect(self->pair.a.ep, self->address,
				      self->pair.qual, 1000000, 1, NULL,
				      DAT_QOS_BEST_EFFORT,
				      DAT_CONNECT_DEFAULT_FLAG));
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, ep_state(self->pair.a.ep));

	ASSERT_DAT(try_connect(self, self->pair.qual, DAT_TIMEOUT_INFINITE));
	ASSERT_DAT(next_cr(&self->pair, &cr));
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			       dat_cr_accept(cr, self->pair.b.ep, bad[i],
					     data));
	}
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
		       dat_cr_accept(cr, self->pair.b.ep, 1, NULL));
	/* None of that has used it up. */
	EXPECT_DAT(dat_cr_accept(cr, self->pair.b.ep, 0, NULL));
}

TEST_F(connect, connect_bad_args)
{
	struct sockaddr family = { .sa_family = AF_UNIX };
	DAT_EP_HANDLE ep = self->pair.a.ep;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_ep_connect(ep, NULL, 1, 1, 0, NULL, 0, 0));
	EXPECT_DAT_TYPE(DAT_INVALID_ADDRESS,
			dat_ep_connect(ep, &family, 1, 1, 0, NULL, 0, 0));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       try_connect(self, 0, 1000));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
		       try_connect(self, 1, 0));
	EXPECT_DAT_TYPE(DAT_MODEL_NOT_SUPPORTED,
			dat_ep_connect(ep, self->address, 1, 1, 0, NULL,
				       (DAT_QOS)0x10, 0));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8),
		       dat_ep_connect(ep, self->address, 1, 1, 0, NULL, 0,
				      0x100));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_connect(self->pair.a.pz, self->address, 1, 1, 0,
				      NULL, 0, 0));
	EXPECT_EQ(DAT_EP_STATE_UNCONNECTED, ep_state(ep));
	EXPECT_TRUE(is_empty(self->pair.a.conn_evd));
}

TEST_F(connect, reject_reports_peer_rejected)
{
	DAT_CR_HANDLE cr;

	ASSERT_DAT(try_connect(self, self->pair.qual, DAT_TIMEOUT_INFINITE));
	ASSERT_DAT(next_cr(&self->pair, &cr));
	ASSERT_DAT(dat_cr_reject(cr));
	EXPECT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_PEER_REJECTED));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.a.ep));
}

TEST_F(connect, connect_without_listener_rejected)
{
	ASSERT_DAT(try_connect(self, self->pair.qual + 1,
			       DAT_TIMEOUT_INFINITE));
	/* On iWARP who answers TCP is the peer. */
	EXPECT_DAT(wait_number(self->pair.a.conn_evd, link_is_iwarp() ?
			       DAT_CONNECTION_EVENT_PEER_REJECTED :
			       DAT_CONNECTION_EVENT_NON_PEER_REJECTED));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.a.ep));
}

TEST_F(connect, failed_connect_flushes_recvs)
{
	struct region a;
	int i;

	ASSERT_DAT(region_open(&self->pair, self->pair.a.pz, &a, REGION,
			       DAT_MEM_PRIV_ALL_FLAG));
	for (i = 0; i < 4; i++) {
		ASSERT_DAT(post_recv(self->pair.a.ep, &a, 0, 8, i));
	}
	ASSERT_DAT(try_connect(self, self->pair.qual + 1,
			       DAT_TIMEOUT_INFINITE));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(DAT_DTO_ERR_FLUSHED,
			  wait_dto(self->pair.a.dto_evd, i));
	}
}

TEST_F(connect, connect_full_backlog_rejected)
{
	DAT_EP_HANDLE ep[3];
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	int i;

	/* The queue of the EVD is the backlog: two requests. */
	ASSERT_DAT(dat_psp_free(self->pair.psp));
	ASSERT_DAT(dat_evd_create(self->pair.ia, 2, DAT_HANDLE_NULL,
				  DAT_EVD_CR_FLAG, &self->pair.cr_evd));
	ASSERT_DAT(dat_psp_create(self->pair.ia, self->pair.qual,
				  self->pair.cr_evd, DAT_PSP_CONSUMER_FLAG,
				  &self->pair.psp));
	for (i = 0; i < 3; i++) {
		ASSERT_DAT(ep_like(&self->pair, &self->pair.a, &ep[i]));
		ASSERT_DAT(dat_ep_connect(ep[i], self->address, self->pair.qual,
					  DAT_TIMEOUT_INFINITE, 0, NULL,
					  DAT_QOS_BEST_EFFORT,
					  DAT_CONNECT_DEFAULT_FLAG));
	}
	ASSERT_DAT(wait_event(self->pair.a.conn_evd, &event));
	/* On iWARP every rejection is the peer's. */
	EXPECT_EQ(link_is_iwarp() ? DAT_CONNECTION_EVENT_PEER_REJECTED :
				    DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
		  event.event_number);
	/* Those that did fit in are as good as any, and make room. */
	for (i = 0; i < 2; i++) {
		ASSERT_DAT(next_cr(&self->pair, &cr));
		EXPECT_DAT(dat_cr_reject(cr));
		EXPECT_DAT(wait_number(self->pair.a.conn_evd,
				       DAT_CONNECTION_EVENT_PEER_REJECTED));
	}
	ASSERT_DAT(pair_connect(&self->pair));
}

TEST_F(connect, connect_timeout_expires)
{
	long start = now_us(), took;
	DAT_CR_HANDLE cr;

	/* Side b does not answer. */
	ASSERT_DAT(try_connect(self, self->pair.qual, 100 * 1000));
	EXPECT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_TIMED_OUT));
	took = now_us() - start;
	/* The kernel counts in ticks of up to 10 ms. */
	EXPECT_GE(took, 90 * 1000);
	EXPECT_LT(took, 5 * 1000 * 1000);
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.a.ep));

	/* And when it does, it is too late. */
	ASSERT_DAT(next_cr(&self->pair, &cr));
	ASSERT_DAT(dat_cr_accept(cr, self->pair.b.ep, 0, NULL));
	EXPECT_DAT(wait_accept_failed(self->pair.b.conn_evd));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.b.ep));
	EXPECT_TRUE(is_empty(self->pair.a.conn_evd));
}

TEST_F(connect, connect_timeout_after_established)
{
	DAT_CR_HANDLE cr;

	ASSERT_DAT(try_connect(self, self->pair.qual, 500 * 1000));
	ASSERT_DAT(next_cr(&self->pair, &cr));
	ASSERT_DAT(dat_cr_accept(cr, self->pair.b.ep, 0, NULL));
	ASSERT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
	usleep(600 * 1000);
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(self->pair.a.ep));
	EXPECT_TRUE(is_empty(self->pair.a.conn_evd));
}

TEST_F(connect, connect_unused_address_unreachable)
{
	struct sockaddr_in nobody = *(struct sockaddr_in *)self->address;
	DAT_EVENT event;
	DAT_RETURN ret;

	/* A neighbour that does not exist. */
	nobody.sin_addr.s_addr ^= htonl(0x60);
	ret = dat_ep_connect(self->pair.a.ep, (DAT_IA_ADDRESS_PTR)&nobody,
			     self->pair.qual, PAIR_TIMEOUT, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (ret) {
		EXPECT_DAT_TYPE(DAT_INVALID_ADDRESS, ret);
		return;
	}
	ASSERT_DAT(wait_for(self->pair.a.conn_evd,
			    DAT_CONNECTION_EVENT_UNREACHABLE, &event));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.a.ep));
}

TEST_F(connect, connect_wrong_ep_state)
{
	DAT_CR_HANDLE cr;

	EXPECT_DAT(try_connect(self, self->pair.qual, DAT_TIMEOUT_INFINITE));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_ACTCONNPENDING),
		       try_connect(self, self->pair.qual,
				   DAT_TIMEOUT_INFINITE));
	ASSERT_DAT(next_cr(&self->pair, &cr));
	ASSERT_DAT(dat_cr_accept(cr, self->pair.b.ep, 0, NULL));
	ASSERT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED),
		       try_connect(self, self->pair.qual,
				   DAT_TIMEOUT_INFINITE));
	ASSERT_DAT(dat_ep_disconnect(self->pair.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_DISCONNECTED),
		       try_connect(self, self->pair.qual,
				   DAT_TIMEOUT_INFINITE));
	/* None of these attempts reached the service point. */
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(self->pair.cr_evd));
}

TEST_F(connect, accept_wrong_ep_state)
{
	DAT_EP_HANDLE fresh[2];
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;

	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(ep_like(&self->pair, &self->pair.a, &fresh[0]));
	ASSERT_DAT(ep_like(&self->pair, &self->pair.b, &fresh[1]));
	ASSERT_DAT(dat_ep_connect(fresh[0], self->address, self->pair.qual,
				  DAT_TIMEOUT_INFINITE, 0, NULL,
				  DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG));
	ASSERT_DAT(next_cr(&self->pair, &cr));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED),
		       dat_cr_accept(cr, self->pair.b.ep, 0, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_ACTCONNPENDING),
		       dat_cr_accept(cr, fresh[0], 0, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(self->pair.b.ep));

	EXPECT_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	EXPECT_DAT(dat_cr_accept(cr, fresh[1], 0, NULL));
	EXPECT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
}

TEST_F(connect, answered_cr_invalid)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	int i;

	for (i = 0; i < 2; i++) {
		if (i) {
			ASSERT_DAT(dat_ep_free(self->pair.a.ep));
			ASSERT_DAT(ep_like(&self->pair, &self->pair.a,
					   &self->pair.a.ep));
		}
		ASSERT_DAT(try_connect(self, self->pair.qual,
				       DAT_TIMEOUT_INFINITE));
		ASSERT_DAT(next_cr(&self->pair, &cr));
		ASSERT_DAT(i ? dat_cr_accept(cr, self->pair.b.ep, 0, NULL)
			     : dat_cr_reject(cr));
		EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR),
			       dat_cr_accept(cr, self->pair.b.ep, 0, NULL));
		EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR),
			       dat_cr_reject(cr));
		EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR),
			       dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	}
}

TEST_F(connect, psp_create_qual_in_use)
{
	struct pair *pair = &self->pair;
	struct pair other;
	DAT_PSP_HANDLE psp;

	EXPECT_DAT_TYPE(DAT_CONN_QUAL_IN_USE,
			dat_psp_create(pair->ia, pair->qual, pair->cr_evd,
				       DAT_PSP_CONSUMER_FLAG, &psp));
	/* Nor by another instance of the IA. */
	ASSERT_DAT(pair_open(&other));
	EXPECT_DAT_TYPE(DAT_CONN_QUAL_IN_USE,
			dat_psp_create(other.ia, pair->qual, other.cr_evd,
				       DAT_PSP_CONSUMER_FLAG, &psp));
	ASSERT_DAT(dat_psp_free(pair->psp));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP),
		       dat_psp_free(pair->psp));
	EXPECT_DAT(dat_psp_create(other.ia, pair->qual, other.cr_evd,
				  DAT_PSP_CONSUMER_FLAG, &psp));
	pair_close(&other);
	ASSERT_DAT(dat_psp_create(pair->ia, pair->qual, pair->cr_evd,
				  DAT_PSP_CONSUMER_FLAG, &pair->psp));
	EXPECT_DAT(pair_connect(pair));
}

TEST_F(connect, psp_create_bad_args)
{
	struct pair *pair = &self->pair;
	DAT_PSP_HANDLE psp;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_psp_create(pair->ia, 0, pair->cr_evd,
				      DAT_PSP_CONSUMER_FLAG, &psp));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
		       dat_psp_create(pair->ia, pair->qual + 1, pair->cr_evd, 2,
				      &psp));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
		       dat_psp_create(pair->ia, pair->qual + 1, pair->cr_evd,
				      DAT_PSP_CONSUMER_FLAG, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
		       dat_psp_create(pair->psp, pair->qual + 1, pair->cr_evd,
				      DAT_PSP_CONSUMER_FLAG, &psp));
	/* One that is fed by other streams is not one for requests. */
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR),
		       dat_psp_create(pair->ia, pair->qual + 1,
				      pair->a.conn_evd, DAT_PSP_CONSUMER_FLAG,
				      &psp));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR),
		       dat_psp_create(pair->ia, pair->qual + 1, DAT_HANDLE_NULL,
				      DAT_PSP_CONSUMER_FLAG, &psp));
}

TEST_F(connect, request_outlives_psp)
{
	DAT_CR_HANDLE cr;

	ASSERT_DAT(try_connect(self, self->pair.qual, DAT_TIMEOUT_INFINITE));
	ASSERT_DAT(next_cr(&self->pair, &cr));
	ASSERT_DAT(dat_psp_free(self->pair.psp));
	ASSERT_DAT(dat_cr_accept(cr, self->pair.b.ep, 0, NULL));
	EXPECT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
}

FIXTURE(disconnect)
{
	struct pair pair;
	struct region a, b;
};

FIXTURE_VARIANT(disconnect)
{
	DAT_CLOSE_FLAGS flags;
};

FIXTURE_VARIANT_ADD(disconnect, abrupt)
{
	.flags = DAT_CLOSE_ABRUPT_FLAG,
};

FIXTURE_VARIANT_ADD(disconnect, graceful)
{
	.flags = DAT_CLOSE_GRACEFUL_FLAG,
};

FIXTURE_SETUP(disconnect)
{
	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(disconnect)
{
	pair_close(&self->pair);
}

TEST_F(disconnect, disconnected_event_once_per_side)
{
	struct side *sides[] = { &self->pair.a, &self->pair.b };
	int from, i;

	/* From the active side, then from the passive one. */
	for (from = 0; from < 2; from++) {
		ASSERT_DAT(from ? pair_reconnect(&self->pair)
				: pair_connect(&self->pair));
		ASSERT_DAT(dat_ep_disconnect(sides[from]->ep, variant->flags));
		for (i = 0; i < 2; i++) {
			EXPECT_DAT(wait_number(sides[i]->conn_evd,
					       DAT_CONNECTION_EVENT_DISCONNECTED));
			EXPECT_EQ(DAT_EP_STATE_DISCONNECTED,
				  ep_state(sides[i]->ep));
		}
		usleep(SILENCE);
		EXPECT_TRUE(is_empty(self->pair.a.conn_evd));
		EXPECT_TRUE(is_empty(self->pair.b.conn_evd));
	}
}

TEST_F(disconnect, disconnect_unconnected_ep)
{
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_UNCONNECTED),
		       dat_ep_disconnect(self->pair.a.ep, variant->flags));
}

TEST_F(disconnect, disconnect_disconnected_ep_noop)
{
	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(dat_ep_disconnect(self->pair.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	EXPECT_DAT(dat_ep_disconnect(self->pair.a.ep, variant->flags));
	usleep(SILENCE);
	EXPECT_TRUE(is_empty(self->pair.a.conn_evd));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.a.ep));
}

TEST_F(disconnect, disconnect_aborts_connect)
{
	DAT_CR_HANDLE cr;
	int i;

	for (i = 0; i < 4; i++) {
		ASSERT_DAT(post_recv(self->pair.a.ep, &self->a, 0, 8, i));
	}
	ASSERT_DAT(connect_to(&self->pair, self->pair.a.ep, self->pair.qual));
	ASSERT_DAT(next_cr(&self->pair, &cr));
	ASSERT_DAT(dat_ep_disconnect(self->pair.a.ep, variant->flags));
	EXPECT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.a.ep));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(DAT_DTO_ERR_FLUSHED,
			  wait_dto(self->pair.a.dto_evd, i));
	}
	/* Side b learns of it when it answers. */
	EXPECT_DAT(dat_cr_accept(cr, self->pair.b.ep, 0, NULL));
	EXPECT_DAT(wait_accept_failed(self->pair.b.conn_evd));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.b.ep));
	EXPECT_TRUE(is_empty(self->pair.a.conn_evd));
}

TEST_F(disconnect, disconnect_bad_flags)
{
	ASSERT_DAT(pair_connect(&self->pair));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_ep_disconnect(self->pair.a.ep, variant->flags | 2));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_disconnect(self->pair.psp, variant->flags));
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(self->pair.a.ep));
}

PAIR_FIXTURE(graceful, pair_open_connected, REGION)

TEST_F(graceful, graceful_completes_outstanding)
{
	int i;

	memset(self->a.buf, 0xaa, REGION);
	for (i = 0; i < 32; i++) {
		ASSERT_DAT(post_recv(self->pair.b.ep, &self->b, i * 2048, 2048,
				     i));
	}
	for (i = 0; i < 32; i++) {
		ASSERT_DAT(post_send(self->pair.a.ep, &self->a, i * 2048, 2048,
				     i));
	}
	ASSERT_DAT(dat_ep_disconnect(self->pair.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	ASSERT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	for (i = 0; i < 32; i++) {
		EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, i));
		EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, i));
	}
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, REGION));
}

/* A graceful disconnect also waits for requests that generate no event. */
TEST_F(graceful, graceful_completes_suppressed)
{
	DAT_RMR_TRIPLET there = remote(self->b.rmr_context, self->b.buf,
				       REGION);
	DAT_LMR_TRIPLET seg = segment(&self->a, 0, REGION);
	DAT_DTO_COOKIE c = {};

	memset(self->a.buf, 0xaa, REGION);
	ASSERT_DAT(dat_ep_post_rdma_write(self->pair.a.ep, 1, &seg, c, &there,
					  DAT_COMPLETION_SUPPRESS_FLAG));
	ASSERT_DAT(dat_ep_disconnect(self->pair.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	ASSERT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	/* On iWARP it may be on its way yet. */
	ASSERT_DAT(wait_number(self->pair.b.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, REGION));
	EXPECT_TRUE(is_empty(self->pair.a.dto_evd));
}

TEST_F(graceful, graceful_pending_then_abrupt)
{
	if (link_is_iwarp())
		SKIP(return, "iWARP: nothing waits for a receive");
	/* The peer has posted no receive, so the Send does not complete. */
	ASSERT_DAT(post_send(self->pair.a.ep, &self->a, 0, 8, 1));
	ASSERT_DAT(dat_ep_disconnect(self->pair.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECT_PENDING, ep_state(self->pair.a.ep));
	/* No new ones may be posted. */
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_DISCPENDING),
		       post_send(self->pair.a.ep, &self->a, 0, 8, 2));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
			     DAT_INVALID_STATE_EP_DISCPENDING),
		       post_write(self->pair.a.ep, &self->a, 0, 8,
				  self->b.rmr_context, self->b.buf, 2));
	/* A second graceful one has no effect. */
	EXPECT_DAT(dat_ep_disconnect(self->pair.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	usleep(SILENCE);
	EXPECT_EQ(DAT_EP_STATE_DISCONNECT_PENDING, ep_state(self->pair.a.ep));
	EXPECT_TRUE(is_empty(self->pair.a.conn_evd));

	EXPECT_DAT(dat_ep_disconnect(self->pair.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.a.ep));
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, wait_dto(self->pair.a.dto_evd, 1));
}

TEST_F(connect, ep_free_disconnects_peer)
{
	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(dat_ep_free(self->pair.a.ep));
	EXPECT_DAT(wait_number(self->pair.b.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(self->pair.b.ep));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_free(self->pair.a.ep));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP),
		       dat_ep_disconnect(self->pair.a.ep,
					 DAT_CLOSE_ABRUPT_FLAG));
}

TEST_F(connect, disconnected_event_survives_ep_free)
{
	struct pair *p = &self->pair;
	DAT_EVENT event;
	int i;

	for (i = 0; i < 20; i++) {
		DAT_CONNECTION_EVENT_DATA *data =
			&event.event_data.connect_event_data;

		ASSERT_DAT(i ? pair_reconnect(p) : pair_connect(p));
		ASSERT_DAT(dat_ep_disconnect(p->a.ep, DAT_CLOSE_ABRUPT_FLAG));
		ASSERT_DAT(dat_ep_free(p->a.ep));
		ASSERT_DAT(dat_evd_dequeue(p->a.conn_evd, &event));
		EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED,
			  event.event_number);
		EXPECT_EQ(p->a.ep, data->ep_handle);
		ASSERT_DAT(ep_like(p, &p->a, &p->a.ep));
	}
}

/* Are the events that have come all of this EP? */
static bool all_tell_of(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep)
{
	DAT_EVENT event;

	while (!dat_evd_dequeue(evd, &event))
		if (event.event_data.connect_event_data.ep_handle != ep)
			return false;
	return true;
}

TEST_F(connect, no_event_after_ep_free)
{
	struct pair *p = &self->pair;
	struct region a;
	int i;

	ASSERT_DAT(region_open(p, p->a.pz, &a, REGION, DAT_MEM_PRIV_ALL_FLAG));
	for (i = 0; i < 60; i++) {
		ASSERT_DAT(i ? pair_reconnect(p) : pair_connect(p));
		/* Its connection ends, a little later than that of its peer. */
		if (i % 3) {
			ASSERT_DAT(dat_ep_disconnect(p->a.ep,
						     DAT_CLOSE_ABRUPT_FLAG));
		} else {
			ASSERT_EQ(DAT_DTO_ERR_REMOTE_ACCESS,
				  write_status(p, &a, 0, a.buf, 8));
		}
		usleep(i * 50);
		ASSERT_DAT(dat_ep_free(p->b.ep));
		EXPECT_TRUE(all_tell_of(p->b.conn_evd, p->b.ep));
		usleep(10 * 1000);
		EXPECT_TRUE(is_empty(p->b.conn_evd));
		ASSERT_DAT(ep_like(p, &p->b, &p->b.ep));
	}
}

TEST_F(connect, ep_free_aborts_connect)
{
	DAT_CR_HANDLE cr;

	ASSERT_DAT(try_connect(self, self->pair.qual, DAT_TIMEOUT_INFINITE));
	ASSERT_DAT(next_cr(&self->pair, &cr));
	ASSERT_DAT(dat_ep_free(self->pair.a.ep));
	EXPECT_DAT(dat_cr_accept(cr, self->pair.b.ep, 0, NULL));
	EXPECT_DAT(wait_accept_failed(self->pair.b.conn_evd));
}

/* At whatever point of the establishment it happens. */
TEST_F(connect, ep_free_races_connect)
{
	/* On iWARP each waits, ten seconds for siw, until it is refused. */
	int i, tries = link_is_iwarp() ? 2 : 20;

	for (i = 0; i < tries; i++) {
		ASSERT_DAT(try_connect(self, self->pair.qual,
				       DAT_TIMEOUT_INFINITE));
		usleep(i * 250);
		ASSERT_DAT(dat_ep_free(self->pair.a.ep));
		ASSERT_DAT(ep_like(&self->pair, &self->pair.a,
				   &self->pair.a.ep));
	}
	/* The queue holds requests of EPs that were freed. Discard them. */
	ASSERT_DAT(dat_psp_free(self->pair.psp));
	while (!is_empty(self->pair.cr_evd))
		;
	while (!is_empty(self->pair.a.conn_evd))
		;
	self->pair.qual++;
	ASSERT_DAT(dat_psp_create(self->pair.ia, self->pair.qual,
				  self->pair.cr_evd, DAT_PSP_CONSUMER_FLAG,
				  &self->pair.psp));
	EXPECT_DAT(pair_connect(&self->pair));
}

TEST_F(connect, ia_close_disconnects_peer)
{
	struct pair other;

	ASSERT_DAT(pair_open(&other));
	ASSERT_DAT(try_connect(self, other.qual, DAT_TIMEOUT_INFINITE));
	DAT_CR_HANDLE cr;

	ASSERT_DAT(next_cr(&other, &cr));
	ASSERT_DAT(dat_cr_accept(cr, other.b.ep, 0, NULL));
	ASSERT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
	pair_close(&other);
	EXPECT_DAT(wait_number(self->pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
}

/* How many objects the RDMA core counts on our device, or -1. */
static long count_resources(void)
{
	struct {
		struct nlmsghdr nlh;
	} request = {
		.nlh = {
			.nlmsg_len = sizeof(request),
			.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV,
						       RDMA_NLDEV_CMD_RES_GET),
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
	};
	char buf[16384], *at, *end;
	int fd, len;
	long n = 0;

	fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	if (fd < 0 || send(fd, &request, sizeof(request), 0) < 0)
		return -1;
	len = recv(fd, buf, sizeof(buf), 0);
	close(fd);
	if (len < (int)sizeof(struct nlmsghdr))
		return -1;
	/* There is one device. The counters are 64 bits, two levels down. */
	end = buf + len;
	for (at = buf + sizeof(struct nlmsghdr); at + 4 <= end;) {
		struct nlattr *attr = (struct nlattr *)at;

		switch (attr->nla_type & NLA_TYPE_MASK) {
		case RDMA_NLDEV_ATTR_RES_SUMMARY:
		case RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY:
			at += sizeof(*attr);
			continue;
		case RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR: {
			DAT_UINT64 count;

			memcpy(&count, attr + 1, sizeof(count));
			n += count;
			break;
		}
		}
		if (attr->nla_len < sizeof(*attr))
			break;
		at += NLA_ALIGN(attr->nla_len);
	}
	return n ?: -1;
}

#define FIRST_PORT	41000
#define PORTS		64
#define TAKEN_PORTS	24

static int take_port(unsigned int port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int on = 1;

	/* A connection of before may have had it less than a minute ago. */
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(fd, 1)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Which matters where the transport is TCP. */
TEST_F_TIMEOUT(connect, connect_skips_busy_tcp_ports, 600)
{
	char before[64], few[64];
	int fd[TAKEN_PORTS], i, connected = 0;

	ASSERT_LT(0, read_ports(before, sizeof(before)));
	snprintf(few, sizeof(few), "%d %d", FIRST_PORT, FIRST_PORT + PORTS - 1);
	for (i = 0; i < TAKEN_PORTS; i++) {
		fd[i] = take_port(FIRST_PORT + 2 * i);
		EXPECT_LE(0, fd[i]);
	}
	ASSERT_LT(0, write_ports(few));
	for (i = 0; i < 20; i++) {
		if (i ? pair_reconnect(&self->pair) : pair_connect(&self->pair))
			break;
		connected++;
		if (dat_ep_disconnect(self->pair.a.ep, DAT_CLOSE_ABRUPT_FLAG) ||
		    wait_number(self->pair.a.conn_evd,
				DAT_CONNECTION_EVENT_DISCONNECTED) ||
		    wait_number(self->pair.b.conn_evd,
				DAT_CONNECTION_EVENT_DISCONNECTED))
			break;
	}
	EXPECT_LT(0, write_ports(before));
	for (i = 0; i < TAKEN_PORTS; i++)
		close(fd[i]);
	EXPECT_EQ(20, connected);
}

TEST_F_TIMEOUT(connect, repeated_connect_no_leak, 600)
{
	long before, after;
	int i;

	ASSERT_DAT(pair_connect(&self->pair));
	before = count_resources();
	ASSERT_GT(before, 0);
	for (i = 0; i < 100; i++) {
		struct side *side = i & 1 ? &self->pair.a : &self->pair.b;
		struct side *peer = i & 1 ? &self->pair.b : &self->pair.a;

		/* Either side, either way, or by freeing the EP only. */
		if (i % 3) {
			ASSERT_DAT(dat_ep_disconnect(side->ep, i & 2 ?
						     DAT_CLOSE_GRACEFUL_FLAG :
						     DAT_CLOSE_ABRUPT_FLAG));
			ASSERT_DAT(wait_number(side->conn_evd,
					       DAT_CONNECTION_EVENT_DISCONNECTED));
		} else {
			ASSERT_DAT(dat_ep_free(side->ep));
			ASSERT_DAT(ep_like(&self->pair, side, &side->ep));
		}
		ASSERT_DAT(wait_number(peer->conn_evd,
				       DAT_CONNECTION_EVENT_DISCONNECTED));
		ASSERT_EQ(DAT_SUCCESS, pair_reconnect(&self->pair)) {
			TH_LOG("connection %d", i);
		}
	}
	/* RCU and workqueues may take a moment. */
	for (i = 0; i < 20; i++) {
		after = count_resources();
		if (after == before)
			break;
		usleep(50 * 1000);
	}
	EXPECT_LE(after, before);
	/* The count does count. */
	ASSERT_DAT(ep_like(&self->pair, &self->pair.a, &self->pair.a.ep));
	EXPECT_GT(count_resources(), after);
}

/* The other process: listens, accepts, and waits for its end. */
static void serve(int fd)
{
	struct pair pair;
	DAT_CR_HANDLE cr;

	if (pair_open(&pair) ||
	    write(fd, &pair.qual, sizeof(pair.qual)) != sizeof(pair.qual) ||
	    next_cr(&pair, &cr) || dat_cr_accept(cr, pair.b.ep, 0, NULL) ||
	    wait_number(pair.b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED))
		_exit(1);
	for (;;)
		pause();
}

TEST(kill_disconnects_and_flushes_peer)
{
	struct pair pair;
	struct region a;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;
	int fds[2], i;
	pid_t pid;

	/* Before this process has opened the device, or they would share it. */
	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		serve(fds[1]);
	ASSERT_EQ((ssize_t)sizeof(qual), read(fds[0], &qual, sizeof(qual)));

	ASSERT_DAT(pair_open(&pair));
	ASSERT_DAT(region_open(&pair, pair.a.pz, &a, REGION,
			       DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(connect_to(&pair, pair.a.ep, qual));
	ASSERT_DAT(wait_number(pair.a.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
	for (i = 0; i < 8; i++) {
		ASSERT_DAT(post_recv(pair.a.ep, &a, 0, 8, i));
	}
	/* The other process has no receive for it. */
	ASSERT_DAT(post_send(pair.a.ep, &a, 0, 8, 100));

	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &i, 0));
	ASSERT_DAT(wait_event(pair.a.conn_evd, &event));
	EXPECT_TRUE(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
		    event.event_number == DAT_CONNECTION_EVENT_BROKEN);
	EXPECT_EQ(DAT_EP_STATE_DISCONNECTED, ep_state(pair.a.ep));
	for (i = 0; i < 9; i++) {
		DAT_DTO_COMPLETION_EVENT_DATA *d =
			&event.event_data.dto_completion_event_data;

		ASSERT_DAT(wait_event(pair.a.dto_evd, &event));
		if (d->user_cookie.as_64 < 100) {
			EXPECT_EQ(DAT_DTO_ERR_FLUSHED, d->status);
		} else if (!link_is_iwarp()) {
			EXPECT_NE(DAT_DTO_SUCCESS, d->status);
		}
	}
	pair_close(&pair);
}

TEST_HARNESS_MAIN
