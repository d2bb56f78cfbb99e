// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fail_nth_test.c - every point at which a call of kDAPL can fail
 *
 * A session, from open to close, is a table of steps. Each step is made to fail
 * at its first allocation, at the second, and so on, until it runs through. An
 * error must be one that the call's description allows, and must leave things
 * as they were: the same step, tried again, works. What is in front of a fault
 * that did no harm is undone, and the step goes on behind it.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#include "kpair.h"
#include "report.h"

#ifdef CONFIG_FAULT_INJECTION

#define REGION		(8 * PAGE_SIZE)
#define QLEN		16
#define TIMEOUT		(20 * HZ)
/* No call has nearly as many points. */
#define MAX_POINTS	5000
/* As many of a loop are enough. */
#define LOOP_POINTS	40

/*
 * The knobs. Faults spare whatever may sleep, unless they are told otherwise;
 * and only debugfs knows where to tell them.
 */

struct knob {
	const char *dir;
	const char *name;
	bool is_bool;
	u32 value;
	u32 saved;
};

static struct knob knobs[] = {
	{ "failslab", "ignore-gfp-wait", true, 0 },
	{ "fail_page_alloc", "ignore-gfp-wait", true, 0 },
	{ "fail_page_alloc", "ignore-gfp-highmem", true, 0 },
	{ "fail_page_alloc", "min-order", false, 0 },
};

static void *knob_address(const struct knob *knob)
{
	struct dentry *dir = debugfs_lookup(knob->dir, NULL), *file = NULL;
	void *address = NULL;

	if (dir)
		file = debugfs_lookup(knob->name, dir);
	if (file)
		address = d_inode(file)->i_private;
	dput(file);
	dput(dir);
	return address;
}

static u32 knob_get(const struct knob *knob, void *address)
{
	return knob->is_bool ? *(bool *)address : *(u32 *)address;
}

static void knob_set(const struct knob *knob, void *address, u32 value)
{
	if (knob->is_bool)
		*(bool *)address = value;
	else
		*(u32 *)address = value;
}

static bool knobs_turn(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		if (!knob_address(&knobs[i]))
			return false;
	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		void *address = knob_address(&knobs[i]);

		knobs[i].saved = knob_get(&knobs[i], address);
		knob_set(&knobs[i], address, knobs[i].value);
	}
	return true;
}

static void knobs_restore(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		knob_set(&knobs[i], knob_address(&knobs[i]), knobs[i].saved);
}

/* What may be left of a call that was hit. */
enum leaves {
	NOTHING,	/* it can be done again in any case */
	OBJECT,		/* it was made, or freed; there is an undo */
	DONE,		/* only another beginning helps */
};

/* Drivers with faults of their own. */
#define SIW	1
/* Before 6.12 it stops timers that a QP without memory has not got yet. */
#define OLD_RXE	2

/**
 * struct step - a call
 * @name: what is called
 * @fn: calls it
 * @leaves: what may be left of it when it has succeeded
 * @undo: takes back an OBJECT
 * @outcome: what has to come in the end of a call that succeeded; may be NULL
 * @may_too: error that it may return for want of memory, too
 * @quiet: without faults
 * @spared: drivers that do not survive faults in it
 * @loops: allocates the same thing many times
 * @begins: whatever a step behind it leaves is undone by beginning here again
 * @may_have_none: need not allocate anything
 */
struct step {
	const char *name;
	DAT_RETURN (*fn)(void);
	enum leaves leaves;
	void (*undo)(void);
	bool (*outcome)(void);
	DAT_RETURN may_too;
	bool quiet;
	unsigned int spared;
	bool loops;
	bool begins;
	bool may_have_none;
};

/* Set by whatever must not fail but did; the test ends there. */
static bool broken;

static void must(DAT_RETURN ret, const char *what)
{
	if (!ret || broken)
		return;
	report("# %s: %#x\n", what, ret);
	broken = true;
}

#define MUST(call)	must(call, #call)

