#!/usr/bin/env bash
# Repeats on this computer's GPU what docs/results/accuracy.md says of an H100, in under ten minutes:
# hardware.sh [PROGRAMS [FOLDER]]
#
# PROGRAMS is the folder of lanescope and bench_accuracy, built with CUDA. Traces stay in FOLDER: those that are
# there already are not recorded again.
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=${1:-build/release/bin}
folder=${2:-build/hardware}
machine=samples/machines/one-gpu-as-two.json
mkdir -p "$folder"

record() {  # NAME GRAPH:STRATEGY,... OPTION...
  local trace="$folder/$1.db"
  shift
  [[ -e $trace ]] && return
  rm -f "$trace.part"
  "$programs/lanescope" compare "$@" --machine "$machine" --steps 5 --details --trace "$trace.part"
  mv "$trace.part" "$trace"
}

"$programs/lanescope" devices
record deepconn samples/graphs/deepconn_single.pbtxt:single,tower-split,alternating,round-robin
record cifar10 samples/graphs/cifar10_towers.pbtxt:single,tower-split,annotated,alternating
record cifar10_issued samples/graphs/cifar10_towers.pbtxt:single,tower-split --no-cuda-graph

echo
echo "Predictions: each row from the first of its trace"
"$programs/bench_accuracy" --trace "$folder"/{deepconn,cifar10,cifar10_issued}.db

echo
echo "Measuring: the same step with the times of its commands and with those of its kernels"
for profile in "" "--profile kernels"; do
  # shellcheck disable=SC2086
  "$programs/lanescope" run samples/graphs/cifar10_single.pbtxt --machine "$machine" --strategy single --steps 30 $profile
done

echo
echo "Disturbance: steps that did not count, by run"
for trace in "$folder"/*.db; do
  "$programs/lanescope" query "$trace" "SELECT runId, COUNT(*) AS steps, SUM(disturbed) AS disturbed FROM LANESCOPE_DISTURBANCE GROUP BY runId"
done
