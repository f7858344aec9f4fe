#!/usr/bin/env bash
# Checks the CUDA backend on a computer with a GPU: builds, runs the tests that need a GPU, the memory checker where it is
# installed, one graph on two logical devices, and steps beside PyTorch. Writes what came out to OUTPUT.
#   scripts/gpu-check.sh [OUTPUT]     OUTPUT: a folder, default build/gpu-check
# From the environment:
#   CMAKE_PREFIX_PATH     where the libraries lie that the system does not have (protobuf, fmt, SQLite, ...): folders with
#                         include/, lib/ and bin/, as the usr/ of unpacked packages; several with : between them
#   LANESCOPE_CUDA_ROOT   the CUDA toolkit, if nvcc is not on the PATH, in /usr/local/cuda* or in a Python package
#   LANESCOPE_BUILD       an existing build folder to use; default build/gpu
#   CMAKE_EXTRA           further options for cmake
#   SKIP                  parts to leave out, of: tests measure sanitizer compare bench torch trace
#   LIMIT                 seconds that a part may take; default 600
# Nothing is installed. A part that fails is reported, the others still run; the status is 1 then. Where a command may not
# run for long, run it several times with another SKIP and OUTPUT: what is built stays.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

if [[ ${1:-} == -* ]]; then
  echo "usage: scripts/gpu-check.sh [OUTPUT]   the head of the script says what it reads from the environment" >&2
  [[ $1 == --help || $1 == -h ]] && exit 0
  exit 2
fi
output=${1:-build/gpu-check}
build=${LANESCOPE_BUILD:-build/gpu}
skip=" ${SKIP:-} "
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

wanted() { [[ $skip != *" $1 "* ]]; }
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

command -v nvidia-smi > /dev/null || note "nvidia-smi is not on the PATH; going on."
command -v cmake > /dev/null || stop "cmake is not installed"
generator=()
[[ ! -f $build/CMakeCache.txt ]] && command -v ninja > /dev/null && generator=(-G Ninja)

cuda_root=${LANESCOPE_CUDA_ROOT:-} cuda_libraries=
mapfile -t python_toolkit < <(find_python_toolkit)
cuda_libraries=${python_toolkit[1]:-}
if [[ -z $cuda_root ]] && ! command -v nvcc > /dev/null && ! compgen -G '/usr/local/cuda*/bin/nvcc' > /dev/null; then
  cuda_root=${python_toolkit[0]:-}
  [[ -n $cuda_root ]] || stop "no nvcc: not on the PATH, in /usr/local/cuda* or in a Python package; set LANESCOPE_CUDA_ROOT"
fi
prefix_path=${CMAKE_PREFIX_PATH:-}
use_prefixes
# Behind all else: the toolkit's own libraries come first, found by the path that the linker has noted.
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH${cuda_libraries:+${LD_LIBRARY_PATH:+:}${cuda_libraries//;/:}}

note "# Results of scripts/gpu-check.sh"
note ""
note "* date: $(date -u +%Y-%m-%dT%H:%MZ), commit $(git rev-parse --short HEAD 2> /dev/null || echo unknown)"
note "* GPU: $(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2> /dev/null | paste -sd';' || true)"
note "* host: $jobs cores, $(uname -r)"

configure() {
  cmake -S . -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DLANESCOPE_CUDA=ON -DLANESCOPE_BENCH=OFF \
    ${cuda_root:+-DLANESCOPE_CUDA_ROOT="$cuda_root"} ${cuda_libraries:+-DLANESCOPE_CUDA_LIBRARY_DIRS="$cuda_libraries"} \
    ${prefix_path:+-DCMAKE_PREFIX_PATH="${prefix_path//:/;}"} ${CMAKE_EXTRA:-}
}
part "Configure" configure || stop "configuring failed; the end of $log says why (libraries in a prefix: CMAKE_PREFIX_PATH)"
note ""
note "Convolutions: $(sed -n 's/^LANESCOPE_CONVOLUTIONS:INTERNAL=//p' "$build/CMakeCache.txt")"
targets=(lanescope lanescope_cuda gpu_tests)
TAIL=3 part "Build" limited cmake --build "$build" --parallel "$jobs" --target "${targets[@]}" ||
  stop "the build failed; see $log (after its LIMIT it goes on where it stopped)"

program=$build/bin/lanescope
part "Devices" limited "$program" devices
devices=$("$program" devices)
grep -q '^GPU.* cuda ' <<< "$devices" || stop "the program finds no GPU; the section Devices says why"

if wanted tests; then
  TAIL=30 part "Tests that need a GPU" limited ctest --test-dir "$build" -L gpu --output-on-failure --timeout 300
fi
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

two=samples/machines/one-gpu-as-two.json
graph=samples/graphs/deepconn_single.pbtxt
if wanted compare; then
  rm -f "$output/compare.db"
  TAIL=60 part "Comparison on two logical devices" limited "$program" compare "$graph:single,tower-split,alternating" \
    --machine "$two" --trace "$output/compare.db"
fi

step_of() {  # step_of GRAPH [OPTION...]: the step time as the program prints it
  local text
  text=$(limited "$program" run "$@" --strategy single --machine physical --steps 50 --warmup 10) || return
  head -n 1 <<< "$text"
}

bench() {
  local status=0 model text option
  for model in deepconn_single cifar10_single; do
    for option in "" --no-cuda-graph; do
      text=$(step_of "samples/graphs/$model.pbtxt" $option) || status=1
      echo "$model ${option:-with CUDA graphs}: $text"
    done
  done
  return $status
}
wanted bench && TAIL=20 part "Steps" bench

if wanted torch; then
  text=$(limited python3 bench/peers/torch_step.py 2>&1)
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

# A small trace to look at elsewhere.
if wanted trace; then
  rm -f "$output/trace.db"
  part "Trace" limited "$program" run "$graph" --strategy alternating --machine "$two" --steps 3 --warmup 3 --trace "$output/trace.db"
fi

note ""
((failed == 0)) && note "All parts passed." || note "**Some parts failed**; $log has everything."
exit $failed
