// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ends.c - processes, devices and files that end at any time, with all that
 * they have
 *
 * With KDAPL_THOROUGH=1 there are many more rounds. KDAPL_SEED repeats a run.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#include <linux/dat.h>

#include "counts.h"
#include "link.h"
#include "pair.h"

#define REGION		65536
/* Against hanging, not against slowness: sanitizers on a loaded machine. */
#define LIMIT		600

static int rounds(int few, int many)
{
	const char *thorough = getenv("KDAPL_THOROUGH");

	return thorough && !strcmp(thorough, "1") ? many : few;
}

static unsigned int seed(void)
{
	const char *given = getenv("KDAPL_SEED");
	unsigned int n = given ? strtoul(given, NULL, 0) :
				 (unsigned int)time(NULL) ^ getpid() << 16;

	srandom(n);
	return n;
}

static unsigned int below(unsigned int limit)
{
	return random() % limit;
}

/* Kilobytes that a process is charged for. */
static long long charged(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return number_in(path, "VmPin:");
}

/* Everything that is counted, in one line; to be compared. */
static void take_stock(char *text, size_t size)
{
	size_t len;
	FILE *f;

	len = snprintf(text, size, "%lld pages, %lld references; ",
		       pinned_pages(),
		       number_in("/sys/module/kdapl/refcnt", ""));
	f = popen("rdma resource show", "r");
	if (!f)
		return;
	len += fread(text + len, 1, size - len - 1, f);
	text[len] = '\0';
	pclose(f);
}

/* What the kernel releases behind the back of a process takes a moment. */
static bool back_to(const char *before)
{
	char now[512];
	int tries;

	for (tries = 0; tries < 100; tries++) {
		take_stock(now, sizeof(now));
		if (!strcmp(before, now))
			return true;
		usleep(100000);
	}
	fprintf(stderr, "# before: %s# now: %s", before, now);
	return false;
}

