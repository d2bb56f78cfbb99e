// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * lookup.pml - the lookup of a handle: generation, cache, RCU
 *
 * Models kdapl/base/object.c (dat_object_publish(), dat_object_lookup_slow(),
 * dat_object_get(), dat_object_put(), dat_object_retire(), object_release_rcu()),
 * kdapl/base/object.h (dat_object_lookup_any()) and kdapl/include/lookup_cache.h
 * (dat_lookup_cache_find(), _add(), _remove(), _refill()).
 *
 * One thread publishes and retires objects, two threads look handles up. Two indexes share
 * the one slot of the cache. Memory and indexes are reused.
 *
 * Properties:
 * - a lookup never reads freed memory, and a reference keeps the memory;
 * - a lookup finds only the object of that handle, and none that was retired before the
 *   lookup began;
 * - a lookup finds an object that is published during the whole lookup;
 * - while the lock of the table is free, the cache has only entries of the table.
 *
 * Left out: the type, the owner's list, dat_object_claim(), the wrap of the generation
 * (40 bits), the order of plain stores before rcu_assign_pointer(), and the walk of the
 * xarray, which is one step here.
 *
 * BROKEN_1: the lookup compares the index only, not the generation
 * BROKEN_2: the refill does not look again under the lock
 * BROKEN_3: dat_object_retire() leaves the object in the cache
 * BROKEN_4: dat_object_put() frees at once, without a grace period
 * BROKEN_5: dat_object_get() takes a reference although the last one was returned
 */
#define HANDLES		3
#define READERS		2
#define OBJS		2
#define INDEXES		2
#define NONE		7
#define ZERO_ENTRY	6	/* XA_ZERO_ENTRY: reserved; a lookup finds nothing */

#define PUBLISHED	1
#define RETIRING	2	/* dat_object_retire() has begun */
#define RETIRED		3

/* Memory of the objects */
bit alive[OBJS];
byte ref[OBJS];
byte gen[OBJS];			/* obj->handle: the generation ... */
byte idx[OBJS];			/* ... and the index */
bit rcu_pending[OBJS];		/* call_rcu() was called */
byte readers_of[OBJS];		/* read-side sections that the grace period waits for */

byte table[INDEXES];		/* dat_objects */
byte cache = NONE;		/* the slot of dat_object_cache */
bit xa_locked;
byte generation;		/* dat_generation */

/* The consumer's view of each handle: 0 until it is published */
byte state[HANDLES + 1];
byte index_of[HANDLES + 1];
byte object_of[HANDLES + 1];

bit first_began;
byte in_section;		/* readers in a read-side section, one bit each */

#define XA_LOCK()	atomic { !xa_locked -> xa_locked = 1 }
#define CACHE_IS_SOUND	(cache == NONE || table[idx[cache]] == cache)
#define XA_UNLOCK()	atomic { assert(CACHE_IS_SOUND); xa_locked = 0 }

/* dat_object_put() */
inline put(o)
{
	atomic {
		assert(alive[o] && ref[o] > 0);
		ref[o]--;
		if
		:: ref[o] == 0 ->
			rcu_pending[o] = 1;
#ifdef BROKEN_4
			readers_of[o] = 0
#else
			readers_of[o] = in_section
#endif
		:: else
		fi
	}
}

inline leave_section(bits)
{
	atomic {
		in_section = in_section & ~(bits);
		readers_of[0] = readers_of[0] & ~(bits);
		readers_of[1] = readers_of[1] & ~(bits)
	}
}

/* object_release_rcu() */
active proctype rcu()
{
end:	do
	:: atomic { rcu_pending[0] && !readers_of[0] ->
		rcu_pending[0] = 0; alive[0] = 0; gen[0] = 0; idx[0] = 0 }
	:: atomic { rcu_pending[1] && !readers_of[1] ->
		rcu_pending[1] = 0; alive[1] = 0; gen[1] = 0; idx[1] = 0 }
	od
}

