// SPDX-License-Identifier: Apache-2.0
#include "graphs/gradients/function_gradient.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "graphs/constants.h"
#include "graphs/gradients/arithmetic.h"

namespace lanescope::graphs {
namespace {

bool IsFloat(DataType type) {
  return type == DataType::kHalf || type == DataType::kBfloat16 || type == DataType::kFloat ||
         type == DataType::kDouble || type == DataType::kComplex64 || type == DataType::kComplex128;
}

// Whether the op says a fact of a tensor that takes less memory than the tensor.
bool IsSmallFact(const std::string& op) {
  return op == "Shape" || op == "Size" || op == "Rank" || op == "TensorListElementShape" ||
         op == "TensorListLength";
}

}  // namespace

Node MakeNode(std::string op, std::string name, std::vector<Endpoint> inputs, AttrMap attrs) {
  Node node;
  node.op = std::move(op);
  node.name = std::move(name);
  node.inputs = std::move(inputs);
  node.attrs = std::move(attrs);
  return node;
}

Node MakePlaceholder(std::string name, DataType type, const lanescope::Shape& shape) {
  return MakeNode("Placeholder", std::move(name), {}, {{"dtype", type}, {"shape", ShapeAttr{shape, ""}}});
}

void NoteArgument(const TensorInfo& info, Node* placeholder) {
  placeholder->attrs["shape"] = ShapeAttr{info.shape, ""};
  if (info.handle == nullptr) return;
  placeholder->attrs["_handle_dtypes"] = std::vector<DataType>{info.handle->dtype};
  placeholder->attrs["_handle_shapes"] = std::vector<ShapeAttr>{{info.handle->shape, ""}};
}

FunctionGradient::FunctionGradient(const OpGradient& g, const Node& node, const std::string& attr,
                                   const std::vector<TensorInfo>& arguments,
                                   const std::vector<DataType>& types) {
  FunctionBody body = ReadFunction(g.s.graph(), node, attr);
  arguments_ = std::move(body.arguments);
  outputs_ = std::move(body.outputs);
  effects_ = std::move(body.effects);
  if (arguments_.size() != arguments.size() || outputs_.size() < types.size()) {
    Throw(Code::kInvalidArgument, "node '{}' ({}) does not fit its function in '{}'", node.name, node.op,
          attr);
  }
  for (size_t i = 0; i < arguments.size(); ++i) NoteArgument(arguments[i], &body.graph.node(arguments_[i]));
  num_forward_ = body.graph.num_nodes();
  s_ = std::make_unique<Scope>(std::move(body.graph));
  std::vector<Endpoint> ys, xs;
  std::vector<Gradient> grad_ys;
  given_.resize(outputs_.size());
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == DataType::kInvalid) continue;
    const bool is_handle = s_->TypeOf(outputs_[i]) == DataType::kResource;
    given_[i] = s_->AddNode(MakePlaceholder("grad_of_" + std::to_string(i), types[i],
                                            is_handle ? Shape::Unknown() : s_->ShapeOf(outputs_[i])));
    ys.push_back(outputs_[i]);
    grad_ys.emplace_back(given_[i]);
  }
  gradients_.resize(arguments_.size());
  std::vector<size_t> numbers;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!IsTrainable(*s_, argument(i))) continue;
    xs.push_back(argument(i));
    numbers.push_back(i);
  }
  if (ys.empty() || xs.empty()) return;
  // The source is its own name among those of the graph: arrays of gradients are told apart by it.
  std::string source = g.source();
  std::ranges::replace(source, '/', '_');
  const std::vector<Gradient> made = Gradients(*s_, ys, xs, {.name = source, .grad_ys = grad_ys});
  for (size_t k = 0; k < made.size(); ++k) gradients_[numbers[k]] = made[k];
  g.s.AddFunctions(s_->graph());
}

Endpoint FunctionGradient::Zeros(size_t argument, DataType type) {
  const Endpoint of = this->argument(argument);
  if (s_->TypeOf(of) != DataType::kResource) return op::ZerosLike(*s_, of, {.name = "zeros_like"});
  const Endpoint shape = op::VariableShape(*s_, of);
  return op::Fill(*s_, shape, ScalarOf(*s_, 0, type), {.name = "zeros"});
}

Endpoint FunctionGradient::Source(Endpoint e) const {
  while (s_->graph().node(e.node).op == "Identity") e = s_->graph().node(e.node).inputs[0];
  return e;
}

int FunctionGradient::ArgumentAt(Endpoint e) const {
  const auto found = std::ranges::find(arguments_, e.node);
  return found == arguments_.end() ? -1 : static_cast<int>(found - arguments_.begin());
}

int FunctionGradient::OutputAt(Endpoint e) const {
  const auto found = std::ranges::find_if(
      outputs_, [&](const Endpoint& output) { return output == e || Source(output) == e; });
  return found == outputs_.end() ? -1 : static_cast<int>(found - outputs_.begin());
}

// The function's nodes, what they have got as further inputs, and small facts of them that the gradient asks.
void FunctionGradient::FindForward() {
  const Graph& graph = s_->graph();
  forward_.assign(num_nodes_, false);
  std::vector<NodeId> open;
  for (size_t i = 0; i < num_forward_; ++i) open.emplace_back(i);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (forward_[id]) continue;
    forward_[id] = true;
    for (const Endpoint& input : graph.node(id).inputs) open.push_back(input.node);
  }
  for (size_t i = num_forward_; i < num_nodes_; ++i) {
    const Node& node = graph.node(NodeId(i));
    if (!IsSmallFact(node.op)) continue;
    if (std::ranges::all_of(node.inputs, [this](const Endpoint& e) { return forward_[e.node]; }))
      forward_[NodeId(i)] = true;
  }
}

