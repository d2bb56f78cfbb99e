// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * objects.c - kdapl_fuzz.ko: calls of IAs, PZs, EVDs and the registry
 *
 * Owns the accounts. They live as long as the module, so they have no references to count,
 * but what kdapl charges it must uncharge.
 */
#include <linux/delay.h>
#include <linux/rcupdate.h>

#include "fuzz.h"
#include "../kpair.h"

#define NUM_ACCOUNTS	3

static struct account {
	struct dat_account account;
	atomic_long_t left;
	atomic_t refs;
	long limit;
} accounts[];

static bool charge(struct dat_account *account, size_t bytes)
{
	struct account *a = container_of(account, struct account, account);

	if (bytes <= LONG_MAX && atomic_long_sub_return(bytes, &a->left) >= 0)
		return true;
	atomic_long_add(bytes, &a->left);
	return false;
}

static void uncharge(struct dat_account *account, size_t bytes)
{
	atomic_long_add(bytes, &container_of(account, struct account, account)->left);
}

static void get(struct dat_account *account)
{
	atomic_inc(&container_of(account, struct account, account)->refs);
}

static void put(struct dat_account *account)
{
	atomic_dec(&container_of(account, struct account, account)->refs);
}

static const struct dat_account_ops account_ops = {
	.charge = charge,
	.uncharge = uncharge,
	.get = get,
	.put = put,
};

#define ACCOUNT(_limit) \
	{ .account.ops = &account_ops, .left = ATOMIC_LONG_INIT(_limit), .limit = (_limit) }

static struct account accounts[NUM_ACCOUNTS] = {
	ACCOUNT(LONG_MAX / 2), ACCOUNT(1L << 20), ACCOUNT(100L << 10),
};

/**
 * kapi_check_accounts - warn if something is still charged
 *
 * All IAs are closed. The memory of their objects is freed after grace periods.
 */
void kapi_check_accounts(void)
{
	unsigned int i, tries;

	for (i = 0; i < NUM_ACCOUNTS; i++) {
		struct account *a = &accounts[i];

		for (tries = 0; tries < 100; tries++) {
			if (atomic_long_read(&a->left) == a->limit && !atomic_read(&a->refs))
				break;
			rcu_barrier();
			msleep(100);
		}
		WARN(tries == 100, "account %u: %ld bytes are charged, %d references are left\n", i,
		     a->limit - atomic_long_read(&a->left), atomic_read(&a->refs));
	}
}

DAT_RETURN kapi_ia_openv(struct kapi *k)
{
	DAT_EVD_HANDLE async_evd = HANDLE(2);
	DAT_IA_HANDLE ia = NULL;
	char name[32] = "";
	DAT_RETURN ret;

	switch (ARG(0)) {
	case 0:
		strscpy(name, kpair_ia, sizeof(name));
		break;
	case 1:
	case 2:
		strscpy(name, kapi_provider_name(ARG(0)), sizeof(name));
		break;
	case 3:
		strscpy(name, "nothing", sizeof(name));
		break;
	default:
		break;
	}
	ret = dat_ia_openv(PTR(0, name), ARG(1), PTR(1, &async_evd), PTR(2, &ia), ARG(3), ARG(4),
			   ARG(5));
	if (ret)
		return ret;
	k->c.out[1] = (uintptr_t)async_evd;
	kapi_own_ia(k->file, ia);
	return kapi_made(k, ret, &ia);
}

DAT_RETURN kapi_ia_close(struct kapi *k)
{
	DAT_IA_HANDLE ia = HANDLE(0);
	DAT_RETURN ret = dat_ia_close(ia, ARG(1));

	if (!ret)
		kapi_disown_ia(ia);
	return ret;
}

DAT_RETURN kapi_ia_query(struct kapi *k)
{
	DAT_EVD_HANDLE async_evd;

	return dat_ia_query(HANDLE(0), PTR(0, &async_evd), ARG(1), &k->u.ia_attr, ARG(2),
			    &k->u.provider_attr);
}

DAT_RETURN kapi_ia_max_user_lmr(struct kapi *k)
{
	DAT_VLEN length;

	return dat_ia_max_user_lmr(HANDLE(0), &length);
}

DAT_RETURN kapi_ia_set_account(struct kapi *k)
{
	return dat_ia_set_account(HANDLE(0), PTR(0, &accounts[ARG(1) % NUM_ACCOUNTS].account));
}

DAT_RETURN kapi_account_charge(struct kapi *k)
{
	struct dat_account *account = &accounts[ARG(0) % NUM_ACCOUNTS].account;

	if (!dat_account_charge(account, ARG(1)))
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	uncharge(account, ARG(1));
	return DAT_SUCCESS;
}

DAT_RETURN kapi_strerror(struct kapi *k)
{
	const char *major, *minor;
	DAT_RETURN ret = dat_strerror(ARG(0), &major, &minor);

	/* Both are strings. */
	if (!ret)
		k->c.out[1] = strlen(major) + strlen(minor);
	return ret;
}

