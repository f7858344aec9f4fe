// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/split_step.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/strategies/collective_members.h"
#include "core/strategies/colocation.h"
#include "core/strategies/layout_conversions.h"
#include "core/strategies/renamed_run.h"
#include "core/strategies/ring_attention.h"
#include "core/strategies/split_nodes.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {
namespace {

const Shards kNothing;

// Devices that share a model, or a part of it.
struct DeviceGroup {
  DeviceGroup(Graph* graph, StepNodes* added, const std::vector<std::string>& names, const LayoutPlan& plan)
      : devices(names),
        conversions(added, devices, plan.order()),
        nodes(graph, added, &conversions, static_cast<int64_t>(devices.size()), plan.by(), plan.order()) {}

  const std::vector<std::string>& devices;
  LayoutConversions conversions;
  SplitNodes nodes;
};

class SplitWriter {
 public:
  SplitWriter(const RewriteInput& input, const LayoutPlan& plan, const SplitStepNodes& nodes,
              const std::vector<std::vector<std::string>>& groups, const std::vector<Attention>& rings)
      : graph_(input.graph),
        spec_(input.spec),
        info_(input.info),
        plan_(plan),
        step_(nodes.step),
        init_(nodes.init),
        forward_(nodes.forward),
        count_(groups[0].size()),
        added_(&result_.graph, graph_),
        copies_(graph_.num_nodes()) {
    for (const std::vector<std::string>& devices : groups)
      groups_.emplace_back(&result_.graph, &added_, devices, plan_);
    for (const Attention& ring : rings) {
      for (const auto& [id, tensor] : ring.tensors) {
        if (tensor != AttentionTensor::kShape) ring_of_[id] = &ring;
      }
      for (const NodeId end : ring.Ends()) ring_of_[end] = &ring;
    }
  }

  StepGraph Run() {
    result_.spec = spec_;
    for (const NodeId id : graph_.TopologicalOrder()) Write(id);
    RenameStep();
    result_.graph.extra = graph_.extra;
    LANESCOPE_CHECK(trace_.origins.size() == result_.graph.num_nodes());
    return std::move(result_);
  }
  SplitTrace TakeTrace() { return std::move(trace_); }

 private:
  void Write(NodeId id) {
    if ((step_[id] == 0 && init_[id] == 0) || !written_.insert(id).second) return;
    if (const auto ring = ring_of_.find(id); ring != ring_of_.end()) {
      WriteRing(*ring->second, id);
    } else {
      IsOnEveryDevice(id) ? WriteOnDevices(id) : WriteOnce(id);
    }
    NoteOrigins(id);
  }

  // A tensor that is needed before its turn, with all that it needs.
  void WriteBefore(NodeId id) {
    if (written_.contains(id)) return;
    for (const Endpoint& input : graph_.node(id).inputs) WriteBefore(input.node);
    for (const NodeId control : graph_.node(id).control_inputs) WriteBefore(control);
    Write(id);
  }

  // One pass of an attention at its first end.
  void WriteRing(const Attention& ring, NodeId id) {
    const std::vector<NodeId> ends = ring.Ends();
    if (std::ranges::find(ends, id) == ends.end() || !copies_[id].empty()) return;
    const RingStep step{graph_,
                        info_,
                        plan_,
                        &result_.graph,
                        &added_,
                        [&](const Layout& layout, Endpoint of) {
                          WriteBefore(of.node);
                          return In(layout, of);
                        },
                        [&](NodeId of) -> LayoutConversions& { return GroupOf(of).conversions; }};
    auto& writer = written_rings_[&ring];
    const auto note = [&](const std::map<NodeId, Shards>& tensors) {
      for (const auto& [end, shards] : tensors) {
        tensors_[{end, 0, RingAttention::LayoutOf(info_, ring, end), false}] = shards;
        for (const Endpoint& each : shards) copies_[end].push_back(each.node);
      }
    };
    if (!writer) {
      steps_.push_back(step);
      writer = std::make_unique<RingAttention>(steps_.back(), ring, count_, plan_.order());
      note(writer->WriteForward());
      NoteOrigins(ring.result.exists() ? ring.result : ring.softmax);
    }
    if (id != ring.result) note(writer->WriteBackward());
  }

