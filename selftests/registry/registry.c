// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * registry.c - dat_registry_list_providers(3DAT)
 */
#include "harness.h"
#include <errno.h>
#include <sys/ioctl.h>

#include <linux/dat.h>

#include "link.h"
#include "pair.h"
#include "process.h"

#define MAX	8

FIXTURE(registry)
{
	DAT_PROVIDER_INFO infos[MAX];
	DAT_PROVIDER_INFO *list[MAX];
	DAT_COUNT num;
};

FIXTURE_SETUP(registry)
{
	int i;

	memset(self->infos, 0xa5, sizeof(self->infos));
	for (i = 0; i < MAX; i++)
		self->list[i] = &self->infos[i];
	ASSERT_TRUE(link_is_there());
	/* Before anything else has opened the device. */
	ASSERT_DAT(dat_registry_list_providers(MAX, &self->num, self->list));
	ASSERT_LE(1, self->num);
	ASSERT_GT(MAX, self->num);
}

FIXTURE_TEARDOWN(registry)
{
	if (!link_is_there())
		link_add();
}

static bool is_untouched(const DAT_PROVIDER_INFO *info)
{
	const unsigned char *byte = (const unsigned char *)info;
	size_t i;

	for (i = 0; i < sizeof(*info); i++)
		if (byte[i] != 0xa5)
			return false;
	return true;
}

TEST_F(registry, open_each_listed_name)
{
	bool ours = false;
	int i;

	for (i = 0; i < self->num; i++) {
		DAT_PROVIDER_INFO *info = &self->infos[i];
		DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;

		ASSERT_EQ('\0', info->ia_name[DAT_NAME_MAX_LENGTH - 1]);
		EXPECT_EQ(1, info->dapl_version_major);
		EXPECT_EQ(2, info->dapl_version_minor);
		EXPECT_EQ(DAT_TRUE, info->is_thread_safe);
		if (!strcmp(ia_name(), info->ia_name))
			ours = true;
		EXPECT_EQ(DAT_SUCCESS,
			  dat_ia_openv(info->ia_name, 8, &evd, &ia,
				       info->dapl_version_major,
				       info->dapl_version_minor,
				       info->is_thread_safe)) {
			TH_LOG("%s", info->ia_name);
		}
		EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	}
	EXPECT_TRUE(ours);
	for (; i < MAX; i++)
		EXPECT_TRUE(is_untouched(&self->infos[i]));
}

TEST_F(registry, list_exact_size)
{
	DAT_PROVIDER_INFO again[MAX], *list[MAX] = {};
	DAT_COUNT num = 77;
	int i;

	/* The pointers behind those that are needed may be anything. */
	for (i = 0; i < self->num; i++)
		list[i] = &again[i];
	EXPECT_DAT(dat_registry_list_providers(self->num, &num, list));
	EXPECT_EQ(self->num, num);
	EXPECT_DAT(dat_registry_list_providers(INT32_MAX, &num, list));
	EXPECT_EQ(self->num, num);
	EXPECT_EQ(0, memcmp(self->infos, again, num * sizeof(again[0])));
}

TEST_F(registry, list_too_small_returns_count)
{
	const DAT_RETURN bad = ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	DAT_COUNT num = 77;

	EXPECT_EQ(bad, dat_registry_list_providers(0, &num, NULL));
	EXPECT_EQ(self->num, num);
	num = 77;
	EXPECT_EQ(bad, dat_registry_list_providers(0, &num, self->list));
	EXPECT_EQ(self->num, num);
	num = 77;
	EXPECT_EQ(bad, dat_registry_list_providers(self->num - 1, &num,
						   self->list));
	EXPECT_EQ(self->num, num);
	num = 77;
	EXPECT_EQ(bad, dat_registry_list_providers(MAX, &num, NULL));
	EXPECT_EQ(self->num, num);
	self->list[self->num - 1] = NULL;
	num = 77;
	EXPECT_EQ(bad, dat_registry_list_providers(MAX, &num, self->list));
	EXPECT_EQ(self->num, num);
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1),
		       dat_registry_list_providers(-1, &num, self->list));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_registry_list_providers(MAX, NULL, self->list));
}

