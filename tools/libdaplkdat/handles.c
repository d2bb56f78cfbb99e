// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * handles.c - handles that libdat2 can follow
 *
 * libdat2 finds the provider of an object behind the object's handle, so that a
 * handle cannot be the kernel's number: it points to a structure that has the
 * number. Who has freed an object may use its handle once more, by mistake, and
 * shall learn that it is invalid; and an event that is taken later may name it.
 * So that libdat2 finds the provider even then, no such structure is ever given
 * back to malloc(); it becomes that of another object only when many have been
 * freed after it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kdat.h"

#define NUM_BUCKETS	1024

/* So many structures are kept from being used again. */
#define MIN_RETIRED	1024

static struct bucket {
	pthread_mutex_t lock;
	struct kdat_handle *first;
} buckets[NUM_BUCKETS] = {
	[0 ... NUM_BUCKETS - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER },
};

/* In the order in which their objects went */
static pthread_mutex_t retired_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kdat_handle *first_retired, **last_retired = &first_retired;
static unsigned int num_retired;

static struct bucket *bucket_of(__u32 number)
{
	return &buckets[(number * UINT32_C(0x61c88647)) >> 22];
}

/* As in libdat's table.c: a child of fork() shall find all of them unlocked. */
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

/*
 * Before that of table.c, whose locks are outside of these: what is registered
 * first is locked last.
 */
static void __attribute__((constructor(101))) handles_init(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

/* The bucket's lock is held. */
static struct kdat_handle *look_up(const struct bucket *bucket, __u32 key)
{
	struct kdat_handle *h;

	for (h = bucket->first; h; h = h->next)
		if (h->key == key)
			break;
	return h;
}

static void take_out(struct kdat_handle *handle)
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

/* Nothing of the last object is the next one's. */
static void forget(struct kdat_handle *handle)
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
	atomic_store(&handle->asked, false);
}

/* In no bucket. */
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
		take_out(handle);
	else
		handle = calloc(1, sizeof(*handle));
	if (!handle)
		return NULL;
	forget(handle);
	handle->provider = &kdat_entries;
	atomic_store_explicit(&handle->number, key, memory_order_relaxed);
	handle->key = key;
	return handle;
}

/* Its object has gone. It stays where it is, but for those who are new. */
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
 * libdat_to_kernel - the kernel's name of an object
 * @handle: what the program passed
 *
 * Thread safe.
 *
 * Return: the handle, NO_HANDLE for DAT_HANDLE_NULL, BAD_HANDLE if its object
 * has gone, or for what cannot be a pointer.
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
 * libdat_to_user - the program's name of an object
 * @handle: the kernel's
 *
 * Thread safe.
 *
 * Return: always the same for the same object; DAT_HANDLE_NULL for NO_HANDLE,
 * and if there is no memory for a new one, which libdat2 calls invalid.
 */
DAT_HANDLE libdat_to_user(__u32 handle)
{
	struct bucket *bucket = bucket_of(handle);
	struct kdat_handle *h, *new;

	if (handle == NO_HANDLE)
		return DAT_HANDLE_NULL;
	pthread_mutex_lock(&bucket->lock);
	h = look_up(bucket, handle);
	pthread_mutex_unlock(&bucket->lock);
	if (h)
		return h;

	/* It may take another bucket's lock. */
	new = new_handle(handle);
	if (!new)
		return DAT_HANDLE_NULL;
	pthread_mutex_lock(&bucket->lock);
	h = look_up(bucket, handle);
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
 * kdat_handle_set_provider - tell libdat2 whose object it is
 * @handle: the object
 * @provider: what libdat2 knows by a name
 *
 * Only libdat2's dat_ia_close() asks for the name.
 */
void kdat_handle_set_provider(DAT_HANDLE handle, const DAT_PROVIDER *provider)
{
	struct kdat_handle *h = handle;

	if (h)
		h->provider = provider;
}

/**
 * kdat_counters_make - begin to count
 * @h: the object
 * @kind: what it is
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
 * kdat_num_counters - how many counters there are
 * @kind: of what
 */
unsigned int kdat_num_counters(enum kdat_counted kind)
{
	return num_counters[kind];
}

/**
 * kdat_handle_set_ia - tell where an object belongs
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
 * kdat_handle_set_asked - remember which side of a connection an EP is
 * @handle: the EP
 * @asked: does it ask, or has it been asked?
 *
 * Thread safe.
 */
void kdat_handle_set_asked(DAT_HANDLE handle, bool asked)
{
	struct kdat_handle *h = handle;

	if (h)
		atomic_store(&h->asked, asked);
}

/**
 * kdat_handle_asked - which side of its connection is an EP?
 * @handle: the EP
 *
 * Return: what kdat_handle_set_asked() was told last.
 */
bool kdat_handle_asked(DAT_HANDLE handle)
{
	struct kdat_handle *h = handle;

	return h && atomic_load(&h->asked);
}

/**
 * kdat_handle_drop - an object has gone
 * @handle: what the program calls it
 *
 * Thread safe; if it has been dropped before nothing happens.
 */
void kdat_handle_drop(DAT_HANDLE handle)
{
	__u32 number = libdat_to_kernel(handle);
	struct bucket *bucket = bucket_of(number);
	struct kdat_handle *h;

	pthread_mutex_lock(&bucket->lock);
	h = look_up(bucket, number);
	if (h && h == handle && h->number == number)
		retire(h);
	pthread_mutex_unlock(&bucket->lock);
}

static bool has_gone(__u32 handle)
{
	struct dat_dev_handle_query arg = {
		.size = sizeof(arg),
		.handle = handle,
	};

	return DAT_GET_TYPE(libdat_call(DAT_DEV_HANDLE_QUERY, &arg)) ==
	       DAT_INVALID_HANDLE;
}

/**
 * kdat_handles_sweep - an IA has been closed: drop what went with it
 *
 * Which objects that were the kernel knows. Thread safe.
 */
void kdat_handles_sweep(void)
{
	struct kdat_handle *h;
	int i;

	for (i = 0; i < NUM_BUCKETS; i++) {
		pthread_mutex_lock(&buckets[i].lock);
		for (h = buckets[i].first; h; h = h->next)
			if (h->number != BAD_HANDLE && has_gone(h->number))
				retire(h);
		pthread_mutex_unlock(&buckets[i].lock);
	}
}
