// SPDX-License-Identifier: Apache-2.0
// Gradients of lookups, which are rows of a table (IndexedSlices), and of scatters and partitions.
#include "graphs/constants.h"
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

Tensor Int32(int32_t value) { return Tensor::Scalar(value); }
Tensor Int32Row(int32_t value) {
  return Tensor::FromValues(lanescope::Shape{1}, std::vector<int32_t>{value});
}

// The rows that were looked up, as the gradient of the table.
IndexedSlices RowsOf(const OpGradient& g, Endpoint params_shape, Endpoint indices, Endpoint count,
                     Endpoint grad) {
  const Endpoint tail = Range(g.s, params_shape, 1, 0);
  const Endpoint values_shape = op::ConcatV2(g.s, {count, tail}, 0, {.name = "concat"});
  const Endpoint values = op::Reshape(g.s, grad, values_shape);
  return {values, op::Reshape(g.s, indices, count), params_shape};
}

std::vector<Gradient> GatherGradient(const OpGradient& g) {
  const Endpoint params_shape = [&g] {
    const auto with = g.s.ColocateWith(g.in(0));
    return ShapeTensor(g.s, g.in(0));
  }();
  const Endpoint count = op::ExpandDims(g.s, SizeTensor(g.s, g.in(1)), 0);
  return {RowsOf(g, params_shape, g.in(1), count, g.grad())};
}

// x[begin:end] of a vector where one of them is a tensor; the other is its first or last.
Endpoint RangeBetween(Scope& s, Endpoint x, const Endpoint* begin, const Endpoint* end) {
  const Endpoint first = begin != nullptr ? *begin : s.Constant(Int32(0));
  const Endpoint last = end != nullptr ? *end : s.Constant(Int32(0));
  const Endpoint step = s.Constant(Int32(1));
  const auto names = s.Name("strided_slice");
  const std::string full = s.CurrentNames();
  const Endpoint from = op::Pack(s, {first}, {.name = "stack"});
  const Endpoint to = op::Pack(s, {last}, {.name = "stack_1"});
  return op::StridedSlice(
      s, x, from, to, op::Pack(s, {step}, {.name = "stack_2"}),
      {.name = full, .begin_mask = begin == nullptr ? 1 : 0, .end_mask = end == nullptr ? 1 : 0});
}

// x[i] of a vector.
Endpoint ElementAt(Scope& s, Endpoint x, Endpoint i) {
  const Endpoint next = Add(s, i, 1);
  const auto names = s.Name("strided_slice");
  const std::string full = s.CurrentNames();
  const Endpoint from = op::Pack(s, {i}, {.name = "stack"});
  const Endpoint to = op::Pack(s, {next}, {.name = "stack_1"});
  const Endpoint step = s.Constant(Int32Row(1), "stack_2");
  return op::StridedSlice(s, x, from, to, step, {.name = full, .shrink_axis_mask = 1});
}

// The indices of all batches together: those of batch b count from where its rows begin.
Endpoint BatchIndices(Scope& s, Endpoint params_shape, Endpoint indices, int64_t batch_dims) {
  const DataType type = s.TypeOf(indices);
  const Endpoint shape = Cast(s, params_shape, type);
  const Endpoint rank_of = indices;
  Endpoint stride = ScalarOf(s, 1, type, "ones");
  for (int64_t dim = batch_dims; dim > 0; --dim) {
    const Endpoint size = Element(s, shape, dim - 1);
    stride = Mul(s, stride, Element(s, shape, dim));
    const Endpoint start = ScalarOf(s, 0, type, "zeros");
    const Endpoint step = ScalarOf(s, 1, type, "ones");
    const Endpoint steps = Mul(s, op::Range(s, start, size, step, {.name = "range"}), stride);
    const Endpoint before = op::Tile(s, {1}, {dim - 1});
    const Endpoint more = Sub(s, RankTensor(s, rank_of), static_cast<int>(dim));
    const Endpoint after = [&] {
      const auto names = s.Name("Tile");
      const std::string full = s.CurrentNames();
      const Endpoint one = s.Constant(Int32Row(1), "input");
      return op::Tile(s, one, op::Pack(s, {more}, {.name = "multiples"}), {.name = full});
    }();
    const Endpoint steps_shape = [&] {
      const auto names = s.Name("concat");
      const std::string full = s.CurrentNames();
      const Endpoint middle = Cast(s, op::Pack(s, {size}, {.name = "values_1"}), DataType::kInt32);
      return op::ConcatV2(s, {before, middle, after}, 0, {.name = full});
    }();
    indices = Add(s, indices, op::Reshape(s, steps, steps_shape));
  }
  return indices;
}

