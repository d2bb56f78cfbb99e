// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * conn_sp.c - service points, and handoff of requests
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/inetdevice.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <net/if_inet6.h>

#include "conn.h"

#define QUAL	(KPAIR_QUAL + 1)

static DAT_CR_HANDLE next_request(DAT_EVD_HANDLE evd, DAT_CONN_QUAL qual,
				  DAT_SP_HANDLE sp)
{
	DAT_CR_ARRIVAL_EVENT_DATA *d;
	DAT_EVENT event;

	if (!kwait_event(evd, &event))
		return DAT_HANDLE_NULL;
	d = &event.event_data.cr_arrival_event_data;
	if (event.event_number == DAT_CONNECTION_REQUEST_EVENT &&
	    d->conn_qual == qual && d->sp_handle.psp_handle == sp.psp_handle)
		return d->cr_handle;
	report("# event %#x of qualifier %llu\n", event.event_number,
	       d->conn_qual);
	return DAT_HANDLE_NULL;
}

static DAT_SP_HANDLE sp(DAT_HANDLE handle)
{
	return (DAT_SP_HANDLE){ .psp_handle = handle };
}

static DAT_EP_HANDLE ep_of(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	if (dat_cr_query(cr, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param))
		return DAT_HANDLE_NULL;
	return param.local_ep_handle;
}

bool psp_create_any_free_qualifier(void)
{
	DAT_CONN_QUAL qual[5];
	DAT_PSP_HANDLE psp[5];
	DAT_PSP_PARAM param;
	DAT_CR_HANDLE cr;
	int i, j;

	CHECK(fresh());
	for (i = 0; i < 5; i++) {
		CHECK_EQ(DAT_SUCCESS,
			 dat_psp_create_any(pair.ia, &qual[i], pair.cr_evd,
					    DAT_PSP_CONSUMER_FLAG, &psp[i]));
		CHECK(qual[i] > 1023 && qual[i] < 65536);
		for (j = 0; j < i; j++)
			CHECK(qual[i] != qual[j]);
		CHECK_EQ(DAT_SUCCESS, dat_psp_query(psp[i], DAT_PSP_FIELD_ALL,
						    &param));
		CHECK_EQ(qual[i], param.conn_qual);
		CHECK_EQ(pair.ia, param.ia_handle);
		CHECK_EQ(pair.cr_evd, param.evd_handle);
		CHECK_EQ(DAT_PSP_CONSUMER_FLAG, param.psp_flags);
	}
	CHECK_RET(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE,
		  dat_psp_create(pair.ia, qual[0], pair.cr_evd,
				 DAT_PSP_CONSUMER_FLAG, &psp[0]));
	CHECK_EQ(DAT_SUCCESS,
		 connect_to(pair.a.ep, qual[3], DAT_TIMEOUT_INFINITE));
	cr = next_request(pair.cr_evd, qual[3], sp(psp[3]));
	CHECK(cr);
	CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr, pair.b.ep, 0, NULL));
	CHECK(both_established());
	for (i = 0; i < 5; i++)
		CHECK_EQ(DAT_SUCCESS, dat_psp_free(psp[i]));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP,
		  dat_psp_query(psp[0], DAT_PSP_FIELD_ALL, &param));
	return true;
}

static bool configure(DAT_EP_HANDLE ep, const struct kside *side)
{
	DAT_EP_PARAM param = {
		.pz_handle = side->pz,
		.recv_evd_handle = side->dto_evd,
		.request_evd_handle = side->dto_evd,
		.connect_evd_handle = side->conn_evd,
	};

	CHECK_EQ(DAT_SUCCESS, dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE |
					    DAT_EP_FIELD_RECV_EVD_HANDLE |
					    DAT_EP_FIELD_REQUEST_EVD_HANDLE |
					    DAT_EP_FIELD_CONNECT_EVD_HANDLE,
					    &param));
	return true;
}

