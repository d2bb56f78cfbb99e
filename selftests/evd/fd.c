// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fd.c - dat_linux_get_fd(): EVDs and CNOs for poll(2), select(2), epoll(7)
 */
#include <errno.h>
#include "harness.h"
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <time.h>

#include <dat/dat_linux.h>
#include <linux/dat.h>

#include "pair.h"
#include "software_event.h"

#define QLEN		8

#define ERROR(type, subtype)	(DAT_CLASS_ERROR | (type) | (subtype))

#define READABLE	(POLLIN | POLLRDNORM)
#define ALL_EVENTS	(READABLE | POLLPRI | POLLOUT | POLLWRNORM)

/* In milliseconds: what must not happen is given this long to happen. */
#define SILENCE		100
#define PATIENCE	(PAIR_TIMEOUT / 1000)

/* An EVD of software events, with a CNO, and a descriptor of each. */
FIXTURE(fd)
{
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	int evd_fd, cno_fd;
};

FIXTURE_SETUP(fd)
{
	self->ia = DAT_HANDLE_NULL;
	self->async_evd = DAT_HANDLE_NULL;
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &self->async_evd,
			       &self->ia));
	ASSERT_DAT(dat_cno_create(self->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				  &self->cno));
	ASSERT_DAT(se_create(self->ia, QLEN, self->cno, &self->evd));
	self->evd_fd = -1;
	self->cno_fd = -1;
	ASSERT_DAT(dat_linux_get_fd(self->evd, &self->evd_fd));
	ASSERT_DAT(dat_linux_get_fd(self->cno, &self->cno_fd));
	ASSERT_LE(0, self->evd_fd);
	ASSERT_LE(0, self->cno_fd);
	ASSERT_NE(self->evd_fd, self->cno_fd);
}

FIXTURE_TEARDOWN(fd)
{
	if (self->ia)
		dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* What poll() says, after at most so many milliseconds. */
static int poll_for(int fd, int timeout)
{
	struct pollfd p = { .fd = fd, .events = ALL_EVENTS };

	return poll(&p, 1, timeout) < 0 ? -1 : p.revents;
}

static int poll_now(int fd)
{
	return poll_for(fd, 0);
}

/* What epoll_wait() says, of one descriptor. */
static int epoll_for(int epfd, int timeout)
{
	struct epoll_event event = { .events = 0 };

	return epoll_wait(epfd, &event, 1, timeout) < 0 ? -1 :
							  (int)event.events;
}

static int epoll_of(int fd, uint32_t flags)
{
	struct epoll_event event = { .events = EPOLLIN | flags };
	int epfd = epoll_create1(EPOLL_CLOEXEC);

	return epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event) ? -1 : epfd;
}

/* A thread in poll(), select() or epoll_wait(). */
struct poller {
	struct sleeper sleeper;
	int fd;
	int result;
};

static void poll_main(void *arg)
{
	struct poller *p = arg;

	p->result = poll_for(p->fd, -1);
}

static void select_main(void *arg)
{
	struct poller *p = arg;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(p->fd, &set);
	p->result = select(p->fd + 1, &set, NULL, NULL, NULL) == 1 &&
		    FD_ISSET(p->fd, &set);
}

static void epoll_main(void *arg)
{
	struct poller *p = arg;

	p->result = epoll_for(p->fd, -1);
}

static void poller_start(struct poller *p, void (*fn)(void *arg), enum sleep_call call, int fd)
{
	p->fd = fd;
	sleeper_start(&p->sleeper, fn, p);
	sleeper_await(&p->sleeper, call);
}

static int poller_end(struct poller *p)
{
	pthread_join(p->sleeper.thread, NULL);
	return p->result;
}

