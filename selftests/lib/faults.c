// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * faults.c - calls that are made to fail at every point, for tests
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "faults.h"
#include "ioctls.h"
#include "link.h"
#include "process.h"

/* No call has nearly as many points. */
#define MAX_POINTS	5000
/* As many of a loop are enough. */
#define LOOP_POINTS	40

/*
 * Of a pair of faults, the second hits when the kernel has allocated so many bytes of slabs
 * since the first: at once, in what cleans up, or in what goes on without the first.
 */
static const unsigned int between[] = { 0, 300, 2000, 10000 };

/* DAT_HANDLE_TYPE_CSP in the kernel's numbers */
#define KERNEL_CSP	10

bool faults_broken;

/*
 * What is left over
 */

/* To DAT 1.2 it is no object. */
static bool is_csp(__u32 handle)
{
	struct dat_dev_handle_query arg = {
		.size = sizeof(arg),
		.handle = handle,
	};

	return !ioctl(library_fd(), DAT_DEV_HANDLE_QUERY, &arg) &&
	       !arg.result && arg.type == KERNEL_CSP;
}

bool is_there(DAT_HANDLE handle)
{
	DAT_HANDLE_TYPE type;

	return handle && (dat_get_handle_type(handle, &type) == DAT_SUCCESS ||
			  is_csp(handle_number(handle)));
}

/**
 * has_type - is there an object of a type by that handle?
 * @handle: the kernel's
 * @type: the type
 */
bool has_type(__u32 handle, DAT_HANDLE_TYPE type)
{
	DAT_HANDLE_TYPE found;

	if (type == FAULTS_CSP)
		return is_csp(handle);
	return dat_get_handle_type((DAT_HANDLE)(uintptr_t)handle, &found) ==
		       DAT_SUCCESS && found == type;
}

static bool is_ours(const struct owner *owner, __u32 handle)
{
	size_t i;

	for (i = 0; i < owner->num; i++)
		if (handle_number(*owner->objects[i].handle) == handle)
			return true;
	return false;
}

/* Frees what has that handle, if it is an orphan. */
static void sweep_handle(const struct owner *owner, __u32 handle)
{
	struct dat_dev_free arg = { .size = sizeof(arg), .handle = handle };
	size_t i;

	for (i = 0; i < owner->num; i++) {
		if (!has_type(handle, owner->objects[i].type))
			continue;
		if (is_ours(owner, handle))
			return;
		if (ioctl(library_fd(), owner->objects[i].free, &arg) ||
		    arg.result) {
			printf("# orphan of type %u: %#x\n",
			       owner->objects[i].type, arg.result);
			faults_broken = true;
		}
		return;
	}
}

/**
 * sweep_orphans - free what was made without anybody being told
 * @owner: the objects of the session
 *
 * An ioctl that could not copy its result out has made an object all the same.
 * Handles are given out in order: a new one tells where to look.
 */
void sweep_orphans(struct owner *owner)
{
	struct dat_dev_pz_create probe = {
		.size = sizeof(probe),
		.ia = handle_number(*owner->ia),
	};
	struct dat_dev_free arg = { .size = sizeof(arg) };
	int fd = library_fd();
	__u32 handle;

	if (ioctl(fd, DAT_DEV_PZ_CREATE, &probe) || probe.result) {
		faults_broken = true;
		return;
	}
	for (handle = owner->top + 1; handle < probe.pz; handle++)
		sweep_handle(owner, handle);
	arg.handle = probe.pz;
	if (ioctl(fd, DAT_DEV_PZ_FREE, &arg) || arg.result)
		faults_broken = true;
	owner->top = probe.pz;
}

/*
 * The knobs
 */

#define TIMES	5

