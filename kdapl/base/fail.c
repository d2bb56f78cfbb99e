// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fail.c - decides which call to ib_core or rdma_cm fails, see fail.h
 */
#include <linux/fault-inject.h>

/* Off until a test sets the attribute. */
static DECLARE_FAULT_ATTR(fail_verbs);

/**
 * dat_fail_verbs - decide whether a call must fail
 *
 * Context: any.
 *
 * Return: true if the call must return an error.
 */
bool dat_fail_verbs(void)
{
	return should_fail(&fail_verbs, 1);
}

/**
 * dat_fail_init - create fail_verbs in debugfs
 * @dir: the directory of kdapl, which removes it
 *
 * Context: process, may sleep.
 */
void dat_fail_init(struct dentry *dir)
{
	/* No stack for each of hundreds of errors */
	fail_verbs.verbose = 0;
	fault_create_debugfs_attr("fail_verbs", dir, &fail_verbs);
}
