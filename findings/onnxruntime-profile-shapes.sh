#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnxruntime 1.32.0, the profile of a session (enable_profiling) on a processor: shapes and bytes of its nodes.
#
# * A product whose weights are constant has lost them: they were repacked before the run, so input_type_shape lists the other operands
#   alone and parameter_size counts the bias or nothing. From the profile neither work nor bytes of the product can be had.
# * A convolution in the blocked layout has channels that the model has not: they are rounded up to 8 or 16 by the processor's vectors,
#   in input_type_shape, output_type_shape, activation_size, parameter_size and output_size alike, under the same op name "Conv".
# So two machines give two sizes for one model, and none need be the model's.
#
# Seen (a product of 64 x 64 with a bias; a convolution of 3 to 20 channels; AVX2):
#   product, no optimization: inputs [[64, 64]], parameter_size 0 of 16384
#   product and bias, fused:  inputs [[64, 64], [64]], parameter_size 256 of 16640
#   convolution, basic:       output [1, 20, 16, 16], output_size 20480
#   convolution, all:         output [1, 24, 16, 16], output_size 24576
#
# Led to: work and bytes come from the model, times alone from a profile (traces/import/onnx_runtime_profile.cpp).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 - 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import json
import math
import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

Levels = onnxruntime.GraphOptimizationLevel


def profiled(nodes, shape, weights, level, op):
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape), helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    constants = [numpy_helper.from_array(numpy.ones(size, numpy.float32), name) for name, size in weights.items()]
    graph = helper.make_graph(nodes, "one", values[:1], values[1:], constants)
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.graph_optimization_level = level
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    session.run(None, {"x": numpy.ones(shape, numpy.float32)})
    with open(session.end_profiling(), encoding="utf-8") as file:
        (found,) = [event["args"] for event in json.load(file) if event["args"].get("op_name") == op]
    shapes = [[sizes for tensor in found[key] for sizes in tensor.values()] for key in ("input_type_shape", "output_type_shape")]
    return shapes[0], shapes[1][0], int(found["parameter_size"]), int(found["output_size"])


product = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "b"], ["y"])]
weights = {"w": [64, 64], "b": [64]}
apart = profiled(product, [64, 64], weights, Levels.ORT_DISABLE_ALL, "MatMul")
fused = profiled(product, [64, 64], weights, Levels.ORT_ENABLE_ALL, "Gemm")
convolution = [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])]
basic = profiled(convolution, [1, 3, 16, 16], {"w": [20, 3, 3, 3]}, Levels.ORT_ENABLE_BASIC, "Conv")
every = profiled(convolution, [1, 3, 16, 16], {"w": [20, 3, 3, 3]}, Levels.ORT_ENABLE_ALL, "Conv")
print(f"product, no optimization: inputs {apart[0]}, parameter_size {apart[2]} of 16384")
print(f"product and bias, fused:  inputs {fused[0]}, parameter_size {fused[2]} of 16640")
print(f"convolution, basic:       output {basic[1]}, output_size {basic[3]}")
print(f"convolution, all:         output {every[1]}, output_size {every[3]}")
assert apart[0] == [[64, 64]] and apart[2] == 0, "weights are in the profile now"
assert fused[0] == [[64, 64], [64]] and fused[2] == 256, "weights are in the profile now"
assert basic[1] == [1, 20, 16, 16] and basic[3] == 20480
assert every[1] in ([1, 24, 16, 16], [1, 32, 16, 16]) and every[3] == 4 * math.prod(every[1]), "channels are the model's now"
END
