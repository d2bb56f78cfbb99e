// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * registry_test.c - the list of IAs, and IAs of another provider
 */
#include <linux/in.h>
#include <linux/module.h>
#include <linux/net.h>
#include <rdma/ib_verbs.h>

#include "kpair.h"
#include "report.h"
#include "tiny_provider.h"

#define MAX_IAS	8

static DAT_PROVIDER_INFO infos[MAX_IAS];
static DAT_PROVIDER_INFO *list[MAX_IAS];

/* kdapl's objects beside those of the other provider. */
static struct kpair pair;
static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async_evd;

static DAT_PROVIDER_INFO tiny_info = {
	.ia_name = "tiny0",
	.dapl_version_major = 1,
	.dapl_version_minor = 2,
	.is_thread_safe = DAT_FALSE,
};

static void clean_up(void)
{
	kpair_close(&pair);
	tiny.busy = false;
	if (ia)
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	ia = DAT_HANDLE_NULL;
	dat_registry_remove_provider(&tiny_provider, &tiny_info);
	memset(&tiny, 0, sizeof(tiny));
}

/* Returns the entry of an IA in the list, or NULL. */
static DAT_PROVIDER_INFO *listed(const char *name)
{
	DAT_COUNT i, num;

	for (i = 0; i < MAX_IAS; i++)
		list[i] = &infos[i];
	memset(infos, 0x55, sizeof(infos));
	if (dat_registry_list_providers(MAX_IAS, &num, list))
		return NULL;
	for (i = 0; i < num; i++)
		if (!strcmp(infos[i].ia_name, name))
			return &infos[i];
	return NULL;
}

static bool list_registered_devices(void)
{
	DAT_COUNT num = -1, some = -1;
	DAT_PROVIDER_INFO *info;

	CHECK_EQ(DAT_INVALID_PARAMETER,
		 DAT_GET_TYPE(dat_registry_list_providers(0, &num, NULL)));
	CHECK(num > 0);
	info = listed(kpair_ia);
	CHECK(info);
	CHECK_EQ(1, info->dapl_version_major);
	CHECK_EQ(2, info->dapl_version_minor);
	CHECK_EQ(DAT_TRUE, info->is_thread_safe);
	/* If the list is too short, the call returns the number of IAs. */
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1,
		  dat_registry_list_providers(num - 1, &some, list));
	CHECK_EQ(num, some);
	CHECK_EQ(DAT_SUCCESS, dat_registry_list_providers(num, &some, list));
	CHECK_EQ(num, some);
	list[num - 1] = NULL;
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3,
		  dat_registry_list_providers(num, &some, list));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_registry_list_providers(num, NULL, list));
	return true;
}

static bool withdrawn_device_not_listed(void)
{
	DAT_PROVIDER_INFO info = {};
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE other;
	DAT_PZ_HANDLE pz;

	strscpy(info.ia_name, kpair_ia, sizeof(info.ia_name));
	CHECK(kpair_open(&pair));
	dat_provider_fini(&info);
	CHECK(!listed(kpair_ia));
	CHECK_RET(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED,
		  dat_ia_open(kpair_ia, 8, &evd, &other));
	/* Open IAs stay open, and their name stays in use. */
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(pair.ia, &pz));
	CHECK_EQ(DAT_PROVIDER_ALREADY_REGISTERED,
		 DAT_GET_TYPE(dat_registry_add_provider(&tiny_provider,
							&info)));
	dat_provider_init(&info, "");
	CHECK(listed(kpair_ia));
	CHECK_EQ(DAT_SUCCESS, dat_ia_open(kpair_ia, 8, &evd, &other));
	CHECK_EQ(DAT_SUCCESS, dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG));
	dat_provider_init(NULL, NULL);
	dat_provider_fini(NULL);
	return true;
}

static DAT_COUNT num_listed(void)
{
	DAT_COUNT num = -1;

	dat_registry_list_providers(0, &num, NULL);
	return num;
}

