// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/replicator.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/nearest_number.h"
#include "core/graph/batch_share.h"
#include "core/inputs/step_request.h"
#include "core/schedule/compile/op_traits.h"
#include "core/strategies/batch_parts.h"
#include "core/strategies/colocation.h"
#include "core/strategies/replica_tensors.h"

namespace lanescope {
namespace {

class Replicator {
 public:
  Replicator(const RewriteInput& input, const ReplicaPlan& plan, const IdVector<NodeId, ReplicaRole>& roles)
      : graph_(input.graph),
        spec_(input.spec),
        info_(input.info),
        plan_(plan),
        role_(roles),
        first_(role_.size()) {
    for (const auto& [name, axis] : spec_.batch_axis) CheckFeed(name, axis);
    NumberNodes();
    batch_.emplace(input, roles, replicas());
    CheckParts();  // before what its problem leads to
    tensors_.emplace(input, plan, roles, *batch_, first_, num_copied_);
  }

  ReplicatedGraph Run() {
    FindSparse();
    for (const auto& [name, axis] : spec_.batch_axis) tensors_->Split(name, axis);
    for (const NodeId id : graph_.node_ids()) AddCopiesOf(id);
    result_.spec = spec_;
    RenameStep();
    for (Node& node : tensors_->TakeAdded()) result_.graph.AddNode(std::move(node));
    result_.graph.extra = graph_.extra;
    CheckShapes();
    return {std::move(result_), first_};
  }

 private:
  using Role = ReplicaRole;
  using Otherwise = ReplicaTensors::Otherwise;

  template <typename... Args>
  [[noreturn]] void Refuse(fmt::format_string<Args...> text, Args&&... args) const {
    Throw(Code::kInvalidArgument, "{}: {}", plan_.strategy, fmt::format(text, std::forward<Args>(args)...));
  }
  int replicas() const { return plan_.replicas; }
  Role role(NodeId id) const { return role_[id]; }

  void CheckFeed(const std::string& name, int axis) const {
    const Endpoint fed = graph_.FindEndpoint(name);
    const Shape& shape = spec_.feeds.at(name).shape;
    const int64_t batch = shape.dim(axis);
    if (batch % replicas() != 0) {
      const char* parts = plan_.accumulate ? "micro-batches" : "GPUs";
      Refuse(
          "the batch of {} in '{}' cannot be shared out evenly over {} {}; the nearest batch that can is {}, "
          "and the nearest number of {} for this one is {}",
          batch, name, replicas(), parts, NearestMultiple(batch, replicas()), parts,
          NearestDivisor(batch, replicas()));
    }
    if (fed.output != 0 || graph_.node(fed.node).op != "Placeholder") Refuse("'{}' is no placeholder", name);
  }

  // Nodes of the old graph come first, replicas of one node after the other; then what is added.
  void NumberNodes() {
    int next = 0;
    for (const NodeId id : first_.ids()) {
      first_[id] = NodeId(next);
      next += role_[id] == Role::kReplicated ? replicas() : 1;
    }
    num_copied_ = next;
  }

  void AddCopiesOf(NodeId id) {
    const bool replicated = role(id) == Role::kReplicated;
    for (int r = 0; r < (replicated ? replicas() : 1); ++r) {
      Node node = graph_.node(id);
      if (replicated) TakeBatchShare(replicas(), &node);
      if (replicated) node.name = ReplicaName(id, r);
      plan_.SetDevice(id, replicated ? r : -1, &node);
      KeepColocation(id, r, &node);
      for (size_t i = 0; i < node.inputs.size(); ++i)
        node.inputs[i] = replicated ? tensors_->Taken(id, i, r) : Joined(id, node.inputs[i]);
      std::vector<NodeId> controls;
      for (const NodeId control : node.control_inputs) {
        const NodeId first = first_[control];
        if (role(control) != Role::kReplicated) {
          controls.push_back(first);
        } else if (replicated) {
          controls.push_back(ReplicaAt(first, r));
        } else {
          for (int other = 0; other < replicas(); ++other) controls.push_back(ReplicaAt(first, other));
        }
      }
      node.control_inputs = std::move(controls);
      result_.graph.AddNode(std::move(node));
    }
  }

