// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * churn.c - a scenario: objects of every type, created, queried and freed without a connection
 */
#include <stdio.h>

#include "pair.h"
#include "process.h"
#include "soak.h"

#define SETS	4

struct set {
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE dto_evd, connect_evd, cr_evd;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep, srq_ep;
	DAT_PSP_HANDLE psp;
	DAT_RMR_HANDLE rmr;
};

static bool create_set(struct worker *w, struct set *s)
{
	DAT_SRQ_ATTR srq_attr = { 8, 1, DAT_SRQ_LW_DEFAULT };
	DAT_EP_ATTR attr = {
		.max_recv_dtos = 8,
		.max_request_dtos = 8,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	DAT_CONN_QUAL qual;

	TRY(w, dat_pz_create(w->ia, &s->pz));
	TRY(w, dat_evd_create(w->ia, 64, DAT_HANDLE_NULL,
			      DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &s->dto_evd));
	TRY(w, dat_evd_create(w->ia, 8, w->cno, DAT_EVD_CONNECTION_FLAG, &s->connect_evd));
	TRY(w, dat_evd_create(w->ia, 8, w->cno, DAT_EVD_CR_FLAG, &s->cr_evd));
	TRY(w, dat_srq_create(w->ia, s->pz, &srq_attr, &s->srq));
	TRY(w, dat_ep_create_with_srq(w->ia, s->pz, s->dto_evd, s->dto_evd, s->connect_evd,
				      s->srq, &attr, &s->srq_ep));
	TRY(w, dat_ep_create(w->ia, s->pz, s->dto_evd, s->dto_evd, s->connect_evd, &attr,
			     &s->ep));
	TRY(w, dat_psp_create_any(w->ia, &qual, s->cr_evd, DAT_PSP_CONSUMER_FLAG, &s->psp));
	TRY(w, dat_rmr_create(s->pz, &s->rmr));
	return true;
}

static bool query_set(struct worker *w, struct set *s)
{
	DAT_SRQ_PARAM srq;
	DAT_PSP_PARAM psp;
	DAT_RMR_PARAM rmr;
	DAT_EP_PARAM ep;
	DAT_PZ_PARAM pz;

	TRY(w, dat_ep_query(s->ep, DAT_EP_FIELD_ALL, &ep));
	if (ep.pz_handle != s->pz || ep.request_evd_handle != s->dto_evd)
		complain(w, "dat_ep_query returns other handles");
	TRY(w, dat_srq_query(s->srq, DAT_SRQ_FIELD_ALL, &srq));
	if (srq.pz_handle != s->pz)
		complain(w, "dat_srq_query returns another PZ");
	TRY(w, dat_psp_query(s->psp, DAT_PSP_FIELD_ALL, &psp));
	TRY(w, dat_rmr_query(s->rmr, DAT_RMR_FIELD_ALL, &rmr));
	TRY(w, dat_pz_query(s->pz, DAT_PZ_FIELD_ALL, &pz));
	return true;
}

static bool free_set(struct worker *w, struct set *s)
{
	TRY(w, dat_rmr_free(s->rmr));
	TRY(w, dat_psp_free(s->psp));
	TRY(w, dat_ep_free(s->ep));
	TRY(w, dat_ep_free(s->srq_ep));
	TRY(w, dat_srq_free(s->srq));
	TRY(w, dat_evd_free(s->cr_evd));
	TRY(w, dat_evd_free(s->connect_evd));
	TRY(w, dat_evd_free(s->dto_evd));
	TRY(w, dat_pz_free(s->pz));
	return true;
}

/**
 * churn_run - create and free objects
 * @w: the child
 */
bool churn_run(struct worker *w)
{
	unsigned int num = 1 + random_below(SETS), first = random_below(num), i;
	struct set sets[SETS];

	for (i = 0; i < num; i++)
		if (!create_set(w, &sets[i]) || !query_set(w, &sets[i]))
			return false;
	/* Or leave them to the close of the IA */
	if (!random_below(4)) {
		TRY(w, dat_ia_close(w->ia, DAT_CLOSE_ABRUPT_FLAG));
		w->ia = DAT_HANDLE_NULL;
		w->cno = DAT_HANDLE_NULL;
		return true;
	}
	for (i = 0; i < num; i++)
		if (!free_set(w, &sets[(first + i) % num]))
			return false;
	return true;
}
