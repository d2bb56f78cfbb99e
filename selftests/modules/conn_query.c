// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * conn_query.c - service points: queries, freeing with requests pending, failed creation
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/umh.h>

#include "conn.h"

#define QUAL	(KPAIR_QUAL + 1)

#define PORT_RANGE	"/proc/sys/net/ipv4/ip_local_port_range"

/* Reads the range of ports for callers that do not choose one, as text. */
bool get_ports(char *range, size_t size)
{
	struct file *file = filp_open(PORT_RANGE, O_RDONLY, 0);
	loff_t pos = 0;
	ssize_t len;

	if (IS_ERR(file))
		return false;
	len = kernel_read(file, range, size - 1, &pos);
	filp_close(file, NULL);
	range[max_t(ssize_t, len, 0)] = '\0';
	return len > 0;
}

bool set_ports(const char *range)
{
	struct file *file = filp_open(PORT_RANGE, O_WRONLY, 0);
	loff_t pos = 0;
	ssize_t len;

	if (IS_ERR(file))
		return false;
	len = kernel_write(file, range, strlen(range), &pos);
	filp_close(file, NULL);
	return len > 0;
}

static bool psp_tells(DAT_PSP_PARAM_MASK mask)
{
	DAT_PSP_PARAM param;

	memset(&param, 0xff, sizeof(param));
	CHECK_EQ(DAT_SUCCESS, dat_psp_query(pair.psp, mask, &param));
	if (mask & DAT_PSP_FIELD_IA_HANDLE)
		CHECK_EQ(pair.ia, param.ia_handle);
	if (mask & DAT_PSP_FIELD_CONN_QUAL)
		CHECK_EQ(KPAIR_QUAL, param.conn_qual);
	if (mask & DAT_PSP_FIELD_EVD_HANDLE)
		CHECK_EQ(pair.cr_evd, param.evd_handle);
	if (mask & DAT_PSP_FIELD_PSP_FLAGS)
		CHECK_EQ(DAT_PSP_CONSUMER_FLAG, param.psp_flags);
	return true;
}

static bool rsp_tells(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask)
{
	DAT_RSP_PARAM param;

	memset(&param, 0xff, sizeof(param));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_query(rsp, mask, &param));
	if (mask & DAT_RSP_FIELD_IA_HANDLE)
		CHECK_EQ(pair.ia, param.ia_handle);
	if (mask & DAT_RSP_FIELD_CONN_QUAL)
		CHECK_EQ(QUAL, param.conn_qual);
	if (mask & DAT_RSP_FIELD_EVD_HANDLE)
		CHECK_EQ(pair.cr_evd, param.evd_handle);
	if (mask & DAT_RSP_FIELD_EP_HANDLE)
		CHECK_EQ(pair.b.ep, param.ep_handle);
	return true;
}

static bool cr_tells(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask)
{
	DAT_EP_PARAM sender;
	DAT_CR_PARAM param;

	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_query(pair.a.ep, DAT_EP_FIELD_ALL, &sender));
	memset(&param, 0xff, sizeof(param));
	CHECK_EQ(DAT_SUCCESS, dat_cr_query(cr, mask, &param));
	if (mask & DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR)
		CHECK_EQ(address->sa_family,
			 param.remote_ia_address_ptr->sa_family);
	if (mask & DAT_CR_FIELD_REMOTE_PORT_QUAL)
		CHECK_EQ(sender.local_port_qual, param.remote_port_qual);
	/* The transport may pad the private data. */
	if (mask & DAT_CR_FIELD_PRIVATE_DATA_SIZE)
		CHECK(param.private_data_size >= 5 &&
		      param.private_data_size < 1024);
	if (mask & DAT_CR_FIELD_PRIVATE_DATA)
		CHECK(!memcmp(param.private_data, "query", 5));
	if (mask & DAT_CR_FIELD_LOCAL_EP_HANDLE)
		CHECK_EQ(pair.b.ep, param.local_ep_handle);
	return true;
}

