// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * kpair.c - two connected EPs on one IA, for in-kernel tests
 *
 * Every test module links with these functions. They run in process context and report
 * each failure.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "kpair.h"
#include "report.h"

char *kpair_ia = "rxe0";
EXPORT_SYMBOL_GPL(kpair_ia);
module_param_named(ia, kpair_ia, charp, 0444);
MODULE_PARM_DESC(ia, "name of the IA to test");

bool kpair_thorough;
EXPORT_SYMBOL_GPL(kpair_thorough);
module_param_named(thorough, kpair_thorough, bool, 0444);
MODULE_PARM_DESC(thorough, "the long form of tests that have one");

static bool many_cqs;
module_param_named(many_cqs, many_cqs, bool, 0444);
MODULE_PARM_DESC(many_cqs, "the EPs of a pair use the third CQ of their EVD");

/* Allows for an emulated machine with sanitizers. */
#define TIMEOUT		(20 * HZ)
#define QLEN		256

static bool ok(DAT_RETURN ret, const char *what)
{
	const char *major, *minor;

	if (!ret)
		return true;
	if (!dat_strerror(ret, &major, &minor))
		report("# %s: %s %s\n", what, major, minor);
	else
		report("# %s: %#x\n", what, ret);
	return false;
}

#define OK(call)	ok(call, #call)

/* The first CQ has room for one of these EPs, the second for the two others. */
static bool fill_cqs(struct kpair *pair, struct kside *side)
{
	DAT_EP_HANDLE ep;
	unsigned int i;

	for (i = 0; many_cqs && i < 3; i++)
		if (!OK(dat_ep_create(pair->ia, side->pz, side->dto_evd, side->dto_evd,
				      side->conn_evd, NULL, &ep)))
			return false;
	return true;
}

static bool side_open(struct kpair *pair, struct kside *side,
		      const DAT_UPCALL_OBJECT *upcall, const DAT_EP_ATTR *attr)
{
	DAT_UPCALL_POLICY policy = upcall ? DAT_UPCALL_SINGLE_INSTANCE :
					    DAT_UPCALL_DISABLE;

	return OK(dat_pz_create(pair->ia, &side->pz)) &&
	       OK(dat_evd_kcreate(pair->ia, QLEN, policy, upcall,
				  DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
				  &side->dto_evd)) &&
	       OK(dat_evd_kcreate(pair->ia, 8, DAT_UPCALL_DISABLE, NULL,
				  DAT_EVD_CONNECTION_FLAG, &side->conn_evd)) &&
	       fill_cqs(pair, side) &&
	       OK(dat_ep_create(pair->ia, side->pz, side->dto_evd,
				side->dto_evd, side->conn_evd, attr,
				&side->ep));
}

/**
 * kpair_is_siw - check whether the test runs on siw
 *
 * siw is the only iWARP device of the tests.
 */
bool kpair_is_siw(void)
{
	return !strncmp(kpair_ia, "siw", 3);
}
EXPORT_SYMBOL_GPL(kpair_is_siw);

/**
 * kpair_open_attr - open the IA and both sides, not connected
 * @pair: out: the pair
 * @upcall: upcall of both DTO EVDs, or NULL
 * @attr: attributes of both EPs, or NULL
 *
 * Return: true; false, after a report, on failure.
 */
bool kpair_open_attr(struct kpair *pair, const DAT_UPCALL_OBJECT *upcall,
		     const DAT_EP_ATTR *attr)
{
	memset(pair, 0, sizeof(*pair));
	return OK(dat_ia_open(kpair_ia, 8, &pair->async_evd, &pair->ia)) &&
	       OK(dat_evd_kcreate(pair->ia, 8, DAT_UPCALL_DISABLE, NULL,
				  DAT_EVD_CR_FLAG, &pair->cr_evd)) &&
	       OK(dat_psp_create(pair->ia, KPAIR_QUAL, pair->cr_evd,
				 DAT_PSP_CONSUMER_FLAG, &pair->psp)) &&
	       side_open(pair, &pair->a, upcall, attr) &&
	       side_open(pair, &pair->b, upcall, attr);
}
EXPORT_SYMBOL_GPL(kpair_open_attr);

