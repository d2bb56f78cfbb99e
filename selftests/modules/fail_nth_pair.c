// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fail_nth_pair.c - shared steps of the fault sessions: a pair of EPs
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "fail_nth_pair.h"
#include "report.h"

struct kpair p;
struct kregion a, b;
DAT_CR_HANDLE cr;
DAT_IA_ATTR ia_attr;

/* Bytes charged for all objects, and references to the account. */
static atomic_long_t account_bytes;
static atomic_t account_refs;

static bool account_charge(struct dat_account *account, size_t bytes)
{
	atomic_long_add(bytes, &account_bytes);
	return true;
}

static void account_uncharge(struct dat_account *account, size_t bytes)
{
	atomic_long_sub(bytes, &account_bytes);
}

static void account_get(struct dat_account *account)
{
	atomic_inc(&account_refs);
}

static void account_put(struct dat_account *account)
{
	atomic_dec(&account_refs);
}

static const struct dat_account_ops account_ops = {
	.charge = account_charge,
	.uncharge = account_uncharge,
	.get = account_get,
	.put = account_put,
};

static struct dat_account account = { .ops = &account_ops };

/* A call that fails must uncharge what it charged. */
bool account_is_settled(void)
{
	while (atomic_read(&account_refs))
		msleep(20);
	/* Wait until the last callback has returned, before this module is unloaded. */
	msleep(20);
	return !atomic_long_read(&account_bytes);
}

/*
 * Create
 */

DAT_RETURN ia_open(void)
{
	DAT_RETURN ret;

	p.async_evd = DAT_HANDLE_NULL;
	ret = dat_ia_open(kpair_ia, 8, &p.async_evd, &p.ia);
	if (ret)
		return ret;
	ret = dat_ia_set_account(p.ia, &account);
	if (ret)
		dat_ia_close(p.ia, DAT_CLOSE_ABRUPT_FLAG);
	else if (dat_account_charge(&account, 1))
		account_uncharge(&account, 1);
	return ret;
}

DAT_RETURN ia_query(void)
{
	static DAT_PROVIDER_ATTR provider;
	DAT_EVD_HANDLE evd;
	DAT_VLEN max;

	return dat_ia_max_user_lmr(p.ia, &max) ?:
	       dat_ia_query(p.ia, &evd, DAT_IA_FIELD_ALL, &ia_attr,
			    DAT_PROVIDER_FIELD_ALL, &provider);
}

DAT_RETURN pz_create(void)
{
	DAT_RETURN ret = dat_pz_create(p.ia, &p.a.pz);

	p.b.pz = p.a.pz;
	return ret;
}

DAT_RETURN evd_create(DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return dat_evd_kcreate(p.ia, QLEN, DAT_UPCALL_DISABLE, NULL, flags,
			       evd);
}

DAT_RETURN dto_evd_create(void)
{
	return evd_create(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
			  &p.a.dto_evd);
}

DAT_RETURN conn_evd_create(void)
{
	return evd_create(DAT_EVD_CONNECTION_FLAG, &p.a.conn_evd);
}

DAT_RETURN other_evds(void)
{
	return evd_create(DAT_EVD_CR_FLAG, &p.cr_evd) ?:
	       evd_create(DAT_EVD_DTO_FLAG, &p.b.dto_evd) ?:
	       evd_create(DAT_EVD_CONNECTION_FLAG, &p.b.conn_evd);
}

DAT_RETURN psp_create(void)
{
	return dat_psp_create(p.ia, KPAIR_QUAL, p.cr_evd,
			      DAT_PSP_CONSUMER_FLAG, &p.psp);
}

DAT_RETURN lmr_create(struct kregion *region, DAT_MEM_TYPE type,
		      DAT_REGION_DESCRIPTION desc, DAT_VLEN length,
		      DAT_MEM_PRIV_FLAGS privileges)
{
	return dat_lmr_kcreate(p.ia, type, desc, length, p.a.pz, privileges,
			       DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE,
			       &region->lmr, &region->lmr_context,
			       &region->rmr_context, NULL, NULL);
}

DAT_RETURN lmr_create_virtual(void)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = a.buf };

	return lmr_create(&a, DAT_MEM_TYPE_VIRTUAL, desc, REGION,
			  DAT_MEM_PRIV_ALL_FLAG);
}

DAT_RETURN lmr_create_platform(void)
{
	struct page *pages[REGION / PAGE_SIZE];
	struct dat_platform_region region = {
		.pages = pages,
		.virtual_address = (uintptr_t)b.buf,
	};
	DAT_REGION_DESCRIPTION desc = { .for_platform = &region };
	DAT_MEM_PRIV_FLAGS privileges = DAT_MEM_PRIV_ALL_FLAG;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++)
		pages[i] = vmalloc_to_page(b.buf + i * PAGE_SIZE);
	if (!kpair_is_siw())
		privileges |= DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	return lmr_create(&b, DAT_MEM_TYPE_PLATFORM, desc, REGION, privileges);
}

