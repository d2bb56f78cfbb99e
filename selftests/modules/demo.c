// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * demo.c - the demo as an in-kernel consumer
 *
 * Loading the module connects two EPs, transfers data and prints each step.
 */
#include <crypto/sha2.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/random.h>

#include "kpair.h"
#include "report.h"

#define REGION_SIZE	(1024 * 1024)
#define WINDOW_SIZE	(64 * 1024)
#define FIRST_OFFSET	12345
#define SECOND_OFFSET	500001

struct offer {
	u64 address;
	u32 context;
};

static struct kpair pair;
static struct kregion client, server;
static DAT_RMR_HANDLE rmr;
static ktime_t began;

static void step_begin(void)
{
	began = ktime_get();
}

#define step_done(who, fmt, ...)					\
	do {								\
		s64 us = ktime_us_delta(ktime_get(), began);		\
									\
		report("%6lld.%02lld ms  %-7s " fmt "\n", us / 1000,	\
		       us % 1000 / 10, who, ##__VA_ARGS__);		\
		step_begin();						\
	} while (0)

#define proves(text)	report("          =>          " text "\n")

#define EXPECT(cond, why)						\
	do {								\
		if (!(cond)) {						\
			report("demo: kernel: " why "\n");		\
			return;						\
		}							\
	} while (0)

static bool same_hash(const u8 *one, const u8 *other, u8 *digest)
{
	u8 second[SHA256_DIGEST_SIZE];

	sha256(one, WINDOW_SIZE, digest);
	sha256(other, WINDOW_SIZE, second);
	return !memcmp(digest, second, sizeof(second));
}

static void tell(void)
{
	struct offer *out, *in, first;
	u8 *data, digest[SHA256_DIGEST_SIZE];

	step_begin();
	EXPECT(kpair_open(&pair) && kpair_connect(&pair), "no connection");
	step_done("both", "opened the IA, connected two endpoints");
	EXPECT(kregion_open(&pair, pair.a.pz, &client, REGION_SIZE,
			    DAT_MEM_PRIV_READ_FLAG | DAT_MEM_PRIV_WRITE_FLAG) &&
	       kregion_open(&pair, pair.b.pz, &server, REGION_SIZE,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG |
			    DAT_MEM_PRIV_LOCAL_WRITE_FLAG), "no memory");
	out = (void *)server.buf;
	in = (void *)client.buf;
	data = client.buf + 4096;
	step_done("both", "registered 1 MiB of vmalloc memory each");
	EXPECT(!dat_rmr_create(pair.b.pz, &rmr), "no RMR");

	step_begin();
	EXPECT(!kpost_recv(pair.a.ep, &client, 0, 64, 1) &&
	       !kbind(rmr, &server, FIRST_OFFSET, WINDOW_SIZE, KREMOTE_ALL,
		      pair.b.ep, 2, DAT_COMPLETION_SUPPRESS_FLAG,
		      &out->context), "bind refused");
	out->address = (uintptr_t)server.buf + FIRST_OFFSET;
	EXPECT(!kpost_send(pair.b.ep, &server, 0, sizeof(*out), 3) &&
	       !kwait_dto(pair.a.dto_evd, 1), "no message");
	first = *in;
	step_done("server", "bound 64 KiB at offset %d, sent rmr_context %#x",
		  FIRST_OFFSET, first.context);

	get_random_bytes(data, WINDOW_SIZE);
	step_begin();
	EXPECT(!kwrite(&pair, &client, 4096, WINDOW_SIZE, first.context,
		       (void *)(uintptr_t)first.address), "write refused");
	step_done("client", "RDMA-wrote 64 KiB through it");
	EXPECT(same_hash(data, server.buf + FIRST_OFFSET, digest),
	       "other data arrived");
	step_done("server", "found SHA-256 %*phN..., as the client sent it", 8,
		  digest);
	proves("the same window, from one kernel driver to another");

	EXPECT(!kbind(rmr, &server, SECOND_OFFSET, WINDOW_SIZE, KREMOTE_ALL,
		      pair.b.ep, 4, 0, &out->context) &&
	       !kwait_bind(pair.b.dto_evd, 4), "rebind failed");
	step_done("server", "moved the window to offset %d", SECOND_OFFSET);
	EXPECT(!kwrite(&pair, &client, 4096, WINDOW_SIZE, out->context,
		       server.buf + SECOND_OFFSET), "write refused");
	EXPECT(same_hash(data, server.buf + SECOND_OFFSET, digest),
	       "other data arrived");
	memset(data, 0, WINDOW_SIZE);
	EXPECT(!kread(&pair, &client, 4096, WINDOW_SIZE, out->context,
		      server.buf + SECOND_OFFSET), "read refused");
	EXPECT(same_hash(data, server.buf + SECOND_OFFSET, digest),
	       "other data came back");
	step_done("client", "RDMA-wrote and RDMA-read 64 KiB there");

	EXPECT(kwrite(&pair, &client, 4096, WINDOW_SIZE, first.context,
		      (void *)(uintptr_t)first.address) ==
	       DAT_DTO_ERR_REMOTE_ACCESS, "the old rmr_context still works");
	step_done("client", "tried the old rmr_context: DAT_DTO_ERR_REMOTE_ACCESS");
	EXPECT(kwait_any_end(pair.b.conn_evd), "the server's connection did not end");
	step_done("server", "saw its connection end");
	proves("an old rmr_context is dead in the kernel, too");
}

static int __init demo_init(void)
{
	int ret = report_open("kdapl_demo");

	if (ret)
		return ret;
	tell();
	kpair_close(&pair);
	kregion_close(&client);
	kregion_close(&server);
	return 0;
}

static void __exit demo_exit(void)
{
	report_close();
}

module_init(demo_init);
module_exit(demo_exit);
MODULE_DESCRIPTION("The demo of kdapl, by an in-kernel consumer");
MODULE_LICENSE("Dual BSD/GPL");
