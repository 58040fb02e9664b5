#!/usr/bin/env bash
# Cross-compiles for 64-bit ARM into build-arm64/, checks that loops became vector code, and runs the tests of src/compute under QEMU.
# Usage: tools/test_arm64.sh     as root in a Debian 12 of its own (a container, debootstrap): installs packages of arm64 there
set -euo pipefail
case ${1:-} in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# //;p}' "$0"; exit 0 ;;
  ?*) echo "test_arm64: expected no argument, got $1; see --help" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."

dpkg --add-architecture arm64
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  crossbuild-essential-arm64 cmake ninja-build pkg-config python3 qemu-user-static nlohmann-json3-dev libgtest-dev \
  libarmadillo-dev:arm64 libopenblas-pthread-dev:arm64 libhdf5-dev:arm64 libboost-dev:arm64 \
  libboost-program-options-dev:arm64 libpcre2-dev:arm64 libutf8proc-dev:arm64 libssl-dev:arm64 zlib1g-dev:arm64 libgmock-dev:arm64 >/dev/null

cmake -G Ninja -S . -B build-arm64 -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake -DCMAKE_BUILD_TYPE=Release \
  -DHEADSCOPE_COMPILE_BY_FOLDER=ON -DHEADSCOPE_WARNINGS_AS_ERRORS=ON -DHEADSCOPE_BUILD_BENCH=OFF
cmake --build build-arm64 --target headscope_compute_tests
tools/check_neon.sh build-arm64/libheadscope.a
qemu-aarch64-static build-arm64/headscope --version
# Under QEMU /proc/cpuinfo is the host's, tests cannot start the program, and trials of engines would measure QEMU, for minutes.
qemu-aarch64-static build-arm64/tests/headscope_compute_tests --gtest_brief=1 \
  --gtest_filter=-Trial.*:Processor.HasWhatLinuxSaysOfIt:Version.SaysWhatEachPrecisionMeansOnThisMachine
