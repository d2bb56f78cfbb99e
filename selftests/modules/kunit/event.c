// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * event.c - translation of events for the ring of a process
 */
#include <kunit/test.h>

#include "fake.h"

#include "../../../chardev/event.c"

static struct dat_file file;
static struct dat_uevd *evd;
static DAT_EVENT kevent;
/* Its address is the kernel's handle, its value the process's handle. */
static DAT_CONTEXT khandle;

static int event_test_init(struct kunit *test)
{
	int ret;

	fake_reset();
	memset(&file, 0, sizeof(file));
	memset(&kevent, 0, sizeof(kevent));
	xa_init_flags(&file.objects, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
	khandle.as_64 = 4711;
	evd = dat_uevd_alloc(&file, NULL, 2, &ret);
	return evd ? 0 : ret;
}

static void event_test_exit(struct kunit *test)
{
	unsigned long index = 0;

	dat_uobj_remove_all(&file, NULL);
	dat_uobj_put(&evd->uobj);
	KUNIT_EXPECT_NULL(test, xa_find(&file.objects, &index, ULONG_MAX,
					XA_PRESENT));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&file.num_objects));
	xa_destroy(&file.objects);
}

/* Delivers the event and returns it as the process sees it. */
static const struct dat_dev_event *deliver(DAT_EVENT_NUMBER number)
{
	kevent.event_number = number;
	dat_uevd_upcall(evd, &kevent, DAT_FALSE);
	return &evd->ring->mem->events[evd->ring->mem->head++ &
				       (evd->ring->entries - 1)];
}

static void dto_event_fields(struct kunit *test)
{
	DAT_DTO_COMPLETION_EVENT_DATA *data =
		&kevent.event_data.dto_completion_event_data;
	const struct dat_dev_event *event;

	data->ep_handle = &khandle;
	data->user_cookie.as_64 = U64_MAX - 1;
	data->status = DAT_DTO_ERR_REMOTE_ACCESS;
	data->transfered_length = U32_MAX;
	data->operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
	data->rmr_context = 0xfedcba98;
	event = deliver(DAT_DTO_COMPLETION_EVENT);
	KUNIT_EXPECT_EQ(test, DAT_DTO_COMPLETION_EVENT, event->number);
	KUNIT_EXPECT_EQ(test, 4711, event->handle);
	KUNIT_EXPECT_EQ(test, U64_MAX - 1, event->cookie);
	KUNIT_EXPECT_EQ(test, DAT_DTO_ERR_REMOTE_ACCESS, event->status);
	KUNIT_EXPECT_EQ(test, U32_MAX, event->length);
	KUNIT_EXPECT_EQ(test, DAT_DTO_RECEIVE_WITH_INVALIDATE,
			event->operation);
	KUNIT_EXPECT_EQ(test, 0xfedcba98, event->rmr_context);
}

static void bind_event_fields(struct kunit *test)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *data =
		&kevent.event_data.rmr_completion_event_data;
	const struct dat_dev_event *event;

	data->rmr_handle = &khandle;
	data->user_cookie.as_64 = 5;
	data->status = DAT_RMR_OPERATION_FAILED;
	event = deliver(DAT_RMR_BIND_COMPLETION_EVENT);
	KUNIT_EXPECT_EQ(test, DAT_RMR_BIND_COMPLETION_EVENT, event->number);
	KUNIT_EXPECT_EQ(test, 4711, event->handle);
	KUNIT_EXPECT_EQ(test, 5, event->cookie);
	KUNIT_EXPECT_EQ(test, DAT_RMR_OPERATION_FAILED, event->status);
}

static void async_error_event_fields(struct kunit *test)
{
	static const DAT_EVENT_NUMBER numbers[] = {
		DAT_ASYNC_ERROR_EVD_OVERFLOW,
		DAT_ASYNC_ERROR_IA_CATASTROPHIC,
		DAT_ASYNC_ERROR_EP_BROKEN,
		DAT_ASYNC_ERROR_TIMED_OUT,
		DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
	};
	DAT_ASYNCH_ERROR_EVENT_DATA *data =
		&kevent.event_data.asynch_error_event_data;
	const struct dat_dev_event *event;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		data->dat_handle = &khandle;
		data->reason = 30 + i;
		event = deliver(numbers[i]);
		KUNIT_EXPECT_EQ(test, numbers[i], event->number);
		KUNIT_EXPECT_EQ(test, 4711, event->handle);
		KUNIT_EXPECT_EQ(test, 30 + i, event->status);
	}
	/* The object may have been freed. */
	data->dat_handle = DAT_HANDLE_NULL;
	event = deliver(DAT_ASYNC_ERROR_EP_BROKEN);
	KUNIT_EXPECT_EQ(test, 0, event->handle);
}

