// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_test.c - EVDs of in-kernel consumers: parameters, resizing, freeing
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>

#include "kevd.h"
#include "kpair.h"
#include "report.h"

#define TIMEOUT	(20 * HZ)

static struct kpair pair;
static struct kregion a, b;

static bool open_connected(void)
{
	CHECK(kpair_reopen(&pair));
	CHECK(kpair_connect(&pair));
	CHECK(kregion_open(&pair, pair.a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK(kregion_open(&pair, pair.b.pz, &b, 4096, DAT_MEM_PRIV_ALL_FLAG));
	return true;
}

static void close_connected(void)
{
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
}

static bool evd_query_parameters(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EVD_PARAM param;

	CHECK(kpair_reopen(&pair));
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 5, NULL,
			   DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	CHECK_EQ((uintptr_t)pair.ia, (uintptr_t)param.ia_handle);
	CHECK_EQ(5, param.evd_qlen);
	CHECK_EQ(DAT_UPCALL_DISABLE, param.upcall_policy);
	CHECK_EQ(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG, param.evd_flags);
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_evd_query(evd, DAT_EVD_FIELD_ALL + 1, &param));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_evd_query(evd, DAT_EVD_FIELD_ALL, NULL));
	kpair_close(&pair);
	return true;
}

static void no_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
		      DAT_BOOLEAN more_events)
{
}

static bool evd_query_each_field(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EVD_PARAM param;
	DAT_EVD_PARAM_MASK bit;

	CHECK(kpair_reopen(&pair));
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 5, no_upcall, DAT_EVD_SOFTWARE_FLAG, &evd));
	for (bit = 1; bit & DAT_EVD_FIELD_ALL; bit <<= 1) {
		memset(&param, 0xa5, sizeof(param));
		CHECK_EQ(DAT_SUCCESS, dat_evd_query(evd, bit, &param));
		switch (bit) {
		case DAT_EVD_FIELD_IA_HANDLE:
			CHECK_EQ((uintptr_t)pair.ia,
				 (uintptr_t)param.ia_handle);
			break;
		case DAT_EVD_FIELD_EVD_QLEN:
			CHECK_EQ(5, param.evd_qlen);
			break;
		case DAT_EVD_FIELD_UPCALL_POLICY:
			CHECK_EQ(DAT_UPCALL_SINGLE_INSTANCE,
				 param.upcall_policy);
			break;
		case DAT_EVD_FIELD_UPCALL:
			CHECK_EQ((uintptr_t)no_upcall,
				 (uintptr_t)param.upcall.upcall_func);
			break;
		case DAT_EVD_FIELD_EVD_FLAGS:
			CHECK_EQ(DAT_EVD_SOFTWARE_FLAG, param.evd_flags);
			break;
		default:
			return false;
		}
	}
	kpair_close(&pair);
	return true;
}

/* Freed and forged handles, NULL, and handles of another type. */
static bool evd_bad_handles(void)
{
	DAT_EVD_HANDLE bad[5], evd;
	DAT_EVD_PARAM param;
	DAT_EVENT event;
	unsigned int i;

	CHECK(kpair_reopen(&pair));
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 5, NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));
	bad[0] = evd;
	bad[1] = DAT_HANDLE_NULL;
	bad[2] = (void *)0xdeadbeef;
	bad[3] = pair.a.ep;
	bad[4] = &event;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
			  dat_evd_query(bad[i], DAT_EVD_FIELD_ALL, &param));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
			  dat_evd_resize(bad[i], 5));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
			  kpost_se(bad[i], 1));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
			  dat_evd_dequeue(bad[i], &event));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
			  dat_evd_free(bad[i]));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
			  dat_evd_modify_upcall(bad[i], DAT_UPCALL_DISABLE,
						DAT_UPCALL_SAME, 0));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
			  dat_evd_modify_upcall(bad[i], DAT_UPCALL_TEARDOWN,
						DAT_UPCALL_SAME, 0));
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
			  dat_evd_flush_upcalls(bad[i]));
	}
	kpair_close(&pair);
	return true;
}

