// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ia.c - dat_ia_open(3DAT), dat_ia_query(3DAT), dat_ia_close(3DAT)
 */
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness.h"

#include "link.h"
#include "pair.h"

static DAT_RETURN open_name(const char *name, DAT_EVD_HANDLE *evd,
			    DAT_IA_HANDLE *ia)
{
	*evd = DAT_HANDLE_NULL;
	return dat_ia_open((char *)name, 8, evd, ia);
}

FIXTURE(ia)
{
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR provider;
};

FIXTURE_SETUP(ia)
{
	ASSERT_DAT(open_name(ia_name(), &self->async_evd, &self->ia));
	memset(&self->attr, 0x5a, sizeof(self->attr));
	memset((void *)&self->provider, 0x5a, sizeof(self->provider));
	ASSERT_DAT(dat_ia_query(self->ia, NULL, DAT_IA_FIELD_ALL, &self->attr,
				DAT_PROVIDER_FIELD_ALL, &self->provider));
}

FIXTURE_TEARDOWN(ia)
{
	dat_ia_close(self->ia, DAT_CLOSE_ABRUPT_FLAG);
}

TEST_F(ia, open_twice_separate_instances)
{
	DAT_EVD_HANDLE evd, seen;
	DAT_IA_HANDLE other;
	DAT_EVENT event;
	DAT_PZ_HANDLE pz;

	ASSERT_DAT(open_name(ia_name(), &evd, &other));
	EXPECT_NE(self->ia, other);
	EXPECT_NE(self->async_evd, evd);
	ASSERT_DAT(dat_ia_query(other, &seen, 0, NULL, 0, NULL));
	EXPECT_EQ(evd, seen);
	ASSERT_DAT(dat_ia_query(self->ia, &seen, 0, NULL, 0, NULL));
	EXPECT_EQ(self->async_evd, seen);
	ASSERT_DAT(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, dat_evd_dequeue(evd, &event));
	EXPECT_DAT(dat_pz_create(self->ia, &pz));
	EXPECT_DAT_TYPE(DAT_QUEUE_EMPTY,
			dat_evd_dequeue(self->async_evd, &event));
}

TEST_F(ia, open_ro_aware_name)
{
	char name[DAT_NAME_MAX_LENGTH];
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;

	snprintf(name, sizeof(name), "RO_AWARE_%s", ia_name());
	ASSERT_DAT(open_name(name, &evd, &ia));
	ASSERT_DAT(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	EXPECT_STREQ(ia_name(), attr.adapter_name);
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED),
		       open_name("RO_AWARE_", &evd, &ia));
}

TEST_F(ia, open_async_evd_exists)
{
	DAT_EVD_HANDLE evd = DAT_EVD_ASYNC_EXISTS, seen = DAT_HANDLE_NULL;
	DAT_IA_HANDLE other;
	DAT_COUNT nmore;
	DAT_EVENT event;
	DAT_PZ_HANDLE pz;

	/* How long it is to be is ignored, as there is none. */
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 0, &evd, &other));
	EXPECT_EQ(DAT_EVD_OUT_OF_SCOPE, evd);
	ASSERT_DAT(dat_ia_query(other, &seen, 0, NULL, 0, NULL));
	EXPECT_EQ(DAT_EVD_OUT_OF_SCOPE, seen);
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, dat_evd_dequeue(evd, &event));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE,
			dat_evd_wait(evd, 0, 1, &event, &nmore));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, dat_evd_free(evd));
	EXPECT_DAT(dat_pz_create(other, &pz));
	EXPECT_DAT(dat_pz_free(pz));
	EXPECT_DAT(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG));

	ASSERT_DAT(dat_ia_query(self->ia, &seen, 0, NULL, 0, NULL));
	EXPECT_EQ(self->async_evd, seen);
	evd = DAT_EVD_OUT_OF_SCOPE;
	EXPECT_DAT_RET(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC),
		       dat_ia_open((char *)ia_name(), 8, &evd, &other));
	EXPECT_EQ(DAT_EVD_OUT_OF_SCOPE, evd);
}

