// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ioctl.c - table of ioctls of /dev/dat; copies their structures
 *
 * io_uring may execute some of them, by dat_uring_cmd().
 *
 * dat_ioctl() checks number and size, copies the structure from the process and takes
 * dat_file.close_rwsem. As the table requires, it checks reserved fields, looks up the
 * first handle and calls the function in the file of the object. It runs in process
 * context and may sleep.
 */
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "file.h"

union dat_ioctl_arg {
	struct dat_dev_free free;
	struct dat_dev_evd_wait evd_wait;
	struct dat_dev_ia_query largest;
};

/* How an ioctl takes dat_file.close_rwsem. */
enum dat_ioctl_rwsem {
	RWSEM_READ,	/* objects must not be removed meanwhile */
	RWSEM_WRITE,	/* removes objects */
	RWSEM_NONE,	/* blocks for long, or must be fast */
};

/**
 * struct dat_ioctl_limit - a field that is checked before handles are looked up
 * @offset: of the field; 0 ends the array
 * @size: bytes of the field
 * @max: its maximum
 * @subtype: of the DAT_INVALID_PARAMETER beyond @max; 0: errno is EOPNOTSUPP
 */
struct dat_ioctl_limit {
	u16 offset;
	u8 size;
	u16 max;
	u8 subtype;
};

/**
 * struct dat_ioctl_op - an ioctl
 * @name: name in lower case
 * @cmd: command
 * @size: bytes of its structure
 * @min_size: bytes of the structure's first published version
 * @rwsem: how it takes dat_file.close_rwsem
 * @limits: fields that have a maximum
 * @handle: offset of the first handle
 * @type: required type of that handle
 * @subtype: of the DAT_INVALID_HANDLE if it is not valid
 * @on_file: executes the ioctl, which looks up its handles
 * @on_khandle: executes the ioctl; the kernel API checks the handle
 * @on_uobj: executes the ioctl on the object of the handle
 * @free: function of the kernel API that frees the object
 */
struct dat_ioctl_op {
	const char *name;
	unsigned int cmd;
	unsigned int size;
	unsigned int min_size;
	enum dat_ioctl_rwsem rwsem;
	struct dat_ioctl_limit limits[5];
	unsigned int handle;
	DAT_HANDLE_TYPE type;
	DAT_RETURN_SUBTYPE subtype;
	dat_ioctl_file_t *on_file;
	dat_ioctl_khandle_t *on_khandle;
	dat_ioctl_uobj_t *on_uobj;
	DAT_RETURN (*free)(DAT_HANDLE handle);
};

