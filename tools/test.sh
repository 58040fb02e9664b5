#!/usr/bin/env bash
# Installs missing packages, builds with warnings as errors, and runs every test.
# Usage: tools/test.sh [CTEST_ARGUMENT...]
set -euo pipefail
case ${1:-} in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# //;p}' "$0"; exit 0 ;;
esac
cd "$(dirname "$0")/.."

tools/setup.sh test
cmake --preset ci >/dev/null
cmake --build --preset ci
ctest --test-dir build-ci --output-on-failure -j "$(nproc)" "$@"
