# SPDX-License-Identifier: Apache-2.0
"""Every folder of C++ tests belongs to a program: files that no program has never run, and nothing says so."""

import pathlib
import re
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
# NAME FOLDER, then options; ROOMS: subfolders that belong to the program, too.
PROGRAM = re.compile(r"lanescope_test\(\w+ ([\w/]+)([^)]*)\)")
ROOMS = re.compile(r"\bROOMS ([a-z_ ]+)")


def folders_of_programs(text):
    """The folders whose files the programs of a CMake file have."""
    folders = set()
    for folder, options in PROGRAM.findall(text):
        folders.add(folder)
        rooms = ROOMS.search(options)
        if rooms:
            folders.update(f"{folder}/{room}" for room in rooms.group(1).split())
    return folders


class TestFolders(unittest.TestCase):
    def test_rooms_belong_to_their_program(self):
        text = "lanescope_test(core_tests core ROOMS base graph LINK lanescope_core)\nlanescope_test(x exec/cuda LINK y)"
        self.assertEqual(folders_of_programs(text), {"core", "core/base", "core/graph", "exec/cuda"})

    def test_every_folder_of_tests_is_in_a_program(self):
        files = [TESTS / "CMakeLists.txt", *TESTS.glob("*.cmake")]
        built = set().union(*(folders_of_programs(file.read_text()) for file in files))
        with_tests = {file.parent for file in TESTS.rglob("*_test.cpp")}
        # A folder with a CMakeLists.txt of its own says what it builds.
        missing = [str(each.relative_to(TESTS)) for each in with_tests
                   if str(each.relative_to(TESTS)) not in built and not (each / "CMakeLists.txt").exists()]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
