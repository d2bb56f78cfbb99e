#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Draws the ratios of a CSV file of bench.sh as an SVG: a bar and its goal per case.
#
# bench-plot.sh FILE.csv

awk -F, '
function x(ratio) {
	if (ratio > most)
		ratio = most
	return left + ratio / most * width
}

BEGIN {
	left = 220
	width = 520
	most = 2
	step = 18
}

NR > 1 && $7 != "bytes" {
	n++
	label[n] = $1 " (" $2 ")"
	ratio[n] = $5
	goal[n] = $6
}

END {
	height = (n + 3) * step
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"820\" height=\"%d\"", height
	print " font-family=\"sans-serif\" font-size=\"12\">"
	print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
	printf "<text x=\"%d\" y=\"14\">instructions, as a ratio to the peer;", left
	print " the mark is the goal</text>"
	for (i = 1; i <= n; i++) {
		y = (i + 1) * step
		color = ratio[i] <= goal[i] ? "#4a8" : "#c75"
		printf "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left - 6,
			y + 10, label[i]
		printf "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"12\" fill=\"%s\"/>\n",
			left, y, x(ratio[i]) - left, color
		printf "<rect x=\"%.1f\" y=\"%d\" width=\"2\" height=\"16\"/>\n", x(goal[i]),
			y - 2
		printf "<text x=\"%.1f\" y=\"%d\">%s</text>\n", x(ratio[i]) + 6, y + 10,
			ratio[i]
	}
	printf "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#888\"/>\n", x(1),
		x(1), step, height - step
	print "</svg>"
}' "$1"
