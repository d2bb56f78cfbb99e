/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * harness.h - kselftest_harness.h, checks of a DAT_RETURN and the usual fixtures
 *
 * Every test program includes this header. The checks print the failed call and
 * what dat_strerror() says about the value that it returned.
 */
#ifndef DAT_SELFTESTS_HARNESS_H
#define DAT_SELFTESTS_HARNESS_H

#include <kselftest_harness.h>

#include "pair.h"

/*
 * In seconds, to end a test that hangs. removal takes 50 s under KASAN on an idle machine, and
 * three times as long beside two builds.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	600

/* @call returns @expected; @part of both is compared. */
#define CHECK_DAT(_check, _part, _expected, _call)			\
	do {								\
		DAT_RETURN __ret = (_call);				\
									\
		_check(_part((DAT_RETURN)(_expected)), _part(__ret))	\
			TH_LOG("%s: %s", #_call, dat_str(__ret));	\
	} while (0)

/* The call succeeds. */
#define ASSERT_DAT(_call)	CHECK_DAT(ASSERT_EQ, , DAT_SUCCESS, _call)
#define EXPECT_DAT(_call)	CHECK_DAT(EXPECT_EQ, , DAT_SUCCESS, _call)

/* The call returns an error of this type, with any subtype. */
#define ASSERT_DAT_TYPE(_type, _call) \
	CHECK_DAT(ASSERT_EQ, DAT_GET_TYPE, _type, _call)
#define EXPECT_DAT_TYPE(_type, _call) \
	CHECK_DAT(EXPECT_EQ, DAT_GET_TYPE, _type, _call)

/* The call returns exactly this value. */
#define ASSERT_DAT_RET(_ret, _call)	CHECK_DAT(ASSERT_EQ, , _ret, _call)
#define EXPECT_DAT_RET(_ret, _call)	CHECK_DAT(EXPECT_EQ, , _ret, _call)

/*
 * A fixture of two EPs, self->pair, with @_len bytes of registered memory on each
 * side, self->a and self->b. @_open is pair_open() or pair_open_connected().
 */
#define PAIR_FIXTURE(_name, _open, _len)				\
	FIXTURE(_name)							\
	{								\
		struct pair pair;					\
		struct region a, b;					\
	};								\
									\
	FIXTURE_SETUP(_name)						\
	{								\
		ASSERT_DAT(_open(&self->pair));				\
		ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, \
					_len, DAT_MEM_PRIV_ALL_FLAG));	\
	}								\
									\
	FIXTURE_TEARDOWN(_name)						\
	{								\
		pair_close(&self->pair);				\
	}

#endif
