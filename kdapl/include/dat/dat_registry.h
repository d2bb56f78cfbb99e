/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dat_registry.h - registration of providers and loading of their modules
 *
 * A provider registers each IA with a name. dat_ia_open() finds the IA by that name.
 */
#ifndef _DAT_REGISTRY_H_
#define _DAT_REGISTRY_H_

#include <linux/export.h>
#include <linux/module.h>

#include <dat/kdat.h>
#include <dat/kdat_redirection.h>

/* The calling module cannot be unloaded while one of its IAs is open. */
#define dat_registry_add_provider(provider, provider_info) \
	dat_registry_add_module(THIS_MODULE, (provider), (provider_info))

DAT_RETURN dat_registry_add_module(struct module *owner,
				   const DAT_PROVIDER *provider,
				   const DAT_PROVIDER_INFO *provider_info);
DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *info);

/*
 * A provider module with this alias is loaded when its IA is first opened. Its
 * dat_provider_init() is called at load.
 */
#define MODULE_ALIAS_DAT_IA(ia_name)	MODULE_ALIAS("dat-ia-" ia_name)

#define DAT_PROVIDER_INIT_FUNC_NAME	dat_provider_init
#define DAT_PROVIDER_FINI_FUNC_NAME	dat_provider_fini
#define DAT_PROVIDER_INIT_FUNC_STR	"dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_STR	"dat_provider_fini"

typedef void (*DAT_PROVIDER_INIT_FUNC)(const DAT_PROVIDER_INFO *provider_info,
				       const char *instance_data);
typedef void (*DAT_PROVIDER_FINI_FUNC)(const DAT_PROVIDER_INFO *provider_info);

/* Provider functions of kdapl.ko, for the IAs of RDMA devices. */
void dat_provider_init(const DAT_PROVIDER_INFO *provider_info,
		       const char *instance_data);
void dat_provider_fini(const DAT_PROVIDER_INFO *provider_info);

#endif /* _DAT_REGISTRY_H_ */
