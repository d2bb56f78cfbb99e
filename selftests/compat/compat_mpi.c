// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * compat_mpi.c - an MPI-like transport: eager and rendezvous messages, two EPs for each peer,
 * and lazy connections
 *
 * Stands for the DAT transports of MPI libraries. 64 ranks run as threads of 4 processes. Each
 * rank opens the IA for itself, so a rank uses DAT as a process of MPI does. The first message
 * between two ranks connects them. The program uses <dat/udat.h> alone; the test at the end
 * plays the part of mpirun.
 */
#include "compat_mpi.h"

/* A divisor of RANKS */
#ifndef PROCESSES
#define PROCESSES	4
#endif

#define BURST		40
#define LARGE		16384
#define FIRST_QUAL	20000

/* A message and its receive have met. */
static void deliver(struct rank *r, int peer, struct request *request, const struct message *m)
{
	struct header cts = { .type = CTS };

	REQUIRE(m->header.length == request->length);
	if (m->header.type == DATA) {
		if (request->length)
			memcpy(request->buf, m->data, request->length);
		request->done = 1;
		return;
	}
	cts.rmr_context = register_memory(r, request->buf, request->length,
					  DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
					  DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
					  &request->lmr, &request->context);
	cts.address = (DAT_UINT64)(uintptr_t)request->buf;
	cts.send_request = m->header.send_request;
	cts.recv_request = (DAT_UINT64)(uintptr_t)request;
	enqueue(r, peer, &cts, NULL, NULL);
}

/*
 * A message up to EAGER bytes is sent at once. For a longer one the sender asks with RTS. The
 * receiver registers its buffer and answers with CTS. The sender writes the data, then sends FIN.
 */
static void on_message(struct rank *r, int peer, struct message *m)
{
	struct header *h = &m->header, fin = { .type = FIN };
	struct request **at, *request;

	switch (h->type) {
	case DATA:
	case RTS:
		for (at = &r->peers[peer].posted; *at; at = &(*at)->next)
			if ((*at)->tag == h->tag)
				break;
		request = *at;
		if (!request) {
			APPEND(r->peers[peer].unexpected, m);
			return;
		}
		*at = request->next;
		deliver(r, peer, request, m);
		break;
	case CTS:
		request = (struct request *)(uintptr_t)h->send_request;
		request->target.rmr_context = h->rmr_context;
		request->target.target_address = h->address;
		request->target.segment_length = request->length;
		fin.recv_request = h->recv_request;
		enqueue(r, peer, &fin, NULL, request);
		break;
	case FIN:
		((struct request *)(uintptr_t)h->recv_request)->done = 1;
		break;
	default:
		REQUIRE(h->type == CREDIT);
	}
	free(m);
}

static struct request *new_request(void *buf, DAT_UINT32 length, DAT_UINT32 tag)
{
	struct request *request = allocate(sizeof(*request));

	request->buf = buf;
	request->length = length;
	request->tag = tag;
	return request;
}

/* An eager message is done when it has been copied; @buf of others must stay unchanged. */
static struct request *start_send(struct rank *r, int to, DAT_UINT32 tag, void *buf,
				  DAT_UINT32 length)
{
	struct request *request = new_request(buf, length, tag);
	struct header h = { .type = DATA, .tag = tag, .length = length };

	if (length > EAGER) {
		h.type = RTS;
		h.send_request = (DAT_UINT64)(uintptr_t)request;
		register_memory(r, buf, length, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &request->lmr,
				&request->context);
	} else {
		request->done = 1;
	}
	enqueue(r, to, &h, buf, NULL);
	return request;
}

static void complete(struct rank *r, struct request *request)
{
	while (!request->done)
		progress(r);
	if (request->lmr != DAT_HANDLE_NULL)
		CALL(dat_lmr_free(request->lmr));
	free(request);
}

static void receive(struct rank *r, int from, DAT_UINT32 tag, void *buf, DAT_UINT32 length)
{
	struct request *request = new_request(buf, length, tag);
	struct message **at = &r->peers[from].unexpected, *m;

	while (*at && (*at)->header.tag != tag)
		at = &(*at)->next;
	m = *at;
	if (m) {
		*at = m->next;
		deliver(r, from, request, m);
		free(m);
	} else {
		APPEND(r->peers[from].posted, request);
	}
	complete(r, request);
}

