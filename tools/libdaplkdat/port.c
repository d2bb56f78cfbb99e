// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * port.c - counters of the device and of its port, from sysfs
 *
 * A program starts and stops sampling by type. While a type is sampled, a query
 * adds the growth of the counters in sysfs to the counters of the IA.
 */
#include <stdio.h>
#include <string.h>

#include "kdat.h"

#define MAX_PATH	256

/* DCNT_IA_LNK: counters of the port, DCNT_IA_DIAG: counters of the device */
static const struct source {
	DAT_IA_COUNTER_TYPE type;
	DAT_IA_COUNTERS counter;
	const char *file;
} sources[] = {
	{ DCNT_IA_LNK, DCNT_IA_LNK_ERR_RCV, "port_rcv_errors" },
	{ DCNT_IA_LNK, DCNT_IA_LNK_ERR_RCV_REM_PHYS,
	  "port_rcv_remote_physical_errors" },
	{ DCNT_IA_LNK, DCNT_IA_LNK_ERR_RCV_CONSTRAINT,
	  "port_rcv_constraint_errors" },
	{ DCNT_IA_LNK, DCNT_IA_LNK_ERR_XMT_DISCARDS, "port_xmit_discards" },
	{ DCNT_IA_LNK, DCNT_IA_LNK_ERR_XMT_CONTRAINT,
	  "port_xmit_constraint_errors" },
	{ DCNT_IA_LNK, DCNT_IA_LNK_ERR_INTEGRITY,
	  "local_link_integrity_errors" },
	{ DCNT_IA_LNK, DCNT_IA_LNK_ERR_EXC_BUF_OVERRUN,
	  "excessive_buffer_overrun_errors" },
	{ DCNT_IA_LNK, DCNT_IA_LNK_WARN_RCV_SW_RELAY,
	  "port_rcv_switch_relay_errors" },
	{ DCNT_IA_LNK, DCNT_IA_LNK_WARN_XMT_WAIT, "port_xmit_wait" },
	{ DCNT_IA_DIAG, DCNT_IA_DIAG_ERR_RQ_RAE, "rq_num_rae" },
	{ DCNT_IA_DIAG, DCNT_IA_DIAG_ERR_RQ_OOS, "rq_num_oos" },
	{ DCNT_IA_DIAG, DCNT_IA_DIAG_ERR_RQ_RIRE, "rq_num_rire" },
	{ DCNT_IA_DIAG, DCNT_IA_DIAG_ERR_RQ_UDSDPRD, "rq_num_udsdprd" },
	{ DCNT_IA_DIAG, DCNT_IA_DIAG_ERR_SQ_RAE, "sq_num_rae" },
	{ DCNT_IA_DIAG, DCNT_IA_DIAG_ERR_SQ_OOS, "sq_num_oos" },
	{ DCNT_IA_DIAG, DCNT_IA_DIAG_ERR_SQ_RIRE, "sq_num_rire" },
	{ DCNT_IA_DIAG, DCNT_IA_DIAG_ERR_SQ_RREE, "sq_num_rree" },
	{ DCNT_IA_DIAG, DCNT_IA_DIAG_ERR_SQ_TREE, "sq_num_tree" },
};

/*
 * KDAT_COUNTED_LAST has the last value of each source. Counters without a source
 * are flags there: whether a type is sampled.
 */
#define RUNNING(type)	(DCNT_IA_PZ_CREATE + (type))

/* The name of an IA is the device, with ":port" if the device has several. */
static bool read_source(const char *ia_name, const struct source *source,
			DAT_UINT64 *value)
{
	int len = (int)strcspn(ia_name, ":");
	const char *port = ia_name[len] ? ia_name + len + 1 : "1";
	char path[MAX_PATH];
	unsigned long long v;
	bool is_read;
	FILE *file;

	if (source->type == DCNT_IA_LNK)
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/%.*s/ports/%s/counters/%s", len,
			 ia_name, port, source->file);
	else
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/%.*s/hw_counters/%s", len,
			 ia_name, source->file);
	file = fopen(path, "re");
	if (!file)
		return false;
	is_read = fscanf(file, "%llu", &v) == 1;
	fclose(file);
	if (is_read)
		*value = v;
	return is_read;
}

