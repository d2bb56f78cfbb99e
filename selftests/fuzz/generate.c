// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * generate.c - datfuzz: new values, steps and sequences
 *
 * Most values are meaningful, so that steps reach the code behind the checks. A few are
 * wrong in a way that suits the meaning of the field.
 */
#include <string.h>

#include "exec.h"
#include "kapi/kapi.h"

static uint64_t odd_number(void)
{
	uint64_t power = 1ULL << rnd(64);

	switch (rnd(6)) {
	case 0:
		return rnd(16);
	case 1:
		return power - 1;
	case 2:
		return power + 1;
	case 3:
		return -(uint64_t)rnd(16) - 1;
	case 4:
		return rnd64();
	default:
		return power;
	}
}

static uint64_t count(uint64_t usual)
{
	switch (rnd(8)) {
	case 0:
		return odd_number();
	case 1:
		return 0;
	case 2:
		return usual * 2;
	case 3:
		return rnd(300);
	case 4:
		return 1;
	default:
		return rnd(usual + 1);
	}
}

static uint64_t length(void)
{
	static const unsigned int usual[] = {
		1, 8, 64, 64, 100, 1000, 4095, 4096, 4097, 8192, 65536,
	};

	if (one_in(8))
		return odd_number();
	return one_in(20) ? 0 : usual[rnd(ARRAY_LEN(usual))];
}

static int index_of_obj(void)
{
	return one_in(3) ? -1 - (int)rnd(2) : (int)rnd(one_in(4) ? 6 : 2);
}

static void handle_val(struct val *v, enum type type)
{
	if (type == T_ANY || one_in(25))
		type = 1 + rnd(NUM_TYPES - 1);
	v->how = one_in(15) ? V_DEAD : V_HANDLE;
	v->type = type;
	v->index = index_of_obj();
	/* A forged handle, or one that is almost right */
	if (one_in(30)) {
		v->how = V_NUM;
		v->num = odd_number();
	} else if (one_in(60)) {
		v->num = 1ULL << rnd(64);
	}
}

static void address_val(struct val *v)
{
	v->how = V_MEM;
	v->num = rnd(ARENA_PAGES) * 4096UL;
	if (one_in(2))
		v->num = rnd(16) * 4096UL;
	if (one_in(3))
		v->num += rnd(4096);
	if (one_in(30)) {
		v->how = V_NUM;
		v->num = odd_number();
	}
}

static void lmr_address_val(struct val *v)
{
	v->how = V_LMR;
	v->index = one_in(4) ? index_of_obj() : 0;
	v->num = one_in(12) ? odd_number() : one_in(3) ? rnd(8192) : rnd(16) * 64;
}

static void context_val(struct val *v, enum how usual)
{
	static const enum how others[] = { V_LMR_CONTEXT, V_RMR_CONTEXT, V_WINDOW };

	v->how = one_in(8) ? others[rnd(ARRAY_LEN(others))] : usual;
	v->index = one_in(4) ? index_of_obj() : 0;
	v->num = one_in(20) ? rnd(4) : 0;
}

static void qual_val(struct val *v)
{
	static const enum type types[] = { T_PSP, T_RSP, T_CSP };

	v->how = one_in(3) ? V_NUM : V_QUAL;
	v->type = types[rnd(ARRAY_LEN(types))];
	v->index = index_of_obj();
	v->num = v->how == V_NUM ? one_in(6) ? odd_number() : rnd(8) : 0;
}

static uint64_t where(bool softirq)
{
	uint64_t upcall = KAPI_WHERE_UPCALL + rnd(KAPI_SLOTS);

	if (one_in(4))
		upcall |= KAPI_WHERE_ASYNC;
	return softirq && one_in(2) ? KAPI_WHERE_BH + rnd(2) : upcall;
}

static uint64_t flags(const struct field *f)
{
	return one_in(10) ? 1ULL << rnd(32) : one_in(2) ? f->def ^ (1ULL << rnd(11)) :
	       rnd64() & f->arg;
}

/* A new value for a field; false if the field keeps its default. */
static bool make_val(const struct field *f, struct val *v)
{
	v->how = V_NUM;
	switch (f->kind) {
	case F_OPT:
		if (f->arg)
			handle_val(v, f->arg);
		else
			v->num = odd_number();
		break;
	case F_SIZE:
	case F_ITEM_SIZE:
		v->num = one_in(2) ? rnd(600) : odd_number();
		return one_in(8);
	case F_NAME:
		v->num = 1;
		return one_in(8);
	case F_LIST:
	case F_NUM:
		if (f->kind == F_LIST)
			address_val(v);
		else
			v->num = count(2);
		return one_in(8);
	case F_HANDLE:
		handle_val(v, f->arg);
		break;
	case F_FLAGS:
		v->num = flags(f);
		break;
	case F_ENUM:
		v->num = one_in(20) ? odd_number() : rnd(f->arg + 1);
		break;
	case F_COUNT:
	case F_IOV:
		v->num = count(f->arg);
		break;
	case F_TIME:
		v->num = one_in(4) ? ~0U : rnd(3) * 1000;
		break;
	case F_ADDR:
		address_val(v);
		break;
	case F_LEN:
		v->num = length();
		break;
	case F_LMR_ADDR:
		lmr_address_val(v);
		break;
	case F_LMR_CONTEXT:
		context_val(v, V_LMR_CONTEXT);
		break;
	case F_RMR_CONTEXT:
		context_val(v, one_in(3) ? V_WINDOW : V_RMR_CONTEXT);
		break;
	case F_QUAL:
	case F_IA_ADDR:
		qual_val(v);
		break;
	case F_ANY:
		v->num = odd_number();
		break;
	case F_WHERE:
		v->num = where(f->arg);
		return one_in(2);
	}
	return true;
}

