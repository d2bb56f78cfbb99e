// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * text.c - datfuzz: sequences as text, one step on each line
 *
 * The first line is "start NAME" and, for an ordinary user, " user". A step is the name of
 * the operation with fields as NAME=VALUE, and before it thread=N, file=N and fail=N if
 * they are not 0. A field that is missing has its default. Values:
 *
 *	123 0x7b	a number; of a port below 8: one of the ports of the process
 *	ep:0 ep:-1	handle of the first and of the newest EP
 *	ep:0+0x100	the same, forged
 *	dead.ep:0	handle of an EP that has been freed
 *	mem:0x1000	address in the arena
 *	lmr:0+0x10	address in the first LMR, if the field is an address
 *	local:0		lmr_context of an LMR
 *	remote:0	rmr_context of an LMR
 *	window:0	rmr_context of an RMR
 *	qual.psp:0	connection qualifier of a PSP, RSP or CSP
 *	auto		the default
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

/* Between words */
#define BLANKS	"\n "

static bool is_address(const struct field *f)
{
	return f->kind == F_ADDR || f->kind == F_LMR_ADDR || f->kind == F_LIST;
}

static int find_type(const char *name, size_t len)
{
	int i;

	for (i = 1; i < NUM_TYPES; i++)
		if (strlen(type_names[i]) == len && !strncmp(type_names[i], name, len))
			return i;
	return -1;
}

/* INDEX, or INDEX+NUMBER */
static bool parse_index(const char *text, struct val *v)
{
	char *end;

	v->index = strtol(text, &end, 10);
	if (*end == '+')
		v->num = strtoull(end + 1, &end, 0);
	return !*end;
}

static bool parse_val(const char *text, const struct field *f, struct val *v)
{
	static const struct {
		const char *prefix;
		enum how how;
	} prefixes[] = {
		{ "local:", V_LMR_CONTEXT }, { "remote:", V_RMR_CONTEXT }, { "window:", V_WINDOW },
		{ "dead.", V_DEAD }, { "qual.", V_QUAL },
	};
	const char *colon = strchr(text, ':');
	unsigned int i;
	char *end;
	int type;

	if (!colon) {
		v->how = V_NUM;
		v->num = strtoull(text, &end, 0);
		return *text && !*end;
	}
	if (!strncmp(text, "mem:", 4)) {
		v->how = V_MEM;
		v->num = strtoull(text + 4, &end, 0);
		return !*end;
	}
	if (is_address(f) && !strncmp(text, "lmr:", 4)) {
		v->how = V_LMR;
		return parse_index(colon + 1, v);
	}
	v->how = V_HANDLE;
	for (i = 0; i < ARRAY_LEN(prefixes); i++) {
		size_t len = strlen(prefixes[i].prefix);

		if (strncmp(text, prefixes[i].prefix, len))
			continue;
		v->how = prefixes[i].how;
		text += len;
		if (text == colon + 1)
			return parse_index(text, v);
	}
	type = find_type(text, colon - text);
	v->type = type;
	return type > 0 && parse_index(colon + 1, v);
}

static bool parse_number(const char *word, const char *name, uint8_t *number)
{
	size_t len = strlen(name);

	if (strncmp(word, name, len) || word[len] != '=')
		return false;
	*number = atoi(word + len + 1);
	return true;
}

static bool parse_word(char *word, struct step *step)
{
	char *value = strchr(word, '=');
	int field;

	if (!value || step->num_vals == MAX_VALS)
		return false;
	*value++ = '\0';
	field = find_field(&api->ops[step->op], word);
	if (field < 0)
		return false;
	step->vals[step->num_vals].field = field;
	return parse_val(value, &api->ops[step->op].fields[field], &step->vals[step->num_vals++]);
}

/**
 * parse_step - parse a step
 * @line: the text
 * @step: out
 *
 * Return: false if the text has an error.
 */
bool parse_step(const char *line, struct step *step)
{
	char copy[1024], *rest = copy, *word;
	bool has_op = false;
	int op;

	if (strlen(line) >= sizeof(copy))
		return false;
	memcpy(copy, line, strlen(line) + 1);
	memset(step, 0, sizeof(*step));
	while ((word = strsep(&rest, BLANKS)) != NULL) {
		if (!*word)
			continue;
		if (has_op) {
			if (!parse_word(word, step))
				return false;
			continue;
		}
		if (parse_number(word, "thread", &step->thread) ||
		    parse_number(word, "file", &step->file) ||
		    parse_number(word, "fail", &step->fail))
			continue;
		op = find_op(word);
		if (op < 0)
			return false;
		step->op = op;
		has_op = true;
	}
	return has_op && step->thread < MAX_THREADS;
}

static bool parse_start(char *line, struct seq *seq)
{
	char *word = strtok(line, BLANKS), *name = strtok(NULL, BLANKS);
	char *user = strtok(NULL, BLANKS);
	unsigned int i;

	if (!word || strcmp(word, "start") || !name)
		return false;
	seq->user = user && !strcmp(user, "user");
	for (i = 0; i < api->num_starts; i++) {
		if (strcmp(name, api->starts[i].name))
			continue;
		seq->start = i;
		return true;
	}
	return false;
}

/**
 * load_seq - read a sequence from a file
 * @path: the file
 * @seq: out
 *
 * Return: false, with a message, if that fails.
 */
