// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * error.c - DAT_RETURN: its parts and its names
 */
#include <kunit/test.h>
#include <linux/string.h>

#include "fake.h"

#include "../../../kdapl/base/strerror.c"

#define LAST_TYPE	DAT_COMM_NOT_SUPPORTED
#define LAST_SUBTYPE	DAT_THREAD_SAFETY_NOT_FOUND
#define ONE_TYPE	0x10000

static void error_class_type_subtype(struct kunit *test)
{
	u32 type, subtype;

	for (type = 0; type <= DAT_TYPE_MASK; type += ONE_TYPE) {
		for (subtype = 0; subtype <= LAST_SUBTYPE; subtype += 7) {
			DAT_RETURN ret = DAT_ERROR(type, subtype);

			KUNIT_ASSERT_EQ(test, 0x80000000u + type + subtype, ret);
			KUNIT_ASSERT_EQ(test, type, DAT_GET_TYPE(ret));
			KUNIT_ASSERT_EQ(test, subtype, DAT_GET_SUBTYPE(ret));
			KUNIT_ASSERT_FALSE(test, DAT_IS_WARNING(ret));
		}
	}
	KUNIT_EXPECT_EQ(test, 0xffffu, DAT_GET_SUBTYPE(DAT_ERROR(0, 0xffff)));
}

static void masks_cover_all_bits(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, U32_MAX,
			DAT_CLASS_ERROR | DAT_CLASS_WARNING | DAT_TYPE_MASK |
			DAT_SUBTYPE_MASK);
	KUNIT_EXPECT_EQ(test, 0u, DAT_TYPE_MASK & DAT_SUBTYPE_MASK);
	KUNIT_EXPECT_EQ(test, 0u, (DAT_CLASS_ERROR | DAT_CLASS_WARNING) &
				  (DAT_TYPE_MASK | DAT_SUBTYPE_MASK));
	KUNIT_EXPECT_EQ(test, 0, DAT_SUCCESS);
	KUNIT_EXPECT_EQ(test, 0, DAT_CLASS_SUCCESS);
}

static void warning_class_and_type(struct kunit *test)
{
	DAT_RETURN warning = DAT_CLASS_WARNING | DAT_TIMEOUT_EXPIRED | 3;

	KUNIT_EXPECT_TRUE(test, DAT_IS_WARNING(warning));
	KUNIT_EXPECT_FALSE(test, DAT_IS_WARNING(DAT_SUCCESS));
	KUNIT_EXPECT_EQ(test, DAT_TIMEOUT_EXPIRED, DAT_GET_TYPE(warning));
	KUNIT_EXPECT_EQ(test, 3u, DAT_GET_SUBTYPE(warning));
}

struct known {
	DAT_RETURN value;
	const char *major;
	const char *minor;
};

/* The numbers are ABI, so the test has them as literals. */
static const struct known known[] = {
	{ 0x00000000, "DAT_SUCCESS", "" },
	{ 0x80010001, "DAT_ABORT", "DAT_SUB_INTERRUPTED" },
	{ 0x80030002, "DAT_INSUFFICIENT_RESOURCES", "DAT_RESOURCE_MEMORY" },
	{ 0x8003000a, "DAT_INSUFFICIENT_RESOURCES", "DAT_RESOURCE_SRQ" },
	{ 0x8005000b, "DAT_INVALID_HANDLE", "DAT_INVALID_HANDLE_IA" },
	{ 0x8005001b, "DAT_INVALID_HANDLE", "DAT_INVALID_HANDLE1" },
	{ 0x80060025, "DAT_INVALID_PARAMETER", "DAT_INVALID_ARG1" },
	{ 0x8006002e, "DAT_INVALID_PARAMETER", "DAT_INVALID_ARG10" },
	{ 0x80070033, "DAT_INVALID_STATE", "DAT_INVALID_STATE_EP_CONNECTED" },
	{ 0x8007004a, "DAT_INVALID_STATE", "DAT_INVALID_STATE_EVD_IN_USE" },
	{ 0x80070051, "DAT_INVALID_STATE", "DAT_INVALID_STATE_LMR_IN_USE" },
	{ 0x800b005c, "DAT_PRIVILEGES_VIOLATION",
	  "DAT_PRIVILEGES_RDMA_WRITE" },
	{ 0x800c005d, "DAT_PROTECTION_VIOLATION", "DAT_PROTECTION_READ" },
	{ 0x800e0000, "DAT_QUEUE_FULL", "" },
	{ 0x80170000, "DAT_COMM_NOT_SUPPORTED", "" },
	{ 0xbfff0000, "DAT_NOT_IMPLEMENTED", "" },
	{ 0x400f0000, "DAT_TIMEOUT_EXPIRED", "" },
};

