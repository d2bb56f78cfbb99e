/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * kfi.h - the objects of libkdapl-fi, a provider of libfabric over libdat
 *
 * An object of libfabric begins with its fid and has one object of DAT. The comment on
 * each structure names it.
 */
#ifndef KFI_H
#define KFI_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/providers/fi_prov.h>

#include <dat/dat_linux.h>

#define KFI_API_VERSION	FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)
#define KFI_VERSION	FI_VERSION(1, 0)

#define KFI_CAPS	(FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE | \
			 FI_REMOTE_READ | FI_REMOTE_WRITE)
#define KFI_DOMAIN_CAPS	(FI_LOCAL_COMM | FI_REMOTE_COMM)
#define KFI_MR_BASIC	(FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

/* Requests and receives of an endpoint, unless the program asks for more */
#define KFI_DEFAULT_SIZE	256
/* Bytes that fi_inject() takes */
#define KFI_INJECT_SIZE	64
/* Completions that one call takes out of an EVD */
#define KFI_BATCH	16
/* The most segments of a DTO that the provider offers */
#define KFI_MAX_IOV	8
/* Private data of any transport */
#define KFI_MAX_PRIVATE	256

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#define kfi_container(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/**
 * struct kfi_fabric - an IA
 * @fid: head
 * @ia: the IA
 * @attr: its limits; its address, which lives as long as the IA is open
 * @max_private: bytes of private data that the IA carries
 * @is_iwarp: the target of an RDMA Read needs the privilege of RDMA Writes; no immediate data
 * @refs: domains, EQs and passive endpoints
 */
struct kfi_fabric {
	struct fid_fabric fid;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	DAT_COUNT max_private;
	bool is_iwarp;
	int refs;
};

/**
 * struct kfi_domain - a PZ
 * @fid: head
 * @fabric: its fabric
 * @pz: the PZ
 * @threading: what the program promises
 * @refs: MRs, endpoints and CQs
 */
struct kfi_domain {
	struct fid_domain fid;
	struct kfi_fabric *fabric;
	DAT_PZ_HANDLE pz;
	enum fi_threading threading;
	int refs;
};

/**
 * struct kfi_mr - an LMR
 * @fid: head; the key is the RMR context, the descriptor the LMR context
 * @domain: its domain
 * @lmr: the LMR
 */
struct kfi_mr {
	struct fid_mr fid;
	struct kfi_domain *domain;
	DAT_LMR_HANDLE lmr;
};

/**
 * struct kfi_queue - an EVD
 * @evd: the EVD
 * @qlen: its length
 * @reserved: events that there may be at once
 * @fd: descriptor for the program: readable when @evd_fd or @event_fd is; or -1
 * @evd_fd: descriptor of the EVD, or -1
 * @event_fd: readable if there is more to read than in the EVD; or -1
 * @is_flagged: @event_fd is readable
 * @wait_obj: what the program can wait with
 * @waiters: threads that wait; one more if the program itself may wait with @fd
 * @is_polled: it may
 * @refs: endpoints
 * @lock: guards what was taken out of the EVD and not yet read
 */
struct kfi_queue {
	DAT_EVD_HANDLE evd;
	DAT_COUNT qlen;
	DAT_COUNT reserved;
	int fd;
	int evd_fd;
	int event_fd;
	bool is_flagged;
	enum fi_wait_obj wait_obj;
	int waiters;
	bool is_polled;
	int refs;
	pthread_mutex_t lock;
};

/**
 * struct kfi_cq - an EVD for DTOs
 * @fid: head
 * @domain: its domain
 * @queue: the EVD
 * @format: format of the entries
 * @completions: taken out of the EVD and not yet read
 * @size: room there
 * @first: the first of them
 * @num: their number
 * @dtos: DTOs that its endpoints and shared receive contexts can have outstanding
 * @posts: DTOs posted since the EVD was found empty
 * @signalled: fi_cq_signal() was called
 * @is_counted: an endpoint with a counter uses it
 * @only_counts: belongs to a counter; the program cannot read it
 * @eps: tree of the endpoints whose DTOs complete here, see tsearch(3)
 * @closing: endpoints that are being freed; what they flush is discarded
 * @closed: endpoints that were closed since the CQ was found empty
 */