std::vector<Endpoint> FunctionGradient::Finish(const std::vector<Endpoint>& results) {
  results_ = results;
  num_nodes_ = s_->graph().num_nodes();
  FindForward();
  std::set<TensorKey> seen;
  const auto take = [&](Endpoint e) {
    if (!forward_[e.node]) return;
    e = Source(e);
    if (s_->graph().node(e.node).op == "Const" || !seen.insert(KeyOf(e)).second) return;
    taken_.push_back(e);
  };
  for (size_t i = num_forward_; i < num_nodes_; ++i) {
    if (forward_[NodeId(i)]) continue;
    for (const Endpoint& input : s_->graph().node(NodeId(i)).inputs) take(input);
  }
  for (const Endpoint& result : results_) take(result);
  return taken_;
}

FunctionBody FunctionGradient::Function(const std::vector<NodeId>& more_arguments,
                                        const std::vector<Endpoint>& more_outputs,
                                        const std::vector<NodeId>& more_nodes) const {
  const Graph& from = s_->graph();
  const std::set<NodeId> more(more_nodes.begin(), more_nodes.end());
  IdVector<NodeId, NodeId> where(from.num_nodes(), NodeId());
  std::vector<NodeId> kept;
  for (const NodeId id : from.node_ids()) {
    if (!IsForward(id) && !more.contains(id)) continue;
    where[id] = NodeId(kept.size());
    kept.push_back(id);
  }
  FunctionBody to;
  to.graph.extra = from.extra;
  for (const NodeId id : kept) {
    Node copy = from.node(id);
    for (Endpoint& input : copy.inputs) input.node = where[input.node];
    std::vector<NodeId> controls;
    for (const NodeId control : copy.control_inputs) {
      if (where[control].exists()) controls.push_back(where[control]);
    }
    copy.control_inputs = std::move(controls);
    to.graph.AddNode(std::move(copy));
  }
  for (const auto* list : {&arguments_, &more_arguments})
    for (const NodeId id : *list) to.arguments.push_back(where[id]);
  for (const auto* list : {&outputs_, &more_outputs})
    for (const Endpoint& e : *list) to.outputs.push_back({where[e.node], e.output});
  for (const NodeId id : effects_) to.effects.push_back(where[id]);
  return to;
}

void FunctionGradient::WriteGradient(TensorMap known, FunctionBody* to) const {
  const Graph& from = s_->graph();
  if (to->graph.extra.empty()) to->graph.extra = from.extra;
  const auto free_name = [&](std::string name) {
    while (to->graph.FindNode(name).exists()) name += "_";
    return name;
  };
  const auto at = [&](Endpoint e) {
    if (IsForward(e.node) && !known.contains(KeyOf(e))) e = Source(e);
    const auto found = known.find(KeyOf(e));
    if (found != known.end()) return found->second;
    Node copy = from.node(e.node);
    LANESCOPE_CHECK(copy.op == "Const");
    copy.control_inputs.clear();
    copy.attrs.erase("_class");
    copy.name = free_name(std::move(copy.name));
    const Endpoint made{to->graph.AddNode(std::move(copy)), 0};
    known[KeyOf(e)] = made;
    return made;
  };
  IdVector<NodeId, NodeId> where(num_nodes_, NodeId());
  for (size_t i = num_forward_; i < num_nodes_; ++i) {
    const NodeId id(i);
    if (forward_[id] || known.contains({id, 0})) continue;
    Node copy = from.node(id);
    for (Endpoint& input : copy.inputs) input = at(input);
    std::vector<NodeId> controls;
    for (const NodeId control : copy.control_inputs) {
      if (where[control].exists()) controls.push_back(where[control]);
    }
    copy.control_inputs = std::move(controls);
    copy.attrs.erase("_class");  // names nodes of the function
    copy.name = free_name(std::move(copy.name));
    where[id] = to->graph.AddNode(std::move(copy));
    for (int k = 0; k < static_cast<int>(s_->Outputs({id, 0}).size()); ++k) known[{id, k}] = {where[id], k};
  }
  for (const Endpoint& result : results_) to->outputs.push_back(at(result));
}

bool IsTrainable(const Scope& s, Endpoint e) {
  const DataType type = s.TypeOf(e);
  if (type != DataType::kVariant) return IsFloat(type) || type == DataType::kResource;
  // The list may be an argument, of which nothing is known: its elements are taken for numbers.
  for (size_t steps = 0; steps < s.graph().num_nodes(); ++steps) {
    const Node& node = s.graph().node(e.node);
    if (node.FindAttr("element_dtype") != nullptr) {
      const DataType element = node.TypeAttr("element_dtype");
      return IsFloat(element) || element == DataType::kVariant;  // lists in lists
    }
    if (node.inputs.empty() || e.output >= static_cast<int>(node.inputs.size())) return true;
    e = node.inputs[static_cast<size_t>(e.output)];
    if (s.TypeOf(e) != DataType::kVariant) return true;
  }
  return true;
}

IndexedSlices AllRows(Scope& s, Endpoint dense) {
  const Endpoint shape = ShapeTensor(s, dense);
  const Endpoint rows = RangeUpTo(s, 0, Element(s, shape, 0), 1);
  return {dense, rows, shape};
}

bool HasState(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    if (node.op == "If" || node.op == "Case" || node.op == "While") return true;
    const OpDef* def = OpRegistry::Global().Find(node.op);
    return def != nullptr && (def->stateful || def->role != StateRole::kNone) && node.op != "Placeholder";
  });
}

}  // namespace lanescope::graphs
