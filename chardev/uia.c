// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uia.c - ioctls of IAs: list, open, close, query
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <dat/dat_ib_extensions.h>

#include "charge.h"
#include "ucno.h"
#include "uevd.h"

/* Upper limit of the IAs listed by one call. */
#define MAX_INFOS	4096

static int copy_infos(struct dat_dev_ia_list *p, DAT_PROVIDER_INFO **infos)
{
	void __user *to = u64_to_user_ptr(p->infos);
	u32 i;

	for (i = 0; i < p->num; i++, to += p->info_size) {
		struct dat_dev_ia_info info = {
			.dat_major = infos[i]->dapl_version_major,
			.dat_minor = infos[i]->dapl_version_minor,
			.is_thread_safe = infos[i]->is_thread_safe,
		};

		strscpy(info.name, infos[i]->ia_name, sizeof(info.name));
		if (copy_to_user(to, &info, min_t(u32, p->info_size,
						  sizeof(info))))
			return -EFAULT;
	}
	return 0;
}

static DAT_PROVIDER_INFO **alloc_infos(u32 max)
{
	DAT_PROVIDER_INFO **list;
	u32 i;

	/* The infos follow the pointers to them. 0 bytes would return NULL. */
	list = kvzalloc(max(max, 1U) * (sizeof(**list) + sizeof(*list)),
			GFP_KERNEL_ACCOUNT);
	for (i = 0; list && i < max; i++)
		list[i] = (DAT_PROVIDER_INFO *)(list + max) + i;
	return list;
}

/* dat_registry_list_providers() */
int dat_ioctl_ia_list(struct dat_file *file, void *arg)
{
	struct dat_dev_ia_list *p = arg;
	u32 max = min_t(u32, p->max, MAX_INFOS);
	DAT_PROVIDER_INFO **infos;
	DAT_COUNT num = 0;
	int ret = 0;

	if (p->info_size < sizeof(struct dat_dev_ia_info))
		return -EINVAL;
	if (p->info_size > PAGE_SIZE)
		return -E2BIG;
	infos = alloc_infos(max);
	if (!infos)
		return -ENOMEM;
	p->result = dat_registry_list_providers(max, &num, infos);
	p->num = num;
	if (!p->result)
		ret = copy_infos(p, infos);
	kvfree(infos);
	return ret;
}

static DAT_RETURN open_kernel_ia(struct dat_dev_ia_open *p, struct dat_uia *ia,
				 struct dat_uevd *evd, DAT_IA_HANDLE *kia,
				 DAT_EVD_HANDLE *kevd)
{
	DAT_UPCALL_OBJECT upcall = {
		.instance_data = evd,
		.upcall_func = dat_uevd_upcall,
	};
	DAT_RETURN ret;

	*kevd = DAT_HANDLE_NULL;
	ret = dat_ia_openv(p->name, p->async_evd_qlen, kevd, kia, p->dat_major,
			   p->dat_minor, DAT_TRUE);
	if (ret)
		return ret;
	ret = dat_ia_set_account(*kia, &ia->uobj.file->charge->account);
	if (!ret)
		ret = dat_evd_modify_upcall(*kevd, DAT_UPCALL_SINGLE_INSTANCE,
					    &upcall, DAT_UPCALL_INVOC_ANY);
	if (!ret)
		ret = dat_ia_max_user_lmr(*kia, &ia->max_lmr);
	if (ret)
		dat_ia_close(*kia, DAT_CLOSE_ABRUPT_FLAG);
	return ret;
}

