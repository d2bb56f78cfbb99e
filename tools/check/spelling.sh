#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs codespell on all our text files.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# Correct words that codespell reports, separated by commas. The last two are macros of
# mdoc.
words=filp,inout,iput,fo,nd

our_files ':!LICENSES' | xargs codespell --ignore-words-list "$words"
