// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * admin.c - what the administrator can set and see: Documentation/admin.rst
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include <linux/dat.h>

#include "counts.h"
#include "link.h"
#include "pair.h"
#include "process.h"

#define PARAMETERS	"/sys/module/kdapl/parameters/"
#define COUNTERS	"/sys/kernel/debug/kdapl/counters"
#define OBJECTS		"/sys/kernel/debug/kdapl/objects"
#define TRACING		"/sys/kernel/tracing"
#define INSTANCE	TRACING "/instances/kdapl_admin"
#define RECORD_CMD	TRACING "/options/record-cmd"

#define NO_MEMORY	ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)

static char text[1 << 20];

static bool write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, value, strlen(value)) > 0;

	close(fd);
	return ok;
}

/* Into text; false if there is no such file. */
static bool read_text(const char *path)
{
	size_t len = 0;
	ssize_t got;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return false;
	while ((got = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += got;
	close(fd);
	text[len] = '\0';
	return true;
}

static const char *const names[] = {
	"max_objects", "max_file_bytes", "max_user_bytes",
};

static bool set(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	return write_file(path, value);
}

static bool set_number(const char *name, long value)
{
	char number[24];

	snprintf(number, sizeof(number), "%ld", value);
	return set(name, number);
}

static long get(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	return number_in(path, "");
}

/* A pair that is not connected, and the parameters as they were before. */
FIXTURE(limits)
{
	struct pair pair;
	long before[ARRAY_LEN(names)];
};

FIXTURE_SETUP(limits)
{
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(names); i++)
		self->before[i] = get(names[i]);
	ASSERT_DAT(pair_open(&self->pair));
}

FIXTURE_TEARDOWN(limits)
{
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(names); i++)
		EXPECT_TRUE(set_number(names[i], self->before[i]));
	pair_close(&self->pair);
}

TEST_F(limits, limits_have_documented_defaults)
{
	EXPECT_EQ(65536, get("max_objects"));
	/* Parts of the memory of the host. */
	EXPECT_EQ(number_in("/proc/meminfo", "MemTotal:") * 1024 / 8,
		  get("max_file_bytes"));
	EXPECT_EQ(number_in("/proc/meminfo", "MemTotal:") * 1024 / 4,
		  get("max_user_bytes"));
}

TEST_F(limits, limits_writable_by_root_only)
{
	char path[128];
	struct stat st;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), PARAMETERS "%s", names[i]);
		ASSERT_EQ(0, stat(path, &st));
		EXPECT_EQ(0644, st.st_mode & 07777);
		EXPECT_EQ(0, st.st_uid);
	}
}

TEST_F(limits, limits_reject_bad_numbers)
{
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(names); i++) {
		EXPECT_FALSE(set(names[i], "-1"));
		EXPECT_FALSE(set(names[i], "many"));
		EXPECT_FALSE(set(names[i], "2305843009213693952"));
		EXPECT_FALSE(set(names[i], "18446744073709551616"));
		EXPECT_EQ(self->before[i], get(names[i]));
		EXPECT_TRUE(set(names[i], "1073741824"));
		EXPECT_EQ(1 << 30, get(names[i]));
	}
}

/* What of this process has a handle: IA, 6 EVDs, 2 PZs, 2 EPs, PSP. */
#define NUM_OBJECTS	12

