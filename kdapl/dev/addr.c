// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * addr.c - finds the IP address of an IA and follows its changes
 *
 * The transport determines which address leads to which port of which device. rdma_cm
 * implements this mapping for all transports: an address belongs to an IA if an id
 * bound to it lands on the IA's port. A process decides how many addresses its network
 * namespace has, so kdapl does not try them all. The port limits the candidates: its GID
 * table has them on RoCE, and its hardware address names the interfaces elsewhere.
 *
 * Consumers keep pointers to the address. Each address that an IA has had therefore
 * stays unchanged until the IA is freed; only the current one changes. Calls that need
 * the address call dat_addr_find() in process context.
 */
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm.h>

#include "base/account.h"
#include "dev/addr.h"
#include "dev/device.h"
#include "dev/ia.h"

/* Addresses of each family that kdapl considers of an interface, except on RoCE */
#define MAX_OF_FAMILY	16

/* Kinds of addresses, in the order in which kdapl tries them */
enum kind {
	KIND_IPV4,		/* Administrators type those. */
	KIND_IPV6,
	KIND_LINK_LOCAL,
	NUM_KINDS,
};

/**
 * struct dat_ia_addr - an address that an IA has or has had
 * @node: in ia->addrs
 * @addr: the address; never changes
 */
struct dat_ia_addr {
	struct list_head node;
	struct sockaddr_storage addr;
};

/**
 * struct candidate - an address that may belong to an IA
 * @ip: the address; an IPv4 address is mapped to IPv6
 * @ifindex: index of the interface that has the address
 */
struct candidate {
	struct in6_addr ip;
	int ifindex;
};

/**
 * struct candidates - addresses of interfaces, except on RoCE
 * @num: number of addresses
 * @list: the addresses
 */
struct candidates {
	unsigned int num;
	struct candidate list[2 * MAX_OF_FAMILY];
};

/* The address of an IA that has none */
static const struct sockaddr_storage no_addr;

/* Incremented when an address of any interface changes. */
static atomic_t addr_generation = ATOMIC_INIT(1);

static int addr_changed(struct notifier_block *nb, unsigned long event,
			void *data)
{
	/* Skip 0, which means "no generation". */
	if (!atomic_inc_return(&addr_generation))
		atomic_inc(&addr_generation);
	return NOTIFY_DONE;
}

static struct notifier_block inet_notifier = {
	.notifier_call = addr_changed,
};

static struct notifier_block inet6_notifier = {
	.notifier_call = addr_changed,
};

static enum kind kind_of(const struct in6_addr *ip)
{
	if (ipv6_addr_v4mapped(ip))
		return KIND_IPV4;
	return ipv6_addr_type(ip) & IPV6_ADDR_LINKLOCAL ? KIND_LINK_LOCAL : KIND_IPV6;
}

static struct sockaddr_storage candidate_addr(const struct candidate *c)
{
	struct sockaddr_storage addr = {};

	rdma_gid2ip((struct sockaddr *)&addr, (const union ib_gid *)&c->ip);
	if (kind_of(&c->ip) == KIND_LINK_LOCAL)
		((struct sockaddr_in6 *)&addr)->sin6_scope_id = c->ifindex;
	return addr;
}

/* The process may be killed and the device removed during a search. */
static bool must_stop(const struct dat_ia *ia)
{
	return fatal_signal_pending(current) || READ_ONCE(ia->dev->removed);
}

/*
 * rdma_cm does not check whether the interface has a link-local address. A RoCE port has
 * a GID for that of its hardware address in any case.
 */
static bool link_local_exists(struct net *net, const struct sockaddr_in6 *sin6)
{
	bool exists = false;
#if IS_ENABLED(CONFIG_IPV6)
	const struct net_device *ndev;

	rcu_read_lock();
	ndev = dev_get_by_index_rcu(net, sin6->sin6_scope_id);
	exists = ndev && ipv6_chk_addr(net, &sin6->sin6_addr, ndev, 1);
	rcu_read_unlock();
#endif
	return exists;
}

static int no_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