struct kfi_cq {
	struct fid_cq fid;
	struct kfi_domain *domain;
	struct kfi_queue queue;
	enum fi_cq_format format;
	DAT_LINUX_COMPLETION *completions;
	DAT_COUNT size;
	DAT_COUNT first;
	DAT_COUNT num;
	DAT_COUNT dtos;
	DAT_COUNT posts;
	bool signalled;
	bool is_counted;
	bool only_counts;
	void *eps;
	int closing;
	struct kfi_ep *closed;
};

/**
 * struct kfi_cntr - a counter of completions
 * @fid: head
 * @domain: its domain
 * @refs: endpoints
 * @value: completions
 * @errors: those that are errors
 * @wait_obj: what the program can wait with
 * @evds_fd: readable when the EVD of a CQ is
 * @wake_fd: readable when a value has changed while @waiters is not 0
 * @event_fd: readable when a value has changed since fi_trywait(); -1 without FI_WAIT_FD
 * @fd: descriptor for the program: readable when @evds_fd or @event_fd is; or -1
 * @waiters: threads that wait
 * @wait_lock: guards @is_watched
 * @woken: the thread that sleeps for all was woken up
 * @is_watched: a thread sleeps for all
 * @lock: guards @watches and @own
 * @watches: the CQs
 * @own: CQ of endpoints that have this counter alone, or NULL
 */
struct kfi_cntr {
	struct fid_cntr fid;
	struct kfi_domain *domain;
	int refs;
	uint64_t value;
	uint64_t errors;
	enum fi_wait_obj wait_obj;
	int evds_fd;
	int wake_fd;
	int event_fd;
	int fd;
	int waiters;
	pthread_mutex_t wait_lock;
	pthread_cond_t woken;
	bool is_watched;
	pthread_mutex_t lock;
	struct kfi_watch *watches;
	struct kfi_cq *own;
};

/**
 * struct kfi_event - an event that a program has not read yet
 * @next: the next one
 * @type: FI_CONNREQ, ...
 * @err: 0, or the error of an error entry
 * @prov_errno: number of the DAT event, for an error
 * @fid: the object
 * @written: it is one of fi_eq_write(), with @data alone
 * @size: bytes of @entry and @data
 * @entry: what fi_eq_read() returns
 * @data: private data, or what fi_eq_write() was given
 */
struct kfi_event {
	struct kfi_event *next;
	uint32_t type;
	int err;
	int prov_errno;
	fid_t fid;
	bool written;
	size_t size;
	struct fi_eq_cm_entry entry;
	uint8_t data[KFI_MAX_PRIVATE];
};

/**
 * struct kfi_eq - an EVD for connections, and one for connection requests
 * @fid: head
 * @fabric: its fabric
 * @queue: the EVD for connections
 * @requests: the EVD for connection requests, from the first fi_listen() on
 * @requests_fd: its descriptor, or -1
 * @events: taken out of the EVDs, or made here, and not yet read
 * @err_data: private data of the error that was read last
 */
struct kfi_eq {
	struct fid_eq fid;
	struct kfi_fabric *fabric;
	struct kfi_queue queue;
	DAT_EVD_HANDLE requests;
	int requests_fd;
	struct kfi_event *events;
	uint8_t err_data[KFI_MAX_PRIVATE];
};

/**
 * struct kfi_connreq - a CR, until it is accepted or rejected
 * @fid: head, the handle of the fi_info of FI_CONNREQ
 * @next: another one of the passive endpoint
 * @pep: the passive endpoint; NULL after its end
 * @fabric: the fabric
 * @cr: the CR
 * @ep: the endpoint that will accept it, or NULL
 */
struct kfi_connreq {
	struct fid fid;
	struct kfi_connreq *next;
	struct kfi_pep *pep;
	struct kfi_fabric *fabric;
	DAT_CR_HANDLE cr;
	struct kfi_ep *ep;
};

/**
 * struct kfi_pep - a PSP
 * @fid: head
 * @fabric: its fabric
 * @eq: where requests are reported
 * @info: its attributes and addresses
 * @psp: the PSP, while it listens
 * @connreqs: requests without an answer
 */
struct kfi_pep {
	struct fid_pep fid;
	struct kfi_fabric *fabric;
	struct kfi_eq *eq;
	struct fi_info *info;
	DAT_PSP_HANDLE psp;
	struct kfi_connreq *connreqs;
};

/* What counters count */
enum kfi_counted {
	KFI_SEND,
	KFI_RECV,
	KFI_WRITE,
	KFI_READ,
	KFI_NUM_COUNTED
};

