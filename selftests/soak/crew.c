// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * crew.c - the children: starts, kills and reaps them, and unplugs devices beside them
 *
 * Each child lives in a slot. The seed of a child follows from the seed of the run and from its
 * number. Devices are unplugged by a process of its own, because a removal may wait for children
 * that are killed meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"
#include "soak.h"

/* Exit status of a child that has written a complaint */
#define COMPLAINED	3

static pid_t pids[MAX_SLOTS];
static unsigned int num_alive;
static char procs[128];
static unsigned int run_seed;

static pid_t plugger;
static bool plugger_failed;

unsigned int num_started, num_killed, num_unplugs, num_crashed;

/**
 * crew_open - set the seed of the run and the control group of its children
 * @seed: the seed
 * @group: its directory, or NULL
 */
void crew_open(unsigned int seed, const char *group)
{
	run_seed = seed;
	if (group)
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
}

static bool join_group(void)
{
	int fd = open(procs, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, "0", 1) == 1;

	close(fd);
	return ok;
}

static void start(unsigned int slot)
{
	unsigned int seed = run_seed + num_started * 2654435761U;
	pid_t pid = fork_child();

	if (!pid) {
		if (procs[0] && !join_group())
			_exit(COMPLAINED + 1);
		worker_main(slot, seed);
	}
	if (pid < 0)
		return;
	pids[slot] = pid;
	num_started++;
	num_alive++;
}

/**
 * crew_fill - start children in empty slots
 * @most: how many at most, so that the caller gets to do something else
 */
void crew_fill(unsigned int most)
{
	unsigned int slot;

	for (slot = 0; slot < board->num_slots && most; slot++) {
		if (!pids[slot]) {
			start(slot);
			most--;
		}
	}
}

/**
 * crew_alive - number of children that have not been reaped
 */
unsigned int crew_alive(void)
{
	return num_alive;
}

/* A child that was killed could not remove its traces on the board. */
static void clear_slot(unsigned int slot)
{
	unsigned int i;

	pids[slot] = 0;
	num_alive--;
	__atomic_store_n(&board->listeners[slot].qual, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&board->listeners[slot].visits, false, __ATOMIC_RELAXED);
	for (i = 0; i < board->num_slots; i++) {
		unsigned int mine = slot + 1;

		__atomic_compare_exchange_n(&board->listeners[i].visitor, &mine, 0, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

static void report_end(unsigned int slot, int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		printf("# the child in slot %u died of signal %d\n", slot, WTERMSIG(status));
	else if (WIFEXITED(status) && WEXITSTATUS(status) != 0 &&
		 WEXITSTATUS(status) != COMPLAINED)
		printf("# the child in slot %u exited with %d\n", slot, WEXITSTATUS(status));
	else
		return;
	num_crashed++;
}

/**
 * crew_reap - reap the dead
 */
void crew_reap(void)
{
	unsigned int slot;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == plugger) {
			plugger = 0;
			plugger_failed |= status != 0;
			continue;
		}
		for (slot = 0; slot < board->num_slots && pids[slot] != pid; slot++)
			;
		if (slot == board->num_slots)
			continue;
		report_end(slot, status);
		clear_slot(slot);
	}
}

/**
 * crew_kill_one - kill a random child
 */
void crew_kill_one(void)
{
	unsigned int slot = random_below(board->num_slots);

	if (pids[slot] && !kill(pids[slot], SIGKILL))
		num_killed++;
}

/**
 * crew_kill_half - kill every other child at once
 */
void crew_kill_half(void)
{
	unsigned int slot;

	for (slot = 0; slot < board->num_slots; slot += 2)
		if (pids[slot] && !kill(pids[slot], SIGKILL))
			num_killed++;
}

static void print_file(pid_t pid, const char *name)
{
	char line[160];
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/%s", pid, name);
	f = fopen(line, "r");
	while (f && fgets(line, sizeof(line), f))
		printf("# child %d: %s", pid, line);
	if (f)
		fclose(f);
}

/**
 * crew_print_stacks - print where the kernel is for each child
 */
void crew_print_stacks(void)
{
	unsigned int slot;

	for (slot = 0; slot < board->num_slots; slot++) {
		if (!pids[slot])
			continue;
		print_file(pids[slot], "wchan");
		print_file(pids[slot], "stack");
	}
	fflush(stdout);
}

/**
 * crew_unplug - remove a random device, and add it again a moment later
 *
 * Nothing is done while another device is away.
 */
void crew_unplug(void)
{
	unsigned int index = random_below(board->num_ias);
	unsigned int pause = random_below(5 * 1000 * 1000);

	if (plugger)
		return;
	plugger = fork_child();
	if (!plugger) {
		if (!device_remove(index))
			_exit(1);
		usleep(pause);
		_exit(device_return(index) ? 0 : 2);
	}
	if (plugger > 0)
		num_unplugs++;
	else
		plugger = 0;
}

/**
 * crew_is_plugged - whether all devices are there
 */
bool crew_is_plugged(void)
{
	return !plugger;
}

/**
 * crew_plug_failed - whether a device could not be removed or added
 */
bool crew_plug_failed(void)
{
	return plugger_failed;
}
