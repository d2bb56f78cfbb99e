// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * qual.c - connection qualifiers above 65535, at PSPs, RSPs, CSPs and in requests
 */
#include "harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "ioctls.h"
#include "pair.h"

#define REGION	4096

/* As OpenFabrics' DAPL does: both libraries must find each other on the wire. */
#define NUM_PORTS	32001
#define FIRST_PORT	33534

static DAT_CONN_QUAL port_of(DAT_CONN_QUAL qual)
{
	return qual > 65535 ? FIRST_PORT + qual % NUM_PORTS : qual;
}

PAIR_FIXTURE(qual, pair_open, REGION)

/* What programs use: a process id and more, a rank shifted up, a constant, and the ends */
static const DAT_CONN_QUAL wide[] = {
	65536, 71024, 1024 + 4194303, 0xaffab1e, (DAT_CONN_QUAL)5 << 35,
	UINT64_C(1) << 32, UINT64_MAX,
};

static DAT_CR_HANDLE request_for(struct __test_metadata *_metadata, struct pair *pair,
				 DAT_CONN_QUAL qual, DAT_HANDLE sp)
{
	DAT_CR_ARRIVAL_EVENT_DATA *data;
	DAT_EVENT event = { 0 };

	EXPECT_DAT(wait_for(pair->cr_evd, DAT_CONNECTION_REQUEST_EVENT, &event));
	data = &event.event_data.cr_arrival_event_data;
	EXPECT_EQ(qual, data->conn_qual);
	EXPECT_EQ(sp, data->sp_handle.psp_handle);
	return data->cr_handle;
}

/* Ends a connection, so that the next one can begin. */
static void part(struct __test_metadata *_metadata, struct pair *pair)
{
	EXPECT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED));
	EXPECT_DAT(dat_ep_disconnect(pair->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_DISCONNECTED));
	EXPECT_DAT(dat_ep_reset(pair->a.ep));
	EXPECT_DAT(dat_ep_reset(pair->b.ep));
}

TEST_F(qual, psp_wide)
{
	struct pair *p = &self->pair;
	DAT_PSP_HANDLE psp;
	DAT_PSP_PARAM param;
	DAT_EP_PARAM ep;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(wide); i++) {
		ASSERT_DAT(dat_psp_create(p->ia, wide[i], p->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
		ASSERT_DAT(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
		EXPECT_EQ(wide[i], param.conn_qual);
		ASSERT_DAT(connect_to(p, p->a.ep, wide[i]));
		ASSERT_DAT(dat_cr_accept(request_for(_metadata, p, wide[i], psp), p->b.ep, 0,
					 NULL));
		ASSERT_DAT(dat_ep_query(p->a.ep, DAT_EP_FIELD_ALL, &ep));
		EXPECT_EQ(port_of(wide[i]), ep.remote_port_qual);
		part(_metadata, p);
		/* The peer may use any number of the same port. */
		ASSERT_DAT(connect_to(p, p->a.ep, port_of(wide[i])));
		ASSERT_DAT(dat_cr_accept(request_for(_metadata, p, wide[i], psp), p->b.ep, 0,
					 NULL));
		part(_metadata, p);
		ASSERT_DAT(dat_psp_free(psp));
	}
}

TEST_F(qual, rsp_wide)
{
	struct pair *p = &self->pair;
	DAT_RSP_HANDLE rsp;
	DAT_RSP_PARAM param;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(wide); i++) {
		ASSERT_DAT(dat_rsp_create(p->ia, wide[i], p->b.ep, p->cr_evd, &rsp));
		ASSERT_DAT(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
		EXPECT_EQ(wide[i], param.conn_qual);
		ASSERT_DAT(connect_to(p, p->a.ep, wide[i]));
		ASSERT_DAT(dat_cr_accept(request_for(_metadata, p, wide[i], rsp), DAT_HANDLE_NULL,
					 0, NULL));
		part(_metadata, p);
		ASSERT_DAT(dat_rsp_free(rsp));
	}
}

/* A CSP has a port and no qualifier, so it reports the port. */
TEST_F(qual, csp_found_by_wide)
{
	struct pair *p = &self->pair;
	struct dat_dev_csp_create arg = {
		.size = sizeof(arg),
		.ia = handle_number(p->ia),
		.evd = handle_number(p->cr_evd),
		.type = SOCK_STREAM,
	};
	DAT_IA_ADDRESS_PTR address;

	ASSERT_DAT(ia_address(p->ia, &address));
	ASSERT_EQ(AF_INET, address->sa_family);
	arg.domain = AF_INET;
	memcpy(&arg.address, address, sizeof(struct sockaddr_in));
	((struct sockaddr_in *)&arg.address)->sin_port = htons(port_of(wide[3]));
	ASSERT_EQ(0, dev_type(library_fd(), DAT_DEV_CSP_CREATE, &arg));
	ASSERT_DAT(connect_to(p, p->a.ep, wide[3]));
	ASSERT_DAT(dat_cr_accept(request_for(_metadata, p, port_of(wide[3]),
					     number_handle(arg.csp)),
				 p->b.ep, 0, NULL));
	part(_metadata, p);
}

TEST_F(qual, wide_of_one_port_in_use)
{
	struct pair *p = &self->pair;
	const DAT_CONN_QUAL qual = wide[4], same[] = {
		qual, qual + NUM_PORTS, qual + 1000 * (DAT_CONN_QUAL)NUM_PORTS, port_of(qual),
	};
	DAT_PSP_HANDLE psp, other;
	unsigned int i;

	ASSERT_DAT(dat_psp_create(p->ia, qual, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	for (i = 0; i < ARRAY_LEN(same); i++) {
		EXPECT_EQ(port_of(qual), port_of(same[i]));
		EXPECT_DAT_TYPE(DAT_CONN_QUAL_IN_USE,
				dat_psp_create(p->ia, same[i], p->cr_evd, DAT_PSP_CONSUMER_FLAG,
					       &other));
		EXPECT_DAT_TYPE(DAT_CONN_QUAL_IN_USE,
				dat_rsp_create(p->ia, same[i], p->b.ep, p->cr_evd, &other));
	}
	/* A program that adds 1024 until one is free finds one. */
	EXPECT_DAT(dat_psp_create(p->ia, qual + 1024, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &other));
	EXPECT_DAT(dat_psp_free(other));
	EXPECT_DAT(dat_psp_free(psp));
	EXPECT_DAT(dat_psp_create(p->ia, port_of(qual), p->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
}

TEST_F(qual, handoff_wide)
{
	struct pair *p = &self->pair;
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;

	ASSERT_DAT(dat_psp_create(p->ia, wide[4], p->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	ASSERT_DAT(connect_to(p, p->a.ep, p->qual));
	cr = request_for(_metadata, p, p->qual, p->psp);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_cr_handoff(cr, wide[4] + 1));
	ASSERT_DAT(dat_cr_handoff(cr, wide[4]));
	ASSERT_DAT(dat_cr_accept(request_for(_metadata, p, wide[4], psp), p->b.ep, 0, NULL));
	EXPECT_DAT(wait_both(p, DAT_CONNECTION_EVENT_ESTABLISHED));
	EXPECT_TRUE(carries(p, p->a.ep, p->b.ep, &self->a, &self->b));
}

TEST_HARNESS_MAIN