  // Also what writes variables before the first step.
  bool IsOnEveryDevice(NodeId id) const {
    if (step_[id] != 0) return !plan_.IsOnce(id);
    return Updated(id).exists();
  }
  // The variable that an update writes, if that is on every device.
  NodeId Updated(NodeId id) const {
    const OpDef* def = OpRegistry::Global().Find(graph_.node(id).op);
    if (def == nullptr || def->role != StateRole::kUpdate || def->updates.empty()) return {};
    const NodeId variable = graph_.node(id).inputs[static_cast<size_t>(def->updates[0])].node;
    return step_[variable] != 0 && !plan_.IsOnce(variable) ? variable : NodeId();
  }
  const TensorInfo& InfoOf(Endpoint of) const {
    const TensorInfo& info = info_.of(of);
    return info.handle != nullptr ? *info.handle : info;
  }
  size_t GroupIndexOf(NodeId id) const {
    const std::string& device = graph_.node(id).device;
    const auto named =
        std::ranges::find_if(groups_, [&](const DeviceGroup& group) { return group.devices[0] == device; });
    return named != groups_.end() ? static_cast<size_t>(named - groups_.begin()) : 0;
  }
  DeviceGroup& GroupOf(NodeId id) { return groups_[GroupIndexOf(id)]; }
  std::string NameOn(NodeId id, size_t r) const { return fmt::format("rank_{}/{}", r, graph_.node(id).name); }

  Layout LayoutOf(Endpoint of) const { return step_[of.node] != 0 ? plan_.of(of) : kWhole; }

  // Nodes that were added since the last time are of this one.
  void NoteOrigins(NodeId id) {
    const std::vector<std::string>& devices = GroupOf(id).devices;
    while (trace_.origins.size() < result_.graph.num_nodes()) {
      const NodeId written(static_cast<int>(trace_.origins.size()));
      const auto place = std::ranges::find(devices, result_.graph.node(written).device);
      trace_.origins.Add({id, place == devices.end() ? -1 : static_cast<int>(place - devices.begin())});
    }
  }

  // By device. The layouts that a tensor was not made in are made when they are read. What the forward pass
  // gathered of tokens is not kept: the backward pass gathers it again, behind what the first `reader` there
  // waits for (Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022).
  const Shards& In(const Layout& layout, Endpoint of, NodeId reader = NodeId()) {
    const Layout from = LayoutOf(of);
    const bool again = from.parts() && from != layout && GathersAgain(of.node, reader);
    const std::tuple key{of.node, of.output, layout, again};
    if (const auto known = tensors_.find(key); known != tensors_.end()) return known->second;
    std::string scope =
        fmt::format("{}/{}_{}/", StrategyOf(plan_.by()), graph_.node(of.node).name, of.output);
    if (layout.parts()) scope += fmt::format("axis_{}_{}/", layout.axis, layout.segments);
    if (again) scope += "again/";
    if (from.parts() && layout.whole() && IsViewOfParts(of.node))
      return tensors_[key] = ViewOfWhole(scope, of.node, again ? reader : NodeId());
    Shards made = tensors_.at({of.node, of.output, from, false});
    if (again) made = Behind(scope, made, of.node, reader);
    Shards converted = GroupOf(of.node).conversions.Convert(scope, made, InfoOf(of), from, layout);
    NoteOrigins(of.node);
    if (const auto feed = plan_.feeds().find(of.node);
        feed != plan_.feeds().end() && feed->second == layout) {
      for (const Endpoint& part : converted) trace_.tokens[part.node] = graph_.node(of.node).name;
    }
    return tensors_[key] = std::move(converted);
  }

  // --- what is gathered ---

  bool GathersAgain(NodeId of, NodeId reader) const {
    return plan_.by() != SplitBy::kMatrices && reader.exists() && forward_[of] != 0 &&
           forward_[reader] == 0 && GradientOf(reader).exists();
  }
  // A node that one of the backward pass waits for there; none: it has all from the forward pass.
  NodeId GradientOf(NodeId reader) const {
    const auto is_backward = [&](NodeId id) {
      return step_[id] != 0 && forward_[id] == 0 && copies_[id].size() == count_;
    };
    for (const Endpoint& input : graph_.node(reader).inputs) {
      if (is_backward(input.node)) return input.node;
    }
    for (const NodeId control : graph_.node(reader).control_inputs) {
      if (is_backward(control)) return control;
    }
    return {};
  }
  Shards Behind(const std::string& scope, const Shards& tensor, NodeId of, NodeId reader) {
    const NodeId gradient = GradientOf(reader);
    Shards later;
    for (size_t r = 0; r < count_; ++r) {
      NodeBuilder node = GroupOf(of).conversions.New("Identity", scope, "later", r);
      later.push_back(node.Input(tensor[r]).ControlInput(copies_[gradient][r]).Build());
    }
    return later;
  }

