// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rings.c - checks rings, waiters, handles, and iovs with a fake device
 *
 * This file replaces dev.c: it allocates the rings by malloc() and looks at what
 * the library passes to the kernel.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "libdat.h"
#include "check.h"

#define IA		100
#define ASYNC_EVD	101
#define FIRST		200
#define MAX_EVDS	4096
#define ENTRIES		8

static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fake_wake = PTHREAD_COND_INITIALIZER;
static struct dat_dev_ring *rings[MAX_EVDS];
static bool freed[MAX_EVDS];
static __u32 next_handle = FIRST;
static atomic_int calls, mapped, pulls;
static __u32 pull_brings, pull_evd;
static struct dat_dev_dto last_dto;
static struct dat_dev_segment last_segments[LIBDAT_MAX_IOV];
static __u64 synced;

DAT_RETURN libdat_open(void)
{
	return DAT_SUCCESS;
}

struct dat_dev_ring *libdat_map_ring(__u32 evd, __u32 entries)
{
	struct dat_dev_ring *ring;

	CHECK(evd < MAX_EVDS && entries == ENTRIES);
	ring = calloc(1, sizeof(*ring) + entries * sizeof(ring->events[0]));
	CHECK(ring);
	/* Begin just before the counters wrap. */
	ring->head = UINT32_MAX - 2;
	ring->tail = ring->head;
	pthread_mutex_lock(&fake_lock);
	rings[evd] = ring;
	freed[evd] = false;
	pthread_mutex_unlock(&fake_lock);
	mapped++;
	return ring;
}

void libdat_unmap_ring(struct dat_dev_ring *ring, __u32 entries)
{
	CHECK(entries == ENTRIES);
	mapped--;
	free(ring);
}

static void produce(__u32 evd, const struct dat_dev_event *event)
{
	struct dat_dev_ring *ring = rings[evd];

	pthread_mutex_lock(&fake_lock);
	CHECK(ring->tail - __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) <
	      ENTRIES);
	ring->events[ring->tail % ENTRIES] = *event;
	__atomic_store_n(&ring->tail, ring->tail + 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&fake_wake);
	pthread_mutex_unlock(&fake_lock);
}

static void produce_dto(__u32 evd, __u64 cookie)
{
	const struct dat_dev_event event = {
		.number = DAT_DTO_COMPLETION_EVENT,
		.handle = 7,
		.cookie = cookie,
		.length = 10,
	};

	produce(evd, &event);
}

static DAT_RETURN fake_wait(const struct dat_dev_evd_wait *arg)
{
	struct dat_dev_ring *ring = rings[arg->evd];
	DAT_RETURN ret = DAT_SUCCESS;
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)(arg->timeout % 500000) * 1000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;

	pthread_mutex_lock(&fake_lock);
	__atomic_store_n(&ring->waiting, 1, __ATOMIC_RELAXED);
	while (!freed[arg->evd] && ring->tail - ring->head < arg->threshold &&
	       !err)
		if (arg->timeout == DAT_TIMEOUT_INFINITE)
			pthread_cond_wait(&fake_wake, &fake_lock);
		else
			err = pthread_cond_timedwait(&fake_wake, &fake_lock,
						     &until);
	if (freed[arg->evd])
		ret = DAT_ERROR(DAT_ABORT, 0);
	else if (err)
		ret = DAT_ERROR(DAT_TIMEOUT_EXPIRED, 0);
	if (!freed[arg->evd])
		__atomic_store_n(&ring->waiting, 0, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&fake_wake);
	pthread_mutex_unlock(&fake_lock);
	return ret;
}

static void fake_post(const struct dat_dev_post *arg)
{
	struct dat_dev_dto *dto = (void *)(uintptr_t)arg->dtos;

	CHECK(arg->num_dtos == 1 && arg->dto_size == sizeof(*dto));
	memcpy(last_segments, (void *)(uintptr_t)dto->segments,
	       dto->num_segments * sizeof(*last_segments));
	dto->rmr_context = 77;
	last_dto = *dto;
}

static void fake_addr(struct dat_dev_addr *addr, __u32 host)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(host),
	};

	memcpy(addr->bytes, &in, sizeof(in));
}

