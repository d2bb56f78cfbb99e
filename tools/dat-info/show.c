// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * show.c - dat-info: an IA as an administrator looks for it: device, link, address, limits
 *
 * The attributes are DAT's, the rest is what the kernel shows of the device in sysfs.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <dat/version.h>

#include "check.h"

#define PARAMETERS	"/sys/module/kdapl/parameters"

/* -b: sizes in bytes */
bool show_bytes;

/**
 * show - print a line of the description of an IA
 * @name: what it is
 * @value: its value
 */
void show(const char *name, const char *value)
{
	printf("\t%-32s %s\n", name, value);
}

/**
 * size_text - a number of bytes as text, in the largest unit that is exact
 * @size: the number
 *
 * Without such a unit the text has one decimal. With -b the text is the number alone.
 *
 * Return: the text, in a buffer that the next call overwrites.
 */
const char *size_text(unsigned long long size)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	static char text[40];
	unsigned int unit = 0;
	unsigned long long rest = 0;

	if (show_bytes) {
		snprintf(text, sizeof(text), "%llu", size);
		return text;
	}
	while (size >= 1024 && (!(size % 1024) || size >= 10 * 1024)) {
		rest = size % 1024;
		size /= 1024;
		unit++;
	}
	if (rest)
		snprintf(text, sizeof(text), "%llu.%llu %s", size, rest * 10 / 1024, units[unit]);
	else
		snprintf(text, sizeof(text), "%llu %s", size, units[unit]);
	return text;
}

static void size(const char *name, unsigned long long value)
{
	show(name, size_text(value));
}

static void number(const char *name, unsigned long long value)
{
	printf("\t%-32s %llu\n", name, value);
}

static void yes_no(const char *name, DAT_BOOLEAN value)
{
	show(name, value ? "yes" : "no");
}

/* The first line of a file without its end, or NULL; the next call overwrites it. */
static char *line_of(const char *path)
{
	static char line[128];
	FILE *f = fopen(path, "re");
	char *read;

	if (!f)
		return NULL;
	read = fgets(line, sizeof(line), f);
	fclose(f);
	if (!read)
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	return line[0] ? line : NULL;
}

static char *line_of_device(const char *device, const char *file)
{
	char path[512];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/%s", device, file);
	return line_of(path);
}

/* Software devices have neither a driver nor an ID in sysfs, but a description. */
static void show_driver(const char *device)
{
	char path[512], target[256], text[160];
	const char *what;
	ssize_t len;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/driver", device);
	len = readlink(path, target, sizeof(target) - 1);
	if (len > 0) {
		target[len] = '\0';
		show("driver", strrchr(target, '/') + 1);
		return;
	}
	what = line_of_device(device, "node_desc");
	snprintf(text, sizeof(text), "software device%s%s", what ? ": " : "", what ?: "");
	show("driver", text);
}

static void show_if(const char *name, const char *value)
{
	if (value)
		show(name, value);
}

/* "4: ACTIVE" and "2.5 Gb/sec (1X SDR)" */
static void show_link(const char *device, const char *port)
{
	char file[64], text[192], *state;
	const char *rate;
	int len;

	snprintf(file, sizeof(file), "ports/%s/state", port);
	state = line_of_device(device, file);
	if (!state)
		return;
	state = strchr(state, ' ') ? strchr(state, ' ') + 1 : state;
	len = snprintf(text, sizeof(text), "%s", state);
	snprintf(file, sizeof(file), "ports/%s/rate", port);
	rate = line_of_device(device, file);
	if (rate)
		snprintf(text + len, sizeof(text) - len, ", %s", rate);
	show("link", text);
}

/**
 * named_attr - a named attribute of an IA
 * @p: the attributes of its provider
 * @name: the name
 *
 * Return: its value, or NULL.
 */
static const char *named_attr(const DAT_PROVIDER_ATTR *p, const char *name)
{
	DAT_COUNT i;

	for (i = 0; i < p->num_provider_specific_attr; i++)
		if (!strcmp(p->provider_specific_attr[i].name, name))
			return p->provider_specific_attr[i].value;
	return NULL;
}

/**
 * show_device - print what the kernel shows of the device of an IA
 * @a: attributes of the IA
 * @p: attributes of its provider
 */