TEST_F(registry, list_after_device_removal)
{
	DAT_COUNT num = 77, i;

	ASSERT_EQ(0, link_delete());
	EXPECT_DAT(dat_registry_list_providers(MAX, &num, self->list));
	EXPECT_EQ(self->num - 1, num);
	for (i = 0; i < num; i++)
		EXPECT_STRNE(ia_name(), self->infos[i].ia_name);
	/* None at all is no reason to complain. */
	if (!num)
		EXPECT_DAT(dat_registry_list_providers(0, &num, NULL));
	ASSERT_EQ(0, link_add());
	EXPECT_DAT(dat_registry_list_providers(MAX, &num, self->list));
	EXPECT_EQ(self->num, num);
}

static int raw_list(struct dat_dev_ia_info *infos, __u32 max, __u32 info_size,
		    struct dat_dev_ia_list *arg)
{
	*arg = (struct dat_dev_ia_list){
		.size = sizeof(*arg),
		.infos = (uintptr_t)infos,
		.max = max,
		.info_size = info_size,
	};
	return ioctl(library_fd(), DAT_DEV_IA_LIST, arg) ? errno : 0;
}

/* Beneath the library: what <linux/dat.h> says of it. */
TEST_F(registry, ioctl_list_bounds)
{
	/* Of a program that knows of more than this kernel does. */
	struct larger {
		struct dat_dev_ia_info info;
		char more[24];
	} larger[2];
	struct dat_dev_ia_info infos[MAX];
	struct dat_dev_ia_list arg;
	__u32 n = self->num;

	memset(infos, 0xa5, sizeof(infos));
	EXPECT_EQ(0, raw_list(infos, n - 1, sizeof(infos[0]), &arg));
	EXPECT_NE(DAT_SUCCESS, arg.result);
	EXPECT_EQ(n, arg.num);
	EXPECT_EQ((char)0xa5, infos[0].name[0]);
	EXPECT_EQ(0, raw_list(infos, UINT32_MAX, sizeof(infos[0]), &arg));
	EXPECT_DAT(arg.result);
	EXPECT_EQ(n, arg.num);
	EXPECT_STREQ(self->infos[0].ia_name, infos[0].name);
	EXPECT_EQ(0, infos[0].__reserved);
	EXPECT_EQ((char)0xa5, infos[n].name[0]);
	EXPECT_EQ(EINVAL, raw_list(infos, MAX, sizeof(infos[0]) - 1, &arg));
	EXPECT_EQ(EINVAL, raw_list(infos, MAX, 0, &arg));
	EXPECT_EQ(E2BIG, raw_list(infos, MAX, 4097, &arg));
	EXPECT_EQ(EFAULT, raw_list((void *)8, MAX, sizeof(infos[0]), &arg));
	if (n > 2)
		return;
	memset(larger, 0xa5, sizeof(larger));
	EXPECT_EQ(0, raw_list(&larger[0].info, 2, sizeof(larger[0]), &arg));
	EXPECT_DAT(arg.result);
	EXPECT_STREQ(self->infos[0].ia_name, larger[0].info.name);
	if (n == 2)
		EXPECT_STREQ(self->infos[1].ia_name, larger[1].info.name);
}

/* Listens, tells the port, and waits for its end. */
static void listen_in_child(int told)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL, evd;
	DAT_CONN_QUAL qual = 0;
	DAT_PSP_HANDLE psp;
	DAT_IA_HANDLE ia;

	if (dat_ia_open((char *)ia_name(), 8, &async_evd, &ia) ||
	    dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd) ||
	    dat_psp_create_any(ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp))
		qual = 0;
	if (write(told, &qual, sizeof(qual)) != sizeof(qual))
		_exit(1);
	pause();
}

/* The parent has opened the device, and nothing in it. What the child opens ends with it. */
TEST_F(registry, child_has_a_file_of_its_own)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL, evd;
	DAT_CONN_QUAL qual = 0;
	DAT_PSP_HANDLE psp;
	DAT_IA_HANDLE ia;
	int told[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(told));
	pid = fork_child();
	ASSERT_LE(0, pid);
	if (!pid)
		listen_in_child(told[1]);
	ASSERT_EQ((ssize_t)sizeof(qual), read(told[0], &qual, sizeof(qual)));
	ASSERT_NE(0, qual);
	ASSERT_TRUE(kill_child(pid));
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &async_evd, &ia));
	ASSERT_DAT(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd));
	EXPECT_DAT(dat_psp_create(ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

TEST_HARNESS_MAIN
