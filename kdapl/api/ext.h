/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ext.h - external providers and their handles
 *
 * An external provider is another module that called dat_registry_add_provider(). Its
 * handles can have any value, most likely that of a pointer; kdapl never dereferences
 * them. A table (ext.c) holds each handle that a provider returned, with its type and its
 * provider: Documentation/registry.rst.
 */
#ifndef _KDAPL_EXT_H
#define _KDAPL_EXT_H

#include <linux/kref.h>
#include <linux/list.h>

#include <dat/dat_registry.h>

#include "base/error.h"

/**
 * struct dat_registration - an IA of an external provider
 * @node: in the list of registrations
 * @ref: one for the list, one for each handle
 * @owner: the provider's module
 * @provider: the provider's functions; valid while the module is loaded
 * @info: name and version of the IA
 * @opens: open handles of the IA; under the lock of the list
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
 * struct dat_ext - a handle of an external provider
 * @node: in the table
 * @ref: reference count; the table holds one
 * @rcu: frees the entry after an RCU grace period
 * @handle: the handle
 * @type: type of its object
 * @hidden: the object is being freed; look-ups fail
 * @ia: entry of its IA, referenced; NULL for an IA
 * @closed: for an IA: closed; nothing is added for it any more
 * @reg: its provider, referenced
 * @upcall: for an EVD: the consumer's upcall
 * @takes_requests: for an EVD: connection requests arrive here
 * @spare: for such an EVD: entry for the handle of the next request, or NULL
 */
struct dat_ext {
	struct hlist_node node;
	struct kref ref;
	struct rcu_head rcu;
	DAT_HANDLE handle;
	DAT_HANDLE_TYPE type;
	bool hidden;
	struct dat_ext *ia;
	bool closed;
	struct dat_registration *reg;
	DAT_UPCALL_OBJECT upcall;
	bool takes_requests;
	struct dat_ext *spare;
};

/* registry.c */
int dat_registry_init(void);
void dat_registry_exit(void);
void dat_registration_put(struct dat_registration *reg);

/* ext.c */

/* For dat_ext_get(): a handle of any type. */
#define DAT_EXT_ANY_TYPE	((DAT_HANDLE_TYPE)-1)

struct dat_ext *dat_ext_get(DAT_HANDLE handle, DAT_HANDLE_TYPE type);
void dat_ext_put(struct dat_ext *ext);
bool dat_ext_is_same(const struct dat_ext *ext, DAT_HANDLE handle,
		     DAT_HANDLE_TYPE type);
struct dat_ext *dat_ext_alloc(struct dat_registration *reg, gfp_t gfp);
void dat_ext_set_parent(struct dat_ext *ext, struct dat_ext *parent);
void dat_ext_add(struct dat_ext *ext, DAT_HANDLE handle, DAT_HANDLE_TYPE type,
		 struct dat_ext *parent);
void dat_ext_drop(struct dat_ext *ext);
bool dat_ext_hide(struct dat_ext *ext);
void dat_ext_unhide(struct dat_ext *ext);
void dat_ext_remove(struct dat_ext *ext);
void dat_ext_remove_all(struct dat_ext *ia);

/*
 * Looks up a handle if kdapl's own call returned DAT_INVALID_HANDLE. Data transfers
 * succeed most of the time, so another value is marked as likely.
 */
static inline struct dat_ext *dat_ext_if_unknown(DAT_RETURN ret, DAT_HANDLE handle,
						 DAT_HANDLE_TYPE type)
{
	return likely(DAT_GET_TYPE(ret) != DAT_INVALID_HANDLE) ?
		       NULL : dat_ext_get(handle, type);
}

/*
 * dat_ext_call - call a function of the provider
 * @ext: entry of a handle of the provider, referenced
 * @func: member of struct dat_provider
 * @args: the arguments, in parentheses
 *
 * Evaluates to the return value of the function, or to DAT_NOT_IMPLEMENTED if the
 * provider has no such function.
 */
#define dat_ext_call(ext, func, args)					\
	((ext)->reg->provider->func ? (ext)->reg->provider->func args :	\
	 DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE))

#endif /* _KDAPL_EXT_H */
