// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srq_test.c - shared receive queues: creation, queries and data
 */
#include <linux/delay.h>
#include <linux/module.h>

#include "report.h"
#include "srq_test.h"

struct kpair srq_pair;
struct kregion srq_out, srq_in;
DAT_SRQ_HANDLE srq;
struct slink srq_links[SRQ_LINKS];

static DAT_PROVIDER_ATTR provider;
static DAT_IA_ATTR ia_attr;

/* The first two EPs share an EVD; the third has its own. */
DAT_EVD_HANDLE srq_evd(int i)
{
	return i < 2 ? srq_pair.b.dto_evd : srq_links[i].evd;
}

DAT_RETURN srq_post(u64 cookie)
{
	DAT_LMR_TRIPLET seg = ksegment(&srq_in, cookie * SRQ_BUF, SRQ_BUF);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_srq_post_recv(srq, 1, &seg, c);
}

static int sent(int i, u32 word)
{
	u32 *data = (void *)srq_out.buf;

	*data = word;
	if (kpost_send(srq_links[i].a, &srq_out, 0, sizeof(*data), word))
		return -1;
	return kwait_dto(srq_pair.a.dto_evd, word);
}

bool srq_send(int i, u32 word)
{
	return sent(i, word) == DAT_DTO_SUCCESS;
}

/* The message ends the connection, so its acknowledgment may be lost. */
bool srq_send_last(int i, u32 word)
{
	int status = sent(i, word);

	return status == DAT_DTO_SUCCESS || status == DAT_DTO_ERR_FLUSHED;
}

/* Dequeues a receive from the EVD of link @i: the link, its data, and the cookie of its buffer. */
static bool receive_any(int i, int *link, u32 *word, u64 *cookie)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT event;

	CHECK(kwait_event(srq_evd(i), &event));
	d = &event.event_data.dto_completion_event_data;
	CHECK_EQ(DAT_DTO_COMPLETION_EVENT, event.event_number);
	CHECK_EQ(DAT_DTO_SUCCESS, d->status);
	CHECK_EQ(DAT_DTO_RECEIVE, d->operation);
	for (*link = 0; *link < SRQ_LINKS - 1 && srq_links[*link].b != d->ep_handle; ++*link)
		;
	CHECK_EQ(srq_links[*link].b, d->ep_handle);
	CHECK_EQ(sizeof(u32), d->transfered_length);
	*cookie = d->user_cookie.as_64;
	*word = *(u32 *)(srq_in.buf + *cookie * SRQ_BUF);
	return true;
}

/* Dequeues a receive on link @i, and no other. */
bool srq_receive(int i, u32 *word, u64 *cookie)
{
	int link;

	CHECK(receive_any(i, &link, word, cookie));
	CHECK_EQ(i, link);
	return true;
}

/* Compares the counts of the SRQ. On iWARP a completed Send may not have arrived. */
bool srq_counts(DAT_COUNT available, DAT_COUNT outstanding)
{
	DAT_SRQ_PARAM param;
	int i;

	for (i = 0; i < 200; i++) {
		CHECK_EQ(DAT_SUCCESS,
			 dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
		if (!kpair_is_siw() || param.available_dto_count == available)
			break;
		msleep(20);
	}
	CHECK_EQ(available, param.available_dto_count);
	CHECK_EQ(outstanding, param.outstanding_dto_count);
	return true;
}

bool srq_connect(int i)
{
	struct kpair p = srq_pair;

	p.a.ep = srq_links[i].a;
	p.b.ep = srq_links[i].b;
	return kpair_connect(&p);
}

bool srq_link_open(int i)
{
	struct kpair *p = &srq_pair;
	DAT_EP_ATTR attr = {};

	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create(p->ia, p->a.pz, p->a.dto_evd, p->a.dto_evd,
			       p->a.conn_evd, NULL, &srq_links[i].a));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create_with_srq(p->ia, p->b.pz, srq_evd(i),
					p->b.dto_evd, p->b.conn_evd, srq,
					&attr, &srq_links[i].b));
	return srq_connect(i);
}