DAT_RETURN side_ep(struct kside *side)
{
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

DAT_RETURN ep_create(void)
{
	return side_ep(&p.a);
}

DAT_RETURN other_ep(void)
{
	return side_ep(&p.b);
}

DAT_RETURN open_all(void)
{
	return ia_open() ?: ia_query() ?: pz_create() ?: dto_evd_create() ?:
	       conn_evd_create() ?: other_evds() ?: psp_create() ?:
	       lmr_create_virtual() ?: lmr_create_platform();
}

DAT_RETURN close_all(void)
{
	return dat_ia_close(p.ia, DAT_CLOSE_ABRUPT_FLAG);
}

/*
 * A connection
 */

DAT_RETURN connect_a(void)
{
	return dat_ep_connect(p.a.ep, ia_attr.ia_address_ptr, KPAIR_QUAL,
			      DAT_TIMEOUT_INFINITE, 5, "hello",
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

bool event_comes(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return kwait_event(evd, &event);
}

bool event_comes_to_a(void)
{
	return event_comes(p.a.conn_evd);
}

/* Either the request arrives, or the peer gets an event that it has failed. */
bool request_or_event_comes(void)
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

/*
 * An accept that fails for lack of memory cannot be reported, so the peer retries until
 * it succeeds, or gets the event that there is no listener.
 */
bool accept_ends(void)
{
	return event_comes(p.b.conn_evd) && request_or_event_comes();
}

DAT_RETURN wait_cr(void)
{
	DAT_EVENT event;

	if (!kwait_event(p.cr_evd, &event))
		return DAT_TIMEOUT_EXPIRED;
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	return DAT_SUCCESS;
}

DAT_RETURN cr_accept(void)
{
	return dat_cr_accept(cr, p.b.ep, 3, "you");
}

DAT_RETURN cr_reject(void)
{
	return dat_cr_reject(cr, 0, NULL);
}

DAT_RETURN wait_for(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	return kwait_number(evd, number) ? DAT_SUCCESS : DAT_TIMEOUT_EXPIRED;
}

DAT_RETURN established(void)
{
	return wait_for(p.a.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED) ?:
	       wait_for(p.b.conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

DAT_RETURN connect_all(void)
{
	return ep_create() ?: other_ep() ?: connect_a() ?: wait_cr() ?:
	       cr_accept() ?: established();
}

DAT_RETURN rejected(void)
{
	/* On siw the failure may look like a disconnect by the peer. */
	if (driver_under_test() == SIW)
		return event_comes_to_a() ? DAT_SUCCESS : DAT_TIMEOUT_EXPIRED;
	return wait_for(p.a.conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

DAT_RETURN disconnected(void)
{
	return wait_for(p.a.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

DAT_RETURN disconnect_gracefully(void)
{
	return dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG);
}

DAT_RETURN both_disconnected(void)
{
	return disconnected() ?:
	       wait_for(p.b.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/*
 * Traffic
 */

static DAT_RETURN post_recv(struct kside *side, const struct kregion *region)
{
	DAT_LMR_TRIPLET seg = ksegment(region, 0, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	return dat_ep_post_recv(side->ep, 1, &seg, cookie,
				DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN recv_a(void)
{
	return post_recv(&p.a, &a);
}

DAT_RETURN recv_b(void)
{
	return post_recv(&p.b, &b);
}

DAT_RETURN send_a(void)
{
	DAT_LMR_TRIPLET seg = ksegment(&a, 0, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };

	return dat_ep_post_send(p.a.ep, 1, &seg, cookie,
				DAT_COMPLETION_DEFAULT_FLAG);
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

DAT_RETURN completed_a(void)
{
	return completed_on(p.a.dto_evd);
}

DAT_RETURN completed_b(void)
{
	return completed_on(p.b.dto_evd);
}

/*
 * Begin again
 */

void drain(DAT_EVD_HANDLE evd)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	DAT_EVENT event;

	arrival = &event.event_data.cr_arrival_event_data;
	while (!dat_evd_dequeue(evd, &event))
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			dat_cr_reject(arrival->cr_handle, 0, NULL);
}

/* Resets to no connection, no EPs and no events. */
DAT_RETURN reset(void)
{
	if (is_there(p.a.ep))
		MUST(dat_ep_free(p.a.ep));
	if (is_there(p.b.ep))
		MUST(dat_ep_free(p.b.ep));
	if (is_there(cr))
		MUST(dat_cr_reject(cr, 0, NULL));
	drain(p.async_evd);
	drain(p.cr_evd);
	drain(p.a.conn_evd);
	drain(p.b.conn_evd);
	drain(p.a.dto_evd);
	drain(p.b.dto_evd);
	return DAT_SUCCESS;
}

/**
 * survives - execute a session, then close everything that it leaves open
 * @session: see fail_nth_session()
 * @num: see fail_nth_session()
 * @least: see fail_nth_session()
 */
bool survives(const struct step *session, unsigned int num, unsigned int least)
{
	bool ok;

	memset(&p, 0, sizeof(p));
	cr = DAT_HANDLE_NULL;
	ok = fail_nth_session(session, num, least);
	if (is_there(p.ia))
		kpair_close(&p);
	return ok;
}