/**
 * kpair_open_with - kpair_open_attr() without attributes
 * @pair: out: the pair
 * @upcall: upcall of both DTO EVDs, or NULL
 */
bool kpair_open_with(struct kpair *pair, const DAT_UPCALL_OBJECT *upcall)
{
	return kpair_open_attr(pair, upcall, NULL);
}
EXPORT_SYMBOL_GPL(kpair_open_with);

/**
 * kpair_open - kpair_open_with() without an upcall
 * @pair: out: the pair
 */
bool kpair_open(struct kpair *pair)
{
	return kpair_open_with(pair, NULL);
}
EXPORT_SYMBOL_GPL(kpair_open);

/**
 * kpair_connect_eps - connect two EPs
 * @pair: from kpair_open()
 * @a: an EP with the EVD of side a for connection events
 * @b: an EP with that of side b
 *
 * Return: true; false, after a report, on failure.
 */
bool kpair_connect_eps(struct kpair *pair, DAT_EP_HANDLE a, DAT_EP_HANDLE b)
{
	static DAT_IA_ATTR attr;
	DAT_EVENT event;

	return OK(dat_ia_query(pair->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR,
			       &attr, 0, NULL)) &&
	       OK(dat_ep_connect(a, attr.ia_address_ptr, KPAIR_QUAL,
				 DAT_TIMEOUT_INFINITE, 0, NULL,
				 DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG)) &&
	       kwait_event(pair->cr_evd, &event) &&
	       OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
				b, 0, NULL)) &&
	       kwait_number(pair->a.conn_evd,
			    DAT_CONNECTION_EVENT_ESTABLISHED) &&
	       kwait_number(pair->b.conn_evd,
			    DAT_CONNECTION_EVENT_ESTABLISHED);
}
EXPORT_SYMBOL_GPL(kpair_connect_eps);

/**
 * kpair_connect - connect the two sides
 * @pair: from kpair_open()
 *
 * Return: true; false, after a report, on failure.
 */
bool kpair_connect(struct kpair *pair)
{
	return kpair_connect_eps(pair, pair->a.ep, pair->b.ep);
}
EXPORT_SYMBOL_GPL(kpair_connect);

/**
 * kpair_connect_more - create another EP for each side and connect them
 * @pair: from kpair_open()
 * @ep_a: out: EP of side a, in its PZ and with its EVDs
 * @ep_b: out: EP of side b, in its PZ and with its EVDs
 *
 * Return: true; false, after a report, on failure.
 */
bool kpair_connect_more(struct kpair *pair, DAT_EP_HANDLE *ep_a,
			DAT_EP_HANDLE *ep_b)
{
	return OK(dat_ep_create(pair->ia, pair->a.pz, pair->a.dto_evd,
				pair->a.dto_evd, pair->a.conn_evd, NULL,
				ep_a)) &&
	       OK(dat_ep_create(pair->ia, pair->b.pz, pair->b.dto_evd,
				pair->b.dto_evd, pair->b.conn_evd, NULL,
				ep_b)) &&
	       kpair_connect_eps(pair, *ep_a, *ep_b);
}
EXPORT_SYMBOL_GPL(kpair_connect_more);

/**
 * kpair_close - close the IA with all its objects
 * @pair: from kpair_open(), even if that failed
 */
void kpair_close(struct kpair *pair)
{
	if (pair->ia)
		ok(dat_ia_close(pair->ia, DAT_CLOSE_ABRUPT_FLAG), "close");
	pair->ia = DAT_HANDLE_NULL;
}
EXPORT_SYMBOL_GPL(kpair_close);

/**
 * kpair_reopen - open a pair, also if a failed test has left it open
 * @pair: out: the pair
 *
 * Return: true; false, after a report, on failure.
 */
bool kpair_reopen(struct kpair *pair)
{
	kpair_close(pair);
	return kpair_open(pair);
}
EXPORT_SYMBOL_GPL(kpair_reopen);

