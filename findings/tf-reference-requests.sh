#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# TensorFlow 2.21.0 (CPU), graphs with allow_soft_placement=False.
#
# Strict placement is not strict along a variable: a device that its update or its read asks for is replaced by the variable's own,
# without an error or a warning, both for references (VariableV2) and for handles (VarHandleOp).
# Any other op that asks for a device is there, or the session fails.
# So a placement that was read from the program is not the placement that ran.
#
# Seen (variable on CPU:1, everything else asks for CPU:2):
#   reference: update on CPU:1, its operand on CPU:2
#   handle:    update on CPU:1, its operand on CPU:2
#
# The placer mentions it at log level INFO alone ("Ignoring device specification").
# Led to: requests along references and handles are dropped as TensorFlow drops them (tests/core/place/colocation_test.cpp).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" tensorflow-cpu==2.21.0 keras==3.15.1 numpy==2.4.6
PYTHONPATH="$scratch/packages" TF_CPP_MIN_LOG_LEVEL=1 python3 - 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import tensorflow

v1, ops = tensorflow.compat.v1, tensorflow.raw_ops


def placed(build):
    config = v1.ConfigProto(device_count={"CPU": 3}, allow_soft_placement=False)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tensorflow.Graph().as_default(), v1.Session(config=config) as session:
        start, update = build()
        session.run(start)
        metadata = v1.RunMetadata()
        session.run(update, options=v1.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    return {node.name: node.device[-5:] for graph in metadata.partition_graphs for node in graph.node}


def reference():
    with tensorflow.device("/cpu:1"):
        variable = ops.VariableV2(shape=[2], dtype=tensorflow.float32, name="variable")
    with tensorflow.device("/cpu:2"):
        return ops.Assign(ref=variable, value=[0.0, 0.0]), ops.AssignAdd(ref=variable, value=[1.0, 1.0], name="update")


def handle():
    with tensorflow.device("/cpu:1"):
        variable = ops.VarHandleOp(shape=[2], dtype=tensorflow.float32, name="variable")
    with tensorflow.device("/cpu:2"):
        return ops.AssignVariableOp(resource=variable, value=[0.0, 0.0]), ops.AssignAddVariableOp(resource=variable, value=[1.0, 1.0], name="update")


for name, build in (("reference:", reference), ("handle:", handle)):
    devices = placed(build)
    print(f"{name:10} update on {devices['update']}, its operand on {devices['update/value']}")
    assert (devices["variable"], devices["update"], devices["update/value"]) == ("CPU:1", "CPU:1", "CPU:2"), "requests are heeded now"
END
! grep --quiet 'Ignoring device' "$scratch/errors"
