// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rmr_bind.c - privileges of a bind, and states of windows
 */
#include <kunit/test.h>

#include "fake.h"

#include "../../../kdapl/ep/rmr_bind.c"
#include "../../../kdapl/mem/frmr.c"
#include "../../../kdapl/mem/rmr_window.c"

#define ADDRESS		0x10000ULL
#define LENGTH		0x1000u
#define KEY		0x00abcd12u
#define NONE		DAT_FRMR_NONE

#define REMOTE_READ	DAT_MEM_PRIV_REMOTE_READ_FLAG
#define REMOTE_WRITE	DAT_MEM_PRIV_REMOTE_WRITE_FLAG

static struct dat_ia ia;
static struct dat_pz pz, other_pz;
static struct ib_pd pd;
static struct dat_lmr lmr;
static struct dat_rmr rmr;
static struct dat_ep ep;
static unsigned int repairs;

static void repair(struct work_struct *work)
{
	repairs++;
	dat_object_put(&rmr.obj);
}

/* Initialises an object with a reference that no test drops. */
static void keep(struct dat_object *obj)
{
	memset(obj, 0, sizeof(*obj));
	kref_init(&obj->ref);
	obj->ia = &ia;
}

static int rmr_bind_test_init(struct kunit *test)
{
	fake_reset();
	memset(&lmr, 0, sizeof(lmr));
	memset(&rmr, 0, sizeof(rmr));
	memset(&ep, 0, sizeof(ep));
	keep(&lmr.obj);
	keep(&rmr.obj);
	keep(&ep.obj);
	repairs = 0;
	rmr.pair.obj = &rmr.obj;
	rmr.pair.frmr[0] = &rmr.windows[0].frmr;
	rmr.pair.frmr[1] = &rmr.windows[1].frmr;
	dat_frmr_init(&rmr.pair);
	INIT_WORK(&rmr.pair.repair_work, repair);
	rmr.pz = &pz;
	xa_init_flags(&ia.lmrs, XA_FLAGS_LOCK_BH);
	lmr.pz = &pz;
	lmr.address = ADDRESS;
	lmr.length = LENGTH;
	lmr.lkey = KEY;
	lmr.privileges = DAT_MEM_PRIV_ALL_FLAG;
	return dat_lmr_insert(&lmr);
}

static void rmr_bind_test_exit(struct kunit *test)
{
	flush_work(&rmr.pair.repair_work);
	dat_lmr_remove(&lmr);
	xa_destroy(&ia.lmrs);
}

static void window_access_from_privileges(struct kunit *test)
{
	unsigned int privileges;

	for (privileges = 0; privileges <= DAT_MEM_PRIV_ALL_FLAG; privileges++) {
		int access = window_access(privileges);

		KUNIT_EXPECT_EQ(test, !!(privileges & 0x02),
				!!(access & IB_ACCESS_REMOTE_READ));
		KUNIT_EXPECT_EQ(test, !!(privileges & 0x20),
				!!(access & IB_ACCESS_REMOTE_WRITE));
		/* The device requires local write access for remote writes. */
		KUNIT_EXPECT_EQ(test, !!(privileges & 0x20),
				!!(access & IB_ACCESS_LOCAL_WRITE));
		KUNIT_EXPECT_EQ(test, 0, access & ~(IB_ACCESS_REMOTE_READ |
						    IB_ACCESS_REMOTE_WRITE |
						    IB_ACCESS_LOCAL_WRITE));
	}
}

static u32 expected_check(unsigned int of_lmr, unsigned int wanted)
{
	if (wanted & 0x20 && !(of_lmr & 0x10))
		return 0x800b005c;
	return DAT_SUCCESS;
}

