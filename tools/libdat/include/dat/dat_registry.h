/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dat_registry.h - registration of an external provider
 *
 * A provider includes this header. A program that only uses IAs includes only
 * <dat/udat.h>.
 */
#ifndef _DAT_REGISTRY_H_
#define _DAT_REGISTRY_H_

#include <dat/udat.h>
#include <dat/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

DAT_RETURN dat_registry_add_provider(IN const DAT_PROVIDER *provider,
				     IN const DAT_PROVIDER_INFO *provider_info);
DAT_RETURN dat_registry_remove_provider(IN const DAT_PROVIDER *provider,
					IN const DAT_PROVIDER_INFO *provider_info);

/* The functions that the library of a provider exports, for dat.conf(5) */

#define DAT_PROVIDER_INIT_FUNC_NAME	dat_provider_init
#define DAT_PROVIDER_FINI_FUNC_NAME	dat_provider_fini
#define DAT_PROVIDER_INIT_FUNC_STR	"dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_STR	"dat_provider_fini"

typedef void (*DAT_PROVIDER_INIT_FUNC)(IN const DAT_PROVIDER_INFO *,
				       IN const char *);
typedef void (*DAT_PROVIDER_FINI_FUNC)(IN const DAT_PROVIDER_INFO *);

void dat_provider_init(IN const DAT_PROVIDER_INFO *provider_info,
		       IN const char *instance_data);
void dat_provider_fini(IN const DAT_PROVIDER_INFO *provider_info);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_REGISTRY_H_ */
