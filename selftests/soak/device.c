// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * device.c - the devices of the run, and how they are removed and added again
 *
 * board->removals[] is even only while the device can be used. A child that finds the same even
 * number before and after dat_ia_open() therefore has an IA of the device that is there.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"
#include "soak.h"

struct device {
	char name[16];
	char netdev[16];
	char address[16];
};

static struct device devices[MAX_IAS];

/**
 * device_add - add a device to the run
 * @device: name, network device and IPv4 address, with commas; the name begins with the driver
 */
bool device_add(const char *device)
{
	struct device *d = &devices[board->num_ias];

	if (board->num_ias == MAX_IAS ||
	    sscanf(device, "%15[^,],%15[^,],%15s", d->name, d->netdev, d->address) != 3)
		return false;
	board->num_ias++;
	return true;
}

/**
 * device_name - the name of a device, which is the name of its IA
 * @index: below board->num_ias
 */
const char *device_name(unsigned int index)
{
	return devices[index].name;
}

/**
 * device_address - the IPv4 address of a device
 * @index: below board->num_ias
 */
const char *device_address(unsigned int index)
{
	return devices[index].address;
}

/**
 * device_remove - unplug a device
 * @index: below board->num_ias; the device is there
 */
bool device_remove(unsigned int index)
{
	char command[80];

	__atomic_add_fetch(&board->removals[index], 1, __ATOMIC_SEQ_CST);
	snprintf(command, sizeof(command), "rdma link delete %s", devices[index].name);
	return !system(command);
}

/* iWARP has no GIDs of addresses. The addresses of RoCE are in the first entries. */
static bool has_gid(const struct device *d)
{
	char command[160];
	in_addr_t address;

	if (!strncmp(d->name, "siw", 3))
		return true;
	address = ntohl(inet_addr(d->address));
	snprintf(command, sizeof(command),
		 "cat /sys/class/infiniband/%s/ports/1/gids/[0-3] | grep -q ffff:%04x:%04x",
		 d->name, address >> 16, address & 0xffff);
	return !system(command);
}

static bool is_active(const struct device *d)
{
	char command[80];

	snprintf(command, sizeof(command), "rdma link show %s/1 | grep -q ACTIVE", d->name);
	return !system(command);
}

/**
 * device_return - plug a device in
 * @index: below board->num_ias; the device is not there
 */
bool device_return(unsigned int index)
{
	const struct device *d = &devices[index];
	double end = seconds() + LIMIT;
	char command[120];

	snprintf(command, sizeof(command), "rdma link add %s type %.*s netdev %s", d->name,
		 (int)strcspn(d->name, "0123456789"), d->name, d->netdev);
	if (system(command))
		return false;
	while (!is_active(d) || !has_gid(d)) {
		if (seconds() > end)
			return false;
		usleep(100 * 1000);
	}
	__atomic_add_fetch(&board->removals[index], 1, __ATOMIC_SEQ_CST);
	return true;
}
