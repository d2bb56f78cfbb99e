// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uapi_threads.c - random ioctls of threads that share a file
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#include "ioctls.h"
#include "pair.h"

#define NUM_THREADS	8
#define SOUP_SECONDS	3
/* Each operation must succeed once; slow machines need this many seconds. */
#define SOUP_MAX_SECONDS 40

enum soup_op {
	SOUP_IA_OPEN,
	SOUP_IA_CLOSE,
	SOUP_PZ_CREATE,
	SOUP_PZ_FREE,
	SOUP_EVD_CREATE,
	SOUP_EVD_FREE,
	SOUP_EVD_WAIT,
	SOUP_EP_CREATE,
	SOUP_EP_FREE,
	SOUP_EP_DISCONNECT,
	SOUP_EP_QUERY,
	SOUP_LMR_CREATE,
	SOUP_LMR_FREE,
	SOUP_LMR_QUERY,
	SOUP_LMR_SYNC,
	SOUP_RMR_CREATE,
	SOUP_RMR_FREE,
	SOUP_RMR_QUERY,
	SOUP_CR_REJECT,
	SOUP_PSP_FREE,
	SOUP_POST,
	SOUP_BIND,
	SOUP_MMAP,
	SOUP_CONNECT,
	NUM_SOUP_OPS,
};

/**
 * struct soup_kit - what belongs together
 * @ia: an IA
 * @ep: a connected EP of its
 * @cr: a CR that was neither accepted nor rejected
 * @rmr: an RMR of the same PZ
 * @segment: part of an LMR of the same PZ
 */
struct soup_kit {
	__u32 ia, ep, cr, rmr;
	struct dat_dev_segment segment;
};

/**
 * struct soup - what the threads have in common
 * @fd: the file
 * @recent: handles of each type that were given out lately
 * @contexts: lmr_contexts that were
 * @buf: memory
 * @succeeded: how often each operation did
 * @begin: when it began
 * @lock: guards @kit
 * @kit: the latest, as far as its owner has not freed it
 */
struct soup {
	int fd;
	__u32 recent[DAT_HANDLE_TYPE_RMR + 1][4];
	__u32 contexts[4];
	unsigned char *buf;
	unsigned int succeeded[NUM_SOUP_OPS];
	time_t begin;
	pthread_mutex_t lock;
	struct soup_kit kit;
};

struct soup_thread {
	struct soup *soup;
	unsigned int seed;
};

static unsigned int draw(struct soup_thread *t, unsigned int max)
{
	t->seed = t->seed * 1103515245 + 12345;
	return (t->seed >> 8) % max;
}

/* Mostly one of the right type, and mostly one that is still there. */
static __u32 draw_handle(struct soup_thread *t, DAT_HANDLE_TYPE type)
{
	if (!draw(t, 16))
		type = draw(t, DAT_HANDLE_TYPE_RMR + 1);
	return __atomic_load_n(&t->soup->recent[type][draw(t, 4)],
			       __ATOMIC_RELAXED);
}

static void remember(struct soup_thread *t, DAT_HANDLE_TYPE type, __u32 handle)
{
	__atomic_store_n(&t->soup->recent[type][draw(t, 4)], handle,
			 __ATOMIC_RELAXED);
}

static __u32 draw_context(struct soup_thread *t)
{
	return __atomic_load_n(&t->soup->contexts[draw(t, 4)],
			       __ATOMIC_RELAXED);
}

static struct soup_kit get_kit(struct soup_thread *t)
{
	struct soup_kit kit;

	pthread_mutex_lock(&t->soup->lock);
	kit = t->soup->kit;
	pthread_mutex_unlock(&t->soup->lock);
	return kit;
}

static void set_kit(struct soup_thread *t, const struct soup_kit *kit)
{
	pthread_mutex_lock(&t->soup->lock);
	t->soup->kit = *kit;
	pthread_mutex_unlock(&t->soup->lock);
}

static DAT_UINT32 soup_lmr_create(struct soup_thread *t)
{
	struct dat_dev_lmr_create arg;
	DAT_UINT32 ret;

	ret = dev_lmr_create(t->soup->fd, draw_handle(t, DAT_HANDLE_TYPE_IA),
			     draw_handle(t, DAT_HANDLE_TYPE_PZ),
			     t->soup->buf + draw(t, 8192), 1 + draw(t, 8192),
			     &arg);
	if (!ret) {
		remember(t, DAT_HANDLE_TYPE_LMR, arg.lmr);
		__atomic_store_n(&t->soup->contexts[draw(t, 4)],
				 arg.lmr_context, __ATOMIC_RELAXED);
	}
	return ret;
}

