/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * uaddr.h - converts socket addresses to their ioctl form
 */
#ifndef _CHARDEV_UADDR_H
#define _CHARDEV_UADDR_H

#include <linux/string.h>

#include <dat/kdat.h>
#include <linux/dat.h>

/**
 * dat_uaddr_to_user - convert an address to its ioctl form
 * @addr: the address; every family except IPv4 and IPv6 becomes AF_UNSPEC
 * @uaddr: out: the converted address
 */
static inline void dat_uaddr_to_user(const DAT_SOCK_ADDR *addr,
				     struct dat_dev_addr *uaddr)
{
	memset(uaddr, 0, sizeof(*uaddr));
	if (addr->sa_family == AF_INET)
		memcpy(uaddr, addr, sizeof(struct sockaddr_in));
	else if (addr->sa_family == AF_INET6)
		memcpy(uaddr, addr, sizeof(struct sockaddr_in6));
}

#endif /* _CHARDEV_UADDR_H */