static DAT_RETURN fake_free(__u32 evd)
{
	pthread_mutex_lock(&fake_lock);
	if (evd >= MAX_EVDS || !rings[evd] || freed[evd]) {
		pthread_mutex_unlock(&fake_lock);
		return DAT_ERROR(DAT_INVALID_HANDLE, 0);
	}
	freed[evd] = true;
	/* As in the kernel: no waiter reads the ring afterwards. */
	pthread_cond_broadcast(&fake_wake);
	pthread_mutex_unlock(&fake_lock);
	return DAT_SUCCESS;
}

DAT_RETURN libdat_call(unsigned long cmd, void *data)
{
	union {
		struct dat_dev_ia_open ia_open;
		struct dat_dev_ia_query ia_query;
		struct dat_dev_evd_create evd_create;
		struct dat_dev_evd_wait evd_wait;
		struct dat_dev_free free;
		struct dat_dev_ep_create ep_create;
		struct dat_dev_ep_query ep_query;
		struct dat_dev_cr_query cr_query;
		struct dat_dev_handle_query handle_query;
		struct dat_dev_lmr_sync lmr_sync;
	} *arg = data;

	calls++;
	switch (cmd) {
	case DAT_DEV_IA_OPEN:
		CHECK(!strcmp(arg->ia_open.name, "fake0"));
		arg->ia_open.ia = IA;
		arg->ia_open.async_evd = ASYNC_EVD;
		arg->ia_open.async_ring_entries = ENTRIES;
		return DAT_SUCCESS;
	case DAT_DEV_IA_QUERY:
		arg->ia_query.async_evd = ASYNC_EVD;
		arg->ia_query.max_eps = UINT32_MAX;
		arg->ia_query.evd_merging = UINT64_C(1) << (6 * 2 + 3);
		fake_addr(&arg->ia_query.ia_address, 0x0a000001);
		return DAT_SUCCESS;
	case DAT_DEV_EVD_CREATE:
		pthread_mutex_lock(&fake_lock);
		arg->evd_create.evd = next_handle++;
		pthread_mutex_unlock(&fake_lock);
		arg->evd_create.ring_entries = ENTRIES;
		return DAT_SUCCESS;
	case DAT_DEV_EVD_FREE:
		return fake_free(arg->free.handle);
	case DAT_DEV_EVD_WAIT:
		return fake_wait(data);
	case DAT_DEV_EVD_PULL:
		pulls++;
		pull_evd = arg->evd_wait.evd;
		while (pull_brings) {
			pull_brings--;
			produce_dto(pull_evd, 99);
		}
		return DAT_SUCCESS;
	case DAT_DEV_EP_CREATE:
		arg->ep_create.ep = 7;
		return DAT_SUCCESS;
	case DAT_DEV_EP_QUERY:
		arg->ep_query.ia = IA;
		arg->ep_query.private_data_size = 3;
		memcpy(arg->ep_query.private_data, "yes", 3);
		fake_addr(&arg->ep_query.remote_address, 0x0a000002);
		return DAT_SUCCESS;
	case DAT_DEV_CR_QUERY:
		arg->cr_query.private_data_size = 2;
		arg->cr_query.remote_port = 1234;
		memcpy(arg->cr_query.private_data, "hi", 2);
		return DAT_SUCCESS;
	case DAT_DEV_HANDLE_QUERY:
		arg->handle_query.type = 9;
		return DAT_SUCCESS;
	case DAT_DEV_LMR_SYNC:
		synced += arg->lmr_sync.num_segments;
		return DAT_SUCCESS;
	case DAT_DEV_POST:
		fake_post(data);
		return DAT_SUCCESS;
	default:
		return DAT_SUCCESS;
	}
}

static DAT_IA_HANDLE ia;

static DAT_EVD_HANDLE new_evd(void)
{
	DAT_EVD_HANDLE evd;

	CHECK(dat_evd_create(ia, ENTRIES, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			     &evd) == DAT_SUCCESS);
	return evd;
}

