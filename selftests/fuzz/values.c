// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * values.c - datfuzz: the objects of a process, and the numbers behind symbolic values
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <netinet/in.h>

#include "exec.h"

/* Ports from here on are not ephemeral. */
#define FIRST_PORT	10000
#define NUM_PORTS	2400

/**
 * ia_name - the IA to test: environment variable DAT_TEST_IA, or rxe0
 */
const char *ia_name(void)
{
	return getenv("DAT_TEST_IA") ?: "rxe0";
}

/**
 * own_port - the first of eight ports for service points of this process
 */
static unsigned int own_port(void)
{
	return FIRST_PORT + 8 * (getpid() % NUM_PORTS);
}

/**
 * add_obj - remember an object
 * @file: the file whose handle it has
 * @type: its type
 * @handle: its handle
 *
 * The caller holds proc.lock. Return: the object, or NULL if there are too many.
 */
struct obj *add_obj(unsigned int file, enum type type, uint64_t handle)
{
	unsigned int *num = &proc.num_objs[file][type];
	struct obj *obj;

	if (*num == MAX_OBJECTS)
		return NULL;
	obj = &proc.objs[file][type][(*num)++];
	memset(obj, 0, sizeof(*obj));
	obj->handle = handle;
	return obj;
}

static struct obj *nth_obj(unsigned int file, enum type type, int index, bool dead)
{
	struct obj *objs = proc.objs[file][type];
	unsigned int i, num = 0;

	for (i = 0; i < proc.num_objs[file][type]; i++)
		num += objs[i].dead == dead;
	if (!num)
		return NULL;
	index %= (int)num;
	if (index < 0)
		index += num;
	for (i = 0; i < proc.num_objs[file][type]; i++)
		if (objs[i].dead == dead && !index--)
			return &objs[i];
	return NULL;
}

/**
 * get_obj - find an object by its place among the objects of its type
 * @file: the file; one without objects of the type gets those of the first
 * @type: its type
 * @index: the place; a negative number counts from the newest
 * @dead: among objects that have been freed
 *
 * The caller holds proc.lock. Return: the object, or NULL if there is none.
 */
static struct obj *get_obj(unsigned int file, enum type type, int index, bool dead)
{
	return nth_obj(file, type, index, dead) ?: nth_obj(0, type, index, dead);
}

/**
 * obj_of - find an object by its handle
 * @file: the file
 * @type: its type
 * @handle: the handle
 *
 * The caller holds proc.lock. Return: the newest object with the handle, or NULL.
 */
struct obj *obj_of(unsigned int file, enum type type, uint64_t handle)
{
	unsigned int i;

	for (i = proc.num_objs[file][type]; i--; )
		if (proc.objs[file][type][i].handle == handle)
			return &proc.objs[file][type][i];
	return NULL;
}

static uint64_t handle_of(struct worker *w, enum type type, int index, bool dead)
{
	struct obj *obj = get_obj(w->file, type, index, dead);

	return obj ? obj->handle : 0;
}

static uint64_t qual_of(struct worker *w, enum type type, int index)
{
	struct obj *obj = get_obj(w->file, type, index, false);

	return obj ? obj->qual : own_port();
}

