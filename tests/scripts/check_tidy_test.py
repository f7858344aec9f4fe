# SPDX-License-Identifier: Apache-2.0
"""Sources of a batch are checked with the batch's options; what only the compiler says is left out."""

import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_tidy  # noqa: E402


class Options(unittest.TestCase):
    def test_a_batch_stands_for_its_sources_and_a_source_for_itself(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            batch = root / "build" / "batches" / "core_0.cpp"
            batch.parent.mkdir(parents=True)
            batch.write_text('#include "core/a.cpp"\n#include "core/b.cpp"\n')
            entries = [{"file": str(batch), "command": f"c++ -DA -I/x --param=m=1 -Wall -std=c++20 -o a.o -c {batch}"},
                       {"file": str(root / "cli" / "c.cpp"), "command": "c++ -DB -o c.o -c c.cpp"}]
            self.assertEqual(check_tidy.options_by_source(root, entries),
                             {"core/a.cpp": ["-DA", "-I/x", "-std=c++20"], "core/b.cpp": ["-DA", "-I/x", "-std=c++20"],
                              "cli/c.cpp": ["-DB"]})


class Findings(unittest.TestCase):
    def test_a_check_is_kept_with_its_notes_and_the_compiler_is_not(self):
        of_check = "/a.cpp:1:2: error: moved from [bugprone-use-after-move,-warnings-as-errors]\n  code\n/a.cpp:1:1: note: moved here"
        of_compiler = "/a.cpp:3:4: error: no such file [clang-diagnostic-error]\n  code"
        self.assertEqual(check_tidy.findings(f"{of_compiler}\n{of_check}\n{of_compiler}\n"), of_check)
        self.assertEqual(check_tidy.findings(""), "")


@unittest.skipIf(shutil.which("clang-tidy-14") is None, "clang-tidy 14 is not installed")
class Run(unittest.TestCase):
    def said_of(self, text):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            shutil.copy(ROOT / ".clang-tidy", root)
            (root / "a.cpp").write_text(text)
            found, done = check_tidy.check("clang-tidy-14", root, {"a.cpp": ["-std=c++20"]}, ["a.cpp"], float("inf"))
            self.assertEqual(done, 1)
            return "\n".join(found)

    def test_a_mistake_is_found_and_sound_code_is_not(self):
        self.assertIn("bugprone-sizeof-expression", self.said_of("struct S {};\nunsigned long N(S* s) { return sizeof(s); }\n"
                                                                 "unsigned long M(int* s) { return sizeof(sizeof(*s)); }\n"))
        self.assertEqual(self.said_of("int F(int a) { return a + 1; }\n"), "")

    def test_a_function_that_nests_too_deep_is_found(self):
        depth = 12
        text = "int F(int a) {\n" + "if (a) {\n" * depth + "return 1;\n" + "}\n" * depth + "return 0;\n}\n"
        self.assertIn("readability-function-size", self.said_of(text))

    def test_without_time_left_a_file_is_skipped(self):
        self.assertEqual(check_tidy.check("clang-tidy-14", ".", {"a.cpp": []}, ["a.cpp"], -1), ([], 0))


if __name__ == "__main__":
    unittest.main()
