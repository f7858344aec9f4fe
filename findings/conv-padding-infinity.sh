#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# TensorFlow 2.21.0 (CPU) beside onnxruntime 1.32.0, a convolution whose filter has an infinite element.
#
# TensorFlow multiplies the zeros of the padding: where the infinite element lies on padding the result is NaN (0 * Inf).
# onnxruntime leaves padding out: there it is the finite sum of the rest. Inside the image both give Inf.
# A model whose training has begun to diverge so has a border of NaN in one and finite numbers in the other, though the definition of
# padding is the same; a comparison of the two after an export finds a difference that no tolerance covers.
#
# Seen (3 x 3 ones, 3 x 3 filter of ones with Inf in its first element, SAME):
#   TensorFlow:  [nan, nan, nan, nan, inf, inf, nan, inf, inf]
#   onnxruntime: [4.0, 6.0, 4.0, 6.0, inf, inf, 4.0, inf, inf]
#
# Led to: convolutions multiply padding by Inf and NaN, as TensorFlow's do (tests/golden/ops/padding_products.json).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/tensorflow" tensorflow-cpu==2.21.0 keras==3.15.1 numpy==2.4.6
python3 -m pip install --quiet --no-compile --target "$scratch/onnx" onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
PYTHONPATH="$scratch/tensorflow:$scratch/onnx" TF_CPP_MIN_LOG_LEVEL=3 python3 - <<'END'
import numpy
import onnxruntime
import tensorflow
from onnx import TensorProto, helper

image, filters = numpy.ones((3, 3), numpy.float32), numpy.ones((3, 3), numpy.float32)
filters[0, 0] = numpy.inf
by_tensorflow = tensorflow.nn.conv2d(image.reshape(1, 3, 3, 1), filters.reshape(3, 3, 1, 1), 1, "SAME").numpy().ravel()
value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [1, 1, 3, 3]), ("y", None))]
weights = helper.make_tensor("w", TensorProto.FLOAT, [1, 1, 3, 3], filters.ravel())
graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])], "conv", value[:1], value[1:], [weights])
model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)])
(by_onnxruntime,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": image.reshape(1, 1, 3, 3)})
print(f"TensorFlow:  {by_tensorflow.tolist()}")
print(f"onnxruntime: {by_onnxruntime.ravel().tolist()}")
border = [0, 1, 2, 3, 6]
assert numpy.isnan(by_tensorflow[border]).all(), "TensorFlow leaves padding out now"
assert numpy.isfinite(by_onnxruntime.ravel()[border]).all(), "onnxruntime multiplies padding now"
inside = [4, 5, 7, 8]
assert numpy.isinf(by_tensorflow[inside]).all() and numpy.isinf(by_onnxruntime.ravel()[inside]).all()
END
