/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dat_platform_specific.h - DAT's basic types as types of the Linux kernel
 */
#ifndef _DAT_PLATFORM_SPECIFIC_H_
#define _DAT_PLATFORM_SPECIFIC_H_

#include <linux/types.h>
#include <linux/socket.h>
#include <linux/in.h>
#include <linux/in6.h>

typedef u32			DAT_UINT32;
typedef u64			DAT_UINT64;
typedef unsigned long long	DAT_UVERYLONG;
typedef void			*DAT_PVOID;
typedef int			DAT_COUNT;
typedef DAT_UINT64		DAT_PADDR;

typedef struct dat_comm {
	int	domain;
	int	type;
	int	protocol;
} DAT_COMM;

typedef struct sockaddr		DAT_SOCK_ADDR;
typedef struct sockaddr_in6	DAT_SOCK_ADDR6;
#define DAT_AF_INET		AF_INET
#define DAT_AF_INET6		AF_INET6

/* Recommended alignment of segments, in bytes. */
#ifndef DAT_OPTIMAL_ALIGNMENT
#define DAT_OPTIMAL_ALIGNMENT	256
#endif

#ifndef UINT64_C
#define UINT64_C(c)		c ## ULL
#endif

/* Parameter directions, used in the specification's prototypes. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

#endif /* _DAT_PLATFORM_SPECIFIC_H_ */
