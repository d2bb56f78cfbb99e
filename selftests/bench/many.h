/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * many.h - a process with many EPs, half of them connected to the other half
 */
#ifndef SELFTESTS_MANY_H
#define SELFTESTS_MANY_H

#include <dat/udat.h>

/**
 * struct many - EPs, and the objects that they share
 * @num: EPs, an even number; EP i connects to EP i + @num / 2
 * @dtos: requests, and receives, of an EP
 * @ia: the IA
 * @async_evd: its asynchronous EVD
 * @pz: the PZ of all EPs
 * @cr_evd: connection requests
 * @conn_evd: connection events of all EPs
 * @dto_evd: completions of all EPs
 * @psp: the service point
 * @qual: its connection qualifier
 * @address: the address of the IA
 * @eps: the EPs
 * @first_tenth: microseconds that many_connect() needed for the first tenth of the EPs
 * @last_tenth: the same for the last
 */
struct many {
	unsigned int num;
	unsigned int dtos;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE cr_evd;
	DAT_EVD_HANDLE conn_evd;
	DAT_EVD_HANDLE dto_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_IA_ADDRESS_PTR address;
	DAT_EP_HANDLE *eps;
	double first_tenth;
	double last_tenth;
};

/* These print an error and end the program. */
void many_must(DAT_RETURN ret, const char *call);
void many_open(struct many *m, unsigned int num, unsigned int dtos);
void many_create(struct many *m);
void many_connect(struct many *m);
void many_disconnect(struct many *m);
void many_free(struct many *m);
void many_close(struct many *m);

/* Microseconds of a clock */
double many_now(void);

#endif /* SELFTESTS_MANY_H */
