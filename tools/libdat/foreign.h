/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * foreign.h - providers beside kdapl, and calls on their handles
 *
 * "Foreign" is what belongs to a provider that has registered itself. Its
 * handles are pointers, which are not followed because a program passes them: a
 * table knows each that has been given out, and whose it is.
 */
#ifndef _LIBDAT_FOREIGN_H
#define _LIBDAT_FOREIGN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <dat/udat.h>

#define LIBDAT_ANY_TYPE	(-1)

#if DAT_VERSION_MAJOR >= 2

/* tools/libdaplkdat: what other providers have libdat2 gives to these. */
struct libdat_foreign {
	DAT_HANDLE handle;
};

#define FOREIGN_CALL(...)	DAT_ABORT
#define FOREIGN_MAKE(...)	DAT_ABORT
#define FOREIGN_FREE(...)	DAT_ABORT
#define FOREIGN_END(...)	DAT_ABORT

static inline bool libdat_is_foreign(struct libdat_foreign *foreign,
				     DAT_HANDLE handle, int type)
{
	(void)foreign;
	(void)handle;
	(void)type;
	return false;
}

static inline void libdat_foreign_beside(struct libdat_foreign *foreign,
					 DAT_HANDLE handle, int type,
					 int subtype)
{
	(void)foreign;
	(void)handle;
	(void)type;
	(void)subtype;
}

static inline void libdat_foreign_learn(const struct libdat_foreign *foreign,
					DAT_HANDLE handle, int type)
{
	(void)foreign;
	(void)handle;
	(void)type;
}

static inline DAT_RETURN
libdat_foreign_event(const struct libdat_foreign *foreign,
		     const DAT_EVENT *event, DAT_RETURN ret)
{
	(void)foreign;
	(void)event;
	return ret;
}

static inline DAT_RETURN libdat_provider_close(struct libdat_foreign *ia,
					       DAT_CLOSE_FLAGS flags)
{
	(void)ia;
	(void)flags;
	return DAT_ABORT;
}

static inline bool libdat_provider_open(DAT_RETURN *ret, const char *name,
					DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
					DAT_IA_HANDLE *ia, DAT_UINT32 major,
					DAT_UINT32 minor, DAT_BOOLEAN safe)
{
	(void)ret;
	(void)name;
	(void)qlen;
	(void)evd;
	(void)ia;
	(void)major;
	(void)minor;
	(void)safe;
	return false;
}

#define libdat_provider_load	libdat_provider_open

#else

#include <dat/dat_registry.h>

struct libdat_registration;
struct libdat_entry;

/**
 * struct libdat_foreign - what is known of a foreign handle, and a call with it
 * @handle: the handle
 * @type: a DAT_HANDLE_TYPE
 * @provider: the functions that are called with it
 * @reg: whose it is
 * @serial: no two entries of the table ever have the same
 * @ia: handle of its IA; an IA names itself
 * @ia_serial: the IA's serial
 * @parent: serial of what it was learned from
 * @ret: what the call returns if it is not passed on, else DAT_SUCCESS
 * @is_hidden: by this call, which may be the handle's last
 * @spare: entry for what the call makes
 *
 * A copy, so that the provider is called without a lock.
 */
struct libdat_foreign {
	DAT_HANDLE handle;
	int type;
	const DAT_PROVIDER *provider;
	struct libdat_registration *reg;
	unsigned long serial;
	DAT_IA_HANDLE ia;
	unsigned long ia_serial;
	unsigned long parent;
	DAT_RETURN ret;
	bool is_hidden;
	struct libdat_entry *spare;
};

/* foreign.c */

/* No foreign handle was ever below; UINTPTR_MAX while there was none at all. */
extern __attribute__((visibility("hidden"))) atomic_uintptr_t
libdat_lowest_foreign;

bool libdat_foreign_find(struct libdat_foreign *foreign, DAT_HANDLE handle,
			 int type);
