// SPDX-License-Identifier: Apache-2.0
// The gradients of a whole graph: which ops lie between ys and xs, in which order they are differentiated,
// and how the gradients that meet at one output are added.
#include "graphs/gradients.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

bool IsFloating(DataType type) {
  switch (type) {
    case DataType::kHalf:
    case DataType::kBfloat16:
    case DataType::kFloat:
    case DataType::kDouble:
    case DataType::kComplex64:
    case DataType::kComplex128:
      return true;
    default:
      return false;
  }
}

// Lists of tensors are variants.
bool CarriesGradients(DataType type) {
  return IsFloating(type) || type == DataType::kResource || type == DataType::kVariant;
}

bool IsNumber(DataType type) {
  return type != DataType::kString && type != DataType::kBool && type != DataType::kResource &&
         type != DataType::kVariant;
}

// The node that a gradient comes from.
NodeId NodeOf(const Gradient& gradient) {
  return gradient.is_slices() ? gradient.slices().values.node : gradient.dense().node;
}

// The rows of several gradients one after the other.
IndexedSlices JoinSlices(Scope& s, const std::vector<Gradient>& grads) {
  std::vector<Input> values, indices;
  const bool widen = std::ranges::any_of(
      grads, [&](const Gradient& g) { return s.TypeOf(g.slices().indices) != DataType::kInt32; });
  std::vector<Endpoint> cast;
  for (const Gradient& grad : grads) {
    cast.push_back(widen ? Cast(s, grad.slices().indices, DataType::kInt64) : grad.slices().indices);
  }
  for (const Gradient& grad : grads) values.emplace_back(grad.slices().values);
  for (const Endpoint index : cast) indices.emplace_back(index);
  const Endpoint all_values = op::ConcatV2(s, values, 0, {.name = "concat"});
  const Endpoint all_indices = op::ConcatV2(s, indices, 0, {.name = "concat"});
  return {all_values, all_indices, grads[0].slices().dense_shape};
}

class GradientWriter {
 public:
  GradientWriter(Scope& scope, const std::vector<Endpoint>& ys, const std::vector<Endpoint>& xs,
                 const GradientOptions& options)
      : s_(scope), ys_(ys), xs_(xs), options_(options), num_ops_(scope.graph().num_nodes()) {}

  std::vector<Gradient> Run() {
    CheckArguments();
    const auto names = s_.Name(options_.name);
    source_ = s_.CurrentNames().substr(0, s_.CurrentNames().size() - 1);
    s_.UniqueName("uid");  // TensorFlow takes a name for the call, and so do we
    std::vector<Gradient> first;
    for (size_t i = 0; i < ys_.size(); ++i) first.push_back(FirstGradient(i));
    FindOpsBetween();
    for (size_t i = 0; i < ys_.size(); ++i) Received(ys_[i]).push_back(first[i]);

    std::deque<NodeId> ready;
    std::set<NodeId> queued;
    for (const Endpoint& y : ys_) {
      if (!reachable_[y.node] || pending_[y.node] != 0) continue;
      if (queued.insert(y.node).second) ready.push_back(y.node);
    }
    FindStops();
    while (!ready.empty()) {
      const NodeId id = ready.front();
      ready.pop_front();
      const std::vector<Endpoint> inputs = s_.graph().node(id).inputs;  // loops get further ones
      Differentiate(id);
      for (const Endpoint& input : inputs) {
        if (--pending_[input.node] == 0) ready.push_back(input.node);
      }
    }
    std::vector<Gradient> result;
    for (const Endpoint& x : xs_) {
      const auto found = total_.find(Key(x));
      result.push_back(found == total_.end() ? Gradient() : found->second);
    }
    return result;
  }

 private:
  using OutputKey = std::pair<NodeId, int>;
  static OutputKey Key(Endpoint e) { return {e.node, e.output}; }
  bool IsBefore(NodeId id) const { return id.index() < num_ops_; }
  std::vector<Gradient>& Received(Endpoint e) { return received_[Key(e)]; }

  void CheckArguments() const {
    for (const Endpoint& e : ys_) s_.Info(e);
    for (const Endpoint& e : xs_) s_.Info(e);
    if (!options_.grad_ys.empty() && options_.grad_ys.size() != ys_.size()) {
      Throw(Code::kInvalidArgument, "Length mismatch. Passed {} grad_ys for {} ys", options_.grad_ys.size(),
            ys_.size());
    }
    for (size_t i = 0; i < ys_.size(); ++i) {
      const bool given = !options_.grad_ys.empty() && !options_.grad_ys[i].empty();
      if (!given && !IsNumber(s_.TypeOf(ys_[i]))) {
        Throw(Code::kInvalidArgument, "'{}' has type {}; a y must be numeric to obtain a default gradient",
              s_.graph().TensorName(ys_[i]), DataTypeName(s_.TypeOf(ys_[i])));
      }
    }
  }

