// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uapi.c - <linux/dat.h>: /dev/dat without the library, and without manners
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#include <linux/dat.h>

#include "counts.h"
#include "link.h"
#include "pair.h"

#define MAX_FILE_BYTES	"/sys/module/kdapl/parameters/max_file_bytes"

/* What two programs share must not depend on who compiled them. */
_Static_assert(sizeof(struct dat_dev_event) == 64, "a cache line");
_Static_assert(sizeof(struct dat_dev_ring) == 128, "two cache lines");
_Static_assert(offsetof(struct dat_dev_ring, tail) == 64, "apart from head");
_Static_assert(sizeof(struct dat_dev_segment) == 16, "as struct ib_sge");
_Static_assert(sizeof(struct dat_dev_dto) % 8 == 0, "an array without holes");

static int open_dat(void)
{
	return open("/dev/dat", O_RDWR | O_CLOEXEC);
}

static __u32 number(DAT_HANDLE handle)
{
	return ADDR(handle);
}

/* 0 or errno. */
static int raw(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? errno : 0;
}

/* The type of the result; whatever fits no type if the ioctl itself failed. */
static DAT_UINT32 result(int fd, unsigned long cmd, void *arg)
{
	const __u32 *size_and_result = arg;

	return raw(fd, cmd, arg) ? 0xffff : DAT_GET_TYPE(size_and_result[1]);
}

static DAT_UINT32 raw_free(int fd, unsigned long cmd, __u32 handle)
{
	struct dat_dev_free arg = { .size = sizeof(arg), .handle = handle };

	return result(fd, cmd, &arg);
}

static DAT_UINT32 raw_ia_open(int fd, struct dat_dev_ia_open *arg)
{
	memset(arg, 0, sizeof(*arg));
	arg->size = sizeof(*arg);
	snprintf(arg->name, sizeof(arg->name), "%s", ia_name());
	arg->dat_major = 1;
	arg->dat_minor = 2;
	arg->async_evd_qlen = 8;
	return result(fd, DAT_DEV_IA_OPEN, arg);
}

static DAT_UINT32 raw_ia_close(int fd, __u32 ia, __u32 flags)
{
	struct dat_dev_ia_close arg = {
		.size = sizeof(arg),
		.ia = ia,
		.flags = flags,
	};

	return result(fd, DAT_DEV_IA_CLOSE, &arg);
}

static DAT_UINT32 raw_pz_create(int fd, __u32 ia, __u32 *pz)
{
	struct dat_dev_pz_create arg = { .size = sizeof(arg), .ia = ia };
	DAT_UINT32 ret = result(fd, DAT_DEV_PZ_CREATE, &arg);

	*pz = arg.pz;
	return ret;
}

static DAT_UINT32 raw_evd_create(int fd, __u32 ia, __u32 qlen, __u32 flags,
				 struct dat_dev_evd_create *arg)
{
	*arg = (struct dat_dev_evd_create){
		.size = sizeof(*arg),
		.ia = ia,
		.min_qlen = qlen,
		.flags = flags,
	};
	return result(fd, DAT_DEV_EVD_CREATE, arg);
}

static DAT_UINT32 raw_ep_create(int fd, __u32 ia, __u32 pz, __u32 *ep)
{
	struct dat_dev_ep_create arg = {
		.size = sizeof(arg),
		.ia = ia,
		.pz = pz,
	};
	DAT_UINT32 ret = result(fd, DAT_DEV_EP_CREATE, &arg);

	*ep = arg.ep;
	return ret;
}

static DAT_UINT32 raw_lmr_create(int fd, __u32 ia, __u32 pz, void *buf,
				 __u64 len, struct dat_dev_lmr_create *arg)
{
	*arg = (struct dat_dev_lmr_create){
		.size = sizeof(*arg),
		.ia = ia,
		.pz = pz,
		.privileges = DAT_MEM_PRIV_ALL_FLAG,
		.address = ADDR(buf),
		.length = len,
	};
	return result(fd, DAT_DEV_LMR_CREATE, arg);
}

/* How an ioctl carries its structure. */

struct ioctl_format {
	const char *name;
	unsigned long cmd;
	__u32 size;
	__u32 least;
};

#define IOCTL_OF(_cmd, _struct, _least) {				\
		.name = #_cmd,						\
		.cmd = DAT_DEV_ ## _cmd,				\
		.size = sizeof(struct dat_dev_ ## _struct),		\
		.least = (_least),					\
	}
