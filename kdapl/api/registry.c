// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * registry.c - lists, opens and closes IAs of RDMA devices and of external providers
 *
 * Owns the list of external providers, under registry_lock. Consumers and the modules of
 * providers call these functions in process context.
 */
#include <linux/capability.h>
#include <linux/kernel.h>
#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "api/ext.h"
#include "base/calls.h"
#include "dev/device.h"

static LIST_HEAD(registrations);
static DEFINE_MUTEX(registry_lock);

static void registration_release(struct kref *ref)
{
	kfree(container_of(ref, struct dat_registration, ref));
}

/**
 * dat_registration_put - put a reference
 * @reg: the registration
 *
 * Context: any.
 */
void dat_registration_put(struct dat_registration *reg)
{
	kref_put(&reg->ref, registration_release);
}

static struct dat_registration *find(const char *ia_name)
{
	struct dat_registration *reg;

	lockdep_assert_held(&registry_lock);
	list_for_each_entry(reg, &registrations, node)
		if (!strcmp(reg->info.ia_name, ia_name))
			return reg;
	return NULL;
}

static bool is_name(const char *ia_name)
{
	return *ia_name && strnlen(ia_name, DAT_NAME_MAX_LENGTH) <
			   DAT_NAME_MAX_LENGTH;
}

/* @list may be shorter than the number of IAs, and may contain NULL pointers. */
static DAT_COUNT list_all(DAT_PROVIDER_INFO *list[], DAT_COUNT max)
{
	struct dat_registration *reg;
	DAT_COUNT num;

	mutex_lock(&registry_lock);
	num = dat_dev_list(current->nsproxy->net_ns, list, max);
	list_for_each_entry(reg, &registrations, node) {
		if (num < max && list[num])
			*list[num] = reg->info;
		num++;
	}
	mutex_unlock(&registry_lock);
	return num;
}

/**
 * dat_registry_list_providers - list the IAs
 * @max_to_return: number of pointers in @dat_provider_list, at least 0
 * @entries_returned: out: number of listed IAs; if the call fails, number of all IAs
 * @dat_provider_list: pointers to the entries to fill in; may be NULL to count the IAs
 *
 * kdapl lists the RDMA devices that the caller's network namespace can see, by port, and
 * the IAs of other providers. Each name can be opened at the listed version or an earlier
 * one. Specification: dat_registry_list_providers().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER (also: there are more IAs).
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return,
				       DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[])
{
	DAT_COUNT i, num;

	might_sleep();
	if (!entries_returned)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	num = list_all(dat_provider_list,
		       dat_provider_list ? max_to_return : 0);
	*entries_returned = num;
	if (num && !dat_provider_list)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (num > max_to_return)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	for (i = 0; i < num; i++)
		if (!dat_provider_list[i])
			return DAT_ERROR(DAT_INVALID_PARAMETER,
					 DAT_INVALID_ARG3);
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_registry_list_providers);

/**
 * dat_registry_add_module - register an IA of another module
 * @owner: the module
 * @provider: its functions; must remain valid while registered
 * @provider_info: name and version of the IA; copied
 *
 * Providers use dat_registry_add_provider(), which passes their module. An RDMA device
 * that later gets the same name takes precedence. Specification:
 * dat_registry_add_provider().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER (also: the provider has no open or no
 * close function), DAT_INSUFFICIENT_RESOURCES, DAT_PROVIDER_ALREADY_REGISTERED.
 */
DAT_RETURN dat_registry_add_module(struct module *owner,
				   const DAT_PROVIDER *provider,
				   const DAT_PROVIDER_INFO *provider_info)
{
	struct dat_registration *reg;
	DAT_RETURN ret = DAT_SUCCESS;

	might_sleep();
	if (!provider || !provider->ia_open_func || !provider->ia_close_func)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!provider_info || !is_name(provider_info->ia_name))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);

	reg = kzalloc(sizeof(*reg), GFP_KERNEL);
	if (!reg)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	kref_init(&reg->ref);
	reg->owner = owner;
	reg->provider = provider;
	reg->info = *provider_info;

	mutex_lock(&registry_lock);
	if (find(reg->info.ia_name) || dat_dev_has_name(reg->info.ia_name))
		ret = DAT_ERROR(DAT_PROVIDER_ALREADY_REGISTERED,
				DAT_NO_SUBTYPE);
	else
		list_add_tail(&reg->node, &registrations);
	mutex_unlock(&registry_lock);
	if (ret)
		dat_registration_put(reg);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_registry_add_module);

