// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cm_test.c - connections that end while other threads wait for them
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/rdma_cm.h>

#include "kpair.h"
#include "report.h"

#define QUAL	(KPAIR_QUAL + 1)
#define LIMIT	(30 * HZ)

static unsigned int connections = 64;
module_param(connections, uint, 0444);
MODULE_PARM_DESC(connections, "how many end at the same time");

static bool measure;
module_param(measure, bool, 0444);
MODULE_PARM_DESC(measure, "do nothing but to tell how long that takes");

static struct kpair pair;

static DAT_IA_ADDRESS_PTR address(void)
{
	static DAT_IA_ATTR attr;

	if (dat_ia_query(pair.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0,
			 NULL))
		return NULL;
	return attr.ia_address_ptr;
}

static DAT_RETURN connect_to(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR to,
			     DAT_CONN_QUAL qual, DAT_TIMEOUT timeout)
{
	return dat_ep_connect(ep, to, qual, timeout, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/*
 * Frees an RSP whose request has arrived while the gate of its IA is closed. The closing
 * thread waits for a call, the call for an upcall, and the upcall frees the RSP.
 */
static struct {
	DAT_EVD_HANDLE evd;
	DAT_RSP_HANDLE rsp;
	DAT_EP_HANDLE second;
	DAT_IA_ADDRESS_PTR to;
	DAT_RETURN freed;
	bool requested;
	struct completion in_upcall;
	struct completion gate_is_closed;
	struct completion done;
} gate;

/* One of two requests is rejected, so the other has arrived. */
static bool request_has_come(void)
{
	DAT_EVENT event;

	return !connect_to(pair.a.ep, gate.to, QUAL, DAT_TIMEOUT_INFINITE) &&
	       !connect_to(gate.second, gate.to, QUAL, DAT_TIMEOUT_INFINITE) &&
	       kwait_event(pair.a.conn_evd, &event) &&
	       event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED;
}

static void free_rsp(DAT_PVOID instance, const DAT_EVENT *event,
		     DAT_BOOLEAN more)
{
	complete(&gate.in_upcall);
	wait_for_completion(&gate.gate_is_closed);
	gate.requested = request_has_come();
	gate.freed = dat_rsp_free(gate.rsp);
	complete(&gate.done);
}

static int tear_down(void *unused)
{
	return dat_evd_modify_upcall(gate.evd, DAT_UPCALL_TEARDOWN, NULL,
				     DAT_UPCALL_INVOC_NEW);
}

static int close_gracefully(void *unused)
{
	return dat_ia_close(pair.ia, DAT_CLOSE_GRACEFUL_FLAG);
}

/* Starts a thread and waits until it sleeps. */
static struct task_struct *start_waiting(int (*fn)(void *data))
{
	struct task_struct *task = kthread_create(fn, NULL, "kdapl_cm_test");
	unsigned long deadline = jiffies + LIMIT;
	int seen = 0;

	if (IS_ERR(task))
		return NULL;
	get_task_struct(task);
	wake_up_process(task);
	while (seen < 10 && time_before(jiffies, deadline)) {
		seen = READ_ONCE(task->__state) & TASK_UNINTERRUPTIBLE ?
		       seen + 1 : 0;
		usleep_range(2000, 3000);
	}
	return task;
}

static int result_of(struct task_struct *task)
{
	int ret = kthread_stop(task);

	put_task_struct(task);
	return ret;
}

static bool set_up_gate(void)
{
	static const DAT_UPCALL_OBJECT upcall = { .upcall_func = free_rsp };
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	init_completion(&gate.in_upcall);
	init_completion(&gate.gate_is_closed);
	init_completion(&gate.done);
	gate.to = address();
	CHECK(gate.to);
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(pair.ia, 8,
					      DAT_UPCALL_SINGLE_INSTANCE,
					      &upcall, DAT_EVD_SOFTWARE_FLAG,
					      &gate.evd));
	CHECK_EQ(DAT_SUCCESS, dat_ep_create(pair.ia, pair.a.pz, pair.a.dto_evd,
					    pair.a.dto_evd, pair.a.conn_evd,
					    NULL, &gate.second));
	CHECK_EQ(DAT_SUCCESS, dat_rsp_create(pair.ia, QUAL, pair.b.ep,
					     pair.cr_evd, &gate.rsp));
	CHECK_EQ(DAT_SUCCESS, dat_evd_post_se(gate.evd, &event));
	wait_for_completion(&gate.in_upcall);
	return true;
}

static bool rsp_free_while_ia_closing(void)
{
	struct task_struct *inside, *closer;
	DAT_EVENT event;
	bool in_time;

	CHECK(kpair_reopen(&pair));
	CHECK(set_up_gate());
	inside = start_waiting(tear_down);
	CHECK(inside);
	closer = start_waiting(close_gracefully);
	CHECK(closer);
	complete(&gate.gate_is_closed);
	in_time = wait_for_completion_timeout(&gate.done, LIMIT);
	/* After a failure, closing the IA hangs. */
	CHECK(in_time);
	CHECK_EQ(DAT_SUCCESS, result_of(inside));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE,
		  (DAT_RETURN)result_of(closer));
	CHECK(gate.requested);
	CHECK_EQ(DAT_SUCCESS, gate.freed);
	/* The event is queued before the call returns. */
	CHECK_EQ(DAT_SUCCESS, dat_evd_dequeue(pair.cr_evd, &event));
	CHECK_EQ(DAT_SUCCESS,
		 dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle,
			       0, NULL));
	kpair_close(&pair);
	return true;
}

