// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * bench_ours.c - the measured operations, through kdapl
 */
#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/sched.h>

#include "bench.h"
#include "kpair.h"
#include "report.h"

static struct kpair pair;
static struct kregion a, b;

static struct {
	struct completion done;
	unsigned int left;
	bool failed;
} pingpong;

/* Does not use kpair.c, so that the work is the same as in bench_raw.c. */
static DAT_LMR_TRIPLET segment(const struct kregion *region, size_t offset)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (uintptr_t)region->buf + offset,
		.segment_length = BENCH_LEN,
		.lmr_context = region->lmr_context,
	};
}

static DAT_RETURN send(DAT_EP_HANDLE ep)
{
	DAT_LMR_TRIPLET from = segment(ep == pair.a.ep ? &a : &b, BENCH_LEN);
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };

	return dat_ep_post_send(ep, 1, &from, cookie,
				DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN recv(DAT_EP_HANDLE ep)
{
	DAT_LMR_TRIPLET to = segment(ep == pair.a.ep ? &a : &b, 0);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	return dat_ep_post_recv(ep, 1, &to, cookie,
				DAT_COMPLETION_DEFAULT_FLAG);
}

static void upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
		   DAT_BOOLEAN more_events)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d =
		&event->event_data.dto_completion_event_data;

	if (d->status) {
		pingpong.failed = true;
		complete(&pingpong.done);
		return;
	}
	if (d->user_cookie.as_64 != 1)
		return;
	if (recv(d->ep_handle))
		pingpong.failed = true;
	if (!--pingpong.left)
		complete(&pingpong.done);
	else if (send(d->ep_handle))
		pingpong.failed = true;
}

static bool ours_open(bool upcalls)
{
	DAT_UPCALL_OBJECT object = { .upcall_func = upcall };
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = 1024 * 1024,
		.max_rdma_size = 1024 * 1024,
		.max_recv_dtos = BENCH_QLEN,
		.max_request_dtos = BENCH_QLEN,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 1,
		.max_rdma_read_out = 1,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};

	init_completion(&pingpong.done);
	pingpong.failed = false;
	if (!kpair_open_attr(&pair, upcalls ? &object : NULL, &attr) ||
	    !kpair_connect(&pair) ||
	    !kregion_open(&pair, pair.a.pz, &a, PAGE_SIZE,
			  DAT_MEM_PRIV_ALL_FLAG) ||
	    !kregion_open(&pair, pair.b.pz, &b, PAGE_SIZE,
			  DAT_MEM_PRIV_ALL_FLAG))
		return false;
	return !upcalls || (!recv(pair.a.ep) && !recv(pair.b.ep));
}

static void ours_close(void)
{
	kpair_close(&pair);
	kregion_close(&a);
	kregion_close(&b);
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
}

static bool write(DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET from = segment(&a, 0);
	DAT_RMR_TRIPLET to = {
		.virtual_address = (uintptr_t)b.buf,
		.segment_length = BENCH_LEN,
		.rmr_context = b.rmr_context,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	return !dat_ep_post_rdma_write(pair.a.ep, 1, &from, cookie, &to, flags);
}

static bool wait_for_one(void)
{
	unsigned long end = jiffies + 10 * HZ;
	DAT_EVENT event;

	while (dat_evd_dequeue(pair.a.dto_evd, &event)) {
		if (time_after(jiffies, end))
			return false;
		cond_resched();
	}
	return !event.event_data.dto_completion_event_data.status;
}

/* Polls with bottom halves off: otherwise rxe of Linux 6.1 wakes a thread per Write. */
static bool ours_write_one(void)
{
	bool ok;

	local_bh_disable();
	ok = write(DAT_COMPLETION_DEFAULT_FLAG);
	local_bh_enable();
	return ok && wait_for_one();
}

static bool ours_write_many(void)
{
	bool ok = true;
	int i;

	local_bh_disable();
	for (i = 1; ok && i < BENCH_MANY; i++)
		ok = write(DAT_COMPLETION_SUPPRESS_FLAG);
	ok = ok && write(DAT_COMPLETION_DEFAULT_FLAG);
	local_bh_enable();
	return ok && wait_for_one();
}

static bool ours_pingpong(unsigned int rounds)
{
	reinit_completion(&pingpong.done);
	pingpong.left = rounds;
	if (send(pair.a.ep))
		return false;
	return wait_for_completion_timeout(&pingpong.done, 60 * HZ) &&
	       !pingpong.failed;
}

const struct bench bench_ours = {
	.name = "ours",
	.open = ours_open,
	.close = ours_close,
	.write_one = ours_write_one,
	.write_many = ours_write_many,
	.pingpong = ours_pingpong,
};
