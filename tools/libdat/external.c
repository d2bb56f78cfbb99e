// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * external.c - the table of the handles that external providers returned
 *
 * An external handle is a pointer, and libdat follows no pointer only because a
 * program passes it. A handle enters the table when a call or an event returns
 * it to the program. It leaves when its object is freed or its IA closed.
 * dispatch.c forwards a call only if the table has its handle, so that the
 * provider gets only handles of its own, alive, and of the right type.
 */
#include <pthread.h>
#include <stdlib.h>

#include "libdat.h"
#include "external.h"

#define NUM_BUCKETS	256

/* Lower values are no pointers: DAT_HANDLE_NULL, DAT_EVD_OUT_OF_SCOPE */
#define LOWEST_POINTER	4096

/**
 * struct libdat_external_entry - a handle in the table
 * @next: chain of the hash table
 * @is_hidden: a call is freeing the object: do not find it
 * @known: the part that calls copy
 */
struct libdat_external_entry {
	struct libdat_external_entry *next;
	bool is_hidden;
	struct libdat_external known;
};

atomic_uintptr_t libdat_external_lowest = UINTPTR_MAX;

/* Protects the table; not held while a function of a provider runs. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct libdat_external_entry *buckets[NUM_BUCKETS];
static unsigned long last_serial;

/*
 * fork() must not copy the table while another thread changes it. The lock also records the
 * threads that wait for it, which the child does not have: it needs a new one.
 */
static void before_fork(void)
{
	pthread_rwlock_rdlock(&lock);
}

static void after_fork(void)
{
	pthread_rwlock_unlock(&lock);
}

static void after_fork_in_child(void)
{
	lock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
}

static void __attribute__((constructor(LIBDAT_FORK_EXTERNAL))) external_init(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static struct libdat_external_entry **bucket_of(DAT_HANDLE handle)
{
	__u32 value = (__u32)((uintptr_t)handle >> 4);

	return &buckets[(value * UINT32_C(0x61c88647)) >> 24];
}

/* The link to the entry of @handle, or to the end of its bucket; locked. */
static struct libdat_external_entry **find(DAT_HANDLE handle)
{
	struct libdat_external_entry **link = bucket_of(handle);

	while (*link && (*link)->known.handle != handle)
		link = &(*link)->next;
	return link;
}

static void unlink_entry(struct libdat_external_entry **link)
{
	struct libdat_external_entry *entry = *link;

	*link = entry->next;
	free(entry);
}

/* The entry that @known is a copy of, if the table still has it; locked. */
static struct libdat_external_entry **find_again(const struct libdat_external *known)
{
	struct libdat_external_entry **link = find(known->handle);

	return *link && (*link)->known.serial == known->serial ? link : NULL;
}

static bool has_open_ia(const struct libdat_external *known)
{
	const struct libdat_external_entry *ia = *find(known->ia);

	return ia && ia->known.serial == known->ia_serial;
}

/**
 * libdat_external_find - look up an external handle
 * @ext: out: the entry of the handle
 * @handle: the handle that the program passed
 * @type: the DAT_HANDLE_TYPE that the call needs, or DAT_HANDLE_TYPE_ANY
 *
 * Thread safe.
 *
 * Return: false if the table has no such handle of that type.
 */
bool libdat_external_find(struct libdat_external *ext, DAT_HANDLE handle,
			  int type)
{
	const struct libdat_external_entry *entry;
	bool found;

	pthread_rwlock_rdlock(&lock);
	entry = *find(handle);
	found = entry && !entry->is_hidden &&
		(type == DAT_HANDLE_TYPE_ANY || entry->known.type == type);
	if (found)
		*ext = entry->known;
	pthread_rwlock_unlock(&lock);
	return found;
}

/**
 * libdat_external_same - check another handle of a call
 * @ext: the call
 * @handle: the other handle, or DAT_HANDLE_NULL
 * @type: the type that @handle must have
 * @subtype: subtype of the DAT_INVALID_HANDLE that the call returns, without
 *	being forwarded, if @handle is not one of the same provider
 *
 * Thread safe.
 */
void libdat_external_same(struct libdat_external *ext, DAT_HANDLE handle,
			  DAT_HANDLE_TYPE type, DAT_RETURN_SUBTYPE subtype)
{
	struct libdat_external other;

	if (handle != DAT_HANDLE_NULL && ext->ret == DAT_SUCCESS &&
	    !(libdat_external_find(&other, handle, (int)type) &&
	      other.reg == ext->reg))
		ext->ret = DAT_ERROR(DAT_INVALID_HANDLE, subtype);
}

/**
 * libdat_external_create - prepare a call that creates an object
 * @ext: the call
 * @type: type of the new object
 * @handle: where the provider will store the handle; may be NULL
 *
 * Without memory for an entry the call is not forwarded. Thread safe.
 */
void libdat_external_create(struct libdat_external *ext, DAT_HANDLE_TYPE type,
			    const DAT_HANDLE *handle)
{
	if (ext->ret != DAT_SUCCESS)
		return;
	ext->new_type = (int)type;
	ext->new_handle = handle;
	ext->new_entry = calloc(1, sizeof(*ext->new_entry));
	if (!ext->new_entry)
		ext->ret = NO_MEMORY;
}

/*
 * Add @handle to the table. If the table has it already, the provider freed the
 * older object without a call: the new entry replaces the old one.
 */
static void add(struct libdat_external_entry *entry,
		const struct libdat_external *parent, DAT_HANDLE handle,
		int type)
{
	struct libdat_external *known = &entry->known;
	struct libdat_external_entry **link;

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
		/* Another thread closed the IA, and with it the object. */
		free(entry);
		goto unlock;
	}
	link = find(handle);
	if (*link)
		unlink_entry(link);
	link = bucket_of(handle);
	entry->next = *link;
	*link = entry;
	/* Under the lock, so that no other thread lowers it. */
	if ((uintptr_t)handle < atomic_load(&libdat_external_lowest))
		atomic_store(&libdat_external_lowest, (uintptr_t)handle);
unlock:
	pthread_rwlock_unlock(&lock);
}

