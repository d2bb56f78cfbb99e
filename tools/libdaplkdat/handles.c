// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * handles.c - the handles that programs of DAT 2.0 have
 *
 * libdat2 reads the table of entries behind a handle, so a handle is a pointer to
 * a structure with the kernel's number. A program may use the handle of a freed
 * object by mistake, and an event that is taken later may have it. Therefore no
 * structure is ever freed. The structure of a freed object is retired, and serves
 * another object only after MIN_RETIRED others were retired.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kdat.h"

#define NUM_BUCKETS	1024

/* Number of retired structures that must not be reused */
#define MIN_RETIRED	1024

static struct bucket {
	pthread_mutex_t lock;
	struct kdat_handle *first;
} buckets[NUM_BUCKETS] = {
	[0 ... NUM_BUCKETS - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER },
};

/* In the order of retirement */
static pthread_mutex_t retired_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kdat_handle *first_retired, **last_retired = &first_retired;
static unsigned int num_retired;

static struct bucket *bucket_of(__u32 number)
{
	return &buckets[(number * UINT32_C(0x61c88647)) >> 22];
}

/* Structures of objects that belong to the parent of this process, or to its parents */
static struct kdat_handle *inherited;

/* As in table.c of libdat: fork() must not copy a mutex that is locked. */
static void before_fork(void)
{
	int i;

	for (i = 0; i < NUM_BUCKETS; i++)
		pthread_mutex_lock(&buckets[i].lock);
	pthread_mutex_lock(&retired_lock);
}

static void after_fork(void)
{
	int i;

	pthread_mutex_unlock(&retired_lock);
	for (i = NUM_BUCKETS - 1; i >= 0; i--)
		pthread_mutex_unlock(&buckets[i].lock);
}