#define IOCTL(_cmd, _struct) \
	IOCTL_OF(_cmd, _struct, sizeof(struct dat_dev_ ## _struct))
/* It was published without _member, and what is behind that. */
#define IOCTL_GREW(_cmd, _struct, _member) \
	IOCTL_OF(_cmd, _struct, offsetof(struct dat_dev_ ## _struct, _member))

static const struct ioctl_format formats[] = {
	IOCTL(IA_OPEN, ia_open),
	IOCTL(IA_CLOSE, ia_close),
	IOCTL_GREW(IA_QUERY, ia_query, extensions),
	IOCTL(PZ_CREATE, pz_create),
	IOCTL(PZ_QUERY, pz_create),
	IOCTL(PZ_FREE, free),
	IOCTL(EVD_CREATE, evd_create),
	IOCTL(EVD_WAIT, evd_wait),
	IOCTL(EVD_PULL, evd_wait),
	IOCTL(EVD_FREE, free),
	IOCTL(PSP_CREATE, psp_create),
	IOCTL(PSP_FREE, free),
	IOCTL(CR_QUERY, cr_query),
	IOCTL(CR_ACCEPT, cr_accept),
	IOCTL(CR_REJECT, free),
	IOCTL(EP_CREATE, ep_create),
	IOCTL(EP_QUERY, ep_query),
	IOCTL(EP_CONNECT, ep_connect),
	IOCTL(EP_DISCONNECT, ep_disconnect),
	IOCTL(EP_GET_STATUS, ep_status),
	IOCTL(EP_FREE, free),
	IOCTL(POST, post),
	IOCTL(LMR_CREATE, lmr_create),
	IOCTL(LMR_QUERY, lmr_create),
	IOCTL(LMR_FREE, free),
	IOCTL(LMR_SYNC, lmr_sync),
	IOCTL(RMR_CREATE, rmr_create),
	IOCTL(RMR_QUERY, rmr_create),
	IOCTL(RMR_FREE, free),
	IOCTL(HANDLE_QUERY, handle_query),
	IOCTL(CONTEXT, context),
	IOCTL(EP_MODIFY, ep_modify),
	IOCTL(EP_RESET, free),
	IOCTL(EP_DUP_CONNECT, ep_dup_connect),
	IOCTL(EP_RECV_QUERY, ep_recv_query),
	IOCTL(EP_SET_WATERMARK, ep_set_watermark),
	IOCTL(CR_HANDOFF, cr_handoff),
	IOCTL(PSP_CREATE_ANY, psp_create),
	IOCTL(PSP_QUERY, psp_create),
	IOCTL(RSP_CREATE, rsp_create),
	IOCTL(RSP_QUERY, rsp_create),
	IOCTL(RSP_FREE, free),
	IOCTL(SRQ_CREATE, srq_create),
	IOCTL(SRQ_QUERY, srq_query),
	IOCTL(SRQ_RESIZE, srq_set),
	IOCTL(SRQ_SET_LW, srq_set),
	IOCTL(SRQ_FREE, free),
	IOCTL(EVD_QUERY, evd_query),
	IOCTL(EVD_RESIZE, evd_resize),
	IOCTL(EVD_POST_SE, evd_post_se),
	IOCTL(EVD_SET, evd_set),
	IOCTL(EVD_MODIFY_CNO, evd_modify_cno),
	IOCTL(CNO_CREATE, cno_create),
	IOCTL(CNO_QUERY, cno_create),
	IOCTL(CNO_WAIT, cno_wait),
	IOCTL(CNO_SET_AGENT, cno_set_agent),
	IOCTL(CNO_FREE, free),
	IOCTL(FD, fd),
	IOCTL(IA_LIST, ia_list),
	IOCTL(RMR_CREATE_FOR_EP, rmr_create),
	IOCTL(CR_REJECT_WITH_DATA, cr_accept),
	IOCTL(CSP_CREATE, csp_create),
	IOCTL(CSP_QUERY, csp_create),
	IOCTL(CSP_FREE, free),
	IOCTL(EP_COMMON_CONNECT, ep_connect),
};

#define NUM_FORMATS	ARRAY_LEN(formats)

FIXTURE(format)
{
	int fd;
	__u32 ia;
	unsigned char *page;
};

FIXTURE_SETUP(format)
{
	struct dat_dev_ia_open ia;

	self->fd = open_dat();
	ASSERT_LE(0, self->fd);
	ASSERT_DAT(raw_ia_open(self->fd, &ia));
	self->ia = ia.ia;
	/* Behind the first page there is nothing. */
	self->page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->page);
	ASSERT_EQ(0, mprotect(self->page + PAGE, PAGE, PROT_NONE));
}

FIXTURE_TEARDOWN(format)
{
	/* Nothing that was tried has made an object. */
	EXPECT_DAT(raw_ia_close(self->fd, self->ia, DAT_CLOSE_GRACEFUL_FLAG));
	close(self->fd);
}

/* A structure that asks for nothing that there is. */
static __u32 *harmless(const struct ioctl_format *f, void *at, __u32 size)
{
	__u32 *arg = at;

	memset(arg, 0, f->size);
	*arg = size;
	if (f->cmd == DAT_DEV_POST)
		((struct dat_dev_post *)arg)->dto_size =
			sizeof(struct dat_dev_dto);
	if (f->cmd == DAT_DEV_IA_LIST)
		((struct dat_dev_ia_list *)arg)->info_size =
			sizeof(struct dat_dev_ia_info);
	return arg;
}

TEST_F(format, enotty_there_is_no_such_ioctl)
{
	const unsigned long unknown[] = {
		_IO(DAT_DEV_TYPE, DAT_DEV_CMD_EP_COMMON_CONNECT + 1),
		_IO(DAT_DEV_TYPE, 0xff),
		_IO(DAT_DEV_TYPE + 1, DAT_DEV_CMD_PZ_CREATE),
		_IO(0, DAT_DEV_CMD_PZ_CREATE),
		_IOWR(DAT_DEV_TYPE, DAT_DEV_CMD_PZ_CREATE,
		      struct dat_dev_pz_create),
		_IOR(DAT_DEV_TYPE, DAT_DEV_CMD_PZ_CREATE, __u32),
		0, 0xffffffff,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(unknown); i++) {
		struct dat_dev_pz_create arg = {
			.size = sizeof(arg),
			.ia = self->ia,
		};

		EXPECT_EQ(ENOTTY, raw(self->fd, unknown[i], &arg));
		EXPECT_EQ(ENOTTY, raw(self->fd, unknown[i], NULL));
	}
}

TEST_F(format, einval_the_structure_is_smaller_than_any_published)
{
	unsigned int i, j;

	for (i = 0; i < NUM_FORMATS; i++) {
		const __u32 sizes[] = { 0, 3, 4, 8, formats[i].least - 1 };

		for (j = 0; j < ARRAY_LEN(sizes); j++) {
			EXPECT_EQ(EINVAL,
				  raw(self->fd, formats[i].cmd,
				      harmless(&formats[i], self->page,
					       sizes[j])))
				TH_LOG("%s of %u bytes", formats[i].name,
				       sizes[j]);
		}
	}
}

TEST_F(format, bytes_that_are_not_known_may_be_there_if_they_are_zero)
{
	unsigned int i, more;

	for (i = 0; i < NUM_FORMATS; i++) {
		for (more = 0; more < 100; more += 33) {
			__u32 size = formats[i].size + more;
			__u32 *arg = harmless(&formats[i], self->page, size);

			memset(self->page + formats[i].size, 0, more);
			EXPECT_EQ(0, raw(self->fd, formats[i].cmd, arg))
				TH_LOG("%s of %u bytes", formats[i].name,
				       size);
			EXPECT_EQ(size, arg[0]);
			/* Nothing there to post, or to synchronise. */
			EXPECT_NE(formats[i].cmd == DAT_DEV_POST,
				  arg[1] != DAT_SUCCESS)
				TH_LOG("%s", formats[i].name);
		}
	}
}

TEST_F(format, e2big_bytes_that_are_not_known_are_not_zero)
{
	unsigned int i, at;

	for (i = 0; i < NUM_FORMATS; i++) {
		const struct ioctl_format *f = &formats[i];

		for (at = 0; at < 64; at += 63) {
			__u32 *arg = harmless(f, self->page, f->size + 64);

			memset(self->page + f->size, 0, 64);
			self->page[f->size + at] = 1;
			arg[1] = 0x5555;
			EXPECT_EQ(E2BIG, raw(self->fd, f->cmd, arg))
				TH_LOG("%s", f->name);
			EXPECT_EQ(0x5555, arg[1]);
		}
	}
}

TEST_F(format, e2big_the_structure_is_larger_than_a_page)
{
	unsigned int i, more;

	memset(self->page, 0, PAGE);
	ASSERT_EQ(0, mprotect(self->page + PAGE, PAGE, PROT_READ));
	for (i = 0; i < NUM_FORMATS; i++) {
		for (more = 0; more < 2; more++) {
			__u32 *arg = harmless(&formats[i], self->page,
					      PAGE + more);

			EXPECT_EQ(more ? E2BIG : 0,
				  raw(self->fd, formats[i].cmd, arg))
				TH_LOG("%s", formats[i].name);
		}
	}
}

TEST_F(format, efault_the_structure_cannot_be_read)
{
	unsigned int i;

	for (i = 0; i < NUM_FORMATS; i++) {
		const struct ioctl_format *f = &formats[i];
		unsigned char *end = self->page + PAGE;

		EXPECT_EQ(EFAULT, raw(self->fd, f->cmd, NULL));
		EXPECT_EQ(EFAULT, raw(self->fd, f->cmd, end));
		EXPECT_EQ(EFAULT, raw(self->fd, f->cmd,
				      (void *)0xffff888000000000));
		EXPECT_EQ(EFAULT, raw(self->fd, f->cmd, (void *)-4096L));
		/* All of it but for the last byte; only the first bytes. */
		memcpy(end - f->size + 1,
		       harmless(f, self->page, f->size), f->size - 1);
		EXPECT_EQ(EFAULT,
			  raw(self->fd, f->cmd, end - f->size + 1));
		memcpy(end - 4, &f->size, 4);
		EXPECT_EQ(EFAULT, raw(self->fd, f->cmd, end - 4));
		EXPECT_EQ(EFAULT, raw(self->fd, f->cmd, end - 3));
		memset(self->page, 0, PAGE);
	}
}

/*
 * "errno tells what was wrong with the ioctl itself, and then nothing has
 * happened". The teardown finds what has.
 */
TEST_F(format, efault_nothing_is_made_if_its_handle_cannot_be_told)
{
	struct dat_dev_pz_create *pz = (void *)self->page;
	struct dat_dev_evd_create *evd = (void *)(self->page + 512);

	*pz = (struct dat_dev_pz_create){
		.size = sizeof(*pz),
		.ia = self->ia,
	};
	*evd = (struct dat_dev_evd_create){
		.size = sizeof(*evd),
		.ia = self->ia,
		.min_qlen = 8,
		.flags = DAT_EVD_DTO_FLAG,
	};
	ASSERT_EQ(0, mprotect(self->page, PAGE, PROT_READ));
	EXPECT_EQ(EFAULT, raw(self->fd, DAT_DEV_PZ_CREATE, pz));
	EXPECT_EQ(EFAULT, raw(self->fd, DAT_DEV_EVD_CREATE, evd));
}

TEST_F(format, efault_nothing_is_freed_if_that_cannot_be_told)
{
	struct dat_dev_free *arg = (void *)self->page;
	__u32 pz;

	ASSERT_DAT(raw_pz_create(self->fd, self->ia, &pz));
	*arg = (struct dat_dev_free){ .size = sizeof(*arg), .handle = pz };
	ASSERT_EQ(0, mprotect(self->page, PAGE, PROT_READ));
	EXPECT_EQ(EFAULT, raw(self->fd, DAT_DEV_PZ_FREE, arg));
	EXPECT_DAT(raw_free(self->fd, DAT_DEV_PZ_FREE, pz));
}

TEST_F(format, eopnotsupp_a_reserved_field_is_not_zero)
{
#define RESERVED(_cmd, _struct) \
	{ DAT_DEV_ ## _cmd, offsetof(struct dat_dev_ ## _struct, __reserved) }
	static const struct {
		unsigned long cmd;
		size_t offset;
	} reserved[] = {
		RESERVED(PZ_FREE, free),
		RESERVED(EVD_FREE, free),
		RESERVED(PSP_FREE, free),
		RESERVED(EP_FREE, free),
		RESERVED(LMR_FREE, free),
		RESERVED(RMR_FREE, free),
		RESERVED(CR_REJECT, free),
		RESERVED(EVD_WAIT, evd_wait),
		RESERVED(EVD_PULL, evd_wait),
		RESERVED(CR_ACCEPT, cr_accept),
		RESERVED(EP_CONNECT, ep_connect),
		RESERVED(POST, post),
		RESERVED(RMR_CREATE, rmr_create),
		RESERVED(RMR_QUERY, rmr_create),
		RESERVED(CR_QUERY, cr_query),
		RESERVED(EP_QUERY, ep_query),
		RESERVED(EP_MODIFY, ep_modify),
		RESERVED(EP_RESET, free),
		RESERVED(EP_DUP_CONNECT, ep_dup_connect),
		RESERVED(EP_RECV_QUERY, ep_recv_query),
		RESERVED(EP_SET_WATERMARK, ep_set_watermark),
		RESERVED(CR_HANDOFF, cr_handoff),
		RESERVED(RSP_FREE, free),
		RESERVED(SRQ_QUERY, srq_query),
		RESERVED(SRQ_FREE, free),
		RESERVED(EVD_QUERY, evd_query),
		RESERVED(EVD_RESIZE, evd_resize),
		RESERVED(EVD_POST_SE, evd_post_se),
		RESERVED(EVD_SET, evd_set),
		RESERVED(CNO_FREE, free),
		RESERVED(IA_LIST, ia_list),
	};
#undef RESERVED
	unsigned int i, j, bit;

	for (i = 0; i < ARRAY_LEN(reserved); i++) {
		for (j = 0; formats[j].cmd != reserved[i].cmd; j++)
			;
		for (bit = 1; bit; bit <<= 1) {
			__u32 *arg = harmless(&formats[j], self->page,
					      formats[j].size);

			arg[1] = 0x5555;
			arg[reserved[i].offset / 4] = bit;
			EXPECT_EQ(EOPNOTSUPP,
				  raw(self->fd, formats[j].cmd, arg))
				TH_LOG("%s", formats[j].name);
			EXPECT_EQ(0x5555, arg[1]);
		}
	}
}

TEST_F(format, choices_that_there_are_not_are_never_ignored)
{
	struct dat_dev_ep_create ep = { .size = sizeof(ep), .has_attr = 2 };
	struct dat_dev_lmr_sync sync = { .size = sizeof(sync), .direction = 2 };
	struct dat_dev_context context = {
		.size = sizeof(context),
		.handle = self->ia,
		.set = 2,
	};
	struct dat_dev_evd_set set = { .size = sizeof(set), .mask = 4 };
	struct dat_dev_lmr_create lmr = { .size = sizeof(lmr), .base = 1 };

	EXPECT_EQ(EOPNOTSUPP, raw(self->fd, DAT_DEV_EP_CREATE, &ep));
	ep.has_attr = 0;
	ep.attr.__reserved = 1;
	EXPECT_EQ(EOPNOTSUPP, raw(self->fd, DAT_DEV_EP_CREATE, &ep));
	EXPECT_EQ(EOPNOTSUPP, raw(self->fd, DAT_DEV_EVD_SET, &set));
	set.mask = DAT_DEV_EVD_DISABLED;
	set.state = DAT_DEV_EVD_UNWAITABLE;
	EXPECT_EQ(EOPNOTSUPP, raw(self->fd, DAT_DEV_EVD_SET, &set));
	/* A base, where there is none. */
	EXPECT_EQ(EOPNOTSUPP, raw(self->fd, DAT_DEV_LMR_CREATE, &lmr));
	EXPECT_EQ(EOPNOTSUPP, raw(self->fd, DAT_DEV_LMR_SYNC, &sync));
	EXPECT_EQ(EOPNOTSUPP, raw(self->fd, DAT_DEV_CONTEXT, &context));
	EXPECT_EQ(DAT_INVALID_PARAMETER,
		  raw_ia_close(self->fd, self->ia, 2));
}

TEST_F(format, a_name_without_an_end_is_an_invalid_parameter)
{
	struct dat_dev_ia_open arg;

	ASSERT_DAT(raw_ia_open(self->fd, &arg));
	ASSERT_DAT(raw_ia_close(self->fd, arg.ia, 1));
	memset(arg.name, 'x', sizeof(arg.name));
	EXPECT_EQ(DAT_INVALID_PARAMETER,
		  result(self->fd, DAT_DEV_IA_OPEN, &arg));
}

/* Posting, on a connection that the library has made. */
FIXTURE(post)
{
	struct pair pair;
	struct region a, b;
	DAT_RMR_HANDLE rmr;
	int fd;
};

FIXTURE_SETUP(post)
{
	ASSERT_DAT(pair_open_connected(&self->pair));
	ASSERT_DAT(regions_open(&self->pair, &self->a, &self->b, 65536,
				DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(dat_rmr_create(self->pair.a.pz, &self->rmr));
	self->fd = library_fd();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(post)
{
	/* Nothing that was refused has harmed the connection. */
	EXPECT_EQ(DAT_DTO_SUCCESS,
		  write_status(&self->pair, &self->a, self->b.rmr_context,
			       self->b.buf, 4096));
	pair_close(&self->pair);
}

static struct dat_dev_segment raw_segment(const struct region *region,
					  size_t offset, __u32 len)
{
	struct dat_dev_segment s = {
		.virtual_address = ADDR(region->buf) + offset,
		.length = len,
		.lmr_context = region->lmr_context,
	};

	return s;
}

/* A DTO of a's that is all right, or a bind; 64 bytes. */
static struct dat_dev_dto raw_dto(__u32 opcode, struct pair *pair,
				  const struct region *b, DAT_RMR_HANDLE rmr,
				  struct dat_dev_segment *segment,
				  __u64 cookie)
{
	struct dat_dev_dto dto = {
		.opcode = opcode,
		.ep = number(pair->a.ep),
		.num_segments = 1,
		.segments = ADDR(segment),
		.cookie = cookie,
		.remote_address = ADDR(b->buf),
		.remote_length = 0xffffffff,
		.remote_context = b->rmr_context,
		.rmr = number(rmr),
		.privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG,
	};

	return dto;
}

#define DTO(_opcode, _segment, _cookie) \
	raw_dto(_opcode, &self->pair, &self->b, self->rmr, _segment, _cookie)

static struct dat_dev_post raw_post(void *dtos, __u32 num)
{
	struct dat_dev_post post = {
		.size = sizeof(post),
		.dtos = ADDR(dtos),
		.num_dtos = num,
		.dto_size = sizeof(struct dat_dev_dto),
		.posted = 0x5555,
	};

	return post;
}

static DAT_UINT32 post_one(int fd, struct dat_dev_dto *dto)
{
	struct dat_dev_post post = raw_post(dto, 1);
	DAT_UINT32 type = result(fd, DAT_DEV_POST, &post);

	/* Both tell the same. */
	return (type == DAT_SUCCESS) == (post.posted == 1) ? type : 0xffff;
}

/* The cookies of completions, in order, until the one that is the last. */
static unsigned int completions(DAT_EVD_HANDLE evd, __u64 last,
				__u64 *cookies, unsigned int max)
{
	unsigned int n = 0;
	DAT_EVENT event;

	while (n < max && !wait_event(evd, &event)) {
		cookies[n] = event.event_data.dto_completion_event_data
				     .user_cookie.as_64;
		if (cookies[n++] == last)
			break;
	}
	return n;
}

TEST_F(post, an_array_is_posted_in_order)
{
	struct dat_dev_segment seg = raw_segment(&self->a, 0, 64);
	struct dat_dev_dto dtos[5];
	struct dat_dev_post post = raw_post(dtos, 5);
	__u64 cookies[8];
	unsigned int i;

	for (i = 0; i < 5; i++)
		dtos[i] = DTO(DAT_DEV_RDMA_WRITE, &seg, i);
	ASSERT_DAT(result(self->fd, DAT_DEV_POST, &post));
	EXPECT_EQ(5, post.posted);
	ASSERT_EQ(5, completions(self->pair.a.dto_evd, 4, cookies, 8));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(i, cookies[i]);
	post = raw_post(NULL, 0);
	EXPECT_DAT(result(self->fd, DAT_DEV_POST, &post));
	EXPECT_EQ(0, post.posted);
}

TEST_F(post, it_stops_at_the_first_that_fails_and_tells_how_many_went)
{
	struct dat_dev_segment seg = raw_segment(&self->a, 0, 64);
	struct dat_dev_segment bad = raw_segment(&self->a, 65536, 1);
	struct dat_dev_dto dtos[5], third[5];
	__u64 cookies[8];
	unsigned int i, j;
	const DAT_UINT32 results[] = {
		DAT_INVALID_PARAMETER,		/* out of range */
		DAT_INVALID_PARAMETER,		/* segments not readable */
		DAT_INVALID_PARAMETER,		/* no such opcode */
		DAT_INVALID_PARAMETER,		/* reserved field */
		DAT_INVALID_HANDLE,		/* no such EP */
	};

	for (i = 0; i < 5; i++) {
		dtos[i] = DTO(DAT_DEV_RDMA_WRITE, &seg, i);
		third[i] = DTO(DAT_DEV_RDMA_WRITE, &seg, 2);
	}
	third[0].segments = ADDR(&bad);
	third[1].segments = 8;
	third[2].opcode = DAT_DEV_CMP_SWAP + 1;
	third[3].__reserved = 1;
	third[4].ep = number(self->rmr);
	for (i = 0; i < 5; i++) {
		struct dat_dev_post post = raw_post(dtos, 5);

		dtos[2] = third[i];
		EXPECT_EQ(results[i], result(self->fd, DAT_DEV_POST, &post))
			TH_LOG("case %u", i);
		EXPECT_EQ(2, post.posted);
		/* Those in front were posted, those behind were not. */
		ASSERT_DAT(post_write(self->pair.a.ep, &self->a, 0, 64,
				      self->b.rmr_context, self->b.buf, 77));
		ASSERT_EQ(3, completions(self->pair.a.dto_evd, 77, cookies,
					 8));
		for (j = 0; j < 2; j++)
			EXPECT_EQ(j, cookies[j]);
	}
}

TEST_F(post, the_end_of_the_memory_is_the_end_of_the_array)
{
	struct dat_dev_segment seg = raw_segment(&self->a, 0, 64);
	unsigned char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dat_dev_dto *dtos = (void *)(page + PAGE);
	struct dat_dev_post post;
	__u64 cookies[8];
	unsigned int i;

	ASSERT_EQ(0, munmap(page + PAGE, PAGE));
	dtos -= 3;
	for (i = 0; i < 3; i++)
		dtos[i] = DTO(DAT_DEV_RDMA_WRITE, &seg, i);
	post = raw_post(dtos, ~0U);
	EXPECT_EQ(DAT_INVALID_PARAMETER,
		  result(self->fd, DAT_DEV_POST, &post));
	EXPECT_EQ(3, post.posted);
	EXPECT_EQ(3, completions(self->pair.a.dto_evd, 2, cookies, 8));
}

TEST_F(post, errors_of_the_first_are_errors_of_the_ioctl)
{
	struct dat_dev_segment seg = raw_segment(&self->a, 0, 64);
	struct dat_dev_dto dto = DTO(DAT_DEV_RDMA_WRITE, &seg, 1);
	struct dat_dev_post post = raw_post(NULL, 1);

	EXPECT_EQ(EFAULT, raw(self->fd, DAT_DEV_POST, &post));
	post = raw_post((void *)-4096L, ~0U);
	EXPECT_EQ(EFAULT, raw(self->fd, DAT_DEV_POST, &post));
	post = raw_post(&dto, 1);
	dto.segments = ADDR(NULL);
	EXPECT_EQ(EFAULT, raw(self->fd, DAT_DEV_POST, &post));
	dto.segments = 0xffff888000000000;
	EXPECT_EQ(EFAULT, raw(self->fd, DAT_DEV_POST, &post));
	dto.segments = ADDR(&seg);
	dto.__reserved = 1;
	EXPECT_EQ(EOPNOTSUPP, raw(self->fd, DAT_DEV_POST, &post));
	dto.__reserved = 0;
	dto.opcode = DAT_DEV_CMP_SWAP + 1;
	EXPECT_EQ(EOPNOTSUPP, raw(self->fd, DAT_DEV_POST, &post));
	/* It has no flags. */
	dto.opcode = DAT_DEV_SRQ_RECV;
	dto.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	EXPECT_EQ(EOPNOTSUPP, raw(self->fd, DAT_DEV_POST, &post));
	EXPECT_EQ(0x5555, post.posted);
}

TEST_F(post, elements_of_the_array_follow_the_rules_for_structures)
{
	struct dat_dev_segment seg = raw_segment(&self->a, 0, 64);
	struct {
		struct dat_dev_dto dto;
		__u64 more;
	} dtos[2];
	struct dat_dev_post post = raw_post(dtos, 2);
	__u64 cookies[4];

	memset(dtos, 0, sizeof(dtos));
	dtos[0].dto = DTO(DAT_DEV_RDMA_WRITE, &seg, 0);
	dtos[1].dto = DTO(DAT_DEV_RDMA_WRITE, &seg, 1);
	post.dto_size = sizeof(dtos[0].dto) - 1;
	EXPECT_EQ(EINVAL, raw(self->fd, DAT_DEV_POST, &post));
	post.dto_size = 0;
	EXPECT_EQ(EINVAL, raw(self->fd, DAT_DEV_POST, &post));
	post.dto_size = sizeof(dtos[0]);
	EXPECT_DAT(result(self->fd, DAT_DEV_POST, &post));
	EXPECT_EQ(2, post.posted);
	EXPECT_EQ(2, completions(self->pair.a.dto_evd, 1, cookies, 4));
	dtos[0].more = 1ULL << 63;
	EXPECT_EQ(E2BIG, raw(self->fd, DAT_DEV_POST, &post));
}

TEST_F(post, more_segments_than_there_can_be_are_an_invalid_parameter)
{
	struct dat_dev_segment segs[64];
	unsigned int i, opcode;

	for (i = 0; i < 64; i++)
		segs[i] = raw_segment(&self->a, i, 1);
	for (opcode = 0; opcode < 5; opcode++) {
		static const __u32 counts[] = { 33, 64, 1 << 28, ~0U };
		struct dat_dev_dto dto = DTO(opcode, segs, 1);

		for (i = 0; i < 4; i++) {
			dto.num_segments = counts[i];
			EXPECT_EQ(DAT_INVALID_PARAMETER,
				  post_one(self->fd, &dto));
		}
		/* The EP was made for four. */
		dto.num_segments = 5;
		EXPECT_EQ(DAT_INVALID_PARAMETER, post_one(self->fd, &dto));
	}
}

TEST_F(post, a_bind_has_one_segment)
{
	struct dat_dev_segment segs[2] = {
		raw_segment(&self->a, 0, 64), raw_segment(&self->a, 64, 64),
	};
	struct dat_dev_dto dto = DTO(DAT_DEV_RMR_BIND, segs, 1);

	dto.num_segments = 0;
	EXPECT_EQ(DAT_INVALID_PARAMETER, post_one(self->fd, &dto));
	dto.num_segments = 2;
	EXPECT_EQ(DAT_INVALID_PARAMETER, post_one(self->fd, &dto));
	dto.num_segments = 1;
	EXPECT_DAT(post_one(self->fd, &dto));
	EXPECT_EQ(DAT_RMR_BIND_SUCCESS, wait_bind(self->pair.a.dto_evd, 1));
}

/* As above: "... and then nothing has happened". */
TEST_F(post, efault_nothing_is_bound_if_the_context_cannot_be_told)
{
	unsigned char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dat_dev_segment seg = raw_segment(&self->a, 0, 64);
	struct dat_dev_dto *dto = (void *)page;
	struct dat_dev_post post = raw_post(dto, 1);
	DAT_RMR_PARAM param;

	*dto = DTO(DAT_DEV_RMR_BIND, &seg, 1);
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ));
	EXPECT_EQ(EFAULT, raw(self->fd, DAT_DEV_POST, &post));
	ASSERT_DAT(dat_rmr_query(self->rmr, DAT_RMR_FIELD_ALL, &param));
	EXPECT_EQ(0, param.lmr_triplet.segment_length);
	EXPECT_DAT(dat_lmr_free(self->a.lmr));
	/* For the teardown. */
	ASSERT_DAT(region_open(&self->pair, self->pair.a.pz, &self->a, 65536,
			       DAT_MEM_PRIV_ALL_FLAG));
}

TEST_F(post, flags_that_there_are_not_are_an_invalid_parameter)
{
	struct dat_dev_segment seg = raw_segment(&self->a, 0, 64);
	unsigned int opcode, flag;

	for (opcode = 0; opcode < 5; opcode++) {
		struct dat_dev_dto dto = DTO(opcode, &seg, 1);

		for (flag = 0x10; flag; flag <<= 1) {
			dto.flags = flag;
			EXPECT_EQ(DAT_INVALID_PARAMETER,
				  post_one(self->fd, &dto))
				TH_LOG("opcode %u, flag %#x", opcode, flag);
		}
	}
}

TEST_F(post, a_range_outside_the_lmr_is_an_invalid_parameter)
{
	const __u64 start = ADDR(self->a.buf);
	const struct {
		__u64 address;
		__u32 length;
	} ranges[] = {
		{ start - 1, 1 },
		{ start - 1, 2 },
		{ start, 65537 },
		{ start + 1, 65536 },
		{ start + 65535, 2 },
		{ start + 65536, 1 },
		{ start, 0xffffffff },
		{ start + 65535, 0xffffffff },
		{ ~0ULL, 1 },
		{ ~0ULL, 2 },
		{ 0, 0xffffffff },
		{ start ^ 1ULL << 63, 64 },
		{ start + (1ULL << 32), 64 },
	};
	struct dat_dev_segment seg = raw_segment(&self->a, 0, 64);
	unsigned int opcode, i;

	for (opcode = 0; opcode < 5; opcode++) {
		struct dat_dev_dto dto = DTO(opcode, &seg, 1);

		for (i = 0; i < ARRAY_LEN(ranges); i++) {
			seg.virtual_address = ranges[i].address;
			seg.length = ranges[i].length;
			EXPECT_EQ(DAT_INVALID_PARAMETER,
				  post_one(self->fd, &dto))
				TH_LOG("opcode %u, range %u", opcode, i);
		}
	}
}

/* In the second of two segments it is no better. */
TEST_F(post, each_of_several_segments_is_looked_at)
{
	struct dat_dev_segment segs[2] = {
		raw_segment(&self->a, 0, 64), raw_segment(&self->a, 0, 65537),
	};
	unsigned int opcode;

	for (opcode = 0; opcode < 4; opcode++) {
		struct dat_dev_dto dto = DTO(opcode, segs, 1);

		/* siw has but one elsewhere. */
		if (link_is_iwarp() && opcode != DAT_DEV_RECV)
			continue;
		dto.num_segments = 2;
		segs[1] = raw_segment(&self->a, 65535, 2);
		EXPECT_EQ(DAT_INVALID_PARAMETER, post_one(self->fd, &dto));
		segs[1] = raw_segment(&self->b, 0, 64);
		EXPECT_EQ(DAT_PROTECTION_VIOLATION, post_one(self->fd, &dto));
	}
}

static bool is_ours(const struct region *a, __u32 key)
{
	return key == a->lmr_context;
}

/*
 * The kernel has keys that open all of memory. One of them belongs to the PZ
 * of a, and was made shortly before the LMR of a.
 */
TEST_F(post, a_key_that_is_not_the_consumers_is_a_protection_violation)
{
	struct dat_dev_segment seg = raw_segment(&self->a, 0, 64);
	struct dat_dev_dto dtos[] = {
		DTO(DAT_DEV_SEND, &seg, 1), DTO(DAT_DEV_RECV, &seg, 1),
		DTO(DAT_DEV_RDMA_WRITE, &seg, 1),
		DTO(DAT_DEV_RDMA_READ, &seg, 1),
	};
	__u32 index = self->a.lmr_context >> 8, key;
	unsigned int i, accepted = 0;

	for (i = 0; i < 4; i++) {
		seg.lmr_context = 0;
		EXPECT_EQ(DAT_PROTECTION_VIOLATION,
			  post_one(self->fd, &dtos[i]));
		seg.lmr_context = 0xffffffff;
		EXPECT_EQ(DAT_PROTECTION_VIOLATION,
			  post_one(self->fd, &dtos[i]));
		for (key = 1; key <= 64; key++) {
			seg.lmr_context = key << 8;
			if (is_ours(&self->a, key << 8))
				continue;
			EXPECT_EQ(DAT_PROTECTION_VIOLATION,
				  post_one(self->fd, &dtos[i]));
		}
	}
	for (key = (index - 24) << 8; key != (index + 8) << 8; key++) {
		if (is_ours(&self->a, key))
			continue;
		seg.lmr_context = key;
		accepted += post_one(self->fd, &dtos[key & 3]) !=
			    DAT_PROTECTION_VIOLATION;
	}
	EXPECT_EQ(0, accepted);
}

TEST_F(post, a_key_that_is_not_the_consumers_cannot_be_bound_or_synchronised)
{
	struct dat_dev_segment seg = raw_segment(&self->a, 0, 64);
	struct dat_dev_dto dto = DTO(DAT_DEV_RMR_BIND, &seg, 1);
	__u32 index = self->a.lmr_context >> 8, key;
	unsigned int accepted = 0;

	for (key = (index - 24) << 8; key != (index + 8) << 8; key++) {
		struct dat_dev_lmr_sync sync = {
			.size = sizeof(sync),
			.ia = number(self->pair.ia),
			.segments = ADDR(&seg),
			.num_segments = 1,
		};

		if (is_ours(&self->a, key))
			continue;
		seg.lmr_context = key;
		accepted += post_one(self->fd, &dto) != DAT_INVALID_PARAMETER;
		accepted += result(self->fd, DAT_DEV_LMR_SYNC, &sync) !=
			    DAT_INVALID_PARAMETER;
	}
	EXPECT_EQ(0, accepted);
}

struct swapper {
	struct dat_dev_segment *seg;
	struct dat_dev_segment good, bad;
	bool stop;
};

static void *keep_swapping(void *arg)
{
	struct swapper *s = arg;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		*(volatile struct dat_dev_segment *)s->seg = s->bad;
		*(volatile struct dat_dev_segment *)s->seg = s->good;
	}
	return NULL;
}

TEST_F(post, what_is_posted_is_what_was_looked_at)
{
	struct dat_dev_segment seg;
	struct swapper s = {
		.seg = &seg,
		.good = raw_segment(&self->a, 0, 64),
		.bad = raw_segment(&self->b, 1 << 20, 1 << 20),
	};
	struct dat_dev_dto dto = DTO(DAT_DEV_RDMA_WRITE, &seg, 1);
	unsigned int i, posted = 0, refused = 0;
	time_t end = time(NULL) + 20;
	pthread_t thread;

	seg = s.good;
	ASSERT_EQ(0, pthread_create(&thread, NULL, keep_swapping, &s));
	/* Whoever swaps may not have a processor all the time. */
	for (i = 0; i < 2000 || ((!posted || !refused) && time(NULL) < end);
	     i++) {
		if (post_one(self->fd, &dto)) {
			refused++;
			continue;
		}
		posted++;
		/* The device would find the rest out, and complain. */
		ASSERT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 1));
	}
	__atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_NE(0, posted);
	EXPECT_NE(0, refused);
}

/* Rings. */
FIXTURE(ring)
{
	int fd;
	__u32 ia, pz;
	struct dat_dev_evd_create evd;
	size_t len;
};

FIXTURE_SETUP(ring)
{
	struct dat_dev_ia_open ia;

	self->fd = open_dat();
	ASSERT_LE(0, self->fd);
	ASSERT_DAT(raw_ia_open(self->fd, &ia));
	self->ia = ia.ia;
	ASSERT_DAT(raw_pz_create(self->fd, ia.ia, &self->pz));
	ASSERT_DAT(raw_evd_create(self->fd, ia.ia, 200, DAT_EVD_DTO_FLAG,
				  &self->evd));
	self->len = sizeof(struct dat_dev_ring) +
		    self->evd.ring_entries * sizeof(struct dat_dev_event);
}

FIXTURE_TEARDOWN(ring)
{
	close(self->fd);
}

static void *map_ring(int fd, __u32 handle, size_t len, int prot, int flags)
{
	return mmap(NULL, len, prot, flags, fd, (off_t)handle * PAGE);
}

TEST_F(ring, it_can_be_mapped_more_than_once)
{
	struct dat_dev_ring *one, *two;

	EXPECT_LE(200, self->evd.ring_entries);
	EXPECT_EQ(0, self->evd.ring_entries & (self->evd.ring_entries - 1));
	one = map_ring(self->fd, self->evd.evd, self->len,
		       PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, one);
	two = map_ring(self->fd, self->evd.evd, self->len, PROT_READ,
		       MAP_SHARED);
	ASSERT_NE(MAP_FAILED, two);
	one->head = 12345;
	EXPECT_EQ(12345, two->head);
}

/* As many as a number can tell would keep a processor for minutes. */
TEST_F(ring, its_events_are_not_more_than_it_holds_when_it_is_resized)
{
	struct dat_dev_evd_resize resize = {
		.size = sizeof(resize),
		.evd = self->evd.evd,
		.min_qlen = 4 * self->evd.ring_entries,
	};
	struct dat_dev_ring *ring;
	time_t begun = time(NULL);

	ring = map_ring(self->fd, self->evd.evd, self->len,
			PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, ring);
	ring->head = ring->tail + 1;
	EXPECT_DAT(result(self->fd, DAT_DEV_EVD_RESIZE, &resize));
	EXPECT_GT(10, time(NULL) - begun);
}

TEST_F(ring, it_can_be_mapped_from_its_beginning_to_its_end_only)
{
	size_t pages = (self->len + PAGE - 1) / PAGE, i;

	for (i = 1; i < 2 * pages; i++) {
		void *at = map_ring(self->fd, self->evd.evd, i * PAGE,
				    PROT_READ, MAP_SHARED);

		EXPECT_EQ(i == pages, at != MAP_FAILED)
			TH_LOG("%zu of %zu pages", i, pages);
	}
}

TEST_F(ring, only_the_handle_of_an_evd_is_a_place_to_map)
{
	const off_t wrong[] = {
		0, 1, self->ia, self->pz, self->evd.evd + 1, 0x7fffffff,
		0xffffffff, 0x100000000 + self->evd.evd, 1LL << 50,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(wrong); i++) {
		EXPECT_EQ(MAP_FAILED,
			  mmap(NULL, self->len, PROT_READ, MAP_SHARED,
			       self->fd, wrong[i] * PAGE))
			TH_LOG("%#llx", (long long)wrong[i]);
	}
	ASSERT_DAT(raw_free(self->fd, DAT_DEV_EVD_FREE, self->evd.evd));
	EXPECT_EQ(MAP_FAILED, map_ring(self->fd, self->evd.evd, self->len,
				       PROT_READ, MAP_SHARED));
}

TEST_F(ring, it_is_shared_and_no_program)
{
	void *at;

	EXPECT_EQ(MAP_FAILED, map_ring(self->fd, self->evd.evd, self->len,
				       PROT_READ, MAP_PRIVATE));
	EXPECT_EQ(MAP_FAILED, map_ring(self->fd, self->evd.evd, self->len,
				       PROT_READ | PROT_EXEC, MAP_SHARED));
	/* Nor does it become one. */
	at = map_ring(self->fd, self->evd.evd, self->len, PROT_READ,
		      MAP_SHARED);
	ASSERT_NE(MAP_FAILED, at);
	EXPECT_NE(0, mprotect(at, self->len, PROT_READ | PROT_EXEC));
}

static unsigned int touch(void *at, size_t len)
{
	unsigned int sum = 0;
	size_t i;

	for (i = 0; i < len; i += 64) {
		sum += ((volatile unsigned char *)at)[i];
		((volatile unsigned char *)at)[i] = 0x5a;
	}
	return sum;
}

TEST_F(ring, the_mapping_outlives_evd_ia_and_file)
{
	struct dat_dev_ring *ring;
	unsigned int n = (self->len + 63) / 64;

	ring = map_ring(self->fd, self->evd.evd, self->len,
			PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, ring);
	EXPECT_EQ(0, touch(ring, self->len));
	ASSERT_DAT(raw_free(self->fd, DAT_DEV_EVD_FREE, self->evd.evd));
	EXPECT_EQ(0x5a * n, touch(ring, self->len));
	ASSERT_DAT(raw_ia_close(self->fd, self->ia, 0));
	EXPECT_EQ(0x5a * n, touch(ring, self->len));
	close(self->fd);
	EXPECT_EQ(0x5a * n, touch(ring, self->len));
	EXPECT_EQ(0, munmap(ring, self->len));
}

TEST_F(ring, a_child_sees_the_same_ring)
{
	struct dat_dev_ring *ring;
	int status = -1;

	ring = map_ring(self->fd, self->evd.evd, self->len,
			PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, ring);
	if (!fork()) {
		ring->head = 7;
		_exit(0);
	}
	wait(&status);
	EXPECT_EQ(0, status);
	EXPECT_EQ(7, ring->head);
}

TEST_F(ring, those_of_a_file_are_limited_together)
{
	long long limit = number_in(MAX_FILE_BYTES, "") >> 20;
	struct dat_dev_evd_create evd, last = { .evd = 0 };
	unsigned int n;
	DAT_UINT32 ret;

	ASSERT_LT(16, limit);
	/* Two megabytes and a little, and what the device keeps beside them. */
	for (n = 0; n < limit; n++) {
		ret = raw_evd_create(self->fd, self->ia, 32767,
				     DAT_EVD_CONNECTION_FLAG, &evd);
		if (ret)
			break;
		last = evd;
	}
	EXPECT_EQ(DAT_INSUFFICIENT_RESOURCES, ret);
	EXPECT_LE(limit / 8, n);
	EXPECT_GE(limit / 2, n);
	/* What is given back can be had again. */
	ASSERT_DAT(raw_free(self->fd, DAT_DEV_EVD_FREE, last.evd));
	EXPECT_DAT(raw_evd_create(self->fd, self->ia, 32767,
				  DAT_EVD_CONNECTION_FLAG, &evd));
}

TEST_F(ring, its_memory_can_be_registered_like_any_other)
{
	struct dat_dev_lmr_create lmr;
	void *ring;

	ring = map_ring(self->fd, self->evd.evd, self->len,
			PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, ring);
	ASSERT_DAT(raw_lmr_create(self->fd, self->ia, self->pz, ring, self->len,
				  &lmr));
	ASSERT_DAT(raw_free(self->fd, DAT_DEV_EVD_FREE, self->evd.evd));
	ASSERT_EQ(0, munmap(ring, self->len));
	EXPECT_DAT(raw_free(self->fd, DAT_DEV_LMR_FREE, lmr.lmr));
}

/* It would keep the file open that it is of, and that nobody could close. */
TEST_F(ring, it_is_no_memory_that_processes_share)
{
	struct dat_dev_lmr_create lmr = {
		.size = sizeof(lmr),
		.ia = self->ia,
		.pz = self->pz,
		.mem_type = DAT_DEV_MEM_SHARED,
		.privileges = DAT_MEM_PRIV_ALL_FLAG,
		.length = self->len,
		.cookie = "ring",
	};
	void *ring;

	ring = map_ring(self->fd, self->evd.evd, self->len,
			PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, ring);
	lmr.address = ADDR(ring);
	EXPECT_DAT_TYPE(DAT_INVALID_STATE,
			result(self->fd, DAT_DEV_LMR_CREATE, &lmr));
}

/* Several files. */

/* A process that does everything right, on a file of its own. */
static int do_everything_right(void)
{
	struct region a, b;
	struct pair pair;
	unsigned int i;

	if (pair_open(&pair) || pair_connect(&pair) ||
	    region_open(&pair, pair.a.pz, &a, 8192, DAT_MEM_PRIV_ALL_FLAG) ||
	    region_open(&pair, pair.b.pz, &b, 8192, DAT_MEM_PRIV_ALL_FLAG))
		return 1;
	for (i = 0; i < 100; i++) {
		memset(a.buf, i, 8192);
		if (write_status(&pair, &a, b.rmr_context, b.buf, 8192) ||
		    memcmp(a.buf, b.buf, 8192))
			return 2;
	}
	pair_close(&pair);
	return 0;
}

static void scribble(void *at, size_t len, unsigned int *seed)
{
	unsigned int *words = at;
	size_t i;

	for (i = 0; i < len / 4; i++) {
		/* Often what could make sense, a little off. */
		*seed = *seed * 1103515245 + 12345;
		((volatile unsigned int *)words)[i] =
			*seed & 0x10000 ? *seed >> 20 : *seed;
	}
}

TEST(a_process_that_scribbles_over_its_rings_harms_itself_only)
{
	DAT_EVD_HANDLE evds[4];
	void *rings[4] = { NULL };
	unsigned int seed = 1, i, n;
	struct region a, b;
	struct pair pair;
	int status = -1;
	pid_t child;
	int fd;

	/* Before the library opens the file: the child has another one. */
	child = fork();
	if (!child)
		_exit(do_everything_right());

	ASSERT_DAT(pair_open_connected(&pair));
	ASSERT_DAT(regions_open(&pair, &a, &b, 4096, DAT_MEM_PRIV_ALL_FLAG));
	fd = library_fd();
	evds[0] = pair.a.dto_evd;
	evds[1] = pair.b.dto_evd;
	evds[2] = pair.a.conn_evd;
	evds[3] = pair.async_evd;
	for (i = 0; i < 4; i++) {
		/* One of these sizes is right. */
		for (n = 1; n < 10 && (!rings[i] || rings[i] == MAP_FAILED);
		     n++)
			rings[i] = map_ring(fd, number(evds[i]), n * PAGE,
					    PROT_READ | PROT_WRITE,
					    MAP_SHARED);
		ASSERT_NE(MAP_FAILED, rings[i]);
	}
	while (!waitpid(child, &status, WNOHANG)) {
		DAT_EVENT event;
		DAT_COUNT nmore;

		for (i = 0; i < 4; i++)
			scribble(rings[i], PAGE, &seed);
		post_recv(pair.b.ep, &b, 0, 64, seed);
		post_send(pair.a.ep, &a, 0, 64, seed);
		post_write(pair.a.ep, &a, 0, 64, b.rmr_context, b.buf, seed);
		for (i = 0; i < 4; i++) {
			scribble(rings[i], PAGE, &seed);
			dat_evd_wait(evds[i], seed >> 22, 1 + (seed & 3),
				     &event, &nmore);
			dat_evd_dequeue(evds[i], &event);
		}
	}
	EXPECT_EQ(0, status);
	EXPECT_DAT(dat_ia_close(pair.ia, DAT_CLOSE_ABRUPT_FLAG));
}

TEST(handles_of_another_file_are_invalid)
{
	int one = open_dat(), two = open_dat();
	struct dat_dev_evd_create evd;
	struct dat_dev_lmr_create lmr;
	struct dat_dev_ia_open ia;
	static unsigned char buf[4096];
	__u32 pz, ep, handle;

	ASSERT_LE(0, one);
	ASSERT_LE(0, two);
	ASSERT_DAT(raw_ia_open(one, &ia));
	ASSERT_DAT(raw_pz_create(one, ia.ia, &pz));
	ASSERT_DAT(raw_evd_create(one, ia.ia, 8, DAT_EVD_DTO_FLAG, &evd));
	ASSERT_DAT(raw_ep_create(one, ia.ia, pz, &ep));
	ASSERT_DAT(raw_lmr_create(one, ia.ia, pz, buf, 4096, &lmr));
	/* The other file has no objects at all, so no handle is one. */
	for (handle = 0; handle < 1000; handle++) {
		struct dat_dev_handle_query query = {
			.size = sizeof(query),
			.handle = handle,
		};

		EXPECT_EQ(DAT_INVALID_HANDLE,
			  result(two, DAT_DEV_HANDLE_QUERY, &query));
	}
	EXPECT_EQ(DAT_INVALID_HANDLE, raw_ia_close(two, ia.ia, 0));
	EXPECT_EQ(DAT_INVALID_HANDLE, raw_pz_create(two, ia.ia, &handle));
	EXPECT_EQ(DAT_INVALID_HANDLE, raw_free(two, DAT_DEV_PZ_FREE, pz));
	EXPECT_EQ(DAT_INVALID_HANDLE, raw_free(two, DAT_DEV_EP_FREE, ep));
	EXPECT_EQ(DAT_INVALID_HANDLE, raw_free(two, DAT_DEV_EVD_FREE,
					       evd.evd));
	EXPECT_EQ(DAT_INVALID_HANDLE, raw_free(two, DAT_DEV_LMR_FREE,
					       lmr.lmr));
	EXPECT_EQ(MAP_FAILED, map_ring(two, evd.evd, PAGE, PROT_READ,
				       MAP_SHARED));
	EXPECT_DAT(raw_free(one, DAT_DEV_LMR_FREE, lmr.lmr));
}

TEST(contexts_of_another_file_are_a_protection_violation)
{
	struct dat_dev_lmr_create lmr[2];
	static unsigned char buf[4096];
	struct dat_dev_segment seg;
	struct dat_dev_dto dto;
	__u32 pz[2], ep[2];
	int fd[2], i;

	/* Two files with the same handles for the same objects. */
	for (i = 0; i < 2; i++) {
		struct dat_dev_ia_open ia;

		fd[i] = open_dat();
		ASSERT_LE(0, fd[i]);
		ASSERT_DAT(raw_ia_open(fd[i], &ia));
		ASSERT_DAT(raw_pz_create(fd[i], ia.ia, &pz[i]));
		ASSERT_DAT(raw_ep_create(fd[i], ia.ia, pz[i], &ep[i]));
		ASSERT_DAT(raw_lmr_create(fd[i], ia.ia, pz[i], buf, 4096,
					  &lmr[i]));
	}
	ASSERT_EQ(pz[0], pz[1]);
	ASSERT_EQ(ep[0], ep[1]);
	for (i = 0; i < 2; i++) {
		seg = (struct dat_dev_segment){
			.virtual_address = ADDR(buf),
			.length = 64,
			.lmr_context = lmr[!i].lmr_context,
		};
		dto = (struct dat_dev_dto){
			.opcode = DAT_DEV_RECV,
			.ep = ep[i],
			.num_segments = 1,
			.segments = ADDR(&seg),
		};
		EXPECT_EQ(DAT_PROTECTION_VIOLATION, post_one(fd[i], &dto));
		seg.lmr_context = lmr[i].lmr_context;
		EXPECT_DAT(post_one(fd[i], &dto));
	}
}

TEST(a_process_that_is_killed_leaves_nothing_pinned)
{
	long long pinned = pinned_pages();
	unsigned int i;

	ASSERT_LE(0, pinned);
	for (i = 0; i < 4; i++) {
		int fds[2], status;
		pid_t child;
		char c;

		ASSERT_EQ(0, pipe(fds));
		child = fork();
		if (!child) {
			struct region a, b;
			struct pair p;

			if (pair_open(&p) || pair_connect(&p) ||
			    region_open(&p, p.a.pz, &a, 960 << 10,
					DAT_MEM_PRIV_ALL_FLAG) ||
			    region_open(&p, p.b.pz, &b, 960 << 10,
					DAT_MEM_PRIV_ALL_FLAG))
				_exit(1);
			if (write(fds[1], "x", 1) != 1)
				_exit(1);
			/* Until it is killed. */
			while (!write_status(&p, &a, b.rmr_context, b.buf,
					     960 << 10))
				;
			_exit(1);
		}
		ASSERT_EQ(1, read(fds[0], &c, 1));
		EXPECT_LT(pinned, pinned_pages());
		usleep(1000 * i);
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_EQ(SIGKILL, WTERMSIG(status));
		EXPECT_EQ(pinned, pinned_pages());
		close(fds[0]);
		close(fds[1]);
	}
}

TEST(a_process_that_becomes_another_program_leaves_nothing_pinned)
{
	long long pinned = pinned_pages();
	int status = -1;
	pid_t child;

	child = fork();
	if (!child) {
		struct region r;
		struct pair p;

		if (pair_open(&p) || region_open(&p, p.a.pz, &r, 240 * PAGE,
						 DAT_MEM_PRIV_ALL_FLAG))
			_exit(1);
		if (pinned_pages() != pinned + 240)
			_exit(2);
		execl("/bin/true", "true", NULL);
		_exit(3);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(pinned, pinned_pages());
}

/* Threads that share a file, and know nothing of one another. */

#define NUM_THREADS	8
#define SOUP_SECONDS	3
/* What has never succeeded has not been tested, and slow machines need time. */
#define SOUP_MAX_SECONDS 40

enum soup_op {
	SOUP_IA_OPEN,
	SOUP_IA_CLOSE,
	SOUP_PZ_CREATE,
	SOUP_PZ_FREE,
	SOUP_EVD_CREATE,
	SOUP_EVD_FREE,
	SOUP_EVD_WAIT,
	SOUP_EP_CREATE,
	SOUP_EP_FREE,
	SOUP_EP_DISCONNECT,
	SOUP_EP_QUERY,
	SOUP_LMR_CREATE,
	SOUP_LMR_FREE,
	SOUP_LMR_QUERY,
	SOUP_LMR_SYNC,
	SOUP_RMR_CREATE,
	SOUP_RMR_FREE,
	SOUP_RMR_QUERY,
	SOUP_CR_REJECT,
	SOUP_PSP_FREE,
	SOUP_POST,
	SOUP_BIND,
	SOUP_MMAP,
	SOUP_CONNECT,
	NUM_SOUP_OPS,
};

/**
 * struct soup_kit - what belongs together
 * @ia: an IA
 * @ep: a connected EP of its
 * @cr: a CR that nobody has answered
 * @rmr: an RMR of the same PZ
 * @segment: part of an LMR of the same PZ
 */
struct soup_kit {
	__u32 ia, ep, cr, rmr;
	struct dat_dev_segment segment;
};

/**
 * struct soup - what the threads have in common
 * @fd: the file
 * @recent: handles of each type that were given out lately
 * @contexts: lmr_contexts that were
 * @buf: memory
 * @succeeded: how often each operation did
 * @begin: when it began
 * @lock: guards @kit
 * @kit: the latest, as far as its owner has not freed it
 */
struct soup {
	int fd;
	__u32 recent[DAT_HANDLE_TYPE_RMR + 1][4];
	__u32 contexts[4];
	unsigned char *buf;
	unsigned int succeeded[NUM_SOUP_OPS];
	time_t begin;
	pthread_mutex_t lock;
	struct soup_kit kit;
};

struct soup_thread {
	struct soup *soup;
	unsigned int seed;
};

static unsigned int draw(struct soup_thread *t, unsigned int max)
{
	t->seed = t->seed * 1103515245 + 12345;
	return (t->seed >> 8) % max;
}

/* Mostly one of the right type, and mostly one that is still there. */
static __u32 draw_handle(struct soup_thread *t, DAT_HANDLE_TYPE type)
{
	if (!draw(t, 16))
		type = draw(t, DAT_HANDLE_TYPE_RMR + 1);
	return __atomic_load_n(&t->soup->recent[type][draw(t, 4)],
			       __ATOMIC_RELAXED);
}

static void remember(struct soup_thread *t, DAT_HANDLE_TYPE type, __u32 handle)
{
	__atomic_store_n(&t->soup->recent[type][draw(t, 4)], handle,
			 __ATOMIC_RELAXED);
}

static __u32 draw_context(struct soup_thread *t)
{
	return __atomic_load_n(&t->soup->contexts[draw(t, 4)],
			       __ATOMIC_RELAXED);
}

static struct soup_kit get_kit(struct soup_thread *t)
{
	struct soup_kit kit;

	pthread_mutex_lock(&t->soup->lock);
	kit = t->soup->kit;
	pthread_mutex_unlock(&t->soup->lock);
	return kit;
}

static void set_kit(struct soup_thread *t, const struct soup_kit *kit)
{
	pthread_mutex_lock(&t->soup->lock);
	t->soup->kit = *kit;
	pthread_mutex_unlock(&t->soup->lock);
}

static DAT_UINT32 soup_lmr_create(struct soup_thread *t)
{
	struct dat_dev_lmr_create arg;
	DAT_UINT32 ret;

	ret = raw_lmr_create(t->soup->fd, draw_handle(t, DAT_HANDLE_TYPE_IA),
			     draw_handle(t, DAT_HANDLE_TYPE_PZ),
			     t->soup->buf + draw(t, 8192), 1 + draw(t, 8192),
			     &arg);
	if (!ret) {
		remember(t, DAT_HANDLE_TYPE_LMR, arg.lmr);
		__atomic_store_n(&t->soup->contexts[draw(t, 4)],
				 arg.lmr_context, __ATOMIC_RELAXED);
	}
	return ret;
}

static DAT_UINT32 soup_post(struct soup_thread *t)
{
	struct dat_dev_segment segs[2];
	struct dat_dev_dto dto = {
		.opcode = draw(t, 4),
		.ep = draw_handle(t, DAT_HANDLE_TYPE_EP),
		.flags = draw(t, 4) ? 0 : draw(t, 16),
		.num_segments = draw(t, 3),
		.segments = ADDR(segs),
		.remote_address = ADDR(t->soup->buf) + 8192,
		.remote_length = 65536,
	};
	unsigned int i;

	for (i = 0; i < 2; i++) {
		segs[i].lmr_context = draw_context(t);
		segs[i].virtual_address = ADDR(t->soup->buf) + 8192;
		segs[i].length = draw(t, 64);
	}
	dto.remote_context = segs[0].lmr_context;
	return post_one(t->soup->fd, &dto);
}

static DAT_UINT32 soup_bind(struct soup_thread *t)
{
	struct soup_kit kit = get_kit(t);
	struct dat_dev_dto dto = {
		.opcode = DAT_DEV_RMR_BIND,
		.ep = kit.ep,
		.num_segments = 1,
		.segments = ADDR(&kit.segment),
		.rmr = draw(t, 4) ? kit.rmr :
				    draw_handle(t, DAT_HANDLE_TYPE_RMR),
		.privileges = draw(t, 4) ? DAT_MEM_PRIV_ALL_FLAG : draw(t, 64),
	};

	kit.segment.length = draw(t, 64);
	return post_one(t->soup->fd, &dto);
}

static DAT_UINT32 soup_sync(struct soup_thread *t)
{
	struct soup_kit kit = get_kit(t);
	struct dat_dev_lmr_sync arg = {
		.size = sizeof(arg),
		.ia = kit.ia,
		.direction = draw(t, 2),
		.segments = ADDR(&kit.segment),
		.num_segments = 1,
	};

	return result(t->soup->fd, DAT_DEV_LMR_SYNC, &arg);
}

/* Takes the library, for a change, and gives up when others interfere. */
static DAT_UINT32 soup_traffic(struct soup_thread *t, struct pair *p,
			       struct region *a, struct region *b)
{
	struct soup_kit kit = { .ia = number(p->ia) };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_CR_HANDLE cr;
	DAT_UINT32 ret;
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_IA_ATTR attr;

	kit.segment = raw_segment(a, 0, 64);
	if (dat_rmr_create(p->a.pz, &rmr) ||
	    dat_ia_query(p->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0,
			 NULL) ||
	    dat_ep_connect(p->a.ep, attr.ia_address_ptr, p->qual, 100000, 0,
			   NULL, DAT_QOS_BEST_EFFORT,
			   DAT_CONNECT_DEFAULT_FLAG) ||
	    dat_evd_wait(p->cr_evd, 100000, 1, &event, &nmore))
		return 1;
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	kit.cr = number(cr);
	set_kit(t, &kit);
	remember(t, DAT_HANDLE_TYPE_CR, kit.cr);
	/* Sometimes that is left to others. */
	if (draw(t, 3) && dat_cr_accept(cr, p->b.ep, 0, NULL))
		return 1;
	if (dat_evd_wait(p->a.conn_evd, 100000, 1, &event, &nmore))
		return 1;
	kit.ep = number(p->a.ep);
	kit.rmr = number(rmr);
	set_kit(t, &kit);
	remember(t, DAT_HANDLE_TYPE_EP, kit.ep);
	remember(t, DAT_HANDLE_TYPE_EVD, number(p->a.dto_evd));
	remember(t, DAT_HANDLE_TYPE_PSP, number(p->psp));
	bind_window(rmr, a, 0, 64, DAT_MEM_PRIV_ALL_FLAG, p->a.ep, 1,
		    DAT_COMPLETION_DEFAULT_FLAG, &context);
	post_recv(p->b.ep, b, 0, 64, 1);
	post_send(p->a.ep, a, 0, 64, 1);
	ret = post_write(p->a.ep, a, 0, 64, b->rmr_context, b->buf, 1);
	dat_evd_wait(p->a.dto_evd, 10000, 2, &event, &nmore);
	return ret;
}

static DAT_UINT32 soup_connect(struct soup_thread *t)
{
	struct region a = { .buf = NULL }, b = { .buf = NULL };
	DAT_UINT32 ret = 1;
	struct pair p;

	if (!pair_open(&p) &&
	    !region_open(&p, p.a.pz, &a, 4096, DAT_MEM_PRIV_ALL_FLAG) &&
	    !region_open(&p, p.b.pz, &b, 4096, DAT_MEM_PRIV_ALL_FLAG))
		ret = soup_traffic(t, &p, &a, &b);
	if (p.ia)
		dat_ia_close(p.ia, draw(t, 2));
	if (a.buf)
		munmap(a.buf, a.len);
	if (b.buf)
		munmap(b.buf, b.len);
	return ret;
}

static DAT_UINT32 soup_create(struct soup_thread *t, enum soup_op op)
{
	__u32 ia = draw_handle(t, DAT_HANDLE_TYPE_IA);
	__u32 pz = draw_handle(t, DAT_HANDLE_TYPE_PZ);
	struct dat_dev_rmr_create rmr = { .size = sizeof(rmr), .pz = pz };
	struct dat_dev_evd_create evd;
	struct dat_dev_ia_open ia_open;
	int fd = t->soup->fd;
	DAT_HANDLE_TYPE type;
	__u32 handle = 0;
	DAT_UINT32 ret;

	switch (op) {
	case SOUP_IA_OPEN:
		type = DAT_HANDLE_TYPE_IA;
		ret = raw_ia_open(fd, &ia_open);
		handle = ia_open.ia;
		break;
	case SOUP_PZ_CREATE:
		type = DAT_HANDLE_TYPE_PZ;
		ret = raw_pz_create(fd, ia, &handle);
		break;
	case SOUP_EVD_CREATE:
		type = DAT_HANDLE_TYPE_EVD;
		ret = raw_evd_create(fd, ia, 1 + draw(t, 100),
				     DAT_EVD_DTO_FLAG, &evd);
		handle = evd.evd;
		break;
	case SOUP_EP_CREATE:
		type = DAT_HANDLE_TYPE_EP;
		ret = raw_ep_create(fd, ia, pz, &handle);
		break;
	default:
		type = DAT_HANDLE_TYPE_RMR;
		ret = result(fd, DAT_DEV_RMR_CREATE, &rmr);
		handle = rmr.rmr;
		break;
	}
	if (!ret)
		remember(t, type, handle);
	return ret;
}

static DAT_UINT32 soup_query(struct soup_thread *t, enum soup_op op)
{
	union {
		struct dat_dev_evd_wait wait;
		struct dat_dev_ep_query ep;
		struct dat_dev_lmr_create lmr;
		struct dat_dev_rmr_create rmr;
	} arg;

	memset(&arg, 0, sizeof(arg));
	switch (op) {
	case SOUP_EVD_WAIT:
		arg.wait.size = sizeof(arg.wait);
		arg.wait.evd = draw_handle(t, DAT_HANDLE_TYPE_EVD);
		arg.wait.timeout = draw(t, 1000);
		arg.wait.threshold = 1;
		return result(t->soup->fd, draw(t, 2) ? DAT_DEV_EVD_WAIT :
			      DAT_DEV_EVD_PULL, &arg);
	case SOUP_EP_QUERY:
		arg.ep.size = sizeof(arg.ep);
		arg.ep.ep = draw_handle(t, DAT_HANDLE_TYPE_EP);
		return result(t->soup->fd, DAT_DEV_EP_QUERY, &arg);
	case SOUP_LMR_QUERY:
		arg.lmr.size = sizeof(arg.lmr);
		arg.lmr.lmr = draw_handle(t, DAT_HANDLE_TYPE_LMR);
		return result(t->soup->fd, DAT_DEV_LMR_QUERY, &arg);
	default:
		arg.rmr.size = sizeof(arg.rmr);
		arg.rmr.rmr = draw_handle(t, DAT_HANDLE_TYPE_RMR);
		return result(t->soup->fd, DAT_DEV_RMR_QUERY, &arg);
	}
}

static DAT_UINT32 soup_mmap(struct soup_thread *t)
{
	__u32 evd = draw_handle(t, DAT_HANDLE_TYPE_EVD);
	void *at = map_ring(t->soup->fd, evd,
			    PAGE << draw(t, 2), PROT_READ, MAP_SHARED);

	if (at == MAP_FAILED)
		return 1;
	touch(&t->seed, 1);
	munmap(at, PAGE);
	return 0;
}

static DAT_UINT32 soup_free(struct soup_thread *t, unsigned long cmd,
			    DAT_HANDLE_TYPE type)
{
	return raw_free(t->soup->fd, cmd, draw_handle(t, type));
}

static DAT_UINT32 soup_do(struct soup_thread *t, enum soup_op op)
{
	struct dat_dev_ep_disconnect disconnect = {
		.size = sizeof(disconnect),
		.ep = get_kit(t).ep,
		.flags = draw(t, 2),
	};
	int fd = t->soup->fd;

	switch (op) {
	case SOUP_IA_CLOSE:
		return raw_ia_close(fd, draw_handle(t, DAT_HANDLE_TYPE_IA),
				    draw(t, 2));
	case SOUP_PZ_FREE:
		return soup_free(t, DAT_DEV_PZ_FREE,
				 DAT_HANDLE_TYPE_PZ);
	case SOUP_EVD_FREE:
		return soup_free(t, DAT_DEV_EVD_FREE,
				 DAT_HANDLE_TYPE_EVD);
	case SOUP_EP_FREE:
		return soup_free(t, DAT_DEV_EP_FREE,
				 DAT_HANDLE_TYPE_EP);
	case SOUP_LMR_FREE:
		return soup_free(t, DAT_DEV_LMR_FREE,
				 DAT_HANDLE_TYPE_LMR);
	case SOUP_RMR_FREE:
		return soup_free(t, DAT_DEV_RMR_FREE,
				 DAT_HANDLE_TYPE_RMR);
	case SOUP_CR_REJECT:
		return raw_free(fd, DAT_DEV_CR_REJECT, get_kit(t).cr);
	case SOUP_PSP_FREE:
		return soup_free(t, DAT_DEV_PSP_FREE,
				 DAT_HANDLE_TYPE_PSP);
	case SOUP_EP_DISCONNECT:
		return result(fd, DAT_DEV_EP_DISCONNECT, &disconnect);
	case SOUP_LMR_CREATE:
		return soup_lmr_create(t);
	case SOUP_LMR_SYNC:
		return soup_sync(t);
	case SOUP_POST:
		return soup_post(t);
	case SOUP_BIND:
		return soup_bind(t);
	case SOUP_MMAP:
		return soup_mmap(t);
	case SOUP_CONNECT:
		return soup_connect(t);
	case SOUP_EVD_WAIT:
	case SOUP_EP_QUERY:
	case SOUP_LMR_QUERY:
	case SOUP_RMR_QUERY:
		return soup_query(t, op);
	default:
		return soup_create(t, op);
	}
}

static bool has_succeeded(struct soup *soup, enum soup_op op)
{
	return __atomic_load_n(&soup->succeeded[op], __ATOMIC_RELAXED);
}

static bool is_done(struct soup *soup)
{
	time_t elapsed = time(NULL) - soup->begin;
	unsigned int i;

	if (elapsed < SOUP_SECONDS || elapsed >= SOUP_MAX_SECONDS)
		return elapsed >= SOUP_SECONDS;
	for (i = 0; i < NUM_SOUP_OPS; i++)
		if (!has_succeeded(soup, i))
			return false;
	return true;
}

static void *stir(void *arg)
{
	struct soup_thread *t = arg;

	while (!is_done(t->soup)) {
		enum soup_op op = draw(t, NUM_SOUP_OPS);

		/* What ends much, or takes long, comes less often, once it has. */
		if ((op == SOUP_IA_OPEN || op == SOUP_IA_CLOSE) &&
		    has_succeeded(t->soup, op) && draw(t, 16))
			continue;
		if (op == SOUP_CONNECT && has_succeeded(t->soup, op) &&
		    draw(t, 4))
			continue;
		if (!soup_do(t, op))
			__atomic_add_fetch(&t->soup->succeeded[op], 1,
					   __ATOMIC_RELAXED);
	}
	return NULL;
}

FIXTURE(threads)
{
	struct soup soup;
	struct pair pair;
};

FIXTURE_SETUP(threads)
{
	struct soup *soup = &self->soup;
	unsigned int i;

	ASSERT_DAT(pair_open(&self->pair));
	soup->fd = library_fd();
	ASSERT_LE(0, soup->fd);
	soup->buf = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, soup->buf);
	pthread_mutex_init(&soup->lock, NULL);
	soup->begin = time(NULL);
	for (i = 0; i < 4; i++)
		soup->recent[DAT_HANDLE_TYPE_IA][i] = number(self->pair.ia);
}

FIXTURE_TEARDOWN(threads)
{
	pair_close(&self->pair);
}

TEST_F_TIMEOUT(threads, that_share_a_file_can_do_anything_at_any_time, 120)
{
	struct soup_thread threads[NUM_THREADS];
	pthread_t ids[NUM_THREADS];
	struct pair after;
	unsigned int i;

	for (i = 0; i < NUM_THREADS; i++) {
		threads[i].soup = &self->soup;
		threads[i].seed = i;
		ASSERT_EQ(0, pthread_create(&ids[i], NULL, stir, &threads[i]));
	}
	for (i = 0; i < NUM_THREADS; i++)
		pthread_join(ids[i], NULL);
	for (i = 0; i < NUM_SOUP_OPS; i++) {
		EXPECT_NE(0, self->soup.succeeded[i])
			TH_LOG("operation %u", i);
	}
	/* The file is of use afterwards. */
	EXPECT_DAT(pair_open_connected(&after));
	pair_close(&after);
}

TEST_HARNESS_MAIN
