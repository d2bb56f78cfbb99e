// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fail_nth_evd.c - every point at which a call can fail for want of memory:
 * CNOs, EVDs that change, descriptors of both, and the list of IAs
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness.h"
#include <dat/dat_linux.h>

#include "faults.h"
#include "mock.h"
#include "software_event.h"

#define QLEN		8
/* What the events carry. */
#define MARK		77
/* The kernel's name of an agent. */
#define AGENT		5

static struct session {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	int fd;
	/* The file that the library has opened. */
	int device;
} s;

static const struct owned objects[] = {
	/* In the order in which they can be freed. */
	{ &s.evd, DAT_HANDLE_TYPE_EVD, DAT_DEV_EVD_FREE },
	/* It goes with its IA. */
	{ &s.async_evd, DAT_HANDLE_TYPE_EVD, 0 },
	{ &s.cno, DAT_HANDLE_TYPE_CNO, DAT_DEV_CNO_FREE },
};

static struct owner owner = { &s.ia, objects, ARRAY_LEN(objects), 0 };

static DAT_RETURN begin(void)
{
	if (is_there(s.ia))
		MUST(dat_ia_close(s.ia, DAT_CLOSE_ABRUPT_FLAG));
	s.async_evd = DAT_HANDLE_NULL;
	MUST(dat_ia_open((char *)ia_name(), QLEN, &s.async_evd, &s.ia));
	s.device = library_fd();
	return DAT_SUCCESS;
}

static DAT_RETURN ia_list(void)
{
	DAT_PROVIDER_INFO infos[16], *list[16];
	DAT_COUNT num, i;
	DAT_RETURN ret;

	for (i = 0; i < 16; i++)
		list[i] = &infos[i];
	ret = dat_registry_list_providers(16, &num, list);
	/* With none there it would have been another's list. */
	return ret == DAT_SUCCESS && !num ? DAT_ABORT : ret;
}

static DAT_RETURN registry(void)
{
	DAT_PROVIDER_INFO info = {
		.ia_name = "mock0",
		.dapl_version_major = 1,
		.dapl_version_minor = 2,
	};

	return dat_registry_add_provider(&mock_provider, &info) ?:
	       dat_registry_remove_provider(&mock_provider, &info);
}

/*
 * The steps: CNOs
 */

static DAT_RETURN cno_create(void)
{
	return dat_cno_create(s.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &s.cno);
}

static void undo_cno_create(void)
{
	if (is_there(s.cno))
		MUST(dat_cno_free(s.cno));
	s.cno = DAT_HANDLE_NULL;
	sweep_orphans(&owner);
}

static DAT_RETURN cno_query(void)
{
	DAT_CNO_PARAM param;

	return dat_cno_query(s.cno, DAT_CNO_FIELD_ALL, &param);
}

/* The EVD holds one event, and its CNO remembers it. */
static void trigger(void)
{
	while (se_take(s.evd) > 0)
		;
	MUST(se_post(s.evd, MARK));
}

static DAT_RETURN cno_wait(void)
{
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret = dat_cno_wait(s.cno, PAIR_TIMEOUT, &evd);

	return ret == DAT_SUCCESS && evd != s.evd ? DAT_ABORT : ret;
}

static void undo_cno_wait(void)
{
	trigger();
}

/* Nothing is there, so it sleeps. */
static DAT_RETURN cno_sleep(void)
{
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret = dat_cno_wait(s.cno, 100, &evd);

	return DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY ? DAT_SUCCESS : ret;
}

