// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * upcall_test.c - upcalls of in-kernel consumers
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>

#include "kpair.h"
#include "report.h"

#define ROUNDS	1000
#define TIMEOUT	(20 * HZ)

static struct kpair pair;
static struct kregion a, b;

/* Calls that the upcall of both sides has recorded. */
static struct {
	struct completion done;
	atomic_t running;
	atomic_t rounds;
	bool overlapped;
	bool failed;
} seen;

/* Answers each received message from the upcall, for ROUNDS messages. */
static void ping_pong(DAT_PVOID instance_data, const DAT_EVENT *event,
		      DAT_BOOLEAN more_events)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d =
		&event->event_data.dto_completion_event_data;
	const struct kregion *region = d->ep_handle == pair.a.ep ? &a : &b;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT || d->status) {
		/* The flush at the end is not a failure. */
		if (atomic_read(&seen.rounds) < ROUNDS) {
			seen.failed = true;
			complete(&seen.done);
		}
		return;
	}
	if (d->operation != DAT_DTO_RECEIVE)
		return;
	if (atomic_inc_return(&seen.rounds) >= ROUNDS) {
		complete(&seen.done);
		return;
	}
	if (kpost_recv(d->ep_handle, region, 0, 64, 1) ||
	    kpost_send(d->ep_handle, region, 64, 64, 2)) {
		seen.failed = true;
		complete(&seen.done);
	}
}

static bool post_in_upcall(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = ping_pong };

	init_completion(&seen.done);
	atomic_set(&seen.rounds, 0);
	seen.failed = false;
	CHECK(kpair_open_with(&pair, &upcall));
	CHECK(kpair_connect(&pair));
	CHECK(kregion_open(&pair, pair.a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK(kregion_open(&pair, pair.b.pz, &b, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.a.ep, &a, 0, 64, 1));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 64, 1));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 64, 64, 2));
	CHECK(wait_for_completion_timeout(&seen.done, TIMEOUT));
	CHECK(!seen.failed);
	CHECK_EQ(ROUNDS, atomic_read(&seen.rounds));
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	return true;
}

/* Records whether two upcalls of the EVD ever run at once. */
static void count_alone(DAT_PVOID instance_data, const DAT_EVENT *event,
			DAT_BOOLEAN more_events)
{
	if (atomic_inc_return(&seen.running) != 1)
		seen.overlapped = true;
	/* Long enough for another upcall to start. Sleeping is not allowed. */
	ndelay(9999);
	atomic_dec(&seen.running);
	if (atomic_inc_return(&seen.rounds) == ROUNDS)
		complete(&seen.done);
}

static bool single_instance_no_overlap(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = count_alone };
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET remote;
	DAT_CONTEXT cookie = {};
	int i;

	init_completion(&seen.done);
	atomic_set(&seen.rounds, 0);
	seen.overlapped = false;
	CHECK(kpair_open_with(&pair, &upcall));
	CHECK(kpair_connect(&pair));
	CHECK(kregion_open(&pair, pair.a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK(kregion_open(&pair, pair.b.pz, &b, 4096, DAT_MEM_PRIV_ALL_FLAG));
	seg = ksegment(&a, 0, 8);
	remote = (DAT_RMR_TRIPLET){ (uintptr_t)b.buf, 8, b.rmr_context };
	for (i = 0; i < ROUNDS;) {
		DAT_RETURN ret = dat_ep_post_rdma_write(pair.a.ep, 1, &seg,
							cookie, &remote, 0);

		if (!ret)
			i++;
		else if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES)
			cond_resched();
		else
			CHECK_EQ(DAT_SUCCESS, ret);
	}
	CHECK(wait_for_completion_timeout(&seen.done, TIMEOUT));
	CHECK(!seen.overlapped);
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	return true;
}

static struct {
	struct completion done;
	DAT_RETURN accepted;
} answer;

/* Upcalls of an EVD without completions may sleep, as dat_cr_accept() does. */
static void accept_in_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
			     DAT_BOOLEAN more_events)
{
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;

	might_sleep();
	answer.accepted = dat_cr_accept(cr, pair.b.ep, 0, NULL);
	complete(&answer.done);
}