/* mlx5 has ports of raw Ethernet beside those of RoCE. */
static bool raw_packet_port_is_no_ia(void)
{
	struct ib_device *ibdev = kpair_ibdev();
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE opened;
	DAT_RETURN ret;
	bool seen;
	u32 *caps;
	u32 kept;

	CHECK(ibdev);
	caps = &ibdev->port_data[1].immutable.core_cap_flags;
	kept = *caps;
	WRITE_ONCE(*caps, RDMA_CORE_CAP_PROT_RAW_PACKET);
	seen = listed(kpair_ia);
	ret = dat_ia_open(kpair_ia, 8, &evd, &opened);
	WRITE_ONCE(*caps, kept);
	ib_device_put(ibdev);
	CHECK(!seen);
	CHECK_RET(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED, ret);
	CHECK(listed(kpair_ia));
	return true;
}

/* Each call of dat_provider_init() and dat_provider_fini() affects one name only. */
static bool provider_init_fini_single_name(void)
{
	DAT_PROVIDER_INFO info = { .ia_name = "nobody0" };
	DAT_COUNT num = num_listed();

	dat_provider_init(&info, "");
	CHECK(!listed("nobody0"));
	CHECK_EQ(num, num_listed());
	dat_provider_fini(&info);
	CHECK(listed(kpair_ia));
	CHECK_EQ(num, num_listed());

	strscpy(info.ia_name, kpair_ia, sizeof(info.ia_name));
	CHECK_EQ(DAT_SUCCESS,
		 dat_registry_add_provider(&tiny_provider, &tiny_info));
	dat_provider_fini(&info);
	CHECK(!listed(kpair_ia));
	CHECK_EQ(num, num_listed());
	CHECK(listed("tiny0"));
	dat_provider_init(&info, "");
	CHECK(listed(kpair_ia));
	CHECK_EQ(num + 1, num_listed());
	return true;
}

static bool provider_with_two_names(void)
{
	DAT_PROVIDER_INFO second = tiny_info;

	strscpy(second.ia_name, "tiny1", sizeof(second.ia_name));
	CHECK_EQ(DAT_SUCCESS,
		 dat_registry_add_provider(&tiny_provider, &tiny_info));
	CHECK_EQ(DAT_SUCCESS,
		 dat_registry_add_provider(&tiny_provider, &second));
	CHECK(listed("tiny0"));
	CHECK(listed("tiny1"));
	CHECK_EQ(DAT_SUCCESS,
		 dat_registry_remove_provider(&tiny_provider, &second));
	CHECK(listed("tiny0"));
	CHECK(!listed("tiny1"));
	return true;
}

static bool open_each_listed_name(void)
{
	DAT_COUNT i, num = num_listed();
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE one;

	CHECK(num > 0 && num <= MAX_IAS);
	CHECK(listed(kpair_ia));
	for (i = 0; i < num; i++) {
		evd = DAT_HANDLE_NULL;
		CHECK_EQ(DAT_SUCCESS,
			 dat_ia_openv(infos[i].ia_name, 8, &evd, &one,
				      infos[i].dapl_version_major,
				      infos[i].dapl_version_minor,
				      infos[i].is_thread_safe));
		CHECK_EQ(DAT_SUCCESS,
			 dat_ia_close(one, DAT_CLOSE_GRACEFUL_FLAG));
	}
	CHECK_EQ(num, num_listed());
	return true;
}

static bool add_provider_bad_or_duplicate(void)
{
	static DAT_PROVIDER crippled, other;
	DAT_PROVIDER_INFO info = tiny_info;

	CHECK_EQ(DAT_SUCCESS,
		 dat_registry_add_provider(&tiny_provider, &tiny_info));
	CHECK(listed("tiny0"));
	CHECK_EQ(DAT_FALSE, listed("tiny0")->is_thread_safe);
	CHECK_EQ(DAT_PROVIDER_ALREADY_REGISTERED,
		 DAT_GET_TYPE(dat_registry_add_provider(&tiny_provider,
							&tiny_info)));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1,
		  dat_registry_add_provider(NULL, &tiny_info));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1,
		  dat_registry_add_provider(&crippled, &info));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_registry_add_provider(&tiny_provider, NULL));
	memset(info.ia_name, 'x', sizeof(info.ia_name));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_registry_add_provider(&tiny_provider, &info));
	info.ia_name[0] = '\0';
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_registry_add_provider(&tiny_provider, &info));

	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1,
		  dat_registry_remove_provider(&other, &tiny_info));
	CHECK(listed("tiny0"));
	CHECK_EQ(DAT_SUCCESS,
		 dat_registry_remove_provider(&tiny_provider, &tiny_info));
	CHECK(!listed("tiny0"));
	CHECK_RET(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2,
		  dat_registry_remove_provider(&tiny_provider, &tiny_info));
	return true;
}

