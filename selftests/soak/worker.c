// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * worker.c - a child: opens an IA and runs scenarios in random order until its end
 *
 * A child may be killed at any moment, and so may its peers; its device may be removed; a full
 * limit may refuse a call. All of that is part of the run. Everything else that goes wrong is a
 * complaint: the child writes one line to the board and exits.
 */
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"
#include "process.h"
#include "soak.h"

/* Scenarios of a child before it exits by itself */
#define MAX_ROUNDS	24

/**
 * seconds - seconds since some moment
 */
double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/**
 * count - add to a counter of the board
 * @counter: which
 * @number: how much
 */
void count(enum counter counter, DAT_UINT64 number)
{
	__atomic_add_fetch(&board->counters[counter], number, __ATOMIC_RELAXED);
}

/**
 * is_stopping - whether the supervisor wants all children to end
 */
bool is_stopping(void)
{
	return __atomic_load_n(&board->stop, __ATOMIC_RELAXED);
}

/**
 * complain - report a failure of the code under test, and exit
 * @w: the child
 * @fmt: as printf()
 */
void complain(const struct worker *w, const char *fmt, ...)
{
	unsigned int i = __atomic_fetch_add(&board->num_complaints, 1, __ATOMIC_RELAXED);
	char text[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (i < MAX_COMPLAINTS)
		snprintf(board->complaints[i], sizeof(board->complaints[i]),
			 "child %d, slot %u, seed %u: %s", getpid(), w->slot, w->seed, text);
	_exit(3);
}

static unsigned int removals(unsigned int ia)
{
	return __atomic_load_n(&board->removals[ia], __ATOMIC_SEQ_CST);
}

/**
 * is_lost - whether the device of the IA is being removed, or was
 * @w: the child
 */
bool is_lost(const struct worker *w)
{
	return removals(w->ia_index) != w->removals;
}

/**
 * may_fail - whether a call may return this, whatever its arguments
 * @w: the child
 * @ret: what the call returned
 */
bool may_fail(const struct worker *w, DAT_RETURN ret)
{
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES) {
		count(REFUSED, 1);
		return true;
	}
	return is_lost(w);
}

/**
 * try_call - check a return value
 * @w: the child
 * @ret: what the call returned
 * @call: the call, for a complaint
 *
 * Return: whether it succeeded.
 */
bool try_call(struct worker *w, DAT_RETURN ret, const char *call)
{
	if (ret && !may_fail(w, ret))
		complain(w, "%s: %s", call, dat_str(ret));
	return !ret;
}

/*
 * The IA is of the current device only if no removal began during the call. Otherwise it may be
 * of the old one or of the new one, so it is closed again.
 */
static bool open_ia(struct worker *w)
{
	char name[32];
	DAT_RETURN ret;

	w->ia_index = random_below(board->num_ias);
	w->removals = removals(w->ia_index);
	if (w->removals & 1)
		return false;
	w->async_evd = DAT_HANDLE_NULL;
	snprintf(name, sizeof(name), "%s", device_name(w->ia_index));
	ret = dat_ia_open(name, 8, &w->async_evd, &w->ia);
	if (ret && !may_fail(w, ret))
		complain(w, "dat_ia_open: %s", dat_str(ret));
	if (!ret && is_lost(w)) {
		dat_ia_close(w->ia, DAT_CLOSE_ABRUPT_FLAG);
		ret = DAT_PROVIDER_NOT_FOUND;
	}
	if (ret)
		w->ia = DAT_HANDLE_NULL;
	return !ret;
}

/* Every IA of a device that is removed must learn that. */
static void await_catastrophe(struct worker *w)
{
	double end = seconds() + LIMIT;
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_RETURN ret;

	do {
		ret = dat_evd_wait(w->async_evd, 1000 * 1000, 1, &event, &nmore);
		if (!ret && event.event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC) {
			count(LOST_IAS, 1);
			return;
		}
		if (ret && DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED &&
		    DAT_GET_TYPE(ret) != DAT_INTERRUPTED_CALL)
			complain(w, "dat_evd_wait of the async EVD: %s", dat_str(ret));
	} while (seconds() < end);
	complain(w, "no DAT_ASYNC_ERROR_IA_CATASTROPHIC in %d s", LIMIT);
}