/*
 * Read the sources of a type, and with @add add their growth to the counters.
 * Returns the number of sources that the device has.
 */
static unsigned int sample(DAT_IA_HANDLE ia_handle, DAT_IA_COUNTER_TYPE type,
			   struct kdat_counter *last, bool add)
{
	DAT_UINT64 value, before;
	unsigned int num = 0;
	DAT_IA_ATTR attr;
	size_t i;

	if (libdat_ia_query(ia_handle, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL) !=
	    DAT_SUCCESS)
		return 0;
	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		if (sources[i].type != type ||
		    !read_source(attr.adapter_name, &sources[i], &value))
			continue;
		num++;
		before = atomic_exchange(&last[sources[i].counter].value, value);
		/* A counter that saturates or is reset does not grow. */
		if (add && value > before)
			kdat_count(ia_handle, KDAT_COUNTED_IA,
				   sources[i].counter, value - before);
	}
	return num;
}

/**
 * kdat_port_sample - add the growth of the sources since the last sample
 * @ia_handle: the IA
 *
 * Thread safe.
 */
void kdat_port_sample(DAT_IA_HANDLE ia_handle)
{
	struct kdat_counter *last = kdat_counters_of(ia_handle, KDAT_COUNTED_LAST);

	if (!last)
		return;
	if (atomic_load(&last[RUNNING(DCNT_IA_LNK)].value))
		sample(ia_handle, DCNT_IA_LNK, last, true);
	if (atomic_load(&last[RUNNING(DCNT_IA_DIAG)].value))
		sample(ia_handle, DCNT_IA_DIAG, last, true);
}

static DAT_RETURN find(DAT_IA_HANDLE ia_handle, int type, struct kdat_counter **last)
{
	DAT_HANDLE_TYPE handle_type;
	DAT_RETURN ret;

	ret = libdat_get_handle_type(ia_handle, &handle_type);
	if (ret != DAT_SUCCESS)
		return ret;
	if (handle_type != DAT_HANDLE_TYPE_IA)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (type < DCNT_IA_CM || type > DCNT_IA_DIAG)
		return BAD_ARG(3);
	*last = kdat_counters_of(ia_handle, KDAT_COUNTED_LAST);
	return *last ? DAT_SUCCESS :
		       NO_MEMORY;
}

/**
 * kdat_port_start - dat_ib_start_counter()
 * @ia_handle: the IA
 * @type: DAT_IA_COUNTER_TYPE; DCNT_IA_CM is always counted
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES; DAT_MODEL_NOT_SUPPORTED if the device has no source
 * of @type.
 */
DAT_RETURN kdat_port_start(DAT_IA_HANDLE ia_handle, int type)
{
	struct kdat_counter *last;
	DAT_RETURN ret;

	ret = find(ia_handle, type, &last);
	if (ret != DAT_SUCCESS || type == DCNT_IA_CM ||
	    atomic_load(&last[RUNNING(type)].value))
		return ret;
	if (!sample(ia_handle, (DAT_IA_COUNTER_TYPE)type, last, false))
		return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	atomic_store(&last[RUNNING(type)].value, 1);
	return DAT_SUCCESS;
}

/**
 * kdat_port_stop - dat_ib_stop_counter()
 * @ia_handle: the IA
 * @type: DAT_IA_COUNTER_TYPE; DCNT_IA_CM is always counted
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INSUFFICIENT_RESOURCES; DAT_INVALID_STATE if @type is not sampled.
 */
DAT_RETURN kdat_port_stop(DAT_IA_HANDLE ia_handle, int type)
{
	struct kdat_counter *last;
	DAT_RETURN ret;

	ret = find(ia_handle, type, &last);
	if (ret != DAT_SUCCESS || type == DCNT_IA_CM)
		return ret;
	if (!atomic_exchange(&last[RUNNING(type)].value, 0))
		return DAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	sample(ia_handle, (DAT_IA_COUNTER_TYPE)type, last, true);
	return DAT_SUCCESS;
}
