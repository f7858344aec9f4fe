#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs all tests.
#   scripts/test.sh             release build, all tests, include and thread rules, format, prose, links,
#                               subjects of commits, size of functions
#   scripts/test.sh --quick     after a build: the rules, and the tests that the change at hand most likely breaks
#   scripts/test.sh --sanitize  all tests with AddressSanitizer and UndefinedBehaviorSanitizer, then the threaded ones
#                               with ThreadSanitizer
# With CI=true in the environment warnings of the release build are errors. Under sanitizers GCC warns of code that
# is not there, so those builds only show theirs.
set -euo pipefail
cd "$(dirname "$0")/.."

jobs=$(nproc)
# Tests of code that runs on several threads; the rest of the suite is sequential.
threaded_programs=(core_tests exec_tests tasks_tests resources_tests cuda_tests traces_tests profiler_tests gui_model_tests)
threaded_tests='Recorder|EventRing|Clock|Executor|Session|LoadedSchedule|Pacer|ThreadTeam|HostDevice|Golden|TraceWriter|Threads'
threaded_tests+='|MixedWork|Cuda|StreamProgram|LogicalDevices|BufferPool|CaptureChannel|CuptiStream|Document|LatestWorker'
threaded_tests+='|QueueRunner|QueueWaits|QueueTimeouts|Coordinator|SharedQueues|SharedVariables|Fifo\.|Serve\.|Nccl|TwoGpus|JoinedGpus|PeerTransfers'
# Under ThreadSanitizer these take half a minute each, for threads and hand-offs that the smaller samples and DeepCoNN's
# alternating placement have too.
slow_threaded_tests='GpuSession.*(deepconn_single_(single|tower-split)|deepconn_dual|cifar10_towers)'

timings=()
phase() {  # phase NAME COMMAND...: runs the command and remembers how long it took
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@"
  timings+=("$(printf '%6d s  %s' $((SECONDS - start)) "$name")")
}

# GCC's ThreadSanitizer cannot start where the kernel randomizes addresses with more than 28 bits.
without_address_randomization() {
  if setarch --addr-no-randomize true 2> /dev/null; then
    setarch --addr-no-randomize "$@"
  else
    "$@"
  fi
}

run_rules() {  # run_rules [--changed]: where the format of all files takes too long, only that of the change
  phase "include rules" python3 scripts/check_includes.py
  phase "thread rules" python3 scripts/check_threads.py
  phase "format" ./scripts/check_format.sh "$@"
  phase "prose" python3 scripts/check_prose.py
  phase "links" python3 scripts/check_links.py
  phase "subjects of commits" python3 scripts/check_subjects.py
}

run_quick() {
  local begun=$SECONDS spent
  run_rules --changed
  phase "functions" python3 scripts/check_functions.py --changed
  spent=$((SECONDS - begun))
  phase "release build" ./scripts/build.sh release
  begun=$SECONDS
  phase "clang-tidy" python3 scripts/check_tidy.py --changed
  spent=$((spent + SECONDS - begun))
  local tests
  tests=$(scripts/changed_tests.py)
  if [[ -z $tests ]]; then
    echo "no test of the release build belongs to the change"
  else
    local status=0
    phase "tests of the change" \
      timeout $((spent < 50 ? 60 - spent : 10)) ctest --preset release --parallel "$jobs" --tests-regex "$tests" --no-tests=error || status=$?
    ((status == 124)) || return "$status"
    echo "not all of them ran: a minute is over; scripts/test.sh runs the rest"
  fi
}

run_release() {
  run_rules
  phase "functions" python3 scripts/check_functions.py
  phase "tests of the scripts" python3 -m unittest discover --start-directory tests/scripts --pattern '*_test.py'
  phase "release build" ./scripts/build.sh release
  phase "release tests" ctest --preset release --parallel "$jobs"
}

run_sanitized() {
  export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
  export UBSAN_OPTIONS=print_stacktrace=1
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
  phase "asan and ubsan build" ./scripts/build.sh asan
  phase "asan and ubsan tests" ctest --preset asan --parallel "$jobs"
  phase "tsan build" ./scripts/build.sh tsan "${threaded_programs[@]}"
  phase "tsan tests" without_address_randomization \
    ctest --preset tsan --parallel "$jobs" --tests-regex "$threaded_tests" --exclude-regex "$slow_threaded_tests"
}

case ${1:-} in
  "") run=run_release ;;
  --quick) run=run_quick ;;
  --sanitize) run=run_sanitized ;;
  *)
    echo "usage: scripts/test.sh [--quick | --sanitize]" >&2
    [[ $1 == --help || $1 == -h ]] && exit 0
    exit 2
    ;;
esac
mkdir -p build
phase "packages" ./scripts/install-packages.sh --tests
phase "Python packages" ./scripts/python-env.sh
$run
printf '%s\n' "== time" "${timings[@]}"