/* The locks of table.c are the outer ones: see LIBDAT_FORK_TABLE. */
static void __attribute__((constructor(LIBDAT_FORK_HANDLES))) handles_init(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

static void disown(struct bucket *bucket)
{
	struct kdat_handle *h, *next;

	for (h = bucket->first; h; h = next) {
		next = h->next;
		h->key = NO_HANDLE;
		if (atomic_load_explicit(&h->number, memory_order_relaxed) == BAD_HANDLE)
			continue;
		atomic_store_explicit(&h->number, BAD_HANDLE, memory_order_relaxed);
		h->next = inherited;
		inherited = h;
	}
	bucket->first = NULL;
}

/**
 * libdat_handles_disown - make all handles of this process invalid
 *
 * Their structures serve no other object, however many there are. Structures that were retired
 * before are reused in their turn.
 *
 * For a child of fork(): not thread safe.
 */
void libdat_handles_disown(void)
{
	int i;

	for (i = 0; i < NUM_BUCKETS; i++)
		disown(&buckets[i]);
}

/* Locked */
static struct kdat_handle *lookup(const struct bucket *bucket, __u32 key)
{
	struct kdat_handle *h;

	for (h = bucket->first; h; h = h->next)
		if (h->key == key)
			break;
	return h;
}

static void unlink_handle(struct kdat_handle *handle)
{
	struct bucket *bucket = bucket_of(handle->key);
	struct kdat_handle **link;

	if (handle->key == NO_HANDLE)
		return;
	pthread_mutex_lock(&bucket->lock);
	for (link = &bucket->first; *link != handle; link = &(*link)->next)
		;
	*link = handle->next;
	pthread_mutex_unlock(&bucket->lock);
}

static const unsigned int num_counters[KDAT_NUM_COUNTED] = {
	[KDAT_COUNTED_IA] = DCNT_IA_ALL_COUNTERS,
	[KDAT_COUNTED_EP] = DCNT_EP_ALL_COUNTERS,
	[KDAT_COUNTED_EVD] = DCNT_EVD_ALL_COUNTERS,
	[KDAT_COUNTED_LAST] = DCNT_IA_ALL_COUNTERS,
};

/* Reset a retired structure for the next object. */
static void reset_handle(struct kdat_handle *handle)
{
	struct kdat_counter *counters;
	unsigned int kind, i;

	for (kind = 0; kind < KDAT_NUM_COUNTED; kind++) {
		counters = __atomic_load_n(&handle->counters[kind],
					   __ATOMIC_ACQUIRE);
		for (i = 0; counters && i < num_counters[kind]; i++)
			atomic_store(&counters[i].value, 0);
	}
	__atomic_store_n(&handle->ia, NULL, __ATOMIC_RELAXED);
	atomic_store(&handle->is_active, false);
}

/* The new structure is not in a bucket yet. */
static struct kdat_handle *new_handle(__u32 key)
{
	struct kdat_handle *handle = NULL;

	pthread_mutex_lock(&retired_lock);
	if (num_retired > MIN_RETIRED) {
		handle = first_retired;
		first_retired = handle->next_retired;
		num_retired--;
	}
	pthread_mutex_unlock(&retired_lock);
	if (handle)
		unlink_handle(handle);
	else
		handle = calloc(1, sizeof(*handle));
	if (!handle)
		return NULL;
	reset_handle(handle);
	handle->provider = &kdat_entries;
	atomic_store_explicit(&handle->number, key, memory_order_relaxed);
	handle->key = key;
	return handle;
}

/* The object was freed. The structure stays in its bucket until it is reused. */
static void retire(struct kdat_handle *handle)
{
	atomic_store_explicit(&handle->number, BAD_HANDLE,
			      memory_order_relaxed);
	handle->next_retired = NULL;
	pthread_mutex_lock(&retired_lock);
	*last_retired = handle;
	last_retired = &handle->next_retired;
	num_retired++;
	pthread_mutex_unlock(&retired_lock);
}

/**
 * libdat_to_kernel - the kernel's handle of an object
 * @handle: the handle that the program passed
 *
 * Thread safe.
 *
 * Return: the handle, NO_HANDLE for DAT_HANDLE_NULL, BAD_HANDLE for the handle of
 * a freed object and for a misaligned pointer.
 */
__u32 libdat_to_kernel(DAT_HANDLE handle)
{
	struct kdat_handle *h = handle;

	if (!h)
		return NO_HANDLE;
	if ((uintptr_t)h % _Alignof(struct kdat_handle))
		return BAD_HANDLE;
	return atomic_load_explicit(&h->number, memory_order_relaxed);
}

/**
 * libdat_to_user - the program's handle of an object
 * @handle: the kernel's handle
 *
 * Thread safe.
 *
 * Return: the handle, the same for each call; DAT_HANDLE_NULL for NO_HANDLE, and
 * without memory for a new handle.
 */
DAT_HANDLE libdat_to_user(__u32 handle)
{
	struct bucket *bucket = bucket_of(handle);
	struct kdat_handle *h, *new;

	if (handle == NO_HANDLE)
		return DAT_HANDLE_NULL;
	pthread_mutex_lock(&bucket->lock);
	h = lookup(bucket, handle);
	pthread_mutex_unlock(&bucket->lock);
	if (h)
		return h;

	/* Unlocked: new_handle() may take the lock of another bucket. */
	new = new_handle(handle);
	if (!new)
		return DAT_HANDLE_NULL;
	pthread_mutex_lock(&bucket->lock);
	h = lookup(bucket, handle);
	if (!h) {
		new->next = bucket->first;
		bucket->first = new;
	}
	pthread_mutex_unlock(&bucket->lock);
	if (!h)
		return new;
	new->key = NO_HANDLE;
	retire(new);
	return h;
}

/**
 * kdat_handle_set_provider - set the table of entries of an IA
 * @handle: the IA
 * @provider: the table, with the name of the line of dat.conf
 *
 * dat_ia_close() of libdat2 reads the name.
 */
void kdat_handle_set_provider(DAT_HANDLE handle, const DAT_PROVIDER *provider)
{
	struct kdat_handle *h = handle;

	if (h)
		h->provider = provider;
}

/**
 * kdat_counters_make - allocate the counters of an object
 * @h: the object
 * @kind: type of the object
 *
 * Thread safe. Return: as kdat_counters_of().
 */
struct kdat_counter *kdat_counters_make(struct kdat_handle *h,
					enum kdat_counted kind)
{
	struct kdat_counter *counters = NULL, *new;

	new = calloc(num_counters[kind], sizeof(*new));
	if (new && !__atomic_compare_exchange_n(&h->counters[kind], &counters,
						new, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
		free(new);
		new = counters;
	}
	return new;
}

/**
 * kdat_num_counters - the number of counters of an object
 * @kind: type of the object
 */
unsigned int kdat_num_counters(enum kdat_counted kind)
{
	return num_counters[kind];
}

/**
 * kdat_handle_set_ia - set the IA of an object
 * @handle: the object, or DAT_HANDLE_NULL
 * @of: its IA, or another object of the same IA
 *
 * Thread safe.
 */
void kdat_handle_set_ia(DAT_HANDLE handle, DAT_HANDLE of)
{
	struct kdat_handle *h = handle, *other = of;
	struct kdat_handle *ia = __atomic_load_n(&other->ia, __ATOMIC_RELAXED);

	if (h)
		__atomic_store_n(&h->ia, ia ? ia : other, __ATOMIC_RELAXED);
}

/**
 * kdat_handle_ia - the IA of an object
 * @handle: the object
 *
 * Thread safe.
 *
 * Return: DAT_HANDLE_NULL if kdat_handle_set_ia() was not called.
 */
DAT_HANDLE kdat_handle_ia(DAT_HANDLE handle)
{
	struct kdat_handle *h = handle;

	return h ? __atomic_load_n(&h->ia, __ATOMIC_RELAXED) : DAT_HANDLE_NULL;
}

/**
 * kdat_handle_set_active - record the side of an EP in its connection
 * @handle: the EP
 * @is_active: whether the EP requests the connection
 *
 * Thread safe.
 */
void kdat_handle_set_active(DAT_HANDLE handle, bool is_active)
{
	struct kdat_handle *h = handle;

	if (h)
		atomic_store(&h->is_active, is_active);
}

/**
 * kdat_handle_is_active - test whether an EP requested its connection
 * @handle: the EP
 *
 * Return: the last value of kdat_handle_set_active().
 */
bool kdat_handle_is_active(DAT_HANDLE handle)
{
	struct kdat_handle *h = handle;

	return h && atomic_load(&h->is_active);
}

/**
 * kdat_handle_remove - retire the handle of a freed object
 * @handle: the program's handle
 *
 * A handle that is already retired is ignored. Thread safe.
 */
void kdat_handle_remove(DAT_HANDLE handle)
{
	__u32 number = libdat_to_kernel(handle);
	struct bucket *bucket = bucket_of(number);
	struct kdat_handle *h;

	pthread_mutex_lock(&bucket->lock);
	h = lookup(bucket, number);
	if (h && h == handle && h->number == number)
		retire(h);
	pthread_mutex_unlock(&bucket->lock);
}

static bool is_freed(__u32 handle)
{
	struct dat_dev_handle_query arg = {
		.size = sizeof(arg),
		.handle = handle,
	};

	return DAT_GET_TYPE(libdat_call(DAT_DEV_HANDLE_QUERY, &arg)) ==
	       DAT_INVALID_HANDLE;
}

/**
 * kdat_handle_remove_if_freed - retire a handle, if the kernel has freed the object
 * @handle: the program's handle, or DAT_HANDLE_NULL
 *
 * Thread safe.
 */
void kdat_handle_remove_if_freed(DAT_HANDLE handle)
{
	if (handle != DAT_HANDLE_NULL && is_freed(libdat_to_kernel(handle)))
		kdat_handle_remove(handle);
}

/**
 * kdat_handles_remove_freed - retire the handles of all objects of a closed IA
 *
 * Asks the kernel which objects still exist. Thread safe.
 */
void kdat_handles_remove_freed(void)
{
	struct kdat_handle *h;
	int i;

	for (i = 0; i < NUM_BUCKETS; i++) {
		pthread_mutex_lock(&buckets[i].lock);
		for (h = buckets[i].first; h; h = h->next)
			if (h->number != BAD_HANDLE && is_freed(h->number))
				retire(h);
		pthread_mutex_unlock(&buckets[i].lock);
	}
}
