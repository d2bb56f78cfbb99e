// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * loader.c - loads the libraries that dat.conf(5) names for IAs of others
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libdat.h"
#include "foreign.h"

/**
 * struct libdat_loaded - an IA whose library has been loaded
 * @next: in the list of them
 * @info: what the library was told
 * @handle: the library; it stays, as threads may still be in it
 * @is_begun: dat_provider_init() was called, and no dat_provider_fini() since
 */
struct libdat_loaded {
	struct libdat_loaded *next;
	DAT_PROVIDER_INFO info;
	void *handle;
	bool is_begun;
};

/* Libraries are called with it held, and may open other IAs. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct libdat_loaded *all_loaded;

/* Of a mutex that knows its owner the child of fork() needs a new one. */
static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

static void __attribute__((constructor)) loader_init(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void complain(const char *name, const char *why)
{
	fprintf(stderr, "libdat: %s: %s\n", name, why);
}

static struct libdat_loaded *find(const char *name)
{
	struct libdat_loaded *loaded = all_loaded;

	while (loaded && strcmp(loaded->info.ia_name, name))
		loaded = loaded->next;
	return loaded;
}

/* Returns false if there is no memory; @out may be NULL in any case. */
static bool load(const struct libdat_alias *alias, struct libdat_loaded **out)
{
	struct libdat_loaded *loaded = calloc(1, sizeof(*loaded));

	*out = NULL;
	if (!loaded)
		return false;
	loaded->handle = dlopen(alias->library, RTLD_NOW | RTLD_LOCAL);
	if (!loaded->handle) {
		complain(alias->name, dlerror());
		free(loaded);
		return true;
	}
	memcpy(loaded->info.ia_name, alias->name, strlen(alias->name) + 1);
	loaded->info.dapl_version_major = 1;
	loaded->info.dapl_version_minor = alias->minor;
	loaded->info.is_thread_safe = alias->is_thread_safe ? DAT_TRUE :
							      DAT_FALSE;
	loaded->next = all_loaded;
	all_loaded = loaded;
	*out = loaded;
	return true;
}

static void begin(struct libdat_loaded *loaded, const char *params)
{
	DAT_PROVIDER_INIT_FUNC init;

	init = (DAT_PROVIDER_INIT_FUNC)dlsym(loaded->handle,
					     DAT_PROVIDER_INIT_FUNC_STR);
	if (!init) {
		complain(loaded->info.ia_name, dlerror());
		return;
	}
	init(&loaded->info, params);
	loaded->is_begun = true;
}

/**
 * libdat_provider_load - open an IA whose library has to be loaded
 * @ret: out: what dat_ia_open() returns if there is such an IA
 * @name: its name, which nobody has registered
 * @qlen: as for dat_ia_openv(), like all that follow
 * @async_evd: not NULL
 * @ia: not NULL
 * @major: version of DAT
 * @minor: the same
 * @thread_safety: whether it must be thread safe
 *
 * dat_provider_init() of the library registers it. What is wrong is told on the
 * standard error. Thread safe. See dat_provider_init(3DAT).
 *
 * Return: false if dat.conf(5) names no library that registers it.
 */
bool libdat_provider_load(DAT_RETURN *ret, const char *name, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia,
			  DAT_UINT32 major, DAT_UINT32 minor,
			  DAT_BOOLEAN thread_safety)
{
	const struct libdat_alias *alias = libdat_alias_find(name);
	struct libdat_loaded *loaded;
	bool is_known = false;

	if (!alias || !alias->library)
		return false;
	pthread_mutex_lock(&lock);
	loaded = find(name);
	if (!loaded && !load(alias, &loaded)) {
		*ret = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
		is_known = true;
	}
	if (loaded && !loaded->is_begun)
		begin(loaded, alias->ia);
	/* With the lock, so that nobody who closes it takes it away again. */
	if (loaded && loaded->is_begun)
		is_known = libdat_provider_open(ret, name, qlen, async_evd, ia,
						major, minor, thread_safety);
	pthread_mutex_unlock(&lock);
	return is_known;
}

/**
 * libdat_provider_unused - an IA of another provider has been closed
 * @name: its name
 *
 * If it was the last instance, dat_provider_fini() takes the name back. Thread
 * safe. See dat_provider_fini(3DAT).
 */
void libdat_provider_unused(const char *name)
{
	DAT_PROVIDER_FINI_FUNC fini;
	struct libdat_loaded *loaded;

	pthread_mutex_lock(&lock);
	loaded = find(name);
	fini = loaded && loaded->is_begun ?
	       (DAT_PROVIDER_FINI_FUNC)dlsym(loaded->handle,
					     DAT_PROVIDER_FINI_FUNC_STR) : NULL;
	if (fini && libdat_provider_retire(name)) {
		fini(&loaded->info);
		loaded->is_begun = false;
	}
	pthread_mutex_unlock(&lock);
}
