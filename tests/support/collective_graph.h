// SPDX-License-Identifier: Apache-2.0
// Collectives of a test, written as TensorFlow's nodes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/machine/collective.h"

namespace lanescope::test {

// Adds one node a device; their results. Tensor i is on devices[i]; of a broadcast the first one is sent.
class CollectiveWriter {
 public:
  // `by`: the algorithm that they ask for; empty: none. Refers to the builder.
  CollectiveWriter(GraphBuilder* builder, std::vector<std::string> devices, std::string by)
      : builder_(*builder), devices_(std::move(devices)), by_(std::move(by)) {}

  // Nodes NAME/0, NAME/1, ...; `shape`: of each tensor.
  std::vector<Endpoint> Write(CollectiveKind kind, const std::string& name, const Shape& shape,
                              const std::vector<Endpoint>& tensors) {
    name_ = name;
    instance_ = static_cast<int32_t>(builder_.graph().num_nodes());
    switch (kind) {
      case CollectiveKind::kAllReduce:
        return WriteAllReduce(tensors);
      case CollectiveKind::kAllGather:
        return WriteAllGather(shape, tensors);
      case CollectiveKind::kReduceScatter:
        return WriteReduceScatter(tensors);
      case CollectiveKind::kBroadcast:
      case CollectiveKind::kAllToAll:  // by NCCL alone
        break;
    }
    return WriteBroadcast(shape, tensors[0]);
  }

 private:
  NodeBuilder Node(std::string_view op, size_t device, const char* attr = "_lanescope_collective") {
    NodeBuilder node = builder_.Op(op, name_ + "/" + std::to_string(device));
    node.Device(devices_[device]);
    if (!by_.empty()) node.Attr(attr, by_);
    return node;
  }
  Endpoint WithKeys(NodeBuilder node, const Shape& shape) {
    return node.Attr("group_size", devices_.size())
        .Attr("group_key", 1)
        .Attr("instance_key", instance_)
        .Attr("shape", shape)
        .Build();
  }
  std::vector<Endpoint> WriteAllReduce(const std::vector<Endpoint>& tensors) {
    std::vector<Endpoint> results;
    for (size_t i = 0; i < devices_.size(); ++i) {
      results.push_back(Node("NcclAllReduce", i, "_lanescope_all_reduce")
                            .Input(tensors[i])
                            .Attr("reduction", "sum")
                            .Attr("num_devices", devices_.size())
                            .Attr("shared_name", name_)
                            .Build());
    }
    return results;
  }
  std::vector<Endpoint> WriteAllGather(Shape shape, const std::vector<Endpoint>& tensors) {
    shape.set_dim(0, shape[0] * static_cast<Dim>(devices_.size()));
    std::vector<Endpoint> results;
    for (size_t i = 0; i < devices_.size(); ++i)
      results.push_back(WithKeys(Node("CollectiveGather", i).Input(tensors[i]), shape));
    return results;
  }
  std::vector<Endpoint> WriteReduceScatter(const std::vector<Endpoint>& tensors) {
    const auto size = static_cast<int32_t>(devices_.size());
    const Endpoint keys[] = {builder_.Scalar(name_ + "/size", size), builder_.Scalar(name_ + "/group", 1),
                             builder_.Scalar(name_ + "/instance", instance_)};
    std::vector<Endpoint> results;
    for (size_t i = 0; i < devices_.size(); ++i) {
      results.push_back(Node("CollectiveReduceScatterV2", i)
                            .Input(tensors[i])
                            .Inputs(keys)
                            .Attr("merge_op", "Add")
                            .Attr("final_op", "Id")
                            .Build());
    }
    return results;
  }
  std::vector<Endpoint> WriteBroadcast(const Shape& shape, Endpoint tensor) {
    std::vector<Endpoint> results = {WithKeys(Node("CollectiveBcastSend", 0).Input(tensor), shape)};
    for (size_t i = 1; i < devices_.size(); ++i)
      results.push_back(WithKeys(Node("CollectiveBcastRecv", i).Attr("T", DataType::kFloat), shape));
    return results;
  }

  GraphBuilder& builder_;
  const std::vector<std::string> devices_;
  const std::string by_;
  std::string name_;
  int32_t instance_ = 0;
};

// Every collective by every algorithm, and as costs least, of tensors whose sums depend on their order.
class CollectiveGraph {
 public:
  explicit CollectiveGraph(const std::vector<std::string>& devices) {
    const auto rows = static_cast<Dim>(devices.size());
    const Shape shape{rows, 5};
    std::vector<Endpoint> tensors;
    for (size_t i = 0; i < devices.size(); ++i) {
      Tensor values(DataType::kFloat, shape);
      for (int64_t k = 0; k < values.NumElements(); ++k)
        values.data<float>()[k] = 1.0f / static_cast<float>(3 + 7 * k + static_cast<int64_t>(i));
      const std::string name = "tensor" + std::to_string(i);
      // Not a constant itself, which every device would have.
      tensors.push_back(
          builder_.Op("Neg", name).Input(builder_.Const(name + "/of", values)).Device(devices[i]).Build());
    }
    for (const std::string by : {"", "ring", "tree", "one-device", "hierarchical"}) {
      for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                        CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast}) {
        const std::string name = std::string(CollectiveKindName(kind)) + (by.empty() ? "" : "-" + by);
        Fetch(CollectiveWriter(&builder_, devices, by).Write(kind, name, shape, tensors));
      }
    }
    Fetch({builder_.Op("NcclReduce", "reduce")
               .Inputs(tensors)
               .Attr("reduction", "sum")
               .Device(devices.back())
               .Build()});
  }

  const Graph& graph() const { return builder_.graph(); }
  const std::vector<std::string>& fetches() const { return fetches_; }

 private:
  void Fetch(const std::vector<Endpoint>& results) {
    for (const Endpoint result : results) fetches_.push_back(builder_.graph().node(result.node).name);
  }

  GraphBuilder builder_;
  std::vector<std::string> fetches_;
};

}  // namespace lanescope::test
