#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# TensorFlow 2.21.0 (CPU), RunMetadata of FULL_TRACE.
#
# The step statistics leave out every send and receive, so what is copied between devices, and how long a reader waited for it, is not
# in them; a label names the missing node ("MatMul(a/_1, a/_1)").
# The partition graphs of the same RunMetadata do have the pairs.
# A timeline of a step on two devices shows a gap where the copy is, and which op it is of must be guessed.
# (On GPUs the copies themselves are recorded by CUPTI, under other names.)
#
# Seen:
#   sends and receives in the partition graphs: ['a/_0', 'a/_1', 'b/_2', 'b/_3']
#   of them in the step statistics:             []
#   label of the reader:                        b = MatMul(a/_1, a/_1)
#
# Led to: copies come from the GPU's own records, and none are made up (tests/traces/tensorflow_trace_test.cpp).
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
with tensorflow.Graph().as_default(), v1.Session(config=v1.ConfigProto(device_count={"CPU": 2})) as session:
    with tensorflow.device("/cpu:0"):
        fed = v1.placeholder(tensorflow.float32, [64, 64], name="fed")
        a = tensorflow.matmul(fed, fed, name="a")
    with tensorflow.device("/cpu:1"):
        b = tensorflow.matmul(a, a, name="b")
    with tensorflow.device("/cpu:0"):
        c = tensorflow.reduce_sum(b, name="c")
    metadata = v1.RunMetadata()
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE, output_partition_graphs=True)
    session.run(c, {fed: numpy.ones((64, 64))}, options=options, run_metadata=metadata)
sent = sorted(node.name for graph in metadata.partition_graphs for node in graph.node if node.op in ("_Send", "_Recv"))
timed = {node.node_name: node.timeline_label for device in metadata.step_stats.dev_stats for node in device.node_stats}
print(f"sends and receives in the partition graphs: {sent}")
print(f"of them in the step statistics:             {[name for name in sent if name in timed]}")
print(f"label of the reader:                        {timed['b']}")
assert {"a", "b", "c"} <= set(timed) and len(sent) == 4
assert not set(sent) & set(timed), "the step statistics have copies now"
END