/**
 * kregion_open - allocate zeroed memory and register it
 * @pair: pair whose IA to use
 * @pz: PZ of the region
 * @region: out: the region
 * @len: bytes
 * @privileges: privileges of the region
 *
 * Return: true; false, after a report, on failure.
 */
bool kregion_open(struct kpair *pair, DAT_PZ_HANDLE pz,
		  struct kregion *region, size_t len,
		  DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION desc;

	region->len = len;
	region->lmr = DAT_HANDLE_NULL;
	region->buf = vzalloc(len);
	if (!region->buf)
		return false;
	desc.for_va = region->buf;
	return OK(dat_lmr_kcreate(pair->ia, DAT_MEM_TYPE_VIRTUAL, desc, len,
				  pz, privileges, DAT_VA_TYPE_VA,
				  DAT_MEM_OPTIMIZE_DONT_CARE, &region->lmr,
				  &region->lmr_context, &region->rmr_context,
				  NULL, NULL));
}
EXPORT_SYMBOL_GPL(kregion_open);

/**
 * kregion_close - free the LMR, if any, and the memory
 * @region: from kregion_open()
 */
void kregion_close(struct kregion *region)
{
	dat_lmr_free(region->lmr);
	vfree(region->buf);
}
EXPORT_SYMBOL_GPL(kregion_close);

/**
 * kfill - fill memory with a pattern that does not repeat in a page
 * @buf: the memory
 * @len: bytes
 * @seed: selects the pattern
 */
void kfill(u8 *buf, size_t len, u8 seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = seed + i * 7 + (i >> 8);
}
EXPORT_SYMBOL_GPL(kfill);

/**
 * ksegment - return part of a region as a triplet
 * @region: the region
 * @offset: start of the part in the region, in bytes
 * @len: bytes
 */
DAT_LMR_TRIPLET ksegment(const struct kregion *region, size_t offset,
			 size_t len)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (uintptr_t)region->buf + offset,
		.segment_length = len,
		.lmr_context = region->lmr_context,
	};
}
EXPORT_SYMBOL_GPL(ksegment);

/**
 * kwait_event - wait for an event
 * @evd: the EVD, without upcalls
 * @event: out: the event
 *
 * Return: true; false, after a report, if none comes in time.
 */
bool kwait_event(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	unsigned long deadline = jiffies + TIMEOUT;

	while (dat_evd_dequeue(evd, event)) {
		if (time_after(jiffies, deadline)) {
			report("# no event came\n");
			return false;
		}
		usleep_range(50, 100);
	}
	return true;
}
EXPORT_SYMBOL_GPL(kwait_event);

/**
 * kwait_number - wait for an event of one kind
 * @evd: the EVD, without upcalls
 * @number: the expected event number
 */
bool kwait_number(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	if (!kwait_event(evd, &event))
		return false;
	if (event.event_number == number)
		return true;
	report("# event %#x instead of %#x\n", event.event_number, number);
	return false;
}
EXPORT_SYMBOL_GPL(kwait_number);

/**
 * kwait_broken - wait for the event that reports a broken connection
 * @evd: the EVD, without upcalls
 *
 * On iWARP a side that has not detected the error itself gets a disconnect event
 * instead.
 */
bool kwait_broken(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (!kwait_event(evd, &event))
		return false;
	if (event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
	    (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED &&
	     kpair_is_siw()))
		return true;
	report("# event %#x instead of BROKEN\n", event.event_number);
	return false;
}
EXPORT_SYMBOL_GPL(kwait_broken);

/**
 * kwait_any_end - wait for the event of the end of a connection, whichever it is
 * @evd: the EVD, without upcalls
 *
 * For the side that rejected an access: see wait_any_end() of the programs.
 */
