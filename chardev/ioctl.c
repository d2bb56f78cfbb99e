// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ioctl.c - table of ioctls of /dev/dat; copies their structures in and out
 *
 * dat_ioctl() checks the number and size, copies the structure in, takes dat_file.ends
 * as the table requires and calls the function in the file of the object. It runs in
 * process context and may sleep.
 */
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include "file.h"
#include "ustats.h"

union dat_ioctl_arg {
	struct dat_dev_free free;
	struct dat_dev_ia_open ia_open;
	struct dat_dev_ia_close ia_close;
	struct dat_dev_ia_query ia_query;
	struct dat_dev_pz_create pz_create;
	struct dat_dev_evd_create evd_create;
	struct dat_dev_evd_wait evd_wait;
	struct dat_dev_psp_create psp_create;
	struct dat_dev_cr_query cr_query;
	struct dat_dev_cr_accept cr_accept;
	struct dat_dev_ep_create ep_create;
	struct dat_dev_ep_query ep_query;
	struct dat_dev_ep_connect ep_connect;
	struct dat_dev_ep_disconnect ep_disconnect;
	struct dat_dev_ep_status ep_status;
	struct dat_dev_post post;
	struct dat_dev_lmr_create lmr_create;
	struct dat_dev_lmr_sync lmr_sync;
	struct dat_dev_rmr_create rmr_create;
	struct dat_dev_handle_query handle_query;
	struct dat_dev_context context;
	struct dat_dev_ep_modify ep_modify;
	struct dat_dev_ep_dup_connect ep_dup_connect;
	struct dat_dev_ep_recv_query ep_recv_query;
	struct dat_dev_ep_set_watermark ep_set_watermark;
	struct dat_dev_cr_handoff cr_handoff;
	struct dat_dev_rsp_create rsp_create;
	struct dat_dev_csp_create csp_create;
	struct dat_dev_srq_create srq_create;
	struct dat_dev_srq_query srq_query;
	struct dat_dev_srq_set srq_set;
	struct dat_dev_evd_query evd_query;
	struct dat_dev_evd_resize evd_resize;
	struct dat_dev_evd_post_se evd_post_se;
	struct dat_dev_evd_set evd_set;
	struct dat_dev_evd_modify_cno evd_modify_cno;
	struct dat_dev_cno_create cno_create;
	struct dat_dev_cno_wait cno_wait;
	struct dat_dev_cno_set_agent cno_set_agent;
	struct dat_dev_fd fd;
	struct dat_dev_ia_list ia_list;
};

/* How an ioctl takes dat_file.ends. */
enum dat_ioctl_lock {
	LOCK_READ,	/* objects must not be removed meanwhile */
	LOCK_WRITE,	/* removes objects */
	LOCK_NONE,	/* blocks for long, or must be fast */
};

struct dat_ioctl_op {
	const char *name;
	unsigned int cmd;
	unsigned int size;
	unsigned int min_size;
	enum dat_ioctl_lock lock;
	int (*fn)(struct dat_file *file, void *arg);
};

/* @_last: the last member of the structure's first published version. */
#define OP(_cmd, _struct, _last, _fn, _lock)				\
	[_IOC_NR(_cmd)] = {						\
		.name = #_fn,						\
		.cmd = _cmd,						\
		.size = sizeof(struct _struct) +			\
			BUILD_BUG_ON_ZERO(sizeof(union dat_ioctl_arg) <	\
					  sizeof(struct _struct)) +	\
			BUILD_BUG_ON_ZERO(offsetof(struct _struct, result) != \
					  offsetof(union dat_ioctl_arg,	\
						   free.result)),	\
		.min_size = offsetofend(struct _struct, _last),		\
		.lock = LOCK_##_lock,					\
		.fn = dat_ioctl_##_fn,					\
	}

