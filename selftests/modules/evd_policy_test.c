// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_policy_test.c - upcall policies of an EVD: when it calls, and how often at once
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

static DAT_RETURN write_one(u64 cookie)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 8);
	DAT_RMR_TRIPLET remote = { (uintptr_t)b.buf, 8, b.rmr_context };
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_ep_post_rdma_write(pair.a.ep, 1, &seg, c, &remote,
				      DAT_COMPLETION_DEFAULT_FLAG);
}

/* Calls that the upcalls below have recorded. */
static struct {
	struct completion entered;
	struct completion leave;
	struct completion done;
	atomic_t running;
	atomic_t calls;
	atomic_t most;
	atomic_t last;
	DAT_RETURN ret;
} seen;

static void seen_reset(void)
{
	memset(&seen, 0, sizeof(seen));
	init_completion(&seen.entered);
	init_completion(&seen.leave);
	init_completion(&seen.done);
}

static void count_call(DAT_PVOID instance_data, const DAT_EVENT *event,
		       DAT_BOOLEAN more_events)
{
	atomic_inc(&seen.calls);
	complete(&seen.entered);
}

static void count_other(DAT_PVOID instance_data, const DAT_EVENT *event,
			DAT_BOOLEAN more_events)
{
	atomic_inc(&seen.last);
	complete(&seen.entered);
}

/* Blocks until the test completes seen.leave. */
static void dwell(DAT_PVOID instance_data, const DAT_EVENT *event,
		  DAT_BOOLEAN more_events)
{
	int running = atomic_inc_return(&seen.running);

	if (running > atomic_read(&seen.most))
		atomic_set(&seen.most, running);
	complete(&seen.entered);
	wait_for_completion_timeout(&seen.leave, TIMEOUT);
	atomic_dec(&seen.running);
	if (atomic_inc_return(&seen.calls) == 8)
		complete(&seen.done);
}

static bool entered(void)
{
	return wait_for_completion_timeout(&seen.entered, TIMEOUT);
}

static bool single_instance_and_many(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = dwell };
	DAT_EVD_HANDLE evd;
	unsigned int i;

	CHECK(kpair_reopen(&pair));
	seen_reset();
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 8, dwell, DAT_EVD_SOFTWARE_FLAG, &evd));
	for (i = 0; i < 8; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_se(evd, i));
	CHECK(entered());
	msleep(50);
	CHECK_EQ(1, atomic_read(&seen.running));
	complete_all(&seen.leave);
	CHECK(wait_for_completion_timeout(&seen.done, TIMEOUT));
	CHECK_EQ(1, atomic_read(&seen.most));

	seen_reset();
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(evd, DAT_UPCALL_MANY, &upcall,
				       DAT_UPCALL_INVOC_NEW));
	/* The first upcall is running when the other events come. */
	CHECK_EQ(DAT_SUCCESS, kpost_se(evd, 0));
	CHECK(entered());
	for (i = 1; i < 8; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_se(evd, i));
	CHECK(entered());
	CHECK(entered());
	CHECK(atomic_read(&seen.running) >= 3);
	complete_all(&seen.leave);
	CHECK(wait_for_completion_timeout(&seen.done, TIMEOUT));
	CHECK_EQ(-1, knext_se(evd));
	/* Each event was passed to one upcall. */
	msleep(20);
	CHECK_EQ(8, atomic_read(&seen.calls));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));
	kpair_close(&pair);
	return true;
}

/* In softirq: waits, for a limited time, until a second upcall runs. */
static void meet(DAT_PVOID instance_data, const DAT_EVENT *event,
		 DAT_BOOLEAN more_events)
{
	unsigned int i;

	atomic_inc(&seen.running);
	for (i = 0; i < 20000 && atomic_read(&seen.most) < 2; i++) {
		if (atomic_read(&seen.running) > 1)
			atomic_set(&seen.most, 2);
		ndelay(9999);
	}
	atomic_dec(&seen.running);
	if (atomic_inc_return(&seen.calls) == 8)
		complete(&seen.done);
}

