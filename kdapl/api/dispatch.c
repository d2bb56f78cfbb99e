// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dispatch.c - the exported calls: kdapl's own, or those of an external provider
 *
 * For each row of calls.def this file defines and exports dat_NAME(). dat_NAME() calls
 * kdapl_NAME(). If that returns DAT_INVALID_HANDLE, the first argument may be a handle
 * of an external provider. dat_NAME() then looks it up in ext.c and calls the provider.
 * ext_evd.c defines the calls of EVDs that carry connection requests, registry.c those
 * that open and close an IA. Context and return values are those of kdapl_NAME() and of
 * the provider's function.
 */
#include <linux/export.h>
#include <linux/string.h>

#include "api/ext.h"
#include "base/calls.h"

/*
 * MAP(m, t1, a1, t2, a2, ...) expands to m(t1, a1) m(t2, a2) ..., for up to 12 pairs.
 * It is the __MAP() of <linux/syscalls.h> with more pairs, and counts them itself.
 */
#define MAP0(m, ...)
#define MAP1(m, t, a, ...)	m(t, a)
#define MAP2(m, t, a, ...)	m(t, a) MAP1(m, __VA_ARGS__)
#define MAP3(m, t, a, ...)	m(t, a) MAP2(m, __VA_ARGS__)
#define MAP4(m, t, a, ...)	m(t, a) MAP3(m, __VA_ARGS__)
#define MAP5(m, t, a, ...)	m(t, a) MAP4(m, __VA_ARGS__)
#define MAP6(m, t, a, ...)	m(t, a) MAP5(m, __VA_ARGS__)
#define MAP7(m, t, a, ...)	m(t, a) MAP6(m, __VA_ARGS__)
#define MAP8(m, t, a, ...)	m(t, a) MAP7(m, __VA_ARGS__)
#define MAP9(m, t, a, ...)	m(t, a) MAP8(m, __VA_ARGS__)
#define MAP10(m, t, a, ...)	m(t, a) MAP9(m, __VA_ARGS__)
#define MAP11(m, t, a, ...)	m(t, a) MAP10(m, __VA_ARGS__)
#define MAP12(m, t, a, ...)	m(t, a) MAP11(m, __VA_ARGS__)
#define MAP_OF(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14,	\
	       _15, _16, _17, _18, _19, _20, _21, _22, _23, _24, map, ...)	map
