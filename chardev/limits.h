/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * limits.h - bounds on what one open file can have
 */
#ifndef _CHARDEV_LIMITS_H
#define _CHARDEV_LIMITS_H

/**
 * enum dat_limit - what is bounded
 * @DAT_LIMIT_OBJECTS: objects of all types together
 * @DAT_LIMIT_RING_BYTES: size of all event rings together
 * @DAT_LIMIT_QUEUE_ENTRIES: DTOs that all EPs and SRQs together can have
 *	outstanding
 * @DAT_LIMIT_RMRS: RMRs
 */
enum dat_limit {
	DAT_LIMIT_OBJECTS,
	DAT_LIMIT_RING_BYTES,
	DAT_LIMIT_QUEUE_ENTRIES,
	DAT_LIMIT_RMRS,
};

unsigned int dat_limit(enum dat_limit which);

#endif /* _CHARDEV_LIMITS_H */
