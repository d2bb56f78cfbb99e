// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fi_pair.c - two endpoints of libfabric's provider kdapl, in one process
 *
 * The functions return 0, a size, or a negative error of fi_errno(3).
 */
#include <stdlib.h>
#include <string.h>

#include "pair.h"

#include "fi_pair.h"

const char *fi_pair_provider = "kdapl";
const char *fi_pair_node;
size_t fi_pair_size = 65536;

/*
 * libfabric looks for the provider beside this program. To start, it takes a second: the tests,
 * which are children, need not do that again. No provider offers what is asked for here.
 */
static __attribute__((constructor)) void start_libfabric(void)
{
	struct fi_info *hints, *info;

	setenv("FI_PROVIDER_PATH", "/selftests/fi/lib", 1);
	hints = fi_allocinfo();
	hints->fabric_attr->prov_name = strdup("nobody");
	if (!fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info))
		fi_freeinfo(info);
	fi_freeinfo(hints);
}

struct fi_info *fi_pair_hints(void)
{
	struct fi_info *hints = fi_allocinfo();

	hints->caps = FI_MSG | FI_RMA;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY;
	hints->domain_attr->name = strdup(ia_name());
	hints->fabric_attr->prov_name = strdup(fi_pair_provider);
	return hints;
}

int open_end(struct fi_pair *p, struct fi_end *end)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	int ret;

	end->buf = aligned_alloc(4096, fi_pair_size);
	memset(end->buf, 0, fi_pair_size);
	ret = fi_eq_open(p->fabric, &eq_attr, &end->eq, NULL);
	ret = ret ?: fi_cq_open(p->domain, &cq_attr, &end->cq, NULL);
	return ret ?: fi_mr_reg(p->domain, end->buf, fi_pair_size,
				FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ |
				FI_REMOTE_WRITE, 0, 0, 0, &end->mr, NULL);
}

int open_ep(struct fi_pair *p, struct fi_end *end, struct fi_info *info)
{
	int ret = fi_endpoint(p->domain, info, &end->ep, end);

	ret = ret ?: fi_ep_bind(end->ep, &end->eq->fid, 0);
	if (!ret && !(end->not_seen & FI_TRANSMIT))
		ret = fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | end->tx_flags);
	if (!ret && !(end->not_seen & FI_RECV))
		ret = fi_ep_bind(end->ep, &end->cq->fid, FI_RECV);
	if (!ret && end->srx)
		ret = fi_ep_bind(end->ep, &end->srx->fid, 0);
	if (!ret && end->cntr)
		ret = fi_ep_bind(end->ep, &end->cntr->fid, end->counts);
	return ret ?: fi_enable(end->ep);
}

/* The domain of @p->hints */
int fi_pair_domain(struct fi_pair *p)
{
	return fi_getinfo(FI_VERSION(1, 17), fi_pair_node, NULL, fi_pair_node ? FI_SOURCE : 0,
			  p->hints, &p->info) ?:
	       fi_fabric(p->info->fabric_attr, &p->fabric, NULL) ?:
	       fi_domain(p->fabric, p->info, &p->domain, NULL);
}

/* All but the endpoints */
int fi_pair_open(struct fi_pair *p)
{
	size_t size = sizeof(p->address);

	return fi_pair_domain(p) ?: open_end(p, &p->a) ?: open_end(p, &p->b) ?:
	       fi_passive_ep(p->fabric, p->info, &p->pep, p) ?:
	       fi_pep_bind(p->pep, &p->b.eq->fid, 0) ?: fi_listen(p->pep) ?:
	       fi_getname(&p->pep->fid, &p->address, &size);
}

static int close_end(struct fi_end *end)
{
	int ret = 0;

	if (end->ep)
		ret = fi_close(&end->ep->fid);
	if (!ret && end->srx)
		ret = fi_close(&end->srx->fid);
	ret = ret ?: fi_close(&end->mr->fid);
	ret = ret ?: fi_close(&end->cq->fid);
	if (!ret && end->cntr)
		ret = fi_close(&end->cntr->fid);
	ret = ret ?: fi_close(&end->eq->fid);
	free(end->buf);
	return ret;
}

