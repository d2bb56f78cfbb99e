/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * soak.h - what the supervisor and its children share
 *
 * The supervisor never calls libdat. It forks children, and each child is a consumer with an
 * IA, a random seed and objects of its own. All of them map one struct board.
 */
#ifndef SELFTESTS_SOAK_H
#define SELFTESTS_SOAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <dat/udat.h>

#define MAX_SLOTS	1000
#define MAX_IAS		2
#define MAX_COMPLAINTS	16

/*
 * Seconds in which an event that must come has to come. 500 processes share two emulated
 * processors, and a transport repeats what the wire loses.
 */
#define LIMIT		300

#define ALL		DAT_MEM_PRIV_ALL_FLAG

/* The scenarios. Each must succeed at least once in a run. */
enum scenario { SERVE, VISIT, MEMORY, EVENTS, CHURN, NUM_SCENARIOS };

enum counter {
	ROUNDS,		/* scenarios that ran to their end */
	CONNECTED,	/* connections that the active side saw established */
	REJECTED,	/* requests that a peer rejected */
	UNANSWERED,	/* other requests without a connection */
	BROKEN,		/* connections that ended before the active side wanted */
	MESSAGES,	/* Sends whose data were compared */
	WRITES,		/* RDMA Writes whose data were compared */
	READS,		/* RDMA Reads whose data were compared */
	BYTES,		/* in those three */
	BINDS,		/* binds that completed */
	REGIONS,	/* LMRs that were created */
	REFUSED,	/* calls that returned DAT_INSUFFICIENT_RESOURCES */
	LOST_IAS,	/* IAs that reported the removal of their device */
	NUM_COUNTERS
};

/**
 * struct listener - a service point that others may connect to
 * @qual: its connection qualifier, or 0 if there is none
 * @ia: index of its device
 * @visitor: 1 + slot of the child that is about to connect, or 0
 * @visits: the child of this slot has a connection to another, or asks for one
 */
struct listener {
	unsigned int qual;
	unsigned int ia;
	unsigned int visitor;
	bool visits;
};

/**
 * struct board - memory that all processes share
 * @stop: children end after the current step
 * @num_slots: children that live at the same time
 * @num_ias: devices
 * @removals: of each device: odd while it is being removed or is not there
 * @counters: sums over all children
 * @succeeded: times that each scenario ran to its end
 * @listeners: one of each slot
 * @num_complaints: may exceed MAX_COMPLAINTS
 * @complaints: the first ones
 */
struct board {
	bool stop;
	unsigned int num_slots;
	unsigned int num_ias;
	unsigned int removals[MAX_IAS];
	DAT_UINT64 counters[NUM_COUNTERS];
	DAT_UINT64 succeeded[NUM_SCENARIOS];
	struct listener listeners[MAX_SLOTS];
	unsigned int num_complaints;
	char complaints[MAX_COMPLAINTS][200];
};

extern struct board *board;

/* How a child waits for events */
enum mode { WAIT, POLL, CNO, FD, NUM_MODES };

/**
 * struct worker - a child
 * @slot: its place, below board->num_slots
 * @seed: of its random numbers
 * @ia_index: its device
 * @removals: board->removals[] of the device when the IA was opened
 * @ia: the IA
 * @async_evd: its asynchronous EVD
 * @mode: how this round waits
 * @cno: the CNO of this round, if it has one
 */
struct worker {
	unsigned int slot;
	unsigned int seed;
	unsigned int ia_index;
	unsigned int removals;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd;
	enum mode mode;
	DAT_CNO_HANDLE cno;
};

/**
 * struct queue - an EVD and how to wait for its events
 * @evd: the EVD
 * @mode: how
 * @fd: its descriptor in mode FD, else -1
 */
struct queue {
	DAT_EVD_HANDLE evd;
	enum mode mode;
	int fd;
};

enum memory_type { PRIVATE, SHARED, OVER, LARGE, NUM_MEMORY_TYPES };

/**
 * struct memory - memory and its LMR
 * @type: how it is mapped and registered
 * @buf: its first byte
 * @len: its bytes
 * @map: the mapping that it lies in
 * @map_len: bytes of the mapping
 * @base: of type OVER: the LMR below
 * @lmr: the LMR
 * @lmr_context: of the LMR
 * @rmr_context: of the LMR
 */
