# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# From bench.goals and "CASE SIDE NUMBER" lines: a line for each case, of the medians,
# with the 10th and the 90th percentile of the ratios of the runs.

function sort(values, n,	i, j, t) {
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && values[j - 1] + 0 > values[j] + 0; j--) {
			t = values[j]
			values[j] = values[j - 1]
			values[j - 1] = t
		}
}

function median(name, side,	n, values) {
	n = split(seen[name, side], values, " ")
	sort(values, n)
	return n ? values[int((n + 1) / 2)] : ""
}

# Sets low and high to the 10th and the 90th percentile of the ratios of each run.
function spread(name, other, side,	n, m, i, ours, others, ratios) {
	n = split(seen[name, "ours"], ours, " ")
	m = split(seen[other, side], others, " ")
	if (m < n)
		n = m
	for (i = 1; i <= n; i++)
		ratios[i] = others[i] ? ours[i] / others[i] : 0
	sort(ratios, n)
	low = ratios[int(0.1 * (n - 1) + 0.5) + 1]
	high = ratios[int(0.9 * (n - 1) + 0.5) + 1]
}

/^#/ {
	next
}

FILENAME ~ /\.goals$/ {
	names[++num] = $1
	peer[$1] = $2
	goal[$1] = version == "6.1" ? $3 : $4
	next
}

{
	seen[$1, $2] = seen[$1, $2] " " $3
}

END {
	for (i = 1; i <= num; i++) {
		name = names[i]
		ours = median(name, "ours")
		if (peer[name] ~ /^=/) {
			other = median(substr(peer[name], 2), "ours")
			spread(name, substr(peer[name], 2), "ours")
		} else {
			other = median(name, peer[name])
			spread(name, name, peer[name])
		}
		if (ours == "" || other == "" || !other)
			continue
		printf "bench: %s ours=%d peer=%d ratio=%.3f unit=%s kernel=%s goal=%s ",
			name, ours, other, ours / other,
			name ~ /^mem-/ ? "bytes" : unit, version, goal[name]
		printf "low=%.3f high=%.3f\n", low, high
	}
}
