/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * device.h - the RDMA devices of the host, as interface adapters
 *
 * Declares struct dat_dev, which device.c owns, and the capabilities and driver defects
 * of a device, which drivers.c reports.
 */
#ifndef _KDAPL_DEVICE_H
#define _KDAPL_DEVICE_H

#include <linux/bitmap.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include <dat/dat_ib_extensions.h>

#include "base/error.h"

struct dat_ia;
struct net;

/* No device has more ports. */
#define DAT_MAX_PORTS	255

/**
 * struct dat_dev - an RDMA device
 * @ibdev: the device, valid until it is removed
 * @name: a copy of its name, protected by the lock of the list. A reader of the device's own
 *	may see parts of two names, and the array behind dev_name() is freed.
 * @node: in the list of devices
 * @ref: one of the list, one of each open IA
 * @lock: protects @ias and @removed
 * @ias: IAs that are open on it
 * @removed: the device is being removed; no IA can be opened on it
 * @withdrawn: ports that are not offered; protected by the lock of the list
 * @needs_sync: result of dat_dev_needs_sync()
 * @max_message: size of the longest message on any port, in bytes
 * @mtu: MTU of each port when it became active, enum ib_mtu
 * @event_handler: receives events that concern the device as a whole
 */
struct dat_dev {
	struct ib_device *ibdev;
	char name[IB_DEVICE_NAME_MAX];
	struct list_head node;
	struct kref ref;
	struct mutex lock;
	struct list_head ias;
	bool removed;
	DECLARE_BITMAP(withdrawn, DAT_MAX_PORTS + 1);
	bool needs_sync;
	u32 max_message;
	u8 mtu[DAT_MAX_PORTS + 1];
	struct ib_event_handler event_handler;
};

/**
 * enum dat_quirk - driver defects that kdapl works around
 * @DAT_QUIRK_INVALIDATE_FIRST: a registration must wait for requests that were posted
 *	before it; only an invalidation waits for them
 * @DAT_QUIRK_ONE_SEGMENT: Sends and RDMA writes may have only one segment
 * @DAT_QUIRK_SIGNAL_ALL: the driver releases the memory of a request at its completion
 *	only if the request is signalled
 * @DAT_QUIRK_UNCHECKED_READS: peers can read all registered memory
 * @DAT_QUIRK_UNORDERED: requests and receives may complete out of order, and some
 *	twice; kdapl signals every request
 * @DAT_QUIRK_LARGE_PAGES_SLEEP: ib_map_mr_sg() may sleep, except for pages of
 *	dat_dev_page_size()
 * @DAT_QUIRK_PIECES: the capacity of an MR is a number of pieces of any length, not a
 *	number of pages
 * @DAT_QUIRK_NO_LAST_WQE: the driver does not always report that a QP has completed the
 *	last of the buffers that it has taken from an SRQ
 * @DAT_QUIRK_SRQ_FORGETS: an SRQ buffer that is receiving a message never completes if
 *	the connection ends; the SRQ limit event reports every buffer that is taken
 * @DAT_QUIRK_SRQ_SAME_PZ: the driver looks up buffers of an SRQ in the PD of the QP
 * @DAT_QUIRK_NO_READ_FENCE: an RDMA read with a fence breaks the connection
 * @DAT_QUIRK_NO_SOLICITED: no receive ever counts as solicited
 * @DAT_QUIRK_LATE_WRITES: a write that is under way in softirq continues after the
 *	memory is deregistered
 * @DAT_QUIRK_LATE_ANSWERS: the driver completes a request of the peer, or a failed one,
 *	before it answers the peer; a QP that has failed does not answer
 * @DAT_QUIRK_MISSED_EVENTS: a completion that arrives while a CQ is being armed may
 *	neither be reported as missed nor raise an event
 * @DAT_QUIRK_PAGE_SIZE_ONLY: a page list has pages of PAGE_SIZE, whatever else the device
 *	reports
 * @DAT_QUIRK_READ_PAST_LIST: the driver reads past the end of a page list
 * @DAT_QUIRK_LIST_POW2: the memory of a page list is right only for a power of two
 * @DAT_QUIRK_NO_SRQ: the device reports SRQs that the kernel cannot use
 * @DAT_QUIRK_NO_ATOMIC_REQUESTS: the device answers atomic operations and cannot
 *	request them
 * @DAT_QUIRK_READ_ONE_SEGMENT: an RDMA read has exactly one segment, even of 0 bytes
 * @DAT_QUIRK_NO_LATE_POSTS: a QP in the error state flushes no request that is posted
 *	later; kdapl posts none, and signals all, because no later completion would follow
 *	unsignalled requests
 * @DAT_QUIRK_NO_ATOMIC_MEMORY: the device reports atomic operations, and its fast
 *	registrations do not permit them to peers
 * @DAT_QUIRK_FALSE_LAST_WQE: the driver also reports the last WQE when a QP fails
 * @DAT_QUIRK_NO_RELAXED_REG: a fast registration cannot ask for relaxed ordering
 * @DAT_QUIRK_FOREIGN_INVALIDATE: a Send with invalidate ends each registration of the device
 *	that has the type IB_MR_TYPE_MEM_REG, whatever its PD and its privileges
 * @DAT_QUIRK_LENGTH_IS_QP_ERROR: a receive that is shorter than its message completes with
 *	IB_WC_LOC_QP_OP_ERR, and so does one whose memory is not registered any more
 * @DAT_QUIRK_CLOSE_FAILS_REQUEST: a request that is being sent while the peer disconnects
 *	completes with IB_WC_LOC_QP_OP_ERR, although it may have arrived, and then the QP
 *	reports IB_EVENT_QP_FATAL
 * @DAT_QUIRK_UNKNOWN_DRIVER: the driver has no row in drivers.c
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
	DAT_QUIRK_PAGE_SIZE_ONLY	= BIT(15),
	DAT_QUIRK_READ_PAST_LIST	= BIT(16),
	DAT_QUIRK_LIST_POW2		= BIT(17),
	DAT_QUIRK_NO_SRQ		= BIT(18),
	DAT_QUIRK_NO_ATOMIC_REQUESTS	= BIT(19),
	DAT_QUIRK_READ_ONE_SEGMENT	= BIT(20),
	DAT_QUIRK_NO_LATE_POSTS		= BIT(21),
	DAT_QUIRK_UNKNOWN_DRIVER	= BIT(22),
	DAT_QUIRK_NO_ATOMIC_MEMORY	= BIT(23),
	DAT_QUIRK_FALSE_LAST_WQE	= BIT(24),
	DAT_QUIRK_NO_RELAXED_REG	= BIT(25),
	DAT_QUIRK_FOREIGN_INVALIDATE	= BIT(26),
	DAT_QUIRK_LENGTH_IS_QP_ERROR	= BIT(27),
	DAT_QUIRK_CLOSE_FAILS_REQUEST	= BIT(28),
};

/**
 * enum dat_fence - requests that can have IB_SEND_FENCE
 * @DAT_FENCE_SEND: Sends
 * @DAT_FENCE_WRITE: RDMA writes
 * @DAT_FENCE_ATOMIC: atomic operations
 * @DAT_FENCE_INV: invalidations
 * @DAT_FENCE_REG: registrations
 *
 * A read needs no fence: a peer answers reads in the order in which they were posted.
 */