/**
 * dat_registry_remove_provider - undo dat_registry_add_provider()
 * @provider: the functions
 * @info: name of the IA
 *
 * The provider must call it before its module is unloaded. An open IA prevents the
 * unload. Specification: dat_registry_remove_provider().
 *
 * Context: process, may sleep.
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER (also: not registered),
 * DAT_PROVIDER_IN_USE (an IA is open).
 */
DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *info)
{
	struct dat_registration *reg;
	DAT_RETURN ret = DAT_SUCCESS;

	might_sleep();
	if (!provider)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!info || !is_name(info->ia_name))
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);

	mutex_lock(&registry_lock);
	reg = find(info->ia_name);
	if (!reg)
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	else if (reg->provider != provider)
		ret = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	else if (reg->opens)
		ret = DAT_ERROR(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE);
	else
		list_del(&reg->node);
	mutex_unlock(&registry_lock);
	if (!ret)
		dat_registration_put(reg);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_registry_remove_provider);

/* Removes the registrations of a module that is unloaded without removing them. */
static int module_event(struct notifier_block *nb, unsigned long event,
			void *module)
{
	struct dat_registration *reg, *next;

	if (event != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	mutex_lock(&registry_lock);
	list_for_each_entry_safe(reg, next, &registrations, node) {
		if (reg->owner != module)
			continue;
		pr_warn("kdapl: the module of IA %s did not remove its provider\n",
			reg->info.ia_name);
		list_del(&reg->node);
		dat_registration_put(reg);
	}
	mutex_unlock(&registry_lock);
	return NOTIFY_OK;
}

static struct notifier_block module_nb = { .notifier_call = module_event };

/**
 * dat_registry_init - register the notifier for unloaded modules
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int dat_registry_init(void)
{
	return register_module_notifier(&module_nb);
}

/**
 * dat_registry_exit - undo dat_registry_init()
 *
 * Context: process, may sleep.
 */
void dat_registry_exit(void)
{
	unregister_module_notifier(&module_nb);
}

/* Finds a matching registration, and holds the provider's module. */
static DAT_RETURN registry_hold(const char *ia_name, DAT_UINT32 major,
				DAT_UINT32 minor, DAT_BOOLEAN thread_safety,
				struct dat_registration **regp)
{
	struct dat_registration *reg;
	DAT_RETURN_SUBTYPE why = DAT_NO_SUBTYPE;

	mutex_lock(&registry_lock);
	reg = find(ia_name);
	if (!reg)
		why = DAT_NAME_NOT_REGISTERED;
	else if (reg->info.dapl_version_major != major)
		why = DAT_MAJOR_NOT_FOUND;
	else if (reg->info.dapl_version_minor < minor)
		why = DAT_MINOR_NOT_FOUND;
	else if (thread_safety && !reg->info.is_thread_safe)
		why = DAT_THREAD_SAFETY_NOT_FOUND;
	else if (!try_module_get(reg->owner))
		why = DAT_NAME_NOT_REGISTERED;
	if (!why) {
		kref_get(&reg->ref);
		reg->opens++;
	}
	mutex_unlock(&registry_lock);
	*regp = reg;
	return why ? DAT_ERROR(DAT_PROVIDER_NOT_FOUND, why) : DAT_SUCCESS;
}

/* Undoes registry_hold(). The caller has another reference to @reg. */
static void registry_release(struct dat_registration *reg)
{
	struct module *owner = reg->owner;

	mutex_lock(&registry_lock);
	reg->opens--;
	mutex_unlock(&registry_lock);
	dat_registration_put(reg);
	module_put(owner);
}

static DAT_RETURN open_held(struct dat_registration *reg, DAT_COUNT qlen,
			    DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
	struct dat_ext *ia_obj, *evd_obj;
	DAT_EVD_HANDLE given = *async_evd;
	DAT_RETURN ret;

	ia_obj = dat_ext_alloc(reg, GFP_KERNEL);
	evd_obj = dat_ext_alloc(reg, GFP_KERNEL);
	ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (!ia_obj || !evd_obj)
		goto drop;
	ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
	if (!dat_ext_is_same(ia_obj, given, DAT_HANDLE_TYPE_EVD))
		goto drop;
	ret = reg->provider->ia_open_func(reg->info.ia_name, qlen, async_evd,
					  ia);
	if (ret)
		goto drop;
	if (given)
		dat_ext_drop(evd_obj);
	else
		dat_ext_add(evd_obj, *async_evd, DAT_HANDLE_TYPE_EVD, ia_obj);
	/* Last: from now on a caller that guesses the handle can close the IA. */
	dat_ext_add(ia_obj, *ia, DAT_HANDLE_TYPE_IA, NULL);
	return DAT_SUCCESS;

drop:
	dat_ext_drop(evd_obj);
	dat_ext_drop(ia_obj);
	return ret;
}

/*
 * Loads the module of an IA. The name may come from a process that could thereby load any
 * module with a name of that form. So only callers with CAP_SYS_MODULE may load: this
 * includes kernel threads and module_init() functions.
 */
static bool load_module(const char *ia_name)
{
	return is_name(ia_name) && capable(CAP_SYS_MODULE) &&
	       !request_module("dat-ia-%s", ia_name);
}

/* Opens an IA of an external provider, and loads its module if necessary. */
static DAT_RETURN open_ext(const char *ia_name, DAT_COUNT qlen,
			   DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia,
			   DAT_UINT32 major, DAT_UINT32 minor,
			   DAT_BOOLEAN thread_safety)
{
	struct dat_registration *reg;
	DAT_RETURN ret;

	ret = registry_hold(ia_name, major, minor, thread_safety, &reg);
	if (DAT_GET_SUBTYPE(ret) == DAT_NAME_NOT_REGISTERED &&
	    load_module(ia_name))
		ret = registry_hold(ia_name, major, minor, thread_safety,
				    &reg);
	if (ret)
		return ret;
	ret = open_held(reg, qlen, async_evd, ia);
	if (ret)
		registry_release(reg);
	return ret;
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name,
			DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_HANDLE *ia_handle, DAT_UINT32 dat_major,
			DAT_UINT32 dat_minor, DAT_BOOLEAN thread_safety)
{
	DAT_RETURN ret;

	ret = kdapl_ia_openv(ia_name, async_evd_min_qlen, async_evd_handle,
			     ia_handle, dat_major, dat_minor, thread_safety);
	/* An RDMA device takes precedence over an external provider of its name. */
	if (ret == DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED))
		ret = open_ext(ia_name, async_evd_min_qlen, async_evd_handle,
			       ia_handle, dat_major, dat_minor, thread_safety);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_openv);

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags)
{
	struct dat_ext *ia;
	DAT_RETURN ret;

	ret = kdapl_ia_close(ia_handle, close_flags);
	ia = dat_ext_if_unknown(ret, ia_handle, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return ret;
	if (!dat_ext_hide(ia))
		goto put_ia;
	ret = dat_ext_call(ia, ia_close_func, (ia_handle, close_flags));
	if (ret) {
		dat_ext_unhide(ia);
	} else {
		dat_ext_remove_all(ia);
		registry_release(ia->reg);
	}
put_ia:
	dat_ext_put(ia);
	return ret;
}
EXPORT_SYMBOL_GPL(dat_ia_close);

/**
 * dat_provider_init - offer a port of an RDMA device again
 * @provider_info: name of the IA
 * @instance_data: not used
 *
 * Undoes dat_provider_fini(). This is the constructor of kdapl.ko as a provider. New
 * devices are offered without this call. Specification: dat_provider_init().
 *
 * Context: process, may sleep.
 */
void dat_provider_init(const DAT_PROVIDER_INFO *provider_info,
		       const char *instance_data)
{
	might_sleep();
	if (provider_info && is_name(provider_info->ia_name))
		dat_dev_offer(provider_info->ia_name, true);
}
EXPORT_SYMBOL_GPL(dat_provider_init);

/**
 * dat_provider_fini - withdraw a port of an RDMA device
 * @provider_info: name of the IA
 *
 * kdapl neither lists nor opens the IA until dat_provider_init(), or until the device is
 * added again. Open IAs remain open. Specification:
 * dat_provider_fini().
 *
 * Context: process, may sleep.
 */
void dat_provider_fini(const DAT_PROVIDER_INFO *provider_info)
{
	might_sleep();
	if (provider_info && is_name(provider_info->ia_name))
		dat_dev_offer(provider_info->ia_name, false);
}
EXPORT_SYMBOL_GPL(dat_provider_fini);
