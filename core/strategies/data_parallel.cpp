// One replica of the model for each GPU, each with its part of the batch; variables are shared, gradients are
// averaged before the update (in-graph replication with synchronous updates: TensorFlow's CIFAR-10 tutorial
// cifar10_multi_gpu_train.py, average_gradients; Abadi et al., "TensorFlow: A System for Large-Scale Machine
// Learning", 2016, section 4.4). The mean of the replicas' gradients is the gradient of the whole batch where
// the loss is a mean over it.

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/inputs/step_request.h"
#include "core/schedule/compile/op_traits.h"
#include "core/strategies/graph_strategy.h"

namespace lanescope {
namespace {

constexpr std::string_view kScope = "data_parallel/";

class Replicator {
 public:
  Replicator(const Graph& graph, const RunSpec& spec, const GraphInfo& info, const Machine& machine)
      : graph_(graph),
        spec_(spec),
        info_(info),
        machine_(machine),
        gpus_(machine.Gpus()),
        order_(graph.TopologicalOrder()),
        role_(static_cast<size_t>(graph.num_nodes()), Role::kShared),
        first_(role_.size(), -1) {}

  StepGraph Run() {
    if (gpus_.size() < 2) Refuse("the machine has fewer than two GPUs");
    if (spec_.batch_axis.empty()) Refuse("the run configuration has no batch_axis");
    FindRoles();
    FindSparse();
    for (const auto& [name, axis] : spec_.batch_axis) CheckFeed(name, axis);
    NumberNodes();
    AddSplits();
    for (int id = 0; id < graph_.num_nodes(); ++id) AddCopiesOf(id);
    result_.spec = spec_;
    RenameStep();
    for (Node& node : added_) result_.graph.AddNode(std::move(node));
    result_.graph.extra = graph_.extra;
    CheckShapes();
    return std::move(result_);
  }

 private:
  // Replicated: depends on the batch and comes before the update. Updating: writes variables, serves such
  // nodes alone and stands in the name scope of one, or follows one.
  enum class Role : uint8_t { kShared, kFeed, kReplicated, kUpdating };

  template <typename... Args>
  [[noreturn]] static void Refuse(fmt::format_string<Args...> text, Args&&... args) {
    Throw(Code::kInvalidArgument, "data-parallel: {}", fmt::format(text, std::forward<Args>(args)...));
  }
  int replicas() const { return static_cast<int>(gpus_.size()); }
  Role role(int id) const { return role_[static_cast<size_t>(id)]; }

  void FindRoles() {
    compile::OpTraitsTable traits;
    std::vector<std::string> scopes;
    for (int id = 0; id < graph_.num_nodes(); ++id) {
      const Node& node = graph_.node(id);
      if (!traits.Of(node.op).IsUpdate()) continue;
      role_[static_cast<size_t>(id)] = Role::kUpdating;
      if (const size_t slash = node.name.rfind('/'); slash != std::string::npos)
        scopes.push_back(node.name.substr(0, slash + 1));
    }
    std::sort(scopes.begin(), scopes.end());
    const Fanout fanout = ComputeFanout(graph_);
    for (size_t i = order_.size(); i-- > 0;) {
      const auto users = fanout[order_[i]];
      const bool only_updates =
          !users.empty() && std::all_of(users.begin(), users.end(), [&](const NodeUse& use) {
            return role(use.node) == Role::kUpdating;
          });
      if (only_updates && IsUnder(scopes, graph_.node(order_[i]).name))
        role_[static_cast<size_t>(order_[i])] = Role::kUpdating;
    }
    for (const int id : order_) {
      const Node& node = graph_.node(id);
      const auto follows = [&](int before) { return role(before) == Role::kUpdating; };
      if (std::any_of(node.inputs.begin(), node.inputs.end(), [&](Endpoint e) { return follows(e.node); }) ||
          std::any_of(node.control_inputs.begin(), node.control_inputs.end(), follows))
        role_[static_cast<size_t>(id)] = Role::kUpdating;
    }
    for (const auto& [name, axis] : spec_.batch_axis)
      role_[static_cast<size_t>(graph_.FindEndpoint(name).node)] = Role::kFeed;
    for (const int id : order_) {
      Role& mine = role_[static_cast<size_t>(id)];
      if (mine != Role::kShared) continue;
      const Node& node = graph_.node(id);
      const auto depends = [&](int before) {
        return role(before) == Role::kReplicated || role(before) == Role::kFeed;
      };
      if (std::any_of(node.inputs.begin(), node.inputs.end(), [&](Endpoint e) { return depends(e.node); }) ||
          std::any_of(node.control_inputs.begin(), node.control_inputs.end(), depends))
        mine = Role::kReplicated;
    }
  }