static bool post_se_order_and_limit(void)
{
	DAT_EVENT event = { .event_number = DAT_CONNECTION_EVENT_BROKEN };
	DAT_EVD_HANDLE evd, other;
	uintptr_t i;

	CHECK(kpair_reopen(&pair));
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 5, NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 5, NULL, DAT_EVD_CR_FLAG, &other));
	for (i = 1; i <= 5; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_se(evd, i));
	CHECK_RET(DAT_QUEUE_FULL, DAT_NO_SUBTYPE, kpost_se(evd, i));
	CHECK_EQ(1, knext_se(evd));
	/* The call also works in softirq. */
	local_bh_disable();
	i = kpost_se(evd, 6);
	local_bh_enable();
	CHECK_EQ(DAT_SUCCESS, i);
	for (i = 2; i <= 6; i++)
		CHECK_EQ(i, knext_se(evd));
	CHECK_EQ(-1, knext_se(evd));
	/* A rejected post is not an overflow. */
	msleep(20);
	CHECK_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(pair.async_evd, &event));

	event.event_number = DAT_CONNECTION_EVENT_BROKEN;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_evd_post_se(evd, &event));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_evd_post_se(evd, NULL));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1, kpost_se(other, 1));
	kpair_close(&pair);
	return true;
}

#define TAKERS	3
#define EVENTS	3000

static struct {
	DAT_EVD_HANDLE evd;
	atomic_t taken[EVENTS];
	atomic_t total;
	struct completion done;
} shared;

static int take(void *unused)
{
	unsigned long deadline = jiffies + TIMEOUT;
	long value;

	while (atomic_read(&shared.total) < EVENTS &&
	       time_before(jiffies, deadline)) {
		value = knext_se(shared.evd);
		if (value >= 0 && value < EVENTS) {
			atomic_inc(&shared.taken[value]);
			atomic_inc(&shared.total);
		}
		cond_resched();
	}
	complete(&shared.done);
	return 0;
}

static bool concurrent_dequeue_once(void)
{
	unsigned int i, running = 0;
	bool posted = true;

	CHECK(kpair_reopen(&pair));
	memset(&shared, 0, sizeof(shared));
	init_completion(&shared.done);
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, EVENTS, NULL, DAT_EVD_SOFTWARE_FLAG,
			   &shared.evd));
	for (i = 0; i < TAKERS; i++)
		running += !IS_ERR(kthread_run(take, NULL, "kdapl_take"));
	for (i = 0; i < EVENTS; i++)
		posted = !kpost_se(shared.evd, i) && posted;
	for (i = 0; i < running; i++)
		wait_for_completion(&shared.done);
	CHECK_EQ(TAKERS, running);
	CHECK(posted);
	for (i = 0; i < EVENTS; i++)
		CHECK_EQ(1, atomic_read(&shared.taken[i]));
	kpair_close(&pair);
	return true;
}

static bool resize_keeps_events(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EVD_PARAM param;
	uintptr_t in, out = 4;

	CHECK(kpair_reopen(&pair));
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 8, NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	/* Wrap around the end of the ring. */
	for (in = 1; in < 9; in++)
		CHECK_EQ(DAT_SUCCESS, kpost_se(evd, in));
	for (out = 1; out < 5; out++)
		CHECK_EQ(out, knext_se(evd));
	CHECK_EQ(DAT_SUCCESS, kpost_se(evd, in++));
	CHECK_RET(DAT_INVALID_STATE, DAT_NO_SUBTYPE, dat_evd_resize(evd, 4));
	CHECK_EQ(DAT_SUCCESS, dat_evd_query(evd, 0, &param));
	CHECK_EQ(8, param.evd_qlen);
	CHECK_EQ(DAT_SUCCESS, dat_evd_resize(evd, 5));
	CHECK_RET(DAT_QUEUE_FULL, DAT_NO_SUBTYPE, kpost_se(evd, in));
	CHECK_EQ(DAT_SUCCESS, dat_evd_resize(evd, 1000));
	CHECK_EQ(DAT_SUCCESS, dat_evd_query(evd, 0, &param));
	CHECK_EQ(1000, param.evd_qlen);
	for (; in < out + 1000; in++)
		CHECK_EQ(DAT_SUCCESS, kpost_se(evd, in));
	CHECK_RET(DAT_QUEUE_FULL, DAT_NO_SUBTYPE, kpost_se(evd, in));
	for (; out < in; out++)
		CHECK_EQ(out, knext_se(evd));
	CHECK_EQ(DAT_SUCCESS, dat_evd_resize(evd, 1));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_evd_resize(evd, 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_evd_resize(evd, -1));
	CHECK_EQ(DAT_INSUFFICIENT_RESOURCES,
		 DAT_GET_TYPE(dat_evd_resize(evd, INT_MAX)));
	kpair_close(&pair);
	return true;
}

