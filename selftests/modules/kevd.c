// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * kevd.c - EVDs and events for in-kernel tests
 */
#include <linux/delay.h>
#include <linux/export.h>

#include "kevd.h"
#include "report.h"

/**
 * kevd_make - create an EVD
 * @pair: pair whose IA to use
 * @qlen: minimum number of events
 * @func: upcall, one at a time; NULL for none
 * @flags: event streams
 * @evd: out: the handle
 */
DAT_RETURN kevd_make(struct kpair *pair, DAT_COUNT qlen, DAT_UPCALL_FUNC func,
		     DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	DAT_UPCALL_OBJECT upcall = { .upcall_func = func };

	return dat_evd_kcreate(pair->ia, qlen,
			       func ? DAT_UPCALL_SINGLE_INSTANCE :
				      DAT_UPCALL_DISABLE,
			       &upcall, flags, evd);
}
EXPORT_SYMBOL_GPL(kevd_make);

/**
 * kpost_se - post a software event
 * @evd: the EVD
 * @value: value that the event carries
 */
DAT_RETURN kpost_se(DAT_EVD_HANDLE evd, uintptr_t value)
{
	DAT_EVENT event = {
		.event_number = DAT_SOFTWARE_EVENT,
		.event_data.software_event_data.pointer = (void *)value,
	};

	return dat_evd_post_se(evd, &event);
}
EXPORT_SYMBOL_GPL(kpost_se);

/**
 * knext_se - dequeue a software event
 * @evd: the EVD
 *
 * Return: its value, or -1 if the next event is not a software event.
 */
long knext_se(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (dat_evd_dequeue(evd, &event) ||
	    event.event_number != DAT_SOFTWARE_EVENT)
		return -1;
	return (long)event.event_data.software_event_data.pointer;
}
EXPORT_SYMBOL_GPL(knext_se);

/**
 * ksilent - check that no event comes
 * @evd: the EVD
 *
 * Return: true; false, after a report, if an event comes.
 */
bool ksilent(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	msleep(50);
	CHECK_EQ(DAT_QUEUE_EMPTY, DAT_GET_TYPE(dat_evd_dequeue(evd, &event)));
	return true;
}
EXPORT_SYMBOL_GPL(ksilent);
