// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * run.c - the work of a job, at both ends
 *
 * A latency is half of a ping-pong of two Sends, or the time from the post of an RDMA
 * operation to its completion. For bandwidth and rate job.depth operations are outstanding.
 * For a rate only one in job.depth / 4 reports its completion.
 *
 * A Send needs a receive at the server, which iWARP does not wait for. The server has posted
 * twice the depth, and tells the client by an empty message when it has posted another
 * depth.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dat-perf.h"

/* Iterations before the first that counts */
#define WARM_UP		16

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static DAT_RETURN poll_for_event(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	uint64_t deadline = 0;
	unsigned int tries;
	DAT_RETURN ret;

	for (;;) {
		for (tries = 0; tries < 100000; tries++) {
			ret = dat_evd_dequeue(evd, event);
			if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
				return ret;
		}
		if (!deadline)
			deadline = now() + PATIENCE * 1000ULL;
		else if (now() > deadline)
			return DAT_TIMEOUT_EXPIRED;
	}
}

/* Waits for a completion. Returns its cookie, or -1 after a complaint. */
static int completion(struct end *end)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	if (end->poll) {
		ret = poll_for_event(end->dto_evd, &event);
	} else {
		ret = dat_evd_dequeue(end->dto_evd, &event);
		if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
			ret = dat_evd_wait(end->dto_evd, PATIENCE, 1, &event, &more);
	}
	if (!check(ret, "waiting for the peer"))
		return -1;
	dto = &event.event_data.dto_completion_event_data;
	if (dto->status == DAT_DTO_SUCCESS)
		return dto->user_cookie.as_64;
	fprintf(stderr, "dat-perf: the connection has ended, DTO status %d\n", dto->status);
	return -1;
}

static bool wait_for(struct end *end, enum cookie cookie)
{
	int seen;

	do {
		seen = completion(end);
	} while (seen >= 0 && seen != (int)cookie);
	return seen >= 0;
}

static bool post(struct end *end, enum op op, DAT_COMPLETION_FLAGS flags)
{
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_REQUEST };
	DAT_LMR_TRIPLET iov = end_buffer(end);
	DAT_RMR_TRIPLET remote = {
		.rmr_context = end->their_context,
		.target_address = end->their_address,
		.segment_length = end->size,
	};

	switch (op) {
	case SEND:
		return check(dat_ep_post_send(end->ep, 1, &iov, cookie, flags),
			     "dat_ep_post_send");
	case WRITE:
		return check(dat_ep_post_rdma_write(end->ep, 1, &iov, cookie, &remote, flags),
			     "dat_ep_post_rdma_write");
	default:
		return check(dat_ep_post_rdma_read(end->ep, 1, &iov, cookie, &remote, flags),
			     "dat_ep_post_rdma_read");
	}
}

/* An operation that is over when this returns; of two Sends the second is the answer. */
static bool one(struct end *end, enum op op)
{
	if (op == SEND)
		return post_recv(end) && post(end, SEND, DAT_COMPLETION_DEFAULT_FLAG) &&
		       wait_for(end, COOKIE_RECV);
	return post(end, op, DAT_COMPLETION_DEFAULT_FLAG) && wait_for(end, COOKIE_REQUEST);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool latency(struct end *end, struct result *result)
{
	const struct job *job = &result->job;
	uint64_t began;
	uint32_t i;

	result->ns = malloc(job->iterations * sizeof(*result->ns));
	if (!result->ns)
		return complain("no memory");
	for (i = 0; i < WARM_UP; i++)
		if (!one(end, job->op))
			return false;
	for (i = 0; i < job->iterations; i++) {
		began = now();
		if (!one(end, job->op))
			return false;
		result->ns[i] = (now() - began) / (job->op == SEND ? 2 : 1);
		report_progress(job, i + 1);
	}
	qsort(result->ns, job->iterations, sizeof(*result->ns), compare);
	return true;
}

/* How many operations one completion stands for */
static uint32_t batch_of(const struct job *job)
{
	return job->test == RATE && job->depth >= 4 ? job->depth / 4 : 1;
}

static uint32_t min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Does @num operations, job->depth at a time. *@room: messages that the server has room for */
static bool stream(struct end *end, const struct job *job, uint32_t num, uint32_t *room)
{
	uint32_t batch = batch_of(job), posted = 0, done = 0;
	bool last;

	while (done < num) {
		while (posted < num && posted - done < job->depth &&
		       (job->op != SEND || *room)) {
			posted++;
			*room -= job->op == SEND;
			last = posted % batch == 0 || posted == num;
			if (!post(end, job->op, last ? DAT_COMPLETION_DEFAULT_FLAG :
						       DAT_COMPLETION_SUPPRESS_FLAG))
				return false;
		}
		switch (completion(end)) {
		case COOKIE_REQUEST:
			done = min(done + batch, num);
			report_progress(job, done);
			break;
		case COOKIE_RECV:
			*room += job->depth;
			if (!post_recv(end))
				return false;
			break;
		default:
			return false;
		}
	}
	return true;
}

static bool throughput(struct end *end, struct result *result)
{
	const struct job *job = &result->job;
	uint32_t room = 2 * job->depth;
	uint64_t began;

	if (job->op == SEND && !(post_recv(end) && post_recv(end) && post_recv(end)))
		return false;
	if (!stream(end, job, job->depth, &room))
		return false;
	began = now();
	if (!stream(end, job, job->iterations, &room))
		return false;
	result->seconds = (now() - began) / 1e9;
	return true;
}

/**
 * run_client - do a job and measure it
 * @end: the end, connected
 * @result: in: the job; out: what was measured
 *
 * Return: false after a complaint.
 */
bool run_client(struct end *end, struct result *result)
{
	return result->job.test == LAT ? latency(end, result) : throughput(end, result);
}

/* An empty message */
static bool tell_room(struct end *end)
{
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_REQUEST };

	return check(dat_ep_post_send(end->ep, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		     "dat_ep_post_send");
}

/**
 * run_server - do the server's part of a job
 * @end: the end, connected; its receives are posted
 * @job: the job
 *
 * Return: false after a complaint.
 */
bool run_server(struct end *end, const struct job *job)
{
	uint64_t num = job->test == LAT ? WARM_UP : job->depth, i;

	if (job->op != SEND)
		return true;
	num += job->iterations;
	/* The client disconnects after the last message, and then nothing may be posted. */
	for (i = 1; i <= num; i++) {
		if (!wait_for(end, COOKIE_RECV) ||
		    (i + 2 * job->depth <= num && !post_recv(end)))
			return false;
		if (job->test == LAT && !post(end, SEND, DAT_COMPLETION_DEFAULT_FLAG))
			return false;
		if (job->test != LAT && i % job->depth == 0 && i + job->depth < num &&
		    !tell_room(end))
			return false;
	}
	return true;
}