static void exchange(struct rank *r, int with, DAT_UINT32 tag, void *out, void *in,
		     DAT_UINT32 length)
{
	struct request *request = start_send(r, with, tag, out, length);

	receive(r, with, tag, in, length);
	complete(r, request);
}

static void barrier(struct rank *r)
{
	int bit;

	for (bit = 1; bit < RANKS; bit <<= 1)
		exchange(r, r->me ^ bit, 1, NULL, NULL, 0);
}

static void open_rank(struct rank *r, const char *ia, int me)
{
	DAT_CONN_QUAL qual = FIRST_QUAL + me;
	DAT_IA_ATTR attr;
	DAT_RETURN ret;

	r->me = me;
	r->qlen = QLEN;
	CALL(dat_ia_open((DAT_NAME_PTR)ia, 8, &r->async_evd, &r->ia));
	CALL(dat_ia_query(r->ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_NONE, NULL));
	CALL(dat_pz_create(r->ia, &r->pz));
	CALL(dat_evd_create(r->ia, r->qlen, DAT_HANDLE_NULL,
			    DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG,
			    &r->evd));
	while ((ret = dat_psp_create(r->ia, qual, r->evd, DAT_PSP_CONSUMER_FLAG, &r->psp)) !=
	       DAT_SUCCESS) {
		REQUIRE(DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE);
		qual += RANKS;
	}
	world->ranks[me].qual = qual;
	memcpy(&world->ranks[me].address, attr.ia_address_ptr,
	       attr.ia_address_ptr->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
							   sizeof(struct sockaddr_in6));
}

/*
 * After the last barrier no rank needs a message of another. The lower rank of each connection
 * disconnects. Each posted receive must be flushed.
 */
static void close_rank(struct rank *r)
{
	struct channel *c;
	struct lane *l;
	DAT_EVENT event;
	DAT_RETURN ret;
	int i;

	r->closing = 1;
	barrier(r);
	for (i = 0; i < LANES * RANKS; i++) {
		struct peer *p = &r->peers[i / LANES];

		l = &p->lanes[i % LANES];
		REQUIRE(!l->queue && !p->unexpected && !p->posted);
		while (l->state != IDLE && !l->channel->connected)
			progress(r);
		if (l->state == UP && i / LANES > r->me)
			CALL(dat_ep_disconnect(l->channel->ep, DAT_CLOSE_GRACEFUL_FLAG));
	}
	for (c = r->channels; c; c = c->next)
		while (!c->closed || (c->connected && c->outstanding))
			progress(r);
	for (c = r->channels; c; c = c->next) {
		CALL(dat_ep_free(c->ep));
		CALL(dat_lmr_free(c->lmr));
	}
	CALL(dat_psp_free(r->psp));
	/* Late requests of higher ranks, and receives of requests that were lost */
	while ((ret = dat_evd_dequeue(r->evd, &event)) == DAT_SUCCESS)
		dispatch(r, &event);
	REQUIRE(ret == DAT_QUEUE_EMPTY);
	REQUIRE(dat_evd_dequeue(r->async_evd, &event) == DAT_QUEUE_EMPTY);
	CALL(dat_evd_free(r->evd));
	CALL(dat_pz_free(r->pz));
	CALL(dat_ia_close(r->ia, DAT_CLOSE_GRACEFUL_FLAG));
	while (r->channels) {
		c = r->channels;
		r->channels = c->next;
		free(c);
	}
}

/* The application */

static unsigned char byte_of(int from, int to, int at)
{
	return from * 5 + to * 11 + at * 3 + at / 251;
}

static void fill(unsigned char *buf, int from, int to, int length)
{
	int i;

	for (i = 0; i < length; i++)
		buf[i] = byte_of(from, to, i);
}

static void verify(const unsigned char *buf, int from, int to, int length)
{
	int i;

	for (i = 0; i < length; i++)
		REQUIRE(buf[i] == byte_of(from, to, i));
}

/*
 * Each rank has a block for each rank. In each round two ranks whose numbers differ in one bit
 * exchange the blocks that must cross.
 */