  // It gives the elements that it takes, perhaps each several times: its input is gathered, and once for all
  // that look at it.
  bool IsViewOfParts(NodeId id) const {
    static const std::set<std::string_view> kViews = {"Reshape",  "Transpose",  "Squeeze",
                                                      "Identity", "ExpandDims", "BroadcastTo"};
    const Node& node = graph_.node(id);
    if (!kViews.contains(node.op) || plan_.IsOnce(id)) return false;
    return LayoutOf(node.inputs[0]).parts() && GroupIndexOf(node.inputs[0].node) == GroupIndexOf(id);
  }
  Shards ViewOfWhole(const std::string& scope, NodeId id, NodeId reader) {
    std::vector<Shards> inputs;
    for (const Endpoint& input : graph_.node(id).inputs) inputs.push_back(In(kWhole, input, reader));
    Shards views;
    for (size_t r = 0; r < count_; ++r) {
      Node view = graph_.node(id);
      view.name = fmt::format("{}whole_{}", scope, r);
      view.device = GroupOf(id).devices[r];
      view.control_inputs.clear();
      view.attrs.erase("_class");
      for (size_t i = 0; i < inputs.size(); ++i) view.inputs[i] = inputs[i][r];
      views.push_back({result_.graph.AddNode(std::move(view)), 0});
    }
    NoteOrigins(id);
    return views;
  }

  void WriteOnce(NodeId id) {
    Node node = graph_.node(id);
    for (Endpoint& input : node.inputs) input = In(kWhole, input)[0];
    std::vector<NodeId> controls;
    for (const NodeId control : node.control_inputs)
      controls.insert(controls.end(), copies_[control].begin(), copies_[control].end());
    node.control_inputs = std::move(controls);
    RenameColocation(&node, [&](const std::string& name) -> std::optional<std::string> {
      const NodeId with = graph_.FindNode(name);
      return with.exists() && IsOnEveryDevice(with) ? std::nullopt : std::optional(name);
    });
    const NodeId written = result_.graph.AddNode(std::move(node));
    copies_[id] = {written};
    const size_t outputs = std::max<size_t>(info_.outputs(id).size(), 1);
    for (size_t k = 0; k < outputs; ++k) {
      const auto output = static_cast<int>(k);
      tensors_[{id, output, kWhole, false}] = Shards(count_, Endpoint{written, output});
    }
  }

  LayoutChoice ChoiceOf(NodeId id) const {
    if (step_[id] != 0) return plan_.of(id);
    const Node& node = graph_.node(id);
    const NodeId variable = Updated(id);
    const Layout layout = plan_.of({variable, 0});
    LayoutChoice choice{.inputs = {}, .outputs = {layout}};
    for (const Endpoint& input : node.inputs)
      choice.inputs.push_back(InfoOf(input).shape == InfoOf({variable, 0}).shape ? layout : kWhole);
    return choice;
  }

