// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * evd_change.c - EVDs that are made, queried, resized, posted to, enabled,
 * disabled, made unwaitable and given another CNO: dat_evd_create(3DAT) etc.
 */
#include "harness.h"
#include <limits.h>
#include <sched.h>

#include "ioctls.h"
#include "link.h"
#include "pair.h"
#include "software_event.h"

#define QLEN		8

#define ERROR(type, subtype)	(DAT_CLASS_ERROR | (type) | (subtype))
#define BAD_EVD		ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)
#define BAD_ARG(n)	ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG ## n)
#define NO_EVENT	DAT_QUEUE_EMPTY
#define FULL		ERROR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE)
#define TOO_MANY	ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE)
#define EXPIRED		ERROR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE)
#define UNWAITABLE \
	ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE)

/* In microseconds: what must not happen is given this long to happen. */
#define SILENCE		(100 * 1000)

/* An EVD of software events, with a CNO. */
FIXTURE(change)
{
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
};

FIXTURE_SETUP(change)
{
	self->ia = DAT_HANDLE_NULL;
	self->async_evd = DAT_HANDLE_NULL;
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &self->async_evd,
			       &self->ia));
	ASSERT_DAT(dat_cno_create(self->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				  &self->cno));
	ASSERT_DAT(se_create(self->ia, QLEN, self->cno, &self->evd));
}

FIXTURE_TEARDOWN(change)
{
	if (self->ia)
		dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* Posts these numbers, one after the other. */
static DAT_RETURN post_from(DAT_EVD_HANDLE evd, uintptr_t first, int count)
{
	DAT_RETURN ret = DAT_SUCCESS;

	while (count-- && !ret)
		ret = se_post(evd, first++);
	return ret;
}

/* Takes @count numbers: are they these? */
static bool take_from(DAT_EVD_HANDLE evd, long first, int count)
{
	long number;

	for (; count--; first++) {
		number = se_take(evd);
		if (number == first)
			continue;
		fprintf(stderr, "# %ld instead of %ld\n", number, first);
		return false;
	}
	return true;
}

/* Puts in what fits: how much is that? */
static int room(DAT_EVD_HANDLE evd)
{
	int count = 0;

	while (!se_post(evd, count))
		count++;
	return count;
}

static DAT_COUNT qlen_of(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	return dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param) ?
		       -1 : param.evd_qlen;
}

static int state_of(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	return dat_evd_query(evd, DAT_EVD_FIELD_EVD_STATE, &param) ?
		       -1 : (int)param.evd_state;
}

/* Nor will there be one. */
static bool is_silent(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd;

	return dat_cno_wait(cno, SILENCE, &evd) == NO_EVENT;
}

/* Returns when the thread waits for more events than there are. */
static void waiter_start(struct evd_waiter *w, DAT_EVD_HANDLE evd,
			 DAT_COUNT threshold)
{
	w->evd = evd;
	w->timeout = DAT_TIMEOUT_INFINITE;
	w->threshold = threshold;
	evd_waiter_start(w);
}

/* Every call that takes an EVD, all its other arguments being right. */

static DAT_RETURN call_query(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	return dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param);
}

static DAT_RETURN call_resize(DAT_EVD_HANDLE evd)
{
	return dat_evd_resize(evd, QLEN);
}

static DAT_RETURN call_post_se(DAT_EVD_HANDLE evd)
{
	return se_post(evd, 1);
}

static DAT_RETURN call_modify_cno(DAT_EVD_HANDLE evd)
{
	return dat_evd_modify_cno(evd, DAT_HANDLE_NULL);
}

static const struct {
	const char *name;
	DAT_RETURN (*fn)(DAT_EVD_HANDLE evd);
} calls[] = {
	{ "query", call_query },
	{ "resize", call_resize },
	{ "post_se", call_post_se },
	{ "modify_cno", call_modify_cno },
	{ "enable", dat_evd_enable },
	{ "disable", dat_evd_disable },
	{ "set_unwaitable", dat_evd_set_unwaitable },
	{ "clear_unwaitable", dat_evd_clear_unwaitable },
};

TEST_F(change, bad_evd_handle_invalid)
{
	DAT_EVD_HANDLE freed, orphan, async_evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	unsigned int i, j;

	if (HANDLES_ARE_POINTERS)
		SKIP(return, "libdat2 follows a handle to its provider");
	ASSERT_DAT(se_create(self->ia, QLEN, DAT_HANDLE_NULL, &freed));
	ASSERT_DAT(dat_evd_free(freed));
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &async_evd, &ia));
	ASSERT_DAT(se_create(ia, QLEN, DAT_HANDLE_NULL, &orphan));
	ASSERT_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	{
		DAT_EVD_HANDLE bad[] = {
			DAT_HANDLE_NULL, self->ia, self->cno, &bad,
			(DAT_HANDLE)UINTPTR_MAX,
			(char *)self->evd + (1UL << 32), freed, orphan,
			async_evd,
		};

		for (i = 0; i < ARRAY_LEN(bad); i++) {
			for (j = 0; j < ARRAY_LEN(calls); j++) {
				EXPECT_EQ(BAD_EVD, calls[j].fn(bad[i])) {
					TH_LOG("%s, handle %u", calls[j].name,
					       i);
				}
			}
		}
	}
	/* One that is right, to compare with. */
	for (j = 0; j < ARRAY_LEN(calls); j++) {
		EXPECT_EQ(DAT_SUCCESS, calls[j].fn(self->evd)) {
			TH_LOG("%s", calls[j].name);
		}
	}
}

/* dat_evd_create() */