static const struct knob {
	const char *path;
	const char *value;
} knobs[] = {
	/* Else only what must not sleep would ever fail. */
	{ "/sys/kernel/debug/failslab/ignore-gfp-wait", "N" },
	{ "/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N" },
	{ "/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N" },
	{ "/sys/kernel/debug/fail_page_alloc/min-order", "0" },
	/* For the second of a pair. fail-nth heeds none of these. */
	{ "/sys/kernel/debug/failslab/task-filter", "Y" },
	[TIMES] = { "/sys/kernel/debug/failslab/times", "0" },
	{ "/sys/kernel/debug/failslab/space", "0" },
	{ "/sys/kernel/debug/failslab/interval", "1" },
	{ "/sys/kernel/debug/failslab/verbose", "0" },
	{ "/sys/kernel/debug/failslab/probability", "100" },
};

static char saved[ARRAY_LEN(knobs)][24];
static bool is_on;
static int nth_fd = -1;
/* Of failslab, and whether it may hit this thread. They stay open: to open takes memory. */
static int times_fd = -1, space_fd = -1, hit_fd = -1;

static bool write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, value, strlen(value)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool read_file(const char *path, char *value, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t len = fd >= 0 ? read(fd, value, size - 1) : -1;

	if (fd >= 0)
		close(fd);
	value[len > 0 ? len : 0] = '\0';
	return len > 0;
}

/**
 * faults_on - let faults reach everything
 *
 * Return: NULL, or what there is not.
 */
const char *faults_on(void)
{
	size_t i;

	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth_fd < 0)
		return "fault injection";
	for (i = 0; i < ARRAY_LEN(knobs); i++)
		if (!read_file(knobs[i].path, saved[i], sizeof(saved[i])))
			return knobs[i].path;
	for (i = 0; i < ARRAY_LEN(knobs); i++)
		write_file(knobs[i].path, knobs[i].value);
	is_on = true;
	times_fd = open(knobs[TIMES].path, O_RDWR | O_CLOEXEC);
	space_fd = open("/sys/kernel/debug/failslab/space", O_RDWR | O_CLOEXEC);
	hit_fd = open("/proc/thread-self/make-it-fail", O_RDWR | O_CLOEXEC);
	if (times_fd < 0 || space_fd < 0 || hit_fd < 0)
		return "faults of one task";
	return NULL;
}

/**
 * faults_off - the reverse of faults_on(), even if that failed
 */
void faults_off(void)
{
	size_t i;

	/* The last first: without a probability nothing fails. */
	for (i = ARRAY_LEN(knobs); is_on && i > 0; i--)
		write_file(knobs[i - 1].path, saved[i - 1]);
	is_on = false;
	close(times_fd);
	close(space_fd);
	close(hit_fd);
}

static void put_number(int fd, unsigned int number)
{
	char buf[16];
	int len = snprintf(buf, sizeof(buf), "%u", number);

	/* Files of debugfs have no position. */
	if (write(fd, buf, len) != len)
		faults_broken = true;
}

/* Lets slabs fail @space bytes after the first fault, which may count as one of the two. */
static void arm_second(unsigned int space)
{
	put_number(space_fd, space);
	put_number(times_fd, 2);
	put_number(hit_fd, 1);
}

/* Returns whether both faults have fired. */
static bool disarm_second(void)
{
	char times[8];

	put_number(hit_fd, 0);
	if (!read_file(knobs[TIMES].path, times, sizeof(times)))
		faults_broken = true;
	put_number(times_fd, 0);
	return !atoi(times);
}

static void arm(unsigned int n)
{
	put_number(nth_fd, n);
}

/* Whether the fault has fired. */
static bool disarm(void)
{
	char buf[16] = "";
	bool fired;

	/* Reading copies, and so may writing: then it had not fired before. */
	fired = pread(nth_fd, buf, sizeof(buf) - 1, 0) > 0 && atoi(buf) == 0;
	while (pwrite(nth_fd, "0", 1, 0) != 1 && errno == EFAULT)
		;
	return fired;
}

/*
 * The faults
 */

