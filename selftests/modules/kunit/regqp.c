// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests of regqp.c: how the registration QP connects to itself on InfiniBand and RoCE
 *
 * No test runs on a port with LIDs, or with GIDs of RoCE v1 alone: rxe has neither. Here
 * the port is a table of GIDs, and the QP records what it is modified to.
 */
#include <kunit/test.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm.h>

#include "fake.h"

#include "../../../kdapl/dev/addr.h"

#define LID		0x2b
#define OTHER_GID	0
#define OWN_GID		1
#define MAX_CHANGES	3
#define PORT		1

static struct ib_port_data ports[PORT + 1];
static struct ib_gid_attr gids[OWN_GID + 1];
static int gids_held;

struct change {
	struct ib_qp_attr attr;
	int mask;
};

static struct change changes[MAX_CHANGES];
static unsigned int num_changes;

static const struct ib_gid_attr *fake_get_gid(struct ib_device *ibdev, u32 port, int index)
{
	if (!gids[index].device)
		return ERR_PTR(-ENODATA);
	gids_held++;
	return &gids[index];
}

static void fake_put_gid(const struct ib_gid_attr *gid)
{
	gids_held--;
}

static int fake_read_l2(const struct ib_gid_attr *gid, u16 *vlan, u8 *smac)
{
	memset(smac, gid->index + 1, ETH_ALEN);
	return 0;
}

static int fake_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	*attr = (struct ib_port_attr){ .lid = LID };
	return 0;
}

static int fake_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask)
{
	if (num_changes < MAX_CHANGES)
		changes[num_changes] = (struct change){ *attr, mask };
	num_changes++;
	return 0;
}

static int fake_addr_find(struct dat_ia *ia)
{
	return -ENOMEM;
}

static const struct sockaddr_storage *fake_addr(struct dat_ia *ia)
{
	return NULL;
}

#define rdma_get_gid_attr	fake_get_gid
#define rdma_put_gid_attr	fake_put_gid
#define rdma_read_gid_l2_fields	fake_read_l2
#define ib_query_port		fake_query_port
#define ib_modify_qp		fake_modify_qp
#define dat_addr_find		fake_addr_find
#define dat_addr		fake_addr
#define dat_regqp_register	tested_register
#define dat_regqp_init		tested_init
#define dat_regqp_destroy	tested_destroy
#define dat_regqp_num_qps	tested_num_qps

#include "../../../kdapl/mem/regqp.c"

static void add_gid(unsigned int index, enum ib_gid_type type)
{
	gids[index] = (struct ib_gid_attr){
		.device = &fake.ibdev,
		.gid_type = type,
		.index = index,
		.port_num = PORT,
	};
	gids[index].gid.raw[0] = 0xfe;
	gids[index].gid.raw[15] = index + 1;
}

static void set_port(u32 core_cap_flags)
{
	ports[PORT].immutable.core_cap_flags = core_cap_flags;
	ports[PORT].immutable.gid_tbl_len = ARRAY_SIZE(gids);
}

static int regqp_test_init(struct kunit *test)
{
	fake_reset();
	memset(ports, 0, sizeof(ports));
	memset(gids, 0, sizeof(gids));
	num_changes = 0;
	gids_held = 0;
	fake.ibdev.port_data = ports;
	fake.ibdev.phys_port_cnt = PORT;
	return 0;
}

static int connect_itself(struct ib_qp *qp)
{
	static struct ib_pd pd;
	static struct dat_ia ia;
	struct dat_regqp reg = { .ia = &ia, .pd = &pd };

	pd.device = &fake.ibdev;
	ia.port = PORT;
	return connect_to_itself(&reg, qp);
}

