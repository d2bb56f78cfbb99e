// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * registry.c - the IAs of the kernel and those of external providers
 *
 * External providers register their IAs in a list here, under a mutex that is
 * not held while a function of a provider runs. The IAs of the kernel are not
 * stored: each call asks the kernel, because devices come and go.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libdat.h"
#include "external.h"

/**
 * struct libdat_registration - an IA of an external provider
 * @next: next in the list
 * @provider: functions of the provider
 * @info: name and version
 * @opens: number of open instances and of opens in progress
 * @is_retired: dat_provider_fini() is about to remove the IA: refuse to open
 */
struct libdat_registration {
	struct libdat_registration *next;
	const DAT_PROVIDER *provider;
	DAT_PROVIDER_INFO info;
	unsigned int opens;
	bool is_retired;
};

/* Protects the list and its entries. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct libdat_registration *registrations;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void __attribute__((constructor(LIBDAT_FORK_REGISTRY))) provider_init(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

/* The link to the entry of @name, or to the end of the list; locked. */
static struct libdat_registration **find_external(const char *name)
{
	struct libdat_registration **link = &registrations;

	while (*link && strcmp((*link)->info.ia_name, name))
		link = &(*link)->next;
	return link;
}

static bool is_name(const char *name)
{
	return *name && memchr(name, '\0', DAT_NAME_MAX_LENGTH);
}

static DAT_RETURN list(struct dat_dev_ia_info *infos, __u32 max, __u32 *num)
{
	struct dat_dev_ia_list arg = {
		.size = sizeof(arg),
		.infos = (uintptr_t)infos,
		.max = max,
		.info_size = sizeof(*infos),
	};
	DAT_RETURN ret = libdat_call(DAT_DEV_IA_LIST, &arg);

	*num = arg.num;
	return ret;
}

/* A device with one port has two names: with and without ":1". */
static const struct dat_dev_ia_info *find_ours(const struct dat_dev_ia_info *infos,
					       __u32 num, const char *name)
{
	size_t len;
	__u32 i;

	for (i = 0; i < num; i++) {
		len = strnlen(infos[i].name, sizeof(infos[i].name));
		if (!strncmp(name, infos[i].name, len) &&
		    (!name[len] || !strcmp(name + len, ":1")))
			return &infos[i];
	}
	return NULL;
}

/* Append the aliases of the IAs. */
static __u32 add_aliases(struct dat_dev_ia_info *infos, __u32 num)
{
	const struct dat_dev_ia_info *ia;
	const struct libdat_alias *alias;
	struct dat_dev_ia_info *info = infos + num;
	size_t num_aliases;

	for (alias = libdat_aliases(&num_aliases); num_aliases--; alias++) {
		ia = alias->library ? NULL : find_ours(infos, num, alias->ia);
		if (!ia || find_ours(infos, num, alias->name))
			continue;
		*info = *ia;
		memcpy(info->name, alias->name, strlen(alias->name) + 1);
		info++;
	}
	return (__u32)(info - infos);
}

/* All IAs of the kernel with all names. The caller frees @infos in any case. */
static DAT_RETURN list_all(struct dat_dev_ia_info **infos, __u32 *num)
{
	size_t num_aliases;
	DAT_RETURN ret;

	*infos = NULL;
	*num = 0;
	if (libdat_open() != DAT_SUCCESS)
		return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);

	/* First the number: the caller's limit may be far too large. */
	ret = list(NULL, 0, num);
	if (!*num)
		return ret;
	libdat_aliases(&num_aliases);
	*infos = calloc(*num + num_aliases, sizeof(**infos));
	if (!*infos)
		return NO_MEMORY;
	ret = list(*infos, *num, num);
	if (ret == DAT_SUCCESS)
		*num = add_aliases(*infos, *num);
	return ret;
}

/* Returns DAT_SUCCESS also if the kernel cannot be asked. */
static DAT_RETURN check_name_is_free(const char *name)
{
	struct dat_dev_ia_info *infos;
	DAT_RETURN ret;
	__u32 num;

	ret = list_all(&infos, &num);
	if (ret == DAT_SUCCESS && find_ours(infos, num, name))
		ret = DAT_ERROR(DAT_PROVIDER_ALREADY_REGISTERED,
				DAT_NO_SUBTYPE);
	else if (DAT_GET_TYPE(ret) == DAT_INTERNAL_ERROR)
		ret = DAT_SUCCESS;
	free(infos);
	return ret;
}

/**
 * dat_registry_add_provider - register an IA of an external provider
 * @provider: its functions; must stay valid while the IA is registered
 * @provider_info: its name and version; copied
 *
 * Thread safe. See dat_registry_add_provider(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER (also
 * if ia_open_func or ia_close_func is NULL), DAT_PROVIDER_ALREADY_REGISTERED.
 */
DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info)
{
	struct libdat_registration **link, *reg;
	DAT_RETURN ret;

	if (!provider || !provider->ia_open_func || !provider->ia_close_func)
		return BAD_ARG(1);
	if (!provider_info || !is_name(provider_info->ia_name))
		return BAD_ARG(2);
	ret = check_name_is_free(provider_info->ia_name);
	if (ret != DAT_SUCCESS)
		return ret;
	reg = calloc(1, sizeof(*reg));
	if (!reg)
		return NO_MEMORY;
	reg->provider = provider;
	reg->info = *provider_info;

	pthread_mutex_lock(&lock);
	link = find_external(reg->info.ia_name);
	if (*link)
		ret = DAT_ERROR(DAT_PROVIDER_ALREADY_REGISTERED,
				DAT_NO_SUBTYPE);
	else
		*link = reg;
	pthread_mutex_unlock(&lock);
	if (ret != DAT_SUCCESS)
		free(reg);
	return ret;
}

/**
 * dat_registry_remove_provider - unregister an IA of an external provider
 * @provider: the functions that were registered
 * @provider_info: name of the IA
 *
 * Thread safe. See dat_registry_remove_provider(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER (also if the IA is not registered),
 * DAT_PROVIDER_IN_USE if the IA is open.
 */
DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *provider_info)
{
	struct libdat_registration **link, *reg = NULL;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!provider)
		return BAD_ARG(1);
	if (!provider_info || !is_name(provider_info->ia_name))
		return BAD_ARG(2);

	pthread_mutex_lock(&lock);
	link = find_external(provider_info->ia_name);
	if (!*link) {
		ret = BAD_ARG(2);
	} else if ((*link)->provider != provider) {
		ret = BAD_ARG(1);
	} else if ((*link)->opens) {
		ret = DAT_ERROR(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE);
	} else {
		reg = *link;
		*link = reg->next;
	}
	pthread_mutex_unlock(&lock);
	free(reg);
	return ret;
}

/*
 * A copy of the list, NULL if it is empty; the caller frees @infos. Returns
 * false without memory.
 */
static bool list_external(DAT_PROVIDER_INFO **infos, size_t *num)
{
	const struct libdat_registration *reg;
	DAT_PROVIDER_INFO *info;
	size_t count = 0;

	*infos = NULL;
	pthread_mutex_lock(&lock);
	for (reg = registrations; reg; reg = reg->next)
		count++;
	if (count)
		*infos = calloc(count, sizeof(**infos));
	info = *infos;
	for (reg = registrations; info && reg; reg = reg->next)
		*info++ = reg->info;
	pthread_mutex_unlock(&lock);
	*num = *infos ? count : 0;
	return *num == count;
}

static void info_out(DAT_PROVIDER_INFO *out, const struct dat_dev_ia_info *in)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->ia_name, in->name, sizeof(out->ia_name));
	out->ia_name[sizeof(out->ia_name) - 1] = '\0';
	/* The kernel reports the version of its API, not of this one. */
	out->dapl_version_major = DAT_VERSION_MAJOR;
	out->dapl_version_minor = DAT_VERSION_MINOR;
	out->is_thread_safe = in->is_thread_safe ? DAT_TRUE : DAT_FALSE;
}

/**
 * dat_registry_list_providers - list the IAs that can be opened
 * @max_to_return: entries of @dat_provider_list
 * @entries_returned: out, also for DAT_INVALID_PARAMETER: number of IAs; each
 *	alias of dat.conf(5) counts as one
 * @dat_provider_list: out: pointers to the entries to fill in
 *
 * Thread safe. See dat_registry_list_providers(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER if
 * there are more IAs than @max_to_return, DAT_INTERNAL_ERROR if /dev/dat cannot
 * be opened and no external provider is registered.
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return,
				       DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[])
{
	struct dat_dev_ia_info *infos;
	DAT_PROVIDER_INFO *others;
	size_t num_others, i;
	DAT_RETURN ret;
	__u32 num;

	if (max_to_return < 0)
		return BAD_ARG(1);
	if (!entries_returned)
		return BAD_ARG(2);

	ret = list_all(&infos, &num);
	if (!list_external(&others, &num_others))
		ret = NO_MEMORY;
	/* External providers need no /dev/dat. */
	if (others && DAT_GET_TYPE(ret) == DAT_INTERNAL_ERROR)
		ret = DAT_SUCCESS;
	*entries_returned = libdat_count_to_user(num + (__u32)num_others);
	if (ret != DAT_SUCCESS)
		goto free;
	ret = BAD_ARG(3);
	if (*entries_returned > max_to_return ||
	    (*entries_returned && !dat_provider_list))
		goto free;
	for (i = 0; i < num + num_others; i++)
		if (!dat_provider_list[i])
			goto free;
	for (i = 0; i < num; i++)
		info_out(dat_provider_list[i], &infos[i]);
	for (i = 0; i < num_others; i++)
		*dat_provider_list[num + i] = others[i];
	ret = DAT_SUCCESS;
