// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * pair.c - two connected EPs in one process, for tests
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "pair.h"

#define QLEN	256

/**
 * ia_name - the IA to test: environment variable DAT_TEST_IA, or rxe0
 */
const char *ia_name(void)
{
	return getenv("DAT_TEST_IA") ?: "rxe0";
}

/**
 * dat_str - a DAT_RETURN as text, in a buffer that the next call overwrites
 * @ret: the value
 */
const char *dat_str(DAT_RETURN ret)
{
	static char buf[128];
	const char *major, *minor;

	if (dat_strerror(ret, &major, &minor))
		snprintf(buf, sizeof(buf), "%#x", ret);
	else
		snprintf(buf, sizeof(buf), "%s %s", major, minor);
	return buf;
}

/**
 * library_fd - the file that the library has opened
 *
 * Return: its descriptor, or -1.
 */
int library_fd(void)
{
	char path[32], target[32];
	ssize_t len;
	int fd;

	for (fd = 3; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, target, sizeof(target) - 1);
		if (len < 0)
			continue;
		target[len] = '\0';
		if (!strcmp(target, "/dev/dat"))
			return fd;
	}
	return -1;
}

#define PORT_RANGE	"/proc/sys/net/ipv4/ip_local_port_range"

/**
 * read_ports - the ports that are given to whoever does not care, as text
 * @range: the buffer
 * @size: its size
 *
 * Return: bytes of @range, or less than 1.
 */
ssize_t read_ports(char *range, size_t size)
{
	int fd = open(PORT_RANGE, O_RDONLY);
	ssize_t len = fd < 0 ? -1 : read(fd, range, size - 1);

	close(fd);
	range[len > 0 ? len : 0] = '\0';
	return len;
}

/**
 * write_ports - set what read_ports() reads
 * @range: first and last
 *
 * Return: bytes written, or less than 1.
 */
ssize_t write_ports(const char *range)
{
	int fd = open(PORT_RANGE, O_WRONLY);
	ssize_t len = fd < 0 ? -1 : write(fd, range, strlen(range));

	close(fd);
	return len;
}

/*
 * With KDAPL_MANY_CQS in the environment the EPs of a pair use the third CQ of their EVD: the first
 * has room for one of these EPs, the second for the two others.
 */
static DAT_RETURN fill_cqs(struct pair *pair, struct side *side)
{
	struct side more = *side;
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;
	unsigned int i;

	if (!getenv("KDAPL_MANY_CQS"))
		return DAT_SUCCESS;
	/* Tests that free the others find them unused. */
	ret = dat_pz_create(pair->ia, &more.pz) ?:
	      dat_evd_create(pair->ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			     &more.conn_evd);
	for (i = 0; i < 3 && !ret; i++)
		ret = ep_like(pair, &more, &ep);
	return ret;
}

/**
 * side_open - make PZ, EVDs and EP of a side
 * @pair: whose IA to use
 * @side: to be filled in
 */
DAT_RETURN side_open(struct pair *pair, struct side *side)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
		.max_recv_dtos = 64,
		.max_request_dtos = 64,
		.max_recv_iov = 4,
		.max_request_iov = 4,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
	};
	DAT_IA_ATTR ia_attr;
	DAT_RETURN ret;

	ret = dat_ia_query(pair->ia, NULL, DAT_IA_FIELD_ALL, &ia_attr, 0, NULL);
	if (!ret && attr.max_request_iov > ia_attr.max_iov_segments_per_dto)
		attr.max_request_iov = ia_attr.max_iov_segments_per_dto;
	if (!ret)
		ret = dat_pz_create(pair->ia, &side->pz);
	if (!ret)
		ret = dat_evd_create(pair->ia, QLEN, DAT_HANDLE_NULL,
				     DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
				     &side->dto_evd);
	if (!ret)
		ret = dat_evd_create(pair->ia, 16, DAT_HANDLE_NULL,
				     DAT_EVD_CONNECTION_FLAG, &side->conn_evd);
	if (!ret)
		ret = fill_cqs(pair, side);
	if (!ret)
		ret = dat_ep_create(pair->ia, side->pz, side->dto_evd,
				    side->dto_evd, side->conn_evd, &attr,
				    &side->ep);
	return ret;
}

