// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dispatch.c - the exported calls: to the kernel, or to an external provider
 *
 * Each entry of calls.def becomes its dat_<name>() here. If the first handle
 * belongs to an external provider, the call goes to the provider's function, else
 * to libdat_<name>(). external.c, registry.c and loader.c hold the state of
 * external providers; no other file uses them. libdaplkdat is built without these
 * four files.
 */
#include "libdat.h"
#include "external.h"

/*
 * Before an acceptance: the EP must belong to the provider of @cr. Without one
 * the provider uses an EP that it created and that the program may not know.
 */
static void check_accept(struct libdat_external *cr, DAT_EP_HANDLE ep_handle)
{
	DAT_CR_PARAM param = { .local_ep_handle = DAT_HANDLE_NULL };

	libdat_external_same(cr, ep_handle, DAT_HANDLE_TYPE_EP,
			     DAT_INVALID_HANDLE_EP);
	if (ep_handle == DAT_HANDLE_NULL &&
	    LIBDAT_EXTERNAL_CALL(cr, cr_query_func, cr->handle,
				 DAT_CR_FIELD_LOCAL_EP_HANDLE,
				 &param) == DAT_SUCCESS)
		libdat_external_learn(cr, param.local_ep_handle,
				      DAT_HANDLE_TYPE_EP);
}

/* Vocabulary of calls.def: what happens to the handles of a forwarded call */

/* Another handle must be null, or of this type and of the same provider. */
#define SAME(type, handle, subtype)					\
	libdat_external_same(&ext, handle, DAT_HANDLE_TYPE_ ## type, subtype)
#define SAME_IF(condition, type, handle, subtype)			\
	((condition) ? SAME(type, handle, subtype) : (void)0)
/* The provider stores the handle of a new object. */
#define CREATES(type, handle)						\
	libdat_external_create(&ext, DAT_HANDLE_TYPE_ ## type, handle)
/* The provider destroys the object, and with it an EP that it created. */
#define FREES		libdat_external_free(&ext, false)
#define FREES_WITH_EP	libdat_external_free(&ext, true)
/* The provider closes an IA, with all objects of the IA. */
#define CLOSES		(ext.closes = true, FREES_WITH_EP)
/* The provider may store the handle of an EP that it created. */
#define RETURNS_EP(condition, handle)	(ext.ep = (condition) ? (handle) : NULL)
#define ACCEPTS(handle)			check_accept(&ext, handle)
/* A connection request event has the handle of a new CR. */
#define TAKES_EVENT(out)		(ext.event = (out))

#define FIRST_ARGUMENT(first, ...)	first
#define UNWRAP(...)			__VA_ARGS__

/* A function of its own, so that a call to the kernel saves no registers. */
#define CALL(name, handle_type, parameters, arguments, external)	\
static __attribute__((noinline)) DAT_RETURN forward_ ## name parameters	\
{									\
	struct libdat_external ext;					\
									\
	if (!libdat_external_find(&ext, FIRST_ARGUMENT arguments,	\
				  DAT_HANDLE_TYPE_ ## handle_type))	\
		return libdat_ ## name arguments;			\
	external;							\
	return libdat_external_end(&ext,				\
				   LIBDAT_EXTERNAL_CALL(&ext,		\
							name ## _func,	\
							UNWRAP arguments)); \
}									\
									\
DAT_RETURN dat_ ## name parameters					\
{									\
	return libdat_may_be_external(FIRST_ARGUMENT arguments) ?	\
	       forward_ ## name arguments : libdat_ ## name arguments;	\
}

#define SHIM(name, type, parameters, arguments, external, ...)		\
	CALL(name, type, parameters, arguments, external)
#define VIA	SHIM
#include "calls.def"

/**
 * dat_ia_openv - open an IA; the macro dat_ia_open() calls this function
 * @ia_name_ptr: name of the IA, or an alias of dat.conf(5); the prefix RO_AWARE_
 *	allows relaxed ordering for memory of DAT_MEM_TYPE_VIRTUAL
 * @async_evd_min_qlen: minimum queue length of the asynchronous EVD
 * @async_evd_handle: in: DAT_HANDLE_NULL, out: the asynchronous EVD; or in:
 *	DAT_EVD_ASYNC_EXISTS, out: DAT_EVD_OUT_OF_SCOPE
 * @ia_handle: out
 * @dat_major: major version of DAT that the program uses
 * @dat_minor: minor version of DAT that the program uses
 * @thread_safety: whether the program needs a thread safe provider
 *
 * The order of search is: registered external providers, the kernel, libraries
 * that dat.conf(5) names. Instances cannot share an EVD: another EVD in
 * @async_evd_handle fails with DAT_INVALID_HANDLE_EVD_ASYNC. Thread safe. See
 * dat_ia_open(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER, or DAT_PROVIDER_NOT_FOUND: with DAT_NAME_NOT_REGISTERED
 * if there is no such IA or no /dev/dat, without subtype if the process may not
 * open /dev/dat.
 */
DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name_ptr,
			DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_HANDLE *ia_handle, DAT_UINT32 dat_major,
			DAT_UINT32 dat_minor, DAT_BOOLEAN thread_safety)
{
	const char *name = ia_name_ptr;
	bool is_complete = name && async_evd_handle && ia_handle;
	DAT_RETURN ret;

	if (is_complete) {
		name += libdat_ro_aware_prefix(name);
		if (libdat_provider_open(&ret, name, async_evd_min_qlen,
					 async_evd_handle, ia_handle, dat_major,
					 dat_minor, thread_safety))
			return ret;
	}
	ret = libdat_ia_openv(ia_name_ptr, async_evd_min_qlen,
			      async_evd_handle, ia_handle, dat_major, dat_minor,
			      thread_safety);
	if (is_complete && DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND)
		libdat_provider_load(&ret, name, async_evd_min_qlen,
				     async_evd_handle, ia_handle, dat_major,
				     dat_minor, thread_safety);
	return ret;
}