static DAT_RETURN open_as(DAT_UINT32 major, DAT_UINT32 minor,
			  DAT_BOOLEAN thread_safety)
{
	DAT_RETURN ret;

	async_evd = DAT_HANDLE_NULL;
	ret = dat_ia_openv("tiny0", 8, &async_evd, &ia, major, minor,
			   thread_safety);
	if (ret)
		ia = DAT_HANDLE_NULL;
	return ret;
}

static bool open_tiny(void)
{
	CHECK_EQ(DAT_SUCCESS,
		 dat_registry_add_provider(&tiny_provider, &tiny_info));
	CHECK_EQ(DAT_SUCCESS, open_as(1, 2, DAT_FALSE));
	return true;
}

static bool open_ia_holds_provider(void)
{
	int refs = module_refcount(THIS_MODULE);
	DAT_IA_HANDLE closed;

	CHECK_RET(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED,
		  open_as(1, 2, DAT_FALSE));
	CHECK(open_tiny());
	CHECK_EQ(refs + 1, module_refcount(THIS_MODULE));
	CHECK_EQ(DAT_PROVIDER_IN_USE,
		 DAT_GET_TYPE(dat_registry_remove_provider(&tiny_provider,
							   &tiny_info)));
	closed = ia;
	tiny.busy = true;
	CHECK_EQ(DAT_INVALID_STATE,
		 DAT_GET_TYPE(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG)));
	CHECK_EQ(refs + 1, module_refcount(THIS_MODULE));
	tiny.busy = false;
	CHECK_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	ia = DAT_HANDLE_NULL;
	CHECK_EQ(refs, module_refcount(THIS_MODULE));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
		  dat_ia_close(closed, DAT_CLOSE_GRACEFUL_FLAG));

	CHECK_RET(DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND,
		  open_as(2, 0, DAT_FALSE));
	CHECK_RET(DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND,
		  open_as(1, 3, DAT_FALSE));
	CHECK_RET(DAT_PROVIDER_NOT_FOUND, DAT_THREAD_SAFETY_NOT_FOUND,
		  open_as(1, 2, DAT_TRUE));
	CHECK_EQ(DAT_SUCCESS, open_as(1, 1, DAT_FALSE));
	CHECK_EQ(0, tiny.bad);
	return true;
}

static bool calls_forwarded(void)
{
	DAT_CONTEXT context = { .as_64 = 0x4711 }, back = {};
	DAT_RMR_TRIPLET remote = {};
	DAT_HANDLE_TYPE type;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	DAT_PZ_PARAM param;

	CHECK(open_tiny());
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(ia, &pz));
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_DEFAULT_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, dat_ep_create(ia, pz, evd, evd, DAT_HANDLE_NULL,
					    NULL, &ep));
	CHECK_EQ(DAT_SUCCESS, dat_set_consumer_context(ep, context));
	CHECK_EQ(DAT_SUCCESS, dat_get_consumer_context(ep, &back));
	CHECK_EQ(0x4711, back.as_64);
	CHECK_EQ(DAT_SUCCESS, dat_get_handle_type(ep, &type));
	CHECK_EQ(DAT_HANDLE_TYPE_EP, type);
	CHECK_EQ(DAT_SUCCESS, dat_ep_post_send(ep, 0, NULL, context, 0));
	CHECK_EQ(DAT_SUCCESS, dat_evd_dequeue(evd, &event));
	CHECK_EQ(0x4711, event.event_data.dto_completion_event_data
						.user_cookie.as_64);
	CHECK_EQ(DAT_SUCCESS, dat_ep_post_recv(ep, 0, NULL, context, 0));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_post_rdma_read(ep, 0, NULL, context, &remote, 0));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_post_rdma_write(ep, 0, NULL, context, &remote, 0));
	/* A call without a function in the table. */
	CHECK_EQ(DAT_NOT_IMPLEMENTED,
		 DAT_GET_TYPE(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param)));
	CHECK_EQ(DAT_NOT_IMPLEMENTED,
		 DAT_GET_TYPE(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG)));
	tiny.busy = true;
	CHECK_EQ(DAT_INVALID_STATE, DAT_GET_TYPE(dat_ep_free(ep)));
	tiny.busy = false;
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(evd));
	CHECK_EQ(DAT_SUCCESS, dat_pz_free(pz));
	CHECK_EQ(DAT_SUCCESS, dat_evd_free(async_evd));
	CHECK_EQ(1, tiny.live);
	CHECK_EQ(0, tiny.bad);
	return true;
}