void libdat_foreign_beside(struct libdat_foreign *foreign, DAT_HANDLE handle,
			   DAT_HANDLE_TYPE type, DAT_RETURN_SUBTYPE subtype);
void libdat_foreign_prepare(struct libdat_foreign *foreign);
DAT_RETURN libdat_foreign_made(struct libdat_foreign *foreign,
			       DAT_HANDLE_TYPE type, const DAT_HANDLE *handle,
			       DAT_RETURN ret);
void libdat_foreign_learn(const struct libdat_foreign *foreign,
			  DAT_HANDLE handle, DAT_HANDLE_TYPE type);
DAT_RETURN libdat_foreign_event(const struct libdat_foreign *foreign,
				const DAT_EVENT *event, DAT_RETURN ret);
void libdat_foreign_hide(struct libdat_foreign *foreign);
DAT_RETURN libdat_foreign_freed(struct libdat_foreign *foreign, DAT_RETURN ret);
DAT_RETURN libdat_foreign_ended(struct libdat_foreign *foreign, DAT_RETURN ret);

/**
 * libdat_is_foreign - does a handle belong to another provider?
 * @foreign: out: what is known of it
 * @handle: what the program passed
 * @type: the DAT_HANDLE_TYPE that it must have, or LIBDAT_ANY_TYPE
 *
 * Our own handles are small numbers, pointers are not: most likely nothing has
 * to be looked up to tell that one is ours. Thread safe.
 *
 * Return: true for the handle of a foreign object of that type.
 */
static inline bool libdat_is_foreign(struct libdat_foreign *foreign,
				     DAT_HANDLE handle, int type)
{
	uintptr_t lowest = atomic_load_explicit(&libdat_lowest_foreign,
						memory_order_relaxed);

	return __builtin_expect((uintptr_t)handle >= lowest, 0) &&
	       libdat_foreign_find(foreign, handle, type);
}

static inline DAT_RETURN libdat_foreign_missing(void)
{
	return DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
}

/* What the provider's function returns, if it has one and may be called. */
#define FOREIGN_CALL(foreign, func, ...)				\
	((foreign)->ret != DAT_SUCCESS ? (foreign)->ret :		\
	 !(foreign)->provider->func ? libdat_foreign_missing() :	\
	 (foreign)->provider->func(__VA_ARGS__))

/* The same, of a function that makes an object and stores its handle. */
#define FOREIGN_MAKE(foreign, type, handle, func, ...)			\
	(libdat_foreign_prepare(foreign),				\
	 libdat_foreign_made(foreign, type, handle,			\
			     FOREIGN_CALL(foreign, func, __VA_ARGS__)))

/* The same, of a function that frees an object. */
#define FOREIGN_FREE(foreign, func, ...)				\
	(libdat_foreign_hide(foreign),					\
	 libdat_foreign_freed(foreign,					\
			      FOREIGN_CALL(foreign, func, __VA_ARGS__)))

/* The same, of one that frees what belongs to the object with it. */
#define FOREIGN_END(foreign, func, ...)					\
	(libdat_foreign_hide(foreign),					\
	 libdat_foreign_ended(foreign,					\
			      FOREIGN_CALL(foreign, func, __VA_ARGS__)))

/* provider.c */
bool libdat_provider_open(DAT_RETURN *ret, const char *name, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia,
			  DAT_UINT32 major, DAT_UINT32 minor,
			  DAT_BOOLEAN thread_safety);
DAT_RETURN libdat_provider_close(struct libdat_foreign *ia,
				 DAT_CLOSE_FLAGS flags);
bool libdat_provider_list(DAT_PROVIDER_INFO **infos, size_t *num);
bool libdat_provider_retire(const char *name);

/* loader.c */
bool libdat_provider_load(DAT_RETURN *ret, const char *name, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia,
			  DAT_UINT32 major, DAT_UINT32 minor,
			  DAT_BOOLEAN thread_safety);
void libdat_provider_unused(const char *name);

#endif

#endif /* _LIBDAT_FOREIGN_H */
