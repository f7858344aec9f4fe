#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnx 1.23.2 (shape_inference.infer_shapes) beside onnxruntime 1.32.0.
#
# A wrong shape that a model carries (value_info left over from before an edit) is not corrected: it wins over what the op gives and
# spreads to everything behind it. A product whose sizes cannot be multiplied gets no shape and no error.
# With strict_mode=True both are errors; that is not the default.
# onnxruntime computes its own shapes, warns and runs: so the file says 49 elements where 10 are computed, and costs that are read from
# such a file are of tensors that do not exist.
#
# Seen ([2, 3] times [3, 5], value_info says [7, 7]; then [2, 4] times [3, 5]):
#   onnx infers t [7, 7], y [7, 7]; onnxruntime computes y [2, 5]
#   onnx infers nothing for sizes that do not fit; strict: Incompatible dimensions for matrix multiplication
#
# Led to: a shape that follows from the op wins over the one in the file (core/inputs/onnx).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 - <<'END'
import numpy
import onnxruntime
from onnx import TensorProto, helper, shape_inference

onnxruntime.set_default_logger_severity(3)


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(columns, said):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["t"]), helper.make_node("Relu", ["t"], ["y"])]
    weights = helper.make_tensor("w", TensorProto.FLOAT, [3, 5], numpy.zeros(15))
    graph = helper.make_graph(nodes, "stale", [value("x", [2, columns])], [value("y", None)], [weights], value_info=said)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)])


def shapes(inferred):
    graph = inferred.graph
    return {each.name: [size.dim_value for size in each.type.tensor_type.shape.dim] for each in [*graph.value_info, *graph.output]}


stale = model(3, [value("t", [7, 7])])
inferred = shapes(shape_inference.infer_shapes(stale))
(computed,) = onnxruntime.InferenceSession(stale.SerializeToString()).run(None, {"x": numpy.ones((2, 3), numpy.float32)})
print(f"onnx infers t {inferred['t']}, y {inferred['y']}; onnxruntime computes y {list(computed.shape)}")
assert inferred == {"t": [7, 7], "y": [7, 7]} and computed.shape == (2, 5), "stale shapes are found now"

unfit = model(4, [])
assert shapes(shape_inference.infer_shapes(unfit)) == {"y": []}, "sizes that do not fit are an error now"
try:
    shape_inference.infer_shapes(unfit, strict_mode=True)
    raise SystemExit("strict mode accepts sizes that do not fit")
except shape_inference.InferenceError as error:
    assert "Incompatible dimensions for matrix multiplication" in str(error)
print("onnx infers nothing for sizes that do not fit; strict: Incompatible dimensions for matrix multiplication")
END
