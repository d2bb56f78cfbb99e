// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * check.c - dat-info --check: runs the calls of DAT on an IA, through loopback
 *
 * For the owner of an adapter that the authors of kdapl do not have. Each check moves real
 * data and compares every byte. The report can be sent as it is: device, driver,
 * firmware, kernel, limits and results.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "check.h"

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#define TIMEOUT		(120 * 1000 * 1000)	/* microseconds; a busy host is no failure */
#define SMALL		4096
#define LARGE		(16 * 1024 * 1024)
#define READ_WRITE	DAT_MEM_PRIV_ALL_FLAG
#define REMOTE		(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

enum result { OK, FAILED, UNSUPPORTED };

/* One side of the connection. Both are in this process. */
struct side {
	DAT_EVD_HANDLE dto_evd, conn_evd;
	DAT_EP_HANDLE ep;
};

struct memory {
	unsigned char *buf;
	size_t len;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

static DAT_IA_HANDLE ia;
static DAT_IA_ATTR limits;
static DAT_PROVIDER_ATTR provider;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async_evd, cr_evd;
static DAT_PSP_HANDLE psp;
static DAT_CONN_QUAL qual;
static struct side a, b;
static struct memory from, to;

/* Why the current check has failed */
static char reason[256];

__attribute__((format(printf, 1, 2))) static enum result fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return FAILED;
}

#define CALL(call)							\
	do {								\
		DAT_RETURN __ret = (call);				\
									\
		if (__ret)						\
			return fail("%s: %s", #call, explain(__ret));	\
	} while (0)

#define STEP(call)				\
	do {					\
		enum result __result = (call);	\
						\
		if (__result)			\
			return __result;	\
	} while (0)

/* Events */

static enum result wait_event(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_COUNT more;

	CALL(dat_evd_wait(evd, TIMEOUT, 1, event, &more));
	return OK;
}

static enum result wait_connection(struct side *side, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	STEP(wait_event(side->conn_evd, &event));
	return event.event_number == number ? OK :
	       fail("connection event %#x, not %#x", event.event_number, number);
}

/* Waits for the completion of a DTO with a cookie. */
static enum result wait_status(struct side *side, uint64_t cookie,
			       DAT_DTO_COMPLETION_STATUS *status)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	do {
		STEP(wait_event(side->dto_evd, &event));
		dto = &event.event_data.dto_completion_event_data;
	} while (dto->user_cookie.as_64 != cookie);
	*status = dto->status;
	return OK;
}

static enum result wait_dto(struct side *side, uint64_t cookie)
{
	DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS;

	STEP(wait_status(side, cookie, &status));
	return status == DAT_DTO_SUCCESS ? OK :
	       fail("request %llu completed with status %d",
		    (unsigned long long)cookie, status);
}

static enum result wait_bind(struct side *side)
{
	DAT_EVENT event;

	STEP(wait_event(side->dto_evd, &event));
	if (event.event_number != DAT_RMR_BIND_COMPLETION_EVENT)
		return fail("event %#x instead of the end of a bind", event.event_number);
	if (event.event_data.rmr_completion_event_data.status != DAT_RMR_BIND_SUCCESS)
		return fail("the bind completed with status %d",
			    event.event_data.rmr_completion_event_data.status);
	return OK;
}

/* Connections */

static enum result make_side(struct side *side, DAT_SRQ_HANDLE srq)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = 16,
		.max_request_dtos = 16,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = 1,
		.max_rdma_read_out = 1,
	};

	CALL(dat_evd_create(ia, 64, DAT_HANDLE_NULL,
			    DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &side->dto_evd));
	CALL(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			    &side->conn_evd));
	if (srq)
		CALL(dat_ep_create_with_srq(ia, pz, side->dto_evd, side->dto_evd,
					    side->conn_evd, srq, &attr, &side->ep));
	else
		CALL(dat_ep_create(ia, pz, side->dto_evd, side->dto_evd, side->conn_evd,
				   &attr, &side->ep));
	return OK;
}

