// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * exit_order.c - the objects of a file are released in any order of creation
 *
 * With KDAPL_THOROUGH=1 the tests try more orders.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "ioctls.h"
#include "objects.h"
#include "process.h"

/* Against hanging, not against slowness: sanitizers on a loaded machine. */
#define LIMIT		600

/* What has to be there before. */
static const unsigned int needs[NUM_OBJECTS] = {
	[PSP] = 1 << EVD,
	[EP] = 1 << PZ | 1 << EVD,
	[LMR] = 1 << PZ,
	[RMR] = 1 << PZ,
};

#define MAX_ORDERS	720

static unsigned char order[MAX_ORDERS][NUM_OBJECTS];
static unsigned int num_orders;

/* Extends a beginning of @len objects, @made, in every way. */
static void enumerate(unsigned char *begun, unsigned int len, unsigned int made)
{
	unsigned int i;

	if (len == NUM_OBJECTS) {
		memcpy(order[num_orders++], begun, NUM_OBJECTS);
		return;
	}
	for (i = 0; i < NUM_OBJECTS; i++) {
		if (made & 1 << i || needs[i] & ~made)
			continue;
		begun[len] = i;
		enumerate(begun, len + 1, made | 1 << i);
	}
}

static const char object_name[NUM_OBJECTS][4] = {
	"PZ", "EVD", "PSP", "EP", "LMR", "RMR",
};

/* An order in words, in a buffer that the next call overwrites. */
static const char *words(const unsigned char *objects)
{
	static char buf[NUM_OBJECTS * 5];
	int i, len = 0;

	for (i = 0; i < NUM_OBJECTS; i++)
		len += sprintf(buf + len, "%s ", object_name[objects[i]]);
	return buf;
}

FIXTURE(open_objects)
{
	struct objects objects;
	char stock[512];
};

FIXTURE_SETUP(open_objects)
{
	unsigned char begun[NUM_OBJECTS];

	enumerate(begun, 0, 0);
	stock_take(self->stock, sizeof(self->stock));
	self->objects.buf = mmap(NULL, OBJECTS_REGION, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->objects.buf);
}

FIXTURE_TEARDOWN(open_objects)
{
	EXPECT_TRUE(stock_returns_to(self->stock));
}

TEST_F_TIMEOUT(open_objects, file_close_any_create_order, LIMIT)
{
	long long pinned = pinned_pages();
	struct objects *r = &self->objects;
	int stride = rounds(5, 1), n;

	for (n = 0; n < num_orders; n += stride) {
		ASSERT_EQ(0, objects_make_all(r, order[n], n / stride % 4 == 0))
		{
			TH_LOG("%s", words(order[n]));
		}
		ASSERT_EQ(pinned + OBJECTS_REGION / PAGE, pinned_pages());
		ASSERT_EQ(0, close(r->fd));
		ASSERT_EQ(pinned, pinned_pages()) {
			TH_LOG("%s", words(order[n]));
		}
	}
	TH_LOG("every %d. of %u orders", stride, num_orders);
}

TEST_F_TIMEOUT(open_objects, process_exit_any_create_order, LIMIT)
{
	long long pinned = pinned_pages();
	struct objects *r = &self->objects;
	int stride = rounds(7, 3), n, status;
	pid_t pid;

	for (n = 0; n < num_orders; n += stride) {
		pid = fork_child();
		if (!pid)
			_exit(objects_make_all(r, order[n],
					       n / stride % 4 == 1) ||
			      pinned_pages() != pinned + OBJECTS_REGION / PAGE);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
		ASSERT_EQ(pinned, pinned_pages()) {
			TH_LOG("%s", words(order[n]));
		}
	}
	TH_LOG("every %d. of %u orders", stride, num_orders);
}

TEST_F_TIMEOUT(open_objects, ia_close_any_create_order, LIMIT)
{
	long long pinned = pinned_pages();
	struct objects *r = &self->objects;
	int stride = rounds(7, 3), n;

	for (n = 0; n < num_orders; n += stride) {
		ASSERT_EQ(0, objects_make_all(r, order[n], n / stride % 4 == 2))
		{
			TH_LOG("%s", words(order[n]));
		}
		ASSERT_EQ(0, dev_ia_close(r->fd, r->ia, DAT_CLOSE_ABRUPT_FLAG));
		ASSERT_EQ(pinned, pinned_pages()) {
			TH_LOG("%s", words(order[n]));
		}
		/* The file goes on. */
		ASSERT_EQ(0, objects_open_ia(r));
		ASSERT_EQ(0, objects_make(r, PZ));
		ASSERT_EQ(0, objects_lmr(r));
		ASSERT_EQ(0, close(r->fd));
		ASSERT_EQ(pinned, pinned_pages());
	}
	TH_LOG("every %d. of %u orders", stride, num_orders);
}

TEST_HARNESS_MAIN
