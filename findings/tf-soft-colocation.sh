#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# TensorFlow 2.21.0 (CPU), graphs with allow_soft_placement=True.
#
# Two nodes that must share a device and ask for two different ones get neither: both go to the first device of the type.
# Soft placement drops the index of the group's request, not one of the two requests, and says nothing.
# Where a variable's update is colocated by hand and the outer scope names another device, the GPU that nobody asked for does it.
# (Without soft placement it is an error; where one of the two asks for nothing, the other's request holds.)
#
# Seen (three CPU devices):
#   a asks for CPU:1, b for CPU:2, b with a  ->  a on CPU:0, b on CPU:0
#   a asks for CPU:1, b for none,  b with a  ->  a on CPU:1, b on CPU:1
#
# config.proto lists when soft placement moves an op to the CPU; this case is not among them.
# Led to: the placer puts such groups where TensorFlow does (core/place).
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


def placed(first, second):
    config = v1.ConfigProto(device_count={"CPU": 3}, allow_soft_placement=True)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tensorflow.Graph().as_default(), v1.Session(config=config) as session:
        fed = v1.placeholder(tensorflow.float32, [1], name="fed")
        with tensorflow.device(first):
            a = tensorflow.negative(fed, name="a")
        with tensorflow.device(second):
            b = tensorflow.negative(a, name="b")
        b.op._set_attr("_class", v1.AttrValue(list=v1.AttrValue.ListValue(s=[b"loc:@a"])))
        metadata = v1.RunMetadata()
        options = v1.RunOptions(output_partition_graphs=True)
        session.run(b, {fed: numpy.ones(1)}, options=options, run_metadata=metadata)
    return {node.name: node.device[-5:] for graph in metadata.partition_graphs for node in graph.node if node.op == "Neg"}


both, one = placed("/cpu:1", "/cpu:2"), placed("/cpu:1", "")
print("a asks for CPU:1, b for CPU:2, b with a  ->  a on {a}, b on {b}".format(**both))
print("a asks for CPU:1, b for none,  b with a  ->  a on {a}, b on {b}".format(**one))
assert both == {"a": "CPU:0", "b": "CPU:0"} and one == {"a": "CPU:1", "b": "CPU:1"}, "soft placement does otherwise now"
END