static void open_without_evd(void)
{
	DAT_EVD_HANDLE async = DAT_EVD_ASYNC_EXISTS;

	CHECK(dat_ia_open((char *)"fake0", 0, &async, &ia) == DAT_SUCCESS);
	CHECK(async == DAT_EVD_OUT_OF_SCOPE && mapped == 0);
	async = DAT_HANDLE_NULL;
	CHECK(dat_ia_query(ia, &async, 0, NULL, 0, NULL) == DAT_SUCCESS);
	CHECK(async == DAT_EVD_OUT_OF_SCOPE);
	CHECK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) == DAT_SUCCESS);
}

static void open_fake(void)
{
	DAT_EVD_HANDLE async = libdat_to_user(ASYNC_EVD);

	CHECK(dat_ia_open((char *)"fake0", 8, &async, &ia) ==
	      DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC));
	async = DAT_HANDLE_NULL;
	CHECK(dat_ia_open((char *)"fake0", -1, &async, &ia) == BAD_ARG(2));
	CHECK(dat_ia_open((char *)"RO_AWARE_fake0", 8, &async, &ia) ==
	      DAT_SUCCESS);
	CHECK(async == libdat_to_user(ASYNC_EVD));
}

static void check_ia_query(void)
{
	DAT_PROVIDER_ATTR provider = { .num_provider_specific_attr = 1 };
	DAT_EVD_HANDLE async;
	DAT_IA_ATTR attr;

	CHECK(dat_ia_query(ia, &async, 0, NULL, 0, NULL) == DAT_SUCCESS);
	CHECK(dat_ia_query(ia, &async, DAT_IA_FIELD_ALL, NULL, 0, NULL) ==
	      BAD_ARG(4));
	CHECK(dat_ia_query(ia, &async, DAT_IA_FIELD_ALL, &attr,
			   DAT_PROVIDER_FIELD_ALL, &provider) == DAT_SUCCESS);
	CHECK(attr.max_eps == INT_MAX);
	CHECK(attr.ia_address_ptr->sa_family == AF_INET);
	CHECK(provider.evd_stream_merging_supported[2][3] == DAT_TRUE);
	CHECK(provider.evd_stream_merging_supported[3][2] == DAT_FALSE);
	CHECK(!provider.num_provider_specific_attr);
}

static void check_dequeue(void)
{
	DAT_EVD_HANDLE evd = new_evd();
	__u32 handle = libdat_to_kernel(evd);
	DAT_EVENT event;
	int i, before = calls;

	CHECK(DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY);
	for (i = 0; i < ENTRIES; i++)
		produce_dto(handle, i);
	for (i = 0; i < ENTRIES; i++) {
		CHECK(dat_evd_dequeue(evd, &event) == DAT_SUCCESS);
		CHECK(event.event_number == DAT_DTO_COMPLETION_EVENT);
		CHECK(event.evd_handle == evd);
		CHECK(event.event_data.dto_completion_event_data
			      .user_cookie.as_64 == (DAT_UINT64)i);
		CHECK(event.event_data.dto_completion_event_data
			      .transfered_length == 10);
	}
	CHECK(DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY);
	CHECK(calls == before);

	CHECK(dat_evd_dequeue(evd, NULL) == BAD_ARG(2));
	CHECK(dat_evd_free(evd) == DAT_SUCCESS);
	CHECK(DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_INVALID_HANDLE);
	CHECK(DAT_GET_TYPE(dat_evd_dequeue(&event, &event)) ==
	      DAT_INVALID_HANDLE);
	CHECK(DAT_GET_TYPE(dat_evd_dequeue(NULL, &event)) ==
	      DAT_INVALID_HANDLE);
	CHECK(DAT_GET_TYPE(dat_evd_free(evd)) == DAT_INVALID_HANDLE);
}

