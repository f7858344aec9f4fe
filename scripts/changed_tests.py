#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints, as a regular expression for ctest, the tests that the change at hand most likely breaks; with --files its files.

The change is what differs from the last commit; where nothing does, the last commit. Of a file of tests its own tests count.
Of any other file those count that lie in the folder of tests that mirrors its own and include its header or bear its name;
where none do, all of that folder. Prints nothing where no test belongs to the change.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITE = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\((\w+),", re.MULTILINE)


def changed_files(root):
    """Paths from the root, of what is there still."""

    def git(*arguments):
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    paths = git("diff", "--name-only", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    paths = paths or git("diff", "--name-only", "HEAD~1", "HEAD")
    return [path for path in paths if (root / path).is_file()]


def test_folder(root, path):
    """The folder of tests that mirrors the nearest folder of the file; None: none does."""
    for folder in path.parents:
        mirror = root / "tests" / folder
        if folder.parts and any(mirror.glob("*_test.cpp")):
            return mirror
    return None


def tests_of(root, path):
    """The files of tests of a changed file."""
    path = pathlib.PurePosixPath(path)
    if path.suffix not in (".cpp", ".h", ".cu"):
        return []
    if path.parts[0] == "tests":
        return [root / path] if path.name.endswith("_test.cpp") else []
    folder = test_folder(root, path)
    if folder is None:
        return []
    files = sorted(folder.glob("*_test.cpp"))
    header = f'#include "{path.with_suffix(".h")}"'
    near = [file for file in files if file.stem == path.stem + "_test" or header in file.read_text()]
    return near or files


def tests_regex(root, paths):
    files = {file for path in paths for file in tests_of(root, path)}
    suites = sorted({suite for file in files for suite in SUITE.findall(file.read_text())})
    return rf"(^|/)({'|'.join(suites)})\." if suites else ""


if __name__ == "__main__":
    if sys.argv[1:] == ["--files"]:
        print("\n".join(changed_files(ROOT)))
    else:
        print(tests_regex(ROOT, sys.argv[1:] or changed_files(ROOT)))
