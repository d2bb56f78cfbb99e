/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * mock.h - a provider that writes down how its functions are called
 */
#ifndef SELFTESTS_MOCK_H
#define SELFTESTS_MOCK_H

#include <stdbool.h>
#include <linux/types.h>

#include <dat/dat_registry.h>

#define MOCK_MAX_ARGS	11

/**
 * struct mock_call - a call of one of the provider's functions
 * @func: its name
 * @num: how many arguments it has got
 * @args: what they were, as mock_value() has it
 */
struct mock_call {
	const char *func;
	int num;
	__u64 args[MOCK_MAX_ARGS];
};

/**
 * struct mock - what the provider is to do, and what has come to it
 * @ret: what the functions return
 * @calls: how many there were
 * @last: the last one
 * @event: what is taken next from any EVD
 * @ep: what a connection request or an RSP says its EP is
 */
struct mock {
	DAT_RETURN ret;
	unsigned int calls;
	struct mock_call last;
	DAT_EVENT event;
	DAT_EP_HANDLE ep;
};

extern struct mock mock;
extern const DAT_PROVIDER mock_provider;

DAT_HANDLE mock_make(void);
__u64 mock_value(const void *value, size_t size);

/* Arguments of any types as an array of numbers that tell them apart */
#define MOCK_VALUE(x)	mock_value((__typeof__(x)[]){ x }, sizeof(x))
#define MOCK_1(x)	MOCK_VALUE(x)
#define MOCK_2(x, ...)	MOCK_VALUE(x), MOCK_1(__VA_ARGS__)
#define MOCK_3(x, ...)	MOCK_VALUE(x), MOCK_2(__VA_ARGS__)
#define MOCK_4(x, ...)	MOCK_VALUE(x), MOCK_3(__VA_ARGS__)
#define MOCK_5(x, ...)	MOCK_VALUE(x), MOCK_4(__VA_ARGS__)
#define MOCK_6(x, ...)	MOCK_VALUE(x), MOCK_5(__VA_ARGS__)
#define MOCK_7(x, ...)	MOCK_VALUE(x), MOCK_6(__VA_ARGS__)
#define MOCK_8(x, ...)	MOCK_VALUE(x), MOCK_7(__VA_ARGS__)
#define MOCK_9(x, ...)	MOCK_VALUE(x), MOCK_8(__VA_ARGS__)
#define MOCK_10(x, ...)	MOCK_VALUE(x), MOCK_9(__VA_ARGS__)
#define MOCK_11(x, ...)	MOCK_VALUE(x), MOCK_10(__VA_ARGS__)
#define MOCK_PICK(a, b, c, d, e, f, g, h, i, j, k, num, ...) MOCK_ ## num
#define MOCK_VALUES(...) \
	MOCK_PICK(__VA_ARGS__, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)(__VA_ARGS__)

/* A call as it should have come */
#define MOCK_CALL(name, ...) \
	mock_call(name, (__u64[]){ MOCK_VALUES(__VA_ARGS__) }, \
		  sizeof((__u64[]){ MOCK_VALUES(__VA_ARGS__) }) / \
		  sizeof(__u64))

struct mock_call mock_call(const char *func, const __u64 *args, size_t num);
bool mock_saw(struct mock_call expected);

#endif /* SELFTESTS_MOCK_H */