/* Without a removal there is only one asynchronous event: an SRQ below its watermark. */
static void check_async(struct worker *w)
{
	DAT_EVENT event;

	while (!dat_evd_dequeue(w->async_evd, &event)) {
		DAT_ASYNCH_ERROR_EVENT_DATA *data = &event.event_data.asynch_error_event_data;

		if (event.event_number == DAT_ASYNC_ERROR_IA_CATASTROPHIC && is_lost(w)) {
			count(LOST_IAS, 1);
			dat_ia_close(w->ia, DAT_CLOSE_ABRUPT_FLAG);
			w->ia = DAT_HANDLE_NULL;
			return;
		}
		if (event.event_number != DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR &&
		    event.event_number != DAT_ASYNC_ERROR_EP_BROKEN)
			complain(w, "asynchronous event %#x, reason %d", event.event_number,
				 data->reason);
	}
}

static void close_ia(struct worker *w, bool clean)
{
	DAT_CLOSE_FLAGS flags = clean && random_below(2) ? DAT_CLOSE_GRACEFUL_FLAG :
							   DAT_CLOSE_ABRUPT_FLAG;
	DAT_RETURN ret = dat_ia_close(w->ia, flags);

	if (ret && !is_lost(w))
		complain(w, "dat_ia_close(%d): %s", flags, dat_str(ret));
	if (ret)
		dat_ia_close(w->ia, DAT_CLOSE_ABRUPT_FLAG);
	w->ia = DAT_HANDLE_NULL;
}

static bool (*const runs[NUM_SCENARIOS])(struct worker *w) = {
	[SERVE] = serve_run,
	[VISIT] = visit_run,
	[MEMORY] = memory_run,
	[EVENTS] = events_run,
	[CHURN] = churn_run,
};

/* Most rounds are connections. */
static enum scenario choose(void)
{
	static const unsigned char shares[NUM_SCENARIOS] = { 35, 40, 10, 7, 8 };
	unsigned int n = random_below(100), i = 0;

	while (n >= shares[i])
		n -= shares[i++];
	return i;
}

static bool run_round(struct worker *w)
{
	enum scenario scenario = choose();
	bool ok;

	w->mode = random_below(NUM_MODES);
	w->cno = DAT_HANDLE_NULL;
	if (w->mode == CNO &&
	    !try_call(w, dat_cno_create(w->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &w->cno),
		      "dat_cno_create"))
		return false;
	ok = runs[scenario](w);
	if (ok && w->cno && !try_call(w, dat_cno_free(w->cno), "dat_cno_free"))
		ok = false;
	if (ok) {
		count(ROUNDS, 1);
		__atomic_add_fetch(&board->succeeded[scenario], 1, __ATOMIC_RELAXED);
	}
	return ok;
}

/**
 * worker_main - run the child, and exit
 * @slot: its place
 * @seed: of its random numbers
 */
void worker_main(unsigned int slot, unsigned int seed)
{
	struct worker w = { .slot = slot, .seed = seed };
	unsigned int left = 1 + seed % MAX_ROUNDS;
	bool clean = true;

	srandom(seed);
	/* The kernel's threads and the supervisor come first. */
	setpriority(PRIO_PROCESS, 0, 10);
	while (left && !is_stopping()) {
		if (!w.ia && !open_ia(&w)) {
			usleep(random_below(1000 * 1000));
			continue;
		}
		/* A scenario that fails leaves objects, which the close of the IA frees. */
		clean = run_round(&w);
		if (!w.ia) {
			left--;
			continue;
		}
		if (is_lost(&w)) {
			await_catastrophe(&w);
			dat_ia_close(w.ia, DAT_CLOSE_ABRUPT_FLAG);
			w.ia = DAT_HANDLE_NULL;
		} else if (!clean) {
			close_ia(&w, false);
		} else {
			check_async(&w);
		}
		if (w.ia && !random_below(4))
			close_ia(&w, true);
		left--;
	}
	/* Or leave all of it to the kernel */
	if (w.ia && random_below(2))
		close_ia(&w, clean);
	_exit(0);
}