/**
 * pair_open - open the IA and both sides, not connected
 * @pair: to be filled in
 */
DAT_RETURN pair_open(struct pair *pair)
{
	static unsigned int next;
	DAT_RETURN ret;

	memset(pair, 0, sizeof(*pair));
	ret = dat_ia_open((char *)ia_name(), 8, &pair->async_evd, &pair->ia);
	if (!ret)
		ret = dat_evd_create(pair->ia, 8, DAT_HANDLE_NULL,
				     DAT_EVD_CR_FLAG, &pair->cr_evd);
	if (!ret)
		ret = side_open(pair, &pair->a);
	if (!ret)
		ret = side_open(pair, &pair->b);
	/*
	 * Tests run in processes of their own, side by side in time. No port is given
	 * to whoever does not care below 32768.
	 */
	pair->qual = 10000 + (getpid() * 7 + __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) %
		     12000;
	if (!ret)
		ret = dat_psp_create(pair->ia, pair->qual, pair->cr_evd,
				     DAT_PSP_CONSUMER_FLAG, &pair->psp);
	return ret;
}

/**
 * ia_address - query the address of an IA
 * @ia: the IA
 * @address: out; valid until the IA is closed
 */
DAT_RETURN ia_address(DAT_IA_HANDLE ia, DAT_IA_ADDRESS_PTR *address)
{
	DAT_IA_ATTR attr;
	DAT_RETURN ret;

	ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0,
			   NULL);
	if (!ret)
		*address = attr.ia_address_ptr;
	return ret;
}

/**
 * connect_to - ask for a connection, with nothing special about it
 * @pair: whose IA is at both ends
 * @ep: who asks
 * @qual: who is asked
 */
