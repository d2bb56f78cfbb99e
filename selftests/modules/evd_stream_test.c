// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_stream_test.c - event streams of an EVD: all in one EVD, and overflow
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/module.h>

#include "kevd.h"
#include "kpair.h"
#include "report.h"

#define TIMEOUT		(20 * HZ)
#define ALL_FLAGS	(DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG)
/* A qualifier without a listener. */
#define DEAD_QUAL	4799

static struct kpair pair;
static DAT_IA_HANDLE second_ia;
static struct kregion a, b;
static DAT_IA_ATTR attr;

static void close_ias(void)
{
	if (second_ia)
		dat_ia_close(second_ia, DAT_CLOSE_ABRUPT_FLAG);
	second_ia = DAT_HANDLE_NULL;
	kpair_close(&pair);
}

/* Opens the pair, also if a failed test has left it open. */
static bool open_pair(void)
{
	close_ias();
	return kpair_open(&pair);
}

static DAT_RETURN connect_to(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual)
{
	DAT_RETURN ret = dat_ia_query(pair.ia, NULL,
				      DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0,
				      NULL);

	return ret ?: dat_ep_connect(ep, attr.ia_address_ptr, qual,
				     DAT_TIMEOUT_INFINITE, 0, NULL,
				     DAT_QOS_BEST_EFFORT,
				     DAT_CONNECT_DEFAULT_FLAG);
}

/*
 * Overflows an EVD with room for one connection event: two EPs fail to
 * connect.
 */
static bool make_overflow(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *evd)
{
	DAT_EP_HANDLE ep[2];
	DAT_PZ_HANDLE pz;
	DAT_EP_STATE state;
	unsigned int i;

	CHECK_EQ(DAT_SUCCESS, dat_pz_create(ia, &pz));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(ia, 1, DAT_UPCALL_DISABLE, NULL,
				 DAT_EVD_CONNECTION_FLAG, evd));
	for (i = 0; i < 2; i++) {
		unsigned long deadline = jiffies + TIMEOUT;

		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_create(ia, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				       *evd, NULL, &ep[i]));
		CHECK_EQ(DAT_SUCCESS, connect_to(ep[i], DEAD_QUAL));
		do {
			CHECK(time_before(jiffies, deadline));
			usleep_range(2000, 4000);
			dat_ep_get_status(ep[i], &state, NULL, NULL);
		} while (state != DAT_EP_STATE_DISCONNECTED);
	}
	for (i = 0; i < 2; i++)
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep[i]));
	return true;
}

static bool is_overflow_of(DAT_EVD_HANDLE async_evd, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	CHECK(kwait_event(async_evd, &event));
	CHECK_EQ(DAT_ASYNC_ERROR_EVD_OVERFLOW, event.event_number);
	CHECK_EQ((uintptr_t)evd, (uintptr_t)
		 event.event_data.asynch_error_event_data.dat_handle);
	CHECK_EQ(DAT_EVD_OVERFLOW_ERROR,
		 event.event_data.asynch_error_event_data.reason);
	return true;
}

static bool evd_overflow_reported(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;

	CHECK(open_pair());
	CHECK(make_overflow(pair.ia, &evd));
	CHECK(is_overflow_of(pair.async_evd, evd));
	/* Reported once, and the queued event remains. */
	msleep(20);
	CHECK_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(pair.async_evd, &event));
	CHECK_EQ(DAT_SUCCESS, dat_evd_dequeue(evd, &event));
	CHECK_EQ(kpair_is_siw() ? DAT_CONNECTION_EVENT_PEER_REJECTED :
				  DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
		 event.event_number);
	CHECK_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(evd, &event));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));
	kpair_close(&pair);
	return true;
}