TEST_F(change, create_all_streams)
{
	const DAT_EVD_FLAGS all = DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG;
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;

	EXPECT_EQ(DAT_EVD_CR_FLAG | DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG |
		  DAT_EVD_RMR_BIND_FLAG | DAT_EVD_ASYNC_FLAG,
		  DAT_EVD_DEFAULT_FLAG);
	ASSERT_DAT(dat_evd_create(self->ia, QLEN, self->cno, all, &evd));
	ASSERT_DAT(dat_evd_query(evd, DAT_EVD_FIELD_EVD_FLAGS, &param));
	EXPECT_EQ(all, param.evd_flags);
	EXPECT_EQ(QLEN, room(evd));
	EXPECT_TRUE(take_from(evd, 0, QLEN));
}

TEST_F(change, create_bad_args)
{
	static const DAT_COUNT qlen[] = { 0, -1, INT32_MIN };
	static const DAT_EVD_FLAGS flags[] = {
		(DAT_EVD_FLAGS)0, (DAT_EVD_FLAGS)0x2,
		(DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | 0x400),
	};
	DAT_EVD_HANDLE evd = NULL;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(qlen); i++) {
		EXPECT_EQ(BAD_ARG(2),
			  se_create(self->ia, qlen[i], self->cno, &evd));
		EXPECT_EQ(BAD_ARG(4),
			  dat_evd_create(self->ia, QLEN, self->cno, flags[i],
					 &evd));
	}
	EXPECT_EQ(BAD_ARG(5), se_create(self->ia, QLEN, self->cno, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
		       se_create(self->evd, QLEN, self->cno, &evd));
	EXPECT_EQ(NULL, evd);
	/* None of them is in the way. */
	ASSERT_DAT(dat_evd_free(self->evd));
	EXPECT_DAT(dat_cno_free(self->cno));
	EXPECT_DAT(dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
	self->ia = DAT_HANDLE_NULL;
}

/* dat_evd_query() */

TEST_F(change, query_returns_create_args)
{
	static const DAT_EVD_FLAGS flags[] = {
		DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG, DAT_EVD_DTO_FLAG,
		DAT_EVD_CONNECTION_FLAG, DAT_EVD_RMR_BIND_FLAG,
		DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
		DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
	};
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(flags); i++) {
		DAT_CNO_HANDLE cno = i % 2 ? self->cno : DAT_HANDLE_NULL;

		ASSERT_DAT(dat_evd_create(self->ia, 5 + i, cno, flags[i],
					  &evd));
		memset(&param, 0xff, sizeof(param));
		EXPECT_DAT(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
		EXPECT_EQ(TOLD_IA(self->ia), param.ia_handle);
		/* Not what it has room for. */
		EXPECT_EQ(5 + i, param.evd_qlen);
		EXPECT_EQ(DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE |
			  DAT_EVD_STATE_CONFIG_THRESHOLD, param.evd_state);
		EXPECT_EQ(cno, param.cno_handle);
		EXPECT_EQ(flags[i], param.evd_flags);
	}
}

TEST_F(change, query_async_evd)
{
	DAT_EVD_PARAM param;

	EXPECT_DAT(dat_evd_query(self->async_evd, DAT_EVD_FIELD_ALL, &param));
	EXPECT_EQ(TOLD_IA(self->ia), param.ia_handle);
	EXPECT_EQ(8, param.evd_qlen);
	EXPECT_EQ(DAT_HANDLE_NULL, param.cno_handle);
	EXPECT_EQ(DAT_EVD_ASYNC_FLAG, param.evd_flags);
}

TEST_F(change, query_each_field)
{
	DAT_EVD_PARAM param;
	unsigned int mask;

	for (mask = 0; mask <= DAT_EVD_FIELD_ALL; mask++) {
		memset(&param, 0xff, sizeof(param));
		EXPECT_DAT(dat_evd_query(self->evd, mask, &param));
		if (mask & DAT_EVD_FIELD_IA_HANDLE)
			EXPECT_EQ(TOLD_IA(self->ia), param.ia_handle);
		if (mask & DAT_EVD_FIELD_EVD_QLEN)
			EXPECT_EQ(QLEN, param.evd_qlen);
		if (mask & DAT_EVD_FIELD_CNO)
			EXPECT_EQ(self->cno, param.cno_handle);
		if (mask & DAT_EVD_FIELD_EVD_FLAGS)
			EXPECT_EQ(DAT_EVD_SOFTWARE_FLAG, param.evd_flags);
		if (mask & DAT_EVD_FIELD_EVD_STATE)
			EXPECT_EQ(DAT_EVD_STATE_ENABLED |
				  DAT_EVD_STATE_WAITABLE |
				  DAT_EVD_STATE_CONFIG_THRESHOLD,
				  param.evd_state);
	}
}

TEST_F(change, query_bad_args)
{
	DAT_EVD_PARAM param;

	EXPECT_EQ(BAD_ARG(2), dat_evd_query(self->evd, 0x20, &param));
	EXPECT_EQ(BAD_ARG(2), dat_evd_query(self->evd, ~0, &param));
	EXPECT_EQ(BAD_ARG(3),
		  dat_evd_query(self->evd, DAT_EVD_FIELD_ALL, NULL));
}

TEST_F(change, query_enabled_and_waitable_state)
{
	const int rest = DAT_EVD_STATE_CONFIG_THRESHOLD;
	int i;

	/* Once more what it is already changes nothing. */
	for (i = 0; i < 2; i++) {
		EXPECT_DAT(dat_evd_disable(self->evd));
		EXPECT_EQ(rest | DAT_EVD_STATE_DISABLED |
			  DAT_EVD_STATE_WAITABLE, state_of(self->evd));
	}
	for (i = 0; i < 2; i++) {
		EXPECT_DAT(dat_evd_set_unwaitable(self->evd));
		EXPECT_EQ(rest | DAT_EVD_STATE_DISABLED |
			  DAT_EVD_STATE_UNWAITABLE, state_of(self->evd));
	}
	for (i = 0; i < 2; i++) {
		EXPECT_DAT(dat_evd_enable(self->evd));
		EXPECT_EQ(rest | DAT_EVD_STATE_ENABLED |
			  DAT_EVD_STATE_UNWAITABLE, state_of(self->evd));
	}
	for (i = 0; i < 2; i++) {
		EXPECT_DAT(dat_evd_clear_unwaitable(self->evd));
		EXPECT_EQ(rest | DAT_EVD_STATE_ENABLED |
			  DAT_EVD_STATE_WAITABLE, state_of(self->evd));
	}
}

/* dat_evd_resize() */

TEST_F(change, resize_grow_keeps_events)
{
	ASSERT_DAT(post_from(self->evd, 0, QLEN));
	ASSERT_EQ(FULL, se_post(self->evd, QLEN));
	ASSERT_DAT(dat_evd_resize(self->evd, 64));
	EXPECT_EQ(64, qlen_of(self->evd));
	ASSERT_DAT(post_from(self->evd, QLEN, 64 - QLEN));
	EXPECT_EQ(FULL, se_post(self->evd, 64));
	EXPECT_TRUE(take_from(self->evd, 0, 64));
	EXPECT_TRUE(is_empty(self->evd));
}

TEST_F(change, resize_shrink_keeps_events)
{
	ASSERT_DAT(dat_evd_resize(self->evd, 64));
	ASSERT_DAT(post_from(self->evd, 0, 64));
	ASSERT_TRUE(take_from(self->evd, 0, 60));
	/* There is just enough room. */
	ASSERT_DAT(dat_evd_resize(self->evd, 4));
	EXPECT_EQ(4, qlen_of(self->evd));
	EXPECT_EQ(FULL, se_post(self->evd, 0));
	EXPECT_TRUE(take_from(self->evd, 60, 4));
	EXPECT_TRUE(is_empty(self->evd));
	EXPECT_EQ(4, room(self->evd));
}

TEST_F(change, resize_below_event_count)
{
	DAT_COUNT qlen;

	/* In the middle of the ring, so that they wrap around. */
	ASSERT_DAT(post_from(self->evd, 0, 5));
	ASSERT_TRUE(take_from(self->evd, 0, 5));
	ASSERT_DAT(post_from(self->evd, 100, 6));
	for (qlen = 1; qlen < 6; qlen++)
		EXPECT_EQ(TOO_MANY, dat_evd_resize(self->evd, qlen));
	/* It is what it was. */
	EXPECT_EQ(QLEN, qlen_of(self->evd));
	ASSERT_DAT(post_from(self->evd, 106, 2));
	EXPECT_EQ(FULL, se_post(self->evd, 0));
	EXPECT_TRUE(take_from(self->evd, 100, 8));
	EXPECT_TRUE(is_empty(self->evd));
	/* As many as there are is enough. */
	ASSERT_DAT(post_from(self->evd, 200, 6));
	EXPECT_DAT(dat_evd_resize(self->evd, 6));
	EXPECT_EQ(6, qlen_of(self->evd));
	EXPECT_TRUE(take_from(self->evd, 200, 6));
	/* At least. */
	EXPECT_LE(6, room(self->evd));
}

TEST_F(change, resize_keeps_order_on_wrap)
{
	static const DAT_COUNT sizes[] = { 16, 4, 5, 32, 7, 128, 3, 8 };
	long posted = 0, taken = 0;
	unsigned int round, i;

	for (round = 0; round < 13; round++) {
		for (i = 0; i < ARRAY_LEN(sizes); i++) {
			/* Up to 3 stay in it. */
			while (posted - taken < 3) {
				ASSERT_DAT(se_post(self->evd, posted));
				posted++;
			}
			ASSERT_DAT(dat_evd_resize(self->evd, sizes[i]));
			ASSERT_EQ(sizes[i], qlen_of(self->evd));
			ASSERT_TRUE(take_from(self->evd, taken,
					      1 + (round + i) % 3));
			taken += 1 + (round + i) % 3;
		}
	}
	ASSERT_TRUE(take_from(self->evd, taken, posted - taken));
	EXPECT_TRUE(is_empty(self->evd));
}

TEST_F(change, resize_bad_qlen)
{
	static const DAT_COUNT bad[] = { 0, -1, INT32_MIN };
	unsigned int i;

	ASSERT_DAT(se_post(self->evd, 1));
	for (i = 0; i < ARRAY_LEN(bad); i++)
		EXPECT_EQ(BAD_ARG(2), dat_evd_resize(self->evd, bad[i]));
	EXPECT_DAT_RET(ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD),
		       dat_evd_resize(self->evd, INT32_MAX));
	/* Neither the kernel's EVD nor, within its limits, the file. */
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES,
			dat_evd_resize(self->evd, MAX_QLEN + 1));
	EXPECT_EQ(QLEN, qlen_of(self->evd));
	EXPECT_EQ(1, se_take(self->evd));
	EXPECT_EQ(QLEN, room(self->evd));
	/* To what it is it can be resized, even if full. */
	EXPECT_DAT(dat_evd_resize(self->evd, QLEN));
	EXPECT_TRUE(take_from(self->evd, 0, QLEN));
}

