// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * soak.c - the supervisor: keeps hundreds of consumers alive, kills them, unplugs their devices
 *
 * soak --seconds N --processes N --seed N --device NAME,NETDEV,ADDRESS...
 *
 * A first round fills the caches of the kernel. Then all children end, and the values of values.c
 * are taken: the start. After the run all children end again, and each value must return to its
 * start. The result is TAP, with a line "# sample" every few seconds.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "soak.h"

#define ROOT		"/tmp/soak_cgroup"
#define GROUP		ROOT "/children"

/* In seconds. LIFETIME is what a child has on average until it is killed. */
#define SAMPLE_PERIOD	5
#define UNPLUG_PERIOD	60
#define WARM_UNPLUGS	20
#define LIFETIME	250
#define SETTLE_LIMIT	300
/* After which the supervisor shows what the remaining children wait for */
#define LATE		120
/* Time for the first round, and for the children to end: 500 of them with sanitizers */
#define ROUND_LIMIT	3600

struct board *board;

static const char * const scenario_names[NUM_SCENARIOS] = {
	"serve", "visit", "memory", "events", "churn",
};

static long long start[NUM_VALUES], peak[NUM_VALUES];
static unsigned int num_tests, num_failed;
static double begun;

static void result(bool ok, const char *name)
{
	printf("%s %u soak.%s\n", ok ? "ok" : "not ok", ++num_tests, name);
	num_failed += !ok;
}

static void sample(void)
{
	long long now[NUM_VALUES];
	unsigned int i;

	values_sample(now);
	for (i = 0; i < NUM_VALUES; i++)
		if (now[i] > peak[i])
			peak[i] = now[i];
	values_print(now, seconds() - begun);
}

/* What happens at random moments: seconds until the next, half to one and a half periods */
static double next_after(double period)
{
	return seconds() + period * (0.5 + random_below(1000) / 1000.0);
}

/* Keeps all slots filled until @is_over, which gets the seconds since the begin of the round. */
static bool run_round(bool (*is_over)(double elapsed, double wanted), double wanted,
		      double unplug_period)
{
	double from = seconds(), kill_period = (double)LIFETIME / board->num_slots;
	double next_sample = from, next_kill = next_after(kill_period);
	double next_unplug = next_after(unplug_period);

	while (!is_over(seconds() - from, wanted)) {
		if (board->num_complaints || num_crashed || crew_plug_failed())
			return false;
		if (seconds() - from > wanted + ROUND_LIMIT) {
			printf("# not everything has happened after %.0f s\n", seconds() - from);
			return false;
		}
		crew_reap();
		crew_fill(20);
		if (seconds() > next_kill) {
			crew_kill_one();
			next_kill = next_after(kill_period);
		}
		if (seconds() > next_unplug) {
			crew_unplug();
			next_unplug = next_after(unplug_period);
		}
		if (seconds() > next_sample) {
			sample();
			next_sample = seconds() + SAMPLE_PERIOD;
		}
		usleep(50 * 1000);
	}
	return true;
}

/* The caches are filled once everything has happened. */
static bool is_warm(double elapsed, double wanted)
{
	unsigned int i;

	for (i = 0; i < NUM_SCENARIOS; i++)
		if (!board->succeeded[i])
			return false;
	return elapsed > wanted && num_unplugs > board->num_ias && crew_is_plugged() &&
	       num_started >= 2 * board->num_slots &&
	       board->counters[CONNECTED] >= board->num_slots;
}

static bool is_long_enough(double elapsed, double wanted)
{
	return elapsed > wanted && crew_is_plugged();
}

/* Ends all children: half of them are killed, all at once. */
static bool end_round(void)
{
	double end = seconds() + ROUND_LIMIT, late = seconds() + LATE;
	double next_sample = seconds();

	__atomic_store_n(&board->stop, true, __ATOMIC_RELAXED);
	crew_kill_half();
	while (crew_alive() || !crew_is_plugged()) {
		if (seconds() > end) {
			printf("# %u children do not end\n", crew_alive());
			return false;
		}
		crew_reap();
		if (seconds() > next_sample) {
			sample();
			next_sample = seconds() + SAMPLE_PERIOD;
		}
		if (seconds() > late) {
			crew_print_stacks();
			late = end;
		}
		usleep(50 * 1000);
	}
	__atomic_store_n(&board->stop, false, __ATOMIC_RELAXED);
	return true;
}

