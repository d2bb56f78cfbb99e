// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * loader.c - load the libraries of external providers that dat.conf(5) names
 *
 * dat_ia_open() of a name that is neither registered nor one of the kernel
 * loads the library of that name, whose dat_provider_init() registers the IA.
 * After the last close dat_provider_fini() unregisters the IA. A library is
 * never unloaded, because threads may still run in it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libdat.h"
#include "external.h"

/**
 * struct libdat_loaded - an IA whose library is loaded
 * @next: next in the list
 * @info: argument of dat_provider_init() and dat_provider_fini()
 * @handle: the library, from dlopen()
 * @is_initialized: dat_provider_init() ran, and no dat_provider_fini() since
 */
struct libdat_loaded {
	struct libdat_loaded *next;
	DAT_PROVIDER_INFO info;
	void *handle;
	bool is_initialized;
};

/* Held while a library initializes itself, which may open other IAs. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct libdat_loaded *all_loaded;

/* A recursive mutex records its thread, so the child of fork() needs a new one. */
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

/* Without priority, so after all others: see LIBDAT_FORK_TABLE. */
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

/* Returns false without memory; sets *@out to NULL on any failure. */
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

static void initialize(struct libdat_loaded *loaded, const char *params)
{
	DAT_PROVIDER_INIT_FUNC init;

	init = (DAT_PROVIDER_INIT_FUNC)dlsym(loaded->handle,
					     DAT_PROVIDER_INIT_FUNC_STR);
	if (!init) {
		complain(loaded->info.ia_name, dlerror());
		return;
	}
	init(&loaded->info, params);
	loaded->is_initialized = true;
}

/**
 * libdat_provider_load - load the library of an IA, and open the IA
 * @ret: out, if this function returns true: return value of dat_ia_open()
 * @name: name of the IA, which is not registered
 * @qlen: minimum queue length of the asynchronous EVD
 * @async_evd: as for dat_ia_openv(); not NULL
 * @ia: out: the IA; not NULL
 * @major: major version of DAT that the program uses
 * @minor: minor version of DAT that the program uses
 * @thread_safety: whether the program needs a thread safe provider
 *
 * Prints failures to load on the standard error. Thread safe. See
 * dat_provider_init(3DAT).
 *
 * Return: false if dat.conf(5) names no library that registers the IA.
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
		*ret = NO_MEMORY;
		is_known = true;
	}
	if (loaded && !loaded->is_initialized)
		initialize(loaded, alias->ia);
	/* Under the lock, so that no close calls dat_provider_fini() before. */
	if (loaded && loaded->is_initialized)
		is_known = libdat_provider_open(ret, name, qlen, async_evd, ia,
						major, minor, thread_safety);
	pthread_mutex_unlock(&lock);
	return is_known;
}

/**
 * libdat_provider_unused - a program closed an instance of an external IA
 * @name: name of the IA
 *
 * Calls dat_provider_fini() after the last instance. Thread safe. See
 * dat_provider_fini(3DAT).
 */
void libdat_provider_unused(const char *name)
{
	DAT_PROVIDER_FINI_FUNC fini;
	struct libdat_loaded *loaded;

	pthread_mutex_lock(&lock);
	loaded = find(name);
	fini = loaded && loaded->is_initialized ?
	       (DAT_PROVIDER_FINI_FUNC)dlsym(loaded->handle,
					     DAT_PROVIDER_FINI_FUNC_STR) : NULL;
	if (fini && libdat_provider_retire(name)) {
		fini(&loaded->info);
		loaded->is_initialized = false;
	}
	pthread_mutex_unlock(&lock);
}
