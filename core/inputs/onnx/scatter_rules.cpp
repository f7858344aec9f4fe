// SPDX-License-Identifier: Apache-2.0
// Ops that write by index, and the largest of a row.
#include <algorithm>

#include "core/base/error.h"
#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {
namespace {

constexpr int64_t kMostPlaces = int64_t{1} << 20;

// Empty: no op here combines so.
std::string_view ScatterOp(const std::string& reduction) {
  if (reduction == "none") return "TensorScatterUpdate";
  if (reduction == "add") return "TensorScatterAdd";
  if (reduction == "max") return "TensorScatterMax";
  return reduction == "min" ? "TensorScatterMin" : "";
}

bool HasExactShape(const OnnxValue& value) {
  return value.exists() && value.known_rank() && value.shape().IsExact();
}

OnnxValues ScatterNd(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue &x = inputs[0], &indices = inputs[1];
  const std::string_view op = ScatterOp(node.Text("reduction", "none"));
  if (op.empty() || !HasExactShape(x) || !HasExactShape(indices) || indices.rank() == 0) return {};
  const int64_t depth = indices.shape().dim(indices.rank() - 1);
  if (depth < 1 || depth > x.rank()) return {};
  Tensor sizes(DataType::kInt64, Shape{depth});
  for (int64_t i = 0; i < depth; ++i) {
    sizes.data<int64_t>()[i] = x.shape().dim(static_cast<int>(i));
    if (sizes.data<int64_t>()[i] == 0) return {};
  }
  const OnnxValue places = to.Node("FloorMod", {to.Cast(indices, DataType::kInt64), to.Constant(sizes)});
  return {to.Node(op, {x, places, inputs[2]})};
}

// Each element to its own place, but for one axis.
OnnxValues ScatterElements(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue &x = inputs[0], &indices = inputs[1];
  const std::string_view op = ScatterOp(node.Text("reduction", "none"));
  if (op.empty() || !HasExactShape(x) || !HasExactShape(indices) || x.rank() == 0 ||
      indices.rank() != x.rank() || x.rank() == Shape::kMaxRank ||
      indices.shape().NumElements() > kMostPlaces)
    return {};
  const int64_t axis = Axis(node.Int("axis", 0), x.rank());
  const int64_t size = x.shape().dim(static_cast<int>(axis));
  if (size == 0) return {};
  return {to.Node(op, {x, PlacesAlong(to, indices, axis, size), inputs[2]})};
}

// Rows of a cache from the place on that each example says; `circular`: from the end on again.
OnnxValues TensorScatter(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue &cache = inputs[0], &update = inputs[1];
  if (!HasExactShape(cache) || !HasExactShape(update) || cache.rank() < 2 || update.rank() != cache.rank())
    return {};
  const int rank = cache.rank();
  const int64_t axis = Axis(node.Int("axis", -2), rank), batch = cache.shape().dim(0);
  const int64_t size = cache.shape().dim(static_cast<int>(axis));
  const int64_t rows = update.shape().dim(static_cast<int>(axis));
  if (axis == 0 || size == 0 || batch * rows == 0 || batch > kMostPlaces / rows) return {};
  std::vector<int64_t> order = AllAxes(rank);
  order.erase(order.begin() + axis);
  order.insert(order.begin() + 1, axis);
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  Tensor examples(DataType::kInt64, Shape{batch, rows}), steps(DataType::kInt64, Shape{1, rows});
  for (int64_t i = 0; i < batch * rows; ++i) examples.data<int64_t>()[i] = i / rows;
  for (int64_t i = 0; i < rows; ++i) steps.data<int64_t>()[i] = i;
  OnnxValue places = to.Constant(std::move(steps));
  if (inputs[2].exists())
    places = to.Node("AddV2", {to.Reshaped(to.Cast(inputs[2], DataType::kInt64), {batch, 1}), places});
  else
    places = to.Node("BroadcastTo", {places, to.Ints({batch, rows})});
  if (node.Text("mode", "linear") == "circular")
    places = to.Node("FloorMod", {places, to.Number(static_cast<double>(size), DataType::kInt64)});
  const OnnxValue where =
      to.Node("Pack", {to.Constant(std::move(examples)), places}, {{"N", int64_t{2}}, {"axis", int64_t{2}}});
  const OnnxValue written =
      to.Node("TensorScatterUpdate", {to.Transposed(cache, order), where, to.Transposed(update, order)});
  return {to.Transposed(written, back)};
}

// Also the smallest: the largest of what is negated.
OnnxValues TopK(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs) {
  const OnnxValue& x = inputs[0];
  const std::optional<std::vector<int64_t>> given =
      node.opset() >= 10 ? ConstantInts(inputs[1]) : std::optional(std::vector{node.Int("k", -1)});
  if (!x.known_rank() || x.rank() == 0 || !given.has_value() || given->size() != 1 || given->front() < 0)
    return {};
  const bool smallest = node.Int("largest", 1) == 0;
  if (smallest && !IsFloat(x.dtype()) && x.dtype() != DataType::kInt32 && x.dtype() != DataType::kInt64)
    return {};
  const int64_t axis = Axis(node.Int("axis", -1), x.rank());
  std::vector<int64_t> order = AllAxes(x.rank());
  std::swap(order[static_cast<size_t>(axis)], order.back());  // is its own inverse
  const OnnxValue rows = to.Transposed(smallest ? to.Elementwise("Neg", {x}) : x, order);
  const OnnxValues top = to.Nodes("TopKV2", {rows, to.Int(given->front())}, {{"sorted", true}});
  const OnnxValue values = to.Transposed(top[0], order);
  return {smallest ? to.Elementwise("Neg", {values}) : values,
          to.Transposed(to.Cast(top[1], DataType::kInt64), order)};
}

}  // namespace

void AddScatterRules(OnnxRules* rules) {
  rules->emplace("ScatterND", ScatterNd);
  rules->emplace("ScatterElements", ScatterElements);
  rules->emplace("TensorScatter", TensorScatter);
  rules->emplace("TopK", TopK);
}

}  // namespace lanescope
