// SPDX-License-Identifier: Apache-2.0
// Small nodes that strategies add to the graphs that they write. Internal to core.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph_builder.h"

namespace lanescope {

// Adds to the graph, which must outlive it.
class StepNodes {
 public:
  // `read`: the graph whose nodes are written again beside those that are added: collectives get no key that
  // one of its own has.
  StepNodes(Graph* graph, const Graph& read);

  NodeBuilder New(std::string_view op, const std::string& name, const std::string& device) {
    NodeBuilder node(graph_, op, name);
    node.Device(device);
    return node;
  }
  Endpoint Constant(const std::string& name, const Tensor& value) {
    return New("Const", name, "").Attr("value", value).Attr("dtype", value.dtype()).Build();
  }
  Endpoint Number(const std::string& name, int32_t value) { return Constant(name, Tensor::Scalar(value)); }
  Endpoint Numbers(const std::string& name, const std::vector<int64_t>& values) {
    return Constant(name, Tensor::FromValues(Shape{static_cast<Dim>(values.size())}, values));
  }
  // In one dimension.
  Endpoint Flat(const std::string& scope, Endpoint tensor, const std::string& device) {
    const Endpoint size = Constant(scope + "size", Tensor::FromValues(Shape{1}, std::vector<int32_t>{-1}));
    return New("Reshape", scope + "flat", device).Input(tensor).Input(size).Build();
  }
  // A tensor in one dimension, cut into so many equal parts: the outputs.
  NodeId SplitFlat(const std::string& scope, Endpoint tensor, int64_t parts) {
    const Endpoint flat = Flat(scope, tensor, ""), axis = Number(scope + "axis", 0);
    NodeBuilder split = New("Split", scope + "split", "");
    return split.Input(axis).Input(flat).Attr("num_split", parts).Build().node;
  }
  // Size, group key and instance key of another collective of `count` devices.
  std::array<Endpoint, 3> NewGroup(const std::string& scope, size_t count) {
    constexpr int32_t kGroup = 1;
    return {Number(scope + "group_size", static_cast<int32_t>(count)), Number(scope + "group_key", kGroup),
            NewInstance(scope + "instance_key")};
  }
  Endpoint NewInstance(const std::string& name) { return Number(name, ++instances_); }

 private:
  Graph* graph_;
  int32_t instances_ = 0;  // the last key
};

}  // namespace lanescope