/* What the process may have all together is counted to the end. */
TEST_F(change, resize_frees_old_ring)
{
	int i;

	for (i = 0; i < 40; i++) {
		ASSERT_DAT(dat_evd_resize(self->evd, i % 2 ? 4 : 65536));
	}
}

TEST_F(change, resize_moves_threshold_limit)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	EXPECT_EQ(BAD_ARG(3),
		  dat_evd_wait(self->evd, 0, QLEN + 1, &event, &nmore));
	ASSERT_DAT(dat_evd_resize(self->evd, 20));
	EXPECT_EQ(EXPIRED, dat_evd_wait(self->evd, 0, 20, &event, &nmore));
	EXPECT_EQ(BAD_ARG(3), dat_evd_wait(self->evd, 0, 21, &event, &nmore));
	ASSERT_DAT(dat_evd_resize(self->evd, 4));
	EXPECT_EQ(EXPIRED, dat_evd_wait(self->evd, 0, 4, &event, &nmore));
	EXPECT_EQ(BAD_ARG(3), dat_evd_wait(self->evd, 0, 5, &event, &nmore));
}

TEST_F(change, resize_keeps_waiter)
{
	static const DAT_COUNT sizes[] = { 64, 3, 16 };
	struct evd_waiter w;
	unsigned int i;
	DAT_EVENT event;

	for (i = 0; i < ARRAY_LEN(sizes); i++) {
		ASSERT_DAT(se_post(self->evd, 0));
		waiter_start(&w, self->evd, 3);
		ASSERT_DAT(dat_evd_resize(self->evd, sizes[i]));
		ASSERT_DAT(se_post(self->evd, 1));
		usleep(SILENCE);
		EXPECT_FALSE(atomic_load(&w.sleeper.returned));
		/* The EVD is still the waiter's. */
		EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE,
				     DAT_INVALID_STATE_EVD_WAITER),
			       dat_evd_dequeue(self->evd, &event));
		ASSERT_DAT(se_post(self->evd, 2));
		evd_waiter_end(&w);
		EXPECT_DAT(w.ret);
		EXPECT_EQ(0, se_number(&w.event));
		EXPECT_EQ(2, w.nmore);
		EXPECT_TRUE(take_from(self->evd, 1, 2));
		EXPECT_TRUE(is_empty(self->evd));
	}
}