static DAT_RETURN write_one(u64 cookie)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 8);
	DAT_RMR_TRIPLET remote = { (uintptr_t)b.buf, 8, b.rmr_context };
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_ep_post_rdma_write(pair.a.ep, 1, &seg, c, &remote,
				      DAT_COMPLETION_DEFAULT_FLAG);
}

/* Returns the cookie of the next successful DTO, or -1. */
static long next_dto(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (!kwait_event(evd, &event) ||
	    event.event_number != DAT_DTO_COMPLETION_EVENT ||
	    event.event_data.dto_completion_event_data.status)
		return -1;
	return event.event_data.dto_completion_event_data.user_cookie.as_64;
}

static bool resize_keeps_completions(void)
{
	unsigned int i, done = 0, size = 0;

	CHECK(open_connected());
	for (i = 0; i < 40; i++)
		CHECK_EQ(DAT_SUCCESS, write_one(i));
	/* Completions in the CQ count, although a CQ does not report their number. */
	for (i = 0; i < 100; i++) {
		if (dat_evd_resize(pair.a.dto_evd, 39))
			break;
		CHECK_EQ(DAT_SUCCESS, dat_evd_resize(pair.a.dto_evd, 256));
		msleep(20);
	}
	CHECK_RET(DAT_INVALID_STATE, DAT_NO_SUBTYPE,
		  dat_evd_resize(pair.a.dto_evd, 39));
	CHECK_EQ(DAT_SUCCESS, dat_evd_resize(pair.a.dto_evd, 40));
	for (i = 0; i < 40; i++)
		CHECK_EQ(i, next_dto(pair.a.dto_evd));

	/* Resize up and down while DTOs are outstanding. */
	for (i = 0; i < 2000; i++) {
		DAT_RETURN ret = write_one(i);

		if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES) {
			i--;
			CHECK_EQ(done, next_dto(pair.a.dto_evd));
			done++;
			continue;
		}
		CHECK_EQ(DAT_SUCCESS, ret);
		if (i % 50)
			continue;
		size ^= 1;
		ret = dat_evd_resize(pair.a.dto_evd, size ? 3000 : 300);
		/* Only too many completions may make the resize fail. */
		if (ret && !size && i - done >= 300)
			continue;
		CHECK_EQ(DAT_SUCCESS, ret);
	}
	while (done < i)
		CHECK_EQ(done++, next_dto(pair.a.dto_evd));
	close_connected();
	return true;
}

/* Calls that the upcalls below have recorded. */
static struct {
	struct completion done;
	atomic_t running;
	atomic_t calls;
	DAT_RETURN ret;
} seen;

static void dwell(DAT_PVOID instance_data, const DAT_EVENT *event,
		  DAT_BOOLEAN more_events)
{
	atomic_inc(&seen.running);
	complete(&seen.done);
	msleep(50);
	atomic_dec(&seen.running);
}

static void free_own_evd(DAT_PVOID instance_data, const DAT_EVENT *event,
			 DAT_BOOLEAN more_events)
{
	atomic_inc(&seen.calls);
	seen.ret = dat_evd_free(event->evd_handle);
	complete(&seen.done);
}

