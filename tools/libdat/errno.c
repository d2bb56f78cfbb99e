// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * errno.c - what the kernel means by errno, as a DAT_RETURN
 */
#include <errno.h>

#include "libdat.h"

/**
 * libdat_errno_in - what an ioctl or mmap() that failed means
 * @err: errno
 *
 * Thread safe.
 *
 * Return: DAT_INSUFFICIENT_RESOURCES for want of memory, DAT_INTERRUPTED_CALL
 * for a signal, DAT_INVALID_PARAMETER if the kernel could not read or write
 * what a pointer named, else DAT_INTERNAL_ERROR.
 */
DAT_RETURN libdat_errno_in(int err)
{
	switch (err) {
	case ENOMEM:
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	case EINTR:
		return DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
	case EFAULT:
	case EINVAL:
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE);
	default:
		return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	}
}
