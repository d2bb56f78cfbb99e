// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * window.pml - the two windows of an RMR and their MRs
 *
 * Models rmr_bind() and post_bind() in kdapl/ep/rmr_bind.c, kdapl/mem/rmr_window.c
 * (dat_window_map(), dat_rmr_bound(), rmr_bind_failed(), window_of(), window_break(),
 * dat_rmr_revoke()) and kdapl/mem/frmr.c (dat_frmr_idle(), frmr_renew(), frmr_repair(),
 * frmr_renew_spare(), frmr_free(), frmr_alloc()).
 *
 * A consumer binds parts of two LMRs, and unbinds, on two EPs. The device executes the
 * requests of each EP in order. ib_map_mr_sg() changes the page list of an MR at once. A
 * connection may break once: the device flushes requests, also one that it has executed.
 * A peer may invalidate a context once. An MR has KEYS keys; the next key would be that
 * of its allocation. tools/check/models.sh sets the sizes.
 *
 * Properties:
 * - while a context is valid in the device, it shows the part that it was bound to, and
 *   the RMR uses that LMR, so that the LMR cannot be freed;
 * - after the event of a successful bind, all contexts of earlier binds are invalid,
 *   except those of broken windows, until the repair work has run;
 * - no context is given to a peer twice, and the key of the allocation never;
 * - the device executes no registration of a deregistered MR;
 * - when all requests have completed and all works have run, only the context of the
 *   open window is valid, only the open window uses an LMR, and no LMR counts a broken
 *   window, for which dat_lmr_free() would wait.
 *
 * Left out: LMRs of dat_lmr_allocate() (fmr.c), the index of a deregistered MR that the
 * device assigns again, dat_rmr_free(), DAT_QUIRK_INVALIDATE_FIRST, and the reconnection
 * of an EP.
 *
 * BROKEN_1: a window is idle as soon as its invalidation is posted
 * BROKEN_2: an MR is not replaced when its keys are used up
 * BROKEN_3: a bind may be posted while binds are outstanding on another EP
 * BROKEN_4: a failed bind trusts the flush: its windows are closed, not broken
 * BROKEN_5: dat_rmr_bound() opens the new window in any state
 * BROKEN_6: dat_window_map() believes that a page list is the same without comparing
 * BROKEN_7: window_break() counts a window that is broken already in lmr->broken again
 */
#ifndef KEYS
#define KEYS		3	/* 255 */
#endif
#ifndef BINDS
#define BINDS		4
#endif
#ifndef FAILURES
#define FAILURES	1
#endif
#ifndef REVOKES
#define REVOKES		0
#endif
#ifndef EPS
#define EPS		1
#endif
#ifndef SPARE_AT
#define SPARE_AT	3	/* 64 */
#endif
#define MRS		6	/* MRs that can be allocated */
#define NONE		2
#define NO_MR		7
#define FORMER		3
#define CONTEXT(mr, key)	((mr) * (KEYS + 1) + (key))
#define CONTEXTS	(MRS * (KEYS + 1))

#define IDLE		0
#define POSTED		1
#define VALID		2
#define INVALIDATING	3
#define BROKEN		4

/* The device. An LMR is named 1 or 2; so is a part, as each LMR has one. */
bit exists[MRS];
byte pages[MRS];	/* the page list */
byte valid[MRS];	/* 1 + the key that is valid, or 0 */
bit qp_error[EPS];

/* A bind: its number, new window, old window, MR and key of both; status */
chan sq0 = [3] of { byte, byte, byte, byte, byte, byte, byte };
chan cq0 = [3] of { byte, byte, byte, bit };
#if EPS > 1
chan sq1 = [3] of { byte, byte, byte, byte, byte, byte, byte };
chan cq1 = [3] of { byte, byte, byte, bit };
#endif

/* struct dat_window */
byte state[2];
byte mr[2];
byte key[2];		/* of mr->rkey */
byte dead_key[2];	/* the context */
byte used[2];
byte lmr[2];
byte shown[2];
bit revoked[2];
byte spare[2] = NO_MR;
byte old_mr[2] = NO_MR;

/* struct dat_rmr */
bit lock;
byte current = NONE;
byte pending;
byte pending_ep;
bit repair_queued;
bit qp_failed[EPS];
byte broken[3];		/* lmr->broken */

