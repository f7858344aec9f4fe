// SPDX-License-Identifier: Apache-2.0
// Gradients of the ops that move elements without changing them.
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

std::vector<Gradient> ReshapeGradient(const OpGradient& g) {
  const Endpoint grad = g.grad();
  return {op::Reshape(g.s, grad, ShapeTensor(g.s, g.in(0)))};
}

std::vector<Gradient> TransposeGradient(const OpGradient& g) {
  const Endpoint back = op::InvertPermutation(g.s, g.in(1));
  return {op::Transpose(g.s, g.grad(), back, {.name = "transpose"})};
}

// The shape doubled in rank: multiples and dimensions by turns. The sum over the first of each pair is the
// gradient.
std::vector<Gradient> TileGradient(const OpGradient& g) {
  const Endpoint multiples = g.in(1);
  const Endpoint input_shape = ShapeTensor(g.s, g.in(0), g.type(multiples));
  const Endpoint pairs = op::Pack(g.s, {multiples, input_shape}, {.name = "stack"});
  const Endpoint split = [&] {
    const auto names = g.s.Name("transpose");
    const std::string full = g.s.CurrentNames();
    const Endpoint perm = g.s.Constant(NumbersAs(Input({1, 0}).value(), DataType::kInt32), "perm");
    return op::Transpose(g.s, pairs, perm, {.name = full});
  }();
  const Endpoint flat = op::Reshape(g.s, split, {-1});
  const Endpoint axes = RangeUpTo(g.s, 0, SizeTensor(g.s, flat), 2);
  const Endpoint sum = SumOver(g.s, op::Reshape(g.s, g.grad(), flat), axes);
  g.s.MergeShape(sum, g.shape(g.in(0)));
  return {sum};
}

std::vector<Gradient> PadGradient(const OpGradient& g) {
  const Endpoint x = g.in(0), paddings = g.in(1);
  const Endpoint size = op::Pack(g.s, {RankTensor(g.s, x), 1}, {.name = "stack"});
  const Endpoint before = op::Slice(g.s, paddings, {0, 0}, size);
  const Endpoint begin = op::Reshape(g.s, before, {-1});
  const Endpoint sizes = ShapeTensor(g.s, x, g.type(begin));
  return {op::Slice(g.s, g.grad(), begin, sizes)};
}

std::vector<Gradient> MirrorPadGradient(const OpGradient& g) {
  return {op::MirrorPadGrad(g.s, g.grad(), g.in(1), g.node().StringAttr("mode"))};
}

std::vector<Gradient> MirrorPadGradGradient(const OpGradient& g) {
  return {op::MirrorPad(g.s, g.grad(), g.in(1), g.node().StringAttr("mode"))};
}

std::vector<Gradient> ReverseGradient(const OpGradient& g) { return {op::ReverseV2(g.s, g.grad(), g.in(1))}; }

std::vector<Gradient> DiagGradient(const OpGradient& g) { return {op::DiagPart(g.s, g.grad())}; }

std::vector<Gradient> DiagPartGradient(const OpGradient& g) { return {op::Diag(g.s, g.grad())}; }

std::vector<Gradient> MatrixBandPartGradient(const OpGradient& g) {
  return {op::MatrixBandPart(g.s, g.grad(), g.in(1), g.in(2))};
}

// The sum of all.
std::vector<Gradient> FillGradient(const OpGradient& g) {
  return {Gradient(), SumOver(g.s, g.grad(), AllAxes(g.s, g.grad()))};
}

std::vector<Gradient> BroadcastToGradient(const OpGradient& g) {
  Endpoint shape = g.in(1);
  const DataType type = g.type(shape);
  const Endpoint input_shape = ShapeTensor(g.s, g.in(0), type);
  if (const Tensor* known = g.value(shape)) shape = g.s.Constant(*known);
  const auto axes = op::BroadcastGradientArgs(g.s, shape, input_shape);
  return {op::Reshape(g.s, SumOver(g.s, g.grad(), axes.r1, true), input_shape)};
}

}  // namespace

void AddArrayGradients(GradientTable& table) {
  table.Add("Reshape", ReshapeGradient);
  table.Add("ExpandDims", ReshapeGradient);
  table.Add("Squeeze", ReshapeGradient);
  table.Add("Transpose", TransposeGradient);
  table.Add("ConjugateTranspose", TransposeGradient);
  table.Add("Tile", TileGradient);
  table.Add("Pad", PadGradient);
  table.Add("PadV2", PadGradient);
  table.Add("MirrorPad", MirrorPadGradient);
  table.Add("MirrorPadGrad", MirrorPadGradGradient);
  table.Add("ReverseV2", ReverseGradient);
  table.Add("Diag", DiagGradient);
  table.Add("DiagPart", DiagPartGradient);
  table.Add("MatrixBandPart", MatrixBandPartGradient);
  table.Add("Fill", FillGradient);
  table.Add("BroadcastTo", BroadcastToGradient);
}

}  // namespace lanescope::graphs