static bool completion_upcalls_concurrent(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = meet };
	unsigned int i;

	if (num_online_cpus() == 1)
		return true;
	CHECK(open_connected());
	seen_reset();
	for (i = 0; i < 8; i++)
		CHECK_EQ(DAT_SUCCESS, write_one(i));
	msleep(50);
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(pair.a.dto_evd, DAT_UPCALL_MANY,
				       &upcall, DAT_UPCALL_INVOC_ANY));
	CHECK(wait_for_completion_timeout(&seen.done, TIMEOUT));
	CHECK_EQ(2, atomic_read(&seen.most));
	close_connected();
	CHECK_EQ(8, atomic_read(&seen.calls));
	return true;
}

static int teardown(void *evd)
{
	seen.ret = dat_evd_modify_upcall(evd, DAT_UPCALL_TEARDOWN,
					 DAT_UPCALL_SAME,
					 DAT_UPCALL_INVOC_NEW);
	complete(&seen.done);
	return 0;
}

static bool teardown_waits_disable_returns(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = count_call };
	struct task_struct *task;
	DAT_EVD_HANDLE evd;
	DAT_EVD_PARAM param;

	CHECK(kpair_reopen(&pair));
	seen_reset();
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 8, dwell, DAT_EVD_SOFTWARE_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, kpost_se(evd, 1));
	CHECK(entered());
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(evd, DAT_UPCALL_DISABLE,
				       DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW));
	CHECK_EQ(1, atomic_read(&seen.running));
	CHECK_EQ(DAT_SUCCESS, dat_evd_query(evd, 0, &param));
	CHECK_EQ(DAT_UPCALL_DISABLE, param.upcall_policy);
	CHECK_EQ((uintptr_t)dwell, (uintptr_t)param.upcall.upcall_func);

	task = kthread_run(teardown, evd, "kdapl_teardown");
	CHECK(!IS_ERR(task));
	CHECK(!wait_for_completion_timeout(&seen.done, HZ / 10));
	complete_all(&seen.leave);
	CHECK(wait_for_completion_timeout(&seen.done, TIMEOUT));
	CHECK_EQ(0, atomic_read(&seen.running));
	CHECK_EQ(DAT_SUCCESS, seen.ret);
	CHECK_EQ(DAT_SUCCESS, dat_evd_query(evd, 0, &param));
	CHECK_EQ(DAT_UPCALL_DISABLE, param.upcall_policy);
	CHECK(!param.upcall.upcall_func);

	/* The upcall has been removed, so it cannot be kept. */
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_evd_modify_upcall(evd, DAT_UPCALL_SINGLE_INSTANCE,
					DAT_UPCALL_SAME,
					DAT_UPCALL_INVOC_ANY));
	CHECK_EQ(DAT_SUCCESS, kpost_se(evd, 2));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(evd, DAT_UPCALL_MANY, &upcall,
				       DAT_UPCALL_INVOC_ANY));
	CHECK(entered());
	CHECK_EQ(-1, knext_se(evd));
	kpair_close(&pair);
	return true;
}

