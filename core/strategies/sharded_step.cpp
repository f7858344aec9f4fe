// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/sharded_step.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/graph/op.h"
#include "core/inputs/step_request.h"
#include "core/strategies/block_collectives.h"
#include "core/strategies/block_readers.h"
#include "core/strategies/collective_members.h"
#include "core/strategies/gathered_blocks.h"
#include "core/strategies/needed_nodes.h"
#include "core/strategies/parameter_copies.h"
#include "core/strategies/renamed_run.h"
#include "core/strategies/step_nodes.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {
namespace {

// The pass of what stands once and reads a whole variable.
constexpr int kOnce = BlockReaders::kPasses - 1;

class Writer {
 public:
  Writer(const StepGraph& replicas, const IdVector<NodeId, ShardedNode>& nodes,
         const std::vector<std::vector<std::string>>& devices, const Sharding& sharding)
      : graph_(replicas.graph),
        spec_(replicas.spec),
        info_(InferGraph(graph_, StepRequestOf(graph_, spec_).feeds)),
        nodes_(nodes),
        devices_(devices),
        sharding_(sharding),
        parts_(
            graph_, [this](NodeId id) { return at(id).replica < 0; }, sharding.parts),
        members_(graph_),
        new_ids_(graph_.num_nodes()),
        blocks_(graph_, info_, parts_, nodes_),
        readers_(devices[0].size()),
        added_(&result_.graph, graph_),
        copies_(graph_, parts_, &result_.graph, &added_, fmt::format("{}/", sharding.strategy)),
        over_(devices.size()) {
    for (const std::vector<std::string>& of_place : devices_)
      collectives_.emplace_back(&added_, of_place, sharding.parts);
    FindScattered();
  }

  StepGraph Run() {
    result_.spec = spec_;
    const std::vector<NodeId> order = graph_.TopologicalOrder();
    for (const NodeId id : order) {
      if (sharding_.stage == ZeroStage::kOptimizer && at(id).replica >= 0) WriteWhole(id);
    }
    for (const NodeId id : order) {
      if (!IsLazy(id)) Write(id);
    }
    RenameStep();
    RenewCopies("renewed", {&spec_.targets, &spec_.fetches}, &result_.spec.targets);
    RenewCopies("begun", {&spec_.init}, &result_.spec.init);
    result_.graph.extra = graph_.extra;
    return std::move(result_);
  }

 private:
  size_t count() const { return devices_[0].size(); }
  const ShardedNode& at(NodeId id) const { return nodes_[id]; }
  const std::vector<std::string>& DevicesAt(NodeId id) const {
    return devices_[static_cast<size_t>(at(id).place)];
  }
  BlockCollectives& CollectivesAt(NodeId id) { return collectives_[static_cast<size_t>(at(id).place)]; }
  int64_t ElementsOf(Endpoint of) const {
    const Shape& shape = info_.of(of).shape;
    return shape.known_rank() && shape.IsExact() ? shape.NumElements() : -1;
  }

  // Written whole, or in parts, or not at all, as is asked for.
  bool IsLazy(NodeId id) const {
    if (at(id).added || parts_.IsRead(id)) return true;
    return at(id).updates && IsElementwise(graph_.node(id));
  }
  std::optional<ReplicaTotal> TotalAt(NodeId id) const {
    return at(id).added ? TotalOfReplicas(graph_, id, count()) : std::nullopt;
  }
  // By replica, what a total is of.
  const std::vector<Endpoint>& TensorsOf(NodeId id) const { return graph_.node(TotalAt(id)->sum).inputs; }

  // --- nodes as they were ---

  void Write(NodeId id) {
    if (shards_.contains({id, 0})) return;  // something before it has asked for its parts
    if (parts_.IsVariable(id)) {
      WriteVariable(id);
    } else if (const NodeId variable = parts_.UpdatedBy(id); variable.exists()) {
      shards_[{id, 0}] = CopyInParts(id, graph_.node(variable).GetShapeAttr("shape").NumElements());
    } else {
      WriteWhole(id);
    }
  }