  std::string ReplicaName(NodeId id, int r) const {
    return fmt::format("{}{}/{}", plan_.scope, r, graph_.node(id).name);
  }

  // A replica stays with replicas of its own, never with a shared variable, and nobody else with one replica.
  void KeepColocation(NodeId id, int r, Node* node) const {
    RenameColocation(node, [&](const std::string& name) -> std::optional<std::string> {
      const NodeId with = graph_.FindNode(name);
      const bool of_replicas = with.exists() && role(with) == Role::kReplicated;
      if (of_replicas != (role(id) == Role::kReplicated)) return std::nullopt;
      return of_replicas ? ReplicaName(with, r) : name;
    });
  }

  // The tensor of the replicas that a node reads which is no replica.
  Endpoint Joined(NodeId reader, Endpoint of) {
    if (role(of.node) != Role::kReplicated) return {first_[of.node], of.output};
    const bool is_sparse = sparse_.contains(ScopeOf(graph_.node(reader).name));
    return tensors_->Joined(of, is_sparse ? Otherwise::kShares : Otherwise::kMean);
  }

  // The update's name scope, or the node itself where it has none.
  static std::string ScopeOf(const std::string& name) {
    const size_t slash = name.rfind('/');
    return slash == std::string::npos ? name : name.substr(0, slash + 1);
  }

  // Updates by rows and their numbers, as those of embeddings: they read integers of a replica.
  void FindSparse() {
    for (const NodeId id : graph_.node_ids()) {
      if (role(id) != Role::kUpdating) continue;
      for (const Endpoint& input : graph_.node(id).inputs) {
        if (role(input.node) == Role::kReplicated && IsInteger(info_.of(input).dtype))
          sparse_.insert(ScopeOf(graph_.node(id).name));
      }
    }
  }
  static bool IsInteger(DataType type) { return type == DataType::kInt32 || type == DataType::kInt64; }

  // Fetches of replicas are joined; a target stands for all its replicas.
  void RenameStep() {
    const auto fetched = [&](const std::string& name) {
      const Endpoint of = graph_.FindEndpoint(name);
      if (role(of.node) != Role::kReplicated) return name;
      const bool scalar = info_.of(of).shape.rank() == 0;
      const Endpoint joined = tensors_->Joined(of, scalar ? Otherwise::kMean : Otherwise::kRows);
      return tensors_->IsAdded(joined) ? tensors_->NameOf(joined) : result_.graph.TensorName(joined);
    };
    for (std::string& name : result_.spec.fetches) name = fetched(name);
    if (!spec_.loss.empty()) result_.spec.loss = fetched(spec_.loss);
    std::vector<std::string> targets;
    for (const std::string& name : spec_.targets) {
      const NodeId id = graph_.FindEndpoint(name).node;
      if (role(id) != Role::kReplicated) {
        targets.push_back(name);
        continue;
      }
      for (int r = 0; r < replicas(); ++r) targets.push_back(ReplicaName(id, r));
    }
    result_.spec.targets = std::move(targets);
  }

  // Every output of a replica has the shape it had, with a part of the batch in place of the batch.
  void CheckShapes() const {
    try {
      const GraphInfo rewritten = InferGraph(result_.graph, StepRequestOf(result_.graph, result_.spec).feeds);
      for (const NodeId id : graph_.node_ids()) {
        if (role(id) != Role::kReplicated) continue;
        const auto before = info_.outputs(id), after = rewritten.outputs(first_[id]);
        for (size_t k = 0; k < before.size(); ++k) {
          if (!IsPart(before[k].shape, after[k].shape)) {
            Refuse("'{}' has the shape {} in a replica and {} before: the graph fixes the size of its batch",
                   graph_.node(id).name, after[k].shape.ToString(), before[k].shape.ToString());
          }
        }
      }
    } catch (const Error& error) {
      if (error.message().starts_with(plan_.strategy)) throw;
      Refuse("the graph fixes the size of its batch: {}", error.message());
    }
  }
  bool IsPart(const Shape& before, const Shape& after) const {
    if (!before.IsExact() || !after.IsExact()) return true;
    if (before.rank() != after.rank()) return false;
    for (int d = 0; d < before.rank(); ++d) {
      if (before.dim(d) != after.dim(d) && before.dim(d) != replicas() * after.dim(d)) return false;
    }
    return true;
  }

