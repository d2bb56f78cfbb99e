// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uapi_format.c - how the ioctls of <linux/dat.h> carry their structures
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

#include "ioctls.h"

/* 32-bit and 64-bit programs see the same layout. */
_Static_assert(sizeof(struct dat_dev_event) == 64, "a cache line");
_Static_assert(sizeof(struct dat_dev_ring) == 128, "two cache lines");
_Static_assert(offsetof(struct dat_dev_ring, tail) == 64, "apart from head");
_Static_assert(sizeof(struct dat_dev_segment) == 16, "as struct ib_sge");
_Static_assert(sizeof(struct dat_dev_dto) % 8 == 0, "an array without holes");

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
	IOCTL_GREW(EVD_WAIT, evd_wait, dtos),
	IOCTL_GREW(EVD_PULL, evd_wait, dtos),
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

	self->fd = dev_open();
	ASSERT_LE(0, self->fd);
	ASSERT_DAT(dev_ia_open(self->fd, &ia));
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
	EXPECT_DAT(dev_ia_close(self->fd, self->ia, DAT_CLOSE_GRACEFUL_FLAG));
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

TEST_F(format, enotty_unknown_ioctl)
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

		EXPECT_EQ(ENOTTY, dev_errno(self->fd, unknown[i], &arg));
		EXPECT_EQ(ENOTTY, dev_errno(self->fd, unknown[i], NULL));
	}
}

TEST_F(format, einval_structure_too_small)
{
	unsigned int i, j;

	for (i = 0; i < NUM_FORMATS; i++) {
		const __u32 sizes[] = { 0, 3, 4, 8, formats[i].least - 1 };

		for (j = 0; j < ARRAY_LEN(sizes); j++) {
			EXPECT_EQ(EINVAL,
				  dev_errno(self->fd, formats[i].cmd,
					    harmless(&formats[i], self->page,
						     sizes[j])))
			TH_LOG("%s of %u bytes", formats[i].name, sizes[j]);
		}
	}
}

