// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uapi_file.c - files are separate, and release everything with their process
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "counts.h"
#include "ioctls.h"
#include "pair.h"

TEST(handles_of_other_file)
{
	int one = dev_open(), two = dev_open();
	struct dat_dev_evd_create evd;
	struct dat_dev_lmr_create lmr;
	struct dat_dev_ia_open ia;
	static unsigned char buf[4096];
	__u32 pz, ep, handle;

	ASSERT_LE(0, one);
	ASSERT_LE(0, two);
	ASSERT_DAT(dev_ia_open(one, &ia));
	ASSERT_DAT(dev_pz_create(one, ia.ia, &pz));
	ASSERT_DAT(dev_evd_create(one, ia.ia, 8, DAT_EVD_DTO_FLAG, &evd));
	ASSERT_DAT(dev_ep_create(one, ia.ia, pz, &ep));
	ASSERT_DAT(dev_lmr_create(one, ia.ia, pz, buf, 4096, &lmr));
	/* The other file has no objects at all, so no handle is one. */
	for (handle = 0; handle < 1000; handle++) {
		struct dat_dev_handle_query query = {
			.size = sizeof(query),
			.handle = handle,
		};

		EXPECT_EQ(DAT_INVALID_HANDLE,
			  dev_type(two, DAT_DEV_HANDLE_QUERY, &query));
	}
	EXPECT_EQ(DAT_INVALID_HANDLE, dev_ia_close(two, ia.ia, 0));
	EXPECT_EQ(DAT_INVALID_HANDLE, dev_pz_create(two, ia.ia, &handle));
	EXPECT_EQ(DAT_INVALID_HANDLE, dev_free(two, DAT_DEV_PZ_FREE, pz));
	EXPECT_EQ(DAT_INVALID_HANDLE, dev_free(two, DAT_DEV_EP_FREE, ep));
	EXPECT_EQ(DAT_INVALID_HANDLE, dev_free(two, DAT_DEV_EVD_FREE,
					       evd.evd));
	EXPECT_EQ(DAT_INVALID_HANDLE, dev_free(two, DAT_DEV_LMR_FREE,
					       lmr.lmr));
	EXPECT_EQ(MAP_FAILED,
		  dev_map_ring(two, evd.evd, PAGE, PROT_READ, MAP_SHARED));
	EXPECT_DAT(dev_free(one, DAT_DEV_LMR_FREE, lmr.lmr));
}

TEST(post_context_of_other_file)
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

		fd[i] = dev_open();
		ASSERT_LE(0, fd[i]);
		ASSERT_DAT(dev_ia_open(fd[i], &ia));
		ASSERT_DAT(dev_pz_create(fd[i], ia.ia, &pz[i]));
		ASSERT_DAT(dev_ep_create(fd[i], ia.ia, pz[i], &ep[i]));
		ASSERT_DAT(dev_lmr_create(fd[i], ia.ia, pz[i], buf, 4096,
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
		EXPECT_EQ(DAT_PROTECTION_VIOLATION, dev_post_one(fd[i], &dto));
		seg.lmr_context = lmr[i].lmr_context;
		EXPECT_DAT(dev_post_one(fd[i], &dto));
	}
}

TEST(kill_unpins_memory)
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

TEST(exec_unpins_memory)
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

TEST_HARNESS_MAIN