static const struct dat_ioctl_op dat_ioctl_ops[] = {
	/* Loading a provider may take long. Until it finishes, no IA can be closed. */
	OP(DAT_DEV_IA_OPEN, dat_dev_ia_open, async_ring_entries, ia_open, NONE),
	OP(DAT_DEV_IA_CLOSE, dat_dev_ia_close, flags, ia_close, WRITE),
	OP(DAT_DEV_IA_QUERY, dat_dev_ia_query, rdma_write_for_rdma_read_req,
	   ia_query, READ),
	OP(DAT_DEV_PZ_CREATE, dat_dev_pz_create, pz, pz_create, READ),
	OP(DAT_DEV_PZ_QUERY, dat_dev_pz_create, pz, pz_query, READ),
	OP(DAT_DEV_PZ_FREE, dat_dev_free, __reserved, pz_free, READ),
	OP(DAT_DEV_EVD_CREATE, dat_dev_evd_create, cno, evd_create, READ),
	OP(DAT_DEV_EVD_WAIT, dat_dev_evd_wait, __reserved, evd_wait, NONE),
	OP(DAT_DEV_EVD_PULL, dat_dev_evd_wait, __reserved, evd_pull, READ),
	OP(DAT_DEV_EVD_FREE, dat_dev_free, __reserved, evd_free, READ),
	OP(DAT_DEV_PSP_CREATE, dat_dev_psp_create, psp, psp_create, READ),
	OP(DAT_DEV_PSP_FREE, dat_dev_free, __reserved, psp_free, READ),
	OP(DAT_DEV_CR_QUERY, dat_dev_cr_query, private_data, cr_query, READ),
	OP(DAT_DEV_CR_ACCEPT, dat_dev_cr_accept, private_data, cr_accept, READ),
	OP(DAT_DEV_CR_REJECT, dat_dev_free, __reserved, cr_reject, READ),
	OP(DAT_DEV_EP_CREATE, dat_dev_ep_create, srq, ep_create, READ),
	OP(DAT_DEV_EP_QUERY, dat_dev_ep_query, private_data, ep_query, READ),
	OP(DAT_DEV_EP_CONNECT, dat_dev_ep_connect, private_data, ep_connect,
	   READ),
	OP(DAT_DEV_EP_DISCONNECT, dat_dev_ep_disconnect, flags, ep_disconnect,
	   READ),
	OP(DAT_DEV_EP_GET_STATUS, dat_dev_ep_status, request_idle,
	   ep_get_status, READ),
	OP(DAT_DEV_EP_FREE, dat_dev_free, __reserved, ep_free, READ),
	OP(DAT_DEV_POST, dat_dev_post, __reserved, post, NONE),
	OP(DAT_DEV_LMR_CREATE, dat_dev_lmr_create, cookie, lmr_create, READ),
	OP(DAT_DEV_LMR_QUERY, dat_dev_lmr_create, cookie, lmr_query, READ),
	OP(DAT_DEV_LMR_FREE, dat_dev_free, __reserved, lmr_free, READ),
	OP(DAT_DEV_LMR_SYNC, dat_dev_lmr_sync, num_segments, lmr_sync, READ),
	OP(DAT_DEV_RMR_CREATE, dat_dev_rmr_create, __reserved, rmr_create,
	   READ),
	OP(DAT_DEV_RMR_QUERY, dat_dev_rmr_create, __reserved, rmr_query, READ),
	OP(DAT_DEV_RMR_FREE, dat_dev_free, __reserved, rmr_free, READ),
	OP(DAT_DEV_HANDLE_QUERY, dat_dev_handle_query, type, handle_query,
	   READ),
	OP(DAT_DEV_CONTEXT, dat_dev_context, context, context, READ),
	OP(DAT_DEV_EP_MODIFY, dat_dev_ep_modify, attr, ep_modify, READ),
	OP(DAT_DEV_EP_RESET, dat_dev_free, __reserved, ep_reset, READ),
	OP(DAT_DEV_EP_DUP_CONNECT, dat_dev_ep_dup_connect, private_data,
	   ep_dup_connect, READ),
	OP(DAT_DEV_EP_RECV_QUERY, dat_dev_ep_recv_query, __reserved,
	   ep_recv_query, READ),
	OP(DAT_DEV_EP_SET_WATERMARK, dat_dev_ep_set_watermark, __reserved,
	   ep_set_watermark, READ),
	OP(DAT_DEV_CR_HANDOFF, dat_dev_cr_handoff, conn_qual, cr_handoff, READ),
	OP(DAT_DEV_PSP_CREATE_ANY, dat_dev_psp_create, psp, psp_create_any,
	   READ),
	OP(DAT_DEV_PSP_QUERY, dat_dev_psp_create, psp, psp_query, READ),
	OP(DAT_DEV_RSP_CREATE, dat_dev_rsp_create, rsp, rsp_create, READ),
	OP(DAT_DEV_RSP_QUERY, dat_dev_rsp_create, rsp, rsp_query, READ),
	OP(DAT_DEV_RSP_FREE, dat_dev_free, __reserved, rsp_free, READ),
	OP(DAT_DEV_SRQ_CREATE, dat_dev_srq_create, srq, srq_create, READ),
	OP(DAT_DEV_SRQ_QUERY, dat_dev_srq_query, __reserved, srq_query, READ),
	OP(DAT_DEV_SRQ_RESIZE, dat_dev_srq_set, value, srq_resize, READ),
	OP(DAT_DEV_SRQ_SET_LW, dat_dev_srq_set, value, srq_set_lw, READ),
	OP(DAT_DEV_SRQ_FREE, dat_dev_free, __reserved, srq_free, READ),
	OP(DAT_DEV_EVD_QUERY, dat_dev_evd_query, __reserved, evd_query, READ),
	OP(DAT_DEV_EVD_RESIZE, dat_dev_evd_resize, __reserved, evd_resize,
	   READ),
	OP(DAT_DEV_EVD_POST_SE, dat_dev_evd_post_se, pointer, evd_post_se,
	   READ),
	OP(DAT_DEV_EVD_SET, dat_dev_evd_set, __reserved, evd_set, READ),
	OP(DAT_DEV_EVD_MODIFY_CNO, dat_dev_evd_modify_cno, cno, evd_modify_cno,
	   READ),
	OP(DAT_DEV_CNO_CREATE, dat_dev_cno_create, cno, cno_create, READ),
	OP(DAT_DEV_CNO_QUERY, dat_dev_cno_create, cno, cno_query, READ),
	OP(DAT_DEV_CNO_WAIT, dat_dev_cno_wait, evd, cno_wait, NONE),
	OP(DAT_DEV_CNO_SET_AGENT, dat_dev_cno_set_agent, agent, cno_set_agent,
	   READ),
	OP(DAT_DEV_CNO_FREE, dat_dev_free, __reserved, cno_free, READ),
	OP(DAT_DEV_FD, dat_dev_fd, fd, fd, READ),
	OP(DAT_DEV_IA_LIST, dat_dev_ia_list, __reserved, ia_list, NONE),
	OP(DAT_DEV_RMR_CREATE_FOR_EP, dat_dev_rmr_create, __reserved,
	   rmr_create_for_ep, READ),
	OP(DAT_DEV_CR_REJECT_WITH_DATA, dat_dev_cr_accept, private_data,
	   cr_reject_with_data, READ),
	OP(DAT_DEV_CSP_CREATE, dat_dev_csp_create, address, csp_create, READ),
	OP(DAT_DEV_CSP_QUERY, dat_dev_csp_create, address, csp_query, READ),
	OP(DAT_DEV_CSP_FREE, dat_dev_free, __reserved, csp_free, READ),
	OP(DAT_DEV_EP_COMMON_CONNECT, dat_dev_ep_connect, private_data,
	   ep_common_connect, READ),
};

