// SPDX-License-Identifier: Apache-2.0
// Shapes, dtypes and constant values of a whole graph, in one pass over its topological order.
#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "core/graph/infer_node.h"
#include "core/graph/op.h"
#include "core/graph/output_types.h"

namespace lanescope {
namespace {

using Feeds = std::vector<std::pair<Endpoint, TensorInfo>>;

// Rules throw without knowing the node; everything that leaves here names it.
[[noreturn]] void RethrowNaming(const Node& node, const Error& error) {
  if (error.message().starts_with("node '")) throw error;
  Throw(error.code(), "node '{}': {}: {}", node.name, node.op, error.message());
}

// The attribute that TensorFlow's exporter writes, or that loops and branches have. Of a node with a
// definition it is not read: the definition knows better.
void ShapesFromAttr(const Node& node, std::span<TensorInfo> outputs) {
  const AttrValue* attr = node.FindAttr("_output_shapes");
  if (attr == nullptr) attr = node.FindAttr("output_shapes");
  const auto* shapes = attr == nullptr ? nullptr : std::get_if<std::vector<ShapeAttr>>(attr);
  if (shapes == nullptr) return;
  for (size_t i = 0; i < std::min(outputs.size(), shapes->size()); ++i) outputs[i].shape = (*shapes)[i].shape;
}

class GraphInference {
 public:
  GraphInference(const Graph& graph, const Feeds& feeds) : graph_(graph), feeds_(feeds) {}

  void Run(std::vector<int>* first, std::vector<TensorInfo>* infos) {
    Layout(first, infos);
    SortFeeds(*first);
    for (const NodeId id : graph_.TopologicalOrder()) {
      try {
        InferNode(id, *first, infos);
      } catch (const Error& error) {
        RethrowNaming(graph_.node(id), error);
      }
    }
  }

 private:
  // Numbers all outputs and sets their dtypes.
  void Layout(std::vector<int>* first, std::vector<TensorInfo>* infos) {
    defs_.reserve(graph_.num_nodes());
    const OpRegistry& registry = OpRegistry::Global();
    for (const Node& node : graph_.nodes()) defs_.Add(registry.Find(node.op));
    for (const auto& [id, problem] : graph_.problems) defs_[id] = nullptr;
    GraphOutputTypes outputs = CollectOutputTypes(graph_);
    *first = std::move(outputs.first);
    infos->resize(outputs.types.size());
    for (size_t i = 0; i < infos->size(); ++i) (*infos)[i].dtype = RemoveRef(outputs.types[i]);
  }

  void SortFeeds(const std::vector<int>& first) {
    for (const auto& [endpoint, info] : feeds_) {
      if (!graph_.Contains(endpoint.node)) {
        Throw(Code::kInvalidArgument, "a feed for node number {}, which is not in the graph",
              endpoint.node.number());
      }
      const auto node = endpoint.node.index();
      if (endpoint.output < 0 || endpoint.output >= first[node + 1] - first[node]) {
        Throw(Code::kInvalidArgument, "a feed for output {} of node '{}', which has {} outputs",
              endpoint.output, graph_.node(endpoint.node).name, first[node + 1] - first[node]);
      }
      fed_.emplace_back(endpoint.node, &info);
      outputs_.push_back(endpoint.output);
    }
    has_feed_.assign(fed_.empty() ? 0 : graph_.num_nodes(), false);
    for (const auto& [node, info] : fed_) has_feed_[node] = true;
  }

  void InferNode(NodeId id, const std::vector<int>& first, std::vector<TensorInfo>* infos) {
    const Node& node = graph_.node(id);
    const auto begin = static_cast<size_t>(first[id.index()]);
    const auto end = static_cast<size_t>(first[id.index() + 1]);
    const std::span<TensorInfo> outputs(infos->data() + begin, end - begin);
    const OpDef* def = defs_[id];
    const bool fed = !has_feed_.empty() && has_feed_[id];
    if (def == nullptr) {
      ShapesFromAttr(node, outputs);
    } else if (def->infer != nullptr) {
      GatherInputs(node, *def, first, *infos);
      InferenceContext context(node, inputs_, outputs);
      def->infer(context);
      if (WaitsForUpdate(node)) {
        for (TensorInfo& output : outputs) output.value = nullptr;
      }
    }
    if (fed) ApplyFeeds(node, id, outputs);
  }

