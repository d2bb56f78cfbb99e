// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * model.c - makes rxe refuse and detect what the driver of an adapter cannot do
 *
 * The module wraps the operations of all rxe devices, for QPs and memory of the kernel.
 * The parameter "profile" selects an adapter, and can be changed while kdapl.ko is not
 * loaded. A request that the driver of the adapter refuses gets the driver's error. A use
 * that makes the driver corrupt memory is a WARN, so that the test run fails. kdapl.ko
 * needs the same name in its parameter "model", because rxe keeps its own defects.
 *
 * The module cannot be unloaded: a post could be inside a wrapper.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "compat.h"

/**
 * enum model_flag - what a driver does
 * @PAGE_SIZE_ONLY: takes the entries of a page list for pages of PAGE_SIZE
 * @LIST_POW2: allocates the right memory for a list only if its length is a power of two
 * @LIST_IS_SPENT: changes the page list when it posts a registration
 * @NO_KERNEL_SRQ: has SRQs for processes only
 * @NO_ATOMICS: answers atomic operations and cannot request them
 * @READ_ONE_SEGMENT: a read has exactly one segment
 * @EMPTY_IS_2G: takes a segment of 0 bytes for one of 2 GiB
 * @NO_USER_MR: ib_reg_user_mr() without udata is a NULL dereference
 * @USER_MR_START: ib_reg_user_mr() ignores the address that peers use
 * @LATE_POSTS_LOST: a request that is posted in the error state never completes
 * @FIRST_IS_BAD: names the first request of a chain as the one that could not be posted
 * @NO_RELAXED_REG: a registration cannot ask for relaxed ordering
 * @NOTIFY_UNARMED: may report completions instead of arming a CQ
 */
enum model_flag {
	PAGE_SIZE_ONLY		= BIT(0),
	LIST_POW2		= BIT(1),
	LIST_IS_SPENT		= BIT(2),
	NO_KERNEL_SRQ		= BIT(3),
	NO_ATOMICS		= BIT(4),
	READ_ONE_SEGMENT	= BIT(5),
	EMPTY_IS_2G		= BIT(6),
	NO_USER_MR		= BIT(7),
	USER_MR_START		= BIT(8),
	LATE_POSTS_LOST		= BIT(9),
	FIRST_IS_BAD		= BIT(10),
	NOTIFY_UNARMED		= BIT(11),
	NO_RELAXED_REG		= BIT(12),
};

/* Requests on which a driver ignores IB_SEND_FENCE */
#define ON_WRITE	(BIT_ULL(IB_WR_RDMA_WRITE) | BIT_ULL(IB_WR_RDMA_WRITE_WITH_IMM))
#define ON_ATOMIC	(BIT_ULL(IB_WR_ATOMIC_CMP_AND_SWP) | \
			 BIT_ULL(IB_WR_ATOMIC_FETCH_AND_ADD))
#define ON_INV		BIT_ULL(IB_WR_LOCAL_INV)
#define ON_REG		BIT_ULL(IB_WR_REG_MR)

/**
 * struct model - an adapter
 * @name: the name of its driver, as in kdapl/dev/drivers.c, which has the places that
 *	prove each fact
 * @flags: enum model_flag
 * @max_list: entries of a page list that work; 0: any number
 * @no_fence: opcodes on which it ignores a fence, as bits
 * @max_user_mr: bytes of a region that it pins; 0: any number
 */
struct model {
	const char *name;
	u32 flags;
	u32 max_list;
	u64 no_fence;
	u64 max_user_mr;
};

