#include "core/place/control_flow.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/place/growing_graph.h"
#include "core/place/tensor_lists.h"

namespace lanescope {
namespace {

constexpr int64_t kMaxTrips = 1 << 19;     // of all loops
constexpr size_t kMaxUnknownTrips = 1024;  // of a loop whose end nobody has told
constexpr int kMaxLoops = 64;

bool IsLoop(std::string_view op) { return op == "While" || op == "StatelessWhile"; }
bool IsBranch(std::string_view op) { return op == "If" || op == "StatelessIf"; }
bool IsReplaced(std::string_view op) {
  return IsLoop(op) || IsBranch(op) || IsListOp(op) || op == "Switch" || op == "Merge";
}

// A condition and which side of it a node is on.
struct Side {
  Endpoint condition;
  bool yes = false;
  friend bool operator==(const Side&, const Side&) = default;
};
using Sides = std::vector<Side>;

// What a body's nodes have become.
struct Emitted {
  explicit Emitted(const GraphBody& body)
      : values(static_cast<size_t>(body.graph.num_nodes())),
        after(values.size()),
        sides(values.size()),
        conditions(values.size()),
        dead(values.size(), false) {}

  std::vector<ExpandedValues> values;   // by node and output
  std::vector<std::vector<int>> after;  // nodes that one waits for who waits for this node
  std::vector<Sides> sides;             // of the branches that a node is in
  std::vector<Endpoint> conditions;     // of a Switch that data decide
  std::vector<bool> dead;               // on the side of a branch that is not taken

  const ExpandedValue& at(Endpoint endpoint) const {
    return values[static_cast<size_t>(endpoint.node)][static_cast<size_t>(endpoint.output)];
  }
};

// Where a body is copied to.
struct Site {
  std::string prefix;         // of the names; empty: the graph itself
  std::vector<int> controls;  // what its first nodes wait for
};

class ControlFlowExpander {
 public:
  ControlFlowExpander(const Graph& graph, FunctionGraphs* functions, const InlineOptions& options)
      : before_(graph), functions_(*functions), options_(options), graph_(graph), lists_(&graph_) {}

  Graph Run() {
    GraphBody whole(before_);
    NoteNeeded();
    Emit(whole, {}, {});
    return graph_.Take(before_);
  }

 private:
  void NoteNeeded() {
    needed_.assign(static_cast<size_t>(before_.num_nodes()), options_.needed.empty());
    std::vector<int> open;
    const auto need = [&](int node) {
      if (node < 0 || needed_[static_cast<size_t>(node)]) return;
      needed_[static_cast<size_t>(node)] = true;
      open.push_back(node);
    };
    for (const std::string& name : options_.needed) need(before_.FindNode(name.substr(0, name.find(':'))));
    while (!open.empty()) {
      const Node& node = before_.node(open.back());
      open.pop_back();
      for (const Endpoint& input : node.inputs) need(input.node);
      for (const int control : node.control_inputs) need(control);
    }
  }

  // A node that no step needs stays as it is, where what it takes is still there.
  void Keep(const GraphBody& body, int id, Emitted* out) {
    const auto index = static_cast<size_t>(id);
    Node copy = body.graph.node(id);
    out->dead[index] = IsDead(copy, *out);
    for (Endpoint& input : copy.inputs) {
      const ExpandedValue& value = out->at(input);
      if (!value.is_tensor()) out->dead[index] = true;
      input = value.tensor;
    }
    out->values[index].resize(static_cast<size_t>(body.types.Count(id)));
    if (out->dead[index]) return;
    copy.control_inputs = ControlsOf(body, body.graph.node(id), {}, *out);
    std::vector<DataType> types;
    for (int i = 0; i < body.types.Count(id); ++i) types.push_back(body.types.Of({id, i}));
    const int added = graph_.Add(std::move(copy), &types);
    for (int i = 0; i < body.types.Count(id); ++i)
      out->values[index][static_cast<size_t>(i)].tensor = {added, i};
    out->after[index] = {added};
  }

  Emitted Emit(const GraphBody& body, const ExpandedValues& arguments, const Site& site) {
    Emitted out(body);
    for (size_t i = 0; i < arguments.size(); ++i) {
      out.values[static_cast<size_t>(body.arguments[i])] = {arguments[i]};
    }
    for (const int id : body.order) {
      if (id == body.last || IsArgument(body, id)) continue;
      EmitNode(body, id, site, &out);
    }
    return out;
  }

