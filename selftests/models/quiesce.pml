// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * quiesce.pml - live references against removal of the device and close of the IA
 *
 * Models kdapl/dev/quiesce.c (ia_get_open(), dat_ia_get_or_defer(), release_deferred(),
 * dat_ia_put_live(), dat_ia_quiesce(), dat_ia_kill(), dat_ia_resume(),
 * dat_object_get_live()), dat_ia_unplug() in kdapl/dev/ia.c and kdapl_ia_close() in
 * kdapl/api/ia.c. The device is removed once, and the IA is closed, gracefully or
 * abruptly. Meanwhile run: a call that may wait for an
 * upcall, the upcall, which also calls, and a work.
 *
 * Properties:
 * - while dat_ia_unplug() or kdapl_ia_close() owns the objects, no call is inside;
 * - no call of dat_object_get_live() uses the device after its removal;
 * - every call and wait ends, although no timeout wakes it: no lost wakeup, no deadlock;
 * - the deferred work runs until it is served or refused.
 *
 * Left out: kill_pinners() and all timeouts, dat_ia_tryget_live(), which takes the steps
 * of dat_object_get_live() without the wait, and the table of handles (lookup.pml).
 * Memory is sequentially consistent, except in BROKEN_8.
 *
 * BROKEN_1: dat_ia_quiesce() does not wait for the references
 * BROKEN_2: ia_get_open() makes no exception for upcalls
 * BROKEN_3: dat_ia_get_or_defer() does not read the state again under the lock
 * BROKEN_4: dat_ia_kill() does not wake the waiters
 * BROKEN_5: dat_ia_resume() does not queue the deferred works
 * BROKEN_6: dat_ia_unplug() sets ia->unplugged after dat_ia_resume()
 * BROKEN_7: an upcall that waits in ia_get_open() only looks at the state. If the IA is
 *	resumed and quiesced again before the upcall runs, it waits although num_live is
 *	not 0. dat_evd_free() may hold that reference and wait for the upcall.
 * BROKEN_8: live_inc() orders no later load, so a CPU may load ia->unplugged before it
 *	takes the reference. The whole removal must then run between the two. x86 does
 *	not reorder them.
 */
#define OPEN		0
#define UNPLUGGING	1
#define CLOSING		2

byte live_state = OPEN;
byte num_live = 1;
bit unplugged;
bit end_lock;
bit is_deferred;	/* the work is in ia->deferred */
bit work_queued = 1;

/* One bit for each process that sleeps on ia->live_wq */
byte sleepers;

/* Ghosts */
byte inside;		/* calls that hold a live reference */
bit owned;		/* dat_ia_unplug() or kdapl_ia_close() owns the objects */
bit no_device;
bit upcall_runs;
bit work_done;

#define WAKE_UP_ALL()	sleepers = 0

/* wait_event(ia->live_wq, cond); the caller has put itself into sleepers */
#define WAIT_EVENT(bit, cond) \
	do \
	:: atomic { (cond) -> sleepers = sleepers & ~(bit); break } \
	:: atomic { else -> skip }; \
		atomic { !(sleepers & (bit)) -> sleepers = sleepers | (bit) } \
	od

inline enter()
{
	atomic { assert(!owned); inside++ }
}

inline put_live()
{
	if
	:: atomic { num_live == 1 -> num_live = 0; inside-- }; WAKE_UP_ALL()
	:: atomic { num_live > 1 -> num_live--; inside-- }
	fi
}

#ifdef BROKEN_2
#define EXCEPTION(in_upcall)	false
#else
#define EXCEPTION(in_upcall)	(in_upcall)
#endif

/* The condition of the wait in ia_get_open() */
#ifdef BROKEN_7
#define MAY_RETRY(in_upcall)	(live_state != UNPLUGGING)
#else
#define MAY_RETRY(in_upcall) \
	(live_state != UNPLUGGING || (EXCEPTION(in_upcall) && num_live > 0))
#endif

/* Sets got. BROKEN_8 moves the load of ia->unplugged forward. */
inline ia_get_open(me, in_upcall)
{
	do
	:: atomic {
			seen = live_state;
#ifdef BROKEN_8
			seen_unplugged = unplugged;
#endif
			in_turn = seen == OPEN || EXCEPTION(in_upcall)
		}
		if
		:: atomic { in_turn && num_live > 0 ->
				num_live++;
				enter();
				got = 1;
				break
			}
		:: atomic { !in_turn || num_live == 0 ->
				if
				:: seen == CLOSING -> break
				:: else
				fi;
				sleepers = sleepers | me
			}
		fi;
		WAIT_EVENT(me, MAY_RETRY(in_upcall))
	od
}

