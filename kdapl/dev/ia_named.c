// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ia_named.c - the named attributes of an IA, as providers of InfiniBand publish them
 *
 * Names and values are those of OpenFabrics' providers, which programs read: the MTU of
 * the port, for example. dat_ia_query() returns pointers into the IA that must stay valid
 * while others query it. So the strings of an IA are written once, when it is opened,
 * and a value that can change points to a constant string.
 */
#include <linux/kernel.h>

#include <rdma/ib_cache.h>

#include <dat/dat_ib_extensions.h>

#include "dev/device.h"
#include "dev/ia.h"

/* The places in dat_ia_named.attrs; an IA has the first of them up to dat_ia_named.num. */
enum {
	PROVIDER_NAME,
	DEVICE_NAME,
	CONNECTIVITY_MODE,
	RDMA_READ,
	NODE_GUID,
	GID,
	TRANSPORT_MTU,
	PORT_STATUS,
	PORT_NUMBER,
	/* iWARP has no extensions. */
	EXTENSION_INTERFACE,
	IMMED_DATA,
	/* Only devices with atomic operations have these. */
	FETCH_AND_ADD,
	CMP_AND_SWAP,
};

static_assert(CMP_AND_SWAP + 1 == DAT_IA_NAMED_ATTRS);

static const char *const names[] = {
	[PROVIDER_NAME]		= "DAT_IB_PROVIDER_NAME",
	[DEVICE_NAME]		= "DAT_IB_DEVICE_NAME",
	[CONNECTIVITY_MODE]	= "DAT_IB_CONNECTIVITY_MODE",
	[RDMA_READ]		= "DAT_IB_RDMA_READ",
	[NODE_GUID]		= "DAT_IB_NODE_GUID",
	[GID]			= "DAT_IB_GID",
	[TRANSPORT_MTU]		= "DAT_IB_TRANSPORT_MTU",
	[PORT_STATUS]		= "DAT_IB_PORT_STATUS",
	[PORT_NUMBER]		= "DAT_IB_PORT_NUMBER",
	[EXTENSION_INTERFACE]	= "DAT_EXTENSION_INTERFACE",
	[IMMED_DATA]		= DAT_IB_ATTR_IMMED_DATA,
	[FETCH_AND_ADD]		= DAT_IB_ATTR_FETCH_AND_ADD,
	[CMP_AND_SWAP]		= DAT_IB_ATTR_CMP_AND_SWAP,
};

static const char *mtu_value(enum ib_mtu mtu)
{
	switch (mtu) {
	case IB_MTU_256:
		return "256";
	case IB_MTU_512:
		return "512";
	case IB_MTU_1024:
		return "1024";
	case IB_MTU_2048:
		return "2048";
	default:
		return "4096";
	}
}

static const char *status_value(enum ib_port_state state)
{
	static const char *const values[] = {
		[IB_PORT_NOP]		= "NOP",
		[IB_PORT_DOWN]		= "DOWN",
		[IB_PORT_INIT]		= "INIT",
		[IB_PORT_ARMED]		= "ARMED",
		[IB_PORT_ACTIVE]	= "ACTIVE",
		[IB_PORT_ACTIVE_DEFER]	= "DEFER",
	};

	return state < ARRAY_SIZE(values) ? values[state] : "UNKNOWN";
}

static DAT_COUNT num_attrs(struct dat_ia *ia)
{
	struct ib_device *ibdev = dat_ia_ibdev(ia);

	if (rdma_protocol_iwarp(ibdev, ia->port))
		return EXTENSION_INTERFACE;
	return dat_dev_requests_atomics(ibdev) ? DAT_IA_NAMED_ATTRS : FETCH_AND_ADD;
}

static void set_guid(char *value, size_t size, __be64 be)
{
	u64 guid = be64_to_cpu(be);

	snprintf(value, size, "%04x:%04x:%04x:%04x", (u16)(guid >> 48),
		 (u16)(guid >> 32), (u16)(guid >> 16), (u16)guid);
}

/**
 * dat_ia_named_init - write the named attributes of a new IA
 * @ia: the IA, not published yet
 *
 * Context: process, may sleep.
 */
void dat_ia_named_init(struct dat_ia *ia)
{
	struct ib_device *ibdev = dat_ia_ibdev(ia);
	struct dat_ia_named *named = &ia->named;
	union ib_gid gid = {};
	int i;

	set_guid(named->node_guid, sizeof(named->node_guid), ibdev->node_guid);
	/* Without a GID it is all zeros. */
	rdma_query_gid(ibdev, ia->port, 0, &gid);
	snprintf(named->gid, sizeof(named->gid), "%pI6", gid.raw);
	snprintf(named->port, sizeof(named->port), "%u", ia->port);
	dat_dev_name(ia->dev, named->device);

	for (i = 0; i < DAT_IA_NAMED_ATTRS; i++)
		named->attrs[i] = (DAT_NAMED_ATTR){ names[i], "TRUE" };
	named->attrs[PROVIDER_NAME].value = "kdapl";
	named->attrs[DEVICE_NAME].value = named->device;
	named->attrs[CONNECTIVITY_MODE].value = "DIRECT";
	named->attrs[NODE_GUID].value = named->node_guid;
	named->attrs[GID].value = named->gid;
	named->attrs[PORT_STATUS].value = status_value(IB_PORT_NOP);
	named->attrs[PORT_NUMBER].value = named->port;
	named->num = num_attrs(ia);
	dat_ia_named_refresh(ia);
}

/**
 * dat_ia_named_refresh - look up the named attributes that can change
 * @ia: the IA; a live reference is held
 *
 * Does not ask the device: see query_port() in device.c.
 *
 * Context: process.
 */
void dat_ia_named_refresh(struct dat_ia *ia)
{
	DAT_NAMED_ATTR *attrs = ia->named.attrs;
	enum ib_port_state state;

	WRITE_ONCE(attrs[TRANSPORT_MTU].value,
		   mtu_value(READ_ONCE(ia->dev->mtu[ia->port])));
	if (!ib_get_cached_port_state(dat_ia_ibdev(ia), ia->port, &state))
		WRITE_ONCE(attrs[PORT_STATUS].value, status_value(state));
}

/**
 * dat_ia_named_transport - the named attributes of the IA's transport
 * @ia: the IA
 * @num: out: their number
 *
 * Context: any.
 * Return: the attributes, valid as long as the IA.
 */
DAT_NAMED_ATTR *dat_ia_named_transport(struct dat_ia *ia, DAT_COUNT *num)
{
	*num = 1;
	return &ia->named.attrs[TRANSPORT_MTU];
}