/* The remote privileges of the LMR apply to its own rmr_context only. */
static void bind_privileges_exceed_lmr(struct kunit *test)
{
	unsigned int of_lmr, wanted;

	for (of_lmr = 0; of_lmr <= DAT_MEM_PRIV_ALL_FLAG; of_lmr++) {
		if (of_lmr & ~DAT_MEM_PRIV_ALL_FLAG)
			continue;
		lmr.privileges = of_lmr;
		for (wanted = 0; wanted <= DAT_MEM_PRIV_ALL_FLAG; wanted++)
			KUNIT_ASSERT_EQ_MSG(test,
					    expected_check(of_lmr, wanted),
					    check_privileges(&lmr, wanted),
					    "%#x of %#x", wanted, of_lmr);
	}
}

static DAT_RETURN find(u64 address, u32 length, u32 key,
		       DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_LMR_TRIPLET triplet = {
		.virtual_address = address,
		.segment_length = length,
		.lmr_context = key,
	};
	const struct bind bind = {
		.triplet = &triplet,
		.privileges = privileges,
	};
	struct dat_lmr *found = NULL;
	DAT_RETURN ret;

	rcu_read_lock();
	ret = find_lmr(&rmr, &ep, &bind, &found);
	rcu_read_unlock();
	return ret || found == &lmr ? ret : DAT_INTERNAL_ERROR;
}

static void bind_range_outside_lmr(struct kunit *test)
{
	DAT_RETURN bad = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);

	KUNIT_EXPECT_EQ(test, DAT_SUCCESS,
			find(ADDRESS, LENGTH, KEY, REMOTE_READ));
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS,
			find(ADDRESS + LENGTH - 1, 1, KEY, REMOTE_WRITE));
	KUNIT_EXPECT_EQ(test, bad, find(ADDRESS, LENGTH + 1, KEY, REMOTE_READ));
	KUNIT_EXPECT_EQ(test, bad, find(ADDRESS - 1, 1, KEY, REMOTE_READ));
	KUNIT_EXPECT_EQ(test, bad, find(ADDRESS + 1, LENGTH, KEY, REMOTE_READ));
	KUNIT_EXPECT_EQ(test, bad,
			find(U64_MAX, ADDRESS + 2, KEY, REMOTE_READ));
	KUNIT_EXPECT_EQ(test, bad, find(ADDRESS, 1, KEY ^ 1, REMOTE_READ));
	rmr.pz = &other_pz;
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_PROTECTION_VIOLATION, 0),
			find(ADDRESS, 1, KEY, REMOTE_READ));
}

static DAT_RETURN try(const DAT_LMR_TRIPLET *triplet, unsigned int privileges,
		      unsigned int flags, DAT_RMR_CONTEXT *context)
{
	DAT_CONTEXT cookie = {};

	return dat_rmr_bind(DAT_HANDLE_NULL, triplet, privileges,
			    DAT_HANDLE_NULL, cookie, flags, context);
}

static void bind_unknown_flags(struct kunit *test)
{
	DAT_LMR_TRIPLET triplet = {};
	DAT_RMR_CONTEXT context;
	unsigned int bit;

	for (bit = 0; bit < 31; bit++) {
		unsigned int flag = BIT(bit);

		/* For supported flags the null handle is the error. */
		KUNIT_EXPECT_EQ(test,
				flag & 0x33 ? 0x8005000eu : 0x80060027u,
				try(&triplet, flag, 0, &context));
		KUNIT_EXPECT_EQ(test,
				flag & 0x0d ? 0x8005000eu : 0x8006002au,
				try(&triplet, 0, flag, &context));
	}
	KUNIT_EXPECT_EQ(test, 0x80060026u, try(NULL, 0, 0, &context));
	KUNIT_EXPECT_EQ(test, 0x8006002bu, try(&triplet, 0, 0, NULL));
}

static void bind_encodes_both_windows(struct kunit *test)
{
	u8 new, old;

	for (new = 0; new <= NONE; new++) {
		for (old = 0; old <= NONE; old++) {
			u8 both = DAT_BIND(new, old);

			KUNIT_EXPECT_EQ(test, new, DAT_BIND_NEW(both));
			KUNIT_EXPECT_EQ(test, old, DAT_BIND_OLD(both));
		}
	}
}