TEST_F(fd, evd_readable_until_empty)
{
	EXPECT_EQ(0, poll_for(self->evd_fd, SILENCE));
	ASSERT_DAT(se_post(self->evd, 0));
	ASSERT_DAT(se_post(self->evd, 1));
	/* Looking changes nothing. */
	EXPECT_EQ(READABLE, poll_now(self->evd_fd));
	EXPECT_EQ(READABLE, poll_now(self->evd_fd));
	EXPECT_EQ(0, se_take(self->evd));
	EXPECT_EQ(READABLE, poll_now(self->evd_fd));
	EXPECT_EQ(1, se_take(self->evd));
	EXPECT_EQ(0, poll_now(self->evd_fd));
	ASSERT_DAT(se_post(self->evd, 2));
	EXPECT_EQ(READABLE, poll_now(self->evd_fd));
}

TEST_F(fd, full_evd_readable)
{
	int i;

	for (i = 0; i < QLEN; i++) {
		ASSERT_DAT(se_post(self->evd, i));
	}
	EXPECT_EQ(READABLE, poll_now(self->evd_fd));
	/* Its ring is another one from now on. */
	ASSERT_DAT(dat_evd_resize(self->evd, 64));
	EXPECT_EQ(READABLE, poll_now(self->evd_fd));
	for (i = 0; i < QLEN; i++)
		EXPECT_EQ(i, se_take(self->evd));
	EXPECT_EQ(0, poll_now(self->evd_fd));
}

TEST_F(fd, cno_readable_until_wait)
{
	EXPECT_EQ(0, poll_for(self->cno_fd, SILENCE));
	ASSERT_DAT(se_post(self->evd, 0));
	EXPECT_EQ(READABLE, poll_now(self->cno_fd));
	EXPECT_EQ(READABLE, poll_now(self->cno_fd));
	/* The event is not what it tells of. */
	EXPECT_EQ(0, se_take(self->evd));
	EXPECT_EQ(READABLE, poll_now(self->cno_fd));
	EXPECT_EQ(self->evd, cno_take(self->cno));
	EXPECT_EQ(0, poll_now(self->cno_fd));
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(self->evd, cno_take(self->cno));
	EXPECT_EQ(0, poll_now(self->cno_fd));
	EXPECT_EQ(READABLE, poll_now(self->evd_fd));
}

TEST_F(fd, disabled_evd_readable)
{
	ASSERT_DAT(dat_evd_disable(self->evd));
	ASSERT_DAT(dat_evd_set_unwaitable(self->evd));
	ASSERT_DAT(se_post(self->evd, 0));
	EXPECT_EQ(READABLE, poll_now(self->evd_fd));
	EXPECT_EQ(0, poll_now(self->cno_fd));
	ASSERT_DAT(dat_evd_enable(self->evd));
	EXPECT_EQ(READABLE, poll_now(self->cno_fd));
}

TEST_F(fd, get_fd_bad_handle)
{
	DAT_PZ_HANDLE pz;
	int fd = -5;

	ASSERT_DAT(dat_pz_create(self->ia, &pz));
	{
		DAT_HANDLE bad[] = {
			DAT_HANDLE_NULL, self->ia, pz, &bad,
			(DAT_HANDLE)UINTPTR_MAX,
			(char *)self->evd + (1UL << 32),
			(char *)self->cno + (1UL << 32),
		};
		unsigned int i;

		for (i = 0; i < ARRAY_LEN(bad); i++) {
			EXPECT_EQ(ERROR(DAT_INVALID_HANDLE,
					DAT_INVALID_HANDLE1),
				  dat_linux_get_fd(bad[i], &fd)) {
				TH_LOG("handle %u", i);
			}
		}
	}
	ASSERT_DAT(dat_evd_free(self->evd));
	ASSERT_DAT(dat_cno_free(self->cno));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
		       dat_linux_get_fd(self->evd, &fd));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
		       dat_linux_get_fd(self->cno, &fd));
	EXPECT_EQ(-5, fd);
}

TEST_F(fd, get_fd_null_pointer)
{
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_linux_get_fd(self->evd, NULL));
}