TEST_F(ia, open_async_evd_qlen)
{
	static const DAT_COUNT qlens[] = { 1, 5, 64, 1000 };
	DAT_EVD_HANDLE evd;
	DAT_COUNT nmore;
	DAT_IA_HANDLE ia;
	DAT_EVENT event;
	unsigned int i;

	for (i = 0; i < sizeof(qlens) / sizeof(qlens[0]); i++) {
		evd = DAT_HANDLE_NULL;
		ASSERT_DAT(dat_ia_open((char *)ia_name(), qlens[i], &evd, &ia));
		/* Not as many as there is room for yet, but there could be. */
		EXPECT_DAT_TYPE(DAT_TIMEOUT_EXPIRED,
				dat_evd_wait(evd, 0, qlens[i], &event, &nmore));
		EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	}
}

TEST_F(ia, open_bad_args)
{
	char long_name[2 * DAT_NAME_MAX_LENGTH];
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED),
		       open_name("nobody0", &evd, &ia));
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED),
		       open_name("", &evd, &ia));
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED),
		       open_name(long_name, &evd, &ia));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1),
		       dat_ia_open(NULL, 8, &evd, &ia));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_ia_open((char *)ia_name(), 0, &evd, &ia));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_ia_open((char *)ia_name(), -1, &evd, &ia));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_ia_open((char *)ia_name(), 8, NULL, &ia));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
		       dat_ia_open((char *)ia_name(), 8, &evd, NULL));
	EXPECT_DAT_TYPE(DAT_INSUFFICIENT_RESOURCES,
			dat_ia_open((char *)ia_name(), INT32_MAX, &evd, &ia));
	EXPECT_EQ(DAT_HANDLE_NULL, evd);
}

/* Where the kernel looks for who loads modules. */
#define MODPROBE	"/proc/sys/kernel/modprobe"
#define SCRIPT		"/tmp/dat_ia_modprobe"
#define ASKED		"/tmp/dat_ia_asked"

static ssize_t file_io(const char *path, int flags, char *buf, size_t len)
{
	int fd = open(path, flags | O_CLOEXEC, 0755);
	ssize_t done;

	if (fd < 0)
		return -1;
	done = (flags & O_ACCMODE) == O_RDONLY ? read(fd, buf, len) :
						 write(fd, buf, len);
	close(fd);
	return done;
}

TEST_F(ia, open_unknown_name_requests_module)
{
	char script[] = "#!/bin/sh\necho \"$@\" >" ASKED "\nexit 1\n";
	char saved[256] = "", asked[256] = "";
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;

	if (file_io(MODPROBE, O_RDONLY, saved, sizeof(saved) - 1) <= 0)
		SKIP(return, "no " MODPROBE);
	unlink(ASKED);
	ASSERT_LT(0, file_io(SCRIPT, O_WRONLY | O_CREAT | O_TRUNC, script,
			     strlen(script)));
	ASSERT_LT(0, file_io(MODPROBE, O_WRONLY, (char *)SCRIPT,
			     strlen(SCRIPT)));
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED),
		       open_name("nobody0", &evd, &ia));
	ASSERT_LT(0, file_io(MODPROBE, O_WRONLY, saved, strlen(saved)));
	EXPECT_LT(0, file_io(ASKED, O_RDONLY, asked, sizeof(asked) - 1));
	EXPECT_NE(NULL, strstr(asked, "dat-ia-nobody0"));
	unlink(SCRIPT);
	unlink(ASKED);
}