static void check_wait(void)
{
	DAT_EVD_HANDLE evd = new_evd();
	__u32 handle = libdat_to_kernel(evd);
	DAT_EVENT event;
	DAT_COUNT nmore;
	int i, before;

	CHECK(dat_evd_wait(evd, 0, 0, &event, &nmore) == BAD_ARG(3));
	CHECK(dat_evd_wait(evd, 0, -1, &event, &nmore) == BAD_ARG(3));
	CHECK(dat_evd_wait(evd, 0, ENTRIES + 1, &event, &nmore) == BAD_ARG(3));
	CHECK(dat_evd_wait(evd, 0, 1, NULL, &nmore) == BAD_ARG(4));
	CHECK(dat_evd_wait(evd, 0, 1, &event, NULL) == BAD_ARG(5));

	for (i = 0; i < 3; i++)
		produce_dto(handle, i);
	nmore = -1;
	CHECK(DAT_GET_TYPE(dat_evd_wait(evd, 1000, 4, &event, &nmore)) ==
	      DAT_TIMEOUT_EXPIRED);
	CHECK(nmore == 3);
	before = calls;
	CHECK(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 3, &event, &nmore) ==
	      DAT_SUCCESS);
	CHECK(nmore == 2 && calls == before);
	CHECK(dat_evd_free(evd) == DAT_SUCCESS);
}

struct waiter {
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;
	DAT_COUNT nmore;
};

static void *wait_thread(void *data)
{
	struct waiter *waiter = data;
	DAT_EVENT event;

	waiter->ret = dat_evd_wait(waiter->evd, DAT_TIMEOUT_INFINITE, 2,
				   &event, &waiter->nmore);
	return NULL;
}

