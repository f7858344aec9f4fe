#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnx 1.23.2 (shape inference and reference evaluator) beside onnxruntime 1.32.0, pooling with ceil_mode=1.
#
# A last window that would begin in the padding behind the image is left out by both that compute, and counted by shape inference,
# strict or not. So the inferred shape of a pool, of all that follows it and of what a cost model adds up is one row too large.
# onnxruntime, which infers by the same rules, runs it with a warning that the shape is another one than expected.
#
# Seen (kernel, stride, padding on both sides, pixels -> inferred, evaluated by ONNX, by onnxruntime):
#   MaxPool     2 4 0 7 -> 3, 2, 2
#   MaxPool     2 2 1 5 -> 4, 3, 3
#   AveragePool 2 3 0 6 -> 3, 2, 2
#   MaxPool     3 2 0 6 -> 3, 3, 3
#
# Led to nothing new: shapes follow from the op (RoundUp in core/inputs/onnx/image_rules.cpp), which is those that compute.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 - 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import numpy
import onnxruntime
from onnx import TensorProto, helper, shape_inference
from onnx.reference import ReferenceEvaluator

seen = []
for op, kernel, stride, padding, pixels in (("MaxPool", 2, 4, 0, 7), ("MaxPool", 2, 2, 1, 5), ("AveragePool", 2, 3, 0, 6), ("MaxPool", 3, 2, 0, 6)):
    node = helper.make_node(op, ["x"], ["y"], kernel_shape=[kernel], strides=[stride], pads=[padding, padding], ceil_mode=1)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, pixels])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = helper.make_model(helper.make_graph([node], "pool", [x], [y]), ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    inferred = shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type.shape.dim[2].dim_value
    image = {"x": numpy.arange(pixels, dtype=numpy.float32).reshape(1, 1, pixels)}
    (evaluated,) = ReferenceEvaluator(model).run(None, image)
    (run,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, image)
    print(f"{op:11} {kernel} {stride} {padding} {pixels} -> {inferred}, {evaluated.shape[2]}, {run.shape[2]}")
    seen.append((inferred, evaluated.shape[2], run.shape[2]))
assert seen == [(3, 2, 2), (4, 3, 3), (3, 2, 2), (3, 3, 3)], "the three agree otherwise now"
END
