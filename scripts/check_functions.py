#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no function is longer, more complex or takes more parameters than the largest of before.

Usage: check_functions.py             all tracked C++ and CUDA sources
       check_functions.py --changed   those of the change at hand
       check_functions.py PATH...     these files, by their paths from the root

lizard (a package of Python, which scripts/python-env.sh installs) counts: lines, parameters, and McCabe's complexity, to
which every branch, loop, "case", "&&", "||" and "?:" adds one. The limits are the maxima of the day on which the check
began. Lower them when the largest function is split; never raise them.
"""

import csv
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from changed_tests import changed_files

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_COMPLEXITY = 31
MOST_PARAMETERS = 13
MOST_LINES = 85
# Functions that hardly branch are lists of ops, fields or cases. They may be longer.
COMPLEXITY_OF_A_LIST = 8
MOST_LINES_OF_A_LIST = 198
SOURCES = (".h", ".cpp", ".cu", ".cuh")
# lizard's table has no heads.
COMPLEXITY, PARAMETERS, LINES, FILE, NAME, BEGIN = 1, 3, 4, 6, 7, 9


def problems(row):
    """What is too much of one function, a row of lizard's table."""
    complexity, parameters, lines = int(row[COMPLEXITY]), int(row[PARAMETERS]), int(row[LINES])
    most_lines = MOST_LINES_OF_A_LIST if complexity <= COMPLEXITY_OF_A_LIST else MOST_LINES
    for value, most, what in ((complexity, MOST_COMPLEXITY, "a complexity of"), (parameters, MOST_PARAMETERS, "parameters:"),
                              (lines, most_lines, "lines:")):
        if value > most:
            yield f"{row[FILE]}:{row[BEGIN]}: {row[NAME]}: {what} {value}, at most {most}; split it"


def lizard():
    """The program; None where it is not installed."""
    own = ROOT / "build" / "python-env" / "bin" / "lizard"
    return str(own) if own.is_file() else shutil.which("lizard")


def measure(program, root, paths):
    """lizard's rows of all functions of the files."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.write("\n".join(paths))
        listed.flush()
        run = subprocess.run([program, "--csv", "-l", "cpp", "-t", str(os.cpu_count()), "-f", listed.name], cwd=root,
                             capture_output=True, text=True, check=True)
    return list(csv.reader(run.stdout.splitlines()))


def tracked(root):
    patterns = [f"*{suffix}" for suffix in SOURCES]
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=root, capture_output=True, text=True,
                            check=True).stdout.split("\0")
    return [path for path in listed if path and (root / path).is_file()]


def main():
    arguments = sys.argv[1:]
    program = lizard()
    if program is None:
        print("function check SKIPPED: lizard is not installed; scripts/python-env.sh does it")
        return 0
    if not arguments and not (ROOT / ".git").exists():
        print("function check SKIPPED: this is no git checkout")
        return 0
    paths = changed_files(ROOT) if arguments == ["--changed"] else arguments or tracked(ROOT)
    paths = [path for path in paths if path.endswith(SOURCES)]
    rows = measure(program, ROOT, paths) if paths else []
    found = [problem for row in rows for problem in problems(row)]
    print("\n".join(found + [f"function check: {len(rows)} functions of {len(paths)} files, {len(found)} beyond the limits"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