/**
 * struct kfi_batch - DTOs that wait for more of them, see FI_MORE
 * @first: the first one that is not yet posted
 * @num: their number
 * @dtos: the DTOs
 * @iovs: their segments
 */
struct kfi_batch {
	DAT_COUNT first;
	DAT_COUNT num;
	DAT_LINUX_DTO dtos[KFI_BATCH];
	DAT_LMR_TRIPLET iovs[KFI_BATCH][KFI_MAX_IOV];
};

/**
 * struct kfi_feed - a CQ where receives of a shared receive context complete
 * @next: the next one
 * @cq: the CQ
 * @users: endpoints that have both
 */
struct kfi_feed {
	struct kfi_feed *next;
	struct kfi_cq *cq;
	int users;
};

/**
 * struct kfi_ep - an EP, or an SRQ
 * @fid: head
 * @domain: its domain
 * @eq: where its connection is reported
 * @tx_cq: completions of requests
 * @rx_cq: completions of receives
 * @srx: the shared receive context, or NULL
 * @cntrs: the counters
 * @selective: requests complete silently without FI_COMPLETION
 * @info: its attributes and addresses
 * @connreq: the request that it will accept
 * @ep: the EP, from fi_enable() on; none of a shared receive context
 * @receiver: where receives are posted: @ep or an SRQ; none of an endpoint with @srx
 * @max_requests: that can be outstanding; perhaps more than the program has asked for
 * @max_receives: that can be outstanding, here or in the SRQ
 * @established: FI_CONNECTED was reported
 * @refs: endpoints of a shared receive context
 * @is_closed: fi_close() was called
 * @next_closed: another one of @rx_cq
 * @feeds: CQs of the endpoints of a shared receive context
 * @lock: guards all that follows, unless threads take turns in the domain
 * @batch: not NULL after the first FI_MORE
 * @slots: copies of injected data
 * @slots_lmr: the LMR of @slots
 * @slots_context: its LMR context
 * @num_slots: more than requests that can be posted, or wait in @batch
 * @next_slot: the slot whose request is the oldest
 * @silent: with a counter: for each request, whether the program sees its completion
 * @num_silent: more than requests that can be posted
 * @posted: requests with an entry in @silent
 * @completed: those that have completed
 */
struct kfi_ep {
	struct fid_ep fid;
	struct kfi_domain *domain;
	struct kfi_eq *eq;
	struct kfi_cq *tx_cq;
	struct kfi_cq *rx_cq;
	struct kfi_ep *srx;
	struct kfi_cntr *cntrs[KFI_NUM_COUNTED];
	bool selective;
	struct fi_info *info;
	struct kfi_connreq *connreq;
	DAT_EP_HANDLE ep;
	DAT_HANDLE receiver;
	DAT_COUNT max_requests;
	DAT_COUNT max_receives;
	bool established;
	int refs;
	bool is_closed;
	struct kfi_ep *next_closed;
	struct kfi_feed *feeds;
	pthread_mutex_t lock;
	struct kfi_batch *batch;
	uint8_t *slots;
	DAT_LMR_HANDLE slots_lmr;
	DAT_LMR_CONTEXT slots_context;
	size_t num_slots;
	size_t next_slot;
	bool *silent;
	size_t num_silent;
	size_t posted;
	size_t completed;
};

extern struct fi_provider kfi_provider;
extern struct fi_ops_msg kfi_msg_ops;
extern struct fi_ops_rma kfi_rma_ops;
extern struct fi_ops_cm kfi_ep_cm_ops;

int kfi_errno(DAT_RETURN ret);
int kfi_failed(const char *call, DAT_RETURN ret);
const char *kfi_text(const char *text, char *buf, size_t len);
int kfi_dto_errno(DAT_DTO_COMPLETION_STATUS status);
void kfi_get(int *refs);
void kfi_put(int *refs);
bool kfi_is_used(int *refs);
int kfi_no_bind(struct fid *fid, struct fid *other, uint64_t flags);
int kfi_no_control(struct fid *fid, int command, void *arg);
int kfi_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
		    void *context);
size_t kfi_sockaddr_size(const void *addr);
void *kfi_copy_addr(const void *addr, size_t *size);
uint16_t kfi_port(const void *addr);
void kfi_set_port(void *addr, uint16_t port);

int kfi_queue_open(struct kfi_queue *queue, DAT_IA_HANDLE ia, DAT_COUNT qlen, int flags,
		   enum fi_wait_obj wait_obj);