/* dat_object_get_live(), the use of the device, dat_object_put_live() */
inline use_device()
{
#ifndef BROKEN_8
	seen_unplugged = unplugged;
#endif
	atomic { assert(seen_unplugged || !no_device); seen_unplugged = 0 }
}

/* An upcall of an EVD without a CQ may sleep, and calls the API. */
active proctype upcall()
{
	byte seen;
	bit got, in_turn, seen_unplugged;

	if
	:: upcall_runs = 1
	:: goto none
	fi;
	ia_get_open(2, true);
	if
	:: got ->
		use_device();
		put_live()
	:: else
	fi;
	upcall_runs = 0;
none:	skip
}

/* A call; dat_evd_free() holds its live reference while dat_evd_upcall_stop() waits. */
active proctype call()
{
	byte seen;
	bit got, in_turn, seen_unplugged;

	ia_get_open(4, false);
	if
	:: got ->
		if
		:: true -> !upcall_runs
		:: skip
		fi;
		use_device();
		put_live()
	:: else
	fi
}

/* report_work() in kdapl/cm/cr_request.c, by dat_ia_get_or_defer() */
active proctype work()
{
	byte seen;
	bit wait;

end:	do
	:: atomic { work_queued -> work_queued = 0 };
		do
		:: seen = live_state;
			if
			:: seen == OPEN ->
				if
				:: atomic { num_live > 0 -> num_live++; enter() };
					work_done = 1;
					put_live();
					break
				:: else
				fi
			:: seen == CLOSING ->
				work_done = 1;
				break
			:: else
			fi;
			/* ia->owner.lock */
			atomic {
#ifdef BROKEN_3
				wait = seen == UNPLUGGING;
#else
				wait = live_state == UNPLUGGING;
#endif
				if
				:: wait -> is_deferred = 1
				:: else
				fi
			}
			if
			:: wait -> break
			:: else
			fi
		od;
		atomic { wait = 0; seen = 0 }
	od
}

inline release_deferred()
{
	atomic {
		if
		:: is_deferred -> is_deferred = 0; work_queued = 1
		:: else
		fi
	}
}

inline quiesce(why, me)
{
	/* The initial reference counts here like that of a call. */
	atomic { live_state = why; inside++ };
	put_live();
#ifndef BROKEN_1
	sleepers = sleepers | me;
	WAIT_EVENT(me, num_live == 0);
#endif
	atomic { assert(inside == 0); owned = 1 };
	if
	:: why == CLOSING -> release_deferred()
	:: else
	fi
}

inline resume()
{
	owned = 0;
	num_live = 1;
	live_state = OPEN;
	WAKE_UP_ALL();
#ifndef BROKEN_5
	release_deferred()
#endif
}

/* dat_ia_unplug() */
active proctype remove_device()
{
	atomic { !end_lock -> end_lock = 1 };
	if
	:: live_state == CLOSING
	:: else ->
		quiesce(UNPLUGGING, 8);
#ifndef BROKEN_6
		unplugged = 1;
#endif
		no_device = 1;
		resume();
#ifdef BROKEN_6
		unplugged = 1;
#endif
	fi;
	end_lock = 0
}

/* kdapl_ia_close(), graceful until it succeeds, or abrupt; or never */
active proctype close()
{
	byte n;

	if
	:: skip
	:: goto closed
	fi;
	for (n : 1 .. 2) {
		atomic { !end_lock -> end_lock = 1 };
		if
		:: quiesce(CLOSING, 16); break
		:: quiesce(UNPLUGGING, 16);
			if
			:: n == 1 ->
				/* dat_ia_has_consumer_objects() */
				resume();
				end_lock = 0
			:: true ->
				/* dat_ia_kill() */
				live_state = CLOSING;
#ifndef BROKEN_4
				WAKE_UP_ALL();
#endif
				release_deferred();
				break
			fi
		fi
	}
	/* dat_ia_destroy_objects(): evd_shutdown() waits for upcalls. */
	!upcall_runs;
	no_device = 1;
	end_lock = 0;
closed:	(work_done)
}