TEST_F(change, resize_keeps_cno_and_state)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	ASSERT_DAT(dat_evd_disable(self->evd));
	ASSERT_DAT(dat_evd_set_unwaitable(self->evd));
	ASSERT_DAT(dat_evd_resize(self->evd, 64));
	EXPECT_EQ(DAT_EVD_STATE_CONFIG_THRESHOLD | DAT_EVD_STATE_DISABLED |
		  DAT_EVD_STATE_UNWAITABLE, state_of(self->evd));
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(UNWAITABLE, dat_evd_wait(self->evd, 0, 1, &event, &nmore));
	EXPECT_TRUE(is_silent(self->cno));
	ASSERT_DAT(dat_evd_enable(self->evd));
	EXPECT_EQ(self->evd, cno_take(self->cno));
	ASSERT_DAT(dat_evd_clear_unwaitable(self->evd));
	EXPECT_DAT(dat_evd_wait(self->evd, 0, 1, &event, &nmore));
	ASSERT_DAT(se_post(self->evd, 2));
	EXPECT_EQ(self->evd, cno_take(self->cno));
}

TEST_F(change, resize_async_evd)
{
	EXPECT_DAT(dat_evd_resize(self->async_evd, 64));
	EXPECT_EQ(64, qlen_of(self->async_evd));
	EXPECT_TRUE(is_empty(self->async_evd));
}

#define EVENTS		2000

static struct {
	DAT_EVD_HANDLE evd;
	atomic_bool over;
	DAT_RETURN ret;
	int resized;
} busy;

static void *poster_main(void *arg)
{
	DAT_RETURN ret = DAT_SUCCESS;
	uintptr_t i;

	(void)arg;
	for (i = 0; i < EVENTS; i++) {
		while ((ret = se_post(busy.evd, i)) == FULL)
			sched_yield();
		if (ret)
			break;
	}
	return (void *)(uintptr_t)ret;
}

static void *resizer_main(void *arg)
{
	static const DAT_COUNT sizes[] = { 3, 100, 8, 16, 5, 64 };
	unsigned int i;
	DAT_RETURN ret;

	(void)arg;
	for (i = 0; !atomic_load(&busy.over); i++) {
		ret = dat_evd_resize(busy.evd, sizes[i % ARRAY_LEN(sizes)]);
		if (!ret)
			busy.resized++;
		else if (ret != TOO_MANY)
			return (void *)(uintptr_t)ret;
	}
	return NULL;
}

