#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every .cpp file of the checkout by itself, without writing anything: in a batch of a folder
(LANESCOPE_UNITY) and after a precompiled header a file may use what only another one includes.

Usage: check_standalone.py BUILD [FILE...] [-j JOBS]. BUILD is the folder of a finished build, of which the compile
commands and the generated headers are taken. FILEs, or folders of them: all that the build knows. Prints the first error of each file that
does not compile; exit status 1 if there is one.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

INCLUDE = re.compile(r'^#include "([^"]+\.cpp)"$', re.MULTILINE)


def sources_of(entry, root, build):
    """The files of the checkout that a compile command serves: one, or all of a batch."""
    file = pathlib.Path(entry["file"])
    if not file.is_relative_to(build):
        return [file]
    return [root / name for name in INCLUDE.findall(file.read_text())] if file.exists() else []


def flags_of(entry):
    """The command without its file, what it writes, and the header that is compiled already."""
    words = shlex.split(entry["command"])
    flags, skip = [], False
    for i, word in enumerate(words):
        if skip:
            skip = False
        elif word == "-o" or (word == "-include" and "cmake_pch" in words[i + 1]):
            skip = True
        elif word not in ("-c", "-Winvalid-pch", entry["file"]):
            flags.append(word)
    return flags + ["-fsyntax-only", "-O0"]


def compile_alone(file, entry):
    done = subprocess.run(flags_of(entry) + [str(file)], cwd=entry["directory"], capture_output=True, text=True)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    return errors[0] if errors else f"{file}: {done.stderr.strip() or done.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    wanted = [file.resolve() for file in arguments.files] or [root]
    commands = {}
    for entry in json.loads((arguments.build / "compile_commands.json").read_text()):
        for file in sources_of(entry, root, arguments.build.resolve()):
            if any(file.is_relative_to(folder) for folder in wanted):
                commands.setdefault(file, entry)
    if not commands:
        sys.exit(f"{arguments.build} compiles none of these files")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for error in pool.map(compile_alone, sorted(commands), [commands[file] for file in sorted(commands)]):
            if error:
                failed += 1
                print(error, flush=True)
    print(f"{len(commands)} files, {failed} do not compile by themselves")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