static bool is_unconfigured(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	CHECK_EQ(DAT_SUCCESS, dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	CHECK_EQ(DAT_HANDLE_NULL, param.pz_handle);
	CHECK_EQ(DAT_HANDLE_NULL, param.recv_evd_handle);
	CHECK_EQ(DAT_HANDLE_NULL, param.request_evd_handle);
	CHECK_EQ(DAT_HANDLE_NULL, param.connect_evd_handle);
	CHECK_EQ(pair.ia, param.ia_handle);
	return true;
}

bool psp_provider_creates_eps(void)
{
	DAT_EP_PARAM want = { .ep_attr.max_rdma_read_in = 3 }, param;
	DAT_EP_HANDLE ep, other = new_ep(&pair.a);
	DAT_CR_HANDLE cr, cr2;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS,
		 dat_psp_create_any(pair.ia, &qual, pair.cr_evd,
				    DAT_PSP_PROVIDER_FLAG, &psp));
	CHECK_EQ(DAT_SUCCESS, dat_ep_modify(pair.a.ep,
					    DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN,
					    &want));
	CHECK_EQ(DAT_SUCCESS,
		 connect_to(pair.a.ep, qual, DAT_TIMEOUT_INFINITE));
	cr = next_request(pair.cr_evd, qual, sp(psp));
	CHECK(cr);
	CHECK_EQ(DAT_SUCCESS, connect_to(other, qual, DAT_TIMEOUT_INFINITE));
	cr2 = next_request(pair.cr_evd, qual, sp(psp));
	CHECK(cr2);
	ep = ep_of(cr);
	CHECK(ep && ep_of(cr2) && ep != ep_of(cr2));
	CHECK_EQ(DAT_EP_STATE_UNCONFIGURED_TENTATIVE, state_of(ep));
	CHECK(is_unconfigured(ep));
	/* The EP has the limits of the request: one side's "out" is the other's "in". */
	CHECK_EQ(DAT_SUCCESS, dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	CHECK_EQ(3, param.ep_attr.max_rdma_read_out);
	CHECK_EQ(4, param.ep_attr.max_rdma_read_in);

	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONFTENTATIVE,
		  dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_cr_accept(cr, pair.b.ep, 0, NULL));
	CHECK(configure(ep, &pair.b));
	CHECK_EQ(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, state_of(ep));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_TENTCONNPENDING,
		  dat_ep_free(ep));
	CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	CHECK(both_established());
	CHECK(talks(pair.a.ep, ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep));
	CHECK(kwait_number(pair.a.conn_evd,
			   DAT_CONNECTION_EVENT_DISCONNECTED));
	CHECK_EQ(DAT_SUCCESS, dat_psp_free(psp));
	/* The request still has its EP. */
	CHECK(configure(ep_of(cr2), &pair.b));
	ep = ep_of(cr2);
	CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr2, ep, 0, NULL));
	CHECK(both_established());
	CHECK(talks(other, ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(other));
	return true;
}

bool cr_reject_frees_provider_ep(void)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;
	int configured;

	for (configured = 0; configured < 2; configured++) {
		CHECK(fresh());
		CHECK_EQ(DAT_SUCCESS,
			 dat_psp_create_any(pair.ia, &qual, pair.cr_evd,
					    DAT_PSP_PROVIDER_FLAG, &psp));
		CHECK_EQ(DAT_SUCCESS,
			 connect_to(pair.a.ep, qual, DAT_TIMEOUT_INFINITE));
		cr = next_request(pair.cr_evd, qual, sp(psp));
		CHECK(cr);
		ep = ep_of(cr);
		CHECK(!configured || configure(ep, &pair.b));
		CHECK_EQ(DAT_SUCCESS, dat_cr_reject(cr, 2, "no"));
		CHECK(wait_connection(pair.a.conn_evd,
				      DAT_CONNECTION_EVENT_PEER_REJECTED,
				      "no", 2));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
			  dat_ep_free(ep));
		CHECK_EQ(DAT_SUCCESS, dat_psp_free(psp));
	}
	return true;
}

