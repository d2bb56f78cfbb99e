// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * plot.c - draws results as SVG: percentiles, or throughput, over the size
 *
 * The axis of sizes has a step for each measured size, so that powers of two are evenly
 * spaced. The axis of times is logarithmic, because the longest may be a thousand times the
 * shortest; that of throughputs begins at 0.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "dat-perf.h"

#define WIDTH	720
#define HEIGHT	420
#define LEFT	90
#define RIGHT	110
#define TOP	50
#define BOTTOM	60
#define TICKS	5

struct curve {
	const char *name;
	const char *colour;
	double share;
};

static const struct curve latencies[] = {
	{ "p50", "#1b6ca8", 0.5 },
	{ "p99", "#c46210", 0.99 },
	{ "p99.9", "#7a1f5c", 0.999 },
};

static const struct curve throughputs[] = {
	{ "MB/s", "#1b6ca8", 0 },
};

static const struct curve rates[] = {
	{ "operations/s", "#1b6ca8", 0 },
};

static double value(const struct result *result, const struct curve *curve)
{
	switch (result->job.test) {
	case LAT:
		return percentile(result, curve->share);
	case BW:
		return megabytes_per_second(result);
	default:
		return result->job.iterations / result->seconds;
	}
}

static const struct curve *curves_of(enum test test, unsigned int *num)
{
	*num = 1;
	if (test == BW)
		return throughputs;
	if (test == RATE)
		return rates;
	*num = ARRAY_SIZE(latencies);
	return latencies;
}

/* The next of 1, 2, 5, 10, 20, 50 ... that is not less */
static double round_up(double x)
{
	double power = pow(10, floor(log10(x)));

	if (x <= power)
		return power;
	if (x <= 2 * power)
		return 2 * power;
	return x <= 5 * power ? 5 * power : 10 * power;
}

static double x_of(unsigned int i, unsigned int num)
{
	return LEFT + (i + 0.5) * (WIDTH - LEFT - RIGHT) / num;
}

/**
 * struct axis - the vertical axis
 * @low: value at the bottom
 * @high: value at the top
 * @decades: powers of ten between them if the axis is logarithmic, else 0
 */
struct axis {
	double low;
	double high;
	int decades;
};

static struct axis axis_of(enum test test, double least, double most)
{
	struct axis axis = { .high = round_up(most) };

	if (test != LAT)
		return axis;
	axis.low = pow(10, floor(log10(least)));
	axis.decades = fmax(1, ceil(log10(most / axis.low)));
	axis.high = axis.low * pow(10, axis.decades);
	return axis;
}

static double y_of(double value, const struct axis *axis)
{
	double share = axis->decades ? log10(value / axis->low) / axis->decades :
				       value / axis->high;

	return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
}

static void draw_axes(FILE *f, const struct result *results, unsigned int num,
		      const struct axis *axis)
{
	int i, ticks = axis->decades ?: TICKS;
	double value, y;

	for (i = 0; i <= ticks; i++) {
		value = axis->decades ? axis->low * pow(10, i) : axis->high * i / ticks;
		y = y_of(value, axis);
		fprintf(f, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
			LEFT, y, WIDTH - RIGHT, y);
		fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.10g</text>\n",
			LEFT - 8, y + 4, value);
	}
	for (i = 0; i < (int)num; i++)
		fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%u</text>\n",
			x_of(i, num), HEIGHT - BOTTOM + 20, results[i].job.size);
	fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">bytes</text>\n",
		(LEFT + WIDTH - RIGHT) / 2, HEIGHT - 15);
}

static void draw_curve(FILE *f, const struct result *results, unsigned int num,
		       const struct axis *axis, const struct curve *curve)
{
	unsigned int i;

	fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
		curve->colour);
	for (i = 0; i < num; i++)
		fprintf(f, "%.1f,%.1f ", x_of(i, num), y_of(value(&results[i], curve), axis));
	fprintf(f, "\"/>\n");
	for (i = 0; i < num; i++)
		fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x_of(i, num),
			y_of(value(&results[i], curve), axis), curve->colour);
}

/* In the order of the curves, so that names do not cover each other. */
static void draw_names(FILE *f, const struct curve *curves, unsigned int num)
{
	unsigned int i;

	for (i = 0; i < num; i++)
		fprintf(f, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", WIDTH - RIGHT + 12,
			TOP + 20 * (int)(num - i), curves[i].colour, curves[i].name);
}

/**
 * plot - draw the results of one test
 * @file: name of the file to be written
 * @results: the results, by size
 * @num: how many, at least 1
 *
 * Return: false after a complaint.
 */
bool plot(const char *file, const struct result *results, unsigned int num)
{
	const struct job *job = &results[0].job;
	const struct curve *curves;
	unsigned int num_curves, i, j;
	double least = HUGE_VAL, most = 0;
	struct axis axis;
	bool ok;
	FILE *f;

	curves = curves_of(job->test, &num_curves);
	for (i = 0; i < num; i++) {
		for (j = 0; j < num_curves; j++) {
			least = fmin(least, value(&results[i], &curves[j]));
			most = fmax(most, value(&results[i], &curves[j]));
		}
	}
	axis = axis_of(job->test, least, most);
	f = fopen(file, "w");
	if (!f)
		goto fail;
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\"", WIDTH,
		HEIGHT);
	fprintf(f, " font-family=\"sans-serif\" font-size=\"13\">\n");
	fprintf(f, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
	fprintf(f, "<text x=\"%d\" y=\"28\" font-size=\"16\">%s, %s%s</text>\n", LEFT,
		test_names[job->test], op_names[job->op],
		job->test == LAT ? ", microseconds" : "");
	draw_axes(f, results, num, &axis);
	for (j = 0; j < num_curves; j++)
		draw_curve(f, results, num, &axis, &curves[j]);
	draw_names(f, curves, num_curves);
	fprintf(f, "</svg>\n");
	ok = !ferror(f);
	if (!fclose(f) && ok)
		return true;
fail:
	fprintf(stderr, "dat-perf: %s: %s\n", file, strerror(errno));
	return false;
}