static bool cr_accept_in_upcall(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = accept_in_upcall };
	static DAT_IA_ATTR attr;

	init_completion(&answer.done);
	CHECK(kpair_open(&pair));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(pair.cr_evd, DAT_UPCALL_SINGLE_INSTANCE,
				       &upcall, DAT_UPCALL_INVOC_NEW));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ia_query(pair.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR,
			      &attr, 0, NULL));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_connect(pair.a.ep, attr.ia_address_ptr, KPAIR_QUAL,
				DAT_TIMEOUT_INFINITE, 0, NULL,
				DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	CHECK(wait_for_completion_timeout(&answer.done, TIMEOUT));
	CHECK_EQ(DAT_SUCCESS, answer.accepted);
	CHECK(kwait_number(pair.a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	CHECK(kwait_number(pair.b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED));
	kpair_close(&pair);
	return true;
}

static void count_only(DAT_PVOID instance_data, const DAT_EVENT *event,
		       DAT_BOOLEAN more_events)
{
	atomic_inc(&seen.rounds);
	complete(&seen.done);
}

static bool upcall_disable_and_enable(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = count_only };

	init_completion(&seen.done);
	atomic_set(&seen.rounds, 0);
	CHECK(kpair_open_with(&pair, &upcall));
	CHECK(kpair_connect(&pair));
	CHECK(kregion_open(&pair, pair.a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK(kregion_open(&pair, pair.b.pz, &b, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(pair.a.dto_evd, DAT_UPCALL_DISABLE,
				       DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW));
	/* Disabled: the event can be dequeued and causes no upcall. */
	CHECK_EQ(DAT_DTO_SUCCESS,
		 kwrite(&pair, &a, 0, 8, b.rmr_context, b.buf));
	CHECK_EQ(0, atomic_read(&seen.rounds));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(pair.a.dto_evd,
				       DAT_UPCALL_SINGLE_INSTANCE,
				       DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW));
	CHECK_EQ(DAT_SUCCESS, kpost_recv(pair.b.ep, &b, 0, 64, 1));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 64, 64, 2));
	/* One on each side. */
	CHECK(wait_for_completion_timeout(&seen.done, TIMEOUT));
	CHECK(wait_for_completion_timeout(&seen.done, TIMEOUT));
	CHECK_EQ(2, atomic_read(&seen.rounds));
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	return true;
}

/* Two threads post; one posts while the upcall for the other is about to end. */
#define HANDOVERS	20000
/* A busy host with two processors may need long for each. */
#define HANDOVER_TIME	(5 * HZ)

static struct {
	DAT_EVD_HANDLE evd;
	unsigned int noted;
	unsigned int wanted;
	unsigned int posted;
	DAT_RETURN ret;
} two;

static void note_event(DAT_PVOID instance_data, const DAT_EVENT *event,
		       DAT_BOOLEAN more_events)
{
	/* Pairs with is_soon(). */
	smp_store_release(&two.noted, two.noted + 1);
}

static bool is_soon(const unsigned int *number, unsigned int value)
{
	unsigned long limit = jiffies + TIMEOUT;

	/* Pairs with the store of the counting thread. */
	while (smp_load_acquire(number) != value) {
		if (time_after(jiffies, limit))
			return false;
		cpu_relax();
		cond_resched();
	}
	return true;
}

static DAT_RETURN post_event(void)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	return dat_evd_post_se(two.evd, &event);
}

static int post_when_wanted(void *unused)
{
	unsigned int i, pause;

	for (i = 1;; i++) {
		/* Pairs with hand_over(). */
		while (smp_load_acquire(&two.wanted) != i) {
			if (kthread_should_stop())
				return 0;
			cpu_relax();
			cond_resched();
		}
		/* Vary the delay. */
		for (pause = i % 512; pause; pause--)
			cpu_relax();
		two.ret = two.ret ?: post_event();
		/* Pairs with is_soon(). */
		smp_store_release(&two.posted, i);
	}
}

static bool hand_over(void)
{
	unsigned long limit = jiffies + HANDOVER_TIME;
	unsigned int i;

	for (i = 1; i <= HANDOVERS && time_before(jiffies, limit); i++) {
		/* Pairs with post_when_wanted(). */
		smp_store_release(&two.wanted, i);
		CHECK_EQ(DAT_SUCCESS, post_event());
		CHECK(is_soon(&two.posted, i));
		if (!is_soon(&two.noted, 2 * i)) {
			report("# round %u: %u events\n", i, two.noted);
			return false;
		}
	}
	CHECK_EQ(DAT_SUCCESS, two.ret);
	return true;
}

/* An EVD with a CQ, whose upcalls continue where its interrupt has stopped. */
static bool upcall_end_loses_no_event(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = note_event };
	struct task_struct *other;
	bool ok;

	memset(&two, 0, sizeof(two));
	CHECK(kpair_open(&pair));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(pair.ia, 8, DAT_UPCALL_SINGLE_INSTANCE,
				 &upcall,
				 DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG,
				 &two.evd));
	other = kthread_run(post_when_wanted, NULL, "kdapl_other");
	CHECK(!IS_ERR(other));
	ok = hand_over();
	kthread_stop(other);
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(two.evd));
	kpair_close(&pair);
	return ok;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(post_in_upcall),
	TEST(single_instance_no_overlap),
	TEST(cr_accept_in_upcall),
	TEST(upcall_disable_and_enable),
	TEST(upcall_end_loses_no_event),
};

static int __init upcall_test_init(void)
{
	int ret = report_open("kdapl_upcall_test");

	if (ret)
		return ret;
	report_run("kdapl_upcall_test", tests, ARRAY_SIZE(tests));
	/* Close the pair that a failed test has left open. */
	kpair_close(&pair);
	return 0;
}

static void __exit upcall_test_exit(void)
{
	report_close();
}

module_init(upcall_test_init);
module_exit(upcall_test_exit);
MODULE_DESCRIPTION("Tests upcalls of in-kernel consumers");
MODULE_LICENSE("Dual BSD/GPL");