static bool srq_and_rmr_calls_forwarded(void)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 1, .max_recv_iov = 1 };
	DAT_CONTEXT cookie = { .as_64 = 0x4712 };
	DAT_LMR_TRIPLET part = {};
	DAT_EP_ATTR attr = {};
	DAT_SRQ_PARAM param;
	DAT_RMR_CONTEXT context;
	DAT_SRQ_HANDLE srq;
	DAT_RMR_HANDLE rmr;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	CHECK(open_tiny());
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(ia, &pz));
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_DEFAULT_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, dat_srq_create(ia, pz, &srq_attr, &srq));
	CHECK_EQ(DAT_SUCCESS, dat_srq_post_recv(srq, 0, NULL, cookie));
	CHECK_EQ(0x4712, tiny.next.event_data.dto_completion_event_data
						.user_cookie.as_64);
	CHECK_EQ(DAT_NOT_IMPLEMENTED,
		 DAT_GET_TYPE(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param)));
	CHECK_EQ(DAT_NOT_IMPLEMENTED, DAT_GET_TYPE(dat_srq_resize(srq, 2)));
	CHECK_EQ(DAT_NOT_IMPLEMENTED, DAT_GET_TYPE(dat_srq_set_lw(srq, 1)));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create_with_srq(ia, pz, evd, evd, evd, srq, &attr,
					&ep));
	CHECK_EQ(DAT_NOT_IMPLEMENTED,
		 DAT_GET_TYPE(dat_ep_set_watermark(ep, 1, 1)));
	CHECK_EQ(DAT_NOT_IMPLEMENTED,
		 DAT_GET_TYPE(dat_ep_recv_query(ep, NULL, NULL)));
	CHECK_EQ(DAT_INVALID_HANDLE,
		 DAT_GET_TYPE(dat_ep_create_with_srq(ia, pz, evd, evd, evd, pz,
						     &attr, &ep)));

	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pz, &rmr));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_bind(rmr, DAT_HANDLE_NULL, &part, 0,
					   DAT_VA_TYPE_ZB, ep, cookie, 0,
					   &context));
	CHECK_EQ(DAT_VA_TYPE_ZB, context);
	CHECK_EQ(DAT_SUCCESS, dat_rmr_bind(rmr, &part, 0, ep, cookie, 0,
					   &context));
	CHECK_EQ(DAT_VA_TYPE_VA, context);
	CHECK_EQ(DAT_SUCCESS, dat_rmr_free(rmr));
	CHECK_EQ(DAT_SUCCESS, dat_ep_free(ep));
	CHECK_EQ(DAT_SUCCESS, dat_srq_free(srq));
	CHECK_EQ(DAT_INVALID_HANDLE, DAT_GET_TYPE(dat_srq_free(srq)));
	CHECK_EQ(0, tiny.bad);
	return true;
}

#define CHECK_MISSING(call) \
	CHECK_EQ(DAT_NOT_IMPLEMENTED, DAT_GET_TYPE(call))

/* Fields that the provider does not fill in must be zero. */
static bool is_zero(const void *from, size_t size)
{
	return !memchr_inv(from, 0, size);
}