static void set_states(enum dat_frmr_state first, enum dat_frmr_state second)
{
	rmr.windows[0].frmr.state = first;
	rmr.windows[1].frmr.state = second;
}

/* The window of an outstanding bind is newer than the bound window. */
static unsigned int expected_open(unsigned int first, unsigned int second)
{
	if (second == DAT_FRMR_POSTED)
		return 1;
	if (first == DAT_FRMR_POSTED || first == DAT_FRMR_VALID)
		return 0;
	return second == DAT_FRMR_VALID ? 1 : NONE;
}

static void open_window_is_newest(struct kunit *test)
{
	unsigned int first, second;

	for (first = 0; first <= DAT_FRMR_BROKEN; first++) {
		for (second = 0; second <= DAT_FRMR_BROKEN; second++) {
			set_states(first, second);
			KUNIT_EXPECT_EQ_MSG(test, expected_open(first, second),
					    rmr_open_window(&rmr), "%u, %u",
					    first, second);
		}
	}
}

static void bind_takes_idle_window(struct kunit *test)
{
	unsigned int first, second, expected;

	for (first = 0; first < DAT_FRMR_BROKEN; first++) {
		for (second = 0; second < DAT_FRMR_BROKEN; second++) {
			set_states(first, second);
			expected = first == DAT_FRMR_IDLE  ? 0 :
				   second == DAT_FRMR_IDLE ? 1 :
							     NONE;
			KUNIT_EXPECT_EQ(test, expected,
					dat_frmr_idle(&rmr.pair));
		}
	}
	KUNIT_EXPECT_EQ(test, 1, kref_read(&rmr.obj.ref));
}

static void broken_window_repair_queued(struct kunit *test)
{
	set_states(DAT_FRMR_BROKEN, DAT_FRMR_IDLE);
	KUNIT_EXPECT_EQ(test, 1, dat_frmr_idle(&rmr.pair));
	flush_work(&rmr.pair.repair_work);
	KUNIT_EXPECT_EQ(test, 1, repairs);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&rmr.obj.ref));
}

static DAT_RETURN make_room(u64 iova, u32 length)
{
	return dat_window_make_room(&rmr, &rmr.windows[0], iova, length);
}

/* A list that is too short is charged for and replaced by one that has room. */
static void long_bind_replaces_window(struct kunit *test)
{
	const DAT_RETURN busy = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	struct dat_frmr *frmr = &rmr.windows[0].frmr;

	rmr.pair.pd = &pd;
	fake.list_page = 4096;
	rmr.pair.list_len = 256;
	frmr->list_len = 256;
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, make_room(ADDRESS, 1));
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, make_room(ADDRESS + 4095, 254 * 4096 + 2));
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, make_room(ADDRESS, 256 * 4096));
	KUNIT_EXPECT_EQ(test, DAT_FRMR_IDLE, frmr->state);
	KUNIT_EXPECT_EQ(test, 256, rmr.pair.list_len);

	fake.refuses = true;
	KUNIT_EXPECT_EQ(test, DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY),
			make_room(ADDRESS + 1, 256 * 4096));
	KUNIT_EXPECT_EQ(test, DAT_FRMR_IDLE, frmr->state);
	KUNIT_EXPECT_EQ(test, 256, rmr.pair.list_len);
	fake.refuses = false;

	KUNIT_EXPECT_EQ(test, busy, make_room(ADDRESS + 1, 256 * 4096));
	KUNIT_EXPECT_EQ(test, DAT_FRMR_BROKEN, frmr->state);
	KUNIT_EXPECT_EQ(test, DAT_MAX_FRWR_PAGES, rmr.pair.list_len);
	KUNIT_EXPECT_EQ(test, 4 * DAT_BYTES_MR_LIST, atomic_long_read(&rmr.obj.charged));
	flush_work(&rmr.pair.repair_work);
	KUNIT_EXPECT_EQ(test, 1, repairs);

	/* The other MR of the pair is already paid for. */
	KUNIT_EXPECT_EQ(test, busy, make_room(ADDRESS, 511 * 4096));
	KUNIT_EXPECT_EQ(test, DAT_MAX_FRWR_PAGES, rmr.pair.list_len);
	/* No list is longer than the device permits: larger pages, or a failure of the map. */
	KUNIT_EXPECT_EQ(test, busy, make_room(ADDRESS, U32_MAX));
	KUNIT_EXPECT_EQ(test, DAT_MAX_FRWR_PAGES, rmr.pair.list_len);
	frmr->list_len = DAT_MAX_FRWR_PAGES;
	KUNIT_EXPECT_EQ(test, DAT_SUCCESS, make_room(ADDRESS, U32_MAX));
}