static pid_t fork_child(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	/* Should the test give up, nobody goes on without it. */
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static bool kill_child(pid_t pid)
{
	int status;

	return !kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid &&
	       WIFSIGNALED(status);
}

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

/* What a peer has to know; it comes as private data. */
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
	/* The client may have gone already, and its request with it. */
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
	size_t len = 1 + below(MAX_LEN);
	size_t at = below(REGION - MAX_LEN);
	void *there = (void *)(uintptr_t)(w->peer.address + at);
	DAT_EP_HANDLE ep = w->side->ep;
	DAT_RETURN ret;
	int what;

	/* A send for each receive that the peer is known to have posted. */
	if (w->credits && !below(3)) {
		what = SEND;
		ret = post_send(ep, &w->region, 0, 1 + below(WINDOW), what);
		w->credits -= !ret;
	} else if (!below(6)) {
		what = BIND;
		ret = bind_window(w->rmr, &w->region, 2 * REGION + at, len,
				  DAT_MEM_PRIV_REMOTE_WRITE_FLAG, ep,
				  what, DAT_COMPLETION_DEFAULT_FLAG,
				  &context);
	} else if (below(2)) {
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
	take_stock(self->stock, sizeof(self->stock));
	self->life = mmap(NULL, sizeof(*self->life), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->life);
}

FIXTURE_TEARDOWN(killed)
{
	EXPECT_TRUE(back_to(self->stock));
}

TEST_F_TIMEOUT(killed, at_any_time_it_is_survived_by_its_peer, LIMIT)
{
	struct life *life = self->life, before;
	int count = rounds(10, 200), i, role, in_the_middle = 0;
	unsigned int seeded = seed();
	time_t begun = time(NULL);
	pid_t pid[2];

	for (role = 0; role < 2; role++)
		pid[role] = start_worker(life, role);
	before = *life;
	for (i = 0; i < count; i++) {
		unsigned int victims = 1 + below(3);

		/* One in three dies at any time, the others while they work. */
		if (below(3)) {
			in_the_middle++;
			ASSERT_TRUE(both_work(life, &before)) {
				TH_LOG("seed %u, round %d", seeded, i);
				tell(life);
			}
			usleep(below(20000));
		} else {
			usleep(below(rounds(40000, 150000)));
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

TEST_F_TIMEOUT(left, by_a_peer_at_once_it_is_told, LIMIT)
{
	struct pair *p = &self->pair;
	int count = rounds(40, 200), i, established = 0, silent = 0;
	unsigned int seeded = seed();
	DAT_EVENT event;

	for (i = 0; i < count; i++) {
		unsigned int pause = below(1000) * (i % 4);
		DAT_CR_HANDLE cr;

		ASSERT_DAT(connect_to(p, p->a.ep, p->qual));
		ASSERT_DAT(wait_event(p->cr_evd, &event));
		cr = event.event_data.cr_arrival_event_data.cr_handle;
		ASSERT_DAT(dat_cr_accept(cr, p->b.ep, 0, NULL));
		/* As soon as one side has heard of it, or at any time. */
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

/* A device that goes away under load. */

struct load {
	struct pair *pair;
	struct side *side;
	struct region *from;
	struct region *to;
	DAT_RMR_HANDLE rmr;
	unsigned int posted;
	unsigned int completed;
	unsigned int succeeded;
	DAT_RETURN ret;
	int status;
	bool stop;
};

static bool load_completed(struct load *l)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	DAT_COUNT nmore;
	int status;

	if (dat_evd_wait(l->side->dto_evd, PAIR_TIMEOUT, 1, &event, &nmore))
		return false;
	dto = &event.event_data.dto_completion_event_data;
	status = dto->status;
	if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT)
		status = event.event_data.rmr_completion_event_data.status;
	l->completed++;
	if (!status)
		__atomic_add_fetch(&l->succeeded, 1, __ATOMIC_RELAXED);
	else if (!l->status)
		l->status = status;
	return true;
}

/* Writes, reads and binds until a call says that it is over. */
static void *load_main(void *arg)
{
	struct load *l = arg;
	DAT_RMR_CONTEXT context;
	DAT_RETURN ret = 0;

	while (!ret && !__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) {
		unsigned int n = l->posted;

		if (n % 4 == 3)
			ret = bind_window(l->rmr, l->from, n % 999, 4096,
					  DAT_MEM_PRIV_REMOTE_READ_FLAG,
					  l->side->ep, n,
					  DAT_COMPLETION_DEFAULT_FLAG,
					  &context);
		else
			ret = (n & 1 ? post_read : post_write)
				(l->side->ep, l->from, 0, 8192,
				 l->to->rmr_context, l->to->buf, n);
		if (!ret)
			l->posted++;
		while (l->posted - l->completed > 8 && load_completed(l))
			;
	}
	l->ret = ret;
	/* What was posted has an end, too. */
	while (l->posted != l->completed && load_completed(l))
		;
	return NULL;
}

/* A new device takes a moment until connections find their way to it. */
static bool connected_again(struct pair *pair)
{
	int tries;

	if (!link_is_there() && link_add())
		return false;
	for (tries = 0; tries < 10; tries++) {
		if (!pair_open(pair) && !pair_connect(pair))
			return true;
		pair_close(pair);
		usleep(100000);
	}
	return false;
}

FIXTURE(unplugged)
{
	struct pair pair;
	struct region a, b;
	struct load load[2];
};

FIXTURE_SETUP(unplugged)
{
	if (!link_is_there())
		SKIP(return, "not a software device, which could be taken away");
}

FIXTURE_TEARDOWN(unplugged)
{
	pair_close(&self->pair);
	EXPECT_TRUE(connected_again(&self->pair));
	pair_close(&self->pair);
}

TEST_F_TIMEOUT(unplugged, under_load_again_and_again_without_reloading, LIMIT)
{
	struct pair *p = &self->pair;
	unsigned int seeded = seed();
	int count = rounds(3, 50), round, i;
	unsigned int completed = 0;
	long long pinned = pinned_pages();
	time_t begun = time(NULL);
	pthread_t thread[2];
	DAT_EVENT event;

	for (round = 0; round < count; round++) {
		bool close_first = below(2);

		ASSERT_TRUE(connected_again(p)) {
			TH_LOG("seed %u, round %d", seeded, round);
		}
		ASSERT_DAT(regions_open(p, &self->a, &self->b, REGION,
					DAT_MEM_PRIV_ALL_FLAG));
		for (i = 0; i < 2; i++) {
			struct load *l = &self->load[i];

			*l = (struct load){
				.pair = p,
				.side = i ? &p->b : &p->a,
				.from = i ? &self->b : &self->a,
				.to = i ? &self->a : &self->b,
			};
			ASSERT_DAT(dat_rmr_create(l->side->pz, &l->rmr));
			ASSERT_EQ(0, pthread_create(&thread[i], NULL,
						    load_main, l));
		}
		for (i = 0; i < 60000; i++) {
			if (__atomic_load_n(&self->load[0].succeeded,
					    __ATOMIC_RELAXED) > 8)
				break;
			usleep(1000);
		}
		ASSERT_GT(60000, i) {
			TH_LOG("seed %u, round %d: %s and status %d on one side",
			       seeded, round, dat_str(self->load[0].ret),
			       self->load[0].status);
			TH_LOG("%s and status %d on the other",
			       dat_str(self->load[1].ret),
			       self->load[1].status);
		}
		usleep(below(20000));
		ASSERT_EQ(0, link_delete());
		for (i = 0; i < 2; i++) {
			__atomic_store_n(&self->load[i].stop, true,
					 __ATOMIC_RELAXED);
			pthread_join(thread[i], NULL);
			/* Each that was posted, once. */
			EXPECT_EQ(self->load[i].posted,
				  self->load[i].completed) {
				TH_LOG("seed %u, round %d, side %d", seeded,
				       round, i);
			}
			completed += self->load[i].completed;
			EXPECT_DAT(wait_event(i ? p->b.conn_evd : p->a.conn_evd,
					      &event));
			EXPECT_EQ(DAT_EP_STATE_DISCONNECTED,
				  ep_state(self->load[i].side->ep));
		}
		EXPECT_DAT(wait_for(p->async_evd,
				    DAT_ASYNC_ERROR_IA_CATASTROPHIC, &event));
		/* The new one may come while there are remains of the old. */
		if (!close_first)
			ASSERT_EQ(0, link_add());
		pair_close(p);
		munmap(self->a.buf, REGION);
		munmap(self->b.buf, REGION);
	}
	TH_LOG("seed %u: deleted %d times, %u completions, %ld s", seeded,
	       count, completed, time(NULL) - begun);
	EXPECT_EQ(pinned, pinned_pages());
}

/* Objects of a file, by ioctl alone. */

enum object { PZ, EVD, PSP, EP, LMR, RMR, NUM_OBJECTS };

#define RING_ENTRIES	64
#define RING_SIZE	(sizeof(struct dat_dev_ring) + \
			 RING_ENTRIES * sizeof(struct dat_dev_event))

struct raw {
	int fd;
	__u32 ia;
	__u32 pz;
	__u32 cr_evd, dto_evd, conn_evd;
	__u32 psp;
	__u32 ep, peer_ep;
	__u32 rmr;
	__u32 lmr;
	__u32 lmr_context, rmr_context;
	__u64 qual;
	unsigned char *buf;
};

/* 0, or the type of the result, or what is no type. */
static DAT_UINT32 call(int fd, unsigned long cmd, void *arg)
{
	const __u32 *size_and_result = arg;

	return ioctl(fd, cmd, arg) ? 0xffff : DAT_GET_TYPE(size_and_result[1]);
}

static DAT_UINT32 raw_free(struct raw *r, unsigned long cmd, __u32 handle)
{
	struct dat_dev_free arg = { .size = sizeof(arg), .handle = handle };

	return call(r->fd, cmd, &arg);
}

static DAT_UINT32 raw_open(struct raw *r)
{
	struct dat_dev_ia_open arg = {
		.size = sizeof(arg),
		.dat_major = 1,
		.dat_minor = 2,
		.async_evd_qlen = 8,
	};
	DAT_UINT32 ret;

	snprintf(arg.name, sizeof(arg.name), "%s", ia_name());
	ret = call(r->fd, DAT_DEV_IA_OPEN, &arg);
	r->ia = arg.ia;
	return ret;
}

static DAT_UINT32 raw_ia_close(struct raw *r)
{
	struct dat_dev_ia_close arg = {
		.size = sizeof(arg),
		.ia = r->ia,
		.flags = DAT_CLOSE_ABRUPT_FLAG,
	};

	return call(r->fd, DAT_DEV_IA_CLOSE, &arg);
}

static DAT_UINT32 raw_evd(struct raw *r, __u32 flags, __u32 *evd)
{
	struct dat_dev_evd_create arg = {
		.size = sizeof(arg),
		.ia = r->ia,
		.min_qlen = RING_ENTRIES,
		.flags = flags,
	};
	DAT_UINT32 ret = call(r->fd, DAT_DEV_EVD_CREATE, &arg);

	*evd = arg.evd;
	return ret ?: arg.ring_entries == RING_ENTRIES ? 0 : 0xffff;
}

static DAT_UINT32 raw_ep(struct raw *r, __u32 *ep)
{
	struct dat_dev_ep_create arg = {
		.size = sizeof(arg),
		.ia = r->ia,
		.pz = r->pz,
		.recv_evd = r->dto_evd,
		.request_evd = r->dto_evd,
		.connect_evd = r->conn_evd,
	};
	DAT_UINT32 ret = call(r->fd, DAT_DEV_EP_CREATE, &arg);

	*ep = arg.ep;
	return ret;
}

static DAT_UINT32 raw_psp(struct raw *r)
{
	static unsigned int next;
	struct dat_dev_psp_create arg = {
		.size = sizeof(arg),
		.ia = r->ia,
		.evd = r->cr_evd,
		.flags = DAT_PSP_CONSUMER_FLAG,
	};
	DAT_UINT32 ret;

	do {
		arg.conn_qual = 22000 + (getpid() * 31 + next++) % 10000;
		ret = call(r->fd, DAT_DEV_PSP_CREATE, &arg);
	} while (ret == DAT_GET_TYPE(DAT_CONN_QUAL_IN_USE));
	r->psp = arg.psp;
	r->qual = arg.conn_qual;
	return ret;
}

static DAT_UINT32 raw_lmr(struct raw *r)
{
	struct dat_dev_lmr_create arg = {
		.size = sizeof(arg),
		.ia = r->ia,
		.pz = r->pz,
		.privileges = DAT_MEM_PRIV_ALL_FLAG,
		.address = ADDR(r->buf),
		.length = REGION,
	};
	DAT_UINT32 ret = call(r->fd, DAT_DEV_LMR_CREATE, &arg);

	r->lmr = arg.lmr;
	r->lmr_context = arg.lmr_context;
	r->rmr_context = arg.rmr_context;
	return ret;
}

static DAT_UINT32 raw_rmr(struct raw *r)
{
	struct dat_dev_rmr_create arg = { .size = sizeof(arg), .pz = r->pz };
	DAT_UINT32 ret = call(r->fd, DAT_DEV_RMR_CREATE, &arg);

	r->rmr = arg.rmr;
	return ret;
}

static DAT_UINT32 raw_make(struct raw *r, enum object object)
{
	struct dat_dev_pz_create pz = { .size = sizeof(pz), .ia = r->ia };
	DAT_UINT32 ret;

	switch (object) {
	case PZ:
		ret = call(r->fd, DAT_DEV_PZ_CREATE, &pz);
		r->pz = pz.pz;
		return ret;
	case EVD:
		return raw_evd(r, DAT_EVD_CR_FLAG, &r->cr_evd) ?:
		       raw_evd(r, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
			       &r->dto_evd) ?:
		       raw_evd(r, DAT_EVD_CONNECTION_FLAG, &r->conn_evd);
	case PSP:
		return raw_psp(r);
	case EP:
		return raw_ep(r, &r->ep);
	case LMR:
		return raw_lmr(r);
	default:
		return raw_rmr(r);
	}
}

/* Waits until there are as many events. */
static DAT_UINT32 raw_wait(struct raw *r, __u32 evd, __u32 threshold)
{
	struct dat_dev_evd_wait arg = {
		.size = sizeof(arg),
		.evd = evd,
		.timeout = PAIR_TIMEOUT,
		.threshold = threshold,
	};

	return call(r->fd, DAT_DEV_EVD_WAIT, &arg);
}

static struct dat_dev_ring *raw_ring(struct raw *r, __u32 evd)
{
	return mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
		    evd * PAGE);
}

static DAT_UINT32 raw_event(struct raw *r, __u32 evd,
			    struct dat_dev_event *event)
{
	DAT_UINT32 ret = raw_wait(r, evd, 1);
	struct dat_dev_ring *ring;

	if (ret)
		return ret;
	ring = raw_ring(r, evd);
	if (ring == MAP_FAILED)
		return 0xffff;
	*event = ring->events[ring->head % RING_ENTRIES];
	__atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
	munmap(ring, RING_SIZE);
	return 0;
}

static DAT_UINT32 raw_accept(struct raw *r, __u32 ep)
{
	struct dat_dev_cr_accept arg = { .size = sizeof(arg), .ep = ep };
	struct dat_dev_event event;
	DAT_UINT32 ret = raw_event(r, r->cr_evd, &event);

	arg.cr = event.cr;
	return ret ?: call(r->fd, DAT_DEV_CR_ACCEPT, &arg);
}

/* Connects the file's two EPs to each other. */
static DAT_UINT32 raw_connect(struct raw *r)
{
	struct dat_dev_ia_query ia = { .size = sizeof(ia), .ia = r->ia };
	struct dat_dev_ep_connect arg = {
		.size = sizeof(arg),
		.ep = r->ep,
		.timeout = ~0U,
		.conn_qual = r->qual,
	};
	DAT_UINT32 ret;

	ret = call(r->fd, DAT_DEV_IA_QUERY, &ia);
	arg.remote_address = ia.ia_address;
	return ret ?: raw_ep(r, &r->peer_ep) ?:
	       call(r->fd, DAT_DEV_EP_CONNECT, &arg) ?:
	       raw_accept(r, r->peer_ep) ?:
	       raw_wait(r, r->conn_evd, 2);
}

static DAT_UINT32 raw_post(struct raw *r, __u32 opcode, __u32 len)
{
	struct dat_dev_segment segment = {
		.virtual_address = ADDR(r->buf),
		.length = len,
		.lmr_context = r->lmr_context,
	};
	struct dat_dev_dto dto = {
		.opcode = opcode,
		.ep = r->ep,
		.num_segments = 1,
		.segments = ADDR(&segment),
	};
	struct dat_dev_post post = {
		.size = sizeof(post),
		.dtos = ADDR(&dto),
		.num_dtos = 1,
		.dto_size = sizeof(dto),
	};

	if (opcode == DAT_DEV_RMR_BIND) {
		dto.rmr = r->rmr;
		dto.privileges = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	} else if (opcode != DAT_DEV_RECV) {
		dto.remote_address = ADDR(r->buf);
		dto.remote_length = len;
		dto.remote_context = r->rmr_context;
	}
	return call(r->fd, DAT_DEV_POST, &post);
}

/* Leaves much unfinished. */
static DAT_UINT32 raw_busy(struct raw *r)
{
	DAT_UINT32 ret = raw_connect(r);
	int i;

	ret = ret ?: raw_post(r, DAT_DEV_RMR_BIND, REGION);
	for (i = 0; i < 8 && !ret; i++)
		ret = raw_post(r, DAT_DEV_RECV, 4096) ?:
		      raw_post(r, i & 1 ? DAT_DEV_RDMA_WRITE :
					  DAT_DEV_RDMA_READ, REGION);
	return ret;
}

/* What has to be there before. */
static const unsigned int needs[NUM_OBJECTS] = {
	[PSP] = 1 << EVD,
	[EP] = 1 << PZ | 1 << EVD,
	[LMR] = 1 << PZ,
	[RMR] = 1 << PZ,
};

#define MAX_ORDERS	720

static unsigned char order[MAX_ORDERS][NUM_OBJECTS];
static unsigned int num_orders;

/* Extends a beginning of @len objects, @made, in every way. */
static void enumerate(unsigned char *begun, unsigned int len, unsigned int made)
{
	unsigned int i;

	if (len == NUM_OBJECTS) {
		memcpy(order[num_orders++], begun, NUM_OBJECTS);
		return;
	}
	for (i = 0; i < NUM_OBJECTS; i++) {
		if (made & 1 << i || needs[i] & ~made)
			continue;
		begun[len] = i;
		enumerate(begun, len + 1, made | 1 << i);
	}
}

static DAT_UINT32 raw_make_all(struct raw *r, const unsigned char *objects,
			       bool busy)
{
	DAT_UINT32 ret;
	int i;

	r->fd = open("/dev/dat", O_RDWR | O_CLOEXEC);
	ret = raw_open(r);
	for (i = 0; i < NUM_OBJECTS && !ret; i++)
		ret = raw_make(r, objects[i]);
	return ret ?: busy ? raw_busy(r) : 0;
}

static const char object_name[NUM_OBJECTS][4] = {
	"PZ", "EVD", "PSP", "EP", "LMR", "RMR",
};

/* An order in words, in a buffer that the next call overwrites. */
static const char *words(const unsigned char *objects)
{
	static char buf[NUM_OBJECTS * 5];
	int i, len = 0;

	for (i = 0; i < NUM_OBJECTS; i++)
		len += sprintf(buf + len, "%s ", object_name[objects[i]]);
	return buf;
}

FIXTURE(open_objects)
{
	struct raw raw;
	char stock[512];
};

FIXTURE_SETUP(open_objects)
{
	unsigned char begun[NUM_OBJECTS];

	enumerate(begun, 0, 0);
	take_stock(self->stock, sizeof(self->stock));
	self->raw.buf = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->raw.buf);
}

FIXTURE_TEARDOWN(open_objects)
{
	EXPECT_TRUE(back_to(self->stock));
}

TEST_F_TIMEOUT(open_objects, of_every_order_end_with_the_file, LIMIT)
{
	long long pinned = pinned_pages();
	struct raw *r = &self->raw;
	int stride = rounds(5, 1), n;

	for (n = 0; n < num_orders; n += stride) {
		ASSERT_EQ(0, raw_make_all(r, order[n],
					  n / stride % 4 == 0)) {
			TH_LOG("%s", words(order[n]));
		}
		ASSERT_EQ(pinned + REGION / PAGE, pinned_pages());
		ASSERT_EQ(0, close(r->fd));
		ASSERT_EQ(pinned, pinned_pages()) {
			TH_LOG("%s", words(order[n]));
		}
	}
	TH_LOG("every %d. of %u orders", stride, num_orders);
}

TEST_F_TIMEOUT(open_objects, of_every_order_end_with_the_process, LIMIT)
{
	long long pinned = pinned_pages();
	struct raw *r = &self->raw;
	int stride = rounds(7, 3), n, status;
	pid_t pid;

	for (n = 0; n < num_orders; n += stride) {
		pid = fork_child();
		if (!pid)
			_exit(raw_make_all(r, order[n],
					   n / stride % 4 == 1) ||
			      pinned_pages() != pinned + REGION / PAGE);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
		ASSERT_EQ(pinned, pinned_pages()) {
			TH_LOG("%s", words(order[n]));
		}
	}
	TH_LOG("every %d. of %u orders", stride, num_orders);
}

TEST_F_TIMEOUT(open_objects, of_every_order_end_with_the_ia, LIMIT)
{
	long long pinned = pinned_pages();
	struct raw *r = &self->raw;
	int stride = rounds(7, 3), n;

	for (n = 0; n < num_orders; n += stride) {
		ASSERT_EQ(0, raw_make_all(r, order[n],
					  n / stride % 4 == 2)) {
			TH_LOG("%s", words(order[n]));
		}
		ASSERT_EQ(0, raw_ia_close(r));
		ASSERT_EQ(pinned, pinned_pages()) {
			TH_LOG("%s", words(order[n]));
		}
		/* The file goes on. */
		ASSERT_EQ(0, raw_open(r));
		ASSERT_EQ(0, raw_make(r, PZ));
		ASSERT_EQ(0, raw_lmr(r));
		ASSERT_EQ(0, close(r->fd));
		ASSERT_EQ(pinned, pinned_pages());
	}
	TH_LOG("every %d. of %u orders", stride, num_orders);
}

/* A file that goes to another process. */

static bool send_fd(int socket, int fd, const void *data, size_t len)
{
	char control[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(socket, &msg, 0) == (ssize_t)len;
}

static int receive_fd(int socket, void *data, size_t len)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int fd = -1;

	if (recvmsg(socket, &msg, MSG_CMSG_CLOEXEC) == (ssize_t)len &&
	    CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

static const unsigned char any_order[NUM_OBJECTS] = {
	PZ, EVD, PSP, EP, LMR, RMR,
};

#define THEIRS	0x3c
#define OURS	0xa5

static bool all(const unsigned char *buf, size_t len, unsigned char value)
{
	return buf[0] == value && !memcmp(buf, buf + 1, len - 1);
}

/* Makes everything, gives the file away, and waits for its end. */
static void giver(int socket)
{
	struct raw r = { 0 };

	r.buf = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(r.buf, THEIRS, REGION);
	if (raw_make_all(&r, any_order, false) ||
	    !send_fd(socket, r.fd, &r, sizeof(r)))
		_exit(1);
	for (;;)
		pause();
}

/*
 * The receiver reaches the memory of the giver as a peer does: from a
 * connection of its own, by way of an EP of the file that it was given.
 */
FIXTURE(passed)
{
	int sockets[2];
	pid_t giver;
	struct raw raw;
	struct pair pair;
	struct region region;
	long long pinned;
};

FIXTURE_VARIANT(passed)
{
	bool closes;
};

FIXTURE_VARIANT_ADD(passed, frees)
{
	.closes = false,
};

FIXTURE_VARIANT_ADD(passed, closes)
{
	.closes = true,
};

FIXTURE_SETUP(passed)
{
	struct pair *p = &self->pair;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET, 0, self->sockets));
	self->giver = fork_child();
	if (!self->giver)
		giver(self->sockets[1]);
	ASSERT_DAT(pair_open(p));
	ASSERT_DAT(region_open(p, p->a.pz, &self->region, REGION,
			       DAT_MEM_PRIV_ALL_FLAG));
	self->raw.fd = -1;
	self->raw.fd = receive_fd(self->sockets[0], &self->raw,
				  sizeof(self->raw));
	ASSERT_LE(0, self->raw.fd);
	self->pinned = pinned_pages();
}

FIXTURE_TEARDOWN(passed)
{
	kill_child(self->giver);
	close(self->raw.fd);
	pair_close(&self->pair);
}

TEST_F(passed, it_outlives_the_process_that_made_its_objects)
{
	struct raw *r = &self->raw, mine;
	struct pair *p = &self->pair;
	struct region *region = &self->region;
	struct dat_dev_lmr_create query = {
		.size = sizeof(query),
		.lmr = r->lmr,
	};
	const long pages = REGION / PAGE;
	int status;

	/* Who registered memory pays for it. */
	EXPECT_EQ(REGION / 1024, charged(self->giver));
	EXPECT_EQ(REGION / 1024, charged(getpid()));

	ASSERT_DAT(connect_to(p, p->a.ep, r->qual));
	ASSERT_EQ(0, raw_accept(r, r->ep));
	ASSERT_DAT(wait_number(p->a.conn_evd,
			       DAT_CONNECTION_EVENT_ESTABLISHED));
	ASSERT_EQ(0, raw_wait(r, r->conn_evd, 1));
	ASSERT_EQ(DAT_DTO_SUCCESS, read_status(p, region, r->rmr_context,
					       r->buf, REGION));
	EXPECT_TRUE(all(region->buf, REGION, THEIRS));

	/* In the middle of a transfer. */
	ASSERT_DAT(post_read(p->a.ep, region, 0, REGION, r->rmr_context, r->buf,
			     1));
	ASSERT_EQ(0, kill(self->giver, SIGKILL));
	ASSERT_EQ(self->giver, waitpid(self->giver, &status, 0));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(p->a.dto_evd, 1));
	EXPECT_EQ(self->pinned, pinned_pages());

	/* What is left of it is as it was, and can be changed. */
	memset(region->buf, 0, REGION);
	ASSERT_EQ(DAT_DTO_SUCCESS, read_status(p, region, r->rmr_context,
					       r->buf, REGION));
	EXPECT_TRUE(all(region->buf, REGION, THEIRS));
	memset(region->buf, OURS, REGION);
	ASSERT_EQ(DAT_DTO_SUCCESS, write_status(p, region, r->rmr_context,
						r->buf, REGION));
	memset(region->buf, 0, REGION);
	ASSERT_EQ(DAT_DTO_SUCCESS, read_status(p, region, r->rmr_context,
					       r->buf, REGION));
	EXPECT_TRUE(all(region->buf, REGION, OURS));

	/* The receiver's own requests take it as their source, too. */
	ASSERT_EQ(0, call(r->fd, DAT_DEV_LMR_QUERY, &query));
	EXPECT_EQ(REGION, query.length);
	EXPECT_EQ(ADDR(r->buf), query.address);
	memset(region->buf, 0, REGION);
	ASSERT_DAT(post_recv(p->a.ep, region, 0, REGION, 2));
	ASSERT_EQ(0, raw_post(r, DAT_DEV_SEND, 4096));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(p->a.dto_evd, 2));
	EXPECT_TRUE(all(region->buf, 4096, OURS));
	EXPECT_EQ(0, raw_wait(r, r->dto_evd, 1));
	EXPECT_EQ(0, raw_post(r, DAT_DEV_RMR_BIND, 4096));
	EXPECT_EQ(0, raw_wait(r, r->dto_evd, 2));

	/* Memory that is registered now is the receiver's. */
	mine = *r;
	mine.buf = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, raw_lmr(&mine));
	EXPECT_EQ(2 * REGION / 1024, charged(getpid()));
	EXPECT_EQ(self->pinned + pages, pinned_pages());
	EXPECT_EQ(0, raw_free(&mine, DAT_DEV_LMR_FREE, mine.lmr));
	EXPECT_EQ(self->pinned, pinned_pages());

	if (variant->closes) {
		ASSERT_EQ(0, close(r->fd));
	} else {
		ASSERT_EQ(0, raw_free(r, DAT_DEV_RMR_FREE, r->rmr));
		ASSERT_EQ(0, raw_free(r, DAT_DEV_LMR_FREE, r->lmr));
	}
	EXPECT_EQ(self->pinned - pages, pinned_pages());
	EXPECT_EQ(REGION / 1024, charged(getpid()));
	EXPECT_NE(DAT_DTO_SUCCESS, read_status(p, region, r->rmr_context,
					       r->buf, REGION));
}

