#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the CUDA backend and the capture on a computer with a GPU, what matters most first, and writes what came out to
# OUTPUT.
#   scripts/gpu-check.sh [OUTPUT]     OUTPUT: a folder, default build/gpu-check
# From the environment:
#   PARTS                 parts to do, default all, in this order: probe tests samples capture compare bench torch trace measure
#                         sanitizer. Where a command may not run for long, run it several times with other PARTS and OUTPUTs.
#   LANESCOPE_PACK        what scripts/gpu-pack.sh made elsewhere: nothing is compiled here, and only python3 is needed
#   CMAKE_PREFIX_PATH     else, where the libraries lie that the system does not have (protobuf, fmt, SQLite, ...): folders
#                         with include/, lib/ and bin/, as the usr/ of unpacked packages; several with : between them
#   LANESCOPE_CUDA_ROOT   the CUDA toolkit, if nvcc is not on the PATH, in /usr/local/cuda* or in a Python package
#   LANESCOPE_BUILD       a build folder to use; default build/gpu. What is built stays.
#   CMAKE_EXTRA           further options for cmake
#   LIMIT                 seconds that a part may take; default 600
#   REHEARSE=1            without a GPU: virtual GPUs take its place, to try the script. Its numbers mean nothing.
# Nothing is installed. A part that fails is reported, the others still run; the status is 1 then.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

if [[ ${1:-} == -* ]]; then
  echo "usage: scripts/gpu-check.sh [OUTPUT]   the head of the script says what it reads from the environment" >&2
  [[ $1 == --help || $1 == -h ]] && exit 0
  exit 2
fi
output=${1:-build/gpu-check}
build=${LANESCOPE_BUILD:-build/gpu}
parts=" ${PARTS:-probe tests samples capture compare bench torch trace measure sanitizer} "
limit=${LIMIT:-600}
jobs=$(nproc)
failed=0

stop() {  # stop WHY: nothing further makes sense
  echo "gpu-check: $1" >&2
  exit 1
}

mkdir -p "$output" || stop "cannot make the folder $output"
results=$output/gpu-results.md
log=$output/gpu-check.log
: > "$results"
: > "$log"

note() { printf '%s\n' "$*" | tee -a "$results"; }

part() {  # part NAME COMMAND...: output to the log, its last lines to the results, the outcome noted
  local name=$1 start=$SECONDS status text
  shift
  printf '\n== %s: %s\n' "$name" "$*" >> "$log"
  text=$("$@" 2>&1)
  status=$?
  printf '%s\n' "$text" >> "$log"
  note ""
  note "## $name"
  note ""
  if ((status == 0)); then
    note "Passed in $((SECONDS - start)) s."
  else
    local why=
    ((status == 124)) && why=" (stopped: it took longer than LIMIT)"
    note "**Failed** with status $status after $((SECONDS - start)) s$why."
    failed=1
  fi
  note ""
  note '```'
  printf '%s\n' "$text" | tail -n "${TAIL:-12}" | cut -c1-240 | tee -a "$results"
  note '```'
  return $status
}

wanted() { [[ $parts == *" $1 "* ]]; }
limited() { timeout --kill-after=10 "$limit" "$@"; }

# Python packages keep nvcc, cuBLAS, cuDNN and CUPTI in nvidia/*/{bin,lib} of their site-packages.
find_python_toolkit() {
  python3 - << 'PYTHON' 2> /dev/null
import glob, os, site, sys
roots = [p for p in dict.fromkeys(site.getsitepackages() + [site.getusersitepackages()] + sys.path) if os.path.isdir(p)]
nvcc = next((f for r in roots for f in sorted(glob.glob(f'{r}/nvidia/*/bin/nvcc'), reverse=True)), '')
libraries = [d for r in roots for d in sorted(glob.glob(f'{r}/nvidia/*/lib'))]
print(os.path.dirname(os.path.dirname(nvcc)))
print(';'.join(libraries))
PYTHON
}

# Programs and libraries of the prefixes can be run: protoc while building, and what is built.
use_prefixes() {
  local prefix dir architecture
  architecture=$(${CXX:-g++} -print-multiarch 2> /dev/null)
  IFS=':;' read -ra prefixes <<< "${CMAKE_PREFIX_PATH:-}"
  for prefix in "${prefixes[@]}"; do
    [[ -d $prefix/bin ]] && PATH=$prefix/bin:$PATH
    for dir in "$prefix/lib" "$prefix/lib64" ${architecture:+"$prefix/lib/$architecture" "$prefix/lib/$architecture/openblas-pthread"}; do
      [[ -d $dir ]] && LD_LIBRARY_PATH=$dir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    done
  done
  export PATH LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
}