TEST_F(fd, get_fd_async_evd)
{
	int fd;

	ASSERT_DAT(dat_linux_get_fd(self->async_evd, &fd));
	EXPECT_EQ(0, poll_now(fd));
	ASSERT_DAT(dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	self->ia = DAT_HANDLE_NULL;
	EXPECT_EQ(POLLHUP, poll_now(fd));
	EXPECT_EQ(0, close(fd));
}

TEST_F(fd, get_fd_rlimit_nofile)
{
	struct rlimit old, none;
	int fd = -5;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	none = old;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_DAT_RET(ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE),
		       dat_linux_get_fd(self->evd, &fd));
	EXPECT_DAT_RET(ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE),
		       dat_linux_get_fd(self->cno, &fd));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	EXPECT_EQ(-5, fd);
	EXPECT_DAT(dat_linux_get_fd(self->evd, &fd));
	EXPECT_EQ(0, close(fd));
}

/* A loop of its own for all that a program waits for. */
TEST_F(fd, epoll_several_fds)
{
	struct epoll_event event = { .events = EPOLLIN }, ready[4];
	int epfd, pipe_fd[2], other_fd;
	DAT_EVD_HANDLE other;

	ASSERT_DAT(se_create(self->ia, QLEN, DAT_HANDLE_NULL, &other));
	ASSERT_DAT(dat_linux_get_fd(other, &other_fd));
	ASSERT_EQ(0, pipe(pipe_fd));
	epfd = epoll_create1(0);
	ASSERT_LE(0, epfd);
	event.data.u64 = 1;
	ASSERT_EQ(0, epoll_ctl(epfd, EPOLL_CTL_ADD, self->evd_fd, &event));
	event.data.u64 = 2;
	ASSERT_EQ(0, epoll_ctl(epfd, EPOLL_CTL_ADD, other_fd, &event));
	event.data.u64 = 3;
	ASSERT_EQ(0, epoll_ctl(epfd, EPOLL_CTL_ADD, pipe_fd[0], &event));
	EXPECT_EQ(0, epoll_wait(epfd, ready, 4, SILENCE));
	ASSERT_DAT(se_post(other, 1));
	ASSERT_EQ(1, epoll_wait(epfd, ready, 4, PATIENCE));
	EXPECT_EQ(2, ready[0].data.u64);
	ASSERT_DAT(se_post(self->evd, 1));
	ASSERT_EQ(1, write(pipe_fd[1], "", 1));
	EXPECT_EQ(3, epoll_wait(epfd, ready, 4, PATIENCE));
	EXPECT_EQ(1, se_take(other));
	EXPECT_EQ(2, epoll_wait(epfd, ready, 4, PATIENCE));
}

#define EVENTS	1000

static void *poster_main(void *arg)
{
	DAT_RETURN ret;
	uintptr_t i;

	for (i = 0; i < EVENTS; i++) {
		while ((ret = se_post(arg, i)) &&
		       DAT_GET_TYPE(ret) == DAT_QUEUE_FULL)
			usleep(10);
		if (ret)
			break;
	}
	return NULL;
}

TEST_F(fd, edge_epoll_no_lost_event)
{
	pthread_t thread;
	long next = 0, n;
	int epfd;

	epfd = epoll_of(self->evd_fd, EPOLLET);
	ASSERT_LE(0, epfd);
	ASSERT_EQ(0, pthread_create(&thread, NULL, poster_main, self->evd));
	while (next < EVENTS) {
		ASSERT_EQ(EPOLLIN, epoll_for(epfd, PATIENCE));
		while ((n = se_take(self->evd)) >= 0) {
			ASSERT_EQ(next, n);
			next++;
		}
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(-1, se_take(self->evd));
}

/* What holds for both: EVDs and CNOs. */

FIXTURE(kind)
{
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	DAT_HANDLE handle;
	int fd;
};

FIXTURE_VARIANT(kind)
{
	bool is_cno;
};

FIXTURE_VARIANT_ADD(kind, evd)
{
	.is_cno = false,
};

FIXTURE_VARIANT_ADD(kind, cno)
{
	.is_cno = true,
};

FIXTURE_SETUP(kind)
{
	self->ia = DAT_HANDLE_NULL;
	self->async_evd = DAT_HANDLE_NULL;
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &self->async_evd,
			       &self->ia));
	ASSERT_DAT(dat_cno_create(self->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
				  &self->cno));
	ASSERT_DAT(se_create(self->ia, QLEN, self->cno, &self->evd));
	self->handle = variant->is_cno ? self->cno : self->evd;
	ASSERT_DAT(dat_linux_get_fd(self->handle, &self->fd));
}