static struct kpair p;
static struct kregion a, b;
static DAT_RMR_HANDLE rmr;
static DAT_RMR_CONTEXT context;
static DAT_CR_HANDLE cr;
static DAT_EVD_HANDLE upcall_evd;
static DAT_IA_ATTR ia_attr;
static struct completion called;

static bool is_there(DAT_HANDLE handle)
{
	DAT_HANDLE_TYPE type;

	return handle && !dat_get_handle_type(handle, &type);
}

/*
 * Making things
 */

static DAT_RETURN ia_open(void)
{
	p.async_evd = DAT_HANDLE_NULL;
	return dat_ia_open(kpair_ia, 8, &p.async_evd, &p.ia);
}

static void undo_ia_open(void)
{
	MUST(dat_ia_close(p.ia, DAT_CLOSE_ABRUPT_FLAG));
}

static DAT_RETURN ia_query(void)
{
	static DAT_PROVIDER_ATTR provider;
	DAT_EVD_HANDLE evd;

	return dat_ia_query(p.ia, &evd, DAT_IA_FIELD_ALL, &ia_attr,
			    DAT_PROVIDER_FIELD_ALL, &provider);
}

static bool has_an_address(void)
{
	MUST(ia_query());
	return ia_attr.ia_address_ptr->sa_family == AF_INET;
}

static DAT_RETURN contexts(void)
{
	DAT_CONTEXT c = { .as_64 = 5 };
	DAT_RETURN ret = dat_set_consumer_context(p.ia, c);

	return ret ?: dat_get_consumer_context(p.ia, &c);
}

static DAT_RETURN pz_create(void)
{
	DAT_RETURN ret = dat_pz_create(p.ia, &p.a.pz);

	p.b.pz = p.a.pz;
	return ret;
}

static void undo_pz_create(void)
{
	MUST(dat_pz_free(p.a.pz));
}

static DAT_RETURN pz_query(void)
{
	DAT_PZ_PARAM param;

	return dat_pz_query(p.a.pz, DAT_PZ_FIELD_ALL, &param);
}

static DAT_RETURN evd_create(DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_evd_kcreate(p.ia, QLEN, DAT_UPCALL_DISABLE, NULL, flags,
			       evd);
}

static DAT_RETURN dto_evd_create(void)
{
	return evd_create(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
			  &p.a.dto_evd);
}

static void undo_dto_evd_create(void)
{
	MUST(dat_evd_free(p.a.dto_evd));
}

static DAT_RETURN conn_evd_create(void)
{
	return evd_create(DAT_EVD_CONNECTION_FLAG, &p.a.conn_evd);
}

static void undo_conn_evd_create(void)
{
	MUST(dat_evd_free(p.a.conn_evd));
}

static void note_upcall(DAT_PVOID instance_data, const DAT_EVENT *event,
			DAT_BOOLEAN more_events)
{
	complete(&called);
}

static const DAT_UPCALL_OBJECT upcall = { .upcall_func = note_upcall };

static DAT_RETURN upcall_evd_create(void)
{
	return dat_evd_kcreate(p.ia, QLEN, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			       DAT_EVD_DTO_FLAG, &upcall_evd);
}

static void undo_upcall_evd_create(void)
{
	MUST(dat_evd_free(upcall_evd));
}

static DAT_RETURN other_evds(void)
{
	return evd_create(DAT_EVD_CR_FLAG, &p.cr_evd) ?:
	       evd_create(DAT_EVD_DTO_FLAG, &p.b.dto_evd) ?:
	       evd_create(DAT_EVD_CONNECTION_FLAG, &p.b.conn_evd);
}

static DAT_RETURN psp_create(void)
{
	return dat_psp_create(p.ia, KPAIR_QUAL, p.cr_evd,
			      DAT_PSP_CONSUMER_FLAG, &p.psp);
}

static void undo_psp_create(void)
{
	MUST(dat_psp_free(p.psp));
}

