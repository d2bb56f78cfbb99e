// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * replay.c - datfuzz: runs the sequences of files again, as a test with TAP output
 *
 * A test fails if its file cannot be parsed, or if its process cannot begin or be killed.
 * The last test fails if no sequence has connected a pair or posted a DTO. tools/vm/splat.sh
 * finds what the kernel has logged meanwhile.
 */
#include <libgen.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

/* In shared memory: what went wrong with each file, the next file to run, and sums */
static struct replay {
	uint32_t next;
	uint32_t connected;
	uint32_t posted;
	struct run runs[MAX_JOBS];
	const char *wrong[];
} *state;

static void run_files(char **paths, uint32_t num, unsigned int job, unsigned int times)
{
	struct seq seq;
	unsigned int i;
	uint32_t at;

	while ((at = __atomic_fetch_add(&state->next, 1, __ATOMIC_RELAXED)) < num) {
		const char *wrong = load_seq(paths[at], &seq) ? NULL : "cannot be parsed";

		for (i = 0; i < times && !wrong; i++) {
			wrong = run_seq(&seq, &state->runs[job]);
			__atomic_fetch_add(&state->connected, state->runs[job].connected,
					   __ATOMIC_RELAXED);
			__atomic_fetch_add(&state->posted, state->runs[job].posted,
					   __ATOMIC_RELAXED);
		}
		state->wrong[at] = wrong;
	}
	_exit(0);
}

/**
 * replay - run sequences and print TAP
 * @paths: their files
 * @num: number of @paths
 * @jobs: number of sequences that run at a time
 * @times: how often each runs
 *
 * Return: the exit status.
 */
int replay(char **paths, int num, unsigned int jobs, unsigned int times)
{
	bool works, failed;
	unsigned int i;

	state = mmap(NULL, sizeof(*state) + num * sizeof(*state->wrong), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (state == MAP_FAILED)
		return 2;
	faults_possible();
	printf("TAP version 13\n1..%d\n", num + 1);
	fflush(NULL);
	for (i = 0; i < jobs; i++)
		if (!fork())
			run_files(paths, num, i, times);
	while (wait(NULL) > 0)
		;
	works = state->connected && state->posted;
	failed = !works;
	for (i = 0; i < num; i++) {
		if (state->wrong[i])
			printf("# %s\n", state->wrong[i]);
		printf("%s %u fuzz.%s\n", state->wrong[i] ? "not ok" : "ok", i + 1,
		       basename(paths[i]));
		failed |= !!state->wrong[i];
	}
	printf("# %u connected, %u posted\n", state->connected, state->posted);
	printf("%s %u fuzz.works\n", works ? "ok" : "not ok", num + 1);
	return failed;
}
