// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * handles.c - the mark in the handles of programs of DAT 1.2
 *
 * The handle of an object is the kernel's number of it. A child of fork() opens a file of its
 * own, in which the kernel counts from the start again. The handles of the child have a mark, so
 * that none that it inherited means one of its own objects: see libdat_to_kernel(). handles.c of
 * libdaplkdat does the same for DAT 2.0.
 */
#include "libdat.h"

uintptr_t libdat_handle_mark;

/**
 * libdat_handles_disown - make all handles of this process invalid
 *
 * Pointers of 64 bits: the upper 16 count the generations, and no pointer of a program has them.
 * Of 32 bits the kernel uses 31. The last one is set in every child, so its handles differ from
 * those of the first process, and from 0. Other generations differ in the other bits, unless an
 * object has a very high number.
 *
 * For a child of fork(): not thread safe.
 */
void libdat_handles_disown(void)
{
	static uint32_t generation;

	generation++;
#if UINTPTR_MAX > UINT32_MAX
	libdat_handle_mark = (uintptr_t)generation << 48;
#else
	libdat_handle_mark = UINT32_C(0x80000000) | generation * UINT32_C(0x61c88647);
#endif
}
