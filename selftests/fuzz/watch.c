// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * watch.c - datfuzz: looks for complaints of the kernel and for what sequences leave behind
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/dat.h>

#include "counts.h"
#include "exec.h"

/* Seconds until the kernel has released what dead processes had */
#define PATIENCE_S	60

/* As in tools/vm/splat.sh, which looks at the whole log in the end */
static const char * const complaints[] = {
	"BUG:", "WARNING:", "UBSAN:", "KASAN:", "Oops", "general protection fault", "cut here",
	"INFO: task", "INFO: rcu", "INFO: trying", "possible circular lock", "blocked for more",
	"detected stalls", "refcount_t:", "ODEBUG:", "list_add corruption", "list_del corruption",
	"ad page", "scheduling while atomic", "unregister_netdevice: waiting", "Out of memory:",
};

/* The user of some sequences, see exec.c, and the limit of pin_all(), in bytes */
#define NOBODY		65534
#define MEMLOCK		(64 * 1024)

static int kmsg = -1;
static long long pinned_before;
/* References that a module has which uses the symbols of kdapl */
static long references_before;

static bool write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, value, strlen(value)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

/**
 * faults_possible - let fail-nth reach all allocations
 *
 * Return: false if the kernel has no fault injection.
 */
bool faults_possible(void)
{
	write_file("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	write_file("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	write_file("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N");
	write_file("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	return !access("/proc/thread-self/fail-nth", W_OK);
}

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		_exit(1);
}

/*
 * The kernel counts what a user has pinned only as long as the user has a process. This one
 * ends with the last process of datfuzz. Until then a reader of the output would wait for it.
 */
static void keep_user(void)
{
	int ends[2];
	pid_t pid;
	char byte;

	if (pipe(ends))
		return;
	pid = fork();
	if (!pid) {
		if (!fork()) {
			close(ends[1]);
			close(STDOUT_FILENO);
			close(STDERR_FILENO);
			become_nobody();
			while (read(ends[0], &byte, 1) < 0)
				;
		}
		_exit(0);
	}
	close(ends[0]);
	waitpid(pid, NULL, 0);
}

/* Pins all that the user may pin: whatever was charged must have been returned. */
static bool pin_all(void)
{
	struct dat_dev_ia_open ia = { .size = sizeof(ia), .dat_major = 2, .async_evd_qlen = 8 };
	struct dat_dev_lmr_create lmr = { .size = sizeof(lmr), .privileges = 0x33 };
	struct dat_dev_pz_create pz = { .size = sizeof(pz) };
	struct rlimit limit = { MEMLOCK, MEMLOCK };
	int fd;

	setrlimit(RLIMIT_MEMLOCK, &limit);
	become_nobody();
	fd = open("/dev/dat", O_RDWR);
	snprintf(ia.name, sizeof(ia.name), "%s", ia_name());
	/* Without the device there is nothing to find out. */
	if (ioctl(fd, DAT_DEV_IA_OPEN, &ia) || ia.result)
		return true;
	pz.ia = ia.ia;
	lmr.ia = ia.ia;
	if (ioctl(fd, DAT_DEV_PZ_CREATE, &pz) || pz.result)
		return true;
	lmr.pz = pz.pz;
	lmr.length = MEMLOCK;
	lmr.address = (uintptr_t)mmap(NULL, MEMLOCK, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return !ioctl(fd, DAT_DEV_LMR_CREATE, &lmr) && !lmr.result;
}

static bool charge_returned(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(pin_all() ? 0 : 1);
	return waitpid(pid, &status, 0) != pid || !status;
}

/**
 * watch_begin - what the kernel says from now on counts
 */
void watch_begin(void)
{
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg < 0)
		exit(2);
	lseek(kmsg, 0, SEEK_END);
	pinned_before = pinned_pages();
	references_before = number_in("/sys/module/kdapl/refcnt", "");
	keep_user();
}

/**
 * watch_complaint - read what the kernel has said
 *
 * Return: the first line that is a complaint, or NULL.
 */
const char *watch_complaint(void)
{
	static char record[8192];
	unsigned int i;
	ssize_t len;

	while ((len = read(kmsg, record, sizeof(record) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		char *text;

		if (len < 0)
			continue;
		record[len] = '\0';
		text = strchr(record, ';');
		text = text ? text + 1 : record;
		text[strcspn(text, "\n")] = '\0';
		for (i = 0; i < ARRAY_LEN(complaints); i++)
			if (strstr(text, complaints[i]))
				return text;
	}
	return NULL;
}

/* Lines of a file of kdapl in debugfs behind the first, which names the columns */
static unsigned int lines_of(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[1024];
	unsigned int num = 0;

	while (f && fgets(line, sizeof(line), f))
		num++;
	if (f)
		fclose(f);
	return num ? num - 1 : 0;
}

static unsigned int open_files(void)
{
	return lines_of("/sys/kernel/debug/kdapl/files");
}

static unsigned int num_objects(void)
{
	return lines_of("/sys/kernel/debug/kdapl/objects");
}

static long references(void)
{
	return number_in("/sys/module/kdapl/refcnt", "") - references_before;
}

/**
 * watch_leftovers - look for what dead processes have left behind
 *
 * No process may use the device meanwhile. Return: what there is, or NULL.
 */
const char *watch_leftovers(void)
{
	static char text[128];
	long long pinned;
	int i;

	for (i = 0; i < PATIENCE_S * 10; i++) {
		pinned = pinned_pages() - pinned_before;
		if (!pinned && !references() && !open_files() && !num_objects())
			return charge_returned() ? NULL : "pinned memory is still charged";
		usleep(100000);
	}
	snprintf(text, sizeof(text),
		 "left behind: %lld pinned pages, %ld references, %u files, %u objects", pinned,
		 references(), open_files(), num_objects());
	return text;
}