  static bool IsArgument(const GraphBody& body, int id) {
    return id < static_cast<int>(body.arguments.size());  // they come first
  }

  void EmitNode(const GraphBody& body, int id, const Site& site, Emitted* out) {
    const Node& node = body.graph.node(id);
    const auto index = static_cast<size_t>(id);
    for (const Endpoint& input : node.inputs) {
      const size_t count = out->values[static_cast<size_t>(input.node)].size();
      if (input.output >= 0 && input.output < static_cast<int>(count)) continue;
      Throw(Code::kInvalidArgument, "node '{}': input '{}:{}' does not exist", node.name,
            body.graph.node(input.node).name, input.output);
    }
    if (site.prefix.empty() && !needed_[index]) return Keep(body, id, out);
    if (node.op != "Merge" && IsDead(node, *out)) {
      out->dead[index] = true;
      out->values[index].resize(static_cast<size_t>(body.types.Count(id)));
      return;
    }
    ExpandedValues inputs;
    for (const Endpoint& input : node.inputs) inputs.push_back(out->at(input));
    const std::string name = site.prefix.empty()
                                 ? node.name
                                 : graph_.FreeName(site.prefix + node.name.substr(kFunctionPrefix.size()));
    graph_.Release(name);
    std::vector<int> controls = ControlsOf(body, node, site, *out);
    if (node.op != "Merge") out->sides[index] = SidesOf(body, node, *out);
    if (IsReplaced(node.op) || HasLists(inputs)) {
      Replace(body, id, name, inputs, std::move(controls), out);
    } else {
      Copy(body, id, name, site, inputs, std::move(controls), out);
    }
  }

  static bool IsDead(const Endpoint& input, const Emitted& out) {
    return out.dead[static_cast<size_t>(input.node)] || out.at(input).empty();
  }
  static bool IsDead(const Node& node, const Emitted& out) {
    return std::ranges::any_of(node.inputs, [&](const Endpoint& input) { return IsDead(input, out); }) ||
           std::ranges::any_of(node.control_inputs, [&](int c) { return out.dead[static_cast<size_t>(c)]; });
  }

  // The sides of branches that a tensor is on.
  static Sides SidesOf(const GraphBody& body, const Endpoint& input, const Emitted& out) {
    const auto source = static_cast<size_t>(input.node);
    Sides sides = out.sides[source];
    if (body.graph.node(input.node).op == "Switch" && out.conditions[source].node >= 0)
      sides.push_back({out.conditions[source], input.output == 1});
    return sides;
  }

  static Sides SidesOf(const GraphBody& body, const Node& node, const Emitted& out) {
    Sides sides;
    const auto add = [&](const Sides& more) {
      for (const Side& side : more) {
        if (std::ranges::find(sides, side) == sides.end()) sides.push_back(side);
      }
    };
    for (const Endpoint& input : node.inputs) add(SidesOf(body, input, out));
    for (const int control : node.control_inputs) add(out.sides[static_cast<size_t>(control)]);
    return sides;
  }

  // What the node waits for: what its control inputs have become, and, of a body's first nodes, what the
  // body waits for.
  std::vector<int> ControlsOf(const GraphBody& body, const Node& node, const Site& site,
                              const Emitted& out) const {
    std::vector<int> controls;
    bool first = true;
    for (const Endpoint& input : node.inputs) first = first && IsArgument(body, input.node);
    for (const int control : node.control_inputs) {
      first = first && IsArgument(body, control);
      const std::vector<int>& after = out.after[static_cast<size_t>(control)];
      controls.insert(controls.end(), after.begin(), after.end());
    }
    if (first) controls.insert(controls.end(), site.controls.begin(), site.controls.end());
    std::ranges::sort(controls);
    controls.erase(std::ranges::unique(controls).begin(), controls.end());
    return controls;
  }

