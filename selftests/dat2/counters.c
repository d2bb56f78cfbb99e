// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * counters.c - what dat_ib_extensions.h calls counters
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#include "pair.h"

#include <dat2/dat_ib_extensions.h>

#define REGION	4096

PAIR_FIXTURE(counters, pair_open, REGION)

/* One counter, or a number that none has */
static DAT_UINT64 count(DAT_HANDLE handle, int counter)
{
	DAT_UINT64 value;

	if (dat_ib_query_counters(handle, counter, &value, 0))
		return UINT64_MAX;
	return value;
}

TEST_F(counters, ia_counts_create_and_free)
{
	struct pair *pair = &self->pair;
	DAT_UINT64 before = count(pair->ia, DCNT_IA_PZ_CREATE);
	DAT_PZ_HANDLE pz;
	DAT_RMR_HANDLE rmr;

	EXPECT_EQ(1, count(pair->ia, DCNT_IA_PSP_CREATE) +
		     count(pair->ia, DCNT_IA_PSP_CREATE_ANY));
	EXPECT_EQ(1, count(pair->ia, DCNT_IA_CM_LISTEN));
	EXPECT_EQ(2, count(pair->ia, DCNT_IA_EP_CREATE));
	EXPECT_EQ(2, count(pair->ia, DCNT_IA_LMR_CREATE));
	EXPECT_EQ(0, count(pair->ia, DCNT_IA_PZ_FREE));
	EXPECT_EQ(0, count(pair->ia, DCNT_IA_RMR_CREATE));
	ASSERT_DAT(dat_pz_create(pair->ia, &pz));
	EXPECT_NE(DAT_SUCCESS, dat_pz_create(pair->ia, NULL));
	EXPECT_EQ(before + 1, count(pair->ia, DCNT_IA_PZ_CREATE));
	ASSERT_DAT(dat_rmr_create(pz, &rmr));
	EXPECT_EQ(1, count(pair->ia, DCNT_IA_RMR_CREATE));
	EXPECT_NE(DAT_SUCCESS, dat_pz_free(pz));
	EXPECT_EQ(0, count(pair->ia, DCNT_IA_PZ_FREE));
	ASSERT_DAT(dat_rmr_free(rmr));
	EXPECT_EQ(1, count(pair->ia, DCNT_IA_RMR_FREE));
	ASSERT_DAT(dat_pz_free(pz));
	EXPECT_EQ(1, count(pair->ia, DCNT_IA_PZ_FREE));
}

TEST_F(counters, cm_counters_both_sides)
{
	struct pair *pair = &self->pair;

	ASSERT_DAT(pair_connect(pair));
	EXPECT_EQ(1, count(pair->ia, DCNT_IA_CM_REQ_TX));
	EXPECT_EQ(1, count(pair->ia, DCNT_IA_SP_CR));
	EXPECT_EQ(1, count(pair->ia, DCNT_IA_SP_CR_ACCEPTED));
	EXPECT_EQ(0, count(pair->ia, DCNT_IA_SP_CR_REJECTED));
	EXPECT_EQ(1, count(pair->ia, DCNT_IA_CM_ACTIVE_EST));
	EXPECT_EQ(1, count(pair->ia, DCNT_IA_CM_PASSIVE_EST));
	EXPECT_EQ(1, count(pair->a.ep, DCNT_EP_CONNECT));
	EXPECT_EQ(0, count(pair->b.ep, DCNT_EP_CONNECT));
	EXPECT_EQ(1, count(pair->a.conn_evd, DCNT_EVD_CONN_CALLBACK));
	ASSERT_DAT(dat_ep_disconnect(pair->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ASSERT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_DISCONNECTED));
	EXPECT_EQ(1, count(pair->a.ep, DCNT_EP_DISCONNECT));
	EXPECT_EQ(1, count(pair->ia, DCNT_IA_CM_DREQ_TX));
	EXPECT_EQ(2, count(pair->ia, DCNT_IA_CM_DREQ_RX));
}

