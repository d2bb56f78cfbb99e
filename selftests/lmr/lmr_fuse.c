// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lmr_fuse.c - registers pages of a file system that a process serves, and need not serve
 *
 * A process that waits for such a page cannot be killed. So nothing for which the removal of
 * the device waits may wait for one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "link.h"
#include "pages.h"

#define FILE_ID		2
#define CONTENT		0x5a
/* In seconds, to end a test that hangs */
#define LONGEST_HOLD	120

/**
 * struct server - what the daemon and the tests share
 * @reads: number of requests for pages
 * @fail: so many requests for pages fail
 * @hold: requests for pages get no answer
 * @held_too_long: LONGEST_HOLD is over; the daemon answers again
 * @generations: result of processes that no test can wait for; 0 until they have ended
 */
struct server {
	atomic_uint reads, fail;
	atomic_bool hold, held_too_long;
	atomic_int generations;
};

static void reply(int fd, __u64 unique, int error, const void *data, size_t len)
{
	static char buf[sizeof(struct fuse_out_header) + (1 << 20)];
	struct fuse_out_header out = {
		.len = sizeof(out) + len,
		.error = error,
		.unique = unique,
	};

	memcpy(buf, &out, sizeof(out));
	if (len)
		memcpy(buf + sizeof(out), data, len);
	/* The kernel may have given the request up. */
	if (write(fd, buf, out.len) < 0)
		return;
}

static struct fuse_attr attr_of(__u64 node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FILE_ID ? LEN : 0,
		.mode = node == FILE_ID ? S_IFREG | 0600 : S_IFDIR | 0700,
		.nlink = 1,
		.blksize = PAGE,
	};
}

/* Requests for pages that have no answer yet */
static struct {
	__u64 unique;
	__u32 size;
} waiting[64];
static unsigned int num_waiting;

static void answer_reads(struct server *server, int fd)
{
	static char content[1 << 20];

	memset(content, CONTENT, sizeof(content));
	while (num_waiting && !atomic_load(&server->hold)) {
		num_waiting--;
		reply(fd, waiting[num_waiting].unique, 0, content, waiting[num_waiting].size);
	}
}

static void add_read(struct server *server, __u64 unique, __u32 size)
{
	if (num_waiting == ARRAY_SIZE(waiting))
		abort();
	waiting[num_waiting].unique = unique;
	waiting[num_waiting].size = size;
	num_waiting++;
	atomic_fetch_add(&server->reads, 1);
}

static bool fail_read(struct server *server)
{
	unsigned int fail = atomic_load(&server->fail);

	if (fail)
		atomic_store(&server->fail, fail - 1);
	return fail;
}