bool sp_cr_query_every_mask(void)
{
	DAT_RSP_HANDLE rsp;
	DAT_EVENT event;
	int mask;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, QUAL, pair.b.ep,
					     pair.cr_evd, &rsp));
	for (mask = 0; mask <= DAT_PSP_FIELD_ALL; mask++)
		CHECK(psp_tells(mask));
	for (mask = 0; mask <= DAT_RSP_FIELD_ALL; mask++)
		CHECK(rsp_tells(rsp, mask));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_connect(pair.a.ep, address, QUAL, DAT_TIMEOUT_INFINITE,
				5, "query", DAT_QOS_BEST_EFFORT, 0));
	/* The EVD also has the PSP's requests, which may come late. */
	do
		CHECK(kwait_event(pair.cr_evd, &event));
	while (event.event_data.cr_arrival_event_data.conn_qual != QUAL);
	for (mask = 0; mask <= DAT_CR_FIELD_ALL; mask++)
		CHECK(cr_tells(event.event_data.cr_arrival_event_data.cr_handle,
			       mask));
	return true;
}

bool sp_cr_query_bad_arguments(void)
{
	DAT_HANDLE bad[] = { NULL, FORGED, pair.ia, pair.cr_evd, pair.a.ep };
	DAT_PSP_PARAM psp_param;
	DAT_RSP_PARAM rsp_param;
	DAT_CR_PARAM cr_param;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;
	unsigned int bit;
	size_t i;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, QUAL, pair.b.ep,
					     pair.cr_evd, &rsp));
	cr = request(pair.a.ep, KPAIR_QUAL);
	CHECK(cr);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP,
			  dat_psp_query(bad[i], DAT_PSP_FIELD_ALL,
					&psp_param));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP,
			  dat_rsp_query(bad[i], DAT_RSP_FIELD_ALL,
					&rsp_param));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR,
			  dat_cr_query(bad[i], DAT_CR_FIELD_ALL, &cr_param));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR,
			  dat_cr_reject(bad[i], 0, NULL));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR,
			  dat_cr_accept(bad[i], pair.b.ep, 0, NULL));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP,
			  dat_psp_free(bad[i]));
	}
	for (bit = DAT_PSP_FIELD_ALL + 1; bit; bit <<= 1)
		CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
			  dat_psp_query(pair.psp, bit, &psp_param));
	for (bit = DAT_RSP_FIELD_ALL + 1; bit; bit <<= 1)
		CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
			  dat_rsp_query(rsp, bit, &rsp_param));
	for (bit = DAT_CR_FIELD_ALL + 1; bit; bit <<= 1)
		CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
			  dat_cr_query(cr, bit, &cr_param));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, NULL));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_cr_query(cr, DAT_CR_FIELD_ALL, NULL));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
	CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr, pair.b.ep, 0, NULL));
	return both_established();
}

bool rsp_free_stops_listening(void)
{
	DAT_RSP_PARAM param;
	DAT_RSP_HANDLE rsp;

	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, QUAL, pair.b.ep,
					     pair.cr_evd, &rsp));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP,
		  dat_rsp_free(rsp));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP,
		  dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	CHECK_EQ(DAT_SUCCESS,
		 connect_to(pair.a.ep, QUAL, DAT_TIMEOUT_INFINITE));
	CHECK(kwait_number(pair.a.conn_evd, no_listener()));
	CHECK_EQ(DAT_EP_STATE_DISCONNECTED, state_of(pair.a.ep));
	CHECK(is_empty(pair.cr_evd));
	/* Its EP can be used again. */
	CHECK_EQ(DAT_EP_STATE_UNCONNECTED, state_of(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.a.ep));
	return kpair_connect(&pair);
}

/* Either the RSP reports the request, or the peer's request is rejected. */
static bool told_or_refused(DAT_RSP_HANDLE rsp, int *told)
{
	DAT_EVENT event;

	CHECK_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
	if (dat_evd_dequeue(pair.cr_evd, &event)) {
		CHECK_EQ(DAT_EP_STATE_UNCONNECTED, state_of(pair.b.ep));
		CHECK(kwait_event(pair.a.conn_evd, &event));
		/*
		 * ib_cm reports this if it drops the request with its listener. siw
		 * reports it if TCP has connected before the listener is destroyed.
		 */
		if (event.event_number != DAT_CONNECTION_EVENT_PEER_REJECTED &&
		    !(event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE &&
		      kpair_is_siw()))
			CHECK_EQ(DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
				 event.event_number);
		CHECK(is_empty(pair.cr_evd));
		return true;
	}
	++*told;
	CHECK_EQ(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, state_of(pair.b.ep));
	CHECK_EQ(DAT_SUCCESS,
		 dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			       DAT_HANDLE_NULL, 0, NULL));
	return both_established();
}

