// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * eq.c - an event queue is an EVD for connections, and one for connection requests
 *
 * Peers can fill the second one, and the first one keeps its room for what the endpoints cause.
 */
#include <stdlib.h>
#include <string.h>

#include "kfi.h"

/* Connection requests that a program has not read yet; more of them are rejected. */
#define MAX_REQUESTS	64

/**
 * kfi_private_data - take what the peer's program has sent out of private data
 * @to: out: KFI_MAX_PRIVATE bytes
 * @data: the private data
 * @size: its bytes; a transport may have added zeroes
 *
 * The first byte is the number of bytes that follow, as with libfabric's provider for verbs.
 *
 * Return: bytes in @to.
 */
size_t kfi_private_data(uint8_t *to, const void *data, DAT_COUNT size)
{
	const uint8_t *from = data;
	size_t len;

	if (!data || size < 1)
		return 0;
	len = from[0];
	if (len > (size_t)size - 1)
		len = (size_t)size - 1;
	if (len > KFI_MAX_PRIVATE)
		len = KFI_MAX_PRIVATE;
	memcpy(to, from + 1, len);
	return len;
}

static struct kfi_event *event_alloc(fid_t fid, uint32_t type)
{
	struct kfi_event *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->type = type;
	e->fid = fid;
	e->size = sizeof(e->entry);
	e->entry.fid = fid;
	return e;
}

/* The error of an attempt to connect; 0 if the connection was established or has ended. */
static int connection_errno(DAT_EVENT_NUMBER number, bool established)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return FI_ECONNREFUSED;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return FI_ETIMEDOUT;
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return FI_EHOSTUNREACH;
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return FI_ECONNABORTED;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
		return established ? 0 : FI_ECONNABORTED;
	default:
		return 0;
	}
}

/* NULL for an endpoint that was closed, and without memory. */
static struct kfi_event *connection_event(DAT_EVENT_NUMBER number,
					  const DAT_CONNECTION_EVENT_DATA *data)
{
	struct kfi_event *e;
	DAT_CONTEXT context;
	struct kfi_ep *ep;

	if (dat_get_consumer_context(data->ep_handle, &context) != DAT_SUCCESS ||
	    !context.as_ptr)
		return NULL;
	ep = context.as_ptr;
	e = event_alloc(&ep->fid.fid, FI_SHUTDOWN);
	if (!e)
		return NULL;
	e->err = connection_errno(number, ep->established);
	e->prov_errno = (int)number;
	if (number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		e->type = FI_CONNECTED;
		ep->established = true;
	}
	e->size += kfi_private_data(e->data, data->private_data, data->private_data_size);
	return e;
}

/* Translates the next event of the EVDs; NULL if there is none. */
static struct kfi_event *take(struct kfi_eq *eq)
{
	struct kfi_event *e = NULL;
	DAT_EVENT event;

	while (!e && dat_evd_dequeue(eq->queue.evd, &event) == DAT_SUCCESS)
		e = connection_event(event.event_number, &event.event_data.connect_event_data);
	while (!e && eq->requests && dat_evd_dequeue(eq->requests, &event) == DAT_SUCCESS)
		e = kfi_connection_request(&event.event_data.cr_arrival_event_data);
	return e;
}

/* Adds an event that is in no EVD. */
static void add(struct kfi_eq *eq, struct kfi_event *e)
{
	struct kfi_event **tail;

	pthread_mutex_lock(&eq->queue.lock);
	for (tail = &eq->events; *tail;)
		tail = &(*tail)->next;
	*tail = e;
	kfi_queue_flag(&eq->queue);
	pthread_mutex_unlock(&eq->queue.lock);
}

/* The next event, locked; NULL without. */
static struct kfi_event *peek(struct kfi_eq *eq)
{
	if (!eq->events)
		eq->events = take(eq);
	return eq->events;
}

static void pop(struct kfi_eq *eq)
{
	struct kfi_event *e = eq->events;

	eq->events = e->next;
	free(e);
	if (!eq->events)
		kfi_queue_unflag(&eq->queue);
}

