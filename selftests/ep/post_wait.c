// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * post_wait.c - dat_linux_post_wait(): DTOs and a wait for an event with one system call
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <dat/dat_linux.h>

#include "harness.h"
#include "ioctls.h"
#include "pair.h"
#include "software_event.h"

#define REGION		4096
#define LEN		64
#define ROUNDS		20

/* System calls of this thread on /dev/dat */
static __thread unsigned int num_ioctls;

/* libdat calls this one. */
int ioctl(int fd, unsigned long cmd, ...)
{
	int (*next)(int fd, unsigned long cmd, ...) = dlsym(RTLD_NEXT, "ioctl");
	va_list args;
	void *arg;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	num_ioctls++;
	return next(fd, cmd, arg);
}

FIXTURE(post_wait)
{
	struct pair pair;
	struct region a, b;
};

/* An EP whose requests all notify, and an EVD that has never had another */
static DAT_RETURN replace_ep(struct pair *pair, struct side *side)
{
	return dat_ep_free(side->ep) ?:
	       dat_evd_free(side->dto_evd) ?:
	       dat_evd_create(pair->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &side->dto_evd) ?:
	       dat_ep_create(pair->ia, side->pz, side->dto_evd, side->dto_evd, side->conn_evd,
			     NULL, &side->ep);
}

FIXTURE_SETUP(post_wait)
{
	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_DAT(replace_ep(&self->pair, &self->pair.a));
	ASSERT_DAT(replace_ep(&self->pair, &self->pair.b));
	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(post_wait)
{
	pair_close(&self->pair);
}

static DAT_LINUX_DTO dto(DAT_LINUX_OP op, DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *iov)
{
	return (DAT_LINUX_DTO){
		.op = op,
		.handle = ep,
		.num_segments = 1,
		.local_iov = iov,
		.user_cookie = { .as_64 = op },
		.completion_flags = op == DAT_LINUX_SEND ? DAT_COMPLETION_SUPPRESS_FLAG :
							   DAT_COMPLETION_DEFAULT_FLAG,
	};
}

static DAT_DTO_COMPLETION_EVENT_DATA *completion(DAT_EVENT *event)
{
	return &event->event_data.dto_completion_event_data;
}

static bool is_message(DAT_EVENT *event)
{
	return event->event_number == DAT_DTO_COMPLETION_EVENT &&
	       completion(event)->user_cookie.as_64 == DAT_LINUX_RECV &&
	       completion(event)->status == DAT_DTO_SUCCESS &&
	       completion(event)->transfered_length == LEN;
}

/* Does the EP have no receive that waits for a message? */
static bool no_recv(DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle;
	DAT_EP_STATE state;

	return !dat_ep_get_status(ep, &state, &recv_idle, &request_idle) && recv_idle;
}

/* One side of a ping-pong, each round of which is one call */
struct player {
	struct side *side;
	struct region *region;
	unsigned int rounds;
	unsigned int num_good;
	unsigned int num_calls;
};

/* Waits for a message. Then answers it, posts the receive for the next and waits for that. */
static void *play(void *arg)
{
	struct player *p = arg;
	DAT_LMR_TRIPLET in = segment(p->region, 0, LEN), out = segment(p->region, LEN, LEN);
	DAT_LINUX_DTO dtos[] = {
		dto(DAT_LINUX_RECV, p->side->ep, &in),
		dto(DAT_LINUX_SEND, p->side->ep, &out),
	};
	DAT_COUNT num, nmore;
	DAT_EVENT event;
	unsigned int i;

	if (wait_event(p->side->dto_evd, &event))
		return NULL;
	num_ioctls = 0;
	for (i = 0; i < p->rounds && is_message(&event); i++)
		p->num_good += !dat_linux_post_wait(2, dtos, &num, p->side->dto_evd, PAIR_TIMEOUT,
						    1, &event, &nmore) && num == 2;
	p->num_calls = num_ioctls;
	return NULL;
}

TEST_F(post_wait, pingpong_one_call_a_round)
{
	struct pair *pair = &self->pair;
	struct player a = { &pair->a, &self->a, ROUNDS - 1 }, b = { &pair->b, &self->b, ROUNDS };
	DAT_LMR_TRIPLET out = segment(&self->a, LEN, LEN);
	DAT_LINUX_DTO first = dto(DAT_LINUX_SEND, pair->a.ep, &out);
	pthread_t threads[2];
	DAT_COUNT num;

	ASSERT_DAT(post_recv(pair->a.ep, &self->a, 0, LEN, DAT_LINUX_RECV));
	ASSERT_DAT(post_recv(pair->b.ep, &self->b, 0, LEN, DAT_LINUX_RECV));
	ASSERT_EQ(0, pthread_create(&threads[0], NULL, play, &a));
	ASSERT_EQ(0, pthread_create(&threads[1], NULL, play, &b));
	ASSERT_DAT(dat_linux_post(1, &first, &num));
	pthread_join(threads[0], NULL);
	/* Side b waits for one message more than side a has sent. */
	ASSERT_DAT(dat_linux_post(1, &first, &num));
	pthread_join(threads[1], NULL);
	EXPECT_EQ(ROUNDS - 1, a.num_good);
	EXPECT_EQ(ROUNDS - 1, a.num_calls);
	EXPECT_EQ(ROUNDS, b.num_good);
	EXPECT_EQ(ROUNDS, b.num_calls);
}

TEST_F(post_wait, any_evd)
{
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET in = segment(&self->b, 0, LEN), out = segment(&self->a, 0, LEN);
	DAT_LINUX_DTO dtos[] = {
		dto(DAT_LINUX_RECV, pair->b.ep, &in), dto(DAT_LINUX_SEND, pair->a.ep, &out),
	};
	DAT_COUNT num = 77, nmore = 77;
	DAT_EVENT event;

	memset(self->a.buf, 0x5a, LEN);
	ASSERT_DAT(dat_linux_post_wait(2, dtos, &num, pair->b.dto_evd, PAIR_TIMEOUT, 1, &event,
				       &nmore));
	EXPECT_EQ(2, num);
	EXPECT_EQ(0, nmore);
	EXPECT_TRUE(is_message(&event));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, LEN));
}

