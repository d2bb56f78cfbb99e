// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fake_target.c - a target of SRP that does what a target must not do
 *
 * usage: fake_target IA PORT BEHAVIOUR
 *
 * It prints "ready" when it listens. It accepts one login, shows the behaviour until the
 * initiator ends the connection, and prints what the initiator has sent. It has no disk:
 * every correct answer is GOOD without data. Exit status 1: a call has failed, or the
 * initiator has permitted an access that it must refuse.
 */
#include <endian.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/udat.h>

#define IU_SIZE		512
#define RECVS		64
#define SENDS		128
#define WAIT_US		(300 * 1000000U)

enum { TSK_MGMT = 0x01, CMD = 0x02, I_LOGOUT = 0x03, RSP = 0xc1, LOGIN_RSP = 0xc0 };
enum { T_LOGOUT = 0x80, CRED_REQ = 0x81, AER_REQ = 0x82 };

/* Fields of IUs, by their offsets (SRP, revision 16a) */
enum { OPCODE = 0, DELTA = 4, TAG = 8 };
enum { LOGIN_IT_LEN = 16, LOGIN_TI_LEN = 20, LOGIN_FMT = 24, LOGIN_SIZE = 52 };
enum { RSP_FLAGS = 18, RSP_STATUS = 19, RSP_IN_RES = 24, RSP_SENSE = 28 };
enum { RSP_DATA = 32, RSP_SIZE = 36 };
enum { CMD_FMT = 5, CMD_SIZE = 48, DESC_KEY = 8, DESC_LEN = 12 };
enum { RSPVALID = 1, SNSVALID = 2, DIUNDER = 32 };

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE cr_evd, conn_evd, dto_evd, async_evd;
static DAT_EP_HANDLE ep;
static DAT_LMR_CONTEXT context;
static unsigned char memory[RECVS + SENDS][IU_SIZE] __attribute__((aligned(4096)));
static unsigned int sent;
static const char *behaviour;

static void fail(const char *what, DAT_RETURN ret)
{
	const char *major = "", *minor = "";

	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "fake_target: %s: %s %s\n", what, major, minor);
	exit(1);
}

#define CALL(call) do {						\
	DAT_RETURN ret_ = (call);				\
								\
	if (ret_ != DAT_SUCCESS)				\
		fail(#call, ret_);				\
} while (0)

static int is(const char *name)
{
	return !strcmp(behaviour, name);
}

static void put32(unsigned char *iu, int offset, unsigned int value)
{
	value = htobe32(value);
	memcpy(iu + offset, &value, sizeof(value));
}

static unsigned int get32(const unsigned char *iu, int offset)
{
	unsigned int value;

	memcpy(&value, iu + offset, sizeof(value));
	return be32toh(value);
}

static unsigned long get64(const unsigned char *iu, int offset)
{
	unsigned long value;

	memcpy(&value, iu + offset, sizeof(value));
	return be64toh(value);
}

static DAT_LMR_TRIPLET segment(void *address, DAT_VLEN length)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = context,
		.virtual_address = (DAT_VADDR)(uintptr_t)address,
		.segment_length = length,
	};
}

static void post_recv(int index)
{
	DAT_LMR_TRIPLET s = segment(memory[index], IU_SIZE);

	CALL(dat_ep_post_recv(ep, 1, &s, (DAT_DTO_COOKIE){ .as_64 = index }, 0));
}

static unsigned char *new_iu(int opcode, const unsigned char *cmd)
{
	unsigned char *iu = memory[RECVS + sent++ % SENDS];

	memset(iu, 0, IU_SIZE);
	iu[OPCODE] = opcode;
	if (cmd)
		memcpy(iu + TAG, cmd + TAG, 8);
	put32(iu, DELTA, 1);
	return iu;
}

/* The initiator may have ended the connection; the next event reports that. */
static void send_iu(unsigned char *iu, int length)
{
	DAT_LMR_TRIPLET s = segment(iu, length);

	dat_ep_post_send(ep, 1, &s, (DAT_DTO_COOKIE){ .as_64 = RECVS },
			 DAT_COMPLETION_SUPPRESS_FLAG);
}