/* A name that a user has thought of is no reason to load a module. */
TEST_F(ia, unprivileged_open_no_module_request)
{
	char script[] = "#!/bin/sh\necho \"$@\" >" ASKED "\nexit 1\n";
	char saved[256] = "";
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;

	if (file_io(MODPROBE, O_RDONLY, saved, sizeof(saved) - 1) <= 0)
		SKIP(return, "no " MODPROBE);
	unlink(ASKED);
	ASSERT_LT(0, file_io(SCRIPT, O_WRONLY | O_CREAT | O_TRUNC, script,
			     strlen(script)));
	ASSERT_LT(0, file_io(MODPROBE, O_WRONLY, (char *)SCRIPT,
			     strlen(SCRIPT)));
	/* The library has opened the device by now, as one who may. */
	ASSERT_LE(0, library_fd());
	ASSERT_EQ(0, seteuid(65534));
	EXPECT_DAT_RET(ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED),
		       open_name("nobody1", &evd, &ia));
	ASSERT_EQ(0, seteuid(0));
	ASSERT_LT(0, file_io(MODPROBE, O_WRONLY, saved, strlen(saved)));
	EXPECT_NE(0, access(ASKED, F_OK));
	unlink(SCRIPT);
	unlink(ASKED);
}

/* What a bit of a mask stands for. */
struct field {
	DAT_UINT64 bit;
	size_t offset;
	size_t size;
};

#define FIELD(type, bit, member) \
	{ bit, offsetof(type, member), sizeof(((type *)NULL)->member) }
