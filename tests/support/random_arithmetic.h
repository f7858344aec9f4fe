// SPDX-License-Identifier: Apache-2.0
// Random graphs of all that nodes share launches for: chains and diamonds of element-wise ops of every type,
// broadcasts, casts, selections, reductions, softmax and norms, aliases between them, updates of variables
// beside reads of them, control edges, and sizes with ones, zeros and primes in them.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/machine/machine.h"
#include "core/place/placement.h"
#include "tests/support/random_operands.h"

namespace lanescope::test {

class RandomArithmetic : public RandomOperands {
 public:
  RandomArithmetic(unsigned seed, const Options& options) : RandomOperands(seed, options) {
    for (int i = 0; i < 4; ++i) AddFeed("feed" + std::to_string(i));
    for (int i = 0; i < 2; ++i) AddVariable("var" + std::to_string(i));
    for (int i = 0; i < options_.ops; ++i) AddOp("op" + std::to_string(i));
    fetches_.push_back(builder_.graph().TensorName(values_.back().endpoint));
    for (int i = 0; i < 3; ++i)
      fetches_.push_back(builder_.graph().TensorName(values_[Random(values_.size())].endpoint));
    graph_ = builder_.Take();
  }

  const Graph& graph() const { return graph_; }
  const std::map<std::string, Tensor>& feeds() const { return feeds_; }
  const std::vector<std::string>& init() const { return init_; }
  const std::vector<std::string>& fetches() const { return fetches_; }
  const std::vector<std::string>& targets() const { return targets_; }

  // State and what touches it share a device; all else goes anywhere, mostly where its first input is.
  Placement Place(const Machine& machine) {
    Placement placement;
    for (const NodeId id : graph_.node_ids()) {
      const Node& node = graph_.node(id);
      DeviceId device = DeviceId(static_cast<int>(Random(static_cast<size_t>(machine.num_devices()))));
      // A slot's name begins with that of its variable.
      if (const size_t slash = node.name.find('/');
          node.name.starts_with("var") && slash != std::string::npos)
        device = placement.device[graph_.FindNode(node.name.substr(0, slash))];
      for (const Endpoint& input : node.inputs) {
        const std::string& source = graph_.node(input.node).op;
        if (source == "VariableV2" || source == "VarHandleOp") {
          device = placement.device[input.node];
          break;
        }
        if (Random(8) > 0) device = placement.device[input.node];
      }
      placement.device.Add(device);
    }
    return placement;
  }

 private:
  struct State {
    std::vector<Endpoint> variables;  // itself and two slots
    bool by_handle;
    Shape shape;
  };

  void AddVariable(const std::string& name) {
    State state{{}, Random(2) == 0, Random(3) == 0 ? Narrowed(shape_) : shape_};
    for (const char* slot : {"", "/m", "/v"}) {
      state.variables.push_back(builder_.Op(state.by_handle ? "VarHandleOp" : "VariableV2", name + slot)
                                    .Attr("dtype", DataType::kFloat)
                                    .Attr("shape", state.shape)
                                    .Attr("shared_name", name + slot)
                                    .Build());
      Tensor first = Numbers(state.shape);
      for (int64_t i = 0; *slot != '\0' && i < first.NumElements(); ++i) first.data<float>()[i] = 0.25f;
      builder_.Op(state.by_handle ? "AssignVariableOp" : "Assign", name + slot + "/init")
          .Input(state.variables.back())
          .Input(builder_.Const(name + slot + "/first", first))
          .Build();
      init_.push_back(name + slot + "/init");
    }
    states_.push_back(state);
    Read(state, name + "/read", {});
  }
  void Read(const State& state, const std::string& name, std::optional<Endpoint> after) {
    auto node = builder_.Op(state.by_handle ? "ReadVariableOp" : "Identity", name);
    node.Input(state.variables[0]);
    if (state.by_handle) node.Attr("dtype", DataType::kFloat);
    if (after) node.ControlInput(*after);
    const Known read = Keep(node.Build(), DataType::kFloat, state.shape);
    if (options_.wide) Cast(name + "/wide", read, DataType::kDouble);
  }
  void Update(const std::string& name) {
    const State& state = states_[Random(states_.size())];
    const Known by = Matching(DataType::kFloat, state.shape, true);
    const auto number = [&] { return Matching(DataType::kFloat, Shape{}, true).endpoint; };
    const std::string of = state.by_handle ? "Resource" : "";
    Endpoint updated;
    const size_t kind = Random(6);
    if (kind < 3) {
      const std::string ops[] = {"Assign", "AssignAdd", "AssignSub"};
      const std::string op = ops[kind] + (state.by_handle ? "VariableOp" : "");
      updated = builder_.Op(op, name).Input(state.variables[0]).Input(by.endpoint).Build();
    } else {
      static const char* const kOps[] = {"ApplyGradientDescent", "ApplyAdam", "ApplyMomentum"};
      std::vector<Endpoint> inputs = {state.variables[0]};
      if (kind == 3) inputs.insert(inputs.end(), {number(), by.endpoint});
      if (kind == 4) {
        inputs.insert(inputs.end(), {state.variables[1], state.variables[2]});
        for (int i = 0; i < 6; ++i) inputs.push_back(number());
        inputs.push_back(by.endpoint);
      }
      if (kind == 5) inputs.insert(inputs.end(), {state.variables[1], number(), by.endpoint, number()});
      auto node = builder_.Op(of + kOps[kind - 3], name);
      for (const Endpoint& input : inputs) node.Input(input);
      if (Random(3) == 0) node.ControlInput(Any().endpoint);
      updated = node.Build();
    }
    targets_.push_back(name);
    if (!state.by_handle && Random(3) == 0) Keep(updated, DataType::kFloat, state.shape);
    if (Random(2) == 0) Read(state, name + "/read", updated);
  }

