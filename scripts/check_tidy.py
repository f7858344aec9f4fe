#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy 14, as .clang-tidy says, over C++ sources that the release build has.

Usage: check_tidy.py --changed   those of the change at hand outside of tests/, as many as some seconds allow
       check_tidy.py PATH...     these files, by their paths from the root

A file takes about five seconds, so the whole tree is left to scripts/check_functions.py. Sources are compiled in batches,
and each is checked alone with the options of its batch.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

from changed_tests import changed_files

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMANDS = pathlib.Path("build") / "release" / "compile_commands.json"
MOST_SECONDS = 20
INCLUDED = re.compile(r'^#include "([^"]+\.cpp)"$', re.MULTILINE)
DIAGNOSTIC = re.compile(r"^\S+:\d+:\d+: (?:warning|error): .*\[(\S+)\]$")
# What clang warns of beside the checks, and names of GCC's warnings.
NEUTRAL = ["-Wno-everything", "-Wno-unknown-warning-option", "-Wno-error"]


def options_by_source(root, entries):
    """For every source of the build, by its path from the root, the compiler's options."""
    options = {}
    for entry in entries:
        words = shlex.split(entry["command"])
        kept = [word for word in words[1:words.index("-o")] if not word.startswith(("--param", "-W"))]
        file = pathlib.Path(entry["file"])
        included = INCLUDED.findall(file.read_text()) if "batches" in file.parts and file.is_file() else []
        for source in included or [os.path.relpath(file, root)]:
            options.setdefault(source, kept)
    return options


def findings(output):
    """The diagnostics of checks, with their notes. Those of the compiler are GCC's business: clang 14 does not know all of C++20."""
    kept, keeps = [], False
    for line in output.splitlines():
        diagnostic = DIAGNOSTIC.match(line)
        if diagnostic:
            keeps = not diagnostic.group(1).startswith("clang-diagnostic-")
        kept += [line] if keeps else []
    return "\n".join(kept)


def run(program, root, source, options):
    """What clang-tidy says of one file; empty: nothing."""
    command = [program, "--quiet", source, "--", *options, *NEUTRAL]
    return findings(subprocess.run(command, cwd=root, capture_output=True, text=True).stdout)


def check(program, root, options, sources, seconds):
    """Messages by file, and how many files the time was enough for."""
    ends = time.monotonic() + seconds
    found, done = [], 0

    def in_time(source):
        return None if time.monotonic() > ends else run(program, root, source, options[source])

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for said in pool.map(in_time, sources):
            done += said is not None
            found += [said] if said else []
    return found, done


def main():
    arguments = sys.argv[1:]
    if not arguments:
        sys.exit(__doc__)
    program = shutil.which("clang-tidy-14")
    if program is None or not (ROOT / COMMANDS).is_file():
        missing = "clang-tidy 14 is not installed" if program is None else f"there is no {COMMANDS}"
        print(f"clang-tidy SKIPPED: {missing}")
        return 0
    options = options_by_source(ROOT, json.loads((ROOT / COMMANDS).read_text()))
    changed = arguments == ["--changed"]
    asked = [path for path in changed_files(ROOT) if not path.startswith("tests/")] if changed else arguments
    sources = [path for path in asked if path in options]
    found, done = check(program, ROOT, options, sources, MOST_SECONDS if changed else float("inf"))
    left = f", {len(sources) - done} SKIPPED for time" if done < len(sources) else ""
    print("\n".join(found + [f"clang-tidy: {done} files{left}, {len(found)} with something to mend"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
