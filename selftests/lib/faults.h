/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * faults.h - calls that are made to fail at every point, for tests
 *
 * A session is a table of steps. Each step is made to fail at the first
 * allocation or copy of the kernel's, at the second, and so on, until it runs
 * through; with KDAPL_LONG also at two points of one run. An error must be
 * one that the call's page allows, and must leave things as they were: the same
 * step, tried again, works. If the step succeeds in spite of a fault, it is undone
 * before the next point is tried.
 */
#ifndef SELFTESTS_FAULTS_H
#define SELFTESTS_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <dat/udat.h>
#include <linux/dat.h>

#include "ioctls.h"
#include "pair.h"

/* What a step that makes a system call of its own returns: type of its errno. */
#define SYS(err)	((DAT_RETURN)(err))

/* What may be left of a call that was hit. */
enum leaves {
	NOTHING,	/* it can be done again in any case */
	EVENT,		/* the same, unless it succeeded: then an event is gone */
	OBJECT,		/* an object was made, or freed; there is an undo */
	DONE,		/* only another beginning helps */
};

/* Drivers with faults of their own. */
enum {
	SIW = 1,
	/* Before 6.12 it stops timers that a QP without memory has not got yet. */
	OLD_RXE = 2,
};

/**
 * struct step - a call
 * @name: what is called
 * @fn: calls it
 * @leaves: what may be left of it
 * @undo: takes back an OBJECT, whether the step did its work or not
 * @outcome: what has to come in the end of a call that succeeded; may be NULL
 * @may: type of the error that it may return, but for a failed copy; or 0
 * @may_too: another, or 0
 * @quiet: without faults
 * @spared: drivers that do not survive faults in it
 * @loops: allocates the same thing many times
 * @few: is no ioctl, whose structure is copied in and out
 * @lone: no pairs of faults: the second loses the message to the peer that reports the first,
 *	so the peer waits until its own time is over
 * @begins: whatever a step behind it leaves is undone by beginning here again
 */
struct step {
	const char *name;
	DAT_RETURN (*fn)(void);
	enum leaves leaves;
	void (*undo)(void);
	bool (*outcome)(void);
	DAT_RETURN may;
	DAT_RETURN may_too;
	bool quiet;
	unsigned int spared;
	bool loops;
	bool few;
	bool lone;
	bool begins;
};

#define MEMORY		DAT_INSUFFICIENT_RESOURCES

#define MAKE(fn)	{ #fn, fn, OBJECT, undo_##fn, NULL, MEMORY }
/* siw_alloc_mr() loses the list of pages if there is no key to be had. */
#define MAKE_MR(fn)	{ #fn, fn, OBJECT, undo_##fn, NULL, MEMORY, \
			  .spared = SIW }
#define MAKE_QP(fn)	{ #fn, fn, OBJECT, undo_##fn, NULL, MEMORY, \
			  .spared = OLD_RXE }
#define LOOK(fn)	{ #fn, fn, NOTHING, NULL, NULL, MEMORY }
#define WAIT(fn)	{ #fn, fn, EVENT, NULL, NULL, MEMORY }
#define DO(fn, outcome)	{ #fn, fn, DONE, NULL, outcome, MEMORY }
#define QUIET(fn)	{ #fn, fn, .quiet = true }
#define BEGIN(fn)	{ #fn, fn, .quiet = true, .begins = true }

/* Set by whatever must not fail but did; the test ends there. */
extern bool faults_broken;

#define MUST(call)							\
	do {								\
		DAT_RETURN __ret = (call);				\
									\
		if (__ret != DAT_SUCCESS && !faults_broken) {		\
			printf("# %s:%d: %s: %s\n", __func__, __LINE__,	\
			       #call, dat_str(__ret));			\
			faults_broken = true;				\
		}							\
	} while (0)

/* As a type: what DAT 1.2 does not have. */
#define FAULTS_CSP	((DAT_HANDLE_TYPE)0x1000)

/**
 * struct owned - an object of a session
 * @handle: where its handle is kept
 * @type: its type
 * @free: the ioctl that frees it
 */
struct owned {
	DAT_HANDLE *handle;
	DAT_HANDLE_TYPE type;
	unsigned long free;
};

/**
 * struct owner - the objects of a session
 * @ia: where the handle of their IA is kept
 * @objects: in the order in which they can be freed
 * @num: how many
 * @top: handles up to this one are accounted for
 */
struct owner {
	const DAT_IA_HANDLE *ia;
	const struct owned *objects;
	size_t num;
	__u32 top;
};

bool is_there(DAT_HANDLE handle);
bool has_type(__u32 handle, DAT_HANDLE_TYPE type);
void sweep_orphans(struct owner *owner);

const char *faults_on(void);
void faults_off(void);
bool is_quick(void);
bool do_table(const struct step *table, size_t num, unsigned int least);

bool verbs_can_fail(void);
unsigned int do_anywhere(DAT_RETURN (*session)(void), void (*clean)(void), unsigned int step);

/* In seconds: sanitizers on an emulated machine are slow. */
#define FAIL_NTH_TIMEOUT	900

/* The fixture of the tests below. */
#define FAIL_NTH_FIXTURE(_name)						\
	FIXTURE(_name)							\
	{								\
		const char *lack;					\
	};								\
									\
	FIXTURE_SETUP(_name)						\
	{								\
		self->lack = faults_on();				\
		if (self->lack)						\
			SKIP(return, "no %s", self->lack);		\
	}								\
									\
	FIXTURE_TEARDOWN(_name)						\
	{								\
		faults_off();						\
	}

/*
 * A test that goes through the session @_table. It must meet at least @_least points
 * of failure, or @_least_quick if is_quick().
 */
#define TEST_SESSION(_fixture, _name, _table, _least_quick, _least)	\
	TEST_F_TIMEOUT(_fixture, _name, FAIL_NTH_TIMEOUT)		\
	{								\
		EXPECT_TRUE(do_table(_table, ARRAY_LEN(_table),		\
				     is_quick() ? (_least_quick) : (_least))); \
	}

#endif /* SELFTESTS_FAULTS_H */