/* dat_ia_open() */
int dat_ioctl_ia_open(struct dat_file *file, void *arg)
{
	struct dat_dev_ia_open *p = arg;
	DAT_EVD_HANDLE kevd;
	struct dat_uevd *evd;
	DAT_IA_HANDLE kia;
	struct dat_uia *ia;
	int ret;

	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (strnlen(p->name, sizeof(p->name)) == sizeof(p->name))
		return 0;
	p->result = DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!p->async_evd_qlen || p->async_evd_qlen > INT_MAX)
		return 0;

	p->result = dat_uobj_no_memory();
	ia = dat_uobj_alloc(file, sizeof(*ia), DAT_HANDLE_TYPE_IA, NULL,
			    GFP_KERNEL);
	if (!ia)
		return 0;
	evd = dat_uevd_alloc(file, ia, p->async_evd_qlen, &ret);
	if (!evd)
		goto put_ia;
	if (dat_uobj_reserve(&ia->uobj, GFP_KERNEL))
		goto put_evd;
	if (dat_uobj_reserve(&evd->uobj, GFP_KERNEL))
		goto unreserve_ia;

	p->result = open_kernel_ia(p, ia, evd, &kia, &kevd);
	if (p->result)
		goto unreserve_evd;
	p->ia = ia->uobj.handle;
	p->async_evd = evd->uobj.handle;
	p->async_ring_entries = evd->ring->entries;
	evd->flags = DAT_EVD_ASYNC_FLAG;
	ia->async_evd = evd;
	dat_uobj_publish(&evd->uobj, kevd);
	dat_uobj_publish(&ia->uobj, kia);
	return 0;

unreserve_evd:
	dat_uobj_unreserve(&evd->uobj);
	dat_uobj_unreserve(&ia->uobj);
	return 0;
unreserve_ia:
	dat_uobj_put(&evd->uobj);
	dat_uobj_unreserve(&ia->uobj);
	return 0;
put_evd:
	dat_uobj_put(&evd->uobj);
put_ia:
	dat_uobj_put(&ia->uobj);
	return 0;
}

static bool has_cnos(const struct dat_uia *ia)
{
	struct dat_uobj *other;
	unsigned long index;
	bool found = false;

	dat_for_each_uobj(ia->uobj.file, index, other) {
		found = found || (other->type == DAT_UOBJ_CNO &&
				  other->ia == ia);
		dat_uobj_put(other);
	}
	return found;
}

/**
 * dat_uia_hang_up - end the waits for the EVDs and CNOs of a closed IA
 * @file: the file; no other thread adds objects of @ia
 * @ia: the IA; NULL for all of the file
 *
 * Context: process, may sleep.
 */
void dat_uia_hang_up(struct dat_file *file, const struct dat_uia *ia)
{
	struct dat_uobj *uobj;
	unsigned long index;

	dat_for_each_uobj(file, index, uobj) {
		if (uobj->type == DAT_HANDLE_TYPE_EVD && (!ia || uobj->ia == ia))
			dat_uevd_kill(to_uevd(uobj));
		if (uobj->type == DAT_UOBJ_CNO && (!ia || uobj->ia == ia))
			dat_ucno_kill(to_ucno(uobj));
		dat_uobj_put(uobj);
	}
}

/* dat_ia_close() */
DAT_RETURN dat_ioctl_ia_close(struct dat_uobj *uobj, void *arg)
{
	struct dat_dev_ia_close *p = arg;
	struct dat_uia *ia = to_uia(uobj);
	DAT_RETURN ret;

	/* The kernel API has no CNOs, so a graceful close has to check them here. */
	if (p->flags == DAT_CLOSE_GRACEFUL_FLAG && has_cnos(ia))
		return DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	ret = dat_ia_close(uobj->khandle, p->flags);
	if (ret)
		return ret;

	dat_uia_hang_up(uobj->file, ia);
	ia->async_evd = NULL;
	dat_uobj_remove_all(uobj->file, ia);
	return DAT_SUCCESS;
}

