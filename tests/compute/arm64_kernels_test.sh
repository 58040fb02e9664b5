#!/usr/bin/env bash
# Cross-compiles int16 kernels and element-wise loops for 64-bit ARM, checks that the loops became vector code, and runs the tests of the
# kernels and of exponentials under QEMU. tools/test_arm64.sh tests all of src/compute, but needs a Debian of its own.
# Usage: tests/compute/arm64_kernels_test.sh     exit status 77: a program that it needs is not installed
set -euo pipefail
case ${1:-} in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# //;p}' "$0"; exit 0 ;;
  ?*) echo "arm64_kernels_test: expected no argument, got $1; see --help" >&2; exit 2 ;;
esac
project=$(realpath "$(dirname "$0")/../..")
googletest=/usr/src/googletest/googletest
for program in aarch64-linux-gnu-g++ aarch64-linux-gnu-objdump qemu-aarch64; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
[ -d "$googletest" ] || { echo "skipped: $googletest is not there"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# Armadillo's headers alone: others of /usr/include are of this machine's processor.
mkdir include
ln -s /usr/include/armadillo /usr/include/armadillo_bits include
cat >flags <<END
-std=c++20 -O3 -fopenmp -ffunction-sections -Wno-psabi -I$project/include -I$project/src -I$project/tests
-isystem include -I$googletest/include -I$googletest
-DARMA_DONT_USE_WRAPPER -DARMA_DONT_USE_BLAS -DARMA_DONT_USE_LAPACK -DARMA_DONT_USE_HDF5 -DARMA_DONT_USE_OPENMP -DARMA_NO_DEBUG
END
loops=(norm ops mlp difference)
sources=("${loops[@]/#/src/compute/}" src/compute/product/{int16,int16_neon,int16_portable}
  src/base/{processor,error,text,utf8} tests/compute/int16_test tests/base/vector_math_test)
sources=("${sources[@]/#/$project/}")
printf '%s\n' "${sources[@]/%/.cpp}" "$googletest"/src/gtest{-all,_main}.cc | xargs -P 2 -n 1 aarch64-linux-gnu-g++ @flags -c

"$project/tools/check_neon.sh" "${loops[@]/%/.o}"
rm "${loops[@]/%/.o}"
# Without functions that nothing calls: one of text needs utf8proc, whose library is of this machine's processor.
aarch64-linux-gnu-g++ -fopenmp -Wl,--gc-sections ./*.o -o kernels_test
output=$(qemu-aarch64 -L /usr/aarch64-linux-gnu kernels_test --gtest_filter='-*avx*') || { echo "$output"; exit 1; }
grep -E 'OK.*/neon|PASSED|SKIPPED' <<<"$output"
# A kernel that the processor was not found to have would be skipped.
! grep -q SKIPPED <<<"$output"