FIXTURE_TEARDOWN(kind)
{
	if (self->ia)
		dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* Takes what makes the descriptor readable. */
static bool calm_down(FIXTURE_DATA(kind) *self, bool is_cno)
{
	if (is_cno)
		return cno_take(self->cno) == self->evd;
	return se_take(self->evd) >= 0;
}

static DAT_RETURN free_it(FIXTURE_DATA(kind) *self, bool is_cno)
{
	DAT_RETURN ret = DAT_SUCCESS;

	if (!is_cno)
		return dat_evd_free(self->evd);
	if (self->evd)
		ret = dat_evd_modify_cno(self->evd, DAT_HANDLE_NULL);
	return ret ?: dat_cno_free(self->cno);
}

TEST_F(kind, poll_sleeps_until_event)
{
	struct poller p;

	poller_start(&p, poll_main, SLEEP_POLL, self->fd);
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(READABLE, poller_end(&p));
}

TEST_F(kind, select_sleeps_until_event)
{
	struct timeval silence = { .tv_usec = SILENCE * 1000 };
	struct poller p;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(self->fd, &set);
	EXPECT_EQ(0, select(self->fd + 1, &set, NULL, NULL, &silence));
	poller_start(&p, select_main, SLEEP_SELECT, self->fd);
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(1, poller_end(&p));
	/* Neither can be written to, nor is there anything exceptional. */
	FD_ZERO(&set);
	FD_SET(self->fd, &set);
	EXPECT_EQ(0, select(self->fd + 1, NULL, &set, NULL, &silence));
	FD_SET(self->fd, &set);
	EXPECT_EQ(0, select(self->fd + 1, NULL, NULL, &set, &silence));
}

TEST_F(kind, level_epoll_repeats_while_readable)
{
	int i, epfd = epoll_of(self->fd, 0);
	struct poller p;

	ASSERT_LE(0, epfd);
	EXPECT_EQ(0, epoll_for(epfd, SILENCE));
	for (i = 0; i < 3; i++) {
		poller_start(&p, epoll_main, SLEEP_EPOLL, epfd);
		ASSERT_DAT(se_post(self->evd, 1));
		EXPECT_EQ(EPOLLIN, poller_end(&p));
		EXPECT_EQ(EPOLLIN, epoll_for(epfd, 0));
		EXPECT_EQ(EPOLLIN, epoll_for(epfd, 0));
		EXPECT_TRUE(calm_down(self, variant->is_cno));
		EXPECT_EQ(0, epoll_for(epfd, SILENCE));
	}
}

TEST_F(kind, edge_epoll_once_per_event)
{
	int i, epfd = epoll_of(self->fd, EPOLLET);
	struct poller p;

	ASSERT_LE(0, epfd);
	EXPECT_EQ(0, epoll_for(epfd, SILENCE));
	for (i = 0; i < 3; i++) {
		/* Whether or not the one before has been taken. */
		poller_start(&p, epoll_main, SLEEP_EPOLL, epfd);
		ASSERT_DAT(se_post(self->evd, 1));
		EXPECT_EQ(EPOLLIN, poller_end(&p));
		EXPECT_EQ(0, epoll_for(epfd, SILENCE));
	}
	/* Taken in time, it is not told of at all. */
	ASSERT_DAT(se_post(self->evd, 1));
	while (calm_down(self, variant->is_cno))
		;
	EXPECT_EQ(0, epoll_for(epfd, SILENCE));
}

TEST_F(kind, poll_with_pending_event)
{
	int epfd;

	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(READABLE, poll_for(self->fd, -1));
	epfd = epoll_of(self->fd, EPOLLET);
	ASSERT_LE(0, epfd);
	EXPECT_EQ(EPOLLIN, epoll_for(epfd, -1));
	/* And so is a descriptor that is made now. */
	EXPECT_EQ(0, close(self->fd));
	ASSERT_DAT(dat_linux_get_fd(self->handle, &self->fd));
	EXPECT_EQ(READABLE, poll_now(self->fd));
}

TEST_F(kind, get_fd_returns_new_fd)
{
	struct poller p, q;
	int other, copy;

	ASSERT_DAT(dat_linux_get_fd(self->handle, &other));
	ASSERT_NE(self->fd, other);
	copy = dup(other);
	ASSERT_LE(0, copy);
	poller_start(&p, poll_main, SLEEP_POLL, self->fd);
	poller_start(&q, poll_main, SLEEP_POLL, copy);
	EXPECT_EQ(0, close(other));
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(READABLE, poller_end(&p));
	EXPECT_EQ(READABLE, poller_end(&q));
	EXPECT_EQ(0, close(self->fd));
	EXPECT_EQ(READABLE, poll_now(copy));
	EXPECT_TRUE(calm_down(self, variant->is_cno));
	EXPECT_EQ(0, poll_now(copy));
}

TEST_F(kind, object_free_hangs_up)
{
	int epfd = epoll_of(self->fd, EPOLLET);
	struct poller p, q;

	ASSERT_LE(0, epfd);
	poller_start(&p, poll_main, SLEEP_POLL, self->fd);
	poller_start(&q, epoll_main, SLEEP_EPOLL, epfd);
	ASSERT_DAT(free_it(self, variant->is_cno));
	EXPECT_EQ(POLLHUP, poller_end(&p));
	EXPECT_EQ(EPOLLHUP, poller_end(&q));
	/* It stays so, and outlives what it was a descriptor of. */
	EXPECT_EQ(POLLHUP, poll_now(self->fd));
	ASSERT_DAT(dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	self->ia = DAT_HANDLE_NULL;
	EXPECT_EQ(POLLHUP, poll_now(self->fd));
	EXPECT_EQ(0, close(self->fd));
}

TEST_F(kind, ia_close_hangs_up)
{
	int epfd = epoll_of(self->fd, 0);
	struct poller p, q;

	ASSERT_LE(0, epfd);
	poller_start(&p, poll_main, SLEEP_POLL, self->fd);
	poller_start(&q, epoll_main, SLEEP_EPOLL, epfd);
	ASSERT_DAT(dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG));
	self->ia = DAT_HANDLE_NULL;
	/* A CNO may be told first that its last EVD has gone. */
	EXPECT_TRUE(poller_end(&p) & POLLHUP);
	EXPECT_TRUE(poller_end(&q) & EPOLLHUP);
	EXPECT_EQ(POLLHUP, poll_now(self->fd));
	EXPECT_EQ(0, close(self->fd));
}

/* What is in a ring stays mapped by who reads it, but nobody can take it. */
TEST_F(kind, free_with_events_hangs_up)
{
	ASSERT_DAT(se_post(self->evd, 1));
	ASSERT_DAT(free_it(self, variant->is_cno));
	EXPECT_TRUE(poll_now(self->fd) & POLLHUP);
	EXPECT_EQ(0, close(self->fd));
}

TEST_F(kind, free_with_open_fds)
{
	int fds[16];
	int i;

	for (i = 0; i < 16; i++) {
		ASSERT_DAT(dat_linux_get_fd(self->handle, &fds[i]));
	}
	ASSERT_DAT(free_it(self, variant->is_cno));
	ASSERT_DAT(variant->is_cno ? dat_evd_free(self->evd)
				   : dat_cno_free(self->cno));
	/* Nor does closing the IA as one who leaves nothing behind. */
	EXPECT_DAT(dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
	self->ia = DAT_HANDLE_NULL;
	for (i = 0; i < 16; i++) {
		EXPECT_EQ(POLLHUP, poll_now(fds[i]));
		EXPECT_EQ(0, close(fds[i]));
	}
}

TEST_F(kind, fd_cloexec_and_poll_only)
{
	char byte = 0;

	EXPECT_EQ(FD_CLOEXEC, fcntl(self->fd, F_GETFD));
	ASSERT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(-1, read(self->fd, &byte, 1));
	EXPECT_EQ(-1, write(self->fd, &byte, 1));
	EXPECT_EQ(-1, ioctl(self->fd, DAT_DEV_EVD_QUERY, &byte));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd,
				   0));
	EXPECT_EQ(READABLE, poll_now(self->fd));
	EXPECT_TRUE(calm_down(self, variant->is_cno));
}