/* The asynchronous EVD, which reports overflows, can itself overflow. */
static bool async_evd_overflow_reported(void)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL, evd[3];
	DAT_EVENT event;
	unsigned int i;

	CHECK(open_pair());
	CHECK_EQ(DAT_SUCCESS, dat_ia_open(kpair_ia, 1, &async_evd, &second_ia));
	for (i = 0; i < 3; i++)
		CHECK(make_overflow(second_ia, &evd[i]));
	msleep(50);
	CHECK(is_overflow_of(async_evd, evd[0]));
	CHECK(is_overflow_of(async_evd, async_evd));
	CHECK_EQ(DAT_QUEUE_EMPTY, dat_evd_dequeue(async_evd, &event));
	/* It works as before. */
	CHECK(make_overflow(second_ia, &evd[0]));
	CHECK(is_overflow_of(async_evd, evd[0]));
	close_ias();
	return true;
}

/* Streams whose events came, and whether each stream came in order. */
static struct {
	unsigned int seen;
	long next_dto, next_bind, next_se;
	bool in_order;
	DAT_CR_HANDLE cr;
} merged;

static void take_in_turn(long *next, u64 value)
{
	if (*next != value)
		merged.in_order = false;
	*next = value + 1;
}

static void sort_event(const DAT_EVENT *event)
{
	const DAT_EVENT_DATA *data = &event->event_data;

	switch (event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		merged.seen |= DAT_EVD_DTO_FLAG;
		take_in_turn(&merged.next_dto,
			     data->dto_completion_event_data.user_cookie.as_64);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		merged.seen |= DAT_EVD_RMR_BIND_FLAG;
		take_in_turn(&merged.next_bind,
			     data->rmr_completion_event_data.user_cookie.as_64);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		merged.seen |= DAT_EVD_CR_FLAG;
		merged.cr = data->cr_arrival_event_data.cr_handle;
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		merged.seen |= DAT_EVD_CONNECTION_FLAG;
		break;
	case DAT_ASYNC_ERROR_EVD_OVERFLOW:
		merged.seen |= DAT_EVD_ASYNC_FLAG;
		break;
	case DAT_SOFTWARE_EVENT:
		merged.seen |= DAT_EVD_SOFTWARE_FLAG;
		take_in_turn(&merged.next_se,
			     (uintptr_t)data->software_event_data.pointer);
		break;
	default:
		report("# event %#x\n", event->event_number);
		merged.in_order = false;
	}
}

static bool sort_until(DAT_EVD_HANDLE evd, unsigned int flags)
{
	DAT_EVENT event;

	while ((merged.seen & flags) != flags) {
		CHECK(kwait_event(evd, &event));
		sort_event(&event);
	}
	return true;
}

#define ROUNDS	30

static bool all_streams_in_one_evd(void)
{
	DAT_EVD_HANDLE evd, small;
	DAT_EP_HANDLE ep;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	unsigned int i;

	memset(&merged, 0, sizeof(merged));
	merged.in_order = true;
	CHECK(open_pair());
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(pair.ia, 256, DAT_UPCALL_DISABLE, NULL,
				 ALL_FLAGS, &evd));
	small = evd;
	CHECK_EQ(DAT_SUCCESS, dat_ia_open(kpair_ia, 8, &small, &second_ia));
	CHECK_EQ((uintptr_t)evd, (uintptr_t)small);
	CHECK_EQ(DAT_SUCCESS, dat_psp_create(pair.ia, KPAIR_QUAL + 1, evd,
					     DAT_PSP_CONSUMER_FLAG, &psp));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create(pair.ia, pair.a.pz, evd, evd, evd, NULL, &ep));
	CHECK_EQ(DAT_SUCCESS, connect_to(ep, KPAIR_QUAL + 1));
	CHECK(sort_until(evd, DAT_EVD_CR_FLAG));
	CHECK_EQ(DAT_SUCCESS, dat_cr_accept(merged.cr, pair.b.ep, 0, NULL));
	CHECK(sort_until(evd, DAT_EVD_CONNECTION_FLAG));
	CHECK(make_overflow(second_ia, &small));
	CHECK(sort_until(evd, DAT_EVD_ASYNC_FLAG));

	CHECK(kregion_open(&pair, pair.a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK(kregion_open(&pair, pair.b.pz, &b, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.a.pz, &rmr));
	for (i = 0; i < ROUNDS; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, i));
	for (i = 0; i < ROUNDS; i++) {
		CHECK_EQ(DAT_SUCCESS, kpost_send(ep, &a, 0, 8, i));
		/* An RMR can have one outstanding bind. */
		while (merged.next_bind < i) {
			CHECK(kwait_event(evd, &event));
			sort_event(&event);
		}
		CHECK_EQ(DAT_SUCCESS,
			 kbind(rmr, &a, i, 64, KREMOTE_ALL, ep, i,
			       DAT_COMPLETION_DEFAULT_FLAG, &context));
		CHECK_EQ(DAT_SUCCESS, kpost_se(evd, i));
	}
	while (merged.next_dto < ROUNDS || merged.next_bind < ROUNDS ||
	       merged.next_se < ROUNDS) {
		CHECK(kwait_event(evd, &event));
		sort_event(&event);
	}
	CHECK_EQ(ALL_FLAGS, merged.seen);
	CHECK(merged.in_order);
	close_ias();
	kregion_close(&a);
	kregion_close(&b);
	return true;
}