TEST_F(post_wait, events_there_already)
{
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET in = segment(&self->b, 0, LEN), out = segment(&self->a, 0, LEN);
	DAT_LINUX_DTO dtos[] = {
		dto(DAT_LINUX_RECV, pair->b.ep, &in), dto(DAT_LINUX_RECV, pair->b.ep, &in),
		dto(DAT_LINUX_SEND, pair->a.ep, &out), dto(DAT_LINUX_SEND, pair->a.ep, &out),
	};
	DAT_COUNT num, nmore;
	DAT_EVENT event;

	ASSERT_DAT(dat_linux_post_wait(4, dtos, &num, pair->b.dto_evd, PAIR_TIMEOUT, 2, &event,
				       &nmore));
	EXPECT_EQ(1, nmore);
	/* The one that remains is enough, and the receive is posted all the same. */
	ASSERT_DAT(dat_linux_post_wait(1, dtos, &num, pair->b.dto_evd, 0, 1, &event, &nmore));
	EXPECT_EQ(1, num);
	EXPECT_EQ(0, nmore);
	EXPECT_TRUE(is_message(&event));
	EXPECT_FALSE(no_recv(pair->b.ep));
}

TEST_F(post_wait, nothing_to_post)
{
	DAT_EVD_HANDLE evd;
	DAT_COUNT num = 77, nmore;
	DAT_EVENT event;

	ASSERT_DAT(se_create(self->pair.ia, 4, DAT_HANDLE_NULL, &evd));
	ASSERT_DAT(se_post(evd, 5));
	num_ioctls = 0;
	ASSERT_DAT(dat_linux_post_wait(0, NULL, &num, evd, 0, 1, &event, &nmore));
	EXPECT_EQ(0, num);
	EXPECT_EQ(5, se_number(&event));
	EXPECT_EQ(0, num_ioctls);
	EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED,
			dat_linux_post_wait(0, NULL, &num, evd, 0, 1, &event, &nmore));
	EXPECT_DAT(dat_evd_free(evd));
}