/* Changes from each policy to each other one, with events queued in between. */
static bool policy_every_transition(void)
{
	static const DAT_UPCALL_POLICY policies[] = {
		DAT_UPCALL_DISABLE, DAT_UPCALL_SINGLE_INSTANCE,
		DAT_UPCALL_MANY, DAT_UPCALL_TEARDOWN,
	};
	DAT_UPCALL_OBJECT call = { .upcall_func = count_call };
	DAT_UPCALL_OBJECT other = { .upcall_func = count_other };
	unsigned int from, to, flag;
	DAT_EVD_HANDLE evd;

	CHECK(kpair_reopen(&pair));
	CHECK_EQ(DAT_SUCCESS,
		 kevd_make(&pair, 8, NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	for (from = 0; from < ARRAY_SIZE(policies); from++)
		for (to = 0; to < ARRAY_SIZE(policies); to++)
			for (flag = 0; flag < 2; flag++) {
				bool was = policies[from] > 0;
				bool is = policies[to] > 0;

				seen_reset();
				CHECK_EQ(DAT_SUCCESS,
					 dat_evd_modify_upcall(evd,
							       policies[from],
							       &call, 0));
				CHECK_EQ(DAT_SUCCESS, kpost_se(evd, 1));
				if (was)
					CHECK(entered());
				CHECK_EQ(was, atomic_read(&seen.calls));
				CHECK_EQ(DAT_SUCCESS,
					 dat_evd_modify_upcall(evd,
							       policies[to],
							       &other, flag));
				/* Only DAT_UPCALL_INVOC_ANY reports old events. */
				if (!was && is && flag)
					CHECK(entered());
				usleep_range(2000, 4000);
				CHECK_EQ(!was && is && flag,
					 atomic_read(&seen.last));
				CHECK_EQ(DAT_SUCCESS, kpost_se(evd, 2));
				if (is)
					CHECK(entered());
				if (is && !was && !flag)
					CHECK(entered());
				while (knext_se(evd) != -1)
					atomic_inc(&seen.last);
				CHECK_EQ(2, atomic_read(&seen.calls) +
					    atomic_read(&seen.last));
				CHECK_EQ(was, atomic_read(&seen.calls));
			}
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_evd_modify_upcall(evd, 7, &call, 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4,
		  dat_evd_modify_upcall(evd, DAT_UPCALL_DISABLE, &call, 2));
	CHECK_EQ(DAT_MODEL_NOT_SUPPORTED,
		 DAT_GET_TYPE(dat_evd_modify_upcall(evd, DAT_UPCALL_NORIFY,
						    &call, 0)));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_evd_kcreate(pair.ia, 1, DAT_UPCALL_TEARDOWN, &call,
				  DAT_EVD_SOFTWARE_FLAG, &evd));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4,
		  dat_evd_kcreate(pair.ia, 1, DAT_UPCALL_MANY, NULL,
				  DAT_EVD_SOFTWARE_FLAG, &evd));
	kpair_close(&pair);
	return true;
}

/* Replaces one upcall by another in a loop. */
static int keep_changing(void *data)
{
	DAT_UPCALL_OBJECT upcall[] = {
		{ .upcall_func = count_call }, { .upcall_func = count_other },
	};
	unsigned int i;

	for (i = 0; !kthread_should_stop(); i++) {
		seen.ret = dat_evd_modify_upcall(pair.a.dto_evd,
						 DAT_UPCALL_SINGLE_INSTANCE,
						 &upcall[i % 2],
						 DAT_UPCALL_INVOC_NEW);
		if (seen.ret)
			break;
		cond_resched();
	}
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

/* A completion may come after one upcall stops and before the other is set. */
static bool modify_upcall_loses_no_event(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = count_call };
	struct task_struct *task;
	bool ok = true;
	u64 i;

	CHECK(open_connected());
	seen_reset();
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(pair.a.dto_evd,
				       DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				       DAT_UPCALL_INVOC_NEW));
	task = kthread_run(keep_changing, NULL, "kdapl_changes");
	CHECK(!IS_ERR(task));
	for (i = 0; i < 3000 && ok; i++)
		ok = !write_one(i) && entered();
	kthread_stop(task);
	CHECK_EQ(DAT_SUCCESS, seen.ret);
	CHECK_EQ(3000, i);
	CHECK(ok);
	CHECK_EQ(3000, atomic_read(&seen.calls) + atomic_read(&seen.last));
	close_connected();
	return true;
}

/* Short enough for the watchdogs; the test passes if it is too short. */
#define HOLD_NS	(4LL * NSEC_PER_SEC)

/* State of hold() */
static struct {
	unsigned int test_cpu;
	DAT_EP_HANDLE from;
	DAT_EP_HANDLE to;
	atomic_t holds;
	atomic_t release;
	atomic_t unsignalled;
} holder;

/* In softirq: keeps the upcalls of the EVD from running, on a CPU that the test does not use. */
static void hold(DAT_PVOID instance_data, const DAT_EVENT *event, DAT_BOOLEAN more_events)
{
	u64 end = ktime_get_ns() + HOLD_NS;

	if (event->event_data.dto_completion_event_data.user_cookie.as_64 == 2) {
		atomic_inc(&holder.unsignalled);
		return;
	}
	if (raw_smp_processor_id() != holder.test_cpu) {
		atomic_set(&holder.holds, 1);
		while (!atomic_read(&holder.release) && ktime_get_ns() < end)
			cpu_relax();
	}
	complete(&seen.entered);
}

