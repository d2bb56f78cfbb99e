#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds the documents with Sphinx. Every warning is a failure: a dead link, a page that
# no table of contents lists, a table with a broken row.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# -E reads unchanged pages again, because Sphinx prints their warnings only when it does.
sphinx-build -q -E -n -W --keep-going -b html \
	-d "$state_dir/doctrees" Documentation "$state_dir/html"