static DAT_RETURN lmr_create(struct kregion *region, DAT_MEM_TYPE type,
			     DAT_REGION_DESCRIPTION desc)
{
	return dat_lmr_kcreate(p.ia, type, desc, REGION, p.a.pz,
			       DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			       DAT_MEM_OPTIMIZE_DONT_CARE, &region->lmr,
			       &region->lmr_context, &region->rmr_context,
			       NULL, NULL);
}

static DAT_RETURN lmr_create_virtual(void)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = a.buf };

	return lmr_create(&a, DAT_MEM_TYPE_VIRTUAL, desc);
}

static void undo_lmr_create_virtual(void)
{
	MUST(dat_lmr_free(a.lmr));
}

static DAT_RETURN lmr_create_platform(void)
{
	struct page *pages[REGION / PAGE_SIZE];
	struct dat_platform_region region = {
		.pages = pages,
		.virtual_address = (uintptr_t)b.buf,
	};
	DAT_REGION_DESCRIPTION desc = { .for_platform = &region };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++)
		pages[i] = vmalloc_to_page(b.buf + i * PAGE_SIZE);
	return lmr_create(&b, DAT_MEM_TYPE_PLATFORM, desc);
}

static void undo_lmr_create_platform(void)
{
	MUST(dat_lmr_free(b.lmr));
}

static DAT_RETURN lmr_query(void)
{
	DAT_LMR_PARAM param;

	return dat_lmr_query(a.lmr, DAT_LMR_FIELD_ALL, &param);
}

static DAT_RETURN lmr_sync(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, PAGE_SIZE);

	return dat_lmr_sync_rdma_read(p.ia, &seg, 1) ?:
	       dat_lmr_sync_rdma_write(p.ia, &seg, 1);
}

static DAT_RETURN rmr_create(void)
{
	return dat_rmr_create(p.a.pz, &rmr);
}

static void undo_rmr_create(void)
{
	MUST(dat_rmr_free(rmr));
}

static DAT_RETURN rmr_query(void)
{
	DAT_RMR_PARAM param;

	return dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param);
}

static DAT_RETURN side_ep(struct kside *side)
{
	/* More than the CQ of an EVD of QLEN holds: it has to grow. */
	static const DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = 8,
		.max_request_dtos = 128,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
	};

	return dat_ep_create(p.ia, p.a.pz, side->dto_evd, side->dto_evd,
			     side->conn_evd, &attr, &side->ep);
}

static DAT_RETURN ep_create(void)
{
	return side_ep(&p.a);
}

static void undo_ep_create(void)
{
	MUST(dat_ep_free(p.a.ep));
}

/* One without EVDs gets some that nobody sees. */
static DAT_RETURN lonely_ep(void)
{
	return dat_ep_create(p.ia, p.a.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
			     DAT_HANDLE_NULL, NULL, &p.a.ep);
}

static void undo_lonely_ep(void)
{
	undo_ep_create();
}

static DAT_RETURN other_ep(void)
{
	return side_ep(&p.b);
}

static DAT_RETURN ep_query(void)
{
	DAT_EP_PARAM param;

	return dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL, &param);
}

static DAT_RETURN ep_get_status(void)
{
	return dat_ep_get_status(p.a.ep, NULL, NULL, NULL);
}

/*
 * A connection
 */