/**
 * libdat_external_learn - add a handle that a call or an event returned
 * @ext: the call
 * @handle: the handle, or DAT_HANDLE_NULL
 * @type: its type
 *
 * Without memory for an entry the handle stays unknown. Thread safe.
 */
void libdat_external_learn(const struct libdat_external *ext, DAT_HANDLE handle,
			   DAT_HANDLE_TYPE type)
{
	struct libdat_external_entry *entry;
	struct libdat_external other;

	if (libdat_external_find(&other, handle, (int)type) &&
	    other.ia_serial == ext->ia_serial)
		return;
	entry = calloc(1, sizeof(*entry));
	if (entry)
		add(entry, ext, handle, (int)type);
}

/**
 * libdat_external_free - prepare a call that frees an object
 * @ext: the call; it is not forwarded if another thread frees the object
 * @frees_children: the call frees all objects of an IA, or the EP that the
 *	provider created for a connection request
 *
 * Hides the handle until libdat_external_end(). Thread safe.
 */
void libdat_external_free(struct libdat_external *ext, bool frees_children)
{
	struct libdat_external_entry **link;

	if (ext->ret != DAT_SUCCESS)
		return;
	ext->frees_children = frees_children;
	pthread_rwlock_wrlock(&lock);
	link = find_again(ext);
	if (link && !(*link)->is_hidden) {
		(*link)->is_hidden = true;
		ext->is_hidden = true;
	} else {
		ext->ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	}
	pthread_rwlock_unlock(&lock);
}

static void remove_children(unsigned long serial)
{
	struct libdat_external_entry **link;
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

/* Remove the entry of a freed object, or show it again after a failure. */
static void finish_free(const struct libdat_external *ext, bool is_freed)
{
	struct libdat_external_entry **link;

	pthread_rwlock_wrlock(&lock);
	/* The provider may have reused the handle for another object. */
	link = find_again(ext);
	if (link && is_freed)
		unlink_entry(link);
	else if (link)
		(*link)->is_hidden = false;
	if (is_freed && ext->frees_children)
		remove_children(ext->serial);
	pthread_rwlock_unlock(&lock);
}

/**
 * libdat_external_end - update the table after a call
 * @ext: the call
 * @ret: what the provider's function returned, or @ext->ret
 *
 * Thread safe.
 *
 * Return: @ret.
 */
DAT_RETURN libdat_external_end(struct libdat_external *ext, DAT_RETURN ret)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *request;
	bool is_success = ret == DAT_SUCCESS;

	if (is_success && ext->new_entry && ext->new_handle)
		add(ext->new_entry, ext, *ext->new_handle, ext->new_type);
	else
		free(ext->new_entry);
	ext->new_entry = NULL;
	if (is_success && ext->ep)
		libdat_external_learn(ext, *ext->ep, DAT_HANDLE_TYPE_EP);
	if (is_success && ext->event &&
	    ext->event->event_number == DAT_CONNECTION_REQUEST_EVENT) {
		request = &ext->event->event_data.cr_arrival_event_data;
		libdat_external_learn(ext, request->cr_handle,
				      DAT_HANDLE_TYPE_CR);
	}
	if (ext->is_hidden)
		finish_free(ext, is_success);
	if (is_success && ext->closes)
		libdat_provider_closed(ext->reg);
	return ret;
}
