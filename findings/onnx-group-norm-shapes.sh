#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnx 1.23.2 (shape_inference.infer_shapes) beside onnxruntime 1.32.0, GroupNormalization (opset 18 on).
#
# The operator has no shape inference, though its result has the shape of its operand: behind the first one nothing has a shape or a type.
# Image generators have one in every block, so costs that are read from inferred shapes end in the first.
# strict_mode=True, which is to find errors of models, ends with an error that names the next op and not this one; the checker passes.
# LayerNormalization and InstanceNormalization in its place are inferred.
#
# Seen (sizes of the normalization's result):
#   InstanceNormalization  inferred [2, 4, 8], computed [2, 4, 8]
#   LayerNormalization     inferred [2, 4, 8], computed [2, 4, 8]
#   GroupNormalization     inferred nothing, computed [2, 4, 8]; strict: (op_type:Relu): Input 0 expected to have type but instead is null
#
# Led to nothing new: shapes follow from the ops (core/inputs/onnx).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 - 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import numpy
import onnxruntime
from onnx import TensorProto, checker, helper, shape_inference

shapes = {"x": [2, 4, 8], "scale": [4], "bias": [4]}
seen = []
for op, attributes in (("InstanceNormalization", {}), ("LayerNormalization", {"axis": -1}), ("GroupNormalization", {"num_groups": 2})):
    sizes = {**shapes, "scale": [8], "bias": [8]} if op == "LayerNormalization" else shapes
    nodes = [helper.make_node(op, list(sizes), ["normal"], **attributes), helper.make_node("Relu", ["normal"], ["y"])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in sizes.items()]
    graph = helper.make_graph(nodes, "one", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", "c", "w"])])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    checker.check_model(model)
    found = [value.type.tensor_type.shape.dim for value in shape_inference.infer_shapes(model).graph.value_info if value.name == "normal"]
    inferred = [size.dim_value for size in found[0]] if found else "nothing"
    fed = {name: numpy.ones(size, numpy.float32) for name, size in sizes.items()}
    (result,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, fed)
    try:
        shape_inference.infer_shapes(model, strict_mode=True)
        strict = ""
    except shape_inference.InferenceError as error:
        strict = "; strict: " + str(error)[str(error).index("(op_type:") :].split("\n")[0].replace("[TypeInferenceError] ", "")
    print(f"{op:22} inferred {inferred}, computed {list(result.shape)}{strict}")
    seen.append((inferred, bool(strict)))
assert seen == [([2, 4, 8], False), ([2, 4, 8], False), ("nothing", True)], "shapes are inferred otherwise now"
END
