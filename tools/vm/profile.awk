# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# From lines "ADDRESS - NAME MODULE" and "ADDRESS COUNT", by address: for each function
# the instructions and the calls for one call of the function that per names.

$2 == "-" {
	# Of several names the one that was asked for, or else the first.
	if ($1 != start || $3 == per)
		name = $3 " " $4
	start = $1
	next
}

{
	insn[name] += $2
	total += $2
	if ($1 == start)
		calls[name] += $2
}

END {
	for (name in calls) {
		split(name, words, " ")
		if (words[1] == per)
			ops = calls[name]
	}
	if (!ops) {
		print "nobody has called " per >"/dev/stderr"
		exit 1
	}
	printf "%10.1f %8.2f total of %d operations\n", total / ops, 1, ops
	for (name in insn)
		printf "%10.1f %8.2f %s\n", insn[name] / ops, calls[name] / ops, name
}
