/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dat_platform_specific.h - DAT's basic types in terms of Linux
 */
#ifndef _DAT_PLATFORM_SPECIFIC_H_
#define _DAT_PLATFORM_SPECIFIC_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t		DAT_UINT32;
typedef uint64_t		DAT_UINT64;
typedef unsigned long long	DAT_UVERYLONG;
typedef void			*DAT_PVOID;
typedef int			DAT_COUNT;
typedef DAT_UINT64		DAT_PADDR;

/*
 * The address of an IA is a struct sockaddr_in or sockaddr_in6, passed as a
 * pointer to the generic type. Its family must be set.
 */
typedef struct sockaddr		DAT_SOCK_ADDR;
typedef struct sockaddr_in6	DAT_SOCK_ADDR6;
#define DAT_AF_INET		AF_INET
#define DAT_AF_INET6		AF_INET6

/* Alignment of segments with the best performance */
#ifndef DAT_OPTIMAL_ALIGNMENT
#define DAT_OPTIMAL_ALIGNMENT	256
#endif

#ifndef UINT64_C
#define UINT64_C(c)		c ## ULL
#endif

/* Calling convention, for providers that declare one */
#ifndef DAT_API
#define DAT_API
#endif

/* The direction of a parameter, as the specification's prototypes print it. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

#ifdef __cplusplus
}
#endif

#endif /* _DAT_PLATFORM_SPECIFIC_H_ */