static void send_work(struct work_struct *work)
{
	seen.ret = kpost_send(holder.from, &a, 0, 8, 1);
}

/* Waits for the upcall. Returns false if it stays, or has not come. */
static bool wait_for_hold(void)
{
	unsigned long end = jiffies + TIMEOUT;

	while (!atomic_read(&holder.holds) && time_before(jiffies, end)) {
		if (completion_done(&seen.entered))
			return true;
		usleep_range(100, 200);
	}
	return false;
}

/* Moves the test to the next CPU. */
static bool move_test(void)
{
	unsigned int cpu = cpumask_next(holder.test_cpu, cpu_online_mask);

	holder.test_cpu = cpu < nr_cpu_ids ? cpu : cpumask_first(cpu_online_mask);
	return !set_cpus_allowed_ptr(current, cpumask_of(holder.test_cpu));
}

/*
 * Sends to @to from another CPU until the upcall stays there. siw sends all messages of a QP
 * from one CPU, which may be the test's, so the test moves.
 */
static bool begin_hold(void)
{
	struct work_struct work;
	unsigned int i;

	INIT_WORK_ONSTACK(&work, send_work);
	for (i = 0; i < 1000 && move_test(); i++) {
		reinit_completion(&seen.entered);
		if (kpost_recv(holder.to, &b, 0, 8, 1))
			break;
		schedule_work_on(cpumask_any_but(cpu_online_mask, holder.test_cpu), &work);
		if (!wait_for_hold() || kwait_dto(pair.a.dto_evd, 1))
			break;
	}
	flush_work(&work);
	destroy_work_on_stack(&work);
	return atomic_read(&holder.holds);
}

static bool empty_evd_delivers_nothing(void)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = hold };
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
		.max_recv_dtos = 1,
		.max_request_dtos = 1,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	DAT_LMR_TRIPLET seg;

	kpair_close(&pair);
	CHECK(kpair_open_attr(&pair, NULL, &attr));
	CHECK(kpair_connect(&pair));
	CHECK(kregion_open(&pair, pair.a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK(kregion_open(&pair, pair.b.pz, &b, 4096, DAT_MEM_PRIV_ALL_FLAG));
	seen_reset();
	memset(&holder, 0, sizeof(holder));
	CHECK(kpair_connect_more(&pair, &holder.from, &holder.to));
	CHECK_EQ(DAT_SUCCESS, dat_evd_modify_upcall(pair.b.dto_evd, DAT_UPCALL_SINGLE_INSTANCE,
						    &upcall, DAT_UPCALL_INVOC_NEW));
	CHECK(begin_hold());
	CHECK_EQ(DAT_SUCCESS, dat_evd_modify_upcall(pair.b.dto_evd, DAT_UPCALL_SINGLE_INSTANCE,
						    NULL, DAT_UPCALL_INVOC_ANY));
	seg = ksegment(&b, 64, 8);
	CHECK_EQ(DAT_SUCCESS, dat_ep_post_recv(pair.b.ep, 1, &seg, (DAT_DTO_COOKIE){ .as_64 = 2 },
					       DAT_COMPLETION_UNSIGNALLED_FLAG));
	CHECK_EQ(DAT_SUCCESS, kpost_send(pair.a.ep, &a, 0, 8, 3));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.a.dto_evd, 3));
	atomic_set(&holder.release, 1);
	CHECK_EQ(DAT_SUCCESS, dat_evd_flush_upcalls(pair.b.dto_evd));
	CHECK_EQ(0, atomic_read(&holder.unsignalled));
	/* It is an event none the less. */
	CHECK_EQ(DAT_SUCCESS, dat_evd_modify_upcall(pair.b.dto_evd, DAT_UPCALL_TEARDOWN, NULL, 0));
	CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(pair.b.dto_evd, 2));
	close_connected();
	return true;
}

/* The EVD was empty at the call, so the call delivers no event that arrives later. */
static bool empty_evd_delivers_nothing_unsignalled(void)
{
	bool ok = empty_evd_delivers_nothing();

	set_cpus_allowed_ptr(current, cpu_possible_mask);
	return ok;
}

#define WRITES	40

