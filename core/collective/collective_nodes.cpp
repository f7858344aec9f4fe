// SPDX-License-Identifier: Apache-2.0
#include "core/collective/collective_nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/collective/joint_launch.h"

namespace lanescope {
namespace {

struct Family {
  const char* op;
  CollectiveOp kind;
  bool keys_are_inputs = false;  // behind the tensor, or in place of one: size, group and instance key
  bool receives = false;         // has no tensor
};
constexpr Family kFamilies[] = {
    {"NcclAllReduce", CollectiveOp::kAllReduce},
    {"NcclReduce", CollectiveOp::kReduce},
    {"NcclBroadcast", CollectiveOp::kBroadcast},
    {"CollectiveReduce", CollectiveOp::kAllReduce},
    {"CollectiveReduceV2", CollectiveOp::kAllReduce, true},
    {"CollectiveGather", CollectiveOp::kAllGather},
    {"CollectiveGatherV2", CollectiveOp::kAllGather, true},
    {"CollectiveReduceScatterV2", CollectiveOp::kReduceScatter, true},
    {"CollectiveBcastSend", CollectiveOp::kBroadcast},
    {"CollectiveBcastSendV2", CollectiveOp::kBroadcast, true},
    {"CollectiveBcastRecv", CollectiveOp::kBroadcast, false, true},
    {"CollectiveBcastRecvV2", CollectiveOp::kBroadcast, true, true},
};

const Family* FamilyOf(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto* found = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                   [&](const Family& family) { return node.op == family.op; });
  if (found == std::end(kFamilies) || graph.problems.contains(id) ||
      node.FindAttr("_lanescope_cost") != nullptr || node.FindAttr(kJointLaunch) != nullptr)
    return nullptr;
  return found;
}

// An attribute, or a constant input.
int64_t KeyOf(const Graph& graph, const GraphInfo& info, NodeId id, const Family& family, int number,
              const char* attr) {
  const Node& node = graph.node(id);
  if (!family.keys_are_inputs) return node.IntAttr(attr);
  const Endpoint input = node.inputs[static_cast<size_t>(number + (family.receives ? 0 : 1))];
  const Tensor* value = info.of(input).value.get();
  if (value == nullptr || value->dtype() != DataType::kInt32 || value->NumElements() != 1) {
    Throw(Code::kInvalidArgument, "node '{}': the input '{}' must be one constant number", node.name,
          graph.TensorName(input));
  }
  return *value->data<int32_t>();
}

std::string CombineOf(const Node& node) {
  const std::string reduction = node.StringAttr("reduction", node.StringAttr("merge_op", ""));
  if (reduction == "prod" || reduction == "Mul") return "Mul";
  if (reduction == "min" || reduction == "Min") return "Minimum";
  if (reduction == "max" || reduction == "Max") return "Maximum";
  return reduction.empty() ? "" : "AddV2";
}

// The name that a group's nodes share; each node of NCCL's that is not all-reduced has its own.
std::string NameOf(const Graph& graph, const GraphInfo& info, NodeId id, const Family& family) {
  const Node& node = graph.node(id);
  if (node.op == "NcclAllReduce") return node.StringAttr("shared_name", "");
  if (node.op.starts_with("Nccl")) return node.name;
  return fmt::format("group {} instance {}", KeyOf(graph, info, id, family, 1, "group_key"),
                     KeyOf(graph, info, id, family, 2, "instance_key"));
}

int64_t SizeOf(const Graph& graph, const GraphInfo& info, NodeId id, const Family& family) {
  const Node& node = graph.node(id);
  if (node.op == "NcclAllReduce") return node.IntAttr("num_devices");
  if (node.op.starts_with("Nccl")) return 1;
  return KeyOf(graph, info, id, family, 0, "group_size");
}

// A sender first, and one alone.
void PutSenderFirst(const Graph& graph, CollectiveGroup* group) {
  const auto sends = [&](NodeId id) { return !FamilyOf(graph, id)->receives; };
  const auto sender = std::find_if(group->members.begin(), group->members.end(), sends);
  if (sender == group->members.end() || std::any_of(sender + 1, group->members.end(), sends)) {
    Throw(Code::kInvalidArgument, "node '{}': {} of the collective '{}' send; one has to",
          graph.node(group->members[0]).name, sender == group->members.end() ? "none" : "several",
          group->name);
  }
  std::rotate(group->members.begin(), sender, sender + 1);
}

}  // namespace

bool HasCollectives(const Graph& graph) {
  return std::ranges::any_of(graph.node_ids(), [&](NodeId id) { return FamilyOf(graph, id) != nullptr; });
}

std::vector<CollectiveGroup> FindCollectives(const Graph& graph, const GraphInfo& info) {
  std::vector<CollectiveGroup> groups;
  std::map<std::pair<CollectiveOp, std::string>, size_t> by_name;
  for (const NodeId id : graph.node_ids()) {
    const Family* family = FamilyOf(graph, id);
    if (family == nullptr) continue;
    const Node& node = graph.node(id);
    const std::string name = NameOf(graph, info, id, *family);
    const auto [found, added] = by_name.emplace(std::pair{family->kind, name}, groups.size());
    if (added) {
      groups.push_back({.kind = family->kind,
                        .name = name,
                        .members = {},
                        .combine = CombineOf(node),
                        .mean = node.StringAttr("final_op", "") == "Div",
                        .type = node.TypeAttr("T")});
    }
    groups[found->second].members.push_back(id);
  }
  for (CollectiveGroup& group : groups) {
    if (group.kind == CollectiveOp::kBroadcast) PutSenderFirst(graph, &group);
  }
  return groups;
}

Shape CheckCollective(const Graph& graph, const GraphInfo& info, const CollectiveGroup& group) {
  const Node& first = graph.node(group.members[0]);
  const int64_t wanted = SizeOf(graph, info, group.members[0], *FamilyOf(graph, group.members[0]));
  if (wanted != static_cast<int64_t>(group.members.size())) {
    Throw(Code::kInvalidArgument, "node '{}': {} of the {} devices of the collective '{}' take part",
          first.name, group.members.size(), wanted, group.name);
  }
  Shape shape = Shape::Unknown();
  for (const NodeId id : group.members) {
    const Node& node = graph.node(id);
    if (CombineOf(node) != group.combine || (node.StringAttr("final_op", "") == "Div") != group.mean ||
        node.TypeAttr("T") != group.type) {
      Throw(Code::kInvalidArgument, "nodes '{}' and '{}' of the collective '{}' reduce in different ways",
            first.name, node.name, group.name);
    }
    if (!FamilyOf(graph, id)->receives) shape = MergeShapes(shape, info.of(node.inputs[0]).shape);
  }
  return shape;
}

}  // namespace lanescope