static void all_to_all(struct rank *r, int block)
{
	unsigned char *blocks = allocate(RANKS * block), *out, *in;
	int bit, i, num;

	out = allocate(RANKS / 2 * block);
	in = allocate(RANKS / 2 * block);
	for (i = 0; i < RANKS; i++)
		fill(blocks + i * block, r->me, i, block);
	for (bit = 1; bit < RANKS; bit <<= 1) {
		for (num = i = 0; i < RANKS; i++)
			if ((i ^ r->me) & bit)
				memcpy(out + num++ * block, blocks + i * block, block);
		exchange(r, r->me ^ bit, 2, out, in, num * block);
		for (num = i = 0; i < RANKS; i++)
			if ((i ^ r->me) & bit)
				memcpy(blocks + i * block, in + num++ * block, block);
	}
	for (i = 0; i < RANKS; i++)
		verify(blocks + i * block, i, r->me, block);
	free(in);
	free(out);
	free(blocks);
}

/* More messages than there are credits, in both directions, of all eager sizes */
static void burst(struct rank *r)
{
	int with = r->me ^ 1, length, i;
	unsigned char buf[EAGER];

	for (i = 0; i < BURST; i++) {
		length = i * EAGER / (BURST - 1);
		fill(buf, r->me + i, with, length);
		complete(r, start_send(r, with, 3, buf, length));
	}
	for (i = 0; i < BURST; i++) {
		length = i * EAGER / (BURST - 1);
		receive(r, with, 3, buf, length);
		verify(buf, with + i, r->me, length);
	}
}

/* Rank 0 connects to each rank, and then receives a large message from each. */
static void scatter_and_gather(struct rank *r)
{
	unsigned char *buf = allocate(LARGE);
	int i;

	for (i = 1; i < RANKS && !r->me; i++) {
		fill(buf, 0, i, EAGER);
		complete(r, start_send(r, i, 4, buf, EAGER));
	}
	for (i = RANKS - 1; i > 0 && !r->me; i--) {
		receive(r, i, 5, buf, LARGE);
		verify(buf, i, 0, LARGE);
	}
	if (r->me) {
		receive(r, 0, 4, buf, EAGER);
		verify(buf, 0, r->me, EAGER);
		fill(buf, r->me, 0, LARGE);
		complete(r, start_send(r, 0, 5, buf, LARGE));
	}
	free(buf);
}

static void *run_rank(void *arg)
{
	struct rank *r = arg;

	barrier(r);
	all_to_all(r, 16);
	all_to_all(r, 128);
	burst(r);
	barrier(r);
	scatter_and_gather(r);
	close_rank(r);
	return NULL;
}

/* Process number @process of MPI; @up and @go are pipes of mpirun. */
static int run_process(const char *ia, int process, int up, int go)
{
	int num = RANKS / PROCESSES, i;
	struct rank *ranks = allocate(num * sizeof(*ranks));
	char byte = 0;

	for (i = 0; i < num; i++)
		open_rank(&ranks[i], ia, process * num + i);
	REQUIRE(write(up, &byte, 1) == 1);
	REQUIRE(read(go, &byte, 1) == 1);
	for (i = 0; i < num; i++)
		REQUIRE(!pthread_create(&ranks[i].thread, NULL, run_rank, &ranks[i]));
	for (i = 0; i < num; i++)
		REQUIRE(!pthread_join(ranks[i].thread, NULL));
	free(ranks);
	return 0;
}

/* The program ends here. */

#include "harness.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "process.h"

TEST(compat_mpi_64_ranks)
{
	int up[PROCESSES][2], go[PROCESSES][2], status, i;
	pid_t pids[PROCESSES];
	char byte = 0;

	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	ASSERT_NE(MAP_FAILED, world);
	for (i = 0; i < PROCESSES; i++) {
		ASSERT_EQ(0, pipe(up[i]));
		ASSERT_EQ(0, pipe(go[i]));
		pids[i] = fork_child();
		ASSERT_LE(0, pids[i]);
		if (!pids[i]) {
			close(up[i][0]);
			close(go[i][1]);
			_exit(run_process(ia_name(), i, up[i][1], go[i][0]));
		}
		close(up[i][1]);
		close(go[i][0]);
	}
	/* A child that fails closes its pipe; the harness ends the others with this test. */
	for (i = 0; i < PROCESSES; i++)
		ASSERT_EQ(1, read(up[i][0], &byte, 1));
	for (i = 0; i < PROCESSES; i++)
		ASSERT_EQ(1, write(go[i][1], &byte, 1));
	for (i = 0; i < PROCESSES; i++) {
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		close(up[i][0]);
		close(go[i][1]);
		EXPECT_EQ(0, status);
	}
	ASSERT_EQ(0, munmap(world, sizeof(*world)));
}

TEST_HARNESS_MAIN
