// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * addr.c - the address of an IA, when those of its interface change
 */
#include "harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "counts.h"
#include "link.h"
#include "pair.h"

/* Reserved for documentation: not in use on the host */
#define OTHER		"192.0.2.7"
#define OTHER6		"2001:db8::7"
#define LOCAL		"fe80::7"
#define MANY		100

/* The teardown restores the addresses of eth0. */
#define SAVE	"ip -o addr show dev eth0 | awk '{ print $4 }' >/tmp/addresses"
#define RESTORE	"ip addr flush dev eth0;" \
		"while read -r a; do ip addr add $a dev eth0; done </tmp/addresses"

FIXTURE(addr)
{
	struct pair pair;
	char first[INET6_ADDRSTRLEN];
};

/* Empty if there is none */
static const char *address_of(DAT_IA_HANDLE ia, char *text)
{
	DAT_IA_ATTR attr;
	struct sockaddr_in6 *sin6;
	struct sockaddr_in *sin;

	text[0] = '\0';
	if (dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL))
		return text;
	sin = (void *)attr.ia_address_ptr;
	if (sin->sin_family == AF_INET)
		inet_ntop(AF_INET, &sin->sin_addr, text, INET6_ADDRSTRLEN);
	sin6 = (void *)sin;
	if (sin->sin_family == AF_INET6)
		inet_ntop(AF_INET6, &sin6->sin6_addr, text, INET6_ADDRSTRLEN);
	return text;
}

FIXTURE_SETUP(addr)
{
	ASSERT_EQ(0, system(SAVE));
	ASSERT_DAT(pair_open(&self->pair));
	address_of(self->pair.ia, self->first);
	ASSERT_NE('\0', self->first[0]);
}

FIXTURE_TEARDOWN(addr)
{
	char text[INET6_ADDRSTRLEN];
	int i;

	EXPECT_EQ(0, system(RESTORE));
	/* Wait until the device knows the address: the next test needs it. */
	for (i = 0; i < 200; i++) {
		if (!strcmp(self->first, address_of(self->pair.ia, text)))
			break;
		usleep(100000);
	}
	EXPECT_STREQ(self->first, text);
	pair_close(&self->pair);
}

/* The device hears of an address a moment after the interface has it. */
static bool becomes(DAT_IA_HANDLE ia, const char *address)
{
	char text[INET6_ADDRSTRLEN];
	int i;

	for (i = 0; i < 200; i++) {
		if (!strcmp(address, address_of(ia, text)))
			return true;
		usleep(100000);
	}
	printf("# '%s' instead of '%s'\n", text, address);
	return false;
}

static DAT_RETURN connect_at(struct pair *pair, const char *address,
			     DAT_CONN_QUAL qual)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	inet_pton(AF_INET, address, &sin.sin_addr);
	return dat_ep_connect(pair->a.ep, (DAT_IA_ADDRESS_PTR)&sin, qual,
			      PAIR_TIMEOUT, 0, NULL, DAT_QOS_BEST_EFFORT, 0);
}

/* Creates a service point and connects to it at an address. */
static bool listens_at(struct pair *pair, const char *address)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EP_PARAM param;
	DAT_CR_HANDLE cr;
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in *sin;

	if (dat_psp_create_any(pair->ia, &qual, pair->cr_evd,
			       DAT_PSP_CONSUMER_FLAG, &psp) ||
	    connect_at(pair, address, qual) || next_cr(pair, &cr) ||
	    dat_cr_accept(cr, pair->b.ep, 0, NULL) ||
	    wait_both(pair, DAT_CONNECTION_EVENT_ESTABLISHED) ||
	    dat_ep_query(pair->b.ep, DAT_EP_FIELD_ALL, &param))
		return false;
	sin = (void *)param.local_ia_address_ptr;
	inet_ntop(AF_INET, &sin->sin_addr, text, sizeof(text));
	return !strcmp(address, text) && !dat_psp_free(psp);
}

TEST_F_TIMEOUT(addr, ia_address_follows_interface, 600)
{
	struct pair *pair = &self->pair;

	ASSERT_EQ(0, system("ip addr flush dev eth0"));
	ASSERT_EQ(0, system("ip addr add " OTHER "/24 dev eth0"));
	ASSERT_TRUE(becomes(pair->ia, OTHER));
	EXPECT_TRUE(listens_at(pair, OTHER));
}

TEST_F_TIMEOUT(addr, second_address_keeps_first, 600)
{
	struct pair *pair = &self->pair;

	ASSERT_EQ(0, system("ip addr add " OTHER "/24 dev eth0"));
	/* Where it is found as well, when it is asked for. */
	usleep(500000);
	EXPECT_TRUE(becomes(pair->ia, self->first));
	EXPECT_TRUE(listens_at(pair, self->first));
}

TEST_F_TIMEOUT(addr, old_address_pointer_valid, 600)
{
	struct pair *pair = &self->pair;
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in *old;
	DAT_IA_ATTR attr;

	ASSERT_DAT(dat_ia_query(pair->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR,
				&attr, 0, NULL));
	old = (void *)attr.ia_address_ptr;
	ASSERT_EQ(0, system("ip addr flush dev eth0"));
	ASSERT_EQ(0, system("ip addr add " OTHER "/24 dev eth0"));
	ASSERT_TRUE(becomes(pair->ia, OTHER));
	EXPECT_EQ(AF_INET, old->sin_family);
	EXPECT_NE(NULL, inet_ntop(AF_INET, &old->sin_addr, text, sizeof(text)));
}

