# SPDX-License-Identifier: Apache-2.0
"""A graph trained on data of an iterator: weights live as long as the session.

    python samples/python/run_on_data.py
"""

import pathlib

import numpy

import lanescope

SAMPLES = pathlib.Path(__file__).parent.parent


def batches(count):
    """Samples of 5 x^2 + 3."""
    random = numpy.random.default_rng(7)
    for _ in range(count):
        x = random.uniform(-10, 10, 100).astype("float32")
        yield {"x": x, "y": 5 * x * x + 3}


def main():
    graph = lanescope.Graph(SAMPLES / "graphs" / "polynomial.pbtxt")
    machine = lanescope.Machine.virtual(gpus=2)
    with lanescope.Session(graph, machine, "alternating") as session:
        for number, fetched in enumerate(session.steps(batches(200))):
            if number % 50 == 0:
                print(number, {name: value.tolist() for name, value in fetched.items() if value.size <= 3})
    print(f"{numpy.median(session.step_ns) / 1e6:.3f} ms a step")


if __name__ == "__main__":
    main()