static void private_data_truncated(struct kunit *test)
{
	static u8 bytes[DAT_DEV_PRIVATE_DATA_MAX + 1];
	static const u32 sizes[][2] = {
		{ 1, 1 },
		{ DAT_DEV_PRIVATE_DATA_MAX, DAT_DEV_PRIVATE_DATA_MAX },
		{ DAT_DEV_PRIVATE_DATA_MAX + 1, DAT_DEV_PRIVATE_DATA_MAX },
	};
	DAT_CONNECTION_EVENT_DATA *data = &kevent.event_data.connect_event_data;
	const struct dat_dev_event *event;
	struct dat_uep *ep;
	unsigned int i;

	ep = dat_uobj_alloc(&file, sizeof(*ep), DAT_HANDLE_TYPE_EP, NULL,
			    GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ep);
	spin_lock_init(&ep->lock);
	KUNIT_ASSERT_EQ(test, 0, dat_uobj_reserve(&ep->uobj, GFP_KERNEL));
	dat_uobj_publish(&ep->uobj, &khandle);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(bytes, 'a' + i, sizeof(bytes));
		data->ep_handle = &khandle;
		data->private_data = bytes;
		data->private_data_size = sizes[i][0];
		event = deliver(DAT_CONNECTION_EVENT_ESTABLISHED);
		KUNIT_EXPECT_EQ(test, ep->uobj.handle, event->handle);
		KUNIT_EXPECT_EQ(test, sizes[i][1], event->length);
		KUNIT_EXPECT_EQ(test, sizes[i][1], ep->private_data_len);
		KUNIT_EXPECT_EQ(test, 0, memcmp(ep->private_data, bytes,
						sizes[i][1]));
	}
}

/* The event contains the new handle of the request. */
static void cr_event_handle(struct kunit *test)
{
	DAT_CR_ARRIVAL_EVENT_DATA *data =
		&kevent.event_data.cr_arrival_event_data;
	const struct dat_dev_event *event;
	struct dat_uobj *cr;

	fake.sp = 23;
	data->conn_qual = 7000;
	data->cr_handle = &khandle;
	data->truncate_flag = DAT_TRUE;
	event = deliver(DAT_CONNECTION_REQUEST_EVENT);
	KUNIT_EXPECT_EQ(test, 23, event->handle);
	KUNIT_EXPECT_EQ(test, 7000, event->cookie);
	KUNIT_EXPECT_EQ(test, DAT_DEV_EVENT_TRUNCATED, event->flags);
	KUNIT_EXPECT_EQ(test, event->cr, khandle.as_64);
	cr = dat_uobj_get(&file, event->cr, DAT_HANDLE_TYPE_CR);
	KUNIT_EXPECT_NOT_NULL(test, cr);
	if (cr)
		dat_uobj_put(cr);
	/* The service point may have been freed. */
	fake.sp = 0;
	event = deliver(DAT_CONNECTION_REQUEST_EVENT);
	KUNIT_EXPECT_EQ(test, 0, event->handle);
}

/* The kernel has created the EP: the request reports its handle to the process. */
static void cr_event_provider_ep(struct kunit *test)
{
	DAT_CONTEXT ep = { .as_64 = 0 };
	struct dat_uobj *cr;

	kevent.event_data.cr_arrival_event_data.cr_handle = &khandle;
	fake.local_ep = &ep;
	fake.published_ep = 99;
	cr = dat_uobj_get(&file, deliver(DAT_CONNECTION_REQUEST_EVENT)->cr,
			  DAT_HANDLE_TYPE_CR);
	KUNIT_ASSERT_NOT_NULL(test, cr);
	KUNIT_EXPECT_EQ(test, 99, to_ucr(cr)->ep);
	dat_uobj_put(cr);
	/* An EP that the process has created has a handle. */
	ep.as_64 = 5;
	cr = dat_uobj_get(&file, deliver(DAT_CONNECTION_REQUEST_EVENT)->cr,
			  DAT_HANDLE_TYPE_CR);
	KUNIT_ASSERT_NOT_NULL(test, cr);
	KUNIT_EXPECT_EQ(test, 0, to_ucr(cr)->ep);
	dat_uobj_put(cr);
}

static void cr_ep_without_handle_rejected(struct kunit *test)
{
	DAT_CONTEXT ep = { .as_64 = 0 };

	kevent.event_number = DAT_CONNECTION_REQUEST_EVENT;
	kevent.event_data.cr_arrival_event_data.cr_handle = &khandle;
	fake.local_ep = &ep;
	dat_uevd_upcall(evd, &kevent, DAT_FALSE);
	KUNIT_EXPECT_EQ(test, 1, fake.rejects);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&file.num_objects));
}

/* Otherwise the peer would wait for an answer that cannot come. */
static void cr_ring_full_rejected(struct kunit *test)
{
	unsigned int i;

	kevent.event_number = DAT_CONNECTION_REQUEST_EVENT;
	kevent.event_data.cr_arrival_event_data.cr_handle = &khandle;
	for (i = 0; i < 3; i++)
		dat_uevd_upcall(evd, &kevent, DAT_FALSE);
	KUNIT_EXPECT_EQ(test, 1, fake.rejects);
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&file.num_objects));
}

static struct kunit_case event_cases[] = {
	KUNIT_CASE(dto_event_fields),
	KUNIT_CASE(bind_event_fields),
	KUNIT_CASE(async_error_event_fields),
	KUNIT_CASE(private_data_truncated),
	KUNIT_CASE(cr_event_handle),
	KUNIT_CASE(cr_event_provider_ep),
	KUNIT_CASE(cr_ep_without_handle_rejected),
	KUNIT_CASE(cr_ring_full_rejected),
	{}
};

static struct kunit_suite event_suite = {
	.name = "kdapl_event",
	.init = event_test_init,
	.exit = event_test_exit,
	.test_cases = event_cases,
};

kunit_test_suite(event_suite);
