// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/expert_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/nearest_number.h"
#include "core/strategies/colocation.h"
#include "core/strategies/expert_stacks.h"
#include "core/strategies/layout_lookups.h"
#include "core/strategies/renamed_run.h"
#include "core/strategies/step_nodes.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {
namespace {

constexpr const char* kScope = "expert-parallel/";

class Splitter {
 public:
  Splitter(const Graph& graph, const RunSpec& spec, const GraphInfo& info, int parts)
      : graph_(graph),
        spec_(spec),
        info_(info),
        parts_(parts),
        stacks_(graph, info),
        whole_(graph.num_nodes()),
        added_(&result_.graph, graph_) {}

  ExpertParts Run() {
    CheckExperts();
    for (const NodeId id : graph_.TopologicalOrder()) {
      if (stacks_.IsUpdate(id)) PartsOf({id, 0});
      if (!stacks_.IsInParts(id) && !stacks_.IsUpdate(id) && !stacks_.IsJoined(id)) Whole({id, 0});
    }
    RenameStep();
    result_.graph.extra = graph_.extra;
    TakeServants();
    return std::move(result_);
  }

 private:
  using Parts = std::vector<Endpoint>;

  void CheckExperts() const {
    if (stacks_.empty()) {
      Throw(Code::kInvalidArgument,
            "expert-parallel: the graph has no experts: no variable of which products take one matrix after "
            "the "
            "other; take data-parallel");
    }
    const NodeId odd = stacks_.FindOdd(parts_);
    if (!odd.exists()) return;
    const int64_t experts = stacks_.ExpertsOf(odd);
    Throw(Code::kInvalidArgument,
          "expert-parallel: the {} experts of '{}' cannot be shared out evenly over {} GPUs; the nearest "
          "number "
          "that divides them is {}",
          experts, graph_.node(odd).name, parts_, NearestDivisor(experts, parts_));
  }

  NodeId Add(Node node, int part) {
    const NodeId id = result_.graph.AddNode(std::move(node));
    Label(id, part);
    return id;
  }
  void Label(NodeId id, int part) {
    while (result_.part.size() <= id.index()) result_.part.Add(-1);
    result_.part[id] = part;
  }
  int LabelOf(NodeId id) const { return id.index() < result_.part.size() ? result_.part[id] : -1; }
  bool HasParts(NodeId id) const { return stacks_.IsInParts(id) || stacks_.IsUpdate(id); }

  // --- whole nodes ---

  Endpoint Whole(Endpoint of) {
    if (HasParts(of.node)) return Joined(of);
    if (!whole_[of.node].exists()) WriteWhole(of.node);
    return {whole_[of.node], of.output};
  }

  void WriteWhole(NodeId id) {
    const auto expert = stacks_.ExpertTaken(id);
    if (expert && stacks_.IsInParts(graph_.node(id).inputs[0].node)) return WriteTaking(id, *expert);
    Node node = graph_.node(id);
    for (Endpoint& input : node.inputs) input = Whole(input);
    node.control_inputs = ControlsOf(id, -1);
    DropColocation(-1, &node);
    if (node.op == "AddN") {
      node.inputs = SumsOfParts(node);
      node.attrs["N"] = static_cast<int64_t>(node.inputs.size());
    }
    const int part = PartOfAll(node.inputs);
    whole_[id] = Add(std::move(node), part);
  }

  // The part that all inputs of parts are of.
  int PartOfAll(const std::vector<Endpoint>& inputs) const {
    std::set<int> parts;
    for (const Endpoint& input : inputs) {
      if (const int part = LabelOf(input.node); part >= 0) parts.insert(part);
    }
    return parts.size() == 1 ? *parts.begin() : -1;
  }

  // Each part's terms of a sum, added up there, so that it crosses the GPUs once.
  std::vector<Endpoint> SumsOfParts(const Node& sum) {
    std::vector<Endpoint> terms;
    std::vector<Parts> by_part(static_cast<size_t>(parts_));
    for (const Endpoint& input : sum.inputs) {
      const int part = LabelOf(input.node);
      if (part < 0) terms.push_back(input);
      if (part >= 0) by_part[static_cast<size_t>(part)].push_back(input);
    }
    const auto has_all = [&](const Parts& own) { return own.size() == sum.inputs.size(); };
    if (has_all(terms) || std::ranges::any_of(by_part, has_all)) return sum.inputs;
    for (size_t part = 0; part < by_part.size(); ++part) {
      const Parts& own = by_part[part];
      if (own.size() < 2) {
        terms.insert(terms.end(), own.begin(), own.end());
        continue;
      }
      const Endpoint joined =
          added_.New("AddN", fmt::format("{}/part_{}", sum.name, part), sum.device).Inputs(own).Build();
      Label(joined.node, static_cast<int>(part));
      terms.push_back(joined);
    }
    return terms;
  }