static void strerror_known_values(struct kunit *test)
{
	const char *major, *minor;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		major = NULL;
		minor = NULL;
		KUNIT_ASSERT_EQ(test, DAT_SUCCESS,
				dat_strerror(known[i].value, &major, &minor));
		KUNIT_ASSERT_STREQ(test, known[i].major, major);
		KUNIT_ASSERT_STREQ(test, known[i].minor, minor);
	}
}

/* A missing entry in the table would be NULL, a typing error a duplicate. */
static void strerror_type_names_unique(struct kunit *test)
{
	const char *name, *minor;
	unsigned int i, j;

	for (i = 0; i <= LAST_TYPE >> 16; i++) {
		name = NULL;
		KUNIT_ASSERT_EQ(test, DAT_SUCCESS,
				dat_strerror(DAT_ERROR(i << 16, 0), &name,
					     &minor));
		KUNIT_ASSERT_NOT_NULL_MSG(test, name, "type %u", i);
		KUNIT_ASSERT_EQ(test, 0, strncmp(name, "DAT_", 4));
		for (j = 0; j < i; j++)
			KUNIT_ASSERT_STRNEQ(test, name, type_name(j << 16));
	}
	KUNIT_EXPECT_STREQ(test, "DAT_PROVIDER_NOT_FOUND",
			   type_name(DAT_NAME_NOT_FOUND));
}

static void strerror_subtype_names_unique(struct kunit *test)
{
	const char *major, *name;
	unsigned int i, j;

	for (i = 1; i <= LAST_SUBTYPE; i++) {
		name = NULL;
		KUNIT_ASSERT_EQ(test, DAT_SUCCESS,
				dat_strerror(DAT_ERROR(DAT_ABORT, i), &major,
					     &name));
		KUNIT_ASSERT_NOT_NULL_MSG(test, name, "subtype %u", i);
		KUNIT_ASSERT_EQ(test, 0, strncmp(name, "DAT_", 4));
		for (j = 0; j < i; j++)
			KUNIT_ASSERT_STRNEQ(test, name, subtype_names[j]);
	}
}

static bool has_no_name(DAT_RETURN value)
{
	const char *major = "untouched", *minor = major;

	return dat_strerror(value, &major, &minor) ==
	       DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
}

static void strerror_unknown_type(struct kunit *test)
{
	u32 type;

	for (type = LAST_TYPE + ONE_TYPE; type < DAT_NOT_IMPLEMENTED;
	     type += ONE_TYPE)
		KUNIT_ASSERT_TRUE(test, has_no_name(DAT_ERROR(type, 0)));
}

static void strerror_unknown_subtype(struct kunit *test)
{
	u32 subtype;

	for (subtype = LAST_SUBTYPE + 1; subtype <= DAT_SUBTYPE_MASK; subtype++)
		KUNIT_ASSERT_TRUE(test,
				  has_no_name(DAT_ERROR(DAT_ABORT, subtype)));
	KUNIT_EXPECT_TRUE(test, has_no_name(DAT_ERROR(DAT_NOT_IMPLEMENTED,
						      LAST_SUBTYPE + 1)));
}

static void strerror_null_pointer(struct kunit *test)
{
	const char *name;

	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
			dat_strerror(DAT_SUCCESS, NULL, &name));
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
			dat_strerror(DAT_SUCCESS, &name, NULL));
}

static struct kunit_case error_cases[] = {
	KUNIT_CASE(error_class_type_subtype),
	KUNIT_CASE(masks_cover_all_bits),
	KUNIT_CASE(warning_class_and_type),
	KUNIT_CASE(strerror_known_values),
	KUNIT_CASE(strerror_type_names_unique),
	KUNIT_CASE(strerror_subtype_names_unique),
	KUNIT_CASE(strerror_unknown_type),
	KUNIT_CASE(strerror_unknown_subtype),
	KUNIT_CASE(strerror_null_pointer),
	{}
};

static struct kunit_suite error_suite = {
	.name = "kdapl_error",
	.test_cases = error_cases,
};

kunit_test_suite(error_suite);