static void start_waiter(struct waiter *waiter, pthread_t *thread)
{
	struct dat_dev_ring *ring = rings[libdat_to_kernel(waiter->evd)];

	CHECK(!pthread_create(thread, NULL, wait_thread, waiter));
	while (!__atomic_load_n(&ring->waiting, __ATOMIC_RELAXED))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void check_waiter(void)
{
	struct waiter waiter = { .evd = new_evd() };
	__u32 handle = libdat_to_kernel(waiter.evd);
	const DAT_RETURN has_waiter = DAT_ERROR(DAT_INVALID_STATE,
						DAT_INVALID_STATE_EVD_WAITER);
	DAT_EVENT event;
	DAT_COUNT nmore;
	pthread_t thread;

	start_waiter(&waiter, &thread);
	produce_dto(handle, 1);
	CHECK(dat_evd_dequeue(waiter.evd, &event) == has_waiter);
	CHECK(dat_evd_wait(waiter.evd, 0, 1, &event, &nmore) == has_waiter);
	produce_dto(handle, 2);
	pthread_join(thread, NULL);
	CHECK(waiter.ret == DAT_SUCCESS && waiter.nmore == 1);
	CHECK(dat_evd_dequeue(waiter.evd, &event) == DAT_SUCCESS);

	/* Freeing it ends the wait. The fake reads its ring until then. */
	start_waiter(&waiter, &thread);
	libdat_free_call(DAT_DEV_EVD_FREE, libdat_to_kernel(waiter.evd));
	pthread_join(thread, NULL);
	CHECK(DAT_GET_TYPE(waiter.ret) == DAT_ABORT);
	libdat_object_remove(handle, LIBDAT_EVD);
}

static void check_pull(void)
{
	DAT_EP_ATTR attr = {
		.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
	};
	DAT_EVD_HANDLE recv = new_evd(), request = new_evd();
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	DAT_COUNT nmore;

	CHECK(dat_ep_create(ia, DAT_HANDLE_NULL, recv, request, DAT_HANDLE_NULL,
			    &attr, &ep) == DAT_SUCCESS);
	pull_brings = 2;
	CHECK(DAT_GET_TYPE(dat_evd_dequeue(recv, &event)) == DAT_QUEUE_EMPTY);
	CHECK(pulls == 0);
	CHECK(dat_evd_dequeue(request, &event) == DAT_SUCCESS);
	CHECK(pulls == 1 && pull_evd == libdat_to_kernel(request));
	CHECK(dat_evd_wait(request, 0, 2, &event, &nmore) ==
	      DAT_ERROR(DAT_INVALID_STATE,
			DAT_INVALID_STATE_EVD_CONFIG_NOTIFY));
	CHECK(dat_evd_wait(request, 0, 1, &event, &nmore) == DAT_SUCCESS);
	CHECK(pulls == 1);
	CHECK(DAT_GET_TYPE(dat_evd_dequeue(request, &event)) ==
	      DAT_QUEUE_EMPTY);
	CHECK(pulls == 2);

	attr.max_message_size = UINT64_C(1) << 32;
	CHECK(dat_ep_create(ia, DAT_HANDLE_NULL, recv, request, DAT_HANDLE_NULL,
			    &attr, &ep) == BAD_ARG(6));
	CHECK(dat_ep_free(ep) == DAT_SUCCESS);
	CHECK(dat_evd_free(recv) == DAT_SUCCESS);
	CHECK(dat_evd_free(request) == DAT_SUCCESS);
}

static void check_connection_events(void)
{
	const struct dat_dev_event arrival = {
		.number = DAT_CONNECTION_REQUEST_EVENT,
		.handle = 8, .cr = 9, .cookie = 4000,
	};
	const struct dat_dev_event established = {
		.number = DAT_CONNECTION_EVENT_ESTABLISHED,
		.handle = 7, .length = 3,
	};
	DAT_EVD_HANDLE evd = new_evd();
	__u32 handle = libdat_to_kernel(evd);
	DAT_CR_ARRIVAL_EVENT_DATA *cr_data;
	DAT_CONNECTION_EVENT_DATA *data;
	DAT_CR_PARAM cr_param;
	DAT_EP_PARAM ep_param;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;

	CHECK(dat_ep_create(ia, DAT_HANDLE_NULL, evd, evd, evd, NULL, &ep) ==
	      DAT_SUCCESS);
	produce(handle, &arrival);
	produce(handle, &established);

	CHECK(dat_evd_dequeue(evd, &event) == DAT_SUCCESS);
	cr_data = &event.event_data.cr_arrival_event_data;
	CHECK(cr_data->conn_qual == 4000);
	CHECK(cr_data->sp_handle.psp_handle == libdat_to_user(8));
	CHECK(cr_data->local_ia_address_ptr->sa_family == AF_INET);
	CHECK(dat_cr_query(cr_data->cr_handle, DAT_CR_FIELD_ALL, &cr_param) ==
	      DAT_SUCCESS);
	CHECK(cr_param.private_data_size == 2 &&
	      !memcmp(cr_param.private_data, "hi", 2));
	CHECK(cr_param.remote_port_qual == 1234);
	CHECK(dat_cr_accept(cr_data->cr_handle, ep, -1, NULL) == BAD_ARG(3));
	CHECK(dat_cr_accept(cr_data->cr_handle, ep, 1, NULL) == BAD_ARG(4));
	CHECK(dat_cr_accept(cr_data->cr_handle, ep, 0, NULL) == DAT_SUCCESS);
	CHECK(!libdat_object_lock(9, LIBDAT_CR));

	CHECK(dat_evd_dequeue(evd, &event) == DAT_SUCCESS);
	data = &event.event_data.connect_event_data;
	CHECK(data->ep_handle == ep && data->private_data_size == 3);
	CHECK(!memcmp(data->private_data, "yes", 3));
	CHECK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &ep_param) == DAT_SUCCESS);
	CHECK(ep_param.remote_ia_address_ptr->sa_family == AF_INET);
	/* The EP, the EVD and another CR are left for dat_ia_close(). */
	produce(handle, &arrival);
	CHECK(dat_evd_dequeue(evd, &event) == DAT_SUCCESS);
}

