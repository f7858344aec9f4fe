#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs all benchmarks and prints one table. Arguments go to every benchmark program, for example
#   scripts/bench.sh --benchmark_filter=Recorder
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ ${1:-} == --help || ${1:-} == -h ]]; then
  echo "usage: scripts/bench.sh [--benchmark_filter=REGEX ...]   REPETITIONS (default 5) from the environment" >&2
  exit 0
fi

repetitions=${REPETITIONS:-5}
results=build/bench

./scripts/install-packages.sh
mkdir -p "$results"
cmake --preset release > "$results/configure.log" || {
  cat "$results/configure.log" >&2
  exit 1
}
cmake --build --preset release

rm -f "$results"/*.json
for program in build/release/bin/bench_*; do
  [[ -x $program && $program != */bench_accuracy* ]] || continue  # those print tables of their own
  name=$(basename "$program")
  echo "running $name" >&2
  "$program" --benchmark_repetitions="$repetitions" --benchmark_enable_random_interleaving=true \
    --benchmark_out="$results/$name.json" --benchmark_out_format=json "$@" > "$results/$name.log" 2>&1 || {
    tail -n 20 "$results/$name.log" >&2
    echo "bench: $name failed" >&2
    exit 1
  }
done
python3 scripts/bench_table.py "$results"/bench_*.json | tee "$results/table.txt"
