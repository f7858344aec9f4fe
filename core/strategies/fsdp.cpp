// SPDX-License-Identifier: Apache-2.0
// Fully sharded data parallelism: a replica of the model for each GPU, and of every variable a part on each.
// A variable is gathered before it is read and dropped after it, once forward and once backward; gradients
// are reduced and scattered, and each GPU updates its parts alone (Rajbhandari et al., "ZeRO: Memory
// Optimizations Toward Training Trillion Parameter Models", 2020, stage 3; Zhao et al., "PyTorch FSDP",
// 2023).
//
// Parts are of the flattened variable, and one gathering has those of a block, as FSDP's flat parameters. The
// gathering of a block, which is what stands under one numbered scope ("h/3/"), begins when the block before
// it has begun to compute: one block ahead, as FSDP prefetches.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/inputs/step_request.h"
#include "core/strategies/replicator.h"
#include "core/strategies/sharded_step.h"
#include "core/strategies/split_step.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {
namespace {

// Where a node stands before replicas are written.
enum class PassOf : uint8_t { kOnce, kForward, kBackward };

// A node that is computed of variables alone, and read by replicas (a cast, a transposition), is of every
// replica: each has its own gathered variable to compute it of.
void ReplicateComputedOfVariables(const Graph& graph, const Fanout& fanout,
                                  IdVector<NodeId, ReplicaRole>* roles) {
  std::vector<NodeId> order = graph.TopologicalOrder();
  IdVector<NodeId, char> of_variables(graph.num_nodes(), 0), read_by_replicas(graph.num_nodes(), 0);
  const auto is_shared = [&](NodeId id) { return (*roles)[id] == ReplicaRole::kShared; };
  for (const NodeId id : order) {
    if (!is_shared(id)) continue;
    const Node& node = graph.node(id);
    of_variables[id] = IsVariableOp(node) || std::ranges::any_of(node.inputs, [&](Endpoint input) {
                         return of_variables[input.node] != 0;
                       });
  }
  std::ranges::reverse(order);
  for (const NodeId id : order) {
    for (const NodeUse& use : fanout[id]) {
      if (use.input >= 0 &&
          ((*roles)[use.node] == ReplicaRole::kReplicated || read_by_replicas[use.node] != 0))
        read_by_replicas[id] = 1;
    }
    const Node& node = graph.node(id);
    const bool is_read = IsVariableOp(node) || node.op == "ReadVariableOp" ||
                         (node.op == "Identity" && IsVariableOp(graph.node(node.inputs[0].node)));
    if (is_shared(id) && of_variables[id] != 0 && read_by_replicas[id] != 0 && !is_read)
      (*roles)[id] = ReplicaRole::kReplicated;
  }
}

// A node that updates alone read, as a variable that weight decay makes smaller, is theirs: it has a part
// wherever they have one.
void GiveToUpdates(const Graph& graph, const Fanout& fanout, IdVector<NodeId, ReplicaRole>* roles) {
  std::vector<NodeId> order = graph.TopologicalOrder();
  std::ranges::reverse(order);
  for (const NodeId id : order) {
    if ((*roles)[id] != ReplicaRole::kShared || !IsElementwise(graph.node(id))) continue;
    bool is_read = false, by_updates = true;
    for (const NodeUse& use : fanout[id]) {
      if (use.input < 0) continue;
      is_read = true;
      by_updates = by_updates && (*roles)[use.node] == ReplicaRole::kUpdating;
    }
    if (is_read && by_updates) (*roles)[id] = ReplicaRole::kUpdating;
  }
}

// The loss comes from what is forward; without a loss all is.
IdVector<NodeId, PassOf> PartsOf(const Graph& graph, const RunSpec& spec,
                                 const IdVector<NodeId, ReplicaRole>& roles) {
  IdVector<NodeId, PassOf> parts(graph.num_nodes(), PassOf::kOnce);
  const bool has_loss = !spec.loss.empty();
  for (const NodeId id : graph.node_ids()) {
    if (roles[id] == ReplicaRole::kReplicated) parts[id] = has_loss ? PassOf::kBackward : PassOf::kForward;
  }
  if (!has_loss) return parts;
  std::vector<NodeId> open{graph.FindEndpoint(spec.loss).node};
  IdVector<NodeId, char> seen(graph.num_nodes(), 0);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (std::exchange(seen[id], 1) != 0) continue;
    if (parts[id] == PassOf::kBackward) parts[id] = PassOf::kForward;
    for (const Endpoint& input : graph.node(id).inputs) open.push_back(input.node);
  }
  return parts;
}

