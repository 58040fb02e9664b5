#!/usr/bin/env bash
# The last job of submit.sh: merges the shards in the folder given; further arguments are options of `headscope merge`.
# A merge that was stopped may have left results.
set -euo pipefail
exec "$HEADSCOPE" merge "$1/shards" --output "$1" --force --threads "${SLURM_CPUS_PER_TASK:-1}" "${@:2}"