static const struct model models[] = {
	{ "mlx5", NO_ATOMICS | EMPTY_IS_2G | NO_RELAXED_REG, 65532, ON_REG },
	{ "mlx4", USER_MR_START },
	{ "cxgb4", NO_KERNEL_SRQ | LIST_IS_SPENT, 0, ON_WRITE | ON_ATOMIC | ON_REG,
	  SZ_8G - 1 },
	{ "bnxt_re", LIST_POW2 | NOTIFY_UNARMED, 512, ON_INV | ON_REG },
	{ "irdma", NO_USER_MR | NO_KERNEL_SRQ, 512 },
	{ "qedr", LIST_IS_SPENT, 8192 },
	{ "erdma", PAGE_SIZE_ONLY | READ_ONE_SEGMENT | LATE_POSTS_LOST | FIRST_IS_BAD, 512,
	  0, U32_MAX },
	{ "vmw_pvrdma", PAGE_SIZE_ONLY | NO_KERNEL_SRQ | USER_MR_START, 128, 0,
	  262144ULL * PAGE_SIZE },
	{ "ionic", LIST_IS_SPENT | NO_ATOMICS | EMPTY_IS_2G },
	/* Nothing about it is known, so anything may be wrong. */
	{ "unknown", PAGE_SIZE_ONLY | LIST_POW2 | LIST_IS_SPENT | NO_KERNEL_SRQ |
		     NO_ATOMICS | EMPTY_IS_2G | NO_USER_MR | LATE_POSTS_LOST |
		     NO_RELAXED_REG | FIRST_IS_BAD, 256, ON_WRITE | ON_ATOMIC | ON_INV | ON_REG |
		     BIT_ULL(IB_WR_SEND) | BIT_ULL(IB_WR_SEND_WITH_IMM) },
};

/* The adapter, or NULL: rxe as it is */
static const struct model *model;
/* The operations of rxe */
static struct ib_device_ops real;
/* MRs whose page list can be registered, by their address */
static DEFINE_XARRAY_FLAGS(mapped_mrs, XA_FLAGS_LOCK_BH);
/* QPs in the error state, likewise */
static DEFINE_XARRAY_FLAGS(failed_qps, XA_FLAGS_LOCK_BH);

#define bug(m, format, ...)	\
	WARN(1, "kdapl_model: %s: " format "\n", (m)->name, ##__VA_ARGS__)

static void check_segments(const struct model *m, const struct ib_sge *sgl, int num)
{
	int i;

	/* irdma reads the first segment of a list of none. */
	if (!num && sgl)
		bug(m, "a request without segments has a list");
	for (i = 0; m->flags & EMPTY_IS_2G && i < num; i++)
		if (!sgl[i].length)
			bug(m, "segment %d of %d opens 2 GiB", i, num);
}

static void check_reg(const struct model *m, const struct ib_mr *mr, int access)
{
	if (m->flags & NO_RELAXED_REG && access & IB_ACCESS_RELAXED_ORDERING)
		bug(m, "a registration asks for relaxed ordering");
	if (m->flags & LIST_IS_SPENT && !xa_erase_bh(&mapped_mrs, (unsigned long)mr))
		bug(m, "a page list is registered a second time");
}

static void check_send(const struct model *m, const struct ib_send_wr *wr)
{
	if (wr->send_flags & IB_SEND_FENCE && m->no_fence & BIT_ULL(wr->opcode))
		bug(m, "the fence of a request with opcode %d is ignored", wr->opcode);
	switch (wr->opcode) {
	case IB_WR_REG_MR:
		check_reg(m, reg_wr(wr)->mr, reg_wr(wr)->access);
		return;
	case IB_WR_LOCAL_INV:
		return;
	case IB_WR_RDMA_READ:
		if (m->flags & READ_ONE_SEGMENT && wr->num_sge != 1)
			bug(m, "a read has %d segments", wr->num_sge);
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		if (m->flags & NO_ATOMICS)
			bug(m, "an atomic operation is requested");
		break;
	default:
		break;
	}
	/* An empty read of one segment is what such a driver needs. */
	if (!(m->flags & READ_ONE_SEGMENT))
		check_segments(m, wr->sg_list, wr->num_sge);
}

static void check_state(const struct model *m, const struct ib_qp *qp)
{
	if (m && m->flags & LATE_POSTS_LOST && xa_load(&failed_qps, (unsigned long)qp))
		bug(m, "a request of a failed QP never completes");
}

/* kdapl does not create the QPs of processes. */
static const struct model *model_of(const struct ib_qp *qp)
{
	return qp->qp_type == IB_QPT_RC && !qp->uobject ? READ_ONCE(model) : NULL;
}

static int post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad)
{
	const struct model *m = model_of(qp);
	const struct ib_send_wr *w;
	int ret;

	for (w = wr; m && w; w = w->next)
		check_send(m, w);
	check_state(m, qp);
	ret = real.post_send(qp, wr, bad);
	if (ret && m && m->flags & FIRST_IS_BAD)
		*bad = wr;
	return ret;
}

