// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * qos.c - type of service in the network for each DAT_QOS
 */
#include <kunit/test.h>

#include "fake.h"

#include "../../../kdapl/ep/qos.c"

static void qos_tos_values(struct kunit *test)
{
	static const struct {
		unsigned int qos;
		u8 tos;
	} classes[] = {
		{ 0x00, 0x00 }, { 0x01, 0x28 }, { 0x02, 0x48 },
		{ 0x04, 0x20 }, { 0x08, 0xb8 },
	};
	u8 tos = 0xff;
	int i;

	for (i = 0; i < ARRAY_SIZE(classes); i++) {
		KUNIT_EXPECT_TRUE(test, dat_qos_tos(classes[i].qos, &tos));
		KUNIT_EXPECT_EQ(test, classes[i].tos, tos);
		/* These bits are for congestion notification. */
		KUNIT_EXPECT_EQ(test, 0, tos & 3);
	}
}

static void qos_single_bit_only(struct kunit *test)
{
	unsigned int qos;
	u8 tos;

	for (qos = 0; qos < 0x100; qos++)
		KUNIT_EXPECT_EQ(test, qos < 0x10 && hweight8(qos) <= 1,
				dat_qos_tos(qos, &tos));
}

static struct kunit_case qos_cases[] = {
	KUNIT_CASE(qos_tos_values),
	KUNIT_CASE(qos_single_bit_only),
	{}
};

static struct kunit_suite qos_suite = {
	.name = "kdapl_qos",
	.test_cases = qos_cases,
};

kunit_test_suite(qos_suite);
