# SPDX-License-Identifier: Apache-2.0
"""Cases are found in lists and in the names of tests."""

import pathlib
import tempfile
import unittest

import cases_without_test as cases


class Lists(unittest.TestCase):
    def test_ids_begin_lines_and_rows(self):
        text = "## A. Names\n| id | input |\n| A01 | `x` |\n| I15b | see I13 |\nB07 merges\nno C03 here\n"
        self.assertEqual(cases.listed_cases(text), ["A01", "I15b", "B07"])
        self.assertEqual(cases.listed_cases(text, {"A"}), ["A01"])


class Names(unittest.TestCase):
    def test_names_hold_ids_lists_and_ranges(self):
        for name, expected in {
                "A01_PrintsAll": {"A01"},
                "E51_E53_Variables": {"E51", "E53"},
                "H01ToH03ListsAreRefused": {"H01", "H02", "H03"},
                "C07AndC11ToC13Refuses": {"C07", "C11", "C12", "C13"},
                "D10D12AndD13AnOuter": {"D10", "D12", "D13"},
                "I13_I15b_Alternating": {"I13", "I15b"},
                "J14bDevicesOfServers": {"J14b"},
                "F03AControlEdge": {"F03"},
                "EveryOp": set(),
        }.items():
            self.assertEqual(cases.cases_of_name(name), expected, name)

    def test_tables_of_cases_count(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "queue_test.cpp"
            path.write_text('// Case Z01.\nTEST_F(Queue, K01Fifo) {}\nINSTANTIATE(\n    {"K03", 1},\n    {"K05b", 2});\n')
            self.assertEqual(cases.tested_cases(pathlib.Path(folder)), {"K01", "K03", "K05b"})


if __name__ == "__main__":
    unittest.main()
