#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains with parameter servers: parameter_servers_test.sh PROGRAM FOLDER MACHINES. FOLDER has the graphs that
# samples/cpp/replicas.cpp writes for 1000 elements, MACHINES are samples/machines. Wants OpenMPI and Python, else says so.
set -euo pipefail
program=$1 folder=$2 machines=$3
for tool in mpirun python3; do
  command -v $tool > /dev/null || {
    echo "SKIPPED: parameter servers: $tool is not installed"
    exit 0
  }
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
readonly steps=12
job() {  # job SERVERS MACHINE CLIENT...: a client is "GRAPH RESULT OPTION..."
  local servers=$1 machine=$2 words=() client graph result options
  shift 2
  for client in "$@"; do
    read -r graph result options <<< "$client"
    words+=(: -n 1 bash -c "'$program' run '$folder/$graph.pbtxt' --machine '$machines/$machine.json' --steps $steps --json \
      $options > '$folder/$result.json'")
  done
  timeout 100 mpirun --oversubscribe --bind-to none -n "$servers" "$program" serve --machine "$machines/$machine.json" \
    "${words[@]}" > "$folder/served" || {
    echo "FAILED: $*" >&2
    exit 1
  }
}
job 1 one-ps-two-workers "sync_chief chief --warmup 0 --together" "sync_worker worker --warmup 0 --together"
job 1 one-ps-two-workers "async_scaled scaled0 --alone-steps 3" "async_scaled scaled1"
job 1 one-ps-two-workers "async_dropped dropped0" "async_dropped dropped1"
job 1 one-ps-two-workers "async wire0 --wire bfloat16" "async wire1 --wire bfloat16"
job 2 two-ps-two-workers "sharded sharded0 --init first" "sharded sharded1 --init first"

# Laws: the loss, 9000 at first, falls however the workers' gradients meet; of asynchronous steps it is said how stale they
# were; variables of two servers add up to 1 + 2 + 3 + 4 + 5 for both workers.
python3 - "$folder" << 'CHECK'
import json, sys
def result(name):
  return json.load(open(f'{sys.argv[1]}/{name}.json'))
def value(name, fetch):
  return next(f['values'][0] for f in result(name)['fetches'] if f['name'].startswith(fetch))
for name in 'chief', 'worker', 'scaled0', 'scaled1', 'dropped0', 'dropped1', 'wire0', 'wire1':
  assert 0 < value(name, 'loss') < 4500, (name, value(name, 'loss'))
for name in 'scaled0', 'scaled1', 'dropped0', 'dropped1', 'wire0', 'wire1':
  assert 0 <= result(name)['staleness']['mean'] <= result(name)['staleness']['max'], result(name)['staleness']
for name in 'sharded0', 'sharded1':
  assert value(name, 'sum') == 15, value(name, 'sum')
CHECK
echo "parameter servers: passed"
