#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnx 1.23.2 (shape inference and reference evaluator) beside onnxruntime 1.32.0, ConvTranspose with auto_pad="SAME_UPPER".
#
# The operator's text says that the result has the size of the image times the stride. With a filter smaller than the stride onnxruntime
# and ONNX's own shape inference fall short of it, and with output_padding shape inference alone goes beyond it.
# So the evaluator stands alone and is right in one case, and inference stands alone and is wrong in the other: which two agree tells nothing.
#
# Seen (5 pixels; inferred, evaluated by ONNX, by onnxruntime, by the text):
#   filter 2, stride 3:                    14, 15, 14, 15
#   filter 3, stride 2, output_padding 1:  11, 10, 10, 10
#   filter 3, stride 2:                    10, 10, 10, 10
#
# Led to nothing new: core/inputs/onnx/convolution_rules.cpp follows the text.
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

seen = []
for size, stride, extra in ((2, 3, {}), (3, 2, {"output_padding": [1]}), (3, 2, {})):
    weights = numpy_helper.from_array(numpy.ones((1, 1, size), numpy.float32), "w")
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[stride], auto_pad="SAME_UPPER", **extra)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 5])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "transposed", [x], [y], [weights])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    inferred = shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type.shape.dim[2].dim_value
    image = {"x": numpy.ones((1, 1, 5), numpy.float32)}
    evaluated = ReferenceEvaluator(model).run(None, image)[0].shape[2]
    run = onnxruntime.InferenceSession(model.SerializeToString()).run(None, image)[0].shape[2]
    case = f"filter {size}, stride {stride}{', output_padding 1' if extra else ''}:"
    print(f"{case:38} {inferred}, {evaluated}, {run}, {5 * stride}")
    seen.append((inferred, evaluated, run))
assert seen == [(14, 15, 14), (11, 10, 10), (10, 10, 10)], "the three agree otherwise now"
END
