// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * info.c - fi_getinfo(): one entry for each IA that fits the hints
 *
 * An entry begins with the limits of the IA. Then the provider adapts it to the hints, or
 * drops it.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/dat_registry.h>

#include "kfi.h"

#define DEFAULT_IOV	4
/* Completion queues, and counters, that a program may well have */
#define MANY_QUEUES	1024

/* Requests of a connection are executed in order; a Read may still take data after them. */
#define MSG_ORDER	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAW | \
			 FI_ORDER_WAS | FI_ORDER_SAW | FI_ORDER_SAS)
#define COMP_ORDER	(FI_ORDER_STRICT | FI_ORDER_DATA)

#define TX_OP_FLAGS	(FI_INJECT | FI_COMPLETION | FI_INJECT_COMPLETE | \
			 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MORE | FI_FENCE | \
			 FI_REMOTE_CQ_DATA)
/* On iWARP a request completes when TCP has it, and there are no immediate data. */
#define NOT_IWARP	(FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_REMOTE_CQ_DATA)
#define RX_OP_FLAGS	(FI_COMPLETION | FI_MORE)
#define TX_CAPS		(FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE)
#define RX_CAPS		(FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/**
 * kfi_ia_open - open an IA without an asynchronous EVD
 * @name: its name
 * @fabric: out: the IA and what is known of it
 *
 * Return: 0; -FI_ENODEV, also for an IA without an address; another error.
 */
