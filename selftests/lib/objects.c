// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * objects.c - one object of each type on one file, by ioctl alone
 */
#include <sys/mman.h>
#include <unistd.h>

#include "ioctls.h"
#include "objects.h"
#include "pair.h"

#define RING_ENTRIES	64
#define RING_SIZE	(sizeof(struct dat_dev_ring) + \
			 RING_ENTRIES * sizeof(struct dat_dev_event))

/**
 * objects_open_ia - open the IA
 * @r: the objects, with their file
 */
DAT_UINT32 objects_open_ia(struct objects *r)
{
	struct dat_dev_ia_open arg;
	DAT_UINT32 ret = dev_ia_open(r->fd, &arg);

	r->ia = arg.ia;
	return ret;
}

static DAT_UINT32 make_evd(struct objects *r, __u32 flags, __u32 *evd)
{
	struct dat_dev_evd_create arg;
	DAT_UINT32 ret = dev_evd_create(r->fd, r->ia, RING_ENTRIES, flags, &arg);

	*evd = arg.evd;
	return ret ?: arg.ring_entries == RING_ENTRIES ? 0 : IOCTL_FAILED;
}

static DAT_UINT32 make_ep(struct objects *r, __u32 *ep)
{
	struct dat_dev_ep_create arg = {
		.size = sizeof(arg),
		.ia = r->ia,
		.pz = r->pz,
		.recv_evd = r->dto_evd,
		.request_evd = r->dto_evd,
		.connect_evd = r->conn_evd,
	};
	DAT_UINT32 ret = dev_type(r->fd, DAT_DEV_EP_CREATE, &arg);

	*ep = arg.ep;
	return ret;
}

static DAT_UINT32 make_psp(struct objects *r)
{
	static unsigned int next;
	struct dat_dev_psp_create arg = {
		.size = sizeof(arg),
		.ia = r->ia,
		.evd = r->cr_evd,
		.flags = DAT_PSP_CONSUMER_FLAG,
	};
	DAT_UINT32 ret;

	do {
		arg.conn_qual = 22000 + (getpid() * 31 + next++) % 10000;
		ret = dev_type(r->fd, DAT_DEV_PSP_CREATE, &arg);
	} while (ret == DAT_GET_TYPE(DAT_CONN_QUAL_IN_USE));
	r->psp = arg.psp;
	r->qual = arg.conn_qual;
	return ret;
}

/**
 * objects_lmr - register objects.buf
 * @r: the objects
 */
DAT_UINT32 objects_lmr(struct objects *r)
{
	struct dat_dev_lmr_create arg;
	DAT_UINT32 ret = dev_lmr_create(r->fd, r->ia, r->pz, r->buf,
					OBJECTS_REGION, &arg);

	r->lmr = arg.lmr;
	r->lmr_context = arg.lmr_context;
	r->rmr_context = arg.rmr_context;
	return ret;
}

static DAT_UINT32 make_rmr(struct objects *r)
{
	struct dat_dev_rmr_create arg = { .size = sizeof(arg), .pz = r->pz };
	DAT_UINT32 ret = dev_type(r->fd, DAT_DEV_RMR_CREATE, &arg);

	r->rmr = arg.rmr;
	return ret;
}

/**
 * objects_make - create objects of one type
 * @r: the objects
 * @object: the type
 */
DAT_UINT32 objects_make(struct objects *r, enum object object)
{
	switch (object) {
	case PZ:
		return dev_pz_create(r->fd, r->ia, &r->pz);
	case EVD:
		return make_evd(r, DAT_EVD_CR_FLAG, &r->cr_evd) ?:
		       make_evd(r, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
				&r->dto_evd) ?:
		       make_evd(r, DAT_EVD_CONNECTION_FLAG, &r->conn_evd);
	case PSP:
		return make_psp(r);
	case EP:
		return make_ep(r, &r->ep);
	case LMR:
		return objects_lmr(r);
	default:
		return make_rmr(r);
	}
}

/**
 * objects_make_all - open a file and create everything on it
 * @r: the objects; the caller sets @buf
 * @order: types of objects, in the order in which to create them
 * @busy: call objects_busy() too
 */
DAT_UINT32 objects_make_all(struct objects *r, const unsigned char *order,
			    bool busy)
{
	DAT_UINT32 ret;
	int i;

	r->fd = dev_open();
	ret = objects_open_ia(r);
	for (i = 0; i < NUM_OBJECTS && !ret; i++)
		ret = objects_make(r, order[i]);
	return ret ?: busy ? objects_busy(r) : 0;
}

