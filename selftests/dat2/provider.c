// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * provider.c - what only a provider of libdat2 has: its table, its handles, names
 */
#include <grp.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#include "pair.h"

#include <dat2/dat_registry.h>

#define THREADS	8
#define ROUNDS	200

FIXTURE(provider)
{
	struct pair pair;
};

FIXTURE_SETUP(provider)
{
	ASSERT_DAT(pair_open(&self->pair));
}

FIXTURE_TEARDOWN(provider)
{
	pair_close(&self->pair);
}

TEST_F(provider, provider_table_complete)
{
	const DAT_PROVIDER *table = DAT_HANDLE_TO_PROVIDER(self->pair.a.pz);
	const DAT_HANDLE *call = (const DAT_HANDLE *)&table->ia_open_func;
	const DAT_HANDLE *end = (const DAT_HANDLE *)(table + 1);

	for (; call < end; call++)
		EXPECT_NE(NULL, *call) {
			TH_LOG("%td", call - (const DAT_HANDLE *)table);
		}
}

TEST_F(provider, freed_handle_invalid)
{
	DAT_HANDLE_TYPE type;
	DAT_PZ_HANDLE pz;

	ASSERT_DAT(dat_pz_create(self->pair.ia, &pz));
	EXPECT_DAT(dat_get_handle_type(pz, &type));
	EXPECT_EQ(DAT_HANDLE_TYPE_PZ, type);
	EXPECT_DAT(dat_pz_free(pz));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, dat_pz_free(pz));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, dat_get_handle_type(pz, &type));
}

TEST_F(provider, closed_ia_handles_invalid)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;

	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &async_evd, &ia));
	ASSERT_DAT(dat_pz_create(ia, &pz));
	ASSERT_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, dat_pz_free(pz));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, dat_evd_enable(async_evd));
	/* Others have not gone with it. */
	EXPECT_DAT(dat_evd_enable(self->pair.async_evd));
}

TEST_F(provider, ia_open_async_evd_exists)
{
	DAT_EVD_HANDLE evd = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE ia;

	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &evd, &ia));
	EXPECT_EQ(DAT_EVD_OUT_OF_SCOPE, evd);
	evd = DAT_HANDLE_NULL;
	EXPECT_DAT(dat_ia_query(ia, &evd, 0, NULL, 0, NULL));
	EXPECT_EQ(DAT_EVD_OUT_OF_SCOPE, evd);
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

TEST_F(provider, ia_open_thread_safety_flag)
{
	DAT_PROVIDER_ATTR attr;
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;
	int i;

	for (i = 0; i < 6; i++) {
		evd = DAT_HANDLE_NULL;
		ASSERT_DAT(dat_ia_openv((char *)ia_name(), 8, &evd, &ia, 2, 0,
					i % 2 ? DAT_TRUE : DAT_FALSE));
		ASSERT_DAT(dat_ia_query(ia, NULL, 0, NULL,
					DAT_PROVIDER_FIELD_ALL, &attr));
		EXPECT_EQ(2, attr.dapl_version_major);
		EXPECT_EQ(0, attr.dapl_version_minor);
		ASSERT_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	}
}

/* Standard error, as long as it is a pipe */
static int begin_stderr(int pipes[2])
{
	int kept = dup(STDERR_FILENO);

	if (pipe(pipes) || dup2(pipes[1], STDERR_FILENO) < 0)
		return -1;
	close(pipes[1]);
	return kept;
}

static ssize_t end_stderr(int pipes[2], int kept, char *said, size_t size)
{
	ssize_t len;

	dup2(kept, STDERR_FILENO);
	close(kept);
	len = read(pipes[0], said, size - 1);
	close(pipes[0]);
	said[len > 0 ? len : 0] = '\0';
	return len;
}

/* Opens an IA in vain, which is worth one line that has a name and a reason in it. */
static DAT_RETURN open_in_vain(char *name, const char *with, const char *why)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	char said[512], *newline;
	DAT_IA_HANDLE ia;
	int pipes[2];
	DAT_RETURN ret;
	int kept;

	kept = begin_stderr(pipes);
	if (kept < 0)
		return DAT_INTERNAL_ERROR;
	ret = dat_ia_open(name, 8, &evd, &ia);
	end_stderr(pipes, kept, said, sizeof(said));
	newline = strchr(said, '\n');
	if (strstr(said, with) && strstr(said, why) && newline && !newline[1])
		return ret;
	fprintf(stderr, "# it said: %s\n", said);
	return DAT_INTERNAL_ERROR;
}

/* run.sh has it in dat.conf. */
TEST_F(provider, ia_open_unknown_ia_message)
{
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED),
		       open_in_vain("kdat-none", "kdat-none (none0)",
				    "no such IA"));
}

/* Each test is a process of its own: what follows has not opened the device yet. */
TEST(ia_open_no_module_message)
{
	ASSERT_EQ(0, setenv("DAT_DEVICE", "/dev/dat-of-no-module", 1));
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED),
		       open_in_vain((char *)ia_name(), ia_name(),
				    "no /dev/dat-of-no-module"));
}

TEST(ia_open_no_permission_message)
{
	ASSERT_EQ(0, setgroups(0, NULL));
	ASSERT_EQ(0, setgid(65534));
	ASSERT_EQ(0, setuid(65534));
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NO_SUBTYPE),
		       open_in_vain((char *)ia_name(), ia_name(),
				    "no permission to open /dev/dat"));
}