/* A process that forks while its memory is registered and in use. */

FIXTURE(forked)
{
	struct pair pair;
	struct region a, b;
	struct region quiet;
	unsigned int written;
	unsigned int wrong;
	int status;
	bool stop;
};

FIXTURE_SETUP(forked)
{
	struct pair *p = &self->pair;

	ASSERT_DAT(pair_open_connected(p));
	ASSERT_DAT(regions_open(p, &self->a, &self->b, REGION,
				DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(region_open(p, p->b.pz, &self->quiet, REGION,
			       DAT_MEM_PRIV_ALL_FLAG));
}

FIXTURE_TEARDOWN(forked)
{
	pair_close(&self->pair);
}

/* Each write says something new, and has to be seen where it went. */
static void *parents_traffic(void *arg)
{
	FIXTURE_DATA(forked) *self = arg;

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED)) {
		unsigned char value = 1 + self->written % 250;

		memset(self->a.buf, value, REGION / 4);
		self->status = write_status(&self->pair, &self->a,
					    self->b.rmr_context, self->b.buf,
					    REGION / 4);
		if (self->status)
			break;
		self->wrong += !all(self->b.buf, REGION / 4, value);
		__atomic_add_fetch(&self->written, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST_F_TIMEOUT(forked, memory_and_connection_stay_the_parents, LIMIT)
{
	struct pair *p = &self->pair;
	long long pinned = pinned_pages();
	int count = rounds(12, 60), i, status;
	unsigned int before;
	pthread_t thread;
	pid_t pid;

	memset(self->quiet.buf, OURS, REGION);
	ASSERT_EQ(0, pthread_create(&thread, NULL, parents_traffic, self));
	for (i = 0; i < count; i++) {
		before = __atomic_load_n(&self->written, __ATOMIC_RELAXED);
		pid = fork_child();
		if (!pid) {
			int fd = library_fd();

			/* Copies, if all is well. */
			memset(self->a.buf, 0xff, REGION);
			memset(self->b.buf, 0xff, REGION);
			memset(self->quiet.buf, 0xff, REGION);
			switch (i % 4) {
			case 0:
				execl("/bin/true", "true", NULL);
				_exit(1);
			case 1:
				_exit(close(fd));
			case 2:
				_exit(munmap(self->a.buf, REGION) ||
				      munmap(self->b.buf, REGION));
			default:
				kill(getpid(), SIGKILL);
			}
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(i % 4 == 3 ? SIGKILL : 0, status);
		/* Memory that nothing was written to in the meantime, too. */
		EXPECT_TRUE(all(self->quiet.buf, REGION, OURS));
		while (__atomic_load_n(&self->written, __ATOMIC_RELAXED) ==
		       before && !self->status)
			usleep(1000);
	}
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(DAT_DTO_SUCCESS, self->status);
	EXPECT_EQ(0, self->wrong);
	EXPECT_EQ(pinned, pinned_pages());
	EXPECT_EQ(DAT_EP_STATE_CONNECTED, ep_state(p->a.ep));
	TH_LOG("%d children, %u writes", count, self->written);

	/* A device goes to the memory itself; what it finds is the parent's. */
	ASSERT_EQ(DAT_DTO_SUCCESS, read_status(p, &self->a,
					       self->quiet.rmr_context,
					       self->quiet.buf, REGION));
	EXPECT_TRUE(all(self->a.buf, REGION, OURS));
}

/* The module while it is in use. */

static int delete_module(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

static bool load_module(void)
{
	/* The others, if there are any, are still there. */
	return system("for f in $KDAPL_INSMOD; do insmod $f; done") != -1 &&
	       !access("/dev/dat", F_OK);
}

/* What a process has, one thing more each time. */
enum use {
	USE_FILE,
	USE_IA,
	USE_EP,
	USE_CONNECTION,
	USE_RING,
	USE_SOCKET,
	NUM_USES,
};

static bool start_use(enum use use, struct raw *r, int *sockets)
{
	switch (use) {
	case USE_FILE:
		r->fd = open("/dev/dat", O_RDWR);
		return r->fd >= 0;
	case USE_IA:
		return !raw_open(r);
	case USE_EP:
		return !raw_make(r, PZ) && !raw_make(r, EVD) &&
		       !raw_make(r, PSP) && !raw_make(r, EP) &&
		       !raw_make(r, LMR) && !raw_make(r, RMR);
	case USE_CONNECTION:
		return !raw_busy(r);
	case USE_RING:
		return raw_ring(r, r->cr_evd) != MAP_FAILED;
	default:
		/* On the way between two processes. */
		return send_fd(sockets[0], r->fd, "x", 1) && !close(r->fd);
	}
}

FIXTURE(in_use)
{
	struct raw raw;
	int sockets[2];
};

FIXTURE_SETUP(in_use)
{
	if (!getenv("KDAPL_INSMOD"))
		SKIP(return, "KDAPL_INSMOD does not say which module to load");
	if (number_in("/sys/module/kdapl/refcnt", "") != 0)
		SKIP(return, "somebody else uses the module");
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET, 0, self->sockets));
	self->raw.buf = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->raw.buf);
}

FIXTURE_TEARDOWN(in_use)
{
	if (access("/dev/dat", F_OK))
		EXPECT_TRUE(load_module());
}

TEST_F_TIMEOUT(in_use, the_module_stays_and_goes_when_it_is_not, LIMIT)
{
	int round, use, status, go[2], done[2];
	pid_t pid;
	char c;

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, pipe(go));
		ASSERT_EQ(0, pipe(done));
		pid = fork_child();
		if (!pid) {
			for (use = 0; use < NUM_USES; use++)
				if (read(go[0], &c, 1) != 1 ||
				    !start_use(use, &self->raw,
					       self->sockets) ||
				    write(done[1], "x", 1) != 1)
					_exit(1);
			if (read(go[0], &c, 1) != 1)
				_exit(1);
			if (round == 1)
				kill(getpid(), SIGKILL);
			_exit(0);
		}
		close(done[1]);
		for (use = 0; use < NUM_USES; use++) {
			ASSERT_EQ(1, write(go[1], "x", 1));
			ASSERT_EQ(1, read(done[0], &c, 1)) {
				TH_LOG("use %d", use);
			}
			/* "Resource temporarily unavailable": rmmod(8). */
			EXPECT_EQ(EWOULDBLOCK, delete_module("kdapl"));
		}
		ASSERT_EQ(1, write(go[1], "x", 1));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(round == 1 ? SIGKILL : 0, status);
		/* It is still in the socket. */
		EXPECT_EQ(EWOULDBLOCK, delete_module("kdapl"));
		self->raw.fd = receive_fd(self->sockets[1], &c, 1);
		ASSERT_LE(0, self->raw.fd);
		EXPECT_EQ(EWOULDBLOCK, delete_module("kdapl"));
		ASSERT_EQ(0, close(self->raw.fd));

		ASSERT_EQ(0, delete_module("kdapl"));
		EXPECT_NE(0, access("/dev/dat", F_OK));
		ASSERT_TRUE(load_module());
		close(done[0]);
		close(go[0]);
		close(go[1]);
	}
}

TEST_HARNESS_MAIN