// Along another dimension than the first: that one goes to the front, and back.
Endpoint GatherAlong(const OpGradient& g, Endpoint params_shape, Endpoint axis, int64_t batch_dims) {
  Scope& s = g.s;
  // TensorFlow counts the indices here already, for another way that it does not take.
  s.UniqueName("Size");
  s.UniqueName("ExpandDims");
  axis = Cast(s, axis, DataType::kInt32);
  const Endpoint outer = RangeBetween(s, params_shape, nullptr, &axis);
  const Endpoint inner = Range(s, RangeBetween(s, params_shape, &axis, nullptr), 1, 0);
  const Endpoint values_shape = op::ConcatV2(s, {outer, Input({-1}), inner}, 0, {.name = "concat"});
  const Endpoint values_dims = SizeTensor(s, values_shape);
  const Endpoint axis_dims = SizeTensor(s, outer);
  const Endpoint batches = op::Range(s, 0, static_cast<int>(batch_dims), 1, {.name = "range"});
  const Endpoint before = RangeUpTo(s, static_cast<int>(batch_dims), axis_dims, 1);
  const Endpoint after = RangeUpTo(s, Add(s, axis_dims, 1), values_dims, 1);
  const Endpoint values = op::Reshape(s, g.grad(), values_shape);
  const Endpoint forth = [&] {
    const auto names = s.Name("concat");
    const std::string full = s.CurrentNames();
    const Endpoint axis_row = op::Pack(s, {axis_dims}, {.name = "values_1"});
    return op::ConcatV2(s, {batches, axis_row, before, after}, 0, {.name = full});
  }();
  Endpoint moved = op::Transpose(s, values, forth, {.name = "transpose"});
  const Endpoint moved_shape = op::GatherV2(s, params_shape, forth, 0);
  Endpoint rows = ElementAt(s, params_shape, axis);
  Endpoint indices = g.in(1);
  const Endpoint count = op::ExpandDims(s, SizeTensor(s, indices), 0);
  Endpoint batch_shape, flat_shape;
  if (batch_dims > 0) {
    // The batches one behind the other, so that a row's number says of which batch it is.
    const Endpoint moved_values_shape = ShapeTensor(s, moved);
    batch_shape = Range(s, moved_values_shape, 0, batch_dims);
    const Endpoint tail = Range(s, Range(s, moved_values_shape, batch_dims, 0), 1, 0);
    const Endpoint batch_size = op::Prod(s, batch_shape, {0});
    flat_shape = op::ConcatV2(s, {Input({-1}), tail}, 0, {.name = "concat"});
    rows = Mul(s, rows, batch_size);
    indices = BatchIndices(s, moved_shape, indices, batch_dims);
    moved = op::Reshape(s, moved, flat_shape);
  }
  const Endpoint flat_indices = op::Reshape(s, indices, count);
  Endpoint grad = op::UnsortedSegmentSum(s, moved, flat_indices, rows);
  if (batch_dims > 0) {
    grad = op::Reshape(s, grad, op::ConcatV2(s, {batch_shape, flat_shape}, 0, {.name = "concat"}));
  }
  const Endpoint behind = Add(s, before, 1);
  const Endpoint back = op::ConcatV2(s, {batches, behind, Input({batch_dims}), after}, 0, {.name = "concat"});
  return op::Transpose(s, grad, back, {.name = "transpose"});
}

