// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * fuzz.c - datfuzz: a fuzzer of /dev/dat, or of the kernel API, that KCOV guides; its main
 * loop and its jobs
 *
 * Each job generates a sequence or mutates one of the corpus, runs it, and adds it to the
 * corpus if it reached something new. The jobs share the corpus. The main process prints
 * a line every ten seconds, and ends the jobs when the kernel complains.
 *
 * New sequences are printed, because a guest that crashes keeps no files: "+ NAME", the
 * text with "| " before each line, and "." after it.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define MAX_CORPUS	1500
#define MAX_FRESH	1024
#define LINE_S		10
#define CHECK_S		30
/* Sequences that a report of a finding includes for each job */
#define RECENT		6
/* A sequence in this many removes the device. */
#define UNPLUG_RARITY	300

/**
 * struct job - a job and its state, in shared memory
 * @run: report of the current execution
 * @executions: executions so far
 * @tried: see struct run, as are the next six
 * @posted: sum
 * @pairs: sum
 * @connected: sum
 * @calls: sum
 * @succeeded: sum
 * @stalls: sum
 * @idle: waits because the main process wants it to
 * @wrong: what went wrong, which ends the job, or NULL
 * @recent: the last sequences, the current one at @executions % RECENT
 */
struct job {
	struct run run;
	volatile uint64_t executions;
	volatile uint64_t tried;
	volatile uint64_t posted;
	volatile uint64_t pairs;
	volatile uint64_t connected;
	volatile uint64_t calls;
	volatile uint64_t succeeded;
	volatile uint64_t stalls;
	volatile bool idle;
	const char *volatile wrong;
	struct seq recent[RECENT];
};

static struct shared {
	pthread_mutex_t lock;
	volatile bool pause;
	volatile bool stop;
	/* Sequences of the initial corpus that jobs have taken, and their number */
	uint32_t next_initial;
	uint32_t num_initial;
	volatile uint32_t num_corpus;
	struct seq corpus[MAX_CORPUS];
	struct job jobs[MAX_JOBS];
} *shared;

static struct options {
	uint64_t seed;
	uint64_t max;
	unsigned int seconds;
	unsigned int jobs;
	bool unplug;
	/* Only print the sequences of the initial corpus that reach something new */
	bool distill;
	const char *corpus;
} opt = { .seed = 1, .seconds = 60, .jobs = 1, .unplug = true };

static void emit(const struct seq *seq, const char *mark)
{
	char *text = NULL, *rest, *line;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return;
	print_seq(f, seq);
	fclose(f);
	pthread_mutex_lock(&shared->lock);
	printf("%s %08x\n", mark, hash_seq(seq));
	rest = text;
	while ((line = strsep(&rest, "\n")) != NULL && *line)
		printf("| %s\n", line);
	printf(".\n");
	fflush(stdout);
	pthread_mutex_unlock(&shared->lock);
	free(text);
}

static void add_to_corpus(const struct seq *seq)
{
	uint32_t i;

	pthread_mutex_lock(&shared->lock);
	i = shared->num_corpus;
	if (i == MAX_CORPUS)
		i = rnd(MAX_CORPUS);
	else
		shared->num_corpus = i + 1;
	shared->corpus[i] = *seq;
	pthread_mutex_unlock(&shared->lock);
}

static const struct seq *pick(void)
{
	uint32_t num = shared->num_corpus;

	/* Half the time one of the newest: its surroundings are less explored. */
	if (num > 40 && one_in(2))
		return &shared->corpus[num - 1 - rnd(40)];
	return &shared->corpus[rnd(num)];
}

static void add_unplug(struct seq *seq)
{
	struct step *step = insert_step(seq, rnd(seq->num + 1));

	step->op = find_op("unplug");
	step->thread = rnd(MAX_THREADS);
}

/* Returns true if the sequence is from the initial corpus. */
static bool next_seq(struct seq *seq)
{
	uint32_t i = __atomic_fetch_add(&shared->next_initial, 1, __ATOMIC_RELAXED);

	if (i < shared->num_initial) {
		*seq = shared->corpus[i];
		return true;
	}
	if (!shared->num_corpus || one_in(6)) {
		generate_seq(seq);
	} else {
		*seq = *pick();
		mutate_seq(seq, pick());
	}
	if (opt.unplug && one_in(UNPLUG_RARITY))
		add_unplug(seq);
	return false;
}

static void add_up(struct job *job)
{
	job->executions++;
	job->tried += job->run.tried;
	job->posted += job->run.posted;
	job->pairs += job->run.pairs;
	job->connected += job->run.connected;
	job->calls += job->run.calls;
	job->succeeded += job->run.succeeded;
	job->stalls += job->run.stalls;
}

