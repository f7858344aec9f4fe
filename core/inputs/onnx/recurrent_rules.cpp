// SPDX-License-Identifier: Apache-2.0
// Recurrent layers, step by step: what does not depend on the state is one product for all steps.
#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/inputs/onnx/onnx_node.h"

namespace lanescope {
namespace {

// The limit of steps of both directions; longer networks stay ops known by their cost.
constexpr int64_t kMostSteps = 1024;

// A layer in one direction.
struct Layer {
  int64_t gates, hidden;
  OnnxValue inputs;     // of all steps: [steps][batch, gates * hidden], times W and with the biases added
  OnnxValue recurrent;  // [gates * hidden, hidden]
  OnnxValue late_bias;  // of a GRU: added to the last gate's product with the state
  OnnxValue peepholes;  // of an LSTM
  std::vector<std::string> functions;
  bool reset_after = false;
};

class Steps {
 public:
  Steps(OnnxEmitter& to, const Layer& layer) : to_(to), layer_(layer) {}

  OnnxValue Of(std::string_view op, const OnnxValue& x, const OnnxValue& y) { return to_.Node(op, {x, y}); }
  OnnxValue Function(size_t number, const OnnxValue& x) { return to_.Node(layer_.functions[number], {x}); }
  OnnxValues Split(const OnnxValue& x, const std::vector<int64_t>& gates) {
    if (gates.size() == 1) return {x};
    std::vector<int64_t> sizes = gates;
    for (int64_t& size : sizes) size *= layer_.hidden;
    return to_.Nodes("SplitV", {x, to_.Ints(sizes), to_.Int(1)},
                     {{"num_split", static_cast<int64_t>(sizes.size())}});
  }
  OnnxValue Product(const OnnxValue& state, const OnnxValue& matrix) {
    return to_.Node("MatMul", {state, matrix}, {{"transpose_b", true}});
  }

  OnnxValue Rnn(const OnnxValue& x, const OnnxValue& h) {
    return Function(0, Of("AddV2", x, Product(h, layer_.recurrent)));
  }

  // Gates: input, output, forget, cell. Peepholes look at the cell in the order input, output, forget.
  OnnxValue Lstm(const OnnxValue& x, const OnnxValue& h, OnnxValue* c) {
    OnnxValues gates = Split(Of("AddV2", x, Product(h, layer_.recurrent)), {1, 1, 1, 1});
    OnnxValues peeps;
    if (layer_.peepholes.exists())
      peeps = to_.Nodes(
          "SplitV", {layer_.peepholes, to_.Ints({layer_.hidden, layer_.hidden, layer_.hidden}), to_.Int(0)},
          {{"num_split", int64_t{3}}});
    const auto seen = [&](size_t gate, size_t peep, const OnnxValue& cell) {
      return peeps.empty() ? gates[gate] : Of("AddV2", gates[gate], Of("Mul", peeps[peep], cell));
    };
    const OnnxValue input = Function(0, seen(0, 0, *c)), forget = Function(0, seen(2, 2, *c));
    *c = Of("AddV2", Of("Mul", forget, *c), Of("Mul", input, Function(1, gates[3])));
    return Of("Mul", Function(0, seen(1, 1, *c)), Function(2, *c));
  }

  // Gates: update, reset, hidden.
  OnnxValue Gru(const OnnxValue& x, const OnnxValue& h, const OnnxValues& matrices) {
    const OnnxValues given = Split(x, {2, 1});
    const OnnxValues gates = Split(Function(0, Of("AddV2", given[0], Product(h, matrices[0]))), {1, 1});
    const auto late = [&](const OnnxValue& product) {
      return layer_.late_bias.exists() ? Of("AddV2", product, layer_.late_bias) : product;
    };
    const OnnxValue state = layer_.reset_after ? Of("Mul", gates[1], late(Product(h, matrices[1])))
                                               : late(Product(Of("Mul", gates[1], h), matrices[1]));
    const OnnxValue next = Function(1, Of("AddV2", given[1], state));
    // (1 - update) * next + update * h.
    return Of("AddV2", next, Of("Mul", gates[0], Of("Sub", h, next)));
  }