TEST_F(counters, ep_counts_posts_and_bytes)
{
	struct pair *pair = &self->pair;

	ASSERT_DAT(pair_connect(pair));
	ASSERT_DAT(post_recv(pair->b.ep, &self->b, 0, 100, 1));
	ASSERT_DAT(post_send(pair->a.ep, &self->a, 0, 60, 2));
	ASSERT_EQ(0, wait_dto(pair->a.dto_evd, 2));
	ASSERT_EQ(0, wait_dto(pair->b.dto_evd, 1));
	ASSERT_DAT(post_write(pair->a.ep, &self->a, 0, 300, self->b.rmr_context,
			      self->b.buf, 3));
	ASSERT_EQ(0, wait_dto(pair->a.dto_evd, 3));
	ASSERT_DAT(post_read(pair->a.ep, &self->a, 0, 200, self->b.rmr_context,
			     self->b.buf, 4));
	ASSERT_EQ(0, wait_dto(pair->a.dto_evd, 4));
	/* What is refused was not posted. */
	EXPECT_NE(DAT_SUCCESS, dat_ep_post_send(pair->a.ep, 1, NULL,
						(DAT_DTO_COOKIE){}, 0));

	EXPECT_EQ(1, count(pair->b.ep, DCNT_EP_POST_RECV));
	EXPECT_EQ(100, count(pair->b.ep, DCNT_EP_POST_RECV_DATA));
	EXPECT_EQ(1, count(pair->b.ep, DCNT_EP_RECV));
	EXPECT_EQ(60, count(pair->b.ep, DCNT_EP_RECV_DATA));
	EXPECT_EQ(1, count(pair->a.ep, DCNT_EP_POST_SEND));
	EXPECT_EQ(60, count(pair->a.ep, DCNT_EP_POST_SEND_DATA));
	EXPECT_EQ(1, count(pair->a.ep, DCNT_EP_POST_WRITE));
	EXPECT_EQ(300, count(pair->a.ep, DCNT_EP_POST_WRITE_DATA));
	EXPECT_EQ(1, count(pair->a.ep, DCNT_EP_POST_READ));
	EXPECT_EQ(200, count(pair->a.ep, DCNT_EP_POST_READ_DATA));
	EXPECT_EQ(0, count(pair->a.ep, DCNT_EP_RECV));
	EXPECT_EQ(0, count(pair->b.ep, DCNT_EP_POST_SEND));
	EXPECT_EQ(3, count(pair->a.dto_evd, DCNT_EVD_DTO_CALLBACK));
}

TEST_F(counters, evd_counts_wait_and_dequeue)
{
	DAT_EVENT in = { .event_number = DAT_SOFTWARE_EVENT }, out;
	struct pair *pair = &self->pair;
	DAT_EVD_HANDLE evd;
	DAT_COUNT more;

	ASSERT_DAT(dat_evd_create(pair->ia, 8, DAT_HANDLE_NULL,
				  DAT_EVD_SOFTWARE_FLAG, &evd));
	EXPECT_NE(DAT_SUCCESS, dat_evd_dequeue(evd, &out));
	ASSERT_DAT(dat_evd_post_se(evd, &in));
	ASSERT_DAT(dat_evd_post_se(evd, &in));
	EXPECT_DAT(dat_evd_dequeue(evd, &out));
	EXPECT_DAT(dat_evd_wait(evd, 0, 1, &out, &more));
	EXPECT_NE(DAT_SUCCESS, dat_evd_wait(evd, 1000, 1, &out, &more));
	EXPECT_EQ(2, count(evd, DCNT_EVD_DEQUEUE));
	EXPECT_EQ(1, count(evd, DCNT_EVD_DEQUEUE_FOUND));
	EXPECT_EQ(1, count(evd, DCNT_EVD_DEQUEUE_NOT_FOUND));
	EXPECT_EQ(2, count(evd, DCNT_EVD_WAIT));
	EXPECT_EQ(1, count(evd, DCNT_EVD_WAIT_BLOCKED));
	EXPECT_EQ(0, count(evd, DCNT_EVD_WAIT_NOTIFY));
	EXPECT_DAT(dat_evd_free(evd));
	EXPECT_EQ(UINT64_MAX, count(evd, DCNT_EVD_WAIT));
}

TEST_F(counters, query_all_counters_and_clear)
{
	DAT_UINT64 all[DCNT_IA_ALL_COUNTERS + 1];
	struct pair *pair = &self->pair;

	memset(all, 0xa5, sizeof(all));
	ASSERT_DAT(dat_ib_query_counters(pair->ia, DCNT_IA_ALL_COUNTERS, all,
					 1));
	EXPECT_EQ(2, all[DCNT_IA_EP_CREATE]);
	EXPECT_EQ(0, all[DCNT_IA_EP_FREE]);
	EXPECT_EQ(0, all[DCNT_IA_ALL_COUNTERS - 1]);
	EXPECT_EQ(0xa5a5a5a5a5a5a5a5, all[DCNT_IA_ALL_COUNTERS]);
	EXPECT_EQ(0, count(pair->ia, DCNT_IA_EP_CREATE));
	ASSERT_DAT(dat_ep_free(pair->b.ep));
	EXPECT_EQ(1, count(pair->ia, DCNT_IA_EP_FREE));
	pair->b.ep = DAT_HANDLE_NULL;
}

