#!/usr/bin/env bash
# Builds the fuzz targets and runs them one after the other; findings stay in out/fuzz/TARGET.
# Usage: tests/fuzz/run.sh [TARGET...]      Environment: RUNS (1000000), SECONDS_EACH (600)
set -euo pipefail
cd "$(dirname "$0")/../.."
output=out/fuzz
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz
python3 tests/fuzz/make_seeds.py "$output/seeds"
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(config index safetensors conllu text tasks vocabulary tokenizer_json encoding
  statistics token_ids model_hdf5 model_keras results hdf5_damage)
# Short texts make fast runs; a whole vocabulary is long.
declare -A longest=([text]=512 [encoding]=256 [conllu]=2048 [vocabulary]=16384 [tokenizer_json]=16384)

failed=0
for target in "${targets[@]}"; do
  corpus="$output/$target"
  mkdir -p "$corpus"
  # Leak checks run only at the end, because blocks that HDF5 keeps for later use look like leaks.
  if build-fuzz/tests/fuzz/"${target}_fuzz" "$corpus" "$output/seeds/$target" \
    -runs="${RUNS:-1000000}" -max_total_time="${SECONDS_EACH:-600}" -max_len="${longest[$target]:-4096}" \
    -timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=512 -detect_leaks=0 -print_final_stats=1 \
    -artifact_prefix="$output/$target-" >"$output/$target.log" 2>&1; then
    verdict=clean
  else
    verdict="FINDING, see $output/$target.log"
    failed=1
  fi
  echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$output/$target.log") runs, $verdict"
done
exit $failed
