/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * external.h - handles of external providers, and calls that use them
 *
 * An external provider is a library that registered its IA by
 * dat_registry_add_provider(). dispatch.c, external.c, registry.c and loader.c
 * include this header; the other files handle objects of the kernel only.
 */
#ifndef _LIBDAT_EXTERNAL_H
#define _LIBDAT_EXTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <dat/dat_registry.h>

/* In place of a DAT_HANDLE_TYPE: a handle of any type */
#define DAT_HANDLE_TYPE_ANY	(-1)

struct libdat_registration;
struct libdat_external_entry;

/**
 * struct libdat_external - an external handle, and a call that uses it
 * @handle: the handle
 * @type: its DAT_HANDLE_TYPE
 * @provider: the functions of its provider
 * @reg: the registration of its provider
 * @serial: serial number of its entry, unique for the life of the process
 * @ia: handle of its IA; an IA refers to itself
 * @ia_serial: serial number of the entry of @ia
 * @parent: serial number of the handle that the call used which returned it
 * @ret: return value of a call that must not be forwarded, else DAT_SUCCESS
 * @new_entry: entry for the object that the call creates, or NULL
 * @new_handle: where the provider stores the handle of that object, or NULL
 * @new_type: DAT_HANDLE_TYPE of that object
 * @ep: where the provider stores the handle of an EP that may be new, or NULL
 * @event: where the provider stores an event, or NULL
 * @is_hidden: this call hid the handle, because it may destroy the object
 * @frees_children: the call destroys the objects with this parent or IA
 * @closes: the call closes an IA
 *
 * A copy of the table's entry, so that no lock is held across the provider's
 * function. The fields from @ret on belong to the call.
 */
struct libdat_external {
	DAT_HANDLE handle;
	int type;
	const DAT_PROVIDER *provider;
	struct libdat_registration *reg;
	unsigned long serial;
	DAT_IA_HANDLE ia;
	unsigned long ia_serial;
	unsigned long parent;
	DAT_RETURN ret;
	struct libdat_external_entry *new_entry;
	const DAT_HANDLE *new_handle;
	int new_type;
	const DAT_EP_HANDLE *ep;
	const DAT_EVENT *event;
	bool is_hidden;
	bool frees_children;
	bool closes;
};

/* external.c */

/* No lower external handle was ever added; UINTPTR_MAX before the first one. */
extern __attribute__((visibility("hidden"))) atomic_uintptr_t
libdat_external_lowest;

bool libdat_external_find(struct libdat_external *ext, DAT_HANDLE handle,
			  int type);
void libdat_external_same(struct libdat_external *ext, DAT_HANDLE handle,
			  DAT_HANDLE_TYPE type, DAT_RETURN_SUBTYPE subtype);
void libdat_external_create(struct libdat_external *ext, DAT_HANDLE_TYPE type,
			    const DAT_HANDLE *handle);
void libdat_external_free(struct libdat_external *ext, bool frees_children);
void libdat_external_learn(const struct libdat_external *ext, DAT_HANDLE handle,
			   DAT_HANDLE_TYPE type);
DAT_RETURN libdat_external_end(struct libdat_external *ext, DAT_RETURN ret);

/**
 * libdat_may_be_external - test whether a handle must be looked up
 * @handle: the handle that the program passed
 *
 * Handles of the kernel are small numbers, external handles are pointers, so
 * that a comparison recognizes a handle of the kernel. Thread safe.
 *
 * Return: false for a handle that no external provider returned.
 */
static inline bool libdat_may_be_external(DAT_HANDLE handle)
{
	uintptr_t lowest = atomic_load_explicit(&libdat_external_lowest,
						memory_order_relaxed);

	return __builtin_expect((uintptr_t)handle >= lowest, 0);
}

/* Call a function of the provider, unless it has none or must not be called. */
#define LIBDAT_EXTERNAL_CALL(ext, func, ...)				\
	((ext)->ret != DAT_SUCCESS ? (ext)->ret :			\
	 !(ext)->provider->func ?					\
		DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE) :	\
		(ext)->provider->func(__VA_ARGS__))

/* registry.c */
bool libdat_provider_open(DAT_RETURN *ret, const char *name, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia,
			  DAT_UINT32 major, DAT_UINT32 minor,
			  DAT_BOOLEAN thread_safety);
void libdat_provider_closed(struct libdat_registration *reg);
bool libdat_provider_retire(const char *name);

/* loader.c */
bool libdat_provider_load(DAT_RETURN *ret, const char *name, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia,
			  DAT_UINT32 major, DAT_UINT32 minor,
			  DAT_BOOLEAN thread_safety);
void libdat_provider_unused(const char *name);

#endif /* _LIBDAT_EXTERNAL_H */
