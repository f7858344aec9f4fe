// SPDX-License-Identifier: Apache-2.0
// Softmax and reductions.
#include <algorithm>

#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {
namespace {

// Over one axis; before version 13, over all from it on.
OnnxValues Softmax(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || x.rank() == 0) return {};
  const int64_t axis = Axis(node.Int("axis", node.opset() >= 13 ? -1 : 1), x.rank());
  if (axis == x.rank() - 1) return {to.Node(node.op(), {x})};
  if (node.opset() < 13) return {};
  std::vector<int64_t> order = AllAxes(x.rank());
  std::swap(order[static_cast<size_t>(axis)], order.back());  // is its own inverse
  return {to.Transposed(to.Node(node.op(), {to.Transposed(x, order)}), order)};
}

// Less the largest first, so that nothing overflows.
OnnxValues LogSumExp(OnnxEmitter& to, const OnnxValue& x, const std::vector<int64_t>& axes, bool keep) {
  const OnnxValue top = Reduced(to, "Max", x, axes, true);
  const OnnxValue sum =
      Reduced(to, "Sum", to.Elementwise("Exp", {to.Elementwise("Sub", {x, top})}), axes, keep);
  return {to.Elementwise("AddV2",
                         {to.Elementwise("Log", {sum}), keep ? top : Reduced(to, "Max", x, axes, false)})};
}

// Axes are an attribute, or, later, an input.
OnnxValues Reduce(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank()) return {};
  std::vector<int64_t> axes = node.Ints("axes", {});
  if (inputs[1].exists()) {
    const std::optional<std::vector<int64_t>> given = ConstantInts(inputs[1]);
    if (!given.has_value()) return {};
    axes = *given;
  }
  if (axes.empty()) {
    if (node.Int("noop_with_empty_axes", 0) != 0) return {x};
    axes = AllAxes(x.rank());
  }
  const bool keep = node.Int("keepdims", 1) != 0;
  const std::string kind = node.op().substr(6);
  if (kind == "L1") return {Reduced(to, "Sum", to.Elementwise("Abs", {x}), axes, keep)};
  if (kind == "L2")
    return {to.Elementwise("Sqrt", {Reduced(to, "Sum", to.Elementwise("Square", {x}), axes, keep)})};
  if (kind == "LogSum") return {to.Elementwise("Log", {Reduced(to, "Sum", x, axes, keep)})};
  if (kind == "LogSumExp") return LogSumExp(to, x, axes, keep);
  if (kind == "SumSquare") return {Reduced(to, "Sum", to.Elementwise("Square", {x}), axes, keep)};
  if (x.dtype() == DataType::kBool) return {Reduced(to, kind == "Max" ? "Any" : "All", x, axes, keep)};
  return {Reduced(to, kind, x, axes, keep)};
}

OnnxValues ArgReduce(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  if (!x.known_rank() || node.Int("select_last_index", 0) != 0) return {};
  const int64_t axis = Axis(node.Int("axis", 0), x.rank());
  const OnnxValue found = to.Node(node.op(), {x, to.Int(axis)}, {{"output_type", DataType::kInt64}});
  return {node.Int("keepdims", 1) == 0 ? found : to.Node("ExpandDims", {found, to.Int(axis)})};
}

OnnxValues CumSum(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const std::optional<std::vector<int64_t>> axis = ConstantInts(inputs[1]);
  if (!axis.has_value() || axis->size() != 1) return {};
  return {to.Node("Cumsum", {inputs[0], to.Int(axis->front())},
                  {{"exclusive", node.Int("exclusive", 0) != 0}, {"reverse", node.Int("reverse", 0) != 0}})};
}

}  // namespace

void AddLayerRules(OnnxRules* rules) {
  for (const char* name : {"Softmax", "LogSoftmax"}) rules->emplace(name, Softmax);
  for (const char* name : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                           "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"})
    rules->emplace(name, Reduce);
  for (const char* name : {"ArgMax", "ArgMin"}) rules->emplace(name, ArgReduce);
  rules->emplace("CumSum", CumSum);
}

}  // namespace lanescope
