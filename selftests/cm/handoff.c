// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * handoff.c - to which of several service points of one port dat_cr_handoff(3DAT) hands a request
 *
 * The PSPs of the pair listen on the address of the IA, CSPs on a second address.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ioctls.h"
#include "pair.h"

/* No service point of pair_open() uses these ports. */
#define FROM	7101
#define TO	7102

#define NOBODY	65534

FIXTURE(handoff)
{
	struct pair pair;
	DAT_EVD_HANDLE csp_evd;
	struct sockaddr_storage addr;
};

FIXTURE_VARIANT(handoff)
{
	int domain;
	const char *address;
	const char *add, *del;
};

/* Both prefixes are reserved for documentation: the host does not use them. */
#define ADDRESS(what, text)	"ip addr " what " " text " dev eth0"

FIXTURE_VARIANT_ADD(handoff, ipv4)
{
	.domain = AF_INET,
	.address = "192.0.2.9",
	.add = ADDRESS("add", "192.0.2.9/24"),
	.del = ADDRESS("del", "192.0.2.9/24"),
};

FIXTURE_VARIANT_ADD(handoff, ipv6)
{
	.domain = AF_INET6,
	.address = "2001:db8::9",
	.add = ADDRESS("add", "2001:db8::9/64 nodad"),
	.del = ADDRESS("del", "2001:db8::9/64"),
};

static void set_port(struct sockaddr_storage *addr, DAT_CONN_QUAL port)
{
	/* Both families have the port at the same offset. */
	((struct sockaddr_in *)addr)->sin_port = htons(port);
}

static void set_address(struct sockaddr_storage *addr, int domain, const char *text)
{
	void *where = domain == AF_INET ? (void *)&((struct sockaddr_in *)addr)->sin_addr :
					  (void *)&((struct sockaddr_in6 *)addr)->sin6_addr;

	memset(addr, 0, sizeof(*addr));
	addr->ss_family = domain;
	inet_pton(domain, text, where);
}

static DAT_UINT32 listen_at(FIXTURE_DATA(handoff) *self, DAT_CONN_QUAL port)
{
	struct dat_dev_csp_create arg = {
		.size = sizeof(arg),
		.ia = handle_number(self->pair.ia),
		.evd = handle_number(self->csp_evd),
		.domain = self->addr.ss_family,
		.type = SOCK_STREAM,
	};
	DAT_UINT32 ret = DAT_INVALID_ADDRESS;
	int i;

	set_port(&self->addr, port);
	memcpy(&arg.address, &self->addr, sizeof(arg.address));
	/* The device learns the address a moment after its interface. */
	for (i = 0; i < 200 && ret == DAT_INVALID_ADDRESS; i++) {
		ret = dev_type(library_fd(), DAT_DEV_CSP_CREATE, &arg);
		if (ret)
			usleep(50 * 1000);
	}
	return ret;
}

