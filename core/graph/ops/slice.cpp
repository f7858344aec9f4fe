// SPDX-License-Identifier: Apache-2.0
// Parts of tensors and tensors made of parts: slices, concatenation, splits, stacks.
#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/ops/shape_rules.h"
#include "core/graph/ops/strided_slice.h"

namespace lanescope::ops {
namespace {

// Calls visit(whole index, index inside the block) for each element of `part`, which lies in a tensor of
// shape `whole` at `offset` along `axis`.
template <typename Visit>
void ForEachInBlock(const Shape& whole, const Shape& part, int axis, int64_t offset, Visit visit) {
  const std::vector<int64_t> whole_strides = DenseStrides(whole);
  const std::vector<int64_t> part_strides = DenseStrides(part);
  const int64_t count = part.NumElements();
  for (int64_t k = 0; k < count; ++k) {
    int64_t position = 0;
    for (int d = 0; d < part.rank(); ++d) {
      const auto i = static_cast<size_t>(d);
      position += (k / part_strides[i] % part[d] + (d == axis ? offset : 0)) * whole_strides[i];
    }
    visit(static_cast<size_t>(position), static_cast<size_t>(k));
  }
}

// size -1: all that follows `begin`.
Dim SlicedDim(int d, Dim dim, ValueRange begin, ValueRange size) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  const int64_t whole = IsExact(dim) ? dim : kAny;
  if (begin.exact() && (begin.low < 0 || begin.low > whole)) {
    Throw(Code::kInvalidArgument, "Expected begin[{}] in [0, {}], but got {}", d, whole, begin.low);
  }
  if (size.exact() && size.low == -1) {
    if (!begin.exact()) return Loosen(dim);
    return MapDim(dim, [&](int64_t n) { return std::max<int64_t>(0, n - begin.low); });
  }
  if (size.exact()) {
    const int64_t rest = begin.exact() && IsExact(dim) ? dim - begin.low : kAny;
    if (size.low >= 0 && size.low <= rest) return size.low;
    Throw(Code::kInvalidArgument, "Expected size[{}] in [0, {}], but got {}", d, rest, size.low);
  }
  const Dim bound = size.low >= 0 ? DimOfRange(size) : kUnknownDim;
  if (!HasBound(bound)) return Loosen(dim);
  return HasBound(dim) ? BoundedDim(std::min(BoundOf(bound), BoundOf(dim))) : bound;
}

void FoldSlice(InferenceContext& context, const Elements& begin) {
  const Shape& shape = context.shape(0);
  const Shape& result = context.output().shape;
  if (!IsFoldable(context.output().dtype) || !IsSmall(result)) return;
  const std::optional<Elements> elements = GetElements(context, 0);
  if (!elements) return;
  const std::vector<int64_t> in = DenseStrides(shape);
  const std::vector<int64_t> out = DenseStrides(result);
  Elements sliced(static_cast<size_t>(result.NumElements()));
  for (size_t k = 0; k < sliced.size(); ++k) {
    int64_t position = 0;
    for (size_t d = 0; d < in.size(); ++d) {
      if (!begin[d].exact()) return;
      position += (static_cast<int64_t>(k) / out[d] % result[static_cast<int>(d)] + begin[d].low) * in[d];
    }
    sliced[k] = (*elements)[static_cast<size_t>(position)];
  }
  SetElements(context, 0, result, sliced);
}

// The result where nothing is known of the input. A size that may be -1 may be anything.
Shape SizesAsShape(const std::optional<Elements>& sizes) {
  if (!sizes || sizes->size() > static_cast<size_t>(Shape::kMaxRank)) return Shape::Unknown();
  Shape shape;
  for (const ValueRange& size : *sizes) shape.Append(size.low >= 0 ? DimOfRange(size) : kUnknownDim);
  return shape;
}

void InferSlice(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  context.RequireRank(1, 1);
  context.RequireRank(2, 1);
  const std::optional<Elements> begin = GetElements(context, 1);
  const std::optional<Elements> size = GetElements(context, 2);
  if (!shape.known_rank()) return context.SetShape(0, SizesAsShape(size));
  if (!begin || !size) return context.SetShape(0, UnknownOfRank(shape.rank()));
  context.SetShape(0, SlicedShape(shape, *begin, *size));
  if (AnyKnown(context)) FoldSlice(context, *begin);
}

StridedSliceNumbers SliceNumbers(const InferenceContext& context) {
  return {NumbersOf(context, 1), NumbersOf(context, 2), NumbersOf(context, 3)};
}

void InferStridedSliceGrad(InferenceContext& context) {
  const Shape shape = ShapeFromInput(context, 0);
  PlanStridedSliceGrad(shape, StridedSliceMasks(context.node()), SliceNumbers(context), context.shape(4));
  context.SetShape(0, shape);
}

void InferStridedSlice(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  const std::optional<StridedSlicePlan> plan =
      PlanStridedSlice(shape, StridedSliceMasks(context.node()), SliceNumbers(context));
  if (!plan) return;
  context.SetShape(0, plan->result);
  if (!AnyKnown(context) || !IsFoldable(context.output().dtype) || !IsSmall(plan->result) ||
      !plan->constant) {
    return;
  }
  const std::optional<Elements> elements = GetElements(context, 0);
  if (!elements) return;
  const std::vector<int64_t> in = DenseStrides(shape);
  const std::vector<int64_t> out = DenseStrides(plan->sliced);
  Elements sliced(static_cast<size_t>(plan->result.NumElements()));
  for (size_t k = 0; k < sliced.size(); ++k) {
    int64_t position = 0;
    for (size_t d = 0; d < in.size(); ++d) {
      const int64_t index = static_cast<int64_t>(k) / out[d] % plan->sliced[static_cast<int>(d)];
      position += (plan->begin[d] + index * plan->stride[d]) * in[d];
    }
    sliced[k] = (*elements)[static_cast<size_t>(position)];
  }
  SetElements(context, 0, plan->result, sliced);
}

// Inputs [first, first + count) joined along the axis of input `axis_input`.
void InferConcatenation(InferenceContext& context, int first, int count, int axis_input) {
  const std::optional<int64_t> axis_value = context.IntScalar(axis_input);
  std::vector<Shape> parts;
  for (int i = first; i < first + count; ++i) parts.push_back(context.shape(i));
  const auto known = std::ranges::find_if(parts, [](const Shape& part) { return part.known_rank(); });
  if (known == parts.end()) return;
  if (!axis_value) return context.SetShape(0, UnknownOfRank(known->rank()));
  const Shape merged = JoinedShape(parts, *axis_value);
  const int axis = NormalizeAxis(*axis_value, merged.rank());
  context.SetShape(0, merged);
  if (!AnyKnown(context) || !IsFoldable(context.output().dtype) || !IsSmall(merged)) return;
  Elements joined(static_cast<size_t>(merged.NumElements()));
  int64_t offset = 0;
  for (int i = first; i < first + count; ++i) {
    const std::optional<Elements> part = GetElements(context, i);
    if (!part) return;
    ForEachInBlock(merged, context.shape(i), axis, offset,
                   [&](size_t whole, size_t inside) { joined[whole] = (*part)[inside]; });
    offset += context.shape(i)[axis];
  }
  SetElements(context, 0, merged, joined);
}

void InferConcat(InferenceContext& context) { InferConcatenation(context, 1, context.num_inputs() - 1, 0); }
void InferConcatV2(InferenceContext& context) {
  InferConcatenation(context, 0, context.num_inputs() - 1, context.num_inputs() - 1);
}

// Fills the outputs with the parts of input `input`, whose sizes along `axis` are set already.
void FoldSplit(InferenceContext& context, int input, int axis) {
  if (!AnyKnown(context) || !context.shape(input).IsExact()) return;
  const std::optional<Elements> elements = GetElements(context, input);
  if (!elements) return;
  int64_t offset = 0;
  for (int i = 0; i < context.num_outputs(); ++i) {
    const Shape part = context.output(i).shape;
    if (!part.IsExact()) return;
    Elements split(static_cast<size_t>(part.NumElements()));
    ForEachInBlock(context.shape(input), part, axis, offset,
                   [&](size_t whole, size_t inside) { split[inside] = (*elements)[whole]; });
    SetElements(context, i, part, split);
    offset += part[axis];
  }
}

void InferSplit(InferenceContext& context) {
  const Shape& shape = context.shape(1);
  const int64_t parts = context.num_outputs();
  const std::optional<int64_t> axis_value = context.IntScalar(0);
  if (!shape.known_rank()) return;
  if (!axis_value) {
    for (int i = 0; i < parts; ++i) context.SetShape(i, UnknownOfRank(shape.rank()));
    return;
  }
  const int axis = NormalizeAxis(*axis_value, shape.rank());
  if (IsExact(shape[axis]) && shape[axis] % parts != 0) {
    Throw(Code::kInvalidArgument, "dimension {} of shape {} does not split into {} equal parts", axis,
          shape.ToString(), parts);
  }
  Shape part = shape;
  part.set_dim(axis, MapDim(shape[axis], [&](int64_t n) { return n / parts; }));
  for (int i = 0; i < parts; ++i) context.SetShape(i, part);
  FoldSplit(context, 1, axis);
}

// Sizes along the axis are given; one of them may be -1 for the rest.
void InferSplitV(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  const std::optional<std::vector<int64_t>> sizes = context.IntValues(1);
  const std::optional<int64_t> axis_value = context.IntScalar(2);
  if (!shape.known_rank()) return;
  if (!axis_value) {
    for (int i = 0; i < context.num_outputs(); ++i) context.SetShape(i, UnknownOfRank(shape.rank()));
    return;
  }
  const int axis = NormalizeAxis(*axis_value, shape.rank());
  Shape part = shape;
  if (!sizes) {
    part.set_dim(axis, Loosen(shape[axis]));
    for (int i = 0; i < context.num_outputs(); ++i) context.SetShape(i, part);
    return;
  }
  if (static_cast<int>(sizes->size()) != context.num_outputs()) {
    Throw(Code::kInvalidArgument, "{} sizes for {} parts", sizes->size(), context.num_outputs());
  }
  int64_t known = 0;
  for (const int64_t size : *sizes) {
    if (size < -1) Throw(Code::kInvalidArgument, "a part of size {}", size);
    known = AddDims(known, std::max<int64_t>(size, 0));
  }
  const bool has_rest = std::ranges::find(*sizes, -1) != sizes->end();
  if (IsExact(shape[axis]) && (has_rest ? known > shape[axis] : known != shape[axis])) {
    Throw(Code::kInvalidArgument, "parts of {} in all for dimension {} of shape {}", known, axis,
          shape.ToString());
  }
  for (int i = 0; i < context.num_outputs(); ++i) {
    const int64_t size = (*sizes)[static_cast<size_t>(i)];
    part.set_dim(axis, size >= 0 ? size : MapDim(shape[axis], [&](int64_t n) {
                   return std::max<int64_t>(0, n - known);
                 }));
    context.SetShape(i, part);
  }
  FoldSplit(context, 0, axis);
}

void InferPack(InferenceContext& context) {
  Shape shape = context.shape(0);
  for (int i = 1; i < context.num_inputs(); ++i) shape = MergeShapes(shape, context.shape(i));
  if (!shape.known_rank()) return;
  const int axis = NormalizeAxis(context.node().IntAttr("axis", 0), shape.rank() + 1);
  const Shape part = shape;
  shape.Insert(axis, context.num_inputs());
  context.SetShape(0, shape);
  if (!AnyKnown(context) || !IsFoldable(context.output().dtype) || !IsSmall(shape)) return;
  Shape slab = part;
  slab.Insert(axis, 1);
  Elements packed(static_cast<size_t>(shape.NumElements()));
  for (int i = 0; i < context.num_inputs(); ++i) {
    const std::optional<Elements> elements = GetElements(context, i);
    if (!elements) return;
    ForEachInBlock(shape, slab, axis, i,
                   [&](size_t whole, size_t inside) { packed[whole] = (*elements)[inside]; });
  }
  SetElements(context, 0, shape, packed);
}

void InferUnpack(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  if (!shape.known_rank()) return;
  const int axis = NormalizeAxis(context.node().IntAttr("axis", 0), shape.rank());
  MergeDim(shape[axis], context.num_outputs());
  Shape part = shape;
  part.Erase(axis);
  for (int i = 0; i < context.num_outputs(); ++i) context.SetShape(i, part);
  if (!AnyKnown(context) || !IsFoldable(context.input(0).dtype) || !IsSmall(shape)) return;
  const std::optional<Elements> elements = GetElements(context, 0);
  if (!elements) return;
  Shape slab = shape;
  slab.set_dim(axis, 1);
  for (int i = 0; i < context.num_outputs(); ++i) {
    Elements unpacked(static_cast<size_t>(part.NumElements()));
    ForEachInBlock(shape, slab, axis, i,
                   [&](size_t whole, size_t inside) { unpacked[inside] = (*elements)[whole]; });
    SetElements(context, i, part, unpacked);
  }
}

}  // namespace