/* The value of a field for which the step has none */
static uint64_t default_of(struct worker *w, const struct op *op, const struct field *f)
{
	switch (f->kind) {
	case F_SIZE:
		return op->size;
	case F_HANDLE:
		return handle_of(w, f->arg == T_ANY ? T_EP : f->arg, f->def, false);
	case F_ADDR:
		return ARENA;
	case F_LMR_ADDR: {
		struct obj *lmr = get_obj(w->file, T_LMR, 0, false);

		return lmr ? lmr->address : ARENA;
	}
	case F_LMR_CONTEXT: {
		struct obj *lmr = get_obj(w->file, T_LMR, 0, false);

		return lmr ? lmr->local : 0;
	}
	case F_RMR_CONTEXT: {
		struct obj *lmr = get_obj(w->file, T_LMR, 0, false);

		return lmr ? lmr->remote : 0;
	}
	case F_QUAL:
		return f->arg ? qual_of(w, T_PSP, 0) : own_port();
	case F_IA_ADDR:
		return f->arg ? qual_of(w, T_CSP, 0) : 0;
	case F_LIST:
		return f->arg == LIST_DTOS ? (uintptr_t)w->dtos : (uintptr_t)w->segments;
	case F_NUM:
		return f->arg == LIST_DTOS ? w->num_dtos : w->num_segments;
	case F_IOV:
		/* kdapl offers one segment on siw, see kdapl/dev/drivers.c. */
		return strncmp(ia_name(), "siw", 3) ? f->def : 1;
	case F_ITEM_SIZE:
		return sizeof(struct dat_dev_dto);
	default:
		return f->def;
	}
}

static uint64_t number_of(struct worker *w, const struct op *op, const struct field *f,
			  const struct val *v)
{
	struct obj *obj;

	switch (v->how) {
	case V_NUM:
		if ((f->kind == F_QUAL || f->kind == F_IA_ADDR) && v->num < 8)
			return own_port() + v->num;
		return v->num;
	case V_HANDLE:
	case V_DEAD:
		return handle_of(w, v->type, v->index, v->how == V_DEAD) + v->num;
	case V_MEM:
		return ARENA + v->num;
	case V_LMR:
		obj = get_obj(w->file, T_LMR, v->index, false);
		return (obj ? obj->address : ARENA) + v->num;
	case V_LMR_CONTEXT:
		obj = get_obj(w->file, T_LMR, v->index, false);
		return obj ? obj->local + v->num : 0;
	case V_RMR_CONTEXT:
		obj = get_obj(w->file, T_LMR, v->index, false);
		return obj ? obj->remote + v->num : 0;
	case V_WINDOW:
		obj = get_obj(w->file, T_RMR, v->index, false);
		return obj ? obj->remote + v->num : 0;
	case V_QUAL:
		return qual_of(w, v->type, v->index) + v->num;
	default:
		return default_of(w, op, f);
	}
}

/* The guest has this address, see tools/vm/boot.sh; KDAPL_ADDRESS is another. */
static void fill_address(void *to, uint64_t port)
{
	struct sockaddr_in *sin = to;
	const char *text = getenv("KDAPL_ADDRESS") ?: "10.0.2.15";
	unsigned char byte[4] = { 0 };

	if (sscanf(text, "%hhu.%hhu.%hhu.%hhu", &byte[0], &byte[1], &byte[2], &byte[3]) != 4)
		return;
	sin->sin_family = AF_INET;
	sin->sin_port = htons(port);
	memcpy(&sin->sin_addr, byte, sizeof(byte));
}

static void fill_field(const struct field *f, void *to, uint64_t num)
{
	switch (f->kind) {
	case F_NAME:
		snprintf(to, f->size, "%s", ia_name());
		*(char *)to ^= num;
		break;
	case F_IA_ADDR:
		fill_address(to, num);
		break;
	default:
		memcpy(to, &num, f->size < sizeof(num) ? f->size : sizeof(num));
	}
}

/**
 * fill - fill the structure of an operation
 * @w: the thread
 * @step: the step
 * @arg: the structure, zeroed
 *
 * The caller holds proc.lock.
 */
void fill(struct worker *w, const struct step *step, void *arg)
{
	const struct op *op = &api->ops[step->op];
	const struct val *v[64] = { NULL };
	unsigned int i;

	for (i = 0; i < step->num_vals; i++)
		v[step->vals[i].field] = &step->vals[i];
	for (i = 0; i < op->num_fields; i++) {
		const struct field *f = &op->fields[i];

		if (v[i])
			fill_field(f, arg + f->offset, number_of(w, op, f, v[i]));
		else if (f->kind != F_OPT)
			fill_field(f, arg + f->offset, default_of(w, op, f));
	}
}