/* A copy that failed may have been the one that tells what was made. */
static bool is_copy_fault(DAT_RETURN ret, int err)
{
	return ret == SYS(EFAULT) ||
	       (err == EFAULT &&
		ret == (DAT_CLASS_ERROR | DAT_INVALID_PARAMETER));
}

static bool may_return(const struct step *st, DAT_RETURN ret)
{
	DAT_RETURN type = ret < 0x10000 ? ret : DAT_GET_TYPE(ret);

	return type == st->may || (st->may_too && type == st->may_too);
}

static bool complain(const struct step *st, unsigned int n, DAT_RETURN ret,
		     const char *what)
{
	printf("# %s, point %u: %s: %s\n", st->name, n, what, dat_str(ret));
	return false;
}

/* Does a step without faults, as all that is not under test. */
static bool do_quietly(const struct step *st)
{
	DAT_RETURN ret = st->fn();

	return !ret || complain(st, 0, ret, "fails without a fault");
}

/* Brings things back to where they were before a step. */
static bool take_back(const struct step *table, const struct step *st,
		      DAT_RETURN ret)
{
	const struct step *again = st;

	if (st->leaves == NOTHING || (st->leaves == EVENT && ret))
		return true;
	if (st->leaves == OBJECT) {
		st->undo();
		return !faults_broken ||
		       complain(st, 0, ret, "cannot be undone");
	}
	while (again > table && !again->begins)
		again--;
	for (; again < st; again++)
		if (!do_quietly(again) || faults_broken)
			return false;
	return true;
}

/**
 * is_quick - are some of the points enough?
 *
 * On iWARP everything takes its time, and kdapl does much the same.
 */
bool is_quick(void)
{
	return link_is_iwarp() && !getenv("KDAPL_THOROUGH");
}

/* How far it is to the next point. */
static unsigned int stride(const struct step *st, unsigned int n)
{
	if (st->loops && n > LOOP_POINTS)
		return n / 8;
	return is_quick() && n > 9 ? 3 : 1;
}

/**
 * struct tally - number of failures of a step
 * @points: points of failure
 * @pairs: pairs of failures
 */
struct tally {
	unsigned int points;
	unsigned int pairs;
};

/* The fault has fired: is the outcome one that may be? Things are as before then. */
static bool bears_fault(const struct step *table, const struct step *st, unsigned int n,
			DAT_RETURN ret, int err)
{
	if (ret && !is_copy_fault(ret, err))
		return may_return(st, ret) || complain(st, n, ret, "must not return");
	if (!ret && st->outcome && !st->outcome())
		return complain(st, n, ret, "has no outcome");
	return take_back(table, st, ret) || complain(st, n, ret, "cannot be tried again");
}

/* Lets a step fail at point @n and once more, at several distances. */
static bool do_pairs(const struct step *table, const struct step *st, unsigned int n,
		     struct tally *tally)
{
	bool fired, both;
	DAT_RETURN ret;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_LEN(between); i++) {
		errno = 0;
		arm_second(between[i]);
		arm(n);
		ret = st->fn();
		err = errno;
		fired = disarm();
		both = disarm_second();
		/* A call may have fewer points when it is repeated. */
		if (!fired && !ret)
			return take_back(table, st, ret);
		tally->pairs += both;
		if (!bears_fault(table, st, n, ret, err))
			return complain(st, n, ret, "was hit twice");
	}
	return true;
}

/* Lets a step fail at every point that it has, until it runs through. */
static bool do_step(const struct step *table, const struct step *st, struct tally *tally)
{
	unsigned int n;
	DAT_RETURN ret;
	bool fired;
	int err;

	for (n = 1; n < MAX_POINTS; n += stride(st, n)) {
		errno = 0;
		arm(n);
		ret = st->fn();
		err = errno;
		fired = disarm();
		if (!fired)
			return !ret || complain(st, n, ret,
						"fails for no reason");
		tally->points++;
		if (!bears_fault(table, st, n, ret, err))
			return false;
		if (getenv("KDAPL_LONG") && !st->lone && !do_pairs(table, st, n, tally))
			return false;
	}
	return complain(st, n, ret, "has no end");
}