TEST_F(limits, max_objects_change_immediate)
{
	DAT_PZ_HANDLE pz[3];
	DAT_PZ_PARAM param;

	ASSERT_TRUE(set_number("max_objects", NUM_OBJECTS + 1));
	ASSERT_DAT(dat_pz_create(self->pair.ia, &pz[0]));
	EXPECT_EQ(NO_MEMORY, dat_pz_create(self->pair.ia, &pz[1]));
	ASSERT_TRUE(set_number("max_objects", NUM_OBJECTS + 2));
	ASSERT_DAT(dat_pz_create(self->pair.ia, &pz[1]));
	EXPECT_EQ(NO_MEMORY, dat_pz_create(self->pair.ia, &pz[2]));
	/* What there is works on, and can go. */
	ASSERT_TRUE(set_number("max_objects", 1));
	EXPECT_DAT(dat_pz_query(pz[1], DAT_PZ_FIELD_ALL, &param));
	EXPECT_DAT(dat_pz_free(pz[0]));
	EXPECT_EQ(NO_MEMORY, dat_pz_create(self->pair.ia, &pz[2]));
	EXPECT_DAT(dat_pz_free(pz[1]));
	ASSERT_TRUE(set_number("max_objects", NUM_OBJECTS + 1));
	ASSERT_DAT(dat_pz_create(self->pair.ia, &pz[2]));
}

TEST_F(limits, max_file_bytes_change_immediate)
{
	long long before = settled_charge(), cost;
	DAT_RMR_HANDLE rmr[2];
	DAT_RMR_PARAM param;

	ASSERT_DAT(dat_rmr_create(self->pair.a.pz, &rmr[0]));
	cost = charged_bytes(getpid()) - before;
	EXPECT_LT(0, cost);
	ASSERT_TRUE(set_number("max_file_bytes", before + 2 * cost - 1));
	EXPECT_EQ(NO_MEMORY, dat_rmr_create(self->pair.a.pz, &rmr[1]));
	ASSERT_TRUE(set_number("max_file_bytes", 0));
	EXPECT_DAT(dat_rmr_query(rmr[0], DAT_RMR_FIELD_ALL, &param));
	EXPECT_DAT(dat_rmr_free(rmr[0]));
	EXPECT_EQ(NO_MEMORY, dat_rmr_create(self->pair.a.pz, &rmr[0]));
	/* The process need not wait for the grace period. */
	ASSERT_TRUE(set_number("max_file_bytes", before + 2 * cost));
	ASSERT_DAT(dat_rmr_create(self->pair.a.pz, &rmr[0]));
	ASSERT_DAT(dat_rmr_create(self->pair.a.pz, &rmr[1]));
	ASSERT_DAT(dat_rmr_free(rmr[0]));
	ASSERT_DAT(dat_rmr_create(self->pair.a.pz, &rmr[0]));
}

static DAT_RETURN make_evd(struct pair *pair, DAT_COUNT qlen)
{
	DAT_EVD_HANDLE evd;

	return dat_evd_create(pair->ia, qlen, DAT_HANDLE_NULL,
			      DAT_EVD_SOFTWARE_FLAG, &evd);
}

TEST_F(limits, max_file_bytes_limits_rings)
{
	DAT_RETURN full = ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	struct pair *pair = &self->pair;

	ASSERT_DAT(make_evd(pair, 1024));
	ASSERT_TRUE(set_number("max_file_bytes", settled_charge()));
	EXPECT_EQ(full, make_evd(pair, 1024));
	EXPECT_EQ(full, make_evd(pair, 1));
	EXPECT_EQ(full, dat_evd_resize(pair->cr_evd, 1024));
	ASSERT_TRUE(set_number("max_file_bytes", self->before[1]));
	EXPECT_DAT(dat_evd_resize(pair->cr_evd, 1024));
	EXPECT_DAT(make_evd(pair, 1024));
}

TEST_F(limits, max_file_bytes_limits_queues)
{
	struct pair *pair = &self->pair;
	long long before = settled_charge(), cost;
	DAT_EP_HANDLE ep[3];

	ASSERT_DAT(ep_like(pair, &pair->a, &ep[0]));
	cost = charged_bytes(getpid()) - before;
	ASSERT_TRUE(set_number("max_file_bytes", before + 2 * cost));
	ASSERT_DAT(ep_like(pair, &pair->a, &ep[1]));
	EXPECT_EQ(NO_MEMORY, ep_like(pair, &pair->a, &ep[2]));
	EXPECT_DAT(dat_ep_free(ep[0]));
	EXPECT_DAT(ep_like(pair, &pair->a, &ep[0]));
	EXPECT_EQ(NO_MEMORY, ep_like(pair, &pair->a, &ep[2]));
}