static void free_side(struct side *side)
{
	if (side->ep)
		dat_ep_free(side->ep);
	if (side->dto_evd)
		dat_evd_free(side->dto_evd);
	if (side->conn_evd)
		dat_evd_free(side->conn_evd);
	memset(side, 0, sizeof(*side));
}

/* Connects a to b anew; @srq feeds b, or none does. */
static enum result connect_sides(DAT_SRQ_HANDLE srq)
{
	DAT_EVENT event;

	free_side(&a);
	free_side(&b);
	STEP(make_side(&a, DAT_HANDLE_NULL));
	STEP(make_side(&b, srq));
	CALL(dat_ep_connect(a.ep, limits.ia_address_ptr, qual, TIMEOUT, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	STEP(wait_event(cr_evd, &event));
	if (event.event_number != DAT_CONNECTION_REQUEST_EVENT)
		return fail("event %#x instead of a connection request",
			    event.event_number);
	CALL(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, b.ep, 0,
			   NULL));
	STEP(wait_connection(&b, DAT_CONNECTION_EVENT_ESTABLISHED));
	return wait_connection(&a, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Memory */

static enum result register_memory(struct memory *memory)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory->buf };

	CALL(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, memory->len, pz, READ_WRITE,
			    &memory->lmr, &memory->lmr_context, &memory->rmr_context,
			    NULL, NULL));
	return OK;
}

/* Maps memory whose pages come in no order, unless @flags say otherwise. */
static enum result make_memory(struct memory *memory, size_t len, int flags)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), stride, at;

	memory->len = len;
	memory->buf = mmap(NULL, len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	if (memory->buf == MAP_FAILED) {
		memory->buf = NULL;
		return fail("mmap() of %zu bytes: %m", len);
	}
	if (!flags) {
		madvise(memory->buf, len, MADV_NOHUGEPAGE);
		for (stride = 0; stride < 16; stride++)
			for (at = stride * page; at < len; at += 16 * page)
				memory->buf[at] = 1;
	}
	return register_memory(memory);
}

static void free_memory(struct memory *memory)
{
	if (memory->lmr)
		dat_lmr_free(memory->lmr);
	if (memory->buf)
		munmap(memory->buf, memory->len);
	memset(memory, 0, sizeof(*memory));
}

static unsigned char pattern(size_t at, unsigned int seed)
{
	return (unsigned char)(at * 31 + (at >> 12) + seed);
}

static void fill(struct memory *memory, unsigned int seed)
{
	size_t i;

	for (i = 0; i < memory->len; i++)
		memory->buf[i] = pattern(i, seed);
}

static enum result compare(const struct memory *memory, size_t first, size_t len,
			   unsigned int seed)
{
	size_t i;

	for (i = first; i < first + len; i++)
		if (memory->buf[i] != pattern(i, seed))
			return fail("byte %zu of %zu is wrong", i, memory->len);
	return OK;
}

static DAT_LMR_TRIPLET local(const struct memory *memory, size_t offset, size_t len)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (uintptr_t)memory->buf + offset,
		.segment_length = len,
		.lmr_context = memory->lmr_context,
	};
}

static DAT_RMR_TRIPLET remote(const struct memory *memory, DAT_RMR_CONTEXT context,
			      size_t offset, size_t len)
{
	return (DAT_RMR_TRIPLET){
		.target_address = (uintptr_t)memory->buf + offset,
		.segment_length = len,
		.rmr_context = context,
	};
}

static DAT_DTO_COOKIE cookie(uint64_t value)
{
	return (DAT_DTO_COOKIE){ .as_64 = value };
}

