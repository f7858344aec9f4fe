// SPDX-License-Identifier: Apache-2.0
// Gradients of slices, and of cutting apart and joining.
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

// The gradient of what was left out is zeros around that of the slice.
std::vector<Gradient> SliceGradient(const OpGradient& g) {
  const Endpoint x = g.in(0), begin = g.in(1);
  const DataType type = g.type(begin);
  const Endpoint rank = RankTensor(g.s, x);
  const Endpoint slice_size = ShapeTensor(g.s, g.out(), type);
  const Endpoint column = op::Pack(g.s, {rank, 1}, {.name = "stack"});
  const Endpoint before = op::Reshape(g.s, begin, column);
  const Endpoint left = Sub(g.s, Sub(g.s, ShapeTensor(g.s, x, type), slice_size), begin);
  const Endpoint after = op::Reshape(g.s, left, column);
  const Endpoint paddings = op::ConcatV2(g.s, {before, after}, 1, {.name = "concat"});
  return {op::Pad(g.s, g.grad(), paddings)};
}

struct Masks {
  explicit Masks(const Node& node)
      : begin(node.IntAttr("begin_mask", 0)),
        end(node.IntAttr("end_mask", 0)),
        ellipsis(node.IntAttr("ellipsis_mask", 0)),
        new_axis(node.IntAttr("new_axis_mask", 0)),
        shrink_axis(node.IntAttr("shrink_axis_mask", 0)) {}
  int64_t begin, end, ellipsis, new_axis, shrink_axis;
};

// A constant of this graph where the value is known, so that nothing is copied between devices.
Input Known(const OpGradient& g, Endpoint e) {
  if (const Tensor* value = g.value(e)) return *value;
  return e;
}

std::vector<Gradient> StridedSliceGradient(const OpGradient& g) {
  const Masks masks(g.node());
  const Endpoint shape = ShapeTensor(g.s, g.in(0), g.type(g.in(1)));
  return {op::StridedSliceGrad(g.s, Known(g, shape), Known(g, g.in(1)), Known(g, g.in(2)), Known(g, g.in(3)),
                               g.grad(),
                               {.begin_mask = masks.begin,
                                .end_mask = masks.end,
                                .ellipsis_mask = masks.ellipsis,
                                .new_axis_mask = masks.new_axis,
                                .shrink_axis_mask = masks.shrink_axis})};
}

std::vector<Gradient> StridedSliceGradGradient(const OpGradient& g) {
  const Masks masks(g.node());
  return {Gradient(), Gradient(), Gradient(), Gradient(),
          op::StridedSlice(g.s, g.grad(), g.in(1), g.in(2), g.in(3),
                           {.begin_mask = masks.begin,
                            .end_mask = masks.end,
                            .ellipsis_mask = masks.ellipsis,
                            .new_axis_mask = masks.new_axis,
                            .shrink_axis_mask = masks.shrink_axis})};
}

std::vector<Gradient> PackGradient(const OpGradient& g) {
  std::vector<Gradient> grads;
  for (const Endpoint part :
       op::Unpack(g.s, g.grad(), g.num_inputs(), {.name = "unstack", .axis = g.node().IntAttr("axis", 0)})) {
    grads.push_back(part);
  }
  return grads;
}

std::vector<Gradient> UnpackGradient(const OpGradient& g) {
  std::vector<Endpoint> grads;
  for (int i = 0; i < g.num_grads(); ++i) grads.push_back(g.grad(i));
  return {op::Pack(g.s, grads, {.name = "stack", .axis = g.node().IntAttr("axis", 0)})};
}

Endpoint Joined(const OpGradient& g, Endpoint axis) {
  std::vector<Endpoint> grads;
  for (int i = 0; i < g.num_grads(); ++i) grads.push_back(g.grad(i));
  return op::ConcatV2(g.s, grads, axis, {.name = "concat"});
}

std::vector<Gradient> SplitGradient(const OpGradient& g) { return {Gradient(), Joined(g, g.in(0))}; }

std::vector<Gradient> SplitVGradient(const OpGradient& g) { return {Joined(g, g.in(2))}; }