static bool may_run(struct job *job)
{
	while (shared->pause && !shared->stop) {
		job->idle = true;
		usleep(1000);
	}
	job->idle = false;
	return !shared->stop && (!opt.max || job->executions < opt.max / opt.jobs);
}

/* The job of this process, and the new points of its last execution */
static struct job *me;
static uint32_t fresh[MAX_FRESH];
static unsigned int num_fresh;

static bool run_once(const struct seq *seq)
{
	struct seq *recent = &me->recent[me->executions % RECENT];

	num_fresh = 0;
	if (me->wrong || !may_run(me))
		return false;
	*recent = *seq;
	me->wrong = run_seq(recent, &me->run);
	if (me->wrong)
		return false;
	add_up(me);
	num_fresh = cover_collect(&me->run, fresh, MAX_FRESH);
	return true;
}

static bool has_block(const uint32_t *points, unsigned int num)
{
	unsigned int i;

	for (i = 0; i < num; i++)
		if (cover_is_block(points[i]))
			return true;
	return false;
}

static void run_job(unsigned int num)
{
	static uint32_t points[MAX_FRESH];
	unsigned int n;
	struct seq seq;
	bool initial;

	me = &shared->jobs[num];
	rnd_seed(opt.seed * MAX_JOBS + num);
	cover_init(MAX_THREADS + 1);
	for (;;) {
		initial = next_seq(&seq);
		if ((opt.distill && !initial) || !run_once(&seq))
			break;
		if (!num_fresh)
			continue;
		n = num_fresh;
		memcpy(points, fresh, n * sizeof(points[0]));
		/* Other jobs need not explore the same points. */
		cover_merge(points, n);
		/* With KCOV a new outcome alone is not worth a place in the corpus. */
		if (cover_blocks() && !has_block(points, n))
			continue;
		if (opt.distill)
			emit(&seq, "+");
		if (initial)
			continue;
		n = minimise(&seq, run_once, points, n);
		if (!n)
			continue;
		add_to_corpus(&seq);
		emit(&seq, "+");
	}
	me->idle = true;
	_exit(0);
}

static void load_corpus(const char *path)
{
	struct dirent **names;
	int i, num = scandir(path, &names, NULL, alphasort);
	char file[512];

	for (i = 0; i < num && shared->num_corpus < MAX_CORPUS; i++) {
		if (names[i]->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		if (!load_seq(file, &shared->corpus[shared->num_corpus]))
			exit(2);
		shared->num_corpus++;
	}
	shared->num_initial = shared->num_corpus;
}

static uint64_t sum(size_t offset)
{
	uint64_t total = 0;
	unsigned int i;

	for (i = 0; i < opt.jobs; i++)
		total += *(volatile uint64_t *)((char *)&shared->jobs[i] + offset);
	return total;
}

#define SUM(_member)	sum(offsetof(struct job, _member))

static double percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * part / of : 0;
}

static void print_line(unsigned int seconds)
{
	uint64_t executions = SUM(executions);

	pthread_mutex_lock(&shared->lock);
	printf("# datfuzz: %u s, %" PRIu64 " executions, %.1f/s, %u blocks, %u results, ",
	       seconds, executions, seconds ? (double)executions / seconds : 0, cover_blocks(),
	       cover_results());
	printf("%u sequences, calls: %.0f %% of %" PRIu64 " succeed, posts: %.0f %% of %" PRIu64
	       " succeed, pairs: %.0f %% connected, %" PRIu64 " stalls\n",
	       shared->num_corpus, percent(SUM(succeeded), SUM(calls)), SUM(calls),
	       percent(SUM(posted), SUM(tried)), SUM(tried),
	       percent(SUM(connected), SUM(pairs)), SUM(stalls));
	fflush(stdout);
	pthread_mutex_unlock(&shared->lock);
}

static void print_finding(const char *what)
{
	unsigned int i, j;

	shared->stop = true;
	printf("# datfuzz: FINDING: %s\n", what);
	for (i = 0; i < opt.jobs; i++) {
		const struct job *job = &shared->jobs[i];

		for (j = 0; j < RECENT; j++) {
			char mark[40];

			/* The oldest first; the current one is the last. */
			snprintf(mark, sizeof(mark), "! %u/%u", i, j);
			if (job->executions + j + 1 >= RECENT)
				emit(&job->recent[(job->executions + j + 1) % RECENT], mark);
		}
	}
}

static bool all_idle(void)
{
	unsigned int i;
	bool idle = true;

	for (i = 0; i < opt.jobs; i++)
		idle = idle && (shared->jobs[i].idle || shared->jobs[i].wrong);
	return idle;
}

