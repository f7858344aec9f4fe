#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds a preset, and shows how far it is: percent and time, on one line of a terminal, else a line every
# tenth. What the tools say is kept in build/PRESET.log; of a build that fails its end is shown.
#   scripts/build.sh PRESET [TARGET...]     without targets: everything. With CI=true warnings of release builds are errors
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ $# -eq 0 || $1 == -* ]]; then
  echo "usage: scripts/build.sh PRESET [TARGET...]   (presets: release, debug, asan, tsan)" >&2
  [[ ${1:-} == --help || ${1:-} == -h ]] && exit 0
  exit 2
fi
preset=$1
shift
mkdir -p build
log=build/$preset.log

fail() {
  [[ -t 1 ]] && echo
  grep -n -m 5 -E 'error:|FAILED:|CMake Error' "$log" >&2 || true
  tail -n 30 "$log" >&2
  echo "build: $1; the whole log is $log" >&2
  exit 1
}

warnings_are_errors=OFF
[[ ${CI:-} == true && $preset == release ]] && warnings_are_errors=ON
cmake --preset "$preset" -DLANESCOPE_WERROR=$warnings_are_errors > "$log" 2>&1 || fail "the configuration failed"

# Programs by name, each only where this build has it: the CUDA parts want a toolkit.
known=$(cmake --build --preset "$preset" --target help)
targets=()
for target in "$@"; do
  if grep -q -E "^${target}(:|$)" <<< "$known"; then targets+=("$target"); fi
done
if (($# > 0 && ${#targets[@]} == 0)); then exit 0; fi

progress() {  # reads Ninja's lines "@DONE TOTAL ..." and prints how far the build is
  local mark done total percent= tenth=-1
  while read -r mark done total _; do
    [[ $mark == @ ]] || continue
    percent=$((100 * done / total))
    if [[ -t 1 ]]; then
      printf '\rbuilding %s: %3d%%, %d s ' "$preset" "$percent" "$SECONDS"
    elif ((percent / 10 > tenth)); then
      tenth=$((percent / 10))
      printf 'building %s: %3d%%, %d s\n' "$preset" "$percent" "$SECONDS"
    fi
  done
  if [[ -t 1 && $percent ]]; then echo; fi
}

NINJA_STATUS='@ %f %t ' cmake --build --preset "$preset" --parallel "$(nproc)" ${targets[@]:+--target "${targets[@]}"} 2>&1 |
  tee -a "$log" | progress || fail "the build failed"