bool rsp_single_request(void)
{
	DAT_EP_HANDLE other = new_ep(&pair.a);
	DAT_RSP_HANDLE rsp, again;
	DAT_RSP_PARAM param;
	DAT_CR_HANDLE cr;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, QUAL, pair.b.ep,
					     pair.cr_evd, &rsp));
	CHECK_EQ(DAT_EP_STATE_RESERVED, state_of(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	CHECK_EQ(QUAL, param.conn_qual);
	CHECK_EQ(pair.b.ep, param.ep_handle);
	CHECK_EQ(pair.cr_evd, param.evd_handle);
	CHECK_EQ(pair.ia, param.ia_handle);
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED,
		  dat_rsp_create(pair.ia, QUAL + 1, pair.b.ep, pair.cr_evd,
				 &again));
	CHECK_RET(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE,
		  dat_rsp_create(pair.ia, QUAL, other, pair.cr_evd, &again));
	CHECK_EQ(DAT_EP_STATE_UNCONNECTED, state_of(other));

	CHECK_EQ(DAT_SUCCESS,
		 connect_to(pair.a.ep, QUAL, DAT_TIMEOUT_INFINITE));
	cr = next_request(pair.cr_evd, QUAL, sp(rsp));
	CHECK(cr);
	CHECK_EQ(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, state_of(pair.b.ep));
	CHECK_EQ(pair.b.ep, ep_of(cr));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	CHECK_EQ(pair.b.ep, param.ep_handle);
	/* Freeing the RSP does not affect the request and its EP. */
	CHECK_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
	CHECK_EQ(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, state_of(pair.b.ep));
	CHECK_EQ(pair.b.ep, ep_of(cr));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP,
		  dat_rsp_free(rsp));
	/* The qualifier has no listener and is free. */
	CHECK_EQ(DAT_SUCCESS, connect_to(other, QUAL, DAT_TIMEOUT_INFINITE));
	CHECK(kwait_number(pair.a.conn_evd, no_listener()));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(other));
	other = new_ep(&pair.b);
	CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, QUAL, other,
					     pair.cr_evd, &again));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_free(again));

	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_cr_accept(cr, other, 0, NULL));
	CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	CHECK(both_established());
	CHECK(talks(pair.a.ep, pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(other));
	return true;
}

bool rsp_free_releases_ep(void)
{
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, QUAL, pair.b.ep,
					     pair.cr_evd, &rsp));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RESERVED,
		  dat_ep_free(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
	CHECK_EQ(DAT_EP_STATE_UNCONNECTED, state_of(pair.b.ep));
	/* Repeat: the qualifier must be free as soon as the event is queued. */
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, QUAL, pair.b.ep,
						     pair.cr_evd, &rsp));
		CHECK_EQ(DAT_SUCCESS, connect_to(pair.a.ep, QUAL,
						 DAT_TIMEOUT_INFINITE));
		cr = next_request(pair.cr_evd, QUAL, sp(rsp));
		CHECK(cr);
		CHECK_EQ(DAT_SUCCESS, dat_cr_reject(cr, 0, NULL));
		CHECK_EQ(DAT_EP_STATE_UNCONNECTED, state_of(pair.b.ep));
		CHECK_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
		CHECK_EQ(DAT_EP_STATE_UNCONNECTED, state_of(pair.b.ep));
		CHECK(kwait_number(pair.a.conn_evd,
				   DAT_CONNECTION_EVENT_PEER_REJECTED));
		CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.a.ep));
	}
	return kpair_connect(&pair) && talks(pair.a.ep, pair.b.ep);
}

