# SPDX-License-Identifier: Apache-2.0
"""Steps of exported graphs, run by the program LANESCOPE, and PyTorch's own steps beside them."""

import json
import os
import subprocess

import numpy


def lanescope(*args):
    done = subprocess.run([os.environ["LANESCOPE"], *map(str, args), "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run(exported, folder, steps, *options):
    """The folder with what the steps fetched; the graph is folder/model.pb."""
    exported.save(str(folder / "model.pb"))
    lanescope("run", folder / "model.pb", "--steps", steps, "--warmup", 0, "--save-fetches", folder / "fetched", *options)
    return folder / "fetched"


def losses(fetched):
    return [float(numpy.load(file)) for file in sorted(fetched.glob("step*_loss_0.npy"))]


def losses_of_pytorch(model, optimizer, loss, x, y, steps=3):
    values = []
    for _ in range(steps):
        value = loss(model(x), y)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        values.append(value.item())
    return values