/* On InfiniBand the LID leads back, and the QP needs a P_Key. */
static void regqp_connects_by_lid(struct kunit *test)
{
	struct ib_qp qp = { .qp_num = 17 };
	const struct rdma_ah_attr *ah = &changes[1].attr.ah_attr;

	set_port(RDMA_CORE_PORT_IBA_IB);
	add_gid(OWN_GID, IB_GID_TYPE_IB);
	KUNIT_ASSERT_EQ(test, 0, connect_itself(&qp));
	KUNIT_ASSERT_EQ(test, 3U, num_changes);
	KUNIT_EXPECT_EQ(test, 0, gids_held);

	KUNIT_EXPECT_EQ(test, (int)IB_QPS_INIT, (int)changes[0].attr.qp_state);
	KUNIT_EXPECT_TRUE(test, changes[0].mask & IB_QP_PKEY_INDEX);
	KUNIT_EXPECT_EQ(test, 0, (int)changes[0].attr.pkey_index);
	KUNIT_EXPECT_EQ(test, PORT, (int)changes[0].attr.port_num);

	KUNIT_EXPECT_EQ(test, (int)IB_QPS_RTR, (int)changes[1].attr.qp_state);
	KUNIT_EXPECT_EQ(test, 17U, changes[1].attr.dest_qp_num);
	KUNIT_EXPECT_EQ(test, (int)IB_MTU_256, (int)changes[1].attr.path_mtu);
	KUNIT_EXPECT_EQ(test, (int)RDMA_AH_ATTR_TYPE_IB, (int)ah->type);
	KUNIT_EXPECT_EQ(test, LID, (int)rdma_ah_get_dlid(ah));
	KUNIT_EXPECT_EQ(test, PORT, (int)rdma_ah_get_port_num(ah));
	KUNIT_EXPECT_EQ(test, OWN_GID, (int)rdma_ah_read_grh(ah)->sgid_index);
	KUNIT_EXPECT_EQ(test, 2, (int)rdma_ah_read_grh(ah)->dgid.raw[15]);

	KUNIT_EXPECT_EQ(test, (int)IB_QPS_RTS, (int)changes[2].attr.qp_state);
}

static void expect_roce_gid(struct kunit *test, int index)
{
	const struct rdma_ah_attr *ah = &changes[1].attr.ah_attr;
	struct ib_qp qp = { .qp_num = 17 };

	KUNIT_ASSERT_EQ(test, 0, connect_itself(&qp));
	KUNIT_ASSERT_EQ(test, 3U, num_changes);
	KUNIT_EXPECT_EQ(test, 0, gids_held);
	KUNIT_EXPECT_EQ(test, (int)RDMA_AH_ATTR_TYPE_ROCE, (int)ah->type);
	KUNIT_EXPECT_EQ(test, index, (int)rdma_ah_read_grh(ah)->sgid_index);
	KUNIT_EXPECT_EQ(test, index + 1, (int)ah->roce.dmac[0]);
}

/* ConnectX-3 and old PVRDMA have GIDs of RoCE v1 alone. */
static void regqp_takes_roce_v1_gid(struct kunit *test)
{
	set_port(RDMA_CORE_PORT_IBA_ROCE);
	add_gid(OWN_GID, IB_GID_TYPE_ROCE);
	expect_roce_gid(test, OWN_GID);
}

static void regqp_prefers_roce_v2_gid(struct kunit *test)
{
	set_port(RDMA_CORE_PORT_IBA_ROCE | RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP);
	add_gid(OTHER_GID, IB_GID_TYPE_ROCE);
	add_gid(OWN_GID, IB_GID_TYPE_ROCE_UDP_ENCAP);
	expect_roce_gid(test, OWN_GID);
}

static void regqp_without_gid_fails(struct kunit *test)
{
	struct ib_qp qp = {};

	set_port(RDMA_CORE_PORT_IBA_IB);
	KUNIT_EXPECT_EQ(test, -ENETUNREACH, connect_itself(&qp));
	KUNIT_EXPECT_EQ(test, 1U, num_changes);
	KUNIT_EXPECT_EQ(test, 0, gids_held);
}

static struct kunit_case regqp_cases[] = {
	KUNIT_CASE(regqp_connects_by_lid),
	KUNIT_CASE(regqp_takes_roce_v1_gid),
	KUNIT_CASE(regqp_prefers_roce_v2_gid),
	KUNIT_CASE(regqp_without_gid_fails),
	{}
};

static struct kunit_suite regqp_suite = {
	.name = "kdapl_regqp",
	.init = regqp_test_init,
	.test_cases = regqp_cases,
};

kunit_test_suite(regqp_suite);
