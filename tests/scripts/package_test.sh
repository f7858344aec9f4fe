#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a finished build, builds samples/cpp against the installed package alone, and runs what comes out.
#   package_test.sh SOURCE_DIR BUILD_DIR CXX_COMPILER
set -euo pipefail
source_dir=$1
build_dir=$2
compiler=$3
work=$build_dir/package_test
prefix=$work/prefix

rm -rf "$work"
cmake --install "$build_dir" --prefix "$prefix" > /dev/null

# Every installed header, in one translation unit, with nothing but the installed tree to look in.
headers=$(cd "$prefix/include/lanescope" && find . -name '*.h' | sort)
for header in $headers; do
  echo "#include \"${header#./}\""
done > "$work/all_headers.cpp"
"$compiler" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I "$prefix/include/lanescope" "$work/all_headers.cpp"
echo "$(wc -l < "$work/all_headers.cpp") installed headers compile"

cmake -S "$source_dir/samples/cpp" -B "$work/samples" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" > /dev/null
cmake --build "$work/samples"
# What they run is recorded for TensorFlow to run, too (samples/export/replay_runs.py).
export LANESCOPE_RECORD_RUNS=$work/runs
mkdir "$LANESCOPE_RECORD_RUNS"
for program in build_graph matrices towers add_on_devices fit_polynomial pinned_variables memory_options logical_devices; do
  "$work/samples/$program"
done
unset LANESCOPE_RECORD_RUNS
# Not recorded: one is fed with texts, which no .npy holds, and both with more than a test keeps.
"$work/samples/deepconn" "$source_dir/samples/graphs/deepconn_single.pbtxt" 1
"$work/samples/cifar10" 1
test "$(ls "$work"/runs/*.pbtxt | wc -l)" -gt 10
"$work/samples/write_graphs" "$work"
"$work/samples/replicas" "$work"
mkdir -p "$work/trained"
"$work/samples/replicas" "$work/trained" 1000
"$source_dir/tests/scripts/parameter_servers_test.sh" "$prefix/bin/lanescope" "$work/trained" "$source_dir/samples/machines"
"$work/samples/input_pipeline" "$source_dir/samples/pipelines/instances.csv" | tee "$work/input.txt"
grep -q '^before the threads run: DeadlineExceeded$' "$work/input.txt"
grep -q '^10 batches, 1000 lines, targets sum to 487$' "$work/input.txt"
"$work/samples/predict_step" "$source_dir/samples/graphs/deepconn_single.pbtxt" \
  "$source_dir/samples/machines/k80x2.json"
"$work/samples/record_run" "$work/recorded.db" | tee "$work/recorded.txt"
grep -q '^caveat: nothing to go by for [0-9]*% of the commands. time: the machine file gives no rates' "$work/recorded.txt"
grep -q '^run 1, products placed by alternating, simulated: 20 steps' "$work/recorded.txt"
grep -q '^run 2, products placed by alternating, measured: 20 steps' "$work/recorded.txt"
test "$(grep -c '  y on GPU:' "$work/recorded.txt")" -eq 2
"$prefix/bin/lanescope" summary "$work/recorded.db" > /dev/null
"$prefix/bin/lanescope" --help > /dev/null

# The same libraries without CMake.
if command -v pkg-config > /dev/null; then
  export PKG_CONFIG_PATH=$(echo "$prefix"/lib*/pkgconfig)
  # shellcheck disable=SC2046
  "$compiler" $(pkg-config --cflags lanescope) "$source_dir/samples/cpp/predict_step.cpp" -o "$work/predict_step" $(pkg-config --libs lanescope)
  "$work/predict_step" "$source_dir/samples/graphs/deepconn_single.pbtxt" "$source_dir/samples/machines/k80x2.json" > /dev/null
  echo "pkg-config: lanescope $(pkg-config --modversion lanescope)"
fi