free:
	free(others);
	free(infos);
	return ret;
}

/* The subtype that says why the IA does not fit, or DAT_NO_SUBTYPE; locked. */
static DAT_RETURN_SUBTYPE misfit(const DAT_PROVIDER_INFO *info,
				 DAT_UINT32 major, DAT_UINT32 minor,
				 DAT_BOOLEAN thread_safety)
{
	if (info->dapl_version_major != major)
		return DAT_MAJOR_NOT_FOUND;
	if (info->dapl_version_minor < minor)
		return DAT_MINOR_NOT_FOUND;
	if (thread_safety && !info->is_thread_safe)
		return DAT_THREAD_SAFETY_NOT_FOUND;
	return DAT_NO_SUBTYPE;
}

/* Count an open of the IA, if there is one and it fits. */
static struct libdat_registration *hold(DAT_RETURN *ret, const char *name,
					DAT_UINT32 major, DAT_UINT32 minor,
					DAT_BOOLEAN thread_safety)
{
	struct libdat_registration *reg;
	DAT_RETURN_SUBTYPE why;

	pthread_mutex_lock(&lock);
	reg = *find_external(name);
	if (reg && reg->is_retired)
		reg = NULL;
	if (reg) {
		why = misfit(&reg->info, major, minor, thread_safety);
		*ret = why ? DAT_ERROR(DAT_PROVIDER_NOT_FOUND, why) :
			     DAT_SUCCESS;
		if (*ret == DAT_SUCCESS)
			reg->opens++;
	}
	pthread_mutex_unlock(&lock);
	return reg;
}

static void release(struct libdat_registration *reg)
{
	pthread_mutex_lock(&lock);
	reg->opens--;
	pthread_mutex_unlock(&lock);
}

static DAT_RETURN open_held(struct libdat_registration *reg, DAT_COUNT qlen,
			    DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
	struct libdat_external opened = {
		.provider = reg->provider,
		.reg = reg,
	};
	DAT_EVD_HANDLE given = *async_evd;
	DAT_RETURN ret;

	if (given != DAT_EVD_ASYNC_EXISTS)
		libdat_external_same(&opened, given, DAT_HANDLE_TYPE_EVD,
				     DAT_INVALID_HANDLE_EVD_ASYNC);
	libdat_external_create(&opened, DAT_HANDLE_TYPE_IA, ia);
	ret = LIBDAT_EXTERNAL_CALL(&opened, ia_open_func, reg->info.ia_name,
				   qlen, async_evd, ia);
	libdat_external_end(&opened, ret);
	if (ret == DAT_SUCCESS && given == DAT_HANDLE_NULL &&
	    libdat_external_find(&opened, *ia, DAT_HANDLE_TYPE_IA))
		libdat_external_learn(&opened, *async_evd, DAT_HANDLE_TYPE_EVD);
	return ret;
}

/**
 * libdat_provider_retire - refuse to open an external IA from now on
 * @name: name of the IA
 *
 * Applies until the IA is removed and registered again. Thread safe.
 *
 * Return: false if the IA is open or not registered.
 */
bool libdat_provider_retire(const char *name)
{
	struct libdat_registration *reg;
	bool is_unused;

	pthread_mutex_lock(&lock);
	reg = *find_external(name);
	is_unused = reg && !reg->opens;
	if (is_unused)
		reg->is_retired = true;
	pthread_mutex_unlock(&lock);
	return is_unused;
}

/**
 * libdat_provider_open - open an IA of a registered external provider
 * @ret: out, if this function returns true: return value of dat_ia_open()
 * @name: name of the IA
 * @qlen: minimum queue length of the asynchronous EVD
 * @async_evd: as for dat_ia_openv(); not NULL
 * @ia: out: the IA; not NULL
 * @major: major version of DAT that the program uses
 * @minor: minor version of DAT that the program uses
 * @thread_safety: whether the program needs a thread safe provider
 *
 * Thread safe.
 *
 * Return: false if no external provider registered that name.
 */
bool libdat_provider_open(DAT_RETURN *ret, const char *name, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia,
			  DAT_UINT32 major, DAT_UINT32 minor,
			  DAT_BOOLEAN thread_safety)
{
	struct libdat_registration *reg;

	reg = hold(ret, name, major, minor, thread_safety);
	if (!reg || *ret != DAT_SUCCESS)
		return reg;
	*ret = open_held(reg, qlen, async_evd, ia);
	if (*ret != DAT_SUCCESS)
		release(reg);
	return true;
}

/**
 * libdat_provider_closed - a program closed an IA of an external provider
 * @reg: registration of the IA
 *
 * Thread safe.
 */
void libdat_provider_closed(struct libdat_registration *reg)
{
	char name[DAT_NAME_MAX_LENGTH];

	/* After release() another thread can remove the registration. */
	memcpy(name, reg->info.ia_name, sizeof(name));
	release(reg);
	libdat_provider_unused(name);
}
