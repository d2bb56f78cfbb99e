/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * fuzz.h - datfuzz: the types that its files share
 *
 * A sequence is a list of steps. A step is an ioctl of /dev/dat, a call of the kernel API, or
 * a trick, such as an munmap() of registered memory. uapi_desc.c and kapi_desc.c describe the
 * operations with their fields. All files use one of these descriptions to generate, store
 * and execute steps.
 */
#ifndef SELFTESTS_FUZZ_H
#define SELFTESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

#define MAX_THREADS	8
#define MAX_STEPS	200
#define MAX_VALS	12
#define MAX_JOBS	8
#define MAX_DTOS	32
#define MAX_SEGMENTS	40
#define MAX_OBJECTS	48
#define NUM_FILES	2

/* Types of objects, of which a process has handles */
enum type {
	T_NONE, T_IA, T_PZ, T_EVD, T_EP, T_LMR, T_RMR, T_PSP, T_RSP, T_CSP, T_CR, T_SRQ, T_CNO,
	T_FD, T_ANY,
	NUM_TYPES = T_ANY,
};

/**
 * enum kind - what a field of a structure means
 * @F_OPT: written only if the step has a value for the field
 * @F_SIZE: size of the structure
 * @F_HANDLE: handle of an object of type field.arg
 * @F_FLAGS: bits of field.arg
 * @F_ENUM: 0 to field.arg
 * @F_COUNT: number; field.arg is a usual value
 * @F_IOV: number of segments of a request, by default the most that the device takes
 * @F_TIME: microseconds
 * @F_ADDR: address in the arena
 * @F_LEN: bytes
 * @F_LMR_ADDR: address in an LMR
 * @F_LMR_CONTEXT: lmr_context
 * @F_RMR_CONTEXT: rmr_context
 * @F_QUAL: connection qualifier
 * @F_IA_ADDR: socket address of the IA
 * @F_LIST: address of the items that the steps before have collected
 * @F_NUM: number of these items
 * @F_ITEM_SIZE: bytes of such an item
 * @F_ANY: any number
 * @F_NAME: name of the IA
 * @F_WHERE: context of a call of the kernel API; field.arg is 1 if that may be softirq
 */
enum kind {
	F_OPT, F_SIZE, F_HANDLE, F_FLAGS, F_ENUM, F_COUNT, F_IOV, F_TIME, F_ADDR, F_LEN, F_LMR_ADDR,
	F_LMR_CONTEXT, F_RMR_CONTEXT, F_QUAL, F_IA_ADDR, F_LIST, F_NUM, F_ITEM_SIZE, F_ANY, F_NAME,
	F_WHERE,
};

/**
 * struct field - a field of the structure of an operation
 * @name: name in the structure
 * @offset: offset in the structure
 * @size: bytes
 * @kind: meaning
 * @arg: see enum kind
 * @def: number that is written if the step has no value
 */
struct field {
	const char *name;
	uint16_t offset;
	uint16_t size;
	enum kind kind;
	uint64_t arg;
	uint64_t def;
};

/* Where the value of a field comes from, see text.c for their names in files */
enum how {
	V_DEFAULT, V_NUM, V_HANDLE, V_DEAD, V_MEM, V_LMR, V_LMR_CONTEXT, V_RMR_CONTEXT,
	V_WINDOW, V_QUAL,
};

/**
 * struct val - the value of a field in a step
 * @field: index of the field
 * @how: where the value comes from
 * @type: type of the object of V_HANDLE and V_DEAD
 * @index: which object; a negative number counts from the newest
 * @num: number, or offset that is added
 */
struct val {
	uint8_t field;
	uint8_t how;
	uint8_t type;
	int8_t index;
	uint64_t num;
};

/**
 * struct step - a step of a sequence
 * @op: index of the operation
 * @thread: the thread that executes the step
 * @file: which of the process's files of /dev/dat
 * @fail: the allocation or copy that fails, 0 for none
 * @num_vals: number of @vals
 * @vals: values of fields; the other fields have their default
 */
struct step {
	uint8_t op;
	uint8_t thread;
	uint8_t file;
	uint8_t fail;
	uint8_t num_vals;
	struct val vals[MAX_VALS];
};

/**
 * struct seq - a sequence
 * @start: index of the steps that come first, see api.c
 * @user: 1 if an ordinary user executes it
 * @num: number of @steps
 * @steps: the steps
 */
struct seq {
	uint8_t start;
	uint8_t user;
	uint8_t num;
	struct step steps[MAX_STEPS];
};

/**
 * struct obj - an object of the process that executes a sequence
 * @handle: handle, or descriptor of T_FD
 * @dead: has been freed
 * @address: of an LMR
 * @length: of an LMR
 * @local: lmr_context
 * @remote: rmr_context
 * @qual: connection qualifier of a service point
 * @ring: mapped ring of an EVD, or NULL
 * @entries: entries of @ring
 */
struct obj {
	uint64_t handle;
	bool dead;
	uint64_t address;
	uint64_t length;
	uint32_t local;
	uint32_t remote;
	uint64_t qual;
	void *ring;
	uint32_t entries;
};

struct worker;

/* The operation posts a request; faults in it break some drivers, see exec.c. */
enum { OP_POSTS = 1, OP_HURTS_SIW = 2, OP_HURTS_OLD_RXE = 4 };

/**
 * struct op - an operation
 * @name: name in files
 * @cmd: ioctl command; 0 for a trick
 * @number: number of a call of the kernel API
 * @flags: OP_*
 * @size: bytes of the structure
 * @weight: how often the generator takes it, 0 for never
 * @makes: type of the object that it makes
 * @made_at: offset of the new handle
 * @frees: type of the object that it frees
 * @freed_at: offset of that handle
 * @run: executes a trick
 * @fields: fields of the structure
 * @num_fields: number of @fields
 */
