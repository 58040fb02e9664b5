#!/usr/bin/env bash
# Installs missing packages, builds, and runs every analysis on the model and the stories in data/.
# Usage: tools/demo.sh [OUTPUT_DIR]     default: out/demo
set -euo pipefail
cd "$(dirname "$0")/.."
output=${1:-out/demo}

tools/setup.sh build
cmake --preset release >/dev/null
cmake --build --preset release
build/headscope run --control random --task-pairs 100 --output "$output"
