#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes build/python-env, a Python with what the package's module and its tests need (nanobind, NumPy, pytest) and Debian has
# not, with the schema that Perfetto publishes, which exports are read back by, with pandas and pyarrow, whose tables traces
# become, with mcp, by which agents ask traces, and with lizard, which measures functions. Does nothing when all is there;
# says so and goes on where the package registry cannot be reached: the tests then say that they are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
env=build/python-env
has() { "$env/bin/python" -c "import $1" 2> /dev/null; }
mkdir -p build
log=build/python-env.log
if ! has nanobind,numpy,pytest && ! timeout 180 bash -c 'python3 -m venv --clear "$1" && "$1/bin/python" -m pip install --quiet "nanobind>=2.4" numpy pytest' _ "$env" > "$log" 2>&1; then
  rm -rf "$env"
  echo "python-env SKIPPED: no registry of Python packages answers, or python3 makes no environments (the log is $log)"
  exit 0
fi
if ! has perfetto.protos.perfetto.trace.perfetto_trace_pb2 &&
  ! timeout 120 "$env/bin/python" -m pip install --quiet perfetto >> "$log" 2>&1; then
  echo "python-env: without the package perfetto, whose schema one test reads exports by: it is SKIPPED (the log is $log)"
fi
if ! has pandas,pyarrow && ! timeout 120 "$env/bin/python" -m pip install --quiet pandas pyarrow >> "$log" 2>&1; then
  echo "python-env: without pandas and pyarrow, whose tables traces become: that is SKIPPED (the log is $log)"
fi
if ! has mcp.server.mcpserver && ! timeout 120 "$env/bin/python" -m pip install --quiet "mcp>=2" >> "$log" 2>&1; then
  echo "python-env: without the package mcp, by which agents ask traces: that is SKIPPED (the log is $log)"
fi
# Pinned: limits are figures of this version.
if ! has lizard && ! timeout 120 "$env/bin/python" -m pip install --quiet lizard==1.24.3 >> "$log" 2>&1; then
  echo "python-env: without lizard, which measures functions: that check is SKIPPED (the log is $log)"
fi
