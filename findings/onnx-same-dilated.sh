#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnx 1.23.2 (shape inference and reference evaluator) beside onnxruntime 1.32.0, auto_pad="SAME_UPPER" with dilations.
#
# onnxruntime works out the padding as if the filter were not dilated. A dilated pool that shall keep its size gets smaller, and runs
# without an error; ONNX infers and evaluates the whole size. A dilated convolution, which ONNX defines alike, ends the run with an error.
# Where the padding is written out, the three agree.
#
# Seen (5 pixels, kernel 3, dilation 2, stride 1):
#   AveragePool SAME_UPPER: ONNX infers 5 and evaluates 5, onnxruntime gives 3
#   MaxPool     SAME_UPPER: ONNX infers 5 and evaluates 5, onnxruntime gives 3
#   Conv        SAME_UPPER: ONNX infers 5 and evaluates 5, onnxruntime raises an error
#   MaxPool     pads 2, 2:  ONNX infers 5 and evaluates 5, onnxruntime gives 5
#
# Concerns core/inputs/onnx/window.cpp, which takes ONNX's size.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 - 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

onnxruntime.set_default_logger_severity(4)
weights = numpy_helper.from_array(numpy.ones((1, 1, 3), numpy.float32), "w")
cases = [(op, {"auto_pad": "SAME_UPPER"}, "SAME_UPPER:") for op in ("AveragePool", "MaxPool", "Conv")] + [("MaxPool", {"pads": [2, 2]}, "pads 2, 2: ")]
seen = []
for op, padding, words in cases:
    node = helper.make_node(op, ["x", "w"] if op == "Conv" else ["x"], ["y"], kernel_shape=[3], strides=[1], dilations=[2], **padding)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 5])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "same", [x], [y], [weights] if op == "Conv" else [])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    inferred = shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type.shape.dim[2].dim_value
    image = {"x": numpy.arange(5, dtype=numpy.float32).reshape(1, 1, 5)}
    evaluated = ReferenceEvaluator(model).run(None, image)[0].shape[2]
    try:
        run = f"gives {onnxruntime.InferenceSession(model.SerializeToString()).run(None, image)[0].shape[2]}"
    except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument:
        run = "raises an error"
    print(f"{op:11} {words} ONNX infers {inferred} and evaluates {evaluated}, onnxruntime {run}")
    seen.append((inferred, evaluated, run))
assert seen == [(5, 5, "gives 3"), (5, 5, "gives 3"), (5, 5, "raises an error"), (5, 5, "gives 5")], "the three agree otherwise now"
END