TEST_F(change, resize_races_post_and_dequeue)
{
	pthread_t poster, resizer;
	DAT_EVENT event;
	DAT_RETURN ret;
	DAT_COUNT nmore;
	void *end;
	long i;

	memset(&busy, 0, sizeof(busy));
	busy.evd = self->evd;
	ASSERT_EQ(0, pthread_create(&poster, NULL, poster_main, NULL));
	ASSERT_EQ(0, pthread_create(&resizer, NULL, resizer_main, NULL));
	for (i = 0; i < EVENTS; i++) {
		if (i % 3) {
			ret = dat_evd_wait(self->evd, PAIR_TIMEOUT, 1, &event,
					   &nmore);
		} else {
			while (ret = dat_evd_dequeue(self->evd, &event),
			       DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
				sched_yield();
		}
		ASSERT_DAT(ret);
		ASSERT_EQ(i, se_number(&event));
	}
	atomic_store(&busy.over, true);
	pthread_join(poster, &end);
	EXPECT_EQ(NULL, end);
	pthread_join(resizer, &end);
	EXPECT_EQ(NULL, end);
	EXPECT_LT(0, busy.resized);
	EXPECT_TRUE(is_empty(self->evd));
}

/* As another process resizes that was given the file: the library learns of it from the ring. */
static DAT_UINT32 resize_behind(DAT_EVD_HANDLE evd, DAT_COUNT min_qlen)
{
	struct dat_dev_evd_resize arg = {
		.size = sizeof(arg),
		.evd = handle_number(evd),
		.min_qlen = min_qlen,
	};

	return dev_type(library_fd(), DAT_DEV_EVD_RESIZE, &arg);
}

TEST_F(change, resize_seen_by_other_process)
{
	int i;

	if (HANDLES_ARE_POINTERS)
		SKIP(return, "the kernel's number is not known");
	ASSERT_DAT(post_from(self->evd, 0, 4));
	EXPECT_EQ(0, se_take(self->evd));
	ASSERT_EQ(0, resize_behind(self->evd, 64));
	EXPECT_EQ(1, se_take(self->evd));
	ASSERT_DAT(post_from(self->evd, 4, 40));
	for (i = 2; i < 42; i++)
		EXPECT_EQ(i, se_take(self->evd));
	/* Twice, before it looks. */
	ASSERT_EQ(0, resize_behind(self->evd, 2));
	ASSERT_EQ(0, resize_behind(self->evd, 16));
	EXPECT_EQ(42, se_take(self->evd));
	EXPECT_EQ(43, se_take(self->evd));
	EXPECT_TRUE(is_empty(self->evd));
}

TEST_F(change, resize_seen_by_waiting_process)
{
	struct evd_waiter w;

	if (HANDLES_ARE_POINTERS)
		SKIP(return, "the kernel's number is not known");
	ASSERT_EQ(0, resize_behind(self->evd, 32));
	/* More than fitted when it began. */
	waiter_start(&w, self->evd, 20);
	ASSERT_EQ(0, resize_behind(self->evd, 64));
	ASSERT_DAT(post_from(self->evd, 0, 20));
	evd_waiter_end(&w);
	ASSERT_DAT(w.ret);
	EXPECT_EQ(0, se_number(&w.event));
	EXPECT_TRUE(take_from(self->evd, 1, 19));
}

/* The old ring says for ever what was true when it was left. */
TEST_F(change, resize_updates_state_across_processes)
{
	struct evd_waiter w;
	DAT_EVENT event;
	DAT_COUNT nmore;

	if (HANDLES_ARE_POINTERS)
		SKIP(return, "the kernel's number is not known");
	waiter_start(&w, self->evd, 1);
	ASSERT_EQ(0, resize_behind(self->evd, 16));
	ASSERT_DAT(post_from(self->evd, 0, 1));
	evd_waiter_end(&w);
	ASSERT_DAT(w.ret);
	ASSERT_DAT(post_from(self->evd, 1, 2));
	EXPECT_EQ(1, se_take(self->evd));

	ASSERT_DAT(dat_evd_set_unwaitable(self->evd));
	ASSERT_EQ(0, resize_behind(self->evd, 32));
	ASSERT_DAT(dat_evd_clear_unwaitable(self->evd));
	EXPECT_DAT(dat_evd_wait(self->evd, 0, 1, &event, &nmore));

	ASSERT_DAT(post_from(self->evd, 3, 1));
	ASSERT_EQ(0, resize_behind(self->evd, 8));
	ASSERT_DAT(dat_evd_set_unwaitable(self->evd));
	EXPECT_EQ(UNWAITABLE, dat_evd_wait(self->evd, 0, 1, &event, &nmore));
	EXPECT_EQ(3, se_take(self->evd));
}

/* dat_evd_post_se() */

TEST_F(change, post_se_pointer_opaque)
{
	static const uintptr_t pointers[] = {
		0, 1, UINTPTR_MAX, UINTPTR_MAX - 1, 1UL << 63, 0x123456789abc,
	};
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_COUNT nmore;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(pointers); i++) {
		event.event_data.software_event_data.pointer =
			(DAT_PVOID)pointers[i];
		ASSERT_DAT(dat_evd_post_se(self->evd, &event));
		/* From now on it is the program's again. */
		memset(&event, 0xff, sizeof(event));
		event.event_number = DAT_SOFTWARE_EVENT;
	}
	for (i = 0; i < ARRAY_LEN(pointers); i++) {
		memset(&event, 0xff, sizeof(event));
		ASSERT_DAT(i % 2 ? dat_evd_dequeue(self->evd, &event) :
			   dat_evd_wait(self->evd, 0, 1, &event, &nmore));
		EXPECT_EQ(DAT_SOFTWARE_EVENT, event.event_number);
		EXPECT_EQ(self->evd, event.evd_handle);
		EXPECT_EQ(pointers[i],
			  (uintptr_t)event.event_data.software_event_data
				  .pointer);
	}
	EXPECT_TRUE(is_empty(self->evd));
}

TEST_F(change, post_se_wakes_waiter)
{
	struct evd_waiter w;

	waiter_start(&w, self->evd, 1);
	ASSERT_DAT(se_post(self->evd, 9));
	evd_waiter_end(&w);
	EXPECT_DAT(w.ret);
	EXPECT_EQ(9, se_number(&w.event));
	EXPECT_EQ(0, w.nmore);
}

TEST_F(change, post_se_full_no_overflow)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	int i;

	ASSERT_DAT(post_from(self->evd, 0, QLEN));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(FULL, se_post(self->evd, 1000));
	EXPECT_EQ(EXPIRED, dat_evd_wait(self->async_evd, SILENCE, 1, &event,
					&nmore));
	/* None is queued when there is room; who posts has to come again. */
	EXPECT_EQ(0, se_take(self->evd));
	ASSERT_DAT(se_post(self->evd, QLEN));
	EXPECT_EQ(FULL, se_post(self->evd, 1000));
	EXPECT_TRUE(take_from(self->evd, 1, QLEN));
	EXPECT_TRUE(is_empty(self->evd));
}

TEST_F(change, post_se_bad_event)
{
	static const DAT_EVENT_NUMBER others[] = {
		0, DAT_DTO_COMPLETION_EVENT, DAT_RMR_BIND_COMPLETION_EVENT,
		DAT_CONNECTION_REQUEST_EVENT, DAT_CONNECTION_EVENT_ESTABLISHED,
		DAT_ASYNC_ERROR_EVD_OVERFLOW, DAT_SOFTWARE_EVENT + 1, ~0,
	};
	DAT_EVENT event = { 0 };
	unsigned int i;

	EXPECT_EQ(BAD_ARG(2), dat_evd_post_se(self->evd, NULL));
	for (i = 0; i < ARRAY_LEN(others); i++) {
		event.event_number = others[i];
		EXPECT_EQ(BAD_ARG(2), dat_evd_post_se(self->evd, &event));
	}
	EXPECT_TRUE(is_empty(self->evd));
	EXPECT_TRUE(is_silent(self->cno));
}