/* Simulates a posted bind of a window that maps the LMR. */
static void posted(unsigned int new, unsigned int old)
{
	dat_frmr_posted(&rmr.pair, &rmr.windows[0].frmr, &ep.obj);
	if (old != NONE)
		rmr.windows[old].frmr.state = DAT_FRMR_INVALIDATING;
	if (new != NONE) {
		rmr.windows[new].frmr.state = DAT_FRMR_POSTED;
		rmr.windows[new].lmr = &lmr;
		rmr.windows[new].privileges = REMOTE_READ;
		dat_object_use_get(&lmr.obj);
		kref_get(&lmr.obj.ref);
	}
	rmr.pair.current_frmr = new;
}

static void bound(unsigned int new, unsigned int old, enum ib_wc_status status)
{
	dat_rmr_bound(&rmr, DAT_BIND(new, old), status);
}

static void bind_completion_opens_window(struct kunit *test)
{
	posted(0, NONE);
	KUNIT_EXPECT_EQ(test, 2, kref_read(&ep.obj.ref));
	bound(0, NONE, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_VALID, rmr.windows[0].frmr.state);
	KUNIT_EXPECT_EQ(test, 0, rmr.pair.current_frmr);
	KUNIT_EXPECT_EQ(test, 0, rmr.windows[0].frmr.pending);
	KUNIT_EXPECT_NULL(test, rmr.windows[0].frmr.ep);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&ep.obj.ref));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&rmr.obj.ref));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&lmr.obj.users));
}

static void rebind_closes_old_window(struct kunit *test)
{
	posted(0, NONE);
	bound(0, NONE, IB_WC_SUCCESS);
	posted(1, 0);
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&lmr.obj.users));
	bound(1, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_IDLE, rmr.windows[0].frmr.state);
	KUNIT_EXPECT_NULL(test, rmr.windows[0].lmr);
	KUNIT_EXPECT_EQ(test, DAT_MEM_PRIV_NONE_FLAG,
			rmr.windows[0].privileges);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_VALID, rmr.windows[1].frmr.state);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&lmr.obj.users));
	KUNIT_EXPECT_EQ(test, 2, kref_read(&lmr.obj.ref));
}

static void unbind_releases_lmr(struct kunit *test)
{
	posted(0, NONE);
	bound(0, NONE, IB_WC_SUCCESS);
	posted(NONE, 0);
	bound(NONE, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_IDLE, rmr.windows[0].frmr.state);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&lmr.obj.users));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&lmr.obj.ref));
}

/* The second bind is posted before the first completes. */
static void second_bind_before_completion(struct kunit *test)
{
	posted(0, NONE);
	posted(1, 0);
	KUNIT_EXPECT_EQ(test, 2, rmr.windows[0].frmr.pending);
	bound(0, NONE, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_INVALIDATING, rmr.windows[0].frmr.state);
	KUNIT_EXPECT_PTR_EQ(test, &ep.obj, rmr.windows[0].frmr.ep);
	KUNIT_EXPECT_EQ(test, 2, kref_read(&ep.obj.ref));
	bound(1, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_IDLE, rmr.windows[0].frmr.state);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_VALID, rmr.windows[1].frmr.state);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&ep.obj.ref));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&rmr.obj.ref));
}

