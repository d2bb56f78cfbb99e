#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Draws the samples of selftests/soak as an SVG: a panel for each value, with the start as a
# dashed line and the unplugs as vertical ones. Also writes the samples as CSV.
#
# soak-plot.sh OUTPUT_OF_SOAK DIRECTORY
set -e

awk -v csv="$2/samples.csv" '
# Lines are "# sample NAME=VALUE...". The one after "# the start:" is of an idle moment.
/^# the start:/ { is_start = 1; next }
/^# sample / {
	n++
	for (i = 3; i <= NF; i++) {
		split($i, pair, "=")
		if (!(pair[1] in known)) {
			known[pair[1]] = 1
			name[++names] = pair[1]
		}
		value[n, pair[1]] = pair[2]
		if (pair[2] > most[pair[1]])
			most[pair[1]] = pair[2]
		if (is_start)
			start[pair[1]] = pair[2]
	}
	if (is_start)
		started = n
	is_start = 0
}

function x(i) {
	return left + (last > 0 ? value[i, "seconds"] / last * width : 0)
}

function y(i, what) {
	return bottom - (most[what] > 0 ? value[i, what] / most[what] * tall : 0)
}

function text(at_x, at_y, anchor, what) {
	printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", at_x, at_y, anchor,
		what
}

function line(x1, x2, y1, y2, style) {
	printf "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, x2, y1, y2,
		style
}

function panel(what,    i) {
	top = bottom + gap
	bottom = top + tall
	printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f6f6f6\"/>\n", left,
		top, width, tall
	text(left - 8, top + 10, "end", most[what] + 0)
	text(left - 8, bottom, "end", 0)
	text(left - 8, top + tall / 2 + 4, "end", what)
	for (i = 2; i <= n; i++)
		if (value[i, "unplugs"] > value[i - 1, "unplugs"])
			line(x(i), x(i), top, bottom, "stroke=\"#ddb\"")
	if (what in start)
		line(x(started), left + width, y(started, what), y(started, what),
			"stroke=\"#c62\" stroke-dasharray=\"4 3\"")
	printf "<polyline fill=\"none\" stroke=\"#1b6ca8\" points=\""
	for (i = 1; i <= n; i++)
		printf "%.1f,%.1f ", x(i), y(i, what)
	print "\"/>"
}

END {
	left = 160; width = 720; tall = 60; gap = 14; bottom = 40
	for (i = 1; i <= n; i++)
		for (j = 1; j <= names; j++)
			printf "%s%s", i == 1 ? name[j] : value[i - 1, name[j]],
				j < names ? "," : "\n" >csv
	for (j = 1; j <= names && n; j++)
		printf "%s%s", value[n, name[j]], j < names ? "," : "\n" >csv
	last = value[n, "seconds"]
	height = bottom + (names - 1) * (tall + gap) + 40
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"920\" height=\"%d\" ", height
	print "font-family=\"sans-serif\" font-size=\"11\">"
	print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
	text(left, 22, "start", "soak: values over time; dashed: the start; vertical: unplugs")
	for (j = 1; j <= names; j++)
		if (name[j] != "seconds")
			panel(name[j])
	text(left, bottom + 20, "start", "0")
	text(left + width, bottom + 20, "end", last " s")
	print "</svg>"
}' "$1" >"$2/plot.svg"
