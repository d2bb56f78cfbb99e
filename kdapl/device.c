// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * device.c - follows the RDMA devices of the host as they come and go
 */
#include <linux/ctype.h>
#include <linux/kstrtox.h>
#include <linux/slab.h>

#include "device.h"
#include "ia.h"

static LIST_HEAD(dat_devs);
static DEFINE_MUTEX(dat_devs_lock);

static void dev_release(struct kref *ref)
{
	kfree(container_of(ref, struct dat_dev, ref));
}

/**
 * dat_dev_put - give a reference back
 * @dev: the device
 */
void dat_dev_put(struct dat_dev *dev)
{
	kref_put(&dev->ref, dev_release);
}

/**
 * dat_dev_max_pages - pages that one fast registration can map
 * @ibdev: the device
 *
 * Return: the number, 0 if the device has no fast registrations.
 */
u32 dat_dev_max_pages(const struct ib_device *ibdev)
{
	if (!(ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) ||
	    !ibdev->attrs.max_fast_reg_page_list_len)
		return 0;
	return min_t(u32, ibdev->attrs.max_fast_reg_page_list_len - 1,
		     DAT_MAX_FRWR_PAGES);
}

/**
 * dat_dev_quirks - the defects of a driver that have to be got round
 * @ibdev: the device
 *
 * Context: any.
 * Return: of enum dat_quirk.
 */
u32 dat_dev_quirks(const struct ib_device *ibdev)
{
	switch (ibdev->ops.driver_id) {
	case RDMA_DRIVER_RXE:
		/*
		 * When it sends a message again it carries out once more the
		 * registrations behind it, and fails.
		 */
		return DAT_QUIRK_INVALIDATE_FIRST;
	case RDMA_DRIVER_SIW:
		/*
		 * From one segment to the next it goes on counting in the page
		 * list of the first, and sends what lies in front of a page of
		 * the second, whosever that is. It gives TCP the pages
		 * themselves if nothing is signalled. It never asks whether a
		 * peer may read. What comes behind a read completes in front of
		 * it, and a read that is flushed when it was about to be sent
		 * completes twice.
		 */
		return DAT_QUIRK_ONE_SEGMENT | DAT_QUIRK_SIGNAL_ALL |
		       DAT_QUIRK_UNCHECKED_READS | DAT_QUIRK_UNORDERED;
	default:
		return 0;
	}
}

/**
 * dat_dev_max_send_sge - segments that a Send or an RDMA write can have
 * @ibdev: the device
 *
 * Return: the number.
 */
int dat_dev_max_send_sge(const struct ib_device *ibdev)
{
	return dat_dev_quirks(ibdev) & DAT_QUIRK_ONE_SEGMENT ?
		       1 : ibdev->attrs.max_send_sge;
}

/**
 * dat_dev_alloc_mr - allocate an MR for fast registrations
 * @pd: its PD
 * @num_pages: pages that it must be able to map, at most dat_dev_max_pages()
 *
 * It has room for one more: rxe of 6.1, when it has copied up to the end of an
 * MR whose list of pages is full, looks at what comes behind the list.
 *
 * Context: process, may sleep.
 * Return: the MR, for ib_dereg_mr(), or an ERR_PTR().
 */
struct ib_mr *dat_dev_alloc_mr(struct ib_pd *pd, u32 num_pages)
{
	return ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, num_pages + 1);
}

/* The rest of an IA's name behind the device's: "" or ":" and a port. */
static bool parse_port(const char *rest, u32 num_ports, u32 *port)
{
	*port = 1;
	if (!*rest)
		return num_ports == 1;
	return rest[0] == ':' && isdigit(rest[1]) &&
	       !kstrtou32(rest + 1, 10, port) && *port >= 1 &&
	       *port <= num_ports;
}

/**
 * dat_dev_get - find the device of an IA by the IA's name
 * @name: the device's name, with ":port" where it has more than one port
 * @net: network namespace from which it must be visible
 * @port: out: the port
 *
 * Context: process, may sleep.
 * Return: the device, for dat_dev_put(), or NULL.
 */
