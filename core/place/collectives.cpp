#include "core/place/collectives.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>

#include "core/base/error.h"
#include "core/graph/graph_builder.h"
#include "core/graph/op.h"
#include "core/graph/validate.h"
#include "core/place/all_reduce_schedule.h"

namespace lanescope {
namespace {

// Below this a message costs its latency, and a ring has more of those behind each other than a tree.
constexpr int64_t kSmallBytes = 64 << 10;
// A ring has as many nodes as the square of its devices.
constexpr size_t kMostInRing = 64;
constexpr const char* kAlgorithm = "_lanescope_all_reduce";

// The nodes of one shared name, in the order of the graph: device i's is members[i].
struct Group {
  std::string name;
  std::vector<NodeId> members;
};

bool IsCollective(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  // One that says itself what it costs is simulated as it is.
  return node.op == "NcclAllReduce" && !graph.problems.contains(id) &&
         node.FindAttr("_lanescope_cost") == nullptr;
}

std::vector<Group> GroupsOf(const Graph& graph) {
  std::vector<Group> groups;
  std::map<std::string, size_t> by_name;
  for (const NodeId id : graph.node_ids()) {
    if (!IsCollective(graph, id)) continue;
    const std::string name = graph.node(id).StringAttr("shared_name", "");
    const auto [found, added] = by_name.emplace(name, groups.size());
    if (added) groups.push_back({name, {}});
    groups[found->second].members.push_back(id);
  }
  return groups;
}

// Adds nodes behind those of the graph; "NAME/..." is below the node of the device.
class GraphSteps final : public AllReduceSteps {
 public:
  GraphSteps(Graph* graph, const Group& group, const Shape& shape) : graph_(*graph), shape_(shape) {
    const Node& first = graph_.node(group.members[0]);
    type_ = first.TypeAttr("T");
    const std::string reduction = first.StringAttr("reduction");
    combine_ = reduction == "prod"  ? "Mul"
               : reduction == "min" ? "Minimum"
               : reduction == "max" ? "Maximum"
                                    : "AddV2";
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
  Endpoint Finish(size_t, Endpoint whole) override { return whole; }
  std::vector<Endpoint> Split(size_t device, Endpoint tensor, const std::vector<int64_t>& sizes) override {
    const auto count = static_cast<int64_t>(sizes.size());
    const Endpoint flat = Reshape(device, tensor, {-1});
    const Endpoint lengths = Constant(device, Tensor::FromValues(Shape{count}, sizes));
    const Endpoint axis = Constant(device, Tensor::Scalar<int32_t>(0));
    const Endpoint parts = New(device, "SplitV", "split")
                               .Input(flat)
                               .Input(lengths)
                               .Input(axis)
                               .Attr("num_split", count)
                               .Build();
    std::vector<Endpoint> chunks;
    for (int i = 0; i < static_cast<int>(count); ++i) chunks.push_back({parts.node, i});
    return chunks;
  }
  Endpoint Join(size_t device, const std::vector<Endpoint>& parts) override {
    const Endpoint axis = Constant(device, Tensor::Scalar<int32_t>(0));
    const Endpoint flat = New(device, "ConcatV2", "join").Inputs(parts).Input(axis).Build();
    return Reshape(device, flat, {shape_.dims().begin(), shape_.dims().end()});
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
  Endpoint Reshape(size_t device, Endpoint tensor, const std::vector<int64_t>& dims) {
    const Endpoint shape = Constant(device, Tensor::FromValues(Shape{static_cast<Dim>(dims.size())}, dims));
    return New(device, "Reshape", "reshape").Input(tensor).Input(shape).Build();
  }

  Graph& graph_;
  const Shape shape_;
  DataType type_ = DataType::kInvalid;
  std::string combine_;
  std::vector<std::string> names_, devices_;
  int number_ = 0;
};

Shape CheckGroup(const Graph& graph, const GraphInfo& info, const Group& group) {
  const Node& first = graph.node(group.members[0]);
  const int64_t wanted = first.IntAttr("num_devices");
  if (wanted != static_cast<int64_t>(group.members.size())) {
    Throw(Code::kInvalidArgument, "node '{}': {} of the {} devices of the collective '{}' take part",
          first.name, group.members.size(), wanted, group.name);
  }
  Shape shape = Shape::Unknown();
  for (const NodeId id : group.members) {
    const Node& node = graph.node(id);
    if (node.StringAttr("reduction") != first.StringAttr("reduction") ||
        node.TypeAttr("T") != first.TypeAttr("T")) {
      Throw(Code::kInvalidArgument, "nodes '{}' and '{}' of the collective '{}' reduce in different ways",
            first.name, node.name, group.name);
    }
    shape = MergeShapes(shape, info.of(node.inputs[0]).shape);
  }
  return shape;
}

AllReduceBy AlgorithmOf(const Node& node, const Shape& shape, size_t devices) {
  const std::string asked = node.StringAttr(kAlgorithm, "");
  if (!asked.empty()) {
    const auto by = ParseAllReduceBy(asked);
    if (!by) {
      Throw(Code::kInvalidArgument, "node '{}': '{}' is none of ring, tree, one-device in '{}'", node.name,
            asked, kAlgorithm);
    }
    if (*by != AllReduceBy::kRing || (shape.IsExact() && devices <= kMostInRing)) return *by;
  }
  if (!shape.IsExact() || devices > kMostInRing) return AllReduceBy::kTree;
  const int64_t bytes = shape.NumElements() * static_cast<int64_t>(ElementSize(node.TypeAttr("T")));
  return devices > 2 && bytes < kSmallBytes ? AllReduceBy::kTree : AllReduceBy::kRing;
}

// The nodes stay, as what gives the result.
void Expand(Graph* graph, const GraphInfo& info, const Group& group) {
  const Shape shape = CheckGroup(*graph, info, group);
  std::vector<Endpoint> tensors;
  for (const NodeId id : group.members) tensors.push_back(graph->node(id).inputs[0]);
  const AllReduceBy by = AlgorithmOf(graph->node(group.members[0]), shape, group.members.size());
  GraphSteps steps(graph, group, shape);
  const std::vector<Endpoint> results =
      ScheduleAllReduce(by, tensors, shape.IsExact() ? shape.NumElements() : 0, &steps);
  for (size_t i = 0; i < results.size(); ++i) {
    Node& node = graph->node(group.members[i]);
    const DataType type = node.TypeAttr("T");
    node.op = "Identity";
    node.attrs = {{"T", type}};
    node.inputs = {results[i]};
  }
}

}  // namespace

Graph ExpandCollectives(Graph graph, const InlineOptions& options) {
  const std::vector<Group> groups = GroupsOf(graph);
  if (groups.empty()) return graph;
  std::vector<std::pair<Endpoint, TensorInfo>> feeds;
  for (const auto& [tensor, info] : options.feeds) feeds.emplace_back(graph.FindEndpoint(tensor), info);
  const GraphInfo info = InferGraph(graph, feeds);
  for (const Group& group : groups) Expand(&graph, info, group);
  NoteProblems(&graph);
  return graph;
}

}  // namespace lanescope
