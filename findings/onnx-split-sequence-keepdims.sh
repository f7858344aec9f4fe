#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnx 1.23.2 (shape inference) beside onnxruntime 1.32.0, SplitToSequence with a size of parts and keepdims=0.
#
# The operator's text says that keepdims is ignored where 'split' is given, and ONNX infers shapes so. onnxruntime drops the axis all the
# same where the size is 1, and ends the run with an error where it is larger, since a part of two rows cannot lose its axis.
# A model that passes the checker gives tensors of another rank than it states.
#
# Seen (6 x 4, keepdims=0):
#   split 1: ONNX infers parts of rank 2, onnxruntime gives [4]
#   split 2: ONNX infers parts of rank 2, onnxruntime raises an error
#   split 2, keepdims=1: onnxruntime gives [2, 4]
#
# Led to: SplitToSequence follows the text (core/inputs/onnx/sequence_rules.cpp), which docs/reference/onnx.md says.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 - <<'END'
import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

x = numpy.arange(24, dtype=numpy.float32).reshape(6, 4)


def first_part(split: int, keepdims: int) -> tuple[str, str]:
    nodes = [
        helper.make_node("SplitToSequence", ["x", "split"], ["parts"], axis=0, keepdims=keepdims),
        helper.make_node("SequenceAt", ["parts", "at"], ["y"]),
    ]
    constants = [helper.make_tensor("split", TensorProto.INT64, [], [split]), helper.make_tensor("at", TensorProto.INT64, [], [0])]
    graph = helper.make_graph(
        nodes,
        "parts",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [6, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None])],
        constants,
    )
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model)
    inferred = onnx.shape_inference.infer_shapes(model)
    parts = next(value for value in inferred.graph.value_info if value.name == "parts")
    rank = f"rank {len(parts.type.sequence_type.elem_type.tensor_type.shape.dim)}"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        (y,) = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})
        return rank, str(list(y.shape))
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
        return rank, "an error"


for split, keepdims, expected in ((1, 0, ("rank 2", "[4]")), (2, 0, ("rank 2", "an error")), (2, 1, ("rank 2", "[2, 4]"))):
    seen = first_part(split, keepdims)
    print(f"split {split}, keepdims {keepdims}: inferred {seen[0]}, onnxruntime {seen[1]}")
    assert seen == expected, f"expected {expected}"
END
