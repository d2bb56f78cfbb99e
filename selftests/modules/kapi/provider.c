// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * provider.c - kdapl_fuzz.ko: an external provider, and the calls of the registry
 *
 * The provider looks its handles up: two calls may use one while a third frees it. Its
 * objects are IAs, PZs and EVDs without events.
 */
#include <linux/slab.h>

#include "fuzz.h"

static const char * const names[] = { "kapi0", "kapi1" };

/**
 * struct ext_obj - an object
 * @node: in @objs
 * @type: its type
 * @ia: its IA; NULL for an IA
 * @context: the consumer's context
 */
struct ext_obj {
	struct list_head node;
	DAT_HANDLE_TYPE type;
	DAT_HANDLE ia;
	DAT_CONTEXT context;
};

static LIST_HEAD(objs);
static DEFINE_SPINLOCK(obj_lock);

/**
 * kapi_provider_name - name of an IA of the provider
 * @number: any number
 */
const char *kapi_provider_name(u64 number)
{
	return names[number % ARRAY_SIZE(names)];
}

static DAT_RETURN no_handle(void)
{
	return DAT_ERROR(DAT_INVALID_HANDLE, DAT_NO_SUBTYPE);
}

static struct ext_obj *find(DAT_HANDLE handle)
{
	struct ext_obj *obj;

	lockdep_assert_held(&obj_lock);
	list_for_each_entry(obj, &objs, node)
		if (obj == handle)
			return obj;
	return NULL;
}

static DAT_RETURN make(DAT_HANDLE_TYPE type, DAT_HANDLE ia, DAT_HANDLE *handle)
{
	struct ext_obj *obj = kzalloc(sizeof(*obj), GFP_KERNEL);

	if (!obj)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	obj->type = type;
	obj->ia = ia;
	spin_lock_bh(&obj_lock);
	list_add(&obj->node, &objs);
	spin_unlock_bh(&obj_lock);
	*handle = obj;
	return DAT_SUCCESS;
}

/* Frees the object, and those of an IA with it. */
static DAT_RETURN drop(DAT_HANDLE handle)
{
	struct ext_obj *obj, *next;
	DAT_RETURN ret = no_handle();

	spin_lock_bh(&obj_lock);
	list_for_each_entry_safe(obj, next, &objs, node) {
		if (obj != handle && obj->ia != handle)
			continue;
		if (obj == handle)
			ret = DAT_SUCCESS;
		list_del(&obj->node);
		kfree(obj);
	}
	spin_unlock_bh(&obj_lock);
	return ret;
}

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			  DAT_IA_HANDLE *ia)
{
	DAT_RETURN ret = make(DAT_HANDLE_TYPE_IA, NULL, ia);

	if (ret)
		return ret;
	ret = make(DAT_HANDLE_TYPE_EVD, *ia, async_evd);
	if (ret)
		drop(*ia);
	return ret;
}

static DAT_RETURN ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	return drop(ia);
}

static DAT_RETURN set_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	struct ext_obj *obj;

	spin_lock_bh(&obj_lock);
	obj = find(handle);
	if (obj)
		obj->context = context;
	spin_unlock_bh(&obj_lock);
	return obj ? DAT_SUCCESS : no_handle();
}

static DAT_RETURN get_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	struct ext_obj *obj;

	if (!context)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	spin_lock_bh(&obj_lock);
	obj = find(handle);
	if (obj)
		*context = obj->context;
	spin_unlock_bh(&obj_lock);
	return obj ? DAT_SUCCESS : no_handle();
}

static DAT_RETURN get_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	struct ext_obj *obj;

	if (!type)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	spin_lock_bh(&obj_lock);
	obj = find(handle);
	if (obj)
		*type = obj->type;
	spin_unlock_bh(&obj_lock);
	return obj ? DAT_SUCCESS : no_handle();
}

static DAT_RETURN pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	return pz ? make(DAT_HANDLE_TYPE_PZ, ia, pz) :
		    DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}

static DAT_RETURN evd_kcreate(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_UPCALL_POLICY policy,
			      const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags,
			      DAT_EVD_HANDLE *evd)
{
	return evd ? make(DAT_HANDLE_TYPE_EVD, ia, evd) :
		     DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
}

static DAT_RETURN evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	return DAT_QUEUE_EMPTY;
}

const DAT_PROVIDER kapi_provider = {
	.device_name			= "kapi",
	.ia_open_func			= ia_open,
	.ia_close_func			= ia_close,
	.set_consumer_context_func	= set_context,
	.get_consumer_context_func	= get_context,
	.get_handle_type_func		= get_type,
	.pz_create_func			= pz_create,
	.pz_free_func			= drop,
	.evd_kcreate_func		= evd_kcreate,
	.evd_dequeue_func		= evd_dequeue,
	.evd_free_func			= drop,
};

static const DAT_PROVIDER_INFO *info(struct kapi *k)
{
	DAT_PROVIDER_INFO *i = &k->infos[0];

	strscpy(i->ia_name, kapi_provider_name(ARG(0)), sizeof(i->ia_name));
	i->dapl_version_major = 1;
	i->dapl_version_minor = 2;
	i->is_thread_safe = DAT_TRUE;
	return i;
}

DAT_RETURN kapi_registry_add_module(struct kapi *k)
{
	return dat_registry_add_module(THIS_MODULE, PTR(0, &kapi_provider), PTR(1, info(k)));
}

DAT_RETURN kapi_registry_remove_provider(struct kapi *k)
{
	return dat_registry_remove_provider(PTR(0, &kapi_provider), PTR(1, info(k)));
}

DAT_RETURN kapi_registry_list_providers(struct kapi *k)
{
	DAT_COUNT num;
	unsigned int i;

	for (i = 0; i < MAX_INFOS; i++)
		k->info_list[i] = PTR(i + 2, &k->infos[i]);
	return dat_registry_list_providers(ARG(0) % (MAX_INFOS + 1), PTR(0, &num),
					   PTR(1, k->info_list));
}

DAT_RETURN kapi_provider_init(struct kapi *k)
{
	dat_provider_init(info(k), "");
	return DAT_SUCCESS;
}

DAT_RETURN kapi_provider_fini(struct kapi *k)
{
	dat_provider_fini(info(k));
	return DAT_SUCCESS;
}

/**
 * kapi_remove_providers - remove what sequences have registered
 *
 * All IAs are closed.
 */
void kapi_remove_providers(void)
{
	DAT_PROVIDER_INFO i = {};
	unsigned int n;

	for (n = 0; n < ARRAY_SIZE(names); n++) {
		strscpy(i.ia_name, names[n], sizeof(i.ia_name));
		dat_registry_remove_provider(&kapi_provider, &i);
	}
	WARN_ON(!list_empty(&objs));
}
