// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cno.c - consumer notification objects, and their agents
 *
 * An agent is called in a thread that waits in the kernel until its CNO is
 * triggered. That happens once: then the thread ends, and the agent is the
 * CNO's no more.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "libdat.h"
#include "foreign.h"

/**
 * struct libdat_agent - an agent on duty
 * @refs: its thread's, and that of the CNO as long as it is the CNO's agent
 * @is_dismissed: another one has replaced it, or its CNO was freed
 * @cno: the kernel's handle of the CNO
 * @number: the kernel's name of the agent
 * @proxy: whom to call
 */
struct libdat_agent {
	atomic_int refs;
	atomic_bool is_dismissed;
	__u32 cno;
	__u32 number;
	DAT_OS_WAIT_PROXY_AGENT proxy;
};

static atomic_uint last_number;

/**
 * libdat_agent_put - give a reference back
 * @agent: the agent, or NULL
 *
 * Thread safe.
 */
void libdat_agent_put(struct libdat_agent *agent)
{
	if (agent && atomic_fetch_sub(&agent->refs, 1) == 1)
		free(agent);
}

/* Unless another agent has replaced it, the CNO has none now. */
static void relieve(struct libdat_agent *agent)
{
	struct libdat_cno *cno = libdat_object_lock(agent->cno, LIBDAT_CNO);

	if (!cno)
		return;
	if (cno->agent == agent) {
		cno->agent = NULL;
		libdat_agent_put(agent);
	}
	libdat_object_unlock(agent->cno);
}

/*
 * The kernel tells the agent when the IA is closed; but if the thread had not
 * yet got there, it finds no CNO any more.
 */
static bool has_missed_the_end(struct libdat_agent *agent, DAT_RETURN ret)
{
	return DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE &&
	       !atomic_load(&agent->is_dismissed);
}

static void *agent_thread(void *arg)
{
	struct libdat_agent *agent = arg;
	struct dat_dev_cno_wait wait = {
		.size = sizeof(wait),
		.cno = agent->cno,
		.agent = agent->number,
	};
	DAT_RETURN ret;

	do
		ret = libdat_call(DAT_DEV_CNO_WAIT, &wait);
	while (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL);
	if (ret == DAT_SUCCESS || has_missed_the_end(agent, ret)) {
		relieve(agent);
		agent->proxy.proxy_agent_func(agent->proxy.instance_data,
					      libdat_handle_out(wait.evd));
	}
	libdat_agent_put(agent);
	return NULL;
}

/* Signals are for the program's own threads. */
static int start_thread(struct libdat_agent *agent)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int ret;

	ret = pthread_attr_init(&attr);
	if (ret)
		return ret;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&thread, &attr, agent_thread, agent);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return ret;
}

static DAT_RETURN set_agent(__u32 cno, __u32 number)
{
	struct dat_dev_cno_set_agent arg = {
		.size = sizeof(arg),
		.cno = cno,
		.agent = number,
	};

	return libdat_call(DAT_DEV_CNO_SET_AGENT, &arg);
}

/* The CNO takes the caller's reference to the agent, if there is one. */
static void keep_agent(__u32 handle, struct libdat_agent *agent)
{
	struct libdat_cno *cno = libdat_object_lock(handle, LIBDAT_CNO);
	struct libdat_agent *old = agent;

	if (cno) {
		old = cno->agent;
		cno->agent = agent;
		if (old)
			atomic_store(&old->is_dismissed, true);
		libdat_object_unlock(handle);
	}
	libdat_agent_put(old);
}

static DAT_RETURN begin_agent(__u32 cno, const DAT_OS_WAIT_PROXY_AGENT *proxy)
{
	struct libdat_agent *agent = calloc(1, sizeof(*agent));
	DAT_RETURN ret;

	if (!agent)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	atomic_init(&agent->refs, 2);
	agent->cno = cno;
	agent->proxy = *proxy;
	do
		agent->number = atomic_fetch_add(&last_number, 1) + 1;
	while (!agent->number);
	ret = set_agent(cno, agent->number);
	if (ret != DAT_SUCCESS) {
		free(agent);
		return ret;
	}
	keep_agent(cno, agent);
	if (!start_thread(agent))
		return DAT_SUCCESS;
	relieve(agent);
	set_agent(cno, 0);
	libdat_agent_put(agent);
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
}

