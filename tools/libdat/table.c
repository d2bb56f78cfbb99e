// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * table.c - the table of the objects that need memory in the process
 *
 * A hash table by handle, with a mutex for each bucket. The mutex also protects
 * the entries: a thread holds it while it uses an entry. Entries therefore need
 * no reference count, and the look-up of a stale handle fails. A process has
 * fewer EVDs than there are buckets, so threads rarely contend. A thread holds
 * one mutex at a time, and none while it sleeps in the kernel.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "libdat.h"

static struct bucket {
	pthread_mutex_t lock;
	struct libdat_object *first;
} buckets[LIBDAT_NUM_BUCKETS] = {
	[0 ... LIBDAT_NUM_BUCKETS - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER },
};

static atomic_ulong next_serial = 1;

static struct bucket *bucket_of(__u32 handle)
{
	return &buckets[libdat_bucket_of(handle)];
}

/* Entries of objects that belong to the parent or to its parents */
static struct libdat_object *inherited[LIBDAT_NUM_BUCKETS];

/*
 * fork() copies the mutexes, but only the calling thread. Take all mutexes before it, so that
 * no other thread holds one.
 */
static void before_fork(void)
{
	int i;

	for (i = 0; i < LIBDAT_NUM_BUCKETS; i++)
		pthread_mutex_lock(&buckets[i].lock);
}

static void after_fork(void)
{
	int i;

	for (i = LIBDAT_NUM_BUCKETS - 1; i >= 0; i--)
		pthread_mutex_unlock(&buckets[i].lock);
}