/*
 * Wait killably. The lock holder may wait for a page for as long as its process decides.
 * Other processes that share the file must be able to exit.
 */
static int call_op(struct dat_file *file, const struct dat_ioctl_op *op,
		   void *arg)
{
	int ret;

	switch (op->lock) {
	case LOCK_READ:
		if (down_read_killable(&file->ends))
			return -EINTR;
		ret = op->fn(file, arg);
		up_read(&file->ends);
		return ret;
	case LOCK_WRITE:
		if (down_write_killable(&file->ends))
			return -EINTR;
		ret = op->fn(file, arg);
		up_write(&file->ends);
		return ret;
	default:
		return op->fn(file, arg);
	}
}

static noinline int carry_out(struct dat_file *file,
			      const struct dat_ioctl_op *op, void __user *uarg,
			      u32 usize, DAT_RETURN *result)
{
	union dat_ioctl_arg karg;
	int ret;

	if (usize < op->min_size)
		return -EINVAL;
	/* No structure is that large. Do not scan all of it for non-zero bytes. */
	if (usize > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(&karg, op->size, uarg, usize);
	if (ret)
		return ret;
	/* Check before the call that the result can be copied out. */
	if (copy_to_user(uarg, &karg, min(op->size, usize)))
		return -EFAULT;

	ret = call_op(file, op, &karg);
	if (ret)
		return ret;
	/* Every structure has its result at the same offset. */
	*result = karg.free.result;
	if (copy_to_user(uarg, &karg, min(op->size, usize)))
		return -EFAULT;
	return 0;
}

/*
 * Fast path of the post ioctl, which is called for each DTO: copies the current structure
 * in and only the two outputs out.
 */
static int carry_out_post(struct dat_file *file,
			  struct dat_dev_post __user *uarg, DAT_RETURN *result)
{
	struct dat_dev_post karg;
	int ret;

	if (copy_from_user(&karg, uarg, sizeof(karg)) ||
	    put_user(karg.posted, &uarg->posted))
		return -EFAULT;
	ret = dat_ioctl_post(file, &karg);
	if (ret)
		return ret;
	*result = karg.result;
	if (put_user(karg.result, &uarg->result) ||
	    put_user(karg.posted, &uarg->posted))
		return -EFAULT;
	return 0;
}

/**
 * dat_ioctl_name - return the name of an ioctl
 * @nr: number of the ioctl, less than DAT_NUM_IOCTLS
 *
 * Context: any.
 * Return: the name in lower case.
 */
const char *dat_ioctl_name(unsigned int nr)
{
	return dat_ioctl_ops[nr].name;
}

/**
 * dat_ioctl - execute an ioctl of /dev/dat
 * @file: the file
 * @cmd: the ioctl command
 * @arg: user address of the command's structure
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno, see <linux/dat.h>.
 */
long dat_ioctl(struct dat_file *file, unsigned int cmd, unsigned long arg)
{
	const struct dat_ioctl_op *op;
	void __user *uarg = (void __user *)arg;
	DAT_RETURN result = DAT_SUCCESS;
	unsigned int nr = _IOC_NR(cmd);
	u32 usize;
	int ret;

	static_assert(ARRAY_SIZE(dat_ioctl_ops) == DAT_NUM_IOCTLS);
	if (nr >= ARRAY_SIZE(dat_ioctl_ops))
		return -ENOTTY;
	/* Load no function pointer from behind the table, even speculatively. */
	nr = array_index_nospec(nr, ARRAY_SIZE(dat_ioctl_ops));
	op = &dat_ioctl_ops[nr];
	if (op->cmd != cmd)
		return -ENOTTY;

	if (get_user(usize, (u32 __user *)uarg))
		ret = -EFAULT;
	else if (cmd == DAT_DEV_POST && usize == sizeof(struct dat_dev_post))
		ret = carry_out_post(file, uarg, &result);
	else
		ret = carry_out(file, op, uarg, usize, &result);
	dat_ustats_ioctl(nr, ret, result);
	return ret;
}
