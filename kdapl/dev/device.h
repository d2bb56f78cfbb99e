/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * device.h - the RDMA devices of the host, as interface adapters
 */
#ifndef _KDAPL_DEVICE_H
#define _KDAPL_DEVICE_H

#include <linux/bitmap.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include <dat/dat_ib_extensions.h>

struct dat_ia;
struct net;

/* More than any device has. */
#define DAT_MAX_PORTS	255

/**
 * struct dat_dev - an RDMA device
 * @ibdev: the device, valid until it is removed
 * @node: in the list of devices
 * @ref: one of the list, one of each open IA
 * @lock: guards @ias and @removed
 * @ias: IAs that are open on it
 * @removed: no more can be opened
 * @withdrawn: ports that are not offered; under the lock of the list
 * @needs_sync: what dat_dev_needs_sync() has said
 * @max_message: bytes of the longest message on any port
 * @event_handler: for events that concern the device as a whole
 */
struct dat_dev {
	struct ib_device *ibdev;
	struct list_head node;
	struct kref ref;
	struct mutex lock;
	struct list_head ias;
	bool removed;
	DECLARE_BITMAP(withdrawn, DAT_MAX_PORTS + 1);
	bool needs_sync;
	u32 max_message;
	struct ib_event_handler event_handler;
};

/**
 * enum dat_quirk - what has to be done because of a driver's defects
 * @DAT_QUIRK_INVALIDATE_FIRST: a registration must wait for what was posted
 *	before it, and only an invalidation does
 * @DAT_QUIRK_ONE_SEGMENT: Sends and RDMA writes may have only one segment
 * @DAT_QUIRK_SIGNAL_ALL: memory is not given back when a request completes,
 *	unless that was signalled
 * @DAT_QUIRK_UNCHECKED_READS: peers can read whatever is registered
 * @DAT_QUIRK_UNORDERED: requests do not complete in the order posted, and some
 *	twice; every one is signalled
 * @DAT_QUIRK_LARGE_PAGES_SLEEP: ib_map_mr_sg() may sleep, unless for pages of
 *	dat_dev_page_size()
 * @DAT_QUIRK_PIECES: an MR holds so many pieces of any length, not so many
 *	pages
 * @DAT_QUIRK_NO_LAST_WQE: does not tell when a QP has completed the last of the
 *	buffers that it has taken from an SRQ, or not always
 * @DAT_QUIRK_SRQ_FORGETS: a buffer of an SRQ into which a message is coming
 *	never completes when the connection ends; and is told of every one taken
 * @DAT_QUIRK_SRQ_SAME_PZ: looks for buffers of an SRQ in the PD of the QP
 * @DAT_QUIRK_NO_READ_FENCE: an RDMA read with a fence ends the connection
 * @DAT_QUIRK_NO_SOLICITED: no receive ever counts as solicited
 * @DAT_QUIRK_LATE_WRITES: goes on writing to deregistered memory what it was
 *	writing in softirq
 * @DAT_QUIRK_LATE_ANSWERS: completes a request of the peer, or one that has failed,
 *	before it answers the peer; with a QP that has failed it does not answer
 * @DAT_QUIRK_MISSED_EVENTS: what completes while a CQ is being armed may neither be
 *	reported as missed nor be told of
 */
enum dat_quirk {
	DAT_QUIRK_INVALIDATE_FIRST	= BIT(0),
	DAT_QUIRK_ONE_SEGMENT		= BIT(1),
	DAT_QUIRK_SIGNAL_ALL		= BIT(2),
	DAT_QUIRK_UNCHECKED_READS	= BIT(3),
	DAT_QUIRK_UNORDERED		= BIT(4),
	DAT_QUIRK_LARGE_PAGES_SLEEP	= BIT(5),
	DAT_QUIRK_PIECES		= BIT(6),
	DAT_QUIRK_NO_LAST_WQE		= BIT(7),
	DAT_QUIRK_SRQ_SAME_PZ		= BIT(8),
	DAT_QUIRK_SRQ_FORGETS		= BIT(9),
	DAT_QUIRK_NO_READ_FENCE		= BIT(10),
	DAT_QUIRK_NO_SOLICITED		= BIT(11),
	DAT_QUIRK_LATE_WRITES		= BIT(12),
	DAT_QUIRK_MISSED_EVENTS		= BIT(13),
	DAT_QUIRK_LATE_ANSWERS		= BIT(14),
};

/* Pages of one fast registration that a window, or an LMR, may have. */
#define DAT_MAX_FRWR_PAGES	511
#define DAT_MAX_LMR_PAGES	65535

/* Can peers do atomic operations on memory that is registered with it? */
static inline bool dat_dev_has_atomics(const struct ib_device *ibdev)
{
	return ibdev->attrs.atomic_cap != IB_ATOMIC_NONE;
}

/* Can it let peers do all that? */
static inline DAT_RETURN dat_dev_check_priv(const struct ib_device *ibdev,
					    DAT_MEM_PRIV_FLAGS privileges)
{
	if (privileges & DAT_IB_MEM_PRIV_REMOTE_ATOMIC &&
	    !dat_dev_has_atomics(ibdev))
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

/* The device for the rdma cgroup, or NULL. */
static inline struct rdmacg_device *dat_dev_cgroup(const struct dat_dev *dev)
{
#ifdef CONFIG_CGROUP_RDMA
	return &dev->ibdev->cg_device;
#else
	return NULL;
#endif
}

int dat_dev_register_client(void);
void dat_dev_unregister_client(void);
struct dat_dev *dat_dev_get(const char *name, struct net *net, u32 *port);
bool dat_dev_has_name(const char *name);
void dat_dev_offer(const char *name, bool offer);
void dat_dev_ia_name(const struct dat_dev *dev, u32 port, char *name);
DAT_COUNT dat_dev_list(struct net *net, DAT_PROVIDER_INFO *list[],
		       DAT_COUNT max);
void dat_dev_put(struct dat_dev *dev);
bool dat_dev_add_ia(struct dat_dev *dev, struct dat_ia *ia);
void dat_dev_del_ia(struct dat_dev *dev, struct dat_ia *ia);
u32 dat_dev_quirks(const struct ib_device *ibdev);
u64 dat_dev_max_user_mr(const struct ib_device *ibdev);
bool dat_dev_keeps_pages(const struct ib_device *ibdev);
int dat_dev_max_send_sge(const struct ib_device *ibdev);
u32 dat_dev_max_pages(const struct ib_device *ibdev);
u32 dat_dev_max_lmr_pages(const struct ib_device *ibdev);
u32 dat_dev_page_size(const struct ib_device *ibdev);
struct ib_mr *dat_dev_alloc_mr(struct ib_pd *pd, u32 num_pages);
void dat_dev_dereg_mr(struct ib_mr *mr);

/* coherence.c */
bool dat_dev_needs_sync(struct ib_device *ibdev);

#endif /* _KDAPL_DEVICE_H */