std::vector<Gradient> GatherV2Gradient(const OpGradient& g) {
  const Endpoint params_shape = [&g] {
    const auto with = g.s.ColocateWith(g.in(0));
    return Cast(g.s, ShapeTensor(g.s, g.in(0), DataType::kInt64), DataType::kInt32);
  }();
  const Endpoint axis = g.in(2);
  int64_t batch_dims = g.node().IntAttr("batch_dims", 0);
  if (batch_dims != 0 && !g.shape(g.in(1)).known_rank()) {
    Throw(Code::kUnimplemented, "'{}': the gradient of batch_dims = {} wants indices of a known rank",
          g.node().name, batch_dims);
  }
  if (batch_dims < 0) batch_dims += g.shape(g.in(1)).rank();
  const Tensor* known = g.value(axis);
  if (known != nullptr && known->IntAt(0) == 0) {
    const Endpoint count = op::ExpandDims(g.s, SizeTensor(g.s, g.in(1)), 0);
    return {RowsOf(g, params_shape, g.in(1), count, g.grad())};
  }
  return {GatherAlong(g, params_shape, axis, batch_dims)};
}

std::vector<Gradient> GatherNdGradientOf(const OpGradient& g, Endpoint shape) {
  const Endpoint indices = g.in(1);
  const lanescope::Shape& of_indices = g.shape(indices);
  if (of_indices.rank() == 2 && of_indices[1] == 1) {
    return {IndexedSlices{g.grad(), op::Squeeze(g.s, indices, {.squeeze_dims = {-1}}), shape}};
  }
  return {op::ScatterNd(g.s, indices, g.grad(), shape)};
}

std::vector<Gradient> GatherNdGradient(const OpGradient& g) {
  return GatherNdGradientOf(g, ShapeTensor(g.s, g.in(0), g.type(g.in(1))));
}

// The shape of the variable behind a handle: a constant where it is exact while the graph is written.
Endpoint ShapeBehind(Scope& s, Endpoint handle, DataType type) {
  const TensorInfo& info = s.Info(handle);
  if (info.handle != nullptr && info.handle->shape.IsExact())
    return s.Constant(DimsTensor(info.handle->shape, type));
  return op::VariableShape(s, handle, {.out_type = type});
}

std::vector<Gradient> ResourceGatherNdGradient(const OpGradient& g) {
  return GatherNdGradientOf(g, ShapeBehind(g.s, g.in(0), g.type(g.in(1))));
}

std::vector<Gradient> ScatterNdGradient(const OpGradient& g) {
  return {Gradient(), op::GatherNd(g.s, g.grad(), g.in(0))};
}

std::vector<Gradient> TensorScatterUpdateGradient(const OpGradient& g) {
  const Endpoint updates = op::GatherNd(g.s, g.grad(), g.in(1));
  const Endpoint copy = op::Identity(g.s, g.grad());
  return {op::TensorScatterUpdate(g.s, copy, g.in(1), ZerosLike(g.s, g.in(2))), Gradient(), updates};
}

std::vector<Gradient> TensorScatterAddGradient(const OpGradient& g) {
  const Endpoint updates = op::GatherNd(g.s, g.grad(), g.in(1));
  return {op::Identity(g.s, g.grad()), Gradient(), updates};
}

std::vector<Gradient> TensorScatterSubGradient(const OpGradient& g) {
  const Endpoint updates = op::GatherNd(g.s, g.grad(), g.in(1));
  const Endpoint copy = op::Identity(g.s, g.grad());
  return {copy, Gradient(), Neg(g.s, updates)};
}