/* The LMR stays in use, because the range that peers can reach is unknown. */
static void failed_rebind_breaks_both_windows(struct kunit *test)
{
	posted(0, NONE);
	bound(0, NONE, IB_WC_SUCCESS);
	posted(1, 0);
	bound(1, 0, IB_WC_WR_FLUSH_ERR);
	flush_work(&rmr.pair.repair_work);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_BROKEN, rmr.windows[0].frmr.state);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_BROKEN, rmr.windows[1].frmr.state);
	KUNIT_EXPECT_EQ(test, NONE, rmr.pair.current_frmr);
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&lmr.broken));
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&lmr.obj.users));
	KUNIT_EXPECT_GE(test, repairs, 1);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&rmr.obj.ref));
}

static void two_failed_binds(struct kunit *test)
{
	posted(0, NONE);
	posted(1, 0);
	bound(0, NONE, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_BROKEN, rmr.windows[0].frmr.state);
	KUNIT_EXPECT_EQ(test, 1, rmr.pair.current_frmr);
	bound(1, 0, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, NONE, rmr.pair.current_frmr);
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&lmr.broken));
	flush_work(&rmr.pair.repair_work);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&rmr.obj.ref));
}

/* The device has executed nothing, so the window stays bound. */
static void flushed_bind_keeps_window(struct kunit *test)
{
	posted(0, NONE);
	bound(0, NONE, IB_WC_SUCCESS);
	kref_get(&rmr.obj.ref);
	rmr.windows[0].frmr.pending++;
	bound(NONE, NONE, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_VALID, rmr.windows[0].frmr.state);
	KUNIT_EXPECT_EQ(test, 0, rmr.pair.current_frmr);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&lmr.broken));
	KUNIT_EXPECT_EQ(test, 0, repairs);
}

static void peer_invalidates_window(struct kunit *test)
{
	posted(0, NONE);
	bound(0, NONE, IB_WC_SUCCESS);
	rmr.windows[0].frmr.dead_key = KEY;
	dat_rmr_revoke(&rmr, KEY ^ 1);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_VALID, rmr.windows[0].frmr.state);
	dat_rmr_revoke(&rmr, KEY);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_IDLE, rmr.windows[0].frmr.state);
	KUNIT_EXPECT_EQ(test, NONE, rmr.pair.current_frmr);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&lmr.obj.users));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&lmr.obj.ref));
	/* Revoking an idle window has no effect. */
	dat_rmr_revoke(&rmr, KEY);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&lmr.obj.users));
}

/* The peer invalidates after the device has executed the bind, before its completion. */
static void peer_invalidate_before_bind_completion(struct kunit *test)
{
	posted(0, NONE);
	rmr.windows[0].frmr.dead_key = KEY;
	dat_rmr_revoke(&rmr, KEY);
	KUNIT_EXPECT_EQ(test, NONE, rmr.pair.current_frmr);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&lmr.obj.users));
	/* Another bind follows, which has no window to unbind. */
	posted(1, NONE);
	bound(0, NONE, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_IDLE, rmr.windows[0].frmr.state);
	KUNIT_EXPECT_FALSE(test, rmr.windows[0].revoked);
	KUNIT_EXPECT_EQ(test, 1, rmr.pair.current_frmr);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&lmr.obj.users));
	bound(1, NONE, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_VALID, rmr.windows[1].frmr.state);
}