static DAT_RETURN connect_at(FIXTURE_DATA(handoff) *self, DAT_CONN_QUAL port)
{
	return dat_ep_connect(self->pair.a.ep, (DAT_IA_ADDRESS_PTR)&self->addr, port,
			      DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN next_of(DAT_EVD_HANDLE evd, DAT_CR_HANDLE *cr)
{
	DAT_RETURN ret;
	DAT_EVENT event;

	ret = wait_for(evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	*cr = event.event_data.cr_arrival_event_data.cr_handle;
	return ret;
}

FIXTURE_SETUP(handoff)
{
	struct pair *pair = &self->pair;
	DAT_PSP_HANDLE psp;

	ASSERT_EQ(0, system(variant->add));
	set_address(&self->addr, variant->domain, variant->address);
	ASSERT_DAT(pair_open(pair));
	ASSERT_DAT(dat_evd_create(pair->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
				  &self->csp_evd));
	ASSERT_DAT(dat_psp_create(pair->ia, TO, pair->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	ASSERT_EQ(DAT_SUCCESS, listen_at(self, FROM));
}

FIXTURE_TEARDOWN(handoff)
{
	pair_close(&self->pair);
	EXPECT_EQ(0, system(variant->del));
}

/* Accepts, and is connected. */
static void expect_request_at(struct __test_metadata *_metadata, FIXTURE_DATA(handoff) *self,
			      DAT_EVD_HANDLE evd, DAT_EVD_HANDLE not_there)
{
	DAT_CR_HANDLE cr;

	ASSERT_DAT(next_of(evd, &cr));
	EXPECT_TRUE(is_empty(not_there));
	EXPECT_DAT(dat_cr_accept(cr, self->pair.b.ep, 0, NULL));
	EXPECT_DAT(wait_both(&self->pair, DAT_CONNECTION_EVENT_ESTABLISHED));
}

TEST_F(handoff, goes_to_the_address_that_the_peer_named)
{
	DAT_CR_HANDLE cr;

	ASSERT_EQ(DAT_SUCCESS, listen_at(self, TO));
	ASSERT_DAT(connect_at(self, FROM));
	ASSERT_DAT(next_of(self->csp_evd, &cr));
	ASSERT_DAT(dat_cr_handoff(cr, TO));
	expect_request_at(_metadata, self, self->csp_evd, self->pair.cr_evd);
}

TEST_F(handoff, goes_to_the_address_of_the_ia_otherwise)
{
	DAT_CR_HANDLE cr;

	ASSERT_DAT(connect_at(self, FROM));
	ASSERT_DAT(next_of(self->csp_evd, &cr));
	ASSERT_DAT(dat_cr_handoff(cr, TO));
	expect_request_at(_metadata, self, self->pair.cr_evd, self->csp_evd);
}

TEST_F(handoff, goes_to_no_address_that_nobody_named)
{
	struct pair *pair = &self->pair;
	DAT_CR_HANDLE cr;

	/* Only the CSP listens there. */
	ASSERT_DAT(connect_to(pair, pair->a.ep, TO));
	ASSERT_DAT(next_of(pair->cr_evd, &cr));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_cr_handoff(cr, FROM));
	EXPECT_TRUE(is_empty(self->csp_evd));
	EXPECT_DAT(dat_cr_accept(cr, pair->b.ep, 0, NULL));
	EXPECT_DAT(wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED));
}

/* Listens as another user until the parent closes the pipe. */
static int listen_as_nobody(int qual_fd, int end_fd)
{
	struct pair pair;
	char c;

	if (setgid(NOBODY) || setuid(NOBODY))
		return 1;
	if (pair_open(&pair))
		return 2;
	if (write(qual_fd, &pair.qual, sizeof(pair.qual)) != sizeof(pair.qual))
		return 3;
	if (read(end_fd, &c, 1))
		return 4;
	return is_empty(pair.cr_evd) ? 0 : 5;
}

static pid_t start_nobody(int *qual_fd, int *end_fd)
{
	int qual[2], end[2];
	pid_t pid;

	/* Before this process has opened the device, or they would share it. */
	if (pipe(qual) || pipe(end))
		return -1;
	pid = fork();
	if (!pid) {
		close(end[1]);
		_exit(listen_as_nobody(qual[1], end[0]));
	}
	close(qual[1]);
	close(end[0]);
	*qual_fd = qual[0];
	*end_fd = end[1];
	return pid;
}

static void expect_refusal(struct __test_metadata *_metadata, DAT_CONN_QUAL qual)
{
	struct pair pair;
	DAT_CR_HANDLE cr;

	ASSERT_DAT(pair_open(&pair));
	ASSERT_DAT(connect_to(&pair, pair.a.ep, pair.qual));
	ASSERT_DAT(next_cr(&pair, &cr));
	EXPECT_DAT_RET(ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		       dat_cr_handoff(cr, qual));
	/* The request is still there. */
	EXPECT_DAT(dat_cr_accept(cr, pair.b.ep, 0, NULL));
	EXPECT_DAT(wait_both(&pair, DAT_CONNECTION_EVENT_ESTABLISHED));
	pair_close(&pair);
}

TEST(handoff_to_another_user_refused)
{
	int qual_fd, end_fd, status;
	DAT_CONN_QUAL qual;
	struct stat mode;
	pid_t pid;

	ASSERT_EQ(0, stat("/dev/dat", &mode));
	ASSERT_EQ(0, chmod("/dev/dat", 0666));
	pid = start_nobody(&qual_fd, &end_fd);
	ASSERT_LT(0, pid);
	EXPECT_EQ((ssize_t)sizeof(qual), read(qual_fd, &qual, sizeof(qual)));
	EXPECT_EQ(0, chmod("/dev/dat", mode.st_mode & 0777));
	expect_refusal(_metadata, qual);
	close(end_fd);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