/* Ghosts */
byte allocated;
byte part_of[CONTEXTS];	/* 0: never given to a peer */
byte bind_of[CONTEXTS];
byte num_binds;
bit consumer_ended;
bit any_bound;

#define IS_USED(m) \
	((mr[0] == m && lmr[0] == pages[m]) || (mr[1] == m && lmr[1] == pages[m]))
#define VALID_CONTEXT(m)	CONTEXT(m, valid[m] - 1)
#define IS_SOUND(m)	(!valid[m] || (part_of[VALID_CONTEXT(m)] == pages[m] && IS_USED(m)))
#define IS_BROKEN(m) \
	((mr[0] == m && state[0] == BROKEN) || (mr[1] == m && state[1] == BROKEN))
#define IS_DEAD_BEFORE(m, n) \
	(!valid[m] || bind_of[VALID_CONTEXT(m)] >= n || IS_BROKEN(m))

/* A peer may use any valid context at any time. */
proctype peer()
{
end:	do
	:: atomic { !IS_SOUND(0) || !IS_SOUND(1) || !IS_SOUND(2) || !IS_SOUND(3) ||
		!IS_SOUND(4) || !IS_SOUND(5) -> assert(false) }
	od
}

inline alloc_mr(m)
{
	if
	:: allocated < MRS -> m = allocated; exists[m] = 1; allocated++
	:: else -> m = NO_MR
	fi
}

inline dereg_mr(m)
{
	if
	:: m != NO_MR -> exists[m] = 0; valid[m] = 0; m = NO_MR
	:: else
	fi
}

/* dat_frmr_idle() with frmr_renew(). Sets w. */
inline idle_one(i)
{
	if
	:: w == NONE && state[i] == IDLE ->
#ifndef BROKEN_2
		if
		:: used[i] >= KEYS && (spare[i] == NO_MR || old_mr[i] != NO_MR) ->
			state[i] = BROKEN
		:: used[i] >= KEYS && spare[i] != NO_MR && old_mr[i] == NO_MR ->
			old_mr[i] = mr[i];
			mr[i] = spare[i];
			key[i] = 0;
			spare[i] = NO_MR;
			used[i] = 0;
			w = i
		:: else -> w = i
		fi;
#else
		w = i;
#endif
		if
		:: w == i && (old_mr[i] != NO_MR ||
			      (used[i] >= SPARE_AT && spare[i] == NO_MR)) ->
			repair_queued = 1
		:: else
		fi
	:: else
	fi;
	if
	:: w == NONE && state[i] == BROKEN -> repair_queued = 1
	:: else
	fi
}

#ifdef BROKEN_6
#define IS_SAME(w, part)	true
#else
#define IS_SAME(w, part)	(shown[w] == part)
#endif

/* dat_window_map() */
inline map(w, part)
{
	if
	:: used[w] && IS_SAME(w, part)
	:: else -> pages[mr[w]] = part; shown[w] = part
	fi;
	key[w] = (key[w] + 1) % (KEYS + 1);
	used[w]++
}

#ifdef BROKEN_3
#define MAY_POST_ON(ep)	true
#else
#define MAY_POST_ON(ep)	(pending == 0 || pending_ep == ep)
#endif

/* rmr_bind() */
proctype consumer()
{
	byte n, ep, part, w, old;

	for (n : 1 .. BINDS) {
		atomic {
			/* The LMRs are alike, so the first one that is bound is 1. */
			if
			:: part = 0
			:: part = 1; any_bound = 1
			:: any_bound -> part = 2
			fi;
			if
			:: ep = 0
#if EPS > 1
			:: ep = 1
#endif
			fi;
			w = NONE
		}
		/* The lock is held until the bind has been posted. */
		atomic {
			!lock && MAY_POST_ON(ep) && pending < 3;
			old = current;
			if
			:: qp_failed[ep] -> part = 0; old = NONE
			:: else
			fi;
			if
			:: part ->
				idle_one(0);
				idle_one(1);
				if
				:: w == NONE -> goto no_window
				:: else -> lock = 1; map(w, part)
				fi
			:: else -> lock = 1
			fi
		}
		atomic {
			num_binds++;
			if
			:: w != NONE ->
				assert(key[w] != 0);
				assert(part_of[CONTEXT(mr[w], key[w])] == 0);
				part_of[CONTEXT(mr[w], key[w])] = part;
				bind_of[CONTEXT(mr[w], key[w])] = num_binds;
				lmr[w] = part;
				state[w] = POSTED;
				dead_key[w] = CONTEXT(mr[w], key[w])
			:: else
			fi;
			pending++;
			pending_ep = ep;
			if
			:: ep == 0 -> sq0!num_binds, w, old,
				((w == NONE) -> NO_MR : mr[w % 2]), key[w % 2],
				((old == NONE) -> NO_MR : mr[old % 2]), key[old % 2]
#if EPS > 1
			:: ep == 1 -> sq1!num_binds, w, old,
				((w == NONE) -> NO_MR : mr[w % 2]), key[w % 2],
				((old == NONE) -> NO_MR : mr[old % 2]), key[old % 2]
#endif
			fi;
			if
			:: old != NONE ->
#ifdef BROKEN_1
				state[old] = IDLE;
				lmr[old] = 0
#else
				state[old] = INVALIDATING
#endif
			:: else
			fi;
			if
			:: !qp_failed[ep] -> current = w
			:: else
			fi;
			lock = 0
		}
no_window:	atomic { w = 0; old = 0; part = 0; ep = 0 }
	}
	consumer_ended = 1
}

