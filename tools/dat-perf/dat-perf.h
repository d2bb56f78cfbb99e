/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * dat-perf.h - what the files of dat-perf share
 *
 * The program is written for DAT 1.2. With DAT_PERF_DAT2 it is built for DAT 2.0, and runs
 * over any provider of libdat2.
 */
#ifndef DAT_PERF_H
#define DAT_PERF_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef DAT_PERF_DAT2
#include <dat2/udat.h>
#define target_address	virtual_address
#else
#include <dat/udat.h>
#endif

/* Limits of what a client may ask of a server */
#define MAX_SIZE	(16U << 20)
#define MAX_DEPTH	1024U
#define MAX_ITERATIONS	100000000U

/* How long an end waits for the other, in microseconds */
#define PATIENCE	(30 * 1000 * 1000)

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

enum test { LAT, BW, RATE, NUM_TESTS };
enum op { SEND, WRITE, READ, NUM_OPS };
enum cookie { COOKIE_REQUEST, COOKIE_RECV };

/**
 * struct job - what both ends do over one connection
 * @test: what is measured
 * @op: by which operation
 * @size: bytes of a message or an RDMA operation, 1 to MAX_SIZE
 * @iterations: how many are measured, 1 to MAX_ITERATIONS
 * @depth: how many are outstanding at once, 1 to MAX_DEPTH; 1 for LAT
 */
struct job {
	enum test test;
	enum op op;
	uint32_t size;
	uint32_t iterations;
	uint32_t depth;
};

/**
 * struct end - this end of a connection, with its DAT objects
 * @ia: the IA
 * @pz: a PZ
 * @conn_evd: connection events
 * @cr_evd: connection requests; the server's
 * @psp: the server's
 * @dto_evd: completions of this connection
 * @ep: the EP of this connection
 * @lmr: all of @buf
 * @buf: memory of this connection
 * @size: bytes of @buf
 * @lmr_context: of @lmr
 * @rmr_context: of @lmr
 * @their_context: of the server's memory; the client's
 * @their_address: of the server's memory; the client's
 * @poll: poll for completions instead of sleeping
 */
struct end {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE conn_evd;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_EVD_HANDLE dto_evd;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	unsigned char *buf;
	size_t size;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_RMR_CONTEXT their_context;
	DAT_VADDR their_address;
	bool poll;
};

/**
 * struct result - what a job has measured
 * @job: the job
 * @ns: LAT: the time of each iteration, in nanoseconds, sorted
 * @seconds: BW and RATE: the time of all iterations
 */
struct result {
	struct job job;
	uint64_t *ns;
	double seconds;
};

/* dat-perf.c */
extern const char *const test_names[NUM_TESTS];
extern const char *const op_names[NUM_OPS];

/* end.c */
bool end_open(struct end *end, const char *ia_name);
bool end_listen(struct end *end, uint16_t port);
bool end_accept(struct end *end, struct job *job, struct sockaddr_storage *peer);
bool end_connect(struct end *end, const struct job *job, const struct sockaddr *server,
		 uint16_t port);
bool end_disconnect(struct end *end);
void end_drop(struct end *end);
bool post_recv(struct end *end);
DAT_LMR_TRIPLET end_buffer(const struct end *end);
bool check(DAT_RETURN ret, const char *call);
bool complain(const char *what);

/* run.c */
bool run_client(struct end *end, struct result *result);
bool run_server(struct end *end, const struct job *job);

/* report.c */
double percentile(const struct result *result, double share);
void report_begin(bool json);
void report_result(const struct result *result, bool json, bool first);
void report_end(bool json);
void report_progress(const struct job *job, uint32_t done);
double megabytes_per_second(const struct result *result);

/* plot.c */
bool plot(const char *file, const struct result *results, unsigned int num);

#endif /* DAT_PERF_H */