/* Ends a connection with requests outstanding. The peer may get one of several events. */
bool srq_link_close(int i)
{
	DAT_EVENT event;

	CHECK_EQ(DAT_SUCCESS, dat_ep_free(srq_links[i].b));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(srq_links[i].a));
	while (!dat_evd_dequeue(srq_pair.a.conn_evd, &event) ||
	       !dat_evd_dequeue(srq_pair.b.conn_evd, &event) ||
	       !dat_evd_dequeue(srq_pair.a.dto_evd, &event))
		;
	return true;
}

static bool ia_srq_attributes(void)
{
	CHECK_EQ(DAT_SUCCESS,
		 dat_ia_query(srq_pair.ia, NULL, DAT_IA_FIELD_ALL, &ia_attr,
			      DAT_PROVIDER_FIELD_ALL, &provider));
	CHECK(ia_attr.max_srqs > 0);
	CHECK(ia_attr.max_ep_per_srq > 1);
	CHECK(ia_attr.max_recv_per_srq >= SRQ_MAX);
	CHECK_EQ(DAT_TRUE, provider.srq_supported);
	CHECK_EQ(0x111, provider.srq_watermarks_supported);
	CHECK_EQ(0x11, provider.srq_info_supported);
	CHECK_EQ(0, provider.ep_recv_info_supported);
	return true;
}

static bool srq_query_parameters(void)
{
	DAT_HANDLE_TYPE type;
	DAT_SRQ_PARAM param;
	DAT_EP_PARAM ep;

	CHECK_EQ(DAT_SUCCESS, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	CHECK_EQ(srq_pair.ia, param.ia_handle);
	CHECK_EQ(srq_pair.b.pz, param.pz_handle);
	CHECK_EQ(DAT_SRQ_STATE_OPERATIONAL, param.srq_state);
	CHECK_EQ(SRQ_MAX, param.max_recv_dtos);
	CHECK_EQ(2, param.max_recv_iov);
	CHECK_EQ(DAT_SRQ_LW_DEFAULT, param.low_watermark);
	CHECK_EQ(DAT_SUCCESS, dat_get_handle_type(srq, &type));
	CHECK_EQ(DAT_HANDLE_TYPE_SRQ, type);
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_query(srq_links[0].b, DAT_EP_FIELD_ALL, &ep));
	CHECK_EQ(srq, ep.srq_handle);
	CHECK_EQ(2, ep.ep_attr.max_recv_iov);
	CHECK_EQ(DAT_HW_DEFAULT, ep.ep_attr.srq_soft_hw);
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_query(srq_links[0].a, DAT_EP_FIELD_ALL, &ep));
	CHECK_EQ(DAT_HANDLE_NULL, ep.srq_handle);
	return true;
}