bool load_seq(const char *path, struct seq *seq)
{
	char *line = NULL;
	size_t size = 0;
	bool ok = false;
	FILE *f = fopen(path, "r");

	memset(seq, 0, sizeof(*seq));
	if (!f) {
		fprintf(stderr, "datfuzz: %s: %s\n", path, strerror(errno));
		return false;
	}
	if (getline(&line, &size, f) > 0)
		ok = parse_start(line, seq);
	while (ok && getline(&line, &size, f) > 0)
		if (*line != '#' && *line != '\n')
			ok = seq->num < MAX_STEPS &&
			     parse_step(line, &seq->steps[seq->num++]);
	if (!ok)
		fprintf(stderr, "datfuzz: %s: cannot parse: %s\n", path, line ?: "empty");
	free(line);
	fclose(f);
	return ok;
}

static void print_number(FILE *f, uint64_t num)
{
	fprintf(f, num < 10 ? "%" PRIu64 : "%#" PRIx64, num);
}

static void print_offset(FILE *f, uint64_t num)
{
	if (num)
		fprintf(f, "+%#" PRIx64, num);
}

static void print_val(FILE *f, const struct val *v)
{
	switch (v->how) {
	case V_NUM:
		print_number(f, v->num);
		break;
	case V_MEM:
		fprintf(f, "mem:%#" PRIx64, v->num);
		break;
	case V_HANDLE:
		fprintf(f, "%s:%d", type_names[v->type], v->index);
		print_offset(f, v->num);
		break;
	case V_DEAD:
		fprintf(f, "dead.%s:%d", type_names[v->type], v->index);
		print_offset(f, v->num);
		break;
	case V_LMR:
		fprintf(f, "lmr:%d", v->index);
		print_offset(f, v->num);
		break;
	case V_LMR_CONTEXT:
		fprintf(f, "local:%d", v->index);
		print_offset(f, v->num);
		break;
	case V_RMR_CONTEXT:
		fprintf(f, "remote:%d", v->index);
		print_offset(f, v->num);
		break;
	case V_WINDOW:
		fprintf(f, "window:%d", v->index);
		print_offset(f, v->num);
		break;
	case V_QUAL:
		fprintf(f, "qual.%s:%d", type_names[v->type], v->index);
		print_offset(f, v->num);
		break;
	default:
		break;
	}
}

static void print_default(FILE *f, const struct field *field)
{
	switch (field->kind) {
	case F_HANDLE:
		fprintf(f, " %s=%s:%" PRIu64, field->name,
			type_names[field->arg == T_ANY ? T_EP : field->arg], field->def);
		break;
	case F_FLAGS:
	case F_ENUM:
	case F_COUNT:
	case F_TIME:
	case F_LEN:
	case F_ANY:
		fprintf(f, " %s=", field->name);
		print_number(f, field->def);
		break;
	case F_ADDR:
		fprintf(f, " %s=mem:0", field->name);
		break;
	case F_LMR_ADDR:
		fprintf(f, " %s=lmr:0", field->name);
		break;
	case F_LMR_CONTEXT:
		fprintf(f, " %s=local:0", field->name);
		break;
	case F_RMR_CONTEXT:
		fprintf(f, " %s=remote:0", field->name);
		break;
	default:
		break;
	}
}

/**
 * print_step - write a step
 * @f: the stream
 * @step: the step
 * @with_defaults: also write fields that have their default
 */
void print_step(FILE *f, const struct step *step, bool with_defaults)
{
	const struct op *op = &api->ops[step->op];
	unsigned int i, field;

	if (step->thread)
		fprintf(f, "thread=%u ", step->thread);
	if (step->file)
		fprintf(f, "file=%u ", step->file);
	if (step->fail)
		fprintf(f, "fail=%u ", step->fail);
	fprintf(f, "%s", op->name);
	for (field = 0; field < op->num_fields; field++) {
		const struct val *v = NULL;

		for (i = 0; i < step->num_vals; i++)
			if (step->vals[i].field == field)
				v = &step->vals[i];
		if (v) {
			fprintf(f, " %s=", op->fields[field].name);
			print_val(f, v);
		} else if (with_defaults) {
			print_default(f, &op->fields[field]);
		}
	}
	fprintf(f, "\n");
}

/**
 * print_seq - write a sequence in the format of the corpus
 * @f: the stream
 * @seq: the sequence
 */
void print_seq(FILE *f, const struct seq *seq)
{
	unsigned int i;

	fprintf(f, "start %s%s\n", api->starts[seq->start].name, seq->user ? " user" : "");
	for (i = 0; i < seq->num; i++)
		print_step(f, &seq->steps[i], false);
}

/**
 * explain_seq - write all steps of a sequence with all fields
 * @f: the stream
 * @seq: the sequence
 */
void explain_seq(FILE *f, const struct seq *seq)
{
	const struct seq *start = start_steps(seq->start);
	unsigned int i;

	fprintf(f, "# start %s%s: the main thread\n", api->starts[seq->start].name,
		seq->user ? ", user nobody, RLIMIT_MEMLOCK 256 KiB" : "");
	for (i = 0; i < start->num; i++)
		print_step(f, &start->steps[i], true);
	fprintf(f, "# then, each thread its steps\n");
	for (i = 0; i < seq->num; i++)
		print_step(f, &seq->steps[i], true);
}

/**
 * hash_seq - a number for the name of a sequence's file
 * @seq: the sequence
 */
uint32_t hash_seq(const struct seq *seq)
{
	char *text = NULL;
	size_t size = 0, i;
	uint32_t hash = 2166136261U;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return 0;
	print_seq(f, seq);
	fclose(f);
	for (i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619U;
	free(text);
	return hash;
}
