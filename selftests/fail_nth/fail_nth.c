// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fail_nth.c - every point at which a call can fail for want of memory:
 * sessions from open to close
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include <dat/dat_linux.h>

#include "counts.h"
#include "faults.h"
#include "link.h"
#include "pair.h"

#define REGION		(8 * PAGE)
#define QLEN		16

/*
 * The session
 */

static struct session {
	struct pair p;
	struct region a, b;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;
	DAT_CR_HANDLE cr;
	struct sockaddr_storage addr;
	/* Changes with the EPs: what those before left may yet come. */
	DAT_UINT64 cookie;
} s;

static const struct owned objects[] = {
	/* In the order in which they can be freed. */
	{ &s.p.psp, DAT_HANDLE_TYPE_PSP, DAT_DEV_PSP_FREE },
	{ &s.p.a.ep, DAT_HANDLE_TYPE_EP, DAT_DEV_EP_FREE },
	{ &s.p.b.ep, DAT_HANDLE_TYPE_EP, DAT_DEV_EP_FREE },
	{ &s.rmr, DAT_HANDLE_TYPE_RMR, DAT_DEV_RMR_FREE },
	{ &s.a.lmr, DAT_HANDLE_TYPE_LMR, DAT_DEV_LMR_FREE },
	{ &s.b.lmr, DAT_HANDLE_TYPE_LMR, DAT_DEV_LMR_FREE },
	{ &s.p.a.dto_evd, DAT_HANDLE_TYPE_EVD, DAT_DEV_EVD_FREE },
	{ &s.p.a.conn_evd, DAT_HANDLE_TYPE_EVD, DAT_DEV_EVD_FREE },
	{ &s.p.b.dto_evd, DAT_HANDLE_TYPE_EVD, DAT_DEV_EVD_FREE },
	{ &s.p.b.conn_evd, DAT_HANDLE_TYPE_EVD, DAT_DEV_EVD_FREE },
	{ &s.p.cr_evd, DAT_HANDLE_TYPE_EVD, DAT_DEV_EVD_FREE },
	/* It goes with its IA. */
	{ &s.p.async_evd, DAT_HANDLE_TYPE_EVD, 0 },
	{ &s.p.a.pz, DAT_HANDLE_TYPE_PZ, DAT_DEV_PZ_FREE },
};

static struct owner owner = { &s.p.ia, objects, ARRAY_LEN(objects), 0 };

static void sweep(void)
{
	sweep_orphans(&owner);
}

/* IAs, too, may be there without anybody having been told. */
static void sweep_ias(void)
{
	struct dat_dev_ia_open probe = {
		.size = sizeof(probe),
		.dat_major = 1,
		.dat_minor = 2,
		.async_evd_qlen = 1,
	};
	struct dat_dev_ia_close arg = {
		.size = sizeof(arg),
		.flags = DAT_CLOSE_ABRUPT_FLAG,
	};
	int fd = library_fd();
	__u32 handle;

	/* Not even the file is open. */
	if (fd < 0)
		return;
	snprintf(probe.name, sizeof(probe.name), "%s", ia_name());
	if (ioctl(fd, DAT_DEV_IA_OPEN, &probe) || probe.result) {
		faults_broken = true;
		return;
	}
	for (handle = owner.top + 1; handle <= probe.async_evd; handle++) {
		if (!has_type(handle, DAT_HANDLE_TYPE_IA))
			continue;
		arg.ia = handle;
		if (ioctl(fd, DAT_DEV_IA_CLOSE, &arg) || arg.result)
			faults_broken = true;
	}
	owner.top = probe.async_evd;
}

/*
 * The steps: making things. Each undo frees what the step has made, or what it
 * has made and could not tell of.
 */

static DAT_RETURN ia_open(void)
{
	s.p.async_evd = DAT_HANDLE_NULL;
	s.p.qual = 10000 + getpid() % 12000;
	return dat_ia_open((char *)ia_name(), 8, &s.p.async_evd, &s.p.ia);
}

static void undo_ia_open(void)
{
	if (is_there(s.p.ia))
		MUST(dat_ia_close(s.p.ia, DAT_CLOSE_ABRUPT_FLAG));
	s.p.ia = DAT_HANDLE_NULL;
	sweep_ias();
}