struct op {
	const char *name;
	unsigned long cmd;
	uint16_t number;
	uint8_t flags;
	uint16_t size;
	uint8_t weight;
	enum type makes;
	uint16_t made_at;
	enum type frees;
	uint16_t freed_at;
	void (*run)(struct worker *w, void *arg);
	const struct field *fields;
	unsigned int num_fields;
};

/**
 * struct run - what the execution of a sequence reports, in shared memory
 * @tried: DTOs of the steps that the kernel was asked to post
 * @posted: those of them that it has posted
 * @pairs: pairs of EPs that the first steps were to connect
 * @connected: those of them that are connected
 * @calls: ioctls or calls of the steps
 * @succeeded: those of them that have succeeded
 * @stalls: page faults that userfaultfd has delayed
 * @stale: a call with a freed handle has succeeded: its operation, plus 1
 * @num_results: number of @results
 * @results: operations with their outcome, hashed
 */
struct run {
	uint32_t tried;
	uint32_t posted;
	uint32_t pairs;
	uint32_t connected;
	uint32_t calls;
	uint32_t succeeded;
	uint32_t stalls;
	uint32_t stale;
	uint32_t num_results;
	uint32_t results[1024];
};

/**
 * struct start - the first steps of sequences
 * @name: name in files
 * @text: the steps, see api.c
 * @expects: the state of the first EP after them, a DAT_EP_STATE of DAT 2.0; 0 for any
 */
struct start {
	const char *name;
	const char *text;
	unsigned int expects;
};

/**
 * struct api - an interface to fuzz
 * @device: its file
 * @has_users: ordinary users can open it
 * @ops: operations
 * @starts: what sequences begin with
 * @templates: steps that are worth having together, see api.c
 * @num_ops: number of @ops, set by use_api(), as are the next two
 * @num_starts: number of @starts
 * @num_templates: number of @templates
 * @call: execute an operation; return its outcome as one number: -errno, or the DAT_RETURN
 * @after: remember what the operation has done; the caller holds proc.lock
 * @generate_post: insert a post that is likely to succeed
 * @first_state: return the state of the first EP, or -1
 */
struct api {
	const char *device;
	bool has_users;
	const struct op *ops;
	const struct start *starts;
	const char * const *templates;
	unsigned int num_ops;
	unsigned int num_starts;
	unsigned int num_templates;
	long (*call)(struct worker *w, const struct op *op, void *arg);
	void (*after)(struct worker *w, const struct op *op, long ret, void *arg);
	void (*generate_post)(struct seq *seq, unsigned int at, unsigned int thread);
	int (*first_state)(void);
};

extern struct api uapi, kapi;
/* Each ends with an entry without a name. */
extern const struct op uapi_ops[], kapi_ops[];
extern const struct start uapi_starts[], kapi_starts[];
extern const char * const uapi_templates[], * const kapi_templates[];

/* The interface that this process fuzzes */
extern const struct api *api;

/* api.c */
extern const char * const type_names[NUM_TYPES + 1];
void use_api(struct api *which);
int find_op(const char *name);
int find_field(const struct op *op, const char *name);
const struct seq *start_steps(unsigned int start);
const struct seq *template_steps(unsigned int i);

/* text.c */
bool parse_step(const char *line, struct step *step);
void print_step(FILE *f, const struct step *step, bool with_defaults);
void print_seq(FILE *f, const struct seq *seq);
void explain_seq(FILE *f, const struct seq *seq);
bool load_seq(const char *path, struct seq *seq);
uint32_t hash_seq(const struct seq *seq);

/* random.c */
void rnd_seed(uint64_t seed);
uint64_t rnd64(void);
unsigned int rnd(unsigned int limit);
bool one_in(unsigned int n);

/* generate.c, mutate.c */
struct step *insert_op(struct seq *seq, unsigned int *at, const char *name,
		       unsigned int thread);
void set_num(struct step *step, const char *field, uint64_t num);
void set_obj(struct step *step, const char *field, enum how how, enum type type, int index,
	     uint64_t num);
void generate_steps(struct seq *seq, unsigned int at, unsigned int thread);
void generate_seq(struct seq *seq);
struct step *insert_step(struct seq *seq, unsigned int at);
void remove_steps(struct seq *seq, unsigned int at, unsigned int num);
void renew_val(struct step *step, unsigned int field);
void mutate_seq(struct seq *seq, const struct seq *other);

/* cover.c */
bool cover_init(unsigned int slots);
void cover_on(unsigned int slot);
void cover_off(void);
void cover_reset(void);
unsigned int cover_collect(const struct run *run, uint32_t *fresh, unsigned int max);
bool cover_includes(const uint32_t *fresh, unsigned int num);
void cover_merge(const uint32_t *fresh, unsigned int num);
bool cover_is_block(uint32_t point);
unsigned int cover_blocks(void);
unsigned int cover_results(void);

/* exec.c, run.c */
extern bool show_outcomes;
void execute(const struct seq *seq, struct run *run);
const char *run_seq(const struct seq *seq, struct run *run);

/* minimise.c */
typedef bool run_fn(const struct seq *seq);
unsigned int minimise(struct seq *seq, run_fn *run, uint32_t *fresh, unsigned int num);

/* watch.c */
void watch_begin(void);
const char *watch_complaint(void);
const char *watch_leftovers(void);
bool faults_possible(void);

/* replay.c */
int replay(char **paths, int num, unsigned int jobs, unsigned int times);

#endif /* SELFTESTS_FUZZ_H */
