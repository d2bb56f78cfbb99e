// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * link.c - the software device under test, as rdma(8) makes and removes it
 *
 * Its name is that of its driver and a digit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "pair.h"

static int driver_length(void)
{
	return strcspn(ia_name(), "0123456789");
}

/**
 * link_is_iwarp - is the device under test siw?
 *
 * iWARP acknowledges nothing: a write succeeds when it has been sent, and a
 * peer's refusal ends the connection. It has no message for a disconnect.
 */
bool link_is_iwarp(void)
{
	return !strncmp(ia_name(), "siw", 3);
}

/**
 * link_checks_reads - does the device ask whether a peer may read?
 *
 * siw sends whatever is registered, be it for peers to read or not.
 */
bool link_checks_reads(void)
{
	return !link_is_iwarp();
}

/**
 * link_ends_reads - does a read that is being answered end with its memory?
 *
 * siw looks once, when it begins to answer.
 */
bool link_ends_reads(void)
{
	return !link_is_iwarp();
}

/**
 * link_carries_data - do small requests carry their data?
 *
 * They do on rxe, unless it is the model of a driver that has no inline data.
 */
bool link_carries_data(void)
{
	static const char * const able[] = { "(null)", "mlx5", "cxgb4", "bnxt_re", "erdma" };
	char model[32] = "(null)";
	unsigned int i;
	FILE *f;

	if (link_is_iwarp())
		return false;
	f = fopen("/sys/module/kdapl/parameters/model", "r");
	if (f) {
		if (fscanf(f, "%31s", model) != 1)
			model[0] = '\0';
		fclose(f);
	}
	for (i = 0; i < ARRAY_LEN(able); i++)
		if (!strcmp(model, able[i]))
			return true;
	return false;
}

/**
 * link_is_there - does the device exist?
 */
bool link_is_there(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rdma link show %s/1 >/dev/null 2>&1",
		 ia_name());
	return !system(cmd);
}

/**
 * link_add - make the device
 *
 * Return: 0 if it worked.
 */
int link_add(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rdma link add %s type %.*s netdev eth0",
		 ia_name(), driver_length(), ia_name());
	return system(cmd);
}

/**
 * link_delete - take the device away, whatever uses it
 *
 * Return: 0 if it worked.
 */
int link_delete(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rdma link delete %s", ia_name());
	return system(cmd);
}
