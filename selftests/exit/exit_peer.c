// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * exit_peer.c - a peer that is killed, or that destroys its EP right after it accepts
 *
 * With KDAPL_THOROUGH=1 there are many more rounds. KDAPL_SEED repeats a run.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "pair.h"
#include "process.h"

#define REGION		65536
/* Against hanging, not against slowness: sanitizers on a loaded machine. */
#define LIMIT		600

/* Two processes that work with each other until one is killed. */

#define WINDOW		4096
#define MAX_LEN		8192
#define RECEIVES	8
#define REQUESTS	8

enum { SERVER, CLIENT };

/* What is posted; the cookie tells. */
enum { RECV, SEND, WRITE, READ, BIND };

/* What the two and their parent share. */
struct life {
	/* The client looks here for the server. */
	unsigned int qual;
	/* For each of the two, over all its incarnations. */
	struct record {
		unsigned int attempts;
		unsigned int connections;
		unsigned int completed;
		unsigned int ended;
		unsigned int flushed;
		unsigned int timed_out;
		/* Of the requests that have not completed, how many of which. */
		int left[5];
		int failed_line;
	} record[2];
};

/* Address and context of the memory that the peer accesses; private data. */
struct hello {
	__u64 address;
	__u32 context;
} __attribute__((packed));

struct worker {
	struct life *life;
	struct record *record;
	bool serves;
	struct pair pair;
	struct side *side;
	struct region region;
	DAT_RMR_HANDLE rmr;
	struct hello hello;
	struct hello peer;
	unsigned int outstanding;
	unsigned int requests;
	unsigned int credits;
	unsigned int next;
};

static void give_up(struct worker *w, int line)
{
	w->record->failed_line = line;
	_exit(1);
}

#define MUST(w, condition) do {						\
	if (!(condition))						\
		give_up(w, __LINE__);					\
} while (0)

static void worker_open(struct worker *w)
{
	struct pair *p = &w->pair;

	MUST(w, !dat_ia_open((char *)ia_name(), 8, &p->async_evd, &p->ia));
	w->side = w->serves ? &p->b : &p->a;
	MUST(w, !side_open(p, w->side));
	MUST(w, !region_open(p, w->side->pz, &w->region, 4 * REGION,
			     DAT_MEM_PRIV_ALL_FLAG));
	MUST(w, !dat_rmr_create(w->side->pz, &w->rmr));
	w->hello.address = ADDR(w->region.buf);
	w->hello.context = w->region.rmr_context;
	if (!w->serves)
		return;
	MUST(w, !dat_evd_create(p->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
				&p->cr_evd));
	p->qual = 10000 + getpid() * 7 % 12000;
	while (dat_psp_create(p->ia, p->qual, p->cr_evd, DAT_PSP_CONSUMER_FLAG,
			      &p->psp))
		p->qual++;
	__atomic_store_n(&w->life->qual, p->qual, __ATOMIC_SEQ_CST);
}

/* A new EP, with its receives posted. */
static void worker_renew(struct worker *w)
{
	struct side *s = w->side;
	DAT_EP_PARAM param;
	int i;

	MUST(w, !dat_ep_query(s->ep, DAT_EP_FIELD_ALL, &param));
	MUST(w, !dat_ep_free(s->ep));
	MUST(w, !dat_ep_create(w->pair.ia, s->pz, s->dto_evd, s->dto_evd,
			       s->conn_evd, &param.ep_attr, &s->ep));
	w->requests = 0;
	w->credits = RECEIVES / 2;
	for (i = 0; i < RECEIVES; i++)
		MUST(w, !post_recv(s->ep, &w->region, 3 * REGION, WINDOW,
				   RECV));
	w->outstanding = RECEIVES;
	memset(w->record->left, 0, sizeof(w->record->left));
	w->record->left[RECV] = RECEIVES;
	w->record->attempts++;
}

static void worker_saw_end(struct worker *w, DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		w->record->timed_out++;
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		break;
	default:
		MUST(w, false);
	}
	w->record->ended++;
}