struct dat_dev *dat_dev_get(const char *name, struct net *net, u32 *port)
{
	struct dat_dev *dev, *found = NULL;
	size_t len;

	mutex_lock(&dat_devs_lock);
	list_for_each_entry(dev, &dat_devs, node) {
		len = strlen(dev_name(&dev->ibdev->dev));
		if (strncmp(name, dev_name(&dev->ibdev->dev), len) ||
		    !parse_port(name + len, dev->ibdev->phys_port_cnt, port) ||
		    !rdma_dev_access_netns(dev->ibdev, net))
			continue;
		kref_get(&dev->ref);
		found = dev;
		break;
	}
	mutex_unlock(&dat_devs_lock);
	return found;
}

/**
 * dat_dev_add_ia - an IA was opened
 * @dev: the device
 * @ia: the IA
 *
 * Context: process, may sleep.
 * Return: false if the device has just gone.
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
 * dat_dev_del_ia - an IA is closed
 * @dev: the device
 * @ia: the IA
 *
 * To be called when nothing of the device is left in it. Context: process, may sleep.
 */
void dat_dev_del_ia(struct dat_dev *dev, struct dat_ia *ia)
{
	mutex_lock(&dev->lock);
	list_del_init(&ia->dev_node);
	mutex_unlock(&dev->lock);
}

static void dev_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct dat_dev *dev =
		container_of(handler, struct dat_dev, event_handler);
	struct dat_ia *ia;

	if (event->event != IB_EVENT_DEVICE_FATAL)
		return;

	mutex_lock(&dev->lock);
	list_for_each_entry(ia, &dev->ias, dev_node)
		dat_ia_async_event(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC,
				   ia->obj.handle, DAT_IA_CATASTROPHIC_ERROR);
	mutex_unlock(&dev->lock);
}

static int dev_add(struct ib_device *ibdev);
static void dev_remove(struct ib_device *ibdev, void *client_data);

static struct ib_client dat_client = {
	.name	= "kdapl",
	.add	= dev_add,
	.remove	= dev_remove,
};

static int dev_add(struct ib_device *ibdev)
{
	struct dat_dev *dev;

	/* Without fast registrations there are no RMRs; say so once. */
	if (!dat_dev_max_pages(ibdev)) {
		pr_info("kdapl: %s has no fast registrations, not used\n",
			dev_name(&ibdev->dev));
		return -EOPNOTSUPP;
	}

	/* Privileges are a promise to the consumer, which it cannot keep. */
	if (dat_dev_quirks(ibdev) & DAT_QUIRK_UNCHECKED_READS)
		pr_info("kdapl: %s does not check whether a peer may read\n",
			dev_name(&ibdev->dev));

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;

	dev->ibdev = ibdev;
	kref_init(&dev->ref);
	mutex_init(&dev->lock);
	INIT_LIST_HEAD(&dev->ias);
	INIT_IB_EVENT_HANDLER(&dev->event_handler, ibdev, dev_event);
	ib_register_event_handler(&dev->event_handler);
	ib_set_client_data(ibdev, &dat_client, dev);

	mutex_lock(&dat_devs_lock);
	list_add_tail(&dev->node, &dat_devs);
	mutex_unlock(&dat_devs_lock);
	return 0;
}

/* The next IA to unplug, referenced; no new ones come. */
static struct dat_ia *dev_take_ia(struct dat_dev *dev)
{
	struct dat_ia *ia;

	mutex_lock(&dev->lock);
	dev->removed = true;
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

	/* An IA that is being opened or closed is waited for. */
	while ((ia = dev_take_ia(dev))) {
		dat_ia_unplug(ia);
		dat_object_put(&ia->obj);
	}
	dat_dev_put(dev);
}

/**
 * dat_dev_register_client - begin to follow the devices
 *
 * Return: 0 or a negative errno.
 */
int dat_dev_register_client(void)
{
	return ib_register_client(&dat_client);
}

/**
 * dat_dev_unregister_client - let go of all devices
 */
void dat_dev_unregister_client(void)
{
	ib_unregister_client(&dat_client);
}