/*
 * What changes something copies its structure in, out, and out again. With
 * fewer points than that nothing has been injected.
 */
static bool enough(const struct step *st, unsigned int points)
{
	if (points >= 3 || st->leaves == NOTHING || st->leaves == EVENT ||
	    st->few)
		return true;
	return complain(st, points, 0, "has too few points");
}

#define VERBS	"/sys/kernel/debug/kdapl/fail_verbs/"

static bool arm_verbs(unsigned int n)
{
	char space[16];

	snprintf(space, sizeof(space), "%u", n);
	return write_file(VERBS "space", space) && write_file(VERBS "times", "1") &&
	       write_file(VERBS "probability", "100");
}

/* Returns whether a call has failed. */
static bool disarm_verbs(void)
{
	char times[16];

	write_file(VERBS "probability", "0");
	return read_file(VERBS "times", times, sizeof(times)) && !atoi(times);
}

/**
 * verbs_can_fail - was kdapl.ko built with KDAPL_FAIL?
 */
bool verbs_can_fail(void)
{
	return !access(VERBS "times", W_OK);
}

/**
 * do_anywhere - let each call to ib_core or rdma_cm fail once, in any thread
 * @session: opens an IA, works and ends; its errors do not count unless nothing has failed
 * @clean: closes the IA if it is still open, and checks that nothing is left
 * @step: lets only each @step-th call fail
 *
 * Return: number of calls that have failed, or 0 if something is not as it should be.
 */
unsigned int do_anywhere(DAT_RETURN (*session)(void), void (*clean)(void), unsigned int step)
{
	unsigned int n, num = 0;
	DAT_RETURN ret;
	bool fired;

	for (n = 1; n < MAX_POINTS; n += step) {
		if (!arm_verbs(n))
			return 0;
		ret = session();
		fired = disarm_verbs();
		clean();
		if (faults_broken) {
			printf("# call %u of verbs failed\n", n);
			return 0;
		}
		if (!fired && ret) {
			printf("# without a failure: %s\n", dat_str(ret));
			return 0;
		}
		if (!fired)
			return num;
		num++;
	}
	return 0;
}

static unsigned int driver_under_test(void)
{
	if (link_is_iwarp())
		return SIW;
	return kernel_is_before(6, 12) ? OLD_RXE : 0;
}

/**
 * do_table - go through a session
 * @table: its steps
 * @num: how many
 * @least: with fewer points than these faults do not reach what they should
 *
 * Return: true if all is as it should be.
 */
bool do_table(const struct step *table, size_t num, unsigned int least)
{
	unsigned int driver = driver_under_test();
	struct tally total = {};
	bool ok = true;
	size_t i;

	for (i = 0; i < num && ok && !faults_broken; i++) {
		struct tally tally = {};

		if (table[i].quiet || table[i].spared & driver) {
			ok = do_quietly(&table[i]);
			continue;
		}
		ok = do_step(table, &table[i], &tally) &&
		     enough(&table[i], tally.points);
		total.points += tally.points;
		total.pairs += tally.pairs;
		printf("# %s: %u, %u pairs\n", table[i].name, tally.points, tally.pairs);
	}
	printf("# %u points, %u pairs\n", total.points, total.pairs);
	fflush(stdout);
	/*
	 * Far more points are followed by an allocation within one of the distances, but how
	 * many depends on what the kernel has cached. This only proves that the second one works.
	 */
	if (ok && getenv("KDAPL_LONG") && total.points >= 50 && total.pairs < total.points / 10)
		ok = complain(table, 0, 0, "has too few pairs");
	return ok && !faults_broken && total.points >= least;
}
