# SPDX-License-Identifier: Apache-2.0
"""A thread that starts without lanescope::Thread is caught, what only looks like one is not."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_threads  # noqa: E402


def violations(path, text):
    """Violations of a temporary tree that holds this file alone."""
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text(text)
        return check_threads.check_tree(root)[0]


class ThreadRules(unittest.TestCase):
    def test_every_way_to_start_one_is_caught(self):
        for line in ("std::thread thread_;", "std::vector<std::thread> threads;", "std::jthread t(work);",
                     "auto done = std::async(work);", "pthread_create(&t, nullptr, run, nullptr);", "::pthread_create(a);"):
            self.assertEqual(len(violations("sims/search/a.cpp", line)), 1, line)

    def test_the_message_names_file_and_line(self):
        self.assertEqual(violations("sims/search/a.cpp", "\n  std::thread t;\n"),
                         ["sims/search/a.cpp:2: std::thread: start threads by Thread (core/base/thread.h)"])

    def test_what_starts_nothing_is_none(self):
        for line in ("std::thread::hardware_concurrency()", "std::thread::id id;", "// not a std::thread", "Thread thread_;",
                     "std::this_thread::yield();", "pthread_self()", "#include <thread>"):
            self.assertEqual(violations("sims/search/a.cpp", line), [], line)

    def test_the_class_itself_tests_and_benchmarks_may(self):
        for path in ("core/base/thread.cpp", "profiler/quiet_thread.h", "tests/core/base/a.cpp", "bench/a.cpp"):
            self.assertEqual(violations(path, "std::thread t;"), [], path)
        self.assertEqual(len(violations("profiler/other.h", "std::thread t;")), 1)


if __name__ == "__main__":
    unittest.main()
