// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ring.pml - the ring of events between the kernel and a process
 *
 * Models push_locked(), copy_some() and dat_uevd_swap_ring() in chardev/uevd.c,
 * begin_wait(), wait_is_over(), end_wait() in chardev/uevd_ioctl.c, and
 * libdat_ring_count(), libdat_ring_consume(), libdat_ring_renew(), libdat_evd_wait() and
 * libdat_evd_resize() in tools/libdat. Upcalls push events 1, 2, ... into the ring. One
 * thread of the process waits and dequeues. Another thread resizes the EVD once.
 *
 * Memory order: stores of a kernel CPU to the ring become visible in any order. A release
 * store becomes visible after the stores before it. To take evd->lock makes the stores of
 * the previous holder visible. The process's loads after an acquire load stay behind it.
 *
 * Properties:
 * - the process dequeues each event once, in order, and with its contents;
 * - a thread that sleeps in DAT_DEV_EVD_WAIT is woken when the ring has enough events: all
 *   events are dequeued at the end, and (ltl) no sleep is endless.
 *
 * Left out: events that are lost because the ring is full (here the upcall repeats
 * the push), a process that writes wrong values, DAT_DEV_EVD_PULL, poll(2), CNOs,
 * timeouts, lockless.c, a resize to fewer entries, and the wrap of the 32-bit counters.
 *
 * BROKEN_1: push_locked() stores the tail without release
 * BROKEN_2: the process loads the tail without acquire
 * BROKEN_3: the process stores the head before it has read the event
 * BROKEN_4: the waiter does not look again after it has queued itself
 * BROKEN_5: dat_uevd_swap_ring() copies no event that came between two batches
 * BROKEN_6: push_locked() does not test whether the ring is full
 * LIMIT_1: what dat_evd_resize(3DAT) excludes. Another process that shares the file resizes the EVD, so
 *	without the lock of the EVD in this process. An event that is being dequeued may
 *	be dequeued twice, and the old ring may look full of old events.
 */
#ifndef EVENTS
#define EVENTS		6
#endif
#define THRESHOLD	2
#define RING(r, n)	((r) * 4 + (n) % (2 + 2 * (r)))	/* the rings have 2 and 4 entries */
#define ENTRIES(r)	(2 + 2 * (r))
#define NOTHING		0

/* struct dat_dev_ring, as the process sees it; ring 1 is the new one */
byte slot[8];
byte tail[2];
byte head[2];
bit is_old;

/* Stores of kernel CPUs that are not visible yet. 0: none, or 1 + the value */
byte late_slot[8];
byte late_tail;		/* of ring evd_ring */

/* struct dat_uevd */
bit lock;
bit evd_ring;
byte evd_tail;
byte threshold;
bit queued;		/* the waiter is in evd->wq */

/* The process */
bit user_lock;		/* of the entry of the EVD in libdat's table */
bit mapped;		/* the ring that is mapped */
bit waiting;

byte dequeued;
bit sleeping;

#define NO_LATE_SLOT \
	(!late_slot[0] && !late_slot[1] && !late_slot[4] && !late_slot[5] && \
	 !late_slot[6] && !late_slot[7])
#define ALL_VISIBLE	(NO_LATE_SLOT && !late_tail)
#define LOCK()		atomic { !lock && ALL_VISIBLE -> lock = 1 }
#define UNLOCK()	lock = 0
#define USED		(evd_tail - head[evd_ring])

inline make_visible(i)
{
	slot[i] = late_slot[i] - 1;
	late_slot[i] = 0
}

/* Stores become visible. */
active proctype memory()
{
end:	do
	:: atomic { late_slot[0] -> make_visible(0) }
	:: atomic { late_slot[1] -> make_visible(1) }
	:: atomic { late_slot[4] -> make_visible(4) }
	:: atomic { late_slot[5] -> make_visible(5) }
	:: atomic { late_slot[6] -> make_visible(6) }
	:: atomic { late_slot[7] -> make_visible(7) }
#ifdef BROKEN_1
	:: atomic { late_tail -> tail[evd_ring] = late_tail - 1; late_tail = 0 }
#else
	:: atomic { late_tail && NO_LATE_SLOT -> tail[evd_ring] = late_tail - 1; late_tail = 0 }
#endif
	od
}

