// SPDX-License-Identifier: Apache-2.0
// Between which numbers the elements of a part of a tensor lie, from constants and ranges. Internal to core.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "core/graph/op.h"

namespace lanescope {

// From the first to the last place of an axis, both included.
struct Places {
  int64_t first = 0, last = 0;
  friend auto operator<=>(const Places&, const Places&) = default;
};
using Box = std::vector<Places>;  // by axis

struct Bounds {
  double least = -std::numeric_limits<double>::infinity();
  double greatest = std::numeric_limits<double>::infinity();
};

// Interval arithmetic over the ops that masks are made of; nothing is known of any other op.
class ValueBounds {
 public:
  // Both must outlive it.
  ValueBounds(const Graph& graph, const GraphInfo& info) : graph_(graph), info_(info) {}

  // The tensor has an exact shape; booleans are 0 and 1.
  Bounds Of(Endpoint tensor, const Box& box);

 private:
  Bounds Find(Endpoint tensor, const Box& box);
  Bounds OfConstant(const Tensor& value, const Box& box) const;
  Bounds OfInput(const Node& node, size_t input, const Box& box);  // broadcast to the box
  Bounds OfComparison(const Node& node, const Box& box);
  Bounds OfBand(const Node& node, const Box& box);
  Bounds OfLogic(const Node& node, const Box& box);
  Bounds OfArithmetic(const Node& node, const Box& box);
  Bounds OfReshape(const Node& node, Endpoint tensor, const Box& box);
  Bounds OfGather(const Node& node, const Box& box);

  const Graph& graph_;
  const GraphInfo& info_;
  std::map<std::tuple<NodeId, int, Box>, Bounds> known_;
};

}  // namespace lanescope
