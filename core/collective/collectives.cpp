// SPDX-License-Identifier: Apache-2.0
#include "core/collective/collectives.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/collective/collective_choice.h"
#include "core/collective/collective_nodes.h"
#include "core/collective/collective_schedule.h"
#include "core/collective/joint_launch.h"
#include "core/graph/graph_builder.h"
#include "core/graph/op.h"
#include "core/graph/validate.h"

namespace lanescope {
namespace {

constexpr std::array<const char*, 2> kAlgorithms = {"_lanescope_all_reduce", "_lanescope_collective"};

// Adds nodes behind those of the graph; "NAME/..." is below the node of the device.
class GraphSteps final : public CollectiveSteps {
 public:
  GraphSteps(Graph* graph, const CollectiveGroup& group, const Shape& shape)
      : graph_(*graph), shape_(shape), combine_(group.combine), mean_(group.mean), type_(group.type) {
    for (const NodeId id : group.members) {
      names_.push_back(graph_.node(id).name);
      devices_.push_back(graph_.node(id).device);
    }
  }

  Endpoint Combine(size_t device, Endpoint a, Endpoint b) override {
    return New(device, combine_, "combine").Input(a).Input(b).Build();
  }
  Endpoint CombineAll(size_t device, const std::vector<Endpoint>& tensors) override {
    if (combine_ == "AddV2") return New(device, "AddN", "combine").Inputs(tensors).Build();
    Endpoint all = tensors[0];
    for (size_t i = 1; i < tensors.size(); ++i) all = Combine(device, all, tensors[i]);
    return all;
  }
  Endpoint Send(size_t device, Endpoint tensor) override {
    return New(device, "Identity", "copy").Input(tensor).Build();
  }
  Endpoint Finish(size_t device, Endpoint whole) override {
    if (!mean_) return whole;
    const Endpoint count = Constant(device, Tensor::Scalar<int32_t>(static_cast<int32_t>(devices_.size())));
    const Endpoint divisor = New(device, "Cast", "count").Input(count).Attr("DstT", type_).Build();
    return New(device, "Div", "mean").Input(whole).Input(divisor).Build();
  }
  std::vector<Endpoint> Split(size_t device, Endpoint tensor, const std::vector<int64_t>& sizes) override {
    const auto count = static_cast<int64_t>(sizes.size());
    const Endpoint flat = Reshape(device, tensor, {-1});
    const Endpoint lengths = Constant(device, Tensor::FromValues(Shape{count}, sizes));
    const Endpoint parts = New(device, "SplitV", "split")
                               .Input(flat)
                               .Input(lengths)
                               .Input(FirstAxis(device))
                               .Attr("num_split", count)
                               .Build();
    return OutputsOf(parts, sizes.size());
  }
  Endpoint Join(size_t device, const std::vector<Endpoint>& parts) override {
    return Reshape(device, JoinRows(device, parts), {shape_.dims().begin(), shape_.dims().end()});
  }
  std::vector<Endpoint> SplitRows(size_t device, Endpoint tensor, size_t parts) override {
    const Endpoint split = New(device, "Split", "split")
                               .Input(FirstAxis(device))
                               .Input(tensor)
                               .Attr("num_split", static_cast<int64_t>(parts))
                               .Build();
    return OutputsOf(split, parts);
  }
  Endpoint JoinRows(size_t device, const std::vector<Endpoint>& parts) override {
    return New(device, "ConcatV2", "join").Inputs(parts).Input(FirstAxis(device)).Build();
  }

 private:
  NodeBuilder New(size_t device, std::string_view op, std::string_view step) {
    std::string name;
    do {
      name = fmt::format("{}/{}_{}", names_[device], step, number_++);
    } while (graph_.FindNode(name).exists());
    NodeBuilder node(&graph_, op, name);
    return node.Device(devices_[device]);
  }
  Endpoint Constant(size_t device, const Tensor& value) {
    return New(device, "Const", "const").Attr("value", value).Attr("dtype", value.dtype()).Build();
  }
  Endpoint FirstAxis(size_t device) { return Constant(device, Tensor::Scalar<int32_t>(0)); }
  static std::vector<Endpoint> OutputsOf(Endpoint node, size_t count) {
    std::vector<Endpoint> outputs;
    for (size_t i = 0; i < count; ++i) outputs.push_back({node.node, static_cast<int>(i)});
    return outputs;
  }
  Endpoint Reshape(size_t device, Endpoint tensor, const std::vector<int64_t>& dims) {
    const Endpoint shape = Constant(device, Tensor::FromValues(Shape{static_cast<Dim>(dims.size())}, dims));
    return New(device, "Reshape", "reshape").Input(tensor).Input(shape).Build();
  }

