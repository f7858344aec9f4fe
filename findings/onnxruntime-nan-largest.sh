#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnxruntime 1.32.0 on a processor, the largest of numbers of which one is NaN.
#
# ReduceMax gives NaN where the NaN comes first and the largest of the rest where it comes later, so the result hangs on the order.
# MaxPool leaves NaN out wherever it is, ArgMax points past it, and Max of two tensors keeps it.
# NumPy and PyTorch keep it in all of these, and TensorFlow in reduce_max: a model that has begun to diverge looks healthy after an export.
#
# Seen:
#   ReduceMax [nan, 1, 3] -> nan
#   ReduceMax [1, nan, 3] -> 3.0
#   MaxPool   [1, nan, 3] -> 3.0
#   ArgMax    [1, nan, 3] -> 2
#   Max       [1, nan, 3] and [0, 0, 0] -> [1.0, nan, 3.0]
#
# Concerns comparisons of a run here with onnxruntime's (docs/reference/onnx.md).
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 - 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import numpy
import onnxruntime
from onnx import TensorProto, helper

nan = float("nan")


def largest(op, numbers, **attributes):
    shape = [1, 1, len(numbers)] if op == "MaxPool" else [len(numbers)]
    names = ["x", "z"] if op == "Max" else ["x"]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in names]
    kind = TensorProto.INT64 if op == "ArgMax" else TensorProto.FLOAT
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attributes)], "one", values, [helper.make_tensor_value_info("y", kind, None)])
    session = onnxruntime.InferenceSession(
        helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString(),
        providers=["CPUExecutionProvider"],
    )
    fed = {name: numpy.array(numbers if name == "x" else [0] * len(numbers), numpy.float32).reshape(shape) for name in names}
    return session.run(None, fed)[0].ravel().tolist()


results = [
    ("ReduceMax [nan, 1, 3]", largest("ReduceMax", [nan, 1, 3], keepdims=0)[0], "nan"),
    ("ReduceMax [1, nan, 3]", largest("ReduceMax", [1, nan, 3], keepdims=0)[0], "3.0"),
    ("MaxPool   [1, nan, 3]", largest("MaxPool", [1, nan, 3], kernel_shape=[3])[0], "3.0"),
    ("ArgMax    [1, nan, 3]", largest("ArgMax", [1, nan, 3], keepdims=0)[0], "2"),
    ("Max       [1, nan, 3] and [0, 0, 0]", largest("Max", [1, nan, 3]), "[1.0, nan, 3.0]"),
]
for words, result, _ in results:
    print(f"{words} -> {result}")
assert [str(result) for _, result, _ in results] == [right for _, _, right in results], "NaN is taken otherwise now"
END
