// SPDX-License-Identifier: Apache-2.0
// Makes graphs in C++ programs: builder.Op("MatMul", "c").Input(a).Input(b).Device("/gpu:0").Build().
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/graph/graph.h"

namespace lanescope {

// One node on its way into a graph. Not thread-safe; the graph must outlive it.
class NodeBuilder {
 public:
  NodeBuilder(Graph* graph, std::string_view op, std::string_view name);

  NodeBuilder& Input(Endpoint input);
  NodeBuilder& Inputs(std::span<const Endpoint> inputs);
  // After the node of `source`, whichever of its outputs it names.
  NodeBuilder& ControlInput(Endpoint source) { return ControlInput(source.node); }
  NodeBuilder& ControlInput(NodeId source);
  NodeBuilder& Device(std::string_view device);

  // Any integer becomes an int attribute, any floating-point number a float, any string a string.
  template <typename T>
  NodeBuilder& Attr(std::string_view name, const T& value) {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, AttrValue>) {
      return SetAttr(name, value);
    } else if constexpr (std::is_integral_v<T>) {
      return SetAttr(name, static_cast<int64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      return SetAttr(name, static_cast<float>(value));
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      return SetAttr(name, std::string(std::string_view(value)));
    } else if constexpr (std::is_same_v<T, Shape>) {
      return SetAttr(name, ShapeAttr{value, ""});
    } else if constexpr (std::is_same_v<T, Tensor>) {
      return SetAttr(name, std::make_shared<const TensorAttr>(TensorAttr{value, ""}));
    } else {
      return SetAttr(name, AttrValue(value));
    }
  }

  // The node as Build would add it; throws what Build throws, except for a used name.
  Node Finish();
  // Adds the node and returns its output 0. For an op that OpRegistry knows, fills the attributes that follow
  // from the inputs (types, counts) and then those that have defaults. Throws InvalidArgument for an
  // impossible name, an input that does not exist, a wrong number of inputs, inputs of contradicting types,
  // or a missing attribute; AlreadyExists for a used name.
  Endpoint Build();

 private:
  NodeBuilder& SetAttr(std::string_view name, AttrValue value);
  void CheckSources() const;

  Graph* graph_;
  Node node_;
};

// Owns the graph under construction. Not thread-safe.
class GraphBuilder {
 public:
  NodeBuilder Op(std::string_view op, std::string_view name) { return {&graph_, op, name}; }
  // A Const node.
  Endpoint Const(std::string_view name, const Tensor& value, std::string_view device = "");
  template <typename T>
  Endpoint Scalar(std::string_view name, T value) {
    return Const(name, Tensor::Scalar(value));
  }
  // A Placeholder of this dtype and shape.
  Endpoint Placeholder(std::string_view name, DataType dtype, const Shape& shape);

  const Graph& graph() const { return graph_; }
  Graph& graph() { return graph_; }
  // Hands the graph over; the builder is empty afterwards.
  Graph Take() { return std::exchange(graph_, Graph()); }

 private:
  Graph graph_;
};

}  // namespace lanescope
