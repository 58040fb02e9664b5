#!/usr/bin/env bash
# Installs missing packages, builds in build/, where tools/demo.sh has built the program, and runs the tests: 9 to 13 minutes on two cores.
# Usage: tools/test.sh [--thorough] [CTEST_ARGUMENT...]
#   --thorough: also what takes longer (more than an hour): more seeds, rounds and damaged files, every way to install, a real Slurm, the whole
#               program under sanitizers. The way to install by pip takes packages from the Python package index.
set -euo pipefail
case ${1:-} in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# //;p}' "$0"; exit 0 ;;
esac
cd "$(dirname "$0")/.."

# The tests expect the program's own choice of kernel.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
selection=(--label-exclude thorough)
packages=test
preset=tests
if [ "${1:-}" = --thorough ]; then
  shift
  selection=()
  packages=thorough
  preset=ci
  export HEADSCOPE_THOROUGH=1
fi
tools/setup.sh "$packages"
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset"
ctest --test-dir build --output-on-failure -j "$(nproc)" "${selection[@]}" "$@"
[ "$packages" = thorough ] || exit 0

# The whole program and all small cases under the address and undefined-behaviour sanitizers.
unset HEADSCOPE_THOROUGH
cmake --preset asan >/dev/null
cmake --build --preset asan
ctest --preset asan -j "$(nproc)" --label-exclude thorough "$@"
tests/program/whole_program.py build-asan/headscope

# The program under the thread sanitizer, which archer tells where OpenMP's threads wait; OpenBLAS is not instrumented.
cmake --preset tsan >/dev/null
cmake --build --preset tsan
OMP_TOOL_LIBRARIES=$(clang++-16 -print-file-name=libarcher.so) TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1 \
  tests/program/whole_program.py build-tsan/headscope
