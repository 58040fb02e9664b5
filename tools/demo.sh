#!/usr/bin/env bash
# Installs missing packages, builds in build/, and runs every analysis on the model and the stories in data/.
# Usage: tools/demo.sh [OUTPUT_DIR]     default: out/demo; results that are there already are kept
set -euo pipefail
case ${1:-} in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# //;p}' "$0"; exit 0 ;;
  -*) echo "demo: expected a folder, got $1; see --help" >&2; exit 2 ;;
esac
output=$(realpath -m "${1:-$(dirname "$0")/../out/demo}")
cd "$(dirname "$0")/.."

tools/setup.sh build
cmake --preset release >/dev/null
cmake --build --preset release
if [ -e "$output/report.html" ] && [ "$output/results.h5" -nt build/headscope ]; then
  echo "Kept the results of an earlier demo; to repeat it, remove $output." >&2
  echo "$output/report.html"
else
  build/headscope run --control random --task-pairs 50 --score-effect-documents 4 --resume --force --output "$output"
fi
