// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * end.c - one end of a connection: the DAT objects, and how the two ends agree
 *
 * The client's job travels as the private data of its request. The server checks it, because
 * it trusts no client, and answers with the context and the address of its memory. Numbers
 * are big-endian.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dat-perf.h"

/* "dat-perf", version 1 */
#define MAGIC		0xda7bef01

struct request {
	uint32_t magic;
	uint32_t test;
	uint32_t op;
	uint32_t size;
	uint32_t iterations;
	uint32_t depth;
};

struct answer {
	uint32_t magic;
	uint32_t context;
	uint64_t address;
};

/**
 * check - complain about a call that has failed
 * @ret: what it returned
 * @call: its name
 *
 * Return: true if it succeeded.
 */
bool check(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return true;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "dat-perf: %s: %s%s%s\n", call, major,
		DAT_GET_SUBTYPE(ret) ? " " : "", DAT_GET_SUBTYPE(ret) ? minor : "");
	return false;
}

/**
 * complain - print a line
 * @what: the line
 *
 * Return: false.
 */
bool complain(const char *what)
{
	fprintf(stderr, "dat-perf: %s\n", what);
	return false;
}

static bool first_ia(char name[DAT_NAME_MAX_LENGTH])
{
	static DAT_PROVIDER_INFO infos[64];
	DAT_PROVIDER_INFO *list[64];
	DAT_COUNT num = 0, i;

	for (i = 0; i < 64; i++)
		list[i] = &infos[i];
	if (!check(dat_registry_list_providers(64, &num, list), "dat_registry_list_providers"))
		return false;
	if (!num)
		return complain("there is no IA");
	snprintf(name, DAT_NAME_MAX_LENGTH, "%s", infos[0].ia_name);
	return true;
}

/**
 * end_open - open the IA, and make what outlives a connection
 * @end: the end, zeroed but for poll
 * @ia_name: name of the IA, or NULL for the first
 *
 * Return: false after a complaint.
 */
bool end_open(struct end *end, const char *ia_name)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	char name[DAT_NAME_MAX_LENGTH];

	if (ia_name)
		snprintf(name, sizeof(name), "%s", ia_name);
	else if (!first_ia(name))
		return false;
	return check(dat_ia_open(name, 8, &async_evd, &end->ia), "dat_ia_open") &&
	       check(dat_pz_create(end->ia, &end->pz), "dat_pz_create") &&
	       check(dat_evd_create(end->ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
				    &end->conn_evd), "dat_evd_create");
}

/**
 * end_listen - listen for clients
 * @end: the end, opened
 * @port: the connection qualifier
 *
 * Return: false after a complaint.
 */
bool end_listen(struct end *end, uint16_t port)
{
	return check(dat_evd_create(end->ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG,
				    &end->cr_evd), "dat_evd_create") &&
	       check(dat_psp_create(end->ia, port, end->cr_evd, DAT_PSP_CONSUMER_FLAG,
				    &end->psp), "dat_psp_create");
}

static DAT_RETURN register_memory(struct end *end, uint32_t size)
{
	DAT_REGION_DESCRIPTION desc = { .for_va = end->buf };
	DAT_VADDR start;
	DAT_VLEN len;

	return dat_lmr_create(end->ia, DAT_MEM_TYPE_VIRTUAL, desc, size, end->pz,
			      DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
			      DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
#ifdef DAT_PERF_DAT2
			      DAT_VA_TYPE_VA,
#endif
			      &end->lmr, &end->lmr_context, &end->rmr_context, &len, &start);
}

/* Makes the EP and its memory for a job. Messages may be twice as many as the depth. */
static bool prepare(struct end *end, const struct job *job)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = job->size,
		.max_rdma_size = job->size,
		.max_recv_dtos = 2 * job->depth + 2,
		.max_request_dtos = 2 * job->depth + 2,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};

	end->size = job->size;
	end->buf = mmap(NULL, job->size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (end->buf == MAP_FAILED) {
		end->buf = NULL;
		return complain("no memory");
	}
	return check(register_memory(end, job->size), "dat_lmr_create") &&
	       check(dat_evd_create(end->ia, 4 * job->depth + 8, DAT_HANDLE_NULL,
				    DAT_EVD_DTO_FLAG, &end->dto_evd), "dat_evd_create") &&
	       check(dat_ep_create(end->ia, end->pz, end->dto_evd, end->dto_evd,
				   end->conn_evd, &attr, &end->ep), "dat_ep_create");
}

/**
 * end_drop - free what belongs to a connection, whatever there is
 * @end: the end
 */
void end_drop(struct end *end)
{
	DAT_EVENT event;

	if (end->ep)
		dat_ep_free(end->ep);
	if (end->dto_evd)
		dat_evd_free(end->dto_evd);
	if (end->lmr)
		dat_lmr_free(end->lmr);
	if (end->buf)
		munmap(end->buf, end->size);
	while (!dat_evd_dequeue(end->conn_evd, &event))
		;
	end->ep = DAT_HANDLE_NULL;
	end->dto_evd = DAT_HANDLE_NULL;
	end->lmr = DAT_HANDLE_NULL;
	end->buf = NULL;
}

static bool conn_event(struct end *end, DAT_EVENT *event)
{
	DAT_COUNT more;

	return check(dat_evd_wait(end->conn_evd, PATIENCE, 1, event, &more), "dat_evd_wait");
}

static const char *conn_event_name(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		/* iWARP does not tell who refuses. */
		return "refused: the server is of another version, or nobody listens there";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "nobody listens there";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "the server cannot be reached";
	default:
		return "no connection";
	}
}