static bool evd_free_every_state(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;

	CHECK(open_connected());
	/* An EVD with event producers cannot be freed. */
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE,
		  dat_evd_free(pair.a.dto_evd));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE,
		  dat_evd_free(pair.a.conn_evd));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE,
		  dat_evd_free(pair.cr_evd));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE,
		  dat_evd_free(pair.async_evd));

	/* With events in the CQ and in the ring, and after a resize. */
	CHECK_EQ(DAT_SUCCESS, write_one(1));
	CHECK_EQ(DAT_SUCCESS, dat_evd_resize(pair.a.dto_evd, 700));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(pair.a.ep));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(pair.a.dto_evd));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(pair.a.conn_evd));
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 8, NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, kpost_se(evd, 1));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
		  dat_evd_dequeue(evd, &event));

	/* Freed by its own upcall, which is the last one. */
	atomic_set(&seen.calls, 0);
	init_completion(&seen.done);
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 8, NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, kpost_se(evd, 1));
	CHECK_EQ(DAT_SUCCESS, kpost_se(evd, 2));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE,
				       &(DAT_UPCALL_OBJECT){
						.upcall_func = free_own_evd },
				       DAT_UPCALL_INVOC_ANY));
	CHECK(wait_for_completion_timeout(&seen.done, TIMEOUT));
	CHECK_EQ(1, atomic_read(&seen.calls));
	CHECK_EQ(DAT_SUCCESS, seen.ret);
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1, kpost_se(evd, 3));

	/* Freed during upcalls: none runs after the call returns. */
	init_completion(&seen.done);
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 8, dwell, DAT_EVD_SOFTWARE_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, kpost_se(evd, 1));
	CHECK(wait_for_completion_timeout(&seen.done, TIMEOUT));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));
	CHECK_EQ(0, atomic_read(&seen.running));
	close_connected();
	return true;
}

/* The upcall may run before the call that sets it returns. */
static bool evd_free_in_first_upcall(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = free_own_evd };
	DAT_EVD_HANDLE evd;
	unsigned int i;

	CHECK(open_connected());
	for (i = 0; i < 200; i++) {
		init_completion(&seen.done);
		CHECK_EQ(DAT_SUCCESS,
			 kevd_make(&pair, 8, NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
		CHECK_EQ(DAT_SUCCESS, kpost_se(evd, 1));
		CHECK_EQ(DAT_SUCCESS,
			 dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
					       DAT_UPCALL_INVOC_ANY));
		CHECK(wait_for_completion_timeout(&seen.done, TIMEOUT));
		CHECK_EQ(DAT_SUCCESS, seen.ret);
	}
	close_connected();
	return true;
}

static void dwell_and_count(DAT_PVOID instance_data, const DAT_EVENT *event,
			    DAT_BOOLEAN more_events)
{
	dwell(instance_data, event, more_events);
	atomic_inc(&seen.calls);
}

static void flush_own_evd(DAT_PVOID instance_data, const DAT_EVENT *event,
			  DAT_BOOLEAN more_events)
{
	seen.ret = dat_evd_flush_upcalls(event->evd_handle);
	complete(&seen.done);
}

static bool flush_upcalls_waits(void)
{
	static const DAT_UPCALL_POLICY policies[] = {
		DAT_UPCALL_SINGLE_INSTANCE, DAT_UPCALL_MANY,
	};
	DAT_UPCALL_OBJECT upcall = { .upcall_func = dwell_and_count };
	DAT_EVD_HANDLE evd;
	unsigned int i, j;

	CHECK(open_connected());
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 8, NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	/* Without upcalls nothing is pending. */
	CHECK_EQ(DAT_SUCCESS, kpost_se(evd, 1));
	CHECK_EQ(DAT_SUCCESS, dat_evd_flush_upcalls(evd));
	atomic_set(&seen.calls, 0);
	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		init_completion(&seen.done);
		CHECK_EQ(DAT_SUCCESS,
			 dat_evd_modify_upcall(evd, policies[i], &upcall,
					       DAT_UPCALL_INVOC_ANY));
		for (j = 0; j < 4; j++)
			CHECK_EQ(DAT_SUCCESS, kpost_se(evd, 2 + j));
		CHECK_EQ(DAT_SUCCESS, dat_evd_flush_upcalls(evd));
		CHECK_EQ(0, atomic_read(&seen.running));
		CHECK_EQ(5 + 4 * i, atomic_read(&seen.calls));
	}

	/* The upcall would wait for itself. */
	init_completion(&seen.done);
	upcall.upcall_func = flush_own_evd;
	seen.ret = DAT_INTERNAL_ERROR;
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE,
				       &upcall, DAT_UPCALL_INVOC_ANY));
	CHECK_EQ(DAT_SUCCESS, kpost_se(evd, 6));
	CHECK(wait_for_completion_timeout(&seen.done, TIMEOUT));
	CHECK_EQ(DAT_SUCCESS, seen.ret);

	/* Without upcalls its completions stay. */
	CHECK_EQ(DAT_SUCCESS, dat_evd_flush_upcalls(pair.a.dto_evd));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));
	close_connected();
	return true;
}