static void respond(const unsigned char *cmd)
{
	send_iu(new_iu(RSP, cmd), RSP_SIZE);
}

/* Writes behind the end of the command, with the descriptor that it came with. */
static void write_late(const unsigned char *cmd)
{
	const unsigned char *desc = cmd + CMD_SIZE;
	DAT_RMR_TRIPLET remote = {
		.rmr_context = get32(desc, DESC_KEY),
		.target_address = get64(desc, 0),
		.segment_length = get32(desc, DESC_LEN),
	};
	DAT_LMR_TRIPLET s = segment(memory[RECVS], 8);

	if (!cmd[CMD_FMT])
		return;
	dat_ep_post_rdma_write(ep, 1, &s, (DAT_DTO_COOKIE){ .as_64 = RECVS + 1 }, &remote, 0);
}

static void many(int opcode, int number, int length)
{
	while (number-- > 0)
		send_iu(new_iu(opcode, NULL), length);
}

/* The next command shows that the initiator has done with the previous one. */
static unsigned char previous[IU_SIZE];

static void command(const unsigned char *cmd)
{
	unsigned char *iu;

	if (is("silent"))
		return;
	if (is("wrong_tag")) {
		iu = new_iu(RSP, cmd);
		iu[TAG] ^= 0x40;
		send_iu(iu, RSP_SIZE);
		iu = new_iu(RSP, cmd);
		memset(iu + TAG, 0x7f, 8);
		send_iu(iu, RSP_SIZE);
		respond(cmd);
	} else if (is("twice")) {
		respond(cmd);
		respond(cmd);
	} else if (is("short_response")) {
		send_iu(new_iu(RSP, cmd), RSP_SIZE - 16);
	} else if (is("residual")) {
		iu = new_iu(RSP, cmd);
		iu[RSP_FLAGS] = DIUNDER;
		put32(iu, RSP_IN_RES, UINT_MAX);
		send_iu(iu, RSP_SIZE);
	} else if (is("code")) {
		/* Status GOOD, but the command was not executed. */
		iu = new_iu(RSP, cmd);
		iu[RSP_FLAGS] = RSPVALID;
		put32(iu, RSP_DATA, 4);
		iu[RSP_SIZE + 3] = 2;
		send_iu(iu, RSP_SIZE + 4);
	} else if (is("sense")) {
		iu = new_iu(RSP, cmd);
		iu[RSP_FLAGS] = SNSVALID | RSPVALID;
		iu[RSP_STATUS] = 2;
		put32(iu, RSP_SENSE, 0x7fffffff);
		put32(iu, RSP_DATA, 0x80000010);
		send_iu(iu, IU_SIZE);
	} else if (is("credits")) {
		iu = new_iu(RSP, cmd);
		put32(iu, DELTA, INT_MAX);
		send_iu(iu, RSP_SIZE);
	} else if (is("takes_credits")) {
		iu = new_iu(RSP, cmd);
		put32(iu, DELTA, INT_MIN);
		send_iu(iu, RSP_SIZE);
	} else if (is("opcode")) {
		send_iu(new_iu(0x55, cmd), IU_SIZE);
	} else if (is("empty")) {
		send_iu(new_iu(RSP, cmd), 0);
	} else if (is("logout")) {
		send_iu(new_iu(T_LOGOUT, NULL), 16);
	} else if (is("flood")) {
		many(CRED_REQ, SENDS / 2, 16);
		respond(cmd);
	} else if (is("asks")) {
		many(CRED_REQ, 1, 16);
		respond(cmd);
	} else if (is("event")) {
		many(AER_REQ, 1, 36);
		respond(cmd);
	} else if (is("writes_late")) {
		if (previous[OPCODE] == CMD)
			write_late(previous);
		memcpy(previous, cmd, IU_SIZE);
		respond(cmd);
	} else if (is("vanishes")) {
		exit(0);
	} else {
		respond(cmd);
	}
}