static bool unset_query_fields_zero(void)
{
	static DAT_PROVIDER_ATTR attr;
	static DAT_IA_ATTR ia_attr;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;

	CHECK(open_tiny());
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(ia, &pz));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_create(pz, &rmr));
	memset(&attr, 0x55, sizeof(attr));
	memset(&ia_attr, 0x55, sizeof(ia_attr));
	memset(&param, 0x55, sizeof(param));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &ia_attr,
			      DAT_PROVIDER_FIELD_ALL, &attr));
	CHECK_EQ(sizeof(ia_attr.adapter_name) - 1,
		 strnlen(ia_attr.adapter_name, sizeof(ia_attr.adapter_name)));
	CHECK_EQ(sizeof(attr.provider_name) - 1,
		 strnlen(attr.provider_name, sizeof(attr.provider_name)));
	CHECK_EQ(0, ia_attr.num_transport_attr);
	CHECK_EQ(0, attr.num_provider_specific_attr);
	memset(ia_attr.adapter_name, 0, sizeof(ia_attr.adapter_name));
	memset(attr.provider_name, 0, sizeof(attr.provider_name));
	CHECK(is_zero(&ia_attr, sizeof(ia_attr)));
	CHECK(is_zero(&attr, sizeof(attr)));
	CHECK_EQ(DAT_SUCCESS, dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	CHECK(is_zero(&param, sizeof(param)));
	/* Fields outside the mask are not changed. */
	CHECK_EQ(DAT_SUCCESS, dat_ia_query(ia, NULL, 0, NULL, 0, NULL));
	return true;
}

static bool missing_calls_not_implemented(void)
{
	DAT_REGION_DESCRIPTION region = {};
	DAT_COMM comm = { AF_INET, SOCK_STREAM };
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(4711),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	DAT_IA_ADDRESS_PTR peer = (DAT_IA_ADDRESS_PTR)&addr;
	DAT_RMR_TRIPLET triplet = {};
	DAT_EP_PARAM ep_param = {};
	DAT_CONTEXT cookie = {};
	DAT_LMR_CONTEXT context;
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL qual;
	DAT_HANDLE made;
	DAT_VADDR vaddr;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	DAT_VLEN vlen;

	CHECK(kpair_open(&pair));
	CHECK(open_tiny());
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(ia, &pz));
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_DEFAULT_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep));

	CHECK_MISSING(dat_ep_connect(ep, peer, 4711, 1, 0, NULL,
				     DAT_QOS_BEST_EFFORT, 0));
	CHECK_MISSING(dat_ep_common_connect(ep, peer, 1, 0, NULL));
	CHECK_MISSING(dat_ep_dup_connect(ep, ep, 1, 0, NULL,
					 DAT_QOS_BEST_EFFORT));
	CHECK_MISSING(dat_ep_reset(ep));
	ep_param.pz_handle = pz;
	ep_param.request_evd_handle = evd;
	CHECK_MISSING(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE |
					DAT_EP_FIELD_REQUEST_EVD_HANDLE,
				    &ep_param));
	CHECK_MISSING(dat_ep_post_send_with_invalidate(ep, 0, NULL, cookie, 0,
						       DAT_TRUE, 1));
	CHECK_MISSING(dat_ep_post_rdma_read_to_rmr(ep, &triplet, cookie,
						   &triplet, 0));
	CHECK_MISSING(dat_psp_create(ia, 4711, evd, DAT_PSP_CONSUMER_FLAG,
				     &made));
	CHECK_MISSING(dat_psp_create_any(ia, &qual, evd, DAT_PSP_PROVIDER_FLAG,
					 &made));
	CHECK_MISSING(dat_rsp_create(ia, 4711, ep, evd, &made));
	CHECK_MISSING(dat_csp_create(ia, &comm, peer, evd, &made));
	CHECK_MISSING(dat_rmr_create_for_ep(pz, &made));
	CHECK_MISSING(dat_ia_memtype_hint(ia, DAT_MEM_TYPE_VIRTUAL, 1,
					  DAT_MEM_OPTIMIZE_DONT_CARE, &vlen,
					  &vaddr));
	CHECK_MISSING(dat_ia_reserved_lmr(ia, &made, &context));
	CHECK_MISSING(dat_lmr_allocate(ia, pz, 1, DAT_LMR_SCOPE_PZ, &made));
	CHECK_MISSING(dat_lmr_kcreate(ia, DAT_MEM_TYPE_VIRTUAL, region, 1, pz,
				      0, DAT_VA_TYPE_VA, 0, &made, &context,
				      NULL, NULL, NULL));
	cr = tiny_request();
	CHECK_EQ(DAT_SUCCESS, dat_evd_dequeue(evd, &event));
	CHECK_MISSING(dat_cr_handoff(cr, 4711));
	CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr, ep, 0, NULL));

	/* The provider gets no handle of another provider. */
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_dup_connect(ep, pair.a.ep, 1, 0, NULL,
				     DAT_QOS_BEST_EFFORT));
	ep_param.pz_handle = pair.a.pz;
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP,
		  dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &ep_param));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
		  dat_rsp_create(ia, 4711, pair.a.ep, evd, &made));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
		  dat_lmr_allocate(ia, pair.a.pz, 1, DAT_LMR_SCOPE_PZ, &made));
	region.for_lmr_handle = pair.a.pz;
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
		  dat_lmr_kcreate(ia, DAT_MEM_TYPE_LMR, region, 1, pz, 0,
				  DAT_VA_TYPE_VA, 0, &made, &context, NULL,
				  NULL, NULL));
	CHECK_EQ(0, tiny.bad);
	return true;
}