/* One softirq polls a few hundred completions, and the kernel leaves the rest for later. */
#define MANY	16000

static void count_flushed(DAT_PVOID instance_data, const DAT_EVENT *event,
			  DAT_BOOLEAN more_events)
{
	if (event->event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED)
		atomic_inc(&seen.calls);
}

static bool flush_upcalls_of_completions(void)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = MANY,
		.max_request_dtos = 1,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	unsigned int i;

	CHECK(open_connected());
	CHECK_EQ(DAT_SUCCESS, kevd_make(&pair, MANY, count_flushed, DAT_EVD_DTO_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, dat_ep_create(pair.ia, pair.a.pz, evd, evd, pair.a.conn_evd,
					    &attr, &ep));
	for (i = 0; i < MANY; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_recv(ep, &a, 0, 8, i));
	atomic_set(&seen.calls, 0);
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep));
	CHECK_EQ(DAT_SUCCESS, dat_evd_flush_upcalls(evd));
	CHECK_EQ(MANY, atomic_read(&seen.calls));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));
	close_connected();
	return true;
}

/* An EP whose EVD is replaced and freed continues with the other EVD. */
static bool evd_free_after_ep_modify(void)
{
	DAT_EVD_HANDLE old;
	DAT_EP_PARAM param = {};

	CHECK(open_connected());
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 64, 1));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 64, 2));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 1));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 2));

	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	CHECK(kwait_number(pair.a.conn_evd,
			   DAT_CONNECTION_EVENT_DISCONNECTED));
	CHECK(kwait_number(pair.b.conn_evd,
			   DAT_CONNECTION_EVENT_DISCONNECTED));
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.a.ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.b.ep));
	old = pair.b.dto_evd;
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 64, NULL, DAT_EVD_DTO_FLAG, &pair.b.dto_evd));
	param.recv_evd_handle = pair.b.dto_evd;
	param.request_evd_handle = pair.b.dto_evd;
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_modify(pair.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE |
			       DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(old));

	CHECK(kpair_connect(&pair));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 64, 3));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 64, 4));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 3));
	close_connected();
	return true;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(evd_query_parameters),
	TEST(evd_query_each_field),
	TEST(evd_bad_handles),
	TEST(post_se_order_and_limit),
	TEST(concurrent_dequeue_once),
	TEST(resize_keeps_events),
	TEST(resize_keeps_completions),
	TEST(evd_free_every_state),
	TEST(evd_free_in_first_upcall),
	TEST(flush_upcalls_waits),
	TEST(flush_upcalls_of_completions),
	TEST(evd_free_after_ep_modify),
};

static int __init evd_test_init(void)
{
	int ret = report_open("kdapl_evd_test");

	if (ret)
		return ret;
	report_run("kdapl_evd_test", tests, ARRAY_SIZE(tests));
	/* Close the pair that a failed test has left open. */
	kpair_close(&pair);
	return 0;
}

static void __exit evd_test_exit(void)
{
	report_close();
}

module_init(evd_test_init);
module_exit(evd_test_exit);
MODULE_DESCRIPTION("Tests EVDs of in-kernel consumers");
MODULE_LICENSE("Dual BSD/GPL");
