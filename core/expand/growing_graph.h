// SPDX-License-Identifier: Apache-2.0
// A graph that is written node by node, with what is known of every output. Internal to core/expand.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "core/graph/op.h"

namespace lanescope {

struct TensorArray;
struct TensorList;
struct OptionalChoice;

// The value of an endpoint of the graph before: a tensor of the new graph, a list of those (an optional is
// a list of its components), one of two optionals, or the handle of an array. None: an element of a list that
// nobody has set, or the side of a branch that is not taken.
struct ExpandedValue {
  Endpoint tensor = {};
  std::shared_ptr<const TensorList> list = nullptr;
  std::shared_ptr<const OptionalChoice> choice = nullptr;
  TensorArray* array = nullptr;  // of the expander's

  bool is_tensor() const { return tensor.node.exists(); }
  bool is_list() const { return list != nullptr || choice != nullptr; }
  bool empty() const { return !is_tensor() && !is_list() && array == nullptr; }
  friend bool operator==(const ExpandedValue&, const ExpandedValue&) = default;
};
using ExpandedValues = std::vector<ExpandedValue>;

// The results of both sides of a branch that data decide: an optional each, of tensors that need not be
// alike.
struct OptionalChoice {
  Endpoint condition;
  ExpandedValue yes, no;
};

struct TensorList {
  ExpandedValues items = {};
  Shape element_shape = Shape::Unknown();
  DataType dtype = DataType::kInvalid;
  bool optional = false;
  // Where data say how many of the items the list has: that number, a tensor. None: all of them.
  Endpoint length = {};
  Endpoint packed = {};  // the items, and maybe more behind them, as rows of a tensor, if somebody has asked
};

// Throws InvalidArgument where it would have more than half a million nodes.
class GrowingGraph {
 public:
  // The names of `before` are kept for its own nodes, until they are released.
  explicit GrowingGraph(const Graph& before);
  void Release(const std::string& name);

  // A node with inputs of this graph; its name is free. `types`: of its outputs, where inference is not to be
  // asked.
  NodeId Add(Node node, const std::vector<DataType>* types = nullptr);
  // A node that was not there: its name begins as wished.
  NodeBuilder New(std::string_view op, const std::string& wished, const std::string& device);
  Endpoint Add(NodeBuilder builder) { return {Add(builder.Finish()), 0}; }
  Endpoint Constant(const std::string& wished, const Tensor& value, const std::string& device);
  std::string FreeName(const std::string& wished) const;

  const TensorInfo& info(Endpoint endpoint) const {
    return infos_[endpoint.node][static_cast<size_t>(endpoint.output)];
  }
  int NumOutputs(NodeId node) const { return static_cast<int>(infos_[node].size()); }
  // Says what is fed.
  void SetShape(Endpoint endpoint, const Shape& shape);
  // The only element of a constant of one element.
  std::optional<int64_t> ConstantAt(Endpoint endpoint) const;

  const Graph& graph() const { return graph_; }
  Graph Take(const Graph& before);

 private:
  Graph graph_;
  std::set<std::string, std::less<>> kept_;
  IdVector<NodeId, std::vector<TensorInfo>> infos_;
};

}  // namespace lanescope