static void __attribute__((constructor(LIBDAT_FORK_TABLE))) table_init(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

static void disown(struct bucket *bucket, struct libdat_object **list)
{
	struct libdat_object **end = &bucket->first;

	if (!*end)
		return;
	while (*end)
		end = &(*end)->next;
	*end = *list;
	*list = bucket->first;
	bucket->first = NULL;
}

/**
 * libdat_objects_disown - empty the table
 *
 * The program may hold pointers into the entries, such as ia_address_ptr, so their memory
 * remains. The rings are not mapped any more: a child of fork() does not inherit them.
 *
 * For a child of fork(): not thread safe.
 */
void libdat_objects_disown(void)
{
	int i;

	for (i = 0; i < LIBDAT_NUM_BUCKETS; i++)
		disown(&buckets[i], &inherited[i]);
	libdat_lockless_disown();
}

/**
 * libdat_object_alloc - allocate an entry, before the kernel creates the object
 * @kind: type of the object
 *
 * Thread safe.
 *
 * Return: the entry, zeroed, or NULL. Pass the entry to libdat_object_add() or
 * libdat_object_destroy().
 */
void *libdat_object_alloc(enum libdat_kind kind)
{
	static const size_t size[] = {
		[LIBDAT_IA] = sizeof(struct libdat_ia),
		[LIBDAT_EVD] = sizeof(struct libdat_evd),
		[LIBDAT_EP] = sizeof(struct libdat_ep),
		[LIBDAT_CR] = sizeof(struct libdat_cr),
		[LIBDAT_CNO] = sizeof(struct libdat_cno),
		[LIBDAT_LMR] = sizeof(struct libdat_lmr),
		[LIBDAT_CSP] = sizeof(struct libdat_csp),
	};
	struct libdat_object *object = calloc(1, size[kind]);

	if (object)
		object->kind = kind;
	return object;
}

/**
 * libdat_object_destroy - free an entry that is not in the table
 * @object: the entry, or NULL
 *
 * Thread safe.
 */
void libdat_object_destroy(struct libdat_object *object)
{
	struct libdat_evd *evd;

	if (object && object->kind == LIBDAT_EVD) {
		evd = (struct libdat_evd *)object;
		if (evd->ring)
			libdat_unmap_ring(evd->ring, evd->entries);
	}
	if (object && object->kind == LIBDAT_CNO)
		libdat_agent_put(((struct libdat_cno *)object)->agent);
	free(object);
}

/**
 * libdat_object_call - make the ioctl that creates the object of an entry
 * @object: the entry, or NULL if libdat_object_alloc() failed
 * @cmd: the ioctl
 * @arg: its structure
 *
 * Frees the entry unless the ioctl succeeds. Thread safe.
 *
 * Return: DAT_INSUFFICIENT_RESOURCES without an entry, else as libdat_call().
 */
DAT_RETURN libdat_object_call(struct libdat_object *object, unsigned long cmd,
			      void *arg)
{
	DAT_RETURN ret = object ? libdat_call(cmd, arg) : NO_MEMORY;

	if (ret != DAT_SUCCESS)
		libdat_object_destroy(object);
	return ret;
}

/**
 * libdat_object_add - add an entry to the table, which owns the entry then
 * @object: the entry
 * @handle: the kernel's handle of the object
 * @ia: the kernel's handle of its IA
 *
 * Thread safe.
 */
void libdat_object_add(struct libdat_object *object, __u32 handle,
		       __u32 ia)
{
	struct bucket *bucket = bucket_of(handle);

	object->handle = handle;
	object->ia = ia;
	object->serial = atomic_fetch_add(&next_serial, 1);

	pthread_mutex_lock(&bucket->lock);
	object->next = bucket->first;
	bucket->first = object;
	if (object->kind == LIBDAT_EVD)
		libdat_lockless_publish((struct libdat_evd *)object);
	pthread_mutex_unlock(&bucket->lock);
}

/* Locked */
static void unlink_object(struct libdat_object **link)
{
	struct libdat_object *object = *link;

	if (object->kind == LIBDAT_EVD)
		libdat_lockless_withdraw((struct libdat_evd *)object);
	*link = object->next;
}

/**
 * libdat_object_lock - look up an entry and lock its bucket
 * @handle: the kernel's handle of the object
 * @kind: type of the object
 *
 * The caller must not lock another entry, nor sleep, before it calls
 * libdat_object_unlock(). Thread safe.
 *
 * Return: the entry, or NULL with nothing locked.
 */
void *libdat_object_lock(__u32 handle, enum libdat_kind kind)
{
	struct bucket *bucket = bucket_of(handle);
	struct libdat_object *object;

	pthread_mutex_lock(&bucket->lock);
	for (object = bucket->first; object; object = object->next)
		if (object->handle == handle && object->kind == kind)
			return object;
	pthread_mutex_unlock(&bucket->lock);
	return NULL;
}

/**
 * libdat_object_unlock - unlock the bucket of an entry
 * @handle: the handle that was passed to libdat_object_lock()
 */
void libdat_object_unlock(__u32 handle)
{
	pthread_mutex_unlock(&bucket_of(handle)->lock);
}

/**
 * libdat_object_remove - remove the entry of an object that the kernel freed
 * @handle: the kernel's handle of the object
 * @kind: type of the object
 *
 * Another thread may have added a new object with the same handle. The new entry
 * precedes the old one in the chain, so remove the last. A missing entry is no
 * error. Thread safe.
 */
void libdat_object_remove(__u32 handle, enum libdat_kind kind)
{
	struct bucket *bucket = bucket_of(handle);
	struct libdat_object **link, **last = NULL;
	struct libdat_object *object = NULL;

	pthread_mutex_lock(&bucket->lock);
	for (link = &bucket->first; *link; link = &(*link)->next)
		if ((*link)->handle == handle && (*link)->kind == kind)
			last = link;
	if (last) {
		object = *last;
		unlink_object(last);
	}
	pthread_mutex_unlock(&bucket->lock);
	libdat_object_destroy(object);
}

/**
 * libdat_object_remove_ia - remove the entries of all objects of a closed IA
 * @ia: the kernel's handle of the IA
 *
 * Thread safe.
 */
void libdat_object_remove_ia(__u32 ia)
{
	struct libdat_object **link, *object, *dropped = NULL;
	int i;

	for (i = 0; i < LIBDAT_NUM_BUCKETS; i++) {
		pthread_mutex_lock(&buckets[i].lock);
		link = &buckets[i].first;
		while ((object = *link)) {
			if (object->ia == ia) {
				unlink_object(link);
				object->next = dropped;
				dropped = object;
			} else {
				link = &object->next;
			}
		}
		pthread_mutex_unlock(&buckets[i].lock);
	}

	while ((object = dropped)) {
		dropped = object->next;
		libdat_object_destroy(object);
	}
}