  NodeId WriteWhole(NodeId id) {
    if (new_ids_[id].exists()) return new_ids_[id];
    Node node = graph_.node(id);
    const ShardedNode kind = at(id);
    std::set<std::string> blocks;
    for (Endpoint& input : node.inputs) {
      if (kind.replica >= 0 && parts_.Has(input.node))
        blocks.insert(BlockOf(parts_.NameOfVariable(input.node)));
      input = Whole(input, kind);
    }
    node.control_inputs = ControlsOf(id, -1);
    parts_.DropColocation(-1, &node);
    const NodeId written = result_.graph.AddNode(std::move(node));
    for (const std::string& block : blocks)
      readers_.Note(block, kind.pass, static_cast<size_t>(kind.replica), written);
    new_ids_[id] = written;
    for (const NodeId member : members_.Of(id)) WriteWhole(member);
    return written;
  }

  Endpoint Whole(Endpoint of, const ShardedNode& reader) {
    if (!parts_.Has(of.node)) return {WriteWhole(of.node), of.output};
    if (sharding_.stage != ZeroStage::kParameters && reader.replica >= 0 && parts_.IsReadAnyTime(of.node))
      return copies_.Of(of, DevicesAt(of.node))[static_cast<size_t>(reader.replica)];
    return Gathered(
        of, reader.replica < 0 ? kOnce : reader.pass)[static_cast<size_t>(std::max(reader.replica, 0))];
  }

  // `part`: of a node in parts; -1: of a whole one, which waits for all parts.
  std::vector<NodeId> ControlsOf(NodeId id, int part) {
    std::vector<NodeId> controls;
    for (const NodeId control : graph_.node(id).control_inputs) {
      if (!parts_.Has(control)) {
        controls.push_back(WriteWhole(control));
        continue;
      }
      const Shards& parts = ShardsOf({control, 0});
      for (size_t r = 0; r < count(); ++r) {
        if (part < 0 || static_cast<size_t>(part) == r) controls.push_back(parts[r].node);
      }
    }
    return controls;
  }

  // --- parts ---

  // The node's copy for a part, without inputs.
  Node PartOf(NodeId id, size_t r) {
    Node node = graph_.node(id);
    node.name = fmt::format("{}/shard_{}", node.name, r);
    node.device = DevicesAt(id)[r];
    node.attrs.erase("_output_shapes");
    if (IsFusedUpdate(node)) {
      const int64_t elements = graph_.node(parts_.UpdatedBy(id)).GetShapeAttr("shape").NumElements();
      ShareFusedUpdate(elements, static_cast<int64_t>(sharding_.parts), &node);
    }
    node.control_inputs = ControlsOf(id, static_cast<int>(r));
    parts_.DropColocation(static_cast<int>(r), &node);
    node.inputs.clear();
    return node;
  }

  void WriteVariable(NodeId id) {
    const int64_t elements = graph_.node(id).GetShapeAttr("shape").NumElements();
    Shards parts;
    for (size_t r = 0; r < count(); ++r) {
      Node node = PartOf(id, r);
      node.attrs["shape"] = ShapeAttr{Shape{elements / static_cast<int64_t>(sharding_.parts)}, ""};
      if (!node.StringAttr("shared_name", "").empty()) node.attrs["shared_name"] = node.name;
      parts.push_back({result_.graph.AddNode(std::move(node)), 0});
    }
    shards_[{id, 0}] = std::move(parts);
  }

  // A variable itself, a part of what has as many elements, or a number for all of them.
  Endpoint PartOfInput(Endpoint input, int64_t elements, size_t r) {
    if (parts_.IsVariable(input.node)) return ShardsOf(input)[r];
    return ElementsOf(input) == elements ? ShardsOf(input)[r] : Whole(input, {});
  }

  const Shards& ShardsOf(Endpoint of) {
    const std::pair key{of.node, of.output};
    if (const auto known = shards_.find(key); known != shards_.end()) return known->second;
    if (parts_.UpdatedBy(of.node).exists() || parts_.IsVariable(of.node)) {
      Write(of.node);
      return shards_.at(key);
    }
    Shards parts = parts_.IsRead(of.node) ? CopyInParts(of.node, ElementsOf(of))
                   : TotalAt(of.node)     ? Scattered(of.node)
                   : IsCopiedInParts(of)  ? CopyInParts(of.node, ElementsOf(of))
                                          : Split(of);
    return shards_[key] = std::move(parts);
  }

