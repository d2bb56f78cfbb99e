// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * qos.c - qualities of service, as the network knows them
 */
#include "ep/ep.h"

/* The service classes of RFC 4594 that go by these names, and their DSCP. */
#define TOS(dscp)	((dscp) << 2)
#define CS1		8
#define AF11		10
#define AF21		18
#define EF		46

/**
 * dat_qos_tos - the type of service of a quality of service
 * @qos: the quality; one of DAT_QOS_*
 * @tos: out: for rdma_set_service_type()
 *
 * What becomes of it is up to the network: nobody promises anything.
 *
 * Context: any.
 * Return: false if there is no such quality.
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