  // One more node, sometimes after another.
  Endpoint Add(const std::string& op, const std::string& name, const std::vector<Endpoint>& inputs) {
    auto node = builder_.Op(op, name);
    for (const Endpoint& input : inputs) node.Input(input);
    if (Random(12) == 0) node.ControlInput(Any().endpoint);
    return node.Build();
  }

  void Unary(const std::string& name) {
    static const char* const kOps[] = {
        "Abs",    "Acos",     "Asinh",      "Atan",      "Atanh",  "Ceil",  "Cos",    "Cosh",
        "Elu",    "Erf",      "Erfc",       "Exp",       "Expm1",  "Floor", "Lgamma", "Log",
        "Log1p",  "Neg",      "Relu",       "Relu6",     "Rint",   "Round", "Rsqrt",  "Selu",
        "Sign",   "Sigmoid",  "Sin",        "Sinh",      "Sqrt",   "Tan",   "Tanh",   "Softplus",
        "Square", "Softsign", "Reciprocal", "LeakyRelu", "Digamma"};
    static const char* const kAsks[] = {"IsFinite", "IsInf", "IsNan"};
    static const char* const kWhole[] = {"Abs", "Neg", "Sign", "Square"};
    const Known x = Any();
    if (x.dtype == DataType::kBool) {
      Keep(Add("LogicalNot", name, {x.endpoint}), x.dtype, x.shape);
    } else if (!IsFloating(x.dtype)) {
      Keep(Add(Choose(kWhole), name, {x.endpoint}), x.dtype, x.shape);
    } else if (Random(12) == 0) {
      Keep(Add(Choose(kAsks), name, {x.endpoint}), DataType::kBool, x.shape);
    } else {
      Keep(Add(Choose(kOps), name, {x.endpoint}), x.dtype, x.shape);
    }
  }

  Known NotZero(const std::string& name, const Known& like) {
    Tensor numbers(DataType::kFloat, like.shape);
    for (int64_t i = 0; i < numbers.NumElements(); ++i)
      numbers.data<float>()[i] = static_cast<float>(1 + Random(4)) * (Random(2) == 0 ? 1.0f : -1.0f);
    return Cast(name, {builder_.Const(name + "/numbers", numbers), DataType::kFloat, like.shape}, like.dtype);
  }