static DAT_RETURN connect_a(void)
{
	return dat_ep_connect(p.a.ep, ia_attr.ia_address_ptr, KPAIR_QUAL,
			      DAT_TIMEOUT_INFINITE, 5, "hello",
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static bool event_comes(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return kwait_event(evd, &event);
}

static bool event_comes_to_a(void)
{
	return event_comes(p.a.conn_evd);
}

static bool both_events_come(void)
{
	return event_comes(p.a.conn_evd) && event_comes(p.b.conn_evd);
}

/* Either the request arrives, or the peer learns that it does not. */
static bool request_or_event_comes(void)
{
	unsigned long deadline = jiffies + TIMEOUT;
	DAT_EVENT event;

	while (time_before(jiffies, deadline)) {
		if (!dat_evd_dequeue(p.a.conn_evd, &event))
			return true;
		if (!dat_evd_dequeue(p.cr_evd, &event)) {
			cr = event.event_data.cr_arrival_event_data.cr_handle;
			return true;
		}
		usleep_range(50, 100);
	}
	return false;
}

static DAT_RETURN wait_cr(void)
{
	DAT_EVENT event;

	if (!kwait_event(p.cr_evd, &event))
		return DAT_TIMEOUT_EXPIRED;
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	return DAT_SUCCESS;
}

static DAT_RETURN cr_query(void)
{
	DAT_CR_PARAM param;

	return dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
}

static DAT_RETURN cr_accept(void)
{
	return dat_cr_accept(cr, p.b.ep, 3, "you");
}

static DAT_RETURN cr_reject(void)
{
	return dat_cr_reject(cr);
}

static DAT_RETURN wait_for(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	return kwait_number(evd, number) ? DAT_SUCCESS : DAT_TIMEOUT_EXPIRED;
}

static DAT_RETURN established(void)
{
	return wait_for(p.a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED) ?:
	       wait_for(p.b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static unsigned int driver_under_test(void)
{
	if (!strncmp(kpair_ia, "siw", 3))
		return SIW;
	return LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0) ? OLD_RXE : 0;
}

static DAT_RETURN rejected(void)
{
	/* On siw it may look as if the peer had hung up. */
	if (driver_under_test() == SIW)
		return event_comes_to_a() ? DAT_SUCCESS : DAT_TIMEOUT_EXPIRED;
	return wait_for(p.a.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

static DAT_RETURN disconnected(void)
{
	return wait_for(p.a.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static DAT_RETURN disconnect_gracefully(void)
{
	return dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN disconnect_abruptly(void)
{
	return dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG);
}

/*
 * Traffic
 */

static DAT_RETURN recv_b(void)
{
	return kpost_recv(p.b.ep, &b, 0, 64, 1);
}

static DAT_RETURN send_a(void)
{
	return kpost_send(p.a.ep, &a, 0, 64, 2);
}

static DAT_RETURN write_a(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 64);
	DAT_RMR_TRIPLET to = { (uintptr_t)b.buf, 64, b.rmr_context };
	DAT_DTO_COOKIE cookie = {};

	return dat_ep_post_rdma_write(p.a.ep, 1, &seg, cookie, &to,
				      DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN read_a(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 64);
	DAT_RMR_TRIPLET from = { (uintptr_t)b.buf, 64, b.rmr_context };
	DAT_DTO_COOKIE cookie = {};

	return dat_ep_post_rdma_read(p.a.ep, 1, &seg, cookie, &from,
				     DAT_COMPLETION_DEFAULT_FLAG);
}

/* All of it: more pieces than fit on the stack. */
static DAT_RETURN bind(void)
{
	return kbind(rmr, &a, 1, REGION - 2, KREMOTE_ALL, p.a.ep, 2,
		     DAT_COMPLETION_DEFAULT_FLAG, &context);
}

static DAT_RETURN unbind(void)
{
	return kbind(rmr, &a, 0, 0, KREMOTE_ALL, p.a.ep, 2,
		     DAT_COMPLETION_DEFAULT_FLAG, &context);
}

static DAT_RETURN completed_on(DAT_EVD_HANDLE evd)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bound;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	if (!kwait_event(evd, &event))
		return DAT_TIMEOUT_EXPIRED;
	dto = &event.event_data.dto_completion_event_data;
	bound = &event.event_data.rmr_completion_event_data;
	return (event.event_number == DAT_DTO_COMPLETION_EVENT ?
			dto->status : bound->status) ? DAT_ABORT : DAT_SUCCESS;
}

static DAT_RETURN completed_a(void)
{
	return completed_on(p.a.dto_evd);
}

static DAT_RETURN completed_b(void)
{
	return completed_on(p.b.dto_evd);
}

static DAT_RETURN upcalls_on(void)
{
	reinit_completion(&called);
	return dat_evd_modify_upcall(p.a.dto_evd, DAT_UPCALL_SINGLE_INSTANCE,
				     &upcall, DAT_UPCALL_INVOC_ANY);
}

static DAT_RETURN upcall_made(void)
{
	return wait_for_completion_timeout(&called, TIMEOUT) ?
		       DAT_SUCCESS : DAT_TIMEOUT_EXPIRED;
}

static DAT_RETURN upcalls_off(void)
{
	return dat_evd_modify_upcall(p.a.dto_evd, DAT_UPCALL_DISABLE,
				     DAT_UPCALL_SAME, DAT_UPCALL_INVOC_NEW);
}

/*
 * Freeing things
 */

static DAT_RETURN upcall_evd_free(void)
{
	return dat_evd_free(upcall_evd);
}

static void undo_upcall_evd_free(void)
{
	MUST(upcall_evd_create());
}

static DAT_RETURN rmr_free(void)
{
	return dat_rmr_free(rmr);
}

static void undo_rmr_free(void)
{
	MUST(rmr_create());
}

static DAT_RETURN lmr_free(void)
{
	return dat_lmr_free(a.lmr);
}

static void undo_lmr_free(void)
{
	MUST(lmr_create_virtual());
}

static DAT_RETURN psp_free(void)
{
	return dat_psp_free(p.psp);
}

static void undo_psp_free(void)
{
	MUST(psp_create());
}

static DAT_RETURN ep_free(void)
{
	return dat_ep_free(p.a.ep);
}

static void undo_ep_free(void)
{
	MUST(ep_create());
}

static DAT_RETURN dto_evd_free(void)
{
	return dat_evd_free(p.a.dto_evd);
}

static void undo_dto_evd_free(void)
{
	MUST(dto_evd_create());
}

static DAT_RETURN free_others(void)
{
	return dat_ep_free(p.b.ep) ?: dat_lmr_free(b.lmr) ?:
	       dat_evd_free(p.b.dto_evd) ?: dat_evd_free(p.b.conn_evd) ?:
	       dat_evd_free(p.a.conn_evd) ?: dat_evd_free(p.cr_evd);
}

static DAT_RETURN pz_free(void)
{
	return dat_pz_free(p.a.pz);
}

static void undo_pz_free(void)
{
	MUST(pz_create());
}

static DAT_RETURN close_gracefully(void)
{
	return dat_ia_close(p.ia, DAT_CLOSE_GRACEFUL_FLAG);
}

static void undo_close_gracefully(void)
{
	MUST(ia_open());
}

static DAT_RETURN close_abruptly(void)
{
	return dat_ia_close(p.ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* All that an IA can have: a connection, work under way, a window. */
static DAT_RETURN everything(void)
{
	return ia_open() ?: ia_query() ?: pz_create() ?: dto_evd_create() ?:
	       conn_evd_create() ?: other_evds() ?: psp_create() ?:
	       lmr_create_virtual() ?: lmr_create_platform() ?:
	       rmr_create() ?: ep_create() ?: other_ep() ?: connect_a() ?:
	       wait_cr() ?: cr_accept() ?: established() ?: bind() ?:
	       completed_a() ?: recv_b() ?: write_a();
}

static void undo_close_abruptly(void)
{
	MUST(everything());
}

static void drain(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (!dat_evd_dequeue(evd, &event))
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle);
}

/* No connection, no EPs, no events. */
static DAT_RETURN reset(void)
{
	MUST(upcalls_off());
	if (is_there(p.a.ep))
		MUST(dat_ep_free(p.a.ep));
	if (is_there(p.b.ep))
		MUST(dat_ep_free(p.b.ep));
	if (is_there(cr))
		MUST(dat_cr_reject(cr));
	drain(p.cr_evd);
	drain(p.a.conn_evd);
	drain(p.b.conn_evd);
	drain(p.a.dto_evd);
	drain(p.b.dto_evd);
	return DAT_SUCCESS;
}

/* Only what makes a thing is sure to allocate. */
#define MAKE(fn)	{ #fn, fn, OBJECT, undo_##fn, NULL }
/* siw_alloc_mr() loses the list of pages if there is no key to be had. */
#define MAKE_MR(fn)	{ #fn, fn, OBJECT, undo_##fn, .spared = SIW }
#define MAKE_QP(fn)	{ #fn, fn, OBJECT, undo_##fn, .spared = OLD_RXE }
#define FREE(fn)	{ #fn, fn, OBJECT, undo_##fn, .may_have_none = true }
#define LOOK(fn)	{ #fn, fn, NOTHING, .may_have_none = true }
#define DO(fn, outcome)	{ #fn, fn, DONE, NULL, outcome }
#define POST(fn)	{ #fn, fn, DONE, .may_have_none = true }
#define QUIET(fn)	{ #fn, fn, .quiet = true }
#define BEGIN(fn)	{ #fn, fn, .quiet = true, .begins = true }

static const struct step session[] = {
	{ "ia_open", ia_open, OBJECT, undo_ia_open, has_an_address },
	LOOK(ia_query),
	LOOK(contexts),
	MAKE(pz_create),
	LOOK(pz_query),
	MAKE(dto_evd_create),
	MAKE(conn_evd_create),
	MAKE(upcall_evd_create),
	FREE(upcall_evd_free),
	QUIET(other_evds),
	/*
	 * TCP calls a port in use that it has no memory for, and iWARP prepares
	 * for each request of the backlog.
	 */
	{ "psp_create", psp_create, OBJECT, undo_psp_create,
	  .may_too = DAT_CONN_QUAL_IN_USE, .loops = true },
	/* The first of a PZ makes a QP. */
	{ "lmr_create_virtual", lmr_create_virtual, OBJECT,
	  undo_lmr_create_virtual, .spared = SIW | OLD_RXE },
	MAKE_MR(lmr_create_platform),
	LOOK(lmr_query),
	LOOK(lmr_sync),
	MAKE_MR(rmr_create),
	LOOK(rmr_query),
	MAKE_QP(lonely_ep),

	BEGIN(reset),
	MAKE_QP(ep_create),
	QUIET(other_ep),
	LOOK(ep_query),
	LOOK(ep_get_status),
	DO(connect_a, request_or_event_comes),
	POST(wait_cr),
	LOOK(cr_query),
	/* siw_qp_readq_init() frees a queue and leaves it to be freed again. */
	{ "cr_accept", cr_accept, DONE, NULL, both_events_come,
	  .spared = SIW },
	POST(established),
	POST(recv_b),
	POST(send_a),
	POST(completed_a),
	POST(completed_b),
	POST(read_a),
	POST(completed_a),
	POST(bind),
	POST(completed_a),
	POST(unbind),
	POST(completed_a),
	POST(upcalls_on),
	POST(write_a),
	POST(upcall_made),
	POST(upcalls_off),
	POST(disconnect_gracefully),
	POST(disconnected),

	BEGIN(reset),
	QUIET(ep_create),
	QUIET(other_ep),
	QUIET(connect_a),
	QUIET(wait_cr),
	DO(cr_reject, request_or_event_comes),
	POST(rejected),

	BEGIN(reset),
	QUIET(ep_create),
	QUIET(other_ep),
	QUIET(connect_a),
	QUIET(wait_cr),
	QUIET(cr_accept),
	QUIET(established),
	DO(disconnect_abruptly, event_comes_to_a),
	POST(disconnected),

	FREE(rmr_free),
	FREE(ep_free),
	FREE(lmr_free),
	FREE(psp_free),
	FREE(dto_evd_free),
	QUIET(free_others),
	FREE(pz_free),
	FREE(close_gracefully),
	QUIET(everything),
	FREE(close_abruptly),
};

static bool complain(const struct step *st, unsigned int n, DAT_RETURN ret,
		     const char *what)
{
	report("# %s, point %u: %s: %#x\n", st->name, n, what, ret);
	return false;
}

/* Does a step without faults, as all that is not under test. */
static bool do_quietly(const struct step *st)
{
	DAT_RETURN ret = st->fn();

	return !ret || complain(st, 0, ret, "fails without a fault");
}

/* Brings things back to where they were before a step that succeeded. */
static bool take_back(const struct step *st)
{
	const struct step *again = st;

	switch (st->leaves) {
	case NOTHING:
		return true;
	case OBJECT:
		st->undo();
		return !broken;
	default:
		break;
	}
	while (again > session && !again->begins)
		again--;
	for (; again < st; again++)
		if (!do_quietly(again) || broken)
			return false;
	return true;
}

/* How far it is to the next point. */
static unsigned int stride(const struct step *st, unsigned int n)
{
	return st->loops && n > LOOP_POINTS ? n / 8 : 1;
}

/* Lets a step fail at every point that it has, until it runs through. */
static bool do_step(const struct step *st, unsigned int *points)
{
	unsigned int n;
	DAT_RETURN ret;
	bool fired;

	for (n = 1; n < MAX_POINTS; n += stride(st, n)) {
		current->fail_nth = n;
		ret = st->fn();
		fired = !current->fail_nth;
		current->fail_nth = 0;
		if (!fired)
			return !ret || complain(st, n, ret,
						"fails for no reason");
		++*points;
		if (ret) {
			if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES &&
			    DAT_GET_TYPE(ret) != st->may_too)
				return complain(st, n, ret, "must not return");
			continue;
		}
		if (st->outcome && !st->outcome())
			return complain(st, n, ret, "has no outcome");
		if (!take_back(st))
			return complain(st, n, ret, "cannot be tried again");
	}
	return complain(st, n, 0, "has no end");
}

static bool calls_survive_every_fault(void)
{
	unsigned int i, total = 0, driver = driver_under_test();
	bool ok = true;

	init_completion(&called);
	a.len = REGION;
	b.len = REGION;
	a.buf = vzalloc(REGION);
	b.buf = vzalloc(REGION);
	CHECK(a.buf && b.buf);
	for (i = 0; i < ARRAY_SIZE(session) && ok && !broken; i++) {
		const struct step *st = &session[i];
		unsigned int points = 0;

		if (st->quiet || (st->spared & driver)) {
			ok = do_quietly(st);
			continue;
		}
		ok = do_step(st, &points);
		total += points;
		report("# %s: %u\n", st->name, points);
		if (ok && !points && !st->may_have_none)
			ok = complain(st, 0, 0, "has no points");
	}
	report("# %u points\n", total);
	/* With fewer than that faults do not reach what they should. */
	return ok && !broken && total >= 100;
}

static const struct ktest tests[] = {
	{ "calls_survive_every_fault", calls_survive_every_fault },
};

static void run(void)
{
	if (!knobs_turn()) {
		report("TAP version 13\n1..0 # SKIP no failslab in debugfs\n");
		return;
	}
	report_run("kdapl_fail_nth_test", tests, ARRAY_SIZE(tests));
	knobs_restore();
	/* Whatever a failed test left open. */
	if (is_there(p.ia))
		kpair_close(&p);
	vfree(a.buf);
	vfree(b.buf);
}

#else

static void run(void)
{
	report("TAP version 13\n1..0 # SKIP no fault injection\n");
}

#endif /* CONFIG_FAULT_INJECTION */

static int __init fail_nth_test_init(void)
{
	int ret = report_open("kdapl_fail_nth_test");

	if (ret)
		return ret;
	run();
	return 0;
}

static void __exit fail_nth_test_exit(void)
{
	report_close();
}

module_init(fail_nth_test_init);
module_exit(fail_nth_test_exit);
MODULE_DESCRIPTION("Tests every point at which a call of kDAPL can fail");
MODULE_LICENSE("Dual BSD/GPL");