/* The provider gets no handle that it has not returned itself. */
static bool foreign_handles_rejected(void)
{
	const DAT_PROVIDER *looks_real[4] = { &tiny_provider };
	DAT_PZ_HANDLE pz, own_pz, bad[5], made;
	DAT_CONTEXT context = {};
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	unsigned int calls, i;

	CHECK(kpair_open(&pair));
	CHECK(open_tiny());
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(ia, &pz));
	CHECK_EQ(DAT_SUCCESS, dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, NULL,
					      DAT_EVD_DEFAULT_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(ia, &bad[0]));
	CHECK_EQ(DAT_SUCCESS, dat_pz_free(bad[0]));
	bad[1] = evd;
	bad[2] = looks_real;
	bad[3] = (void *)0xdeadbeef;
	bad[4] = pz + 1;
	own_pz = pair.a.pz;
	calls = tiny.calls;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ,
			  dat_pz_free(bad[i]));
		CHECK_EQ(DAT_INVALID_HANDLE,
			 DAT_GET_TYPE(dat_ep_create(ia, bad[i], evd, evd, evd,
						    NULL, &ep)));
		CHECK_EQ(DAT_INVALID_HANDLE,
			 DAT_GET_TYPE(dat_ep_post_send(bad[i], 0, NULL,
						       context, 0)));
		CHECK_EQ(DAT_INVALID_HANDLE,
			 DAT_GET_TYPE(dat_ia_close(bad[i], 0)));
	}
	/* No handle of another consumer either, in both directions. */
	CHECK_EQ(DAT_INVALID_HANDLE,
		 DAT_GET_TYPE(dat_ep_create(ia, own_pz, evd, evd, evd, NULL,
					    &ep)));
	CHECK_EQ(DAT_INVALID_HANDLE,
		 DAT_GET_TYPE(dat_ep_create(ia, pz, pair.a.dto_evd, evd, evd,
					    NULL, &ep)));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ,
		  dat_ep_create(pair.ia, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				DAT_HANDLE_NULL, NULL, &ep));
	CHECK_EQ(calls, tiny.calls);

	/* Closing the IA removes all its handles. */
	made = ia;
	CHECK_EQ(DAT_SUCCESS, dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	ia = DAT_HANDLE_NULL;
	calls = tiny.calls;
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ, dat_pz_free(pz));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1, dat_evd_free(evd));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1,
		  dat_set_consumer_context(evd, context));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA,
		  dat_pz_create(made, &pz));
	CHECK_EQ(calls, tiny.calls);
	CHECK_EQ(0, tiny.bad);
	return true;
}

static struct {
	unsigned int calls;
	DAT_PVOID data;
	DAT_RETURN ret;
} seen;

