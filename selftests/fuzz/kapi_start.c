// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * kapi_start.c - datfuzz: steps of the kernel API that are worth having together
 *
 * Slots are upcalls. An EVD that takes software events has flag 1, so that a step can run in
 * its upcall at any time: "where" is 16 plus the slot, plus 256 not to wait for the upcall.
 * 1 and 2 are softirq. The number 0x6b617069 is the handle of the upcall's event.
 */
#include "fuzz.h"

/* EVDs: 0 asynchronous, 1 and 2 DTOs, 3 and 4 connections, 5 requests */
#define IA	"ia_openv;pz_create;"
#define EVDS	"evd_kcreate;evd_kcreate;evd_kcreate qlen=16 flags=0x41;"		\
		"evd_kcreate qlen=16 flags=0x41;evd_kcreate qlen=8 flags=0x11;"
#define UPCALLS	"evd_kcreate policy=1 slot=1;evd_kcreate policy=2 slot=2;"		\
		"evd_kcreate qlen=16 flags=0x41 policy=1 slot=3;"			\
		"evd_kcreate qlen=16 flags=0x41 policy=2 slot=4;"			\
		"evd_kcreate qlen=8 flags=0x11 policy=1 slot=5;evd_modify_upcall slot=0;"
#define MEMORY	"lmr_kcreate address=mem:0x0 length=0x10000;"					\
		"lmr_kcreate address=mem:0xc0000 length=0x4000 privileges=0x73;"		\
		"lmr_allocate;rmr_create;rmr_create;"
#define CONNECT	"psp_create;ep_connect;harvest wait=20;cr_accept cr=cr:-1 ep=ep:1;await;"	\
		"await ep=ep:1;"
#define EPS	"ep_create;ep_create recv_evd=evd:2 request_evd=evd:2 connect_evd=evd:4;"
#define RECEIVE	"segment virtual_address=lmr:0+0x8000 length=4096;ep_post_recv;"		\
		"segment virtual_address=lmr:0+0x8000 length=4096;ep_post_recv ep=ep:1;"
#define SRQ	"srq_create;ep_create_with_srq;ep_create_with_srq recv_evd=evd:2 "		\
		"request_evd=evd:2 connect_evd=evd:4;"
#define SRQ_RECEIVE "segment virtual_address=lmr:0+0x8000 length=4096;srq_post_recv;"
/* A second IA, whose handles are foreign to the objects of the first */
#define FOREIGN	"ia_openv;pz_create ia=ia:1;evd_kcreate ia=ia:1;"			\
		"ep_create ia=ia:1 pz=pz:1 recv_evd=evd:-1 request_evd=evd:-1 connect_evd=0;" \
		"lmr_kcreate ia=ia:1 pz=pz:1;"
#define FOUR(_text)	_text _text _text _text

const struct start kapi_starts[] = {
	{ "pair", IA EVDS EPS MEMORY FOUR(RECEIVE) CONNECT FOREIGN, 9 },
	{ "upcalls", IA UPCALLS EPS MEMORY FOUR(RECEIVE) CONNECT FOREIGN, 9 },
	{ "srq", IA UPCALLS MEMORY SRQ FOUR(SRQ_RECEIVE SRQ_RECEIVE) CONNECT, 9 },
	{ "unconnected", IA EVDS EPS MEMORY, 0 },
	{ "nothing", "", 0 },
	{ NULL },
};