#define IA(bit, member)	FIELD(DAT_IA_ATTR, DAT_IA_FIELD_IA_ ## bit, member)
#define PROVIDER(bit, member) \
	FIELD(DAT_PROVIDER_ATTR, DAT_PROVIDER_FIELD_ ## bit, member)

static const struct field ia_fields[] = {
	IA(ADAPTER_NAME, adapter_name),
	IA(VENDOR_NAME, vendor_name),
	IA(HARDWARE_MAJOR_VERSION, hardware_version_major),
	IA(HARDWARE_MINOR_VERSION, hardware_version_minor),
	IA(FIRMWARE_MAJOR_VERSION, firmware_version_major),
	IA(FIRMWARE_MINOR_VERSION, firmware_version_minor),
	IA(ADDRESS_PTR, ia_address_ptr),
	IA(MAX_EPS, max_eps),
	IA(MAX_DTO_PER_EP, max_dto_per_ep),
	IA(MAX_RDMA_READ_PER_EP_IN, max_rdma_read_per_ep_in),
	IA(MAX_RDMA_READ_PER_EP_OUT, max_rdma_read_per_ep_out),
	IA(MAX_EVDS, max_evds),
	IA(MAX_EVD_QLEN, max_evd_qlen),
	IA(MAX_IOV_SEGMENTS_PER_DTO, max_iov_segments_per_dto),
	IA(MAX_LMRS, max_lmrs),
	IA(MAX_LMR_BLOCK_SIZE, max_lmr_block_size),
	IA(MAX_LMR_VIRTUAL_ADDRESS, max_lmr_virtual_address),
	IA(MAX_PZS, max_pzs),
	IA(MAX_MESSAGE_SIZE, max_message_size),
	IA(MAX_RDMA_SIZE, max_rdma_size),
	IA(MAX_RMRS, max_rmrs),
	IA(MAX_RMR_TARGET_ADDRESS, max_rmr_target_address),
	IA(MAX_SRQS, max_srqs),
	IA(MAX_EP_PER_SRQ, max_ep_per_srq),
	IA(MAX_RECV_PER_SRQ, max_recv_per_srq),
	IA(MAX_IOV_SEGMENTS_PER_RDMA_READ, max_iov_segments_per_rdma_read),
	IA(MAX_IOV_SEGMENTS_PER_RDMA_WRITE, max_iov_segments_per_rdma_write),
	IA(MAX_RDMA_READ_IN, max_rdma_read_in),
	IA(MAX_RDMA_READ_OUT, max_rdma_read_out),
	IA(MAX_RDMA_READ_PER_EP_IN_GUARANTEED,
	   max_rdma_read_per_ep_in_guaranteed),
	IA(MAX_RDMA_READ_PER_EP_OUT_GUARANTEED,
	   max_rdma_read_per_ep_out_guaranteed),
	IA(NUM_TRANSPORT_ATTR, num_transport_attr),
	IA(TRANSPORT_ATTR, transport_attr),
	IA(NUM_VENDOR_ATTR, num_vendor_attr),
	IA(VENDOR_ATTR, vendor_attr),
};

static const struct field provider_fields[] = {
	PROVIDER(PROVIDER_NAME, provider_name),
	PROVIDER(PROVIDER_VERSION_MAJOR, provider_version_major),
	PROVIDER(PROVIDER_VERSION_MINOR, provider_version_minor),
	PROVIDER(DAPL_VERSION_MAJOR, dapl_version_major),
	PROVIDER(DAPL_VERSION_MINOR, dapl_version_minor),
	PROVIDER(LMR_MEM_TYPE_SUPPORTED, lmr_mem_types_supported),
	PROVIDER(IOV_OWNERSHIP, iov_ownership_on_return),
	PROVIDER(DAT_QOS_SUPPORTED, dat_qos_supported),
	PROVIDER(COMPLETION_FLAGS_SUPPORTED, completion_flags_supported),
	PROVIDER(IS_THREAD_SAFE, is_thread_safe),
	PROVIDER(MAX_PRIVATE_DATA_SIZE, max_private_data_size),
	PROVIDER(SUPPORTS_MULTIPATH, supports_multipath),
	PROVIDER(EP_CREATOR, ep_creator),
	PROVIDER(PZ_SUPPORT, pz_support),
	PROVIDER(OPTIMAL_BUFFER_ALIGNMENT, optimal_buffer_alignment),
	PROVIDER(EVD_STREAM_MERGING_SUPPORTED, evd_stream_merging_supported),
	PROVIDER(SRQ_SUPPORTED, srq_supported),
	PROVIDER(SRQ_WATERMARKS_SUPPORTED, srq_watermarks_supported),
	PROVIDER(SRQ_EP_PZ_DIFFERENCE_SUPPORTED,
		 srq_ep_pz_difference_supported),
	PROVIDER(SRQ_INFO_SUPPORTED, srq_info_supported),
	PROVIDER(EP_RECV_INFO_SUPPORTED, ep_recv_info_supported),
	PROVIDER(LMR_SYNC_REQ, lmr_sync_req),
	PROVIDER(DTO_ASYNC_RETURN_GUARANTEED, dto_async_return_guaranteed),
	PROVIDER(RDMA_WRITE_FOR_RDMA_READ_REQ, rdma_write_for_rdma_read_req),
	PROVIDER(NUM_PROVIDER_SPECIFIC_ATTR, num_provider_specific_attr),
	PROVIDER(PROVIDER_SPECIFIC_ATTR, provider_specific_attr),
};

static bool same_field(const struct field *f, const void *a, const void *b)
{
	return !memcmp((const char *)a + f->offset, (const char *)b + f->offset,
		       f->size);
}

TEST_F(ia, query_each_attribute_alone)
{
	DAT_UINT64 seen = 0;
	unsigned int i;

	for (i = 0; i < sizeof(ia_fields) / sizeof(ia_fields[0]); i++) {
		const struct field *f = &ia_fields[i];
		DAT_IA_ATTR one;

		memset(&one, 0xa5, sizeof(one));
		ASSERT_DAT(dat_ia_query(self->ia, NULL, f->bit, &one, 0, NULL));
		EXPECT_TRUE(same_field(f, &one, &self->attr))
			TH_LOG("attribute %#llx", (long long)f->bit);
		seen |= f->bit;
	}
	EXPECT_EQ(DAT_IA_FIELD_ALL, seen);

	seen = 0;
	for (i = 0; i < sizeof(provider_fields) / sizeof(provider_fields[0]);
	     i++) {
		const struct field *f = &provider_fields[i];
		DAT_PROVIDER_ATTR one;

		memset((void *)&one, 0xa5, sizeof(one));
		ASSERT_DAT(dat_ia_query(self->ia, NULL, 0, NULL, f->bit, &one));
		EXPECT_TRUE(same_field(f, &one, &self->provider))
			TH_LOG("attribute %#llx", (long long)f->bit);
		seen |= f->bit;
	}
	EXPECT_EQ(DAT_PROVIDER_FIELD_ALL, seen);
}

TEST_F(ia, query_bad_args)
{
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_ia_query(self->ia, NULL, DAT_IA_FIELD_ALL + 1,
				    &self->attr, 0, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		       dat_ia_query(self->ia, NULL, 1ULL << 63, &self->attr, 0,
				    NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
		       dat_ia_query(self->ia, NULL, DAT_IA_FIELD_ALL, NULL, 0,
				    NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
		       dat_ia_query(self->ia, NULL, 0, NULL,
				    DAT_PROVIDER_FIELD_ALL + 1,
				    &self->provider));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6),
		       dat_ia_query(self->ia, NULL, 0, NULL,
				    DAT_PROVIDER_FIELD_ALL, NULL));
}

TEST_F(ia, query_same_for_every_instance)
{
	DAT_IA_ADDRESS_PTR first = self->attr.ia_address_ptr, second;
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE other;
	DAT_IA_ATTR attr;
	unsigned int i;

	ASSERT_DAT(open_name(ia_name(), &evd, &other));
	ASSERT_DAT(dat_ia_query(other, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	second = attr.ia_address_ptr;
	EXPECT_EQ(0, memcmp(first, second, sizeof(struct sockaddr_in)));
	attr.ia_address_ptr = first;
	ASSERT_EQ(1, attr.num_transport_attr);
	EXPECT_STREQ(self->attr.transport_attr[0].value, attr.transport_attr[0].value);
	attr.transport_attr = self->attr.transport_attr;
	for (i = 0; i < sizeof(ia_fields) / sizeof(ia_fields[0]); i++)
		EXPECT_TRUE(same_field(&ia_fields[i], &attr, &self->attr))
			TH_LOG("attribute %#llx", (long long)ia_fields[i].bit);
	dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG);
}

static bool host_has_address(const struct sockaddr *address)
{
	struct in_addr in = ((struct sockaddr_in *)address)->sin_addr;
	struct ifaddrs *all, *one;
	bool found = false;

	if (address->sa_family != AF_INET || getifaddrs(&all))
		return false;
	for (one = all; one; one = one->ifa_next)
		if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET &&
		    ((struct sockaddr_in *)one->ifa_addr)->sin_addr.s_addr ==
			    in.s_addr)
			found = true;
	freeifaddrs(all);
	return found;
}

TEST_F(ia, query_ia_attr_values)
{
	EXPECT_STREQ(ia_name(), self->attr.adapter_name);
	/* The identifiers of the software devices' vendors. */
	if (link_is_iwarp()) {
		EXPECT_STREQ("0x626d74", self->attr.vendor_name);
	} else if (!strncmp(ia_name(), "rxe", 3)) {
		EXPECT_STREQ("0xffffff", self->attr.vendor_name);
	}
	EXPECT_TRUE(host_has_address(self->attr.ia_address_ptr));
	EXPECT_EQ(DAT_TRUE, self->attr.max_rdma_read_per_ep_in_guaranteed);
	EXPECT_EQ(DAT_TRUE, self->attr.max_rdma_read_per_ep_out_guaranteed);
	ASSERT_EQ(1, self->attr.num_transport_attr);
	EXPECT_STREQ("DAT_IB_TRANSPORT_MTU", self->attr.transport_attr[0].name);
	EXPECT_LE(256, atoi(self->attr.transport_attr[0].value));
	/* There are none, and no array of them. */
	EXPECT_EQ(0, self->attr.num_vendor_attr);
	EXPECT_EQ(NULL, self->attr.vendor_attr);
}

TEST_F(ia, query_provider_attr_values)
{
	const DAT_PROVIDER_ATTR *p = &self->provider;
	int i, j;

	EXPECT_STREQ("kdapl", p->provider_name);
	EXPECT_NE(0, p->provider_version_major + p->provider_version_minor);
	EXPECT_EQ(1, p->dapl_version_major);
	EXPECT_EQ(2, p->dapl_version_minor);
	EXPECT_EQ(DAT_IOV_CONSUMER, p->iov_ownership_on_return);
	EXPECT_EQ(2 * DAT_QOS_PREMIUM - 1, p->dat_qos_supported);
	EXPECT_EQ(DAT_TRUE, p->is_thread_safe);
	EXPECT_EQ(DAT_FALSE, p->supports_multipath);
	EXPECT_EQ(DAT_PSP_CREATES_EP_IFASKED, p->ep_creator);
	EXPECT_EQ(DAT_PZ_UNIQUE, p->pz_support);
	ASSERT_LT(0, p->optimal_buffer_alignment);
	EXPECT_GE(256, p->optimal_buffer_alignment);
	EXPECT_EQ(0, DAT_OPTIMAL_ALIGNMENT % p->optimal_buffer_alignment);
	for (i = 0; i < 6; i++)
		for (j = 0; j < 6; j++)
			EXPECT_EQ(DAT_TRUE,
				  p->evd_stream_merging_supported[i][j]);
}

static const char *named(const DAT_PROVIDER_ATTR *p, const char *name)
{
	DAT_COUNT i;

	for (i = 0; i < p->num_provider_specific_attr; i++)
		if (!strcmp(p->provider_specific_attr[i].name, name))
			return p->provider_specific_attr[i].value;
	return "none";
}

/* A line that sysfs has about the IA's device, without its newline */
static char *sysfs_value(const char *file)
{
	static char value[64];
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/%s", ia_name(),
		 file);
	f = fopen(path, "re");
	if (!f || !fgets(value, sizeof(value), f))
		value[0] = '\0';
	if (f)
		fclose(f);
	value[strcspn(value, "\n")] = '\0';
	return value;
}

