// SPDX-License-Identifier: Apache-2.0
// Gradients of TensorFlow 1's arrays of tensors: arrays of their elements' gradients, which the handle of the
// first one leads to. What changes an array hands on a flow, and so does its gradient.
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/function_gradient.h"

namespace lanescope::graphs {
namespace {

// The array of gradients, and a flow behind it.
struct GradientArray {
  Endpoint handle, flow;
};

GradientArray ArrayOf(const OpGradient& g, Endpoint flow) {
  const Endpoint made = g.s.AddNode(MakeNode("TensorArrayGradV3", "TensorArrayGrad/TensorArrayGradV3",
                                             {g.in(0), flow}, {{"source", g.source()}}));
  const auto after = g.s.ControlDependencies({made});
  return {made, op::Identity(g.s, flow, {.name = "TensorArrayGrad/gradient_flow"})};
}

// The array after an op that changes it, once that has happened.
GradientArray ArrayAfter(const OpGradient& g) {
  const Endpoint changed = op::Identity(g.s, g.out(), {.name = "flow_out"});
  const auto after = g.s.ControlDependencies({changed});
  const Endpoint flow = op::Identity(g.s, g.grad(), {.name = "write_barrier"});
  return ArrayOf(g, flow);
}

Endpoint AddArrayNode(Scope& s, const std::string& op, std::vector<Endpoint> inputs, AttrMap attrs) {
  return s.AddNode(MakeNode(op, op, std::move(inputs), std::move(attrs)));
}

std::vector<Gradient> ReadGradient(const OpGradient& g) {
  const auto [handle, flow] = ArrayOf(g, g.in(2));
  const Endpoint grad = g.grad();
  return {
      {}, {}, AddArrayNode(g.s, "TensorArrayWriteV3", {handle, g.in(1), grad, flow}, {{"T", g.type(grad)}})};
}

std::vector<Gradient> WriteGradient(const OpGradient& g) {
  const auto [handle, flow] = ArrayAfter(g);
  const Endpoint value =
      AddArrayNode(g.s, "TensorArrayReadV3", {handle, g.in(1), flow}, {{"dtype", g.type(g.in(2))}});
  return {{}, {}, value, flow};
}

std::vector<Gradient> ArrayGatherGradient(const OpGradient& g) {
  const auto [handle, flow] = ArrayOf(g, g.in(2));
  const Endpoint grad = g.grad();
  return {{},
          {},
          AddArrayNode(g.s, "TensorArrayScatterV3", {handle, g.in(1), grad, flow}, {{"T", g.type(grad)}})};
}

std::vector<Gradient> ArrayScatterGradient(const OpGradient& g) {
  const auto [handle, flow] = ArrayAfter(g);
  const ShapeAttr unknown{Shape::Unknown(), ""};
  const Endpoint value = AddArrayNode(g.s, "TensorArrayGatherV3", {handle, g.in(1), flow},
                                      {{"dtype", g.type(g.in(2))}, {"element_shape", unknown}});
  return {{}, {}, value, flow};
}

std::vector<Gradient> ArrayConcatGradient(const OpGradient& g) {
  const auto [handle, flow] = ArrayOf(g, g.in(1));
  const Endpoint grad = g.grad(0);
  return {{}, AddArrayNode(g.s, "TensorArraySplitV3", {handle, grad, g.out(1), flow}, {{"T", g.type(grad)}})};
}

std::vector<Gradient> ArraySplitGradient(const OpGradient& g) {
  const auto [handle, flow] = ArrayAfter(g);
  const ShapeAttr unknown{Shape::Unknown(), ""};
  const Endpoint value = AddArrayNode(g.s, "TensorArrayConcatV3", {handle, flow},
                                      {{"dtype", g.type(g.in(1))}, {"element_shape_except0", unknown}});
  return {{}, value, {}, flow};
}

}  // namespace

void AddTensorArrayGradients(GradientTable& table) {
  table.Add("TensorArrayReadV3", ReadGradient);
  table.Add("TensorArrayWriteV3", WriteGradient);
  table.Add("TensorArrayGatherV3", ArrayGatherGradient);
  table.Add("TensorArrayScatterV3", ArrayScatterGradient);
  table.Add("TensorArrayConcatV3", ArrayConcatGradient);
  table.Add("TensorArraySplitV3", ArraySplitGradient);
  for (const char* op : {"TensorArrayV3", "TensorArrayGradV3", "TensorArraySizeV3", "TensorArrayCloseV3"})
    table.Add(op, nullptr);
}

}  // namespace lanescope::graphs
