/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * fail_nth_engine.h - lets the calls of a session fail at every point
 */
#ifndef SELFTESTS_FAIL_NTH_ENGINE_H
#define SELFTESTS_FAIL_NTH_ENGINE_H

#include <dat/kdat.h>

/* What may be left of a call that was hit. */
enum leaves {
	NOTHING,	/* it can be done again in any case */
	OBJECT,		/* it was made, or freed; there is an undo */
	DONE,		/* only another beginning helps */
};

/* Drivers with faults of their own. */
#define SIW	1
/* Before 6.12 it stops timers that a QP without memory has not got yet. */
#define OLD_RXE	2

/**
 * struct step - a call
 * @name: what is called
 * @fn: calls it
 * @leaves: what may be left of it when it has succeeded
 * @undo: takes back an OBJECT
 * @outcome: what has to come in the end of a call that succeeded; may be NULL
 * @may_too: error that it may return for want of memory, too
 * @quiet: without faults
 * @spared: drivers that do not survive faults in it
 * @loops: allocates the same thing many times
 * @slow: the peer would be told of a lasting fault after seconds only
 * @begins: whatever a step behind it leaves is undone by beginning here again
 * @may_have_none: need not allocate anything
 */
struct step {
	const char *name;
	DAT_RETURN (*fn)(void);
	enum leaves leaves;
	void (*undo)(void);
	bool (*outcome)(void);
	DAT_RETURN may_too;
	bool quiet;
	unsigned int spared;
	bool loops;
	bool slow;
	bool begins;
	bool may_have_none;
};

/* Only what makes a thing is sure to allocate. */
#define MAKE(fn)	{ #fn, fn, OBJECT, undo_##fn, NULL }
/* siw_alloc_mr() loses the list of pages if there is no key to be had. */
#define MAKE_MR(fn)	{ #fn, fn, OBJECT, undo_##fn, .spared = SIW }
#define MAKE_QP(fn)	{ #fn, fn, OBJECT, undo_##fn, .spared = OLD_RXE }
#define FREE(fn)	{ #fn, fn, OBJECT, undo_##fn, .may_have_none = true }
#define LOOK(fn)	{ #fn, fn, NOTHING, .may_have_none = true }
#define DO(fn, outcome)	{ #fn, fn, DONE, NULL, outcome }
#define POST(fn)	{ #fn, fn, DONE, .may_have_none = true }
#define QUIET(fn)	{ #fn, fn, .quiet = true }
#define BEGIN(fn)	{ #fn, fn, .quiet = true, .begins = true }

/* What must not fail, whatever is under test. */
#define MUST(call)	must(call, #call)

void must(DAT_RETURN ret, const char *what);
void must_be(bool ok, const char *what);
unsigned int driver_under_test(void);
bool is_there(DAT_HANDLE handle);

bool fail_nth_begin(void);
void fail_nth_end(void);
bool fail_nth_session(const struct step *session, unsigned int num,
		      unsigned int least);
unsigned int fail_nth_total(void);

#endif /* SELFTESTS_FAIL_NTH_ENGINE_H */