/* Connects with a short timeout. Resets the EP if the attempt times out. */
static bool attempt(DAT_IA_ADDRESS_PTR to, DAT_TIMEOUT timeout, int *timeouts)
{
	unsigned long deadline = jiffies + LIMIT;
	DAT_EVENT event;

	CHECK_EQ(DAT_SUCCESS,
		 connect_to(pair.a.ep, to, KPAIR_QUAL, timeout));
	while (dat_evd_dequeue(pair.a.conn_evd, &event)) {
		if (!dat_evd_dequeue(pair.cr_evd, &event))
			dat_cr_accept(event.event_data.cr_arrival_event_data
				      .cr_handle, pair.b.ep, 0, NULL);
		CHECK(time_before(jiffies, deadline));
		cond_resched();
	}
	if (event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT) {
		++*timeouts;
		/* Immediately: the peer may be accepting at this moment. */
		CHECK_EQ(DAT_SUCCESS, dat_ep_reset(pair.a.ep));
		return true;
	}
	CHECK_EQ(DAT_CONNECTION_EVENT_ESTABLISHED, event.event_number);
	return true;
}

static bool renew(struct kside *side)
{
	DAT_EVENT event;

	CHECK_EQ(DAT_SUCCESS, dat_ep_free(side->ep));
	CHECK_EQ(DAT_SUCCESS, dat_ep_create(pair.ia, side->pz, side->dto_evd,
					    side->dto_evd, side->conn_evd,
					    NULL, &side->ep));
	while (!dat_evd_dequeue(side->conn_evd, &event))
		;
	return true;
}

static bool reset_after_connect_timeout(void)
{
	/* On siw an attempt ends seconds later, when TCP times out. */
	int i, timeouts = 0, rounds = kpair_is_siw() ? 5 : 300;
	DAT_IA_ADDRESS_PTR to;
	DAT_EVENT event;

	if (kpair_thorough && !kpair_is_siw())
		rounds = 1000;
	CHECK(kpair_reopen(&pair));
	to = address();
	for (i = 0; i < rounds; i++) {
		CHECK(attempt(to, 1 + 100 * (i % 120), &timeouts));
		CHECK(renew(&pair.a));
		CHECK(renew(&pair.b));
		while (!dat_evd_dequeue(pair.cr_evd, &event))
			dat_cr_reject(event.event_data.cr_arrival_event_data
				      .cr_handle, 0, NULL);
	}
	report("# %d of %d timed out\n", timeouts, rounds);
	kpair_close(&pair);
	return true;
}

/* A peer without kdapl that reads the SRQ flag of the request message. */
static struct {
	struct completion seen;
	int srq;
} peer;

static int peer_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	peer.srq = event->param.conn.srq;
	complete(&peer.seen);
	rdma_reject(id, NULL, 0, 28);
	return -ECONNREFUSED;
}

