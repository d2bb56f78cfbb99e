// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * many.c - a process with many EPs, half of them connected to the other half
 *
 * The programs of tools/vm/scale.sh call it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "many.h"
#include "pair.h"

/* Connections that are set up at a time */
#define WINDOW		16
#define LIMIT		(300 * 1000 * 1000)

void many_must(DAT_RETURN ret, const char *call)
{
	if (ret == DAT_SUCCESS)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, call, dat_str(ret));
	exit(1);
}

double many_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

/* Creates everything but the EPs. */
void many_open(struct many *m, unsigned int num, unsigned int dtos)
{
	*m = (struct many){ .num = num, .dtos = dtos };
	m->eps = calloc(num, sizeof(*m->eps));
	if (!m->eps)
		many_must(DAT_INSUFFICIENT_RESOURCES, "calloc");
	m->async_evd = DAT_HANDLE_NULL;
	many_must(dat_ia_open((char *)ia_name(), 8, &m->async_evd, &m->ia), "dat_ia_open");
	many_must(ia_address(m->ia, &m->address), "dat_ia_query");
	many_must(dat_pz_create(m->ia, &m->pz), "dat_pz_create");
	many_must(dat_evd_create(m->ia, WINDOW, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &m->cr_evd),
		  "dat_evd_create");
	many_must(dat_evd_create(m->ia, 2 * num, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
				 &m->conn_evd), "dat_evd_create");
	many_must(dat_evd_create(m->ia, num < dtos ? dtos : num, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				 &m->dto_evd), "dat_evd_create");
	many_must(dat_psp_create_any(m->ia, &m->qual, m->cr_evd, DAT_PSP_CONSUMER_FLAG, &m->psp),
		  "dat_psp_create_any");
}

void many_create(struct many *m)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = m->dtos,
		.max_request_dtos = m->dtos,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	unsigned int i;

	for (i = 0; i < m->num; i++)
		many_must(dat_ep_create(m->ia, m->pz, m->dto_evd, m->dto_evd, m->conn_evd, &attr,
					&m->eps[i]), "dat_ep_create");
}

/* Waits for an event, which must be of a certain kind. */
static void take(DAT_EVD_HANDLE evd, DAT_EVENT *event, DAT_EVENT_NUMBER number)
{
	DAT_COUNT nmore;

	many_must(dat_evd_wait(evd, LIMIT, 1, event, &nmore), "dat_evd_wait");
	if (event->event_number == number)
		return;
	fprintf(stderr, "%s: event %#x instead of %#x\n", program_invocation_short_name,
		event->event_number, number);
	exit(1);
}

/* The first half connects to the second half, some at a time. */
void many_connect(struct many *m)
{
	unsigned int asked = 0, accepted = 0, events = 0, half = m->num / 2;
	unsigned int tenth = (m->num + 9) / 10;
	double start = many_now(), before_last = start;
	DAT_EVENT event;

	while (events < m->num) {
		for (; asked < half && asked - events / 2 < WINDOW; asked++)
			many_must(dat_ep_connect(m->eps[asked], m->address, m->qual, LIMIT, 0, NULL,
						 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
				  "dat_ep_connect");
		for (; accepted < asked; accepted++) {
			take(m->cr_evd, &event, DAT_CONNECTION_REQUEST_EVENT);
			many_must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
						m->eps[half + accepted], 0, NULL), "dat_cr_accept");
		}
		take(m->conn_evd, &event, DAT_CONNECTION_EVENT_ESTABLISHED);
		events++;
		if (events == tenth)
			m->first_tenth = many_now() - start;
		if (events == m->num - tenth)
			before_last = many_now();
	}
	m->last_tenth = many_now() - before_last;
}

void many_disconnect(struct many *m)
{
	DAT_EVENT event;
	unsigned int i;

	for (i = 0; i < m->num / 2; i++)
		many_must(dat_ep_disconnect(m->eps[i], DAT_CLOSE_ABRUPT_FLAG),
			  "dat_ep_disconnect");
	for (i = 0; i < m->num; i++)
		take(m->conn_evd, &event, DAT_CONNECTION_EVENT_DISCONNECTED);
}

void many_free(struct many *m)
{
	unsigned int i;

	for (i = 0; i < m->num; i++)
		many_must(dat_ep_free(m->eps[i]), "dat_ep_free");
}

/* Closes the IA, with all that is left. */
void many_close(struct many *m)
{
	many_must(dat_ia_close(m->ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	free(m->eps);
}
