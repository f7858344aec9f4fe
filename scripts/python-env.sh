#!/usr/bin/env bash
# Makes build/python-env, a Python with what the package's module and its tests need (nanobind, NumPy, pytest) and Debian has
# not. Does nothing when it is there; says so and goes on where the package registry cannot be reached: the tests then say
# that they are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
env=build/python-env
if "$env/bin/python" -c "import nanobind, numpy, pytest" 2> /dev/null; then
  exit 0
fi
mkdir -p build
log=build/python-env.log
if ! timeout 180 bash -c 'python3 -m venv --clear "$1" && "$1/bin/python" -m pip install --quiet "nanobind>=2.4" numpy pytest' _ "$env" > "$log" 2>&1; then
  rm -rf "$env"
  echo "python-env SKIPPED: no registry of Python packages answers, or python3 makes no environments (the log is $log)"
fi
