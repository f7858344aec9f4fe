// SPDX-License-Identifier: Apache-2.0
// The gradient of If and Case: an If or Case of the branches' gradients. What they take of the branches, the
// first node hands out as optionals, of which those of the branches not taken are empty, as TensorFlow does.
#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/function_gradient.h"

namespace lanescope::graphs {
namespace {

constexpr const char* kBranches = "branches";  // the functions of a Case

class BranchGradient {
 public:
  explicit BranchGradient(const OpGradient& g)
      : g_(g), condition_(g.in(0)), given_(GivenOf(g)), is_case_(g.node().op.ends_with("Case")) {
    // Each function of a list in an attribute of its own.
    Node node = g.node();
    attrs_ = {"then_branch", "else_branch"};
    if (is_case_) {
      attrs_.clear();
      for (const AttrValue& function : FunctionsIn(node, kBranches)) {
        attrs_.push_back("branch_" + std::to_string(attrs_.size()));
        node.attrs[attrs_.back()] = function;
      }
      if (attrs_.empty()) Throw(Code::kInvalidArgument, "node '{}' ({}) has no branches", node.name, node.op);
    }
    for (const std::string& attr : attrs_) {
      branch_.push_back(Read(node, attr));
      names_.push_back(FunctionNameOf(node, attr));
    }
    taken_.resize(branch_.size());
  }

  std::vector<Gradient> Write() {
    const std::vector<std::optional<bool>> kinds = MatchGradients();
    HandOut();
    return WriteGradientNode(kinds);
  }

 private:
  size_t num_arguments() const { return static_cast<size_t>(g_.num_inputs()) - 1; }

  static std::vector<Endpoint> GivenOf(const OpGradient& g) {
    std::vector<Endpoint> given;
    for (int i = 0; i < g.num_grads(); ++i) {
      const bool has = !g.raw_grad(i).empty() && IsTrainable(g.s, g.out(i));
      given.push_back(has ? g.grad(i) : Endpoint{});
    }
    return given;
  }

  FunctionGradient Read(const Node& node, const std::string& attr) const {
    std::vector<TensorInfo> arguments;
    for (int i = 1; i < g_.num_inputs(); ++i) arguments.push_back(g_.s.Info(g_.in(i)));
    std::vector<DataType> types;
    for (const Endpoint& given : given_)
      types.push_back(given.node.exists() ? g_.s.TypeOf(given) : DataType::kInvalid);
    return FunctionGradient(g_, node, attr, arguments, types);
  }

  // All branches give the same gradients of the same form. By argument: whether it is rows, or none at all.
  std::vector<std::optional<bool>> MatchGradients() {
    std::vector<std::optional<bool>> kinds;
    std::vector<std::vector<Endpoint>> results(branch_.size());
    for (size_t i = 0; i < num_arguments(); ++i) {
      const FunctionGradient* has = nullptr;  // a branch that depends on the argument
      DataType type = DataType::kInvalid;
      bool rows = false;
      for (FunctionGradient& branch : branch_) {
        const Gradient& gradient = branch.gradient(i);
        if (gradient.empty()) continue;
        rows = rows || gradient.is_slices();
        if (has == nullptr)
          type = branch.s().TypeOf(gradient.is_slices() ? gradient.slices().values : gradient.dense());
        has = &branch;
      }
      if (has == nullptr) {
        kinds.emplace_back();
        continue;
      }
      for (FunctionGradient& branch : branch_) {
        if (branch.gradient(i).empty()) branch.gradient(i) = branch.Zeros(i, type);
      }
      const std::vector<IndexedSlices> all_rows = rows ? Rows(i) : std::vector<IndexedSlices>();
      for (size_t side = 0; side < branch_.size(); ++side) {
        if (rows) {
          const IndexedSlices& slices = all_rows[side];
          results[side].insert(results[side].end(), {slices.values, slices.indices, slices.dense_shape});
        } else {
          results[side].push_back(branch_[side].gradient(i).dense());
        }
      }
      kinds.emplace_back(rows);
    }
    for (size_t side = 0; side < branch_.size(); ++side) taken_[side] = branch_[side].Finish(results[side]);
    return kinds;
  }