TEST_F(kind, fd_polled_by_child)
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(poll_for(self->fd, PATIENCE) != READABLE);
	ASSERT_LT(0, pid);
	EXPECT_DAT(se_post(self->evd, 1));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/* It took nothing along when it went. */
	EXPECT_EQ(READABLE, poll_now(self->fd));
	EXPECT_TRUE(calm_down(self, variant->is_cno));
}

/* Nothing is pinned when all have been closed, in whatever order. */

static int module_users(void)
{
	FILE *file = fopen("/sys/module/kdapl/refcnt", "r");
	int count = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &count) != 1)
		count = -1;
	fclose(file);
	return count;
}

/* What the kernel releases behind the back of a process takes a moment. */
static bool back_to(int users)
{
	time_t give_up = time(NULL) + PAIR_TIMEOUT / 1000000;

	while (module_users() != users && time(NULL) < give_up)
		usleep(1000);
	return module_users() == users;
}

/**
 * struct raw - a file of its own, with an IA, an EVD and a CNO
 * @dev: /dev/dat
 * @evd: descriptor of the EVD
 * @cno: descriptor of the CNO
 */
struct raw {
	int dev, evd, cno;
};

static int raw_fd(int dev, __u32 handle)
{
	struct dat_dev_fd arg = { .size = sizeof(arg), .handle = handle };

	return ioctl(dev, DAT_DEV_FD, &arg) || arg.result ? -1 : (int)arg.fd;
}