/* More than the lists that an RMR is charged for at first: see DAT_BYTES_MR_LIST */
#define LARGE	(300 * PAGE)

/* An RMR is charged for what is bound, and a refusal leaves the window as it is. */
TEST_F(limits, max_file_bytes_limits_windows)
{
	const DAT_MEM_PRIV_FLAGS rw = DAT_MEM_PRIV_REMOTE_READ_FLAG |
				      DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	struct side *b = &self->pair.b;
	DAT_RMR_CONTEXT context, junk;
	struct region from, to;
	long long before, grown;
	DAT_RMR_HANDLE rmr;

	if (link_is_iwarp())
		SKIP(return, "the lists of siw are no longer than an RMR is charged for at first");
	ASSERT_DAT(pair_connect(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &from, &to, LARGE, DAT_MEM_PRIV_ALL_FLAG));
	before = settled_charge();
	ASSERT_DAT(dat_rmr_create(b->pz, &rmr));
	ASSERT_DAT(bind_window(rmr, &to, 0, 4096, rw, b->ep, 1, 0, &context));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(b->dto_evd, 1));

	ASSERT_TRUE(set_number("max_file_bytes", settled_charge()));
	EXPECT_EQ(NO_MEMORY, bind_window(rmr, &to, 0, LARGE, rw, b->ep, 2, 0, &junk));
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(&self->pair, &from, context, to.buf, 4096));

	ASSERT_TRUE(set_number("max_file_bytes", self->before[1]));
	ASSERT_DAT(bind_window(rmr, &to, 0, LARGE, rw, b->ep, 3, 0, &context));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(b->dto_evd, 3));
	EXPECT_EQ(DAT_DTO_SUCCESS, write_status(&self->pair, &from, context, to.buf, LARGE));
	grown = settled_charge();
	/* As long a list is charged once. */
	ASSERT_DAT(bind_window(rmr, &to, 1, LARGE - 1, rw, b->ep, 4, 0, &context));
	ASSERT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(b->dto_evd, 4));
	EXPECT_EQ(grown, settled_charge());
	ASSERT_DAT(dat_rmr_free(rmr));
	EXPECT_EQ(before, settled_charge());
	region_close(&from);
	region_close(&to);
}

/* The line of @name, or NULL; its numbers follow. */
static const char *line_of(const char *name)
{
	size_t len = strlen(name);
	const char *at = text;

	while (at && (strncmp(at, name, len) || at[len] != ' ')) {
		at = strchr(at, '\n');
		at += !!at;
	}
	return at;
}

/* A number of the counters: that of this column behind the name, from 0. */
static long count(const char *name, unsigned int column)
{
	const char *at;

	if (!read_text(COUNTERS))
		return -1;
	at = line_of(name);
	for (column++; at && column; column--) {
		at = strpbrk(at, "\n ");
		at = at && *at == ' ' ? at + 1 : NULL;
	}
	return at ? atol(at) : -1;
}

enum { MADE, FREED, LIVE };
enum { CALLS, ERRORS };

static const struct {
	const char *name;
	long number;
} of_a_pair[] = {
	{ "ia", 1 }, { "pz", 2 }, { "evd", 6 }, { "psp", 1 }, { "ep", 2 },
	{ "lmr", 1 }, { "rmr", 1 }, { "rsp", 0 }, { "srq", 0 }, { "cr", 1 },
	{ "csp", 0 },
};

#define NUM_TYPES	ARRAY_LEN(of_a_pair)

/* A connection with an LMR and an RMR beside it; the CR has gone again. */
static DAT_RETURN open_all(struct pair *pair)
{
	DAT_RMR_HANDLE rmr;
	struct region r;

	return pair_open(pair) ?: pair_connect(pair) ?:
	       region_open(pair, pair->a.pz, &r, 4096, DAT_MEM_PRIV_ALL_FLAG) ?:
	       dat_rmr_create(pair->a.pz, &rmr);
}