/**
 * dat_cno_create - make a CNO
 * @ia_handle: the IA
 * @agent: called once, when the CNO is triggered for the first time; or
 *	DAT_OS_WAIT_PROXY_AGENT_NULL
 * @cno_handle: out
 *
 * Thread safe. See dat_cno_create(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle,
			  DAT_OS_WAIT_PROXY_AGENT agent,
			  DAT_CNO_HANDLE *cno_handle)
{
	struct dat_dev_cno_create arg = {
		.size = sizeof(arg),
		.ia = libdat_handle_in(ia_handle),
	};
	struct libdat_foreign foreign;
	struct libdat_cno *cno;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, ia_handle, DAT_HANDLE_TYPE_IA))
		return FOREIGN_MAKE(&foreign, DAT_HANDLE_TYPE_CNO, cno_handle,
				    cno_create_func, ia_handle, agent,
				    cno_handle);
	if (!cno_handle)
		return BAD_ARG(3);
	cno = libdat_object_alloc(LIBDAT_CNO);
	if (!cno)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_MEMORY);
	ret = libdat_call(DAT_DEV_CNO_CREATE, &arg);
	if (ret != DAT_SUCCESS) {
		libdat_object_discard(&cno->object);
		return ret;
	}
	libdat_object_add(&cno->object, arg.cno, arg.ia);
	if (agent.proxy_agent_func) {
		ret = begin_agent(arg.cno, &agent);
		if (ret != DAT_SUCCESS) {
			dat_cno_free(libdat_handle_out(arg.cno));
			return ret;
		}
	}
	*cno_handle = libdat_handle_out(arg.cno);
	return DAT_SUCCESS;
}

/**
 * dat_cno_modify_agent - give a CNO another agent
 * @cno_handle: the CNO
 * @agent: called once, when the CNO is triggered next; or
 *	DAT_OS_WAIT_PROXY_AGENT_NULL
 *
 * The one before it may be about to be called. Thread safe. See
 * dat_cno_modify_agent(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle,
				DAT_OS_WAIT_PROXY_AGENT agent)
{
	__u32 cno = libdat_handle_in(cno_handle);
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, cno_handle, DAT_HANDLE_TYPE_CNO))
		return FOREIGN_CALL(&foreign, cno_modify_agent_func, cno_handle,
				    agent);
	if (agent.proxy_agent_func)
		return begin_agent(cno, &agent);
	ret = set_agent(cno, 0);
	if (ret == DAT_SUCCESS)
		keep_agent(cno, NULL);
	return ret;
}

/**
 * dat_cno_query - everything about a CNO
 * @cno_handle: the CNO
 * @cno_param_mask: what is wanted; all is filled in
 * @cno_param: out
 *
 * Thread safe. See dat_cno_query(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 */
DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle,
			 DAT_CNO_PARAM_MASK cno_param_mask,
			 DAT_CNO_PARAM *cno_param)
{
	struct dat_dev_cno_create arg = {
		.size = sizeof(arg),
		.cno = libdat_handle_in(cno_handle),
	};
	struct libdat_foreign foreign;
	struct libdat_cno *cno;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, cno_handle, DAT_HANDLE_TYPE_CNO))
		return FOREIGN_CALL(&foreign, cno_query_func, cno_handle,
				    cno_param_mask, cno_param);
	if (cno_param_mask & ~DAT_CNO_FIELD_ALL)
		return BAD_ARG(2);
	if (!cno_param)
		return BAD_ARG(3);

	ret = libdat_call(DAT_DEV_CNO_QUERY, &arg);
	if (ret != DAT_SUCCESS)
		return ret;
	cno_param->ia_handle = libdat_handle_out(arg.ia);
	cno_param->agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	cno = libdat_object_lock(arg.cno, LIBDAT_CNO);
	if (cno) {
		if (cno->agent)
			cno_param->agent = cno->agent->proxy;
		libdat_object_unlock(arg.cno);
	}
	return DAT_SUCCESS;
}

/**
 * dat_cno_wait - wait until an EVD triggers a CNO
 * @cno_handle: the CNO
 * @timeout: microseconds, or DAT_TIMEOUT_INFINITE
 * @evd_handle: out: an EVD that has, as a hint; DAT_HANDLE_NULL on a timeout, when
 *	the IA has been closed or the last EVD of the CNO freed
 *
 * A trigger that nobody has waited for is not lost. Thread safe. See
 * dat_cno_wait(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_QUEUE_EMPTY on a timeout, DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER, DAT_INTERRUPTED_CALL.
 */
DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
			DAT_EVD_HANDLE *evd_handle)
{
	struct dat_dev_cno_wait arg = {
		.size = sizeof(arg),
		.cno = libdat_handle_in(cno_handle),
		.timeout = timeout,
	};
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, cno_handle, DAT_HANDLE_TYPE_CNO))
		return FOREIGN_CALL(&foreign, cno_wait_func, cno_handle,
				    timeout, evd_handle);
	if (!evd_handle)
		return BAD_ARG(3);
	ret = libdat_call(DAT_DEV_CNO_WAIT, &arg);
	*evd_handle = libdat_handle_out(ret == DAT_SUCCESS ? arg.evd :
							     NO_HANDLE);
	return ret;
}

/* Is its agent to be told, should the CNO not be there any more? */
static void dismiss(__u32 handle, bool is_dismissed)
{
	struct libdat_cno *cno = libdat_object_lock(handle, LIBDAT_CNO);

	if (!cno)
		return;
	if (cno->agent)
		atomic_store(&cno->agent->is_dismissed, is_dismissed);
	libdat_object_unlock(handle);
}

/**
 * dat_cno_free - free a CNO
 * @cno_handle: the CNO
 *
 * Its agent is not called any more. Thread safe. See dat_cno_free(3DAT).
 *
 * Return: DAT_SUCCESS, DAT_INVALID_HANDLE, DAT_INVALID_STATE if an EVD triggers
 * it or a thread waits for it.
 */
DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle)
{
	__u32 handle = libdat_handle_in(cno_handle);
	struct libdat_foreign foreign;
	DAT_RETURN ret;

	if (libdat_is_foreign(&foreign, cno_handle, DAT_HANDLE_TYPE_CNO))
		return FOREIGN_FREE(&foreign, cno_free_func, cno_handle);
	dismiss(handle, true);
	ret = libdat_free_call(DAT_DEV_CNO_FREE, cno_handle);
	if (ret == DAT_SUCCESS)
		libdat_object_drop(handle, LIBDAT_CNO);
	else
		dismiss(handle, false);
	return ret;
}