// Shared by all that are largest, or smallest, at a place.
std::vector<Gradient> TensorScatterExtremeGradient(const OpGradient& g) {
  const Endpoint x = g.in(0), indices = g.in(1), y = g.in(2), grad = g.grad();
  const DataType type = g.type(grad);
  const Endpoint of_x = Cast(g.s, op::Equal(g.s, x, g.out()), type);
  const Endpoint at = op::GatherNd(g.s, g.out(), indices);
  const Endpoint of_y = Cast(g.s, op::Equal(g.s, y, at), type);
  const Endpoint all_y = op::ScatterNd(g.s, indices, of_y, ShapeTensor(g.s, x, g.type(indices)));
  const Endpoint all = Add(g.s, of_x, all_y);
  const Endpoint gx = Div(g.s, Mul(g.s, grad, of_x), all);
  return {gx, Gradient(), Mul(g.s, op::GatherNd(g.s, Div(g.s, grad, all), indices), of_y)};
}

std::vector<Gradient> DynamicPartitionGradient(const OpGradient& g) {
  const Endpoint partitions = g.in(1);
  const Endpoint prefix = ShapeTensor(g.s, partitions);
  const Endpoint count = op::Prod(g.s, prefix, g.s.Constant(Int32Row(0)));
  const Endpoint numbers = op::Reshape(g.s, RangeUpTo(g.s, 0, count, 1), prefix);
  const auto parts = op::DynamicPartition(g.s, numbers, partitions, g.num_grads());
  std::vector<Endpoint> grads;
  for (int i = 0; i < g.num_grads(); ++i) grads.push_back(g.grad(i));
  const Endpoint joined = op::ParallelDynamicStitch(g.s, parts, grads);
  return {op::Reshape(g.s, joined, ShapeTensor(g.s, g.in(0)))};
}

std::vector<Gradient> DynamicStitchGradient(const OpGradient& g) {
  const int half = g.num_inputs() / 2;
  const Endpoint grad = g.grad();
  std::vector<Gradient> grads(static_cast<size_t>(half));
  for (int i = 0; i < half; ++i) grads.push_back(op::GatherV2(g.s, grad, g.in(i), 0));
  return grads;
}

std::vector<Gradient> SparseToDenseGradient(const OpGradient& g) {
  const Endpoint values = op::GatherNd(g.s, g.grad(), g.in(0));
  const Endpoint all = SumOver(g.s, g.grad(), AllAxes(g.s, g.grad()));
  const Endpoint written = SumOver(g.s, values, AllAxes(g.s, values));
  const Endpoint rest = Sub(g.s, all, written);
  const Endpoint of_indices = ZerosLike(g.s, g.in(0));
  return {of_indices, ZerosLike(g.s, g.in(1)), values, rest};
}

// A lookup in a variable behind a handle: rows of it, again.
std::vector<Gradient> ResourceGatherGradient(const OpGradient& g) {
  const Endpoint shape = ShapeBehind(g.s, g.in(0), DataType::kInt32);
  const Endpoint count = op::ExpandDims(g.s, SizeTensor(g.s, g.in(1)), 0);
  return {RowsOf(g, shape, g.in(1), count, g.grad())};
}

std::vector<Gradient> ReadVariableGradient(const OpGradient& g) { return {g.raw_grad()}; }

}  // namespace

void AddGatherGradients(GradientTable& table) {
  table.Add("Gather", GatherGradient);
  table.Add("GatherV2", GatherV2Gradient);
  table.Add("GatherNd", GatherNdGradient);
  table.Add("ScatterNd", ScatterNdGradient);
  table.Add("TensorScatterUpdate", TensorScatterUpdateGradient);
  table.Add("TensorScatterAdd", TensorScatterAddGradient);
  table.Add("TensorScatterSub", TensorScatterSubGradient);
  table.Add("TensorScatterMax", TensorScatterExtremeGradient);
  table.Add("TensorScatterMin", TensorScatterExtremeGradient);
  table.Add("DynamicPartition", DynamicPartitionGradient);
  table.Add("DynamicStitch", DynamicStitchGradient);
  table.Add("ParallelDynamicStitch", DynamicStitchGradient);
  table.Add("SparseToDense", SparseToDenseGradient);
  table.Add("ResourceGather", ResourceGatherGradient);
  table.Add("ResourceGatherNd", ResourceGatherNdGradient);
  table.Add("ReadVariableOp", ReadVariableGradient);
}

}  // namespace lanescope::graphs
