// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * uapi_start.c - datfuzz: steps of /dev/dat that are worth having together
 */
#include "fuzz.h"

/* EVDs: 0 asynchronous, 1 and 2 DTOs, 3 and 4 connections, 5 requests */
#define IA	"ia_open;pz_create;"
#define EVDS	"evd_create;evd_create;"						\
		"evd_create min_qlen=16 flags=0x40;evd_create min_qlen=16 flags=0x40;"	\
		"evd_create min_qlen=8 flags=0x10;"
#define MEMORY	"lmr_create address=mem:0x0 length=0x10000;"				\
		"lmr_create address=mem:0x80000 length=0x4000 privileges=0x73;rmr_create;"
#define CONNECT	"psp_create;ep_connect;harvest evd=evd:5 wait=20;cr_accept cr=cr:-1 ep=ep:1;" \
		"harvest evd=evd:3 wait=20;harvest evd=evd:4 wait=20;"
#define EPS	"ep_create;ep_create recv_evd=evd:2 request_evd=evd:2 connect_evd=evd:4;"
#define RECEIVES \
		"segment virtual_address=lmr:0+0x8000 length=4096;dto opcode=1 times=12;post;"	\
		"segment virtual_address=lmr:0+0x8000 length=4096;dto opcode=1 ep=ep:1 times=12;post;"
#define SRQ	"srq_create;ep_create;ep_create recv_evd=evd:2 request_evd=evd:2 "	\
		"connect_evd=evd:4 srq=srq:0;"						\
		"segment virtual_address=lmr:0+0x8000 length=4096;"			\
		"dto opcode=5 ep=srq:0 times=16;post;"
#define CNO	"cno_create;evd_create cno=cno:0;evd_create cno=cno:0;"		\
		"evd_create min_qlen=16 flags=0x40 cno=cno:0;evd_create min_qlen=16 flags=0x40;" \
		"evd_create min_qlen=8 flags=0x10 cno=cno:0;"

const struct start uapi_starts[] = {
	{ "pair", IA EVDS EPS MEMORY RECEIVES CONNECT, 9 },
	{ "srq", IA EVDS MEMORY SRQ CONNECT, 9 },
	{ "cno", IA CNO EPS MEMORY RECEIVES CONNECT, 9 },
	{ "unconnected", IA EVDS EPS MEMORY, 0 },
	{ "nothing", "", 0 },
	{ NULL },
};

