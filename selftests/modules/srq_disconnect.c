// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srq_disconnect.c - shared receive queues: end of EPs, connections and IAs
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/vmalloc.h>

#include "report.h"
#include "srq_test.h"

/* Buffers that an EP has not taken stay available to other EPs. */
bool ep_free_keeps_srq_buffers(void)
{
	u64 cookie;
	u32 word;
	int i;

	for (i = 0; i < 4; i++)
		CHECK_EQ(DAT_SUCCESS, srq_post(i));
	CHECK(srq_send(0, 1));
	CHECK_EQ(DAT_SUCCESS, dat_ep_disconnect(srq_links[0].b,
						DAT_CLOSE_ABRUPT_FLAG));
	CHECK(kwait_number(srq_pair.b.conn_evd,
			   DAT_CONNECTION_EVENT_DISCONNECTED));
	/* Its completions remain, and no other buffer has been flushed. */
	CHECK(srq_receive(0, &word, &cookie));
	CHECK_EQ(1, word);
	CHECK(srq_counts(3, 3));
	/* Free an EP with a completion in its EVD: the buffer is no longer counted. */
	CHECK(srq_send(1, 2));
	CHECK(srq_counts(2, 3));
	CHECK(srq_link_close(0));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(srq_links[1].b));
	CHECK(srq_counts(2, 2));
	CHECK(srq_receive(1, &word, &cookie));
	CHECK_EQ(2, word);
	CHECK(srq_counts(2, 2));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(srq_links[1].a));
	msleep(20);
	for (i = 0; i < 2; i++) {
		DAT_EVENT event;

		while (!dat_evd_dequeue(srq_pair.a.conn_evd, &event) ||
		       !dat_evd_dequeue(srq_pair.b.conn_evd, &event))
			;
		CHECK(srq_link_open(i));
		CHECK(srq_send(i, 3 + i));
		CHECK(srq_receive(i, &word, &cookie));
		CHECK_EQ(3 + i, word);
	}
	return srq_counts(0, 0);
}

static DAT_RETURN post_long(u64 cookie)
{
	DAT_LMR_TRIPLET seg = ksegment(&srq_in, 0, SRQ_LONG);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_srq_post_recv(srq, 1, &seg, c);
}

#define LAST	3	/* cookie of the last of four buffers */

/* Takes the next event of the buffers, from either EVD, if there is one. */
static bool take_any(DAT_EVENT *event)
{
	return !dat_evd_dequeue(srq_evd(0), event) || !dat_evd_dequeue(srq_evd(2), event);
}

static bool await_any(DAT_EVENT *event)
{
	unsigned long deadline = jiffies + 20 * HZ;

	while (!take_any(event)) {
		CHECK(time_before(jiffies, deadline));
		usleep_range(50, 100);
	}
	return true;
}

/*
 * The connection ends while the EP has taken none of four buffers, has taken one, or has
 * completed one. In each case every buffer completes once, flushed or filled. rxe loses a
 * half-filled buffer: Linux 6.12 often, Linux 6.1 if its tasklet runs late. A work item of
 * kdapl detects the loss once all other EPs have received a message.
 */
static bool interrupt(unsigned int us, unsigned int *flushed)
{
	unsigned int seen = 0, sent = 0, num;
	DAT_EVENT event;
	int i;

	for (i = 0; i <= LAST; i++)
		CHECK_EQ(DAT_SUCCESS, post_long(i));
	CHECK_EQ(DAT_SUCCESS,
		 kpost_send(srq_links[0].a, &srq_out, 0, SRQ_LONG, 99));
	if (us)
		usleep_range(us, us + 10);
	CHECK(srq_link_close(0));
	CHECK(srq_link_open(0));

	/* Messages use up the other buffers; one EP is enough. */
	for (num = 0; num <= LAST; num++) {
		DAT_DTO_COMPLETION_EVENT_DATA *d;

		if (seen & BIT(LAST)) {
			/* EPs take buffers in the order of posting: a message would find none. */
			CHECK(await_any(&event));
		} else if (!take_any(&event)) {
			i = sent++ % SRQ_LINKS;
			CHECK(srq_send(i, 7));
			CHECK(kwait_event(srq_evd(i), &event));
		}
		d = &event.event_data.dto_completion_event_data;
		CHECK_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
		CHECK(d->user_cookie.as_64 <= LAST);
		CHECK(!(seen & BIT(d->user_cookie.as_64)));
		seen |= BIT(d->user_cookie.as_64);
		if (d->status == DAT_DTO_ERR_FLUSHED)
			++*flushed;
		else
			CHECK_EQ(DAT_DTO_SUCCESS, d->status);
	}
	return srq_counts(0, 0);
}

/*
 * rxe hands a packet with its reference to the QP's work, and then schedules that work. On a
 * busy machine the QP may have ended in between: in about 1 of 400 rounds the kernel
 * complains (rxe_task.c, rxe_sched_task()). So the short form has few rounds.
 */