/* Creates and frees objects, in any order */
proctype maker()
{
	byte o, h;

	do
	:: atomic {
			generation < HANDLES && (!alive[0] || !alive[1]) &&
			(table[0] == NONE || table[1] == NONE) && !xa_locked;
			/* dat_object_init(); xa_alloc(); make_handle() */
			if
			:: !alive[0] -> o = 0
			:: else -> o = 1
			fi;
			generation++;
			h = generation;
			if
			:: table[0] == NONE -> index_of[h] = 0
			:: else -> index_of[h] = 1
			fi;
			alive[o] = 1;
			ref[o] = 1;
			gen[o] = h;
			idx[o] = index_of[h];
			table[index_of[h]] = ZERO_ENTRY
		}
		XA_LOCK();
		table[idx[o]] = o;
		cache = o;
		atomic { XA_UNLOCK(); state[h] = PUBLISHED; object_of[h] = o; o = 0; h = 0 }
	:: atomic {
			state[1] == PUBLISHED || state[2] == PUBLISHED || state[3] == PUBLISHED;
			!xa_locked;
			if
			:: state[1] == PUBLISHED -> h = 1
			:: state[2] == PUBLISHED -> h = 2
			:: state[3] == PUBLISHED -> h = 3
			fi;
			/* dat_object_retire() */
			xa_locked = 1;
			state[h] = RETIRING;
			o = object_of[h]
		}
		table[idx[o]] = NONE;
#ifndef BROKEN_3
		atomic {
			if
			:: cache == o -> cache = NONE
			:: else
			fi
		}
#endif
		atomic { XA_UNLOCK(); state[h] = RETIRED; h = 0 };
		put(o);
		o = 0
	:: atomic { generation == HANDLES -> break }
	od
}

#ifdef BROKEN_1
#define SAME(o, h)	(idx[o] == index_of[h])
#else
#define SAME(o, h)	(gen[o] == h && idx[o] == index_of[h])
#endif

/* dat_lookup_cache_refill(); the caller has not disabled interrupts */
inline refill(o, h)
{
	if
	:: skip			/* one walk in 16 */
	:: atomic { !xa_locked -> xa_locked = 1 };
		if
#ifdef BROKEN_2
		:: cache = o
#else
		:: atomic { table[index_of[h]] == o -> cache = o }
		:: else
#endif
		fi;
		XA_UNLOCK()
	fi
}

/* dat_object_get(): dat_object_lookup_any(), then a reference */
proctype reader(byte me)
{
	byte h, o;
	bit was_published, was_retired;

	/* Any handle that was ever returned */
	atomic {
		/* The readers are alike, so their order is fixed. */
		generation > 0 && (me == 0 || first_began);
		first_began = 1;
		select(h : 1 .. generation);
		in_section = in_section | (1 << me);
		was_published = state[h] == PUBLISHED;
		was_retired = state[h] == RETIRED;
		o = cache
	}
	if
	:: atomic { o != NONE -> assert(alive[o]) };
		if
		:: SAME(o, h) -> goto found
		:: else
		fi
	:: else
	fi;
	/* dat_object_lookup_slow() */
	atomic {
		o = table[index_of[h]];
		if
		:: o == ZERO_ENTRY -> o = NONE
		:: else
		fi
	}
	if
	:: o == NONE -> goto lookup_end
	:: else
	fi;
	atomic {
		assert(alive[o]);
		if
		:: !SAME(o, h) -> o = NONE; goto lookup_end
		:: else
		fi
	}
	refill(o, h);
found:	atomic {
		assert(alive[o] && gen[o] == h);
		assert(!was_retired)
	}
lookup_end:
	atomic {
		assert(o != NONE || !was_published || state[h] != PUBLISHED);
		was_published = 0;
		was_retired = 0
	}
	/* kref_get_unless_zero() */
	atomic {
		if
#ifdef BROKEN_5
		:: o != NONE -> ref[o]++
#else
		:: o != NONE && ref[o] > 0 -> ref[o]++
#endif
		:: else -> o = NONE
		fi
	}
	leave_section(1 << me);
	if
	:: o != NONE ->
		atomic { assert(alive[o] && gen[o] == h) };
		put(o)
	:: else
	fi
}

init {
	byte i;

	atomic {
		table[0] = NONE;
		table[1] = NONE;
		run maker();
		for (i : 1 .. READERS) { run reader(i - 1) }
		i = 0
	}
}