/* True if there is a connection; else there was an event that says why not. */
static bool worker_established(struct worker *w)
{
	DAT_CONNECTION_EVENT_DATA *d;
	DAT_EVENT event;

	MUST(w, !wait_event(w->side->conn_evd, &event));
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
		worker_saw_end(w, event.event_number);
		return false;
	}
	d = &event.event_data.connect_event_data;
	if (!w->serves) {
		MUST(w, d->private_data_size >= sizeof(w->peer));
		memcpy(&w->peer, d->private_data, sizeof(w->peer));
	}
	w->record->connections++;
	return true;
}

static bool worker_accept(struct worker *w)
{
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_EVENT event;

	/* For as long as the client needs. */
	while (wait_event(w->pair.cr_evd, &event))
		;
	MUST(w, event.event_number == DAT_CONNECTION_REQUEST_EVENT);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	/* A client that has exited withdraws its request. */
	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param))
		return false;
	MUST(w, param.private_data_size >= sizeof(w->peer));
	memcpy(&w->peer, param.private_data, sizeof(w->peer));
	if (dat_cr_accept(cr, w->side->ep, sizeof(w->hello), &w->hello)) {
		dat_cr_reject(cr);
		return false;
	}
	return worker_established(w);
}

static bool worker_connect(struct worker *w)
{
	DAT_IA_ATTR attr;
	DAT_CONN_QUAL qual;

	do
		qual = __atomic_load_n(&w->life->qual, __ATOMIC_SEQ_CST);
	while (!qual && !usleep(1000));
	MUST(w, !dat_ia_query(w->pair.ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR,
			      &attr, 0, NULL));
	MUST(w, !dat_ep_connect(w->side->ep, attr.ia_address_ptr, qual,
				PAIR_TIMEOUT / 2, sizeof(w->hello), &w->hello,
				DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	return worker_established(w);
}

static bool worker_post(struct worker *w)
{
	DAT_RMR_CONTEXT context;
	size_t len = 1 + random_below(MAX_LEN);
	size_t at = random_below(REGION - MAX_LEN);
	void *there = (void *)(uintptr_t)(w->peer.address + at);
	DAT_EP_HANDLE ep = w->side->ep;
	DAT_RETURN ret;
	int what;

	/* A send for each receive that the peer is known to have posted. */
	if (w->credits && !random_below(3)) {
		what = SEND;
		ret = post_send(ep, &w->region, 0, 1 + random_below(WINDOW), what);
		w->credits -= !ret;
	} else if (!random_below(6)) {
		what = BIND;
		ret = bind_window(w->rmr, &w->region, 2 * REGION + at, len,
				  DAT_MEM_PRIV_REMOTE_WRITE_FLAG, ep,
				  what, DAT_COMPLETION_DEFAULT_FLAG,
				  &context);
	} else if (random_below(2)) {
		what = WRITE;
		ret = post_write(ep, &w->region, REGION + at, len,
				 w->peer.context, there, what);
	} else {
		what = READ;
		ret = post_read(ep, &w->region, REGION + at, len,
				w->peer.context, there, what);
	}
	w->requests += !ret;
	w->outstanding += !ret;
	w->record->left[what] += !ret;
	return !ret;
}

static void worker_completed(struct worker *w, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d =
		&event->event_data.dto_completion_event_data;
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *b =
		&event->event_data.rmr_completion_event_data;
	bool bind = event->event_number == DAT_RMR_BIND_COMPLETION_EVENT;
	int what = bind ? BIND : (int)d->user_cookie.as_64;

	MUST(w, bind || event->event_number == DAT_DTO_COMPLETION_EVENT);
	/* Nothing completes that was not posted, or twice. */
	MUST(w, w->outstanding--);
	w->record->left[what]--;
	w->record->completed++;
	if ((bind ? (int)b->status : (int)d->status) == DAT_DTO_ERR_FLUSHED)
		w->record->flushed++;
	if (what != RECV) {
		w->requests--;
	} else if (!d->status) {
		w->credits++;
		if (!post_recv(w->side->ep, &w->region, 3 * REGION, WINDOW,
			       RECV)) {
			w->record->left[RECV]++;
			w->outstanding++;
		}
	}
}

/* Until the connection ends, and with it all that was posted. */
static void worker_work(struct worker *w)
{
	DAT_EVD_HANDLE dto_evd = w->side->dto_evd;
	DAT_EVENT event;
	DAT_COUNT nmore;

	while (dat_evd_dequeue(w->side->conn_evd, &event)) {
		while (w->requests < REQUESTS && worker_post(w))
			;
		if (!dat_evd_wait(dto_evd, 2000, 1, &event, &nmore))
			worker_completed(w, &event);
	}
	worker_saw_end(w, event.event_number);
	MUST(w, ep_state(w->side->ep) == DAT_EP_STATE_DISCONNECTED);
}

static void worker_main(struct life *life, int role)
{
	struct worker w = {
		.life = life,
		.record = &life->record[role],
		.serves = role == SERVER,
	};
	bool connected;
	DAT_EVENT event;

	srandom(getpid());
	worker_open(&w);
	for (;;) {
		worker_renew(&w);
		connected = w.serves ? worker_accept(&w) : worker_connect(&w);
		if (connected)
			worker_work(&w);
		/* Receives of an EP that never got anywhere stay with it. */
		if (ep_state(w.side->ep) == DAT_EP_STATE_UNCONNECTED)
			w.outstanding = 0;
		while (w.outstanding) {
			MUST(&w, !wait_event(w.side->dto_evd, &event));
			worker_completed(&w, &event);
		}
		MUST(&w, dat_evd_dequeue(w.side->conn_evd, &event));
	}
}

static pid_t start_worker(struct life *life, int role)
{
	pid_t pid;

	if (role == SERVER)
		__atomic_store_n(&life->qual, 0, __ATOMIC_SEQ_CST);
	pid = fork_child();
	if (!pid)
		worker_main(life, role);
	return pid;
}

/* Where the two have given up, if they have, and what they were waiting for. */
static void tell(const struct life *life)
{
	int role;

	for (role = 0; role < 2; role++) {
		const struct record *r = &life->record[role];

		fprintf(stderr,
			"# %s: line %d; left: %d recv, %d send, %d write, %d read, %d bind\n",
			role ? "client" : "server", r->failed_line,
			r->left[RECV], r->left[SEND], r->left[WRITE],
			r->left[READ], r->left[BIND]);
	}
}

/* The two have found each other, and have done a piece of work since. */
static bool both_work(struct life *life, const struct life *before)
{
	int tries, role, working;

	for (tries = 0; tries < 60000; tries++) {
		working = 0;
		for (role = 0; role < 2; role++) {
			const struct record *now = &life->record[role];
			const struct record *old = &before->record[role];

			if (__atomic_load_n(&now->failed_line,
					    __ATOMIC_RELAXED))
				return false;
			working += now->connections > old->connections &&
				   now->completed > old->completed + 2 * RECEIVES;
		}
		if (working == 2)
			return true;
		usleep(1000);
	}
	return false;
}

FIXTURE(killed)
{
	struct life *life;
	char stock[512];
};

FIXTURE_SETUP(killed)
{
	stock_take(self->stock, sizeof(self->stock));
	self->life = mmap(NULL, sizeof(*self->life), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->life);
}

FIXTURE_TEARDOWN(killed)
{
	EXPECT_TRUE(stock_returns_to(self->stock));
}

TEST_F_TIMEOUT(killed, peer_survives_random_kill, LIMIT)
{
	struct life *life = self->life, before;
	int count = rounds(10, 200), i, role, in_the_middle = 0;
	unsigned int seeded = random_seed();
	time_t begun = time(NULL);
	pid_t pid[2];

	for (role = 0; role < 2; role++)
		pid[role] = start_worker(life, role);
	before = *life;
	for (i = 0; i < count; i++) {
		unsigned int victims = 1 + random_below(3);

		/* One in three dies at any time, the others while they work. */
		if (random_below(3)) {
			in_the_middle++;
			ASSERT_TRUE(both_work(life, &before)) {
				TH_LOG("seed %u, round %d", seeded, i);
				tell(life);
			}
			usleep(random_below(20000));
		} else {
			usleep(random_below(rounds(40000, 150000)));
		}
		before = *life;
		for (role = 0; role < 2; role++)
			if (victims & 1 << role)
				kill(pid[role], SIGKILL);
		for (role = 0; role < 2; role++) {
			if (!(victims & 1 << role))
				continue;
			ASSERT_TRUE(kill_child(pid[role])) {
				TH_LOG("seed %u, round %d", seeded, i);
				tell(life);
			}
			pid[role] = start_worker(life, role);
		}
	}
	EXPECT_TRUE(both_work(life, &before));
	for (role = 0; role < 2; role++) {
		struct record *r = &life->record[role];

		EXPECT_TRUE(kill_child(pid[role]))
			tell(life);
		/* A few kills may all come when nothing is under way. */
		EXPECT_LT(rounds(-1, 0), (int)r->flushed);
		TH_LOG("%s: %u connections in %u attempts, %u ended, %u timed out",
		       role ? "client" : "server", r->connections,
		       r->attempts, r->ended, r->timed_out);
		TH_LOG("%u completions, %u of them flushed", r->completed,
		       r->flushed);
	}
	TH_LOG("seed %u: %d kills, %d of them in the middle of work, %ld s",
	       seeded, count, in_the_middle, time(NULL) - begun);
}

/* A peer that accepts and leaves, before it knows that it is connected. */

FIXTURE(left)
{
	struct pair pair;
};

FIXTURE_SETUP(left)
{
	ASSERT_DAT(pair_open(&self->pair));
}

FIXTURE_TEARDOWN(left)
{
	pair_close(&self->pair);
}

/* Puts a new EP in the place of a side's old one. */
static DAT_RETURN renew(struct pair *pair, struct side *side)
{
	DAT_EP_PARAM param;
	DAT_RETURN ret = dat_ep_query(side->ep, DAT_EP_FIELD_ALL, &param);

	dat_ep_free(side->ep);
	return ret ?: dat_ep_create(pair->ia, side->pz, side->dto_evd,
				    side->dto_evd, side->conn_evd,
				    &param.ep_attr, &side->ep);
}

TEST_F_TIMEOUT(left, peer_ep_free_after_accept, LIMIT)
{
	struct pair *p = &self->pair;
	int count = rounds(40, 200), i, established = 0, silent = 0;
	unsigned int seeded = random_seed();
	DAT_EVENT event;

	for (i = 0; i < count; i++) {
		unsigned int pause = random_below(1000) * (i % 4);
		DAT_CR_HANDLE cr;

		ASSERT_DAT(connect_to(p, p->a.ep, p->qual));
		ASSERT_DAT(wait_event(p->cr_evd, &event));
		cr = event.event_data.cr_arrival_event_data.cr_handle;
		ASSERT_DAT(dat_cr_accept(cr, p->b.ep, 0, NULL));
		/* Free the passive EP once the active EP is not pending, or at any time. */
		if (i & 1)
			while (ep_state(p->a.ep) ==
			       DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
				;
		else
			usleep(pause);
		ASSERT_DAT(renew(p, &p->b));

		ASSERT_DAT(wait_event(p->a.conn_evd, &event));
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
			established++;
			if (wait_event(p->a.conn_evd, &event)) {
				silent++;
				TH_LOG("seed %u, round %d: silence", seeded, i);
			} else {
				EXPECT_EQ(DAT_CONNECTION_EVENT_DISCONNECTED,
					  event.event_number);
				EXPECT_EQ(DAT_EP_STATE_DISCONNECTED,
					  ep_state(p->a.ep));
			}
		} else {
			EXPECT_EQ(DAT_EP_STATE_DISCONNECTED,
				  ep_state(p->a.ep));
		}
		ASSERT_DAT(renew(p, &p->a));
		while (!dat_evd_dequeue(p->b.conn_evd, &event))
			;
	}
	EXPECT_EQ(0, silent);
	TH_LOG("seed %u: established %d times of %d", seeded, established,
	       count);
}

TEST_HARNESS_MAIN
