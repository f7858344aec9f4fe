# SPDX-License-Identifier: Apache-2.0
"""Tests that belong to a change are those of its folder that include its header or bear its name."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import changed_tests  # noqa: E402

TREE = {
    "core/a/x.h": "",
    "core/a/x.cpp": "",
    "core/a/y.cpp": "",
    "docs/page.md": "",
    "tests/core/a/x_test.cpp": "TEST(X, One) {\nTEST(X, Two) {\nTEST_F(Xs, One) {\n",
    "tests/core/a/other_test.cpp": '#include "core/a/x.h"\nTEST_P(Other, One) {\n',
    "tests/core/a/far_test.cpp": "TEST(Far, One) {\n",
}


def regex(*paths):
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for path, text in TREE.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return changed_tests.tests_regex(root, paths)


class ChangedTests(unittest.TestCase):
    def test_name_and_header_decide(self):
        self.assertEqual(regex("core/a/x.cpp"), r"(^|/)(Other|X|Xs)\.")

    def test_without_either_the_folder_counts(self):
        self.assertEqual(regex("core/a/y.cpp"), r"(^|/)(Far|Other|X|Xs)\.")

    def test_a_file_of_tests_is_its_own(self):
        self.assertEqual(regex("tests/core/a/far_test.cpp"), r"(^|/)(Far)\.")

    def test_documents_have_none(self):
        self.assertEqual(regex("docs/page.md"), "")


if __name__ == "__main__":
    unittest.main()