bool rsp_provider_ep(void)
{
	DAT_RSP_HANDLE rsp;
	DAT_RSP_PARAM param;
	DAT_CR_HANDLE cr;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, QUAL, DAT_HANDLE_NULL,
					     pair.cr_evd, &rsp));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	CHECK_EQ(DAT_EP_STATE_UNCONFIGURED_RESERVED,
		 state_of(param.ep_handle));
	CHECK(is_unconfigured(param.ep_handle));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_free(param.ep_handle));

	/* Configure the EP before or after the request arrives. */
	for (int early = 0; early < 2; early++) {
		CHECK(fresh());
		CHECK_EQ(DAT_SUCCESS,
			 dat_rsp_create(pair.ia, QUAL, DAT_HANDLE_NULL,
					pair.cr_evd, &rsp));
		CHECK_EQ(DAT_SUCCESS,
			 dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
		if (early) {
			CHECK(configure(param.ep_handle, &pair.b));
			CHECK_EQ(DAT_EP_STATE_RESERVED,
				 state_of(param.ep_handle));
		}
		CHECK_EQ(DAT_SUCCESS, connect_to(pair.a.ep, QUAL,
						 DAT_TIMEOUT_INFINITE));
		cr = next_request(pair.cr_evd, QUAL, sp(rsp));
		CHECK(cr);
		CHECK_EQ(param.ep_handle, ep_of(cr));
		if (!early) {
			CHECK_EQ(DAT_EP_STATE_UNCONFIGURED_PASSIVE,
				 state_of(param.ep_handle));
			CHECK(configure(param.ep_handle, &pair.b));
		}
		CHECK_EQ(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
			 state_of(param.ep_handle));
		CHECK_EQ(DAT_SUCCESS,
			 dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
		CHECK(both_established());
		CHECK(talks(pair.a.ep, param.ep_handle));
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(param.ep_handle));
	}
	return true;
}

static bool common_connects(DAT_CSP_HANDLE csp)
{
	DAT_CSP_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_CONN_QUAL port;

	CHECK_EQ(DAT_SUCCESS, dat_csp_query(csp, DAT_CSP_FIELD_ALL, &param));
	CHECK_EQ(pair.ia, param.ia_handle);
	CHECK_EQ(pair.cr_evd, param.evd_handle);
	CHECK_EQ(SOCK_STREAM, param.comm->type);
	port = ntohs(((struct sockaddr_in *)param.address_ptr)->sin_port);
	CHECK(port);
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_common_connect(pair.a.ep, param.address_ptr,
				       DAT_TIMEOUT_INFINITE, 3, "csp"));
	cr = next_request(pair.cr_evd, port, sp(csp));
	CHECK(cr);
	CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr, pair.b.ep, 0, NULL));
	CHECK(both_established());
	return talks(pair.a.ep, pair.b.ep);
}

bool csp_ipv4(void)
{
	DAT_COMM comm = { AF_INET, SOCK_STREAM, 0 };
	struct sockaddr_in sin = *(struct sockaddr_in *)address;
	DAT_IA_ADDRESS_PTR addr = (DAT_IA_ADDRESS_PTR)&sin;
	DAT_CSP_HANDLE csp, again;
	DAT_CSP_PARAM param;

	if (address->sa_family != AF_INET)
		return true;
	CHECK(fresh());
	sin.sin_port = 0;
	CHECK_EQ(DAT_SUCCESS, dat_csp_create(pair.ia, &comm, addr, pair.cr_evd,
					     &csp));
	CHECK(common_connects(csp));
	CHECK_EQ(DAT_SUCCESS, dat_csp_free(csp));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CSP,
		  dat_csp_query(csp, DAT_CSP_FIELD_ALL, &param));

	comm.protocol = IPPROTO_TCP;
	sin.sin_port = htons(QUAL);
	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_csp_create(pair.ia, &comm, addr, pair.cr_evd,
					     &csp));
	CHECK_RET(DAT_PORT_IN_USE, DAT_NO_SUBTYPE,
		  dat_csp_create(pair.ia, &comm, addr, pair.cr_evd, &again));
	CHECK(common_connects(csp));
	CHECK_EQ(DAT_SUCCESS, dat_csp_free(csp));

	comm.type = SOCK_DGRAM;
	CHECK_RET(DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  dat_csp_create(pair.ia, &comm, addr, pair.cr_evd, &csp));
	comm = (DAT_COMM){ AF_INET, SOCK_STREAM, IPPROTO_UDP };
	CHECK_RET(DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE,
		  dat_csp_create(pair.ia, &comm, addr, pair.cr_evd, &csp));
	comm = (DAT_COMM){ AF_INET6, SOCK_STREAM, 0 };
	CHECK_RET(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED,
		  dat_csp_create(pair.ia, &comm, addr, pair.cr_evd, &csp));
	comm.domain = AF_INET;
	/* The loopback device is not an RDMA device. */
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_RET(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED,
		  dat_csp_create(pair.ia, &comm, addr, pair.cr_evd, &csp));
	return true;
}

