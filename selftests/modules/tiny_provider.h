/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * tiny_provider.h - a provider that does nothing but keep count
 */
#ifndef SELFTESTS_TINY_PROVIDER_H
#define SELFTESTS_TINY_PROVIDER_H

#include <dat/dat_registry.h>

/**
 * struct tiny - what has come to the provider
 * @calls: calls of any kind
 * @bad: calls with a handle that is dead or of the wrong type
 * @live: objects that have not been freed
 * @busy: free calls fail
 * @next: the event to dequeue next, or to call the upcall with
 * @upcall: of the last EVD that was made with one
 */
struct tiny {
	unsigned int calls;
	unsigned int bad;
	unsigned int live;
	bool busy;
	DAT_EVENT next;
	DAT_UPCALL_OBJECT upcall;
};

extern struct tiny tiny;
extern const DAT_PROVIDER tiny_provider;

/* A connection request, as the device would bring it. */
DAT_CR_HANDLE tiny_request(void);

#endif /* SELFTESTS_TINY_PROVIDER_H */