  std::optional<ScopeGuard> With(NodeId id) {
    if (!options_.colocate_with_ops) return std::nullopt;
    return s_.ColocateWith({id, 0});
  }

  Gradient FirstGradient(size_t i) {
    const auto with = With(ys_[i].node);
    const std::string name = "grad_ys_" + std::to_string(i);
    if (options_.grad_ys.empty() || options_.grad_ys[i].empty()) {
      const Endpoint shape = ShapeTensor(s_, ys_[i]);
      return OnesOf(s_, shape, s_.TypeOf(ys_[i]), name);
    }
    const Gradient& given = options_.grad_ys[i];
    if (!given.is_slices()) return op::Identity(s_, given.dense(), {.name = name});
    const Endpoint indices = op::Identity(s_, given.slices().indices, {.name = name + "_indices"});
    const Endpoint values = op::Identity(s_, given.slices().values, {.name = name + "_values"});
    return IndexedSlices{values, indices,
                         op::Identity(s_, given.slices().dense_shape, {.name = name + "_shape"})};
  }

  // Marks the ops on paths from xs to ys along which gradients can flow, and counts for each how many of its
  // users are such.
  void FindOpsBetween() {
    IdVector<NodeId, bool> reached(num_ops_, false);
    const Fanout fanout = ComputeFanout(s_.graph());
    std::deque<NodeId> open;
    for (const Endpoint& x : xs_) open.push_back(x.node);
    while (!open.empty()) {
      const NodeId id = open.front();
      open.pop_front();
      if (!IsBefore(id) || reached[id]) continue;
      reached[id] = true;
      for (const NodeUse& edge : fanout[id]) {
        if (edge.input < 0 || !IsBefore(edge.node)) continue;
        if (CarriesGradients(s_.TypeOf({id, edge.output}))) open.push_back(edge.node);
      }
    }
    reachable_ = reached;
    IdVector<NodeId, bool> between(num_ops_, false);
    std::vector<NodeId> list;
    for (const Endpoint& y : ys_) open.push_back(y.node);
    while (!open.empty()) {
      const NodeId id = open.front();
      open.pop_front();
      if (!reached[id]) continue;
      if (!between[id]) list.push_back(id);
      between[id] = true;
      reached[id] = false;
      for (const Endpoint& input : s_.graph().node(id).inputs) open.push_back(input.node);
    }
    pending_.assign(num_ops_, 0);
    for (const NodeId id : list) {
      for (const Endpoint& input : s_.graph().node(id).inputs) {
        if (between[input.node]) ++pending_[input.node];
      }
    }
  }

  // Where the way back ends: xs of which no input leads to another x, and what the caller said.
  void FindStops() {
    for (const Endpoint& x : xs_) {
      const auto& inputs = s_.graph().node(x.node).inputs;
      const bool goes_on =
          std::ranges::any_of(inputs, [&](const Endpoint& input) { return pending_[input.node] > 0; });
      if (!goes_on) stops_.insert(x.node);
    }
    for (const Endpoint& stop : options_.stop_gradients) stops_.insert(stop.node);
  }

  // One sum on every device, and their sum.
  Gradient Sum(const std::vector<Gradient>& grads) {
    std::vector<Gradient> given;
    for (const Gradient& grad : grads) {
      if (!grad.empty()) given.push_back(grad);
    }
    if (given.size() < 2) return given.empty() ? Gradient() : given[0];
    const auto sparse = std::ranges::count_if(given, &Gradient::is_slices);
    if (sparse == std::ssize(given)) return JoinSlices(s_, given);
    if (sparse > 0) {
      const auto names = s_.Name("AddN");
      const std::string full = s_.CurrentNames();
      std::vector<Endpoint> dense;
      for (size_t i = 0; i < given.size(); ++i) {
        dense.push_back(given[i].ToDense(s_, "inputs_" + std::to_string(i)));
      }
      return op::AddN(s_, dense, {.name = full});
    }
    std::map<std::string, std::vector<Endpoint>> by_device;
    for (const Gradient& grad : given) {
      by_device[s_.graph().node(grad.dense().node).device].push_back(grad.dense());
    }
    std::vector<Endpoint> sums;
    for (const auto& [device, tensors] : by_device) {
      const auto with = s_.ColocateWith(tensors[0], true);
      sums.push_back(tensors.size() == 1 ? tensors[0] : op::AddN(s_, tensors));
    }
    return sums.size() == 1 ? sums[0] : op::AddN(s_, sums);
  }

