// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fail_nth_registry.c - fault session with the registry, and an IA of another provider
 */
#include <linux/string.h>

#include "fail_nth_pair.h"
#include "tiny_provider.h"

#define MAX_IAS	8

static const DAT_PROVIDER_INFO info = {
	.ia_name = "tiny1",
	.dapl_version_major = 1,
	.dapl_version_minor = 2,
	.is_thread_safe = DAT_TRUE,
};

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async_evd, evd, cr_evd, upcall_evd;
static DAT_CR_HANDLE request;
static DAT_PZ_HANDLE pz;
static DAT_SRQ_HANDLE srq;
static DAT_RMR_HANDLE rmr;
static DAT_EP_HANDLE ep;

static DAT_RETURN list_providers(void)
{
	static DAT_PROVIDER_INFO infos[MAX_IAS];
	DAT_PROVIDER_INFO *list[MAX_IAS];
	DAT_COUNT i, num;

	for (i = 0; i < MAX_IAS; i++)
		list[i] = &infos[i];
	return dat_registry_list_providers(MAX_IAS, &num, list);
}

/* Unregisters the provider and registers it again. */
static DAT_RETURN offer(void)
{
	DAT_PROVIDER_INFO device = {};

	strscpy(device.ia_name, kpair_ia, sizeof(device.ia_name));
	dat_provider_fini(&device);
	dat_provider_init(&device, "");
	return DAT_SUCCESS;
}

static DAT_RETURN explain(void)
{
	const char *major, *minor;

	return dat_strerror(DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE),
			    &major, &minor);
}

static DAT_RETURN add_provider(void)
{
	return dat_registry_add_module(THIS_MODULE, &tiny_provider, &info);
}

static void undo_add_provider(void)
{
	MUST(dat_registry_remove_provider(&tiny_provider, &info));
}

static DAT_RETURN remove_provider(void)
{
	return dat_registry_remove_provider(&tiny_provider, &info);
}

static void undo_remove_provider(void)
{
	MUST(add_provider());
}

/* The provider must have no object that its consumer has no handle for. */
static DAT_RETURN made(DAT_RETURN ret, unsigned int before, unsigned int num)
{
	must_be(tiny.live == before + (ret ? 0 : num) && !tiny.bad,
		"the provider has what the call says");
	return ret;
}

static DAT_RETURN tiny_open(void)
{
	unsigned int live = tiny.live;

	async_evd = DAT_HANDLE_NULL;
	return made(dat_ia_openv("tiny1", 8, &async_evd, &ia, 1, 2, DAT_TRUE),
		    live, 2);
}

static void undo_tiny_open(void)
{
	MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

static DAT_RETURN tiny_pz(void)
{
	unsigned int live = tiny.live;

	return made(dat_pz_create(ia, &pz), live, 1);
}

static void undo_tiny_pz(void)
{
	MUST(dat_pz_free(pz));
}

static DAT_RETURN tiny_evd(void)
{
	unsigned int live = tiny.live;

	return made(dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL,
				    DAT_EVD_DTO_FLAG, &evd), live, 1);
}

static void undo_tiny_evd(void)
{
	MUST(dat_evd_free(evd));
}

static DAT_RETURN tiny_cr_evd(void)
{
	unsigned int live = tiny.live;

	return made(dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL,
				    DAT_EVD_CR_FLAG, &cr_evd), live, 1);
}

static void undo_tiny_cr_evd(void)
{
	MUST(dat_evd_free(cr_evd));
}

/* A request that cannot be dequeued now stays queued. */
static DAT_RETURN take_request(void)
{
	DAT_RETURN ret;
	DAT_EVENT event;

	if (!request)
		request = tiny_request();
	ret = dat_evd_dequeue(cr_evd, &event);
	if (ret)
		return ret;
	MUST(dat_cr_reject(request, 0, NULL));
	request = DAT_HANDLE_NULL;
	return DAT_SUCCESS;
}

static void answer_request(DAT_PVOID instance_data, const DAT_EVENT *event,
			   DAT_BOOLEAN more_events)
{
	MUST(dat_cr_reject(event->event_data.cr_arrival_event_data.cr_handle,
			   0, NULL));
}

static const DAT_UPCALL_OBJECT upcall = { .upcall_func = answer_request };

static DAT_RETURN tiny_upcall_evd(void)
{
	unsigned int live = tiny.live;

	return made(dat_evd_kcreate(ia, 8, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				    DAT_EVD_CR_FLAG, &upcall_evd), live, 1);
}

static void undo_tiny_upcall_evd(void)
{
	MUST(dat_evd_free(upcall_evd));
}

/* A request arrives; its upcall finds the handle known and answers. */
static DAT_RETURN upcall_comes(void)
{
	tiny_request();
	tiny.upcall.upcall_func(tiny.upcall.instance_data, &tiny.next,
				DAT_FALSE);
	return DAT_SUCCESS;
}

/* An upcall without memory uses the reserve of the previous upcall. */
static bool upcall_comes_again(void)
{
	return !upcall_comes();
}

static DAT_RETURN tiny_srq(void)
{
	DAT_SRQ_ATTR attr = { 1, 1, 0 };
	unsigned int live = tiny.live;

	return made(dat_srq_create(ia, pz, &attr, &srq), live, 1);
}

static void undo_tiny_srq(void)
{
	MUST(dat_srq_free(srq));
}

static DAT_RETURN tiny_rmr(void)
{
	unsigned int live = tiny.live;

	return made(dat_rmr_create(pz, &rmr), live, 1);
}

static void undo_tiny_rmr(void)
{
	MUST(dat_rmr_free(rmr));
}

static DAT_RETURN tiny_ep(void)
{
	unsigned int live = tiny.live;

	return made(dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep), live, 1);
}

static void undo_tiny_ep(void)
{
	MUST(dat_ep_free(ep));
}

static DAT_RETURN tiny_ep_free(void)
{
	return dat_ep_free(ep);
}

static void undo_tiny_ep_free(void)
{
	MUST(tiny_ep());
}

static DAT_RETURN tiny_close(void)
{
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}

static const struct step session[] = {
	LOOK(list_providers),
	LOOK(offer),
	LOOK(explain),
	MAKE(add_provider),
	FREE(remove_provider),
	QUIET(add_provider),
	MAKE(tiny_open),
	MAKE(tiny_pz),
	MAKE(tiny_evd),
	MAKE(tiny_cr_evd),
	/* The first request uses memory allocated with the EVD. */
	QUIET(take_request),
	{ "take_request", take_request, NOTHING, .may_too = DAT_QUEUE_EMPTY },
	MAKE(tiny_upcall_evd),
	{ "upcall_comes", upcall_comes, NOTHING,
	  .outcome = upcall_comes_again },
	MAKE(tiny_srq),
	MAKE(tiny_rmr),
	MAKE(tiny_ep),
	FREE(tiny_ep_free),
	QUIET(tiny_close),
	QUIET(remove_provider),
};

bool registry_calls_survive(void)
{
	bool ok;

	ia = DAT_HANDLE_NULL;
	request = DAT_HANDLE_NULL;
	memset(&tiny, 0, sizeof(tiny));
	ok = survives(session, ARRAY_SIZE(session), 5);
	if (is_there(ia))
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	dat_registry_remove_provider(&tiny_provider, &info);
	return ok;
}