static bool srq_bad_parameters(void)
{
	DAT_SRQ_ATTR good = { SRQ_MAX, 2, 0 }, attr;
	DAT_DTO_COOKIE c = {};
	DAT_SRQ_HANDLE other;
	DAT_SRQ_PARAM param;
	DAT_LMR_TRIPLET seg[3];

#define CREATE_IS(type, subtype) \
	CHECK_RET(type, subtype, \
		  dat_srq_create(srq_pair.ia, srq_pair.b.pz, &attr, &other))

	attr = good;
	attr.max_recv_dtos = 0;
	CREATE_IS(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	attr.max_recv_dtos = ia_attr.max_recv_per_srq + 1;
	CREATE_IS(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	attr = good;
	attr.max_recv_iov = 0;
	CREATE_IS(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	attr.max_recv_iov = INT_MAX;
	CREATE_IS(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	attr = good;
	attr.low_watermark = SRQ_MAX + 1;
	CREATE_IS(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	attr.low_watermark = -1;
	CREATE_IS(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_srq_create(srq_pair.ia, srq_pair.b.pz, NULL, &other));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4,
		  dat_srq_create(srq_pair.ia, srq_pair.b.pz, &good, NULL));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
		  dat_srq_create(srq_pair.b.pz, srq_pair.b.pz, &good, &other));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ,
		  dat_srq_create(srq_pair.ia, srq, &good, &other));

	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_srq_query(srq, DAT_SRQ_FIELD_ALL + 1, &param));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_srq_query(srq, DAT_SRQ_FIELD_ALL, NULL));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_srq_set_lw(srq, SRQ_MAX + 1));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_srq_set_lw(srq, -1));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_srq_resize(srq, 0));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_srq_resize(srq, ia_attr.max_recv_per_srq + 1));

	seg[0] = ksegment(&srq_in, 0, 8);
	seg[1] = seg[0];
	seg[2] = seg[0];
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_srq_post_recv(srq, 3, seg, c));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_srq_post_recv(srq, -1, seg, c));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_srq_post_recv(srq, 1, NULL, c));
	seg[0] = ksegment(&srq_in, srq_in.len - 7, 8);
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_srq_post_recv(srq, 1, seg, c));
	seg[0] = ksegment(&srq_out, 0, 8);
	CHECK_RET(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE,
		  dat_srq_post_recv(srq, 1, seg, c));
	return srq_counts(0, 0);
}

static bool bad_handles(DAT_SRQ_HANDLE bad)
{
	DAT_DTO_COOKIE c = {};
	DAT_EP_ATTR attr = {};
	DAT_SRQ_PARAM param;
	DAT_EP_HANDLE ep;

#define IS_BAD(call) \
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ, call)

	IS_BAD(dat_srq_free(bad));
	IS_BAD(dat_srq_query(bad, DAT_SRQ_FIELD_ALL, &param));
	IS_BAD(dat_srq_resize(bad, 10));
	IS_BAD(dat_srq_set_lw(bad, 1));
	IS_BAD(dat_srq_post_recv(bad, 0, NULL, c));
	IS_BAD(dat_ep_create_with_srq(srq_pair.ia, srq_pair.b.pz,
				      DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				      DAT_HANDLE_NULL, bad, &attr, &ep));
	return true;
}

static bool srq_bad_handles(void)
{
	DAT_SRQ_ATTR attr = { 1, 1, 0 };
	DAT_SRQ_HANDLE freed;
	DAT_COUNT num;

	CHECK_EQ(DAT_SUCCESS, dat_srq_create(srq_pair.ia, srq_pair.b.pz, &attr,
					     &freed));
	CHECK_EQ(DAT_SUCCESS, dat_srq_free(freed));
	CHECK(bad_handles(freed));
	CHECK(bad_handles(DAT_HANDLE_NULL));
	CHECK(bad_handles((DAT_HANDLE)0x1234567));
	CHECK(bad_handles((DAT_HANDLE)((uintptr_t)srq + (1UL << 40))));
	CHECK(bad_handles(srq_pair.b.pz));
	CHECK(bad_handles(srq_pair.a.ep));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_recv_query(srq, &num, &num));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_set_watermark(srq, 1, 1));
	return true;
}