static bool differs(const long long *now, unsigned int i)
{
	return now[i] > start[i] + value_tolerance(i, start, peak);
}

/* Without children these are 0, or -1 if the kernel does not have them. */
static bool is_idle(const long long *values)
{
	return values[PINNED] <= 0 && values[CHARGED] <= 0 && values[RDMACG] <= 0 &&
	       values[REFERENCES] <= 0;
}

/* Does a value not fall any more? Without a tolerance it must not change at all. */
static bool is_settled(unsigned int i, const long long *before, const long long *now)
{
	long long tolerance = value_tolerance(i, now, now);

	return before[i] == now[i] || (tolerance && before[i] - now[i] < tolerance / 8);
}

/* Waits until nothing of the children is left and the values have settled. */
static void take_start(void)
{
	long long before[NUM_VALUES];
	double end = seconds() + SETTLE_LIMIT;
	unsigned int i, settled;

	values_sample(start);
	do {
		memcpy(before, start, sizeof(before));
		sleep(5);
		caches_shrink();
		values_sample(start);
		for (i = settled = 0; i < NUM_VALUES; i++)
			settled += is_settled(i, before, start);
	} while ((settled < NUM_VALUES || !is_idle(start)) && seconds() < end);
	caches_save();
	printf("# the start:\n");
	values_print(start, seconds() - begun);
	result(is_idle(start), "idle_after_first_round");
}

/* Each value has SETTLE_LIMIT seconds to return: the kernel frees some of it later. */
static void check_values(void)
{
	double end = seconds() + SETTLE_LIMIT;
	unsigned int bad, i;
	long long now[NUM_VALUES];
	char name[64];

	for (;;) {
		caches_shrink();
		values_sample(now);
		for (i = bad = 0; i < NUM_VALUES; i++)
			bad += differs(now, i);
		if (!bad || seconds() > end)
			break;
		sleep(5);
	}
	printf("# the end:\n");
	values_print(now, seconds() - begun);
	for (i = 0; i < NUM_VALUES; i++) {
		if (!value_exists(start, i)) {
			printf("ok %u # SKIP soak.%s_returns: this kernel does not have it\n",
			       ++num_tests, value_name(i));
			continue;
		}
		printf("# %s: %lld at the start, at most %lld, %lld at the end, tolerance %lld\n",
		       value_name(i), start[i], peak[i], now[i], value_tolerance(i, start, peak));
		snprintf(name, sizeof(name), "%s_returns", value_name(i));
		result(!differs(now, i), name);
	}
}

static void check_run(double took)
{
	const DAT_UINT64 *c = board->counters;
	unsigned int i;
	bool ok = true;

	for (i = 0; i < board->num_complaints && i < MAX_COMPLAINTS; i++)
		printf("# %s\n", board->complaints[i]);
	result(!board->num_complaints && !num_crashed, "no_child_complains");
	result(!crew_plug_failed(), "devices_return");
	for (i = 0; i < NUM_SCENARIOS; i++) {
		printf("# scenario %s: %llu times\n", scenario_names[i],
		       (unsigned long long)board->succeeded[i]);
		ok &= board->succeeded[i] > 0;
	}
	result(ok, "every_scenario_succeeds");
	result(c[CONNECTED] && c[MESSAGES] && c[WRITES] && c[READS] && c[BINDS] && c[REGIONS],
	       "traffic_of_every_type");
	result(!num_unplugs || c[LOST_IAS], "unplugs_reach_processes");
	printf("# total: %llu rounds, %u processes, %u killed, %llu connections, %llu rejected, ",
	       (unsigned long long)c[ROUNDS], num_started, num_killed,
	       (unsigned long long)c[CONNECTED], (unsigned long long)c[REJECTED]);
	printf("%llu unanswered, %llu broken, %llu messages, %llu writes, %llu reads, %llu binds, ",
	       (unsigned long long)c[UNANSWERED], (unsigned long long)c[BROKEN],
	       (unsigned long long)c[MESSAGES], (unsigned long long)c[WRITES],
	       (unsigned long long)c[READS], (unsigned long long)c[BINDS]);
	printf("%llu LMRs, %llu MB compared, %llu refused, %u unplugs, %llu IAs lost, %.0f s\n",
	       (unsigned long long)c[REGIONS], (unsigned long long)c[BYTES] >> 20,
	       (unsigned long long)c[REFUSED], num_unplugs, (unsigned long long)c[LOST_IAS], took);
}