// Rows along dimension 0: every value gets the rows that are its own. Else all rows, and of them its
// columns.
std::vector<Gradient> SlicesOfValues(const OpGradient& g, Endpoint axis,
                                     const std::vector<Endpoint>& values) {
  const IndexedSlices& rows = g.raw_grad().slices();
  const Endpoint positive = FloorMod(g.s, axis, RankTensor(g.s, values[0]));
  const Tensor* known = g.value(positive);
  if (known == nullptr) {
    Throw(Code::kInvalidArgument, "'{}': the gradient of rows wants a dimension that is constant",
          g.node().name);
  }
  std::vector<Endpoint> sizes;
  for (const Endpoint value : values) sizes.push_back(ShapeTensor(g.s, value));
  std::vector<Gradient> grads;
  const DataType type = g.type(rows.indices);
  if (known->IntAt(0) == 0) {
    Endpoint start = ScalarOf(g.s, 0, type);
    for (const Endpoint size : sizes) {
      const Endpoint end = Add(g.s, start, Cast(g.s, op::GatherV2(g.s, size, positive, 0), type));
      const Endpoint not_before = op::GreaterEqual(g.s, rows.indices, start);
      const Endpoint inside = op::LogicalAnd(g.s, not_before, op::Less(g.s, rows.indices, end));
      const Endpoint own = op::Squeeze(g.s, op::Where(g.s, inside), {.squeeze_dims = {1}});
      const Endpoint indices = Sub(g.s, op::GatherV2(g.s, rows.indices, own, 0), start);
      grads.push_back(IndexedSlices{op::GatherV2(g.s, rows.values, own, 0), indices, size});
      start = end;
    }
    return grads;
  }
  const int rank = static_cast<int>(g.s.ShapeOf(sizes[0])[0]);
  std::vector<int32_t> mask(static_cast<size_t>(rank), 0);
  mask[static_cast<size_t>(known->IntAt(0))] = 1;
  Endpoint begin = g.s.Constant(Tensor(DataType::kInt32, {rank}));
  for (const Endpoint size : sizes) {
    const Endpoint tail = op::Slice(g.s, size, NumbersAs(Input({1}).value(), DataType::kInt32),
                                    NumbersAs(Input({-1}).value(), DataType::kInt32));
    const Endpoint extent = op::ConcatV2(g.s, {Input({-1}), tail}, 0, {.name = "concat"});
    grads.push_back(IndexedSlices{op::Slice(g.s, rows.values, begin, extent), rows.indices, size});
    begin = Add(g.s, begin, Mul(g.s, size, Tensor::FromValues(lanescope::Shape{rank}, mask)));
  }
  return grads;
}

std::vector<Gradient> PartsOf(const OpGradient& g, Endpoint axis, const std::vector<Endpoint>& values) {
  if (values.size() == 1) return {g.raw_grad()};
  if (g.raw_grad().is_slices()) return SlicesOfValues(g, axis, values);
  const Endpoint grad = g.grad();
  const Endpoint positive = FloorMod(g.s, axis, RankTensor(g.s, values[0]));
  std::vector<Endpoint> sizes;
  for (const Endpoint value : values) {
    const bool known = g.shape(value).IsExact();
    sizes.push_back(ShapeTensor(g.s, value));
    if (known) continue;
    sizes = op::ShapeN(g.s, values);
    break;
  }
  std::vector<Gradient> grads;
  // One op cuts all where there are many.
  if (sizes.size() > 16) {
    const Endpoint all = op::Pack(g.s, sizes, {.name = "stack", .axis = 1});
    const Endpoint begin = op::Pack(g.s, {positive, 0}, {.name = "Slice/begin"});
    const Endpoint row = op::Slice(g.s, all, begin, NumbersAs(Input({1, -1}).value(), DataType::kInt32));
    const Endpoint lengths = op::Squeeze(g.s, row);
    for (const Endpoint part :
         op::SplitV(g.s, grad, lengths, positive, static_cast<int64_t>(sizes.size()), {.name = "split"})) {
      grads.push_back(part);
    }
    return grads;
  }
  const auto offsets = op::ConcatOffset(g.s, positive, sizes);
  for (size_t i = 0; i < sizes.size(); ++i) grads.push_back(op::Slice(g.s, grad, offsets[i], sizes[i]));
  return grads;
}

std::vector<Gradient> ConcatGradient(const OpGradient& g) {
  std::vector<Endpoint> values;
  for (int i = 1; i < g.num_inputs(); ++i) values.push_back(g.in(i));
  std::vector<Gradient> grads = PartsOf(g, g.in(0), values);
  grads.insert(grads.begin(), Gradient());
  return grads;
}

std::vector<Gradient> ConcatV2Gradient(const OpGradient& g) {
  std::vector<Endpoint> values;
  for (int i = 0; i + 1 < g.num_inputs(); ++i) values.push_back(g.in(i));
  return PartsOf(g, g.in(g.num_inputs() - 1), values);
}

}  // namespace

void AddSliceGradients(GradientTable& table) {
  table.Add("Slice", SliceGradient);
  table.Add("StridedSlice", StridedSliceGradient);
  table.Add("StridedSliceGrad", StridedSliceGradGradient);
  table.Add("Pack", PackGradient);
  table.Add("Unpack", UnpackGradient);
  table.Add("Split", SplitGradient);
  table.Add("SplitV", SplitVGradient);
  table.Add("Concat", ConcatGradient);
  table.Add("ConcatV2", ConcatV2Gradient);
}

}  // namespace lanescope::graphs
