/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * tiny_provider.h - a provider that only counts calls, for the registry tests
 */
#ifndef SELFTESTS_TINY_PROVIDER_H
#define SELFTESTS_TINY_PROVIDER_H

#include <dat/dat_registry.h>

#include "base/error.h"

/**
 * struct tiny - state of the provider
 * @calls: number of calls of any kind
 * @bad: number of calls with a handle that is freed or has the wrong type
 * @live: number of objects that have not been freed
 * @busy: calls that free an object fail
 * @closes: dat_pz_create() closes the IA before it returns, as another thread may
 * @next: next event to dequeue or to pass to the upcall
 * @upcall: upcall of the last EVD created with one
 */
struct tiny {
	unsigned int calls;
	unsigned int bad;
	unsigned int live;
	bool busy;
	bool closes;
	DAT_EVENT next;
	DAT_UPCALL_OBJECT upcall;
};

extern struct tiny tiny;
extern const DAT_PROVIDER tiny_provider;

/* Queues a connection request, as the device would, and returns it. */
DAT_CR_HANDLE tiny_request(void);

#endif /* SELFTESTS_TINY_PROVIDER_H */