/* Executes one request of the queue. */
inline execute(sq, cq, ep)
{
	atomic {
		sq?n, new, old, m, k, om, ok;
		if
		:: om != NO_MR && !qp_error[ep] && valid[om] == ok + 1 -> valid[om] = 0
		:: else
		fi;
		om = 0;
		ok = 0
	}
	atomic {
		if
		:: m != NO_MR && !qp_error[ep] -> assert(exists[m]); valid[m] = k + 1
		:: else
		fi;
		m = 0;
		k = 0
	}
	/* A request that was executed is flushed if the connection has broken. */
	atomic {
		cq!n, new, old, (!qp_error[ep]);
		n = 0;
		new = 0;
		old = 0
	}
}

proctype device0()
{
	byte n, new, old, m, k, om, ok;

end:	do
	:: execute(sq0, cq0, 0)
	od
}

#if EPS > 1
proctype device1()
{
	byte n, new, old, m, k, om, ok;

end:	do
	:: execute(sq1, cq1, 1)
	od
}
#endif

/* A connection breaks; kdapl moves the QP to the error state later, or never. */
proctype failure()
{
	byte ep;

	if
	:: FAILURES && (EPS > 1) -> ep = EPS - 1
	:: FAILURES -> ep = 0
	:: goto none
	fi;
	qp_error[ep] = 1;
	if
	:: qp_failed[ep] = 1
	:: skip
	fi;
none:	skip
}

/* window_break() */
inline window_break(w)
{
	if
#ifdef BROKEN_7
	:: lmr[w] -> broken[lmr[w]]++
#else
	:: lmr[w] && state[w] != BROKEN -> broken[lmr[w]]++
#endif
	:: else
	fi;
	state[w] = BROKEN;
	repair_queued = 1
}

/* dat_window_clear() */
inline window_clear(w)
{
	lmr[w] = 0;
	revoked[w] = 0
}

#define IS_IN(w, s)	((w) != NONE && state[(w) % 2] == s)

#define IS_OPEN(i, found) \
	((state[i] == POSTED && !revoked[i]) || (state[i] == VALID && found == NONE))

/* dat_rmr_bound() */
inline bound(n, new, old, ok)
{
#ifdef BROKEN_5
	is_opened = new != NONE;
#else
	is_opened = IS_IN(new, POSTED);
#endif
	is_closed = IS_IN(old, INVALIDATING);
	if
	:: !ok ->
#ifdef BROKEN_4
		if
		:: is_closed -> window_clear(old); state[old] = IDLE
		:: else
		fi;
		if
		:: new != NONE -> window_clear(new); state[new] = IDLE
		:: else
		fi;
#else
		if
		:: is_closed -> window_break(old)
		:: else
		fi;
		if
		:: new != NONE -> window_break(new)
		:: else
		fi;
#endif
		current = NONE;
		if
		:: IS_OPEN(0, current) -> current = 0
		:: else
		fi;
		if
		:: IS_OPEN(1, current) -> current = 1
		:: else
		fi
	:: else ->
		if
		:: is_opened && revoked[new] -> window_clear(new); state[new] = IDLE
		:: is_opened && !revoked[new] -> state[new] = VALID
		:: else
		fi;
		if
		:: is_closed ->
			window_clear(old);
			state[old] = IDLE;
			/* Keeps the number of states small. */
			if
			:: !valid[mr[old]] ->
				part_of[dead_key[old]] = FORMER;
				bind_of[dead_key[old]] = 0
			:: else
			fi
		:: else
		fi;
		assert(IS_DEAD_BEFORE(0, n) && IS_DEAD_BEFORE(1, n) &&
		       IS_DEAD_BEFORE(2, n) && IS_DEAD_BEFORE(3, n) &&
		       IS_DEAD_BEFORE(4, n) && IS_DEAD_BEFORE(5, n))
	fi;
	pending--
}

