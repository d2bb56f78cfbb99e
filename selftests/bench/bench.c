// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * bench.c - what operations of a process cost, over any provider of libdat2
 *
 * bench IA CASE...: prints a line "CASE NANOSECONDS" for each, of one operation. In
 * a guest whose clock counts instructions these are instructions. With BENCH_SMOKE in
 * the environment each case runs a tenth as often.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <dat2/udat.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#define QUAL		0x3457
#define QLEN		64
#define MANY		32
#define TIMEOUT		(60 * 1000 * 1000)
#define KIB		1024
#define MIB		(1024 * KIB)
#define HUGE		(2 * MIB)
#define REGION		(2 * MIB)

struct side {
	DAT_EVD_HANDLE dto_evd, conn_evd;
	DAT_EP_HANDLE ep;
	unsigned int num_sends;
};

static DAT_IA_HANDLE ia;
static struct sockaddr *address;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE cr_evd;
static DAT_PSP_HANDLE psp;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT lmr_context;
static DAT_RMR_CONTEXT rmr_context;
static unsigned char *mem;
static struct side a, b;
/* The case that runs, for messages */
static const char *current = "setup";

static void must(DAT_RETURN ret, const char *what)
{
	const char *major = "", *minor = "";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "bench: %s: %s: %s %s\n", current, what, major, minor);
	exit(1);
}

static void must_be(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "bench: %s: %s\n", current, what);
	exit(1);
}

static unsigned long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/*
 * The work
 */

static DAT_LMR_TRIPLET part(size_t offset, size_t len)
{
	DAT_LMR_TRIPLET iov = {
		.lmr_context = lmr_context,
		.virtual_address = (uintptr_t)mem + offset,
		.segment_length = len,
	};

	return iov;
}

static DAT_RMR_TRIPLET there(size_t offset, size_t len)
{
	DAT_RMR_TRIPLET to = {
		.rmr_context = rmr_context,
		.virtual_address = (uintptr_t)mem + offset,
		.segment_length = len,
	};

	return to;
}

static void check(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto =
		&event->event_data.dto_completion_event_data;

	must_be(event->event_number == DAT_DTO_COMPLETION_EVENT, "other event");
	must_be(dto->status == DAT_DTO_SUCCESS, "a DTO has failed");
}

static void poll_for_one(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
		;
	check(&event);
}

static void wait_for_one(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, TIMEOUT, 1, &event, &more), "dat_evd_wait");
	check(&event);
}

static void rdma_write(size_t len, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET from = part(0, len);
	DAT_RMR_TRIPLET to = there(MIB, len);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	must(dat_ep_post_rdma_write(a.ep, 1, &from, cookie, &to, flags),
	     "dat_ep_post_rdma_write");
}

static void write_64(void)
{
	rdma_write(64, DAT_COMPLETION_DEFAULT_FLAG);
	poll_for_one(a.dto_evd);
}

static void write_64_x32(void)
{
	int i;

	for (i = 1; i < MANY; i++)
		rdma_write(64, DAT_COMPLETION_SUPPRESS_FLAG);
	rdma_write(64, DAT_COMPLETION_DEFAULT_FLAG);
	poll_for_one(a.dto_evd);
}

static void write_1m(void)
{
	rdma_write(MIB, DAT_COMPLETION_DEFAULT_FLAG);
	poll_for_one(a.dto_evd);
}

static void read_1m(void)
{
	DAT_LMR_TRIPLET to = part(0, MIB);
	DAT_RMR_TRIPLET from = there(MIB, MIB);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	must(dat_ep_post_rdma_read(a.ep, 1, &to, cookie, &from,
				   DAT_COMPLETION_DEFAULT_FLAG),
	     "dat_ep_post_rdma_read");
	poll_for_one(a.dto_evd);
}

static void dequeue_empty(void)
{
	DAT_EVENT event;

	must_be(dat_evd_dequeue(a.dto_evd, &event) != DAT_SUCCESS,
		"an EVD is not empty");
}

