// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * api.c - datfuzz: look-ups in the description of the interface, and its steps as text
 *
 * A start is what a sequence begins with. A template is inserted into a sequence. The
 * format is that of text.c, with a semicolon after each step.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

/* Not more than any description has */
#define MAX_STARTS	8
#define MAX_TEMPLATES	64

const struct api *api;

/**
 * use_api - choose the interface
 * @which: the interface
 */
void use_api(struct api *which)
{
	which->num_ops = 0;
	which->num_starts = 0;
	which->num_templates = 0;
	while (which->ops[which->num_ops].name)
		which->num_ops++;
	while (which->starts[which->num_starts].name)
		which->num_starts++;
	while (which->templates[which->num_templates])
		which->num_templates++;
	api = which;
}

const char * const type_names[NUM_TYPES + 1] = {
	"none", "ia", "pz", "evd", "ep", "lmr", "rmr", "psp", "rsp", "csp", "cr", "srq", "cno",
	"fd", "any",
};

/**
 * find_op - find an operation by its name
 * @name: the name
 *
 * Return: its index, or -1.
 */
int find_op(const char *name)
{
	unsigned int i;

	for (i = 0; i < api->num_ops; i++)
		if (!strcmp(api->ops[i].name, name))
			return i;
	return -1;
}

/**
 * find_field - find a field of an operation by its name
 * @op: the operation
 * @name: the name
 *
 * Return: its index, or -1.
 */
int find_field(const struct op *op, const char *name)
{
	unsigned int i;

	for (i = 0; i < op->num_fields; i++)
		if (!strcmp(op->fields[i].name, name))
			return i;
	return -1;
}

static void parse_list(const char *text, struct seq *seq)
{
	char *copy = strdup(text), *rest = copy, *line;

	memset(seq, 0, sizeof(*seq));
	while ((line = strsep(&rest, ";")) != NULL) {
		if (!*line)
			continue;
		if (seq->num < MAX_STEPS && parse_step(line, &seq->steps[seq->num++]))
			continue;
		fprintf(stderr, "datfuzz: cannot parse '%s'\n", line);
		abort();
	}
	free(copy);
}

/**
 * start_steps - the first steps of a sequence
 * @start: index in api->starts
 */
const struct seq *start_steps(unsigned int start)
{
	static struct seq parsed[MAX_STARTS];
	static bool is_parsed[MAX_STARTS];

	if (start >= MAX_STARTS)
		abort();
	if (!is_parsed[start])
		parse_list(api->starts[start].text, &parsed[start]);
	is_parsed[start] = true;
	return &parsed[start];
}

/**
 * template_steps - steps to insert into a sequence
 * @i: less than api->num_templates
 */
const struct seq *template_steps(unsigned int i)
{
	static struct seq parsed[MAX_TEMPLATES];
	static bool is_parsed[MAX_TEMPLATES];

	if (i >= MAX_TEMPLATES)
		abort();
	if (!is_parsed[i])
		parse_list(api->templates[i], &parsed[i]);
	is_parsed[i] = true;
	return &parsed[i];
}
