// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * table.c - what the library remembers of objects, by handle
 *
 * A hash table with a mutex for each bucket. The bucket's mutex also protects
 * the objects in it: whoever found an object holds the mutex while it uses the
 * object, and nobody frees it meanwhile, so no object needs a reference count
 * and a stale handle simply finds nothing. With many more buckets than a
 * process has EVDs, two threads rarely meet. A thread holds one bucket at a
 * time, and never while it sleeps in the kernel.
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

/*
 * fork() copies the mutexes as they are, and only the calling thread lives on
 * in the child: hold them all meanwhile, so that none is left locked by a
 * thread that the child does not have. Nobody there waits for events, either.
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

static void after_fork_in_child(void)
{
	struct libdat_object *object;
	int i;

	for (i = 0; i < LIBDAT_NUM_BUCKETS; i++)
		for (object = buckets[i].first; object; object = object->next)
			if (object->kind == LIBDAT_EVD)
				((struct libdat_evd *)object)->waiting = false;
	libdat_peek_after_fork();
	after_fork();
}

static void __attribute__((constructor)) table_init(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/**
 * libdat_object_alloc - memory for an object, before the kernel makes it
 * @kind: what it will be
 *
 * Thread safe.
 *
 * Return: the object, zeroed, or NULL. Pass it to libdat_object_add() or
 * libdat_object_discard().
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
 * libdat_object_discard - the end of an object that is not in the table
 * @object: the object, or NULL
 *
 * Thread safe.
 */
void libdat_object_discard(struct libdat_object *object)
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
 * libdat_object_add - put an object into the table
 * @object: the object; the table owns it from now on
 * @handle: the kernel's handle
 * @ia: the kernel's handle of the IA that it ends with
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
		libdat_peek_show((struct libdat_evd *)object);
	pthread_mutex_unlock(&bucket->lock);
}

/* The bucket's lock is held. */
static void take_out(struct libdat_object **link)
{
	struct libdat_object *object = *link;

	if (object->kind == LIBDAT_EVD)
		libdat_peek_hide((struct libdat_evd *)object);
	*link = object->next;
}

/**
 * libdat_object_lock - find an object
 * @handle: the kernel's handle
 * @kind: what it must be
 *
 * Thread safe. The object stays until libdat_object_unlock(), before which the
 * caller may neither look for another one nor wait.
 *
 * Return: the object, or NULL, and then there is nothing to unlock.
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
 * libdat_object_unlock - the reverse of libdat_object_lock()
 * @handle: the kernel's handle
 */
void libdat_object_unlock(__u32 handle)
{
	pthread_mutex_unlock(&bucket_of(handle)->lock);
}

/**
 * libdat_object_drop - forget an object that the kernel has freed
 * @handle: the kernel's handle
 * @kind: what it is
 *
 * Should the kernel have given the handle to a new object already, that one is
 * in front of the old one, and stays. Thread safe; no such object is no error.
 */
void libdat_object_drop(__u32 handle, enum libdat_kind kind)
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
		take_out(last);
	}
	pthread_mutex_unlock(&bucket->lock);
	libdat_object_discard(object);
}

/**
 * libdat_object_drop_ia - forget all objects of an IA that was closed
 * @ia: the kernel's handle of the IA
 *
 * Thread safe.
 */
void libdat_object_drop_ia(__u32 ia)
{
	struct libdat_object **link, *object, *dropped = NULL;
	int i;

	for (i = 0; i < LIBDAT_NUM_BUCKETS; i++) {
		pthread_mutex_lock(&buckets[i].lock);
		link = &buckets[i].first;
		while ((object = *link)) {
			if (object->ia == ia) {
				take_out(link);
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
		libdat_object_discard(object);
	}
}