DAT_RETURN connect_to(struct pair *pair, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual)
{
	DAT_IA_ADDRESS_PTR address;

	return ia_address(pair->ia, &address) ?:
	       dat_ep_connect(ep, address, qual, DAT_TIMEOUT_INFINITE, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/**
 * pair_connect - connect the two sides
 * @pair: from pair_open()
 */
DAT_RETURN pair_connect(struct pair *pair)
{
	DAT_CR_HANDLE cr;
	DAT_RETURN ret;

	ret = connect_to(pair, pair->a.ep, pair->qual) ?: next_cr(pair, &cr);
	if (!ret)
		ret = dat_cr_accept(cr, pair->b.ep, 0, NULL);
	return ret ?: wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/**
 * pair_open_connected - pair_open() and pair_connect()
 * @pair: to be filled in
 */
DAT_RETURN pair_open_connected(struct pair *pair)
{
	return pair_open(pair) ?: pair_connect(pair);
}

/**
 * ep_like - another EP of a side, with its PZ and EVDs
 * @pair: the pair
 * @side: the side
 * @ep: out
 */
DAT_RETURN ep_like(struct pair *pair, struct side *side, DAT_EP_HANDLE *ep)
{
	return dat_ep_create(pair->ia, side->pz, side->dto_evd, side->dto_evd,
			     side->conn_evd, NULL, ep);
}

/**
 * pair_reconnect - new EPs after a broken connection, everything else as it was
 * @pair: the pair
 */
DAT_RETURN pair_reconnect(struct pair *pair)
{
	struct side *sides[] = { &pair->a, &pair->b };
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVENT event;
	unsigned int i;

	for (i = 0; i < 2 && !ret; i++) {
		DAT_EP_PARAM param;

		ret = dat_ep_query(sides[i]->ep, DAT_EP_FIELD_ALL, &param);
		dat_ep_free(sides[i]->ep);
		while (!dat_evd_dequeue(sides[i]->dto_evd, &event))
			;
		while (!dat_evd_dequeue(sides[i]->conn_evd, &event))
			;
		if (!ret)
			ret = dat_ep_create(pair->ia, sides[i]->pz,
					    sides[i]->dto_evd,
					    sides[i]->dto_evd,
					    sides[i]->conn_evd, &param.ep_attr,
					    &sides[i]->ep);
	}
	return ret ?: pair_connect(pair);
}

/**
 * pair_close - close the IA with all that was made on it
 * @pair: from pair_open(), even if that failed
 */
void pair_close(struct pair *pair)
{
	if (pair->ia)
		dat_ia_close(pair->ia, DAT_CLOSE_ABRUPT_FLAG);
	pair->ia = DAT_HANDLE_NULL;
}

/**
 * region_open - allocate zeroed memory and register it
 * @pair: whose IA to use
 * @pz: its PZ
 * @region: to be filled in
 * @len: bytes
 * @privileges: what for
 */
DAT_RETURN region_open(struct pair *pair, DAT_PZ_HANDLE pz,
		       struct region *region, size_t len,
		       DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION desc;
	DAT_VADDR address;
	DAT_VLEN size;

	region->len = len;
	region->buf = mmap(NULL, len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region->buf == MAP_FAILED)
		return DAT_INSUFFICIENT_RESOURCES;
	desc.for_va = region->buf;
	return dat_lmr_create(pair->ia, DAT_MEM_TYPE_VIRTUAL, desc, len, pz,
			      privileges, &region->lmr, &region->lmr_context,
			      &region->rmr_context, &size, &address);
}

/**
 * regions_open - region_open() for both sides of a pair
 * @pair: the pair
 * @a: region of side a, to be filled in
 * @b: region of side b, to be filled in
 * @len: bytes of each
 * @privileges: of both
 */
DAT_RETURN regions_open(struct pair *pair, struct region *a, struct region *b,
			size_t len, DAT_MEM_PRIV_FLAGS privileges)
{
	return region_open(pair, pair->a.pz, a, len, privileges) ?:
	       region_open(pair, pair->b.pz, b, len, privileges);
}

/**
 * region_close - free the LMR, if it is there, and the memory
 * @region: from region_open()
 */
void region_close(struct region *region)
{
	dat_lmr_free(region->lmr);
	munmap(region->buf, region->len);
}

/**
 * segment - part of a region as a triplet
 */
DAT_LMR_TRIPLET segment(const struct region *region, size_t offset, size_t len)
{
	DAT_LMR_TRIPLET t = {
		.lmr_context = region->lmr_context,
		.virtual_address = (uintptr_t)region->buf + offset,
		.segment_length = len,
	};

	return t;
}

/**
 * remote - remote memory as a triplet
 */
DAT_RMR_TRIPLET remote(DAT_RMR_CONTEXT context, const void *addr, size_t len)
{
	DAT_RMR_TRIPLET t = {
		.rmr_context = context,
		.target_address = (uintptr_t)addr,
		.segment_length = len,
	};

	return t;
}

/**
 * wait_event - wait for an event, at most PAIR_TIMEOUT
 */
DAT_RETURN wait_event(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_COUNT nmore;

	return dat_evd_wait(evd, PAIR_TIMEOUT, 1, event, &nmore);
}

/**
 * wait_broken - wait for the event that tells of a broken connection
 * @evd: an EVD of connection events
 *
 * On iWARP a side that has not seen for itself what broke it cannot tell it
 * from a disconnection.
 */
DAT_RETURN wait_broken(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_RETURN ret = wait_event(evd, &event);

	if (ret || event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
	    (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED &&
	     link_is_iwarp()))
		return ret;
	fprintf(stderr, "# event %#x instead of BROKEN\n", event.event_number);
	return DAT_INTERNAL_ERROR;
}

/**
 * wait_any_end - wait for the event of the end of a connection, whichever it is
 * @evd: an EVD of connection events
 *
 * For the side that refused an access: rxe sends the refusal, and moves its QP to the
 * error state after that. When the peer has disconnected before, this side cannot tell
 * the two ends apart.
 */
DAT_RETURN wait_any_end(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_RETURN ret = wait_event(evd, &event);

	if (ret || event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
	    event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
		return ret;
	fprintf(stderr, "# event %#x instead of an end\n", event.event_number);
	return DAT_INTERNAL_ERROR;
}

/**
 * wait_refusal - wait until both sides know that an access was refused
 * @pair: the sides; b has refused
 */
DAT_RETURN wait_refusal(struct pair *pair)
{
	return wait_broken(pair->a.conn_evd) ?: wait_any_end(pair->b.conn_evd);
}

/**
 * wait_for - wait_event(), for an event of one kind
 * @evd: the EVD
 * @number: the kind
 * @event: out
 *
 * Return: DAT_INTERNAL_ERROR if the next event is of another kind.
 */
DAT_RETURN wait_for(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number,
		    DAT_EVENT *event)
{
	DAT_RETURN ret = wait_event(evd, event);

	if (!ret && event->event_number != number) {
		fprintf(stderr, "# event %#x instead of %#x, of %p\n",
			event->event_number, number,
			(void *)(uintptr_t)event->event_data
				.connect_event_data.ep_handle);
		ret = DAT_INTERNAL_ERROR;
	}
	return ret;
}

/**
 * wait_number - wait_for(), for callers that need no more than the kind
 * @evd: the EVD
 * @number: the kind
 */
DAT_RETURN wait_number(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	return wait_for(evd, number, &event);
}

/**
 * wait_both - wait until both sides have been told the same
 */
DAT_RETURN wait_both(struct pair *pair, DAT_EVENT_NUMBER number)
{
	return wait_number(pair->a.conn_evd, number) ?:
	       wait_number(pair->b.conn_evd, number);
}

/**
 * next_cr - wait for the next request for a connection
 * @pair: who is asked
 * @cr: out
 */
DAT_RETURN next_cr(struct pair *pair, DAT_CR_HANDLE *cr)
{
	DAT_EVENT event;
	DAT_RETURN ret = wait_for(pair->cr_evd, DAT_CONNECTION_REQUEST_EVENT,
				  &event);

	*cr = event.event_data.cr_arrival_event_data.cr_handle;
	return ret;
}

/**
 * is_empty - is there no event, as far as anybody can know?
 *
 * An event that there is goes.
 */
bool is_empty(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY;
}

/**
 * wait_dto - wait for the completion of a DTO
 * @evd: where
 * @cookie: which
 *
 * Completions of others are passed over. Return: its status, or -1.
 */
int wait_dto(DAT_EVD_HANDLE evd, uint64_t cookie)
{
	DAT_EVENT event;

	while (!wait_event(evd, &event)) {
		DAT_DTO_COMPLETION_EVENT_DATA *d =
			&event.event_data.dto_completion_event_data;

		if (event.event_number == DAT_DTO_COMPLETION_EVENT &&
		    d->user_cookie.as_64 == cookie)
			return d->status;
	}
	return -1;
}

/**
 * wait_bind - wait for the completion of a bind
 * @evd: where
 * @cookie: which
 *
 * Completions of others are passed over. Return: its status, or -1.
 */
int wait_bind(DAT_EVD_HANDLE evd, uint64_t cookie)
{
	DAT_EVENT event;

	while (!wait_event(evd, &event)) {
		DAT_RMR_BIND_COMPLETION_EVENT_DATA *d =
			&event.event_data.rmr_completion_event_data;

		if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT &&
		    d->user_cookie.as_64 == cookie)
			return d->status;
	}
	return -1;
}

/**
 * ep_state - the state of an EP
 */
DAT_EP_STATE ep_state(DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state = (DAT_EP_STATE)-1;

	dat_ep_get_status(ep, &state, &recv_idle, &request_idle);
	return state;
}

/**
 * carries - does a message of side a's reach side b?
 * @pair: the pair
 * @from: an EP of side a, connected
 * @to: the EP of side b at the other end
 * @a: memory of side a
 * @b: memory of side b
 */
bool carries(struct pair *pair, DAT_EP_HANDLE from, DAT_EP_HANDLE to,
	     const struct region *a, const struct region *b)
{
	static unsigned char mark;

	memset(a->buf, ++mark, 64);
	memset(b->buf, 0, 65);
	return post_recv(to, b, 0, 64, 0x7a00 + mark) == DAT_SUCCESS &&
	       post_send(from, a, 0, 64, 0x7a00 + mark) == DAT_SUCCESS &&
	       wait_dto(pair->b.dto_evd, 0x7a00 + mark) == DAT_DTO_SUCCESS &&
	       wait_dto(pair->a.dto_evd, 0x7a00 + mark) == DAT_DTO_SUCCESS &&
	       !memcmp(a->buf, b->buf, 64) && !b->buf[64];
}

DAT_RETURN post_send(DAT_EP_HANDLE ep, const struct region *region,
		     size_t offset, size_t len, uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = segment(region, offset, len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_ep_post_send(ep, 1, &seg, c, DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN post_recv(DAT_EP_HANDLE ep, const struct region *region,
		     size_t offset, size_t len, uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = segment(region, offset, len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_ep_post_recv(ep, 1, &seg, c, DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN post_write(DAT_EP_HANDLE ep, const struct region *region,
		      size_t offset, size_t len, DAT_RMR_CONTEXT context,
		      const void *addr, uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = segment(region, offset, len);
	DAT_RMR_TRIPLET dst = remote(context, addr, len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_ep_post_rdma_write(ep, 1, &seg, c, &dst,
				      DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN post_read(DAT_EP_HANDLE ep, const struct region *region,
		     size_t offset, size_t len, DAT_RMR_CONTEXT context,
		     const void *addr, uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = segment(region, offset, len);
	DAT_RMR_TRIPLET src = remote(context, addr, len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_ep_post_rdma_read(ep, 1, &seg, c, &src,
				     DAT_COMPLETION_DEFAULT_FLAG);
}

/*
 * On iWARP the peer acknowledges nothing: a write succeeds when it has been
 * sent. But a read behind it is answered after it, or never. Who refuses ends
 * the connection, and says no more.
 */
static int acknowledged(struct pair *pair, const struct region *from,
			DAT_RMR_CONTEXT context, const void *addr, int status)
{
	/* Of what is there already. siw has no luck with reads of nothing. */
	if (status == DAT_DTO_SUCCESS &&
	    !post_read(pair->a.ep, from, 0, 1, context, addr, 0x79) &&
	    wait_dto(pair->a.dto_evd, 0x79) == DAT_DTO_SUCCESS)
		return status;
	return DAT_DTO_ERR_REMOTE_ACCESS;
}

/**
 * write_status - let side a write to memory of side b
 *
 * Return: the status of the completion, or -1.
 */
int write_status(struct pair *pair, const struct region *from,
		 DAT_RMR_CONTEXT context, const void *addr, size_t len)
{
	bool connected = ep_state(pair->a.ep) == DAT_EP_STATE_CONNECTED;
	int status;

	if (post_write(pair->a.ep, from, 0, len, context, addr, 0x77))
		return -1;
	status = wait_dto(pair->a.dto_evd, 0x77);
	return link_is_iwarp() && connected && status != -1 ?
		       acknowledged(pair, from, context, addr, status) : status;
}

/**
 * read_status - let side a read from memory of side b
 *
 * Return: the status of the completion, or -1.
 */
int read_status(struct pair *pair, const struct region *to,
		DAT_RMR_CONTEXT context, const void *addr, size_t len)
{
	bool connected = ep_state(pair->a.ep) == DAT_EP_STATE_CONNECTED;
	int status;

	if (post_read(pair->a.ep, to, 0, len, context, addr, 0x78))
		return -1;
	status = wait_dto(pair->a.dto_evd, 0x78);
	if (link_is_iwarp() && connected && status == DAT_DTO_ERR_FLUSHED)
		return DAT_DTO_ERR_REMOTE_ACCESS;
	return status;
}

/* Binds an RMR to part of a region. */
DAT_RETURN bind_window(DAT_RMR_HANDLE rmr, const struct region *region,
		       size_t offset, size_t len, DAT_MEM_PRIV_FLAGS privileges,
		       DAT_EP_HANDLE ep, uint64_t cookie,
		       DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	DAT_LMR_TRIPLET seg = segment(region, offset, len);
	DAT_RMR_COOKIE c = { .as_64 = cookie };

	return dat_rmr_bind(rmr, &seg, privileges, ep, c, flags, context);
}