/* The module may be loaded, and a group given, while the process lives. */
TEST(ia_open_retry_after_failure)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	ASSERT_EQ(0, setenv("DAT_DEVICE", "/dev/dat-of-no-module", 1));
	ASSERT_DAT_RET(ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED),
		       open_in_vain((char *)ia_name(), ia_name(),
				    "no /dev/dat"));
	ASSERT_EQ(0, unsetenv("DAT_DEVICE"));
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &evd, &ia));
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

TEST_F(provider, cno_fd_readable_when_triggered)
{
	DAT_PROVIDER *table = DAT_HANDLE_TO_PROVIDER(self->pair.a.pz);
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	struct pollfd poll_fd = { .events = POLLIN };
	DAT_EVD_HANDLE evd, triggered;
	DAT_CNO_HANDLE cno;
	DAT_PZ_PARAM param;

	/* libdat2 has no call for it, nor the provider's handle of the IA. */
	ASSERT_DAT(dat_pz_query(self->pair.a.pz, DAT_PZ_FIELD_ALL, &param));
	ASSERT_DAT(table->cno_fd_create_func(param.ia_handle, &poll_fd.fd,
					     &cno));
	ASSERT_DAT(dat_evd_create(self->pair.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG,
				  &evd));
	EXPECT_EQ(0, poll(&poll_fd, 1, 0));
	EXPECT_DAT_TYPE(DAT_QUEUE_EMPTY,
			table->cno_trigger_func(cno, &triggered));
	ASSERT_DAT(dat_evd_post_se(evd, &event));
	EXPECT_EQ(1, poll(&poll_fd, 1, 10000));
	EXPECT_DAT(table->cno_trigger_func(cno, &triggered));
	EXPECT_EQ(evd, triggered);
	EXPECT_EQ(0, poll(&poll_fd, 1, 0));
	close(poll_fd.fd);
}

TEST_F(provider, completion_reports_operation)
{
	struct pair *pair = &self->pair;
	struct region a, b;
	DAT_EVENT event;

	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(regions_open(pair, &a, &b, 4096, DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(post_recv(pair->b.ep, &b, 0, 64, 1));
	ASSERT_DAT(post_send(pair->a.ep, &a, 0, 64, 2));
	ASSERT_DAT(wait_event(pair->a.dto_evd, &event));
	EXPECT_EQ(DAT_DTO_SEND,
		  event.event_data.dto_completion_event_data.operation);
	EXPECT_EQ(pair->a.ep,
		  event.event_data.dto_completion_event_data.ep_handle);
	ASSERT_DAT(wait_event(pair->b.dto_evd, &event));
	EXPECT_EQ(DAT_DTO_RECEIVE,
		  event.event_data.dto_completion_event_data.operation);
	EXPECT_EQ(pair->b.ep,
		  event.event_data.dto_completion_event_data.ep_handle);
}

/* Makes objects, and uses them; NULL if all went well. */
static void *busy(void *arg)
{
	DAT_IA_HANDLE ia = arg;
	DAT_EVENT in = { .event_number = DAT_SOFTWARE_EVENT }, out;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_COUNT more;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		in.event_data.software_event_data.pointer = &in;
		if (dat_pz_create(ia, &pz) ||
		    dat_evd_create(ia, 8, DAT_HANDLE_NULL,
				   DAT_EVD_SOFTWARE_FLAG, &evd) ||
		    dat_evd_post_se(evd, &in) || dat_evd_post_se(evd, &in) ||
		    dat_evd_wait(evd, PAIR_TIMEOUT, 2, &out, &more) ||
		    out.evd_handle != evd || more != 1 ||
		    dat_evd_dequeue(evd, &out) ||
		    out.event_data.software_event_data.pointer != &in ||
		    dat_evd_free(evd) || dat_pz_free(pz) || !dat_pz_free(pz))
			return &busy;
	}
	return NULL;
}

TEST_F(provider, eight_threads_on_one_ia)
{
	pthread_t threads[THREADS];
	void *failed;
	int i;

	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, busy,
					    self->pair.ia));
	for (i = 0; i < THREADS; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], &failed));
		EXPECT_EQ(NULL, failed);
	}
}

#define REJECTS	200

/* The kernel has made an EP for the request. */
static DAT_RETURN reject_one(struct pair *pair, DAT_CONN_QUAL qual)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	return connect_to(pair, pair->a.ep, qual) ?:
	       next_cr(pair, &cr) ?:
	       dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) ?:
	       dat_cr_reject(cr) ?:
	       wait_number(pair->a.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED) ?:
	       dat_ep_reset(pair->a.ep);
}

TEST_F(provider, rejected_requests_leave_no_memory)
{
	struct pair *pair = &self->pair;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_PZ_HANDLE pz;
	size_t before;
	int i;

	/* Handles of freed objects are used again after 1024 others. */
	for (i = 0; i < 1100; i++) {
		ASSERT_DAT(dat_pz_create(pair->ia, &pz));
		ASSERT_DAT(dat_pz_free(pz));
	}
	ASSERT_DAT(dat_psp_create_any(pair->ia, &qual, pair->cr_evd, DAT_PSP_PROVIDER_FLAG,
				      &psp));
	ASSERT_DAT(reject_one(pair, qual));
	before = mallinfo2().uordblks;
	for (i = 0; i < REJECTS; i++)
		ASSERT_DAT(reject_one(pair, qual));
	/* Less than the smallest block for each */
	EXPECT_GT(before + 24 * REJECTS, mallinfo2().uordblks);
}

TEST_HARNESS_MAIN
