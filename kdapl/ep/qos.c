// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * qos.c - maps the qualities of service of DAT to the type of service of packets
 *
 * Used when an EP is created, modified or connected.
 */
#include "ep/ep.h"

/* Service classes of RFC 4594 for the qualities of DAT, by their DSCP. */
#define TOS(dscp)	((dscp) << 2)
#define CS1		8
#define AF11		10
#define AF21		18
#define EF		46

/**
 * dat_qos_tos - convert a quality of service to a type of service
 * @qos: the quality; one of DAT_QOS_*
 * @tos: out: type of service for rdma_set_service_type()
 *
 * The network decides how to treat the packets; kdapl guarantees nothing.
 *
 * Context: any.
 * Return: false if @qos is not one of DAT_QOS_*.
 */
bool dat_qos_tos(DAT_QOS qos, u8 *tos)
{
	switch (qos) {
	case DAT_QOS_BEST_EFFORT:
		*tos = 0;
		return true;
	case DAT_QOS_HIGH_THROUGHPUT:
		*tos = TOS(AF11);
		return true;
	case DAT_QOS_LOW_LATENCY:
		*tos = TOS(AF21);
		return true;
	case DAT_QOS_ECONOMY:
		*tos = TOS(CS1);
		return true;
	case DAT_QOS_PREMIUM:
		*tos = TOS(EF);
		return true;
	default:
		return false;
	}
}