/* Unlocks the EQ. Other threads that wait may have what this one leaves. */
static void leave(struct kfi_eq *eq)
{
	kfi_queue_leave(&eq->queue, eq->events);
	pthread_mutex_unlock(&eq->queue.lock);
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *type, void *buf, size_t len, uint64_t flags)
{
	struct kfi_eq *eq = kfi_container(fid, struct kfi_eq, fid);
	ssize_t size = -FI_EAGAIN;
	struct kfi_event *e;

	pthread_mutex_lock(&eq->queue.lock);
	e = peek(eq);
	if (!e)
		goto unlock;
	size = -FI_EAVAIL;
	if (e->err)
		goto unlock;
	size = -FI_ETOOSMALL;
	if (len < (e->written ? e->size : sizeof(e->entry)))
		goto unlock;
	/* Private data may be cut. */
	size = (ssize_t)(e->size < len ? e->size : len);
	*type = e->type;
	if (e->written) {
		memcpy(buf, e->data, (size_t)size);
	} else {
		memcpy(buf, &e->entry, sizeof(e->entry));
		memcpy((char *)buf + sizeof(e->entry), e->data, (size_t)size - sizeof(e->entry));
	}
	if (!(flags & FI_PEEK))
		pop(eq);
unlock:
	leave(eq);
	return size;
}

/* See fi_eq(3): a program may have a buffer of its own for the data. */
static void fill_err_data(struct kfi_eq *eq, struct fi_eq_err_entry *entry, const uint8_t *data,
			  size_t len)
{
	bool has_buffer = entry->err_data_size &&
			  FI_VERSION_GE(eq->fabric->fid.api_version, FI_VERSION(1, 5));

	if (!has_buffer)
		entry->err_data = len ? eq->err_data : NULL;
	else if (len > entry->err_data_size)
		len = entry->err_data_size;
	if (len)
		memcpy(entry->err_data, data, len);
	entry->err_data_size = len;
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *entry, uint64_t flags)
{
	struct kfi_eq *eq = kfi_container(fid, struct kfi_eq, fid);
	ssize_t size = -FI_EAGAIN;
	struct kfi_event *e;

	pthread_mutex_lock(&eq->queue.lock);
	e = peek(eq);
	if (e && e->err) {
		entry->fid = e->fid;
		entry->context = e->fid->context;
		entry->data = 0;
		entry->err = e->err;
		entry->prov_errno = e->prov_errno;
		fill_err_data(eq, entry, e->data, e->size - sizeof(e->entry));
		if (!(flags & FI_PEEK))
			pop(eq);
		size = sizeof(*entry);
	}
	leave(eq);
	return size;
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t type, const void *buf, size_t len,
			uint64_t flags)
{
	struct kfi_eq *eq = kfi_container(fid, struct kfi_eq, fid);
	struct kfi_event *e;

	if (flags)
		return -FI_EBADFLAGS;
	if (len > KFI_MAX_PRIVATE)
		return -FI_EINVAL;
	e = event_alloc(NULL, type);
	if (!e)
		return -FI_ENOMEM;
	e->size = len;
	e->written = true;
	memcpy(e->data, buf, len);
	add(eq, e);
	return (ssize_t)len;
}

/**
 * kfi_eq_fail - add the event of an attempt to connect that failed at once
 * @eq: the EQ
 * @fid: the endpoint
 * @err: why, of fi_errno(3)
 *
 * Return: 0, -FI_ENOMEM.
 */
int kfi_eq_fail(struct kfi_eq *eq, fid_t fid, int err)
{
	struct kfi_event *e = event_alloc(fid, FI_SHUTDOWN);

	if (!e)
		return -FI_ENOMEM;
	e->err = err;
	if (err == FI_EHOSTUNREACH)
		e->prov_errno = (int)DAT_CONNECTION_EVENT_UNREACHABLE;
	add(eq, e);
	return 0;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *type, void *buf, size_t len, int timeout,
			uint64_t flags)
{
	struct kfi_eq *eq = kfi_container(fid, struct kfi_eq, fid);
	int64_t deadline = kfi_deadline(timeout);
	ssize_t size;
	int ret;

	if (eq->queue.fd < 0)
		return -FI_ENOSYS;
	kfi_get(&eq->queue.waiters);
	do {
		size = eq_read(fid, type, buf, len, flags);
		/* An event may belong to a closed endpoint. */
		ret = size == -FI_EAGAIN ? kfi_queue_wait(&eq->queue, deadline) : 1;
	} while (!ret);
	kfi_put(&eq->queue.waiters);
	return ret < 0 ? ret : size;
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno, const void *err_data,
			       char *buf, size_t len)
{
	const char *text;

	switch (prov_errno) {
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		text = "the peer's program has rejected the connection";
		break;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		text = "nobody listens there";
		break;
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		text = "no answer of the peer";
		break;
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		text = "no path to this address";
		break;
	default:
		text = "the connection has ended while it was set up";
		break;
	}
	return kfi_text(text, buf, len);
}