  // All of an argument's as rows, numbered in one type.
  std::vector<IndexedSlices> Rows(size_t argument) {
    std::vector<IndexedSlices> rows;
    for (FunctionGradient& branch : branch_) {
      const Gradient& gradient = branch.gradient(argument);
      rows.push_back(gradient.is_slices() ? gradient.slices() : AllRows(branch.s(), gradient.dense()));
    }
    for (Endpoint IndexedSlices::*part : {&IndexedSlices::indices, &IndexedSlices::dense_shape}) {
      bool alike = true;
      for (size_t side = 1; side < branch_.size(); ++side)
        alike = alike && branch_[side].s().TypeOf(rows[side].*part) == branch_[0].s().TypeOf(rows[0].*part);
      for (size_t side = 0; !alike && side < branch_.size(); ++side) {
        Endpoint& e = rows[side].*part;
        e = Cast(branch_[side].s(), e, DataType::kInt64);
      }
    }
    return rows;
  }

  // Tensors that a branch's gradient takes and that are neither argument nor output.
  std::vector<Endpoint> Inner(size_t side) const {
    std::vector<Endpoint> inner;
    for (const Endpoint& e : taken_[side]) {
      if (branch_[side].ArgumentAt(e) < 0 && branch_[side].OutputAt(e) < 0) inner.push_back(e);
    }
    return inner;
  }

  // The first node with the optionals that both gradients want.
  void HandOut() {
    size_t count = 0;
    for (size_t side = 0; side < branch_.size(); ++side) count = std::max(count, Inner(side).size());
    if (count == 0) return;
    Node node = g_.s.graph().node(g_.out().node);
    std::vector<AttrValue> functions;
    for (size_t side = 0; side < branch_.size(); ++side) {
      FunctionGradient& branch = branch_[side];
      const std::vector<Endpoint> inner = Inner(side);
      std::vector<Endpoint> optionals;
      std::vector<NodeId> nodes;
      for (size_t k = 0; k < count; ++k) {
        Node optional = MakeNode("OptionalNone", "OptionalNone", {});
        if (k < inner.size()) {
          const std::vector<DataType> types{branch.s().TypeOf(inner[k])};
          optional =
              MakeNode("OptionalFromValue", "OptionalFromValue", {inner[k]}, {{"Toutput_types", types}});
        }
        optionals.push_back(branch.s().AddNode(std::move(optional)));
        nodes.push_back(optionals.back().node);
      }
      functions.push_back(
          g_.s.AddFunction(branch.Function({}, optionals, nodes), names_[side] + "_rewritten"));
    }
    SetFunctions(functions, &node);
    std::vector<DataType> types = node.TypeListAttr("Tout");
    types.insert(types.end(), count, DataType::kVariant);
    node.attrs["Tout"] = types;
    const auto shapes = node.attrs.find("output_shapes");
    if (shapes != node.attrs.end()) {
      auto* list = std::get_if<std::vector<ShapeAttr>>(&shapes->second);
      if (list != nullptr && !list->empty())
        list->insert(list->end(), count, ShapeAttr{lanescope::Shape{}, ""});
    }
    g_.s.Replace(g_.out().node, std::move(node));
  }

  void SetFunctions(const std::vector<AttrValue>& functions, Node* node) const {
    if (is_case_) {
      node->attrs[kBranches] = FunctionList(functions);
    } else {
      for (size_t side = 0; side < functions.size(); ++side) node->attrs[attrs_[side]] = functions[side];
    }
  }

  // Where a tensor outside is among the gradient node's inputs.
  size_t InputAt(Endpoint outside) {
    const auto found = std::ranges::find(inputs_, outside);
    if (found != inputs_.end()) return static_cast<size_t>(found - inputs_.begin());
    inputs_.push_back(outside);
    return inputs_.size() - 1;
  }

  // Says where each tensor that a branch's gradient takes comes from, in the order of taken_; then those of
  // the gradients of its outputs.
  struct Wiring {
    std::vector<size_t> taken, given;
    std::vector<bool> optional;
  };
  Wiring Wire(size_t side) {
    Wiring wiring;
    int slot = g_.num_grads();
    for (const Endpoint& e : taken_[side]) {
      const int argument = branch_[side].ArgumentAt(e), output = branch_[side].OutputAt(e);
      const bool is_optional = argument < 0 && output < 0;
      const Endpoint outside = argument >= 0 ? g_.in(argument + 1) : g_.out(is_optional ? slot : output);
      slot += is_optional;
      wiring.taken.push_back(InputAt(outside));
      wiring.optional.push_back(is_optional);
    }
    for (size_t k = 0; k < branch_[side].outputs().size(); ++k) {
      const bool has = branch_[side].given(k).node.exists();
      wiring.given.push_back(has ? InputAt(given_[k]) : 0);
    }
    return wiring;
  }

