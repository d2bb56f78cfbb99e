// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * addr.c - finds the IP address of an IA and follows its changes
 *
 * The transport determines which address leads to which port of which device. rdma_cm
 * implements this mapping for all transports: an address belongs to an IA if an id
 * bound to it lands on the IA's port. Consumers keep pointers to the address. Each
 * address that an IA has had therefore stays unchanged until the IA is freed; only the
 * current one changes. Calls that need the address call dat_addr_find() in process
 * context.
 */
#include <linux/inetdevice.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/rdma_cm.h>

#include "dev/addr.h"
#include "dev/device.h"
#include "dev/ia.h"

/* Spare room for addresses that appear between counting and collecting. */
#define SPARE_CANDIDATES	16

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
 * @addr: the address
 * @ifindex: index of the interface that has the address
 */
struct candidate {
	struct sockaddr_storage addr;
	int ifindex;
};

/**
 * struct candidates - addresses of the interfaces of a network namespace
 * @num: number of addresses found; may exceed @max
 * @max: capacity of @list
 * @list: the first @max addresses
 */
struct candidates {
	unsigned int num;
	unsigned int max;
	struct candidate *list;
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

/* Return a zeroed entry; if the list is full, only count the address and return NULL. */
static void *next_candidate(struct net_device *ndev, struct candidates *c)
{
	unsigned int i = c->num++;

	if (i >= c->max)
		return NULL;
	memset(&c->list[i], 0, sizeof(c->list[i]));
	c->list[i].ifindex = ndev->ifindex;
	return &c->list[i].addr;
}

static void collect_ipv4(struct net_device *ndev, struct candidates *c)
{
	struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		struct sockaddr_in *sin = next_candidate(ndev, c);

		if (!sin)
			continue;
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
		sin6 = next_candidate(ndev, c);
		if (!sin6)
			continue;
		sin6->sin6_family = AF_INET6;
		sin6->sin6_addr = ifp->addr;
		if (ipv6_addr_type(&ifp->addr) & IPV6_ADDR_LINKLOCAL)
			sin6->sin6_scope_id = ndev->ifindex;
	}
	read_unlock_bh(&in6_dev->lock);
#endif
}

/* IPv4 addresses come first, because administrators type those. */
static void collect(struct net *net, struct candidates *c)
{
	struct net_device *ndev;

	c->num = 0;
	rcu_read_lock();
	for_each_netdev_rcu(net, ndev)
		collect_ipv4(ndev, c);
	for_each_netdev_rcu(net, ndev)
		collect_ipv6(ndev, c);
	rcu_read_unlock();
}

/*
 * A process decides how many addresses its network namespace has. It must be possible to
 * kill it, and to remove the device, meanwhile.
 */
static bool must_stop(const struct dat_ia *ia)
{
	return fatal_signal_pending(current) || READ_ONCE(ia->dev->removed);
}

/* Collect all addresses, in as many passes as needed. Return 0 or -ENOMEM. */
static int collect_all(const struct dat_ia *ia, struct candidates *c)
{
	*c = (struct candidates){};
	for (;;) {
		collect(ia->net, c);
		if (c->num <= c->max)
			return 0;
		kvfree(c->list);
		c->list = NULL;
		if (must_stop(ia))
			return -ENOMEM;
		c->max = c->num + c->num / 4 + SPARE_CANDIDATES;
		c->list = kvcalloc(c->max, sizeof(*c->list), GFP_KERNEL_ACCOUNT);
		if (!c->list)
			return -ENOMEM;
		cond_resched();
	}
}

static int no_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

/* Return 0 if the address leads to the IA's port; -ENOMEM if that is unknown. */
static int addr_leads_to(struct dat_ia *ia, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage copy = *addr;
	struct rdma_cm_id *id;
	int ret;

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
	a = kmalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);
	if (!a)
		return -ENOMEM;
	a->addr = *addr;
	list_add(&a->node, &ia->addrs);
set:
	/* Pairs with dat_addr(): a reader sees the address completely filled in. */
	smp_store_release(&ia->addr, &a->addr);
	return 0;
}

/*
 * A device learns an address a moment after its interface has received it. An earlier
 * candidate of the same interface may therefore still become the IA's address.
 */
static bool is_settled(const struct candidates *c, unsigned int found)
{
	unsigned int i;

	for (i = 0; i < found; i++)
		if (c->list[i].ifindex == c->list[found].ifindex)
			return false;
	return true;
}

/* Return 0, even if the IA has no address; -ENOMEM, also if it has to stop. */
static int search(struct dat_ia *ia)
{
	struct candidates c;
	unsigned int i;
	int ret;

	ret = collect_all(ia, &c);
	if (ret)
		return ret;
	for (i = 0; i < c.num; i++) {
		ret = must_stop(ia) ? -ENOMEM : addr_leads_to(ia, &c.list[i].addr);
		/*
		 * Stop at -ENOMEM: peers may know the address that could not be
		 * checked.
		 */
		if (!ret || ret == -ENOMEM)
			break;
		cond_resched();
	}
	if (i == c.num) {
		/* Pairs with dat_addr(). */
		smp_store_release(&ia->addr, &no_addr);
		ret = 0;
	} else if (!ret) {
		ia->addr_settled = is_settled(&c, i);
		ret = set_addr(ia, &c.list[i].addr);
	}
	kvfree(c.list);
	return ret;
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
	mutex_lock(&ia->addr_lock);
	if (ia->addr_generation == generation)
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
