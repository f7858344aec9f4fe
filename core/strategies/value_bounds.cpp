// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/value_bounds.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace lanescope {
namespace {

constexpr size_t kMostBounds = 1 << 18;
// A constant is looked at element by element up to here.
constexpr int64_t kMostLookedAt = 1 << 22;

double ElementOf(const Tensor& tensor, int64_t i) {
  const auto at = static_cast<size_t>(i);
  switch (tensor.dtype()) {
    case DataType::kFloat:
      return static_cast<double>(tensor.data<float>()[at]);
    case DataType::kDouble:
      return tensor.data<double>()[at];
    case DataType::kInt32:
      return tensor.data<int32_t>()[at];
    case DataType::kInt64:
      return static_cast<double>(tensor.data<int64_t>()[at]);
    case DataType::kBool:
      return tensor.data<bool>()[at] ? 1 : 0;
    default:
      return std::nan("");
  }
}

Bounds Exactly(double value) { return {value, value}; }
Bounds Truth(bool surely, bool perhaps) { return {surely ? 1.0 : 0.0, perhaps ? 1.0 : 0.0}; }
Bounds Either(const Bounds& a, const Bounds& b) {
  return {std::min(a.least, b.least), std::max(a.greatest, b.greatest)};
}
Box Whole(const Shape& shape) {
  Box box;
  for (const Dim dim : shape.dims()) box.push_back({0, dim - 1});
  return box;
}

}  // namespace

Bounds ValueBounds::Of(Endpoint tensor, const Box& box) {
  const Shape& shape = info_.of(tensor).shape;
  if (!shape.known_rank() || !shape.IsExact() || shape.rank() != static_cast<int>(box.size())) return {};
  const std::tuple key{tensor.node, tensor.output, box};
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (known_.size() > kMostBounds) return {};
  const Bounds found = Find(tensor, box);
  const bool is_number = !std::isnan(found.least) && !std::isnan(found.greatest);
  return known_[key] = is_number ? found : Bounds();
}

Bounds ValueBounds::OfConstant(const Tensor& value, const Box& box) const {
  int64_t count = 1;
  for (const Places& places : box) count *= places.last - places.first + 1;
  if (count > kMostLookedAt || count == 0) return {};
  std::optional<Bounds> bounds;
  Box at = box;  // first: of the element
  for (int64_t n = 0; n < count; ++n) {
    int64_t index = 0;
    for (size_t d = 0; d < at.size(); ++d)
      index = index * value.shape().dim(static_cast<int>(d)) + at[d].first;
    const Bounds one = Exactly(ElementOf(value, index));
    if (std::isnan(one.least)) return {};
    bounds = bounds ? Either(*bounds, one) : one;
    for (size_t d = at.size(); d-- > 0;) {
      if (at[d].first++ < at[d].last) break;
      at[d].first = box[d].first;
    }
  }
  return *bounds;
}

Bounds ValueBounds::OfInput(const Node& node, size_t input, const Box& box) {
  const Shape& shape = info_.of(node.inputs[input]).shape;
  if (!shape.known_rank() || shape.rank() > static_cast<int>(box.size())) return {};
  Box own(box.end() - shape.rank(), box.end());
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) == 1) own[static_cast<size_t>(d)] = {0, 0};
  }
  return Of(node.inputs[input], own);
}

Bounds ValueBounds::OfComparison(const Node& node, const Box& box) {
  const Bounds a = OfInput(node, 0, box), b = OfInput(node, 1, box);
  const bool apart = a.greatest < b.least || b.greatest < a.least;
  const bool same = a.least == a.greatest && b.least == b.greatest && a.least == b.least;
  if (node.op == "Less") return Truth(a.greatest < b.least, a.least < b.greatest);
  if (node.op == "LessEqual") return Truth(a.greatest <= b.least, a.least <= b.greatest);
  if (node.op == "Greater") return Truth(a.least > b.greatest, a.greatest > b.least);
  if (node.op == "GreaterEqual") return Truth(a.least >= b.greatest, a.greatest >= b.least);
  return node.op == "Equal" ? Truth(same, !apart) : Truth(apart, !same);
}

Bounds ValueBounds::OfArithmetic(const Node& node, const Box& box) {
  const Bounds a = OfInput(node, 0, box), b = OfInput(node, 1, box);
  if (node.op == "AddV2" || node.op == "Add") return {a.least + b.least, a.greatest + b.greatest};
  if (node.op == "Sub") return {a.least - b.greatest, a.greatest - b.least};
  if (node.op == "Mul") {
    const double corners[] = {a.least * b.least, a.least * b.greatest, a.greatest * b.least,
                              a.greatest * b.greatest};
    return {*std::ranges::min_element(corners), *std::ranges::max_element(corners)};
  }
  // FloorMod of what is smaller already.
  return b.least == b.greatest && a.least >= 0 && a.greatest < b.least ? a : Bounds();
}