  // No replica computes something of rows that others have.
  void CheckParts() const {
    const auto& problem = batch_->problem();
    if (!problem) return;
    const Node& node = graph_.node(problem->node);
    Refuse(
        "'{}' ({}) {}, so parts of the batch give other numbers than the whole: tensor-parallel leaves the "
        "batch whole",
        node.name, node.op, problem->why);
  }

  const Graph& graph_;
  const RunSpec& spec_;
  const GraphInfo& info_;
  const ReplicaPlan& plan_;
  const IdVector<NodeId, Role>& role_;  // by node
  IdVector<NodeId, NodeId> first_;      // by node: itself in the new graph, or its first replica
  std::optional<BatchParts> batch_;
  std::optional<ReplicaTensors> tensors_;
  std::set<std::string> sparse_;  // scopes
  int num_copied_ = 0;            // nodes of the new graph that are of the old one
  StepGraph result_;
};

// Whether the name is in one of the sorted scopes.
bool IsUnder(const std::vector<std::string>& scopes, const std::string& name) {
  for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    if (std::binary_search(scopes.begin(), scopes.end(), name.substr(0, slash + 1))) return true;
  }
  return false;
}

}  // namespace

IdVector<NodeId, ReplicaRole> FindReplicaRoles(const Graph& graph, const RunSpec& spec) {
  using Role = ReplicaRole;
  const std::vector<NodeId> order = graph.TopologicalOrder();
  IdVector<NodeId, Role> roles(graph.num_nodes(), Role::kShared);
  const auto role = [&](NodeId id) { return roles[id]; };
  compile::OpTraitsTable traits;
  // Clipping and its like change whole gradients: exports name it so.
  std::vector<std::string> scopes = {"gradients/before_update/"};
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (!traits.Of(node.op).IsUpdate()) continue;
    roles[id] = Role::kUpdating;
    if (const size_t slash = node.name.rfind('/'); slash != std::string::npos)
      scopes.push_back(node.name.substr(0, slash + 1));
  }
  std::sort(scopes.begin(), scopes.end());
  const Fanout fanout = ComputeFanout(graph);
  for (size_t i = order.size(); i-- > 0;) {
    const auto users = fanout[order[i]];
    const bool only_updates =
        !users.empty() && std::all_of(users.begin(), users.end(),
                                      [&](const NodeUse& use) { return role(use.node) == Role::kUpdating; });
    if (only_updates && IsUnder(scopes, graph.node(order[i]).name)) roles[order[i]] = Role::kUpdating;
  }
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    const auto follows = [&](NodeId before) { return role(before) == Role::kUpdating; };
    if (std::any_of(node.inputs.begin(), node.inputs.end(), [&](Endpoint e) { return follows(e.node); }) ||
        std::any_of(node.control_inputs.begin(), node.control_inputs.end(), follows))
      roles[id] = Role::kUpdating;
  }
  for (const auto& [name, axis] : spec.batch_axis) roles[graph.FindEndpoint(name).node] = Role::kFeed;
  for (const NodeId id : order) {
    Role& mine = roles[id];
    if (mine != Role::kShared) continue;
    const Node& node = graph.node(id);
    const auto depends = [&](NodeId before) {
      return role(before) == Role::kReplicated || role(before) == Role::kFeed;
    };
    if (std::any_of(node.inputs.begin(), node.inputs.end(), [&](Endpoint e) { return depends(e.node); }) ||
        std::any_of(node.control_inputs.begin(), node.control_inputs.end(), depends))
      mine = Role::kReplicated;
  }
  return roles;
}

void ReplicaPlan::SetDevice(NodeId id, int replica, Node* node) const {
  if (node->device.find("CPU") != std::string::npos || node->device.find("cpu") != std::string::npos) return;
  if (std::string name = device(id, replica); !name.empty()) node->device = std::move(name);
}

ReplicatedGraph Replicate(const RewriteInput& input, const ReplicaPlan& plan,
                          const IdVector<NodeId, ReplicaRole>& roles) {
  return Replicator(input, plan, roles).Run();
}

}  // namespace lanescope