TEST_F(change, post_se_without_software_flag)
{
	DAT_EVD_HANDLE evd;

	ASSERT_DAT(dat_evd_create(self->ia, QLEN, DAT_HANDLE_NULL,
				  DAT_EVD_CONNECTION_FLAG, &evd));
	EXPECT_EQ(BAD_ARG(1), se_post(evd, 1));
	EXPECT_TRUE(is_empty(evd));
	EXPECT_EQ(BAD_ARG(1), se_post(self->async_evd, 1));
	EXPECT_TRUE(is_empty(self->async_evd));
}

/* dat_evd_enable(), dat_evd_disable() */

TEST_F(change, disabled_evd_no_trigger)
{
	struct evd_waiter w;

	ASSERT_DAT(dat_evd_disable(self->evd));
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_TRUE(is_silent(self->cno));
	/* Again is nothing new. */
	ASSERT_DAT(dat_evd_disable(self->evd));
	ASSERT_DAT(se_post(self->evd, 2));
	EXPECT_TRUE(is_silent(self->cno));
	EXPECT_TRUE(take_from(self->evd, 1, 2));
	/* Who waits for the EVD itself does not notice. */
	waiter_start(&w, self->evd, 1);
	ASSERT_DAT(se_post(self->evd, 3));
	evd_waiter_end(&w);
	EXPECT_DAT(w.ret);
	EXPECT_EQ(3, se_number(&w.event));
	EXPECT_TRUE(is_silent(self->cno));
}

TEST_F(change, disable_without_cno)
{
	const int rest = DAT_EVD_STATE_CONFIG_THRESHOLD;

	ASSERT_DAT(dat_evd_modify_cno(self->evd, DAT_HANDLE_NULL));
	ASSERT_DAT(dat_evd_disable(self->evd));
	EXPECT_EQ(rest | DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_WAITABLE,
		  state_of(self->evd));
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(1, se_take(self->evd));
	/* It stays so, whatever CNO it gets. */
	ASSERT_DAT(dat_evd_modify_cno(self->evd, self->cno));
	ASSERT_DAT(se_post(self->evd, 2));
	EXPECT_TRUE(is_silent(self->cno));
	ASSERT_DAT(dat_evd_modify_cno(self->evd, DAT_HANDLE_NULL));
	ASSERT_DAT(dat_evd_enable(self->evd));
	EXPECT_EQ(rest | DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE,
		  state_of(self->evd));
	EXPECT_TRUE(is_silent(self->cno));
}

TEST_F(change, disable_keeps_pending_trigger)
{
	ASSERT_DAT(se_post(self->evd, 1));
	ASSERT_DAT(dat_evd_disable(self->evd));
	EXPECT_EQ(self->evd, cno_take(self->cno));
}

TEST_F(change, enable_triggers_if_events_pending)
{
	ASSERT_DAT(dat_evd_disable(self->evd));
	ASSERT_DAT(dat_evd_enable(self->evd));
	EXPECT_TRUE(is_silent(self->cno));
	ASSERT_DAT(dat_evd_disable(self->evd));
	ASSERT_DAT(se_post(self->evd, 1));
	ASSERT_DAT(dat_evd_enable(self->evd));
	EXPECT_EQ(self->evd, cno_take(self->cno));
	/* Again is nothing new. */
	ASSERT_DAT(dat_evd_enable(self->evd));
	EXPECT_TRUE(is_silent(self->cno));
	/* And what comes now triggers as ever. */
	ASSERT_DAT(se_post(self->evd, 2));
	EXPECT_EQ(self->evd, cno_take(self->cno));
}

TEST_F(change, enable_with_waiter_no_trigger)
{
	struct evd_waiter w;

	ASSERT_DAT(dat_evd_disable(self->evd));
	ASSERT_DAT(se_post(self->evd, 1));
	waiter_start(&w, self->evd, 3);
	ASSERT_DAT(dat_evd_enable(self->evd));
	EXPECT_TRUE(is_silent(self->cno));
	ASSERT_DAT(se_post(self->evd, 2));
	EXPECT_TRUE(is_silent(self->cno));
	EXPECT_FALSE(atomic_load(&w.sleeper.returned));
	ASSERT_DAT(se_post(self->evd, 3));
	evd_waiter_end(&w);
	EXPECT_DAT(w.ret);
	EXPECT_EQ(1, se_number(&w.event));
	EXPECT_TRUE(is_silent(self->cno));
}

/* dat_evd_set_unwaitable(), dat_evd_clear_unwaitable() */

TEST_F(change, unwaitable_evd_wait_fails)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	ASSERT_DAT(dat_evd_set_unwaitable(self->evd));
	EXPECT_EQ(UNWAITABLE, dat_evd_wait(self->evd, DAT_TIMEOUT_INFINITE, 1,
					   &event, &nmore));
	EXPECT_EQ(UNWAITABLE, dat_evd_wait(self->evd, 0, QLEN, &event, &nmore));
	/* Even if he would not have to. */
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(UNWAITABLE, dat_evd_wait(self->evd, 0, 1, &event, &nmore));
	/* Dequeuing is another matter. */
	EXPECT_EQ(1, se_take(self->evd));

	ASSERT_DAT(se_post(self->evd, 2));
	ASSERT_DAT(dat_evd_clear_unwaitable(self->evd));
	EXPECT_DAT(dat_evd_wait(self->evd, 0, 1, &event, &nmore));
	EXPECT_EQ(2, se_number(&event));
	EXPECT_EQ(EXPIRED, dat_evd_wait(self->evd, 0, 1, &event, &nmore));
	/* Clear already. */
	ASSERT_DAT(dat_evd_clear_unwaitable(self->evd));
	ASSERT_DAT(se_post(self->evd, 3));
	EXPECT_EQ(3, se_take(self->evd));
}