  // Whether a node waits for an update, such as a counter that may end the step: it runs, then, known or not.
  bool WaitsForUpdate(const Node& node) const {
    if (node.control_inputs.empty() || node.op == "Const") return false;
    return std::ranges::any_of(node.control_inputs, [this](NodeId control) {
      return defs_[control] != nullptr && defs_[control]->role == StateRole::kUpdate;
    });
  }

  void GatherInputs(const Node& node, const OpDef& def, const std::vector<int>& first,
                    const std::vector<TensorInfo>& infos) {
    inputs_.clear();
    for (const Endpoint& input : node.inputs) {
      const auto source = input.node.index();
      if (input.output < 0 || input.output >= first[source + 1] - first[source]) {
        Throw(Code::kInvalidArgument, "node '{}': input '{}:{}' does not exist; '{}' has {} outputs",
              node.name, graph_.node(input.node).name, input.output, graph_.node(input.node).name,
              first[source + 1] - first[source]);
      }
      inputs_.push_back(infos[static_cast<size_t>(first[source] + input.output)]);
    }
    // Rules index their inputs without asking how many there are.
    const size_t expected = InputCount(node, def);
    if (inputs_.size() != expected) {
      Throw(Code::kInvalidArgument, "node '{}': {} takes {} inputs, not {}", node.name, node.op, expected,
            inputs_.size());
    }
  }

  static size_t InputCount(const Node& node, const OpDef& def) {
    const bool simple = std::ranges::all_of(
        def.inputs, [](const ArgDef& arg) { return arg.number_attr.empty() && arg.type_list_attr.empty(); });
    return simple ? def.inputs.size() : InputTypes(node).size();
  }

  void ApplyFeeds(const Node& node, NodeId id, std::span<TensorInfo> outputs) {
    for (size_t i = 0; i < fed_.size(); ++i) {
      if (fed_[i].first != id) continue;
      TensorInfo& output = outputs[static_cast<size_t>(outputs_[i])];
      const TensorInfo& feed = *fed_[i].second;
      if (feed.dtype != DataType::kInvalid && feed.dtype != output.dtype) {
        Throw(Code::kInvalidArgument, "fed with dtype {}, expected {}", DataTypeName(feed.dtype),
              DataTypeName(output.dtype));
      }
      // Only a placeholder promises a shape; any other output may be replaced by whatever its users take.
      if (node.op.starts_with("Placeholder") && node.op != "PlaceholderWithDefault") {
        MergeShapes(output.shape, feed.shape);
      }
      const DataType dtype = output.dtype;
      output = feed;
      output.dtype = dtype;
    }
  }

  const Graph& graph_;
  const Feeds& feeds_;
  IdVector<NodeId, const OpDef*> defs_;
  std::vector<std::pair<NodeId, const TensorInfo*>> fed_;
  std::vector<int> outputs_;
  IdVector<NodeId, bool> has_feed_;
  std::vector<TensorInfo> inputs_;  // of the current node; kept for its memory
};

}  // namespace

std::vector<TensorInfo> InferNode(const Node& node, std::span<const TensorInfo> inputs) {
  std::vector<TensorInfo> outputs;
  for (const DataType type : OutputTypes(node)) outputs.emplace_back().dtype = RemoveRef(type);
  const OpDef* def = OpRegistry::Global().Find(node.op);
  if (def == nullptr) {
    ShapesFromAttr(node, outputs);
    return outputs;
  }
  if (def->infer == nullptr) return outputs;
  try {
    InferenceContext context(node, inputs, outputs);
    def->infer(context);
  } catch (const Error& error) {
    RethrowNaming(node, error);
  }
  return outputs;
}

GraphInfo InferGraph(const Graph& graph, const Feeds& feeds) {
  GraphInfo info;
  GraphInference(graph, feeds).Run(&info.first_, &info.infos_);
  return info;
}

}  // namespace lanescope
