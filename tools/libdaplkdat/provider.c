// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * provider.c - the lines of dat.conf that name this provider
 *
 * libdat2 calls dat_provider_init() before the first open of a line, and
 * dat_provider_fini() after the last close. Two lines may have the same name and
 * differ in thread safety.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kdat.h"

/* Prefix of the kernel's name, in a line of dat.conf without ia_params */
static const char prefix[] = "kdat-";

/**
 * struct named - a line of dat.conf
 * @provider: the table of entries with the name of the line; never freed, because
 *	retired handles point to it
 * @next: next in the list
 * @info: identifies the line; libdat2 compares it when it closes an IA
 * @ia: the kernel's name of the IA
 */
struct named {
	DAT_PROVIDER provider;
	struct named *next;
	DAT_PROVIDER_INFO info;
	char ia[DAT_DEV_NAME_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct named *first;

/* fork() must not copy a lock that another thread holds. */
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

static struct named *find(const char *name, DAT_BOOLEAN is_thread_safe)
{
	struct named *n;

	for (n = first; n; n = n->next)
		if (!strcmp(n->info.ia_name, name) &&
		    n->info.is_thread_safe == is_thread_safe)
			break;
	return n;
}

static struct named *find_or_add(const DAT_PROVIDER_INFO *info)
{
	struct named *n = find(info->ia_name, info->is_thread_safe);

	if (n)
		return n;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->info = *info;
	n->provider = kdat_entries;
	n->provider.device_name = n->info.ia_name;
	if (!info->is_thread_safe)
		n->provider.ia_open_func = kdat_ia_open_unsafe;
	n->next = first;
	first = n;
	return n;
}

/*
 * As in dat.conf(5) of libdat: an IA, or a device and a port, where port 0 means
 * the device alone. The default is the name of the line.
 */
static void choose_ia(struct named *n, const char *params)
{
	static const char blanks[] = " \t\"";
	const char *ia = params ? params + strspn(params, blanks) : "";
	int len = (int)strcspn(ia, blanks);
	const char *port = ia + len + strspn(ia + len, blanks);
	int port_len = (int)strspn(port, "0123456789");

	if (!len) {
		ia = n->info.ia_name;
		if (!strncmp(ia, prefix, strlen(prefix)))
			ia += strlen(prefix);
		len = (int)strlen(ia);
	}
	if (port_len && *port != '0')
		snprintf(n->ia, sizeof(n->ia), "%.*s:%.*s", len, ia, port_len,
			 port);
	else
		snprintf(n->ia, sizeof(n->ia), "%.*s", len, ia);
}

/**
 * dat_provider_init - register the IA of a line of dat.conf with libdat2
 * @info: name and version in the line
 * @params: ia_params of the line: the kernel's name of the IA; if empty, the name
 *	of the line without "kdat-"
 *
 * Thread safe.
 */
void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	struct named *n;
	DAT_RETURN ret;

	pthread_mutex_lock(&lock);
	n = find_or_add(info);
	if (n)
		choose_ia(n, params);
	pthread_mutex_unlock(&lock);
	ret = n ? dat_registry_add_provider(&n->provider, info) :
		  NO_MEMORY;
	if (ret != DAT_SUCCESS)
		fprintf(stderr, "libdaplkdat: cannot register %s: 0x%x\n",
			info->ia_name, ret);
}

/**
 * dat_provider_fini - unregister the IA of a line of dat.conf
 * @info: as for dat_provider_init()
 *
 * Thread safe.
 */
void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	struct named *n;

	pthread_mutex_lock(&lock);
	n = find(info->ia_name, info->is_thread_safe);
	pthread_mutex_unlock(&lock);
	if (n)
		dat_registry_remove_provider(&n->provider, info);
}

/**
 * libdat_alias_find - look up an alias
 * @name: the name
 *
 * Return: NULL, because libdat2 reads dat.conf.
 */
const struct libdat_alias *libdat_alias_find(const char *name)
{
	(void)name;
	return NULL;
}

/**
 * kdat_find - look up a line of dat.conf
 * @name: name of the line
 * @is_thread_safe: whether the line says threadsafe
 * @ia: out: the kernel's name of the IA
 *
 * Thread safe.
 *
 * Return: the table of entries of the line, or NULL.
 */
const DAT_PROVIDER *kdat_find(const char *name, DAT_BOOLEAN is_thread_safe,
			      const char **ia)
{
	struct named *n;

	pthread_mutex_lock(&lock);
	n = find(name, is_thread_safe);
	pthread_mutex_unlock(&lock);
	if (!n)
		return NULL;
	*ia = n->ia;
	return &n->provider;
}

/**
 * kdat_info - the line of dat.conf of an open IA
 * @ia_handle: the IA
 *
 * Thread safe.
 *
 * Return: name and version in the line.
 */
const DAT_PROVIDER_INFO *kdat_info(DAT_IA_HANDLE ia_handle)
{
	return &((const struct named *)DAT_HANDLE_TO_PROVIDER(ia_handle))->info;
}
