// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fake.c - replacements for the functions that the tested sources call
 *
 * Each function counts its calls in struct fake, or returns a value that a test has set
 * there. Tests call them through the sources, in process context.
 */
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/workqueue.h>

#include "fake.h"

#include "../../../chardev/charge.h"
#include "../../../chardev/payers.h"
#include "../../../chardev/ucno.h"
#include "../../../chardev/usp.h"
#include "../../../kdapl/base/account.h"
#include "../../../kdapl/base/stats.h"
#include "../../../kdapl/base/user.h"
#include "../../../kdapl/base/workqueue.h"
#include "../../../kdapl/cm/cm.h"
#include "../../../kdapl/dev/device.h"
#include "../../../kdapl/dev/ia.h"
#include "../../../kdapl/ep/ep.h"
#include "../../../kdapl/ep/post.h"
#include "../../../kdapl/mem/fmr.h"
#include "../../../kdapl/mem/lmr.h"
#include "../../../kdapl/mem/regqp.h"
#include "../../../kdapl/mem/rmr.h"
#include "../../../kdapl/queue/evd.h"
#include "../../../kdapl/queue/srq.h"

struct fake fake;
struct dat_owner fake_owner;
static struct dat_user fake_user;
struct workqueue_struct *kdapl_wq;
struct workqueue_struct *kdapl_mr_wq;

static int fake_poll_cq(struct ib_cq *cq, int num, struct ib_wc *wc)
{
	int i;

	fake.polls++;
	for (i = 0; i < num; i++) {
		if (fake.next_completion == fake.num_completions)
			break;
		wc[i] = fake.completions[fake.next_completion++];
	}
	return i;
}

static int fake_map_mr_sg(struct ib_mr *mr, struct scatterlist *sgl, int num,
			  unsigned int *sg_offset)
{
	struct scatterlist *sg;
	int i;

	fake.maps++;
	fake.num_segments = num;
	fake.page_size = mr->page_size;
	for_each_sg(sgl, sg, min(num, FAKE_MAX_SEGMENTS), i) {
		fake.segments[i].addr = sg_dma_address(sg);
		fake.segments[i].length = sg_dma_len(sg);
	}
	return fake.map_result ? fake.map_result : num;
}

/**
 * fake_alloc_mr - replace ib_alloc_mr(); only one MR exists at a time
 * @pd: the PD
 * @type: type of the MR
 * @num: maximum number of pages
 *
 * Return: the MR.
 */
struct ib_mr *fake_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 num)
{
	static struct ib_mr mr;

	mr = (struct ib_mr) {
		.device = &fake.ibdev,
		.pd = pd,
		.type = type,
		.lkey = 0x100,
		.rkey = 0x100,
	};
	fake.mr_pages = num;
	return &mr;
}

static int fake_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	fake.freed_mrs++;
	return 0;
}

/**
 * fake_reset - reset all counters and values before a test
 */
void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.list_page = PAGE_SIZE;
	fake.ibdev.ops.poll_cq = fake_poll_cq;
	fake.ibdev.ops.map_mr_sg = fake_map_mr_sg;
	fake.ibdev.ops.dereg_mr = fake_dereg_mr;
	kdapl_wq = system_wq;
	kdapl_mr_wq = system_wq;
	memset(&fake_owner, 0, sizeof(fake_owner));
	fake_owner.user = &fake_user;
	fake_user.wq = system_wq;
}

/**
 * fake_complete - put a completion into the CQ
 * @wr_id: wr_id of the work request
 * @status: status of the completion
 */
void fake_complete(u64 wr_id, enum ib_wc_status status)
{
	fake.completions[fake.num_completions].wr_id = wr_id;
	fake.completions[fake.num_completions].status = status;
	fake.num_completions++;
}

/* kdapl/ */

struct dat_workq *dat_srq_complete(struct dat_dto *dto, struct ib_qp *qp)
{
	return NULL;
}

void dat_srq_ringed(const struct dat_evd_entry *entry, int num)
{
}

void dat_watermarks_took(struct dat_object *obj)
{
}

const char *dat_type_name(DAT_HANDLE_TYPE type)
{
	return "thing";
}

void dat_stats_made(const struct dat_object *obj)
{
	fake.live++;
	if (fake.added)
		fake.added((struct dat_object *)obj);
}