/* As the providers of OpenFabrics name them: programs read the MTU, for example. */
TEST_F(ia, query_named_attrs)
{
	const DAT_PROVIDER_ATTR *p = &self->provider;
	int mtu = atoi(named(p, "DAT_IB_TRANSPORT_MTU"));

	EXPECT_STREQ("kdapl", named(p, "DAT_IB_PROVIDER_NAME"));
	EXPECT_STREQ(ia_name(), named(p, "DAT_IB_DEVICE_NAME"));
	EXPECT_STREQ("DIRECT", named(p, "DAT_IB_CONNECTIVITY_MODE"));
	EXPECT_STREQ("TRUE", named(p, "DAT_IB_RDMA_READ"));
	EXPECT_STREQ(sysfs_value("node_guid"), named(p, "DAT_IB_NODE_GUID"));
	EXPECT_STREQ(sysfs_value("ports/1/gids/0"), named(p, "DAT_IB_GID"));
	EXPECT_TRUE(mtu >= 256 && mtu <= 4096 && !(mtu & (mtu - 1)));
	EXPECT_STREQ("ACTIVE", named(p, "DAT_IB_PORT_STATUS"));
	EXPECT_STREQ("1", named(p, "DAT_IB_PORT_NUMBER"));
	EXPECT_STREQ(link_is_iwarp() ? "none" : "TRUE",
		     named(p, "DAT_EXTENSION_INTERFACE"));
	EXPECT_STREQ(link_is_iwarp() ? "none" : "TRUE",
		     named(p, "DAT_IB_IMMED_DATA"));
}