bool srq_disconnect_mid_message(void)
{
	unsigned int rounds = kpair_thorough ? 40 : 8;
	unsigned int i, flushed = 0;

	for (i = 0; i < rounds; i++)
		CHECK(interrupt(i * 2000 / rounds, &flushed));
	report("# %u of %u were interrupted in the middle\n", flushed, rounds);
	return true;
}

static struct {
	DAT_EVD_HANDLE evd;
	struct kregion in;
	DAT_SRQ_HANDLE srq;
	atomic_t received, failed;
} echo;

/* In softirq: posts the buffer again. */
static void repost(DAT_PVOID instance_data, const DAT_EVENT *event,
		   DAT_BOOLEAN more_events)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d =
		&event->event_data.dto_completion_event_data;
	DAT_LMR_TRIPLET seg = ksegment(&echo.in, 0, SRQ_BUF);

	if (d->status ||
	    dat_srq_post_recv(echo.srq, 1, &seg, d->user_cookie))
		atomic_inc(&echo.failed);
	else
		atomic_inc(&echo.received);
}

static bool open_echo(struct kpair *p)
{
	DAT_UPCALL_OBJECT upcall = { NULL, repost };
	DAT_SRQ_ATTR attr = { 2, 1, 0 };
	DAT_LMR_TRIPLET seg;
	DAT_DTO_COOKIE c = {};
	DAT_EP_ATTR ep_attr = {};
	int i;

	atomic_set(&echo.received, 0);
	atomic_set(&echo.failed, 0);
	CHECK(kregion_open(p, p->b.pz, &echo.in, 4096, DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(p->ia, 16, DAT_UPCALL_SINGLE_INSTANCE,
				 &upcall, DAT_EVD_DTO_FLAG, &echo.evd));
	CHECK_EQ(DAT_SUCCESS, dat_srq_create(p->ia, p->b.pz, &attr,
					     &echo.srq));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(p->b.ep));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create_with_srq(p->ia, p->b.pz, echo.evd, p->b.dto_evd,
					p->b.conn_evd, echo.srq, &ep_attr,
					&p->b.ep));
	/* A watermark must not disturb. */
	CHECK_EQ(DAT_SUCCESS, dat_ep_set_watermark(p->b.ep, 1000, 1000));
	seg = ksegment(&echo.in, 0, SRQ_BUF);
	for (i = 0; i < attr.max_recv_dtos; i++)
		CHECK_EQ(DAT_SUCCESS,
			 dat_srq_post_recv(echo.srq, 1, &seg, c));
	return kpair_connect(p);
}

/* The service point of the second pair has the same qualifier. */
static bool open_second(struct kpair *p)
{
	CHECK_EQ(DAT_SUCCESS, dat_psp_free(srq_pair.psp));
	return kpair_open(p);
}

static bool echo_has_received(unsigned int num)
{
	int i;

	for (i = 0; i < 10000 && atomic_read(&echo.received) < num; i++)
		usleep_range(1000, 2000);
	CHECK_EQ(0, atomic_read(&echo.failed));
	CHECK(atomic_read(&echo.received) >= num);
	return true;
}

/*
 * On iWARP a message does not wait for a buffer, and a completed Send may not have
 * arrived. So the upcall must have posted a buffer before the next Send.
 */
static bool send_to_echo(struct kpair *p)
{
	int i;

	for (i = 0; i < 300; i++) {
		DAT_LMR_TRIPLET seg = { .segment_length = 0 };
		DAT_DTO_COOKIE c = { .as_64 = i };

		CHECK_EQ(DAT_SUCCESS, dat_ep_post_send(p->a.ep, 1, &seg, c, 0));
		CHECK_EQ(DAT_DTO_SUCCESS, kwait_dto(p->a.dto_evd, i));
		if (kpair_is_siw())
			CHECK(echo_has_received(i));
	}
	return echo_has_received(300);
}

bool srq_post_in_upcall(void)
{
	static struct kpair p;
	bool ok;

	CHECK(open_second(&p));
	ok = open_echo(&p) && send_to_echo(&p);
	/* Close with the connection up and buffers posted. */
	kpair_close(&p);
	kregion_close(&echo.in);
	return ok;
}

/* Last: closes everything while messages arrive. */
bool ia_abrupt_close_frees_srq(void)
{
	DAT_DTO_COOKIE c = {};
	int i;

	for (i = 0; i < 4; i++)
		CHECK_EQ(DAT_SUCCESS, post_long(i));
	for (i = 0; i < SRQ_LINKS; i++)
		CHECK_EQ(DAT_SUCCESS, kpost_send(srq_links[i].a, &srq_out, 0,
						 SRQ_LONG, 99));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ia_close(srq_pair.ia, DAT_CLOSE_ABRUPT_FLAG));
	srq_pair.ia = DAT_HANDLE_NULL;
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ,
		  dat_srq_post_recv(srq, 0, NULL, c));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ,
		  dat_srq_free(srq));
	return true;
}