static bool raw_open(struct raw *raw)
{
	struct dat_dev_ia_open ia = {
		.size = sizeof(ia), .dat_major = 1, .dat_minor = 2,
		.async_evd_qlen = 8,
	};
	struct dat_dev_cno_create cno = { .size = sizeof(cno) };
	struct dat_dev_evd_create evd = {
		.size = sizeof(evd), .min_qlen = QLEN,
		.flags = DAT_EVD_SOFTWARE_FLAG,
	};
	struct dat_dev_evd_post_se post = { .size = sizeof(post) };

	snprintf(ia.name, sizeof(ia.name), "%s", ia_name());
	raw->dev = open("/dev/dat", O_RDWR | O_CLOEXEC);
	if (raw->dev < 0 || ioctl(raw->dev, DAT_DEV_IA_OPEN, &ia) || ia.result)
		return false;
	cno.ia = ia.ia;
	if (ioctl(raw->dev, DAT_DEV_CNO_CREATE, &cno) || cno.result)
		return false;
	evd.ia = ia.ia;
	evd.cno = cno.cno;
	if (ioctl(raw->dev, DAT_DEV_EVD_CREATE, &evd) || evd.result)
		return false;
	post.evd = evd.evd;
	if (ioctl(raw->dev, DAT_DEV_EVD_POST_SE, &post) || post.result)
		return false;
	raw->evd = raw_fd(raw->dev, evd.evd);
	raw->cno = raw_fd(raw->dev, cno.cno);
	return raw->evd >= 0 && raw->cno >= 0;
}

