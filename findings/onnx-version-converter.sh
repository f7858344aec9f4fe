#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnx 1.23.2 (version_converter.convert_version), results by onnxruntime 1.32.0.
#
# A conversion to a newer opset changes what a model computes, without an error or a warning, where a default changed between the two:
# * Resize 10 (and Upsample 9) to 11: pixels were taken at index / scale; version 11 takes their middles unless told otherwise, and the
#   converter does not tell it. Shapes stay the same.
# * Hardmax 11 to 13: once over all axes from 1 on, now over the last. Softmax and LogSoftmax, changed by the same text, are mended by the
#   converter.
# * Softmax 13 to 11, along an axis that is not the last: it comes out over that axis and all behind it.
#
# Seen (largest difference of the results before and after):
#   Resize   10 -> 11  0.06
#   Upsample  9 -> 11  0.06
#   Hardmax  11 -> 13  1.00
#   Softmax  13 -> 11  0.56
#   Softmax  11 -> 13  0.00
#
# Concerns whoever lifts an old model to an opset that a tool reads; each version is read here by its own rules (docs/reference/onnx.md).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 - 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, version_converter

cases = [
    ("Resize", {"mode": "linear"}, 10, 11, [1, 1, 1, 4], [1, 1, 1, 2]),
    ("Upsample", {"mode": "linear"}, 9, 11, [1, 1, 1, 4], [1, 1, 1, 2]),
    ("Hardmax", {}, 11, 13, [2, 3, 4], None),
    ("Softmax", {"axis": 1}, 13, 11, [2, 3, 4], None),
    ("Softmax", {}, 11, 13, [2, 3, 4], None),
]
seen = []
for op, attributes, old, new, shape, scales in cases:
    names = ["x", "s"] if scales else ["x"]
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape), helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    constants = [numpy_helper.from_array(numpy.array(scales, numpy.float32), "s")] if scales else []
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attributes)], "one", values[:1], values[1:], constants)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", old)])
    fed = {"x": numpy.arange(numpy.prod(shape), dtype=numpy.float32).reshape(shape) / 4}
    results = [
        onnxruntime.InferenceSession(each.SerializeToString()).run(None, fed)[0]
        for each in (model, version_converter.convert_version(model, new))
    ]
    assert results[0].shape == results[1].shape
    difference = float(abs(results[0] - results[1]).max())
    print(f"{op:8} {old:2} -> {new}  {difference:.2f}")
    seen.append(difference > 0.01)
assert seen == [True, True, True, True, False], "the converter keeps results otherwise now"
END