/* A window that the owner is closing stays in use until the owner's request completes. */
static void peer_invalidate_during_rebind(struct kunit *test)
{
	posted(0, NONE);
	bound(0, NONE, IB_WC_SUCCESS);
	rmr.windows[0].frmr.dead_key = KEY;
	posted(1, 0);
	dat_rmr_revoke(&rmr, KEY);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_INVALIDATING, rmr.windows[0].frmr.state);
	KUNIT_EXPECT_EQ(test, 1, rmr.pair.current_frmr);
	bound(1, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, DAT_FRMR_IDLE, rmr.windows[0].frmr.state);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&lmr.obj.users));
}

/* Checks whether binding window 0 to this range writes its list of pages again. */
static bool lists(struct kunit *test, u64 address, u32 length, u64 iova)
{
	const DAT_LMR_TRIPLET part = {
		.virtual_address = address,
		.segment_length = length,
	};
	struct dat_window *w = &rmr.windows[0];
	unsigned int before = fake.maps;
	u32 key = w->frmr.mr->rkey;

	KUNIT_EXPECT_EQ(test, 0, dat_window_map(w, &lmr, &part, iova));
	/* The previous key stays invalid. */
	KUNIT_EXPECT_NE(test, key, w->frmr.mr->rkey);
	KUNIT_EXPECT_EQ(test, key & ~0xffu, w->frmr.mr->rkey & ~0xffu);
	KUNIT_EXPECT_EQ(test, w->frmr.mr->rkey, w->frmr.mr->lkey);
	KUNIT_EXPECT_EQ(test, iova, w->frmr.mr->iova);
	return fake.maps != before;
}

static struct scatterlist sgl[2];

static void show_pages(void)
{
	sg_init_table(sgl, 2);
	sg_dma_address(&sgl[0]) = 0x40000000;
	sg_dma_len(&sgl[0]) = LENGTH;
	sg_dma_address(&sgl[1]) = 0x50000000;
	sg_dma_len(&sgl[1]) = LENGTH;
	lmr.sgt.sgl = sgl;
	lmr.sgt.nents = 2;
	lmr.length = 2 * LENGTH;
	lmr.pages = dat_lmr_new_pages();
	rmr.windows[0].frmr.mr = fake_alloc_mr(NULL, IB_MR_TYPE_MEM_REG, 2);
}

static void map_same_range_keeps_list(struct kunit *test)
{
	show_pages();
	fake.keeps_pages = true;
	KUNIT_EXPECT_TRUE(test, lists(test, ADDRESS, LENGTH, ADDRESS));
	KUNIT_EXPECT_FALSE(test, lists(test, ADDRESS, LENGTH, ADDRESS));
	KUNIT_EXPECT_FALSE(test, lists(test, ADDRESS, LENGTH, ADDRESS));
	KUNIT_EXPECT_TRUE(test, lists(test, ADDRESS + 1, LENGTH, ADDRESS + 1));
	KUNIT_EXPECT_FALSE(test, lists(test, ADDRESS + 1, LENGTH, ADDRESS + 1));
	KUNIT_EXPECT_TRUE(test, lists(test, ADDRESS + 1, 1, ADDRESS + 1));
	KUNIT_EXPECT_TRUE(test, lists(test, ADDRESS, LENGTH, 0));
	KUNIT_EXPECT_FALSE(test, lists(test, ADDRESS, LENGTH, 0));
	KUNIT_EXPECT_TRUE(test, lists(test, ADDRESS, LENGTH, ADDRESS));
	/* The LMR is registered again, at the same address. */
	lmr.pages = dat_lmr_new_pages();
	KUNIT_EXPECT_TRUE(test, lists(test, ADDRESS, LENGTH, ADDRESS));
	KUNIT_EXPECT_FALSE(test, lists(test, ADDRESS, LENGTH, ADDRESS));
}

static void map_rewrites_list_not_kept(struct kunit *test)
{
	show_pages();
	KUNIT_EXPECT_TRUE(test, lists(test, ADDRESS, LENGTH, ADDRESS));
	KUNIT_EXPECT_TRUE(test, lists(test, ADDRESS, LENGTH, ADDRESS));
}

