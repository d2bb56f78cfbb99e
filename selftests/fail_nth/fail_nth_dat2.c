// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fail_nth_dat2.c - every point at which a call can fail for want of memory: ioctls
 * that only the provider of libdat2 makes
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness.h"

#include "faults.h"
#include "link.h"
#include "pair.h"

/* DAT 1.2 does not have it. */
#define KERNEL_PORT_IN_USE	0x00160000

static struct session {
	struct pair p;
	DAT_HANDLE csp;
	DAT_RMR_HANDLE rmr;
	DAT_CR_HANDLE cr;
	struct dat_dev_addr address;
	int fd;
} s;

static const struct owned objects[] = {
	/* In the order in which they can be freed. */
	{ &s.p.psp, DAT_HANDLE_TYPE_PSP, DAT_DEV_PSP_FREE },
	{ &s.csp, FAULTS_CSP, DAT_DEV_CSP_FREE },
	{ &s.p.a.ep, DAT_HANDLE_TYPE_EP, DAT_DEV_EP_FREE },
	{ &s.p.b.ep, DAT_HANDLE_TYPE_EP, DAT_DEV_EP_FREE },
	{ &s.rmr, DAT_HANDLE_TYPE_RMR, DAT_DEV_RMR_FREE },
};

static struct owner owner = { &s.p.ia, objects, ARRAY_LEN(objects), 0 };

/* Everything anew. */
static DAT_RETURN begin(void)
{
	DAT_IA_ATTR attr;
	DAT_RETURN ret;

	pair_close(&s.p);
	memset(&s, 0, sizeof(s));
	ret = pair_open(&s.p);
	/* To look for it takes memory. */
	s.fd = library_fd();
	if (!ret)
		ret = dat_ia_query(s.p.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0,
				   NULL);
	if (!ret)
		memcpy(&s.address, attr.ia_address_ptr,
		       sizeof(struct sockaddr_in));
	return ret;
}

/* libdat says it like that: no memory to carry an ioctl out is no memory. */
static DAT_RETURN failed(void)
{
	return errno == ENOMEM ? DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES :
				 SYS(errno);
}

static DAT_RETURN free_object(unsigned long cmd, DAT_HANDLE handle)
{
	struct dat_dev_free arg = {
		.size = sizeof(arg),
		.handle = handle_number(handle),
	};

	return ioctl(s.fd, cmd, &arg) ? failed() : arg.result;
}

static DAT_RETURN csp_create(void)
{
	struct dat_dev_csp_create arg = {
		.size = sizeof(arg),
		.ia = handle_number(s.p.ia),
		.evd = handle_number(s.p.cr_evd),
		.domain = AF_INET,
		.type = SOCK_STREAM,
		.address = s.address,
	};

	if (ioctl(s.fd, DAT_DEV_CSP_CREATE, &arg))
		return failed();
	if (!arg.result)
		s.csp = number_handle(arg.csp);
	return arg.result;
}

static DAT_RETURN csp_free(void)
{
	return free_object(DAT_DEV_CSP_FREE, s.csp);
}

static void undo_csp_create(void)
{
	if (is_there(s.csp))
		MUST(csp_free());
	s.csp = DAT_HANDLE_NULL;
	sweep_orphans(&owner);
}

static void undo_csp_free(void)
{
	if (!is_there(s.csp))
		MUST(csp_create());
}

static DAT_RETURN csp_query(void)
{
	struct dat_dev_csp_create arg = {
		.size = sizeof(arg),
		.csp = handle_number(s.csp),
	};

	if (ioctl(s.fd, DAT_DEV_CSP_QUERY, &arg))
		return failed();
	if (!arg.result)
		s.address = arg.address;
	return arg.result;
}

static DAT_RETURN ep_common_connect(void)
{
	struct dat_dev_ep_connect arg = {
		.size = sizeof(arg),
		.ep = handle_number(s.p.a.ep),
		.timeout = DAT_TIMEOUT_INFINITE,
		.remote_address = s.address,
	};

	return ioctl(s.fd, DAT_DEV_EP_COMMON_CONNECT, &arg) ?
	       failed() : arg.result;
}

/*
 * Either the request arrives, or who asked learns that it does not. An answer for
 * which there was no memory is lost: the request comes again.
 */
static bool request_or_event_comes(void)
{
	DAT_EVENT event;
	unsigned int i;

	for (i = 0; i < PAIR_TIMEOUT / 1000; i++) {
		if (!dat_evd_dequeue(s.p.a.conn_evd, &event) ||
		    !dat_evd_dequeue(s.p.cr_evd, &event))
			return true;
		usleep(1000);
	}
	return false;
}

static DAT_RETURN ask_a(void)
{
	return connect_to(&s.p, s.p.a.ep, s.p.qual);
}

static DAT_RETURN wait_cr(void)
{
	return next_cr(&s.p, &s.cr);
}

static DAT_RETURN cr_reject_with_data(void)
{
	struct dat_dev_cr_accept arg = {
		.size = sizeof(arg),
		.cr = handle_number(s.cr),
		.private_data_size = 4,
	};

	return ioctl(s.fd, DAT_DEV_CR_REJECT_WITH_DATA, &arg) ?
	       failed() : arg.result;
}

static DAT_RETURN rmr_create_for_ep(void)
{
	struct dat_dev_rmr_create arg = {
		.size = sizeof(arg),
		.pz = handle_number(s.p.a.pz),
	};

	if (ioctl(s.fd, DAT_DEV_RMR_CREATE_FOR_EP, &arg))
		return failed();
	if (!arg.result)
		s.rmr = number_handle(arg.rmr);
	return arg.result;
}

static void undo_rmr_create_for_ep(void)
{
	if (is_there(s.rmr))
		MUST(free_object(DAT_DEV_RMR_FREE, s.rmr));
	s.rmr = DAT_HANDLE_NULL;
	sweep_orphans(&owner);
}

static const struct step calls[] = {
	BEGIN(begin),
	/* TCP calls a port in use that it has no memory for. */
	{ "csp_create", csp_create, OBJECT, undo_csp_create, NULL, MEMORY,
	  KERNEL_PORT_IN_USE, .loops = true },
	{ "csp_query", csp_query, NOTHING },
	{ "csp_free", csp_free, OBJECT, undo_csp_free },
	MAKE_MR(rmr_create_for_ep),

	BEGIN(begin),
	QUIET(csp_create),
	QUIET(csp_query),
	DO(ep_common_connect, request_or_event_comes),

	BEGIN(begin),
	QUIET(ask_a),
	QUIET(wait_cr),
	DO(cr_reject_with_data, request_or_event_comes),
};

FAIL_NTH_FIXTURE(fail_nth)

TEST_SESSION(fail_nth, calls_of_dat_2_0_survive_every_fault, calls, 15, 30)

TEST_HARNESS_MAIN
