// SPDX-License-Identifier: Apache-2.0
// Shapes as tensors and the arithmetic on them: Shape, Size, Range, broadcast arguments, permutations.
#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

void InferShape(InferenceContext& context) {
  for (int i = 0; i < context.num_outputs(); ++i) {
    const Shape& shape = context.shape(i);
    if (!shape.known_rank()) {
      context.SetShape(i, UnknownOfRank(1));
      continue;
    }
    Elements elements;
    for (const Dim dim : shape.dims()) elements.push_back(RangeOfDim(dim));
    SetElements(context, i, {shape.rank()}, elements);
  }
}

void InferSize(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  Dim size = kUnknownDim;
  if (shape.known_rank()) {
    size = 1;
    for (const Dim dim : shape.dims()) size = MulDims(size, dim);
  }
  SetElements(context, 0, Shape{}, {RangeOfDim(size)});
}

void InferRank(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  const ValueRange unknown{0, Shape::kMaxRank};
  SetElements(context, 0, Shape{}, {shape.known_rank() ? Exactly(shape.rank()) : unknown});
}

// Where each part begins along the axis: the running sum of the parts' sizes; 0 along the others.
void InferConcatOffset(InferenceContext& context) {
  const int parts = context.num_outputs();
  for (int i = 0; i < parts; ++i) context.SetShape(i, context.shape(i + 1));
  const std::optional<int64_t> axis_value = context.IntScalar(0);
  if (!axis_value || !context.shape(1).IsExact()) return;
  const int rank = static_cast<int>(std::min<int64_t>(context.shape(1).NumElements(), kMaxFolded));
  const int axis = NormalizeAxis(*axis_value, rank);
  Dim offset = 0;
  for (int i = 0; i < parts; ++i) {
    Elements elements(static_cast<size_t>(rank), Exactly(0));
    elements[static_cast<size_t>(axis)] = RangeOfDim(offset);
    SetElements(context, i, {rank}, elements);
    const std::optional<Elements> part = GetElements(context, i + 1);
    if (part && static_cast<int>(part->size()) != rank) {
      Throw(Code::kInvalidArgument, "shapes of {} and {} dimensions", rank, part->size());
    }
    offset = AddDims(offset, part ? DimOfRange((*part)[static_cast<size_t>(axis)]) : kUnknownDim);
  }
}

void InferBroadcastArgs(InferenceContext& context) {
  const Shape a = ShapeFromInput(context, 0);
  const Shape b = ShapeFromInput(context, 1);
  if (!a.known_rank() || !b.known_rank()) return context.SetShape(0, UnknownOfRank(1));
  const Shape result = BroadcastShapes(a, b);
  Elements elements;
  for (const Dim dim : result.dims()) elements.push_back(RangeOfDim(dim));
  SetElements(context, 0, {result.rank()}, elements);
}

// The axes over which the gradient of a broadcast op must be summed for each operand: those where its size is
// 1 (missing ones count as 1) and the shapes are not equal altogether. A dimension that is 1 on both sides is
// listed for both.
void InferBroadcastGradientArgs(InferenceContext& context) {
  const Shape shapes[] = {ShapeFromInput(context, 0), ShapeFromInput(context, 1)};
  const int rank = std::max(shapes[0].rank(), shapes[1].rank());
  const bool known = shapes[0].known_rank() && shapes[1].known_rank();
  for (int i = 0; i < 2; ++i) context.SetShape(i, {known ? BoundedDim(rank) : BoundedDim(Shape::kMaxRank)});
  if (!known || !shapes[0].IsExact() || !shapes[1].IsExact()) return;
  BroadcastShapes(shapes[0], shapes[1]);
  for (int i = 0; i < 2; ++i) {
    Elements axes;
    for (int axis = 0; axis < rank && shapes[0] != shapes[1]; ++axis) {
      const int own = axis - (rank - shapes[i].rank());
      if (own < 0 || shapes[i][own] == 1) axes.push_back(Exactly(axis));
    }
    SetElements(context, i, {static_cast<int64_t>(axes.size())}, axes);
  }
}

void InferInvertPermutation(InferenceContext& context) {
  context.RequireRank(0, 1);
  SameShape(context);
  const std::optional<std::vector<int64_t>> order = context.IntValues(0);
  if (!order || order->size() > static_cast<size_t>(kMaxFolded)) return;
  Elements inverse(order->size());
  for (size_t i = 0; i < order->size(); ++i) {
    const int64_t at = (*order)[i];
    if (at < 0 || at >= static_cast<int64_t>(order->size()) || inverse[static_cast<size_t>(at)].exact()) {
      Throw(Code::kInvalidArgument, "element {} of {} makes it no permutation", i, at);
    }
    inverse[static_cast<size_t>(at)] = Exactly(static_cast<int64_t>(i));
  }
  SetElements(context, 0, context.shape(0), inverse);
}

// Elements of the range by its arguments as doubles; throws InvalidArgument where it would never end.
int64_t RangeCount(double start, double limit, double delta) {
  if (delta == 0 || (delta > 0 ? start > limit : start < limit)) {
    Throw(Code::kInvalidArgument, "a range from {} to {} in steps of {}", start, limit, delta);
  }
  const double count = std::ceil(std::abs((limit - start) / delta));
  if (!(count < 0x1p62)) Throw(Code::kInvalidArgument, "a range of {} elements", count);
  return static_cast<int64_t>(count);
}