/* Return 0 if the address leads to the IA's port; -ENOMEM if that is unknown. */
static int addr_leads_to(struct dat_ia *ia, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage copy = *addr;
	struct sockaddr_in6 *sin6 = (void *)&copy;
	struct rdma_cm_id *id;
	int ret;

	if (copy.ss_family == AF_INET6 && sin6->sin6_scope_id &&
	    !link_local_exists(ia->net, sin6))
		return -EADDRNOTAVAIL;
	id = rdma_create_id(ia->net, no_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rdma_bind_addr(id, (struct sockaddr *)&copy);
	if (!ret && (id->device != dat_ia_ibdev(ia) ||
		     id->port_num != ia->port))
		ret = -ENODEV;
	rdma_destroy_id(id);
	return ret;
}

/* Set the current address. Return 0 or -ENOMEM. */
static int set_addr(struct dat_ia *ia, const struct sockaddr_storage *addr)
{
	struct dat_ia_addr *a;

	lockdep_assert_held(&ia->addr_lock);
	list_for_each_entry(a, &ia->addrs, node)
		if (!memcmp(&a->addr, addr, sizeof(a->addr)))
			goto set;
	/* A process that may change the addresses decides how many an IA has had. */
	if (!dat_object_try_charge(&ia->obj, sizeof(*a)))
		return -ENOMEM;
	a = kmalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);
	if (!a) {
		dat_object_uncharge(&ia->obj, sizeof(*a));
		return -ENOMEM;
	}
	a->addr = *addr;
	list_add(&a->node, &ia->addrs);
set:
	/* Pairs with dat_addr(): a reader sees the address completely filled in. */
	smp_store_release(&ia->addr, &a->addr);
	return 0;
}

/* Does the interface have an address of an earlier kind? In an RCU section. */
static bool has_earlier_kind(const struct net_device *ndev, enum kind kind)
{
	const struct in_device *in_dev = __in_dev_get_rcu(ndev);
	bool earlier = in_dev && rcu_access_pointer(in_dev->ifa_list);
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *in6_dev = __in6_dev_get(ndev);
	const struct inet6_ifaddr *ifp;

	if (earlier || kind == KIND_IPV6 || !in6_dev)
		return earlier;
	read_lock_bh(&in6_dev->lock);
	/* Link-local addresses are the last of the list. */
	ifp = list_first_entry_or_null(&in6_dev->addr_list, struct inet6_ifaddr,
				       if_list);
	earlier = ifp && kind_of(&ifp->addr) != KIND_LINK_LOCAL;
	read_unlock_bh(&in6_dev->lock);
#endif
	return earlier;
}

/*
 * A device learns an address a moment after its interface has received it. Addresses of
 * an earlier kind, which the same interface has, may therefore still become the IA's.
 * The first IPv4 address that the device knows remains.
 */
static bool is_settled(const struct dat_ia *ia, const struct candidate *c)
{
	enum kind kind = kind_of(&c->ip);
	const struct net_device *ndev;
	bool settled;

	if (kind == KIND_IPV4)
		return true;
	rcu_read_lock();
	ndev = dev_get_by_index_rcu(ia->net, c->ifindex);
	settled = ndev && !has_earlier_kind(ndev, kind);
	rcu_read_unlock();
	return settled;
}

/*
 * Return 0 if the candidate has become the IA's address; -ENOMEM if the search has to
 * stop: peers may know the address that could not be checked. Otherwise -ENODEV.
 */
static int try_candidate(struct dat_ia *ia, const struct candidate *c)
{
	struct sockaddr_storage addr = candidate_addr(c);
	int ret;

	if (must_stop(ia))
		return -ENOMEM;
	cond_resched();
	ret = addr_leads_to(ia, &addr);
	if (ret)
		return ret == -ENOMEM ? ret : -ENODEV;
	ret = set_addr(ia, &addr);
	if (!ret)
		ia->addr_settled = is_settled(ia, c);
	return ret;
}

/* Return false if the port has no such GID for the network namespace of the IA. */
static bool gid_candidate(struct dat_ia *ia, int index, struct candidate *c)
{
	const struct net_device *ndev;
	const struct ib_gid_attr *gid;
	bool ours;

	gid = rdma_get_gid_attr(dat_ia_ibdev(ia), ia->port, index);
	if (IS_ERR(gid))
		return false;
	rcu_read_lock();
	ndev = rcu_dereference(gid->ndev);
	ours = ndev && net_eq(dev_net(ndev), ia->net);
	if (ours) {
		memcpy(&c->ip, &gid->gid, sizeof(c->ip));
		c->ifindex = ndev->ifindex;
	}
	rcu_read_unlock();
	rdma_put_gid_attr(gid);
	return ours;
}

/* On RoCE: the GIDs of a port are the IP addresses that lead to it. See try_candidate(). */
static int try_gids(struct dat_ia *ia)
{
	int num = dat_ia_ibdev(ia)->port_data[ia->port].immutable.gid_tbl_len;
	unsigned int there = BIT(KIND_IPV4);
	struct candidate c;
	enum kind kind;
	int i, ret;

	for (kind = 0; kind < NUM_KINDS; kind++) {
		for (i = 0; there & BIT(kind) && i < num; i++) {
			if (!gid_candidate(ia, i, &c))
				continue;
			there |= BIT(kind_of(&c.ip));
			if (kind_of(&c.ip) != kind)
				continue;
			ret = try_candidate(ia, &c);
			if (ret != -ENODEV)
				return ret;
		}
	}
	return -ENODEV;
}

