/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * fail_nth_engine.h - makes the calls of a session fail at every allocation
 */
#ifndef SELFTESTS_FAIL_NTH_ENGINE_H
#define SELFTESTS_FAIL_NTH_ENGINE_H

#include <dat/kdat.h>

/* State that a call may leave behind. */
enum leaves {
	NOTHING,	/* it can always be repeated */
	OBJECT,		/* it has created or freed an object; there is an undo */
	DONE,		/* the session has to begin again */
};

/* Drivers that do not survive some faults. */
#define SIW	1
/* rxe before Linux 6.12 stops timers that a QP without memory has not set up. */
#define OLD_RXE	2

/**
 * struct step - a call of a session
 * @name: name of the call
 * @fn: executes the call
 * @leaves: what the call may leave behind when it has succeeded
 * @undo: reverses an OBJECT
 * @outcome: checks the final result of a call that succeeded; may be NULL
 * @may_too: another error that the call may return without memory
 * @quiet: no faults in this step
 * @spared: drivers that do not survive faults in this step
 * @loops: the call allocates the same thing many times
 * @slow: with lasting faults the peer gets a result only after seconds
 * @begins: later steps with DONE restart the session at this step
 * @may_have_none: the call need not allocate
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

/* Only calls that create an object are sure to allocate. */
#define MAKE(fn)	{ #fn, fn, OBJECT, undo_##fn, NULL }
/* siw_alloc_mr() leaks the page list if it gets no key. */
#define MAKE_MR(fn)	{ #fn, fn, OBJECT, undo_##fn, .spared = SIW }
#define MAKE_QP(fn)	{ #fn, fn, OBJECT, undo_##fn, .spared = OLD_RXE }
#define FREE(fn)	{ #fn, fn, OBJECT, undo_##fn, .may_have_none = true }
#define LOOK(fn)	{ #fn, fn, NOTHING, .may_have_none = true }
#define DO(fn, outcome)	{ #fn, fn, DONE, NULL, outcome }
#define POST(fn)	{ #fn, fn, DONE, .may_have_none = true }
#define QUIET(fn)	{ #fn, fn, .quiet = true }
#define BEGIN(fn)	{ #fn, fn, .quiet = true, .begins = true }

/* For calls that must succeed in every test. */
#define MUST(call)	expect_success(call, #call)

void expect_success(DAT_RETURN ret, const char *what);
void must_be(bool ok, const char *what);
unsigned int driver_under_test(void);
bool is_there(DAT_HANDLE handle);

bool fail_nth_begin(void);
void fail_nth_end(void);
bool fail_nth_session(const struct step *session, unsigned int num,
		      unsigned int least);
unsigned int fail_nth_total(void);

#endif /* SELFTESTS_FAIL_NTH_ENGINE_H */