Shape SlicedShape(const Shape& input, const Elements& begin, const Elements& size) {
  const auto rank = static_cast<size_t>(input.rank());
  if (begin.size() != rank || size.size() != rank) {
    Throw(Code::kInvalidArgument,
          "Expected begin and size arguments to be 1-D tensors of size {}, but got {} and {} numbers "
          "instead.",
          rank, begin.size(), size.size());
  }
  Shape sliced;
  for (int d = 0; d < input.rank(); ++d) {
    const auto i = static_cast<size_t>(d);
    sliced.Append(SlicedDim(d, input[d], begin[i], size[i]));
  }
  return sliced;
}

void RegisterSliceOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("Slice(input: T, begin: Index, size: Index) -> (output: T)", "T: type; Index: index").Infer(InferSlice);
  op("StridedSlice(input: T, begin: Index, end: Index, strides: Index) -> (output: T)",
     "T: type; Index: {index, int16}; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; "
     "new_axis_mask: int = 0; shrink_axis_mask: int = 0")
      .Infer(InferStridedSlice);
  op("StridedSliceGrad(shape: Index, begin: Index, end: Index, strides: Index, dy: T) -> (output: T)",
     "T: type; Index: index; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: "
     "int = 0; shrink_axis_mask: int = 0")
      .Infer(InferStridedSliceGrad);
  op("Concat(concat_dim: int32, values: N * T) -> (output: T)", "N: int >= 2; T: type").Infer(InferConcat);
  op("ConcatV2(values: N * T, axis: Tidx) -> (output: T)", "N: int >= 2; T: type; Tidx: index = int32")
      .Infer(InferConcatV2);
  op("Split(split_dim: int32, value: T) -> (output: num_split * T)", "num_split: int >= 1; T: type")
      .Infer(InferSplit);
  op("SplitV(value: T, size_splits: Tlen, split_dim: int32) -> (output: num_split * T)",
     "num_split: int >= 1; T: type; Tlen: {index, int8} = int64")
      .Infer(InferSplitV);
  op("Pack(values: N * T) -> (output: T)", "N: int >= 1; T: type; axis: int = 0").Infer(InferPack);
  op("Unpack(value: T) -> (output: num * T)", "num: int >= 0; T: type; axis: int = 0").Infer(InferUnpack);
}

}  // namespace lanescope::ops