static DAT_UINT32 soup_post(struct soup_thread *t)
{
	struct dat_dev_segment segs[2];
	struct dat_dev_dto dto = {
		.opcode = draw(t, 4),
		.ep = draw_handle(t, DAT_HANDLE_TYPE_EP),
		.flags = draw(t, 4) ? 0 : draw(t, 16),
		.num_segments = draw(t, 3),
		.segments = ADDR(segs),
		.remote_address = ADDR(t->soup->buf) + 8192,
		.remote_length = 65536,
	};
	unsigned int i;

	for (i = 0; i < 2; i++) {
		segs[i].lmr_context = draw_context(t);
		segs[i].virtual_address = ADDR(t->soup->buf) + 8192;
		segs[i].length = draw(t, 64);
	}
	dto.remote_context = segs[0].lmr_context;
	return dev_post_one(t->soup->fd, &dto);
}

static DAT_UINT32 soup_bind(struct soup_thread *t)
{
	struct soup_kit kit = get_kit(t);
	struct dat_dev_dto dto = {
		.opcode = DAT_DEV_RMR_BIND,
		.ep = kit.ep,
		.num_segments = 1,
		.segments = ADDR(&kit.segment),
		.rmr = draw(t, 4) ? kit.rmr :
				    draw_handle(t, DAT_HANDLE_TYPE_RMR),
		.privileges = draw(t, 4) ? DAT_MEM_PRIV_ALL_FLAG : draw(t, 64),
	};

	kit.segment.length = draw(t, 64);
	return dev_post_one(t->soup->fd, &dto);
}

static DAT_UINT32 soup_sync(struct soup_thread *t)
{
	struct soup_kit kit = get_kit(t);
	struct dat_dev_lmr_sync arg = {
		.size = sizeof(arg),
		.ia = kit.ia,
		.direction = draw(t, 2),
		.segments = ADDR(&kit.segment),
		.num_segments = 1,
	};

	return dev_type(t->soup->fd, DAT_DEV_LMR_SYNC, &arg);
}

/* Takes the library, for a change, and gives up when others interfere. */
static DAT_UINT32 soup_traffic(struct soup_thread *t, struct pair *p,
			       struct region *a, struct region *b)
{
	struct soup_kit kit = { .ia = handle_number(p->ia) };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_CR_HANDLE cr;
	DAT_UINT32 ret;
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_IA_ATTR attr;

	kit.segment = dev_segment(a, 0, 64);
	if (dat_rmr_create(p->a.pz, &rmr) ||
	    dat_ia_query(p->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0,
			 NULL) ||
	    dat_ep_connect(p->a.ep, attr.ia_address_ptr, p->qual, 100000, 0,
			   NULL, DAT_QOS_BEST_EFFORT,
			   DAT_CONNECT_DEFAULT_FLAG) ||
	    dat_evd_wait(p->cr_evd, 100000, 1, &event, &nmore))
		return 1;
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	kit.cr = handle_number(cr);
	set_kit(t, &kit);
	remember(t, DAT_HANDLE_TYPE_CR, kit.cr);
	/* Sometimes that is left to others. */
	if (draw(t, 3) && dat_cr_accept(cr, p->b.ep, 0, NULL))
		return 1;
	if (dat_evd_wait(p->a.conn_evd, 100000, 1, &event, &nmore))
		return 1;
	kit.ep = handle_number(p->a.ep);
	kit.rmr = handle_number(rmr);
	set_kit(t, &kit);
	remember(t, DAT_HANDLE_TYPE_EP, kit.ep);
	remember(t, DAT_HANDLE_TYPE_EVD, handle_number(p->a.dto_evd));
	remember(t, DAT_HANDLE_TYPE_PSP, handle_number(p->psp));
	bind_window(rmr, a, 0, 64, DAT_MEM_PRIV_ALL_FLAG, p->a.ep, 1,
		    DAT_COMPLETION_DEFAULT_FLAG, &context);
	post_recv(p->b.ep, b, 0, 64, 1);
	post_send(p->a.ep, a, 0, 64, 1);
	ret = post_write(p->a.ep, a, 0, 64, b->rmr_context, b->buf, 1);
	dat_evd_wait(p->a.dto_evd, 10000, 2, &event, &nmore);
	return ret;
}

static DAT_UINT32 soup_connect(struct soup_thread *t)
{
	struct region a = { .buf = NULL }, b = { .buf = NULL };
	DAT_UINT32 ret = 1;
	struct pair p;

	if (!pair_open(&p) &&
	    !region_open(&p, p.a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG) &&
	    !region_open(&p, p.b.pz, &b, 4096, DAT_MEM_PRIV_ALL_FLAG))
		ret = soup_traffic(t, &p, &a, &b);
	if (p.ia)
		dat_ia_close(p.ia, draw(t, 2));
	if (a.buf)
		munmap(a.buf, a.len);
	if (b.buf)
		munmap(b.buf, b.len);
	return ret;
}