static bool ep_with_srq_bad_parameters(void)
{
	struct kpair *p = &srq_pair;
	DAT_EP_ATTR attr = {};
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;

	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7,
		  dat_ep_create_with_srq(p->ia, p->b.pz, DAT_HANDLE_NULL,
					 DAT_HANDLE_NULL, DAT_HANDLE_NULL, srq,
					 NULL, &ep));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8,
		  dat_ep_create_with_srq(p->ia, p->b.pz, DAT_HANDLE_NULL,
					 DAT_HANDLE_NULL, DAT_HANDLE_NULL, srq,
					 &attr, NULL));
	attr.max_request_dtos = -1;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7,
		  dat_ep_create_with_srq(p->ia, p->b.pz, DAT_HANDLE_NULL,
					 DAT_HANDLE_NULL, DAT_HANDLE_NULL, srq,
					 &attr, &ep));
	attr.max_request_dtos = 0;
	attr.srq_soft_hw = -3;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7,
		  dat_ep_create_with_srq(p->ia, p->b.pz, DAT_HANDLE_NULL,
					 DAT_HANDLE_NULL, DAT_HANDLE_NULL, srq,
					 &attr, &ep));
	/* An EP of another PZ is accepted only if the provider reports support. */
	attr.srq_soft_hw = 0;
	ret = dat_ep_create_with_srq(p->ia, p->a.pz, DAT_HANDLE_NULL,
				     DAT_HANDLE_NULL, DAT_HANDLE_NULL, srq,
				     &attr, &ep);
	if (provider.srq_ep_pz_difference_supported) {
		CHECK_EQ(DAT_SUCCESS, ret);
		CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep));
	} else {
		CHECK_EQ(DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			 ret);
	}
	return true;
}

static bool post_recv_ep_with_srq(void)
{
	DAT_COUNT num = 77, span = 77;

	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE,
		  kpost_recv(srq_links[0].b, &srq_in, 0, 64, 1));
	CHECK_EQ(DAT_SUCCESS, dat_ep_recv_query(srq_links[0].b, &num, &span));
	CHECK_EQ(DAT_VALUE_UNKNOWN, num);
	CHECK_EQ(DAT_VALUE_UNKNOWN, span);
	/* An EP without SRQ counts its own receives. */
	CHECK_EQ(DAT_SUCCESS, kpost_recv(srq_pair.a.ep, &srq_out, 0, 64, 0xaa));
	CHECK_EQ(DAT_SUCCESS, dat_ep_recv_query(srq_pair.a.ep, &num, NULL));
	CHECK_EQ(1, num);
	CHECK_EQ(DAT_SUCCESS, dat_ep_recv_query(srq_pair.a.ep, NULL, &span));
	CHECK_EQ(1, span);
	return true;
}

static bool srq_free_in_use(void)
{
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE,
		  dat_srq_free(srq));
	CHECK_RET(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE,
		  dat_pz_free(srq_pair.b.pz));
	return true;
}

/* The example in the manual page of dat_srq_query(). */
static bool srq_query_counts(void)
{
	u64 cookie;
	u32 word;
	int i;

	for (i = 0; i < 3; i++)
		CHECK_EQ(DAT_SUCCESS, srq_post(i));
	CHECK(srq_counts(3, 3));
	CHECK(srq_send(0, 42));
	CHECK(srq_counts(2, 3));
	CHECK(srq_receive(0, &word, &cookie));
	CHECK_EQ(42, word);
	CHECK(srq_counts(2, 2));
	CHECK(srq_send(2, 43));
	CHECK(srq_send(1, 44));
	CHECK(srq_counts(0, 2));
	CHECK(srq_receive(2, &word, &cookie));
	CHECK_EQ(43, word);
	CHECK(srq_receive(1, &word, &cookie));
	CHECK_EQ(44, word);
	return srq_counts(0, 0);
}