/* push_locked() */
active proctype upcall()
{
	byte n, used;

	for (n : 1 .. EVENTS) {
again:		LOCK();
		/* smp_load_acquire(head) in dat_uevd_used() */
		used = USED;
#ifndef BROKEN_6
		if
		:: used >= ENTRIES(evd_ring) ->
			atomic { UNLOCK(); used = 0 };
			/* The push fails; the upcall here repeats it when there is room. */
			USED < ENTRIES(evd_ring);
			goto again
		:: else
		fi;
#endif
		late_slot[RING(evd_ring, evd_tail)] = 1 + n;
		atomic { evd_tail++; late_tail = 1 + evd_tail };
		if
		:: threshold && used + 1 >= threshold -> queued = 0
		:: else
		fi;
		atomic { UNLOCK(); used = 0 }
	}
}

/* libdat_ring_consume() */
inline consume()
{
#ifdef BROKEN_3
	h = head[mapped];
	head[mapped] = h + 1;
	event = slot[RING(mapped, h)];
#else
#ifndef BROKEN_2
	atomic { h = head[mapped]; event = slot[RING(mapped, h)] };
#endif
	head[mapped] = h + 1;
#endif
	atomic { assert(event == dequeued + 1); dequeued++; event = 0; h = 0 }
}

/* libdat_ring_count(); LIMIT_1: with libdat_ring_check() */
inline count_events()
{
#ifdef LIMIT_1
	if
	:: is_old && !mapped -> mapped = 1
	:: else
	fi;
#endif
#ifdef BROKEN_2
	/* The CPU loads the event before the tail. */
	atomic { h = head[mapped]; event = slot[RING(mapped, h)] };
#endif
	count = tail[mapped] - head[mapped]
}

/* dat_ioctl_evd_wait() */
inline wait_in_kernel(wanted)
{
	/* begin_wait() */
	LOCK();
	threshold = wanted;
	UNLOCK();
	do
	:: 	/* wait_event_interruptible_hrtimeout(), wait_is_over() */
#ifdef BROKEN_4
		LOCK();
		is_over = USED >= wanted;
		UNLOCK();
		queued = 1;
#else
		queued = 1;
		LOCK();
		is_over = USED >= wanted;
		UNLOCK();
#endif
		if
		:: is_over -> break
		:: else
		fi;
		sleeping = 1;
		atomic { !queued -> sleeping = 0 }
	od;
	queued = 0;
	/* end_wait() */
	LOCK();
	threshold = 0;
	atomic { UNLOCK(); is_over = 0 }
}

/* libdat_evd_wait(), once for more events than one; libdat_evd_dequeue() */
active proctype consumer()
{
	byte count, h, event, wanted = THRESHOLD;
	bit is_over;

	do
	:: dequeued < EVENTS ->
		atomic { !user_lock -> user_lock = 1 };
		count_events();
		if
		:: count < wanted ->
			/* wait_unlocked() */
			atomic { user_lock = 0; event = 0; h = 0; count = 0 };
			wait_in_kernel(wanted);
			atomic { !user_lock -> user_lock = 1 };
			count_events();
#ifdef LIMIT_1
			/* DAT_INTERRUPTED_CALL */
			if
			:: count == 0 -> user_lock = 0; goto next
			:: else
			fi
#else
			assert(count >= wanted)
#endif
		:: else
		fi;
		consume();
		atomic { user_lock = 0; count = 0; wanted = 1 };
next:		skip
	:: else -> break
	od
}

/* dat_uevd_swap_ring(), with batches of one event, and libdat_ring_renew() */
active proctype resize()
{
	byte used, copied;

#ifndef LIMIT_1
	atomic { !user_lock -> user_lock = 1 };
#endif
	LOCK();
	copied = head[0];
	do
	:: used = USED;
		if
		:: evd_tail - copied > used -> copied = evd_tail - used
		:: else
		fi;
		if
		:: copied != evd_tail ->
			late_slot[RING(1, copied)] = 1 + slot[RING(0, copied)];
			copied++
		:: else
		fi;
#ifdef BROKEN_5
		copied = evd_tail;
#endif
		if
		:: copied == evd_tail -> break
		:: else
		fi;
		UNLOCK();
		LOCK()
	od;
	/* The new ring is not mapped yet. */
	head[1] = evd_tail - used;
	tail[1] = evd_tail;
	evd_ring = 1;
	tail[0] = head[0];
	/* Release */
	NO_LATE_SLOT;
	is_old = 1;
	UNLOCK();
#ifndef LIMIT_1
	mapped = 1;
	user_lock = 0
#endif
}

#ifdef LTL
ltl wakes { [] (sleeping -> <> !sleeping) }
#endif