static const char *check_leftovers(void)
{
	const char *text;

	shared->pause = true;
	while (!all_idle())
		usleep(10000);
	text = watch_leftovers();
	shared->pause = false;
	return text;
}

static const char *what_went_wrong(void)
{
	unsigned int i;

	for (i = 0; i < opt.jobs; i++)
		if (shared->jobs[i].wrong)
			return shared->jobs[i].wrong;
	return NULL;
}

/* A job that dies of a fault of its own is no job that has ended. */
static bool jobs_ended(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (status && !what_went_wrong())
			shared->jobs[0].wrong = "a job of datfuzz has died";
	return pid < 0;
}

static int supervise(void)
{
	time_t begin = time(NULL), now = begin, line = begin, check = begin;
	const char *finding = NULL;

	while (!finding && !jobs_ended()) {
		usleep(200000);
		now = time(NULL);
		finding = watch_complaint() ?: what_went_wrong();
		if (!finding && now - check >= CHECK_S) {
			finding = check_leftovers();
			check = time(NULL);
		}
		if (now - line >= LINE_S) {
			print_line(now - begin);
			line = now;
		}
		if (now - begin >= opt.seconds)
			shared->stop = true;
	}
	shared->stop = true;
	if (finding)
		print_finding(finding);
	while (!what_went_wrong() && !jobs_ended())
		usleep(10000);
	if (!finding)
		finding = watch_complaint() ?: what_went_wrong() ?: watch_leftovers();
	print_line(now - begin);
	if (finding)
		printf("# datfuzz: FINDING: %s\n", finding);
	return finding ? 1 : 0;
}

static int fuzz(void)
{
	unsigned int i;

	if (opt.corpus)
		load_corpus(opt.corpus);
	printf("# datfuzz: seed %" PRIu64 ", %u jobs, %u sequences, KCOV %s, faults %s\n",
	       opt.seed, opt.jobs, shared->num_corpus,
	       access("/sys/kernel/debug/kcov", F_OK) ? "no" : "yes",
	       faults_possible() ? "yes" : "no");
	watch_begin();
	fflush(NULL);
	for (i = 0; i < opt.jobs; i++) {
		if (!fork())
			run_job(i);
	}
	return supervise();
}

static void share_memory(void)
{
	pthread_mutexattr_t attr;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		exit(2);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->lock, &attr);
	cover_init(0);
}

static int print_usage(void)
{
	fprintf(stderr,
		"usage: datfuzz [--kernel] [--seed N] [--seconds N] [--executions N] [--jobs N]\n"
		"               [--corpus DIR] [--no-unplug] [--distill]\n"
		"       datfuzz [--kernel] [--jobs N] [--times N] [--outcomes] --replay FILE...\n"
		"       datfuzz [--kernel] --print FILE\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", 1, NULL, 's' }, { "seconds", 1, NULL, 't' },
		{ "executions", 1, NULL, 'n' }, { "jobs", 1, NULL, 'j' },
		{ "corpus", 1, NULL, 'c' }, { "no-unplug", 0, NULL, 'u' },
		{ "distill", 0, NULL, 'd' }, { "replay", 0, NULL, 'r' },
		{ "times", 1, NULL, 'k' }, { "print", 1, NULL, 'p' },
		{ "kernel", 0, NULL, 'K' }, { "outcomes", 0, NULL, 'o' }, {}
	};
	unsigned int times = 1;
	bool is_replay = false;
	struct seq seq;
	int c;

	use_api(&uapi);
	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (c) {
		case 's':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 't':
			opt.seconds = atoi(optarg);
			break;
		case 'n':
			opt.max = strtoull(optarg, NULL, 0);
			break;
		case 'j':
			opt.jobs = atoi(optarg);
			break;
		case 'k':
			times = atoi(optarg);
			break;
		case 'c':
			opt.corpus = optarg;
			break;
		case 'u':
			opt.unplug = false;
			break;
		case 'd':
			opt.distill = true;
			break;
		case 'r':
			is_replay = true;
			break;
		case 'K':
			use_api(&kapi);
			break;
		case 'o':
			show_outcomes = true;
			break;
		case 'p':
			if (!load_seq(optarg, &seq))
				return 2;
			explain_seq(stdout, &seq);
			return 0;
		default:
			return print_usage();
		}
	}
	if (!times || !opt.jobs || opt.jobs > MAX_JOBS ||
	    (is_replay ? optind == argc : optind < argc))
		return print_usage();
	if (is_replay)
		return replay(argv + optind, argc - optind, opt.jobs, times);
	share_memory();
	return fuzz();
}
