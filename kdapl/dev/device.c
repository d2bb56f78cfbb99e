// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * device.c - tracks the RDMA devices of the host
 *
 * Owns the list of devices. ib_core calls dev_add() and dev_remove() when it registers
 * or unregisters a device, and reports fatal errors to dev_event(). Calls look up
 * devices by IA name. Removal unplugs every open IA of the device and waits for each.
 * All functions but dat_dev_put() run in process context.
 */
#include <linux/ctype.h>
#include <linux/kstrtox.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "dev/device.h"
#include "dev/ia.h"

static LIST_HEAD(dat_devs);
static DEFINE_MUTEX(dat_devs_lock);

static void dev_release(struct kref *ref)
{
	kfree(container_of(ref, struct dat_dev, ref));
}

/**
 * dat_dev_put - return a reference
 * @dev: the device
 */
void dat_dev_put(struct dat_dev *dev)
{
	kref_put(&dev->ref, dev_release);
}

/* Parse the part of an IA's name behind the device's name: "" or ":" and a port. */
static bool parse_port(const char *rest, u32 num_ports, u32 *port)
{
	*port = 1;
	if (!*rest)
		return num_ports == 1;
	return rest[0] == ':' && isdigit(rest[1]) &&
	       !kstrtou32(rest + 1, 10, port) && *port >= 1 &&
	       *port <= num_ports;
}

static struct dat_dev *find_dev(const char *name, u32 *port)
{
	struct dat_dev *dev;
	size_t len;

	lockdep_assert_held(&dat_devs_lock);
	list_for_each_entry(dev, &dat_devs, node) {
		len = strlen(dev->name);
		if (!strncmp(name, dev->name, len) &&
		    parse_port(name + len, dev->ibdev->phys_port_cnt, port))
			return dev;
	}
	return NULL;
}

static bool is_offered(const struct dat_dev *dev, u32 port, struct net *net)
{
	/* A device can have ports of raw Ethernet beside those of RoCE. */
	return port <= DAT_MAX_PORTS && !test_bit(port, dev->withdrawn) &&
	       !rdma_protocol_raw_packet(dev->ibdev, port) &&
	       rdma_dev_access_netns(dev->ibdev, net);
}

/**
 * dat_dev_get - look up the device of an IA by the IA's name
 * @name: the device's name, followed by ":port" if the device has several ports
 * @net: network namespace to which the device must be visible
 * @port: out: the port, from 1
 *
 * Context: process, may sleep.
 * Return: the device, for dat_dev_put(), or NULL.
 */
struct dat_dev *dat_dev_get(const char *name, struct net *net, u32 *port)
{
	struct dat_dev *dev;

	mutex_lock(&dat_devs_lock);
	dev = find_dev(name, port);
	if (dev && is_offered(dev, *port, net))
		kref_get(&dev->ref);
	else
		dev = NULL;
	mutex_unlock(&dat_devs_lock);
	return dev;
}

/**
 * dat_dev_has_name - is this the name of an IA?
 * @name: the name
 *
 * The network namespace of the device does not matter.
 *
 * Context: process, may sleep.
 * Return: true if it is.
 */
bool dat_dev_has_name(const char *name)
{
	bool found;
	u32 port;

	mutex_lock(&dat_devs_lock);
	found = find_dev(name, &port);
	mutex_unlock(&dat_devs_lock);
	return found;
}

/**
 * dat_dev_offer - offer an IA to consumers, or withdraw it
 * @name: name of the IA; an unknown name has no effect
 * @offer: true to offer the IA, false to withdraw it
 *
 * Context: process, may sleep.
 */
void dat_dev_offer(const char *name, bool offer)
{
	struct dat_dev *dev;
	u32 port;

	mutex_lock(&dat_devs_lock);
	dev = find_dev(name, &port);
	if (dev && port <= DAT_MAX_PORTS)
		assign_bit(port, dev->withdrawn, !offer);
	mutex_unlock(&dat_devs_lock);
}

/**
 * dat_dev_name - report the name of a device
 * @dev: the device
 * @name: out: the name, IB_DEVICE_NAME_MAX bytes
 *
 * Context: process, may sleep.
 */
void dat_dev_name(const struct dat_dev *dev, char *name)
{
	mutex_lock(&dat_devs_lock);
	strscpy(name, dev->name, IB_DEVICE_NAME_MAX);
	mutex_unlock(&dat_devs_lock);
}

