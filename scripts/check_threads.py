#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Enforces how threads start: by lanescope::Thread (core/base/thread.h), which keeps what the work throws for whoever joins it.
A thread that the system starts without it ends the program with the first exception, one without memory for one.

Usage: check_threads.py [ROOT]. Prints one line a violation; exit status 1 if there are any.
"""

import pathlib
import re
import sys

# Tests and benchmarks may end with what a thread of theirs throws.
FOLDERS = ("core", "graphs", "exec", "sims", "traces", "profiler", "study", "gui", "cli", "python", "samples")
SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".inc"}
# What starts threads: the class itself, and the same for threads in programs that are not ours.
STARTERS = frozenset({"core/base/thread.h", "core/base/thread.cpp", "profiler/quiet_thread.h"})

COMMENT = re.compile(r"//[^\n]*")
# std::thread::hardware_concurrency and std::thread::id start nothing.
START = re.compile(r"\b(std::j?thread\b(?!::)|std::async\b|pthread_create\b|thrd_create\b)")


def check_text(text):
    """Yields (line number, what) of every start of a thread, or place for one."""
    for number, line in enumerate(text.splitlines(), start=1):
        for match in START.finditer(COMMENT.sub("", line)):
            yield number, match.group(1)


def check_tree(root):
    """All violations of a tree, and the number of files read."""
    violations, files = [], 0
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.suffix not in SUFFIXES or not file.is_file() or path in STARTERS:
                continue
            files += 1
            violations += [f"{path}:{line}: {what}: start threads by Thread (core/base/thread.h)"
                           for line, what in check_text(file.read_text(encoding="utf-8"))]
    return violations, files


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    violations, files = check_tree(root)
    print("\n".join(violations + [f"thread rules: {files} files, {len(violations)} violations"]))
    return 1 if violations or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