static void count_all(long n[NUM_TYPES][3])
{
	unsigned int i, column;

	for (i = 0; i < NUM_TYPES; i++)
		for (column = 0; column < 3; column++)
			n[i][column] = count(of_a_pair[i].name, column);
}

TEST(counters_objects_created_and_freed)
{
	long before[NUM_TYPES][3], open[NUM_TYPES][3], after[NUM_TYPES][3];
	struct pair pair;
	unsigned int i;

	count_all(before);
	ASSERT_DAT(open_all(&pair));
	count_all(open);
	pair_close(&pair);
	count_all(after);
	for (i = 0; i < NUM_TYPES; i++) {
		const char *name = of_a_pair[i].name;
		long n = of_a_pair[i].number;
		/* It is accepted, and no more. */
		long gone = strcmp(name, "cr") ? 0 : n;

		ASSERT_LE(0, before[i][MADE]);
		EXPECT_EQ(before[i][MADE] + n, open[i][MADE]) {
			TH_LOG("%s", name);
		}
		EXPECT_EQ(before[i][FREED] + gone, open[i][FREED]) {
			TH_LOG("%s", name);
		}
		EXPECT_EQ(before[i][LIVE] + n - gone, open[i][LIVE]) {
			TH_LOG("%s", name);
		}
		EXPECT_EQ(before[i][MADE] + n, after[i][MADE]) {
			TH_LOG("%s", name);
		}
		EXPECT_EQ(before[i][FREED] + n, after[i][FREED]) {
			TH_LOG("%s", name);
		}
		EXPECT_EQ(before[i][LIVE], after[i][LIVE]) {
			TH_LOG("%s", name);
		}
	}
}

/* What the library would not ask: the handle is no PZ's. */
static int free_no_pz(__u32 *result)
{
	struct dat_dev_free arg = { .size = sizeof(arg), .handle = 0x7fffffff };
	int ret = ioctl(library_fd(), DAT_DEV_PZ_FREE, &arg);

	*result = arg.result;
	return ret;
}

TEST(counters_ioctls_and_errors)
{
	struct dat_dev_free arg = { .size = 1 };
	long calls, errors, creates;
	DAT_PZ_HANDLE pz;
	struct pair pair;
	__u32 result;

	ASSERT_DAT(pair_open(&pair));
	calls = count("pz_free", CALLS);
	errors = count("pz_free", ERRORS);
	creates = count("pz_create", CALLS);
	ASSERT_LE(0, errors);
	ASSERT_LE(2, creates);

	ASSERT_DAT(dat_pz_create(pair.ia, &pz));
	ASSERT_DAT(dat_pz_free(pz));
	EXPECT_EQ(calls + 1, count("pz_free", CALLS));
	EXPECT_EQ(errors, count("pz_free", ERRORS));
	EXPECT_EQ(creates + 1, count("pz_create", CALLS));

	ASSERT_EQ(0, free_no_pz(&result));
	EXPECT_EQ(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ), result);
	EXPECT_EQ(calls + 2, count("pz_free", CALLS));
	EXPECT_EQ(errors + 1, count("pz_free", ERRORS));
	/* One that does not come so far is one, too. */
	EXPECT_EQ(-1, ioctl(library_fd(), DAT_DEV_PZ_FREE, &arg));
	EXPECT_EQ(calls + 3, count("pz_free", CALLS));
	EXPECT_EQ(errors + 2, count("pz_free", ERRORS));
	EXPECT_EQ(creates + 1, count("pz_create", CALLS));
	pair_close(&pair);
}