static void answer(struct server *server, int fd, const char *buf)
{
	const struct fuse_in_header *in = (const struct fuse_in_header *)buf;
	const void *arg = buf + sizeof(*in);
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_write = PAGE,
	};
	struct fuse_attr_out attr = { .attr_valid = 1000, .attr = attr_of(in->nodeid) };
	struct fuse_entry_out entry = {
		.nodeid = FILE_ID,
		.entry_valid = 1000,
		.attr_valid = 1000,
		.attr = attr_of(FILE_ID),
	};
	struct fuse_open_out opened = {};

	switch (in->opcode) {
	case FUSE_INIT:
		init.max_readahead = ((const struct fuse_init_in *)arg)->max_readahead;
		reply(fd, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		reply(fd, in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		reply(fd, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(fd, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		if (fail_read(server))
			reply(fd, in->unique, -EIO, NULL, 0);
		else
			add_read(server, in->unique, ((const struct fuse_read_in *)arg)->size);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		reply(fd, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(fd, in->unique, -EOPNOTSUPP, NULL, 0);
	}
}

/* Ends with the file system, or with the test. */
static void serve(struct server *server, int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	static __u64 buf[(1 << 17) + 512];
	unsigned int held = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		poll(&pollfd, 1, 10);
		if (pollfd.revents && read(fd, buf, sizeof(buf)) > 0)
			answer(server, fd, (const char *)buf);
		else if (pollfd.revents && errno != EINTR && errno != ENOENT)
			_exit(0);
		if (atomic_load(&server->hold) && !pollfd.revents &&
		    held++ == LONGEST_HOLD * 100) {
			atomic_store(&server->held_too_long, true);
			atomic_store(&server->hold, false);
		}
		answer_reads(server, fd);
	}
}

FIXTURE(fuse)
{
	struct server *server;
	char dir[64];
	unsigned char *buf;
	pid_t daemon;
	int file;
};

FIXTURE_SETUP(fuse)
{
	char options[128], path[96];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	self->file = -1;
	if (fd < 0)
		SKIP(return, "no FUSE");
	ASSERT_TRUE(lift_limit());
	self->server = mmap(NULL, sizeof(*self->server), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->server);
	snprintf(self->dir, sizeof(self->dir), "/tmp/lmr_fuse.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	ASSERT_EQ(0, mount("lmr_fuse", self->dir, "fuse", MS_NOSUID | MS_NODEV, options));
	self->daemon = fork();
	ASSERT_GE(self->daemon, 0);
	if (!self->daemon)
		serve(self->server, fd);
	/* The file system ends with the daemon. */
	close(fd);
	/* Only now: a fork would make the pin copy all pages, each next to the one before. */
	self->buf = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->buf);
	touch_scattered(self->buf, 1);
	snprintf(path, sizeof(path), "%s/file", self->dir);
	self->file = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_GE(self->file, 0);
}

FIXTURE_TEARDOWN(fuse)
{
	if (self->file < 0)
		return;
	munmap(self->buf, LEN);
	close(self->file);
	kill(self->daemon, SIGKILL);
	waitpid(self->daemon, NULL, 0);
	umount2(self->dir, MNT_DETACH);
	rmdir(self->dir);
}

static bool map_file(FIXTURE_DATA(fuse) *self)
{
	return mmap(self->buf, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
		    self->file, 0) == self->buf;
}

/* The device looks the pages up while the IA cannot be closed. */
TEST_F(fuse, lmr_over_lmr_reads_no_file)
{
	struct region base, over;
	struct pair pair = {};
	unsigned int reads;

	ASSERT_DAT(pair_open(&pair));
	ASSERT_DAT(create_base(&pair, self->buf, &base));
	ASSERT_TRUE(map_file(self));
	reads = atomic_load(&self->server->reads);
	EXPECT_DAT_TYPE(DAT_INVALID_STATE, create_over(&pair, &base, ALL, &over));
	EXPECT_EQ(reads, atomic_load(&self->server->reads));
	pair_close(&pair);
}

/* Pages of the file that are there are as good as others. */
TEST_F(fuse, lmr_over_lmr_of_file)
{
	struct region base, over;
	struct pair pair = {};
	unsigned int reads;

	ASSERT_DAT(pair_open(&pair));
	ASSERT_TRUE(map_file(self));
	touch_scattered(self->buf, 1);
	ASSERT_DAT(create_base(&pair, self->buf, &base));
	reads = atomic_load(&self->server->reads);
	EXPECT_LT(0, reads);
	EXPECT_EQ(CONTENT, self->buf[LEN / 2 + 1]);
	EXPECT_DAT(create_over(&pair, &base, ALL, &over));
	EXPECT_EQ(reads, atomic_load(&self->server->reads));
	pair_close(&pair);
}

/* Registers the file, whose pages do not come. */
static int register_file(FIXTURE_DATA(fuse) *self)
{
	struct pair pair = {};
	struct region base;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pair_open(&pair) || !map_file(self))
		return 1;
	atomic_store(&self->server->hold, true);
	return create_base(&pair, self->buf, &base) == DAT_SUCCESS;
}

TEST_F(fuse, removal_with_read_pending)
{
	struct server *server = self->server;
	int status;
	pid_t child;

	if (!link_is_there())
		SKIP(return, "not a software device, which could be taken away");
	child = fork();
	ASSERT_GE(child, 0);
	if (!child)
		_exit(register_file(self));
	while (!atomic_load(&server->reads) && !waitpid(child, &status, WNOHANG))
		usleep(1000);
	ASSERT_LT(0, atomic_load(&server->reads));
	EXPECT_EQ(0, link_delete());
	EXPECT_FALSE(atomic_load(&server->held_too_long));
	atomic_store(&server->hold, false);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : !status);
	ASSERT_EQ(0, link_add());
}

/* Reads a page of the file. After an error it waits with the lock of the address space. */
static void *touch_page(void *arg)
{
	unsigned char *page = arg;

	__atomic_load_n(page, __ATOMIC_RELAXED);
	return NULL;
}

/* Starts a thread that holds the lock until the daemon answers. */
static bool hold_lock(FIXTURE_DATA(fuse) *self, size_t page)
{
	struct server *server = self->server;
	unsigned int before = atomic_load(&server->reads);
	unsigned char *file;
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	file = mmap(NULL, LEN, PROT_READ, MAP_PRIVATE, self->file, 0);
	if (file == MAP_FAILED || madvise(file, LEN, MADV_RANDOM))
		return false;
	atomic_store(&server->fail, 1);
	atomic_store(&server->hold, true);
	if (pthread_create(&thread, NULL, touch_page, file + page * PAGE))
		return false;
	while (atomic_load(&server->reads) == before)
		usleep(1000);
	return true;
}

/* Registers other memory meanwhile. */
static int register_beside(FIXTURE_DATA(fuse) *self)
{
	struct pair pair = {};
	struct region base;

	if (pair_open(&pair) || !hold_lock(self, LEN / PAGE / 2))
		return 1;
	/* It succeeds once the daemon answers. */
	return create_base(&pair, self->buf, &base) != DAT_SUCCESS;
}

/* The state of a process, as in /proc; 'Z' if it cannot be read */
static char state_of(pid_t pid)
{
	char path[64], line[256] = "", *name_end = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (file) {
		if (fgets(line, sizeof(line), file))
			name_end = strrchr(line, ')');
		fclose(file);
	}
	return name_end && name_end[1] ? name_end[2] : 'Z';
}

/* The removal must not wait for the call, nor the call for the lock. */
TEST_F(fuse, removal_with_mmap_lock_held)
{
	struct server *server = self->server;
	int status;
	pid_t child;

	if (!link_is_there())
		SKIP(return, "not a software device, which could be taken away");
	child = fork();
	ASSERT_GE(child, 0);
	if (!child)
		_exit(register_beside(self));
	while (!atomic_load(&server->reads) && !waitpid(child, &status, WNOHANG))
		usleep(1000);
	ASSERT_LT(0, atomic_load(&server->reads));
	/* Until the call waits for the lock, or needs none and has ended */
	while (!strchr("DZ", state_of(child)))
		usleep(1000);
	EXPECT_EQ(0, link_delete());
	EXPECT_FALSE(atomic_load(&server->held_too_long));
	atomic_store(&server->hold, false);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) <= 1);
	ASSERT_EQ(0, link_add());
}

