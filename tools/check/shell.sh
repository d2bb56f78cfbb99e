#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs shellcheck on all our shell scripts.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# Select by the first line, because some scripts have no .sh suffix.
our_files . | while IFS= read -r file; do
	case $(head -n 1 "$file" | tr -d '\0') in
	'#!'*sh) printf '%s\n' "$file" ;;
	esac
done | xargs -P "$(nproc)" -n 10 shellcheck --external-sources --source-path=SCRIPTDIR