static void add_candidate(struct candidates *c, const struct net_device *ndev,
			  const struct in6_addr *ip)
{
	if (c->num < ARRAY_SIZE(c->list))
		c->list[c->num++] = (struct candidate){ *ip, ndev->ifindex };
}

static void add_ipv4(struct candidates *c, const struct net_device *ndev)
{
	const struct in_device *in_dev = __in_dev_get_rcu(ndev);
	unsigned int left = MAX_OF_FAMILY;
	const struct in_ifaddr *ifa;
	struct in6_addr ip;

	if (!in_dev)
		return;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (!left--)
			break;
		ipv6_addr_set_v4mapped(ifa->ifa_local, &ip);
		add_candidate(c, ndev, &ip);
	}
}

static void add_ipv6(struct candidates *c, const struct net_device *ndev)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *in6_dev = __in6_dev_get(ndev);
	unsigned int left = MAX_OF_FAMILY;
	const struct inet6_ifaddr *ifp;

	if (!in6_dev)
		return;
	read_lock_bh(&in6_dev->lock);
	list_for_each_entry(ifp, &in6_dev->addr_list, if_list) {
		if (!left--)
			break;
		if (!(ifp->flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)))
			add_candidate(c, ndev, &ifp->addr);
	}
	read_unlock_bh(&in6_dev->lock);
#endif
}

/* Does the interface have the hardware address of the port? In an RCU section. */
static bool has_hw_addr(struct dat_ia *ia, const struct net_device *ndev)
{
	bool is_ib = ndev->type == ARPHRD_INFINIBAND;
	struct ib_device *ibdev = dat_ia_ibdev(ia);
	const struct ib_gid_attr *found;
	union ib_gid gid;

	if (is_ib != rdma_protocol_ib(ibdev, ia->port))
		return false;
	memcpy(&gid, ndev->dev_addr + (is_ib ? 4 : 0), sizeof(gid));
	found = rdma_find_gid_by_port(ibdev, &gid, IB_GID_TYPE_IB, ia->port, NULL);
	if (IS_ERR(found))
		return false;
	rdma_put_gid_attr(found);
	return true;
}

/*
 * Since Linux 6.6 the GID of an iWARP port names the interface, and rdma_cm accepts no
 * other. Otherwise rdma_cm accepts each interface that has the hardware address: also
 * VLANs and child interfaces of IPoIB.
 */
static void collect(struct dat_ia *ia, struct candidates *c)
{
	const struct ib_gid_attr *gid = rdma_get_gid_attr(dat_ia_ibdev(ia), ia->port, 0);
	const struct net_device *only = NULL;
	struct net_device *ndev;

	c->num = 0;
	rcu_read_lock();
	if (!IS_ERR(gid))
		only = rcu_dereference(gid->ndev);
	for_each_netdev_rcu(ia->net, ndev) {
		if (only ? ndev != only : !has_hw_addr(ia, ndev))
			continue;
		add_ipv4(c, ndev);
		add_ipv6(c, ndev);
	}
	rcu_read_unlock();
	if (!IS_ERR(gid))
		rdma_put_gid_attr(gid);
}

/* On iWARP and InfiniBand. See try_candidate(). */
static int try_interfaces(struct dat_ia *ia)
{
	struct candidates c;
	enum kind kind;
	unsigned int i;
	int ret;

	collect(ia, &c);
	for (kind = 0; kind < NUM_KINDS; kind++) {
		for (i = 0; i < c.num; i++) {
			if (kind_of(&c.list[i].ip) != kind)
				continue;
			ret = try_candidate(ia, &c.list[i]);
			if (ret != -ENODEV)
				return ret;
		}
	}
	return -ENODEV;
}

/* Return 0, even if the IA has no address; -ENOMEM, also if it has to stop. */
static int search(struct dat_ia *ia)
{
	int ret = rdma_protocol_roce(dat_ia_ibdev(ia), ia->port) ?
			  try_gids(ia) : try_interfaces(ia);

	if (ret != -ENODEV)
		return ret;
	/* Pairs with dat_addr(). */
	smp_store_release(&ia->addr, &no_addr);
	return 0;
}

/**
 * dat_addr - return the current address of an IA
 * @ia: the IA
 *
 * Context: any.
 * Return: the address, of family AF_UNSPEC if there is none; never NULL. The address
 * stays unchanged until the IA is freed, even if the IA receives another one.
 */