  void WriteOnDevices(NodeId id) {
    const Node& node = graph_.node(id);
    DeviceGroup& group = GroupOf(id);
    LayoutChoice choice = ChoiceOf(id);
    const bool looks_into_ring = ReadsShapeAlone(node) && ring_of_.contains(node.inputs[0].node);
    if (looks_into_ring) choice.inputs[0] = InParts(0);  // which nobody reads
    SplitNode split{.node = node, .inputs = {}, .outputs = {}, .choice = choice, .on_device = {}};
    std::vector<const Shards*> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(looks_into_ring ? &kNothing : &In(choice.inputs[i], node.inputs[i], id));
      split.inputs.push_back(InfoOf(node.inputs[i]));
    }
    for (const TensorInfo& output : info_.outputs(id)) split.outputs.push_back(output);
    for (size_t r = 0; r < count_; ++r) {
      Node& copy = split.on_device.emplace_back(node);
      copy.name = NameOn(id, r);
      copy.device = group.devices[r];
      for (size_t i = 0; i < inputs.size() && !looks_into_ring; ++i) copy.inputs[i] = (*inputs[i])[r];
      copy.control_inputs.clear();
      for (const NodeId control : node.control_inputs) {
        const std::vector<NodeId>& copies = copies_[control];
        if (!copies.empty()) copy.control_inputs.push_back(copies[copies.size() > 1 ? r : 0]);
      }
      RenameColocation(&copy, [&](const std::string& name) -> std::optional<std::string> {
        const NodeId with = graph_.FindNode(name);
        return with.exists() && IsOnEveryDevice(with) ? std::optional(NameOn(with, r)) : std::nullopt;
      });
      if (IsVariableOp(node)) BecomePart(choice.outputs[0], &copy);
      JoinAtPlace(node, r, &copy);
    }
    NoteOrigins(id);
    const std::vector<Shards> outputs = group.nodes.Write(std::move(split));
    for (size_t k = 0; k < outputs.size(); ++k) {
      const Layout layout = k < choice.outputs.size() ? choice.outputs[k] : kWhole;
      tensors_[{id, static_cast<int>(k), layout, false}] = outputs[k];
    }
    for (size_t r = 0; r < count_; ++r) {
      const NodeId copy = result_.graph.FindNode(NameOn(id, r));
      if (copy.exists()) copies_[id].push_back(copy);
    }
  }

  // The devices at one place of several groups have a collective of their own.
  void JoinAtPlace(const Node& node, size_t r, Node* copy) {
    if (node.op == "NcclAllReduce") {
      copy->attrs["shared_name"] = fmt::format("{}/place_{}", node.StringAttr("shared_name", ""), r);
    } else if (HasInstance(node)) {
      const NodeId key = node.inputs[kInstanceInput].node;
      Endpoint& own = instances_[{key, r}];
      if (own.node == NodeId())
        own = added_.NewInstance(
            fmt::format("{}/{}/place_{}", StrategyOf(plan_.by()), graph_.node(key).name, r));
      copy->inputs[kInstanceInput] = own;
    }
  }

  void BecomePart(const Layout& layout, Node* variable) const {
    variable->attrs.erase("_output_shapes");
    variable->attrs["shape"] =
        ShapeAttr{ShapeOnDevice(variable->GetShapeAttr("shape"), layout, static_cast<int64_t>(count_)), ""};
    if (!variable->StringAttr("shared_name", "").empty()) variable->attrs["shared_name"] = variable->name;
  }

  // Fetches are whole tensors of the first device.
  void RenameStep() {
    const auto tensor = [&](Endpoint of) { return result_.graph.TensorName(In(kWhole, of)[0]); };
    const auto nodes = [&](NodeId target) {
      std::vector<std::string> names;
      for (const NodeId copy : copies_[target]) names.push_back(result_.graph.node(copy).name);
      return names;
    };
    RenameRun(graph_, tensor, nodes, &result_.spec);
  }

  const Graph& graph_;
  const RunSpec& spec_;
  const GraphInfo& info_;
  const LayoutPlan& plan_;
  const IdVector<NodeId, char>&step_, &init_, &forward_;
  const size_t count_;  // devices of a group
  StepGraph result_;
  StepNodes added_;
  std::deque<DeviceGroup> groups_;  // whose members refer to each other
  IdVector<NodeId, std::vector<NodeId>> copies_;
  std::set<NodeId> written_;
  std::map<NodeId, const Attention*> ring_of_;
  std::deque<RingStep> steps_;
  std::map<const Attention*, std::unique_ptr<RingAttention>> written_rings_;
  SplitTrace trace_;
  std::map<std::pair<NodeId, size_t>, Endpoint> instances_;          // by key of the model, and place
  std::map<std::tuple<NodeId, int, Layout, bool>, Shards> tensors_;  // the last: gathered again
};

}  // namespace

StepGraph WriteSplitStep(const RewriteInput& input, const LayoutPlan& plan, const SplitStepNodes& nodes,
                         const std::vector<std::vector<std::string>>& groups,
                         const std::vector<Attention>& rings, SplitTrace* trace) {
  SplitWriter writer(input, plan, nodes, groups, rings);
  StepGraph written = writer.Run();
  if (trace != nullptr) *trace = writer.TakeTrace();
  return written;
}

}  // namespace lanescope