bool rsp_free_races_request(void)
{
	/* Some attempts on siw end only after ten seconds. */
	int i, told = 0, rounds = kpair_is_siw() ? 10 : 40;
	DAT_RSP_HANDLE rsp;

	for (i = 0; i < rounds; i++) {
		CHECK(fresh());
		CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, QUAL, pair.b.ep,
						     pair.cr_evd, &rsp));
		CHECK_EQ(DAT_SUCCESS,
			 connect_to(pair.a.ep, QUAL, DAT_TIMEOUT_INFINITE));
		usleep_range(100 * i + 1, 100 * i + 10);
		CHECK(told_or_refused(rsp, &told));
	}
	report("# %d of %d were told\n", told, rounds);
	return true;
}

/* One of two ports is in use; the provider must choose the other. */
static bool one_of_two_is_left(void)
{
	DAT_PSP_HANDLE taken, other, none;
	DAT_CONN_QUAL qual;

	CHECK_EQ(DAT_SUCCESS, dat_psp_create(pair.ia, 61010, pair.cr_evd,
					     DAT_PSP_CONSUMER_FLAG, &taken));
	CHECK_EQ(DAT_SUCCESS, dat_psp_create_any(pair.ia, &qual, pair.cr_evd,
						 DAT_PSP_CONSUMER_FLAG,
						 &other));
	CHECK_EQ(61011, qual);
	CHECK_EQ(DAT_CONN_QUAL_UNAVAILABLE,
		 DAT_GET_TYPE(dat_psp_create_any(pair.ia, &qual, pair.cr_evd,
						 DAT_PSP_CONSUMER_FLAG,
						 &none)));
	CHECK_EQ(DAT_SUCCESS, dat_psp_free(other));
	CHECK_EQ(DAT_SUCCESS, dat_psp_free(taken));
	return true;
}

bool psp_create_any_used_port(void)
{
	char before[32];
	bool ok;

	CHECK(fresh());
	CHECK(get_ports(before, sizeof(before)));
	CHECK(set_ports("61010 61011"));
	ok = one_of_two_is_left();
	CHECK(set_ports(before));
	return ok;
}

static bool shell(const char *command)
{
	static char *envp[2] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		NULL,
	};
	char *argv[4] = { "/bin/sh", "-c", (char *)command, NULL };

	return !call_usermodehelper(argv[0], argv, envp, UMH_WAIT_PROC);
}

static bool nobody_can_listen(DAT_IA_HANDLE ia)
{
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	DAT_HANDLE handle;

	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_CR_FLAG, &evd));
	CHECK_EQ(DAT_INSUFFICIENT_RESOURCES,
		 DAT_GET_TYPE(dat_psp_create(ia, QUAL, evd,
					     DAT_PSP_CONSUMER_FLAG, &handle)));
	CHECK_EQ(DAT_INSUFFICIENT_RESOURCES,
		 DAT_GET_TYPE(dat_psp_create_any(ia, &qual, evd,
						 DAT_PSP_CONSUMER_FLAG,
						 &handle)));
	CHECK_EQ(DAT_INSUFFICIENT_RESOURCES,
		 DAT_GET_TYPE(dat_rsp_create(ia, QUAL, DAT_HANDLE_NULL, evd,
					     &handle)));
	return true;
}

static bool new_ia_cannot_listen(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	bool ok;

	CHECK_EQ(DAT_SUCCESS, dat_ia_open(kpair_ia, 8, &async, &ia));
	ok = nobody_can_listen(ia);
	CHECK_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	return ok;
}

/* An IA whose address has been removed since it was opened. */
static bool old_ia_cannot_listen(void)
{
	DAT_HANDLE handle;

	CHECK_EQ(DAT_INSUFFICIENT_RESOURCES,
		 DAT_GET_TYPE(dat_rsp_create(pair.ia, QUAL, pair.b.ep,
					     pair.cr_evd, &handle)));
	CHECK_EQ(DAT_EP_STATE_UNCONNECTED, state_of(pair.b.ep));
	return true;
}

#define TAKE	"ip -o addr show dev eth0 | awk '{ print $4 }' >/tmp/addresses;" \
		"ip addr flush dev eth0"
#define GIVE	"while read -r a; do ip addr add $a dev eth0; done </tmp/addresses"