/* Moves all of @source to or from the same place in @target. */
static enum result move(const struct memory *source, const struct memory *target,
			bool write)
{
	size_t at, len;

	for (at = 0; at < source->len; at += len) {
		DAT_LMR_TRIPLET mine;
		DAT_RMR_TRIPLET peers;

		len = source->len - at;
		if (len > limits.max_rdma_size)
			len = (size_t)limits.max_rdma_size;
		mine = local(source, at, len);
		peers = remote(target, target->rmr_context, at, len);
		if (write)
			CALL(dat_ep_post_rdma_write(a.ep, 1, &mine, cookie(1), &peers,
						    DAT_COMPLETION_DEFAULT_FLAG));
		else
			CALL(dat_ep_post_rdma_read(a.ep, 1, &mine, cookie(1), &peers,
						   DAT_COMPLETION_DEFAULT_FLAG));
		STEP(wait_dto(&a, 1));
	}
	return OK;
}

static enum result write_and_read(struct memory *source, struct memory *target)
{
	fill(source, 1);
	memset(target->buf, 0, target->len);
	STEP(move(source, target, true));
	/* On every transport a read is answered after earlier writes have arrived. */
	memset(source->buf, 0, source->len);
	STEP(move(source, target, false));
	STEP(compare(target, 0, source->len, 1));
	return compare(source, 0, source->len, 1);
}

/* Checks */

static enum result check_connection(void)
{
	CALL(dat_pz_create(ia, &pz));
	CALL(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &cr_evd));
	CALL(dat_psp_create_any(ia, &qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	return connect_sides(DAT_HANDLE_NULL);
}

static enum result check_small_lmr(void)
{
	STEP(make_memory(&from, SMALL, 0));
	return make_memory(&to, SMALL, 0);
}

static enum result check_send(void)
{
	static const size_t sizes[] = { 1, 17, 256, SMALL };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		DAT_LMR_TRIPLET out = local(&from, 0, sizes[i]);
		DAT_LMR_TRIPLET in = local(&to, 0, SMALL);

		fill(&from, (unsigned int)i);
		memset(to.buf, 0, SMALL);
		CALL(dat_ep_post_recv(b.ep, 1, &in, cookie(1),
				      DAT_COMPLETION_DEFAULT_FLAG));
		CALL(dat_ep_post_send(a.ep, 1, &out, cookie(2),
				      DAT_COMPLETION_DEFAULT_FLAG));
		STEP(wait_dto(&a, 2));
		STEP(wait_dto(&b, 1));
		STEP(compare(&to, 0, sizes[i], (unsigned int)i));
	}
	return OK;
}

static enum result check_rdma(void)
{
	return write_and_read(&from, &to);
}

/* Bytes of each of two regions that the memlock limit permits */
static size_t memlock_size(void)
{
	struct rlimit memlock = { 0, 0 };

	getrlimit(RLIMIT_MEMLOCK, &memlock);
	return geteuid() ? memlock.rlim_cur / 4 : SIZE_MAX;
}

static size_t large_size(void)
{
	size_t len = LARGE;

	if (memlock_size() < len)
		len = memlock_size();
	if (limits.max_lmr_block_size < len)
		len = (size_t)limits.max_lmr_block_size;
	return len & ~(size_t)(sysconf(_SC_PAGESIZE) - 1);
}

static enum result check_rdma_between(int flags, size_t len)
{
	struct memory source = {}, target = {};
	enum result result = make_memory(&source, len, flags) ?:
			     make_memory(&target, len, flags) ?:
			     write_and_read(&source, &target);

	free_memory(&source);
	free_memory(&target);
	return result;
}

static enum result check_large_lmr(void)
{
	return check_rdma_between(0, large_size());
}

/* Bytes of a huge page, 0 if the kernel has none */
static size_t huge_page_size(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	size_t kib = 0;

	while (f && !kib && fgets(line, sizeof(line), f))
		sscanf(line, "Hugepagesize: %zu", &kib);
	if (f)
		fclose(f);
	return kib * 1024;
}

static enum result check_huge_page(void)
{
	/* One to write from, one to write to */
	size_t size = huge_page_size(), both = 2 * size;
	void *pages = MAP_FAILED;