static void post_recv(struct side *side)
{
	DAT_LMR_TRIPLET iov = part(side == &a ? 0 : KIB, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };

	must(dat_ep_post_recv(side->ep, 1, &iov, cookie,
			      DAT_COMPLETION_DEFAULT_FLAG),
	     "dat_ep_post_recv");
}

/* One in so many makes room in the queue. Is it this one? */
static bool post_send(struct side *side)
{
	DAT_LMR_TRIPLET iov = part(2 * KIB, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 3 };
	bool tells = ++side->num_sends % MANY == 0;

	must(dat_ep_post_send(side->ep, 1, &iov, cookie,
			      tells ? DAT_COMPLETION_DEFAULT_FLAG :
				      DAT_COMPLETION_SUPPRESS_FLAG),
	     "dat_ep_post_send");
	return tells;
}

/* There is a receive at both sides; b answers in a thread of its own. */
static void pingpong_64(void)
{
	if (post_send(&a))
		wait_for_one(a.dto_evd);
	wait_for_one(a.dto_evd);
	post_recv(&a);
}

static unsigned int num_answers;

static void *answer(void *arg)
{
	unsigned int i;

	for (i = 0; i < num_answers; i++) {
		wait_for_one(b.dto_evd);
		post_recv(&b);
		if (post_send(&b))
			wait_for_one(b.dto_evd);
	}
	return arg;
}

static pthread_t answerer;

static void begin_pingpong(unsigned int count)
{
	static bool has_begun;

	num_answers = count;
	/* What is left of the time before is enough. */
	if (!has_begun) {
		post_recv(&a);
		post_recv(&b);
	}
	has_begun = true;
	must_be(!pthread_create(&answerer, NULL, answer, NULL), "thread");
}

static void end_pingpong(void)
{
	pthread_join(answerer, NULL);
}

static void make_lmr(size_t len)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = mem };
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE one;
	DAT_VADDR start;
	DAT_VLEN size;

	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, desc, len, pz,
			    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &one,
			    &context, &remote, &size, &start),
	     "dat_lmr_create");
	must(dat_lmr_free(one), "dat_lmr_free");
}

static void lmr_4k(void)
{
	make_lmr(4 * KIB);
}

static void lmr_1m(void)
{
	make_lmr(MIB);
}

static void lmr_64m(void)
{
	make_lmr(64 * MIB);
}

static DAT_LMR_HANDLE lmr_of_1m;

static void begin_over_lmr(unsigned int count)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = mem };
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	DAT_VADDR start;
	DAT_VLEN size;

	(void)count;
	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, desc, MIB, pz,
			    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr_of_1m,
			    &context, &remote, &size, &start),
	     "dat_lmr_create");
}

static void end_over_lmr(void)
{
	must(dat_lmr_free(lmr_of_1m), "dat_lmr_free");
}

static void lmr_over_lmr(void)
{
	DAT_REGION_DESCRIPTION desc = { .for_lmr_handle = lmr_of_1m };
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE one;
	DAT_VADDR start;
	DAT_VLEN size;

	must(dat_lmr_create(ia, DAT_MEM_TYPE_LMR, desc, MIB, pz,
			    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &one,
			    &context, &remote, &size, &start),
	     "dat_lmr_create");
	must(dat_lmr_free(one), "dat_lmr_free");
}

static DAT_RMR_HANDLE rmr;

static void begin_bind(unsigned int count)
{
	(void)count;
	must(dat_rmr_create(pz, &rmr), "dat_rmr_create");
}

static void end_bind(void)
{
	must(dat_rmr_free(rmr), "dat_rmr_free");
}

static void bind_rmr(size_t len)
{
	DAT_LMR_TRIPLET what = part(0, len);
	DAT_RMR_COOKIE cookie = { .as_64 = 4 };
	DAT_RMR_CONTEXT context;
	DAT_EVENT event;

	must(dat_rmr_bind(rmr, lmr, &what,
			  DAT_MEM_PRIV_REMOTE_READ_FLAG |
				  DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			  DAT_VA_TYPE_VA, a.ep, cookie,
			  DAT_COMPLETION_DEFAULT_FLAG, &context),
	     "dat_rmr_bind");
	while (dat_evd_dequeue(a.dto_evd, &event) != DAT_SUCCESS)
		;
	must_be(event.event_number == DAT_RMR_BIND_COMPLETION_EVENT,
		"a bind has failed");
}