/* Returns the SRQ flag of the request, or -1 without a request. */
static int srq_of_the_request(DAT_EP_HANDLE ep)
{
	DAT_IA_ADDRESS_PTR to = address();
	struct sockaddr_storage at = {};
	struct rdma_cm_id *id;
	int ret = -1;

	memcpy(&at, to, to->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
						  sizeof(struct sockaddr_in6));
	((struct sockaddr_in *)&at)->sin_port = htons(QUAL);
	init_completion(&peer.seen);
	id = rdma_create_id(current->nsproxy->net_ns, peer_handler, NULL,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return ret;
	if (!rdma_bind_addr(id, (struct sockaddr *)&at) && !rdma_listen(id, 1) &&
	    !connect_to(ep, to, QUAL, DAT_TIMEOUT_INFINITE) &&
	    wait_for_completion_timeout(&peer.seen, LIMIT))
		ret = peer.srq;
	rdma_destroy_id(id);
	return ret;
}

static bool request_carries_srq_flag(void)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_EP_ATTR attr = {};
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;

	/* iWARP does not transmit the flag. */
	if (kpair_is_siw())
		return true;
	CHECK(kpair_reopen(&pair));
	CHECK_EQ(DAT_SUCCESS, dat_srq_create(pair.ia, pair.a.pz, &srq_attr,
					     &srq));
	CHECK_EQ(DAT_SUCCESS, dat_ep_create_with_srq(pair.ia, pair.a.pz,
						     pair.a.dto_evd,
						     pair.a.dto_evd,
						     pair.a.conn_evd, srq,
						     &attr, &ep));
	CHECK_EQ(1, srq_of_the_request(ep));
	CHECK_EQ(0, srq_of_the_request(pair.a.ep));
	kpair_close(&pair);
	return true;
}

/* Many connections that break at the same time */
static struct {
	DAT_EVD_HANDLE evd;
	DAT_EVD_HANDLE dto_evd;
	DAT_EP_HANDLE *a;
	DAT_EP_HANDLE *b;
	struct kregion region;
} crowd;

static DAT_RETURN crowd_ep(const struct kside *side, DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = 1, .max_request_dtos = 2 };

	return dat_ep_create(pair.ia, side->pz, crowd.dto_evd, crowd.dto_evd,
			     crowd.evd, &attr, ep);
}

static bool is_side_a(DAT_EP_HANDLE ep)
{
	unsigned int i;

	for (i = 0; i < connections && crowd.a[i] != ep; i++)
		;
	return i < connections;
}

/* Waits for @num events of one kind. */
static bool crowd_waits(unsigned int num, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	while (num) {
		CHECK(kwait_event(crowd.evd, &event));
		CHECK_EQ(number, event.event_number);
		num--;
	}
	return true;
}

/*
 * Waits for two ends of each connection. Side a, whose DTO failed, says BROKEN except on
 * iWARP; of side b see kwait_any_end(). On a busy host the disconnection by side b may
 * overtake the refusal. Then the DTO of side a is flushed, and its end is DISCONNECTED.
 */
static bool crowd_breaks(unsigned int flushed)
{
	unsigned int num, broken = 0;
	DAT_EVENT event;

	for (num = 0; num < 2 * connections; num++) {
		CHECK(kwait_event(crowd.evd, &event));
		if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED &&
		    (kpair_is_siw() ||
		     !is_side_a(event.event_data.connect_event_data.ep_handle)))
			continue;
		if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED && flushed) {
			flushed--;
			continue;
		}
		CHECK_EQ(DAT_CONNECTION_EVENT_BROKEN, event.event_number);
		broken++;
	}
	report("# %u of %u ends are BROKEN\n", broken, num);
	return true;
}

static bool crowd_connect(void)
{
	DAT_IA_ADDRESS_PTR to = address();
	DAT_EVENT event;
	unsigned int i;

	for (i = 0; i < connections; i++) {
		CHECK_EQ(DAT_SUCCESS, crowd_ep(&pair.a, &crowd.a[i]));
		CHECK_EQ(DAT_SUCCESS, crowd_ep(&pair.b, &crowd.b[i]));
		CHECK_EQ(DAT_SUCCESS, connect_to(crowd.a[i], to, KPAIR_QUAL,
						 DAT_TIMEOUT_INFINITE));
		CHECK(kwait_event(pair.cr_evd, &event));
		CHECK_EQ(DAT_SUCCESS,
			 dat_cr_accept(event.event_data.cr_arrival_event_data
				       .cr_handle, crowd.b[i], 0, NULL));
	}
	return crowd_waits(2 * connections, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static bool crowd_open(void)
{
	CHECK(kpair_reopen(&pair));
	/* Left by a failed test */
	vfree(crowd.region.buf);
	crowd.region.buf = NULL;
	kfree(crowd.a);
	crowd.a = kcalloc(2 * connections, sizeof(*crowd.a), GFP_KERNEL);
	CHECK(crowd.a);
	crowd.b = crowd.a + connections;
	CHECK(kregion_open(&pair, pair.a.pz, &crowd.region, 4096,
			   DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(pair.ia, 4 * connections,
					      DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_CONNECTION_FLAG,
					      &crowd.evd));
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(pair.ia, 8 * connections,
					      DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_DTO_FLAG,
					      &crowd.dto_evd));
	return crowd_connect();
}

static bool crowd_close(void)
{
	ktime_t begin = ktime_get();
	unsigned int i;

	for (i = 0; i < connections; i++) {
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(crowd.a[i]));
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(crowd.b[i]));
	}
	report("# %u pairs of EPs were freed in %lld ms\n", connections,
	       ktime_ms_delta(ktime_get(), begin));
	kregion_close(&crowd.region);
	crowd.region.buf = NULL;
	kpair_close(&pair);
	return true;
}