void show_device(const DAT_IA_ATTR *a, const DAT_PROVIDER_ATTR *p)
{
	const char *device = named_attr(p, "DAT_IB_DEVICE_NAME");
	const char *port = named_attr(p, "DAT_IB_PORT_NUMBER");

	show("adapter", a->adapter_name);
	/* The provider is another one. */
	if (!device || strchr(device, '/')) {
		show("vendor", a->vendor_name);
		return;
	}
	show_driver(device);
	/* No vendor has this OUI: software devices report it. */
	show("vendor", strcmp(a->vendor_name, "0xffffff") ? a->vendor_name : "none");
	show_if("type", line_of_device(device, "hca_type"));
	show_if("board", line_of_device(device, "board_id"));
	show("firmware", line_of_device(device, "fw_ver") ?: "none");
	show_link(device, port ?: "1");
}

static const char *address_text(const struct sockaddr *sa)
{
	static char text[INET6_ADDRSTRLEN];
	const void *bytes;

	if (!sa)
		return "none";
	if (sa->sa_family == AF_INET6)
		bytes = &((const struct sockaddr_in6 *)sa)->sin6_addr;
	else
		bytes = &((const struct sockaddr_in *)sa)->sin_addr;
	return inet_ntop(sa->sa_family, bytes, text, sizeof(text)) ?: "?";
}

/**
 * show_provider - print the address of an IA, and the version of its provider
 * @a: attributes of the IA
 * @p: attributes of its provider
 */
void show_provider(const DAT_IA_ATTR *a, const DAT_PROVIDER_ATTR *p)
{
	const char *version = line_of("/sys/module/kdapl/version");
	char text[DAT_NAME_MAX_LENGTH + 64];

	show("address", address_text(a->ia_address_ptr));
	if (version && !strcmp(p->provider_name, "kdapl"))
		snprintf(text, sizeof(text), "kdapl %s, library %s", version, DAT_KDAPL_VERSION);
	else
		snprintf(text, sizeof(text), "%s %u.%u", p->provider_name,
			 p->provider_version_major, p->provider_version_minor);
	show("provider", text);
}

/**
 * show_limits - print the limits of an IA
 * @a: its attributes
 * @p: attributes of its provider
 */
void show_limits(const DAT_IA_ATTR *a, const DAT_PROVIDER_ATTR *p)
{
	number("max_eps", a->max_eps);
	number("max_dto_per_ep", a->max_dto_per_ep);
	number("max_rdma_read_per_ep_in", a->max_rdma_read_per_ep_in);
	number("max_rdma_read_per_ep_out", a->max_rdma_read_per_ep_out);
	number("max_evds", a->max_evds);
	number("max_evd_qlen", a->max_evd_qlen);
	number("max_iov_segments_per_dto", a->max_iov_segments_per_dto);
	number("max_iov_segments_per_rdma_read",
	       a->max_iov_segments_per_rdma_read);
	number("max_iov_segments_per_rdma_write",
	       a->max_iov_segments_per_rdma_write);
	number("max_pzs", a->max_pzs);
	number("max_lmrs", a->max_lmrs);
	size("max_lmr_block_size", a->max_lmr_block_size);
	number("max_rmrs", a->max_rmrs);
	size("max_message_size", a->max_message_size);
	size("max_rdma_size", a->max_rdma_size);
	number("max_srqs", a->max_srqs);
	number("max_recv_per_srq", a->max_recv_per_srq);
	size("max_private_data_size", p->max_private_data_size);
	size("optimal_buffer_alignment", p->optimal_buffer_alignment);
	yes_no("srq_supported", p->srq_supported);
	yes_no("srq_ep_pz_difference_supported",
	       p->srq_ep_pz_difference_supported);
	yes_no("lmr_sync_req", p->lmr_sync_req);
	yes_no("rdma_write_for_rdma_read_req", p->rdma_write_for_rdma_read_req);
}

/* A module parameter, which only root may be able to read */
static void show_parameter(const char *name, bool is_size)
{
	char path[128];
	char *value;

	snprintf(path, sizeof(path), PARAMETERS "/%s", name);
	value = line_of(path);
	if (!value)
		return;
	show(name, is_size ? size_text(strtoull(value, NULL, 0)) : value);
}

/**
 * show_process_limits - print the limits of kdapl for a process, and those of this one
 */
void show_process_limits(void)
{
	struct rlimit limit;

	puts("limits of a process");
	show_parameter("max_objects", false);
	show_parameter("max_file_bytes", true);
	show_parameter("max_user_bytes", true);
	if (!getrlimit(RLIMIT_MEMLOCK, &limit))
		show("RLIMIT_MEMLOCK here", limit.rlim_cur == RLIM_INFINITY ?
						   "unlimited" : size_text(limit.rlim_cur));
	if (!getrlimit(RLIMIT_NOFILE, &limit))
		number("RLIMIT_NOFILE here", limit.rlim_cur);
}
