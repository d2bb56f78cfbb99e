// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * crowd.c - processes that post at once, to see which locks they contend for
 *
 * crowd PROCESSES EPS SECONDS: each process connects half of its EPs to the other half. When all
 * have, each posts an RDMA Write of 64 bytes on the EPs of the first half and takes the
 * completions, again and again. Prints the posts of all.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "many.h"
#include "pair.h"

#define BYTES	64
#define DTOS	4

/* Shared by all processes */
struct crowd {
	unsigned int ready;
	int go;
	int end;
	unsigned long posts;
};

static struct crowd *crowd;

/* Posts on each EP of the first half and takes all completions. */
static void round_of_posts(struct many *m, struct region *region)
{
	DAT_RMR_TRIPLET there = remote(region->rmr_context, region->buf + BYTES, BYTES);
	DAT_LMR_TRIPLET here = segment(region, 0, BYTES);
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	unsigned int i;
	DAT_EVENT event;
	DAT_COUNT nmore;

	for (i = 0; i < m->num / 2; i++)
		many_must(dat_ep_post_rdma_write(m->eps[i], 1, &here, cookie, &there,
						 DAT_COMPLETION_DEFAULT_FLAG),
			  "dat_ep_post_rdma_write");
	for (i = 0; i < m->num / 2; i++) {
		many_must(dat_evd_wait(m->dto_evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore),
			  "dat_evd_wait");
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			many_must(DAT_ABORT, "RDMA Write");
	}
}

static void post_until_end(unsigned int num)
{
	struct pair pair = {};
	struct region region;
	unsigned long posts = 0;
	struct many m;

	many_open(&m, num, DTOS);
	many_create(&m);
	many_connect(&m);
	pair.ia = m.ia;
	many_must(region_open(&pair, m.pz, &region, 2 * BYTES, DAT_MEM_PRIV_ALL_FLAG),
		  "dat_lmr_create");
	__atomic_add_fetch(&crowd->ready, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&crowd->go, __ATOMIC_SEQ_CST))
		usleep(10000);
	while (!__atomic_load_n(&crowd->end, __ATOMIC_SEQ_CST)) {
		round_of_posts(&m, &region);
		posts += num / 2;
	}
	__atomic_add_fetch(&crowd->posts, posts, __ATOMIC_SEQ_CST);
	many_close(&m);
	exit(0);
}

/* Ends the program if a child has failed. */
static void look_for_failure(int options)
{
	int status;

	if (waitpid(-1, &status, options) > 0 && status) {
		kill(0, SIGTERM);
		exit(1);
	}
}

/* Runs the command of the environment, which resets or reads counters of the kernel. */
static void hook(const char *name)
{
	const char *command = getenv(name);

	if (command && system(command))
		exit(1);
}

int main(int argc, char **argv)
{
	unsigned int processes, eps, seconds, i;

	if (argc != 4)
		return 2;
	processes = strtoul(argv[1], NULL, 0);
	eps = strtoul(argv[2], NULL, 0) / 2 * 2;
	seconds = strtoul(argv[3], NULL, 0);
	crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (crowd == MAP_FAILED || !eps)
		return 1;
	for (i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (!pid)
			post_until_end(eps);
		/* One after the other: the CM refuses a crowd that connects at once. */
		while (__atomic_load_n(&crowd->ready, __ATOMIC_SEQ_CST) <= i) {
			look_for_failure(WNOHANG);
			usleep(10000);
		}
	}
	hook("CROWD_BEGIN");
	__atomic_store_n(&crowd->go, 1, __ATOMIC_SEQ_CST);
	sleep(seconds);
	hook("CROWD_END");
	__atomic_store_n(&crowd->end, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < processes; i++)
		look_for_failure(0);
	printf("crowd-%ux%u: %lu posts in %u s\n", processes, eps, crowd->posts, seconds);
	return 0;
}