int kfi_ia_open(const char *name, struct kfi_fabric *fabric)
{
	DAT_EVD_HANDLE async_evd = DAT_EVD_ASYNC_EXISTS;
	DAT_PROVIDER_ATTR provider_attr;
	char copy[DAT_NAME_MAX_LENGTH];
	DAT_RETURN ret;

	if (snprintf(copy, sizeof(copy), "%s", name) >= (int)sizeof(copy))
		return -FI_ENODEV;
	ret = dat_ia_open(copy, 0, &async_evd, &fabric->ia);
	if (ret != DAT_SUCCESS)
		return kfi_errno(ret);
	ret = dat_ia_query(fabric->ia, NULL, DAT_IA_FIELD_ALL, &fabric->attr,
			   DAT_PROVIDER_FIELD_ALL, &provider_attr);
	/* A provider of another library lacks the calls of <dat/dat_linux.h>. */
	if (ret == DAT_SUCCESS && !strcmp(provider_attr.provider_name, "kdapl") &&
	    kfi_sockaddr_size(fabric->attr.ia_address_ptr)) {
		fabric->is_iwarp = provider_attr.rdma_write_for_rdma_read_req;
		fabric->max_private = provider_attr.max_private_data_size;
		if (fabric->max_private > KFI_MAX_PRIVATE)
			fabric->max_private = KFI_MAX_PRIVATE;
		return 0;
	}
	dat_ia_close(fabric->ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret == DAT_SUCCESS ? -FI_ENODEV : kfi_errno(ret);
}

static void fill_tx(struct fi_tx_attr *tx, const DAT_IA_ATTR *attr, bool is_iwarp)
{
	tx->caps = TX_CAPS;
	tx->op_flags = is_iwarp ? TX_OP_FLAGS & ~NOT_IWARP : TX_OP_FLAGS;
	tx->msg_order = MSG_ORDER;
	tx->comp_order = COMP_ORDER;
	tx->inject_size = KFI_INJECT_SIZE;
	tx->size = (size_t)attr->max_dto_per_ep;
	tx->iov_limit = min_size((size_t)attr->max_iov_segments_per_dto, KFI_MAX_IOV);
	tx->rma_iov_limit = 1;
}

static void fill_rx(struct fi_rx_attr *rx, const DAT_IA_ATTR *attr)
{
	rx->caps = RX_CAPS;
	rx->op_flags = RX_OP_FLAGS;
	rx->msg_order = MSG_ORDER;
	rx->comp_order = COMP_ORDER;
	rx->size = (size_t)attr->max_dto_per_ep;
	rx->iov_limit = min_size((size_t)attr->max_iov_segments_per_dto, KFI_MAX_IOV);
}

static void fill_ep(struct fi_ep_attr *ep, const DAT_IA_ATTR *attr)
{
	ep->type = FI_EP_MSG;
	ep->protocol = FI_PROTO_RDMA_CM_IB_RC;
	ep->protocol_version = 1;
	ep->max_msg_size = min_size(attr->max_message_size, attr->max_rdma_size);
	ep->max_order_raw_size = ep->max_msg_size;
	ep->max_order_waw_size = ep->max_msg_size;
	ep->tx_ctx_cnt = 1;
	ep->rx_ctx_cnt = 1;
}

static void fill_domain(struct fi_domain_attr *dom, const DAT_IA_ATTR *attr, bool is_iwarp)
{
	dom->threading = FI_THREAD_SAFE;
	dom->control_progress = FI_PROGRESS_AUTO;
	dom->data_progress = FI_PROGRESS_AUTO;
	/* A full queue refuses a request; no completion is lost. */
	dom->resource_mgmt = FI_RM_ENABLED;
	dom->av_type = FI_AV_UNSPEC;
	dom->mr_mode = FI_MR_LOCAL | KFI_MR_BASIC;
	dom->mr_key_size = sizeof(DAT_RMR_CONTEXT);
	dom->cq_data_size = is_iwarp ? 0 : sizeof(DAT_UINT32);
	/* Some programs open as many. */
	dom->cq_cnt = min_size((size_t)attr->max_evds, MANY_QUEUES);
	dom->cntr_cnt = dom->cq_cnt;
	dom->ep_cnt = (size_t)attr->max_eps;
	dom->tx_ctx_cnt = (size_t)attr->max_eps;
	dom->rx_ctx_cnt = (size_t)attr->max_eps;
	dom->max_ep_tx_ctx = 1;
	dom->max_ep_rx_ctx = 1;
	dom->max_ep_srx_ctx = (size_t)attr->max_srqs;
	dom->mr_iov_limit = 1;
	dom->mr_cnt = (size_t)attr->max_lmrs;
	dom->caps = KFI_DOMAIN_CAPS;
}

/* The abilities of the IA */
static struct fi_info *describe(const char *name, const struct kfi_fabric *ia)
{
	const DAT_IA_ATTR *attr = &ia->attr;
	struct fi_info *info = fi_allocinfo();

	if (!info)
		return NULL;
	info->caps = KFI_CAPS | KFI_DOMAIN_CAPS;
	info->addr_format = attr->ia_address_ptr->sa_family == AF_INET6 ? FI_SOCKADDR_IN6 :
									  FI_SOCKADDR_IN;
	fill_tx(info->tx_attr, attr, ia->is_iwarp);
	fill_rx(info->rx_attr, attr);
	fill_ep(info->ep_attr, attr);
	fill_domain(info->domain_attr, attr, ia->is_iwarp);
	info->domain_attr->name = strdup(name);
	info->fabric_attr->name = strdup(name);
	/* libfabric itself adds the name of the provider. */
	if (info->domain_attr->name && info->fabric_attr->name)
		return info;
	fi_freeinfo(info);
	return NULL;
}

static bool is_any(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6 ?
		IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)addr)->sin6_addr) :
		!((const struct sockaddr_in *)addr)->sin_addr.s_addr;
}