  void Copy(const GraphBody& body, int id, const std::string& name, const Site& site,
            const ExpandedValues& inputs, std::vector<int> controls, Emitted* out) {
    const auto index = static_cast<size_t>(id);
    Node copy = body.graph.node(id);
    if (speculative_ > 0 || !out->sides[index].empty()) CheckHasNoEffect(name, &copy);
    RenameGroups(site.prefix, &copy);
    copy.name = name;
    for (size_t i = 0; i < inputs.size(); ++i) copy.inputs[i] = inputs[i].tensor;
    copy.control_inputs = std::move(controls);
    const int added = AddCopy(body, id, std::move(copy));
    for (int i = 0; i < graph_.NumOutputs(added); ++i) {
      out->values[index].push_back({.tensor = {added, i}});
    }
    out->after[index] = {added};
  }

  int AddCopy(const GraphBody& body, int id, Node copy) {
    if (!body.graph.problems.contains(id) && OpRegistry::Global().Find(copy.op) != nullptr) {
      const int added = graph_.Add(std::move(copy));
      for (const auto& [tensor, info] : options_.feeds) Feed(tensor, info, added);
      return added;
    }
    std::vector<DataType> types;
    for (int i = 0; i < body.types.Count(id); ++i) types.push_back(body.types.Of({id, i}));
    return graph_.Add(std::move(copy), &types);
  }

  // A feed's shape is what users of the tensor see.
  void Feed(const std::string& tensor, const TensorInfo& info, int node) {
    const std::string& name = graph_.graph().node(node).name;
    if (!tensor.starts_with(name)) return;
    const std::string_view rest = std::string_view(tensor).substr(name.size());
    if ((rest.empty() || rest == ":0") && graph_.NumOutputs(node) > 0) graph_.SetShape({node, 0}, info.shape);
  }

  // What data choose between runs whatever they choose.
  static void CheckHasNoEffect(const std::string& name, Node* node) {
    if (node->op == "Assert") {  // of a side that may not be taken: says nothing
      node->op = "NoOp";
      node->attrs.clear();
      return;
    }
    const OpDef* def = OpRegistry::Global().Find(node->op);
    if (def == nullptr || def->role != StateRole::kUpdate) return;
    Throw(Code::kUnimplemented,
          "node '{}' ({}) changes a variable in a loop or branch whose condition depends on data", name,
          node->op);
  }

  // Groups of a function's nodes are the copies' own.
  static void RenameGroups(const std::string& prefix, Node* node) {
    const auto found = node->attrs.find("_class");
    if (found == node->attrs.end() || prefix.empty()) return;
    auto* groups = std::get_if<std::vector<std::string>>(&found->second);
    if (groups == nullptr) return;
    constexpr std::string_view kGroup = "loc:@f/";
    for (std::string& group : *groups) {
      if (group.starts_with(kGroup)) group = "loc:@" + prefix + group.substr(kGroup.size());
    }
  }

  void Replace(const GraphBody& body, int id, const std::string& name, const ExpandedValues& inputs,
               std::vector<int> controls, Emitted* out) {
    const Node& node = body.graph.node(id);
    const auto index = static_cast<size_t>(id);
    ExpandedValues& values = out->values[index];
    if (IsLoop(node.op) || IsBranch(node.op)) {
      if (++nesting_ > kMaxLoops)
        Throw(Code::kInvalidArgument, "node '{}': loops are nested more than {} deep", name, kMaxLoops);
      std::vector<int> effects;
      if (!out->sides[index].empty()) ++speculative_;
      values = IsLoop(node.op) ? Unroll(node, name, inputs, controls, &effects)
                               : Branch(node, name, inputs, controls, &effects);
      if (!out->sides[index].empty()) --speculative_;
      --nesting_;
      // Who waits for it waits for its effects, too: an output that is constant is never computed.
      out->after[index] = effects;
      out->after[index].push_back(Finish(node, name, values, effects.empty() ? controls : effects));
    } else if (node.op == "Switch") {
      values = Switch(name, inputs, &out->conditions[index]);
      out->after[index] = std::move(controls);
    } else if (node.op == "Merge") {
      values = Merge(node, name, body, out, &out->sides[index]);
      out->dead[index] = values[0].empty();
      if (values[0].is_tensor()) controls.push_back(values[0].tensor.node);
      out->after[index] = std::move(controls);
    } else {
      values = lists_.Expand(node, name, inputs);
      AddWaits(node, name, inputs, *out, &controls);
      out->after[index] = std::move(controls);
    }
    if (!body.graph.problems.contains(id)) CheckTypes(body, id, name, values);
  }