static void bind_4k(void)
{
	bind_rmr(4 * KIB);
}

static void bind_1m(void)
{
	bind_rmr(MIB);
}

static void make_side(struct side *side)
{
	must(dat_evd_create(ia, 2 * QLEN, DAT_HANDLE_NULL,
			    DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
			    &side->dto_evd),
	     "dat_evd_create");
	must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			    &side->conn_evd),
	     "dat_evd_create");
}

static void make_ep(struct side *side)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_mtu_size = 2 * MIB,
		.max_rdma_size = 2 * MIB,
		.max_recv_dtos = QLEN,
		.max_request_dtos = QLEN,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};

	must(dat_ep_create(ia, pz, side->dto_evd, side->dto_evd,
			   side->conn_evd, &attr, &side->ep),
	     "dat_ep_create");
}

static void wait_connection(struct side *side, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(side->conn_evd, TIMEOUT, 1, &event, &more),
	     "a connection event");
	must_be(event.event_number == number, "the wrong connection event");
}

static void connect_both(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_ep_connect(a.ep, address, QUAL, TIMEOUT, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
	     "dat_ep_connect");
	must(dat_evd_wait(cr_evd, TIMEOUT, 1, &event, &more), "a request");
	must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
			   b.ep, 0, NULL),
	     "dat_cr_accept");
	wait_connection(&a, DAT_CONNECTION_EVENT_ESTABLISHED);
	wait_connection(&b, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void disconnect_both(void)
{
	must(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG),
	     "dat_ep_disconnect");
	wait_connection(&a, DAT_CONNECTION_EVENT_DISCONNECTED);
	wait_connection(&b, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ep_free(a.ep), "dat_ep_free");
	must(dat_ep_free(b.ep), "dat_ep_free");
}

/* With an EP of its own; the others of both sides wait until it is over. */
static void connect_one(void)
{
	struct side kept_a = a, kept_b = b;

	make_ep(&a);
	make_ep(&b);
	connect_both();
	disconnect_both();
	a = kept_a;
	b = kept_b;
}

/* More objects than are used */
static void more_lmrs(unsigned int count)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = mem };
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE one;
	DAT_VADDR start;
	DAT_VLEN size;

	while (count--)
		must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, desc, 4 * KIB, pz,
				    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
				    &one, &context, &remote, &size, &start),
		     "dat_lmr_create");
}

static void more_eps(unsigned int count)
{
	struct side more;

	while (count--) {
		make_side(&more);
		make_ep(&more);
	}
}

static void lmrs_1000(unsigned int count)
{
	(void)count;
	more_lmrs(1000);
}

static void lmrs_10000(unsigned int count)
{
	(void)count;
	more_lmrs(9000);
}

static void eps_100(unsigned int count)
{
	(void)count;
	more_eps(100);
}

static void eps_1000(unsigned int count)
{
	(void)count;
	more_eps(900);
}