/* Results of the upcalls below. */
static struct {
	struct completion done;
	DAT_RETURN disconnected;
	DAT_RETURN freed[8];
	atomic_t calls;
} did;

static void disconnect_then_free(DAT_PVOID instance_data,
				 const DAT_EVENT *event,
				 DAT_BOOLEAN more_events)
{
	DAT_EP_HANDLE ep = event->event_data.connect_event_data.ep_handle;

	switch (event->event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		did.disconnected = dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		did.freed[0] = dat_ep_free(ep);
		did.freed[1] = dat_evd_free(pair.a.dto_evd);
		did.freed[2] = dat_evd_free(event->evd_handle);
		did.freed[3] = dat_pz_free(pair.a.pz);
		complete(&did.done);
		break;
	default:
		did.disconnected = -1;
		complete(&did.done);
	}
}

static bool upcall_disconnects_and_frees(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = disconnect_then_free };
	DAT_EVENT event;
	unsigned int i;

	memset(&did, 0, sizeof(did));
	init_completion(&did.done);
	CHECK(open_pair());
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(pair.a.conn_evd,
				       DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				       DAT_UPCALL_INVOC_NEW));
	CHECK_EQ(DAT_SUCCESS, connect_to(pair.a.ep, KPAIR_QUAL));
	CHECK(kwait_event(pair.cr_evd, &event));
	CHECK_EQ(DAT_SUCCESS,
		 dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			       pair.b.ep, 0, NULL));
	CHECK(wait_for_completion_timeout(&did.done, TIMEOUT));
	CHECK_EQ(DAT_SUCCESS, did.disconnected);
	for (i = 0; i < 4; i++)
		CHECK_EQ(DAT_SUCCESS, did.freed[i]);
	kpair_close(&pair);
	return true;
}

static struct {
	DAT_RMR_HANDLE rmr;
	DAT_EVD_HANDLE evd;
} victims;

static void free_others(DAT_PVOID instance_data, const DAT_EVENT *event,
			DAT_BOOLEAN more_events)
{
	did.freed[0] = dat_rmr_free(victims.rmr);
	did.freed[1] = dat_ep_free(pair.a.ep);
	did.freed[2] = dat_lmr_free(a.lmr);
	did.freed[3] = dat_evd_free(pair.a.dto_evd);
	did.freed[4] = dat_psp_free(pair.psp);
	did.freed[5] = dat_evd_free(victims.evd);
	did.freed[6] = dat_evd_free(pair.a.conn_evd);
	did.freed[7] = dat_pz_free(pair.a.pz);
	complete(&did.done);
}

static void do_nothing(DAT_PVOID instance_data, const DAT_EVENT *event,
		       DAT_BOOLEAN more_events)
{
	atomic_inc(&did.calls);
}