// Axes of one element come and go; other shapes are taken as a whole.
Bounds ValueBounds::OfReshape(const Node& node, Endpoint tensor, const Box& box) {
  const Shape &to = info_.of(tensor).shape, &from = info_.of(node.inputs[0]).shape;
  if (!from.known_rank() || !from.IsExact()) return {};
  Box own = Whole(from);
  int d = 0;
  bool same = true;
  for (int axis = 0; axis < from.rank() && same; ++axis) {
    if (from.dim(axis) == 1) continue;
    while (d < to.rank() && to.dim(d) == 1) ++d;
    same = d < to.rank() && to.dim(d) == from.dim(axis);
    if (same) own[static_cast<size_t>(axis)] = box[static_cast<size_t>(d++)];
  }
  return Of(node.inputs[0], same ? own : Whole(from));
}

// GatherNd by indices that are packed along the last axis, one tensor for each axis of what is gathered.
Bounds ValueBounds::OfGather(const Node& node, const Box& box) {
  const Node& pack = graph_.node(node.inputs[1].node);
  const Shape &from = info_.of(node.inputs[0]).shape, &indices = info_.of(node.inputs[1]).shape;
  if (!from.known_rank() || !from.IsExact() || !indices.known_rank()) return {};
  const int64_t axis = pack.op == "Pack" ? pack.IntAttr("axis", 0) : 0;
  const bool by_axis = pack.op == "Pack" && (axis == -1 || axis == indices.rank() - 1) &&
                       static_cast<int>(pack.inputs.size()) == from.rank();
  Box own = Whole(from);
  if (!by_axis) return Of(node.inputs[0], own);
  for (size_t d = 0; d < own.size(); ++d) {
    const Bounds at = OfInput(pack, d, box);
    own[d].first = static_cast<int64_t>(std::max<double>(at.least, 0));
    own[d].last = static_cast<int64_t>(std::min(at.greatest, static_cast<double>(own[d].last)));
    if (own[d].first > own[d].last) return {};
  }
  return Of(node.inputs[0], own);
}

// Elements as far below and above the diagonal as the numbers say, all where these are negative; else 0.
Bounds ValueBounds::OfBand(const Node& node, const Box& box) {
  const Bounds lower = Of(node.inputs[1], {}), upper = Of(node.inputs[2], {});
  if (box.size() < 2 || lower.least != lower.greatest || upper.least != upper.greatest) return {};
  const Places &rows = box[box.size() - 2], &columns = box[box.size() - 1];
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const auto is_beyond = [&](double most, const Places& a, const Places& b) {
    return most >= 0 && number(a.first - b.last) > most;  // no element is as near
  };
  const auto is_within = [&](double most, const Places& a, const Places& b) {
    return most < 0 || number(a.last - b.first) <= most;
  };
  if (is_beyond(lower.least, rows, columns) || is_beyond(upper.least, columns, rows)) return Exactly(0);
  const Bounds kept = OfInput(node, 0, box);
  const bool all = is_within(lower.least, rows, columns) && is_within(upper.least, columns, rows);
  return all ? kept : Either(kept, Exactly(0));
}

Bounds ValueBounds::OfLogic(const Node& node, const Box& box) {
  const Bounds a = OfInput(node, 0, box);
  if (node.op == "LogicalNot") return Truth(a.greatest <= 0, a.least <= 0);
  const Bounds b = OfInput(node, 1, box);
  if (node.op == "LogicalAnd")
    return Truth(std::min(a.least, b.least) > 0, std::min(a.greatest, b.greatest) > 0);
  return Truth(std::max(a.least, b.least) > 0, std::max(a.greatest, b.greatest) > 0);
}

Bounds ValueBounds::Find(Endpoint tensor, const Box& box) {
  const TensorInfo& info = info_.of(tensor);
  if (info.value != nullptr) return OfConstant(*info.value, box);
  const Node& node = graph_.node(tensor.node);
  const std::string& op = node.op;
  if (op == "Range") {
    const Bounds start = Of(node.inputs[0], {}), step = Of(node.inputs[2], {});
    if (start.least != start.greatest || step.least != step.greatest) return {};
    const double a = start.least + step.least * static_cast<double>(box[0].first),
                 b = start.least + step.least * static_cast<double>(box[0].last);
    return {std::min(a, b), std::max(a, b)};
  }
  if (op == "Fill") return Of(node.inputs[1], {});
  if (op == "Identity" || op == "Cast" || op == "StopGradient") return OfInput(node, 0, box);
  if (op == "BroadcastTo") return OfInput(node, 0, box);
  if (op == "Reshape" || op == "Squeeze" || op == "ExpandDims") return OfReshape(node, tensor, box);
  if (op == "GatherNd") return OfGather(node, box);
  if (op == "MatrixBandPart") return OfBand(node, box);
  if (op.starts_with("Logical")) return OfLogic(node, box);
  if (op == "SelectV2" || op == "Select") {
    const Bounds where = OfInput(node, 0, box);
    if (where.least > 0) return OfInput(node, 1, box);
    if (where.greatest <= 0) return OfInput(node, 2, box);
    return Either(OfInput(node, 1, box), OfInput(node, 2, box));
  }
  if (op == "Less" || op == "LessEqual" || op == "Greater" || op == "GreaterEqual" || op == "Equal" ||
      op == "NotEqual")
    return OfComparison(node, box);
  if (op == "AddV2" || op == "Add" || op == "Sub" || op == "Mul" || op == "FloorMod")
    return OfArithmetic(node, box);
  return {};
}

}  // namespace lanescope