/* How many of the two sides are told that the connection has broken. */
static int break_connection(struct pair *pair)
{
	DAT_EVENT event;
	struct region a, b;
	int told;

	/* Behind its end: siw has no word for a context that does not exist. */
	if (region_open(pair, pair->a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG) ||
	    region_open(pair, pair->b.pz, &b, 4096, DAT_MEM_PRIV_ALL_FLAG) ||
	    post_write(pair->a.ep, &a, 0, 8, b.rmr_context, b.buf + 4096, 1) ||
	    wait_event(pair->a.conn_evd, &event))
		return -1;
	told = event.event_number == DAT_CONNECTION_EVENT_BROKEN;
	if (wait_event(pair->b.conn_evd, &event))
		return -1;
	return told + (event.event_number == DAT_CONNECTION_EVENT_BROKEN);
}

/* Receives that all come back at once, to an EVD of one event. */
static DAT_RETURN overflow(struct pair *pair)
{
	struct side *a = &pair->a;
	struct region r;
	DAT_RETURN ret;
	int i;

	ret = dat_evd_create(pair->ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			     &a->dto_evd) ?:
	      dat_ep_free(a->ep) ?: ep_like(pair, a, &a->ep) ?:
	      pair_connect(pair) ?:
	      region_open(pair, a->pz, &r, 4096, DAT_MEM_PRIV_ALL_FLAG);
	for (i = 0; i < 8 && !ret; i++)
		ret = post_recv(a->ep, &r, 0, 8, i);
	return ret ?: dat_ep_disconnect(a->ep, DAT_CLOSE_ABRUPT_FLAG) ?:
	       wait_number(pair->async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);
}

TEST(counters_broken_connection_overflow)
{
	long broken, lost, async;
	struct pair pair;
	int told;

	ASSERT_DAT(pair_open_connected(&pair));
	broken = count("connection_broken", 0);
	lost = count("ring_overflow", 0);
	async = count("async_event", 0);
	ASSERT_LE(0, broken);
	ASSERT_LE(0, lost);
	ASSERT_LE(0, async);
	told = break_connection(&pair);
	ASSERT_LE(1, told);
	EXPECT_EQ(broken + told, count("connection_broken", 0));
	EXPECT_EQ(lost, count("ring_overflow", 0));
	pair_close(&pair);
	ASSERT_DAT(pair_open(&pair));
	ASSERT_DAT(overflow(&pair));
	EXPECT_EQ(lost + 1, count("ring_overflow", 0));
	EXPECT_EQ(broken + told, count("connection_broken", 0));
	EXPECT_EQ(async, count("async_event", 0));
	pair_close(&pair);
}

/* Lines of the objects with this type, the IA under test, and the state. */
static int num_objects(const char *type, const char *state)
{
	char is_type[8], is_ia[64], is_state[64], *line, *rest = text;
	unsigned long handle;
	int num = 0;

	if (!read_text(OBJECTS))
		return -1;
	line = strsep(&rest, "\n");
	if (strcmp(line, "type handle ia state"))
		return -1;
	while ((line = strsep(&rest, "\n")) && *line) {
		if (sscanf(line, "%7s 0x%lx %63s %63s", is_type, &handle, is_ia,
			   is_state) != 4 || !handle)
			return -1;
		num += !strcmp(is_type, type) && !strcmp(is_ia, ia_name()) &&
		       !strcmp(is_state, state);
	}
	return num;
}

TEST(debugfs_lists_each_object)
{
	struct pair pair;

	EXPECT_EQ(0, num_objects("ia", "OPEN"));
	ASSERT_DAT(pair_open(&pair));
	EXPECT_EQ(1, num_objects("ia", "OPEN"));
	EXPECT_EQ(2, num_objects("pz", "-"));
	EXPECT_EQ(6, num_objects("evd", "-"));
	EXPECT_EQ(1, num_objects("psp", "-"));
	EXPECT_EQ(2, num_objects("ep", "UNCONNECTED"));
	ASSERT_DAT(pair_connect(&pair));
	EXPECT_EQ(0, num_objects("ep", "UNCONNECTED"));
	EXPECT_EQ(2, num_objects("ep", "CONNECTED"));
	ASSERT_LE(1, break_connection(&pair));
	EXPECT_EQ(2, num_objects("ep", "DISCONNECTED"));
	EXPECT_EQ(2, num_objects("lmr", "-"));
	ASSERT_DAT(dat_ep_free(pair.a.ep));
	EXPECT_EQ(1, num_objects("ep", "DISCONNECTED"));
	pair_close(&pair);
	EXPECT_EQ(0, num_objects("ia", "OPEN"));
	EXPECT_EQ(0, num_objects("ep", "DISCONNECTED"));
	EXPECT_EQ(0, num_objects("evd", "-"));
}

