#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Repeats on this computer's GPU what docs/results/accuracy.md says of an H100, in under ten minutes:
# hardware.sh [PROGRAMS [FOLDER]]
#
# PROGRAMS is the folder of lanescope and bench_accuracy, built with CUDA. With LANESCOPE_PACK, which
# scripts/gpu-pack.sh made elsewhere, it is what that holds, and nothing is compiled here. Traces stay in FOLDER:
# those that are there already are not recorded again, and bench_accuracy predicts them on any computer.
# REHEARSE=1 takes a small graph and few steps, to see whether everything here runs, also where a stand-in plays
# the GPU.
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=${1:-build/release/bin}
folder=${2:-build/hardware}
machine=samples/machines/one-gpu-as-two.json
reviews=deepconn_single towers=cifar10_towers images=cifar10_single
rounds=(--steps 5) steps=30
if [[ -n ${REHEARSE:-} ]]; then
  reviews=two_towers_matmul towers=two_towers_matmul images=two_towers_matmul
  rounds=(--steps 2 --rounds 2) steps=6
fi
if [[ ${1:-} == -* ]]; then
  sed -n 's/^# \{0,1\}//p' "$0" | sed -n '2,10p'
  exit 2
fi
mkdir -p "$folder"
if [[ -n ${LANESCOPE_PACK:-} ]]; then
  packed=$(realpath "$folder")/packed
  rm -rf "$packed"
  mkdir "$packed"
  tar -C "$packed" -xzf "$LANESCOPE_PACK"
  programs=$packed/bin
  export LD_LIBRARY_PATH=$packed/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} LANESCOPE_SOURCE_DIR=$PWD
fi

record() {  # NAME GRAPH STRATEGY,... OPTION...
  local trace="$folder/$1.db" placed="samples/graphs/$2.pbtxt:$3"
  shift 3
  [[ -e $trace ]] && return
  rm -f "$trace.part"
  "$programs/lanescope" compare "$placed" "$@" --machine "$machine" "${rounds[@]}" --details --trace "$trace.part"
  mv "$trace.part" "$trace"
}

if [[ ! -x $programs/lanescope ]]; then
  echo "hardware.sh: there is no $programs/lanescope: build with CUDA first (scripts/build.sh release), or give the folder of the programs" >&2
  exit 2
fi
"$programs/lanescope" devices | tee "$folder/devices.txt"
if ! grep -q cuda "$folder/devices.txt"; then
  echo "hardware.sh: no GPU is here; traces that were recorded elsewhere are predicted by bench_accuracy --trace FILE..." >&2
  exit 2
fi
record deepconn "$reviews" single,tower-split,alternating,round-robin
record cifar10 "$towers" single,tower-split,annotated,alternating
record cifar10_issued "$towers" single,tower-split --no-cuda-graph

echo
echo "Predictions: each row from the first of its trace"
if [[ -x $programs/bench_accuracy ]]; then
  "$programs/bench_accuracy" --trace "$folder"/{deepconn,cifar10,cifar10_issued}.db
else
  echo "bench_accuracy is not there; elsewhere: bench_accuracy --trace $folder/*.db"
fi

echo
echo "Measuring: the same step untimed, with pairs of events and with CUPTI; what is shown is the untimed steps"
for profile in off kernels; do
  rm -f "$folder/timed_$profile.db"
  "$programs/lanescope" run "samples/graphs/$images.pbtxt" --machine "$machine" --strategy single --steps "$steps" \
    --profile "$profile" --trace "$folder/timed_$profile.db"
  # Medians: the first timed step records the graphs of the others.
  "$programs/lanescope" query "$folder/timed_$profile.db" \
    'SELECT (SELECT median("end" - start) FROM LANESCOPE_UNTIMED_STEP) AS untimedNs, median("end" - start) AS timedNs FROM LANESCOPE_STEP'
done
"$programs/lanescope" run "samples/graphs/$images.pbtxt" --machine "$machine" --strategy single --steps "$steps"

echo
echo "Disturbance: steps that did not count, by run"
for trace in "$folder"/{deepconn,cifar10,cifar10_issued}.db; do
  "$programs/lanescope" query "$trace" "SELECT runId, COUNT(*) AS steps, SUM(disturbed) AS disturbed FROM LANESCOPE_DISTURBANCE GROUP BY runId"
done