static void map_rewrites_list_after_failure(struct kunit *test)
{
	const DAT_LMR_TRIPLET both = {
		.virtual_address = ADDRESS,
		.segment_length = 2 * LENGTH,
	};

	show_pages();
	fake.keeps_pages = true;
	KUNIT_EXPECT_TRUE(test, lists(test, ADDRESS, LENGTH, ADDRESS));
	/* A failed mapping has overwritten part of the list. */
	fake.map_result = 1;
	KUNIT_EXPECT_EQ(test, -ENOMEM, dat_window_map(&rmr.windows[0], &lmr,
						      &both, ADDRESS));
	KUNIT_EXPECT_EQ(test, -ENOMEM, dat_window_map(&rmr.windows[0], &lmr,
						      &both, ADDRESS));
	fake.map_result = 0;
	KUNIT_EXPECT_TRUE(test, lists(test, ADDRESS, LENGTH, ADDRESS));
}

static unsigned int num_progress;

static void no_progress(struct dat_object *obj, unsigned int waited)
{
	/* @waited counts the calls before this one. */
	if (waited == num_progress)
		num_progress++;
}

/* The device neither completes nor flushes a bind. */
static void lost_bind_ends_the_wait(struct kunit *test)
{
	static const struct dat_object_ops ops = { .progress = no_progress };
	static struct ib_device ibdev = { .name = "dead0" };

	num_progress = 0;
	pd.device = &ibdev;
	rmr.pair.pd = &pd;
	ep.obj.ops = &ops;
	spin_lock_bh(&rmr.pair.lock);
	dat_frmr_posted(&rmr.pair, &rmr.windows[0].frmr, &ep.obj);
	spin_unlock_bh(&rmr.pair.lock);
	dat_frmr_stop(&rmr.pair);
	KUNIT_EXPECT_EQ(test, 7000, num_progress);
	/* It may complete later. */
	dat_rmr_bound(&rmr, DAT_BIND(NONE, NONE), IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&ep.obj.ref));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&rmr.obj.ref));
}

static struct kunit_case rmr_bind_cases[] = {
	KUNIT_CASE(map_same_range_keeps_list),
	KUNIT_CASE(map_rewrites_list_not_kept),
	KUNIT_CASE(map_rewrites_list_after_failure),
	KUNIT_CASE(window_access_from_privileges),
	KUNIT_CASE(bind_privileges_exceed_lmr),
	KUNIT_CASE(bind_range_outside_lmr),
	KUNIT_CASE(bind_unknown_flags),
	KUNIT_CASE(bind_encodes_both_windows),
	KUNIT_CASE(open_window_is_newest),
	KUNIT_CASE(bind_takes_idle_window),
	KUNIT_CASE(broken_window_repair_queued),
	KUNIT_CASE(long_bind_replaces_window),
	KUNIT_CASE(bind_completion_opens_window),
	KUNIT_CASE(rebind_closes_old_window),
	KUNIT_CASE(unbind_releases_lmr),
	KUNIT_CASE(second_bind_before_completion),
	KUNIT_CASE(failed_rebind_breaks_both_windows),
	KUNIT_CASE(two_failed_binds),
	KUNIT_CASE(flushed_bind_keeps_window),
	KUNIT_CASE(peer_invalidates_window),
	KUNIT_CASE(peer_invalidate_before_bind_completion),
	KUNIT_CASE(peer_invalidate_during_rebind),
	KUNIT_CASE(lost_bind_ends_the_wait),
	{}
};

static struct kunit_suite rmr_bind_suite = {
	.name = "kdapl_rmr_bind",
	.init = rmr_bind_test_init,
	.exit = rmr_bind_test_exit,
	.test_cases = rmr_bind_cases,
};

kunit_test_suite(rmr_bind_suite);
