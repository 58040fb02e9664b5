#!/usr/bin/env bash
# One task of a job array: runs a shard until it must wait for others. Submitted by submit.sh.
set -uo pipefail

"$HEADSCOPE" run --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_MAX" --threads "${SLURM_CPUS_PER_TASK:-1}" --resume "$@" &
child=$!
# Slurm sends SIGTERM at the time limit and on preemption: headscope saves and stops.
trap 'kill -TERM "$child" 2>/dev/null' TERM
wait "$child"
status=$?
if [ "$status" -gt 128 ] && kill -0 "$child" 2>/dev/null; then
  wait "$child"
  status=$?
fi
[ "$status" -eq 0 ] && exit 0
# Wrong options would fail again.
[ "$status" -eq 2 ] && exit 2
if [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
  echo "shard $SLURM_ARRAY_TASK_ID: status $status; runs again" >&2
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
  sleep 60
fi
exit "$status"
