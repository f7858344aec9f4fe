#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Coverage-guided fuzzing of everything that reads input: builds the targets of tests/fuzz with Clang, libFuzzer,
# AddressSanitizer and UndefinedBehaviorSanitizer, and runs them one after another.
#   scripts/fuzz.sh [TARGET...] [--seconds N] [--jobs N]
#     TARGET      graph, kernel, trace, ...; default: all
#     --seconds   of each target; default 60
#     --jobs      processes of one target, which share what they find; default 1
# What is found new stays in build/fuzz/corpus/TARGET and is where the next run begins. An input that crashes, hangs or
# takes too much memory is kept in build/fuzz/crashes/TARGET; the status is 1 then. Again, by hand:
#   build/fuzz/bin/TARGET_fuzz INPUT
set -euo pipefail
cd "$(dirname "$0")/.."

readonly memory_limit_mb=2500 input_timeout_s=20
targets=()
seconds=60
jobs=1

usage() {
  echo "usage: scripts/fuzz.sh [TARGET...] [--seconds N] [--jobs N]   the head of the script says more" >&2
}
number() {  # number OPTION VALUE
  [[ $2 =~ ^[1-9][0-9]*$ ]] || {
    echo "fuzz: $1 wants a positive number, not '$2'" >&2
    exit 2
  }
  echo "$2"
}
while (($# > 0)); do
  case $1 in
    --seconds) seconds=$(number "$1" "${2:-}") && shift 2 ;;
    --jobs) jobs=$(number "$1" "${2:-}") && shift 2 ;;
    --help | -h) usage && exit 0 ;;
    -*) usage && exit 2 ;;
    *) targets+=("$1") && shift ;;
  esac
done

all=()
for source in tests/fuzz/*_fuzz.cpp; do
  name=$(basename "$source" _fuzz.cpp)
  all+=("$name")
done
for target in "${targets[@]}"; do
  [[ " ${all[*]} " == *" $target "* ]] || {
    echo "fuzz: there is no target '$target'; there are: ${all[*]}" >&2
    exit 2
  }
done

./scripts/install-packages.sh --fuzz
mkdir -p build/fuzz
cmake --preset fuzz > build/fuzz/configure.log 2>&1 || {
  cat build/fuzz/configure.log >&2
  exit 1
}
if ((${#targets[@]} == 0)); then
  for target in "${all[@]}"; do
    if [[ -e build/fuzz/fuzz/$target.seeds ]]; then
      targets+=("$target")
    else
      echo "== $target: left out, this build lacks what it needs"
    fi
  done
fi
cmake --build --preset fuzz --parallel "$(nproc)" --target "${targets[@]/%/_fuzz}"

export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
fuzz() {  # fuzz TARGET: prints what it came to; fails when it found something
  local target=$1 corpus=build/fuzz/corpus/$1 crashes=build/fuzz/crashes/$1 log=build/fuzz/$1.log status=0
  local -a seeds options
  mkdir -p "$corpus" "$crashes"
  mapfile -t seeds < "build/fuzz/fuzz/$target.seeds"
  options=(-max_total_time="$seconds" -timeout="$input_timeout_s" -rss_limit_mb="$memory_limit_mb"
           -artifact_prefix="$crashes/" -print_final_stats=1 -reload=30 -use_value_profile=1)
  ((jobs > 1)) && options+=(-fork="$jobs")
  "build/fuzz/bin/${target}_fuzz" "${options[@]}" "$corpus" "${seeds[@]}" > "$log" 2>&1 || status=$?
  local runs features
  runs=$(sed -nE 's/^stat::number_of_executed_units: *([0-9]+)/\1/p; s/^#([0-9]+): cov.*/\1/p' "$log" | tail -1)
  features=$(grep -oE 'cov: [0-9]+ ft: [0-9]+' "$log" | tail -1)
  echo "== $target: ${runs:-0} runs, ${features:-no coverage}, $(find "$corpus" -type f | wc -l) inputs kept"
  ((status == 0)) && return
  echo "   FOUND: $(grep -m1 -E '^SUMMARY|runtime error|ERROR: libFuzzer' "$log" || echo "status $status") (log: $log)"
  find "$crashes" -type f -newer build/fuzz/configure.log -printf '   %p\n'
  return 1
}

failed=0
for target in "${targets[@]}"; do
  fuzz "$target" || failed=1
done
exit $failed