/* Everything can be closed, in whatever state it is. */
int fi_pair_close(struct fi_pair *p)
{
	int ret;

	ret = close_end(&p->a) ?: fi_close(&p->pep->fid) ?: close_end(&p->b) ?:
	      fi_close(&p->domain->fid) ?: fi_close(&p->fabric->fid);
	fi_freeinfo(p->info);
	fi_freeinfo(p->hints);
	return ret;
}

/* The next event, with private data in @data; its bytes, or an error. */
ssize_t next_event(struct fid_eq *eq, uint32_t *type, struct fi_eq_cm_entry *entry, void *data,
		   size_t size)
{
	unsigned char buf[sizeof(*entry) + 256];
	ssize_t ret = fi_eq_sread(eq, type, buf, sizeof(buf), FI_TIMEOUT_MS, 0);

	if (ret < (ssize_t)sizeof(*entry))
		return ret < 0 ? ret : -FI_EOTHER;
	memcpy(entry, buf, sizeof(*entry));
	ret -= sizeof(*entry);
	if (data)
		memcpy(data, buf + sizeof(*entry), (size_t)ret < size ? (size_t)ret : size);
	return ret;
}

int expect_event(struct fid_eq *eq, uint32_t want, fid_t fid)
{
	struct fi_eq_cm_entry entry;
	uint32_t type;
	ssize_t ret = next_event(eq, &type, &entry, NULL, 0);

	if (ret < 0)
		return (int)ret;
	return type == want && entry.fid == fid ? 0 : -FI_EOTHER;
}

/* libfabric's provider for verbs goes on with a connection only while its queue is read. */
static void await_request(struct fi_pair *p)
{
	unsigned char buf[sizeof(struct fi_eq_cm_entry) + 256];
	uint32_t type;
	int tries;

	for (tries = 0; tries < FI_TIMEOUT_MS / 100; tries++) {
		fi_eq_read(p->a.eq, &type, buf, sizeof(buf), FI_PEEK);
		if (fi_eq_sread(p->b.eq, &type, buf, sizeof(buf), 100, FI_PEEK) != -FI_EAGAIN)
			return;
	}
}

/* Side a asks; side b has the request. */
int ask(struct fi_pair *p, struct fi_info **info)
{
	struct fi_eq_cm_entry entry;
	uint32_t type;
	ssize_t len;
	int ret;

	ret = fi_connect(p->a.ep, &p->address, NULL, 0);
	if (ret)
		return ret;
	await_request(p);
	len = next_event(p->b.eq, &type, &entry, NULL, 0);
	if (len || type != FI_CONNREQ || entry.fid != &p->pep->fid)
		return len < 0 ? (int)len : -FI_EOTHER;
	*info = entry.info;
	return 0;
}

int fi_pair_connect(struct fi_pair *p)
{
	struct fi_info *info;
	int ret = ask(p, &info);

	if (ret)
		return ret;
	ret = open_ep(p, &p->b, info);
	fi_freeinfo(info);
	ret = ret ?: fi_accept(p->b.ep, NULL, 0);
	ret = ret ?: expect_event(p->a.eq, FI_CONNECTED, &p->a.ep->fid);
	return ret ?: expect_event(p->b.eq, FI_CONNECTED, &p->b.ep->fid);
}

int completion(struct fi_end *end, struct fi_cq_data_entry *entry)
{
	ssize_t ret = fi_cq_sread(end->cq, entry, 1, NULL, FI_TIMEOUT_MS);

	return ret == 1 ? 0 : ret < 0 ? (int)ret : -FI_EOTHER;
}

/* The error of the next completion, which must be one. */
int failure(struct fi_end *end)
{
	struct fi_cq_err_entry entry = { .err_data_size = 0 };
	struct fi_cq_data_entry good;
	int ret = completion(end, &good);

	if (ret != -FI_EAVAIL)
		return ret ?: -FI_EOTHER;
	return fi_cq_readerr(end->cq, &entry, 0) == 1 ? entry.err : -FI_EOTHER;
}

ssize_t recv_to(struct fi_end *end, size_t at, size_t len, uintptr_t context)
{
	return fi_recv(end->ep, end->buf + at, len, fi_mr_desc(end->mr), FI_ADDR_UNSPEC,
		       (void *)context);
}

ssize_t send_from(struct fi_end *end, size_t at, size_t len, uintptr_t context)
{
	return fi_send(end->ep, end->buf + at, len, fi_mr_desc(end->mr), FI_ADDR_UNSPEC,
		       (void *)context);
}