TEST_F_TIMEOUT(addr, former_addresses_are_charged, 600)
{
	struct pair *pair = &self->pair;
	long long before = settled_charge();

	ASSERT_EQ(0, system("ip addr flush dev eth0"));
	ASSERT_EQ(0, system("ip addr add " OTHER "/24 dev eth0"));
	ASSERT_TRUE(becomes(pair->ia, OTHER));
	EXPECT_LT(before, settled_charge());
}

#define LINK_LOCAL	"ip -o addr show dev eth0 scope link |" \
			"awk '{ sub(/\\/.*/, \"\", $4); printf \"%s\", $4; exit }'"

/* The device keeps the GID of the address that its hardware address makes. */
TEST_F_TIMEOUT(addr, link_local_address_removed, 600)
{
	char local[INET6_ADDRSTRLEN] = "";
	FILE *ip = popen(LINK_LOCAL, "r");

	ASSERT_NE(NULL, ip);
	ASSERT_NE(NULL, fgets(local, sizeof(local), ip));
	ASSERT_EQ(0, pclose(ip));
	ASSERT_EQ(0, system("ip addr flush dev eth0 scope global"));
	ASSERT_EQ(0, system("ip addr flush dev eth0 scope site"));
	ASSERT_TRUE(becomes(self->pair.ia, local));
	ASSERT_EQ(0, system("ip addr flush dev eth0"));
	EXPECT_TRUE(becomes(self->pair.ia, ""));
}

TEST_F_TIMEOUT(addr, ipv4_preferred_to_ipv6, 600)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	ASSERT_EQ(0, system("ip addr flush dev eth0"));
	ASSERT_EQ(0, system("ip addr add " LOCAL "/64 dev eth0 nodad"));
	ASSERT_TRUE(becomes(self->pair.ia, LOCAL));
	ASSERT_EQ(0, system("ip addr add " OTHER6 "/64 dev eth0 nodad"));
	/* An IA that has an address keeps it. */
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &async, &ia));
	EXPECT_TRUE(becomes(ia, OTHER6));
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
	ASSERT_EQ(0, system("ip addr add " OTHER "/24 dev eth0"));
	async = DAT_HANDLE_NULL;
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &async, &ia));
	EXPECT_TRUE(becomes(ia, OTHER));
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
	EXPECT_TRUE(becomes(self->pair.ia, LOCAL));
}

/* Gives lo many addresses, or takes them away. */
static int many(const char *what)
{
	FILE *ip = popen("ip -batch -", "w");
	int i;

	if (!ip)
		return -1;
	for (i = 0; i < MANY; i++)
		fprintf(ip, "addr %s 198.51.100.%d/32 dev lo\n", what, i + 1);
	return pclose(ip);
}

/* On another interface, which comes first */
TEST_F_TIMEOUT(addr, address_found_among_many, 600)
{
	struct pair *pair = &self->pair;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char text[INET6_ADDRSTRLEN];
	DAT_IA_HANDLE ia;

	ASSERT_EQ(0, many("add"));
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &async, &ia));
	EXPECT_STREQ(self->first, address_of(ia, text));
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
	EXPECT_TRUE(listens_at(pair, self->first));
	EXPECT_EQ(0, many("del"));
}

static int shell(const char *command, const char *driver, int length)
{
	char text[128];

	snprintf(text, sizeof(text), command, length, driver, length, driver);
	return system(text);
}

/* An interface and a device of its own, in a network namespace of this process */
static bool enter_namespace(void)
{
	const char *name = ia_name();
	int length = strcspn(name, "0123456789");
	char ia[32];

	if (unshare(CLONE_NEWNET) || system("ip link add dummy0 type dummy"))
		return false;
	snprintf(ia, sizeof(ia), "%.*s9", length, name);
	return !system("ip link set dummy0 addrgenmode none") &&
	       !system("ip link set dummy0 up") &&
	       !system("ip addr add " OTHER6 "/64 dev dummy0 nodad") &&
	       !system("ip addr add " LOCAL "/64 dev dummy0 nodad") &&
	       !system("ip addr add " OTHER "/24 dev dummy0") &&
	       !shell("rdma link add %.*s9 type %.*s netdev dummy0", name, length) &&
	       !setenv("DAT_TEST_IA", ia, 1);
}

TEST(address_in_a_network_namespace)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	if (!link_is_there())
		SKIP(return, "not a software device, of which there could be another");
	ASSERT_TRUE(enter_namespace());
	ASSERT_DAT(dat_ia_open((char *)ia_name(), 8, &async, &ia));
	EXPECT_TRUE(becomes(ia, OTHER));
	EXPECT_EQ(0, system("ip addr add 198.51.100.7/24 dev dummy0"));
	EXPECT_EQ(0, system("ip addr del " OTHER "/24 dev dummy0"));
	EXPECT_TRUE(becomes(ia, "198.51.100.7"));
	EXPECT_EQ(0, system("ip -4 addr flush dev dummy0"));
	EXPECT_TRUE(becomes(ia, OTHER6));
	EXPECT_EQ(0, system("ip addr del " OTHER6 "/64 dev dummy0"));
	EXPECT_TRUE(becomes(ia, LOCAL));
	EXPECT_EQ(0, system("ip addr del " LOCAL "/64 dev dummy0"));
	EXPECT_TRUE(becomes(ia, ""));
	EXPECT_DAT(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
	EXPECT_EQ(0, link_delete());
}

TEST_HARNESS_MAIN
