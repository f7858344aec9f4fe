# SPDX-License-Identifier: Apache-2.0
"""The best placement, and from which bandwidth of the links on another one is faster, by the processes of an executor.
mpi4py's and Dask's executors do as well.

    python samples/python/search_and_sweep.py
"""

import concurrent.futures
import pathlib

import lanescope

SAMPLES = pathlib.Path(__file__).parent.parent


def main():
    graph = lanescope.Graph(SAMPLES / "graphs" / "deepconn_dual.pbtxt")
    machine = lanescope.Machine(SAMPLES / "machines" / "k80x2.json")
    with concurrent.futures.ProcessPoolExecutor() as executor:
        found = lanescope.search(graph, machine, rounds=3, executor=executor)
        print(f"{found.step_ns / 1e6:.3f} ms by {found['best']['strategy']}; no placement takes less than "
              f"{found['lower_bound_ns'] / 1e6:.3f} ms")
        sweep = lanescope.sweep(graph, machine, ["single", found.placement], 1e8, 1e11, executor=executor)
    for crossing in sweep["crossings"]:
        print(f"{crossing['above']} wins over {crossing['below']} above {crossing['bandwidth'] / 1e9:.2f} GB/s")


if __name__ == "__main__":
    main()