static int post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad)
{
	const struct model *m = model_of(qp);

	check_state(m, qp);
	if (m)
		check_segments(m, wr->sg_list, wr->num_sge);
	return real.post_recv(qp, wr, bad);
}

static int post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad)
{
	const struct model *m = srq->uobject ? NULL : READ_ONCE(model);

	if (m)
		check_segments(m, wr->sg_list, wr->num_sge);
	return real.post_srq_recv(srq, wr, bad);
}

static int modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		     struct ib_udata *udata)
{
	int ret = real.modify_qp(qp, attr, mask, udata);

	if (ret || !(mask & IB_QP_STATE))
		return ret;
	if (attr->qp_state == IB_QPS_ERR)
		xa_store_bh(&failed_qps, (unsigned long)qp, xa_mk_value(1), GFP_KERNEL);
	else
		xa_erase_bh(&failed_qps, (unsigned long)qp);
	return 0;
}

static int destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	xa_erase_bh(&failed_qps, (unsigned long)qp);
	return real.destroy_qp(qp, udata);
}

static int req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	const struct model *m = cq->uobject ? NULL : READ_ONCE(model);
	static atomic_t calls;

	if (m && m->flags & NOTIFY_UNARMED && flags & IB_CQ_REPORT_MISSED_EVENTS &&
	    atomic_inc_return(&calls) % 3 == 0)
		return 1;
	return real.req_notify_cq(cq, flags);
}

static struct ib_mr *alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max)
{
	const struct model *m = pd->uobject ? NULL : READ_ONCE(model);

	if (m && m->max_list && max > m->max_list)
		bug(m, "a list of %u entries overflows", max);
	if (m && m->flags & LIST_POW2 && !is_power_of_2(max))
		bug(m, "a list of %u entries is no power of two", max);
	return real.alloc_mr(pd, type, max);
}

static int map_mr_sg(struct ib_mr *mr, struct scatterlist *sgl, int nents,
		     unsigned int *offset)
{
	const struct model *m = READ_ONCE(model);

	if (m && m->flags & PAGE_SIZE_ONLY && mr->page_size != PAGE_SIZE)
		bug(m, "pages of %u bytes", mr->page_size);
	/* A bind calls with its lock held. */
	if (m && m->flags & LIST_IS_SPENT)
		xa_store_bh(&mapped_mrs, (unsigned long)mr, xa_mk_value(1), GFP_ATOMIC);
	return real.map_mr_sg(mr, sgl, nents, offset);
}

static int dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	xa_erase_bh(&mapped_mrs, (unsigned long)mr);
	return real.dereg_mr(mr, udata);
}

static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr,
				 int access, DMAH_ARGUMENT struct ib_udata *udata)
{
	const struct model *m = pd->uobject ? NULL : READ_ONCE(model);

	if (m && m->flags & NO_USER_MR)
		bug(m, "memory of a process is registered without udata");
	if (m && m->flags & USER_MR_START && start != virt_addr)
		bug(m, "memory at %llx cannot be at %llx", start, virt_addr);
	if (m && m->max_user_mr && length > m->max_user_mr)
		bug(m, "a region of %llu bytes is too large", length);
	return real.reg_user_mr(pd, start, length, virt_addr, access, DMAH_VALUE udata);
}

static int create_srq(struct ib_srq *srq, struct ib_srq_init_attr *attr,
		      struct ib_udata *udata)
{
	const struct model *m = udata ? NULL : READ_ONCE(model);

	if (m && m->flags & NO_KERNEL_SRQ) {
		bug(m, "the kernel creates an SRQ");
		return -EOPNOTSUPP;
	}
	return real.create_srq(srq, attr, udata);
}