TEST_F(ia, close_default_is_abrupt)
{
	DAT_HANDLE_TYPE type;
	DAT_PZ_HANDLE pz;

	ASSERT_DAT(dat_pz_create(self->ia, &pz));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE),
		       dat_ia_close(self->ia, DAT_CLOSE_GRACEFUL_FLAG));
	EXPECT_DAT(dat_get_handle_type(pz, &type));
	EXPECT_DAT(dat_ia_close(self->ia, DAT_CLOSE_DEFAULT));
	EXPECT_DAT_TYPE(DAT_INVALID_HANDLE, dat_get_handle_type(pz, &type));
}

FIXTURE(ia_pair)
{
	struct pair pair;
	struct region a, b;
	DAT_PROVIDER_ATTR provider;
};

FIXTURE_SETUP(ia_pair)
{
	struct pair *pair = &self->pair;

	ASSERT_DAT(pair_open(pair));
	ASSERT_DAT(regions_open(pair, &self->a, &self->b, 4096,
				DAT_MEM_PRIV_ALL_FLAG));
	ASSERT_DAT(dat_ia_query(pair->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL,
				&self->provider));
}

FIXTURE_TEARDOWN(ia_pair)
{
	pair_close(&self->pair);
}

TEST_F(ia_pair, iov_reusable_after_post)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET iov[2];

	ASSERT_EQ(DAT_IOV_CONSUMER, self->provider.iov_ownership_on_return);
	ASSERT_DAT(pair_connect(&self->pair));
	iov[0] = segment(&self->b, 0, 3);
	iov[1] = segment(&self->b, 100, 5);
	ASSERT_DAT(dat_ep_post_recv(self->pair.b.ep, 2, iov, cookie,
				    DAT_COMPLETION_DEFAULT_FLAG));
	memset(iov, 0xff, sizeof(iov));
	memcpy(self->a.buf, "abcdefgh", 8);
	iov[0] = segment(&self->a, 0, 8);
	ASSERT_DAT(dat_ep_post_send(self->pair.a.ep, 1, iov, cookie,
				    DAT_COMPLETION_DEFAULT_FLAG));
	memset(iov, 0xff, sizeof(iov));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.a.dto_evd, 1));
	EXPECT_EQ(DAT_DTO_SUCCESS, wait_dto(self->pair.b.dto_evd, 1));
	EXPECT_EQ(0, memcmp(self->b.buf, "abc", 3));
	EXPECT_EQ(0, memcmp(self->b.buf + 100, "defgh", 5));
}