static DAT_RETURN ia_query(void)
{
	DAT_PROVIDER_ATTR provider;
	DAT_EVD_HANDLE evd;
	DAT_IA_ATTR attr;
	DAT_RETURN ret;

	ret = dat_ia_query(s.p.ia, &evd, DAT_IA_FIELD_ALL, &attr,
			   DAT_PROVIDER_FIELD_ALL, &provider);
	if (ret == DAT_SUCCESS)
		memcpy(&s.addr, attr.ia_address_ptr, sizeof(DAT_SOCK_ADDR));
	return ret;
}

/* An IA that had no memory to look for its address must not be content. */
static bool address_is_the_same(void)
{
	static struct sockaddr_storage first;

	MUST(ia_query());
	if (!first.ss_family)
		first = s.addr;
	return first.ss_family &&
	       !memcmp(&first, &s.addr, sizeof(DAT_SOCK_ADDR));
}

static DAT_RETURN contexts(void)
{
	DAT_CONTEXT context = { .as_64 = 0x1234567887654321 };
	DAT_RETURN ret = dat_set_consumer_context(s.p.ia, context);

	context.as_64 = 0;
	if (ret == DAT_SUCCESS)
		ret = dat_get_consumer_context(s.p.ia, &context);
	if (ret == DAT_SUCCESS && context.as_64 != 0x1234567887654321)
		ret = DAT_ABORT;
	return ret;
}

static DAT_RETURN handle_type(void)
{
	DAT_HANDLE_TYPE type;

	return dat_get_handle_type(s.p.ia, &type);
}

static DAT_RETURN pz_create(void)
{
	DAT_RETURN ret = dat_pz_create(s.p.ia, &s.p.a.pz);

	s.p.b.pz = s.p.a.pz;
	return ret;
}

static void undo_pz_create(void)
{
	if (is_there(s.p.a.pz))
		MUST(dat_pz_free(s.p.a.pz));
	s.p.a.pz = DAT_HANDLE_NULL;
	sweep();
}

static DAT_RETURN pz_query(void)
{
	DAT_PZ_PARAM param;

	return dat_pz_query(s.p.a.pz, DAT_PZ_FIELD_ALL, &param);
}

static DAT_RETURN evd_create(DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_evd_create(s.p.ia, QLEN, DAT_HANDLE_NULL, flags, evd);
}

static void undo_evd(DAT_EVD_HANDLE *evd)
{
	if (is_there(*evd))
		MUST(dat_evd_free(*evd));
	*evd = DAT_HANDLE_NULL;
	sweep();
}

static DAT_RETURN dto_evd_create(void)
{
	return evd_create(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
			  &s.p.a.dto_evd);
}

static void undo_dto_evd_create(void)
{
	undo_evd(&s.p.a.dto_evd);
}

static DAT_RETURN conn_evd_create(void)
{
	return evd_create(DAT_EVD_CONNECTION_FLAG, &s.p.a.conn_evd);
}

static void undo_conn_evd_create(void)
{
	undo_evd(&s.p.a.conn_evd);
}

static DAT_RETURN other_evds(void)
{
	DAT_RETURN ret = evd_create(DAT_EVD_CR_FLAG, &s.p.cr_evd);

	if (ret == DAT_SUCCESS)
		ret = evd_create(DAT_EVD_DTO_FLAG, &s.p.b.dto_evd);
	if (ret == DAT_SUCCESS)
		ret = evd_create(DAT_EVD_CONNECTION_FLAG, &s.p.b.conn_evd);
	return ret;
}

static DAT_RETURN psp_create(void)
{
	return dat_psp_create(s.p.ia, s.p.qual, s.p.cr_evd,
			      DAT_PSP_CONSUMER_FLAG, &s.p.psp);
}

static void undo_psp_create(void)
{
	if (is_there(s.p.psp))
		MUST(dat_psp_free(s.p.psp));
	s.p.psp = DAT_HANDLE_NULL;
	sweep();
}

