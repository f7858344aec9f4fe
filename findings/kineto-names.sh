#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.15.0, torch.profiler's JSON (Kineto).
#
# Names of ranges are rewritten, not escaped: a double quote becomes a single one, a backslash a slash, a line feed nothing,
# and a name with any other control character, a tab for one, becomes "unknown".
# Two ranges that the program tells apart are then one range of the trace, and a range is not found by the name that the program
# gave it.
# Inside the process (profiler.events()) the names are whole.
#
# Seen:
#   'say "go"'     -> "say 'go'"
#   'C:\\data'     -> 'C:/data'
#   'two\nlines'   -> 'twolines'
#   'load\tshard'  -> 'unknown'
#   'save\tshard'  -> 'unknown'
#
# Before, backslashes stood in the file as they were, and it was no JSON: pytorch/pytorch issue 98432, pytorch/kineto issue 336.
# Led to: files of older versions are repaired, and a note counts the repairs (tests/traces/loose_json_test.cpp).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" torch==2.15.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 -W ignore - "$scratch/trace.json" <<'END'
import json
import sys
import torch
from torch.profiler import ProfilerActivity, profile, record_function

names = ['say "go"', "C:\\data", "two\nlines", "load\tshard", "save\tshard"]
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    for name in names:
        with record_function(name):
            torch.ones(3)
profiler.export_chrome_trace(sys.argv[1])
with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]
ranges = sorted((event for event in events if event.get("cat") == "user_annotation"), key=lambda event: event["ts"])
written = [event["name"] for event in ranges]
for name, other in zip(names, written):
    print(f"{name!r:14} -> {other!r}")
assert set(names) <= {event.name for event in profiler.events()}
assert written == ["say 'go'", "C:/data", "twolines", "unknown", "unknown"], "Kineto writes names otherwise now"
END