TEST_F(ia_pair, max_private_data_size_exact)
{
	DAT_COUNT max = self->provider.max_private_data_size;
	unsigned char data[4096] = {};
	DAT_CR_PARAM param;
	DAT_IA_ATTR attr;
	DAT_EVENT event;

	ASSERT_LT(0, max);
	ASSERT_LT(max, sizeof(data));
	memset(data, 0x77, max);
	ASSERT_DAT(dat_ia_query(self->pair.ia, NULL,
				DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5),
		       dat_ep_connect(self->pair.a.ep, attr.ia_address_ptr,
				      self->pair.qual, DAT_TIMEOUT_INFINITE,
				      max + 1, data, DAT_QOS_BEST_EFFORT,
				      DAT_CONNECT_DEFAULT_FLAG));
	ASSERT_DAT(dat_ep_connect(self->pair.a.ep, attr.ia_address_ptr,
				  self->pair.qual, DAT_TIMEOUT_INFINITE, max,
				  data, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG));
	ASSERT_DAT(wait_event(self->pair.cr_evd, &event));
	ASSERT_DAT(dat_cr_query(event.event_data.cr_arrival_event_data.cr_handle,
				DAT_CR_FIELD_ALL, &param));
	ASSERT_LE(max, param.private_data_size);
	EXPECT_EQ(0, memcmp(data, param.private_data, max));
}

TEST_HARNESS_MAIN
