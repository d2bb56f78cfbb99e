#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs codespell over every text file of ours.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# Words that codespell takes for mistakes and that are none, separated by commas.
# The last two are macros of mdoc.
words=filp,inout,iput,fo,nd

our_files ':!LICENSES' | xargs codespell --ignore-words-list "$words"
