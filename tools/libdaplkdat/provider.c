// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * provider.c - the lines of dat.conf that name this provider
 *
 * libdat2 calls in here, once for each of them before it opens the IA, and once
 * when it needs it no more. Two lines may have the same name, and differ in the
 * thread safety that they promise.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kdat.h"

/* In front of the IA's own name, if dat.conf does not tell that one */
static const char prefix[] = "kdat-";

/**
 * struct named - a line of dat.conf
 * @provider: the calls, by the line's name; handles may point here for ever, so
 *	that this is never freed
 * @next: the list
 * @info: what libdat2 knows the line by, and must be told when it closes an IA
 * @ia: what the kernel calls it
 */
struct named {
	DAT_PROVIDER provider;
	struct named *next;
	DAT_PROVIDER_INFO info;
	char ia[DAT_DEV_NAME_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct named *first;

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
 * As in libdat's dat.conf(5): an IA, or a device and a port, of which 0 says
 * nothing. Without any it is the name that libdat2 knows.
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
 * dat_provider_init - libdat2 has loaded the library for an IA
 * @info: its name, and what else is in its line of dat.conf
 * @params: that line's ia_params: what the kernel calls it; if nothing, the
 *	name without "kdat-"
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
		  DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (ret != DAT_SUCCESS)
		fprintf(stderr, "libdaplkdat: cannot register %s: 0x%x\n",
			info->ia_name, ret);
}

/**
 * dat_provider_fini - libdat2 does not need the library for an IA any more
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
 * libdat_alias_find - the IA that a name of dat.conf stands for
 * @name: the name
 *
 * Return: NULL: it is libdat2 who has read dat.conf.
 */
const struct libdat_alias *libdat_alias_find(const char *name)
{
	(void)name;
	return NULL;
}

/**
 * kdat_find - what a line of dat.conf means
 * @name: its name
 * @is_thread_safe: does it promise thread safety?
 * @ia: out: what the kernel calls the IA
 *
 * Thread safe.
 *
 * Return: the calls, as libdat2 knows them by this line, or NULL.
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
 * kdat_info - the line of dat.conf by which an IA was opened
 * @ia_handle: the IA
 *
 * Thread safe.
 *
 * Return: what libdat2 knows it by.
 */
const DAT_PROVIDER_INFO *kdat_info(DAT_IA_HANDLE ia_handle)
{
	return &((const struct named *)DAT_HANDLE_TO_PROVIDER(ia_handle))->info;
}