  Graph& graph_;
  const Shape shape_;
  const std::string combine_;
  const bool mean_;
  const DataType type_;
  std::vector<std::string> names_, devices_;
  int number_ = 0;
};

// That the group's first node asks for, unless all are told; empty where neither says anything.
std::optional<CollectiveBy> AskedAlgorithm(const Node& node, const std::string& told) {
  for (const char* attr : kAlgorithms) {
    const std::string asked = told.empty() ? node.StringAttr(attr, "") : told;
    if (asked.empty()) continue;
    const auto by = ParseCollectiveBy(asked);
    if (by) return by;
    Throw(Code::kInvalidArgument, "node '{}': '{}' is none of {} in '{}'", node.name, asked,
          fmt::join(CollectiveByNames(), ", "), attr);
  }
  return std::nullopt;
}

// Tensors are in the memory of GPUs, each on one of its own, and no mean is of anything but a sum.
bool CanBeJoint(const Graph& graph, const CollectiveGroup& group, const Shape& shape) {
  std::set<std::string> devices;
  if (group.mean && group.combine != "AddV2") return false;
  for (const NodeId id : group.members) {
    const Node& node = graph.node(id);
    DeviceName device;
    if (!JointKindOf(node) || !ParseDeviceName(node.device, &device) || device.type != "GPU" ||
        !device.has_id)
      return false;
    if (!devices.insert(device.ToString()).second) return false;
  }
  return devices.size() > 1 && shape.IsExact() && group.type != DataType::kInt32;
}

// A part for each node, which then gives its result. No part begins before all inputs are there, and no
// result is there before all parts are done: so a step has all of them or none.
void KeepJoint(Graph* graph, const CollectiveGroup& group) {
  std::vector<std::string> devices;
  for (const NodeId id : group.members) devices.push_back(graph->node(id).device);
  std::vector<NodeId> parts;
  for (const NodeId id : group.members) {
    Node part = graph->node(id);
    do {
      part.name += "/part";
    } while (graph->FindNode(part.name).exists());
    part.attrs[kJointLaunch] = AttrValue(group.name);
    part.attrs[kJointDevices] = AttrValue(devices);
    for (const NodeId other : group.members) {
      if (other != id) part.control_inputs.push_back(graph->node(other).inputs[0].node);
    }
    parts.push_back(graph->AddNode(std::move(part)));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    Node& node = graph->node(group.members[i]);
    node.op = "Identity";
    node.attrs = {{"T", group.type}};
    node.inputs = {{parts[i], 0}};
    node.control_inputs.clear();
    for (const NodeId part : parts) {
      if (part != parts[i]) node.control_inputs.push_back(part);
    }
  }
}

// The nodes stay, as what gives the result.
void Expand(Graph* graph, const GraphInfo& info, const CollectiveGroup& group,
            const CollectiveOptions& options, CollectiveChoice* choice) {
  const Shape shape = CheckCollective(*graph, info, group);
  const std::string told = group.kind == CollectiveOp::kAllReduce ? options.all_reduce : "";
  const std::optional<CollectiveBy> asked = AskedAlgorithm(graph->node(group.members[0]), told);
  if (options.joint_launches && asked.value_or(CollectiveBy::kNccl) == CollectiveBy::kNccl &&
      CanBeJoint(*graph, group, shape))
    return KeepJoint(graph, group);
  std::vector<Endpoint> tensors;
  for (const NodeId id : group.members) {
    const Node& node = graph->node(id);
    const size_t inputs =
        group.kind == CollectiveOp::kReduce ? node.inputs.size() : std::min<size_t>(1, node.inputs.size());
    tensors.insert(tensors.end(), node.inputs.begin(), node.inputs.begin() + static_cast<ptrdiff_t>(inputs));
  }
  const CollectivePlan plan = choice->PlanOf(*graph, group, shape, asked);
  GraphSteps steps(graph, group, shape);
  const std::vector<Endpoint> results = ScheduleCollective(group, plan, shape, tensors, &steps);
  for (size_t i = 0; i < results.size(); ++i) {
    Node& node = graph->node(group.members[i]);
    node.op = "Identity";
    node.attrs = {{"T", group.type}};
    node.inputs = {results[i]};
  }
}

}  // namespace

Graph ExpandCollectives(Graph graph, const std::map<std::string, TensorInfo>& feeds,
                        const CollectiveOptions& options) {
  if (!HasCollectives(graph)) return graph;
  std::vector<std::pair<Endpoint, TensorInfo>> fed;
  for (const auto& [tensor, info] : feeds) fed.emplace_back(graph.FindEndpoint(tensor), info);
  const GraphInfo info = InferGraph(graph, fed);
  CollectiveChoice choice(options.machine);
  for (const CollectiveGroup& group : FindCollectives(graph, info))
    Expand(&graph, info, group, options, &choice);
  NoteProblems(&graph);
  return graph;
}

Graph WithoutJointLaunches(Graph graph, const std::vector<std::pair<Endpoint, TensorInfo>>& feeds,
                           const Machine* machine) {
  for (const NodeId id : graph.node_ids()) {
    Node& node = graph.node(id);
    node.attrs.erase(kJointLaunch);
    node.attrs.erase(kJointDevices);
  }
  const GraphInfo info = InferGraph(graph, feeds);
  CollectiveChoice choice(machine);
  for (const CollectiveGroup& group : FindCollectives(graph, info)) Expand(&graph, info, group, {}, &choice);
  NoteProblems(&graph);
  return graph;
}

}  // namespace lanescope