enum dat_fence {
	DAT_FENCE_SEND		= BIT(0),
	DAT_FENCE_WRITE		= BIT(1),
	DAT_FENCE_ATOMIC	= BIT(2),
	DAT_FENCE_INV		= BIT(3),
	DAT_FENCE_REG		= BIT(4),
};

/* Maximum number of pages of one fast registration: of a window, and of an LMR. */
#define DAT_MAX_FRWR_PAGES	511
#define DAT_MAX_LMR_PAGES	65535

int dat_dev_model_init(void);
u32 dat_dev_quirks(const struct ib_device *ibdev);

/* Can peers do atomic operations on memory that is registered with the device? */
static inline bool dat_dev_has_atomics(const struct ib_device *ibdev)
{
	return ibdev->attrs.atomic_cap != IB_ATOMIC_NONE &&
	       !(dat_dev_quirks(ibdev) & DAT_QUIRK_NO_ATOMIC_MEMORY);
}

/* Can the device request atomic operations of a peer? */
static inline bool dat_dev_requests_atomics(const struct ib_device *ibdev)
{
	return ibdev->attrs.atomic_cap != IB_ATOMIC_NONE &&
	       !(dat_dev_quirks(ibdev) & DAT_QUIRK_NO_ATOMIC_REQUESTS);
}

/* Can the device let peers use memory with these privileges? */
static inline DAT_RETURN dat_dev_check_priv(const struct ib_device *ibdev,
					    DAT_MEM_PRIV_FLAGS privileges)
{
	if (privileges & DAT_IB_MEM_PRIV_REMOTE_ATOMIC &&
	    !dat_dev_has_atomics(ibdev))
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

/* Return the device for the rdma cgroup, or NULL. */
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
void dat_dev_name(const struct dat_dev *dev, char *name);
void dat_dev_ia_name(const struct dat_dev *dev, u32 port, char *name);
DAT_COUNT dat_dev_list(struct net *net, DAT_PROVIDER_INFO *list[],
		       DAT_COUNT max);
void dat_dev_put(struct dat_dev *dev);
bool dat_dev_add_ia(struct dat_dev *dev, struct dat_ia *ia);
void dat_dev_del_ia(struct dat_dev *dev, struct dat_ia *ia);
const char *dat_dev_refusal(const struct ib_device *ibdev);
u32 dat_dev_no_fence(const struct ib_device *ibdev);

/* Bytes of data that a request carries at most */
#define DAT_MAX_INLINE		64
u32 dat_dev_max_inline(const struct ib_device *ibdev, u32 segments);
u64 dat_dev_page_sizes(const struct ib_device *ibdev);
u64 dat_dev_max_user_mr(const struct ib_device *ibdev);
bool dat_dev_user_mr_fits(const struct ib_device *ibdev, u64 start, u64 iova);
bool dat_dev_keeps_pages(const struct ib_device *ibdev);
int dat_dev_max_send_sge(const struct ib_device *ibdev);
u32 dat_dev_max_cqe(const struct ib_device *ibdev);
int dat_dev_reg_access(const struct ib_device *ibdev, int access);
u32 dat_dev_max_pages(const struct ib_device *ibdev);
u32 dat_dev_max_lmr_pages(const struct ib_device *ibdev);
u32 dat_dev_page_size(const struct ib_device *ibdev);
struct ib_mr *dat_dev_alloc_mr(struct ib_pd *pd, u32 num_pages);
void dat_dev_dereg_mr(struct ib_mr *mr);

/* coherence.c */
bool dat_dev_needs_sync(struct ib_device *ibdev);

#endif /* _KDAPL_DEVICE_H */