  // The slice of one expert, from the part that has it.
  void WriteTaking(NodeId id, int64_t expert) {
    const Endpoint stack = graph_.node(id).inputs[0];
    const int64_t own = info_.of(stack).shape.dim(0) / parts_, part = expert / own;
    Node node = graph_.node(id);
    node.inputs[0] = PartsOf(stack)[static_cast<size_t>(part)];
    for (const size_t bound : {size_t{1}, size_t{2}}) {
      const TensorInfo& before = info_.of(graph_.node(id).inputs[bound]);
      std::vector<int64_t> numbers = *NumbersOf(before);
      numbers[0] -= part * own;
      const std::string name = fmt::format("{}{}/bound_{}", kScope, node.name, bound);
      node.inputs[bound] = NumbersLike(name, numbers, before.dtype);
    }
    for (size_t i = 3; i < node.inputs.size(); ++i) node.inputs[i] = Whole(node.inputs[i]);
    node.control_inputs = ControlsOf(id, static_cast<int>(part));
    DropColocation(-1, &node);
    whole_[id] = Add(std::move(node), static_cast<int>(part));
  }

  Endpoint NumbersLike(const std::string& name, const std::vector<int64_t>& numbers, DataType type) {
    if (type == DataType::kInt64) return added_.Numbers(name, numbers);
    const std::vector<int32_t> narrow(numbers.begin(), numbers.end());
    return added_.Constant(name, Tensor::FromValues(Shape{static_cast<Dim>(numbers.size())}, narrow));
  }

  // --- nodes with parts ---

  const Parts& PartsOf(Endpoint of) {
    const std::pair key{of.node, of.output};
    if (const auto known = made_.find(key); known != made_.end()) return known->second;
    Parts parts = HasParts(of.node)           ? Copies(of.node)
                  : stacks_.IsJoined(of.node) ? JoinedExperts(of.node)
                                              : Split(of);
    return made_[key] = std::move(parts);
  }

  std::string NameOf(NodeId id, int part) const {
    return fmt::format("{}/part_{}", graph_.node(id).name, part);
  }

  Parts Copies(NodeId id) {
    const Shape shape = ShapeOf(id);
    Parts copies;
    for (int part = 0; part < parts_; ++part) {
      Node node = graph_.node(id);
      node.name = NameOf(id, part);
      node.attrs.erase("_output_shapes");
      if (stacks_.IsVariable(id)) BecomePart(&node);
      for (Endpoint& input : node.inputs) {
        const bool in_parts = HasParts(input.node) || info_.of(input).shape == shape;
        input = in_parts ? PartsOf(input)[static_cast<size_t>(part)] : Whole(input);
      }
      node.control_inputs = ControlsOf(id, part);
      DropColocation(part, &node);
      copies.push_back({Add(std::move(node), part), 0});
    }
    return copies;
  }
  // The shape that the node gives, or updates.
  Shape ShapeOf(NodeId id) const {
    if (!stacks_.IsUpdate(id)) return stacks_.IsVariable(id) ? Shape() : info_.of({id, 0}).shape;
    return graph_.node(graph_.node(id).inputs[0].node).GetShapeAttr("shape");
  }
  void BecomePart(Node* variable) const {
    Shape shape = variable->GetShapeAttr("shape");
    shape.set_dim(0, shape.dim(0) / parts_);
    variable->attrs["shape"] = ShapeAttr{shape, ""};
    if (!variable->StringAttr("shared_name", "").empty()) variable->attrs["shared_name"] = variable->name;
  }

  // A join of one tensor for each expert, of a part's experts.
  Parts JoinedExperts(NodeId id) {
    const Node& join = graph_.node(id);
    const size_t own = join.inputs.size() / static_cast<size_t>(parts_);
    Parts parts;
    for (int part = 0; part < parts_; ++part) {
      Node node = join;
      node.name = NameOf(id, part);
      node.attrs.erase("_output_shapes");
      node.attrs["N"] = static_cast<int64_t>(own);
      node.inputs.clear();
      for (size_t i = 0; i < own; ++i)
        node.inputs.push_back(Whole(join.inputs[static_cast<size_t>(part) * own + i]));
      node.control_inputs = ControlsOf(id, part);
      parts.push_back({Add(std::move(node), part), 0});
    }
    return parts;
  }