/* In any order, each buffer is used once, by the EP that the event names. */
static bool srq_buffers_shared_by_eps(void)
{
	bool posted[SRQ_MAX];
	int i, n, link;
	u64 cookie;
	u32 word;

	for (i = 0; i < SRQ_MAX; i++) {
		CHECK_EQ(DAT_SUCCESS, srq_post(i));
		posted[i] = true;
	}
	CHECK_RET(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ, srq_post(0));
	for (n = 0; n < 100; n++) {
		/*
		 * Dequeue in another order than the messages were sent. EPs that share an EVD
		 * have no order among them.
		 */
		for (i = 0; i < SRQ_LINKS; i++)
			CHECK(srq_send(i, 1000 * n + i));
		for (i = SRQ_LINKS - 1; i >= 0; i--) {
			CHECK(receive_any(i, &link, &word, &cookie));
			CHECK_EQ(1000 * n + link, word);
			CHECK(cookie < SRQ_MAX && posted[cookie]);
			posted[cookie] = false;
		}
		for (i = 0; i < SRQ_MAX; i++)
			if (!posted[i]) {
				CHECK_EQ(DAT_SUCCESS, srq_post(i));
				posted[i] = true;
			}
	}
	for (i = 0; i < SRQ_MAX; i++) {
		CHECK(srq_send(i % SRQ_LINKS, i));
		CHECK(srq_receive(i % SRQ_LINKS, &word, &cookie));
		CHECK(cookie < SRQ_MAX && posted[cookie]);
		posted[cookie] = false;
	}
	return srq_counts(0, 0);
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(ia_srq_attributes),
	TEST(srq_query_parameters),
	TEST(srq_bad_parameters),
	TEST(srq_bad_handles),
	TEST(ep_with_srq_bad_parameters),
	TEST(post_recv_ep_with_srq),
	TEST(srq_free_in_use),
	TEST(srq_query_counts),
	TEST(srq_buffers_shared_by_eps),
	TEST(srq_segments_filled_in_order),
	TEST(srq_zero_length_message),
	TEST(srq_opaque_cookies),
	TEST(srq_post_read_only_memory),
	TEST(srq_send_waits_for_buffer),
	TEST(srq_query_single_fields),
	TEST(srq_failed_resize_no_effect),
	TEST(srq_create_low_watermark_event),
	TEST(freed_srq_handle_not_reused),
	TEST(srq_recv_notifies_unsignalled_ep),
	TEST(srq_resize_shrink_and_grow),
	TEST(srq_low_watermark_fires_once),
	TEST(srq_high_watermarks),
	TEST(ep_high_watermarks),
	TEST(ep_reset_keeps_srq),
	TEST(ep_modify_keeps_srq),
	TEST(ep_modify_keeps_watermark),
	TEST(ep_free_keeps_srq_buffers),
	TEST(srq_disconnect_mid_message),
	TEST(srq_post_in_upcall),
	TEST(ia_abrupt_close_frees_srq),
};

static bool setup(void)
{
	DAT_SRQ_ATTR attr = { SRQ_MAX, 2, DAT_SRQ_LW_DEFAULT };
	int i;

	CHECK(kpair_open(&srq_pair));
	CHECK(kregion_open(&srq_pair, srq_pair.a.pz, &srq_out, SRQ_LONG,
			   DAT_MEM_PRIV_ALL_FLAG));
	CHECK(kregion_open(&srq_pair, srq_pair.b.pz, &srq_in, SRQ_LONG,
			   DAT_MEM_PRIV_ALL_FLAG));
	CHECK_EQ(DAT_SUCCESS, dat_srq_create(srq_pair.ia, srq_pair.b.pz, &attr,
					     &srq));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(srq_pair.ia, 256, DAT_UPCALL_DISABLE, NULL,
				 DAT_EVD_DTO_FLAG, &srq_links[2].evd));
	for (i = 0; i < SRQ_LINKS; i++)
		CHECK(srq_link_open(i));
	return true;
}

static int __init srq_test_init(void)
{
	int ret = report_open("kdapl_srq_test");

	if (ret)
		return ret;
	if (setup())
		report_run("kdapl_srq_test", tests, ARRAY_SIZE(tests));
	else
		report("not ok 1 kdapl_srq_test.setup\n");
	kpair_close(&srq_pair);
	kregion_close(&srq_out);
	kregion_close(&srq_in);
	return 0;
}

static void __exit srq_test_exit(void)
{
	report_close();
}

module_init(srq_test_init);
module_exit(srq_test_exit);
MODULE_DESCRIPTION("Tests shared receive queues of in-kernel consumers");
MODULE_LICENSE("Dual BSD/GPL");