/* Finds an IPv6 address of the network device that has the IA's IPv4 address. */
static bool find_ipv6(struct sockaddr_in6 *sin6)
{
	__be32 v4 = ((struct sockaddr_in *)address)->sin_addr.s_addr;
	const struct inet6_ifaddr *ifp;
	struct net_device *ndev;
	struct inet6_dev *in6;
	bool found = false;

	rcu_read_lock();
	ndev = __ip_dev_find(&init_net, v4, false);
	in6 = ndev ? rcu_dereference(ndev->ip6_ptr) : NULL;
	if (in6) {
		read_lock_bh(&in6->lock);
		list_for_each_entry(ifp, &in6->addr_list, if_list) {
			if (ifp->flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED))
				continue;
			*sin6 = (struct sockaddr_in6){
				.sin6_family = AF_INET6,
				.sin6_addr = ifp->addr,
				.sin6_scope_id = ndev->ifindex,
			};
			found = true;
		}
		read_unlock_bh(&in6->lock);
	}
	rcu_read_unlock();
	return found;
}

bool csp_ipv6(void)
{
	DAT_COMM comm = { AF_INET6, SOCK_STREAM, 0 };
	struct sockaddr_in6 sin6;
	DAT_CSP_HANDLE csp;
	int i;

	CHECK(fresh());
	for (i = 0; i < 50 && !find_ipv6(&sin6); i++)
		msleep(100);
	if (i == 50) {
		report("# no IPv6 address\n");
		return true;
	}
	CHECK_EQ(DAT_SUCCESS, dat_csp_create(pair.ia, &comm,
					     (DAT_IA_ADDRESS_PTR)&sin6,
					     pair.cr_evd, &csp));
	CHECK(common_connects(csp));
	CHECK_EQ(DAT_SUCCESS, dat_csp_free(csp));
	return true;
}

static bool arrives_with_data(DAT_EVD_HANDLE evd, DAT_CONN_QUAL qual,
			      DAT_HANDLE service_point, DAT_CR_HANDLE *cr)
{
	DAT_CR_PARAM param;

	*cr = next_request(evd, qual, sp(service_point));
	CHECK(*cr);
	CHECK_EQ(DAT_SUCCESS, dat_cr_query(*cr, DAT_CR_FIELD_ALL, &param));
	CHECK(param.private_data_size >= 4);
	CHECK(!memcmp(param.private_data, "pass", 4));
	return true;
}

static DAT_CR_HANDLE request_with_data(void)
{
	if (dat_ep_connect(pair.a.ep, address, KPAIR_QUAL,
			   DAT_TIMEOUT_INFINITE, 4, "pass",
			   DAT_QOS_BEST_EFFORT, 0))
		return DAT_HANDLE_NULL;
	return next_request(pair.cr_evd, KPAIR_QUAL, sp(pair.psp));
}