	if (size > limits.max_lmr_block_size || size > memlock_size()) {
		fail("a huge page of %zu bytes exceeds max_lmr_block_size or ulimit -l",
		     size);
		return UNSUPPORTED;
	}
	if (size)
		pages = mmap(NULL, both, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (pages == MAP_FAILED) {
		fail("the host has no two free huge pages, see vm.nr_hugepages");
		return UNSUPPORTED;
	}
	munmap(pages, both);
	return check_rdma_between(MAP_HUGETLB, size);
}

static DAT_RMR_HANDLE rmr;
static DAT_RMR_CONTEXT first_context, second_context;

static enum result bind_window(size_t offset, size_t len, DAT_RMR_CONTEXT *context)
{
	DAT_LMR_TRIPLET part = local(&to, offset, len);

	CALL(dat_rmr_bind(rmr, &part, len ? REMOTE : 0, b.ep,
			  (DAT_RMR_COOKIE){ .as_64 = 3 },
			  DAT_COMPLETION_DEFAULT_FLAG, context));
	return wait_bind(&b);
}

static enum result write_window(DAT_RMR_CONTEXT context, size_t offset, size_t len,
				DAT_DTO_COMPLETION_STATUS *status)
{
	DAT_LMR_TRIPLET mine = local(&from, offset, len);
	DAT_RMR_TRIPLET peers = remote(&to, context, offset, len);

	CALL(dat_ep_post_rdma_write(a.ep, 1, &mine, cookie(4), &peers,
				    DAT_COMPLETION_DEFAULT_FLAG));
	return wait_status(&a, 4, status);
}

static enum result check_window(void)
{
	DAT_DTO_COMPLETION_STATUS status;

	CALL(dat_rmr_create(pz, &rmr));
	STEP(bind_window(256, 512, &first_context));
	fill(&from, 5);
	memset(to.buf, 0, to.len);
	STEP(write_window(first_context, 256, 512, &status));
	if (status != DAT_DTO_SUCCESS)
		return fail("a write through the window completed with status %d", status);
	STEP(compare(&to, 256, 512, 5));
	/* Moves the window. */
	STEP(bind_window(1024, 256, &second_context));
	STEP(write_window(second_context, 1024, 256, &status));
	if (status != DAT_DTO_SUCCESS)
		return fail("a write through the moved window completed with status %d",
			    status);
	return compare(&to, 1024, 256, 5);
}

/*
 * A peer must not reach memory; the refusal breaks the connection. The status of the write
 * tells nothing on iWARP, where it completes before the peer has seen it.
 */
static enum result expect_refusal(DAT_RMR_CONTEXT context, size_t offset, size_t len,
				  const char *what)
{
	DAT_DTO_COMPLETION_STATUS status;
	DAT_EVENT event;
	size_t i;

	memset(to.buf, 0, to.len);
	STEP(write_window(context, offset, len, &status));
	if (wait_event(a.conn_evd, &event) ||
	    (event.event_number != DAT_CONNECTION_EVENT_BROKEN &&
	     event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED))
		return fail("%s has not broken the connection", what);
	for (i = 0; i < to.len; i++)
		if (to.buf[i])
			return fail("%s has changed memory", what);
	return connect_sides(DAT_HANDLE_NULL);
}

static enum result check_window_end(void)
{
	return expect_refusal(second_context, 1024, 257,
			      "a write one byte behind the window");
}

static enum result check_old_context(void)
{
	return expect_refusal(first_context, 256, 1, "a write with the former context");
}

static enum result check_unbind(void)
{
	DAT_RMR_CONTEXT none;

	STEP(bind_window(1024, 0, &none));
	STEP(expect_refusal(second_context, 1024, 1, "a write to a closed window"));
	CALL(dat_rmr_free(rmr));
	rmr = DAT_HANDLE_NULL;
	return OK;
}

static enum result use_srq(DAT_SRQ_HANDLE srq)
{
	DAT_LMR_TRIPLET in = local(&to, 0, SMALL), out = local(&from, 0, 100);

