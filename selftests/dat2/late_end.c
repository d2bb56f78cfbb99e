// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * late_end.c - lets a client of Debian's take leave only when its server is ready for it
 *
 * dtestcm's server takes the first events, one for each connection, for their beginnings
 * and the next for their ends, whatever they say. An end that comes before the last
 * beginning makes it free an EP that is connected: then it waits for ever for the end of
 * that, or takes an end that was there already for one of an EP that it never had.
 *
 * Preloaded, this runs the shell command LATE_END before the first dat_ep_disconnect().
 * What the program prints is in its file at once, so that others can wait for it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <dat2/udat.h>

static const char *command;

__attribute__((constructor)) static void begin(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	command = getenv("LATE_END");
	/* The command is not to be preloaded. */
	unsetenv("LD_PRELOAD");
}

DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
	DAT_RETURN (*next)(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags);
	const char *once = command;

	command = NULL;
	if (once && system(once))
		fprintf(stderr, "late_end: the command has failed: %s\n", once);
	next = (typeof(next))dlsym(RTLD_NEXT, "dat_ep_disconnect");
	return next(ep, flags);
}
