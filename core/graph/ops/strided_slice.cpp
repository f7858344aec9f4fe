// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/strided_slice.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/ops/common.h"

namespace lanescope::ops {
namespace {

// The part of a slice's masks and limits that concerns one input dimension.
struct DimSlice {
  ValueRange begin = Exactly(0), end = Exactly(0), stride = Exactly(1);
  bool has_begin = false, has_end = false, shrink = false;
};

ValueRange ElementOf(const Numbers& numbers, size_t i) {
  return numbers.elements ? (*numbers.elements)[i] : ValueRange{};
}

bool Bit(int64_t mask, int i) { return (mask >> i & 1) != 0; }

// Where `slices` has an entry for each input dimension, and `layout` one for each result dimension: the input
// dimension it comes from, or -1 for a new axis.
struct Expanded {
  std::vector<DimSlice> slices;
  std::vector<int> layout;
};

void TakeWholeDims(size_t until, Expanded* expanded) {
  while (expanded->slices.size() < until) {
    expanded->layout.push_back(static_cast<int>(expanded->slices.size()));
    expanded->slices.push_back({});
  }
}

// Spreads the slices over the dimensions: an ellipsis stands for all that the others do not name, and slices
// at the end may be missing. The first of several masks on a slice wins in the order ellipsis, new axis,
// shrink.
Expanded Expand(const StridedSliceMasks& masks, const StridedSliceNumbers& numbers, int count, int rank) {
  int named = 0;
  bool has_ellipsis = false;
  for (int i = 0; i < count; ++i) {
    if (Bit(masks.ellipsis, i)) {
      if (has_ellipsis) Throw(Code::kInvalidArgument, "Multiple ellipses in slice spec not allowed");
      has_ellipsis = true;
    } else if (!Bit(masks.new_axis, i)) {
      ++named;
    }
  }
  if (named > rank) {
    Throw(Code::kInvalidArgument, "Index out of range using input dim {}; input has only {} dims", rank,
          rank);
  }
  Expanded expanded;
  for (int i = 0; i < count; ++i) {
    const auto k = static_cast<size_t>(i);
    if (Bit(masks.ellipsis, i)) {
      TakeWholeDims(expanded.slices.size() + static_cast<size_t>(rank - named), &expanded);
    } else if (Bit(masks.new_axis, i)) {
      expanded.layout.push_back(-1);
    } else {
      DimSlice slice;
      slice.begin = ElementOf(numbers.begin, k);
      slice.end = ElementOf(numbers.end, k);
      slice.stride = ElementOf(numbers.strides, k);
      slice.shrink = Bit(masks.shrink, i);
      slice.has_begin = slice.shrink || !Bit(masks.begin, i);
      slice.has_end = !slice.shrink && !Bit(masks.end, i);
      if (!slice.shrink) expanded.layout.push_back(static_cast<int>(expanded.slices.size()));
      expanded.slices.push_back(slice);
    }
  }
  TakeWholeDims(static_cast<size_t>(rank), &expanded);
  return expanded;
}

// Python's rule: a negative position counts from the end; out of range is cut to the ends of the walk.
int64_t CutPosition(int64_t position, int64_t size, int64_t lowest, int64_t highest) {
  const int64_t from_start = position < 0 ? position + size : position;
  return std::clamp(from_start, lowest, highest);
}

struct Taken {
  int64_t begin = 0, count = 0;
};

Taken TakeExact(const DimSlice& slice, int64_t size) {
  const int64_t stride = slice.stride.low;
  const int64_t lowest = stride > 0 ? 0 : -1;
  const int64_t highest = stride > 0 ? size : size - 1;
  const int64_t begin =
      slice.has_begin ? CutPosition(slice.begin.low, size, lowest, highest) : (stride > 0 ? lowest : highest);
  const int64_t end =
      slice.has_end ? CutPosition(slice.end.low, size, lowest, highest) : (stride > 0 ? highest : lowest);
  const int64_t length = stride > 0 ? end - begin : begin - end;
  // A stride of -2^63 has no positive counterpart, and takes one element like any other huge one.
  const int64_t step = stride > 0 ? stride : -std::max(stride, -std::numeric_limits<int64_t>::max());
  return {begin, length <= 0 ? 0 : (length - 1) / step + 1};
}

// The element of dimension `dim` that is taken where the dimension is indexed away. Whether its begin is
// masked does not matter.
int64_t TakeOne(const DimSlice& slice, int64_t size, int dim) {
  const int64_t position = slice.begin.low < 0 ? slice.begin.low + size : slice.begin.low;
  if (position < 0 || position >= size) {
    Throw(Code::kInvalidArgument, "slice index {} of dimension {} out of bounds.", slice.begin.low, dim);
  }
  return position;
}

void CheckStride(const DimSlice& slice, int dim) {
  if (slice.stride == Exactly(0)) Throw(Code::kInvalidArgument, "strides[{}] must be non-zero", dim);
  if (slice.shrink && slice.stride.high <= 0) {
    Throw(Code::kInvalidArgument, "only stride 1 allowed on non-range indexing.");
  }
}

bool IsKnown(const DimSlice& slice) {
  return slice.stride.exact() && (!slice.has_begin || slice.begin.exact()) &&
         (!slice.has_end || slice.end.exact());
}

// How many elements are taken where the size of the dimension or the slice is open.
Dim TakeOpen(const DimSlice& slice, Dim size) {
  const bool from_start = slice.stride.exact() && slice.stride.low > 0;
  if (IsKnown(slice) && from_start && (!slice.has_begin || slice.begin.low >= 0) &&
      (!slice.has_end || slice.end.low >= 0)) {
    // Positions from the start: a longer dimension never gives fewer. With an end it is bounded at all
    // events.
    if (HasBound(size)) return BoundedDim(TakeExact(slice, BoundOf(size)).count);
    if (slice.has_end) return BoundedDim(TakeExact(slice, slice.end.low).count);
    return kUnknownDim;
  }
  // begin .. end with an end that is bounded, as in x[:n].
  if (from_start && slice.has_end && slice.end.low >= 0 && (!slice.has_begin || slice.begin.low >= 0) &&
      slice.end.high != ValueRange{}.high) {
    const int64_t reach = HasBound(size) ? std::min(slice.end.high, BoundOf(size)) : slice.end.high;
    return BoundedDim(reach);
  }
  return Loosen(size);
}

// A dimension that is taken whole stays what it is.
bool IsWhole(const DimSlice& slice) {
  const bool from_start = !slice.has_begin || (slice.begin.exact() && slice.begin.low == 0);
  return from_start && !slice.has_end && slice.stride == Exactly(1);
}

}  // namespace

StridedSliceMasks::StridedSliceMasks(const Node& node)
    : begin(node.IntAttr("begin_mask", 0)),
      end(node.IntAttr("end_mask", 0)),
      ellipsis(node.IntAttr("ellipsis_mask", 0)),
      new_axis(node.IntAttr("new_axis_mask", 0)),
      shrink(node.IntAttr("shrink_axis_mask", 0)) {}

std::optional<StridedSlicePlan> PlanStridedSlice(const Shape& shape, const StridedSliceMasks& masks,
                                                 const StridedSliceNumbers& numbers) {
  const Shape &begin = numbers.begin.shape, &end = numbers.end.shape, &strides = numbers.strides.shape;
  const auto is_vector = [](const Shape& part) { return !part.known_rank() || part.rank() == 1; };
  if (!is_vector(begin) || !is_vector(end) || !is_vector(strides) || Contradict(begin, end) ||
      Contradict(begin, strides) || Contradict(end, strides)) {
    Throw(Code::kInvalidArgument,
          "Expected begin, end, and strides to be 1D equal size tensors, but got shapes {}, {}, and {} "
          "instead.",
          begin.ToString(), end.ToString(), strides.ToString());
  }
  const Shape slices = MergeShapes(MergeShapes(begin, end), strides);
  if (!shape.known_rank() || !slices.IsExact()) return std::nullopt;
  if (slices[0] > 2 * Shape::kMaxRank) Throw(Code::kInvalidArgument, "{} slices of one tensor", slices[0]);
  const Expanded expanded = Expand(masks, numbers, static_cast<int>(slices[0]), shape.rank());
  StridedSlicePlan plan;
  for (int i = 0; i < shape.rank(); ++i) {
    const DimSlice& slice = expanded.slices[static_cast<size_t>(i)];
    CheckStride(slice, i);
    const bool known = IsKnown(slice) && IsExact(shape[i]);
    Taken taken{0, 1};
    if (known) taken = slice.shrink ? Taken{TakeOne(slice, shape[i], i), 1} : TakeExact(slice, shape[i]);
    plan.constant = plan.constant && known;
    plan.begin.push_back(taken.begin);
    plan.stride.push_back(slice.stride.low);
    plan.sliced.Append(slice.shrink     ? 1
                       : known          ? taken.count
                       : IsWhole(slice) ? shape[i]
                                        : TakeOpen(slice, shape[i]));
  }
  for (const int dim : expanded.layout) plan.result.Append(dim < 0 ? 1 : plan.sliced[dim]);
  return plan;
}

std::optional<StridedSlicePlan> PlanStridedSliceGrad(const Shape& shape, const StridedSliceMasks& masks,
                                                     const StridedSliceNumbers& numbers,
                                                     const Shape& gradient) {
  std::optional<StridedSlicePlan> plan = PlanStridedSlice(shape, masks, numbers);
  if (!plan || !Contradict(plan->result, gradient)) return plan;
  Throw(Code::kInvalidArgument, "shape of dy was {} instead of {}", gradient.ToString(),
        plan->result.ToString());
}

}  // namespace lanescope::ops