TEST_F(change, set_unwaitable_wakes_waiter)
{
	struct evd_waiter w;
	int i;

	/* Without an event, and with fewer than are waited for. */
	for (i = 0; i < 2; i++) {
		ASSERT_DAT(post_from(self->evd, 0, i));
		waiter_start(&w, self->evd, 2);
		ASSERT_DAT(dat_evd_set_unwaitable(self->evd));
		evd_waiter_end(&w);
		EXPECT_EQ(UNWAITABLE, w.ret);
		EXPECT_TRUE(take_from(self->evd, 0, i));
		EXPECT_TRUE(is_empty(self->evd));
		ASSERT_DAT(dat_evd_clear_unwaitable(self->evd));
	}
	waiter_start(&w, self->evd, 1);
	/* This does not. */
	ASSERT_DAT(dat_evd_clear_unwaitable(self->evd));
	ASSERT_DAT(dat_evd_disable(self->evd));
	ASSERT_DAT(dat_evd_enable(self->evd));
	usleep(SILENCE);
	EXPECT_FALSE(atomic_load(&w.sleeper.returned));
	ASSERT_DAT(se_post(self->evd, 5));
	evd_waiter_end(&w);
	EXPECT_DAT(w.ret);
}

TEST_F(change, unwaitable_evd_triggers_cno)
{
	ASSERT_DAT(dat_evd_set_unwaitable(self->evd));
	EXPECT_TRUE(is_silent(self->cno));
	ASSERT_DAT(se_post(self->evd, 0));
	EXPECT_EQ(self->evd, cno_take(self->cno));
	ASSERT_DAT(dat_evd_clear_unwaitable(self->evd));
	EXPECT_TRUE(is_silent(self->cno));
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(self->evd, cno_take(self->cno));
	/* It fills up, and nobody is told but who posts. */
	ASSERT_DAT(dat_evd_set_unwaitable(self->evd));
	ASSERT_DAT(post_from(self->evd, 2, QLEN - 2));
	EXPECT_EQ(FULL, se_post(self->evd, 100));
	EXPECT_TRUE(take_from(self->evd, 0, QLEN));
}

TEST_F(change, unwaitable_independent_of_disabled)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	ASSERT_DAT(dat_evd_set_unwaitable(self->evd));
	ASSERT_DAT(dat_evd_disable(self->evd));
	ASSERT_DAT(se_post(self->evd, 1));
	/* There is an event, but it is not enabled by this. */
	ASSERT_DAT(dat_evd_clear_unwaitable(self->evd));
	EXPECT_TRUE(is_silent(self->cno));
	ASSERT_DAT(dat_evd_set_unwaitable(self->evd));
	ASSERT_DAT(dat_evd_enable(self->evd));
	EXPECT_EQ(self->evd, cno_take(self->cno));
	EXPECT_EQ(UNWAITABLE, dat_evd_wait(self->evd, 0, 1, &event, &nmore));
}

/* dat_evd_modify_cno() */

static DAT_CNO_HANDLE cno_of(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	return dat_evd_query(evd, DAT_EVD_FIELD_CNO, &param) ?
		       evd : param.cno_handle;
}

TEST_F(change, modify_cno_moves_notifications)
{
	DAT_CNO_HANDLE other;

	ASSERT_DAT(dat_cno_create(self->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				  &other));
	ASSERT_DAT(dat_evd_modify_cno(self->evd, other));
	EXPECT_EQ(other, cno_of(self->evd));
	EXPECT_TRUE(is_silent(other));
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(self->evd, cno_take(other));
	EXPECT_TRUE(is_silent(self->cno));
	/* The old one is free. */
	EXPECT_DAT(dat_cno_free(self->cno));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE),
		       dat_cno_free(other));
}

TEST_F(change, modify_cno_with_pending_events)
{
	DAT_CNO_HANDLE other;

	ASSERT_DAT(dat_cno_create(self->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				  &other));
	ASSERT_DAT(se_post(self->evd, 1));
	ASSERT_DAT(dat_evd_modify_cno(self->evd, other));
	/* The consumer must be prepared to be told by both. */
	EXPECT_EQ(self->evd, cno_take(self->cno));
	EXPECT_EQ(self->evd, cno_take(other));
	EXPECT_EQ(1, se_take(self->evd));
	ASSERT_DAT(dat_evd_modify_cno(self->evd, self->cno));
	EXPECT_TRUE(is_silent(self->cno));
	EXPECT_TRUE(is_silent(other));
}

TEST_F(change, modify_cno_of_disabled_evd)
{
	DAT_CNO_HANDLE other;

	ASSERT_DAT(dat_cno_create(self->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				  &other));
	ASSERT_DAT(dat_evd_disable(self->evd));
	ASSERT_DAT(se_post(self->evd, 1));
	ASSERT_DAT(dat_evd_modify_cno(self->evd, other));
	ASSERT_DAT(se_post(self->evd, 2));
	EXPECT_TRUE(is_silent(other));
	ASSERT_DAT(dat_evd_enable(self->evd));
	EXPECT_EQ(self->evd, cno_take(other));
	EXPECT_TRUE(is_silent(self->cno));
}

TEST_F(change, modify_cno_null_keeps_events)
{
	ASSERT_DAT(se_post(self->evd, 1));
	ASSERT_DAT(dat_evd_modify_cno(self->evd, DAT_HANDLE_NULL));
	EXPECT_EQ(DAT_HANDLE_NULL, cno_of(self->evd));
	/* What was in progress reaches the old one, and its event is there. */
	EXPECT_EQ(self->evd, cno_take(self->cno));
	EXPECT_EQ(1, se_take(self->evd));
	ASSERT_DAT(se_post(self->evd, 2));
	EXPECT_TRUE(is_silent(self->cno));
	EXPECT_EQ(2, se_take(self->evd));
	/* None twice is none. */
	ASSERT_DAT(dat_evd_modify_cno(self->evd, DAT_HANDLE_NULL));
	EXPECT_DAT(dat_cno_free(self->cno));
}