/**
 * struct model_dev - a device with wrapped operations
 * @node: in model_devs
 * @ibdev: the device
 * @max_list: length of a page list that rxe itself reports
 * @page_sizes: page sizes that rxe itself reports
 * @read_sge: segments of a read that rxe itself reports
 */
struct model_dev {
	struct list_head node;
	struct ib_device *ibdev;
	u32 max_list;
	u64 page_sizes;
	int read_sge;
};

static LIST_HEAD(model_devs);
static DEFINE_MUTEX(model_lock);

/* Adapters report large lists and pages, even those that cannot use them. */
static void report(struct model_dev *dev)
{
	struct ib_device_attr *attr = &dev->ibdev->attrs;

	attr->max_fast_reg_page_list_len = model ? U16_MAX : dev->max_list;
	attr->page_size_cap = model ? GENMASK_ULL(31, PAGE_SHIFT) : dev->page_sizes;
	attr->max_sge_rd = model && model->flags & READ_ONE_SEGMENT ? 1 : dev->read_sge;
}

static struct ib_client client;

static int client_add(struct ib_device *ibdev)
{
	struct ib_device_ops *ops = &ibdev->ops;
	struct model_dev *dev;

	if (ops->driver_id != RDMA_DRIVER_RXE)
		return -EOPNOTSUPP;
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	dev->ibdev = ibdev;
	dev->max_list = ibdev->attrs.max_fast_reg_page_list_len;
	dev->page_sizes = ibdev->attrs.page_size_cap;
	dev->read_sge = ibdev->attrs.max_sge_rd;
	ib_set_client_data(ibdev, &client, dev);

	mutex_lock(&model_lock);
	if (!real.post_send)
		real = *ops;
	ops->post_send = post_send;
	ops->post_recv = post_recv;
	ops->post_srq_recv = post_srq_recv;
	ops->modify_qp = modify_qp;
	ops->destroy_qp = destroy_qp;
	ops->req_notify_cq = req_notify_cq;
	ops->alloc_mr = alloc_mr;
	ops->map_mr_sg = map_mr_sg;
	ops->dereg_mr = dereg_mr;
	ops->reg_user_mr = reg_user_mr;
	ops->create_srq = create_srq;
	list_add_tail(&dev->node, &model_devs);
	report(dev);
	mutex_unlock(&model_lock);
	return 0;
}

static void client_remove(struct ib_device *ibdev, void *data)
{
	struct model_dev *dev = data;

	mutex_lock(&model_lock);
	list_del(&dev->node);
	mutex_unlock(&model_lock);
	kfree(dev);
}

/* kdapl registers after this module, so it sees what this client has changed. */
static struct ib_client client = {
	.name	= "kdapl_model",
	.add	= client_add,
	.remove	= client_remove,
};

static int profile_set(const char *val, const struct kernel_param *kp)
{
	const struct model *m = NULL;
	struct model_dev *dev;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(models); i++)
		if (sysfs_streq(val, models[i].name))
			m = &models[i];
	if (!m && !sysfs_streq(val, "rxe"))
		return -EINVAL;
	mutex_lock(&model_lock);
	WRITE_ONCE(model, m);
	list_for_each_entry(dev, &model_devs, node)
		report(dev);
	mutex_unlock(&model_lock);
	return 0;
}

static int profile_get(char *buf, const struct kernel_param *kp)
{
	const struct model *m = READ_ONCE(model);

	return sysfs_emit(buf, "%s\n", m ? m->name : "rxe");
}

static const struct kernel_param_ops profile_ops = {
	.set	= profile_set,
	.get	= profile_get,
};

module_param_cb(profile, &profile_ops, NULL, 0644);
MODULE_PARM_DESC(profile, "driver whose adapter rxe models, or rxe");

static int __init model_init(void)
{
	return ib_register_client(&client);
}
module_init(model_init);

MODULE_DESCRIPTION("Tests of kdapl: rxe with the limits of other adapters");
MODULE_LICENSE("Dual BSD/GPL");