bool handoff_to_psp_and_rsp(void)
{
	DAT_EVD_HANDLE evd;
	DAT_CR_HANDLE cr, cr2;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(pair.ia, 1, DAT_UPCALL_DISABLE,
					      NULL, DAT_EVD_CR_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, dat_psp_create_any(pair.ia, &qual, evd,
						 DAT_PSP_CONSUMER_FLAG, &psp));
	cr = request_with_data();
	CHECK(cr);
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_cr_handoff(cr, 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_cr_handoff(cr, QUAL + 9));
	CHECK_EQ(DAT_SUCCESS, dat_cr_handoff(cr, qual));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR,
		  dat_cr_handoff(cr, qual));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR,
		  dat_cr_accept(cr, pair.b.ep, 0, NULL));

	/* That EVD has one place: a request without room stays at its service point. */
	CHECK_EQ(DAT_SUCCESS, connect_to(pair.b.ep, KPAIR_QUAL,
					 DAT_TIMEOUT_INFINITE));
	cr2 = next_request(pair.cr_evd, KPAIR_QUAL, sp(pair.psp));
	CHECK_EQ(DAT_INSUFFICIENT_RESOURCES,
		 DAT_GET_TYPE(dat_cr_handoff(cr2, qual)));
	CHECK_EQ(DAT_SUCCESS, dat_cr_reject(cr2, 0, NULL));
	CHECK(kwait_number(pair.b.conn_evd,
			   DAT_CONNECTION_EVENT_PEER_REJECTED));
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.b.ep));
	CHECK(arrives_with_data(evd, qual, psp, &cr));

	/* Hand it off again, to an RSP. */
	CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, QUAL, pair.b.ep, evd,
					     &rsp));
	CHECK_EQ(DAT_SUCCESS, dat_cr_handoff(cr, QUAL));
	CHECK(arrives_with_data(evd, QUAL, rsp, &cr));
	CHECK_EQ(pair.b.ep, ep_of(cr));
	CHECK_EQ(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, state_of(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	CHECK(both_established());
	CHECK(talks(pair.a.ep, pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
	CHECK_EQ(DAT_SUCCESS, dat_psp_free(psp));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));

	/* When its request is handed off, the EP of an RSP is free. */
	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, QUAL, pair.b.ep,
					     pair.cr_evd, &rsp));
	CHECK_EQ(DAT_SUCCESS,
		 connect_to(pair.a.ep, QUAL, DAT_TIMEOUT_INFINITE));
	cr = next_request(pair.cr_evd, QUAL, sp(rsp));
	CHECK(cr);
	CHECK_EQ(DAT_SUCCESS, dat_cr_handoff(cr, KPAIR_QUAL));
	CHECK_EQ(DAT_EP_STATE_UNCONNECTED, state_of(pair.b.ep));
	cr = next_request(pair.cr_evd, KPAIR_QUAL, sp(pair.psp));
	CHECK(cr);
	CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr, pair.b.ep, 0, NULL));
	return both_established();
}

/* A consumer that listens for other consumers. */
bool handoff_to_other_ia(void)
{
	struct kside side = {};
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd;
	DAT_IA_HANDLE ia;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_ia_open(kpair_ia, 8, &async, &ia));
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(ia, &side.pz));
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_CR_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_CONNECTION_FLAG,
					      &side.conn_evd));
	CHECK_EQ(DAT_SUCCESS, dat_psp_create_any(ia, &qual, evd,
						 DAT_PSP_CONSUMER_FLAG, &psp));
	CHECK_EQ(DAT_SUCCESS, dat_ep_create(ia, side.pz, DAT_HANDLE_NULL,
					    DAT_HANDLE_NULL, side.conn_evd,
					    NULL, &ep));
	cr = request_with_data();
	CHECK(cr);
	CHECK_EQ(DAT_SUCCESS, dat_cr_handoff(cr, qual));
	CHECK(arrives_with_data(evd, qual, psp, &cr));
	/* The request belongs to the second IA now. */
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_cr_accept(cr, pair.b.ep, 0, NULL));
	CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr, ep, 0, NULL));
	CHECK(kwait_number(pair.a.conn_evd,
			   DAT_CONNECTION_EVENT_ESTABLISHED));
	CHECK(kwait_number(side.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	CHECK_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	CHECK(kwait_number(pair.a.conn_evd,
			   DAT_CONNECTION_EVENT_DISCONNECTED));
	return true;
}

/* Close the IA at any moment of a connection. */
bool ia_close_with_pending_requests(void)
{
	DAT_EVD_HANDLE async, evd;
	DAT_EP_HANDLE ep[4];
	DAT_HANDLE handle;
	DAT_CONN_QUAL qual;
	DAT_IA_HANDLE ia;
	int round, i;

	for (round = 0; round < (kpair_is_siw() ? 3 : 10); round++) {
		CHECK(fresh());
		async = DAT_HANDLE_NULL;
		CHECK_EQ(DAT_SUCCESS, dat_ia_open(kpair_ia, 8, &async, &ia));
		CHECK_EQ(DAT_SUCCESS,
			 dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL,
					 DAT_EVD_CR_FLAG, &evd));
		CHECK_EQ(DAT_SUCCESS,
			 dat_psp_create_any(ia, &qual, evd,
					    DAT_PSP_PROVIDER_FLAG, &handle));
		CHECK_EQ(DAT_SUCCESS,
			 dat_rsp_create(ia, QUAL, DAT_HANDLE_NULL, evd,
					&handle));
		CHECK_EQ(DAT_SUCCESS,
			 dat_rsp_create(ia, QUAL + 1, DAT_HANDLE_NULL, evd,
					&handle));
		for (i = 0; i < ARRAY_SIZE(ep); i++) {
			ep[i] = new_ep(&pair.a);
			CHECK_EQ(DAT_SUCCESS,
				 connect_to(ep[i], i & 1 ? QUAL : qual,
					    DAT_TIMEOUT_INFINITE));
		}
		/* The requests are on the wire, arrived and not reported, or reported. */
		usleep_range(100 + 1000 * round, 200 + 1000 * round);
		CHECK_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
		for (i = 0; i < ARRAY_SIZE(ep); i++) {
			CHECK(becomes(ep[i], DAT_EP_STATE_DISCONNECTED));
			CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep[i]));
		}
	}
	return true;
}

