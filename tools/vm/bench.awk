# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# From bench.goals and "CASE SIDE NUMBER" lines: a line for each case, of the medians.

function median(name, side,	n, i, j, t, values) {
	n = split(seen[name, side], values, " ")
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && values[j - 1] + 0 > values[j] + 0; j--) {
			t = values[j]
			values[j] = values[j - 1]
			values[j - 1] = t
		}
	return n ? values[int((n + 1) / 2)] : ""
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
		if (peer[name] ~ /^=/)
			other = median(substr(peer[name], 2), "ours")
		else
			other = median(name, peer[name])
		if (ours == "" || other == "" || !other)
			continue
		printf "bench: %s ours=%d peer=%d ratio=%.3f unit=%s kernel=%s goal=%s\n",
			name, ours, other, ours / other,
			name ~ /^mem-/ ? "bytes" : unit, version, goal[name]
	}
}