static DAT_UINT32 soup_create(struct soup_thread *t, enum soup_op op)
{
	__u32 ia = draw_handle(t, DAT_HANDLE_TYPE_IA);
	__u32 pz = draw_handle(t, DAT_HANDLE_TYPE_PZ);
	struct dat_dev_rmr_create rmr = { .size = sizeof(rmr), .pz = pz };
	struct dat_dev_evd_create evd;
	struct dat_dev_ia_open ia_open;
	int fd = t->soup->fd;
	DAT_HANDLE_TYPE type;
	__u32 handle = 0;
	DAT_UINT32 ret;

	switch (op) {
	case SOUP_IA_OPEN:
		type = DAT_HANDLE_TYPE_IA;
		ret = dev_ia_open(fd, &ia_open);
		handle = ia_open.ia;
		break;
	case SOUP_PZ_CREATE:
		type = DAT_HANDLE_TYPE_PZ;
		ret = dev_pz_create(fd, ia, &handle);
		break;
	case SOUP_EVD_CREATE:
		type = DAT_HANDLE_TYPE_EVD;
		ret = dev_evd_create(fd, ia, 1 + draw(t, 100),
				     DAT_EVD_DTO_FLAG, &evd);
		handle = evd.evd;
		break;
	case SOUP_EP_CREATE:
		type = DAT_HANDLE_TYPE_EP;
		ret = dev_ep_create(fd, ia, pz, &handle);
		break;
	default:
		type = DAT_HANDLE_TYPE_RMR;
		ret = dev_type(fd, DAT_DEV_RMR_CREATE, &rmr);
		handle = rmr.rmr;
		break;
	}
	if (!ret)
		remember(t, type, handle);
	return ret;
}

static DAT_UINT32 soup_query(struct soup_thread *t, enum soup_op op)
{
	union {
		struct dat_dev_evd_wait wait;
		struct dat_dev_ep_query ep;
		struct dat_dev_lmr_create lmr;
		struct dat_dev_rmr_create rmr;
	} arg;

	memset(&arg, 0, sizeof(arg));
	switch (op) {
	case SOUP_EVD_WAIT:
		arg.wait.size = sizeof(arg.wait);
		arg.wait.evd = draw_handle(t, DAT_HANDLE_TYPE_EVD);
		arg.wait.timeout = draw(t, 1000);
		arg.wait.threshold = 1;
		return dev_type(t->soup->fd, draw(t, 2) ? DAT_DEV_EVD_WAIT :
			      DAT_DEV_EVD_PULL, &arg);
	case SOUP_EP_QUERY:
		arg.ep.size = sizeof(arg.ep);
		arg.ep.ep = draw_handle(t, DAT_HANDLE_TYPE_EP);
		return dev_type(t->soup->fd, DAT_DEV_EP_QUERY, &arg);
	case SOUP_LMR_QUERY:
		arg.lmr.size = sizeof(arg.lmr);
		arg.lmr.lmr = draw_handle(t, DAT_HANDLE_TYPE_LMR);
		return dev_type(t->soup->fd, DAT_DEV_LMR_QUERY, &arg);
	default:
		arg.rmr.size = sizeof(arg.rmr);
		arg.rmr.rmr = draw_handle(t, DAT_HANDLE_TYPE_RMR);
		return dev_type(t->soup->fd, DAT_DEV_RMR_QUERY, &arg);
	}
}

static DAT_UINT32 soup_mmap(struct soup_thread *t)
{
	__u32 evd = draw_handle(t, DAT_HANDLE_TYPE_EVD);
	void *at = dev_map_ring(t->soup->fd, evd,
			    PAGE << draw(t, 2), PROT_READ, MAP_SHARED);

	if (at == MAP_FAILED)
		return 1;
	(void)*(volatile unsigned char *)at;
	munmap(at, PAGE);
	return 0;
}

static DAT_UINT32 soup_free(struct soup_thread *t, unsigned long cmd,
			    DAT_HANDLE_TYPE type)
{
	return dev_free(t->soup->fd, cmd, draw_handle(t, type));
}