  // Whether the name is in one of the sorted scopes.
  static bool IsUnder(const std::vector<std::string>& scopes, const std::string& name) {
    for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      if (std::binary_search(scopes.begin(), scopes.end(), name.substr(0, slash + 1))) return true;
    }
    return false;
  }

  void CheckFeed(const std::string& name, int axis) const {
    const Endpoint fed = graph_.FindEndpoint(name);
    const Shape& shape = spec_.feeds.at(name).shape;
    if (shape.dim(axis) % replicas() != 0) {
      Refuse("the batch of {} in '{}' cannot be shared out evenly over {} GPUs", shape.dim(axis), name,
             replicas());
    }
    if (fed.output != 0 || graph_.node(fed.node).op != "Placeholder") Refuse("'{}' is no placeholder", name);
  }

  // Nodes of the old graph come first, replicas of one node after the other; then what is added.
  void NumberNodes() {
    int next = 0;
    for (size_t id = 0; id < first_.size(); ++id) {
      first_[id] = next;
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
  int Add(Node node) {
    added_.push_back(std::move(node));
    return num_copied_ + static_cast<int>(added_.size()) - 1;
  }
  int AddConstant(const std::string& name, const Tensor& value) {
    Node node = MakeNode(name, "Const");
    node.attrs["dtype"] = value.dtype();
    node.attrs["value"] = std::make_shared<const TensorAttr>(TensorAttr{value, ""});
    return Add(std::move(node));
  }

  void AddSplits() {
    for (const auto& [name, axis] : spec_.batch_axis) {
      const int fed = graph_.FindEndpoint(name).node;
      const std::string scope = fmt::format("{}{}/", kScope, graph_.node(fed).name);
      const int dimension = AddConstant(scope + "axis", Tensor::Scalar<int32_t>(axis));
      Node split = MakeNode(scope + "split", "Split");
      split.device = "/device:CPU:0";
      split.attrs["T"] = RemoveRef(info_.of({fed, 0}).dtype);
      split.attrs["num_split"] = static_cast<int64_t>(replicas());
      split.inputs = {{dimension, 0}, {first_[static_cast<size_t>(fed)], 0}};
      splits_[fed] = Add(std::move(split));
    }
  }

  void AddCopiesOf(int id) {
    const bool replicated = role(id) == Role::kReplicated;
    for (int r = 0; r < (replicated ? replicas() : 1); ++r) {
      Node node = graph_.node(id);
      if (replicated) {
        node.name = ReplicaName(id, r);
        if (node.device.find("CPU") == std::string::npos && node.device.find("cpu") == std::string::npos)
          node.device = machine_.device(gpus_[static_cast<size_t>(r)]).name;
      }
      RenameColocation(id, r, &node);
      for (Endpoint& input : node.inputs) input = replicated ? InReplica(input, r) : Joined(id, input);
      std::vector<int> controls;
      for (const int control : node.control_inputs) {
        const int first = first_[static_cast<size_t>(control)];
        if (role(control) != Role::kReplicated) {
          controls.push_back(first);
        } else if (replicated) {
          controls.push_back(first + r);
        } else {
          for (int other = 0; other < replicas(); ++other) controls.push_back(first + other);
        }
      }
      node.control_inputs = std::move(controls);
      result_.graph.AddNode(std::move(node));
    }
  }

  std::string ReplicaName(int id, int r) const {
    return fmt::format("replica_{}/{}", r, graph_.node(id).name);
  }

  // A replica stays with replicas of its own, never with a shared variable, and nobody else with one replica.
  void RenameColocation(int id, int r, Node* node) const {
    constexpr std::string_view kPrefix = "loc:@";
    const auto found = node->attrs.find("_class");
    if (found == node->attrs.end()) return;
    const auto* listed = std::get_if<std::vector<std::string>>(&found->second);
    if (listed == nullptr) return;
    std::vector<std::string> kept;
    for (const std::string& text : *listed) {
      const int with = text.starts_with(kPrefix) ? graph_.FindNode(text.substr(kPrefix.size())) : -1;
      const bool of_replicas = with >= 0 && role(with) == Role::kReplicated;
      if (of_replicas != (role(id) == Role::kReplicated)) continue;
      kept.push_back(of_replicas ? std::string(kPrefix) + ReplicaName(with, r) : text);
    }
    kept.empty() ? static_cast<void>(node->attrs.erase("_class")) : static_cast<void>(found->second = kept);
  }

  Endpoint InReplica(Endpoint of, int r) const {
    if (const auto split = splits_.find(of.node); split != splits_.end()) return {split->second, r};
    const int first = first_[static_cast<size_t>(of.node)];
    return {role(of.node) == Role::kReplicated ? first + r : first, of.output};
  }

  // What a node that is no replica reads of the replicas.
  Endpoint Joined(int reader, Endpoint of) {
    if (role(of.node) != Role::kReplicated) return {first_[static_cast<size_t>(of.node)], of.output};
    return Join(of, sparse_.contains(ScopeOf(graph_.node(reader).name)));
  }

  // The update's name scope, or the node itself where it has none.
  static std::string ScopeOf(const std::string& name) {
    const size_t slash = name.rfind('/');
    return slash == std::string::npos ? name : name.substr(0, slash + 1);
  }

  // Updates by rows and their numbers, as those of embeddings: they read integers of a replica.
  void FindSparse() {
    for (int id = 0; id < graph_.num_nodes(); ++id) {
      if (role(id) != Role::kUpdating) continue;
      for (const Endpoint& input : graph_.node(id).inputs) {
        if (role(input.node) == Role::kReplicated && IsInteger(info_.of(input).dtype))
          sparse_.insert(ScopeOf(graph_.node(id).name));
      }
    }
  }
  static bool IsInteger(DataType type) { return type == DataType::kInt32 || type == DataType::kInt64; }

  // One tensor of the replicas' ones: their mean, or all their rows.
  Endpoint Join(Endpoint of, bool rows) {
    const std::pair key{of.node, of.output};
    if (const auto known = joins_.find(key); known != joins_.end()) return known->second;
    const DataType type = RemoveRef(info_.of(of).dtype);
    const std::string scope = fmt::format("{}{}_{}/", kScope, graph_.node(of.node).name, of.output);
    std::vector<Endpoint> parts;
    for (int r = 0; r < replicas(); ++r) parts.push_back(InReplica(of, r));
    Node join = MakeNode(scope + (rows ? "concat" : "sum"), rows ? "ConcatV2" : "AddN");
    join.attrs["T"] = type;
    join.attrs["N"] = static_cast<int64_t>(replicas());
    join.inputs = parts;
    if (rows) {
      join.attrs["Tidx"] = DataType::kInt32;
      join.inputs.push_back({AddConstant(scope + "axis", Tensor::Scalar<int32_t>(0)), 0});
    }
    Endpoint joined{Add(std::move(join)), 0};
    if (!IsInteger(type)) {
      if (type != DataType::kFloat) Refuse("'{}' is no float", graph_.TensorName(of));
      Node mean = MakeNode(scope + "mean", "Mul");
      mean.attrs["T"] = type;
      mean.inputs = {
          joined, {AddConstant(scope + "share", Tensor::Scalar(1.0f / static_cast<float>(replicas()))), 0}};
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
      return added_[static_cast<size_t>(Join(of, !scalar).node - num_copied_)].name;
    };
    for (std::string& name : result_.spec.fetches) name = fetched(name);
    if (!spec_.loss.empty()) result_.spec.loss = fetched(spec_.loss);
    std::vector<std::string> targets;
    for (const std::string& name : spec_.targets) {
      const int id = graph_.FindEndpoint(name).node;
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
      for (int id = 0; id < graph_.num_nodes(); ++id) {
        if (role(id) != Role::kReplicated) continue;
        const auto before = info_.outputs(id), after = rewritten.outputs(first_[static_cast<size_t>(id)]);
        for (size_t k = 0; k < before.size(); ++k) {
          if (!IsPart(before[k].shape, after[k].shape)) {
            Refuse("'{}' has the shape {} in a replica and {} before: the graph fixes the size of its batch",
                   graph_.node(id).name, after[k].shape.ToString(), before[k].shape.ToString());
          }
        }
      }
    } catch (const Error& error) {
      if (error.message().starts_with("data-parallel")) throw;
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
  const Machine& machine_;
  const std::vector<int> gpus_;
  const std::vector<int> order_;
  std::vector<Role> role_;                         // by node
  std::vector<int> first_;                         // by node: itself in the new graph, or its first replica
  std::map<int, int> splits_;                      // by fed node
  std::map<std::pair<int, int>, Endpoint> joins_;  // by output
  std::set<std::string> sparse_;                   // scopes
  std::vector<Node> added_;
  int num_copied_ = 0;  // nodes of the new graph that are of the old one
  StepGraph result_;
};

}  // namespace

StepGraph ReplicateOverBatch(const Graph& graph, const RunSpec& spec, const GraphInfo& info,
                             const Machine& machine) {
  return Replicator(graph, spec, info, machine).Run();
}

}  // namespace lanescope