  void Binary(const std::string& name) {
    static const char* const kOps[] = {
        "Add", "AddV2", "Mul", "Sub", "Maximum", "Minimum", "SquaredDifference"};
    static const char* const kFractions[] = {"Atan2", "Div",      "DivNoNan", "RealDiv", "MulNoNan",
                                             "Pow",   "FloorDiv", "FloorMod", "Xdivy",   "Xlogy"};
    static const char* const kChecked[] = {"FloorDiv", "FloorMod", "TruncateDiv", "Pow", "Div"};
    static const char* const kCompares[] = {"Less",         "LessEqual", "Greater",
                                            "GreaterEqual", "Equal",     "NotEqual"};
    static const char* const kLogical[] = {"LogicalAnd", "LogicalOr", "Equal"};
    Known a = Any();
    Known b = Matching(a.dtype, a.shape, false);
    if (Random(2) == 0) std::swap(a, b);
    const Shape shape = *Broadcast(a.shape, b.shape);
    if (shape.NumElements() > options_.most_elements * 4) return;
    std::string op = Choose(kOps);
    DataType result = a.dtype;
    if (a.dtype == DataType::kBool) {
      op = Choose(kLogical);
    } else if (Random(6) == 0) {
      op = Choose(kCompares);
      result = DataType::kBool;
    } else if (IsFloating(a.dtype) && Random(3) == 0) {
      op = Choose(kFractions);
    } else if (!IsFloating(a.dtype) && options_.checked && Random(3) == 0) {
      op = Choose(kChecked);
      if (Random(3) > 0) b = NotZero(name + "/by", b);
    }
    Keep(Add(op, name, {a.endpoint, b.endpoint}), result, shape);
  }

  void Gradient(const std::string& name) {
    static const char* const kOps[] = {"TanhGrad",       "SigmoidGrad", "SqrtGrad",     "RsqrtGrad",
                                       "ReciprocalGrad", "ReluGrad",    "Relu6Grad",    "LeakyReluGrad",
                                       "EluGrad",        "SeluGrad",    "SoftplusGrad", "SoftsignGrad"};
    const Known a = AnyFloating();
    const Known b = Matching(a.dtype, a.shape, true);
    Keep(Add(Choose(kOps), name, {a.endpoint, b.endpoint}), a.dtype, a.shape);
  }

  void Selection(const std::string& name) {
    const Known a = Any();
    const size_t kind = Random(4);
    if (kind == 0) {
      std::vector<Endpoint> inputs = {a.endpoint};
      if (a.dtype == DataType::kBool) return;
      for (size_t i = Random(3); i-- > 0;) inputs.push_back(Matching(a.dtype, a.shape, true).endpoint);
      auto node = builder_.Op("AddN", name);
      node.Inputs(inputs);
      Keep(node.Build(), a.dtype, a.shape);
    } else if (kind == 1) {
      const Known b = Matching(a.dtype, a.shape, true), which = Matching(DataType::kBool, a.shape, true);
      Keep(Add("Select", name, {which.endpoint, a.endpoint, b.endpoint}), a.dtype, a.shape);
    } else if (kind == 2 && a.dtype != DataType::kBool) {
      const Known low = Matching(a.dtype, Random(2) == 0 ? Shape{} : a.shape, true);
      const Known high = Matching(a.dtype, Random(2) == 0 ? Shape{} : a.shape, true);
      Keep(Add("ClipByValue", name, {a.endpoint, low.endpoint, high.endpoint}), a.dtype, a.shape);
    } else {
      const Known b = Matching(a.dtype, a.shape, false);
      const Shape both = *Broadcast(a.shape, b.shape);
      const Known which = Matching(DataType::kBool, both, false);
      const Shape shape = *Broadcast(both, which.shape);
      if (shape.NumElements() > options_.most_elements * 4) return;
      Keep(Add("SelectV2", name, {which.endpoint, a.endpoint, b.endpoint}), a.dtype, shape);
    }
  }

  Endpoint Ints(const std::string& name, const std::vector<int32_t>& values) {
    return builder_.Const(name,
                          Tensor::FromValues<int32_t>(Shape{static_cast<int64_t>(values.size())}, values));
  }

