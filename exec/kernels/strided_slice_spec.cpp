#include "exec/kernels/strided_slice_spec.h"

#include <algorithm>
#include <bit>

namespace lanescope::exec {
namespace {

// One index of the slice beside the input dimension that it applies to.
struct DenseIndex {
  int64_t begin = 0, end = 0, stride = 1;
  bool open_begin = true, open_end = true, shrink = false;
};

enum class ResultDim { kSlice, kNew, kShrunk };

struct DenseSlice {
  std::vector<DenseIndex> dims;
  std::vector<ResultDim> layout;  // in result order; slices and shrunk ones are consecutive input dimensions
};

bool Bit(int64_t mask, size_t i) { return ((static_cast<uint64_t>(mask) >> i) & 1) != 0; }

// Spreads the sparse indices over the input's dimensions: an ellipsis stands for as many as are left.
DenseSlice Densify(const Shape& input, const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
                   const std::vector<int64_t>& strides, const StridedSliceMasks& masks) {
  const size_t count = begin.size();
  const auto rank = static_cast<size_t>(input.rank());
  size_t consumed = 0;  // input dimensions that indices other than the ellipsis use
  for (size_t i = 0; i < count; ++i) {
    if (!Bit(masks.ellipsis, i) && !Bit(masks.new_axis, i)) ++consumed;
  }
  if (consumed > rank) {
    Throw(Code::kInvalidArgument, "Index out of range using input dim {}; input has only {} dims", rank,
          rank);
  }
  DenseSlice dense;
  const auto skip_rest = [&] {
    for (size_t k = consumed; k < rank; ++k) {
      dense.dims.emplace_back();
      dense.layout.push_back(ResultDim::kSlice);
    }
  };
  for (size_t i = 0; i < count; ++i) {
    if (Bit(masks.ellipsis, i)) {
      skip_rest();
    } else if (Bit(masks.new_axis, i)) {
      dense.layout.push_back(ResultDim::kNew);
    } else {
      const bool shrink = Bit(masks.shrink_axis, i);
      dense.dims.push_back({begin[i], end[i], strides[i], Bit(masks.begin, i), Bit(masks.end, i), shrink});
      dense.layout.push_back(shrink ? ResultDim::kShrunk : ResultDim::kSlice);
    }
  }
  if (masks.ellipsis == 0) skip_rest();
  return dense;
}

// First element, step and number of elements along one dimension of `size`.
struct Interval {
  int64_t first, step, count;
};

Interval Shrunk(const DenseIndex& index, int64_t size, size_t d) {
  if (index.stride <= 0) {
    Throw(Code::kInvalidArgument, "only stride 1 allowed on non-range indexing.");
  }
  const int64_t at = index.open_begin ? 0 : index.begin < 0 ? index.begin + size : index.begin;
  if (at < 0 || at >= size) {
    Throw(Code::kInvalidArgument, "slice index {} of dimension {} out of bounds.", index.begin, d);
  }
  return {at, 1, 1};
}

Interval Sliced(const DenseIndex& index, int64_t size, size_t d) {
  if (index.stride == 0) Throw(Code::kInvalidArgument, "strides[{}] must be non-zero", d);
  const bool forward = index.stride > 0;
  const int64_t lowest = forward ? 0 : -1;
  const int64_t highest = forward ? size : size - 1;
  const auto clamp = [&](int64_t x) { return std::clamp(x < 0 ? x + size : x, lowest, highest); };
  const int64_t from = index.open_begin ? (forward ? lowest : highest) : clamp(index.begin);
  const int64_t to = index.open_end ? (forward ? highest : lowest) : clamp(index.end);
  const int64_t distance = forward ? to - from : from - to;
  if (distance <= 0) return {0, index.stride, 0};
  // Unsigned: the stride may be the smallest int64.
  const auto pace = forward ? static_cast<uint64_t>(index.stride) : -static_cast<uint64_t>(index.stride);
  return {from, index.stride, static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / pace) + 1};
}

}  // namespace

StridedSliceMasks ReadStridedSliceMasks(const Node& node) {
  const auto mask = [&](const char* attr) { return node.IntAttr(attr, int64_t{0}); };
  return {mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"), mask("new_axis_mask"),
          mask("shrink_axis_mask")};
}

StridedSliceSpec ResolveStridedSlice(const Shape& input, const std::vector<int64_t>& begin,
                                     const std::vector<int64_t>& end, const std::vector<int64_t>& strides,
                                     const StridedSliceMasks& masks) {
  if (begin.size() != end.size() || begin.size() != strides.size() || begin.size() >= 32) {
    Throw(Code::kInvalidArgument,
          "Expected begin, end, and strides to be 1D equal size tensors, but got {}, {} and {} elements",
          begin.size(), end.size(), strides.size());
  }
  const uint64_t used = (uint64_t{1} << begin.size()) - 1;
  StridedSliceMasks valid = masks;
  valid.ellipsis = static_cast<int64_t>(static_cast<uint64_t>(masks.ellipsis) & used);
  if (std::popcount(static_cast<uint64_t>(valid.ellipsis)) > 1) {
    Throw(Code::kInvalidArgument, "Multiple ellipses in slice spec not allowed");
  }
  const DenseSlice dense = Densify(input, begin, end, strides, valid);
  StridedSliceSpec spec;
  size_t d = 0;
  for (const ResultDim kind : dense.layout) {
    if (kind == ResultDim::kNew) {
      spec.shape.Append(1);
      continue;
    }
    const int64_t size = input[static_cast<int>(d)];
    const DenseIndex& index = dense.dims[d];
    const Interval interval = index.shrink ? Shrunk(index, size, d) : Sliced(index, size, d);
    spec.first.push_back(interval.first);
    spec.step.push_back(interval.step);
    spec.count.push_back(interval.count);
    if (kind == ResultDim::kSlice) spec.shape.Append(interval.count);
    ++d;
  }
  return spec;
}

}  // namespace lanescope::exec