bool kwait_any_end(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (!kwait_event(evd, &event))
		return false;
	if (event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
	    event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
		return true;
	report("# event %#x instead of an end\n", event.event_number);
	return false;
}
EXPORT_SYMBOL_GPL(kwait_any_end);

/**
 * kwait_refusal - wait until both sides report that an access was rejected
 * @pair: the sides, without upcalls; b has rejected
 */
bool kwait_refusal(struct kpair *pair)
{
	return kwait_broken(pair->a.conn_evd) && kwait_any_end(pair->b.conn_evd);
}
EXPORT_SYMBOL_GPL(kwait_refusal);

/**
 * kwait_dto - wait for the completion of a DTO, skipping other events
 * @evd: the EVD
 * @cookie: cookie of the DTO
 *
 * Return: its status, or -1 if it does not come.
 */
int kwait_dto(DAT_EVD_HANDLE evd, u64 cookie)
{
	DAT_EVENT event;

	while (kwait_event(evd, &event)) {
		DAT_DTO_COMPLETION_EVENT_DATA *d =
			&event.event_data.dto_completion_event_data;

		if (event.event_number == DAT_DTO_COMPLETION_EVENT &&
		    d->user_cookie.as_64 == cookie)
			return d->status;
	}
	return -1;
}
EXPORT_SYMBOL_GPL(kwait_dto);

/**
 * kwait_bind - wait for the completion of a bind, skipping other events
 * @evd: the EVD
 * @cookie: cookie of the bind
 *
 * Return: its status, or -1 if it does not come.
 */
int kwait_bind(DAT_EVD_HANDLE evd, u64 cookie)
{
	DAT_EVENT event;

	while (kwait_event(evd, &event)) {
		DAT_RMR_BIND_COMPLETION_EVENT_DATA *d =
			&event.event_data.rmr_completion_event_data;

		if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT &&
		    d->user_cookie.as_64 == cookie)
			return d->status;
	}
	return -1;
}
EXPORT_SYMBOL_GPL(kwait_bind);