TEST_F(change, modify_cno_keeps_waiter)
{
	DAT_CNO_HANDLE other;
	struct evd_waiter w;

	ASSERT_DAT(dat_cno_create(self->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				  &other));
	waiter_start(&w, self->evd, 2);
	ASSERT_DAT(se_post(self->evd, 1));
	ASSERT_DAT(dat_evd_modify_cno(self->evd, other));
	EXPECT_TRUE(is_silent(other));
	EXPECT_FALSE(atomic_load(&w.sleeper.returned));
	ASSERT_DAT(se_post(self->evd, 2));
	evd_waiter_end(&w);
	EXPECT_DAT(w.ret);
	EXPECT_TRUE(is_silent(other));
}

/* EVDs that a device feeds. */

FIXTURE(fed)
{
	struct pair pair;
	struct region a, b;
	DAT_EVD_HANDLE evd;
};

/* Side a's completions, all of which notify, go to @evd. */
FIXTURE_SETUP(fed)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = 4,
		.max_request_dtos = 32,
	};
	struct pair *pair = &self->pair;

	ASSERT_DAT(pair_open(pair));
	ASSERT_DAT(dat_evd_create(pair->ia, 64, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG, &self->evd));
	ASSERT_DAT(dat_ep_free(pair->a.ep));
	ASSERT_DAT(dat_ep_create(pair->ia, pair->a.pz, self->evd, self->evd,
				 pair->a.conn_evd, &attr, &pair->a.ep));
	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(regions_open(pair, &self->a, &self->b, 4096,
				DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(fed)
{
	pair_close(&self->pair);
}

TEST_F(fed, query_notification_state)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};
	const int rest = DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE;
	struct pair *pair = &self->pair;
	DAT_EP_HANDLE ep;

	EXPECT_EQ(rest | DAT_EVD_STATE_CONFIG_THRESHOLD, state_of(self->evd));
	/* See side_open(). */
	EXPECT_EQ(rest | DAT_EVD_STATE_CONFIG_NOTIFY,
		  state_of(pair->b.dto_evd));
	/* siw has no solicited events. */
	if (link_is_iwarp())
		return;
	ASSERT_DAT(dat_ep_create(pair->ia, pair->b.pz, pair->b.dto_evd,
				 DAT_HANDLE_NULL, pair->b.conn_evd, &attr,
				 &ep));
	EXPECT_EQ(rest | DAT_EVD_STATE_CONFIG_SOLICITED,
		  state_of(pair->b.dto_evd));
	EXPECT_DAT(dat_ep_free(ep));
	EXPECT_EQ(rest | DAT_EVD_STATE_CONFIG_NOTIFY,
		  state_of(pair->b.dto_evd));
}

TEST_F(fed, resize_keeps_completions)
{
	static const DAT_COUNT sizes[] = { 100, 40, 200, 33, 64 };
	int round, posted = 0, taken = 0;
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT event;

	d = &event.event_data.dto_completion_event_data;
	for (round = 0; round < 50; round++) {
		while (posted - taken < 20) {
			ASSERT_DAT(post_write(self->pair.a.ep, &self->a, 0, 8,
					      self->b.rmr_context, self->b.buf,
					      posted));
			posted++;
		}
		ASSERT_DAT(dat_evd_resize(self->evd,
					  sizes[round % ARRAY_LEN(sizes)]));
		EXPECT_EQ(sizes[round % ARRAY_LEN(sizes)], qlen_of(self->evd));
		while (posted - taken > 10) {
			ASSERT_DAT(wait_for(self->evd, DAT_DTO_COMPLETION_EVENT,
					    &event));
			EXPECT_EQ(DAT_DTO_SUCCESS, d->status);
			ASSERT_EQ(taken, d->user_cookie.as_64);
			taken++;
		}
	}
	EXPECT_DAT_TYPE(DAT_QUEUE_EMPTY,
			dat_evd_dequeue(self->pair.async_evd, &event));
}

TEST_F(fed, unwaitable_evd_overflow_reported)
{
	DAT_EVENT event;
	int i;

	ASSERT_DAT(dat_evd_resize(self->evd, 4));
	ASSERT_DAT(dat_evd_set_unwaitable(self->evd));
	for (i = 0; i < 32; i++) {
		ASSERT_DAT(post_write(self->pair.a.ep, &self->a, 0, 8,
				      self->b.rmr_context, self->b.buf, i));
	}
	ASSERT_DAT(wait_for(self->pair.async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW,
			    &event));
	EXPECT_EQ(self->evd,
		  event.event_data.asynch_error_event_data.dat_handle);
	for (i = 0; i < 4; i++) {
		ASSERT_DAT(dat_evd_dequeue(self->evd, &event));
		EXPECT_EQ(i, event.event_data.dto_completion_event_data
				     .user_cookie.as_64);
	}
}

/* A refused software event is none of the device's losses. */
TEST_F(fed, post_se_full_then_overflow)
{
	struct pair *pair = &self->pair;
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	int i;

	ASSERT_DAT(dat_evd_create(pair->ia, QLEN, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG,
				  &evd));
	pair->a.dto_evd = evd;
	ASSERT_DAT(pair_reconnect(pair));
	ASSERT_EQ(QLEN, room(evd));
	EXPECT_DAT_TYPE(DAT_QUEUE_EMPTY,
			dat_evd_dequeue(pair->async_evd, &event));
	ASSERT_DAT(post_write(pair->a.ep, &self->a, 0, 8, self->b.rmr_context,
			      self->b.buf, 1));
	ASSERT_DAT(wait_for(pair->async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW,
			    &event));
	for (i = 0; i < QLEN; i++)
		EXPECT_EQ(i, se_take(evd));
}

TEST_HARNESS_MAIN