  Parts Split(Endpoint of) {
    const std::string scope = fmt::format("{}{}_{}/", kScope, graph_.node(of.node).name, of.output);
    NodeBuilder split = added_.New("Split", scope + "split", "");
    const Endpoint axis = added_.Number(scope + "axis", 0), whole = Whole(of);
    const NodeId made = split.Input(axis).Input(whole).Attr("num_split", int64_t{parts_}).Build().node;
    Parts parts;
    for (int part = 0; part < parts_; ++part) parts.push_back({made, part});
    return parts;
  }

  // The parts of a node, one behind the other.
  Endpoint Joined(Endpoint of) {
    if (const auto known = joined_.find(of.node); known != joined_.end()) return known->second;
    const std::string scope = fmt::format("{}{}_{}/", kScope, graph_.node(of.node).name, of.output);
    const Endpoint axis = added_.Number(scope + "first", 0);
    const Parts parts = PartsOf(of);
    return joined_[of.node] = added_.New("ConcatV2", scope + "whole", "").Inputs(parts).Input(axis).Build();
  }

  // `part`: of a node that has parts; -1: of a whole one, which waits for all.
  std::vector<NodeId> ControlsOf(NodeId id, int part) {
    std::vector<NodeId> controls;
    for (const NodeId control : graph_.node(id).control_inputs) {
      if (!HasParts(control)) {
        controls.push_back(Whole({control, 0}).node);
        continue;
      }
      const Parts& parts = PartsOf({control, 0});
      for (int p = 0; p < parts_; ++p) {
        if (part < 0 || part == p) controls.push_back(parts[static_cast<size_t>(p)].node);
      }
    }
    return controls;
  }
  void DropColocation(int part, Node* node) const {
    RenameColocation(node, [&](const std::string& name) -> std::optional<std::string> {
      const NodeId with = graph_.FindNode(name);
      if (!with.exists() || !HasParts(with)) return part < 0 ? std::optional(name) : std::nullopt;
      return part < 0 ? std::nullopt : std::optional(NameOf(with, part));
    });
  }

  // --- the step ---

  void RenameStep() {
    const auto tensor = [&](Endpoint of) { return result_.graph.TensorName(Whole(of)); };
    const auto nodes = [&](NodeId target) {
      if (!HasParts(target)) return std::vector{result_.graph.node(Whole({target, 0}).node).name};
      std::vector<std::string> names;
      for (const Endpoint& part : PartsOf({target, 0})) names.push_back(result_.graph.node(part.node).name);
      return names;
    };
    result_.spec = spec_;
    RenameRun(graph_, tensor, nodes, &result_.spec);
  }

  // A node that nodes of one part alone need is of that part: what a product of an expert takes of the
  // tokens.
  void TakeServants() {
    while (result_.part.size() < result_.graph.num_nodes()) result_.part.Add(-1);
    const Fanout fanout = ComputeFanout(result_.graph);
    std::vector<NodeId> order = result_.graph.TopologicalOrder();
    std::ranges::reverse(order);
    for (const NodeId id : order) {
      const Node& node = result_.graph.node(id);
      if (result_.part[id] >= 0 || node.inputs.empty() || fanout[id].empty()) continue;
      const int part = result_.part[fanout[id][0].node];
      if (std::ranges::all_of(fanout[id], [&](const NodeUse& use) { return result_.part[use.node] == part; }))
        result_.part[id] = part;
    }
  }

  const Graph& graph_;
  const RunSpec& spec_;
  const GraphInfo& info_;
  const int parts_;
  const ExpertStacks stacks_;
  IdVector<NodeId, NodeId> whole_;
  std::map<std::pair<NodeId, int>, Parts> made_;
  std::map<NodeId, Endpoint> joined_;
  ExpertParts result_;
  StepNodes added_;
};

}  // namespace

ExpertParts SplitExperts(const Graph& graph, const RunSpec& spec, const GraphInfo& info, int parts) {
  return Splitter(graph, spec, info, parts).Run();
}

}  // namespace lanescope