  // Who waits for a node on lists waits for its inputs.
  void AddWaits(const Node& node, const std::string& name, const ExpandedValues& inputs, const Emitted& out,
                std::vector<int>* controls) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].is_tensor()) {
        controls->push_back(inputs[i].tensor.node);
        continue;
      }
      const std::vector<int>& after = out.after[static_cast<size_t>(node.inputs[i].node)];
      controls->insert(controls->end(), after.begin(), after.end());
    }
    std::ranges::sort(*controls);
    controls->erase(std::ranges::unique(*controls).begin(), controls->end());
    if (controls->size() > 8) *controls = {Wait(name + "/wait", node.device, *controls)};
  }

  int Wait(const std::string& name, const std::string& device, const std::vector<int>& controls) {
    Node wait = graph_.New("NoOp", name, device).Finish();
    wait.control_inputs = controls;
    return graph_.Add(std::move(wait));
  }

  void CheckTypes(const GraphBody& body, int id, const std::string& name,
                  const ExpandedValues& values) const {
    for (int i = 0; i < body.types.Count(id); ++i) {
      if (i >= static_cast<int>(values.size())) {
        Throw(Code::kInvalidArgument, "node '{}' has {} outputs, and its function {}", name,
              body.types.Count(id), values.size());
      }
      if (!values[static_cast<size_t>(i)].empty())
        CheckType(name, values[static_cast<size_t>(i)], body.types.Of({id, i}));
    }
  }

  DataType TypeOf(const ExpandedValue& value) const {
    return value.is_tensor() ? graph_.info(value.tensor).dtype : DataType::kVariant;
  }

  void CheckType(const std::string& name, const ExpandedValue& value, DataType wanted) const {
    if (TypeOf(value) == RemoveRef(wanted)) return;
    Throw(Code::kInvalidArgument, "node '{}' has a {} where it says {}", name, DataTypeName(TypeOf(value)),
          DataTypeName(RemoveRef(wanted)));
  }

  struct Body {
    ExpandedValues outputs;
    std::vector<int> effects;
  };

  Body EmitFunction(const GraphBody& function, const std::string& caller, const ExpandedValues& arguments,
                    const Site& site) {
    if (function.arguments.size() != arguments.size()) {
      Throw(Code::kInvalidArgument, "node '{}' gives its function {} arguments; it takes {}", caller,
            arguments.size(), function.arguments.size());
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      CheckType(caller, arguments[i], function.types.Of({function.arguments[i], 0}));
    }
    const Emitted emitted = Emit(function, arguments, site);
    Body body;
    for (const Endpoint& output : function.outputs) body.outputs.push_back(emitted.at(output));
    for (const int effect : function.effects) {
      const std::vector<int>& after = emitted.after[static_cast<size_t>(effect)];
      body.effects.insert(body.effects.end(), after.begin(), after.end());
    }
    return body;
  }

  // A condition's value, or nothing where data say it.
  std::optional<bool> Known(const std::string& name, const ExpandedValue& condition) const {
    if (!condition.is_tensor()) Throw(Code::kInvalidArgument, "node '{}' has a list for a condition", name);
    const TensorInfo& info = graph_.info(condition.tensor);
    if (const auto value = graph_.ConstantAt(condition.tensor)) return *value != 0;
    if (info.dtype != DataType::kBool || (info.shape.known_rank() && info.shape.rank() > 0)) {
      Throw(Code::kUnimplemented, "node '{}' has a condition that is no single bool", name);
    }
    return std::nullopt;
  }

  // A loop's trips, one after the other.
  ExpandedValues Unroll(const Node& node, const std::string& name, const ExpandedValues& inputs,
                        const std::vector<int>& controls, std::vector<int>* effects) {
    const GraphBody& condition = functions_.Of(node, "cond");
    const GraphBody& body = functions_.Of(node, "body");
    const auto given = options_.trips.find(name);
    ExpandedValues state = inputs;
    std::vector<std::pair<Endpoint, ExpandedValues>>
        open;  // conditions that data decide, and the state there
    for (int64_t trip = 0;; ++trip) {
      if (++trips_ > kMaxTrips)
        Throw(Code::kInvalidArgument, "node '{}': loops run more than {} times", name, kMaxTrips);
      const std::string below = name + "/" + std::to_string(trip) + "/";
      const Site site{below, effects->empty() ? controls : *effects};
      const Body asked = EmitFunction(condition, name, state, {below + "cond/", site.controls});
      if (asked.outputs.size() != 1)
        Throw(Code::kInvalidArgument, "node '{}' has a condition with {} outputs", name,
              asked.outputs.size());
      const std::optional<bool> known = Known(name, asked.outputs[0]);
      if (known && !*known) break;
      if (!known) {
        if (given != options_.trips.end() && trip >= given->second) {
          RequireEnd(node, name, asked.outputs[0].tensor, given->second, effects);
          break;
        }
        if (given == options_.trips.end() && open.size() >= kMaxUnknownTrips) {
          Throw(Code::kUnimplemented,
                "node '{}' ({}): data say how often it runs; say how often at most in 'trips' of the run "
                "configuration",
                name, node.op);
        }
        open.emplace_back(asked.outputs[0].tensor, state);
        ++speculative_;
      }
      Body made = EmitFunction(body, name, state, site);
      if (made.outputs.size() != state.size()) {
        Throw(Code::kInvalidArgument, "node '{}' has {} variables, and its body gives {}", name, state.size(),
              made.outputs.size());
      }
      for (size_t i = 0; i < state.size(); ++i) CheckType(name, made.outputs[i], TypeOf(state[i]));
      if (!made.effects.empty()) *effects = std::move(made.effects);
      state = std::move(made.outputs);
    }
    speculative_ -= static_cast<int>(open.size());
    // The state of the trip before which the condition first said no.
    for (size_t k = open.size(); k-- > 0;) {
      for (size_t i = 0; i < state.size(); ++i) {
        state[i] =
            lists_.Choose(open[k].first, state[i], open[k].second[i],
                          name + "/" + std::to_string(k) + "/output_" + std::to_string(i), node.device);
      }
    }
    return state;
  }

  // A step in which the loop wants to go on fails.
  void RequireEnd(const Node& node, const std::string& name, Endpoint condition, int64_t trips,
                  std::vector<int>* effects) {
    const Endpoint ended =
        graph_.Add(graph_.New("LogicalNot", name + "/ended", node.device).Input(condition));
    Tensor text(DataType::kString, Shape{});
    text.data<std::string>()[0] =
        "loop " + name + " wants to run more often than the " + std::to_string(trips) + " times of 'trips'";
    const Endpoint message = graph_.Constant(name + "/message", text, node.device);
    NodeBuilder require = graph_.New("Assert", name + "/require_end", node.device);
    effects->push_back(graph_.Add(require.Input(ended).Input(message)).node);
  }

  ExpandedValues Branch(const Node& node, const std::string& name, const ExpandedValues& inputs,
                        const std::vector<int>& controls, std::vector<int>* effects) {
    if (inputs.empty()) Throw(Code::kInvalidArgument, "node '{}' has no condition", name);
    const ExpandedValues arguments(inputs.begin() + 1, inputs.end());
    const std::optional<bool> known = Known(name, inputs[0]);
    const auto emit = [&](bool yes) {
      return EmitFunction(functions_.Of(node, yes ? "then_branch" : "else_branch"), name, arguments,
                          {name + (yes ? "/then/" : "/else/"), controls});
    };
    if (known) {
      Body taken = emit(*known);
      *effects = std::move(taken.effects);
      return std::move(taken.outputs);
    }
    ++speculative_;
    const Body yes = emit(true), no = emit(false);
    --speculative_;
    if (yes.outputs.size() != no.outputs.size()) {
      Throw(Code::kInvalidArgument, "node '{}': its branches have {} and {} outputs", name,
            yes.outputs.size(), no.outputs.size());
    }
    ExpandedValues chosen;
    for (size_t i = 0; i < yes.outputs.size(); ++i) {
      if (TypeOf(yes.outputs[i]) != TypeOf(no.outputs[i]))
        Throw(Code::kInvalidArgument, "node '{}': its branches have outputs of different types", name);
      chosen.push_back(lists_.Choose(inputs[0].tensor, yes.outputs[i], no.outputs[i],
                                     name + "/output_" + std::to_string(i), node.device));
    }
    *effects = yes.effects;
    effects->insert(effects->end(), no.effects.begin(), no.effects.end());
    return chosen;
  }

  // The node that keeps the name of a loop or branch.
  int Finish(const Node& node, const std::string& name, const ExpandedValues& values,
             const std::vector<int>& controls) {
    Node last;
    last.name = name;
    last.device = node.device;
    std::vector<DataType> types;
    for (const ExpandedValue& value : values) {
      if (!value.is_tensor() || TypeOf(value) == DataType::kResource) continue;
      last.inputs.push_back(value.tensor);
      types.push_back(TypeOf(value));
    }
    last.control_inputs = controls;
    if (values.empty() || types.size() != values.size()) {
      last.inputs.clear();
      last.op = "NoOp";
    } else if (types.size() == 1) {
      last.op = "Identity";
      last.attrs["T"] = types[0];
    } else {
      last.op = "IdentityN";
      last.attrs["T"] = types;
    }
    std::ranges::sort(last.control_inputs);
    last.control_inputs.erase(std::ranges::unique(last.control_inputs).begin(), last.control_inputs.end());
    return graph_.Add(std::move(last));
  }

  // Both outputs are the input; what hangs on them is on a side of the condition.
  ExpandedValues Switch(const std::string& name, const ExpandedValues& inputs, Endpoint* condition) const {
    if (inputs.size() != 2) Throw(Code::kInvalidArgument, "node '{}': Switch takes 2 inputs", name);
    const std::optional<bool> known = Known(name, inputs[1]);
    if (known) return {*known ? ExpandedValue{} : inputs[0], *known ? inputs[0] : ExpandedValue{}};
    *condition = inputs[1].tensor;
    return {inputs[0], inputs[0]};
  }

  // The input whose side of the condition is taken, and its number.
  ExpandedValues Merge(const Node& node, const std::string& name, const GraphBody& body, Emitted* out,
                       Sides* sides) {
    std::vector<size_t> alive;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!IsDead(node.inputs[i], *out)) alive.push_back(i);
    }
    const auto number = [&](size_t i) {
      return ExpandedValue{.tensor = graph_.Constant(name + "/input_" + std::to_string(i),
                                                     Tensor::Scalar(static_cast<int32_t>(i)), node.device)};
    };
    if (alive.empty()) return {{}, {}};
    if (alive.size() == 1) {
      *sides = SidesOf(body, node.inputs[alive[0]], *out);
      return {out->at(node.inputs[alive[0]]), number(alive[0])};
    }
    if (alive.size() > 2) Throw(Code::kUnimplemented, "node '{}': a Merge of {} inputs", name, alive.size());
    const Sides first = SidesOf(body, node.inputs[alive[0]], *out);
    const Sides second = SidesOf(body, node.inputs[alive[1]], *out);
    for (const Side& side : first) {
      const Side other = {side.condition, !side.yes};
      if (std::ranges::find(second, other) == second.end()) continue;
      for (const Sides* all : {&first, &second}) {
        for (const Side& left : *all) {
          if (left.condition != side.condition && std::ranges::find(*sides, left) == sides->end())
            sides->push_back(left);
        }
      }
      const size_t yes = alive[side.yes ? 0 : 1], no = alive[side.yes ? 1 : 0];
      return {lists_.Choose(side.condition, out->at(node.inputs[yes]), out->at(node.inputs[no]), name,
                            node.device),
              lists_.Choose(side.condition, number(yes), number(no), name + "/input", node.device)};
    }
    Throw(Code::kUnimplemented, "node '{}': a Merge of inputs that are not the two sides of one condition",
          name);
  }

  const Graph& before_;
  FunctionGraphs& functions_;
  const InlineOptions& options_;
  GrowingGraph graph_;
  ListExpander lists_;
  std::vector<bool> needed_;
  int64_t trips_ = 0;
  int nesting_ = 0;
  int speculative_ = 0;  // how many conditions that data decide stand around
};

}  // namespace

bool HasControlFlow(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return IsReplaced(node.op); });
}

Graph ExpandControlFlow(const Graph& graph, FunctionGraphs* functions, const InlineOptions& options) {
  return ControlFlowExpander(graph, functions, options).Run();
}

}  // namespace lanescope
