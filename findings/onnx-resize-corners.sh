#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnx 1.23.2 (reference evaluator) beside onnxruntime 1.32.0, Resize by scales with coordinate_transformation_mode="align_corners".
#
# Where size times scale is no whole number the two take other pixels: ONNX's reference places the last pixel at the fraction
# (4 x 0.6 = 2.4), onnxruntime at the whole size (2). Both give the same shape, so only the numbers tell, and "aligned corners" are
# aligned in onnxruntime alone. Given as sizes, or with a whole product, they agree.
#
# Seen (4 pixels 0 1 2 3, linear):
#   scale 0.6: ONNX [0.0, 2.143], onnxruntime [0.0, 3.0]
#   scale 0.7: ONNX [0.0, 1.667], onnxruntime [0.0, 3.0]
#   scale 0.5: ONNX [0.0, 3.0], onnxruntime [0.0, 3.0]
#
# onnx/onnx issue 2462 calls it intended; ONNX's own tests test_resize_downsample_scales_{linear,cubic}_align_corners fail in
# onnxruntime.
# Led to: Resize takes onnxruntime's pixels (core/inputs/onnx/resize_rules.cpp, tests/golden/onnx_ops).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 - <<'END'
import numpy
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

pixels = numpy.arange(4, dtype=numpy.float32).reshape(1, 1, 1, 4)
for scale, equal in ((0.6, False), (0.7, False), (0.5, True)):
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear", coordinate_transformation_mode="align_corners")
    scales = helper.make_tensor("scales", TensorProto.FLOAT, [4], [1, 1, 1, scale])
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [1, 1, 1, 4]), ("y", None))]
    graph = helper.make_graph([node], "resize", value[:1], value[1:], [scales])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)])
    (reference,) = ReferenceEvaluator(model).run(None, {"x": pixels})
    (runtime,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": pixels})
    shown = [[round(float(each), 3) for each in result.ravel()] for result in (reference, runtime)]
    print(f"scale {scale}: ONNX {shown[0]}, onnxruntime {shown[1]}")
    assert reference.shape == runtime.shape
    assert numpy.allclose(reference, runtime) == equal, "the two agree otherwise now"
END