#define GENERATIONS	5
/* In milliseconds, for a killed process to end */
#define PATIENCE	10000

static bool becomes_zombie(pid_t pid)
{
	int i;

	for (i = 0; i < PATIENCE && state_of(pid) != 'Z'; i++)
		usleep(1000);
	return i < PATIENCE;
}

/*
 * The child of this process waits for the lock, and can be killed. The library does not notice
 * the fork, so both processes have one file.
 */
static bool child_dies(FIXTURE_DATA(fuse) *self, struct pair *pair, size_t page)
{
	struct region base;
	bool died;
	pid_t child = _Fork();

	if (!child)
		_exit(!hold_lock(self, page) || create_base(pair, self->buf, &base));
	while (!atomic_load(&self->server->hold) && state_of(child) != 'Z')
		usleep(1000);
	while (!strchr("DZ", state_of(child)))
		usleep(1000);
	kill(child, SIGKILL);
	died = becomes_zombie(child);
	/* The thread that holds the lock ends now. */
	atomic_store(&self->server->hold, false);
	return waitpid(child, NULL, 0) == child && died;
}

/* The mm of a grandchild may have the address of the mm that registered before. */
static void begin_generations(FIXTURE_DATA(fuse) *self)
{
	struct pair pair = {};
	struct region base;
	int i;

	/* An LMR would keep the mm. */
	if (pair_open(&pair) || create_base(&pair, self->buf, &base) ||
	    dat_lmr_free(base.lmr)) {
		atomic_store(&self->server->generations, -1);
		return;
	}
	if (_Fork())
		return;
	for (i = 0; i < GENERATIONS; i++)
		if (!child_dies(self, &pair, 8 * i))
			break;
	atomic_store(&self->server->generations, i + 1);
}

