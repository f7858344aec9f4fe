#!/usr/bin/env bash
# From a bare machine to the main job in one command: packages, release build, then placements of sample graphs
# measured, simulated and compared.
set -euo pipefail
cd "$(dirname "$0")/.."

graph=samples/graphs/deepconn_single.pbtxt
strategies=single,tower-split,alternating
# The same model as three files that carry their own device fields.
annotated_graphs=(
  samples/graphs/deepconn_single.pbtxt
  samples/graphs/deepconn_dual.pbtxt
  samples/graphs/deepconn_alternating.pbtxt
)
small_graphs=(samples/graphs/matmul_cpu_gpu.pbtxt samples/graphs/polynomial.pbtxt)
output=build/demo
trace=$output/demo.db

fail() {
  echo "demo: $1" >&2
  exit 1
}

show() {  # prints a command and runs it
  printf '\n$ lanescope %s\n' "$*"
  build/release/bin/lanescope "$@" || fail "lanescope $1 ended with status $?"
}

for file in "$graph" "${annotated_graphs[@]}" "${small_graphs[@]}"; do
  [[ -f $file ]] || fail "$file is missing; is this a complete checkout?"
done

./scripts/install-packages.sh
mkdir -p "$output"
rm -f "$trace"
if ! { cmake --preset release && cmake --build --preset release --target lanescope; } > "$output/build.log" 2>&1; then
  tail -n 40 "$output/build.log" >&2
  fail "the build failed; the whole log is $output/build.log"
fi

show devices
show place "${small_graphs[0]}" --log-device-placement
for small in "${small_graphs[@]}"; do
  show run "$small" --trace "$trace"
done
show compare "$graph" --strategies "$strategies" --trace "$trace"
show compare "${annotated_graphs[@]}" --strategies annotated --trace "$trace"
show summary "$trace"
printf '\nEverything above is in %s, an SQLite file.\n' "$trace"