/* Writes the name of an IA for dat_ia_open(). */
static void ia_name(const struct dat_dev *dev, u32 port, char *name)
{
	lockdep_assert_held(&dat_devs_lock);
	if (dev->ibdev->phys_port_cnt == 1)
		strscpy(name, dev->name, DAT_NAME_MAX_LENGTH);
	else
		snprintf(name, DAT_NAME_MAX_LENGTH, "%s:%u", dev->name, port);
}

/**
 * dat_dev_ia_name - report the name of an IA
 * @dev: the device
 * @port: its port, from 1
 * @name: out: the name for dat_ia_open(), DAT_NAME_MAX_LENGTH bytes
 *
 * Context: process, may sleep.
 */
void dat_dev_ia_name(const struct dat_dev *dev, u32 port, char *name)
{
	mutex_lock(&dat_devs_lock);
	ia_name(dev, port, name);
	mutex_unlock(&dat_devs_lock);
}

static void fill_info(const struct dat_dev *dev, u32 port,
		      DAT_PROVIDER_INFO *info)
{
	memset(info, 0, sizeof(*info));
	ia_name(dev, port, info->ia_name);
	info->dapl_version_major = DAT_VERSION_MAJOR;
	info->dapl_version_minor = DAT_VERSION_MINOR;
	info->is_thread_safe = DAT_TRUE;
}

/**
 * dat_dev_list - list the IAs
 * @net: network namespace to which they must be visible
 * @list: out: the IAs; entries beyond @max are only counted
 * @max: number of pointers in @list
 *
 * Context: process, may sleep.
 * Return: the number of IAs.
 */
DAT_COUNT dat_dev_list(struct net *net, DAT_PROVIDER_INFO *list[],
		       DAT_COUNT max)
{
	struct dat_dev *dev;
	DAT_COUNT num = 0;
	u32 port;

	mutex_lock(&dat_devs_lock);
	list_for_each_entry(dev, &dat_devs, node) {
		for (port = 1; port <= dev->ibdev->phys_port_cnt; port++) {
			if (!is_offered(dev, port, net))
				continue;
			if (num < max && list[num])
				fill_info(dev, port, list[num]);
			num++;
		}
	}
	mutex_unlock(&dat_devs_lock);
	return num;
}

/**
 * dat_dev_add_ia - add an opened IA to its device
 * @dev: the device
 * @ia: the IA
 *
 * Context: process, may sleep.
 * Return: false if the device has just been removed.
 */
bool dat_dev_add_ia(struct dat_dev *dev, struct dat_ia *ia)
{
	bool ok;

	mutex_lock(&dev->lock);
	ok = !dev->removed;
	if (ok)
		list_add_tail(&ia->dev_node, &dev->ias);
	mutex_unlock(&dev->lock);
	return ok;
}

/**
 * dat_dev_del_ia - remove a closed IA from its device
 * @dev: the device
 * @ia: the IA; it holds no more device resources
 *
 * Context: process, may sleep.
 */
void dat_dev_del_ia(struct dat_dev *dev, struct dat_ia *ia)
{
	mutex_lock(&dev->lock);
	list_del_init(&ia->dev_node);
	mutex_unlock(&dev->lock);
}

/*
 * Not at each query of an IA: it would take the RTNL, and rxe and siw write to the kernel
 * log at each query if the speed of a port is unknown.
 */
static int query_port(struct dat_dev *dev, u32 port, struct ib_port_attr *attr)
{
	int err = ib_query_port(dev->ibdev, port, attr);

	if (!err && port <= DAT_MAX_PORTS)
		WRITE_ONCE(dev->mtu[port], attr->active_mtu);
	return err;
}

/* The longest message never changes. */
static int query_ports(struct dat_dev *dev)
{
	struct ib_port_attr attr;
	u32 port;
	int err;

	dev->max_message = U32_MAX;
	rdma_for_each_port(dev->ibdev, port) {
		err = query_port(dev, port, &attr);
		if (err)
			return err;
		dev->max_message = min(dev->max_message, attr.max_msg_sz);
	}
	return 0;
}