/* What came, in the order in which it came */
static struct {
	atomic_t num;
	u64 cookies[WRITES + 2];
	unsigned int taken;
	bool others;
	int status;
} log;

static void note(u64 cookie)
{
	unsigned int i = atomic_read(&log.num);

	if (i < ARRAY_SIZE(log.cookies))
		log.cookies[i] = cookie;
	atomic_inc(&log.num);
}

static void take(DAT_PVOID instance_data, const struct dat_completion *completion)
{
	log.others |= instance_data != &log || completion->ep_context.as_64 != 77 ||
		      completion->number != DAT_DTO_COMPLETION_EVENT ||
		      completion->operation != DAT_DTO_RDMA_WRITE ||
		      completion->transfered_length != 8;
	log.taken++;
	note(completion->user_cookie.as_64);
}

static void note_event(DAT_PVOID instance_data, const DAT_EVENT *event, DAT_BOOLEAN more_events)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	log.others |= instance_data != &log || event->event_number != DAT_DTO_COMPLETION_EVENT;
	log.status = dto->status;
	note(dto->user_cookie.as_64);
}

static bool wait_noted(int num)
{
	unsigned long end = jiffies + TIMEOUT;

	while (atomic_read(&log.num) < num && time_before(jiffies, end))
		usleep_range(100, 200);
	return atomic_read(&log.num) == num;
}

/* Completions that succeed go to the function, others to the upcall, all in their order. */
static bool completion_function_takes_successes(void)
{
	DAT_UPCALL_OBJECT upcall = { &log, note_event };
	DAT_RMR_TRIPLET nowhere = { .rmr_context = 0x12345600, .segment_length = 8 };
	DAT_LMR_TRIPLET seg;
	u64 i;

	CHECK(open_connected());
	memset(&log, 0, sizeof(log));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
		  dat_evd_set_completion(pair.a.ep, take));
	CHECK_EQ(DAT_SUCCESS, dat_set_consumer_context(pair.a.ep, (DAT_CONTEXT){ .as_64 = 77 }));
	CHECK_EQ(DAT_SUCCESS, dat_evd_set_completion(pair.a.dto_evd, take));
	CHECK_EQ(DAT_SUCCESS, dat_evd_modify_upcall(pair.a.dto_evd, DAT_UPCALL_SINGLE_INSTANCE,
						    &upcall, DAT_UPCALL_INVOC_NEW));
	for (i = 0; i < WRITES; i++) {
		CHECK_EQ(DAT_SUCCESS, write_one(i));
		/* Some of them at once */
		CHECK(i % 4 || wait_noted(i + 1));
	}
	seg = ksegment(&a, 0, 8);
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_post_rdma_write(pair.a.ep, 1, &seg, (DAT_DTO_COOKIE){ .as_64 = WRITES },
					&nowhere, DAT_COMPLETION_DEFAULT_FLAG));
	CHECK(wait_noted(WRITES + 1));
	for (i = 0; i <= WRITES; i++)
		CHECK_EQ(i, log.cookies[i]);
	CHECK(!log.others);
	/* On iWARP a refused Write is no failed DTO. */
	CHECK(log.taken == WRITES ? log.status != DAT_DTO_SUCCESS : kpair_is_siw());
	close_connected();
	return true;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(single_instance_and_many),
	TEST(completion_upcalls_concurrent),
	TEST(teardown_waits_disable_returns),
	TEST(policy_every_transition),
	TEST(modify_upcall_loses_no_event),
	TEST(empty_evd_delivers_nothing_unsignalled),
	TEST(completion_function_takes_successes),
};

static int __init evd_policy_test_init(void)
{
	int ret = report_open("kdapl_evd_policy_test");

	if (ret)
		return ret;
	seen_reset();
	report_run("kdapl_evd_policy_test", tests, ARRAY_SIZE(tests));
	/* Complete waits that a failed test has left. */
	complete_all(&seen.leave);
	kpair_close(&pair);
	return 0;
}

static void __exit evd_policy_test_exit(void)
{
	report_close();
}

module_init(evd_policy_test_init);
module_exit(evd_policy_test_exit);
MODULE_DESCRIPTION("Tests the upcall policies of EVDs");
MODULE_LICENSE("Dual BSD/GPL");