void dat_stats_freed(const struct dat_object *obj)
{
	fake.live--;
}

/* A handle is the address of its object. */
struct dat_object *dat_object_get_live(DAT_HANDLE handle, DAT_HANDLE_TYPE type,
				       DAT_RETURN_SUBTYPE subtype, DAT_RETURN *ret)
{
	*ret = handle ? DAT_SUCCESS : DAT_ERROR(DAT_INVALID_HANDLE, subtype);
	return handle;
}

void dat_object_put_live(struct dat_object *obj)
{
}

struct ib_device *dat_ia_ibdev(struct dat_ia *ia)
{
	return &fake.ibdev;
}

void dat_user_get(struct dat_user *user)
{
	refcount_inc(&user->ref);
}

void dat_user_put(struct dat_user *user)
{
	WARN_ON(refcount_dec_and_test(&user->ref));
}

u32 dat_dev_quirks(const struct ib_device *ibdev)
{
	return fake.quirks;
}

bool dat_dev_keeps_pages(const struct ib_device *ibdev)
{
	return fake.keeps_pages;
}

u32 dat_dev_max_pages(const struct ib_device *ibdev)
{
	return DAT_MAX_FRWR_PAGES;
}

u64 dat_dev_page_sizes(const struct ib_device *ibdev)
{
	return ibdev->attrs.page_size_cap;
}

u32 dat_dev_page_size(const struct ib_device *ibdev)
{
	return fake.list_page;
}

u32 dat_dev_max_lmr_pages(const struct ib_device *ibdev)
{
	return DAT_MAX_FRWR_PAGES;
}

struct ib_mr *dat_lmr_reg_user_mr(struct dat_lmr *lmr)
{
	return ERR_PTR(-E2BIG);
}

struct ib_mr *dat_dev_alloc_mr(struct ib_pd *pd, u32 num_pages)
{
	return fake_alloc_mr(pd, IB_MR_TYPE_MEM_REG, num_pages);
}

int dat_regqp_register(struct dat_regqp *reg, struct ib_mr *mr, int access)
{
	fake.registrations++;
	return fake.register_result;
}

struct page **dat_lmr_pages(const struct dat_lmr *lmr, unsigned int num,
			    DAT_RETURN *ret)
{
	return NULL;
}

void dat_lmr_put_pages(const struct dat_lmr *lmr, struct page **pages)
{
}

void dat_evd_overflow(struct dat_evd *evd)
{
	fake.overflows++;
}

void dat_evd_schedule_upcall(struct dat_evd *evd)
{
	fake.kicks++;
}

void dat_ep_dto_failed(struct dat_object *obj, enum ib_wc_status status)
{
	fake.failures++;
	fake.failure = status;
}

void dat_ep_break_soon(struct dat_ep *ep)
{
	fake.breaks++;
}

void dat_ep_drained(struct dat_object *obj)
{
	fake.drains++;
}

const struct dat_workq_ops fake_workq_ops = {
	.failed = dat_ep_dto_failed,
	.heard = dat_ep_heard,
	.took = dat_watermarks_took,
	.drained = dat_ep_drained,
};

void dat_ep_connect_event(struct dat_ep *ep, DAT_EVENT_NUMBER number)
{
	if (fake.num_events < FAKE_MAX_EVENTS)
		fake.events[fake.num_events++] = number;
}

void dat_ep_disconnected(struct dat_ep *ep, unsigned int from, DAT_EVENT_NUMBER number)
{
	if (dat_ep_move(ep, from, DAT_EP_STATE_DISCONNECTED))
		dat_ep_connect_event(ep, number);
}

void dat_ep_connect_again(struct dat_ep *ep)
{
}

