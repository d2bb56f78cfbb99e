// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * report.c - prints what was measured, as a table or as JSON, and how far a job is
 */
#include <time.h>
#include <unistd.h>

#include "dat-perf.h"

static const double shares[] = { 0.5, 0.9, 0.99, 0.999 };
static const char *const share_names[] = { "p50", "p90", "p99", "p99.9" };

#define NUM_SHARES	ARRAY_SIZE(shares)

/**
 * percentile - the time that a share of the iterations did not exceed
 * @result: of LAT
 * @share: 0 to 1; 0 is the shortest time, 1 the longest
 *
 * Return: the time, in microseconds.
 */
double percentile(const struct result *result, double share)
{
	uint32_t num = result->job.iterations;
	uint64_t rank = share * num;

	return result->ns[rank < num ? rank : num - 1] / 1e3;
}

static double mean(const struct result *result)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < result->job.iterations; i++)
		sum += result->ns[i];
	return sum / result->job.iterations / 1e3;
}

static double per_second(const struct result *result)
{
	return result->job.iterations / result->seconds;
}

/**
 * megabytes_per_second - the data of BW or RATE
 * @result: the result
 *
 * Return: in millions of bytes.
 */
double megabytes_per_second(const struct result *result)
{
	return per_second(result) * result->job.size / 1e6;
}

static void json_result(const struct result *result, bool first)
{
	const struct job *job = &result->job;
	unsigned int i;

	printf("%s\n  {\"test\": \"%s\", \"op\": \"%s\"", first ? "" : ",",
	       test_names[job->test], op_names[job->op]);
	printf(", \"bytes\": %u, \"iterations\": %u, \"depth\": %u", job->size,
	       job->iterations, job->depth);
	if (job->test == LAT) {
		printf(", \"min_us\": %.3f", percentile(result, 0));
		for (i = 0; i < NUM_SHARES; i++)
			printf(", \"%s_us\": %.3f", share_names[i],
			       percentile(result, shares[i]));
		printf(", \"max_us\": %.3f, \"mean_us\": %.3f}", percentile(result, 1),
		       mean(result));
	} else {
		printf(", \"seconds\": %.6f, \"mb_per_second\": %.3f", result->seconds,
		       megabytes_per_second(result));
		printf(", \"per_second\": %.0f}", per_second(result));
	}
}

static void table_head(enum test test)
{
	unsigned int i;

	printf("%-4s %-5s %9s %10s", "test", "op", "bytes", "iterations");
	if (test == LAT) {
		printf(" %9s", "min");
		for (i = 0; i < NUM_SHARES; i++)
			printf(" %9s", share_names[i]);
		printf(" %9s %9s  us\n", "max", "mean");
	} else {
		printf(" %6s %12s %14s\n", "depth", "MB/s", "operations/s");
	}
}

static void table_result(const struct result *result)
{
	const struct job *job = &result->job;
	unsigned int i;

	printf("%-4s %-5s %9u %10u", test_names[job->test], op_names[job->op], job->size,
	       job->iterations);
	if (job->test == LAT) {
		printf(" %9.2f", percentile(result, 0));
		for (i = 0; i < NUM_SHARES; i++)
			printf(" %9.2f", percentile(result, shares[i]));
		printf(" %9.2f %9.2f\n", percentile(result, 1), mean(result));
	} else {
		printf(" %6u %12.2f %14.0f\n", job->depth, megabytes_per_second(result),
		       per_second(result));
	}
}

/**
 * report_begin - begin the output
 * @json: as JSON
 */
void report_begin(bool json)
{
	if (json)
		putchar('[');
}

/**
 * report_result - print the result of a job
 * @result: the result
 * @json: as JSON
 * @first: it is the first
 */
void report_result(const struct result *result, bool json, bool first)
{
	if (json) {
		json_result(result, first);
	} else {
		if (first)
			table_head(result->job.test);
		table_result(result);
	}
	fflush(stdout);
}

/**
 * report_end - end the output
 * @json: as JSON
 */
void report_end(bool json)
{
	if (json)
		puts("\n]");
}

/**
 * report_progress - show how far a job is, if the standard error is a terminal
 * @job: the job
 * @done: iterations that are done
 */
void report_progress(const struct job *job, uint32_t done)
{
	static time_t last;
	time_t t;

	/* The clock costs less than what is measured, but it costs. */
	if (done % 256 && done != job->iterations)
		return;
	t = time(NULL);
	if (!isatty(STDERR_FILENO) || (t == last && done != job->iterations))
		return;
	last = t;
	if (done == job->iterations)
		fprintf(stderr, "\r%60s\r", "");
	else
		fprintf(stderr, "\r%s %s, %u bytes: %u of %u", test_names[job->test],
			op_names[job->op], job->size, done, job->iterations);
}