 private:
  OnnxEmitter& to_;
  const Layer& layer_;
};

int64_t GatesOf(const std::string& op) { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }

// The functions of one direction, as ops; empty: some are none here, or have numbers of their own.
std::vector<std::string> FunctionsOf(const OnnxNode& node, int64_t direction, int64_t directions) {
  static constexpr std::array<std::string_view, 5> kKnown{"Sigmoid", "Tanh", "Relu", "Softsign", "Softplus"};
  const std::vector<std::string> usual = node.op() == "LSTM"
                                             ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                         : node.op() == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                              : std::vector<std::string>{"Tanh"};
  std::vector<std::string> all = node.Texts("activations");
  if (all.empty()) return usual;
  if (all.size() != usual.size() * static_cast<size_t>(directions)) return {};
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(usual.size()) * direction;
  std::vector<std::string> own(first, first + static_cast<std::ptrdiff_t>(usual.size()));
  const bool known = std::ranges::all_of(
      own, [](const std::string& name) { return std::ranges::find(kKnown, name) != kKnown.end(); });
  return known ? own : std::vector<std::string>{};
}

OnnxValue OfDirection(OnnxEmitter& to, const OnnxValues& inputs, size_t input, int64_t direction) {
  if (input >= inputs.size() || !inputs[input].exists()) return {};
  return to.Node("GatherV2", {inputs[input], to.Int(direction), to.Int(0)});
}

// The inputs of all steps, times W: [steps][batch, gates * hidden], with all biases that are added at once.
OnnxValue Projected(OnnxEmitter& to, const OnnxValues& inputs, const OnnxValue& x, int64_t direction,
                    Layer* layer) {
  const Shape shape = x.shape();
  const int64_t width = layer->gates * layer->hidden;
  const OnnxValue rows = to.Reshaped(x, {shape.dim(0) * shape.dim(1), shape.dim(2)});
  OnnxValue product =
      to.Node("MatMul", {rows, OfDirection(to, inputs, 1, direction)}, {{"transpose_b", true}});
  const OnnxValue biases = OfDirection(to, inputs, 3, direction);
  if (biases.exists()) {
    const OnnxValues halves =
        to.Nodes("SplitV", {biases, to.Ints({width, width}), to.Int(0)}, {{"num_split", int64_t{2}}});
    OnnxValue late = halves[1];
    if (layer->gates == 3) {
      const OnnxValues parts =
          to.Nodes("SplitV", {late, to.Ints({2 * layer->hidden, layer->hidden}), to.Int(0)},
                   {{"num_split", int64_t{2}}});
      layer->late_bias = parts[1];
      const OnnxValue nothing = to.Node("ZerosLike", {parts[1]});
      late = to.Node("ConcatV2", {parts[0], nothing, to.Int(0)}, {{"N", int64_t{2}}});
    }
    product = to.Node("AddV2", {product, to.Node("AddV2", {halves[0], late})});
  }
  return to.Reshaped(product, {shape.dim(0), shape.dim(1), width});
}

struct Direction {
  OnnxValues outputs;  // by step
  OnnxValue h, c;
};

Direction RunDirection(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& inputs, const OnnxValue& x,
                       int64_t direction, bool backwards, const std::vector<std::string>& functions) {
  const Shape shape = x.shape();
  const int64_t steps = shape.dim(0);
  Layer layer;
  layer.gates = GatesOf(node.op());
  layer.hidden = inputs[2].shape().dim(2);
  layer.functions = functions;
  layer.reset_after = node.Int("linear_before_reset", 0) != 0;
  layer.recurrent = OfDirection(to, inputs, 2, direction);
  layer.peepholes = OfDirection(to, inputs, 7, direction);
  layer.inputs = Projected(to, inputs, x, direction, &layer);
  const OnnxValues given = to.Nodes("Unpack", {layer.inputs}, {{"num", steps}, {"axis", int64_t{0}}});
  Steps step(to, layer);
  const auto initial = [&](size_t input) {
    const OnnxValue state = OfDirection(to, inputs, input, direction);
    if (state.exists()) return state;
    return to.Node("Fill", {to.Ints({shape.dim(1), layer.hidden}), to.Number(0, x.dtype())});
  };
  Direction made;
  made.outputs.resize(static_cast<size_t>(steps));
  made.h = initial(5);
  OnnxValues matrices;
  if (node.op() == "LSTM") made.c = initial(6);
  if (node.op() == "GRU")
    matrices = to.Nodes("SplitV", {layer.recurrent, to.Ints({2 * layer.hidden, layer.hidden}), to.Int(0)},
                        {{"num_split", int64_t{2}}});
  for (int64_t i = 0; i < steps; ++i) {
    const auto at = static_cast<size_t>(backwards ? steps - 1 - i : i);
    made.h = node.op() == "LSTM"  ? step.Lstm(given[at], made.h, &made.c)
             : node.op() == "GRU" ? step.Gru(given[at], made.h, matrices)
                                  : step.Rnn(given[at], made.h);
    made.outputs[at] = made.h;
  }
  return made;
}

// Whether it is constant and nothing but this number.
bool AreAll(const OnnxValue& value, int64_t number) {
  const std::optional<std::vector<int64_t>> numbers = ConstantInts(value);
  return numbers && std::ranges::all_of(*numbers, [&](int64_t each) { return each == number; });
}

// With `layout` the batch is the first axis of inputs, states and results, instead of the steps or
// directions.
bool IsBatchFirst(const OnnxNode& node) { return node.Int("layout", 0) == 1; }

bool IsKnown(const OnnxNode& node, const OnnxValues& inputs) {
  for (size_t i = 0; i < 3; ++i)
    if (!inputs[i].exists() || !inputs[i].known_rank() || inputs[i].rank() != 3 ||
        !inputs[i].shape().IsExact())
      return false;
  // Sequences of different lengths, and what bounds or couples gates, have no counterpart.
  const bool lengths = inputs.size() > 4 && inputs[4].exists();
  const int64_t layout = node.Int("layout", 0), steps = inputs[0].shape().dim(IsBatchFirst(node) ? 1 : 0);
  if ((lengths && !AreAll(inputs[4], steps)) || node.Has("clip") || node.Int("input_forget", 0) != 0 ||
      (layout != 0 && layout != 1) || !IsFloat(inputs[0].dtype()))
    return false;
  const Shape w = inputs[1].shape(), r = inputs[2].shape(), x = inputs[0].shape();
  const int64_t directions = node.Text("direction", "forward") == "bidirectional" ? 2 : 1;
  return w.dim(0) == directions && r.dim(0) == directions && w.dim(2) == x.dim(2) && w.dim(1) == r.dim(1) &&
         r.dim(1) == GatesOf(node.op()) * r.dim(2) && steps >= 1 && steps <= kMostSteps / directions;
}

OnnxValues Recurrent(OnnxEmitter& to, const OnnxNode& node, const OnnxValues& given) {
  if (!IsKnown(node, given)) return {};
  OnnxValues inputs = given;
  if (IsBatchFirst(node)) {
    for (const size_t input : {0, 5, 6}) {
      if (input < inputs.size() && inputs[input].exists())
        inputs[input] = to.Transposed(inputs[input], {1, 0, 2});
    }
  }
  const std::string way = node.Text("direction", "forward");
  const int64_t directions = way == "bidirectional" ? 2 : 1;
  std::vector<Direction> made;
  for (int64_t d = 0; d < directions; ++d) {
    const std::vector<std::string> functions = FunctionsOf(node, d, directions);
    if (functions.empty()) return {};
    made.push_back(RunDirection(to, node, inputs, inputs[0], d, d == 1 || way == "reverse", functions));
  }
  const auto packed = [&](const OnnxValues& parts, int64_t axis) {
    return to.Node("Pack", parts, {{"N", static_cast<int64_t>(parts.size())}, {"axis", axis}});
  };
  OnnxValues all, last, cells;
  for (const Direction& direction : made) {
    all.push_back(packed(direction.outputs, 0));
    last.push_back(direction.h);
    if (direction.c.exists()) cells.push_back(direction.c);
  }
  OnnxValues results{packed(all, 1), packed(last, 0)};
  if (!cells.empty()) results.push_back(packed(cells, 0));
  if (IsBatchFirst(node)) {
    results[0] = to.Transposed(results[0], {2, 0, 1, 3});
    for (size_t i = 1; i < results.size(); ++i) results[i] = to.Transposed(results[i], {1, 0, 2});
  }
  return results;
}

}  // namespace

void AddRecurrentRules(OnnxRules* rules) {
  for (const char* name : {"LSTM", "GRU", "RNN"}) rules->emplace(name, Recurrent);
}

}  // namespace lanescope
