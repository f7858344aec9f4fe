// The gradient of If: an If of the branches' gradients. What they take of the branches, the first If hands
// out as optionals, of which those of the branch not taken are empty, as TensorFlow does.
#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/function_gradient.h"

namespace lanescope::graphs {
namespace {

class BranchGradient {
 public:
  explicit BranchGradient(const OpGradient& g)
      : g_(g), condition_(g.in(0)), given_(GivenOf(g)), branch_{Read("then_branch"), Read("else_branch")} {}

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

  FunctionGradient Read(const std::string& attr) {
    std::vector<TensorInfo> arguments;
    for (int i = 1; i < g_.num_inputs(); ++i) arguments.push_back(g_.s.Info(g_.in(i)));
    std::vector<DataType> types;
    for (const Endpoint& given : given_)
      types.push_back(given.node.exists() ? g_.s.TypeOf(given) : DataType::kInvalid);
    return FunctionGradient(g_, attr, arguments, types);
  }

  // Both branches give the same gradients of the same form. By argument: whether it is rows, or none at all.
  std::vector<std::optional<bool>> MatchGradients() {
    std::vector<std::optional<bool>> kinds;
    std::vector<Endpoint> results[2];
    for (size_t i = 0; i < num_arguments(); ++i) {
      Gradient* both[2] = {&branch_[0].gradient(i), &branch_[1].gradient(i)};
      if (both[0]->empty() && both[1]->empty()) {
        kinds.emplace_back();
        continue;
      }
      const bool rows = both[0]->is_slices() || both[1]->is_slices();
      for (int side = 0; side < 2; ++side) {
        if (!both[side]->empty()) continue;
        const Gradient& other = *both[1 - side];
        const Endpoint like = other.is_slices() ? other.slices().values : other.dense();
        *both[side] = branch_[side].Zeros(i, branch_[1 - side].s().TypeOf(like));
      }
      if (rows) {
        const auto both_rows = Rows(both);
        for (int side = 0; side < 2; ++side) {
          const IndexedSlices& slices = both_rows[static_cast<size_t>(side)];
          results[side].insert(results[side].end(), {slices.values, slices.indices, slices.dense_shape});
        }
      } else {
        for (int side = 0; side < 2; ++side) results[side].push_back(both[side]->dense());
      }
      kinds.emplace_back(rows);
    }
    for (int side = 0; side < 2; ++side) taken_[side] = branch_[side].Finish(results[side]);
    return kinds;
  }

  // Both as rows, numbered in one type.
  std::vector<IndexedSlices> Rows(Gradient* const (&both)[2]) {
    std::vector<IndexedSlices> rows;
    for (int side = 0; side < 2; ++side)
      rows.push_back(both[side]->is_slices() ? both[side]->slices()
                                             : AllRows(branch_[side].s(), both[side]->dense()));
    for (Endpoint IndexedSlices::*part : {&IndexedSlices::indices, &IndexedSlices::dense_shape}) {
      if (branch_[0].s().TypeOf(rows[0].*part) == branch_[1].s().TypeOf(rows[1].*part)) continue;
      for (int side = 0; side < 2; ++side) {
        Endpoint& e = rows[static_cast<size_t>(side)].*part;
        e = Cast(branch_[side].s(), e, DataType::kInt64);
      }
    }
    return rows;
  }

  // Of what a branch's gradient takes, that which no argument and no output is.
  std::vector<Endpoint> Inner(int side) const {
    std::vector<Endpoint> inner;
    for (const Endpoint& e : taken_[side]) {
      if (branch_[side].ArgumentAt(e) < 0 && branch_[side].OutputAt(e) < 0) inner.push_back(e);
    }
    return inner;
  }

  // The first node with the optionals that both gradients want.
  void HandOut() {
    const size_t count = std::max(Inner(0).size(), Inner(1).size());
    if (count == 0) return;
    Node node = g_.s.graph().node(g_.out().node);
    for (int side = 0; side < 2; ++side) {
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
      const std::string attr = side == 0 ? "then_branch" : "else_branch";
      node.attrs[attr] = g_.s.AddFunction(branch.Function({}, optionals, nodes),
                                          FunctionNameOf(g_.node(), attr) + "_rewritten");
    }
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

  // Where a tensor outside is among the gradient node's inputs.
  size_t InputAt(Endpoint outside) {
    const auto found = std::ranges::find(inputs_, outside);
    if (found != inputs_.end()) return static_cast<size_t>(found - inputs_.begin());
    inputs_.push_back(outside);
    return inputs_.size() - 1;
  }

  // Of each tensor that a branch's gradient takes, where it comes from, in the order of taken_; then of the
  // gradients of its outputs.
  struct Wiring {
    std::vector<size_t> taken, given;
    std::vector<bool> optional;
  };
  Wiring Wire(int side) {
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
    const Wiring wiring[2] = {Wire(0), Wire(1)};
    Node node = MakeNode("StatelessIf", g_.node().name, {condition_});
    node.inputs.insert(node.inputs.end(), inputs_.begin(), inputs_.end());
    std::vector<DataType> in_types, out_types;
    for (const Endpoint& input : inputs_) in_types.push_back(g_.s.TypeOf(input));
    for (int side = 0; side < 2; ++side) {
      const FunctionBody function = GradientFunction(side, wiring[side]);
      if (HasState(function.graph)) node.op = "If";
      const std::string attr = side == 0 ? "then_branch" : "else_branch";
      node.attrs[attr] = g_.s.AddFunction(function, FunctionNameOf(g_.node(), attr) + "_grad");
      out_types.clear();
      for (const Endpoint& output : function.outputs)
        out_types.push_back(
            OutputTypes(function.graph.node(output.node))[static_cast<size_t>(output.output)]);
    }
    node.attrs["Tcond"] = g_.s.TypeOf(condition_);
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

  FunctionBody GradientFunction(int side, const Wiring& wiring) {
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
  FunctionGradient branch_[2];         // then, else
  std::vector<Endpoint> taken_[2];     // what their gradients take
  std::vector<Endpoint> inputs_;       // of the gradient node, after the condition
};

std::vector<Gradient> IfGradient(const OpGradient& g) { return BranchGradient(g).Write(); }

}  // namespace

void AddBranchGradients(GradientTable& table) {
  table.Add("If", IfGradient);
  table.Add("StatelessIf", IfGradient);
}

}  // namespace lanescope::graphs
