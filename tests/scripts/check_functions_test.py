# SPDX-License-Identifier: Apache-2.0
"""A function beyond a limit is named with its figure, one at the limit is not; a list may be longer."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_functions  # noqa: E402


def row(complexity=9, parameters=1, lines=10):
    """A row as lizard prints it."""
    return [str(lines), str(complexity), "99", str(parameters), str(lines), "F@7-9@a.cpp", "a.cpp", "F", "F( int a )", "7", "9"]


def found(**measures):
    return list(check_functions.problems(row(**measures)))


class Limits(unittest.TestCase):
    def test_at_the_limits_nothing_is_wrong(self):
        self.assertEqual(found(complexity=check_functions.MOST_COMPLEXITY, parameters=check_functions.MOST_PARAMETERS,
                               lines=check_functions.MOST_LINES), [])

    def test_each_limit_is_named_with_place_and_figure(self):
        self.assertEqual(found(complexity=32), ["a.cpp:7: F: a complexity of 32, at most 31; split it"])
        self.assertEqual(found(parameters=14), ["a.cpp:7: F: parameters: 14, at most 13; split it"])
        self.assertEqual(found(lines=86), ["a.cpp:7: F: lines: 86, at most 85; split it"])

    def test_a_list_may_be_longer(self):
        self.assertEqual(found(complexity=8, lines=198), [])
        self.assertEqual(found(complexity=8, lines=199), ["a.cpp:7: F: lines: 199, at most 198; split it"])


@unittest.skipIf(check_functions.lizard() is None, "lizard is not installed")
class Measure(unittest.TestCase):
    def measured(self, name, text):
        with tempfile.TemporaryDirectory() as directory:
            (pathlib.Path(directory) / name).write_text(text)
            rows = check_functions.measure(check_functions.lizard(), directory, [name])
            return [(r[check_functions.NAME], int(r[check_functions.COMPLEXITY]), int(r[check_functions.PARAMETERS]),
                     int(r[check_functions.LINES])) for r in rows]

    def test_branches_parameters_and_lines_are_counted(self):
        text = "int F(int a, int b) {\n  if (a && b) return 1;\n  return 2;\n}\n"
        for name in ("a.cpp", "a.h", "a.cu", "a.cuh"):
            self.assertEqual(self.measured(name, text), [("F", 3, 2, 4)], name)

    def test_a_function_beyond_a_limit_fails(self):
        branches = "".join(f"  if (a == {i}) return {i};\n" for i in range(31))
        with tempfile.TemporaryDirectory() as directory:
            (pathlib.Path(directory) / "a.cpp").write_text("int F(int a) {\n" + branches + "  return 0;\n}\n")
            rows = check_functions.measure(check_functions.lizard(), directory, ["a.cpp"])
        self.assertEqual([p for r in rows for p in check_functions.problems(r)],
                         ["a.cpp:1: F: a complexity of 32, at most 31; split it"])


if __name__ == "__main__":
    unittest.main()