  // Element by element, of tensors that are there in parts or of numbers.
  bool IsCopiedInParts(Endpoint of) const {
    const Node& node = graph_.node(of.node);
    if (!at(of.node).updates || !IsElementwise(node) || of.output != 0) return false;
    bool any = false;
    for (const Endpoint& input : node.inputs) {
      const int64_t elements = ElementsOf(input);
      if (elements == 1) continue;
      if (elements != ElementsOf(of) || info_.of(input).shape != info_.of(of).shape) return false;
      any = true;
    }
    return any;
  }
  // `elements`: of what the node computes or updates as a whole.
  Shards CopyInParts(NodeId id, int64_t elements) {
    Shards parts;
    for (size_t r = 0; r < count(); ++r) {
      Node node = PartOf(id, r);
      for (const Endpoint& input : graph_.node(id).inputs)
        node.inputs.push_back(PartOfInput(input, elements, r));
      parts.push_back({result_.graph.AddNode(std::move(node)), 0});
    }
    return parts;
  }

  Shards Split(Endpoint of) {
    const NodeId split = added_.SplitFlat(ScopeOf(of), Whole(of, {}), static_cast<int64_t>(sharding_.parts));
    Shards parts;
    for (size_t r = 0; r < count(); ++r) parts.push_back({split, static_cast<int>(r % sharding_.parts)});
    return parts;
  }

  // --- gradients ---

  // Totals that updates of one block's variables read in parts, at first or after arithmetic in parts.
  void FindScattered() {
    for (const NodeId id : graph_.TopologicalOrder()) {
      const NodeId variable = parts_.UpdatedBy(id);
      if (!variable.exists()) continue;
      const int64_t elements = graph_.node(variable).GetShapeAttr("shape").NumElements();
      std::vector<Endpoint> open = graph_.node(id).inputs;
      while (!open.empty()) {
        const Endpoint of = open.back();
        open.pop_back();
        if (ElementsOf(of) != elements || parts_.Has(of.node) || summed_with_.contains(of.node)) continue;
        if (const auto total = TotalAt(of.node)) {
          const std::string block = BlockOf(graph_.node(variable).name);
          auto& together = summed_together_[{block, RemoveRef(info_.of(of).dtype), total->total}];
          together.push_back(of.node);
          summed_with_[of.node] = &together;
        } else if (IsCopiedInParts(of)) {
          const std::vector<Endpoint>& inputs = graph_.node(of.node).inputs;
          open.insert(open.end(), inputs.begin(), inputs.end());
        }
      }
    }
  }

  // The total of the replicas' tensors, part r on device r.
  Shards Scattered(NodeId total) {
    const auto together = summed_with_.find(total);
    Scatter(together != summed_with_.end() ? *together->second : std::vector{total});
    return shards_.at({total, 0});
  }

  // All are sums, or all are means.
  void Scatter(const std::vector<NodeId>& totals) {
    std::vector<Shards> tensors;
    std::vector<int64_t> elements;
    for (const NodeId total : totals) {
      Shards& own = tensors.emplace_back();
      for (const Endpoint of : TensorsOf(total)) own.push_back(Whole(of, at(of.node)));
      elements.push_back(ElementsOf({total, 0}));
    }
    const NodeId id = totals[0];
    std::vector<Shards> parts =
        CollectivesAt(id).Scatter(ScopeOf({id, 0}), TotalAt(id)->total, tensors, elements, OverAt(id));
    for (size_t i = 0; i < totals.size(); ++i) shards_[{totals[i], 0}] = std::move(parts[i]);
  }

  // By device: where the backward pass is over, which all gradients that are scattered wait for; or none.
  const std::vector<NodeId>& OverAt(NodeId mean) {
    std::vector<NodeId>& over = over_[static_cast<size_t>(at(mean).place)];
    if (!over.empty()) return over;
    over.resize(count());
    if (sharding_.stage != ZeroStage::kOptimizer) return over;
    for (size_t r = 0; r < count(); ++r) {
      NodeBuilder all = added_.New(
          "NoOp", fmt::format("{}/over_{}_{}", sharding_.strategy, at(mean).place, r), DevicesAt(mean)[r]);
      for (const auto& [each, together] : summed_with_) {
        const Endpoint gradient = TensorsOf(each)[r];
        if (at(each).place == at(mean).place) all.ControlInput(Whole(gradient, at(gradient.node)));
      }
      over[r] = all.Build().node;
    }
    return over;
  }