  Known Reduce(const std::string& op, const std::string& name, const Known& x, int last) {
    const bool keep = Random(2) == 0;
    std::vector<int32_t> axes;
    Shape shape;
    for (int d = 0; d < x.shape.rank(); ++d) {
      const bool reduced = last > 0 ? d >= x.shape.rank() - last : Random(2) == 0;
      if (reduced) axes.push_back(Random(2) == 0 ? d : d - x.shape.rank());
      if (!reduced || keep) shape.Append(reduced ? 1 : x.shape[d]);
    }
    auto node = builder_.Op(op, name).Input(x.endpoint).Input(Ints(name + "/axes", axes));
    return Keep(node.Attr("keep_dims", keep).Build(), x.dtype, shape);
  }
  void Rows(const std::string& name) {
    static const char* const kReductions[] = {"Sum", "Mean", "Max", "Min", "Prod"};
    const Known x = Any();
    if (x.dtype == DataType::kBool || x.shape.rank() == 0) return;
    if (IsFloating(x.dtype) && Random(3) == 0) {
      Keep(Add(Random(3) == 0 ? "LogSoftmax" : "Softmax", name, {x.endpoint}), x.dtype, x.shape);
      return;
    }
    Reduce(Choose(kReductions), name, x, Random(3) == 0 ? 0 : 1 + static_cast<int>(Random(2)));
  }
  // (x - mean) * rsqrt(variance + epsilon) over the last dimension.
  void Norm(const std::string& name) {
    const Known x = AnyFloating();
    if (x.shape.rank() == 0) return;
    const Endpoint axis = Ints(name + "/axis", {-1});
    const auto mean = [&](const std::string& of, Endpoint y) {
      return builder_.Op("Mean", of).Input(y).Input(axis).Attr("keep_dims", true).Build();
    };
    const Endpoint centre = mean(name + "/mean", x.endpoint);
    const Endpoint difference = Add("SquaredDifference", name + "/difference", {x.endpoint, centre});
    const Known epsilon =
        Cast(name + "/epsilon",
             {builder_.Const(name + "/float", Tensor::Scalar(0.001f)), DataType::kFloat, Shape{}}, x.dtype);
    const Endpoint variance =
        Add("AddV2", name + "/more", {mean(name + "/variance", difference), epsilon.endpoint});
    const Endpoint scale = Add("Rsqrt", name + "/scale", {variance});
    const Endpoint centred = Add("Sub", name + "/centred", {x.endpoint, centre});
    Keep(Add("Mul", name, {centred, scale}), x.dtype, x.shape);
  }

  void Alias(const std::string& name) {
    const Known x = Any();
    switch (Random(5)) {
      case 0:
        Keep(Add(Random(2) == 0 ? "Identity" : "StopGradient", name, {x.endpoint}), x.dtype, x.shape);
        return;
      case 1: {  // under another shape
        Shape shape;
        std::vector<int32_t> dims;
        for (int d = x.shape.rank() - 1; d >= 0; --d) {
          if (d > 0 && Random(2) == 0) {
            shape.Append(x.shape[d] * x.shape[d - 1]);
            --d;
          } else {
            shape.Append(x.shape[d]);
          }
        }
        if (Random(2) == 0) shape.Append(1);
        Shape turned;
        for (int d = shape.rank() - 1; d >= 0; --d) turned.Append(shape[d]);
        for (int d = 0; d < turned.rank(); ++d) dims.push_back(static_cast<int32_t>(turned[d]));
        Keep(Add("Reshape", name, {x.endpoint, Ints(name + "/shape", dims)}), x.dtype, turned);
        return;
      }
      case 2: {
        Shape shape;
        std::vector<int32_t> turn;
        for (int d = x.shape.rank() - 1; d >= 0; --d) {
          turn.push_back(d);
          shape.Append(x.shape[d]);
        }
        Keep(Add("Transpose", name, {x.endpoint, Ints(name + "/turn", turn)}), x.dtype, shape);
        return;
      }
      case 3: {  // the same bits as numbers of another type; of no NaN, whose sign nothing determines
        const bool whole = x.dtype == DataType::kInt32;
        const Known of = whole ? x : values_[0];
        const DataType to = whole ? DataType::kFloat : DataType::kInt32;
        Keep(builder_.Op("Bitcast", name).Input(of.endpoint).Attr("type", to).Build(), to, of.shape);
        return;
      }
      default: {
        if (x.shape.rank() == 0 || x.shape.rank() > 4) return;
        const bool last = Random(2) == 0;
        Shape wider;
        if (!last) wider.Append(1);
        for (int d = 0; d < x.shape.rank(); ++d) wider.Append(x.shape[d]);
        if (last) wider.Append(1);
        Keep(Add("ExpandDims", name,
                 {x.endpoint, builder_.Const(name + "/axis", Tensor::Scalar<int32_t>(last ? -1 : 0))}),
             x.dtype, wider);
        return;
      }
    }
  }

  void AddOp(const std::string& name) {
    switch (Random(16)) {
      case 0:
        return Alias(name);
      case 1:
      case 2:
        return Rows(name);
      case 3:
        return Norm(name);
      case 4:
        return Gradient(name);
      case 5:
      case 6:
        return Selection(name);
      case 7:
        Cast(name, Any(), AnyType());
        return;
      case 8:
        return Update(name);
      case 9:
      case 10:
      case 11:
        return Unary(name);
      default:
        return Binary(name);
    }
  }

  Graph graph_;
  std::vector<State> states_;
  std::vector<std::string> init_, fetches_, targets_;
};

}  // namespace lanescope::test
