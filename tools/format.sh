#!/usr/bin/env bash
# Formats every C++ file; with --check, fails if a file is not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=-i
[ "${1:-}" = --check ] && mode=(--dry-run --Werror)
git ls-files -z '*.hpp' '*.cpp' | xargs -0 clang-format "${mode[@]}"
