#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Messages by UCX, which OpenMPI takes where there is InfiniBand, and which tells fewer of them apart: ucx_test.sh SOURCES
# PROGRAM. Here it goes through this computer's memory. Wants OpenMPI with UCX, and Python; 77: one is missing.
set -euo pipefail
sources=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tool in mpirun python3; do
  command -v $tool > /dev/null || {
    echo "SKIPPED: $tool is not installed"
    exit 77
  }
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
run=(run "$sources/samples/graphs/deepconn_dual.pbtxt" --machine "$sources/samples/machines/two-tasks.json"
     --strategy tower-split --steps 3 --warmup 1 --json)
timeout 100 mpirun --oversubscribe --bind-to none --mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any -n 2 \
  "$program" "${run[@]}" > "$work/two" 2> "$work/err" || {
  if grep -q 'PML ucx cannot be selected' "$work/err"; then
    echo "SKIPPED: this OpenMPI has no UCX that works here"
    exit 77
  fi
  echo "FAILED: a run over UCX" >&2
  tail -n 20 "$work/err" >&2
  exit 1
}

# Law: what carries the messages changes no bit.
"$program" "${run[@]}" > "$work/one"
python3 - "$work" << 'CHECK'
import json, sys
two, one = (json.load(open(f'{sys.argv[1]}/{name}')) for name in ('two', 'one'))
assert len(two['ranks']) == 2, two['ranks']
assert two['fetches'] == one['fetches'], (two['fetches'], one['fetches'])
CHECK
echo "UCX: passed"