  void Differentiate(NodeId id) {
    const auto with = With(id);
    const Node node = s_.graph().node(id);
    const int num_outputs = static_cast<int>(s_.Outputs({id, 0}).size());
    std::vector<Gradient> grads;
    for (int i = 0; i < num_outputs; ++i) {
      grads.push_back(Sum(Received({id, i})));
      if (!grads.back().empty()) total_[{id, i}] = grads.back();
    }
    const bool any = std::ranges::any_of(grads, [](const Gradient& g) { return !g.empty(); });
    if (!any || stops_.contains(id)) return;
    const GradientFunction* function = FindGradient(node.op);
    if (function == nullptr) {
      Throw(Code::kUnimplemented,
            "No gradient defined for operation '{}' (op type: {}); put a StopGradient before it where it "
            "does not matter",
            node.name, node.op);
    }
    if (*function == nullptr) return;
    std::vector<bool> zeros(grads.size(), false);
    for (int i = 0; i < num_outputs; ++i) {
      if (!grads[static_cast<size_t>(i)].empty() || !IsFloating(s_.TypeOf({id, i}))) continue;
      zeros[static_cast<size_t>(i)] = true;
      grads[static_cast<size_t>(i)] = op::ZerosLike(s_, Endpoint{id, i}, {.name = "zeros_like"});
    }
    const OpGradient gradient(s_, node, id, std::move(grads), std::move(zeros), source_);
    const std::vector<Gradient> of_inputs = Write(*function, gradient);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (i < of_inputs.size() && !of_inputs[i].empty()) Hand(node, i, of_inputs[i]);
    }
  }

  std::vector<Gradient> Write(GradientFunction function, const OpGradient& gradient) {
    const auto names = s_.Name(gradient.node().name + "_grad");
    std::vector<Gradient> of_inputs = function(gradient);
    const auto given = std::ranges::count_if(of_inputs, [](const Gradient& g) { return !g.empty(); });
    if (options_.gate_gradients && given > 1) Gate(&of_inputs);
    return of_inputs;
  }

  // None of the gradients can be had before all are there.
  void Gate(std::vector<Gradient>* grads) {
    const auto free = s_.NoDevice();
    const auto nowhere = s_.NoColocation();
    const auto names = s_.Name("tuple");
    std::vector<Endpoint> sources;
    for (const Gradient& grad : *grads) {
      if (!grad.empty()) sources.push_back({NodeOf(grad), 0});
    }
    const Endpoint gate = Group(s_, sources);
    for (Gradient& grad : *grads) {
      if (grad.empty()) continue;
      const auto name = s_.Name("control_dependency");
      const std::string full = s_.CurrentNames();
      const auto with = s_.ColocateWith({NodeOf(grad), 0});
      const auto after = s_.ControlDependencies({gate});
      if (!grad.is_slices()) {
        grad = op::Identity(s_, grad.dense(), {.name = full});
        continue;
      }
      const Endpoint values = op::Identity(s_, grad.slices().values, {.name = full});
      grad = IndexedSlices{values, grad.slices().indices, grad.slices().dense_shape};
    }
  }

  void Hand(const Node& node, size_t i, const Gradient& grad) {
    const Endpoint input = node.inputs[i];
    if (!grad.is_slices() && s_.TypeOf(input) != DataType::kResource) {
      try {
        s_.MergeShape(grad.dense(), s_.ShapeOf(input));
      } catch (const Error&) {
        Throw(Code::kInvalidArgument,
              "Incompatible shapes between op input and calculated input gradient. Forward operation: {}. "
              "Input index: {}. Original input shape: {}. Calculated input gradient shape: {}",
              node.name, i, s_.ShapeOf(input).ToString(), s_.ShapeOf(grad.dense()).ToString());
      }
    }
    Received(input).push_back(grad);
  }

  Scope& s_;
  const std::vector<Endpoint>& ys_;
  const std::vector<Endpoint>& xs_;
  const GradientOptions& options_;
  const size_t num_ops_;  // before the first gradient
  std::string source_;
  IdVector<NodeId, bool> reachable_;
  IdVector<NodeId, int> pending_;
  std::set<NodeId> stops_;
  std::map<OutputKey, std::vector<Gradient>> received_;
  std::map<OutputKey, Gradient> total_;
};

}  // namespace

Endpoint Gradient::dense() const {
  if (const Endpoint* endpoint = std::get_if<Endpoint>(&value_)) return *endpoint;
  Throw(Code::kInvalidArgument, "{}",
        empty() ? "there is no gradient: nothing depends on this"
                : "the gradient is rows of a tensor; use ToDense");
}

Endpoint Gradient::ToDense(Scope& scope, std::string_view name) const {
  if (!is_slices()) return dense();
  const IndexedSlices& rows = slices();
  const Endpoint count = Element(scope, rows.dense_shape, 0);
  return op::UnsortedSegmentSum(scope, rows.values, rows.indices, count, {.name = name});
}

std::vector<Gradient> Gradients(Scope& scope, const std::vector<Endpoint>& ys,
                                const std::vector<Endpoint>& xs, const GradientOptions& options) {
  return GradientWriter(scope, ys, xs, options).Run();
}

bool IsDifferentiable(std::string_view op) { return FindGradient(op) != nullptr; }

}  // namespace lanescope::graphs