std::optional<double> FloatScalar(const Tensor* value) {
  if (value == nullptr || value->NumElements() != 1) return std::nullopt;
  if (value->dtype() == DataType::kFloat) return value->data<float>()[0];
  if (value->dtype() == DataType::kDouble) return value->data<double>()[0];
  return std::nullopt;
}

// Integers: exact where the arguments are, a bound where the limit and the start are bounded and it counts
// up.
Dim IntRangeDim(const InferenceContext& context) {
  std::optional<Elements> arguments[3];
  for (int i = 0; i < 3; ++i) {
    arguments[i] = GetElements(context, i);
    if (!arguments[i] || arguments[i]->size() != 1) return kUnknownDim;
  }
  const ValueRange start = arguments[0]->front();
  const ValueRange limit = arguments[1]->front();
  const ValueRange delta = arguments[2]->front();
  if (delta == Exactly(0)) Throw(Code::kInvalidArgument, "a range in steps of 0");
  const bool exact = start.exact() && limit.exact() && delta.exact();
  if (!exact && (delta.low <= 0 || start.low < -kMaxFolded || limit.high == ValueRange{}.high))
    return kUnknownDim;
  // With a step of at least delta.low the range is longest from the lowest start to the highest limit.
  const __int128 span = exact && delta.low < 0 ? static_cast<__int128>(start.low) - limit.low
                                               : static_cast<__int128>(limit.high) - start.low;
  const __int128 step = delta.low < 0 ? -static_cast<__int128>(delta.low) : delta.low;
  if (span < 0 && exact) {
    Throw(Code::kInvalidArgument, "a range from {} to {} in steps of {}", start.low, limit.low, delta.low);
  }
  const __int128 count = span <= 0 ? 0 : (span + step - 1) / step;
  if (count >= (static_cast<__int128>(1) << 62)) return kUnknownDim;
  return exact ? static_cast<int64_t>(count) : BoundedDim(static_cast<int64_t>(count));
}

void InferRange(InferenceContext& context) {
  for (int i = 0; i < 3; ++i) context.RequireRank(i, 0);
  if (!IsFoldable(context.output().dtype)) {
    const std::optional<double> start = FloatScalar(context.value(0));
    const std::optional<double> limit = FloatScalar(context.value(1));
    const std::optional<double> delta = FloatScalar(context.value(2));
    const bool known = start && limit && delta;
    return context.SetShape(0, {known ? RangeCount(*start, *limit, *delta) : kUnknownDim});
  }
  const Dim dim = IntRangeDim(context);
  context.SetShape(0, {dim});
  const std::optional<int64_t> start = context.IntScalar(0);
  const std::optional<int64_t> delta = context.IntScalar(2);
  if (!IsExact(dim) || dim > kMaxFolded || !start || !delta) {
    const std::optional<ValueRange> first = RangeOfAll(context, 0), limit = RangeOfAll(context, 1);
    if (first && limit && delta.value_or(0) > 0 && first->low < limit->high)
      SetRangeOfAll(context, 0, {first->low, limit->high - 1});
    return;
  }
  Elements elements;
  for (int64_t i = 0; i < dim; ++i) elements.push_back(Exactly(*start + i * *delta));
  SetElements(context, 0, {dim}, elements);
}

void InferLinSpace(InferenceContext& context) {
  for (int i = 0; i < 3; ++i) context.RequireRank(i, 0);
  const Dim count = DimFromInput(context, 2);
  if (IsExact(count) && count < 1) Throw(Code::kInvalidArgument, "{} points of a line", count);
  context.SetShape(0, {count});
}

}  // namespace

void RegisterMetadataOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("Shape(input: T) -> (output: out_type)", "T: type; out_type: index = int32")
      .Infer(InferShape)
      .Metadata()
      .Work(NoWork);
  op("ShapeN(input: N * T) -> (output: N * out_type)", "N: int >= 1; T: type; out_type: index = int32")
      .Infer(InferShape)
      .Metadata()
      .Work(NoWork);
  op("Size(input: T) -> (output: out_type)", "T: type; out_type: index = int32")
      .Infer(InferSize)
      .Metadata()
      .Work(NoWork);
  op("Rank(input: T) -> (output: int32)", "T: type").Infer(InferRank).Metadata().Work(NoWork);
  op("ConcatOffset(concat_dim: int32, shape: N * shape_type) -> (offset: N * shape_type)",
     "N: int >= 2; shape_type: index = int32")
      .Infer(InferConcatOffset);
  op("BroadcastArgs(s0: T, s1: T) -> (r0: T)", "T: index = int32").Infer(InferBroadcastArgs);
  op("BroadcastGradientArgs(s0: T, s1: T) -> (r0: T, r1: T)", "T: index = int32")
      .Infer(InferBroadcastGradientArgs);
  op("InvertPermutation(x: T) -> (y: T)", "T: index = int32").Infer(InferInvertPermutation);
  op("Range(start: Tidx, limit: Tidx, delta: Tidx) -> (output: Tidx)",
     "Tidx: {floating, index, int16, int8, uint16, uint32} = int32")
      .Infer(InferRange);
  op("LinSpace(start: T, stop: T, num: Tidx) -> (output: T)", "T: floating; Tidx: index = int32")
      .Infer(InferLinSpace);
}

}  // namespace lanescope::ops