FIXTURE(gone)
{
	struct pair pair;
};

FIXTURE_SETUP(gone)
{
	ASSERT_DAT(pair_open_connected(&self->pair));
}

FIXTURE_TEARDOWN(gone)
{
	pair_close(&self->pair);
	if (!link_is_there())
		link_add();
}

TEST_F(gone, debugfs_objects_after_device_removal)
{
	long async = count("async_event", 0);

	ASSERT_EQ(1, num_objects("ia", "OPEN"));
	ASSERT_EQ(0, link_delete());
	EXPECT_EQ(async + 1, count("async_event", 0));
	EXPECT_EQ(0, num_objects("ia", "OPEN"));
	EXPECT_EQ(1, num_objects("ia", "UNPLUGGED"));
	EXPECT_EQ(2, num_objects("ep", "DISCONNECTED"));
	EXPECT_EQ(2, num_objects("pz", "-"));
	pair_close(&self->pair);
	EXPECT_EQ(0, num_objects("ia", "UNPLUGGED"));
	EXPECT_EQ(0, num_objects("pz", "-"));
}

#define CROWD	300

/* Makes and frees objects until it is killed. */
static void come_and_go(void)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	static DAT_PZ_HANDLE pz[CROWD];
	DAT_IA_HANDLE ia;
	int i;

	if (dat_ia_open((char *)ia_name(), 8, &async_evd, &ia))
		_exit(1);
	for (;;) {
		for (i = 0; i < CROWD; i++)
			if (dat_pz_create(ia, &pz[i]))
				_exit(1);
		for (i = 0; i < CROWD; i++)
			dat_pz_free(pz[i]);
	}
}

TEST(debugfs_read_races_create_free)
{
	int num = 0, most = 0, i, status;
	pid_t child = fork();

	if (!child)
		come_and_go();
	for (i = 0; i < 200 || (!most && i < 10000); i++) {
		num = num_objects("pz", "-");
		if (num < 0)
			break;
		most = num > most ? num : most;
	}
	kill(child, SIGKILL);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_LE(0, num);
	EXPECT_LT(0, most);
	EXPECT_GE(CROWD, most);
	EXPECT_EQ(0, num_objects("pz", "-"));
}

/* QPs of the device, of all processes and of the kernel */
static long long num_qps(void)
{
	char stock[512], *at;

	stock_take(stock, sizeof(stock));
	at = strstr(stock, " qp ");
	return at ? atoll(at + 4) : -1;
}

/* Those of earlier tests may still be going. */
static bool num_qps_falls_to(long long wanted)
{
	int tries;

	/* Ten seconds in which nothing is registered; the limit only ends a hang. */
	for (tries = 0; num_qps() > wanted && tries < 3000; tries++)
		usleep(100000);
	return num_qps() <= wanted;
}

TEST(pz_keeps_no_idle_qp)
{
	long long before, with_qp;
	struct pair pair;
	struct region r;
	int round;

	ASSERT_DAT(pair_open(&pair));
	before = num_qps();
	ASSERT_LT(0, before);
	for (round = 0; round < rounds(1, 2); round++) {
		/* A machine that is busy for ten seconds does not see the QP. */
		do {
			ASSERT_DAT(region_open(&pair, pair.a.pz, &r, 4096,
					       DAT_MEM_PRIV_ALL_FLAG));
			with_qp = num_qps();
			region_close(&r);
			if (with_qp < before)
				before = with_qp;
		} while (with_qp == before);
		EXPECT_TRUE(num_qps_falls_to(with_qp - 1));
	}
	pair_close(&pair);
}

