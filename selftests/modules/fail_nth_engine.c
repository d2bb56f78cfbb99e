// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fail_nth_engine.c - makes the calls of a session fail at every allocation
 *
 * Each step fails at its first allocation, then at the second, and so on, until it runs
 * through. In one pass only one allocation fails, in another all later ones also fail.
 * The kernel-doc of the call must allow the error, and the call must leave no change: the
 * same step then succeeds. If a step succeeds despite a fault, the engine undoes it and
 * continues with the next fault.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/sched.h>

#include "compat.h"
#include "fail_nth_engine.h"
#include "kpair.h"
#include "report.h"

/* More than the allocations of any call. */
#define MAX_POINTS	5000
/* Faults tried in a loop that allocates the same thing. */
#define LOOP_POINTS	40

/* Steps of the current session. */
static const struct step *steps;
/* Set when something fails that must not. The session ends. */
static bool broken;
/* Faults of all sessions. */
static unsigned int total_points;

#ifdef CONFIG_FAULT_INJECTION

/*
 * The knobs. By default fault injection spares allocations that may sleep. Only debugfs
 * can change that.
 */

enum knob_kind { A_BOOL, A_U32, A_ULONG };

struct knob {
	const char *dir;
	const char *name;
	enum knob_kind kind;
	u32 value;
	u32 saved;
};

static struct knob knobs[] = {
	{ "failslab", "ignore-gfp-wait", A_BOOL, 0 },
	{ "fail_page_alloc", "ignore-gfp-wait", A_BOOL, 0 },
	{ "fail_page_alloc", "ignore-gfp-highmem", A_BOOL, 0 },
	{ "fail_page_alloc", "min-order", A_U32, 0 },
	/* Also fail all allocations after the nth, if the task has set it. */
	{ "failslab", "task-filter", A_BOOL, 1 },
	{ "failslab", "times", A_U32, -1 },
	{ "failslab", "probability", A_ULONG, 100 },
	{ "fail_page_alloc", "task-filter", A_BOOL, 1 },
	{ "fail_page_alloc", "times", A_U32, -1 },
	{ "fail_page_alloc", "probability", A_ULONG, 100 },
};

static void *knob_address(const struct knob *knob)
{
	struct dentry *dir = debugfs_lookup(knob->dir, NULL), *file = NULL;
	void *address = NULL;

	if (dir)
		file = debugfs_lookup(knob->name, dir);
	if (file)
		address = d_inode(file)->i_private;
	dput(file);
	dput(dir);
	return address;
}

static u32 knob_get(const struct knob *knob, void *address)
{
	switch (knob->kind) {
	case A_BOOL:
		return *(bool *)address;
	case A_U32:
		return *(u32 *)address;
	default:
		return *(unsigned long *)address;
	}
}

static void knob_set(const struct knob *knob, void *address, u32 value)
{
	switch (knob->kind) {
	case A_BOOL:
		*(bool *)address = value;
		break;
	case A_U32:
		*(u32 *)address = value;
		break;
	default:
		*(unsigned long *)address = value;
		break;
	}
}

/**
 * fail_nth_begin - enable faults also for allocations that may sleep
 *
 * Return: true; false if this kernel has no such knobs.
 */
bool fail_nth_begin(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		if (!knob_address(&knobs[i]))
			return false;
	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		void *address = knob_address(&knobs[i]);

		knobs[i].saved = knob_get(&knobs[i], address);
		knob_set(&knobs[i], address, knobs[i].value);
	}
	return true;
}

/**
 * fail_nth_end - reverse fail_nth_begin()
 */
void fail_nth_end(void)
{
	unsigned int i;

	for (i = ARRAY_SIZE(knobs); i--; )
		knob_set(&knobs[i], knob_address(&knobs[i]), knobs[i].saved);
}

/* Fails the nth allocation, and all later ones if @lasts; 0 disables faults. */
static void fail_at(unsigned int n, bool lasts)
{
	current->make_it_fail = lasts;
	current->fail_nth = n;
}

/* Returns the distance to the next fault; 0 if it has occurred. */
static unsigned int fails_at(void)
{
	return current->fail_nth;
}

#else

bool fail_nth_begin(void)
{
	return false;
}

void fail_nth_end(void)
{
}

static void fail_at(unsigned int n, bool lasts)
{
}

static unsigned int fails_at(void)
{
	return 0;
}

#endif /* CONFIG_FAULT_INJECTION */

/**
 * expect_success - record the failure of a call that must succeed
 * @ret: its return value
 * @what: name of the call
 */
void expect_success(DAT_RETURN ret, const char *what)
{
	if (!ret || broken)
		return;
	report("# %s: %#x\n", what, ret);
	broken = true;
}

/**
 * must_be - record a condition that does not hold
 * @ok: the condition
 * @what: description of the condition
 */
void must_be(bool ok, const char *what)
{
	if (ok || broken)
		return;
	report("# not so: %s\n", what);
	broken = true;
}