static DAT_UINT32 soup_do(struct soup_thread *t, enum soup_op op)
{
	struct dat_dev_ep_disconnect disconnect = {
		.size = sizeof(disconnect),
		.ep = get_kit(t).ep,
		.flags = draw(t, 2),
	};
	int fd = t->soup->fd;

	switch (op) {
	case SOUP_IA_CLOSE:
		return dev_ia_close(fd, draw_handle(t, DAT_HANDLE_TYPE_IA),
				    draw(t, 2));
	case SOUP_PZ_FREE:
		return soup_free(t, DAT_DEV_PZ_FREE,
				 DAT_HANDLE_TYPE_PZ);
	case SOUP_EVD_FREE:
		return soup_free(t, DAT_DEV_EVD_FREE,
				 DAT_HANDLE_TYPE_EVD);
	case SOUP_EP_FREE:
		return soup_free(t, DAT_DEV_EP_FREE,
				 DAT_HANDLE_TYPE_EP);
	case SOUP_LMR_FREE:
		return soup_free(t, DAT_DEV_LMR_FREE,
				 DAT_HANDLE_TYPE_LMR);
	case SOUP_RMR_FREE:
		return soup_free(t, DAT_DEV_RMR_FREE,
				 DAT_HANDLE_TYPE_RMR);
	case SOUP_CR_REJECT:
		return dev_free(fd, DAT_DEV_CR_REJECT, get_kit(t).cr);
	case SOUP_PSP_FREE:
		return soup_free(t, DAT_DEV_PSP_FREE,
				 DAT_HANDLE_TYPE_PSP);
	case SOUP_EP_DISCONNECT:
		return dev_type(fd, DAT_DEV_EP_DISCONNECT, &disconnect);
	case SOUP_LMR_CREATE:
		return soup_lmr_create(t);
	case SOUP_LMR_SYNC:
		return soup_sync(t);
	case SOUP_POST:
		return soup_post(t);
	case SOUP_BIND:
		return soup_bind(t);
	case SOUP_MMAP:
		return soup_mmap(t);
	case SOUP_CONNECT:
		return soup_connect(t);
	case SOUP_EVD_WAIT:
	case SOUP_EP_QUERY:
	case SOUP_LMR_QUERY:
	case SOUP_RMR_QUERY:
		return soup_query(t, op);
	default:
		return soup_create(t, op);
	}
}

static bool has_succeeded(struct soup *soup, enum soup_op op)
{
	return __atomic_load_n(&soup->succeeded[op], __ATOMIC_RELAXED);
}

static bool is_done(struct soup *soup)
{
	time_t elapsed = time(NULL) - soup->begin;
	unsigned int i;

	if (elapsed < SOUP_SECONDS || elapsed >= SOUP_MAX_SECONDS)
		return elapsed >= SOUP_SECONDS;
	for (i = 0; i < NUM_SOUP_OPS; i++)
		if (!has_succeeded(soup, i))
			return false;
	return true;
}

static void *stir(void *arg)
{
	struct soup_thread *t = arg;

	while (!is_done(t->soup)) {
		enum soup_op op = draw(t, NUM_SOUP_OPS);

		/* After one success, run slow and destructive operations less often. */
		if ((op == SOUP_IA_OPEN || op == SOUP_IA_CLOSE) &&
		    has_succeeded(t->soup, op) && draw(t, 16))
			continue;
		if (op == SOUP_CONNECT && has_succeeded(t->soup, op) &&
		    draw(t, 4))
			continue;
		if (!soup_do(t, op))
			__atomic_add_fetch(&t->soup->succeeded[op], 1,
					   __ATOMIC_RELAXED);
	}
	return NULL;
}

FIXTURE(threads)
{
	struct soup soup;
	struct pair pair;
};

FIXTURE_SETUP(threads)
{
	struct soup *soup = &self->soup;
	unsigned int i;

	ASSERT_DAT(pair_open(&self->pair));
	soup->fd = library_fd();
	ASSERT_LE(0, soup->fd);
	soup->buf = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, soup->buf);
	pthread_mutex_init(&soup->lock, NULL);
	soup->begin = time(NULL);
	for (i = 0; i < 4; i++)
		soup->recent[DAT_HANDLE_TYPE_IA][i] = handle_number(self->pair.ia);
}

FIXTURE_TEARDOWN(threads)
{
	pair_close(&self->pair);
}

TEST_F_TIMEOUT(threads, random_ioctls_on_shared_file, 600)
{
	struct soup_thread threads[NUM_THREADS];
	pthread_t ids[NUM_THREADS];
	struct pair after;
	unsigned int i;

	for (i = 0; i < NUM_THREADS; i++) {
		threads[i].soup = &self->soup;
		threads[i].seed = i;
		ASSERT_EQ(0, pthread_create(&ids[i], NULL, stir, &threads[i]));
	}
	for (i = 0; i < NUM_THREADS; i++)
		pthread_join(ids[i], NULL);
	for (i = 0; i < NUM_SOUP_OPS; i++) {
		EXPECT_NE(0, self->soup.succeeded[i])
			TH_LOG("operation %u", i);
	}
	/* The file is of use afterwards. */
	EXPECT_DAT(pair_open_connected(&after));
	pair_close(&after);
}

TEST_HARNESS_MAIN