TEST_F(format, unknown_bytes_zero_accepted)
{
	unsigned int i, more;

	for (i = 0; i < NUM_FORMATS; i++) {
		for (more = 0; more < 100; more += 33) {
			__u32 size = formats[i].size + more;
			__u32 *arg = harmless(&formats[i], self->page, size);

			memset(self->page + formats[i].size, 0, more);
			EXPECT_EQ(0, dev_errno(self->fd, formats[i].cmd, arg))
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

TEST_F(format, e2big_unknown_bytes_not_zero)
{
	unsigned int i, at;

	for (i = 0; i < NUM_FORMATS; i++) {
		const struct ioctl_format *f = &formats[i];

		for (at = 0; at < 64; at += 63) {
			__u32 *arg = harmless(f, self->page, f->size + 64);

			memset(self->page + f->size, 0, 64);
			self->page[f->size + at] = 1;
			arg[1] = 0x5555;
			EXPECT_EQ(E2BIG, dev_errno(self->fd, f->cmd, arg))
				TH_LOG("%s", f->name);
			EXPECT_EQ(0x5555, arg[1]);
		}
	}
}

TEST_F(format, e2big_structure_exceeds_page)
{
	unsigned int i, more;

	memset(self->page, 0, PAGE);
	ASSERT_EQ(0, mprotect(self->page + PAGE, PAGE, PROT_READ));
	for (i = 0; i < NUM_FORMATS; i++) {
		for (more = 0; more < 2; more++) {
			__u32 *arg = harmless(&formats[i], self->page,
					      PAGE + more);

			EXPECT_EQ(more ? E2BIG : 0,
				  dev_errno(self->fd, formats[i].cmd, arg))
				TH_LOG("%s", formats[i].name);
		}
	}
}

TEST_F(format, efault_structure_not_readable)
{
	unsigned int i;

	for (i = 0; i < NUM_FORMATS; i++) {
		const struct ioctl_format *f = &formats[i];
		unsigned char *end = self->page + PAGE;

		EXPECT_EQ(EFAULT, dev_errno(self->fd, f->cmd, NULL));
		EXPECT_EQ(EFAULT, dev_errno(self->fd, f->cmd, end));
		EXPECT_EQ(EFAULT, dev_errno(self->fd, f->cmd,
					    (void *)0xffff888000000000));
		EXPECT_EQ(EFAULT, dev_errno(self->fd, f->cmd, (void *)-4096L));
		/* All of it but for the last byte; only the first bytes. */
		memcpy(end - f->size + 1,
		       harmless(f, self->page, f->size), f->size - 1);
		EXPECT_EQ(EFAULT,
			  dev_errno(self->fd, f->cmd, end - f->size + 1));
		memcpy(end - 4, &f->size, 4);
		EXPECT_EQ(EFAULT, dev_errno(self->fd, f->cmd, end - 4));
		EXPECT_EQ(EFAULT, dev_errno(self->fd, f->cmd, end - 3));
		memset(self->page, 0, PAGE);
	}
}

/*
 * "errno tells what was wrong with the ioctl itself, and then nothing has
 * happened". The teardown finds what has.
 */
TEST_F(format, create_efault_no_object)
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
	EXPECT_EQ(EFAULT, dev_errno(self->fd, DAT_DEV_PZ_CREATE, pz));
	EXPECT_EQ(EFAULT, dev_errno(self->fd, DAT_DEV_EVD_CREATE, evd));
}

TEST_F(format, free_efault_keeps_object)
{
	struct dat_dev_free *arg = (void *)self->page;
	__u32 pz;

	ASSERT_DAT(dev_pz_create(self->fd, self->ia, &pz));
	*arg = (struct dat_dev_free){ .size = sizeof(*arg), .handle = pz };
	ASSERT_EQ(0, mprotect(self->page, PAGE, PROT_READ));
	EXPECT_EQ(EFAULT, dev_errno(self->fd, DAT_DEV_PZ_FREE, arg));
	EXPECT_DAT(dev_free(self->fd, DAT_DEV_PZ_FREE, pz));
}

TEST_F(format, eopnotsupp_reserved_field_not_zero)
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
		RESERVED(IA_QUERY, ia_query),
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
				  dev_errno(self->fd, formats[j].cmd, arg))
				TH_LOG("%s", formats[j].name);
			EXPECT_EQ(0x5555, arg[1]);
		}
	}
}

TEST_F(format, unknown_choices_rejected)
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

	EXPECT_EQ(EOPNOTSUPP, dev_errno(self->fd, DAT_DEV_EP_CREATE, &ep));
	ep.has_attr = 0;
	ep.attr.__reserved = 1;
	EXPECT_EQ(EOPNOTSUPP, dev_errno(self->fd, DAT_DEV_EP_CREATE, &ep));
	EXPECT_EQ(EOPNOTSUPP, dev_errno(self->fd, DAT_DEV_EVD_SET, &set));
	set.mask = DAT_DEV_EVD_DISABLED;
	set.state = DAT_DEV_EVD_UNWAITABLE;
	EXPECT_EQ(EOPNOTSUPP, dev_errno(self->fd, DAT_DEV_EVD_SET, &set));
	/* A base, where there is none. */
	EXPECT_EQ(EOPNOTSUPP, dev_errno(self->fd, DAT_DEV_LMR_CREATE, &lmr));
	EXPECT_EQ(EOPNOTSUPP, dev_errno(self->fd, DAT_DEV_LMR_SYNC, &sync));
	EXPECT_EQ(EOPNOTSUPP, dev_errno(self->fd, DAT_DEV_CONTEXT, &context));
	EXPECT_EQ(DAT_INVALID_PARAMETER,
		  dev_ia_close(self->fd, self->ia, 2));
}

TEST_F(format, ia_open_unterminated_name)
{
	struct dat_dev_ia_open arg;

	ASSERT_DAT(dev_ia_open(self->fd, &arg));
	ASSERT_DAT(dev_ia_close(self->fd, arg.ia, 1));
	memset(arg.name, 'x', sizeof(arg.name));
	EXPECT_EQ(DAT_INVALID_PARAMETER,
		  dev_type(self->fd, DAT_DEV_IA_OPEN, &arg));
}

TEST_HARNESS_MAIN