static DAT_RETURN cno_modify_agent(void)
{
	return dat_cno_modify_agent(s.cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
}

/*
 * The library has a thread wait as the agent, and what is injected here does
 * not reach that.
 */
static DAT_RETURN set_agent(void)
{
	struct dat_dev_cno_set_agent arg = {
		.size = sizeof(arg),
		.cno = handle_number(s.cno),
		.agent = AGENT,
	};

	return ioctl(s.device, DAT_DEV_CNO_SET_AGENT, &arg) ? SYS(errno) :
							      arg.result;
}

static DAT_RETURN wait_as_agent(void)
{
	struct dat_dev_cno_wait arg = {
		.size = sizeof(arg),
		.cno = handle_number(s.cno),
		.agent = AGENT,
	};

	if (ioctl(s.device, DAT_DEV_CNO_WAIT, &arg))
		return SYS(errno);
	if (!arg.result && arg.evd != handle_number(s.evd))
		return DAT_ABORT;
	return arg.result;
}

/* Who has been told is the agent no more. */
static void undo_wait_as_agent(void)
{
	MUST(set_agent());
	trigger();
}

static DAT_RETURN cno_free(void)
{
	return dat_cno_free(s.cno);
}

static void undo_cno_free(void)
{
	if (!is_there(s.cno))
		MUST(cno_create());
}

/*
 * The steps: EVDs
 */

static DAT_RETURN evd_create(void)
{
	return se_create(s.ia, QLEN, s.cno, &s.evd);
}

static void undo_evd_create(void)
{
	if (is_there(s.evd))
		MUST(dat_evd_free(s.evd));
	s.evd = DAT_HANDLE_NULL;
	sweep_orphans(&owner);
}

static DAT_RETURN evd_query(void)
{
	DAT_EVD_PARAM param;

	return dat_evd_query(s.evd, DAT_EVD_FIELD_ALL, &param);
}

static DAT_RETURN evd_post_se(void)
{
	return se_post(s.evd, MARK);
}

static void undo_evd_post_se(void)
{
	while (se_take(s.evd) > 0)
		;
}

static DAT_RETURN evd_take(void)
{
	return se_take(s.evd) == MARK ? DAT_SUCCESS : DAT_ABORT;
}

static DAT_RETURN evd_disable(void)
{
	return dat_evd_disable(s.evd);
}

static DAT_RETURN evd_enable(void)
{
	return dat_evd_enable(s.evd);
}

static DAT_RETURN evd_set_unwaitable(void)
{
	return dat_evd_set_unwaitable(s.evd);
}

static DAT_RETURN evd_clear_unwaitable(void)
{
	return dat_evd_clear_unwaitable(s.evd);
}

static DAT_RETURN evd_leave_cno(void)
{
	return dat_evd_modify_cno(s.evd, DAT_HANDLE_NULL);
}

static DAT_RETURN evd_modify_cno(void)
{
	return dat_evd_modify_cno(s.evd, s.cno);
}

/* The EVD may have been resized and the caller not told: then once more. */
static DAT_RETURN evd_resize(void)
{
	return dat_evd_resize(s.evd, 64 * QLEN);
}

static DAT_RETURN evd_shrink(void)
{
	return dat_evd_resize(s.evd, 1);
}

/* Whatever has become of the call, what is queued is still there. */
static void undo_evd_resize(void)
{
	MUST(evd_take());
	MUST(evd_post_se());
}

static void undo_evd_shrink(void)
{
	undo_evd_resize();
}

static DAT_RETURN evd_free(void)
{
	return dat_evd_free(s.evd);
}

static void undo_evd_free(void)
{
	if (!is_there(s.evd))
		MUST(evd_create());
}

/*
 * The steps: descriptors
 */

static bool is_descriptor_of_ours(int fd)
{
	char path[32], target[32];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, target, sizeof(target) - 1);
	target[len > 0 ? len : 0] = '\0';
	return !strncmp(target, "anon_inode:[dat-", 16);
}

/* There may be one that nobody was told of. */
static void close_descriptors(void)
{
	int fd;

	for (fd = 3; fd < 256; fd++)
		if (is_descriptor_of_ours(fd))
			close(fd);
	s.fd = -1;
}

static DAT_RETURN evd_get_fd(void)
{
	return dat_linux_get_fd(s.evd, &s.fd);
}

static void undo_evd_get_fd(void)
{
	close_descriptors();
}

static DAT_RETURN cno_get_fd(void)
{
	return dat_linux_get_fd(s.cno, &s.fd);
}

static void undo_cno_get_fd(void)
{
	close_descriptors();
}

/* The object is in use as long as the descriptor is: what is freed, goes. */
static DAT_RETURN poll_fd(void)
{
	struct pollfd p = { .fd = s.fd, .events = POLLIN };
	int num = poll(&p, 1, PAIR_TIMEOUT / 1000);

	if (num < 0)
		return SYS(errno);
	return num == 1 && p.revents == POLLIN ? DAT_SUCCESS : DAT_ABORT;
}

static DAT_RETURN close_fd(void)
{
	close_descriptors();
	return DAT_SUCCESS;
}

/* What needs no memory, says the page. */
#define SET(fn)		{ #fn, fn, NOTHING }
#define POST(fn)	{ #fn, fn, OBJECT, undo_##fn }

static const struct step session[] = {
	BEGIN(begin),
	LOOK(ia_list),
	LOOK(registry),
	MAKE(cno_create),
	SET(cno_query),
	SET(cno_sleep),
	SET(cno_modify_agent),
	MAKE(evd_create),
	SET(evd_query),
	POST(evd_post_se),
	MAKE(evd_get_fd),
	{ "poll_fd", poll_fd, NOTHING, NULL, NULL, SYS(ENOMEM) },
	QUIET(close_fd),
	MAKE(cno_get_fd),
	{ "poll_fd", poll_fd, NOTHING, NULL, NULL, SYS(ENOMEM) },
	QUIET(close_fd),
	POST(cno_wait),
	MAKE(evd_resize),
	MAKE(evd_shrink),
	SET(evd_set_unwaitable),
	SET(evd_clear_unwaitable),
	SET(evd_disable),
	SET(evd_enable),
	SET(evd_leave_cno),
	SET(evd_modify_cno),
	QUIET(evd_take),
	/* As the EVD held an event. */
	QUIET(cno_wait),
	SET(set_agent),
	QUIET(evd_post_se),
	POST(wait_as_agent),
	MAKE(evd_free),
	MAKE(cno_free),
};

FAIL_NTH_FIXTURE(fail_nth)

TEST_SESSION(fail_nth, cnos_and_evds_that_change_survive_every_fault, session, 50, 100)

TEST_HARNESS_MAIN
