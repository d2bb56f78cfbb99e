/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * registry.h - providers beside kdapl, and calls on their handles
 *
 * "Foreign" is what belongs to a provider in another module. Its handles are
 * whatever it likes, most likely pointers. They are not followed: a table knows
 * each that has been given out, and whose it is: Documentation/registry.rst.
 */
#ifndef _KDAPL_REGISTRY_H
#define _KDAPL_REGISTRY_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/string.h>

#include <dat/dat_registry.h>

/**
 * struct dat_registration - an IA of a foreign provider
 * @node: in the list of them
 * @ref: one of the list, one of each handle
 * @owner: the provider's module
 * @provider: its functions; valid as long as the module
 * @info: the IA's name and version
 * @opens: how often it is open; under the lock of the list
 */
struct dat_registration {
	struct list_head node;
	struct kref ref;
	struct module *owner;
	const DAT_PROVIDER *provider;
	DAT_PROVIDER_INFO info;
	unsigned int opens;
};

/**
 * struct dat_foreign - a handle that a foreign provider has given out
 * @node: in the table
 * @ref: memory is kept while not 0
 * @rcu: for the release
 * @handle: the handle
 * @type: type of the object that it names
 * @hidden: it is being freed: not found
 * @ia: handle of its IA
 * @reg: whose it is, referenced
 * @upcall: of an EVD: what the consumer wants to be called
 * @takes_requests: of an EVD: connection requests may come
 * @spare: of such an EVD: for the handle of the next request, or NULL
 */
struct dat_foreign {
	struct hlist_node node;
	struct kref ref;
	struct rcu_head rcu;
	DAT_HANDLE handle;
	DAT_HANDLE_TYPE type;
	bool hidden;
	DAT_IA_HANDLE ia;
	struct dat_registration *reg;
	DAT_UPCALL_OBJECT upcall;
	bool takes_requests;
	struct dat_foreign *spare;
};

/* registry.c */
int dat_registry_init(void);
void dat_registry_exit(void);
DAT_RETURN dat_registry_open(const char *ia_name, DAT_COUNT qlen,
			     DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia,
			     DAT_UINT32 major, DAT_UINT32 minor,
			     DAT_BOOLEAN thread_safety);
DAT_RETURN dat_registry_close(DAT_IA_HANDLE ia_handle,
			      DAT_CLOSE_FLAGS close_flags);
void dat_registration_put(struct dat_registration *reg);

/* foreign.c */
struct dat_foreign *dat_foreign_get(DAT_HANDLE handle);
struct dat_foreign *dat_foreign_begin(DAT_HANDLE handle, DAT_HANDLE_TYPE type);
void dat_foreign_end(struct dat_foreign *obj);
bool dat_foreign_is(const struct dat_foreign *obj, DAT_HANDLE handle,
		    DAT_HANDLE_TYPE type);
struct dat_foreign *dat_foreign_alloc(struct dat_registration *reg, gfp_t gfp);
void dat_foreign_add(struct dat_foreign *obj, DAT_HANDLE handle,
		     DAT_HANDLE_TYPE type, DAT_IA_HANDLE ia);
void dat_foreign_drop(struct dat_foreign *obj);
bool dat_foreign_hide(struct dat_foreign *obj);
void dat_foreign_unhide(struct dat_foreign *obj);
void dat_foreign_remove(struct dat_foreign *obj);
void dat_foreign_remove_all(struct dat_foreign *ia);

static inline DAT_RETURN dat_foreign_missing(void)
{
	return DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
}

/* Is @ret such that the handle may be somebody else's? */
static inline struct dat_foreign *dat_foreign_try(DAT_RETURN ret,
						  DAT_HANDLE handle,
						  DAT_HANDLE_TYPE type)
{
	if (DAT_GET_TYPE(ret) != DAT_INVALID_HANDLE)
		return NULL;
	return dat_foreign_begin(handle, type);
}

/* What the provider's function returns, if it has one. */
#define dat_foreign_call(obj, func, ...)				\
	((obj)->reg->provider->func ?					\
		 (obj)->reg->provider->func(__VA_ARGS__) :		\
		 dat_foreign_missing())

/**
 * dat_foreign_with - the end of a call whose handle is none of ours
 * @ret: what to return if it is of nobody else's either
 * @handle: the handle
 * @type: the type that it must have
 * @valid: whether the other handles are the provider's, in terms of "parent",
 *	the entry of @handle
 * @func: member of struct dat_provider
 * @...: the arguments
 *
 * Evaluates to what the provider's function returns.
 */