  std::vector<Gradient> WriteGradientNode(const std::vector<std::optional<bool>>& kinds) {
    std::vector<Wiring> wiring;
    for (size_t side = 0; side < branch_.size(); ++side) wiring.push_back(Wire(side));
    Node node = MakeNode(is_case_ ? "StatelessCase" : "StatelessIf", g_.node().name, {condition_});
    node.inputs.insert(node.inputs.end(), inputs_.begin(), inputs_.end());
    std::vector<DataType> in_types, out_types;
    for (const Endpoint& input : inputs_) in_types.push_back(g_.s.TypeOf(input));
    std::vector<AttrValue> functions;
    for (size_t side = 0; side < branch_.size(); ++side) {
      const FunctionBody function = GradientFunction(side, wiring[side]);
      if (HasState(function.graph)) node.op = is_case_ ? "Case" : "If";
      functions.push_back(g_.s.AddFunction(function, names_[side] + "_grad"));
      out_types.clear();
      for (const Endpoint& output : function.outputs)
        out_types.push_back(
            OutputTypes(function.graph.node(output.node))[static_cast<size_t>(output.output)]);
    }
    SetFunctions(functions, &node);
    if (!is_case_) node.attrs["Tcond"] = g_.s.TypeOf(condition_);
    node.attrs["Tin"] = in_types;
    node.attrs["Tout"] = out_types;
    node.attrs["output_shapes"] = std::vector<ShapeAttr>();
    node.attrs["_lower_using_switch_merge"] = true;
    std::vector<Gradient> gradients(num_arguments() + 1);
    if (out_types.empty()) return gradients;
    const Endpoint made = g_.s.AddNode(std::move(node));
    int next = 0;
    const auto output = [&] { return op::Identity(g_.s, Scope::Output(made, next++)); };
    for (size_t i = 0; i < num_arguments(); ++i) {
      if (!kinds[i].has_value()) continue;
      if (*kinds[i]) {
        const Endpoint values = output(), indices = output();
        gradients[i + 1] = IndexedSlices{values, indices, output()};
      } else {
        gradients[i + 1] = output();
      }
    }
    return gradients;
  }

  FunctionBody GradientFunction(size_t side, const Wiring& wiring) {
    FunctionBody to;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      to.arguments.push_back(to.graph.AddNode(
          MakePlaceholder("input_" + std::to_string(i), g_.s.TypeOf(inputs_[i]), g_.shape(inputs_[i]))));
    }
    const auto input = [&](size_t number) { return Endpoint{to.arguments[number], 0}; };
    TensorMap known;
    const FunctionGradient& branch = branch_[side];
    for (size_t k = 0; k < wiring.taken.size(); ++k) {
      const Endpoint e = taken_[side][k];
      Endpoint stands = input(wiring.taken[k]);
      if (wiring.optional[k]) {
        const TensorInfo& info = branch_[side].s().Info(e);
        const std::vector<DataType> types{info.dtype};
        const std::vector<ShapeAttr> shapes{{info.shape, ""}};
        Node value = MakeNode("OptionalGetValue", "OptionalGetValue_" + std::to_string(k), {stands},
                              {{"output_types", types}, {"output_shapes", shapes}});
        stands = {to.graph.AddNode(std::move(value)), 0};
      }
      known[KeyOf(e)] = stands;
    }
    for (size_t k = 0; k < wiring.given.size(); ++k) {
      if (branch.given(k).node.exists()) known[KeyOf(branch.given(k))] = input(wiring.given[k]);
    }
    branch.WriteGradient(std::move(known), &to);
    return to;
  }

  const OpGradient& g_;
  const Endpoint condition_;
  const std::vector<Endpoint> given_;  // gradients of the outputs; no node where there is none
  const bool is_case_;
  std::vector<std::string> attrs_, names_;    // by branch: where its function is named, and how
  std::vector<FunctionGradient> branch_;      // then, else
  std::vector<std::vector<Endpoint>> taken_;  // what their gradients take
  std::vector<Endpoint> inputs_;              // of the gradient node, after the condition
};

std::vector<Gradient> GradientOfBranches(const OpGradient& g) { return BranchGradient(g).Write(); }

}  // namespace

void AddBranchGradients(GradientTable& table) {
  for (const char* op : {"If", "StatelessIf", "Case", "StatelessCase"}) table.Add(op, GradientOfBranches);
}

}  // namespace lanescope::graphs