use_toolkit() {  # cuda_root, cuda_libraries and the path of the linker
  local -a python_toolkit
  mapfile -t python_toolkit < <(find_python_toolkit)
  cuda_root=${LANESCOPE_CUDA_ROOT:-}
  cuda_libraries=${python_toolkit[1]:-}
  if [[ -z $cuda_root ]] && ! command -v nvcc > /dev/null && ! compgen -G '/usr/local/cuda*/bin/nvcc' > /dev/null; then
    cuda_root=${python_toolkit[0]:-}
  fi
  # Behind all else: the toolkit's own libraries come first, found by the path that the linker has noted.
  export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}${cuda_libraries:+${LD_LIBRARY_PATH:+:}${cuda_libraries//;/:}}
}

unpack() {  # what was built elsewhere, and what it lacks here
  local here
  rm -rf "$build"
  mkdir -p "$build" && tar -C "$build" -xzf "$LANESCOPE_PACK" || return
  here=$(git rev-parse HEAD 2> /dev/null || echo unknown)
  [[ $(< "$build/commit") == "$here" ]] || echo "The pack is of commit $(< "$build/commit"), this checkout of $here."
  ldd "$build"/bin/* | grep 'not found' | sort -u
  return 0
}

configure() {
  local -a generator=()
  [[ ! -f $build/CMakeCache.txt ]] && command -v ninja > /dev/null && generator=(-G Ninja)
  # shellcheck disable=SC2086  # several options
  cmake -S . -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DLANESCOPE_CUDA=ON -DLANESCOPE_BENCH=OFF \
    ${cuda_root:+-DLANESCOPE_CUDA_ROOT="$cuda_root"} ${cuda_libraries:+-DLANESCOPE_CUDA_LIBRARY_DIRS="$cuda_libraries"} \
    ${prefix_path:+-DCMAKE_PREFIX_PATH="${prefix_path//:/;}"} ${CMAKE_EXTRA:-}
}

note "# Results of scripts/gpu-check.sh"
note ""
note "* date: $(date -u +%Y-%m-%dT%H:%MZ), commit $(git rev-parse --short HEAD 2> /dev/null || echo unknown)"
note "* GPU: $(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2> /dev/null | paste -sd';' || true)"
note "* host: $jobs cores, $(uname -r)"

prefix_path=${CMAKE_PREFIX_PATH:-}
library_path=${LD_LIBRARY_PATH:-}
[[ -n ${LANESCOPE_PACK:-} ]] || use_prefixes
use_toolkit
if [[ -n ${LANESCOPE_PACK:-} ]]; then
  build=build/gpu-packed
  export LD_LIBRARY_PATH=$PWD/$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} LANESCOPE_SOURCE_DIR=$PWD
  TAIL=20 part "Unpack" unpack || stop "cannot unpack $LANESCOPE_PACK"
else
  command -v cmake > /dev/null || stop "cmake is not installed; LANESCOPE_PACK brings programs along"
  part "Configure" configure || stop "configuring failed; the end of $log says why (libraries in a prefix: CMAKE_PREFIX_PATH)"
  note ""
  note "Convolutions: $(sed -n 's/^LANESCOPE_CONVOLUTIONS:INTERNAL=//p' "$build/CMakeCache.txt")"
  TAIL=3 part "Build" limited cmake --build "$build" --parallel "$jobs" --target lanescope lanescope_cuda lanescope_inject gpu_tests ||
    stop "the build failed; see $log (after its LIMIT it goes on where it stopped)"
fi

program=$build/bin/lanescope
host=samples/machines/host-1-worker.json
often=(--steps 100 --warmup 20) rounds=()
if [[ -n ${REHEARSE:-} ]]; then
  often=(--steps 3 --warmup 1) rounds=(--steps 1 --rounds 1 --repeats 1)
  note ""
  note "**A rehearsal on virtual GPUs.**"
  one=samples/machines/two-virtual-gpus.json two=$one halves=$one
else
  one=physical two=samples/machines/one-gpu-as-two.json halves=samples/machines/one-gpu-as-two-halves.json
  devices=$("$program" devices 2>&1)
  grep -q '^GPU.* cuda ' <<< "$devices" || stop "the program finds no GPU: $devices"
fi
graphs=samples/graphs
graph=$graphs/deepconn_single.pbtxt

run() { limited "$program" run "$@" 2> >(grep -v '^step ' >&2); }  # without progress

probe() {
  "$program" devices || return
  command -v nvcc > /dev/null && nvcc --version | tail -n 2
  python3 -c 'import torch; print("PyTorch", torch.__version__)' 2> /dev/null
  run $graphs/polynomial.pbtxt --machine "$one" --strategy single --steps 5 | head -n 2
}

step_of() {  # step_of GRAPH OPTION...: the step time as the program prints it
  local text
  text=$(run "$@" "${often[@]}" --strategy single --machine "$one") || return
  head -n 1 <<< "$text"
}

capture() {  # What CUPTI delivers of a run, what it costs, and the capture of another program
  local status=0 trace=$output/traces/captured.db program_trace=$output/traces/program.db mode
  rm -f "$trace" "$program_trace"
  for mode in off kernels full; do
    for option in "" --no-cuda-graph; do
      echo "--profile $mode ${option:-with CUDA graphs}: $(step_of "$graph" --profile $mode --trace "$trace" $option)" || status=1
    done
  done
  "$program" query "$trace" "SELECT (SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL) kernels,
    (SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY) copies, (SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME) calls,
    (SELECT COUNT(*) FROM LANESCOPE_ACTIVITY) with_their_command" || status=1
  "$program" query "$trace" "SELECT * FROM LANESCOPE_DROPPED WHERE \"count\" > 0" || status=1
  "$program" query "$trace" "SELECT * FROM LANESCOPE_CLOCK LIMIT 8" || status=1
  limited "$program" profile -o "$program_trace" -- "$program" run "$graph" --machine "$one" --strategy single "${often[@]}" \
    2> >(grep -v '^step ' >&2) || status=1
  "$program" query "$program_trace" "SELECT COUNT(*) kernels FROM CUPTI_ACTIVITY_KIND_KERNEL" || status=1
  return $status
}

compare() {
  local status=0 machine
  for machine in "$two" "$halves"; do
    echo "== $machine"
    limited "$program" compare "$graph:single,tower-split,alternating" --details --machine "$machine" "${rounds[@]}" \
      --trace "$output/traces/compare.db" 2> >(grep -v '^round ' >&2) || status=1
    [[ $two == "$halves" ]] && break
  done
  return $status
}

bench() {
  local status=0 model option
  for model in deepconn_single cifar10_single; do
    for option in "" --no-cuda-graph --tf32; do
      echo "$model ${option:-with CUDA graphs}: $(step_of "$graphs/$model.pbtxt" $option)" || status=1
    done
  done
  return $status
}

traces() {  # Small ones, to look at elsewhere and to test predictions with
  local status=0 name strategy
  for name in polynomial_parallel deepconn_single cifar10_towers; do
    for strategy in single tower-split alternating annotated; do
      run "$graphs/$name.pbtxt" --strategy $strategy --machine "$two" --steps 5 --warmup 5 --profile kernels \
        --trace "$output/traces/$name.db" | head -n 1
      ((PIPESTATUS[0] == 0)) || status=1
    done
  done
  return $status
}

mkdir -p "$output/traces"
wanted probe && TAIL=40 part "Probe" probe
if wanted tests; then
  TAIL=40 part "Tests that need a GPU" limited "$build/bin/gpu_tests" --gtest_brief=1
fi
if wanted samples; then
  TAIL=40 part "Samples beside the host" limited python3 scripts/gpu_samples.py "$program" "$host" "$two"
fi
wanted capture && TAIL=60 part "Capture" capture
wanted compare && TAIL=90 part "Comparison on two logical devices and on two halves of a GPU" compare
wanted bench && TAIL=20 part "Steps" bench
if wanted torch; then
  text=$(LD_LIBRARY_PATH=$library_path limited python3 bench/peers/torch_step.py 2>&1)  # with its own libraries alone
  status=$?
  note ""
  note "## PyTorch"
  note ""
  if ((status == 3)); then
    note "Skipped: $text"
  else
    note '```'
    printf '%s\n' "$text" | cut -c1-300 | tee -a "$results"
    note '```'
    ((status == 0)) || failed=1
  fi
fi
wanted trace && TAIL=20 part "Traces" traces
if wanted measure; then
  TAIL=60 part "Measured machine" limited "$program" devices --measure -o "$output/machine.json"
fi
if wanted sanitizer; then
  sanitizer=$(command -v compute-sanitizer || compgen -G '/usr/local/cuda*/bin/compute-sanitizer' | tail -n 1)
  if [[ -n $sanitizer ]]; then
    # Every op once; the losses of whole models would take hours under the checker.
    part "compute-sanitizer" limited "$sanitizer" --tool memcheck --error-exitcode 9 \
      "$build/bin/gpu_tests" --gtest_filter='GpuOps.*:Gpu.Copies*:Gpu.RecordsAGraph*'
  else
    note ""
    note "compute-sanitizer is not installed: skipped."
  fi
fi

# One file, which is easy to take along.
if compgen -G "$output/traces/*.db" > /dev/null; then
  tar -C "$output" -czf "$output/traces.tar.gz" traces
fi
rm -rf "$output/traces"
note ""
((failed == 0)) && note "All parts passed." || note "**Some parts failed**; $log has everything."
exit $failed
