// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * return.c - what the kernel answers: in DAT 2.0's numbers already
 */
#include "kdat.h"

/**
 * libdat_return_in - translate a DAT_RETURN from the kernel
 * @kernel: in DAT 2.0's numbers
 *
 * Thread safe.
 *
 * Return: the same.
 */
DAT_RETURN libdat_return_in(__u32 kernel)
{
	return kernel;
}