DAT_RETURN kapi_get_handle_type(struct kapi *k)
{
	DAT_HANDLE_TYPE type;

	return dat_get_handle_type(HANDLE(0), PTR(0, &type));
}

DAT_RETURN kapi_get_consumer_context(struct kapi *k)
{
	DAT_CONTEXT context;

	return dat_get_consumer_context(HANDLE(0), PTR(0, &context));
}

DAT_RETURN kapi_set_consumer_context(struct kapi *k)
{
	return dat_set_consumer_context(HANDLE(0), COOKIE(1));
}

DAT_RETURN kapi_pz_create(struct kapi *k)
{
	DAT_PZ_HANDLE pz = NULL;

	return kapi_made(k, dat_pz_create(HANDLE(0), PTR(0, &pz)), &pz);
}

DAT_RETURN kapi_pz_query(struct kapi *k)
{
	return dat_pz_query(HANDLE(0), ARG(1), PTR(0, &k->u.pz_param));
}

DAT_RETURN kapi_pz_free(struct kapi *k)
{
	return dat_pz_free(HANDLE(0));
}

DAT_RETURN kapi_evd_kcreate(struct kapi *k)
{
	struct slot *slot = kapi_slot(k, ARG(3));
	DAT_UPCALL_OBJECT object = kapi_upcall(slot);
	DAT_EVD_HANDLE evd = NULL;
	DAT_RETURN ret;

	ret = dat_evd_kcreate(HANDLE(0), ARG(1), kapi_policy(ARG(2)), PTR(0, &object), ARG(4),
			      PTR(1, &evd));
	if (!ret && ARG(2))
		WRITE_ONCE(slot->evd, evd);
	return kapi_made(k, ret, &evd);
}

DAT_RETURN kapi_evd_modify_upcall(struct kapi *k)
{
	struct slot *slot = kapi_slot(k, ARG(2));
	DAT_UPCALL_OBJECT object = kapi_upcall(slot);
	DAT_EVD_HANDLE evd = HANDLE(0);
	DAT_RETURN ret;

	ret = dat_evd_modify_upcall(evd, kapi_policy(ARG(1)), PTR(0, &object), ARG(3));
	if (!ret && ARG(1))
		WRITE_ONCE(slot->evd, evd);
	return ret;
}

static void take_completion(DAT_PVOID instance_data, const struct dat_completion *completion)
{
	/* Reads all of it. */
	WARN_ON(!memchr_inv(completion, 0xff, sizeof(*completion)));
}

/*
 * No EP may feed the EVD, so it is a new one. Freed and forged handles name none that an
 * EP feeds: ARG(0) is one of these if it is not 0.
 */
DAT_RETURN kapi_evd_set_completion(struct kapi *k)
{
	struct slot *slot = kapi_slot(k, ARG(3));
	DAT_UPCALL_OBJECT object = kapi_upcall(slot);
	DAT_EVD_HANDLE evd = NULL;
	DAT_RETURN ret;

	if (ARG(0))
		return dat_evd_set_completion((DAT_HANDLE)(uintptr_t)~ARG(0), take_completion);
	/* dat_evd_kcreate() sleeps. */
	if (in_softirq() || irqs_disabled())
		return KAPI_REFUSED;
	ret = dat_evd_kcreate(HANDLE(1), ARG(2), DAT_UPCALL_SINGLE_INSTANCE, &object, ARG(4), &evd);
	if (ret)
		return ret;
	ret = dat_evd_set_completion(evd, take_completion);
	WRITE_ONCE(slot->evd, evd);
	return kapi_made(k, ret, &evd);
}

DAT_RETURN kapi_evd_flush_upcalls(struct kapi *k)
{
	return dat_evd_flush_upcalls(HANDLE(0));
}

DAT_RETURN kapi_evd_query(struct kapi *k)
{
	return dat_evd_query(HANDLE(0), ARG(1), PTR(0, &k->u.evd_param));
}

DAT_RETURN kapi_evd_resize(struct kapi *k)
{
	return dat_evd_resize(HANDLE(0), ARG(1));
}

DAT_RETURN kapi_evd_post_se(struct kapi *k)
{
	k->u.event.event_number = ARG(1);
	k->u.event.event_data.software_event_data.pointer = (void *)(uintptr_t)ARG(2);
	return dat_evd_post_se(HANDLE(0), PTR(0, &k->u.event));
}

DAT_RETURN kapi_evd_dequeue(struct kapi *k)
{
	DAT_RETURN ret = dat_evd_dequeue(HANDLE(0), PTR(0, &k->u.event));

	if (ret)
		return ret;
	k->c.out[1] = k->u.event.event_number;
	if (k->u.event.event_number == DAT_CONNECTION_REQUEST_EVENT)
		k->c.out[2] =
			(uintptr_t)k->u.event.event_data.cr_arrival_event_data.cr_handle;
	return ret;
}

DAT_RETURN kapi_evd_free(struct kapi *k)
{
	return dat_evd_free(HANDLE(0));
}