TEST_F(post_wait, failed_entry_does_not_wait)
{
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET in = segment(&self->a, 0, LEN), bad = segment(&self->a, 1, REGION);
	DAT_LINUX_DTO dtos[] = {
		dto(DAT_LINUX_RECV, pair->a.ep, &in), dto(DAT_LINUX_SEND, pair->a.ep, &bad),
		dto(DAT_LINUX_RECV, pair->a.ep, &in),
	};
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_COUNT num = 77, nmore;
	DAT_RETURN expected;
	DAT_EVENT event;

	expected = dat_ep_post_send(pair->a.ep, 1, &bad, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	ASSERT_NE(DAT_SUCCESS, expected);
	EXPECT_DAT_RET(expected, dat_linux_post_wait(3, dtos, &num, pair->a.dto_evd,
						     DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	EXPECT_EQ(1, num);
}

TEST_F(post_wait, timeout_after_post)
{
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET in = segment(&self->a, 0, LEN);
	DAT_LINUX_DTO recv = dto(DAT_LINUX_RECV, pair->a.ep, &in);
	DAT_COUNT num = 77, nmore = 77;
	DAT_EVENT event;

	EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED,
			dat_linux_post_wait(1, &recv, &num, pair->a.dto_evd, 1000, 1, &event,
					    &nmore));
	EXPECT_EQ(1, num);
	EXPECT_EQ(0, nmore);
	EXPECT_FALSE(no_recv(pair->a.ep));
}

/* A thread that posts a receive and waits */
struct late_waiter {
	struct pair *pair;
	struct region *region;
	DAT_RETURN ret;
	DAT_COUNT num;
	struct sleeper sleeper;
};

static void post_and_wait(void *arg)
{
	struct late_waiter *w = arg;
	DAT_LMR_TRIPLET in = segment(w->region, 0, LEN);
	DAT_LINUX_DTO recv = dto(DAT_LINUX_RECV, w->pair->a.ep, &in);
	DAT_EVENT event;
	DAT_COUNT nmore;

	w->ret = dat_linux_post_wait(1, &recv, &w->num, w->pair->a.dto_evd, DAT_TIMEOUT_INFINITE,
				     1, &event, &nmore);
}

static void on_signal(int signal __attribute__((unused)))
{
}

TEST_F(post_wait, signal_after_post)
{
	struct late_waiter w = { .pair = &self->pair, .region = &self->a, .num = 77 };
	/* Even if it asks that system calls go on afterwards, nothing is posted twice. */
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct pair *pair = &self->pair;
	DAT_EVENT event;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	sleeper_start(&w.sleeper, post_and_wait, &w);
	sleeper_await(&w.sleeper, SLEEP_EVD_WAIT);
	/* Again and again: it may not have been asleep the first time. */
	do {
		pthread_kill(w.sleeper.thread, SIGUSR1);
		usleep(1000);
	} while (!atomic_load(&w.sleeper.returned));
	pthread_join(w.sleeper.thread, NULL);
	EXPECT_DAT_TYPE(DAT_INTERRUPTED_CALL, w.ret);
	EXPECT_EQ(1, w.num);
	ASSERT_DAT(dat_ep_disconnect(pair->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(wait_event(pair->a.dto_evd, &event));
	EXPECT_EQ(DAT_DTO_ERR_FLUSHED, completion(&event)->status);
	ASSERT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_DISCONNECTED));
	EXPECT_TRUE(no_recv(pair->a.ep));
	EXPECT_TRUE(is_empty(pair->a.dto_evd));
}

TEST_F(post_wait, bad_wait_posts_nothing)
{
	struct evd_waiter w = { .timeout = DAT_TIMEOUT_INFINITE, .threshold = 1 };
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET in = segment(&self->a, 0, LEN);
	DAT_LINUX_DTO recv = dto(DAT_LINUX_RECV, pair->a.ep, &in);
	DAT_COUNT num = 77, nmore;
	DAT_EVENT event;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
		       dat_linux_post_wait(1, &recv, &num, DAT_HANDLE_NULL, 0, 1, &event, &nmore));
	EXPECT_EQ(0, num);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6),
		       dat_linux_post_wait(1, &recv, &num, pair->a.dto_evd, 0, 0, &event, &nmore));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6),
		       dat_linux_post_wait(1, &recv, &num, pair->a.dto_evd, 0, INT32_MAX, &event,
					   &nmore));
	EXPECT_EQ(0, num);
	ASSERT_DAT(se_create(pair->ia, 4, DAT_HANDLE_NULL, &w.evd));
	evd_waiter_start(&w);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER),
		       dat_linux_post_wait(1, &recv, &num, w.evd, 0, 1, &event, &nmore));
	EXPECT_EQ(0, num);
	ASSERT_DAT(dat_evd_set_unwaitable(w.evd));
	evd_waiter_end(&w);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE),
		       dat_linux_post_wait(1, &recv, &num, w.evd, 0, 1, &event, &nmore));
	EXPECT_EQ(0, num);
	EXPECT_TRUE(no_recv(pair->a.ep));
}