bool sp_bad_arguments(void)
{
	DAT_COMM comm = { AF_INET, SOCK_STREAM, 0 };
	DAT_HANDLE bad[] = { NULL, FORGED, pair.psp, pair.a.conn_evd };
	DAT_CONN_QUAL qual;
	DAT_HANDLE handle;
	size_t i;
	union {
		DAT_PSP_PARAM psp;
		DAT_RSP_PARAM rsp;
		DAT_CSP_PARAM csp;
	} p;

	CHECK(fresh());
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
			  dat_psp_create_any(bad[i], &qual, pair.cr_evd, 0,
					     &handle));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR,
			  dat_psp_create_any(pair.ia, &qual, bad[i], 0,
					     &handle));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
			  dat_rsp_create(bad[i], QUAL, pair.b.ep, pair.cr_evd,
					 &handle));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR,
			  dat_rsp_create(pair.ia, QUAL, pair.b.ep, bad[i],
					 &handle));
		if (bad[i])
			CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
				  dat_rsp_create(pair.ia, QUAL, bad[i],
						 pair.cr_evd, &handle));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
			  dat_csp_create(bad[i], &comm, address, pair.cr_evd,
					 &handle));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR,
			  dat_csp_create(pair.ia, &comm, address, bad[i],
					 &handle));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP,
			  dat_rsp_free(bad[i]));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CSP,
			  dat_csp_free(bad[i]));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP,
			  dat_rsp_query(bad[i], 0, &p.rsp));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CSP,
			  dat_csp_query(bad[i], 0, &p.csp));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR,
			  dat_cr_handoff(bad[i], QUAL));
	}
	CHECK_EQ(DAT_EP_STATE_UNCONNECTED, state_of(pair.b.ep));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_psp_create_any(pair.ia, NULL, pair.cr_evd, 0, &handle));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4,
		  dat_psp_create_any(pair.ia, &qual, pair.cr_evd, 2, &handle));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
		  dat_psp_create_any(pair.ia, &qual, pair.cr_evd, 0, NULL));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_psp_query(pair.psp, 0x10, &p.psp));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_psp_query(pair.psp, 0, NULL));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_rsp_create(pair.ia, 0, pair.b.ep, pair.cr_evd, &handle));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
		  dat_rsp_create(pair.ia, QUAL, pair.b.ep, pair.cr_evd, NULL));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_csp_create(pair.ia, NULL, address, pair.cr_evd,
				 &handle));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_csp_create(pair.ia, &comm, NULL, pair.cr_evd, &handle));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5,
		  dat_csp_create(pair.ia, &comm, address, pair.cr_evd, NULL));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_rsp_query(FORGED, 0x10, &p.rsp));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_csp_query(FORGED, 0x10, &p.csp));
	return true;
}