/**
 * objects_wait - wait until an EVD holds so many events
 * @r: the objects
 * @evd: the EVD
 * @threshold: how many
 */
DAT_UINT32 objects_wait(struct objects *r, __u32 evd, __u32 threshold)
{
	struct dat_dev_evd_wait arg = {
		.size = sizeof(arg),
		.evd = evd,
		.timeout = PAIR_TIMEOUT,
		.threshold = threshold,
	};

	return dev_type(r->fd, DAT_DEV_EVD_WAIT, &arg);
}

/**
 * objects_ring - map the ring of an EVD
 * @r: the objects
 * @evd: the EVD
 */
struct dat_dev_ring *objects_ring(struct objects *r, __u32 evd)
{
	return dev_map_ring(r->fd, evd, RING_SIZE, PROT_READ | PROT_WRITE,
			    MAP_SHARED);
}

static DAT_UINT32 take_event(struct objects *r, __u32 evd,
			     struct dat_dev_event *event)
{
	DAT_UINT32 ret = objects_wait(r, evd, 1);
	struct dat_dev_ring *ring;

	if (ret)
		return ret;
	ring = objects_ring(r, evd);
	if (ring == MAP_FAILED)
		return IOCTL_FAILED;
	*event = ring->events[ring->head % RING_ENTRIES];
	__atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
	munmap(ring, RING_SIZE);
	return 0;
}

/**
 * objects_accept - wait for a connection request and accept it
 * @r: the objects
 * @ep: the EP to accept it with
 */
DAT_UINT32 objects_accept(struct objects *r, __u32 ep)
{
	struct dat_dev_cr_accept arg = { .size = sizeof(arg), .ep = ep };
	struct dat_dev_event event;
	DAT_UINT32 ret = take_event(r, r->cr_evd, &event);

	arg.cr = event.cr;
	return ret ?: dev_type(r->fd, DAT_DEV_CR_ACCEPT, &arg);
}

/* Connects the two EPs to each other. */
static DAT_UINT32 connect_eps(struct objects *r)
{
	struct dat_dev_ia_query ia = { .size = sizeof(ia), .ia = r->ia };
	struct dat_dev_ep_connect arg = {
		.size = sizeof(arg),
		.ep = r->ep,
		.timeout = ~0U,
		.conn_qual = r->qual,
	};
	DAT_UINT32 ret;

	ret = dev_type(r->fd, DAT_DEV_IA_QUERY, &ia);
	arg.remote_address = ia.ia_address;
	return ret ?: make_ep(r, &r->peer_ep) ?:
	       dev_type(r->fd, DAT_DEV_EP_CONNECT, &arg) ?:
	       objects_accept(r, r->peer_ep) ?:
	       objects_wait(r, r->conn_evd, 2);
}

/**
 * objects_post - post a DTO or a bind on objects.ep
 * @r: the objects
 * @opcode: what to post; RDMA goes to the objects' own LMR
 * @len: its bytes
 */
DAT_UINT32 objects_post(struct objects *r, __u32 opcode, __u32 len)
{
	struct dat_dev_segment segment = {
		.virtual_address = ADDR(r->buf),
		.length = len,
		.lmr_context = r->lmr_context,
	};
	struct dat_dev_dto dto = {
		.opcode = opcode,
		.ep = r->ep,
		.num_segments = 1,
		.segments = ADDR(&segment),
	};

	if (opcode == DAT_DEV_RMR_BIND) {
		dto.rmr = r->rmr;
		dto.privileges = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	} else if (opcode != DAT_DEV_RECV) {
		dto.remote_address = ADDR(r->buf);
		dto.remote_length = len;
		dto.remote_context = r->rmr_context;
	}
	return dev_post_one(r->fd, &dto);
}

/**
 * objects_busy - connect the EPs and leave many requests outstanding
 * @r: the objects
 */
DAT_UINT32 objects_busy(struct objects *r)
{
	DAT_UINT32 ret = connect_eps(r);
	int i;

	ret = ret ?: objects_post(r, DAT_DEV_RMR_BIND, OBJECTS_REGION);
	for (i = 0; i < 8 && !ret; i++)
		ret = objects_post(r, DAT_DEV_RECV, 4096) ?:
		      objects_post(r, i & 1 ? DAT_DEV_RDMA_WRITE :
					      DAT_DEV_RDMA_READ,
				   OBJECTS_REGION);
	return ret;
}