static void reject(DAT_PVOID instance_data, const DAT_EVENT *event,
		   DAT_BOOLEAN more_events)
{
	seen.calls++;
	seen.data = instance_data;
	seen.ret = dat_cr_reject(event->event_data.cr_arrival_event_data
							.cr_handle, 0, NULL);
}

static bool cr_handle_valid_after_event(void)
{
	DAT_UPCALL_OBJECT upcall = { &seen, reject }, other = { &ia, reject };
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	memset(&seen, 0, sizeof(seen));
	CHECK(open_tiny());
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(ia, &pz));
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_kcreate(ia, 8, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				 DAT_EVD_DEFAULT_FLAG, &evd));
	CHECK_EQ(DAT_SUCCESS,
		 dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep));
	cr = tiny_request();
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR,
		  dat_cr_reject(cr, 0, NULL));
	CHECK_EQ(DAT_SUCCESS, dat_evd_dequeue(evd, &event));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR,
		  dat_cr_accept(cr, pz, 0, NULL));
	CHECK_EQ(DAT_SUCCESS, dat_cr_accept(cr, ep, 0, NULL));
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR,
		  dat_cr_accept(cr, ep, 0, NULL));

	cr = tiny_request();
	tiny.upcall.upcall_func(tiny.upcall.instance_data, &tiny.next,
				DAT_FALSE);
	CHECK_EQ(1, seen.calls);
	CHECK_EQ((uintptr_t)&seen, (uintptr_t)seen.data);
	CHECK_EQ(DAT_SUCCESS, seen.ret);
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR,
		  dat_cr_reject(cr, 0, NULL));

	/* The upcall that kdapl inserts in between is not visible. */
	CHECK_EQ(DAT_SUCCESS,
		 dat_evd_modify_upcall(evd, DAT_UPCALL_MANY, &other, 0));
	CHECK_EQ(DAT_SUCCESS, dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	CHECK_EQ((uintptr_t)reject, (uintptr_t)param.upcall.upcall_func);
	tiny_request();
	tiny.upcall.upcall_func(tiny.upcall.instance_data, &tiny.next,
				DAT_FALSE);
	CHECK_EQ((uintptr_t)&ia, (uintptr_t)seen.data);
	CHECK_EQ(DAT_SUCCESS, seen.ret);
	CHECK_EQ(0, tiny.bad);
	return true;
}

static bool handle_of_closed_ia_invalid(void)
{
	DAT_PZ_HANDLE pz;

	CHECK(open_tiny());
	tiny.closes = true;
	CHECK_EQ(DAT_SUCCESS, dat_pz_create(ia, &pz));
	ia = DAT_HANDLE_NULL;
	CHECK_RET(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ, dat_pz_free(pz));
	CHECK_EQ(0, tiny.bad);
	return true;
}

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(list_registered_devices),
	TEST(withdrawn_device_not_listed),
	TEST(raw_packet_port_is_no_ia),
	TEST(provider_init_fini_single_name),
	TEST(provider_with_two_names),
	TEST(open_each_listed_name),
	TEST(add_provider_bad_or_duplicate),
	TEST(open_ia_holds_provider),
	TEST(calls_forwarded),
	TEST(srq_and_rmr_calls_forwarded),
	TEST(missing_calls_not_implemented),
	TEST(unset_query_fields_zero),
	TEST(foreign_handles_rejected),
	TEST(cr_handle_valid_after_event),
	TEST(handle_of_closed_ia_invalid),
};

static int __init registry_test_init(void)
{
	int ret = report_open("kdapl_registry_test");
	unsigned int i;

	if (ret)
		return ret;
	report("TAP version 13\n1..%zu\n", ARRAY_SIZE(tests));
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		bool ok = tests[i].fn();

		report("%sok %u kdapl_registry_test.%s\n", ok ? "" : "not ",
		       i + 1, tests[i].name);
		clean_up();
	}
	return 0;
}

static void __exit registry_test_exit(void)
{
	report_close();
}

module_init(registry_test_init);
module_exit(registry_test_exit);
MODULE_DESCRIPTION("Tests the registry of providers");
MODULE_LICENSE("Dual BSD/GPL");