#define dat_foreign_with(ret, handle, type, valid, func, ...)		\
({									\
	DAT_RETURN __ret = (ret);					\
	struct dat_foreign *parent = dat_foreign_try(__ret, handle, type); \
									\
	if (parent) {							\
		if (valid)						\
			__ret = dat_foreign_call(parent, func, __VA_ARGS__); \
		dat_foreign_end(parent);				\
	}								\
	__ret;								\
})

/* The same, where there are no other handles. */
#define dat_foreign(ret, handle, type, func, ...)			\
	dat_foreign_with(ret, handle, type, true, func, __VA_ARGS__)

/*
 * The same for a query, whose structure is empty when the provider gets it: what
 * the provider leaves alone is 0, and nothing that was there before.
 */
#define dat_foreign_query(ret, handle, type, param, func, ...)		\
	dat_foreign_with(ret, handle, type,				\
			 (memset((param), 0, sizeof(*(param))), true),	\
			 func, __VA_ARGS__)

/* The same, for handles of any type. */
#define dat_foreign_any(handle, func, ...)				\
({									\
	DAT_RETURN __ret = DAT_ERROR(DAT_INVALID_HANDLE,		\
				     DAT_INVALID_HANDLE1);		\
	struct dat_foreign *__obj = dat_foreign_get(handle);		\
									\
	if (__obj) {							\
		__ret = dat_foreign_call(__obj, func, __VA_ARGS__);	\
		dat_foreign_end(__obj);					\
	}								\
	__ret;								\
})

/**
 * dat_foreign_make - the end of a call that makes an object
 * @ret: as for dat_foreign_with()
 * @handle: likewise
 * @type: likewise
 * @new_type: type of the new object
 * @new_handle: where the provider leaves the new handle
 * @valid: as for dat_foreign_with()
 * @func: likewise
 * @...: the arguments
 */
#define dat_foreign_make(ret, handle, type, new_type, new_handle, valid, \
			 func, ...)					\
({									\
	DAT_RETURN __ret = (ret);					\
	struct dat_foreign *parent = dat_foreign_try(__ret, handle, type); \
									\
	if (parent) {							\
		struct dat_foreign *__new =				\
			dat_foreign_alloc(parent->reg, GFP_KERNEL);	\
									\
		if (!__new)						\
			__ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,	\
					  DAT_RESOURCE_MEMORY);		\
		else if (valid)						\
			__ret = dat_foreign_call(parent, func, __VA_ARGS__); \
		if (!__ret)						\
			dat_foreign_add(__new, *(new_handle), new_type,	\
					parent->ia);			\
		else if (__new)						\
			dat_foreign_drop(__new);			\
		dat_foreign_end(parent);				\
	}								\
	__ret;								\
})

/**
 * dat_foreign_free - the end of a call that frees an object
 * @ret: as for dat_foreign_with()
 * @handle: likewise
 * @type: likewise
 * @valid: likewise
 * @func: likewise
 * @...: the arguments
 */
#define dat_foreign_free(ret, handle, type, valid, func, ...)		\
({									\
	DAT_RETURN __ret = (ret);					\
	struct dat_foreign *parent = dat_foreign_try(__ret, handle, type); \
									\
	if (parent && (valid) && dat_foreign_hide(parent)) {		\
		__ret = dat_foreign_call(parent, func, __VA_ARGS__);	\
		if (__ret)						\
			dat_foreign_unhide(parent);			\
		else							\
			dat_foreign_remove(parent);			\
	}								\
	if (parent)							\
		dat_foreign_end(parent);				\
	__ret;								\
})

/* foreign_evd.c */
DAT_RETURN dat_foreign_evd_kcreate(DAT_RETURN ret, DAT_IA_HANDLE ia_handle,
				   DAT_COUNT evd_min_qlen,
				   DAT_UPCALL_POLICY upcall_policy,
				   const DAT_UPCALL_OBJECT *upcall,
				   DAT_EVD_FLAGS evd_flags,
				   DAT_EVD_HANDLE *evd_handle);
DAT_RETURN dat_foreign_evd_modify_upcall(DAT_RETURN ret,
					 DAT_EVD_HANDLE evd_handle,
					 DAT_UPCALL_POLICY upcall_policy,
					 const DAT_UPCALL_OBJECT *upcall,
					 DAT_UPCALL_FLAG upcall_flag);
DAT_RETURN dat_foreign_evd_query(DAT_RETURN ret, DAT_EVD_HANDLE evd_handle,
				 DAT_EVD_PARAM_MASK evd_param_mask,
				 DAT_EVD_PARAM *evd_param);
DAT_RETURN dat_foreign_evd_dequeue(DAT_EVD_HANDLE evd_handle,
				   DAT_EVENT *event);

#endif /* _KDAPL_REGISTRY_H */