static bool is_same(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	return a->sa_family == AF_INET6 ?
		IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
				   &((const struct sockaddr_in6 *)b)->sin6_addr) :
		((const struct sockaddr_in *)a)->sin_addr.s_addr ==
			((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

/* The source is the address of the IA, with the port of @from, which must not name another. */
static int set_source(struct fi_info *info, const struct sockaddr *ia_addr,
		      const struct sockaddr *from)
{
	if (from && !is_any(from) && !is_same(from, ia_addr))
		return -FI_ENODATA;
	info->src_addr = kfi_copy_addr(ia_addr, &info->src_addrlen);
	if (!info->src_addr)
		return -FI_ENOMEM;
	kfi_set_port(info->src_addr, from ? kfi_port(from) : 0);
	return 0;
}

static int set_dest(struct fi_info *info, const struct sockaddr *ia_addr,
		    const struct sockaddr *to)
{
	if (to->sa_family != ia_addr->sa_family)
		return -FI_ENODATA;
	info->dest_addr = kfi_copy_addr(to, &info->dest_addrlen);
	return info->dest_addr ? 0 : -FI_ENOMEM;
}

/* An address of the hints; NULL without. */
static const struct sockaddr *hinted(const void *addr, size_t size)
{
	const struct sockaddr *sa = addr;

	if (!sa || size < sizeof(*sa) || !kfi_sockaddr_size(sa) ||
	    size < kfi_sockaddr_size(sa))
		return NULL;
	return sa;
}

static int set_addrs(struct fi_info *info, const struct sockaddr *ia_addr, const char *node,
		     const char *service, uint64_t flags, const struct fi_info *hints)
{
	const struct sockaddr *from = NULL, *to = NULL;
	struct addrinfo want = {
		.ai_family = ia_addr->sa_family,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *found = NULL;
	int ret = 0;

	if (hints) {
		from = hinted(hints->src_addr, hints->src_addrlen);
		to = hinted(hints->dest_addr, hints->dest_addrlen);
	}
	if (flags & FI_SOURCE)
		want.ai_flags |= AI_PASSIVE;
	if (flags & FI_NUMERICHOST)
		want.ai_flags |= AI_NUMERICHOST;
	if (node || service) {
		if (getaddrinfo(node, service, &want, &found))
			return -FI_ENODATA;
		if (flags & FI_SOURCE)
			from = found->ai_addr;
		else if (node)
			to = found->ai_addr;
	}
	ret = set_source(info, ia_addr, from);
	if (!ret && to)
		ret = set_dest(info, ia_addr, to);
	if (found)
		freeaddrinfo(found);
	return ret;
}

/* A hint of 0 takes the default. */
static bool take_size(size_t *value, size_t hint, size_t usual)
{
	if (hint > *value)
		return false;
	*value = hint ?: min_size(*value, usual);
	return true;
}

static bool refine_tx(struct fi_tx_attr *tx, const struct fi_tx_attr *hint, uint64_t caps)
{
	static const struct fi_tx_attr none;

	if (!hint)
		hint = &none;
	if ((hint->caps & ~(TX_CAPS | KFI_DOMAIN_CAPS)) || (hint->op_flags & ~tx->op_flags) ||
	    (hint->msg_order & ~MSG_ORDER) || (hint->comp_order & ~COMP_ORDER) ||
	    hint->rma_iov_limit > tx->rma_iov_limit)
		return false;
	tx->caps = hint->caps ?: tx->caps & caps;
	tx->op_flags = hint->op_flags;
	return take_size(&tx->size, hint->size, KFI_DEFAULT_SIZE) &&
	       take_size(&tx->iov_limit, hint->iov_limit, DEFAULT_IOV) &&
	       take_size(&tx->inject_size, hint->inject_size, KFI_INJECT_SIZE);
}

static bool refine_rx(struct fi_rx_attr *rx, const struct fi_rx_attr *hint, uint64_t caps)
{
	static const struct fi_rx_attr none;

	if (!hint)
		hint = &none;
	if ((hint->caps & ~(RX_CAPS | KFI_DOMAIN_CAPS)) || (hint->op_flags & ~RX_OP_FLAGS) ||
	    (hint->msg_order & ~MSG_ORDER) || (hint->comp_order & ~COMP_ORDER) ||
	    hint->total_buffered_recv)
		return false;
	rx->caps = hint->caps ?: rx->caps & caps;
	rx->op_flags = hint->op_flags;
	return take_size(&rx->size, hint->size, KFI_DEFAULT_SIZE) &&
	       take_size(&rx->iov_limit, hint->iov_limit, DEFAULT_IOV);
}

static bool refine_ep(struct fi_ep_attr *ep, const struct fi_ep_attr *hint)
{
	if (hint && hint->rx_ctx_cnt == FI_SHARED_CONTEXT)
		ep->rx_ctx_cnt = FI_SHARED_CONTEXT;
	return !hint ||
	       ((hint->type == FI_EP_UNSPEC || hint->type == FI_EP_MSG) &&
		(hint->protocol == FI_PROTO_UNSPEC || hint->protocol == ep->protocol) &&
		hint->max_msg_size <= ep->max_msg_size && !hint->msg_prefix_size &&
		hint->max_order_raw_size <= ep->max_order_raw_size &&
		hint->max_order_war_size <= ep->max_order_war_size &&
		hint->max_order_waw_size <= ep->max_order_waw_size &&
		hint->tx_ctx_cnt <= 1 && (hint->rx_ctx_cnt <= 1 ||
					  hint->rx_ctx_cnt == FI_SHARED_CONTEXT) &&
		!hint->auth_key_size);
}

/*
 * The modes that registration needs, for what the program wants to do. Before 1.5 there was
 * FI_MR_BASIC, and the mode FI_LOCAL_MR.
 */
static bool refine_mr_mode(struct fi_info *info, const struct fi_info *hints,
			   uint32_t version)
{
	struct fi_domain_attr *dom = info->domain_attr;
	int needed = FI_MR_LOCAL | (info->caps & FI_RMA ? KFI_MR_BASIC : 0);
	int mode = hints && hints->domain_attr ? hints->domain_attr->mr_mode : needed;
	bool old = FI_VERSION_LT(version, FI_VERSION(1, 5));

	if (old || mode == FI_MR_BASIC) {
		if (mode == FI_MR_SCALABLE)
			return false;
		dom->mr_mode = FI_MR_BASIC;
		if (old && hints && !(hints->mode & FI_LOCAL_MR))
			return false;
		if (old)
			info->mode |= FI_LOCAL_MR;
		return true;
	}
	dom->mr_mode = needed;
	return !(needed & ~mode);
}

/*
 * Immediate data of an RDMA Write consume a receive. A program that does not know this, and
 * wants RMA, gets none.
 */
static void refine_cq_data(struct fi_info *info, const struct fi_info *hints)
{
	uint64_t mode = FI_RX_CQ_DATA;

	if (!info->domain_attr->cq_data_size || !(info->caps & FI_RMA))
		return;
	if (hints) {
		mode &= hints->mode | (hints->rx_attr ? hints->rx_attr->mode : 0);
		info->mode |= hints->mode & FI_RX_CQ_DATA;
	}
	info->rx_attr->mode |= mode;
	if (!mode)
		info->domain_attr->cq_data_size = 0;
}

static bool refine_domain(struct fi_domain_attr *dom, const struct fi_domain_attr *hint)
{
	if (!hint)
		return true;
	if ((hint->name && strcmp(hint->name, dom->name)) ||
	    (hint->caps & ~KFI_DOMAIN_CAPS) || hint->mr_key_size > dom->mr_key_size ||
	    hint->cq_data_size > dom->cq_data_size || hint->cq_cnt > dom->cq_cnt ||
	    hint->ep_cnt > dom->ep_cnt || hint->cntr_cnt > dom->cntr_cnt ||
	    hint->max_ep_stx_ctx || hint->max_ep_srx_ctx > dom->max_ep_srx_ctx ||
	    hint->auth_key_size ||
	    hint->mr_iov_limit > dom->mr_iov_limit || hint->mr_cnt > dom->mr_cnt ||
	    hint->max_err_data > dom->max_err_data)
		return false;
	if (hint->threading)
		dom->threading = hint->threading;
	/* The kernel makes progress, also for a program with manual progress. */
	if (hint->control_progress)
		dom->control_progress = hint->control_progress;
	if (hint->data_progress)
		dom->data_progress = hint->data_progress;
	if (hint->resource_mgmt)
		dom->resource_mgmt = hint->resource_mgmt;
	return true;
}

/* RMA without direction is RMA in each direction. */
static uint64_t complete_caps(uint64_t caps)
{
	if (caps & FI_MSG && !(caps & (FI_SEND | FI_RECV)))
		caps |= FI_SEND | FI_RECV;
	if (caps & FI_RMA &&
	    !(caps & (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)))
		caps |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	return caps;
}

static bool fits_format(uint32_t format, uint32_t hint)
{
	return hint == FI_FORMAT_UNSPEC || hint == FI_SOCKADDR || hint == format;
}

/* Adapts an entry to the hints. Returns false if it does not fit. */
static bool refine(struct fi_info *info, const struct fi_info *hints, uint32_t version)
{
	if (hints && hints->caps) {
		if (hints->caps & ~(KFI_CAPS | KFI_DOMAIN_CAPS))
			return false;
		info->caps = complete_caps(hints->caps) | KFI_DOMAIN_CAPS;
	}
	if (!refine_mr_mode(info, hints, version) ||
	    !refine_tx(info->tx_attr, hints ? hints->tx_attr : NULL, info->caps) ||
	    !refine_rx(info->rx_attr, hints ? hints->rx_attr : NULL, info->caps))
		return false;
	refine_cq_data(info, hints);
	if (!hints)
		return true;
	if (!fits_format(info->addr_format, hints->addr_format) ||
	    !refine_ep(info->ep_attr, hints->ep_attr) ||
	    !refine_domain(info->domain_attr, hints->domain_attr))
		return false;
	if (hints->addr_format == FI_SOCKADDR)
		info->addr_format = FI_SOCKADDR;
	return !hints->fabric_attr || !hints->fabric_attr->name ||
	       !strcmp(hints->fabric_attr->name, info->fabric_attr->name);
}

/* The entry of an IA; -FI_ENODATA if it does not fit. */
static int info_of(const char *name, uint32_t version, const char *node,
		   const char *service, uint64_t flags, const struct fi_info *hints,
		   struct fi_info **info)
{
	struct kfi_fabric ia;
	int ret;

	/* Not every IA can be opened by everybody. */
	if (kfi_ia_open(name, &ia))
		return -FI_ENODATA;
	*info = describe(name, &ia);
	if (!*info)
		ret = -FI_ENOMEM;
	else if (!refine(*info, hints, version))
		ret = -FI_ENODATA;
	else
		ret = set_addrs(*info, ia.attr.ia_address_ptr, node, service, flags, hints);
	dat_ia_close(ia.ia, DAT_CLOSE_ABRUPT_FLAG);
	if (ret && *info)
		fi_freeinfo(*info);
	return ret;
}

/* The names of the IAs; the caller frees them. */
static DAT_PROVIDER_INFO *list_ias(DAT_COUNT *num)
{
	DAT_PROVIDER_INFO *infos = NULL, **pointers = NULL;
	DAT_COUNT max = 0, i;

	*num = 0;
	/* There may be more of them each time. */
	while (dat_registry_list_providers(max, num, pointers) != DAT_SUCCESS) {
		free(pointers);
		free(infos);
		if (*num <= max)
			return NULL;
		max = *num;
		infos = calloc((size_t)max, sizeof(*infos));
		pointers = calloc((size_t)max, sizeof(*pointers));
		if (!infos || !pointers) {
			free(pointers);
			free(infos);
			return NULL;
		}
		for (i = 0; i < max; i++)
			pointers[i] = &infos[i];
	}
	free(pointers);
	return infos;
}

/**
 * kfi_getinfo - see fi_getinfo(3)
 * @version: version of libfabric that the program was written for
 * @node: name or address
 * @service: port
 * @flags: FI_SOURCE: @node and @service are ours; FI_NUMERICHOST
 * @hints: what the program needs
 * @info: out: the list
 *
 * Return: 0, -FI_ENODATA if no IA fits, -FI_ENOMEM.
 */
int kfi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info)
{
	struct fi_info **tail = info, *entry;
	DAT_PROVIDER_INFO *infos;
	DAT_COUNT num, i;
	int ret = 0;

	*info = NULL;
	infos = list_ias(&num);
	for (i = 0; infos && i < num; i++) {
		ret = info_of(infos[i].ia_name, version, node, service, flags, hints, &entry);
		if (!ret) {
			*tail = entry;
			tail = &entry->next;
		} else if (ret != -FI_ENODATA) {
			break;
		}
	}
	free(infos);
	if (ret && ret != -FI_ENODATA) {
		fi_freeinfo(*info);
		*info = NULL;
		return ret;
	}
	return *info ? 0 : -FI_ENODATA;
}
