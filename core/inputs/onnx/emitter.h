// SPDX-License-Identifier: Apache-2.0
// Writes a graph node by node from what an ONNX model says. Internal to core.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/graph/op.h"

namespace lanescope {

// A tensor of the model, or a list of tensors (ONNX's sequence). Images may lie with their channels last, as
// kernels of hosts want them, while the model speaks of channels first: shape() and axes are the model's. A
// constant becomes a node when a node reads it. Copies are the same tensor.
class OnnxValue {
 public:
  OnnxValue() = default;  // an input that was left out
  static OnnxValue List(std::vector<OnnxValue> elements);
  bool exists() const { return tensor_ != nullptr || list_ != nullptr; }
  // Null where it is a tensor: then alone has it what follows.
  const std::vector<OnnxValue>* list() const { return list_.get(); }
  DataType dtype() const;
  Shape shape() const;
  bool known_rank() const { return shape().known_rank(); }
  int rank() const { return shape().rank(); }
  // Null where it is not constant, or not of this order.
  const Tensor* constant() const;
  bool channels_last() const { return channels_last_; }
  // ONNX's number of a float of less than 16 bits, whose elements lie in bytes; 0: of any other type.
  int format() const { return format_; }
  void set_format(int format) { format_ = format; }

 private:
  friend class OnnxEmitter;
  struct Known {
    Endpoint at;  // no node: a constant that nobody read
    TensorInfo info;
    std::string name;  // of a constant's node
  };
  // Throws InvalidArgument where the model leaves it out, Unimplemented for a list.
  const Known& known() const;

  std::shared_ptr<Known> tensor_;
  std::shared_ptr<const std::vector<OnnxValue>> list_;
  bool channels_last_ = false;
  int format_ = 0;
};

using OnnxValues = std::vector<OnnxValue>;

// Not thread-safe. Everything throws what NodeBuilder and InferNode throw.
class OnnxEmitter {
 public:
  using Attrs = std::vector<std::pair<std::string, AttrValue>>;

  // How the nodes that follow are called: this, then this and their op. `taken`: FreeName gave it.
  void Name(std::string_view name, bool taken = false);
  // `name` as nodes may be called, and as no other one is.
  std::string FreeName(std::string_view name);

  OnnxValue Feed(const std::string& name, DataType dtype, const Shape& shape);
  OnnxValue Constant(Tensor value, std::string_view name = {});
  OnnxValue Ints(const std::vector<int64_t>& values);  // int32, as axes and sizes are
  OnnxValue Int(int64_t value);
  OnnxValue Number(double value, DataType dtype);

  // One node; the values of its outputs, in channels-first order. What is constant becomes one.
  OnnxValues Nodes(std::string_view op, const OnnxValues& inputs, const Attrs& attrs = {});
  OnnxValue Node(std::string_view op, const OnnxValues& inputs, const Attrs& attrs = {});
  // As Nodes, for images with channels last in inputs and result.
  OnnxValues ImageNodes(std::string_view op, const OnnxValues& inputs, const Attrs& attrs = {});
  OnnxValue ImageNode(std::string_view op, const OnnxValues& inputs, const Attrs& attrs = {});
  // A node of an op that is known by its cost alone, whatever its outputs are: so many floating-point
  // operations, each operand read and each result written once. Empty: nobody knows.
  OnnxValues CostOnly(const std::string& op, const OnnxValues& inputs, const std::vector<TensorInfo>& outputs,
                      std::optional<double> flops);
  // The work of all nodes so far; empty since the first of unknown cost.
  std::optional<double> flops() const { return flops_; }
  // Forgets the cost of what was written since `flops` was theirs: it is not part of the graph.
  void set_flops(std::optional<double> flops) { flops_ = flops; }
  size_t num_nodes() const { return builder_.graph().num_nodes(); }

  // An op of single elements, in whichever order its inputs lie.
  OnnxValue Elementwise(std::string_view op, OnnxValues inputs, const Attrs& attrs = {});

  OnnxValue Plain(const OnnxValue& value);         // channels first
  OnnxValue ChannelsLast(const OnnxValue& value);  // of rank 4
  OnnxValue Transposed(const OnnxValue& value, const std::vector<int64_t>& order);
  OnnxValue Reshaped(const OnnxValue& value, const std::vector<int64_t>& sizes);
  OnnxValue Cast(const OnnxValue& value, DataType dtype);

  // The node's endpoint, which is made of a constant now.
  Endpoint At(const OnnxValue& value);
  GraphBuilder* builder() { return &builder_; }

 private:
  std::string NodeName(std::string_view op);
  void Remember(const OnnxValue& plain, const std::vector<int64_t>& order, const OnnxValue& turned);
  OnnxValues Outputs(NodeId node, const std::vector<TensorInfo>& infos, bool channels_last);
  OnnxValues Build(std::string_view op, const OnnxValues& inputs, const Attrs& attrs, bool channels_last);

  GraphBuilder builder_;
  std::string name_;
  enum class Use { kFree, kTaken, kUsed } use_ = Use::kFree;  // of name_
  std::map<std::string, int, std::less<>> used_;
  std::optional<double> flops_ = 0;
  std::map<std::pair<const void*, std::vector<int64_t>>, OnnxValue> ordered_;  // by tensor and order
  std::vector<OnnxValue> kept_;                                                // so that those addresses stay
};

// The tensor with its axes in this order.
Tensor TransposedTensor(const Tensor& tensor, const std::vector<int64_t>& order);

}  // namespace lanescope