void kfi_close_fd(int fd);
int kfi_add_fd(int epoll_fd, int fd);
int kfi_poll_fd(int fd, int other);
void kfi_queue_close(struct kfi_queue *queue);
int kfi_queue_add_evd(struct kfi_queue *queue, DAT_EVD_HANDLE evd, int *fd);
void kfi_queue_flag(struct kfi_queue *queue);
void kfi_queue_unflag(struct kfi_queue *queue);
void kfi_queue_leave(struct kfi_queue *queue, bool is_left);
void kfi_queue_may_poll(struct kfi_queue *queue);
int kfi_queue_reserve(struct kfi_queue *queue, DAT_COUNT num);
void kfi_queue_release(struct kfi_queue *queue, DAT_COUNT num);
int kfi_wait_control(enum fi_wait_obj wait_obj, int fd, int command, void *arg);
int kfi_queue_wait(struct kfi_queue *queue, int64_t deadline);
int64_t kfi_deadline(int timeout);
int kfi_time_left(int64_t deadline);

int kfi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info);
int kfi_ia_open(const char *name, struct kfi_fabric *fabric);
int kfi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
int kfi_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
	       void *context);
extern struct fi_ops_mr kfi_mr_ops;

extern char kfi_injected;

int kfi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		void *context);
bool kfi_cq_is_empty(struct kfi_cq *cq);
void kfi_cq_lock(struct kfi_cq *cq);
void kfi_cq_unlock(struct kfi_cq *cq);
void kfi_cq_progress(struct kfi_cq *cq);
int kfi_cq_reserve(struct kfi_cq *cq, DAT_COUNT dtos);
void kfi_cq_release(struct kfi_cq *cq, DAT_COUNT dtos);
bool kfi_cq_has_room(struct kfi_cq *cq);
void kfi_cq_fail(struct kfi_cq *cq, const DAT_LINUX_DTO *dto, DAT_DTO_COMPLETION_STATUS status);
int kfi_cq_add(struct kfi_cq *cq, struct kfi_ep *ep);
void kfi_cq_remove(struct kfi_cq *cq, struct kfi_ep *ep);
void kfi_cq_discard(struct kfi_cq *cq);
void kfi_cq_keep(struct kfi_cq *cq, struct kfi_ep *ep);

int kfi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		  void *context);
void kfi_cntr_count(struct kfi_cntr *cntr, bool is_error);
int kfi_cntr_watch(struct kfi_cntr *cntr, struct kfi_cq *cq);
void kfi_cntr_unwatch(struct kfi_cntr *cntr, struct kfi_cq *cq);
int kfi_cntr_cq(struct kfi_cntr *cntr, struct kfi_cq **cq);
bool kfi_cntr_is_quiet(struct kfi_cntr *cntr);

int kfi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		void *context);
int kfi_eq_listen(struct kfi_eq *eq);
int kfi_eq_fail(struct kfi_eq *eq, fid_t fid, int err);
bool kfi_eq_is_empty(struct kfi_eq *eq);
void kfi_eq_forget(struct kfi_eq *eq, fid_t fid);

int kfi_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
		   void *context);
struct kfi_event *kfi_connection_request(const DAT_CR_ARRIVAL_EVENT_DATA *data);
int kfi_connreq_take(struct fi_info *info, struct kfi_ep *ep);
void kfi_connreq_put(struct kfi_ep *ep);
size_t kfi_private_data(uint8_t *to, const void *data, DAT_COUNT size);

int kfi_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		 void *context);
int kfi_srx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
	    void *context);
int kfi_getopt(const struct kfi_fabric *fabric, int level, int optname, void *optval,
	       size_t *optlen);
int kfi_no_setopt(fid_t fid, int level, int optname, const void *optval, size_t optlen);
void kfi_ep_free(struct kfi_ep *ep);
bool kfi_ep_count(struct kfi_ep *ep, const DAT_LINUX_COMPLETION *c);
ssize_t kfi_ep_post(struct kfi_ep *ep, DAT_LINUX_DTO *dto, uint64_t flags);
ssize_t kfi_ep_inject(struct kfi_ep *ep, DAT_LINUX_DTO *dto, const struct iovec *iov,
		      size_t count, uint64_t flags);
void kfi_ep_free_posts(struct kfi_ep *ep);

#endif /* KFI_H */