  // --- variables ---

  // Whole on every device, of parts: with all of its block that are read in the pass, as one flat parameter.
  const Shards& Gathered(Endpoint of, int pass) {
    const std::tuple key{of.node, of.output, pass};
    if (const auto known = gathered_.find(key); known != gathered_.end()) return known->second;
    Gather(blocks_.With(of, pass), pass);
    return gathered_.at(key);
  }

  void Gather(const std::vector<Endpoint>& all, int pass) {
    const std::string block = BlockOf(parts_.NameOfVariable(all[0].node));
    std::vector<Shards> parts;
    std::vector<Shape> shapes;
    std::vector<NodeId> after;
    for (const Endpoint& of : all) {
      parts.push_back(ShardsOf(of));
      shapes.push_back(info_.of(of).shape);
    }
    for (size_t r = 0; r < count(); ++r) after.push_back(readers_.Before(block, pass, r));
    std::vector<Shards> whole =
        CollectivesAt(all[0].node)
            .Gather(fmt::format("{}pass_{}/", ScopeOf(all[0]), pass), parts, shapes, after);
    for (size_t i = 0; i < all.size(); ++i)
      gathered_[{all[i].node, all[i].output, pass}] = std::move(whole[i]);
  }

  std::string ScopeOf(Endpoint of) const {
    return fmt::format("{}/{}_{}/", sharding_.strategy, graph_.node(of.node).name, of.output);
  }

  // Where these need updates of variables that have copies, the copies are made again after them.
  void RenewCopies(const std::string& name, const std::vector<const std::vector<std::string>*>& asked,
                   std::vector<std::string>* targets) {
    std::vector<ParameterCopies::Renewal> renewals;
    for (const auto& [variable, updates] :
         copies_.UpdatesAmong(NeededBy(graph_, spec_, NodesOf(graph_, asked)))) {
      ParameterCopies::Renewal& renewal = renewals.emplace_back();
      renewal = {variable, at(variable).place, ShardsOf({variable, 0}), {}};
      for (const NodeId update : updates) renewal.updates.push_back(ShardsOf({update, 0}));
    }
    copies_.Renew(name, renewals, &collectives_, targets);
  }

  // --- the step ---

  void RenameStep() {
    const auto tensor = [&](Endpoint of) { return result_.graph.TensorName(Whole(of, {})); };
    const auto nodes = [&](NodeId target) {
      if (!parts_.Has(target)) return std::vector{result_.graph.node(WriteWhole(target)).name};
      std::vector<std::string> names;
      for (const Endpoint& part : ShardsOf({target, 0})) names.push_back(result_.graph.node(part.node).name);
      return names;
    };
    RenameRun(graph_, tensor, nodes, &result_.spec);
  }

  const Graph& graph_;
  const RunSpec& spec_;
  const GraphInfo info_;
  const IdVector<NodeId, ShardedNode>& nodes_;
  const std::vector<std::vector<std::string>>& devices_;
  const Sharding sharding_;
  const VariablesInParts parts_;
  const CollectiveMembers members_;   // a collective is written whole or not at all
  IdVector<NodeId, NodeId> new_ids_;  // of what is written whole
  std::map<std::pair<NodeId, int>, Shards> shards_;
  std::map<std::tuple<NodeId, int, int>, Shards> gathered_;  // by output and pass
  const GatheredBlocks blocks_;
  std::map<std::tuple<std::string, DataType, Total>, std::vector<NodeId>> summed_together_;  // by block
  std::map<NodeId, const std::vector<NodeId>*> summed_with_;
  BlockReaders readers_;
  StepGraph result_;
  StepNodes added_;
  std::vector<BlockCollectives> collectives_;  // by place
  ParameterCopies copies_;
  std::vector<std::vector<NodeId>> over_;  // by place and device
};

}  // namespace

StepGraph WriteShardedStep(const StepGraph& replicas, const IdVector<NodeId, ShardedNode>& nodes,
                           const std::vector<std::vector<std::string>>& devices, const Sharding& sharding) {
  return Writer(replicas, nodes, devices, sharding).Run();
}

}  // namespace lanescope