static void dev_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct dat_dev *dev =
		container_of(handler, struct dat_dev, event_handler);
	struct ib_port_attr attr;
	struct dat_ia *ia;

	if (event->event == IB_EVENT_PORT_ACTIVE)
		query_port(dev, event->element.port_num, &attr);
	if (event->event != IB_EVENT_DEVICE_FATAL)
		return;

	mutex_lock(&dev->lock);
	list_for_each_entry(ia, &dev->ias, dev_node)
		dat_ia_async_event(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC,
				   ia->obj.handle, DAT_IA_CATASTROPHIC_ERROR);
	mutex_unlock(&dev->lock);
}

static struct ib_client dat_client;

static int dev_add(struct ib_device *ibdev)
{
	const char *refusal = dat_dev_refusal(ibdev);
	struct dat_dev *dev;
	int err;

	if (refusal) {
		pr_info("kdapl: %s is not used: %s\n", ibdev->name, refusal);
		return -EOPNOTSUPP;
	}
	if (dat_dev_quirks(ibdev) & DAT_QUIRK_UNKNOWN_DRIVER)
		pr_info("kdapl: %s has a driver that kdapl does not know; large pages, fences and large regions are not used\n",
			ibdev->name);

	/* Warn: the consumer relies on privileges that this device does not enforce. */
	if (dat_dev_quirks(ibdev) & DAT_QUIRK_UNCHECKED_READS)
		pr_info("kdapl: %s does not check whether a peer may read\n",
			ibdev->name);

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;

	dev->ibdev = ibdev;
	err = query_ports(dev);
	if (err) {
		pr_warn("kdapl: %s is not used, its ports cannot be queried: error %d\n",
			ibdev->name, err);
		kfree(dev);
		return err;
	}
	dev->needs_sync = dat_dev_needs_sync(ibdev);
	kref_init(&dev->ref);
	mutex_init(&dev->lock);
	INIT_LIST_HEAD(&dev->ias);
	INIT_IB_EVENT_HANDLER(&dev->event_handler, ibdev, dev_event);
	ib_register_event_handler(&dev->event_handler);
	ib_set_client_data(ibdev, &dat_client, dev);

	mutex_lock(&dat_devs_lock);
	strscpy(dev->name, ibdev->name, sizeof(dev->name));
	list_add_tail(&dev->node, &dat_devs);
	mutex_unlock(&dat_devs_lock);
	return 0;
}

/* Return the next IA to unplug, referenced. No IA can be added any more. */
static struct dat_ia *dev_take_ia(struct dat_dev *dev)
{
	struct dat_ia *ia;

	mutex_lock(&dev->lock);
	/* Searches for an address read it without the lock. */
	WRITE_ONCE(dev->removed, true);
	ia = list_first_entry_or_null(&dev->ias, struct dat_ia, dev_node);
	if (ia) {
		list_del_init(&ia->dev_node);
		kref_get(&ia->obj.ref);
	}
	mutex_unlock(&dev->lock);
	return ia;
}

static void dev_remove(struct ib_device *ibdev, void *client_data)
{
	struct dat_dev *dev = client_data;
	struct dat_ia *ia;

	mutex_lock(&dat_devs_lock);
	list_del(&dev->node);
	mutex_unlock(&dat_devs_lock);
	ib_unregister_event_handler(&dev->event_handler);

	/* dat_ia_unplug() waits for a concurrent open or close of the IA. */
	while ((ia = dev_take_ia(dev))) {
		dat_ia_unplug(ia);
		dat_object_put(&ia->obj);
	}
	dat_dev_put(dev);
}

/* ib_core serialises changes of the name. */
static void dev_rename(struct ib_device *ibdev, void *client_data)
{
	struct dat_dev *dev = client_data;

	mutex_lock(&dat_devs_lock);
	strscpy(dev->name, ibdev->name, sizeof(dev->name));
	mutex_unlock(&dat_devs_lock);
}

static struct ib_client dat_client = {
	.name	= "kdapl",
	.add	= dev_add,
	.rename	= dev_rename,
	.remove	= dev_remove,
};

/**
 * dat_dev_register_client - register with ib_core to track the devices
 *
 * Return: 0 or a negative errno.
 */
int dat_dev_register_client(void)
{
	return ib_register_client(&dat_client);
}

/**
 * dat_dev_unregister_client - unregister from ib_core and release all devices
 */
void dat_dev_unregister_client(void)
{
	ib_unregister_client(&dat_client);
}
