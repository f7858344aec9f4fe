# SPDX-License-Identifier: Apache-2.0
"""Samples that name tasks are run with these tasks."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import gpu_samples  # noqa: E402


class Clusters(unittest.TestCase):
    def test_as_many_tasks_as_a_graph_names(self):
        text = 'device: "/job:worker/replica:0/task:1/device:GPU:0"\ndevice: "/job:ps/task:0/CPU:0"'
        self.assertEqual(gpu_samples.cluster_of(text), "ps=localhost:1,worker=localhost:2")

    def test_none_of_a_graph_of_one_process(self):
        for text in ('device: "/device:GPU:1"', 'device: "/job:localhost/replica:0/task:0/device:GPU:0"', ""):
            self.assertEqual(gpu_samples.cluster_of(text), "")

    def test_the_samples(self):
        found = {}
        for graph in (ROOT / "samples/graphs").glob("*.pbtxt"):
            cluster = gpu_samples.cluster_of(graph.read_text(encoding="utf-8"))
            if cluster:
                found[graph.stem] = cluster
        self.assertEqual(found, {"mirrored_two": "worker=localhost:2", "mirrored_four": "worker=localhost:4"})


if __name__ == "__main__":
    unittest.main()