static void set_val(struct step *step, const struct val *v)
{
	unsigned int i;

	for (i = 0; i < step->num_vals; i++)
		if (step->vals[i].field == v->field)
			break;
	if (i == MAX_VALS)
		return;
	if (i == step->num_vals)
		step->num_vals++;
	step->vals[i] = *v;
}

/**
 * set_num - let a field of a step have a number
 * @step: the step
 * @field: name of the field
 * @num: the number
 */
void set_num(struct step *step, const char *field, uint64_t num)
{
	struct val v = { .how = V_NUM, .num = num };

	v.field = find_field(&api->ops[step->op], field);
	set_val(step, &v);
}

/**
 * set_obj - let a field of a step have a value of an object
 * @step: the step
 * @field: name of the field
 * @how: which value
 * @type: type of the object
 * @index: which object
 * @num: offset
 */
void set_obj(struct step *step, const char *field, enum how how, enum type type, int index,
	     uint64_t num)
{
	struct val v = { .how = how, .type = type, .index = index, .num = num };

	v.field = find_field(&api->ops[step->op], field);
	set_val(step, &v);
}

/**
 * renew_val - give a field of a step a new value
 * @step: the step
 * @field: index of the field
 */
void renew_val(struct step *step, unsigned int field)
{
	struct val v = { .field = field };

	if (make_val(&api->ops[step->op].fields[field], &v))
		set_val(step, &v);
}

/**
 * insert_step - insert an empty step
 * @seq: the sequence
 * @at: its index
 *
 * Return: the step. A full sequence loses its last step.
 */
struct step *insert_step(struct seq *seq, unsigned int at)
{
	if (at >= MAX_STEPS)
		at = MAX_STEPS - 1;
	if (seq->num < MAX_STEPS)
		seq->num++;
	memmove(&seq->steps[at + 1], &seq->steps[at],
		(seq->num - at - 1) * sizeof(seq->steps[0]));
	memset(&seq->steps[at], 0, sizeof(seq->steps[0]));
	return &seq->steps[at];
}

/**
 * remove_steps - remove steps from a sequence
 * @seq: the sequence
 * @at: index of the first
 * @num: their number
 */
void remove_steps(struct seq *seq, unsigned int at, unsigned int num)
{
	memmove(&seq->steps[at], &seq->steps[at + num],
		(seq->num - at - num) * sizeof(seq->steps[0]));
	seq->num -= num;
}

/**
 * insert_op - insert a step of an operation
 * @seq: the sequence
 * @at: where; then the place behind it
 * @name: name of the operation
 * @thread: the thread
 *
 * Return: the step, without values.
 */
struct step *insert_op(struct seq *seq, unsigned int *at, const char *name,
		       unsigned int thread)
{
	struct step *step = insert_step(seq, (*at)++);

	step->op = find_op(name);
	step->thread = thread;
	return step;
}

static unsigned int random_op(void)
{
	unsigned int total = 0, i;

	for (i = 0; i < api->num_ops; i++)
		total += api->ops[i].weight;
	total = rnd(total);
	for (i = 0; total >= api->ops[i].weight; i++)
		total -= api->ops[i].weight;
	return i;
}

static void generate_op(struct seq *seq, unsigned int at, unsigned int thread)
{
	struct step *step = insert_step(seq, at);
	unsigned int i;

	step->op = random_op();
	step->thread = thread;
	step->file = one_in(20);
	step->fail = one_in(8) && api->ops[step->op].cmd ? 1 + rnd(one_in(3) ? 60 : 12) : 0;
	for (i = 0; i < api->ops[step->op].num_fields; i++)
		if (api->ops[step->op].fields[i].kind == F_OPT ? one_in(12) : one_in(3))
			renew_val(step, i);
}

static void insert_template(struct seq *seq, unsigned int at, unsigned int thread)
{
	const struct seq *t = template_steps(rnd(api->num_templates));
	struct step *step;
	unsigned int i;

	for (i = 0; i < t->num; i++) {
		step = insert_step(seq, at + i);
		*step = t->steps[i];
		step->thread = thread;
		if (one_in(8))
			renew_val(step, rnd(api->ops[step->op].num_fields));
		if (one_in(15) && api->ops[step->op].cmd)
			step->fail = 1 + rnd(30);
	}
}

/**
 * generate_steps - insert one or more new steps
 * @seq: the sequence
 * @at: where
 * @thread: the thread
 */
void generate_steps(struct seq *seq, unsigned int at, unsigned int thread)
{
	switch (rnd(8)) {
	case 0:
	case 1:
	case 2:
		api->generate_post(seq, at, thread);
		break;
	case 3:
	case 4:
		insert_template(seq, at, thread);
		break;
	default:
		generate_op(seq, at, thread);
	}
}

/**
 * generate_seq - make a new sequence
 * @seq: out
 */
void generate_seq(struct seq *seq)
{
	unsigned int threads = one_in(2) ? 1 : 2 + rnd(one_in(3) ? MAX_THREADS - 1 : 2);
	unsigned int groups = 6 + rnd(35);

	memset(seq, 0, sizeof(*seq));
	/* The first three are connected. */
	seq->start = one_in(3) ? rnd(api->num_starts) : rnd(3);
	seq->user = one_in(4) && api->has_users;
	while (groups--)
		generate_steps(seq, seq->num, rnd(threads));
}
