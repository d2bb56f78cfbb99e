#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Draws the ratios of a CSV file of bench.sh as an SVG: for each case a bar per kernel, with its
# goal and, if they differ, the 10th and the 90th percentile of the runs.
#
# bench-plot.sh FILE.csv

awk -F, '
function x(ratio) {
	return left + (ratio > most ? most : ratio) / most * width
}

function text(at, y, anchor, what) {
	printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", at, y, anchor, what
}

function rect(at, y, w, h, color) {
	printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", at, y,
		w, h, color
}

function line(x1, y1, x2, y2, color) {
	printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, y1,
		x2, y2, color
}

# The bar of a case on a kernel, its goal and its spread. The figure has a column of its own.
function bar(name, k, y,	key, r, kind) {
	key = name SUBSEP kernels[k]
	if (!(key in ratio))
		return
	r = ratio[key]
	kind = goal[key] == "-" ? "none" : r <= goal[key] ? "met" : "missed"
	rect(left, y, x(r) - left, thick, colors[kind, k])
	if (r > most)	# The bar is longer than the axis.
		rect(x(most) - 10, y, 3, thick, "white")
	if (high[key] - low[key] >= 0.01) {
		line(x(low[key]), y + thick / 2, x(high[key]), y + thick / 2, "black")
		line(x(low[key]), y + 2, x(low[key]), y + thick - 2, "black")
		line(x(high[key]), y + 2, x(high[key]), y + thick - 2, "black")
	}
	if (kind != "none")
		rect(x(goal[key]) - 1, y - 1, 2, thick + 2, "black")
	text(figures + (k - 1) * 60, y0 + thick * num_kernels / 2 + 4, "end",
	     sprintf("%.2f", r))
}

function legend(at, kind, what) {
	rect(at, 30, 12, 10, colors[kind, 1])
	text(at + 16, 39, "start", what)
	return at + 120
}

BEGIN {
	left = 150
	width = 500
	most = 2
	thick = 9
	top = 70
	figures = left + width + 60
	colors["met", 1] = "#3a8a6a"
	colors["met", 2] = "#93c7b1"
	colors["missed", 1] = "#c2683f"
	colors["missed", 2] = "#e5b59d"
	colors["none", 1] = "#6c7f99"
	colors["none", 2] = "#b3bfce"
}

NR > 1 && $7 != "bytes" {
	if (!(($1) in place)) {
		place[$1] = ++n
		names[n] = $1
	}
	if (!($2 in known)) {
		known[$2] = 1
		kernels[++num_kernels] = $2
	}
	ratio[$1, $2] = $5
	goal[$1, $2] = $6
	unit = $7
	low[$1, $2] = $8
	high[$1, $2] = $9
}

END {
	# There are colours for two.
	if (num_kernels > 2)
		num_kernels = 2
	step = thick * num_kernels + 8
	bottom = top + n * step
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\"",
		figures + 80, bottom + 40
	print " font-family=\"sans-serif\" font-size=\"12\">"
	print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
	text(left, 18, "start", (unit ~ /insn/ ? "instructions" : "time") \
	     " of an operation, as a ratio to the peer" \
	     (unit ~ /insn/ ? "" : ": the median, and the 10th and 90th percentile of the runs"))
	at = legend(left, "met", "goal is met")
	at = legend(at, "missed", "goal is missed")
	at = legend(at, "none", "no goal")
	rect(at + 4, 28, 2, 14, "black")
	text(at + 16, 39, "start", "goal")
	for (k = 1; k <= num_kernels; k++)
		text(figures + (k - 1) * 60, top - 10, "end", kernels[k])
	for (tick = 0; tick <= most; tick += 0.25) {
		line(x(tick), top - 4, x(tick), bottom + 4, tick == 1 ? "#666" : "#ddd")
		text(x(tick), bottom + 18, "middle", tick)
	}
	text(left - 8, bottom + 18, "end", num_kernels > 1 ? \
	     kernels[1] " dark, " kernels[2] " light" : kernels[1])
	for (i = 1; i <= n; i++) {
		y0 = top + (i - 1) * step
		text(left - 8, y0 + thick * num_kernels / 2 + 4, "end", names[i])
		for (k = 1; k <= num_kernels; k++)
			bar(names[i], k, y0 + (k - 1) * thick)
	}
	line(left, top - 4, left, bottom + 4, "#666")
	print "</svg>"
}' "$1"
