// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * events.c - EVDs that a child waits for in one of four ways, and a scenario of EVDs and CNOs
 */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include <dat/dat_linux.h>

#include "process.h"
#include "pair.h"
#include "soak.h"
#include "software_event.h"

/* In microseconds: how long a wait lasts before the child looks whether the device is lost */
#define SLICE		(1000 * 1000)

/**
 * queue_open - create an EVD
 * @w: the child, whose mode the EVD gets
 * @q: out
 * @length: minimum length
 * @flags: what it takes
 */
bool queue_open(struct worker *w, struct queue *q, DAT_COUNT length, DAT_EVD_FLAGS flags)
{
	q->mode = w->mode;
	q->fd = -1;
	TRY(w, dat_evd_create(w->ia, length, w->mode == CNO ? w->cno : DAT_HANDLE_NULL, flags,
			      &q->evd));
	if (w->mode == FD)
		TRY(w, dat_linux_get_fd(q->evd, &q->fd));
	return true;
}

/**
 * queue_close - free the EVD
 * @w: the child
 * @q: from queue_open()
 */
void queue_close(struct worker *w, struct queue *q)
{
	if (q->fd >= 0)
		close(q->fd);
	try_call(w, dat_evd_free(q->evd), "dat_evd_free");
}

/* Waits at most @usec for something that makes it worthwhile to look. */
static void doze(struct worker *w, struct queue *q, unsigned int usec)
{
	struct pollfd p = { .fd = q->fd, .events = POLLIN };
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;

	switch (q->mode) {
	case CNO:
		ret = dat_cno_wait(w->cno, usec, &evd);
		if (ret && DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY &&
		    DAT_GET_TYPE(ret) != DAT_INTERRUPTED_CALL && !may_fail(w, ret))
			complain(w, "dat_cno_wait: %s", dat_str(ret));
		break;
	case FD:
		poll(&p, 1, usec / 1000);
		break;
	default:
		usleep(usec < 20000 ? usec : 20000);
	}
}

static DAT_RETURN take_once(struct worker *w, struct queue *q, DAT_EVENT *event, unsigned int usec)
{
	DAT_COUNT nmore;
	DAT_RETURN ret;

	if (q->mode == WAIT)
		return dat_evd_wait(q->evd, usec, 1, event, &nmore);
	ret = dat_evd_dequeue(q->evd, event);
	if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
		return ret;
	doze(w, q, usec);
	return dat_evd_dequeue(q->evd, event);
}

/**
 * queue_take - take the next event of an EVD
 * @w: the child
 * @q: the EVD
 * @event: out
 * @limit: seconds to wait at most
 *
 * Return: false if there was none. A lost device ends the wait early only after its events have
 * had time to arrive: the caller decides by is_lost().
 */
bool queue_take(struct worker *w, struct queue *q, DAT_EVENT *event, double limit)
{
	double end = seconds() + limit;
	DAT_RETURN ret;

	do {
		ret = take_once(w, q, event, limit < 1 ? limit * 1e6 : SLICE);
		if (!ret)
			return true;
		if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY &&
		    DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED &&
		    DAT_GET_TYPE(ret) != DAT_INTERRUPTED_CALL) {
			if (!may_fail(w, ret))
				complain(w, "event of an EVD, mode %d: %s", q->mode, dat_str(ret));
			return false;
		}
	} while (seconds() < end);
	return false;
}

#define EVDS		4
#define EVENTS_EACH	6

/* The events of an EVD arrive once each, in order. */
static bool take_all(struct worker *w, struct queue *q, unsigned int number)
{
	DAT_EVENT event;
	unsigned int i;

	for (i = 0; i < EVENTS_EACH; i++) {
		if (!queue_take(w, q, &event, LIMIT)) {
			if (!is_lost(w))
				complain(w, "software event %u of %u is missing, mode %d", i,
					 EVENTS_EACH, q->mode);
			return false;
		}
		if (se_number(&event) != number + i)
			complain(w, "software event %ld instead of %u", se_number(&event),
				 number + i);
	}
	if (queue_take(w, q, &event, 0.001))
		complain(w, "an event that nobody has posted: %#x", event.event_number);
	return true;
}

/**
 * events_run - EVDs of software events, their CNOs, and changes of both
 * @w: the child
 */
bool events_run(struct worker *w)
{
	struct queue queues[EVDS];
	DAT_EVD_PARAM param;
	unsigned int i, j;

	for (i = 0; i < EVDS; i++)
		if (!queue_open(w, &queues[i], EVENTS_EACH, DAT_EVD_SOFTWARE_FLAG))
			return false;
	for (i = 0; i < EVDS; i++) {
		for (j = 0; j < EVENTS_EACH; j++)
			TRY(w, se_post(queues[i].evd, i * EVENTS_EACH + j));
		if (random_below(2))
			TRY(w, dat_evd_resize(queues[i].evd, 64 + random_below(200)));
	}
	TRY(w, dat_evd_query(queues[0].evd, DAT_EVD_FIELD_ALL, &param));
	for (i = EVDS; i--;)
		if (!take_all(w, &queues[i], i * EVENTS_EACH))
			return false;
	/* An EVD leaves its CNO and returns. */
	if (w->mode == CNO) {
		TRY(w, dat_evd_modify_cno(queues[0].evd, DAT_HANDLE_NULL));
		TRY(w, dat_evd_modify_cno(queues[0].evd, w->cno));
	}
	for (i = 0; i < EVDS; i++)
		queue_close(w, &queues[i]);
	return true;
}