const struct sockaddr_storage *dat_addr(struct dat_ia *ia)
{
	/* Pairs with set_addr(). */
	return smp_load_acquire(&ia->addr);
}

/**
 * dat_addr_find - find the IA's address, unless the known one is still valid
 * @ia: the IA; the caller holds a live reference to it, or is opening it. dat_addr()
 *	returns the address afterwards.
 *
 * An address that is still valid remains the IA's, even if the port has others.
 *
 * Context: process, may sleep.
 * Return: 0, even if the IA has no address; -ENOMEM, then nothing has changed, also if the
 * device is being removed or the process killed meanwhile.
 */
int dat_addr_find(struct dat_ia *ia)
{
	int generation = atomic_read(&addr_generation);
	int ret = 0;

	/* The generation is 0 if the IA has no settled address. */
	if (READ_ONCE(ia->addr_generation) == generation)
		return 0;
	if (mutex_lock_killable(&ia->addr_lock))
		return -ENOMEM;
	if (ia->addr_generation == generation)
		goto unlock;
	/* The removal of the device must not wait for each thread that waited here. */
	ret = -ENOMEM;
	if (must_stop(ia))
		goto unlock;
	ret = ia->addr_settled ? addr_leads_to(ia, dat_addr(ia)) : -ENODEV;
	if (ret && ret != -ENOMEM) {
		ia->addr_settled = false;
		ret = search(ia);
	}
	/* The next call sees a change that happened since the generation was read. */
	if (!ret)
		WRITE_ONCE(ia->addr_generation,
			   ia->addr_settled ? generation : 0);
unlock:
	mutex_unlock(&ia->addr_lock);
	return ret;
}

/**
 * dat_addr_init - initialise an IA that has no address yet
 * @ia: the IA
 */
void dat_addr_init(struct dat_ia *ia)
{
	mutex_init(&ia->addr_lock);
	INIT_LIST_HEAD(&ia->addrs);
	ia->addr = &no_addr;
}

/**
 * dat_addr_destroy - free all addresses that an IA has had
 * @ia: the IA; no other thread uses it
 *
 * Context: any.
 */
void dat_addr_destroy(struct dat_ia *ia)
{
	struct dat_ia_addr *a, *next;

	list_for_each_entry_safe(a, next, &ia->addrs, node)
		kfree(a);
}

/**
 * dat_addr_register - subscribe to changes of interface addresses
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int dat_addr_register(void)
{
	int ret = register_inetaddr_notifier(&inet_notifier);

	if (ret)
		return ret;
	ret = register_inet6addr_notifier(&inet6_notifier);
	if (ret)
		unregister_inetaddr_notifier(&inet_notifier);
	return ret;
}

/**
 * dat_addr_unregister - reverse dat_addr_register()
 *
 * Context: process, may sleep.
 */
void dat_addr_unregister(void)
{
	unregister_inet6addr_notifier(&inet6_notifier);
	unregister_inetaddr_notifier(&inet_notifier);
}

/**
 * dat_addr_size - return the size of an address
 * @addr: the address
 *
 * Return: the size in bytes, 0 if the family is neither IPv4 nor IPv6.
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
 * dat_addr_is_valid - can a consumer connect to this address?
 * @addr: the address
 *
 * Return: false for families other than IPv4 and IPv6, and for addresses that name no
 * host.
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

/*
 * Qualifiers above the ports, as OpenFabrics' DAPL maps them: to the highest ports. Both ends
 * must map alike, so the numbers are part of the wire format.
 */
#define QUAL_PORTS	32001
#define FIRST_QUAL_PORT	33534

/**
 * dat_qual_port - convert a connection qualifier to a port of RDMA_PS_TCP
 * @qual: the qualifier, not 0
 *
 * Context: any.
 * Return: the port, in host order: @qual up to 65535, above from 33534 to 65534.
 */
u16 dat_qual_port(DAT_CONN_QUAL qual)
{
	if (qual <= U16_MAX)
		return qual;
	return FIRST_QUAL_PORT + do_div(qual, QUAL_PORTS);
}

/**
 * dat_addr_port - return the port of an address
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

/**
 * dat_addr_is_equal - are two addresses and their ports the same?
 * @a: an address
 * @b: another address
 *
 * Only addresses of which both have a scope differ by it: rdma_cm reports none.
 *
 * Return: true if so; false for families other than IPv4 and IPv6.
 */
bool dat_addr_is_equal(const struct sockaddr_storage *a,
		       const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family != b->ss_family || dat_addr_port(a) != dat_addr_port(b))
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a->ss_family == AF_INET6 &&
	       ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr) &&
	       (!a6->sin6_scope_id || !b6->sin6_scope_id ||
		a6->sin6_scope_id == b6->sin6_scope_id);
}