TEST_F(counters, reused_handle_counters_zero)
{
	struct pair *pair = &self->pair;
	DAT_EVENT out;
	DAT_EVD_HANDLE evd;
	int i;

	/* So many handles that those of the first ones are used again */
	for (i = 0; i < 2500; i++) {
		ASSERT_DAT(dat_evd_create(pair->ia, 1, DAT_HANDLE_NULL,
					  DAT_EVD_SOFTWARE_FLAG, &evd));
		ASSERT_EQ(0, count(evd, DCNT_EVD_DEQUEUE));
		EXPECT_NE(DAT_SUCCESS, dat_evd_dequeue(evd, &out));
		ASSERT_EQ(1, count(evd, DCNT_EVD_DEQUEUE));
		ASSERT_DAT(dat_evd_free(evd));
	}
}

TEST_F(counters, query_counters_bad_args)
{
	struct pair *pair = &self->pair;
	DAT_UINT64 value = 7;

	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1),
		       dat_ib_query_counters(pair->a.pz, 0, &value, 0));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_ib_query_counters(pair->a.ep,
					     DCNT_EP_ALL_COUNTERS + 1, &value,
					     0));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_ib_query_counters(pair->a.ep, -1, &value, 0));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
		       dat_ib_query_counters(pair->a.ep, 0, NULL, 0));
	EXPECT_EQ(7, value);
}

TEST_F(counters, print_counters_output)
{
	struct pair *pair = &self->pair;
	char text[8192] = "", line[128];
	int out = dup(STDOUT_FILENO), fds[2];
	DAT_RETURN one, all;
	ssize_t len;

	ASSERT_EQ(0, pipe(fds));
	fflush(stdout);
	dup2(fds[1], STDOUT_FILENO);
	one = dat_ib_print_counters(pair->ia, DCNT_IA_EP_CREATE, 0);
	all = dat_ib_print_counters(pair->a.ep, DCNT_EP_ALL_COUNTERS, 0);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(fds[1]);
	len = read(fds[0], text, sizeof(text) - 1);
	ASSERT_LT(0, len);
	EXPECT_EQ(DAT_SUCCESS, one);
	EXPECT_EQ(DAT_SUCCESS, all);
	EXPECT_NE(NULL, strstr(text, " EP_CREATE 2\n"));
	snprintf(line, sizeof(line), "EP %p RECV_RDMA_IMM_DATA 0\n",
		 (void *)pair->a.ep);
	EXPECT_NE(NULL, strstr(text, line));
	EXPECT_EQ(NULL, strstr(text, "(null)"));
	close(fds[0]);
	close(out);
}

/* start and stop, of a type that dat_ib_extensions.h names wrongly */
static DAT_RETURN sample(DAT_HANDLE handle, DAT_IB_OP op, int type)
{
	return dat_extension_op(handle, op, type);
}

TEST_F(counters, device_counters_start_stop)
{
	struct pair *pair = &self->pair;
	char path[256];
	bool has_any;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/counters/port_rcv_errors",
		 ia_name());
	has_any = !access(path, R_OK);
	EXPECT_EQ(has_any ? DAT_SUCCESS : ERROR(DAT_MODEL_NOT_SUPPORTED, 0),
		  sample(pair->ia, DAT_IB_START_COUNTERS_OP, DCNT_IA_LNK));
	EXPECT_EQ(has_any ? DAT_SUCCESS : ERROR(DAT_INVALID_STATE, 0),
		  sample(pair->ia, DAT_IB_STOP_COUNTERS_OP, DCNT_IA_LNK));
	EXPECT_DAT(sample(pair->ia, DAT_IB_START_COUNTERS_OP, DCNT_IA_CM));
	EXPECT_DAT(sample(pair->ia, DAT_IB_STOP_COUNTERS_OP, DCNT_IA_CM));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       sample(pair->ia, DAT_IB_START_COUNTERS_OP, 3));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
		       sample(pair->a.pz, DAT_IB_START_COUNTERS_OP,
			      DCNT_IA_LNK));
}

TEST_HARNESS_MAIN