static DAT_RETURN lmr_create(struct region *region, DAT_MEM_PRIV_FLAGS priv)
{
	DAT_REGION_DESCRIPTION desc;
	DAT_VADDR address;
	DAT_VLEN size;

	if (!region->buf) {
		region->buf = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (region->buf == MAP_FAILED) {
			region->buf = NULL;
			return DAT_INSUFFICIENT_RESOURCES;
		}
	}
	/* Not there yet: pinning has to fetch it. */
	madvise(region->buf, REGION, MADV_DONTNEED);
	region->len = REGION;
	desc.for_va = region->buf;
	return dat_lmr_create(s.p.ia, DAT_MEM_TYPE_VIRTUAL, desc, REGION,
			      s.p.a.pz, priv, &region->lmr,
			      &region->lmr_context, &region->rmr_context,
			      &size, &address);
}

/* In whatever way the memory has been registered in the end. */
static bool is_charged_for_both(void)
{
	long long charged = (is_there(s.a.lmr) + is_there(s.b.lmr)) *
			    (REGION / PAGE);

	if (charged_pages() == charged)
		return true;
	printf("# charged for %lld pages, not %lld\n", charged_pages(),
	       charged);
	return false;
}

static void undo_lmr(struct region *region)
{
	if (is_there(region->lmr)) {
		if (!is_charged_for_both())
			faults_broken = true;
		MUST(dat_lmr_free(region->lmr));
	}
	region->lmr = DAT_HANDLE_NULL;
	sweep();
}

static DAT_RETURN lmr_create_a(void)
{
	return lmr_create(&s.a, DAT_MEM_PRIV_ALL_FLAG);
}

static void undo_lmr_create_a(void)
{
	undo_lmr(&s.a);
}

/* To be read only: 6.1 pins such memory in another way. */
static DAT_RETURN lmr_create_ro(void)
{
	return lmr_create(&s.b, DAT_MEM_PRIV_LOCAL_READ_FLAG |
				DAT_MEM_PRIV_REMOTE_READ_FLAG);
}

static void undo_lmr_create_ro(void)
{
	undo_lmr(&s.b);
}

static DAT_RETURN lmr_create_b(void)
{
	if (is_there(s.b.lmr))
		undo_lmr(&s.b);
	return lmr_create(&s.b, DAT_MEM_PRIV_ALL_FLAG);
}

static DAT_RETURN lmr_query(void)
{
	DAT_LMR_PARAM param;

	return dat_lmr_query(s.a.lmr, DAT_LMR_FIELD_ALL, &param);
}

static DAT_RETURN sync_read(void)
{
	DAT_LMR_TRIPLET seg = segment(&s.a, 0, PAGE);

	return dat_lmr_sync_rdma_read(s.p.ia, &seg, 1);
}

static DAT_RETURN sync_write(void)
{
	DAT_LMR_TRIPLET seg = segment(&s.a, 0, PAGE);

	return dat_lmr_sync_rdma_write(s.p.ia, &seg, 1);
}

static DAT_RETURN rmr_create(void)
{
	return dat_rmr_create(s.p.a.pz, &s.rmr);
}

static void undo_rmr_create(void)
{
	if (is_there(s.rmr))
		MUST(dat_rmr_free(s.rmr));
	s.rmr = DAT_HANDLE_NULL;
	sweep();
}

static DAT_RETURN rmr_query(void)
{
	DAT_RMR_PARAM param;

	return dat_rmr_query(s.rmr, DAT_RMR_FIELD_ALL, &param);
}

static DAT_RETURN side_ep(struct side *side)
{
	static const DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
		.max_recv_dtos = 8,
		.max_request_dtos = 128,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
	};

	return dat_ep_create(s.p.ia, s.p.a.pz, side->dto_evd, side->dto_evd,
			     side->conn_evd, &attr, &side->ep);
}

static DAT_RETURN ep_create(void)
{
	return side_ep(&s.p.a);
}

static void undo_ep(void)
{
	if (is_there(s.p.a.ep))
		MUST(dat_ep_free(s.p.a.ep));
	s.p.a.ep = DAT_HANDLE_NULL;
	sweep();
}

static void undo_ep_create(void)
{
	undo_ep();
}

/* One without EVDs of its own gets some that nobody sees. */
static DAT_RETURN lonely_ep(void)
{
	return dat_ep_create(s.p.ia, s.p.a.pz, DAT_HANDLE_NULL,
			     DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL,
			     &s.p.a.ep);
}