	STEP(connect_sides(srq));
	fill(&from, 9);
	memset(to.buf, 0, SMALL);
	CALL(dat_srq_post_recv(srq, 1, &in, cookie(6)));
	CALL(dat_ep_post_send(a.ep, 1, &out, cookie(7), DAT_COMPLETION_DEFAULT_FLAG));
	STEP(wait_dto(&a, 7));
	STEP(wait_dto(&b, 6));
	return compare(&to, 0, 100, 9);
}

static enum result check_srq(void)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = 16,
		.max_recv_iov = 1,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};
	DAT_SRQ_HANDLE srq;
	enum result result;

	if (!provider.srq_supported) {
		fail("the IA has no SRQs");
		return UNSUPPORTED;
	}
	CALL(dat_srq_create(ia, pz, &attr, &srq));
	result = use_srq(srq);
	free_side(&b);
	dat_srq_free(srq);
	return result ?: connect_sides(DAT_HANDLE_NULL);
}

static enum result check_disconnect(void)
{
	CALL(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	STEP(wait_connection(&a, DAT_CONNECTION_EVENT_DISCONNECTED));
	return wait_connection(&b, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static const struct {
	const char *name;
	enum result (*run)(void);
	/* Without it the others cannot be run. */
	bool needed;
} checks[] = {
	{ "connect through loopback", check_connection, true },
	{ "register small memory", check_small_lmr, true },
	{ "send and receive", check_send, false },
	{ "RDMA write and read", check_rdma, false },
	{ "register large scattered memory", check_large_lmr, false },
	{ "register a huge page", check_huge_page, false },
	{ "bind a window and move it", check_window, false },
	{ "refuse a peer behind the window", check_window_end, false },
	{ "refuse a former context", check_old_context, false },
	{ "refuse a peer after the unbind", check_unbind, false },
	{ "receive through an SRQ", check_srq, false },
	{ "disconnect", check_disconnect, false },
};

/* The report */

static void show_host(void)
{
	struct utsname host;
	DAT_COUNT i;

	uname(&host);
	show("kernel", host.release);
	show("architecture", host.machine);
	show_device(&limits, &provider);
	show_provider(&limits, &provider);
	for (i = 0; i < provider.num_provider_specific_attr; i++)
		show(provider.provider_specific_attr[i].name,
		     provider.provider_specific_attr[i].value);
	show_limits(&limits, &provider);
}

static bool run_checks(void)
{
	unsigned int i, count[3] = {};

	for (i = 0; i < ARRAY_SIZE(checks); i++) {
		enum result result = checks[i].run();

		count[result]++;
		printf("\t%-32s %s%s\n", checks[i].name,
		       result == OK ? "ok" :
		       result == UNSUPPORTED ? "not supported: " : "FAILED: ",
		       result == OK ? "" : reason);
		/* Others may still succeed on a new connection. */
		if (result == FAILED &&
		    (checks[i].needed || connect_sides(DAT_HANDLE_NULL)))
			break;
	}
	printf("\t%u ok, %u failed, %u not supported, %zu not run\n", count[OK],
	       count[FAILED], count[UNSUPPORTED],
	       ARRAY_SIZE(checks) - count[OK] - count[FAILED] -
	       count[UNSUPPORTED]);
	return !count[FAILED];
}

/**
 * check_ia - run the checks on an IA, and print the report
 * @name: the IA
 *
 * Return: false if a check failed, or if the IA cannot be opened; standard error has the
 * reason.
 */
bool check_ia(const char *name)
{
	DAT_RETURN ret;
	bool good;

	ret = dat_ia_open((char *)name, 8, &async_evd, &ia);
	if (!ret)
		ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &limits,
				   DAT_PROVIDER_FIELD_ALL, &provider);
	if (ret) {
		fprintf(stderr, "dat-info: %s: %s\n", name, explain(ret));
		return false;
	}
	printf("%s\n", name);
	show_host();
	good = run_checks();
	if (!good)
		fprintf(stderr, "dat-info: %s: a check failed, see the report\n", name);
	free_memory(&from);
	free_memory(&to);
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return good;
}
