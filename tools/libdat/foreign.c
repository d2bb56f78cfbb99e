// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * foreign.c - knows the handles that other providers give out
 *
 * A handle gets into the table when a call, or an event, hands it to the
 * program, and leaves it when it is freed, or its IA is closed. Only what is in
 * the table is passed on to its provider, so that one can be sure that its
 * handles are its own, alive, and of the right type.
 */
#include <pthread.h>
#include <stdlib.h>

#include "libdat.h"
#include "foreign.h"

#define NUM_BUCKETS	256

/* What is below is no pointer: DAT_HANDLE_NULL, DAT_EVD_OUT_OF_SCOPE */
#define LOWEST_POINTER	4096

/**
 * struct libdat_entry - a handle in the table
 * @next: chain of the hash table
 * @is_hidden: it is being freed: not found
 * @known: all that a call gets to know
 */
struct libdat_entry {
	struct libdat_entry *next;
	bool is_hidden;
	struct libdat_foreign known;
};

atomic_uintptr_t libdat_lowest_foreign = UINTPTR_MAX;

/* Guards all that follows; no provider is called with it held. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct libdat_entry *buckets[NUM_BUCKETS];
static unsigned long last_serial;

/*
 * The child of fork() gets no lock that another thread writes under. One that is
 * held for writing would know its thread, which is another one in the child.
 */
static void before_fork(void)
{
	pthread_rwlock_rdlock(&lock);
}

static void after_fork(void)
{
	pthread_rwlock_unlock(&lock);
}

static void __attribute__((constructor)) foreign_init(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

static struct libdat_entry **bucket_of(DAT_HANDLE handle)
{
	__u32 value = (__u32)((uintptr_t)handle >> 4);

	return &buckets[(value * UINT32_C(0x61c88647)) >> 24];
}

/* Where the entry of @handle hangs, or would; locked. */
static struct libdat_entry **find(DAT_HANDLE handle)
{
	struct libdat_entry **link = bucket_of(handle);

	while (*link && (*link)->known.handle != handle)
		link = &(*link)->next;
	return link;
}

static void unlink_entry(struct libdat_entry **link)
{
	struct libdat_entry *entry = *link;

	*link = entry->next;
	free(entry);
}

/* The entry that @known was copied from, if it is still there; locked. */
static struct libdat_entry **find_again(const struct libdat_foreign *known)
{
	struct libdat_entry **link = find(known->handle);

	return *link && (*link)->known.serial == known->serial ? link : NULL;
}

static bool has_open_ia(const struct libdat_foreign *known)
{
	const struct libdat_entry *ia = *find(known->ia);

	return ia && ia->known.serial == known->ia_serial;
}

/**
 * libdat_foreign_find - look a foreign handle up
 * @foreign: out: what is known of it
 * @handle: what the program passed
 * @type: the DAT_HANDLE_TYPE that it must have, or LIBDAT_ANY_TYPE
 *
 * Thread safe.
 *
 * Return: false if there is no such handle.
 */
bool libdat_foreign_find(struct libdat_foreign *foreign, DAT_HANDLE handle,
			 int type)
{
	const struct libdat_entry *entry;
	bool found;

	pthread_rwlock_rdlock(&lock);
	entry = *find(handle);
	found = entry && !entry->is_hidden &&
		(type == LIBDAT_ANY_TYPE || entry->known.type == type);
	if (found)
		*foreign = entry->known;
	pthread_rwlock_unlock(&lock);
	return found;
}

/**
 * libdat_foreign_beside - a call names another handle, too
 * @foreign: the handle whose provider is called
 * @handle: the other one, or DAT_HANDLE_NULL
 * @type: the type that it must have
 * @subtype: of DAT_INVALID_HANDLE, which the call returns without being passed
 *	on if the handle is not one of the same provider
 *
 * Thread safe.
 */
void libdat_foreign_beside(struct libdat_foreign *foreign, DAT_HANDLE handle,
			   DAT_HANDLE_TYPE type, DAT_RETURN_SUBTYPE subtype)
{
	struct libdat_foreign other;

	if (handle != DAT_HANDLE_NULL && foreign->ret == DAT_SUCCESS &&
	    !(libdat_foreign_find(&other, handle, (int)type) &&
	      other.reg == foreign->reg))
		foreign->ret = DAT_ERROR(DAT_INVALID_HANDLE, subtype);
}

/**
 * libdat_foreign_prepare - get the memory for what a call will make
 * @foreign: the call
 *
 * If there is none the call is not passed on. Thread safe.
 */
void libdat_foreign_prepare(struct libdat_foreign *foreign)
{
	if (foreign->ret != DAT_SUCCESS)
		return;
	foreign->spare = calloc(1, sizeof(*foreign->spare));
	if (!foreign->spare)
		foreign->ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
					 DAT_RESOURCE_MEMORY);
}

/* No new handle is below from now on; locked. */
static void lower(DAT_HANDLE handle)
{
	if ((uintptr_t)handle < atomic_load(&libdat_lowest_foreign))
		atomic_store(&libdat_lowest_foreign, (uintptr_t)handle);
}

/*
 * From now on @handle is known. The provider may have given it out before, and
 * freed the object on its own account: what was known of that is forgotten.
 */
