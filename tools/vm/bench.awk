# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# From bench.goals and "CASE SIDE NUMBER" lines: a line for each case, of the medians,
# with the 10th and the 90th percentile of the ratios of the runs. Instead of that, TAP:
# with form=cases a test for each case, which passes if both sides have a figure; with
# form=goals a test for each case with a goal, which passes up to 3 % above the goal. A line
# "# failed: ..." fails form=cases, even if each case has its figures.
# NUMBER is - if the machine cannot run the case.

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

# Prints the failures that name the case, or else all failures.
function explain(name,	i, found) {
	for (i = 1; i <= num_failures; i++)
		if (index(words[i], " " name " ")) {
			print failures[i]
			found = 1
		}
	for (i = 1; !found && i <= num_failures; i++)
		print failures[i]
}

function result(is_ok, text) {
	printf "%sok %d bench.%s\n", is_ok ? "" : "not ", ++num_results, text
}

function tap_case(name, ours, other,	missing) {
	missing = ours ? "its peer" : "ours"
	if (ours && other) {
		result(1, sprintf("%s: ours %d, peer %d %s", name, ours, other, unit_of(name)))
	} else if (!ours && (name in impossible)) {
		printf "ok %d # SKIP bench.%s: not on this machine\n", ++num_results, name
	} else {
		explain(name)
		result(0, name ": no figure for " missing)
	}
}

function tap_goal(name, ours, other,	text) {
	if (!ours || !other) {
		explain(name)
		result(0, name ": no figure")
		return
	}
	text = sprintf("%s: ratio %.3f, goal %s", name, ours / other, goal[name])
	result(ours / other <= goal[name] * 1.03, text)
}

function unit_of(name) {
	return name ~ /^mem-/ ? "bytes" : unit
}

/^# failed: / && !($0 in told) {
	told[$0]
	failures[++num_failures] = $0
	words[num_failures] = $0 " "
	gsub(/:/, " ", words[num_failures])
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

$3 == "-" {
	impossible[$1]
	next
}

{
	seen[$1, $2] = seen[$1, $2] " " $3
}

END {
	for (i = 1; i <= num; i++)
		plan += form == "cases" || goal[names[i]] != "-"
	if (form != "")
		print "1.." plan + (form == "cases")
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
		if (form == "cases")
			tap_case(name, ours, other)
		else if (form == "goals" && goal[name] != "-")
			tap_goal(name, ours, other)
		if (form != "" || ours == "" || other == "" || !other)
			continue
		printf "bench: %s ours=%d peer=%d ratio=%.3f unit=%s kernel=%s goal=%s ",
			name, ours, other, ours / other,
			unit_of(name), version, goal[name]
		printf "low=%.3f high=%.3f\n", low, high
	}
	if (form == "cases") {
		explain("")
		result(!num_failures, "no_failure")
	}
}