/* A descriptor keeps the module and its own memory, but none of the objects of the file. */
TEST(open_fd_keeps_module)
{
	int users = module_users();
	int expected, i;
	struct raw raw;

	ASSERT_LE(0, users);
	for (i = 0; i < 6; i++) {
		ASSERT_TRUE(raw_open(&raw));
		EXPECT_LT(users, module_users());
		expected = READABLE;
		if (i < 3) {
			EXPECT_EQ(0, close(raw.dev));
			expected |= POLLHUP;
		}
		EXPECT_EQ(expected, poll_now(raw.evd));
		EXPECT_EQ(expected, poll_now(raw.cno));
		if (i % 3 == 0)
			EXPECT_EQ(0, close(raw.evd));
		EXPECT_EQ(expected, poll_now(raw.cno));
		EXPECT_LT(users, module_users());
		EXPECT_EQ(0, close(raw.cno));
		if (i % 3) {
			EXPECT_EQ(expected, poll_now(raw.evd));
			EXPECT_LT(users, module_users());
			EXPECT_EQ(0, close(raw.evd));
		}
		if (i >= 3) {
			EXPECT_LT(users, module_users());
			EXPECT_EQ(0, close(raw.dev));
		}
		EXPECT_TRUE(back_to(users));
	}
}

TEST(process_exit_releases_object)
{
	int users = module_users(), epfd, status;
	struct raw raw;
	pid_t pid;

	ASSERT_LE(0, users);
	pid = fork();
	if (!pid) {
		if (!raw_open(&raw))
			_exit(1);
		/* Polled by one that is polled itself. */
		epfd = epoll_of(raw.evd, EPOLLET);
		epfd = epoll_of(epfd, 0);
		_exit(epoll_for(epfd, PATIENCE) != EPOLLIN);
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(back_to(users));
}

/* Descriptors of EVDs that a device feeds. */

FIXTURE(fed)
{
	struct pair pair;
	struct region a, b;
	int fd;
};

FIXTURE_SETUP(fed)
{
	struct pair *pair = &self->pair;

	ASSERT_DAT(pair_open_connected(pair));
	ASSERT_DAT(regions_open(pair, &self->a, &self->b, 4096,
				DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(dat_linux_get_fd(pair->a.dto_evd, &self->fd));
}

FIXTURE_TEARDOWN(fed)
{
	pair_close(&self->pair);
}

static DAT_RETURN write_with(FIXTURE_DATA(fed) *self, DAT_UINT64 cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_TRIPLET to = remote(self->b.rmr_context, self->b.buf, 8);
	DAT_LMR_TRIPLET from = segment(&self->a, 0, 8);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_ep_post_rdma_write(self->pair.a.ep, 1, &from, c, &to, flags);
}

TEST_F(fed, completion_makes_fd_readable)
{
	DAT_EVENT event;
	int i;

	for (i = 0; i < 5; i++) {
		ASSERT_DAT(write_with(self, i, DAT_COMPLETION_DEFAULT_FLAG));
		EXPECT_EQ(READABLE, poll_for(self->fd, PATIENCE));
		ASSERT_DAT(dat_evd_dequeue(self->pair.a.dto_evd, &event));
		EXPECT_EQ(i, event.event_data.dto_completion_event_data
				     .user_cookie.as_64);
		EXPECT_EQ(0, poll_now(self->fd));
	}
}

TEST_F(fed, unsignalled_completion_not_readable)
{
	DAT_EVENT event;

	ASSERT_DAT(write_with(self, 1, DAT_COMPLETION_UNSIGNALLED_FLAG));
	EXPECT_EQ(0, poll_for(self->fd, SILENCE));
	/* It is there for who looks. */
	ASSERT_DAT(wait_event(self->pair.a.dto_evd, &event));
	EXPECT_EQ(1, event.event_data.dto_completion_event_data
			     .user_cookie.as_64);
}

TEST_F(fed, connection_event_makes_fd_readable)
{
	struct pair *pair = &self->pair;
	int conn;

	ASSERT_DAT(dat_linux_get_fd(pair->b.conn_evd, &conn));
	EXPECT_EQ(0, poll_now(conn));
	ASSERT_DAT(dat_ep_disconnect(pair->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_EQ(READABLE, poll_for(conn, PATIENCE));
	ASSERT_DAT(wait_number(pair->b.conn_evd,
			       DAT_CONNECTION_EVENT_DISCONNECTED));
	EXPECT_EQ(0, poll_now(conn));
}

TEST_HARNESS_MAIN