int dat_cr_request(struct dat_sp *sp, struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

int dat_ep_qp_connect(struct dat_ep *ep, struct rdma_cm_id *id)
{
	return 0;
}

bool dat_watermarks_exceeded(struct dat_ep *ep)
{
	return false;
}

bool dat_ep_has_failed(struct dat_ep *ep)
{
	return ep->failed;
}

void dat_ep_collect(struct dat_ep *ep)
{
}

DAT_RETURN dat_post_check_state(struct dat_ep *ep)
{
	return DAT_SUCCESS;
}

DAT_RETURN dat_post_send_queue(struct dat_ep *ep, const struct dat_post *post,
			       struct ib_send_wr *first,
			       struct ib_send_wr *last)
{
	return DAT_SUCCESS;
}

void dat_fmr_done(struct dat_lmr *lmr, u8 index, DAT_DTOS op,
		  enum ib_wc_status status)
{
	fake.settled++;
	fake.settled_status = status;
}

void dat_context_revoked(struct dat_ia *ia, DAT_RMR_CONTEXT context)
{
	fake.revoked = context;
}

/* The kernel API as called by /dev/dat: a handle is the address of its context. */

DAT_RETURN dat_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	*(DAT_CONTEXT *)handle = context;
	return DAT_SUCCESS;
}

DAT_RETURN dat_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	*context = *(DAT_CONTEXT *)handle;
	return DAT_SUCCESS;
}

DAT_RETURN dat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle,
				 DAT_UPCALL_POLICY upcall_policy,
				 const DAT_UPCALL_OBJECT *upcall,
				 DAT_UPCALL_FLAG upcall_flag)
{
	return DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
}

DAT_RETURN dat_evd_flush_upcalls(DAT_EVD_HANDLE evd_handle)
{
	return DAT_SUCCESS;
}

void dat_evd_extend(DAT_EVENT *event)
{
}

DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle,
			DAT_CR_PARAM_MASK cr_param_mask, DAT_CR_PARAM *cr_param)
{
	cr_param->local_ep_handle = fake.local_ep;
	return DAT_SUCCESS;
}

DAT_RETURN dat_cr_reject_no_room(DAT_CR_HANDLE cr_handle)
{
	fake.rejects++;
	return DAT_SUCCESS;
}

/* Other functions of kdapl/ */

void dat_owner_uncharge(struct dat_owner *owner, long bytes)
{
}

bool dat_object_charge(struct dat_object *obj, size_t bytes)
{
	return true;
}

bool dat_object_try_charge(struct dat_object *obj, size_t bytes)
{
	if (fake.refuses)
		return false;
	atomic_long_add(bytes, &obj->charged);
	return true;
}

bool dat_object_charge_hca(struct dat_object *obj, enum dat_hca what,
			   unsigned int num)
{
	return true;
}

void dat_object_uncharge_hca(struct dat_object *obj)
{
}

/* Other functions of chardev/ */

unsigned long dat_limit_value(enum dat_limit which)
{
	return 65536;
}

bool dat_charge(struct dat_ucharge *charge, size_t bytes, gfp_t gfp)
{
	if (bytes > FAKE_MOST_CHARGED - fake.charged)
		return false;
	fake.charged += bytes;
	return true;
}

void dat_uncharge(struct dat_ucharge *charge, size_t bytes)
{
	fake.charged -= bytes;
}

void dat_ucharge_get(struct dat_ucharge *charge)
{
}

void dat_ucharge_put(struct dat_ucharge *charge)
{
}

struct dat_payers *dat_payers_pin(struct dat_payers *known,
				  unsigned long num_pages, unsigned long limit)
{
	return NULL;
}

void dat_payers_unpin(struct dat_payers *payers, unsigned long num_pages)
{
}

void dat_ustats_overflow(const struct dat_uevd *evd)
{
	fake.losses++;
}

u32 dat_usp_handle(struct dat_uevd *evd, u64 conn_qual)
{
	return fake.sp;
}

u32 dat_uep_publish(struct dat_uia *ia, DAT_EP_HANDLE khandle)
{
	return fake.published_ep;
}

void dat_ucr_remove_ep(struct dat_ucr *cr)
{
	cr->ep = 0;
}

void dat_ucno_trigger(struct dat_ucno *cno, u32 evd)
{
	fake.triggers++;
	fake.trigger = evd;
}

struct dat_ucno *dat_ucno_attach(struct dat_file *file, u32 handle,
				 const struct dat_uia *ia)
{
	return NULL;
}

void dat_ucno_detach(struct dat_ucno *cno, bool is_end)
{
	fake.detaches++;
}

MODULE_DESCRIPTION("kdapl: tests of what needs no device");
MODULE_LICENSE("Dual BSD/GPL");
