// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * exec.c - datfuzz: executes a sequence in the calling process, which ends with it
 *
 * The main thread executes the first steps, starts the threads, and interrupts a thread
 * that waits. The process that has forked this one kills it if it takes too long.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <netinet/in.h>

#include "exec.h"
#include "process.h"

#define TICK_US		2000
/* Ticks after which a thread is interrupted, and after which the sequence ends */
#define TICKS_PER_STEP	15
#define TICKS_PER_SEQ	1000
/* Limit of pinned memory of sequences that run as an ordinary user, in bytes */
#define MEMLOCK		(256 * 1024)
#define NOBODY		65534

/* Print each step with its outcome. */
bool show_outcomes;

struct process proc = { .lock = PTHREAD_MUTEX_INITIALIZER, .fds = { -1, -1 } };

static __thread struct worker *self;

static void on_sigusr1(int sig)
{
}

/* A munmap() may have removed what this thread is about to touch. */
static void on_fault(int sig)
{
	if (!self || !self->catches)
		_exit(1);
	self->catches = false;
	siglongjmp(self->caught, 1);
}

static void report(unsigned int op, uint32_t outcome)
{
	uint32_t i = __atomic_fetch_add(&proc.run->num_results, 1, __ATOMIC_RELAXED);

	if (i < ARRAY_LEN(proc.run->results))
		proc.run->results[i] = (op * 0x9e3779b1U) ^ outcome;
}

static void set_fault(struct worker *w, unsigned int n)
{
	char text[8];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (w->fail_fd < 0)
		w->fail_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	/* A fault that has not fired may hit this write. */
	while (w->fail_fd >= 0 && pwrite(w->fail_fd, text, len, 0) < 0 && errno == EFAULT)
		;
}

/* See OLD_RXE in selftests/lib/faults.h. */
static bool is_old_rxe(void)
{
	return !strncmp(ia_name(), "rxe", 3) && kernel_is_before(6, 12);
}

/*
 * Some drivers do not survive faults. siw: if the second queue of an accepted connection
 * cannot be allocated, siw_qp_readq_init() frees the first, and siw_free_qp() frees that
 * queue again. siw_alloc_mr() loses the list of pages if there is no key. rxe: a QP without
 * memory.
 */
static bool survives_fault(const struct op *op)
{
	if (is_old_rxe() && (op->flags & OP_HURTS_OLD_RXE))
		return false;
	return strncmp(ia_name(), "siw", 3) || !(op->flags & OP_HURTS_SIW);
}

/**
 * try_ioctl - execute an ioctl and return its outcome as one number
 * @fd: the file
 * @cmd: the command
 * @arg: the structure, which begins with a struct dat_dev_free
 *
 * Return: -errno, or the DAT_RETURN.
 */
long try_ioctl(int fd, unsigned long cmd, void *arg)
{
	struct dat_dev_free *head = arg;

	return ioctl(fd, cmd, arg) ? -errno : (long)head->result;
}

/**
 * execute_step - execute a step
 * @w: the thread
 * @step: the step
 */
void execute_step(struct worker *w, const struct step *step)
{
	const struct op *op = &api->ops[step->op];
	uint64_t arg[256] = { 0 };
	long ret;

	w->file = step->file % NUM_FILES;
	if (proc.fds[w->file] < 0)
		proc.fds[w->file] = open(api->device, O_RDWR | O_CLOEXEC);
	pthread_mutex_lock(&proc.lock);
	fill(w, step, arg);
	pthread_mutex_unlock(&proc.lock);
	if (!op->cmd) {
		op->run(w, arg);
		return;
	}
	if (step->fail && survives_fault(op))
		set_fault(w, step->fail);
	ret = api->call(w, op, arg);
	if (step->fail)
		set_fault(w, 0);
	report(step->op, ret);
	if (show_outcomes) {
		flockfile(stdout);
		printf("# %s%#lx: ", ret < 0 ? "-" : "", labs(ret));
		print_step(stdout, step, false);
		fflush(stdout);
		funlockfile(stdout);
	}
	pthread_mutex_lock(&proc.lock);
	api->after(w, op, ret, arg);
	pthread_mutex_unlock(&proc.lock);
	if (w->in_start)
		return;
	__atomic_fetch_add(&proc.run->calls, 1, __ATOMIC_RELAXED);
	if (!ret)
		__atomic_fetch_add(&proc.run->succeeded, 1, __ATOMIC_RELAXED);
}