DAT_RETURN kpost_send(DAT_EP_HANDLE ep, const struct kregion *region,
		      size_t offset, size_t len, u64 cookie)
{
	DAT_LMR_TRIPLET seg = ksegment(region, offset, len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_ep_post_send(ep, 1, &seg, c, DAT_COMPLETION_DEFAULT_FLAG);
}
EXPORT_SYMBOL_GPL(kpost_send);

DAT_RETURN kpost_recv(DAT_EP_HANDLE ep, const struct kregion *region,
		      size_t offset, size_t len, u64 cookie)
{
	DAT_LMR_TRIPLET seg = ksegment(region, offset, len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_ep_post_recv(ep, 1, &seg, c, DAT_COMPLETION_DEFAULT_FLAG);
}
EXPORT_SYMBOL_GPL(kpost_recv);

/*
 * On iWARP the peer acknowledges nothing: a Write succeeds when it has been sent. A Read
 * behind it is answered after the Write, or never: a peer that rejects the Write ends the
 * connection without an answer.
 */
static int acknowledged(struct kpair *pair, DAT_LMR_TRIPLET seg,
			DAT_RMR_TRIPLET remote, int status, bool write)
{
	DAT_DTO_COOKIE c = { .as_64 = 0x79 };
	DAT_RETURN ret;

	if (status == -1 || (status == DAT_DTO_SUCCESS && !write))
		return status;
	/* Read a byte that exists. siw fails on Reads of zero bytes. */
	seg.segment_length = 1;
	remote.segment_length = 1;
	if (status != DAT_DTO_SUCCESS)
		return DAT_DTO_ERR_REMOTE_ACCESS;
	ret = dat_ep_post_rdma_read(pair->a.ep, 1, &seg, c, &remote,
				    DAT_COMPLETION_DEFAULT_FLAG);
	if (DAT_GET_TYPE(ret) == DAT_PRIVILEGES_VIOLATION) {
		/* The local memory is read-only, so wait for some time instead. */
		msleep(100);
		return status;
	}
	if (!ret && kwait_dto(pair->a.dto_evd, 0x79) == DAT_DTO_SUCCESS)
		return status;
	return DAT_DTO_ERR_REMOTE_ACCESS;
}

static int rdma(struct kpair *pair, const struct kregion *region,
		size_t offset, size_t len, DAT_RMR_CONTEXT context,
		const void *addr, bool write)
{
	DAT_LMR_TRIPLET seg = ksegment(region, offset, len);
	DAT_RMR_TRIPLET remote = {
		.virtual_address = (uintptr_t)addr,
		.segment_length = len,
		.rmr_context = context,
	};
	DAT_DTO_COOKIE c = { .as_64 = 0x77 };
	DAT_RETURN ret;
	int status;

	if (write)
		ret = dat_ep_post_rdma_write(pair->a.ep, 1, &seg, c, &remote,
					     DAT_COMPLETION_DEFAULT_FLAG);
	else
		ret = dat_ep_post_rdma_read(pair->a.ep, 1, &seg, c, &remote,
					    DAT_COMPLETION_DEFAULT_FLAG);
	if (!ok(ret, "rdma"))
		return -1;
	status = kwait_dto(pair->a.dto_evd, 0x77);
	return kpair_is_siw() ? acknowledged(pair, seg, remote, status, write) :
			    status;
}

/**
 * kwrite - write from side a to memory of side b, and wait for the completion
 * @pair: the pair
 * @from: local region
 * @offset: start of the data in @from, in bytes
 * @len: bytes
 * @context: rmr_context of the remote memory
 * @addr: address of the remote memory
 *
 * Return: the status of the completion, or -1.
 */
int kwrite(struct kpair *pair, const struct kregion *from, size_t offset,
	   size_t len, DAT_RMR_CONTEXT context, const void *addr)
{
	return rdma(pair, from, offset, len, context, addr, true);
}
EXPORT_SYMBOL_GPL(kwrite);

/**
 * kread - read to side a from memory of side b, and wait for the completion
 * @pair: the pair
 * @to: local region
 * @offset: start of the data in @to, in bytes
 * @len: bytes
 * @context: rmr_context of the remote memory
 * @addr: address of the remote memory
 *
 * Return: the status of the completion, or -1.
 */
int kread(struct kpair *pair, const struct kregion *to, size_t offset,
	  size_t len, DAT_RMR_CONTEXT context, const void *addr)
{
	return rdma(pair, to, offset, len, context, addr, false);
}
EXPORT_SYMBOL_GPL(kread);

/* Binds an RMR to part of a region. */
DAT_RETURN kbind(DAT_RMR_HANDLE rmr, const struct kregion *region,
		 size_t offset, size_t len, DAT_MEM_PRIV_FLAGS privileges,
		 DAT_EP_HANDLE ep, u64 cookie, DAT_COMPLETION_FLAGS flags,
		 DAT_RMR_CONTEXT *context)
{
	DAT_LMR_TRIPLET seg = ksegment(region, offset, len);
	DAT_RMR_COOKIE c = { .as_64 = cookie };

	return dat_rmr_bind(rmr, &seg, privileges, ep, c, flags, context);
}
EXPORT_SYMBOL_GPL(kbind);

static struct ib_device *found;

static int find_device(struct ib_device *ibdev)
{
	if (!found && !strcmp(dev_name(&ibdev->dev), kpair_ia) &&
	    ib_device_try_get(ibdev))
		found = ibdev;
	return 0;
}

static void forget_device(struct ib_device *ibdev, void *data)
{
}

/**
 * kpair_ibdev - return the RDMA device of the tested IA
 *
 * Linux 7.2 has no ib_device_get_by_name(). An ib_client sees every device instead.
 *
 * Context: process, one at a time.
 * Return: the device, for ib_device_put(), or NULL.
 */
struct ib_device *kpair_ibdev(void)
{
	struct ib_client client = {
		.name = "kdapl_testlib",
		.add = find_device,
		.remove = forget_device,
	};

	found = NULL;
	if (ib_register_client(&client))
		return NULL;
	ib_unregister_client(&client);
	return found;
}
EXPORT_SYMBOL_GPL(kpair_ibdev);

MODULE_DESCRIPTION("What the test modules of kdapl share");
MODULE_LICENSE("Dual BSD/GPL");
