// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cno.c - CNOs and their agents
 *
 * Each agent has a thread, which sleeps in the kernel until the CNO is triggered.
 * The thread then removes the agent from the CNO, calls the agent once, and ends.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "libdat.h"

/**
 * struct libdat_agent - an agent that was not called yet
 * @refs: references: one of its thread, one of the CNO until the trigger
 * @is_dismissed: the program replaced the agent or freed the CNO
 * @cno: the kernel's handle of the CNO
 * @number: the kernel's number of the agent
 * @proxy: the function to call, and its argument
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
 * libdat_agent_put - drop a reference
 * @agent: the agent, or NULL
 *
 * Thread safe.
 */
void libdat_agent_put(struct libdat_agent *agent)
{
	if (agent && atomic_fetch_sub(&agent->refs, 1) == 1)
		free(agent);
}

/* Remove the agent from its CNO, unless another agent replaced it. */
static void remove_agent(struct libdat_agent *agent)
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
 * A closed IA triggers the CNO. A thread that reaches the kernel after the close
 * finds no CNO.
 */
static bool is_ia_closed(struct libdat_agent *agent, DAT_RETURN ret)
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
	if (ret == DAT_SUCCESS || is_ia_closed(agent, ret)) {
		remove_agent(agent);
		agent->proxy.proxy_agent_func(agent->proxy.instance_data,
					      libdat_to_user(wait.evd));
	}
	libdat_agent_put(agent);
	return NULL;
}

/* Blocks all signals in the thread: handlers run in threads of the program. */
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

/* Replace the agent of a CNO. Consumes the caller's reference; may be NULL. */
static void replace_agent(__u32 handle, struct libdat_agent *agent)
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

static DAT_RETURN start_agent(__u32 cno, const DAT_OS_WAIT_PROXY_AGENT *proxy)
{
	struct libdat_agent *agent = calloc(1, sizeof(*agent));
	DAT_RETURN ret;

	if (!agent)
		return NO_MEMORY;
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
	replace_agent(cno, agent);
	if (!start_thread(agent))
		return DAT_SUCCESS;
	remove_agent(agent);
	set_agent(cno, 0);
	libdat_agent_put(agent);
	return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
}

DAT_RETURN libdat_cno_create(DAT_IA_HANDLE ia_handle,
			     DAT_OS_WAIT_PROXY_AGENT agent,
			     DAT_CNO_HANDLE *cno_handle)
{
	struct dat_dev_cno_create arg = {
		.size = sizeof(arg),
		.ia = libdat_to_kernel(ia_handle),
	};
	struct libdat_cno *cno;
	DAT_RETURN ret;

	if (!cno_handle)
		return BAD_ARG(3);
	cno = libdat_object_alloc(LIBDAT_CNO);
	ret = libdat_object_call(&cno->object, DAT_DEV_CNO_CREATE, &arg);
	if (ret != DAT_SUCCESS)
		return ret;
	libdat_object_add(&cno->object, arg.cno, arg.ia);
	if (agent.proxy_agent_func) {
		ret = start_agent(arg.cno, &agent);
		if (ret != DAT_SUCCESS) {
			libdat_cno_free(libdat_to_user(arg.cno));
			return ret;
		}
	}
	*cno_handle = libdat_to_user(arg.cno);
	return DAT_SUCCESS;
}

DAT_RETURN libdat_cno_modify_agent(DAT_CNO_HANDLE cno_handle,
				   DAT_OS_WAIT_PROXY_AGENT agent)
{
	__u32 cno = libdat_to_kernel(cno_handle);
	DAT_RETURN ret;

	if (agent.proxy_agent_func)
		return start_agent(cno, &agent);
	ret = set_agent(cno, 0);
	if (ret == DAT_SUCCESS)
		replace_agent(cno, NULL);
	return ret;
}

/**
 * libdat_cno_param_to_user - translate the result of DAT_DEV_CNO_QUERY
 * @out: the program's parameters
 * @in: the kernel's parameters
 *
 * Thread safe.
 */
void libdat_cno_param_to_user(DAT_CNO_PARAM *out,
			      const struct dat_dev_cno_create *in)
{
	struct libdat_cno *cno;

	out->ia_handle = libdat_to_user(in->ia);
	out->agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	cno = libdat_object_lock(in->cno, LIBDAT_CNO);
	if (cno) {
		if (cno->agent)
			out->agent = cno->agent->proxy;
		libdat_object_unlock(in->cno);
	}
}

/* If the CNO does not exist, call the agent only unless dismissed. */
static void set_dismissed(__u32 handle, bool is_dismissed)
{
	struct libdat_cno *cno = libdat_object_lock(handle, LIBDAT_CNO);

	if (!cno)
		return;
	if (cno->agent)
		atomic_store(&cno->agent->is_dismissed, is_dismissed);
	libdat_object_unlock(handle);
}

DAT_RETURN libdat_cno_free(DAT_CNO_HANDLE cno_handle)
{
	__u32 handle = libdat_to_kernel(cno_handle);
	DAT_RETURN ret;

	set_dismissed(handle, true);
	ret = libdat_free_call(DAT_DEV_CNO_FREE, handle);
	if (ret == DAT_SUCCESS)
		libdat_object_remove(handle, LIBDAT_CNO);
	else
		set_dismissed(handle, false);
	return ret;
}