/**
 * driver_under_test - return the driver of the tested device
 *
 * Return: SIW or OLD_RXE, or 0 for a driver without faults of its own.
 */
unsigned int driver_under_test(void)
{
	if (kpair_is_siw())
		return SIW;
	return KERNEL_HAS_OLD_RXE ? OLD_RXE : 0;
}

/**
 * is_there - check whether a handle is valid
 * @handle: the handle, or DAT_HANDLE_NULL
 *
 * Return: true if the handle names an object.
 */
bool is_there(DAT_HANDLE handle)
{
	DAT_HANDLE_TYPE type;

	return handle && !dat_get_handle_type(handle, &type);
}

static bool complain(const struct step *st, unsigned int n, DAT_RETURN ret,
		     const char *what)
{
	report("# %s, point %u: %s: %#x\n", st->name, n, what, ret);
	return false;
}

/* Executes a step without faults. */
static bool do_quietly(const struct step *st)
{
	DAT_RETURN ret = st->fn();

	return !ret || complain(st, 0, ret, "fails without a fault");
}

/* Restores the state before a step that succeeded. */
static bool take_back(const struct step *st)
{
	const struct step *again = st;

	switch (st->leaves) {
	case NOTHING:
		return true;
	case OBJECT:
		st->undo();
		return !broken;
	default:
		break;
	}
	while (again > steps && !again->begins)
		again--;
	for (; again < st; again++)
		if (!do_quietly(again) || broken)
			return false;
	return true;
}

/* siw is slow and kdapl takes much the same paths on it: skip faults unless thorough. */
static bool is_quick(void)
{
	return kpair_is_siw() && !kpair_thorough;
}

/* Distance to the next fault. */
static unsigned int stride(const struct step *st, unsigned int n)
{
	if (st->loops && n > LOOP_POINTS)
		return n / 8;
	return is_quick() && n > 9 ? 3 : 1;
}

static bool is_allowed(const struct step *st, DAT_RETURN ret)
{
	return DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES ||
	       DAT_GET_TYPE(ret) == st->may_too;
}

static bool try_again(const struct step *st, unsigned int n)
{
	if (st->outcome && !st->outcome())
		return complain(st, n, 0, "has no outcome");
	return take_back(st) || complain(st, n, 0, "cannot be tried again");
}

/* Makes a step fail at each of its allocations, until it runs through. */
static bool do_step(const struct step *st, bool lasts, unsigned int *points)
{
	unsigned int n;
	DAT_RETURN ret;
	bool fired;

	for (n = 1; n < MAX_POINTS; n += stride(st, n)) {
		fail_at(n, lasts);
		ret = st->fn();
		fired = !fails_at();
		fail_at(0, false);
		if (broken)
			return complain(st, n, ret, "does harm");
		if (!fired)
			return !ret || complain(st, n, ret,
						"fails for no reason");
		++*points;
		if (ret && !is_allowed(st, ret))
			return complain(st, n, ret, "must not return");
		if (!ret && !try_again(st, n))
			return false;
	}
	return complain(st, n, 0, "has no end");
}

/* Runs a step with lasting faults first, then with single faults. */
static bool do_step_twice(const struct step *st, unsigned int driver,
			  unsigned int *points)
{
	unsigned int lasting = 0, once = 0;
	/* Drivers with faults of their own, and slow steps, get single faults only. */
	bool twice = !driver && !st->slow, ok = true;

	if (twice)
		ok = do_step(st, true, &lasting);
	if (ok && lasting)
		ok = try_again(st, 0);
	/* The first pass has executed a step without allocations already. */
	if (ok && (lasting || !twice))
		ok = do_step(st, false, &once);
	report("# %s: %u and %u\n", st->name, lasting, once);
	*points += lasting + once;
	if (ok && !lasting && !once && !st->may_have_none)
		ok = complain(st, 0, 0, "has no points");
	return ok;
}

/**
 * fail_nth_session - execute a session with every fault of each step
 * @session: the steps
 * @num: number of steps
 * @least: minimum number of faults; fewer mean that the injection does not work
 *
 * Return: true; false, after a report, if a step does not survive.
 */
bool fail_nth_session(const struct step *session, unsigned int num,
		      unsigned int least)
{
	unsigned int i, total = 0, driver = driver_under_test();
	bool ok = true;

	steps = session;
	broken = false;
	for (i = 0; i < num && ok && !broken; i++) {
		const struct step *st = &session[i];

		if (st->quiet || (st->spared & driver))
			ok = do_quietly(st);
		else
			ok = do_step_twice(st, driver, &total);
	}
	report("# %u points\n", total);
	total_points += total;
	if (is_quick())
		least /= 3;
	return ok && !broken && total >= least;
}

/**
 * fail_nth_total - return the number of faults in all sessions
 *
 * Return: the number.
 */
unsigned int fail_nth_total(void)
{
	return total_points;
}