static bool answer_is_good(const DAT_CONNECTION_EVENT_DATA *data, struct end *end)
{
	struct answer answer;

	if (data->private_data_size < (DAT_COUNT)sizeof(answer))
		return false;
	memcpy(&answer, data->private_data, sizeof(answer));
	end->their_context = ntohl(answer.context);
	end->their_address = be64toh(answer.address);
	return ntohl(answer.magic) == MAGIC;
}

/**
 * end_connect - connect to a server for a job
 * @end: the end, opened
 * @job: the job
 * @server: address of the server
 * @port: its connection qualifier
 *
 * Return: false after a complaint; end_drop() is needed in any case.
 */
bool end_connect(struct end *end, const struct job *job, const struct sockaddr *server,
		 uint16_t port)
{
	struct request request = {
		.magic = htonl(MAGIC),
		.test = htonl(job->test),
		.op = htonl(job->op),
		.size = htonl(job->size),
		.iterations = htonl(job->iterations),
		.depth = htonl(job->depth),
	};
	DAT_EVENT event;

	if (!prepare(end, job) ||
	    !check(dat_ep_connect(end->ep, (DAT_IA_ADDRESS_PTR)server, port, PATIENCE,
				  sizeof(request), &request, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect") ||
	    !conn_event(end, &event))
		return false;
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return complain(conn_event_name(event.event_number));
	return answer_is_good(&event.event_data.connect_event_data, end) ||
	       complain("the server is no dat-perf");
}

static bool job_is_good(const struct job *job)
{
	return job->test < NUM_TESTS && job->op < NUM_OPS &&
	       job->size && job->size <= MAX_SIZE &&
	       job->iterations && job->iterations <= MAX_ITERATIONS &&
	       job->depth && job->depth <= MAX_DEPTH && (job->test != LAT || job->depth == 1);
}

static bool request_is_good(const DAT_CR_PARAM *param, struct job *job)
{
	struct request request;

	if (param->private_data_size < (DAT_COUNT)sizeof(request))
		return false;
	memcpy(&request, param->private_data, sizeof(request));
	*job = (struct job){
		.test = ntohl(request.test),
		.op = ntohl(request.op),
		.size = ntohl(request.size),
		.iterations = ntohl(request.iterations),
		.depth = ntohl(request.depth),
	};
	return ntohl(request.magic) == MAGIC && job_is_good(job);
}

static void copy_address(struct sockaddr_storage *to, const struct sockaddr *from)
{
	to->ss_family = AF_UNSPEC;
	if (from)
		memcpy(to, from, from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
							       sizeof(struct sockaddr_in));
}

static bool reject(DAT_CR_HANDLE cr)
{
#ifdef DAT_PERF_DAT2
	dat_cr_reject(cr, 0, NULL);
#else
	dat_cr_reject(cr);
#endif
	return false;
}

/**
 * end_buffer - all memory of a connection, as a segment
 * @end: the end
 */
DAT_LMR_TRIPLET end_buffer(const struct end *end)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = end->lmr_context,
		.virtual_address = (uintptr_t)end->buf,
		.segment_length = end->size,
	};
}

/**
 * post_recv - post a receive of a whole message
 * @end: the end
 *
 * Return: false after a complaint.
 */
bool post_recv(struct end *end)
{
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_RECV };
	DAT_LMR_TRIPLET iov = end_buffer(end);

	return check(dat_ep_post_recv(end->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		     "dat_ep_post_recv");
}

static bool post_recvs(struct end *end, const struct job *job)
{
	uint32_t i;

	for (i = 0; job->op == SEND && i < 2 * job->depth; i++)
		if (!post_recv(end))
			return false;
	return true;
}

static bool establish(struct end *end, const struct job *job, DAT_CR_HANDLE cr)
{
	struct answer answer = { .magic = htonl(MAGIC) };
	DAT_EVENT event;

	if (!prepare(end, job) || !post_recvs(end, job))
		return reject(cr);
	answer.context = htonl(end->rmr_context);
	answer.address = htobe64((uintptr_t)end->buf);
	if (!check(dat_cr_accept(cr, end->ep, sizeof(answer), &answer), "dat_cr_accept"))
		return reject(cr);
	if (!conn_event(end, &event))
		return false;
	return event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED ||
	       complain("the client does not connect");
}

/**
 * end_accept - wait for a client and accept its job
 * @end: the end, listening
 * @job: out: the job
 * @peer: out: address of the client
 *
 * A request that is not understood is rejected.
 *
 * Return: false if this client cannot be served; end_drop() is needed in any case.
 */
bool end_accept(struct end *end, struct job *job, struct sockaddr_storage *peer)
{
	DAT_CR_PARAM param;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_CR_HANDLE cr;

	if (!check(dat_evd_wait(end->cr_evd, DAT_TIMEOUT_INFINITE, 1, &event, &more),
		   "dat_evd_wait"))
		exit(1);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	if (!check(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "dat_cr_query"))
		return reject(cr);
	copy_address(peer, (const struct sockaddr *)param.remote_ia_address_ptr);
	if (!request_is_good(&param, job)) {
		complain("a request is rejected: it is of no dat-perf, or of another version");
		return reject(cr);
	}
	return establish(end, job, cr);
}

/**
 * end_disconnect - end a connection that has done its job
 * @end: the end
 *
 * The client disconnects; the server waits for it.
 *
 * Return: false after a complaint: the connection has broken.
 */
bool end_disconnect(struct end *end)
{
	DAT_EVENT event;
	DAT_COUNT more;

	if (!end->psp &&
	    !check(dat_ep_disconnect(end->ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect"))
		return false;
	/* The server does not see RDMA, which may take long. */
	if (!check(dat_evd_wait(end->conn_evd, end->psp ? DAT_TIMEOUT_INFINITE : PATIENCE, 1,
				&event, &more), "dat_evd_wait"))
		return false;
	return event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
	       complain("the connection has broken");
}
