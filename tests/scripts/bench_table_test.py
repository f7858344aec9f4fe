# SPDX-License-Identifier: Apache-2.0
"""The table shows the median of the repetitions and their interquartile range."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import bench_table  # noqa: E402


def repetition(real_time, **more):
    return {"name": "Push", "run_name": "Push", "run_type": "iteration", "real_time": real_time, "time_unit": "us",
            "iterations": 10, **more}


class Table(unittest.TestCase):
    def test_median_spread_and_counters(self):
        runs = [repetition(time, items_per_second=2e6) for time in (10, 11, 12, 13, 14)]
        # Quartiles 11 and 13 around the median 12: spread 2/12.
        self.assertEqual(bench_table.row_of("Push", runs),
                         ["Push", "12 us", "16.7%", "10 us", "14 us", "5", "items_per_second=2M"])

    def test_aggregates_are_no_repetitions(self):
        report = {"benchmarks": [repetition(10), repetition(99, run_type="aggregate", aggregate_name="mean")]}
        self.assertEqual(len(bench_table.group_repetitions(report)["Push"]), 1)

    def test_a_failed_benchmark_is_an_error(self):
        report = {"benchmarks": [repetition(0, error_occurred=True, error_message="no device")]}
        with self.assertRaisesRegex(ValueError, "no device"):
            bench_table.group_repetitions(report)


if __name__ == "__main__":
    unittest.main()
