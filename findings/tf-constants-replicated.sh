#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# TensorFlow 2.21.0 (CPU), graphs over several devices.
#
# A constant of up to 16 elements is no longer one node that is sent to those who read it: after placement it is replaced by a copy on
# each of their devices, named NAME/replicate/_N, with all optimizers off. One of 17 elements is sent.
# The log of placement still names one device for it, a trace has nodes that are in no file, and copies that a simulator
# of the placement expects do not happen.
#
# Seen (read on CPU:1 and CPU:2):
#   16 elements: nodes c/replicate/_0 on CPU:1, c/replicate/_1 on CPU:2; 0 copies
#   17 elements: nodes c on CPU:0; 2 copies
#
# tensorflow/tensorflow issue 12143 asked for such a thing in 2017; the release notes do not name it.
# Concerns comparisons of the copies that a placement makes here with those of TensorFlow itself.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" tensorflow-cpu==2.21.0 keras==3.15.1 numpy==2.4.6
PYTHONPATH="$scratch/packages" TF_CPP_MIN_LOG_LEVEL=3 python3 - <<'END'
import numpy
import tensorflow

v1 = tensorflow.compat.v1


def ran(elements):
    config = v1.ConfigProto(device_count={"CPU": 3})
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    with tensorflow.Graph().as_default(), v1.Session(config=config) as session:
        constant = tensorflow.constant(numpy.arange(elements), tensorflow.float32, name="c")
        for device in (1, 2):
            with tensorflow.device(f"/cpu:{device}"):
                tensorflow.negative(constant, name=f"reader{device}")
        metadata = v1.RunMetadata()
        session.run(["reader1:0", "reader2:0"], options=v1.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    nodes = [node for graph in metadata.partition_graphs for node in graph.node]
    constants = sorted(f"{node.name} on {node.device[-5:]}" for node in nodes if node.op == "Const")
    copies = [node.name for node in nodes if node.op == "_Recv" and node.name.startswith("c/")]
    return constants, len(copies)


seen = {elements: ran(elements) for elements in (16, 17)}
for elements, (constants, copies) in seen.items():
    print(f"{elements} elements: nodes {', '.join(constants)}; {copies} copies")
assert seen[16] == (["c/replicate/_0 on CPU:1", "c/replicate/_1 on CPU:2"], 0), "small constants are not replicated now"
assert seen[17] == (["c on CPU:0"], 2)
END