proctype completions()
{
	byte n, new, old;
	bit ok, is_opened, is_closed;

end:	do
	:: atomic { !lock && nempty(cq0) -> cq0?n, new, old, ok;
		bound(n, new, old, ok);
		n = 0; new = 0; old = 0; ok = 0; is_opened = 0; is_closed = 0 }
#if EPS > 1
	:: atomic { !lock && nempty(cq1) -> cq1?n, new, old, ok;
		bound(n, new, old, ok);
		n = 0; new = 0; old = 0; ok = 0; is_opened = 0; is_closed = 0 }
#endif
	od
}

inline revoke_one(i)
{
	if
	:: dead_key[i] == context && state[i] == VALID ->
		window_clear(i);
		state[i] = IDLE;
		if
		:: current == i -> current = NONE
		:: else
		fi
	:: dead_key[i] == context && state[i] == POSTED ->
		revoked[i] = 1;
		if
		:: current == i -> current = NONE
		:: else
		fi
	:: else
	fi
}

/* A peer invalidates a context; then dat_rmr_revoke() */
proctype revoke()
{
	byte m, context;

end:	if
	:: atomic { REVOKES && valid[0] -> m = 0 }
	:: atomic { REVOKES && valid[1] -> m = 1 }
	fi;
	atomic {
		if
		:: valid[m] -> context = VALID_CONTEXT(m); valid[m] = 0
		:: else -> goto none
		fi
	}
	atomic { !lock; revoke_one(0); revoke_one(1) };
none:	skip
}

/* frmr_repair() of one MR */
inline repair_one(i)
{
	if
	:: atomic { state[i] != BROKEN ->
			/* frmr_renew_spare() */
			!lock;
			m = old_mr[i];
			old_mr[i] = NO_MR;
			wanted = used[i] >= SPARE_AT && spare[i] == NO_MR
		}
		atomic {
			dereg_mr(m);
			if
			:: wanted -> alloc_mr(m)
			:: else
			fi
		}
		atomic {
			if
			:: wanted -> !lock; spare[i] = m
			:: else
			fi;
			m = 0;
			wanted = 0
		}
	:: else ->
		/* frmr_free() */
		atomic { dereg_mr(mr[i]); dereg_mr(spare[i]); dereg_mr(old_mr[i]); used[i] = 0 };
		atomic {
			/* window_release() */
			if
			:: lmr[i] -> broken[lmr[i]]--
			:: else
			fi;
			window_clear(i)
		}
		atomic {
			!lock;
			alloc_mr(m);
			if
			:: m != NO_MR ->
				mr[i] = m;
				key[i] = 0;
				dead_key[i] = CONTEXT(m, 0);
				state[i] = IDLE
			:: else
			fi;
			m = 0
		}
	fi
}

proctype repair()
{
	byte m;
	bit wanted;

end:	do
	:: atomic { repair_queued -> repair_queued = 0 };
		repair_one(0);
		repair_one(1)
	:: atomic { timeout -> break }
	od;
	/* Nothing can happen any more. */
	assert(consumer_ended && pending == 0);
	assert(broken[1] == 0 && broken[2] == 0);
	assert((current == 0 || !lmr[0]) && (current == 1 || !lmr[1]));
	for (m : 0 .. MRS - 1) {
		assert(!valid[m] || (current != NONE && mr[current % 2] == m))
	}
}

init {
	atomic {
		mr[0] = 0;
		mr[1] = 1;
		exists[0] = 1;
		exists[1] = 1;
		allocated = 2;
		dead_key[0] = CONTEXT(0, 0);
		dead_key[1] = CONTEXT(1, 0);
		run peer();
		run consumer();
		run device0();
#if EPS > 1
		run device1();
#endif
		run failure();
		run completions();
		run revoke();
		run repair()
	}
}
