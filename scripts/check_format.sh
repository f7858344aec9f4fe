#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that all tracked sources name their license, and the format of those in C++ and CUDA. Only clang-format 14 decides:
# other versions format differently.
#   scripts/check_format.sh              all
#   scripts/check_format.sh --changed    of the format that of the change at hand alone
set -euo pipefail
cd "$(dirname "$0")/.."

# A source archive is none, even where it lies inside somebody else's.
if [[ ! -e .git ]] || ! command -v git > /dev/null; then
  echo "format check SKIPPED: this is no git checkout"
  exit 0
fi

unlicensed=$(git ls-files -z -- '*.h' '*.cpp' '*.cu' '*.cuh' '*.py' '*.sh' '*.cmake' '*CMakeLists.txt' '*.proto' .ci/run \
  ':!tests/golden' ':!tests/fuzz/corpus' | xargs -0 grep --files-without-match '^[/#]* SPDX-License-Identifier: Apache-2.0$' || true)
if [[ -n $unlicensed ]]; then
  printf 'no line "SPDX-License-Identifier: Apache-2.0":\n%s\n' "$unlicensed" >&2
  exit 1
fi

formatter=
for candidate in clang-format-14 clang-format; do
  if [[ $("$candidate" --version 2> /dev/null) == *"version 14."* ]]; then
    formatter=$candidate
    break
  fi
done
if [[ -z $formatter ]]; then
  echo "format check SKIPPED: clang-format 14 is not installed"
  exit 0
fi

if [[ ${1:-} == --changed ]]; then
  mapfile -t files < <(python3 scripts/changed_tests.py --files | grep -E '\.(h|cpp|cu|cuh)$')
  if ((${#files[@]} == 0)); then
    echo "format check: 0 files"
    exit 0
  fi
else
  mapfile -d '' files < <(git ls-files -z -- '*.h' '*.cpp' '*.cu' '*.cuh')
fi
if ((${#files[@]} == 0)); then
  echo "format check failed: git lists no files here" >&2
  exit 1
fi
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 16 "$formatter" --dry-run -Werror || {
  echo "format check failed; repair with: git ls-files -- '*.h' '*.cpp' '*.cu' '*.cuh' | xargs $formatter -i" >&2
  exit 1
}
echo "format check: ${#files[@]} files"
