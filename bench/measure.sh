#!/usr/bin/env bash
# Measures this machine against Hugging Face and adds its table to bench/README.md: bench/machines/NAME.json holds the times.
# Usage: bench/measure.sh NAME [COMPARE_HUGGINGFACE_ARGUMENT...]   half an hour with two rounds; nothing else may run meanwhile
#        PYTHON: an interpreter with torch and transformers (default: python3)
set -euo pipefail
case ${1:-} in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# //;p}' "$0"; exit 0 ;;
  '' | -*) echo "measure: expected a name for the machine, got ${1:-nothing}; see --help" >&2; exit 2 ;;
esac
name=$1
shift
cd "$(dirname "$0")/.."
cmake --preset bench >/dev/null
cmake --build --preset bench
build-bench/headscope --version
"${PYTHON:-python3}" bench/compare_huggingface.py --headscope build-bench/bench/bench_compare --output "build-bench/$name" --rounds 2 "$@"
python3 bench/tables.py --add "build-bench/$name.json" "$name"