static void check_iov(void)
{
	DAT_LMR_TRIPLET iov[200] = { 0 };
	DAT_DTO_COOKIE cookie = { .as_64 = 5 };
	DAT_RMR_TRIPLET remote = {
		.rmr_context = 3, .target_address = 4, .segment_length = 5,
	};
	DAT_EP_HANDLE ep = libdat_to_user(7);
	DAT_RMR_CONTEXT context = 0;
	DAT_HANDLE_TYPE type;
	int i;

	for (i = 0; i < 200; i++) {
		iov[i].lmr_context = 1000 + i;
		iov[i].virtual_address = 2000 + i;
		iov[i].segment_length = i == 1 ? 0 : 3000 + i;
	}
	for (i = 1; i <= 20; i += 19) {
		CHECK(dat_ep_post_send(ep, i, iov, cookie,
				       DAT_COMPLETION_DEFAULT_FLAG) ==
		      DAT_SUCCESS);
		CHECK(last_dto.num_segments == (i == 1 ? 1U : 19U));
		CHECK(last_segments[0].lmr_context == 1000);
		CHECK(last_segments[0].virtual_address == 2000);
		CHECK(last_segments[0].length == 3000);
	}
	CHECK(last_segments[1].lmr_context == 1002);
	CHECK(last_dto.opcode == DAT_DEV_SEND && last_dto.cookie == 5);
	CHECK(dat_ep_post_rdma_write(ep, 0, NULL, cookie, &remote,
				     DAT_COMPLETION_DEFAULT_FLAG) ==
	      DAT_SUCCESS);
	CHECK(last_dto.remote_context == 3 && last_dto.remote_address == 4 &&
	      last_dto.remote_length == 5);

	CHECK(dat_ep_post_recv(ep, -1, iov, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG) == BAD_ARG(2));
	CHECK(dat_ep_post_recv(ep, LIBDAT_MAX_IOV + 1, iov, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG) == BAD_ARG(2));
	CHECK(dat_ep_post_recv(ep, 1, NULL, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG) == BAD_ARG(3));
	iov[19].segment_length = UINT64_C(1) << 32;
	CHECK(dat_ep_post_recv(ep, 20, iov, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG) == BAD_ARG(3));
	remote.segment_length = UINT64_C(1) << 32;
	CHECK(dat_ep_post_rdma_read(ep, 1, iov, cookie, &remote,
				    DAT_COMPLETION_DEFAULT_FLAG) == BAD_ARG(5));
	iov[19].segment_length = 1;

	CHECK(dat_lmr_sync_rdma_write(ia, iov, 200) == DAT_SUCCESS);
	CHECK(synced == 199);
	CHECK(dat_lmr_sync_rdma_write(ia, NULL, 1) == BAD_ARG(2));
	CHECK(dat_lmr_sync_rdma_write(ia, iov, UINT64_MAX) == BAD_ARG(3));
	CHECK(dat_lmr_sync_rdma_read(ia, NULL, 0) == DAT_SUCCESS);

	CHECK(dat_rmr_bind(libdat_to_user(11), iov,
			   (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_REMOTE_READ_FLAG |
						DAT_MEM_PRIV_RO_DISABLE_FLAG),
			   ep, cookie, DAT_COMPLETION_DEFAULT_FLAG,
			   &context) == DAT_SUCCESS);
	CHECK(context == 77 && last_dto.rmr == 11 &&
	      last_dto.privileges == DAT_MEM_PRIV_REMOTE_READ_FLAG);

	CHECK(dat_get_handle_type(ep, &type) == DAT_SUCCESS);
	CHECK(type == DAT_HANDLE_TYPE_SRQ);
}

static atomic_uintptr_t victim;
static atomic_bool stop;

static void *dequeue_thread(void *unused)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	while (!stop) {
		ret = dat_evd_dequeue((DAT_EVD_HANDLE)atomic_load(&victim),
				      &event);
		CHECK(ret == DAT_SUCCESS ||
		      DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY ||
		      DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE);
	}
	return unused;
}

static void check_free_while_in_use(void)
{
	pthread_t threads[3];
	DAT_EVD_HANDLE evd;
	size_t i;
	int n;

	for (i = 0; i < ARRAY_SIZE(threads); i++)
		CHECK(!pthread_create(&threads[i], NULL, dequeue_thread, NULL));
	for (n = 0; n < 2000; n++) {
		evd = new_evd();
		produce_dto(libdat_to_kernel(evd), 1);
		atomic_store(&victim, (uintptr_t)evd);
		produce_dto(libdat_to_kernel(evd), 2);
		CHECK(dat_evd_free(evd) == DAT_SUCCESS);
	}
	stop = true;
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	open_without_evd();
	open_fake();
	check_ia_query();
	check_dequeue();
	check_wait();
	check_waiter();
	check_pull();
	check_connection_events();
	check_iov();
	check_free_while_in_use();

	CHECK(mapped == 2);
	CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	CHECK(mapped == 0);
	CHECK(!libdat_object_lock(7, LIBDAT_EP));
	CHECK(!libdat_object_lock(9, LIBDAT_CR));
	return 0;
}