#define MAP(m, ...)							\
	MAP_OF(, ##__VA_ARGS__, MAP12, 0, MAP11, 0, MAP10, 0, MAP9, 0, MAP8, 0,	\
	       MAP7, 0, MAP6, 0, MAP5, 0, MAP4, 0, MAP3, 0, MAP2, 0, MAP1, 0,	\
	       MAP0)(m, ##__VA_ARGS__)

#define DECLARE(type, name)	, type name
#define PASS(type, name)	, name

/* The further handles of a call must be of the same provider. */
#define SAME(handle, type)	\
	dat_ext_is_same(ext, handle, DAT_HANDLE_TYPE_##type)

/*
 * Defines dat_NAME(). @on_ext is a statement for a handle of the external provider
 * "ext". It sets "ret", or leaves it at DAT_INVALID_HANDLE.
 */
#define DEFINE_CALL(name, first, handle_type, on_ext, ...)		\
DAT_RETURN dat_##name(first handle MAP(DECLARE, ##__VA_ARGS__))		\
{									\
	DAT_RETURN ret = kdapl_##name(handle MAP(PASS, ##__VA_ARGS__));	\
	struct dat_ext *ext = dat_ext_if_unknown(ret, handle, handle_type); \
									\
	if (!ext)							\
		return ret;						\
	on_ext;								\
	dat_ext_put(ext);						\
	return ret;							\
}									\
EXPORT_SYMBOL_GPL(dat_##name);

#define EXT_CALL(name, ...)						\
	dat_ext_call(ext, name##_func, (handle MAP(PASS, ##__VA_ARGS__)))

#define DAT_CALL_ANY(name, ...)						\
	DEFINE_CALL(name, DAT_HANDLE, DAT_EXT_ANY_TYPE,			\
		ret = EXT_CALL(name, ##__VA_ARGS__), ##__VA_ARGS__)

#define DAT_CALL(name, type, valid, ...)				\
	DEFINE_CALL(name, DAT_##type##_HANDLE, DAT_HANDLE_TYPE_##type,	\
		if (valid)						\
			ret = EXT_CALL(name, ##__VA_ARGS__), ##__VA_ARGS__)

/* Fields that the provider does not set are 0. */
#define DAT_QUERY(name, type, param, ...)				\
	DEFINE_CALL(name, DAT_##type##_HANDLE, DAT_HANDLE_TYPE_##type,	\
		if (param)						\
			memset(param, 0, sizeof(*(param)));		\
		ret = EXT_CALL(name, ##__VA_ARGS__), ##__VA_ARGS__)

#define DAT_CREATE(name, type, new_type, new_handle, valid, ...)	\
	DEFINE_CALL(name, DAT_##type##_HANDLE, DAT_HANDLE_TYPE_##type,	\
		if (valid) {						\
			struct dat_ext *new = dat_ext_alloc(ext->reg, GFP_KERNEL); \
									\
			ret = new ? EXT_CALL(name, ##__VA_ARGS__) :	\
				    DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, \
					      DAT_RESOURCE_MEMORY);	\
			if (ret)					\
				dat_ext_drop(new);			\
			else						\
				dat_ext_add(new, *(new_handle),		\
					    DAT_HANDLE_TYPE_##new_type, ext); \
		}, ##__VA_ARGS__)

#define DAT_FREE(name, type, valid, ...)				\
	DEFINE_CALL(name, DAT_##type##_HANDLE, DAT_HANDLE_TYPE_##type,	\
		if ((valid) && dat_ext_hide(ext)) {			\
			ret = EXT_CALL(name, ##__VA_ARGS__);		\
			if (ret)					\
				dat_ext_unhide(ext);			\
			else						\
				dat_ext_remove(ext);			\
		}, ##__VA_ARGS__)

/* A region of DAT_MEM_TYPE_LMR is an LMR of the same provider. */
static bool same_region(const struct dat_ext *ext, DAT_MEM_TYPE type,
			const DAT_REGION_DESCRIPTION *region)
{
	return type != DAT_MEM_TYPE_LMR || SAME(region->for_lmr_handle, LMR);
}

/* The PZ and the EVDs that dat_ep_modify() changes are of the same provider. */
static bool same_parts(const struct dat_ext *ext, DAT_EP_PARAM_MASK mask,
		       const DAT_EP_PARAM *param)
{
	return (!(mask & DAT_EP_FIELD_PZ_HANDLE) ||
		SAME(param->pz_handle, PZ)) &&
	       (!(mask & DAT_EP_FIELD_RECV_EVD_HANDLE) ||
		SAME(param->recv_evd_handle, EVD)) &&
	       (!(mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE) ||
		SAME(param->request_evd_handle, EVD)) &&
	       (!(mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE) ||
		SAME(param->connect_evd_handle, EVD));
}

#include "base/calls.def"

/* Terminates the two strings and clears the counts of attribute lists that are NULL. */
static void finish_attrs(DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR *provider_attr)
{
	if (ia_attr) {
		ia_attr->adapter_name[sizeof(ia_attr->adapter_name) - 1] = 0;
		ia_attr->vendor_name[sizeof(ia_attr->vendor_name) - 1] = 0;
		if (!ia_attr->transport_attr)
			ia_attr->num_transport_attr = 0;
		if (!ia_attr->vendor_attr)
			ia_attr->num_vendor_attr = 0;
	}
	if (provider_attr) {
		provider_attr->provider_name[sizeof(provider_attr->provider_name) - 1] = 0;
		if (!provider_attr->provider_specific_attr)
			provider_attr->num_provider_specific_attr = 0;
	}
}

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_UINT64 provider_attr_mask,
			DAT_PROVIDER_ATTR *provider_attr)
{
	struct dat_ext *ext;
	DAT_RETURN ret;

	ret = kdapl_ia_query(ia_handle, async_evd_handle, ia_attr_mask, ia_attr,
			     provider_attr_mask, provider_attr);
	ext = dat_ext_if_unknown(ret, ia_handle, DAT_HANDLE_TYPE_IA);
	if (!ext)
		return ret;
	if (!ia_attr_mask)
		ia_attr = NULL;
	if (!provider_attr_mask)
		provider_attr = NULL;
	if (ia_attr)
		memset(ia_attr, 0, sizeof(*ia_attr));
	if (provider_attr)
		memset(provider_attr, 0, sizeof(*provider_attr));
	ret = dat_ext_call(ext, ia_query_func,
			   (ia_handle, async_evd_handle, ia_attr_mask, ia_attr,
			    provider_attr_mask, provider_attr));
	if (!ret)
		finish_attrs(ia_attr, provider_attr);
	dat_ext_put(ext);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_query);

/* Providers have the function of DAT 2.0, whose LMR handle the call of 1.2 lacks. */
DEFINE_CALL(rmr_bind_1_2, DAT_RMR_HANDLE, DAT_HANDLE_TYPE_RMR,
	if (SAME(ep_handle, EP))
		ret = dat_ext_call(ext, rmr_bind_func,
				   (handle, DAT_HANDLE_NULL, lmr_triplet,
				    mem_privileges, DAT_VA_TYPE_VA, ep_handle,
				    user_cookie, completion_flags, rmr_context)),
	const DAT_LMR_TRIPLET *, lmr_triplet, DAT_MEM_PRIV_FLAGS, mem_privileges,
	DAT_EP_HANDLE, ep_handle, DAT_RMR_COOKIE, user_cookie,
	DAT_COMPLETION_FLAGS, completion_flags, DAT_RMR_CONTEXT *, rmr_context)