static void undo_lonely_ep(void)
{
	undo_ep();
}

static DAT_RETURN other_ep(void)
{
	return side_ep(&s.p.b);
}

static DAT_RETURN ep_query(void)
{
	DAT_EP_PARAM param;

	return dat_ep_query(s.p.a.ep, DAT_EP_FIELD_ALL, &param);
}

static DAT_RETURN ep_get_status(void)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	return dat_ep_get_status(s.p.a.ep, &state, &recv_idle, &request_idle);
}

/*
 * The steps: a connection
 */

static DAT_RETURN connect_a(void)
{
	return dat_ep_connect(s.p.a.ep, (DAT_IA_ADDRESS_PTR)&s.addr, s.p.qual,
			      DAT_TIMEOUT_INFINITE, 5, "hello",
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* An EP that was freed may have left an event that comes but now. */
static DAT_RETURN connection_event(const struct side *side,
				   DAT_EVENT_NUMBER *number)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	do {
		ret = wait_event(side->conn_evd, &event);
		*number = event.event_number;
	} while (ret == DAT_SUCCESS &&
		 event.event_data.connect_event_data.ep_handle != side->ep);
	return ret;
}

static DAT_RETURN wait_connection(const struct side *side,
				  DAT_EVENT_NUMBER wanted)
{
	DAT_EVENT_NUMBER number;
	DAT_RETURN ret = connection_event(side, &number);

	if (ret == DAT_SUCCESS && number != wanted) {
		printf("# event %#x instead of %#x\n", number, wanted);
		ret = DAT_ABORT;
	}
	return ret;
}

static bool event_comes(const struct side *side)
{
	DAT_EVENT_NUMBER number;

	return connection_event(side, &number) == DAT_SUCCESS;
}

/* Either the request arrives, or the peer learns that it does not. */
static bool request_or_event_comes(void)
{
	unsigned int i;
	DAT_EVENT event;

	for (i = 0; i < PAIR_TIMEOUT / 1000; i++) {
		if (!dat_evd_dequeue(s.p.a.conn_evd, &event) &&
		    event.event_data.connect_event_data.ep_handle == s.p.a.ep)
			return true;
		if (!dat_evd_dequeue(s.p.cr_evd, &event)) {
			s.cr = event.event_data.cr_arrival_event_data.cr_handle;
			return true;
		}
		usleep(1000);
	}
	return false;
}

static DAT_RETURN request_comes(void)
{
	s.cr = DAT_HANDLE_NULL;
	return request_or_event_comes() && s.cr ? DAT_SUCCESS : DAT_ABORT;
}

static bool both_events_come(void)
{
	return event_comes(&s.p.a) && event_comes(&s.p.b);
}

static bool event_comes_to_a(void)
{
	return event_comes(&s.p.a);
}

static DAT_RETURN wait_cr(void)
{
	DAT_EVENT event;
	DAT_RETURN ret = wait_event(s.p.cr_evd, &event);

	if (ret == DAT_SUCCESS)
		s.cr = event.event_data.cr_arrival_event_data.cr_handle;
	return ret;
}

static DAT_RETURN cr_query(void)
{
	DAT_CR_PARAM param;

	return dat_cr_query(s.cr, DAT_CR_FIELD_ALL, &param);
}

static DAT_RETURN cr_accept(void)
{
	DAT_RETURN ret = dat_cr_accept(s.cr, s.p.b.ep, 3, "you");

	if (ret == DAT_SUCCESS)
		s.cr = DAT_HANDLE_NULL;
	return ret;
}

static DAT_RETURN cr_reject(void)
{
	DAT_RETURN ret = dat_cr_reject(s.cr);

	if (ret == DAT_SUCCESS)
		s.cr = DAT_HANDLE_NULL;
	return ret;
}

static DAT_RETURN established_a(void)
{
	return wait_connection(&s.p.a, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static DAT_RETURN established_b(void)
{
	return wait_connection(&s.p.b, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static DAT_RETURN rejected_a(void)
{
	DAT_EVENT_NUMBER number;

	/* On siw it may look as if the peer had hung up. */
	if (link_is_iwarp())
		return connection_event(&s.p.a, &number);
	return wait_connection(&s.p.a, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

static DAT_RETURN disconnected_a(void)
{
	return wait_connection(&s.p.a, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static DAT_RETURN disconnect_gracefully(void)
{
	return dat_ep_disconnect(s.p.a.ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN disconnect_abruptly(void)
{
	return dat_ep_disconnect(s.p.a.ep, DAT_CLOSE_ABRUPT_FLAG);
}

/*
 * The steps: traffic
 */

static DAT_RETURN recv_b(void)
{
	return post_recv(s.p.b.ep, &s.b, 0, 64, s.cookie);
}

static DAT_RETURN send_a(void)
{
	return post_send(s.p.a.ep, &s.a, 0, 64, s.cookie);
}

static DAT_RETURN write_a(void)
{
	return post_write(s.p.a.ep, &s.a, 0, 64, s.b.rmr_context, s.b.buf,
			  s.cookie);
}

static DAT_RETURN read_a(void)
{
	return post_read(s.p.a.ep, &s.a, 0, 64, s.b.rmr_context, s.b.buf,
			 s.cookie);
}

static DAT_RETURN bind_a(void)
{
	return bind_window(s.rmr, &s.a, 0, PAGE, DAT_MEM_PRIV_ALL_FLAG,
			   s.p.a.ep, s.cookie, DAT_COMPLETION_DEFAULT_FLAG,
			   &s.context);
}

static DAT_RETURN unbind_a(void)
{
	return bind_window(s.rmr, &s.a, 0, 0, DAT_MEM_PRIV_ALL_FLAG,
			   s.p.a.ep, s.cookie, DAT_COMPLETION_DEFAULT_FLAG,
			   &s.context);
}

/* Several pieces: the list of pages is made anew for each bind. */
static DAT_RETURN bind_large(void)
{
	return bind_window(s.rmr, &s.a, 1, REGION - 2, DAT_MEM_PRIV_ALL_FLAG,
			   s.p.a.ep, s.cookie, DAT_COMPLETION_DEFAULT_FLAG,
			   &s.context);
}

static DAT_RETURN completed(DAT_EVD_HANDLE evd)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *bound;
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_UINT64 cookie;
	DAT_EVENT event;
	DAT_RETURN ret;
	int status;

	do {
		ret = wait_event(evd, &event);
		if (ret != DAT_SUCCESS)
			return ret;
		dto = &event.event_data.dto_completion_event_data;
		bound = &event.event_data.rmr_completion_event_data;
		if (event.event_number == DAT_DTO_COMPLETION_EVENT) {
			cookie = dto->user_cookie.as_64;
			status = dto->status;
		} else {
			cookie = bound->user_cookie.as_64;
			status = bound->status;
		}
	} while (cookie != s.cookie);
	return status ? DAT_ABORT : DAT_SUCCESS;
}

static DAT_RETURN completed_a(void)
{
	return completed(s.p.a.dto_evd);
}

static DAT_RETURN completed_b(void)
{
	return completed(s.p.b.dto_evd);
}

/* Nothing is there, so it sleeps. */
static DAT_RETURN sleep_a(void)
{
	DAT_COUNT nmore;
	DAT_EVENT event;
	DAT_RETURN ret;

	ret = dat_evd_wait(s.p.a.dto_evd, 100, 1, &event, &nmore);
	return DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED ? DAT_SUCCESS : ret;
}

/* The EVD is not notified of everything, so it asks the kernel. */
static DAT_RETURN dequeue_a(void)
{
	DAT_EVENT event;
	DAT_RETURN ret = dat_evd_dequeue(s.p.a.dto_evd, &event);

	return DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY ? DAT_SUCCESS : ret;
}

static DAT_RETURN dequeue_many_a(void)
{
	DAT_LINUX_COMPLETION completions[4];
	DAT_COUNT num;
	DAT_RETURN ret = dat_linux_dequeue(s.p.a.dto_evd, 4, completions, &num);

	return DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY ? DAT_SUCCESS : ret;
}

/*
 * The steps: freeing things. Each undo makes it anew if it has gone.
 */

static DAT_RETURN rmr_free(void)
{
	return dat_rmr_free(s.rmr);
}

static void undo_rmr_free(void)
{
	if (!is_there(s.rmr))
		MUST(rmr_create());
}

static DAT_RETURN lmr_free(void)
{
	return dat_lmr_free(s.a.lmr);
}

static void undo_lmr_free(void)
{
	if (!is_there(s.a.lmr))
		MUST(lmr_create_a());
}

static DAT_RETURN psp_free(void)
{
	return dat_psp_free(s.p.psp);
}

static void undo_psp_free(void)
{
	if (!is_there(s.p.psp))
		MUST(psp_create());
}

static DAT_RETURN ep_free(void)
{
	return dat_ep_free(s.p.a.ep);
}

static void undo_ep_free(void)
{
	if (!is_there(s.p.a.ep))
		MUST(ep_create());
}

static DAT_RETURN dto_evd_free(void)
{
	return dat_evd_free(s.p.a.dto_evd);
}

static void undo_dto_evd_free(void)
{
	if (!is_there(s.p.a.dto_evd))
		MUST(dto_evd_create());
}

static DAT_RETURN conn_evd_free(void)
{
	return dat_evd_free(s.p.a.conn_evd);
}

static void undo_conn_evd_free(void)
{
	if (!is_there(s.p.a.conn_evd))
		MUST(conn_evd_create());
}

static DAT_RETURN free_others(void)
{
	DAT_RETURN ret = dat_ep_free(s.p.b.ep);

	if (ret == DAT_SUCCESS)
		ret = dat_lmr_free(s.b.lmr);
	if (ret == DAT_SUCCESS)
		ret = dat_evd_free(s.p.b.dto_evd);
	if (ret == DAT_SUCCESS)
		ret = dat_evd_free(s.p.b.conn_evd);
	if (ret == DAT_SUCCESS)
		ret = dat_evd_free(s.p.cr_evd);
	return ret;
}

static DAT_RETURN pz_free(void)
{
	return dat_pz_free(s.p.a.pz);
}

static void undo_pz_free(void)
{
	if (!is_there(s.p.a.pz))
		MUST(pz_create());
}

static DAT_RETURN close_gracefully(void)
{
	return dat_ia_close(s.p.ia, DAT_CLOSE_GRACEFUL_FLAG);
}

static void undo_close_gracefully(void)
{
	if (!is_there(s.p.ia))
		MUST(ia_open());
}

static DAT_RETURN close_abruptly(void)
{
	return dat_ia_close(s.p.ia, DAT_CLOSE_ABRUPT_FLAG);
}

typedef DAT_RETURN (*call_fn)(void);

static DAT_RETURN do_calls(const char *name, const call_fn *calls, size_t num)
{
	DAT_RETURN ret = DAT_SUCCESS;
	size_t i;

	for (i = 0; i < num && ret == DAT_SUCCESS; i++) {
		ret = calls[i]();
		if (ret != DAT_SUCCESS)
			printf("# %s, at %zu: %s\n", name, i, dat_str(ret));
	}
	return ret;
}

/* All that an IA can have: a connection, work under way, a window. */
static DAT_RETURN everything(void)
{
	static const call_fn all[] = {
		ia_open, ia_query, pz_create, dto_evd_create, conn_evd_create, other_evds,
		psp_create, lmr_create_a, lmr_create_b, rmr_create, ep_create, other_ep,
		connect_a, request_comes, cr_accept, established_a, established_b, bind_a,
		completed_a, recv_b, write_a,
	};

	s.b.lmr = DAT_HANDLE_NULL;
	return do_calls(__func__, all, ARRAY_LEN(all));
}

/* A whole life, to let verbs fail anywhere in it. */
static DAT_RETURN life(void)
{
	static const call_fn work[] = {
		completed_a, send_a, completed_a, completed_b, read_a, completed_a, bind_large,
		completed_a, unbind_a, completed_a, disconnect_gracefully, disconnected_a,
		rmr_free, ep_free, lmr_free, psp_free, close_abruptly,
	};

	return everything() ?: do_calls(__func__, work, ARRAY_LEN(work));
}

static void end_life(void)
{
	if (is_there(s.p.ia))
		MUST(close_abruptly());
	if (charged_pages()) {
		printf("# charged for %lld pages without an IA\n", charged_pages());
		faults_broken = true;
	}
}

static void undo_close_abruptly(void)
{
	if (!is_there(s.p.ia))
		MUST(everything());
}

/*
 * The session that goes through the library
 */

static void drain(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (!dat_evd_dequeue(evd, &event))
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle);
}

/* No connection, no EPs, no events. */
static DAT_RETURN reset(void)
{
	s.cookie++;
	if (is_there(s.p.a.ep))
		MUST(dat_ep_free(s.p.a.ep));
	if (is_there(s.p.b.ep))
		MUST(dat_ep_free(s.p.b.ep));
	if (is_there(s.cr))
		MUST(dat_cr_reject(s.cr));
	s.cr = DAT_HANDLE_NULL;
	drain(s.p.cr_evd);
	drain(s.p.a.conn_evd);
	drain(s.p.b.conn_evd);
	drain(s.p.a.dto_evd);
	drain(s.p.b.dto_evd);
	return DAT_SUCCESS;
}

static const struct step session[] = {
	{ "ia_open", ia_open, OBJECT, undo_ia_open, address_is_the_same,
	  MEMORY },
	LOOK(ia_query),
	LOOK(contexts),
	LOOK(handle_type),
	MAKE(pz_create),
	LOOK(pz_query),
	MAKE(dto_evd_create),
	MAKE(conn_evd_create),
	QUIET(other_evds),
	/*
	 * TCP calls a port in use that it has no memory for, and iWARP prepares
	 * for each request of the backlog.
	 */
	{ "psp_create", psp_create, OBJECT, undo_psp_create, NULL, MEMORY,
	  DAT_CONN_QUAL_IN_USE, .loops = true },
	/* The first of a PZ makes a QP. */
	{ "lmr_create_a", lmr_create_a, OBJECT, undo_lmr_create_a, NULL, MEMORY,
	  .spared = SIW | OLD_RXE },
	MAKE_MR(lmr_create_ro),
	QUIET(lmr_create_b),
	LOOK(lmr_query),
	LOOK(sync_read),
	LOOK(sync_write),
	MAKE_MR(rmr_create),
	LOOK(rmr_query),
	MAKE_QP(lonely_ep),

	BEGIN(reset),
	MAKE_QP(ep_create),
	QUIET(other_ep),
	LOOK(ep_query),
	LOOK(ep_get_status),
	DO(connect_a, request_or_event_comes),
	WAIT(wait_cr),
	LOOK(cr_query),
	/* siw_qp_readq_init() frees a queue and leaves it to be freed again. */
	{ "cr_accept", cr_accept, DONE, NULL, both_events_come, MEMORY,
	  .spared = SIW, .lone = true },
	WAIT(established_a),
	WAIT(established_b),
	WAIT(sleep_a),
	WAIT(dequeue_a),
	WAIT(dequeue_many_a),
	DO(recv_b, NULL),
	DO(send_a, NULL),
	WAIT(completed_a),
	WAIT(completed_b),
	DO(write_a, NULL),
	WAIT(completed_a),
	DO(read_a, NULL),
	WAIT(completed_a),
	DO(bind_a, NULL),
	WAIT(completed_a),
	DO(bind_large, NULL),
	WAIT(completed_a),
	DO(unbind_a, NULL),
	WAIT(completed_a),
	DO(disconnect_gracefully, event_comes_to_a),
	WAIT(disconnected_a),

	BEGIN(reset),
	QUIET(ep_create),
	QUIET(other_ep),
	QUIET(connect_a),
	QUIET(wait_cr),
	DO(cr_reject, request_or_event_comes),
	WAIT(rejected_a),

	BEGIN(reset),
	QUIET(ep_create),
	QUIET(other_ep),
	QUIET(connect_a),
	QUIET(wait_cr),
	QUIET(cr_accept),
	QUIET(established_a),
	QUIET(established_b),
	DO(disconnect_abruptly, event_comes_to_a),
	WAIT(disconnected_a),

	MAKE(rmr_free),
	MAKE(ep_free),
	MAKE(lmr_free),
	MAKE(psp_free),
	MAKE(dto_evd_free),
	MAKE(conn_evd_free),
	QUIET(free_others),
	MAKE(pz_free),
	MAKE(close_gracefully),
	QUIET(everything),
	MAKE(close_abruptly),
};

/*
 * The session without the library
 */

static struct {
	int fd;
	struct dat_dev_ia_open ia;
	struct dat_dev_evd_create evd;
	void *ring;
} raw = { .fd = -1 };

#define RING_BYTES	(sizeof(struct dat_dev_ring) + \
			 QLEN * sizeof(struct dat_dev_event))

static DAT_RETURN raw_reset(void)
{
	if (raw.ring)
		munmap(raw.ring, RING_BYTES);
	raw.ring = NULL;
	if (raw.fd >= 0)
		close(raw.fd);
	raw.fd = -1;
	return DAT_SUCCESS;
}

static DAT_RETURN raw_open(void)
{
	raw.fd = open("/dev/dat", O_RDWR);
	return raw.fd >= 0 ? DAT_SUCCESS : SYS(errno);
}

static DAT_RETURN raw_ia_open(void)
{
	memset(&raw.ia, 0, sizeof(raw.ia));
	raw.ia.size = sizeof(raw.ia);
	snprintf(raw.ia.name, sizeof(raw.ia.name), "%s", ia_name());
	raw.ia.dat_major = 1;
	raw.ia.dat_minor = 2;
	raw.ia.async_evd_qlen = 8;
	return ioctl(raw.fd, DAT_DEV_IA_OPEN, &raw.ia) ? SYS(errno) :
							 raw.ia.result;
}

static DAT_RETURN raw_evd_create(void)
{
	raw.evd = (struct dat_dev_evd_create){
		.size = sizeof(raw.evd),
		.ia = raw.ia.ia,
		.min_qlen = QLEN,
		.flags = DAT_EVD_DTO_FLAG,
	};
	return ioctl(raw.fd, DAT_DEV_EVD_CREATE, &raw.evd) ? SYS(errno) :
							     raw.evd.result;
}

static DAT_RETURN raw_mmap(void)
{
	void *ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			  raw.fd, raw.evd.evd * PAGE);

	if (ring == MAP_FAILED)
		return SYS(errno);
	raw.ring = ring;
	return DAT_SUCCESS;
}

static void undo_raw_mmap(void)
{
	munmap(raw.ring, RING_BYTES);
	raw.ring = NULL;
}

static DAT_RETURN raw_munmap(void)
{
	undo_raw_mmap();
	return DAT_SUCCESS;
}

/* The IA and the EVD go with the file. */
static DAT_RETURN raw_close(void)
{
	int fd = raw.fd;

	raw.fd = -1;
	return close(fd) ? SYS(errno) : DAT_SUCCESS;
}

static const struct step raw_session[] = {
	BEGIN(raw_reset),
	{ "raw_open", raw_open, DONE, NULL, NULL, SYS(ENOMEM) },
	DO(raw_ia_open, NULL),
	DO(raw_evd_create, NULL),
	{ "raw_mmap", raw_mmap, OBJECT, undo_raw_mmap, NULL, SYS(ENOMEM) },
	QUIET(raw_munmap),
	{ "raw_close", raw_close, DONE, NULL, NULL, MEMORY,
	  .few = true },
};

FAIL_NTH_FIXTURE(fail_nth)

TEST_SESSION(fail_nth, every_call_of_the_library_survives_every_fault, session, 150, 300)

TEST_F_TIMEOUT(fail_nth, raw_ioctls_survive_every_fault, FAIL_NTH_TIMEOUT)
{
	unsigned int least = is_quick() ? 25 : 50;

	EXPECT_TRUE(do_table(raw_session, ARRAY_LEN(raw_session), least));
	raw_reset();
}

/* Work items and handlers of kdapl make some of the calls: no other fault reaches them. */
TEST_F_TIMEOUT(fail_nth, verbs_that_fail_anywhere_leave_nothing, FAIL_NTH_TIMEOUT)
{
	unsigned int num, step = getenv("KDAPL_THOROUGH") ? 1 : 5;

	if (!verbs_can_fail())
		SKIP(return, "no faults of verbs: build with KDAPL_FAIL=1");
	num = do_anywhere(life, end_life, step);
	printf("# %u calls of verbs have failed\n", num);
	EXPECT_GE(num, 50 / step);
}

TEST_HARNESS_MAIN