TEST_F(fuse, kill_with_mmap_lock_held)
{
	atomic_int *generations = &self->server->generations;
	int status;
	pid_t child = fork();

	ASSERT_GE(child, 0);
	if (!child) {
		begin_generations(self);
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	while (!atomic_load(generations))
		usleep(10000);
	EXPECT_EQ(GENERATIONS + 1, atomic_load(generations));
	EXPECT_FALSE(atomic_load(&self->server->held_too_long));
}

/*
 * Registers shared memory when told to, while another thread holds the lock for reading. The first
 * time touches what a page fault would wait for.
 */
static int register_shared(FIXTURE_DATA(fuse) *self, void *buf, atomic_bool *go)
{
	char cookie[DAT_LMR_COOKIE_SIZE] = "kill_with_writer_of_mmap_lock";
	DAT_REGION_DESCRIPTION desc = {
		.for_shared_memory = { .virtual_address = buf, .shared_memory_id = &cookie },
	};
	struct pair pair = {};
	struct region r;

	if (pair_open(&pair) || create_lmr(&pair, DAT_MEM_TYPE_SHARED_VIRTUAL, desc, ALL, &r) ||
	    dat_lmr_free(r.lmr) || atomic_load(go) || !hold_lock(self, 0))
		return 1;
	while (!atomic_load(go))
		;
	return create_lmr(&pair, DAT_MEM_TYPE_SHARED_VIRTUAL, desc, ALL, &r) != DAT_SUCCESS;
}

/* Waits for the lock of a process for writing. Who wants to read then waits behind it. */
static pid_t write_lock(pid_t of)
{
	pid_t pid = fork();
	char path[64];
	FILE *file;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "/proc/%d/clear_refs", of);
	file = fopen(path, "w");
	_exit(!file || fputs("5", file) < 0 || fclose(file));
}

/* Does it wait in this system call? */
static bool waits_in(pid_t pid, long call)
{
	char path[64];
	long now = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	file = fopen(path, "r");
	if (file) {
		if (fscanf(file, "%ld", &now) != 1)
			now = -1;
		fclose(file);
	}
	return now == call && state_of(pid) == 'D';
}

/* A process that is killed waits for the lock again when it ends, but then not in kdapl. */
static bool leaves_kdapl(pid_t pid)
{
	char path[64], line[256];
	bool inside = true;
	FILE *file;
	int i;

	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	for (i = 0; i < PATIENCE && inside; i++) {
		usleep(1000);
		file = fopen(path, "r");
		inside = !file;
		while (file && fgets(line, sizeof(line), file))
			inside = inside || strstr(line, "[kdapl]");
		if (file)
			fclose(file);
	}
	return !inside;
}

TEST_F(fuse, kill_with_writer_of_mmap_lock)
{
	struct server *server = self->server;
	pid_t child, writer;
	atomic_bool *go;
	unsigned char *buf;

	buf = mmap(NULL, LEN + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)buf);
	go = (void *)(buf + LEN);
	child = fork();
	ASSERT_GE(child, 0);
	if (!child)
		_exit(register_shared(self, buf, go));
	while (!atomic_load(&server->reads) && state_of(child) != 'Z')
		usleep(1000);
	writer = write_lock(child);
	ASSERT_GE(writer, 0);
	while (!waits_in(writer, SYS_write) && state_of(writer) != 'Z')
		usleep(1000);
	EXPECT_EQ('D', state_of(writer));
	atomic_store(go, true);
	while (!waits_in(child, SYS_ioctl) && state_of(child) != 'Z')
		usleep(1000);
	EXPECT_EQ('D', state_of(child));
	kill(child, SIGKILL);
	EXPECT_TRUE(leaves_kdapl(child));
	EXPECT_FALSE(atomic_load(&server->held_too_long));
	atomic_store(&server->hold, false);
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	ASSERT_EQ(writer, waitpid(writer, NULL, 0));
	munmap(buf, LEN + PAGE);
}

TEST_HARNESS_MAIN