static void received(const unsigned char *iu)
{
	unsigned char *rsp;

	switch (iu[OPCODE]) {
	case CMD:
		command(iu);
		break;
	case TSK_MGMT:
		printf("task management %#x\n", iu[30]);
		rsp = new_iu(RSP, iu);
		rsp[RSP_FLAGS] = RSPVALID;
		put32(rsp, RSP_DATA, 4);
		send_iu(rsp, RSP_SIZE + 4);
		break;
	case I_LOGOUT:
		printf("logout\n");
		break;
	default:
		printf("answer %#x\n", iu[OPCODE]);
		break;
	}
}

static void accept_login(DAT_CR_HANDLE cr)
{
	unsigned char rsp[56] = { LOGIN_RSP };
	DAT_COUNT size = LOGIN_SIZE;
	DAT_CR_PARAM param;

	CALL(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	if (param.private_data_size < 56)
		fail("login", DAT_SUCCESS);
	put32(rsp, DELTA, is("no_credits") ? 0 : is("negative_credits") ? INT_MIN : 32);
	put32(rsp, LOGIN_IT_LEN, is("short_ius") ? 16 : IU_SIZE);
	put32(rsp, LOGIN_TI_LEN, is("long_ius") ? INT_MAX : IU_SIZE);
	rsp[LOGIN_FMT + 1] = 6;
	if (is("login_opcode"))
		rsp[OPCODE] = RSP;
	if (is("login_short"))
		size = 20;
	CALL(dat_cr_accept(cr, ep, size, rsp));
}

static void open_all(const char *name, DAT_CONN_QUAL qual)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = RECVS,
		.max_request_dtos = SENDS,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_LMR_HANDLE lmr;
	DAT_PSP_HANDLE psp;
	int i;

	CALL(dat_ia_open((DAT_NAME_PTR)name, 8, &async_evd, &ia));
	CALL(dat_pz_create(ia, &pz));
	CALL(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &cr_evd));
	CALL(dat_evd_create(ia, RECVS + SENDS, DAT_HANDLE_NULL,
			    DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &dto_evd));
	conn_evd = dto_evd;
	CALL(dat_ep_create(ia, pz, dto_evd, dto_evd, conn_evd, &attr, &ep));
	CALL(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &lmr,
			    &context, NULL, NULL, NULL));
	for (i = 0; i < RECVS; i++)
		post_recv(i);
	CALL(dat_psp_create(ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
}

/* Returns 0 when the connection has ended. */
static int next_event(void)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	DAT_COUNT more;

	CALL(dat_evd_wait(dto_evd, WAIT_US, 1, &event, &more));
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		return 1;
	if (event.event_number != DAT_DTO_COMPLETION_EVENT)
		return 0;
	dto = &event.event_data.dto_completion_event_data;
	if (dto->user_cookie.as_64 == RECVS + 1) {
		printf("late write: status %d\n", dto->status);
		if (dto->status == DAT_DTO_SUCCESS)
			exit(1);
	}
	if (dto->status != DAT_DTO_SUCCESS || dto->user_cookie.as_64 >= RECVS)
		return 1;
	received(memory[dto->user_cookie.as_64]);
	post_recv(dto->user_cookie.as_64);
	return 1;
}

int main(int argc, char **argv)
{
	DAT_EVENT event;
	DAT_COUNT more;

	if (argc != 4) {
		fprintf(stderr, "usage: fake_target IA PORT BEHAVIOUR\n");
		return 2;
	}
	behaviour = argv[3];
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_all(argv[1], atoi(argv[2]));
	printf("ready\n");
	CALL(dat_evd_wait(cr_evd, WAIT_US, 1, &event, &more));
	accept_login(event.event_data.cr_arrival_event_data.cr_handle);
	if (is("hangs_up"))
		CALL(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	while (next_event())
		;
	CALL(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}