static bool disconnect_all(DAT_EP_HANDLE *eps, const char *side)
{
	ktime_t begin = ktime_get(), called;
	unsigned int i;

	for (i = 0; i < connections; i++)
		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_disconnect(eps[i], DAT_CLOSE_ABRUPT_FLAG));
	called = ktime_get();
	CHECK(crowd_waits(2 * connections, DAT_CONNECTION_EVENT_DISCONNECTED));
	report("# %u connections, %s side disconnects: called in %lld ms, ended in %lld ms\n",
	       connections, side, ktime_ms_delta(called, begin),
	       ktime_ms_delta(ktime_get(), begin));
	return true;
}

static bool disconnect_many_active_side(void)
{
	CHECK(crowd_open());
	CHECK(disconnect_all(crowd.a, "active"));
	return crowd_close();
}

static bool disconnect_many_passive_side(void)
{
	CHECK(crowd_open());
	CHECK(disconnect_all(crowd.b, "passive"));
	return crowd_close();
}

/* Writes to a context that the peer does not have. */
static bool break_all(void)
{
	DAT_RMR_TRIPLET nowhere = { .rmr_context = 0x12345600,
				    .segment_length = 8 };
	DAT_LMR_TRIPLET iov = ksegment(&crowd.region, 0, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	ktime_t begin = ktime_get(), called, failed;
	unsigned int i, flushed = 0;

	for (i = 0; i < connections; i++)
		CHECK_EQ(DAT_SUCCESS,
			 dat_ep_post_rdma_write(crowd.a[i], 1, &iov, cookie,
						&nowhere,
						DAT_COMPLETION_DEFAULT_FLAG));
	called = ktime_get();
	/* Without upcalls, dequeuing is what detects failed requests. */
	for (i = 0; i < connections; i++) {
		int status = kwait_dto(crowd.dto_evd, 1);

		CHECK(status >= 0);
		flushed += status == DAT_DTO_ERR_FLUSHED;
	}
	failed = ktime_get();
	CHECK(crowd_breaks(flushed));
	report("# %u connections broken: posted %lld ms, completed %lld ms, ended %lld ms\n",
	       connections, ktime_ms_delta(called, begin),
	       ktime_ms_delta(failed, begin),
	       ktime_ms_delta(ktime_get(), begin));
	return true;
}

static bool break_many_connections(void)
{
	CHECK(crowd_open());
	CHECK(break_all());
	return crowd_close();
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(disconnect_many_active_side),
	TEST(disconnect_many_passive_side),
	TEST(break_many_connections),
	/* The first tests are measured. */
#define NUM_MEASURED	3
	TEST(reset_after_connect_timeout),
	TEST(request_carries_srq_flag),
	TEST(rsp_free_while_ia_closing),
};

static int __init cm_test_init(void)
{
	int ret = report_open("kdapl_cm_test");

	if (ret)
		return ret;
	report_run("kdapl_cm_test", tests,
		   measure ? NUM_MEASURED : ARRAY_SIZE(tests));
	kpair_close(&pair);
	vfree(crowd.region.buf);
	kfree(crowd.a);
	return 0;
}

static void __exit cm_test_exit(void)
{
	report_close();
}

module_init(cm_test_init);
module_exit(cm_test_exit);
MODULE_DESCRIPTION("Tests connections that end while others wait for them");
MODULE_LICENSE("Dual BSD/GPL");