static bool upcall_frees_all_objects(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = free_others };
	DAT_UPCALL_OBJECT nothing = { .upcall_func = do_nothing };
	DAT_EVD_HANDLE evd;
	unsigned int i;

	memset(&did, 0, sizeof(did));
	init_completion(&did.done);
	CHECK(open_pair());
	CHECK(kpair_connect(&pair));
	CHECK(kregion_open(&pair, pair.a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pair.a.pz, &victims.rmr));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(pair.ia, 8, DAT_UPCALL_MANY, &nothing,
				 DAT_EVD_SOFTWARE_FLAG, &victims.evd));
	CHECK_EQ(DAT_SUCCESS, kpost_se(victims.evd, 1));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(pair.ia, 8, DAT_UPCALL_SINGLE_INSTANCE,
				 &upcall, DAT_EVD_SOFTWARE_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.a.ep, &a, 0, 8, 1));
	CHECK_EQ(DAT_SUCCESS, kpost_se(evd, 1));
	CHECK(wait_for_completion_timeout(&did.done, TIMEOUT));
	for (i = 0; i < 8; i++)
		CHECK_EQ(DAT_SUCCESS, did.freed[i]);
	kpair_close(&pair);
	kregion_close(&a);
	return true;
}

/* In softirq: passes the event to an upcall that may sleep, and disables itself. */
static void hand_over(DAT_PVOID instance_data, const DAT_EVENT *event,
		      DAT_BOOLEAN more_events)
{
	atomic_inc(&did.calls);
	did.freed[0] = dat_evd_modify_upcall(event->evd_handle,
					     DAT_UPCALL_DISABLE,
					     DAT_UPCALL_SAME,
					     DAT_UPCALL_INVOC_NEW);
	did.freed[1] = kpost_se(victims.evd, 1);
}

static void in_process(DAT_PVOID instance_data, const DAT_EVENT *event,
		       DAT_BOOLEAN more_events)
{
	might_sleep();
	complete(&did.done);
}

static bool softirq_upcall_defers_to_process(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = hand_over };
	DAT_UPCALL_OBJECT process = { .upcall_func = in_process };

	memset(&did, 0, sizeof(did));
	init_completion(&did.done);
	CHECK(open_pair());
	CHECK(kpair_connect(&pair));
	CHECK(kregion_open(&pair, pair.a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK(kregion_open(&pair, pair.b.pz, &b, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(pair.ia, 8, DAT_UPCALL_SINGLE_INSTANCE,
				 &process, DAT_EVD_SOFTWARE_FLAG,
				 &victims.evd));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(pair.b.dto_evd,
				       DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				       DAT_UPCALL_INVOC_NEW));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, 1));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 8, 2));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 8, 1));
	CHECK(wait_for_completion_timeout(&did.done, TIMEOUT));
	CHECK_EQ(DAT_SUCCESS, did.freed[0]);
	CHECK_EQ(DAT_SUCCESS, did.freed[1]);
	/* The next event waits to be dequeued. */
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 8, 2));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 2));
	CHECK_EQ(1, atomic_read(&did.calls));
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	return true;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(all_streams_in_one_evd),
	TEST(evd_overflow_reported),
	TEST(async_evd_overflow_reported),
	TEST(upcall_disconnects_and_frees),
	TEST(upcall_frees_all_objects),
	TEST(softirq_upcall_defers_to_process),
};

static int __init evd_stream_test_init(void)
{
	int ret = report_open("kdapl_evd_stream_test");

	if (ret)
		return ret;
	report_run("kdapl_evd_stream_test", tests, ARRAY_SIZE(tests));
	/* Close the IAs that a failed test has left open. */
	close_ias();
	return 0;
}

static void __exit evd_stream_test_exit(void)
{
	report_close();
}

module_init(evd_stream_test_init);
module_exit(evd_stream_test_exit);
MODULE_DESCRIPTION("Tests what feeds the EVDs of in-kernel consumers");
MODULE_LICENSE("Dual BSD/GPL");
