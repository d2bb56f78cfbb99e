// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * library.c - the provider of mock.h as a library, which dat.conf(5) can name
 *
 * What it is told goes to the file that MOCK_LOG names, line by line.
 */
#include <stdio.h>
#include <stdlib.h>

#include "mock.h"

static void tell(const char *what, const char *name, const char *params)
{
	FILE *log = fopen(getenv("MOCK_LOG"), "ae");

	if (log) {
		fprintf(log, "%s %s %s\n", what, name, params);
		fclose(log);
	}
}

void dat_provider_init(const DAT_PROVIDER_INFO *provider_info,
		       const char *instance_data)
{
	tell("init", provider_info->ia_name, instance_data);
	if (dat_registry_add_provider(&mock_provider, provider_info))
		tell("cannot add", provider_info->ia_name, "-");
}

void dat_provider_fini(const DAT_PROVIDER_INFO *provider_info)
{
	tell("fini", provider_info->ia_name, "-");
	if (dat_registry_remove_provider(&mock_provider, provider_info))
		tell("cannot remove", provider_info->ia_name, "-");
}
