// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * addr.c - finds the IP address of an IA
 *
 * Which address leads to which port of which device depends on the transport.
 * rdma_cm knows it for all of them: an address is the IA's if an id bound to
 * it lands on the IA's port.
 */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/rdma_cm.h>

#include "addr.h"
#include "ia.h"

#define MAX_CANDIDATES	64

struct candidates {
	unsigned int num;
	struct sockaddr_storage addr[MAX_CANDIDATES];
};

static struct sockaddr_storage *next_candidate(struct candidates *c)
{
	return c->num < MAX_CANDIDATES ? &c->addr[c->num++] : NULL;
}

static void collect_ipv4(struct net_device *ndev, struct candidates *c)
{
	struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		struct sockaddr_in *sin = (void *)next_candidate(c);

		if (!sin)
			return;
		sin->sin_family = AF_INET;
		sin->sin_addr.s_addr = ifa->ifa_local;
	}
}

static void collect_ipv6(struct net_device *ndev, struct candidates *c)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *in6_dev = __in6_dev_get(ndev);
	const struct inet6_ifaddr *ifp;

	if (!in6_dev)
		return;
	read_lock_bh(&in6_dev->lock);
	list_for_each_entry(ifp, &in6_dev->addr_list, if_list) {
		struct sockaddr_in6 *sin6;

		if (ifp->flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED))
			continue;
		sin6 = (void *)next_candidate(c);
		if (!sin6)
			break;
		sin6->sin6_family = AF_INET6;
		sin6->sin6_addr = ifp->addr;
		if (ipv6_addr_type(&ifp->addr) & IPV6_ADDR_LINKLOCAL)
			sin6->sin6_scope_id = ndev->ifindex;
	}
	read_unlock_bh(&in6_dev->lock);
#endif
}

/* IPv4 first: it is what an administrator types. */
static void collect(struct net *net, struct candidates *c)
{
	struct net_device *ndev;

	rcu_read_lock();
	for_each_netdev_rcu(net, ndev)
		collect_ipv4(ndev, c);
	for_each_netdev_rcu(net, ndev)
		collect_ipv6(ndev, c);
	rcu_read_unlock();
}

static int no_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

/* 0 if it does, -ENOMEM if that could not be found out. */
static int addr_leads_to(struct dat_ia *ia, struct sockaddr_storage *addr)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(ia->net, no_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rdma_bind_addr(id, (struct sockaddr *)addr);
	if (!ret && (id->device != dat_ia_ibdev(ia) ||
		     id->port_num != ia->port))
		ret = -ENODEV;
	rdma_destroy_id(id);
	return ret;
}

/**
 * dat_addr_find - find the IA's address, if it has one by now
 * @ia: the IA; ia->addr is filled in, unless it is known already
 *
 * Context: process, may sleep.
 * Return: 0, also if it has none; -ENOMEM, and then it is not known.
 */
int dat_addr_find(struct dat_ia *ia)
{
	struct candidates *c;
	int ret = -ENODEV;
	unsigned int i;

	if (ia->addr.ss_family != AF_UNSPEC)
		return 0;
	c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	if (!c)
		return -ENOMEM;
	collect(ia->net, c);
	/* One that could not be looked at may be the one that peers know. */
	for (i = 0; i < c->num && ret && ret != -ENOMEM; i++) {
		ret = addr_leads_to(ia, &c->addr[i]);
		if (!ret)
			ia->addr = c->addr[i];
	}
	kfree(c);
	return ret == -ENOMEM ? ret : 0;
}

/**
 * dat_addr_size - bytes of an address
 * @addr: the address
 *
 * Return: the size, 0 if the family is neither IPv4 nor IPv6.
 */
size_t dat_addr_size(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

/**
 * dat_addr_is_valid - can one connect to this address?
 * @addr: the address
 *
 * Return: false for families other than IPv4 and IPv6, and for addresses that
 * name no host.
 */
bool dat_addr_is_valid(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *sin6 = (const void *)addr;
	const struct sockaddr_in *sin = (const void *)addr;

	switch (addr->sa_family) {
	case AF_INET:
		return !ipv4_is_multicast(sin->sin_addr.s_addr) &&
		       !ipv4_is_lbcast(sin->sin_addr.s_addr) &&
		       !ipv4_is_zeronet(sin->sin_addr.s_addr);
	case AF_INET6:
		return !ipv6_addr_is_multicast(&sin6->sin6_addr) &&
		       !ipv6_addr_any(&sin6->sin6_addr);
	default:
		return false;
	}
}

/**
 * dat_addr_set_port - set the port of an address
 * @addr: the address
 * @port: the port, in host order
 */
void dat_addr_set_port(struct sockaddr_storage *addr, u16 port)
{
	if (addr->ss_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
}

/**
 * dat_addr_port - the port of an address
 * @addr: the address
 *
 * Return: the port, in host order; 0 for AF_UNSPEC.
 */
u16 dat_addr_port(const struct sockaddr_storage *addr)
{
	switch (addr->ss_family) {
	case AF_INET:
		return ntohs(((const struct sockaddr_in *)addr)->sin_port);
	case AF_INET6:
		return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
	default:
		return 0;
	}
}