bool sp_create_without_address(void)
{
	DAT_RSP_HANDLE rsp;
	bool ok;
	int i;

	CHECK(fresh());
	CHECK(shell(TAKE));
	ok = new_ia_cannot_listen() && old_ia_cannot_listen();
	CHECK(shell(GIVE));
	CHECK(ok);
	/* The device needs a moment until it has its addresses again. */
	for (i = 0; i < 100; i++) {
		if (!dat_rsp_create(pair.ia, QUAL, pair.b.ep, pair.cr_evd,
				    &rsp))
			break;
		msleep(100);
	}
	CHECK_EQ(DAT_SUCCESS, dat_rsp_free(rsp));
	return kpair_connect(&pair);
}

/* Returns the next request, which must be for @qual. */
static DAT_CR_HANDLE request_for(DAT_CONN_QUAL qual)
{
	DAT_CR_ARRIVAL_EVENT_DATA *data;
	DAT_EVENT event;

	if (!kwait_event(pair.cr_evd, &event))
		return DAT_HANDLE_NULL;
	data = &event.event_data.cr_arrival_event_data;
	return data->conn_qual == qual ? data->cr_handle : DAT_HANDLE_NULL;
}

/* Above 65535 the port is as in OpenFabrics' DAPL; queries and events give the number itself. */
bool wide_qualifiers(void)
{
	static const DAT_CONN_QUAL wide[] = { 65536, 71024, 0xaffab1e, 5ULL << 35, U64_MAX };
	DAT_PSP_HANDLE psp, other;
	DAT_RSP_HANDLE rsp;
	DAT_PSP_PARAM param;
	DAT_RSP_PARAM rsp_param;
	DAT_CR_HANDLE cr;
	int i;

	for (i = 0; i < ARRAY_SIZE(wide); i++) {
		CHECK(fresh());
		CHECK_EQ(DAT_SUCCESS, dat_psp_create(pair.ia, wide[i], pair.cr_evd,
						     DAT_PSP_CONSUMER_FLAG, &psp));
		CHECK_EQ(DAT_SUCCESS, dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
		CHECK_EQ(wide[i], param.conn_qual);
		CHECK_RET(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE,
			  dat_psp_create(pair.ia, 33534 + wide[i] % 32001, pair.cr_evd,
					 DAT_PSP_CONSUMER_FLAG, &other));
		CHECK_EQ(DAT_SUCCESS, connect_to(pair.a.ep, wide[i], DAT_TIMEOUT_INFINITE));
		cr = request_for(wide[i]);
		CHECK(cr);
		CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr, pair.b.ep, 0, NULL));
		CHECK(both_established());
		CHECK_EQ(DAT_SUCCESS, dat_psp_free(psp));
	}
	CHECK(fresh());
	CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, wide[2], pair.b.ep, pair.cr_evd, &rsp));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &rsp_param));
	CHECK_EQ(wide[2], rsp_param.conn_qual);
	cr = request(pair.a.ep, KPAIR_QUAL);
	CHECK(cr);
	CHECK_EQ(DAT_SUCCESS, dat_cr_handoff(cr, wide[2]));
	cr = request_for(wide[2]);
	CHECK(cr);
	CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	CHECK(both_established());
	return dat_rsp_free(rsp) == DAT_SUCCESS;
}

#define POINTS	200

/* As the limit tests of kernel dapltest: one number after the other, of PSPs and then of RSPs. */
bool consecutive_qualifiers(void)
{
	static DAT_HANDLE points[POINTS];
	static DAT_EP_HANDLE eps[POINTS];
	int i;

	CHECK(fresh());
	for (i = 0; i < POINTS; i++)
		CHECK_EQ(DAT_SUCCESS, dat_psp_create(pair.ia, 0xaffab1e + i, pair.cr_evd,
						     DAT_PSP_CONSUMER_FLAG, &points[i]));
	for (i = 0; i < POINTS; i++)
		CHECK_EQ(DAT_SUCCESS, dat_psp_free(points[i]));
	for (i = 0; i < POINTS; i++) {
		eps[i] = new_ep(&pair.b);
		CHECK(eps[i]);
		CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, 0xaffab1e + i, eps[i], pair.cr_evd,
						     &points[i]));
	}
	for (i = 0; i < POINTS; i++) {
		CHECK_EQ(DAT_SUCCESS, dat_rsp_free(points[i]));
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(eps[i]));
	}
	return true;
}