static void *run_thread(void *arg)
{
	struct worker *w = arg;

	self = w;
	cover_on(w->num);
	while (!proc.go)
		sched_yield();
	for (w->at = 0; w->at < w->seq->num; w->at++) {
		if (w->seq->steps[w->at].thread != w->num)
			continue;
		w->beats++;
		execute_step(w, &w->seq->steps[w->at]);
	}
	cover_off();
	w->done = true;
	return NULL;
}

static void wait_for_threads(void)
{
	unsigned int seen[MAX_THREADS] = { 0 }, since[MAX_THREADS] = { 0 };
	unsigned int tick, i, running;

	for (tick = 0; tick < TICKS_PER_SEQ; tick++) {
		running = 0;
		for (i = 0; i < proc.num_workers; i++) {
			struct worker *w = &proc.workers[i];

			if (w->done)
				continue;
			running++;
			if (seen[i] != w->beats) {
				seen[i] = w->beats;
				since[i] = tick;
			} else if (tick - since[i] >= TICKS_PER_STEP) {
				since[i] = tick;
				pthread_kill(w->thread, SIGUSR1);
			}
		}
		if (!running)
			return;
		usleep(TICK_US);
	}
}

static void run_start(struct worker *w, const struct seq *seq)
{
	const struct seq *start = start_steps(seq->start);
	unsigned int i, wanted = api->starts[seq->start].expects;

	self = w;
	w->seq = start;
	w->in_start = true;
	for (i = 0; i < start->num; i++) {
		w->at = i;
		execute_step(w, &start->steps[i]);
	}
	w->in_start = false;
	if (wanted) {
		proc.run->pairs = 1;
		proc.run->connected = api->first_state() == (int)wanted;
	}
}

static void prepare(const struct seq *seq)
{
	struct sigaction action = { .sa_handler = on_sigusr1 };
	struct rlimit limit = { MEMLOCK, MEMLOCK };

	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = on_fault;
	action.sa_flags = SA_NODEFER;
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	if (!map_arena())
		_exit(UNPREPARED);
	if (seq->user) {
		setrlimit(RLIMIT_MEMLOCK, &limit);
		if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
			_exit(UNPREPARED);
		/* Else fail-nth belongs to root. */
		prctl(PR_SET_DUMPABLE, 1);
	}
	proc.fds[0] = open(api->device, O_RDWR | O_CLOEXEC);
	proc.forks = mmap(NULL, sizeof(*proc.forks), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (proc.fds[0] < 0 || proc.forks == MAP_FAILED)
		_exit(UNPREPARED);
}

/**
 * execute - execute a sequence and end the process
 * @seq: the sequence
 * @run: out: report, in shared memory
 */
void execute(const struct seq *seq, struct run *run)
{
	struct worker *main_worker = &proc.workers[MAX_THREADS];
	unsigned int i, used = 1;

	proc.run = run;
	prepare(seq);
	for (i = 0; i <= MAX_THREADS; i++) {
		proc.workers[i].num = i;
		proc.workers[i].fail_fd = -1;
		proc.workers[i].seq = seq;
	}
	cover_on(MAX_THREADS);
	run_start(main_worker, seq);
	for (i = 0; i < seq->num; i++)
		if (seq->steps[i].thread >= used)
			used = seq->steps[i].thread + 1;
	for (i = 0; i < used && i < MAX_THREADS; i++) {
		if (pthread_create(&proc.workers[i].thread, NULL, run_thread,
				   &proc.workers[i]))
			break;
		proc.num_workers++;
	}
	proc.go = true;
	wait_for_threads();
	/* Some files are closed by close(), the others by the end of the process. */
	if (seq->num % 2)
		for (i = 0; i < NUM_FILES; i++)
			close(proc.fds[i]);
	cover_off();
	_exit(0);
}
