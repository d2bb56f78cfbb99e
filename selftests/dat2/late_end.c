// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * late_end.c - delays the first dat_ep_disconnect() of Debian's dtestcm client
 *
 * The dtestcm server counts connection events without reading their numbers. It treats
 * the first N as ESTABLISHED and the next N as DISCONNECTED. A DISCONNECTED event that
 * arrives before the last ESTABLISHED makes the server free a connected EP. The server
 * then waits forever, or fails with DAT_INVALID_HANDLE on an event of the freed EP.
 *
 * Load this library with LD_PRELOAD. It runs the shell command LATE_END before the first
 * dat_ep_disconnect(). It makes stdout line-buffered, so that scripts can wait for a line.
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
	/* The shell must not load this library again. */
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
