// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * tables.c - checks the numbers of DAT_RETURN and their translation
 */
#include <errno.h>
#include <string.h>

#include "libdat.h"
#include "check.h"
#include "tables.h"

/* Numbers of DAT 1.2; tables-kernel.c has those of DAT 2.0. */
_Static_assert(DAT_CONN_QUAL_UNAVAILABLE == 0x140000, "last common type");
_Static_assert(DAT_NOT_IMPLEMENTED == 0x0fff0000, "last type");
_Static_assert(DAT_INVALID_HANDLE_SRQ == 25, "before the first addition");
_Static_assert(DAT_INVALID_HANDLE1 == 26, "after the first addition");
_Static_assert(DAT_INVALID_STATE_SRQ_IN_USE == 86, "before the second addition");
_Static_assert(DAT_PRIVILEGES_READ == 87, "after the second addition");
_Static_assert(DAT_INVALID_RO_COOKIE == 102, "last subtype");

static const char *major_of(DAT_RETURN value)
{
	const char *major, *minor;

	CHECK(dat_strerror(value, &major, &minor) == DAT_SUCCESS);
	return major;
}

static const char *minor_of(DAT_RETURN value)
{
	const char *major, *minor;

	CHECK(dat_strerror(value, &major, &minor) == DAT_SUCCESS);
	return minor;
}

static const char *expected_type(const char *kernel)
{
	if (!strcmp(kernel, "DAT_RESERVED_LMR"))
		return "DAT_INVALID_PARAMETER";
	if (!strcmp(kernel, "DAT_PORT_IN_USE"))
		return "DAT_CONN_QUAL_IN_USE";
	if (!strcmp(kernel, "DAT_COMM_NOT_SUPPORTED"))
		return "DAT_MODEL_NOT_SUPPORTED";
	return kernel;
}

static const char *expected_subtype(const char *kernel)
{
	if (!strcmp(kernel, "DAT_NO_SUBTYPE") ||
	    !strcmp(kernel, "DAT_INVALID_HANDLE_CSP") ||
	    !strcmp(kernel, "DAT_INVALID_STATE_SRQ_SHUTDOWN"))
		return "";
	return kernel;
}

static void check_kernel_numbers(void)
{
	const struct number *number;
	DAT_RETURN ret;

	for (number = kernel_types; number->name; number++) {
		ret = libdat_return_from_kernel(DAT_ERROR(number->value, 0));
		CHECK(ret & DAT_CLASS_ERROR);
		CHECK(!strcmp(major_of(ret), expected_type(number->name)));
		CHECK(!strcmp(minor_of(ret), ""));
	}
	for (number = kernel_subtypes; number->name; number++) {
		ret = libdat_return_from_kernel(DAT_ERROR(DAT_INVALID_STATE,
							  number->value));
		CHECK(DAT_GET_TYPE(ret) == DAT_INVALID_STATE);
		CHECK(!strcmp(minor_of(ret), expected_subtype(number->name)));
	}
	CHECK(libdat_return_from_kernel(0) == DAT_SUCCESS);
	ret = libdat_return_from_kernel(DAT_ERROR(DAT_INVALID_STATE, 0xffff));
	CHECK(ret == DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE));
}

static void check_strerror(void)
{
	const char *major, *minor;
	DAT_RETURN ret;

	ret = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	CHECK(!strcmp(major_of(ret), "DAT_INVALID_HANDLE"));
	CHECK(!strcmp(minor_of(ret), "DAT_INVALID_HANDLE_LMR"));
	CHECK(!strcmp(major_of(DAT_SUCCESS), "DAT_SUCCESS"));
	CHECK(!strcmp(minor_of(DAT_SUCCESS), ""));
	CHECK(!strcmp(major_of(DAT_INVALID_HANDLE), "DAT_INVALID_HANDLE"));

	CHECK(DAT_GET_TYPE(dat_strerror(0x00150000, &major, &minor)) ==
	      DAT_INVALID_PARAMETER);
	CHECK(DAT_GET_TYPE(dat_strerror(0x3fff0000, &major, &minor)) ==
	      DAT_INVALID_PARAMETER);
	CHECK(DAT_GET_TYPE(dat_strerror(DAT_INVALID_RO_COOKIE + 1, &major,
					&minor)) == DAT_INVALID_PARAMETER);
	CHECK(dat_strerror(DAT_ABORT, NULL, &minor) == BAD_ARG(2));
	CHECK(dat_strerror(DAT_ABORT, &major, NULL) == BAD_ARG(3));
}

static void check_errno(void)
{
	CHECK(libdat_return_from_errno(ENOMEM) ==
	      DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	CHECK(DAT_GET_TYPE(libdat_return_from_errno(EFAULT)) == DAT_INVALID_PARAMETER);
	CHECK(DAT_GET_TYPE(libdat_return_from_errno(EINVAL)) == DAT_INVALID_PARAMETER);
	CHECK(DAT_GET_TYPE(libdat_return_from_errno(EINTR)) == DAT_INTERRUPTED_CALL);
	CHECK(DAT_GET_TYPE(libdat_return_from_errno(ENOTTY)) == DAT_INTERNAL_ERROR);
}

/* No device is open, so no handle is valid. The subtype depends on the call. */
static void check_no_device(void)
{
	DAT_HANDLE handle = (DAT_HANDLE)0x1234;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_EVENT event;

	CHECK(dat_lmr_free(handle) ==
	      DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR));
	CHECK(dat_ia_close(handle, DAT_CLOSE_DEFAULT) ==
	      DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
	CHECK(DAT_GET_TYPE(dat_evd_dequeue(handle, &event)) ==
	      DAT_INVALID_HANDLE);

	setenv("DAT_DEVICE", "/nonexistent/dat", 1);
	CHECK(dat_ia_open((char *)"rxe0", 8, &evd, &ia) ==
	      DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	setenv("DAT_DEVICE", "/dev/null", 1);
	CHECK(DAT_GET_TYPE(dat_ia_open((char *)"rxe0", 8, &evd, &ia)) ==
	      DAT_INTERNAL_ERROR);
}

int main(void)
{
	check_kernel_numbers();
	check_strerror();
	check_errno();
	check_no_device();
	return 0;
}