TEST_F(post_wait, bad_args)
{
	struct pair *pair = &self->pair;
	DAT_LMR_TRIPLET in = segment(&self->a, 0, LEN);
	DAT_LINUX_DTO recv = dto(DAT_LINUX_RECV, pair->a.ep, &in);
	DAT_EVD_HANDLE evd = pair->a.dto_evd;
	DAT_COUNT num = 77, nmore;
	DAT_EVENT event;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1),
		       dat_linux_post_wait(-1, &recv, &num, evd, 0, 1, &event, &nmore));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_linux_post_wait(1, NULL, &num, evd, 0, 1, &event, &nmore));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_linux_post_wait(1, &recv, NULL, evd, 0, 1, &event, &nmore));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7),
		       dat_linux_post_wait(1, &recv, &num, evd, 0, 1, NULL, &nmore));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8),
		       dat_linux_post_wait(1, &recv, &num, evd, 0, 1, &event, NULL));
	recv.num_segments = -1;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_linux_post_wait(1, &recv, &num, evd, 0, 1, &event, &nmore));
	EXPECT_EQ(0, num);
	EXPECT_TRUE(no_recv(pair->a.ep));
}

TEST_F(post_wait, ioctl_checks_post)
{
	struct dat_dev_evd_wait wait = {
		.size = sizeof(wait),
		.evd = handle_number(self->pair.a.dto_evd),
		.threshold = 1,
		.num_dtos = 1,
		.dto_size = sizeof(struct dat_dev_dto),
	};
	int fd = library_fd();

	EXPECT_EQ(EFAULT, dev_errno(fd, DAT_DEV_EVD_WAIT, &wait));
	wait.dto_size--;
	EXPECT_EQ(EINVAL, dev_errno(fd, DAT_DEV_EVD_WAIT, &wait));
	wait.dto_size = 1 << 20;
	EXPECT_EQ(E2BIG, dev_errno(fd, DAT_DEV_EVD_WAIT, &wait));
	wait.num_dtos = 0;
	wait.__reserved2 = 1;
	EXPECT_EQ(EOPNOTSUPP, dev_errno(fd, DAT_DEV_EVD_WAIT, &wait));
	wait.__reserved2 = 0;
	EXPECT_EQ(DAT_TIMEOUT_EXPIRED, dev_type(fd, DAT_DEV_EVD_WAIT, &wait));
	/* As programs of the first version have it */
	wait.size = offsetof(struct dat_dev_evd_wait, dtos);
	EXPECT_EQ(DAT_TIMEOUT_EXPIRED, dev_type(fd, DAT_DEV_EVD_WAIT, &wait));
	wait.evd = 0;
	wait.size = sizeof(wait);
	wait.num_dtos = 1;
	EXPECT_EQ(DAT_INVALID_HANDLE, dev_type(fd, DAT_DEV_EVD_WAIT, &wait));
	EXPECT_EQ(0, wait.posted);
}

TEST_HARNESS_MAIN