static const struct bench_case {
	const char *name;
	unsigned int count;
	unsigned int per_call;
	void (*run)(void);
	void (*begin)(unsigned int count);
	void (*end)(void);
} cases[] = {
	{ "u-write-64", 1000, 1, write_64, NULL, NULL },
	{ "u-write-64-x32", 50, MANY, write_64_x32, NULL, NULL },
	/* To compare that of batch.c with; where there is no such call */
	{ "u-batch-64-x32", 50, MANY, write_64_x32, NULL, NULL },
	{ "u-pingpong-64", 500, 1, pingpong_64, begin_pingpong, end_pingpong },
	{ "u-dequeue-empty", 100000, 1, dequeue_empty, NULL, NULL },
	{ "u-write-1M", 20, 1, write_1m, NULL, NULL },
	{ "u-read-1M", 20, 1, read_1m, NULL, NULL },
	{ "lmr-4K", 2000, 1, lmr_4k, NULL, NULL },
	{ "lmr-1M", 400, 1, lmr_1m, NULL, NULL },
	{ "lmr-64M", 20, 1, lmr_64m, NULL, NULL },
	{ "lmr-over-lmr-1M", 1000, 1, lmr_over_lmr, begin_over_lmr,
	  end_over_lmr },
	{ "rmr-bind-4K", 200, 1, bind_4k, begin_bind, end_bind },
	{ "rmr-bind-1M", 50, 1, bind_1m, begin_bind, end_bind },
	{ "connect", 20, 1, connect_one, NULL, NULL },
	/* Each keeps what the one before has made. */
	{ "scale-1", 500, 1, write_64, NULL, NULL },
	{ "scale-1000-lmrs", 500, 1, write_64, lmrs_1000, NULL },
	{ "scale-10000-lmrs", 500, 1, write_64, lmrs_10000, NULL },
	{ "scale-100-eps", 500, 1, write_64, eps_100, NULL },
	{ "scale-1000-eps", 500, 1, write_64, eps_1000, NULL },
};

/* A tenth of it first, so that everything has been touched */
static void measure(const struct bench_case *c)
{
	unsigned int count = getenv("BENCH_SMOKE") ? c->count / 10 : c->count;
	unsigned int warm = count / 10 + 1, i;
	unsigned long long start, end;

	current = c->name;
	if (c->begin)
		c->begin(warm + count);
	for (i = 0; i < warm; i++)
		c->run();
	start = now();
	for (i = 0; i < count; i++)
		c->run();
	end = now();
	if (c->end)
		c->end();
	printf("%s %llu\n", c->name,
	       (end - start) / count / c->per_call);
	fflush(stdout);
}

static unsigned char *map(size_t len, int advice)
{
	unsigned char *m = mmap(NULL, len + HUGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must_be(m != MAP_FAILED, "no memory");
	m += HUGE - (uintptr_t)m % HUGE;
	must_be(!madvise(m, len, advice), "madvise");
	return m;
}

/*
 * Small pages of which none is beside the next, as far as @small, and huge ones: left
 * to luck, it would be luck what it costs to register them.
 */
static unsigned char *make_memory(size_t len, size_t small)
{
	unsigned char *m = map(len, MADV_HUGEPAGE);
	unsigned char *other = map(small, MADV_NOHUGEPAGE);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), i;

	must_be(!madvise(m, small, MADV_NOHUGEPAGE), "madvise");
	for (i = 0; i < small; i += page) {
		m[i] = 1;
		other[i] = 1;
	}
	memset(m + small, 1, len - small);
	return m;
}

static void open_all(char *name)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_REGION_DESCRIPTION desc;
	DAT_IA_ATTR attr;
	DAT_VADDR start;
	DAT_VLEN size;

	mem = make_memory(64 * MIB, REGION);
	desc.for_va = mem;
	must(dat_ia_open(name, 8, &async_evd, &ia), "dat_ia_open");
	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL),
	     "dat_ia_query");
	address = attr.ia_address_ptr;
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, desc, REGION, pz,
			    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr,
			    &lmr_context, &rmr_context, &size, &start),
	     "dat_lmr_create");
	must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &cr_evd),
	     "dat_evd_create");
	must(dat_psp_create(ia, QUAL, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
	     "dat_psp_create");
	make_side(&a);
	make_side(&b);
	make_ep(&a);
	make_ep(&b);
	connect_both();
}

int main(int argc, char **argv)
{
	size_t j;
	int i;

	must_be(argc > 2, "usage: bench IA CASE...");
	open_all(argv[1]);
	for (i = 2; i < argc; i++) {
		for (j = 0; j < ARRAY_SIZE(cases); j++)
			if (!strcmp(cases[j].name, argv[i]))
				break;
		must_be(j < ARRAY_SIZE(cases), "no such case");
		measure(&cases[j]);
	}
	disconnect_both();
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	return 0;
}