static u32 extensions(const DAT_PROVIDER_ATTR *attr)
{
	static const struct {
		const char *name;
		u32 bit;
	} known[] = {
		{ DAT_IB_ATTR_IMMED_DATA, DAT_DEV_EXT_WRITE_IMMED },
		{ DAT_IB_ATTR_FETCH_AND_ADD, DAT_DEV_EXT_FETCH_ADD },
		{ DAT_IB_ATTR_CMP_AND_SWAP, DAT_DEV_EXT_CMP_SWAP },
	};
	u32 bits = 0;
	int i, j;

	for (i = 0; i < attr->num_provider_specific_attr; i++)
		for (j = 0; j < ARRAY_SIZE(known); j++)
			if (!strcmp(attr->provider_specific_attr[i].name,
				    known[j].name))
				bits |= known[j].bit;
	return bits;
}

/* Copies the pairs that fit, and counts the bytes of all. */
static int named_attrs_to_user(const DAT_PROVIDER_ATTR *attr,
			       struct dat_dev_ia_query *p)
{
	char __user *to = u64_to_user_ptr(p->named_attrs);
	u32 room = p->named_attrs_size, used = 0;
	DAT_COUNT i;

	for (i = 0; i < attr->num_provider_specific_attr; i++) {
		const char *name = attr->provider_specific_attr[i].name;
		const char *value = READ_ONCE(attr->provider_specific_attr[i].value);
		size_t name_size = strlen(name) + 1, size = name_size + strlen(value) + 1;

		if (used + size <= room &&
		    (copy_to_user(to + used, name, name_size) ||
		     copy_to_user(to + used + name_size, value, size - name_size)))
			return -EFAULT;
		used += size;
	}
	p->named_attrs_size = used;
	return 0;
}

static void ia_attr_to_user(const DAT_IA_ATTR *ia, const DAT_PROVIDER_ATTR *pr,
			    struct dat_dev_ia_query *p)
{
	const DAT_BOOLEAN *merging = &pr->evd_stream_merging_supported[0][0];
	unsigned int i;

#define IA_ATTR(_field, _kind)		p->_field = ia->_field;
#define PROVIDER_ATTR(_field, _kind)	p->_field = pr->_field;
#include "dat_attrs.def"
	memcpy(p->adapter_name, ia->adapter_name, sizeof(p->adapter_name));
	memcpy(p->vendor_name, ia->vendor_name, sizeof(p->vendor_name));
	dat_addr_to_user(ia->ia_address_ptr, &p->ia_address);
	p->evd_merging = 0;
	for (i = 0; i < 36; i++)
		if (merging[i])
			p->evd_merging |= BIT_ULL(i);
	p->extensions = extensions(pr);
}

/* dat_ia_query() */
int dat_ioctl_ia_query(struct dat_file *file, void *arg)
{
	struct dat_dev_ia_query *p = arg;
	DAT_PROVIDER_ATTR *provider_attr;
	DAT_EVD_HANDLE async_evd;
	struct dat_uobj *uobj;
	DAT_IA_ATTR *ia_attr;
	int ret = -ENOMEM;

	p->result = DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	uobj = dat_uobj_get(file, p->ia, DAT_HANDLE_TYPE_IA);
	if (!uobj)
		return 0;
	ia_attr = kzalloc(sizeof(*ia_attr), GFP_KERNEL);
	provider_attr = kzalloc(sizeof(*provider_attr), GFP_KERNEL);
	if (!ia_attr || !provider_attr)
		goto free;

	ret = 0;
	p->result = dat_ia_query(uobj->khandle, &async_evd, DAT_IA_FIELD_ALL,
				 ia_attr, DAT_PROVIDER_FIELD_ALL,
				 provider_attr);
	if (!p->result) {
		p->async_evd = dat_uobj_user_handle(async_evd);
		ia_attr_to_user(ia_attr, provider_attr, p);
		/* Limit for memory of a process. */
		p->max_lmr_block_size = to_uia(uobj)->max_lmr;
		ret = named_attrs_to_user(provider_attr, p);
	}
free:
	kfree(provider_attr);
	kfree(ia_attr);
	dat_uobj_put(uobj);
	return ret;
}
