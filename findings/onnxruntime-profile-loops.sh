#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnxruntime 1.32.0, the profile of a session (enable_profiling), a model with a Loop.
#
# The loop is one node whose duration holds its body's, and each node of the body is an event beside it, of the same category, thread and
# form. A sum over the category "Node", which is how such files are read, counts the body twice and exceeds the run that it is a part of.
# node_index counts anew in the body: the loop and the product within it are both number 0, and names need not be unique.
# Nothing in the events of the body says of which loop or trip they are; only the times tell.
#
# Seen (a loop of 20 products of 512 x 512):
#   model_run 1.0, sum of its nodes 1.9 to 2.0
#   node_index of Loop: 0, of MatMul: 0, kernels of MatMul: 20
#
# Concerns traces/import/onnx_runtime_profile.cpp, which makes each node an event of one lane.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TMPDIR="$scratch"
cd "$scratch"
python3 -m pip install --quiet --no-compile --target "$scratch/packages" onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
PYTHONPATH="$scratch/packages" python3 - 2> "$scratch/errors" <<'END' || { cat "$scratch/errors" >&2; exit 1; }
import json
import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

carried = [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("v", TensorProto.FLOAT, [512, 512])]
body = helper.make_graph(
    [helper.make_node("MatMul", ["v", "w"], ["next"]), helper.make_node("Identity", ["on"], ["still"])],
    "body",
    [helper.make_tensor_value_info("trip", TensorProto.INT64, []), *carried],
    [helper.make_tensor_value_info("still", TensorProto.BOOL, []), helper.make_tensor_value_info("next", TensorProto.FLOAT, [512, 512])],
)
graph = helper.make_graph(
    [helper.make_node("Loop", ["trips", "", "x"], ["y"], body=body)],
    "loop",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [512, 512])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [512, 512])],
    [numpy_helper.from_array(numpy.full((512, 512), 1 / 512, numpy.float32), "w"), numpy_helper.from_array(numpy.int64(20), "trips")],
)
model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
options = onnxruntime.SessionOptions()
options.enable_profiling = True
session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
session.run(None, {"x": numpy.ones((512, 512), numpy.float32)})
with open(session.end_profiling(), encoding="utf-8") as file:
    events = json.load(file)
(run,) = [event["dur"] for event in events if event["name"] == "model_run"]
nodes = [event for event in events if event["cat"] == "Node" and event["name"].endswith("_kernel_time")]
share = sum(node["dur"] for node in nodes) / run
numbers = {op: {node["args"]["node_index"] for node in nodes if node["args"]["op_name"] == op} for op in ("Loop", "MatMul")}
products = sum(node["args"]["op_name"] == "MatMul" for node in nodes)
print(f"model_run 1.0, sum of its nodes {share:.1f}")
print(f"node_index of Loop: {', '.join(numbers['Loop'])}, of MatMul: {', '.join(numbers['MatMul'])}, kernels of MatMul: {products}")
assert share > 1.5, "bodies are not counted beside their loops now"
assert numbers == {"Loop": {"0"}, "MatMul": {"0"}} and products == 20
assert len({(node["pid"], node["tid"]) for node in nodes}) == 1
END