struct memory {
	enum memory_type type;
	unsigned char *buf;
	size_t len;
	void *map;
	size_t map_len;
	DAT_LMR_HANDLE base;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

#define SEND_SLOTS	4
#define RECV_SLOTS	8
#define MESSAGE		2048

enum message_type { ASK = 0x50a0, HELLO, ECHO, ANSWER, CHECK, CHECKED, BYE };

/**
 * struct message - a message between two children
 * @type: an enum message_type
 * @seed: of the data that it carries or is about
 * @length: of @data, in bytes; of CHECK: of the range
 * @context: of HELLO: the RMR context of the range that the visitor may use
 * @address: of HELLO and CHECK: the start of the range
 * @size: of HELLO: bytes of the range
 * @data: of ECHO and ANSWER
 */
struct message {
	DAT_UINT32 type;
	DAT_UINT32 seed;
	DAT_UINT32 length;
	DAT_UINT32 context;
	DAT_UINT64 address;
	DAT_UINT64 size;
	unsigned char data[MESSAGE - 32];
};

/**
 * struct line - one end of a connection
 * @worker: the child
 * @pz: its PZ
 * @requests: completions of requests and binds
 * @receives: completions of receives
 * @connection: connection events
 * @srq: where the EP takes its receives from, or DAT_HANDLE_NULL
 * @ep: the EP
 * @messages: buffers of messages: RECV_SLOTS, then SEND_SLOTS
 * @range: memory for RDMA
 * @posted: receives that have not completed
 * @failed: the connection has ended
 */
struct line {
	struct worker *worker;
	DAT_PZ_HANDLE pz;
	struct queue requests;
	struct queue receives;
	struct queue connection;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	struct memory messages;
	struct memory range;
	unsigned int posted;
	bool failed;
};

/* worker.c */
__attribute__((noreturn)) void worker_main(unsigned int slot, unsigned int seed);
__attribute__((noreturn, format(printf, 2, 3)))
void complain(const struct worker *w, const char *fmt, ...);
bool is_lost(const struct worker *w);
bool may_fail(const struct worker *w, DAT_RETURN ret);
bool try_call(struct worker *w, DAT_RETURN ret, const char *call);
void count(enum counter counter, DAT_UINT64 number);
bool is_stopping(void);
double seconds(void);

/* Returns false from the calling function if a call fails for a reason that is not its fault. */
#define TRY(w, call)						\
	do {							\
		if (!try_call(w, call, #call))			\
			return false;				\
	} while (0)

/* events.c */
bool queue_open(struct worker *w, struct queue *q, DAT_COUNT length, DAT_EVD_FLAGS flags);
bool queue_take(struct worker *w, struct queue *q, DAT_EVENT *event, double limit);
void queue_close(struct worker *w, struct queue *q);
bool events_run(struct worker *w);

/* memory.c */
bool memory_open(struct worker *w, DAT_PZ_HANDLE pz, enum memory_type type, size_t len,
		 struct memory *m);
void memory_close(struct worker *w, struct memory *m);
void memory_unmap(struct memory *m);
void fill(unsigned char *buf, size_t len, DAT_UINT32 seed);
bool is_filled(const unsigned char *buf, size_t len, DAT_UINT32 seed);
bool memory_run(struct worker *w);

/* line.c */
bool line_open(struct worker *w, struct line *l, bool with_srq);
bool line_open_ep(struct line *l);
bool line_await(struct line *l, DAT_EVENT_NUMBER *number);
bool line_post_receives(struct line *l);
struct message *line_receive(struct line *l, double limit);
bool line_repost(struct line *l, struct message *m);
struct message *line_outgoing(struct line *l, unsigned int i);
bool line_send(struct line *l, struct message *m);
bool line_complete(struct line *l, DAT_UINT64 cookie, DAT_VLEN length);
bool line_disconnect(struct line *l);
bool line_end(struct line *l);
void line_close(struct line *l);

/* serve.c, visit.c, churn.c */
bool serve_run(struct worker *w);
bool visit_run(struct worker *w);
bool churn_run(struct worker *w);

/* device.c */
bool device_add(const char *device);
bool device_remove(unsigned int index);
bool device_return(unsigned int index);
const char *device_name(unsigned int index);
const char *device_address(unsigned int index);

/* values.c */
enum value {
	PROCESSES, SLAB, VMALLOC, PINNED, FILES, SOCKETS, MEMCG, RDMACG, CHARGED, QPS, CQS, MRS,
	PDS, SRQS, CM_IDS, REFERENCES, NUM_VALUES
};

void values_open(const char *group);
void values_sample(long long *values);
void values_print(const long long *values, double when);
const char *value_name(enum value value);
bool value_exists(const long long *values, enum value value);
long long value_tolerance(enum value value, const long long *start, const long long *peak);

/* caches.c */
void caches_shrink(void);
void caches_save(void);
unsigned int caches_compare(unsigned int tolerance);

/* crew.c */
extern unsigned int num_started, num_killed, num_unplugs, num_crashed;
void crew_open(unsigned int seed, const char *group);
unsigned int crew_alive(void);
void crew_reap(void);
void crew_fill(unsigned int most);
void crew_kill_one(void);
void crew_kill_half(void);
void crew_print_stacks(void);
void crew_unplug(void);
bool crew_is_plugged(void);
bool crew_plug_failed(void);

#endif /* SELFTESTS_SOAK_H */