#define MADE		20

/* A process that makes many must not be able to drown what matters. */
TEST(ep_create_no_log_flood)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	unsigned int i, lines = 0;
	struct pair pair;
	DAT_EP_HANDLE ep;
	DAT_IA_ATTR attr;

	ASSERT_LE(0, fd);
	ASSERT_DAT(pair_open(&pair));
	ASSERT_EQ(0, lseek(fd, 0, SEEK_END));
	for (i = 0; i < MADE; i++) {
		ASSERT_DAT(ep_like(&pair, &pair.a, &ep));
		EXPECT_DAT(dat_ep_free(ep));
		EXPECT_DAT(dat_ia_query(pair.ia, NULL, DAT_IA_FIELD_ALL, &attr,
					0, NULL));
	}
	while (read(fd, text, sizeof(text)) > 0)
		lines++;
	/* Something else may have had a word to say. */
	EXPECT_GT(MADE / 2, lines) {
		TH_LOG("%u lines", lines);
	}
	pair_close(&pair);
	close(fd);
}

TEST(debugfs_root_only)
{
	struct stat st;

	ASSERT_EQ(0, stat(COUNTERS, &st));
	EXPECT_EQ(0400, st.st_mode & 07777);
	EXPECT_EQ(0, st.st_uid);
	ASSERT_EQ(0, stat(OBJECTS, &st));
	EXPECT_EQ(0400, st.st_mode & 07777);
	EXPECT_EQ(0, st.st_uid);
}

/* A trace buffer of our own, so that nobody else's is disturbed. */
FIXTURE(trace)
{
	struct pair pair;
};

FIXTURE_SETUP(trace)
{
	if (access(TRACING "/events/kdapl", F_OK))
		SKIP(return, "this kernel has no tracing");
	rmdir(INSTANCE);
	/*
	 * The names of commands would be recorded at each switch from one task
	 * to another: a jump label in the scheduler, and an emulated processor
	 * may still meet the breakpoint of one that has been patched already.
	 */
	ASSERT_TRUE(write_file(RECORD_CMD, "0"));
	ASSERT_EQ(0, mkdir(INSTANCE, 0700));
	ASSERT_TRUE(write_file(INSTANCE "/events/kdapl/enable", "1"));
}

FIXTURE_TEARDOWN(trace)
{
	pair_close(&self->pair);
	if (access(INSTANCE, F_OK))
		return;
	EXPECT_TRUE(write_file(INSTANCE "/events/kdapl/enable", "0"));
	EXPECT_EQ(0, rmdir(INSTANCE));
	EXPECT_TRUE(write_file(RECORD_CMD, "1"));
}

/* Lines of the trace with an event, and with what it says: all of it, or part. */
static int traced(const char *event, const char *what)
{
	char *line, *rest = text;
	int num = 0;

	if (!read_text(INSTANCE "/trace"))
		return -1;
	while ((line = strsep(&rest, "\n"))) {
		char *at = strstr(line, event);

		num += at && strstr(at, what);
	}
	return num;
}

