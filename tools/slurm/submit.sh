#!/usr/bin/env bash
# Submits a run to Slurm: N shards, at least 2, as job arrays, one array for each pass, and a merge after the last.
#
#   tools/slurm/submit.sh N --output DIR [OPTION...]      options of `headscope run`; a file of --config may not hold --output
#
# From the environment:
#   HEADSCOPE      the program (default: headscope on PATH)
#   PASSES         number of arrays: 4 passes over the corpus, and with tasks 11 over them, of which tasks takes 3 and paths 8
#                  (default 15, or 4 with --model and without --tasks; an extra array does nothing)
#   CPUS           per task (default 1)
#   SBATCH_OPTIONS further options of sbatch, for example "--time=4:00:00 --mem=3G --partition=short"
#
# Prints the job number of the merge. A task that fails or is stopped is requeued up to 3 times and resumes.
set -euo pipefail

if [ $# -lt 2 ] || ! [[ $1 =~ ^[1-9][0-9]*$ ]]; then
  sed -n '2,/^set/{s/^# \{0,1\}//;/^set/d;p}' "$0" >&2
  exit 2
fi
[ "$1" -ge 2 ] || { echo "submit: expected N of at least 2, got $1; headscope run alone runs a corpus in one process" >&2; exit 2; }
n_shard=$1
shift
output=
config=
mixed=()
has_force=
has_model=
has_tasks=
for ((i = 1; i <= $#; ++i)); do
  j=$((i + 1))
  case ${!i} in
    --output | -o) output=${!j-} ;;
    --output=*) output=${!i#*=} ;;
    -o*) output=${!i#-o} ;;
    --config) config=${!j-} ;;
    --config=*) config=${!i#*=} ;;
    --force) has_force=yes ;;
    --mixed) mixed=(--mixed) ;;
    --model | --model=*) has_model=yes ;;
    --tasks | --tasks=*) has_tasks=yes ;;
  esac
done
[ -n "$output" ] || { echo "submit: expected --output DIR, got none" >&2; exit 2; }
in_config() { [ -n "$config" ] && grep -q "^[[:space:]]*$1[[:space:]]*=" "$config"; }
is_off="[[:space:]]*[\"']?(false|no|off|0)[\"']?[[:space:]]*(#.*)?\$"
is_on_in_config() { in_config "$1" && ! grep -qiE "^[[:space:]]*$1[[:space:]]*=$is_off" "$config"; }
if in_config model; then has_model=yes; fi
if in_config tasks; then has_tasks=yes; fi
if is_on_in_config force; then has_force=yes; fi
if is_on_in_config mixed; then mixed=(--mixed); fi
if [ -e "$output/results.h5" ] && [ -z "$has_force" ]; then
  echo "submit: $output holds the results of a finished run; --force replaces them, or choose another folder" >&2
  exit 1
fi

headscope=$(command -v "${HEADSCOPE:-headscope}") || { echo "submit: no program ${HEADSCOPE:-headscope}" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$output/log"
read -ra more <<<"${SBATCH_OPTIONS:-}"
common=(--parsable --kill-on-invalid-dep=yes --cpus-per-task="${CPUS:-1}" --open-mode=append --requeue
  --export="ALL,HEADSCOPE=$headscope" "${more[@]}")

# The default model has tasks of its own.
[ -n "$has_model" ] && [ -z "$has_tasks" ] && n_pass=4 || n_pass=15
previous=
for ((pass = 1; pass <= ${PASSES:-$n_pass}; ++pass)); do
  after=()
  [ -z "$previous" ] || after=(--dependency="afterok:$previous")
  previous=$(sbatch "${common[@]}" "${after[@]}" --job-name="headscope-$pass" --array="1-$n_shard" --signal=B:TERM@120 \
    --output="$output/log/pass-$pass-shard-%a.txt" "$here/shard.sh" "$@")
done
sbatch "${common[@]}" --dependency="afterok:$previous" --job-name=headscope-merge \
  --output="$output/log/merge.txt" "$here/merge.sh" "$output" "${mixed[@]}"