const char * const uapi_templates[] = {
	/* A window, bound and used */
	"segment length=1024;dto opcode=4 ep=ep:1 rmr=rmr:0 privileges=0x33;post;"
	"segment;dto opcode=2 remote_context=window:0;post;"
	"segment virtual_address=lmr:0+0x100;dto opcode=3 remote_context=window:0;post;",
	/* A peer that invalidates it */
	"segment length=64;dto opcode=4 ep=ep:1 rmr=rmr:-1 privileges=0x22;post;"
	"segment;dto opcode=6 remote_context=window:-1;post;",
	"rmr_create;rmr_create_for_ep;segment length=256;dto opcode=4 rmr=rmr:-1;post;rmr_query;",
	/* A new connection of the same EPs */
	"ep_disconnect;ep_disconnect ep=ep:1;harvest evd=evd:3 wait=1;harvest evd=evd:4 wait=1;"
	"ep_reset;ep_reset handle=ep:1;ep_connect;harvest evd=evd:5 wait=2;"
	"cr_accept cr=cr:-1 ep=ep:1;harvest evd=evd:3 wait=2;",
	/* Another pair */
	"ep_create;ep_create recv_evd=evd:2 request_evd=evd:2 connect_evd=evd:4;"
	"ep_connect ep=ep:-2;harvest evd=evd:5 wait=2;cr_accept cr=cr:-1 ep=ep:-1;"
	"harvest evd=evd:3 wait=2;segment;dto opcode=1 ep=ep:-1 times=2;post;"
	"segment;dto ep=ep:-2 times=2;post;",
	"ep_create;ep_dup_connect ep=ep:-1;harvest evd=evd:5 wait=2;ep_create;"
	"cr_accept cr=cr:-1 ep=ep:-1;",
	/* Other service points */
	"ep_create;rsp_create conn_qual=1 ep=ep:-1;ep_create;ep_connect ep=ep:-1 conn_qual=qual.rsp:-1;"
	"harvest evd=evd:5 wait=2;cr_query cr=cr:-1;cr_accept cr=cr:-1 ep=0;",
	"psp_create conn_qual=2 flags=1;ep_create;ep_connect ep=ep:-1 conn_qual=qual.psp:-1;"
	"harvest evd=evd:5 wait=2;cr_accept cr=cr:-1 ep=0;",
	"csp_create address=3;ep_create;ep_common_connect ep=ep:-1 remote_address=qual.csp:-1;"
	"harvest evd=evd:5 wait=2;ep_create;cr_accept cr=cr:-1 ep=ep:-1;",
	"psp_create_any;ep_create;ep_connect ep=ep:-1 conn_qual=qual.psp:-1 private_data_size=16;"
	"harvest evd=evd:5 wait=2;cr_handoff cr=cr:-1;cr_reject_with_data cr=cr:-1;",
	"ep_create;ep_connect ep=ep:-1;harvest evd=evd:5 wait=2;cr_reject handle=cr:-1;"
	"harvest evd=evd:3 wait=1;",
	/* Memory */
	"lmr_create mem_type=1 base=lmr:0;lmr_free;segment;dto;post;",
	"lmr_create mem_type=2 address=mem:0x80000 length=0x2000;"
	"lmr_create mem_type=2 address=mem:0x80000 length=0x2000;lmr_free handle=lmr:-1;",
	"lmr_create address=mem:0x20000 length=0x8000;munmap address=mem:0x20000 pages=4;"
	"segment virtual_address=lmr:-1 lmr_context=local:-1;dto;post;lmr_free handle=lmr:-1;",
	"lmr_create address=mem:0x10000 length=0x4000;remap address=mem:0x10000 pages=4;"
	"lmr_create address=mem:0x10000 length=0x4000;lmr_query lmr=lmr:-1;",
	"lmr_create address=mem:0x1003 length=0x2ffb privileges=0x433;segment length=16;"
	"dto opcode=2 remote_address=8 remote_context=remote:-1 remote_length=16;post;",
	"segment;segment virtual_address=lmr:0+0x4000;lmr_sync;",
	/* Queues */
	"evd_create flags=1 min_qlen=8;evd_post_se evd=evd:-1;evd_resize evd=evd:-1 min_qlen=64;"
	"evd_post_se evd=evd:-1;harvest evd=evd:-1;evd_free handle=evd:-1;",
	"evd_resize evd=evd:1 min_qlen=512;segment;dto times=4;post;harvest evd=evd:1 wait=1;"
	"evd_resize evd=evd:1 min_qlen=300;harvest evd=evd:1;",
	"cno_create;evd_modify_cno evd=evd:1 cno=cno:-1;cno_set_agent cno=cno:-1;segment;dto;post;"
	"cno_wait cno=cno:-1 agent=1;evd_set evd=evd:1 mask=1 state=1;cno_free handle=cno:-1;",
	"fd handle=evd:1;segment;dto times=2;post;poll fd=fd:-1 wait=2;close_fd fd=fd:-1;",
	"cno_create;evd_create flags=1 min_qlen=4 cno=cno:-1;fd handle=cno:-1;"
	"evd_post_se evd=evd:-1;poll fd=fd:-1 wait=1 epoll=1;cno_wait cno=cno:-1;",
	"ep_create attr.recv_completion_flags=0x10 attr.request_completion_flags=0x10;"
	"evd_wait threshold=2;evd_pull evd=evd:1;",
	"segment;dto flags=4 times=3;post;evd_pull evd=evd:1;harvest evd=evd:1;",
	/* SRQs */
	"srq_create;srq_set_lw srq=srq:-1 value=4;segment length=128;dto opcode=5 ep=srq:-1 times=6;"
	"post;srq_resize srq=srq:-1 value=64;srq_query srq=srq:-1;srq_free handle=srq:-1;",
	"ep_set_watermark ep=ep:1 soft=2 hard=20;ep_recv_query ep=ep:1;segment;dto times=4;post;",
	"ep_modify mask=0x40000 attr.max_recv_dtos=8;ep_query;",
	"ep_free;ep_free handle=ep:0;lmr_free;rmr_free;pz_free;",
	"file=1 ia_open;file=1 pz_create;file=1 ep_create;file=1 lmr_create;"
	"file=1 segment;file=1 dto;file=1 post;",
	"ia_close;ia_open;pz_create;",
	NULL,
};
