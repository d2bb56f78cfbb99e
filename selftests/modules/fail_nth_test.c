// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fail_nth_test.c - injects a fault into every allocation of every kDAPL call
 *
 * Each session is a table of steps, from open to close. Each exported call must be in a
 * session; tools/check/failpoints.sh checks it. Loading the module runs all sessions.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>

#include "fail_nth_pair.h"
#include "report.h"

#define TEST(name)	{ #name, name }

static const struct ktest tests[] = {
	TEST(basic_calls_survive),
	TEST(memory_calls_survive),
	TEST(queue_calls_survive),
	TEST(connection_calls_survive),
	TEST(registry_calls_survive),
};

static int the_higher_first(const void *one, const void *other)
{
	struct page *const *a_page = one, *const *b_page = other;

	return *a_page > *b_page ? -1 : 1;
}

/* Allocates REGION bytes whose pages are not contiguous, for vfree(). */
static u8 *scattered(void)
{
	unsigned int i, num = REGION / PAGE_SIZE;
	struct page **pages = kvcalloc(num, sizeof(*pages), GFP_KERNEL);
	void *memory;

	if (!pages)
		return NULL;
	for (i = 0; i < num; i++) {
		pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!pages[i])
			goto free;
	}
	sort(pages, num, sizeof(*pages), the_higher_first, NULL);
	memory = vmap(pages, num, VM_MAP | VM_MAP_PUT_PAGES, PAGE_KERNEL);
	if (memory)
		return memory;
free:
	while (i--)
		__free_page(pages[i]);
	kvfree(pages);
	return NULL;
}

static void run(void)
{
	if (!fail_nth_begin()) {
		report("TAP version 13\n1..0 # SKIP no failslab in debugfs\n");
		return;
	}
	a.len = REGION;
	b.len = REGION;
	a.buf = scattered();
	b.buf = scattered();
	if (a.buf && b.buf)
		report_run("kdapl_fail_nth_test", tests, ARRAY_SIZE(tests));
	else
		report("not ok 1 kdapl_fail_nth_test.setup\n");
	if (!account_is_settled())
		report("not ok 1 kdapl_fail_nth_test.account_is_settled\n");
	report("# %u points in all\n", fail_nth_total());
	fail_nth_end();
	vfree(a.buf);
	vfree(b.buf);
}

static int __init fail_nth_test_init(void)
{
	int ret = report_open("kdapl_fail_nth_test");

	if (ret)
		return ret;
	run();
	return 0;
}

static void __exit fail_nth_test_exit(void)
{
	report_close();
}

module_init(fail_nth_test_init);
module_exit(fail_nth_test_exit);
MODULE_DESCRIPTION("Tests every point at which a call of kDAPL can fail");
MODULE_LICENSE("Dual BSD/GPL");