static void add(struct libdat_entry *entry, const struct libdat_foreign *parent,
		DAT_HANDLE handle, int type)
{
	struct libdat_foreign *known = &entry->known;
	struct libdat_entry **link;

	if ((uintptr_t)handle < LOWEST_POINTER) {
		free(entry);
		return;
	}
	known->handle = handle;
	known->type = type;
	known->provider = DAT_HANDLE_TO_PROVIDER(handle);
	known->reg = parent->reg;
	known->parent = parent->serial;

	pthread_rwlock_wrlock(&lock);
	known->serial = ++last_serial;
	known->ia = parent->ia;
	known->ia_serial = parent->ia_serial;
	if (type == DAT_HANDLE_TYPE_IA) {
		known->ia = handle;
		known->ia_serial = known->serial;
	} else if (!has_open_ia(known)) {
		/* It was closed meanwhile, and the object with it. */
		free(entry);
		goto unlock;
	}
	link = find(handle);
	if (*link)
		unlink_entry(link);
	link = bucket_of(handle);
	entry->next = *link;
	*link = entry;
	lower(handle);
unlock:
	pthread_rwlock_unlock(&lock);
}

/**
 * libdat_foreign_made - the end of a call that makes an object
 * @foreign: the call
 * @type: type of the object
 * @handle: where the provider has left its handle; may be NULL
 * @ret: what the call has returned
 *
 * Thread safe.
 *
 * Return: @ret.
 */
DAT_RETURN libdat_foreign_made(struct libdat_foreign *foreign,
			       DAT_HANDLE_TYPE type, const DAT_HANDLE *handle,
			       DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS && handle)
		add(foreign->spare, foreign, *handle, (int)type);
	else
		free(foreign->spare);
	foreign->spare = NULL;
	return ret;
}

/**
 * libdat_foreign_learn - a call has told a handle that may be new
 * @foreign: the call
 * @handle: the handle, or DAT_HANDLE_NULL
 * @type: its type
 *
 * Without memory for it, it stays unknown. Thread safe.
 */
void libdat_foreign_learn(const struct libdat_foreign *foreign,
			  DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct libdat_foreign other;
	struct libdat_entry *entry;

	if (libdat_foreign_find(&other, handle, (int)type) &&
	    other.ia_serial == foreign->ia_serial)
		return;
	entry = calloc(1, sizeof(*entry));
	if (entry)
		add(entry, foreign, handle, (int)type);
}

/**
 * libdat_foreign_event - the end of a call that takes an event
 * @foreign: the call
 * @event: the event
 * @ret: what the call has returned
 *
 * A connection request comes with a handle that the program has not asked for.
 * Thread safe.
 *
 * Return: @ret.
 */
DAT_RETURN libdat_foreign_event(const struct libdat_foreign *foreign,
				const DAT_EVENT *event, DAT_RETURN ret)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *cr;

	if (ret == DAT_SUCCESS && event &&
	    event->event_number == DAT_CONNECTION_REQUEST_EVENT) {
		cr = &event->event_data.cr_arrival_event_data;
		libdat_foreign_learn(foreign, cr->cr_handle,
				     DAT_HANDLE_TYPE_CR);
	}
	return ret;
}

/**
 * libdat_foreign_hide - a call is about to free an object
 * @foreign: the call, which is not passed on if another one is quicker
 *
 * Thread safe.
 */
void libdat_foreign_hide(struct libdat_foreign *foreign)
{
	struct libdat_entry **link;

	if (foreign->ret != DAT_SUCCESS)
		return;
	pthread_rwlock_wrlock(&lock);
	link = find_again(foreign);
	if (link && !(*link)->is_hidden) {
		(*link)->is_hidden = true;
		foreign->is_hidden = true;
	} else {
		foreign->ret = DAT_ERROR(DAT_INVALID_HANDLE,
					 DAT_INVALID_HANDLE1);
	}
	pthread_rwlock_unlock(&lock);
}

static void drop_family(unsigned long serial)
{
	struct libdat_entry **link;
	int i;

	for (i = 0; i < NUM_BUCKETS; i++) {
		link = &buckets[i];
		while (*link) {
			if ((*link)->known.ia_serial == serial ||
			    (*link)->known.parent == serial)
				unlink_entry(link);
			else
				link = &(*link)->next;
		}
	}
}

static void end(struct libdat_foreign *foreign, bool has_family, bool is_freed)
{
	struct libdat_entry **link;

	if (!foreign->is_hidden)
		return;
	pthread_rwlock_wrlock(&lock);
	/* The handle may have been given out again already. */
	link = find_again(foreign);
	if (link && is_freed)
		unlink_entry(link);
	else if (link)
		(*link)->is_hidden = false;
	if (is_freed && has_family)
		drop_family(foreign->serial);
	pthread_rwlock_unlock(&lock);
}

/**
 * libdat_foreign_freed - the end of a call that frees an object
 * @foreign: the call, after libdat_foreign_hide()
 * @ret: what the call has returned
 *
 * Thread safe.
 *
 * Return: @ret.
 */
DAT_RETURN libdat_foreign_freed(struct libdat_foreign *foreign, DAT_RETURN ret)
{
	end(foreign, false, ret == DAT_SUCCESS);
	return ret;
}

/**
 * libdat_foreign_ended - the end of a call that ends more than one object
 * @foreign: the call, after libdat_foreign_hide()
 * @ret: what the call has returned
 *
 * An IA takes all its objects with it, a connection request the EP that the
 * provider has made for it. Thread safe.
 *
 * Return: @ret.
 */
DAT_RETURN libdat_foreign_ended(struct libdat_foreign *foreign, DAT_RETURN ret)
{
	end(foreign, true, ret == DAT_SUCCESS);
	return ret;
}
