// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/replicator.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/base/nearest_number.h"
#include "core/graph/batch_share.h"
#include "core/inputs/step_request.h"
#include "core/schedule/compile/op_traits.h"
#include "core/strategies/colocation.h"

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
        scope_(fmt::format("{}/", plan.strategy)),
        first_(role_.size()) {}

  ReplicatedGraph Run() {
    FindSparse();
    for (const auto& [name, axis] : spec_.batch_axis) CheckFeed(name, axis);
    NumberNodes();
    AddSplits();
    for (const NodeId id : graph_.node_ids()) AddCopiesOf(id);
    result_.spec = spec_;
    RenameStep();
    for (Node& node : added_) result_.graph.AddNode(std::move(node));
    result_.graph.extra = graph_.extra;
    CheckShapes();
    return {std::move(result_), first_};
  }

 private:
  using Role = ReplicaRole;

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

  static Node MakeNode(std::string name, std::string op) {
    Node node;
    node.name = std::move(name);
    node.op = std::move(op);
    return node;
  }
  NodeId Add(Node node) {
    added_.push_back(std::move(node));
    return NodeId(static_cast<size_t>(num_copied_) + added_.size() - 1);
  }
  NodeId AddConstant(const std::string& name, const Tensor& value) {
    Node node = MakeNode(name, "Const");
    node.attrs["dtype"] = value.dtype();
    node.attrs["value"] = std::make_shared<const TensorAttr>(TensorAttr{value, ""});
    return Add(std::move(node));
  }

  void AddSplits() {
    for (const auto& [name, axis] : spec_.batch_axis) {
      const NodeId fed = graph_.FindEndpoint(name).node;
      const std::string scope = fmt::format("{}{}/", scope_, graph_.node(fed).name);
      const NodeId dimension = AddConstant(scope + "axis", Tensor::Scalar<int32_t>(axis));
      Node split = MakeNode(scope + "split", "Split");
      split.device = "/device:CPU:0";
      split.attrs["T"] = RemoveRef(info_.of({fed, 0}).dtype);
      split.attrs["num_split"] = static_cast<int64_t>(replicas());
      split.inputs = {{dimension, 0}, {first_[fed], 0}};
      splits_[fed] = Add(std::move(split));
    }
  }

  void AddCopiesOf(NodeId id) {
    const bool replicated = role(id) == Role::kReplicated;
    for (int r = 0; r < (replicated ? replicas() : 1); ++r) {
      Node node = graph_.node(id);
      if (replicated) TakeBatchShare(replicas(), &node);
      if (replicated) node.name = ReplicaName(id, r);
      SetDevice(id, replicated ? r : -1, &node);
      KeepColocation(id, r, &node);
      for (Endpoint& input : node.inputs) input = replicated ? InReplica(input, r) : Joined(id, input);
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

  // Nodes that the graph puts on the CPU stay there.
  void SetDevice(NodeId id, int replica, Node* node) const {
    if (node->device.find("CPU") != std::string::npos || node->device.find("cpu") != std::string::npos)
      return;
    if (std::string device = plan_.device(id, replica); !device.empty()) node->device = std::move(device);
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

  Endpoint InReplica(Endpoint of, int r) const {
    if (const auto split = splits_.find(of.node); split != splits_.end()) return {split->second, r};
    const NodeId first = first_[of.node];
    return {role(of.node) == Role::kReplicated ? ReplicaAt(first, r) : first, of.output};
  }

  // The tensor of the replicas that a node reads which is no replica.
  Endpoint Joined(NodeId reader, Endpoint of) {
    if (role(of.node) != Role::kReplicated) return {first_[of.node], of.output};
    return Join(of, sparse_.contains(ScopeOf(graph_.node(reader).name)) ? Joint::kShares : Joint::kMean);
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

  Endpoint Rows(NodeId node, const std::string& scope, DataType type, std::vector<Endpoint> parts) {
    Node join = MakeNode(scope + "concat", "ConcatV2");
    SetDevice(node, -1, &join);
    join.attrs["T"] = type;
    join.attrs["N"] = static_cast<int64_t>(replicas());
    join.attrs["Tidx"] = DataType::kInt32;
    join.inputs = std::move(parts);
    join.inputs.push_back({AddConstant(scope + "axis", Tensor::Scalar<int32_t>(0)), 0});
    return {Add(std::move(join)), 0};
  }
  Endpoint Sum(NodeId node, const std::string& scope, DataType type, std::vector<Endpoint> parts) {
    Node join = MakeNode(scope + "sum", "AddN");
    SetDevice(node, -1, &join);
    join.attrs["T"] = type;
    join.attrs["N"] = static_cast<int64_t>(replicas());
    join.inputs = std::move(parts);
    return {Add(std::move(join)), 0};
  }
  Endpoint GrowingSum(NodeId node, const std::string& scope, DataType type,
                      const std::vector<Endpoint>& parts) {
    Endpoint sum = parts[0];
    for (size_t r = 1; r < parts.size(); ++r) {
      Node add = MakeNode(fmt::format("{}sum_{}", scope, r), "Add");
      SetDevice(node, -1, &add);
      add.attrs["T"] = type;
      add.inputs = {sum, parts[r]};
      sum = {Add(std::move(add)), 0};
    }
    return sum;
  }

  static bool IsFloating(DataType type) {
    return type == DataType::kFloat || type == DataType::kHalf || type == DataType::kBfloat16 ||
           type == DataType::kDouble;
  }
  // The share of a replica in a mean, as a number of this type.
  Endpoint Share(const std::string& scope, DataType type) {
    const NodeId share = AddConstant(scope + "share", Tensor::Scalar(1.0f / static_cast<float>(replicas())));
    if (type == DataType::kFloat) return {share, 0};
    Node cast = MakeNode(scope + "share_cast", "Cast");
    cast.attrs["SrcT"] = DataType::kFloat;
    cast.attrs["DstT"] = type;
    cast.attrs["Truncate"] = false;
    cast.inputs = {{share, 0}};
    return {Add(std::move(cast)), 0};
  }

  // One tensor of the replicas' ones.
  enum class Joint : uint8_t {
    kMean,
    kShares,  // all rows, each of which counts as much as in a mean: those of an embedding's gradient
    kRows     // all rows as they are
  };
  Endpoint Join(Endpoint of, Joint joint) {
    const std::tuple key{of.node, of.output, joint};
    if (const auto known = joins_.find(key); known != joins_.end()) return known->second;
    const DataType type = RemoveRef(info_.of(of).dtype);
    const bool rows = joint != Joint::kMean;
    const std::string scope = fmt::format("{}{}_{}/{}", scope_, graph_.node(of.node).name, of.output,
                                          joint == Joint::kRows ? "rows/" : "");
    std::vector<Endpoint> parts;
    for (int r = 0; r < replicas(); ++r) parts.push_back(InReplica(of, r));
    Endpoint joined = rows               ? Rows(of.node, scope, type, std::move(parts))
                      : plan_.accumulate ? GrowingSum(of.node, scope, type, parts)
                                         : Sum(of.node, scope, type, std::move(parts));
    if (joint != Joint::kRows && !IsInteger(type)) {
      if (!IsFloating(type)) Refuse("'{}' is no float", graph_.TensorName(of));
      Node mean = MakeNode(scope + "mean", "Mul");
      SetDevice(of.node, -1, &mean);
      mean.attrs["T"] = type;
      mean.inputs = {joined, Share(scope, type)};
      joined = {Add(std::move(mean)), 0};
    }
    return joins_[key] = joined;
  }

  // Fetches of replicas are joined; a target stands for all its replicas.
  void RenameStep() {
    const auto fetched = [&](const std::string& name) {
      const Endpoint of = graph_.FindEndpoint(name);
      if (role(of.node) != Role::kReplicated) return name;
      const bool scalar = info_.of(of).shape.rank() == 0;
      const NodeId joined = Join(of, scalar ? Joint::kMean : Joint::kRows).node;
      return added_[joined.index() - static_cast<size_t>(num_copied_)].name;
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

  const Graph& graph_;
  const RunSpec& spec_;
  const GraphInfo& info_;
  const ReplicaPlan& plan_;
  const IdVector<NodeId, Role>& role_;  // by node
  const std::string scope_;             // of what is added
  IdVector<NodeId, NodeId> first_;      // by node: itself in the new graph, or its first replica
  std::map<NodeId, NodeId> splits_;     // by fed node
  std::map<std::tuple<NodeId, int, Joint>, Endpoint> joins_;  // by output
  std::set<std::string> sparse_;                              // scopes
  std::vector<Node> added_;
  int num_copied_ = 0;  // nodes of the new graph that are of the old one
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

ReplicatedGraph Replicate(const RewriteInput& input, const ReplicaPlan& plan,
                          const IdVector<NodeId, ReplicaRole>& roles) {
  return Replicator(input, plan, roles).Run();
}

}  // namespace lanescope
