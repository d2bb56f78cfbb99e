// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * provider.c - the IAs that other providers have registered
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libdat.h"
#include "foreign.h"

/**
 * struct libdat_registration - an IA of another provider
 * @next: in the list of them
 * @provider: its functions
 * @info: its name and version
 * @opens: how often it is open, or being opened
 * @is_retired: it is about to be removed, and cannot be opened
 */
struct libdat_registration {
	struct libdat_registration *next;
	const DAT_PROVIDER *provider;
	DAT_PROVIDER_INFO info;
	unsigned int opens;
	bool is_retired;
};

/* Guards the list and what is in it; no provider is called with it held. */
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

static void __attribute__((constructor)) provider_init(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

/* Where the entry of @name hangs, or will; locked. */
static struct libdat_registration **find(const char *name)
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

/**
 * dat_registry_add_provider - make an IA of another provider known
 * @provider: its functions; they stay where they are while it is registered
 * @provider_info: its name and version; copied
 *
 * Thread safe. See dat_registry_add_provider(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER also
 * if it can be neither opened nor closed, DAT_PROVIDER_ALREADY_REGISTERED.
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
	ret = libdat_ia_is_new(provider_info->ia_name);
	if (ret != DAT_SUCCESS)
		return ret;
	reg = calloc(1, sizeof(*reg));
	if (!reg)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	reg->provider = provider;
	reg->info = *provider_info;

	pthread_mutex_lock(&lock);
	link = find(reg->info.ia_name);
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
 * dat_registry_remove_provider - the reverse of dat_registry_add_provider()
 * @provider: the functions
 * @provider_info: name of the IA
 *
 * Thread safe. See dat_registry_remove_provider(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_PARAMETER also if it is not registered,
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
	link = find(provider_info->ia_name);
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

/**
 * libdat_provider_list - the IAs of other providers
 * @infos: out: a copy, to be freed; NULL if there are none, or no memory
 * @num: out: how many there are
 *
 * Thread safe.
 *
 * Return: false if there is no memory.
 */
bool libdat_provider_list(DAT_PROVIDER_INFO **infos, size_t *num)
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

/* What keeps the IA from being opened; locked. */
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

/* Keep the IA registered, if there is one and it fits. */
static struct libdat_registration *hold(DAT_RETURN *ret, const char *name,
					DAT_UINT32 major, DAT_UINT32 minor,
					DAT_BOOLEAN thread_safety)
{
	struct libdat_registration *reg;
	DAT_RETURN_SUBTYPE why;

	pthread_mutex_lock(&lock);
	reg = *find(name);
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
	struct libdat_foreign opened = { .provider = reg->provider };
	DAT_EVD_HANDLE given = *async_evd;
	DAT_RETURN ret;

	opened.reg = reg;
	if (given != DAT_EVD_ASYNC_EXISTS)
		libdat_foreign_beside(&opened, given, DAT_HANDLE_TYPE_EVD,
				      DAT_INVALID_HANDLE_EVD_ASYNC);
	ret = FOREIGN_MAKE(&opened, DAT_HANDLE_TYPE_IA, ia, ia_open_func,
			   reg->info.ia_name, qlen, async_evd, ia);
	if (ret == DAT_SUCCESS && given == DAT_HANDLE_NULL &&
	    libdat_foreign_find(&opened, *ia, DAT_HANDLE_TYPE_IA))
		libdat_foreign_learn(&opened, *async_evd, DAT_HANDLE_TYPE_EVD);
	return ret;
}

/**
 * libdat_provider_retire - let nobody open an IA of another provider any more
 * @name: its name
 *
 * Until it is removed, and registered again. Thread safe.
 *
 * Return: false if it is open, or not registered.
 */
bool libdat_provider_retire(const char *name)
{
	struct libdat_registration *reg;
	bool may_go;

	pthread_mutex_lock(&lock);
	reg = *find(name);
	may_go = reg && !reg->opens;
	if (may_go)
		reg->is_retired = true;
	pthread_mutex_unlock(&lock);
	return may_go;
}

/**
 * libdat_provider_open - open an IA of another provider
 * @ret: out: what dat_ia_open() returns if there is such an IA
 * @name: its name
 * @qlen: as for dat_ia_openv(), like all that follow
 * @async_evd: not NULL
 * @ia: not NULL
 * @major: version of DAT
 * @minor: the same
 * @thread_safety: whether it must be thread safe
 *
 * Thread safe.
 *
 * Return: false if nobody has registered that name.
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
 * libdat_provider_close - close an IA of another provider
 * @ia: the IA
 * @flags: as for dat_ia_close()
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, and what else the provider returns.
 */
DAT_RETURN libdat_provider_close(struct libdat_foreign *ia,
				 DAT_CLOSE_FLAGS flags)
{
	char name[DAT_NAME_MAX_LENGTH];
	DAT_RETURN ret;

	ret = FOREIGN_END(ia, ia_close_func, ia->handle, flags);
	if (ret == DAT_SUCCESS) {
		/* Released, it can be removed. */
		memcpy(name, ia->reg->info.ia_name, sizeof(name));
		release(ia->reg);
		libdat_provider_unused(name);
	}
	return ret;
}