// Every node of the replicated step, those last that join what the replicas made.
IdVector<NodeId, ShardedNode> ShardedNodesOf(const RewriteInput& input,
                                             const IdVector<NodeId, ReplicaRole>& roles, int replicas,
                                             const Graph& written) {
  const IdVector<NodeId, PassOf> parts = PartsOf(input.graph, input.spec, roles);
  IdVector<NodeId, ShardedNode> nodes;
  for (const NodeId id : input.graph.node_ids()) {
    const bool of_replicas = roles[id] == ReplicaRole::kReplicated;
    for (int r = 0; r < (of_replicas ? replicas : 1); ++r) {
      nodes.Add({.replica = of_replicas ? r : -1,
                 .pass = parts[id] == PassOf::kBackward ? 1 : 0,
                 .updates = roles[id] == ReplicaRole::kUpdating});
    }
  }
  while (nodes.size() < written.num_nodes()) nodes.Add({.added = true});
  return nodes;
}

// Every node of the step in the parts that it has, where GPUs share its matrices.
IdVector<NodeId, ShardedNode> NodesInParts(const IdVector<NodeId, ShardedNode>& nodes,
                                           const IdVector<NodeId, PartOfNode>& origins) {
  IdVector<NodeId, ShardedNode> in_parts;
  for (const PartOfNode& origin : origins) {
    ShardedNode node = nodes[origin.of];
    node.place = std::max(origin.place, 0);
    in_parts.Add(node);
  }
  return in_parts;
}

// A GPU of those that share a replica has its part of the variables with the GPUs at its place in the other
// replicas of its group.
StepGraph Shard(const RewriteInput& input, std::string_view strategy, ZeroStage stage) {
  if (input.gpus.size() < 2)
    Throw(Code::kInvalidArgument, "{}: the machine has fewer than two GPUs", strategy);
  if (input.spec.batch_axis.empty()) Throw(Code::kInvalidArgument, "{}: {}", strategy, kNoBatchAxis);
  const std::vector<std::vector<std::string>> replicas = GroupsOf(input, input.sharers);
  IdVector<NodeId, ReplicaRole> roles = FindReplicaRoles(input.graph, input.spec);
  const Fanout fanout = ComputeFanout(input.graph);
  ReplicateComputedOfVariables(input.graph, fanout, &roles);
  GiveToUpdates(input.graph, fanout, &roles);
  const ReplicaPlan plan{.strategy = strategy,
                         .scope = "replica_",
                         .replicas = static_cast<int>(replicas.size()),
                         .device = [&](NodeId, int replica) {
                           return replica < 0 ? std::string() : replicas[static_cast<size_t>(replica)][0];
                         }};
  StepGraph step = Replicate(input, plan, roles).step;
  IdVector<NodeId, ShardedNode> nodes = ShardedNodesOf(input, roles, plan.replicas, step.graph);
  if (input.sharers > 1) {
    IdVector<NodeId, PartOfNode> origins;
    step = SplitInGroups(input, step, &origins);
    nodes = NodesInParts(nodes, origins);
  }
  std::vector<std::vector<std::string>> by_place(static_cast<size_t>(input.sharers));
  for (const std::vector<std::string>& devices : replicas) {
    for (size_t place = 0; place < devices.size(); ++place) by_place[place].push_back(devices[place]);
  }
  return WriteShardedStep(step, nodes, by_place,
                          {strategy, stage, replicas.size() / static_cast<size_t>(input.groups)});
}

}  // namespace

StepGraph ShardOverBatch(const RewriteInput& input) { return Shard(input, "fsdp", ZeroStage::kParameters); }
StepGraph ShardGradients(const RewriteInput& input) { return Shard(input, "zero2", ZeroStage::kGradients); }
StepGraph ShardOptimizer(const RewriteInput& input) { return Shard(input, "zero1", ZeroStage::kOptimizer); }

}  // namespace lanescope
