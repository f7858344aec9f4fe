# SPDX-License-Identifier: Apache-2.0
"""Which placement of a graph is faster, and why?

    python samples/python/compare_placements.py [PAGE.html]
"""

import pathlib
import sys

import lanescope

SAMPLES = pathlib.Path(__file__).parent.parent


def main():
    graph = lanescope.Graph(SAMPLES / "graphs" / "deepconn_dual.pbtxt")
    machine = lanescope.Machine(SAMPLES / "machines" / "two-virtual-gpus-k80-links.json")
    comparison = lanescope.compare(graph, machine, ["single", "alternating"], steps=2, rounds=2, repeats=1)
    for row in comparison.rows:
        measured, predicted = row["measured"]["step_ns"]["median"], row["predicted"]["step_ns"]["value"]
        print(f"{row['strategy']:12} measured {measured / 1e6:8.3f} ms, predicted {predicted / 1e6:8.3f} ms")
    print(comparison.verdict)
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(comparison._repr_html_(), encoding="utf-8")


if __name__ == "__main__":
    main()