const char * const kapi_templates[] = {
	/* A window, bound and used, then invalidated by the peer */
	"segment length=1024;rmr_bind ep=ep:1 privileges=0x33;"
	"segment;ep_post_rdma_write remote_context=window:0;"
	"segment virtual_address=lmr:0+0x100;ep_post_rdma_read remote_context=window:0;",
	"segment length=64;rmr_bind_1_2 ep=ep:1 rmr=rmr:-1;"
	"segment;ep_post_send_with_invalidate remote_context=window:-1;rmr_query rmr=rmr:-1;",
	"rmr_create_for_ep;segment length=256;rmr_bind rmr=rmr:-1;rmr_bind rmr=rmr:-1;"
	"rmr_renew rmr=rmr:-1;rmr_free rmr=rmr:-1;",
	/* Fast registrations */
	"lmr_fmr;segment virtual_address=lmr:2 lmr_context=local:2;ep_post_send;lmr_invalidate;",
	"lmr_fmr where=2 mem_type=2;lmr_invalidate where=1 flags=0x20;lmr_fmr mem_type=3;"
	"lmr_invalidate;",
	"lmr_allocate pages=64;lmr_fmr lmr=lmr:-1 mem_type=6 page_size=1 pages=2;"
	"lmr_free lmr=lmr:-1;",
	"lmr_fmr mem_type=4 pages=2;segment virtual_address=lmr:2 lmr_context=local:2 length=64;"
	"rmr_bind lmr=lmr:2;lmr_invalidate;segment length=0;rmr_bind;lmr_invalidate;",
	/* The reserved LMR, and one without a registration */
	"ia_reserved_lmr;segment virtual_address=mem:0x100 lmr_context=local:-1;ep_post_send;"
	"lmr_free lmr=lmr:-1;",
	"lmr_kcreate mem_type=5 privileges=0x11;segment virtual_address=lmr:-1 "
	"lmr_context=local:-1;ep_post_send;lmr_free lmr=lmr:-1;",
	"lmr_kcreate mem_type=1;lmr_free;lmr_query lmr=lmr:-1;lmr_free lmr=lmr:-1;",
	"lmr_kcreate mem_type=2 length=4 va_type=1;segment virtual_address=0 "
	"lmr_context=local:-1;ep_post_rdma_write remote_address=lmr:1 remote_context=remote:1;",
	"lmr_kcreate mem_type=3 address=mem:0x3 length=0x2ffb;lmr_sync_rdma_read;"
	"segment;lmr_sync_rdma_write;",
	/* A new connection of the same EPs */
	"ep_disconnect;ep_disconnect ep=ep:1;await state=11 wait=1;await ep=ep:1 state=11 wait=1;"
	"ep_reset;ep_reset ep=ep:1;ep_connect;harvest wait=2;cr_accept cr=cr:-1 ep=ep:1;"
	"await wait=2;",
	/* Another pair */
	"ep_create;ep_create recv_evd=evd:2 request_evd=evd:2 connect_evd=evd:4;"
	"ep_connect ep=ep:-2;harvest wait=2;cr_accept cr=cr:-1 ep=ep:-1;await ep=ep:-2 wait=2;"
	"segment;ep_post_recv ep=ep:-1;segment;ep_post_send ep=ep:-2;ep_free ep=ep:-1;",
	"ep_create;ep_dup_connect ep=ep:-1;harvest wait=2;ep_create;cr_accept cr=cr:-1 ep=ep:-1;",
	/* Other service points */
	"ep_create;rsp_create qual=1 ep=ep:-1;ep_create;ep_connect ep=ep:-1 qual=qual.rsp:-1;"
	"harvest wait=2;cr_query cr=cr:-1;cr_accept cr=cr:-1 ep=0;rsp_free;",
	"psp_create qual=2 flags=1;ep_create;ep_connect ep=ep:-1 qual=qual.psp:-1;harvest wait=2;"
	"cr_accept cr=cr:-1 ep=0;psp_free psp=psp:-1;",
	"csp_create address=3;ep_create;ep_common_connect ep=ep:-1 address=qual.csp:-1;"
	"harvest wait=2;ep_create;cr_accept cr=cr:-1 ep=ep:-1;",
	"psp_create_any;ep_create;ep_connect ep=ep:-1 qual=qual.psp:-1 size=16;harvest wait=2;"
	"cr_handoff cr=cr:-1;cr_reject cr=cr:-1 size=16;",
	"ep_create;ep_connect ep=ep:-1;harvest wait=2;cr_reject_no_room cr=cr:-1;",
	/* Upcalls answer requests and completions, free their EVD, and disable themselves. */
	"ep_create;ep_create;cr_accept cr=0x6b617069 ep=ep:-1 where=0x115;ep_connect ep=ep:-2;",
	"ep_create;ep_connect ep=ep:-1;cr_reject cr=0x6b617069 where=0x115;evd_flush_upcalls "
	"evd=evd:5;",
	"segment;ep_post_send where=0x111;segment;ep_post_recv ep=0x6b617069 where=0x111;"
	"segment;ep_post_send;segment;ep_post_send;",
	"evd_modify_upcall evd=evd:1 policy=0 where=17;evd_modify_upcall evd=evd:1 slot=1;"
	"evd_modify_upcall evd=evd:1 policy=3;evd_modify_upcall evd=evd:1 policy=2 slot=6;",
	"evd_kcreate flags=1 policy=1 slot=7;evd_free evd=evd:-1 where=23;",
	"evd_kcreate flags=0x41 policy=2 slot=7;evd_resize evd=evd:-1 where=23;"
	"evd_query evd=evd:-1 where=23;evd_flush_upcalls evd=evd:-1 where=23;",
	"ep_disconnect where=0x113;ep_free ep=ep:-1 where=0x113;ep_reset ep=0x6b617069 where=0x113;"
	"evd_post_se evd=evd:3;",
	"ia_openv where=19;pz_create ia=ia:-1 where=20;pz_free pz=pz:-1 where=19;",
	"evd_set_completion;ep_create recv_evd=evd:-1 request_evd=evd:-1;"
	"ep_connect ep=ep:-1;harvest wait=2;ep_create;cr_accept cr=cr:-1 ep=ep:-1;"
	"await ep=ep:-2 wait=2;segment;ep_post_send ep=ep:-2;",
	/* Queues */
	"evd_kcreate flags=1 qlen=8;evd_post_se evd=evd:-1;evd_resize evd=evd:-1 qlen=64;"
	"evd_post_se evd=evd:-1 where=2;evd_dequeue evd=evd:-1 where=1;evd_free evd=evd:-1;",
	"evd_resize qlen=512;segment;ep_post_send;evd_dequeue;evd_resize qlen=300;",
	"segment;ep_post_send flags=4;segment;ep_post_send flags=1;evd_dequeue where=2;",
	"srq_set_lw value=4;segment length=128;srq_post_recv where=2;srq_resize value=64;srq_query;"
	"ep_set_watermark ep=ep:1 soft=2 hard=20;ep_recv_query ep=ep:1;",
	"srq_create;ep_create_with_srq srq=srq:-1;segment;srq_post_recv srq=srq:-1;srq_free "
	"srq=srq:-1;ep_free ep=ep:-1;srq_free srq=srq:-1;",
	"ep_modify mask=0x40000 max_recv_dtos=8;ep_query;ep_get_status where=2;",
	/* Ends, accounts and other providers */
	"ep_free;ep_free ep=ep:0;lmr_free;rmr_free;pz_free;evd_free evd=evd:1;",
	"ia_openv;ia_set_account ia=ia:-1;pz_create ia=ia:-1;lmr_kcreate ia=ia:-1 pz=pz:-1;"
	"evd_kcreate ia=ia:-1;ia_close ia=ia:-1 flags=1;ia_close ia=ia:-1;account_charge account=1;",
	"registry_add_module;ia_openv name=2;pz_create ia=ia:-1;set_consumer_context handle=pz:-1;"
	"get_consumer_context handle=pz:-1 where=2;pz_free pz=pz:-1;registry_remove_provider;"
	"ia_close ia=ia:-1;registry_remove_provider;",
	"ia_openv;ia_close ia=ia:-1;ia_close;ia_openv;pz_create;",
	"file=1 ia_openv;file=1 pz_create;file=1 lmr_kcreate;file=1 ia_close;",
	NULL,
};
