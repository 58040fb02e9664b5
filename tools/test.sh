#!/usr/bin/env bash
# Installs what is missing, builds with warnings as errors, and runs every test.
# Usage: tools/test.sh [CTEST_ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh test
cmake --preset ci >/dev/null
cmake --build --preset ci
# Tests run beside one another; threads that spin while they wait would stand in each other's way.
export OMP_WAIT_POLICY=passive
ctest --test-dir build-ci --output-on-failure -j "$(nproc)" "$@"