/**
 * kfi_eq_listen - make sure that there is an EVD for connection requests
 * @eq: the EQ, locked
 *
 * Return: 0 or an error.
 */
int kfi_eq_listen(struct kfi_eq *eq)
{
	int ret;

	if (eq->requests)
		return 0;
	ret = kfi_failed("dat_evd_create",
			 dat_evd_create(eq->fabric->ia, MAX_REQUESTS, DAT_HANDLE_NULL,
					DAT_EVD_CR_FLAG, &eq->requests));
	if (!ret) {
		ret = kfi_queue_add_evd(&eq->queue, eq->requests, &eq->requests_fd);
		if (ret)
			dat_evd_free(eq->requests);
	}
	if (ret)
		eq->requests = DAT_HANDLE_NULL;
	return ret;
}

/**
 * kfi_eq_is_empty - test whether the descriptor of an EQ may be waited for
 * @eq: the EQ
 *
 * Return: true if no event was taken out of the EVDs or can be.
 */
bool kfi_eq_is_empty(struct kfi_eq *eq)
{
	bool is_empty;

	pthread_mutex_lock(&eq->queue.lock);
	is_empty = !peek(eq);
	if (is_empty)
		kfi_queue_may_poll(&eq->queue);
	leave(eq);
	return is_empty;
}

/**
 * kfi_eq_forget - drop the events of an object that is closed
 * @eq: the EQ
 * @fid: the object
 */
void kfi_eq_forget(struct kfi_eq *eq, fid_t fid)
{
	struct kfi_event **link, *e;

	pthread_mutex_lock(&eq->queue.lock);
	/* Events that are still in an EVD name a handle that is no longer valid. */
	for (link = &eq->events; (e = *link);) {
		if (e->fid != fid) {
			link = &e->next;
			continue;
		}
		*link = e->next;
		fi_freeinfo(e->entry.info);
		free(e);
	}
	if (!eq->events)
		kfi_queue_unflag(&eq->queue);
	pthread_mutex_unlock(&eq->queue.lock);
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct kfi_queue *queue = &kfi_container(fid, struct kfi_eq, fid.fid)->queue;

	return kfi_wait_control(queue->wait_obj, queue->fd, command, arg);
}

static int eq_close(struct fid *fid)
{
	struct kfi_eq *eq = kfi_container(fid, struct kfi_eq, fid.fid);

	if (kfi_is_used(&eq->queue.refs))
		return -FI_EBUSY;
	while (peek(eq)) {
		fi_freeinfo(eq->events->entry.info);
		pop(eq);
	}
	kfi_close_fd(eq->requests_fd);
	if (eq->requests)
		dat_evd_free(eq->requests);
	kfi_queue_close(&eq->queue);
	kfi_put(&eq->fabric->refs);
	free(eq);
	return 0;
}

static struct fi_ops eq_fi_ops = {
	.size = sizeof(eq_fi_ops),
	.close = eq_close,
	.bind = kfi_no_bind,
	.control = eq_control,
	.ops_open = kfi_no_ops_open,
};

static struct fi_ops_eq eq_ops = {
	.size = sizeof(eq_ops),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

/**
 * kfi_eq_open - see fi_eq(3)
 * @fabric: its fabric
 * @attr: wait object; the size is a hint
 * @eq: out
 * @context: of the program
 *
 * Return: 0, -FI_ENOSYS for what the provider does not have, -FI_ENOMEM, another error.
 */
int kfi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		void *context)
{
	struct kfi_fabric *f = kfi_container(fabric, struct kfi_fabric, fid);
	struct kfi_eq *e;
	int ret;

	e = calloc(1, sizeof(*e));
	if (!e)
		return -FI_ENOMEM;
	ret = kfi_queue_open(&e->queue, f->ia, 0, DAT_EVD_CONNECTION_FLAG, attr->wait_obj);
	if (ret) {
		free(e);
		return ret;
	}
	e->fabric = f;
	e->requests_fd = -1;
	e->fid.fid.fclass = FI_CLASS_EQ;
	e->fid.fid.context = context;
	e->fid.fid.ops = &eq_fi_ops;
	e->fid.ops = &eq_ops;
	kfi_get(&f->refs);
	*eq = &e->fid;
	return 0;
}
