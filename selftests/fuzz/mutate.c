// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mutate.c - datfuzz: changes to a sequence of the corpus
 */
#include <string.h>

#include "fuzz.h"

static void change_threads(struct seq *seq)
{
	unsigned int i, threads = 1 + rnd(one_in(3) ? MAX_THREADS : 3);

	for (i = 0; i < seq->num; i++) {
		/* A step that collects an item belongs to the thread of the next ioctl. */
		bool goes_on = i && !strcmp(api->ops[seq->steps[i - 1].op].name, "segment");

		goes_on |= i && !strcmp(api->ops[seq->steps[i - 1].op].name, "dto");
		seq->steps[i].thread = goes_on ? seq->steps[i - 1].thread : rnd(threads);
	}
}

static void splice(struct seq *seq, const struct seq *other)
{
	unsigned int at = rnd(seq->num + 1), from, i;

	if (!other->num)
		return;
	from = rnd(other->num);
	for (i = from; i < other->num && at + i - from < MAX_STEPS; i++)
		*insert_step(seq, at + i - from) = other->steps[i];
}

static void repeat(struct seq *seq)
{
	unsigned int from = rnd(seq->num), num = 1 + rnd(seq->num - from), i;
	struct seq copy = *seq;

	for (i = 0; i < num && from + num + i < MAX_STEPS; i++)
		*insert_step(seq, from + num + i) = copy.steps[from + i];
}

static void swap_steps(struct seq *seq)
{
	unsigned int a = rnd(seq->num), b = rnd(seq->num);
	struct step step = seq->steps[a];

	seq->steps[a] = seq->steps[b];
	seq->steps[b] = step;
}

static void mutate_once(struct seq *seq, const struct seq *other)
{
	unsigned int at = rnd(seq->num), thread = seq->steps[at].thread;
	struct step *step = &seq->steps[at];

	switch (rnd(16)) {
	case 0:
	case 1:
	case 2:
	case 3:
		renew_val(step, rnd(api->ops[step->op].num_fields));
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		generate_steps(seq, rnd(seq->num + 1), thread);
		break;
	case 8:
		remove_steps(seq, at, 1);
		break;
	case 9:
		step->fail = api->ops[step->op].cmd ? 1 + rnd(one_in(3) ? 60 : 12) : 0;
		break;
	case 10:
		change_threads(seq);
		break;
	case 11:
	case 12:
		splice(seq, other);
		break;
	case 13:
		swap_steps(seq);
		break;
	case 14:
		repeat(seq);
		break;
	default:
		if (step->num_vals)
			step->num_vals--;
		else
			step->file ^= 1;
	}
}

/**
 * mutate_seq - change a sequence at random
 * @seq: the sequence
 * @other: another, from which steps may come
 */
void mutate_seq(struct seq *seq, const struct seq *other)
{
	unsigned int i, num = 1 + rnd(one_in(2) ? 4 : 16);

	if (one_in(20))
		seq->start = rnd(api->num_starts);
	if (api->has_users && one_in(20))
		seq->user ^= 1;
	for (i = 0; i < num; i++) {
		if (!seq->num)
			generate_steps(seq, 0, 0);
		mutate_once(seq, other);
	}
}