TEST_F(trace, trace_objects_made_and_freed)
{
	char of_type[16], of_ia[64];
	unsigned int i;
	int all = 0;

	ASSERT_DAT(open_all(&self->pair));
	pair_close(&self->pair);
	snprintf(of_ia, sizeof(of_ia), " ia=%s", ia_name());
	for (i = 0; i < NUM_TYPES; i++) {
		snprintf(of_type, sizeof(of_type), ": type=%s ",
			 of_a_pair[i].name);
		EXPECT_EQ(of_a_pair[i].number,
			  traced(" dat_object_made", of_type)) {
			TH_LOG("%s", of_a_pair[i].name);
		}
		EXPECT_EQ(of_a_pair[i].number,
			  traced(" dat_object_freed", of_type)) {
			TH_LOG("%s", of_a_pair[i].name);
		}
		all += of_a_pair[i].number;
	}
	EXPECT_EQ(all, traced(" dat_object_made: ", of_ia));
	EXPECT_EQ(all, traced(" dat_object_freed: ", of_ia));
	EXPECT_EQ(0, traced(" dat_ioctl_error: ", ""));
	EXPECT_EQ(0, traced(" dat_connection_broken: ", ""));
	EXPECT_EQ(0, traced(" dat_async_event: ", ""));
	EXPECT_EQ(0, traced(" dat_ring_overflow: ", ""));
}

TEST_F(trace, trace_handle_matches_debugfs)
{
	char line[64];
	const char *at;
	unsigned long handle;

	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_EQ(1, num_objects("psp", "-"));
	ASSERT_TRUE(read_text(OBJECTS));
	at = line_of("psp");
	ASSERT_NE(NULL, at);
	handle = strtoul(at + strlen("psp "), NULL, 16);
	ASSERT_NE(0, handle);
	snprintf(line, sizeof(line), ": type=psp handle=%#lx ia=%s", handle,
		 ia_name());
	EXPECT_EQ(1, traced(" dat_object_made", line));
	EXPECT_EQ(0, traced(" dat_object_freed", line));
	ASSERT_DAT(dat_psp_free(self->pair.psp));
	EXPECT_EQ(1, traced(" dat_object_freed", line));
}

TEST_F(trace, trace_ioctl_error_names)
{
	struct dat_dev_free arg = { .size = 1 };
	char line[128];
	__u32 result;

	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_EQ(0, free_no_pz(&result));
	ASSERT_NE(0, result);
	snprintf(line, sizeof(line), "ioctl=pz_free errno=0 result=%#x %s",
		 result, "DAT_INVALID_HANDLE DAT_INVALID_HANDLE_PZ");
	EXPECT_EQ(1, traced(" dat_ioctl_error: ", line));
	EXPECT_EQ(1, traced(" dat_ioctl_error: ", ""));
	EXPECT_EQ(-1, ioctl(library_fd(), DAT_DEV_EP_FREE, &arg));
	EXPECT_EQ(1, traced(" dat_ioctl_error: ",
			    "ioctl=ep_free errno=-22 result=0x0 "));
	EXPECT_EQ(2, traced(" dat_ioctl_error: ", ""));
}

TEST_F(trace, trace_broken_connection_overflow)
{
	char line[64];
	int told;

	ASSERT_DAT(pair_open_connected(&self->pair));
	told = break_connection(&self->pair);
	ASSERT_LE(1, told);
	EXPECT_EQ(told, traced(" dat_connection_broken: ", "type=ep "));
	EXPECT_EQ(0, traced(" dat_ring_overflow: ", ""));
	pair_close(&self->pair);
	ASSERT_DAT(pair_open(&self->pair));
	ASSERT_DAT(overflow(&self->pair));
	snprintf(line, sizeof(line), "owner=%d ", getpid());
	EXPECT_EQ(1, traced(" dat_ring_overflow: ", line));
	EXPECT_EQ(told, traced(" dat_connection_broken: ", ""));
}

TEST_F(trace, data_transfer_not_traced)
{
	struct region a, b;
	int before, i;

	ASSERT_DAT(pair_open_connected(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &a, &b, 4096,
				DAT_MEM_PRIV_ALL_FLAG));
	before = traced(" dat_", "");
	ASSERT_LT(0, before);
	for (i = 0; i < 8; i++)
		ASSERT_TRUE(carries(&self->pair, self->pair.a.ep,
				    self->pair.b.ep, &a, &b));
	EXPECT_EQ(before, traced(" dat_", ""));
}

TEST_HARNESS_MAIN