/* @_last: the last member of the structure's first published version. */
#define OP(_cmd, _struct, _last, _name, ...)				\
	[_IOC_NR(DAT_DEV_##_cmd)] = {					\
		.name = #_name,						\
		.cmd = DAT_DEV_##_cmd,					\
		.size = sizeof(struct dat_dev_##_struct) +		\
			BUILD_BUG_ON_ZERO(sizeof(union dat_ioctl_arg) <	\
					  sizeof(struct dat_dev_##_struct)) + \
			BUILD_BUG_ON_ZERO(offsetof(struct dat_dev_##_struct, \
						   result) !=		\
					  offsetof(union dat_ioctl_arg,	\
						   free.result)),	\
		.min_size = offsetofend(struct dat_dev_##_struct, _last), \
		__VA_ARGS__						\
	}

/* The kinds of functions of an ioctl, see file.h. @_handle is the first handle. */
#define ON_FILE(_cmd, _struct, _last, _name, ...)			\
	OP(_cmd, _struct, _last, _name, .on_file = dat_ioctl_##_name, ##__VA_ARGS__)

#define ON_KHANDLE(_cmd, _struct, _last, _name, _handle, _type, ...)	\
	OP(_cmd, _struct, _last, _name, HANDLE(_struct, _handle, _type), \
	   .on_khandle = dat_ioctl_##_name, ##__VA_ARGS__)

#define ON_UOBJ(_cmd, _struct, _last, _name, _handle, _type, ...)	\
	OP(_cmd, _struct, _last, _name, HANDLE(_struct, _handle, _type), \
	   .on_uobj = dat_ioctl_##_name, ##__VA_ARGS__)

/* Frees an object of which only the kernel API and uobj.c know. */
#define FREE(_cmd, _name, _type)					\
	OP(_cmd, free, __reserved, _name, HANDLE(free, handle, _type),	\
	   .free = dat_##_name, RESERVED(free))

#define HANDLE(_struct, _handle, _type)					\
	.handle = offsetof(struct dat_dev_##_struct, _handle),		\
	.type = DAT_HANDLE_TYPE_##_type,				\
	.subtype = DAT_INVALID_HANDLE_##_type

/* Types and subtypes that DAT does not have. */
#define DAT_HANDLE_TYPE_CNO	DAT_UOBJ_CNO
#define DAT_HANDLE_TYPE_ANY	DAT_UOBJ_ANY
#define DAT_INVALID_HANDLE_EVD	DAT_INVALID_HANDLE1
#define DAT_INVALID_HANDLE_ANY	DAT_INVALID_HANDLE1

/* Fields that have a maximum. RESERVED() is for ioctls with no other such field. */
#define LIMITS(...)	.limits = { __VA_ARGS__ }
#define RESERVED(_struct)	LIMITS(AT_MOST(_struct, __reserved, 0))
#define AT_MOST(_struct, _field, _max, ...)				\
	{ offsetof(struct dat_dev_##_struct, _field),			\
	  sizeof_field(struct dat_dev_##_struct, _field), _max, ##__VA_ARGS__ }
#define DATA_SIZE(_struct, _subtype)					\
	AT_MOST(_struct, private_data_size,				\
		sizeof_field(struct dat_dev_##_struct, private_data), _subtype)

static const struct dat_ioctl_op dat_ioctl_ops[] = {
	/* Loading a provider may take long. Until it finishes, no IA can be closed. */
	ON_FILE(IA_OPEN, ia_open, async_ring_entries, ia_open, .rwsem = RWSEM_NONE),
	ON_UOBJ(IA_CLOSE, ia_close, flags, ia_close, ia, IA, .rwsem = RWSEM_WRITE),
	ON_FILE(IA_QUERY, ia_query, rdma_write_for_rdma_read_req, ia_query,
		LIMITS(AT_MOST(ia_query, __reserved, 0),
		       AT_MOST(ia_query, __reserved2, 0))),
	ON_UOBJ(PZ_CREATE, pz_create, pz, pz_create, ia, IA),
	ON_KHANDLE(PZ_QUERY, pz_create, pz, pz_query, pz, PZ),
	FREE(PZ_FREE, pz_free, PZ),
	ON_UOBJ(EVD_CREATE, evd_create, cno, evd_create, ia, IA),
	ON_FILE(EVD_WAIT, evd_wait, __reserved, evd_wait, .rwsem = RWSEM_NONE,
		LIMITS(AT_MOST(evd_wait, __reserved, 0),
		       AT_MOST(evd_wait, __reserved2, 0))),
	ON_UOBJ(EVD_PULL, evd_wait, __reserved, evd_pull, evd, EVD, RESERVED(evd_wait)),
	ON_UOBJ(EVD_FREE, free, __reserved, evd_free, handle, EVD, RESERVED(free)),
	ON_UOBJ(PSP_CREATE, psp_create, psp, psp_create, ia, IA),
	ON_UOBJ(PSP_FREE, free, __reserved, psp_free, handle, PSP, RESERVED(free)),
	ON_KHANDLE(CR_QUERY, cr_query, private_data, cr_query, cr, CR,
		   RESERVED(cr_query)),
	ON_UOBJ(CR_ACCEPT, cr_accept, private_data, cr_accept, cr, CR,
		LIMITS(AT_MOST(cr_accept, __reserved, 0),
		       DATA_SIZE(cr_accept, DAT_INVALID_ARG3))),
	ON_UOBJ(CR_REJECT, free, __reserved, cr_reject, handle, CR, RESERVED(free)),
	ON_UOBJ(EP_CREATE, ep_create, srq, ep_create, ia, IA,
		LIMITS(AT_MOST(ep_create, attr.__reserved, 0),
		       AT_MOST(ep_create, has_attr, 1))),
	ON_UOBJ(EP_QUERY, ep_query, private_data, ep_query, ep, EP, RESERVED(ep_query)),
	ON_KHANDLE(EP_CONNECT, ep_connect, private_data, ep_connect, ep, EP,
		   LIMITS(AT_MOST(ep_connect, __reserved, 0),
			  DATA_SIZE(ep_connect, DAT_INVALID_ARG5))),
	ON_KHANDLE(EP_DISCONNECT, ep_disconnect, flags, ep_disconnect, ep, EP),
	ON_KHANDLE(EP_GET_STATUS, ep_status, request_idle, ep_get_status, ep, EP),
	ON_UOBJ(EP_FREE, free, __reserved, ep_free, handle, EP, RESERVED(free)),
	ON_FILE(POST, post, __reserved, post, .rwsem = RWSEM_NONE),
	ON_FILE(LMR_CREATE, lmr_create, cookie, lmr_create),
	ON_UOBJ(LMR_QUERY, lmr_create, cookie, lmr_query, lmr, LMR),
	FREE(LMR_FREE, lmr_free, LMR),
	ON_FILE(LMR_SYNC, lmr_sync, num_segments, lmr_sync,
		LIMITS(AT_MOST(lmr_sync, direction, DAT_DEV_SYNC_WRITE))),
	ON_UOBJ(RMR_CREATE, rmr_create, __reserved, rmr_create, pz, PZ,
		RESERVED(rmr_create)),
	ON_KHANDLE(RMR_QUERY, rmr_create, __reserved, rmr_query, rmr, RMR,
		   RESERVED(rmr_create)),
	FREE(RMR_FREE, rmr_free, RMR),
	ON_UOBJ(HANDLE_QUERY, handle_query, type, handle_query, handle, ANY),
	ON_UOBJ(CONTEXT, context, context, context, handle, ANY,
		LIMITS(AT_MOST(context, set, 1))),
	ON_FILE(EP_MODIFY, ep_modify, attr, ep_modify,
		LIMITS(AT_MOST(ep_modify, __reserved, 0),
		       AT_MOST(ep_modify, attr.__reserved, 0))),
	ON_KHANDLE(EP_RESET, free, __reserved, ep_reset, handle, EP, RESERVED(free)),
	ON_FILE(EP_DUP_CONNECT, ep_dup_connect, private_data, ep_dup_connect,
		LIMITS(AT_MOST(ep_dup_connect, __reserved, 0),
		       DATA_SIZE(ep_dup_connect, DAT_INVALID_ARG4))),
	ON_KHANDLE(EP_RECV_QUERY, ep_recv_query, __reserved, ep_recv_query, ep, EP,
		   RESERVED(ep_recv_query)),
	ON_KHANDLE(EP_SET_WATERMARK, ep_set_watermark, __reserved, ep_set_watermark,
		   ep, EP, RESERVED(ep_set_watermark)),
	ON_UOBJ(CR_HANDOFF, cr_handoff, conn_qual, cr_handoff, cr, CR,
		RESERVED(cr_handoff)),
	ON_UOBJ(PSP_CREATE_ANY, psp_create, psp, psp_create_any, ia, IA),
	ON_KHANDLE(PSP_QUERY, psp_create, psp, psp_query, psp, PSP),
	ON_UOBJ(RSP_CREATE, rsp_create, rsp, rsp_create, ia, IA),
	ON_KHANDLE(RSP_QUERY, rsp_create, rsp, rsp_query, rsp, RSP),
	ON_UOBJ(RSP_FREE, free, __reserved, rsp_free, handle, RSP, RESERVED(free)),
	ON_UOBJ(SRQ_CREATE, srq_create, srq, srq_create, ia, IA),
	ON_KHANDLE(SRQ_QUERY, srq_query, __reserved, srq_query, srq, SRQ,
		   RESERVED(srq_query)),
	ON_KHANDLE(SRQ_RESIZE, srq_set, value, srq_resize, srq, SRQ),
	ON_KHANDLE(SRQ_SET_LW, srq_set, value, srq_set_lw, srq, SRQ),
	FREE(SRQ_FREE, srq_free, SRQ),
	ON_UOBJ(EVD_QUERY, evd_query, __reserved, evd_query, evd, EVD,
		RESERVED(evd_query)),
	ON_UOBJ(EVD_RESIZE, evd_resize, __reserved, evd_resize, evd, EVD,
		RESERVED(evd_resize)),
	ON_UOBJ(EVD_POST_SE, evd_post_se, pointer, evd_post_se, evd, EVD,
		RESERVED(evd_post_se)),
	ON_FILE(EVD_SET, evd_set, __reserved, evd_set, RESERVED(evd_set)),
	ON_UOBJ(EVD_MODIFY_CNO, evd_modify_cno, cno, evd_modify_cno, evd, EVD),
	ON_UOBJ(CNO_CREATE, cno_create, cno, cno_create, ia, IA),
	ON_UOBJ(CNO_QUERY, cno_create, cno, cno_query, cno, CNO),
	ON_UOBJ(CNO_WAIT, cno_wait, evd, cno_wait, cno, CNO, .rwsem = RWSEM_NONE),
	ON_UOBJ(CNO_SET_AGENT, cno_set_agent, agent, cno_set_agent, cno, CNO),
	ON_UOBJ(CNO_FREE, free, __reserved, cno_free, handle, CNO, RESERVED(free)),
	ON_UOBJ(FD, fd, fd, fd, handle, ANY),
	ON_FILE(IA_LIST, ia_list, __reserved, ia_list, .rwsem = RWSEM_NONE,
		RESERVED(ia_list)),
	ON_UOBJ(RMR_CREATE_FOR_EP, rmr_create, __reserved, rmr_create_for_ep, pz, PZ,
		RESERVED(rmr_create)),
	ON_UOBJ(CR_REJECT_WITH_DATA, cr_accept, private_data, cr_reject_with_data,
		cr, CR, LIMITS(AT_MOST(cr_accept, __reserved, 0),
			       AT_MOST(cr_accept, ep, 0),
			       DATA_SIZE(cr_accept, DAT_INVALID_ARG2))),
	ON_UOBJ(CSP_CREATE, csp_create, address, csp_create, ia, IA),
	ON_KHANDLE(CSP_QUERY, csp_create, address, csp_query, csp, CSP),
	ON_UOBJ(CSP_FREE, free, __reserved, csp_free, handle, CSP, RESERVED(free)),
	ON_KHANDLE(EP_COMMON_CONNECT, ep_connect, private_data, ep_common_connect,
		   ep, EP, LIMITS(AT_MOST(ep_connect, __reserved, 0),
				  AT_MOST(ep_connect, conn_qual, 0),
				  AT_MOST(ep_connect, qos, 0),
				  AT_MOST(ep_connect, flags, 0),
				  DATA_SIZE(ep_connect, DAT_INVALID_ARG4))),
};

static u64 field(const void *arg, unsigned int offset, size_t size)
{
	return size == sizeof(u64) ? *(const u64 *)(arg + offset) :
				     *(const u32 *)(arg + offset);
}

/* Sets the result, or returns -EOPNOTSUPP, for a field beyond its maximum. */
static int check_limits(const struct dat_ioctl_op *op, union dat_ioctl_arg *arg)
{
	const struct dat_ioctl_limit *l = op->limits;
	int i;

	for (i = 0; i < ARRAY_SIZE(op->limits) && l[i].offset; i++) {
		if (field(arg, l[i].offset, l[i].size) <= l[i].max)
			continue;
		if (!l[i].subtype)
			return -EOPNOTSUPP;
		arg->free.result = DAT_ERROR(DAT_INVALID_PARAMETER, l[i].subtype);
		break;
	}
	return 0;
}

static DAT_RETURN call_on_uobj(struct dat_file *file, const struct dat_ioctl_op *op,
			       u32 handle, void *arg)
{
	struct dat_uobj *uobj;
	DAT_RETURN ret;

	uobj = op->type == DAT_UOBJ_ANY ? dat_uobj_get_any(file, handle) :
					  dat_uobj_get(file, handle, op->type);
	if (!uobj)
		return DAT_ERROR(DAT_INVALID_HANDLE, op->subtype);
	ret = op->free ? op->free(uobj->khandle) : op->on_uobj(uobj, arg);
	if (op->free && !ret)
		dat_uobj_remove(uobj);
	dat_uobj_put(uobj);
	return ret;
}

static int call_op(struct dat_file *file, const struct dat_ioctl_op *op,
		   union dat_ioctl_arg *arg)
{
	u32 handle = field(arg, op->handle, sizeof(u32));
	DAT_HANDLE khandle;
	int ret;

	arg->free.result = DAT_SUCCESS;
	ret = check_limits(op, arg);
	if (ret || arg->free.result)
		return ret;
	if (op->on_file)
		return op->on_file(file, arg);
	if (op->on_khandle) {
		khandle = dat_uobj_khandle(file, handle, op->type);
		arg->free.result = op->on_khandle(khandle, arg);
	} else {
		arg->free.result = call_on_uobj(file, op, handle, arg);
	}
	return 0;
}

/*
 * Wait killably. The lock holder may wait for a page for as long as its process decides.
 * Other processes that share the file must be able to exit.
 */
static int call_op_locked(struct dat_file *file, const struct dat_ioctl_op *op,
			  union dat_ioctl_arg *arg)
{
	int ret;

	switch (op->rwsem) {
	case RWSEM_READ:
		if (down_read_killable(&file->close_rwsem))
			return -EINTR;
		ret = call_op(file, op, arg);
		up_read(&file->close_rwsem);
		return ret;
	case RWSEM_WRITE:
		if (down_write_killable(&file->close_rwsem))
			return -EINTR;
		ret = call_op(file, op, arg);
		up_write(&file->close_rwsem);
		return ret;
	default:
		return call_op(file, op, arg);
	}
}

/* Does a signal that is pending have a handler? */
static bool has_handler(void)
{
	/* It stays until the task ends. */
	struct sighand_struct *sighand = rcu_dereference_protected(current->sighand, true);
	bool found = false;
	sigset_t pending;
	int sig;

	spin_lock_irq(&sighand->siglock);
	sigorsets(&pending, &current->pending.signal, &current->signal->shared_pending.signal);
	sigandnsets(&pending, &pending, &current->blocked);
	for (sig = 1; sig <= _NSIG && !found; sig++)
		found = sigismember(&pending, sig) &&
			sighand->action[sig - 1].sa.sa_handler != SIG_DFL &&
			sighand->action[sig - 1].sa.sa_handler != SIG_IGN;
	spin_unlock_irq(&sighand->siglock);
	return found;
}

/*
 * Repeats a wait that a stop, a freeze, a debugger or work of io_uring has interrupted, for the
 * time that is left. Not if it has posted DTOs.
 */
static bool repeat_wait(const struct dat_ioctl_op *op, union dat_ioctl_arg *arg, ktime_t start)
{
	struct dat_dev_evd_wait *p = &arg->evd_wait;

	BUILD_BUG_ON(offsetof(struct dat_dev_evd_wait, timeout) !=
		     offsetof(struct dat_dev_cno_wait, timeout));
	if (DAT_GET_TYPE(p->result) != DAT_INTERRUPTED_CALL ||
	    (op->cmd == DAT_DEV_EVD_WAIT && p->num_dtos) || has_handler())
		return false;
	p->timeout = dat_timeout_left(p->timeout, start);
	return true;
}

static noinline int execute(struct dat_file *file, const struct dat_ioctl_op *op,
			    void __user *uarg, u32 usize, DAT_RETURN *result)
{
	bool waits = op->cmd == DAT_DEV_EVD_WAIT || op->cmd == DAT_DEV_CNO_WAIT;
	ktime_t start = waits ? ktime_get() : 0;
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
	/* Check before the call that the result can be copied to the process. */
	if (copy_to_user(uarg, &karg, min(op->size, usize)))
		return -EFAULT;

	ret = call_op_locked(file, op, &karg);
	if (ret)
		return ret;
	/* Every structure has its result at the same offset. */
	*result = karg.free.result;
	if (waits && repeat_wait(op, &karg, start))
		ret = -ERESTARTNOINTR;
	if (copy_to_user(uarg, &karg, min(op->size, usize)))
		return -EFAULT;
	return ret;
}

/*
 * Fast path of the post ioctl, which is called for each DTO: copies the structure of
 * this version from the process, and only the two outputs to the process.
 */
static int execute_post(struct dat_file *file, struct dat_dev_post __user *uarg,
			DAT_RETURN *result)
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
 * @filp: the open /dev/dat
 * @cmd: the ioctl command
 * @arg: user address of the command's structure
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno, see <linux/dat.h>.
 */
long dat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct dat_file *file = filp->private_data;
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
		ret = execute_post(file, uarg, &result);
	else
		ret = execute(file, op, uarg, usize, &result);
	dat_ustats_ioctl(nr, ret, result);
	return ret;
}

/**
 * dat_uring_cmd - execute an ioctl of /dev/dat for io_uring
 * @cmd: the request; its payload is struct dat_dev_uring
 * @issue_flags: IO_URING_F_*
 *
 * A post does not block, so the thread that submits executes it, or that of
 * IORING_SETUP_SQPOLL. A wait sleeps in a thread of io_uring, which has the memory and
 * the credentials of the process. io_uring interrupts the sleep to cancel the request.
 * Other ioctls pin memory, or wait for peers and devices where nothing interrupts them.
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno, see <linux/dat.h>; -EAGAIN: io_uring is to call again
 * in a thread that may sleep.
 */
int dat_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct dat_dev_uring *p = dat_uring_payload(cmd);
	int ret;

	BUILD_BUG_ON(sizeof(*p) > sizeof(struct io_uring_sqe) -
				  offsetof(struct io_uring_sqe, cmd));
	switch (cmd->cmd_op) {
	case DAT_DEV_POST:
		break;
	case DAT_DEV_EVD_WAIT:
	case DAT_DEV_CNO_WAIT:
		if (issue_flags & IO_URING_F_NONBLOCK)
			return -EAGAIN;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (READ_ONCE(p->__reserved))
		return -EOPNOTSUPP;
	ret = dat_ioctl(cmd->file, cmd->cmd_op, READ_ONCE(p->argument));
	/* io_uring has interrupted the wait to cancel the request. */
	return ret == -ERESTARTNOINTR ? 0 : ret;
}