static bool write_file(const char *path, const char *value)
{
	FILE *f = fopen(path, "w");
	bool ok;

	if (!f)
		return false;
	ok = fputs(value, f) >= 0;
	return !fclose(f) && ok;
}

/* Returns the directory of the children's control group, NULL if there are none. */
static const char *open_group(void)
{
	mkdir(ROOT, 0700);
	if (mount("none", ROOT, "cgroup2", 0, NULL))
		return NULL;
	if (!write_file(ROOT "/cgroup.subtree_control", "+rdma"))
		printf("# this kernel has no control group of rdma\n");
	if (!write_file(ROOT "/cgroup.subtree_control", "+memory"))
		printf("# this kernel has no control group of memory\n");
	return mkdir(GROUP, 0700) ? NULL : GROUP;
}

static void close_group(void)
{
	rmdir(GROUP);
	umount(ROOT);
}

/* A leak of one object for every fourth connection is found. */
static unsigned int cache_tolerance(void)
{
	DAT_UINT64 events = board->counters[CONNECTED] / 4;

	return events > 1000 ? events : 1000;
}

static void soak(double wanted, double warm_up)
{
	DAT_UINT64 connected;
	double from;
	bool ok;

	printf("1..%u\n", 7 + NUM_VALUES);
	begun = seconds();
	ok = run_round(is_warm, warm_up, WARM_UNPLUGS);
	ok &= end_round();
	if (ok) {
		printf("# warm after %.0f s\n", seconds() - begun);
		take_start();
		memcpy(peak, start, sizeof(peak));
		connected = board->counters[CONNECTED];
		from = seconds();
		ok = run_round(is_long_enough, wanted, UNPLUG_PERIOD);
		ok &= end_round();
		printf("# %llu connections after the start, %.0f s\n",
		       (unsigned long long)(board->counters[CONNECTED] - connected),
		       seconds() - from);
	}
	check_run(seconds() - begun);
	/* After a complaint or a hang nothing is known of the values. */
	if (!ok) {
		printf("Bail out! the children have not ended as planned\n");
		return;
	}
	check_values();
	result(!caches_compare(cache_tolerance()), "no_cache_grows");
}

static void usage(void)
{
	fprintf(stderr, "arguments: [--seconds N] [--warm-up SECONDS] [--processes N] [--seed N]\n"
			"           --device NAME,NETDEV,ADDRESS [--device ...]\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "warm-up", required_argument, NULL, 'w' },
		{ "processes", required_argument, NULL, 'p' },
		{ "seed", required_argument, NULL, 'x' },
		{ "device", required_argument, NULL, 'd' },
		{}
	};
	unsigned int seed = time(NULL);
	double wanted = 600, warm_up = 60;
	const char *group;
	int c;

	setlinebuf(stdout);
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (board == MAP_FAILED)
		return 1;
	board->num_slots = 500;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			wanted = atof(optarg);
			break;
		case 'w':
			warm_up = atof(optarg);
			break;
		case 'p':
			board->num_slots = atoi(optarg);
			break;
		case 'x':
			seed = strtoul(optarg, NULL, 0);
			break;
		case 'd':
			if (!device_add(optarg))
				usage();
			break;
		default:
			usage();
		}
	}
	if (!board->num_ias || !board->num_slots || board->num_slots > MAX_SLOTS)
		usage();
	printf("# %u processes, %.0f s, seed %u\n", board->num_slots, wanted, seed);
	srandom(seed);
	/* Between hundreds of children the supervisor must be on time. */
	setpriority(PRIO_PROCESS, 0, -20);
	group = open_group();
	crew_open(seed, group);
	values_open(group);
	soak(wanted, warm_up);
	close_group();
	return num_failed ? 1 : 0;
}
