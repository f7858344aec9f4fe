// SPDX-License-Identifier: Apache-2.0
// Shapes of ops that move elements: reshaped, permuted, tiled, padded.
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/shape_rules.h"

namespace lanescope::ops {
namespace {

// The dimension that `target` leaves open, such that it has the elements of `input`; unknown where that does
// not follow.
Dim FillDim(const Shape& input, const Shape& target, int open, bool asked) {
  Dim rest = 1;
  bool zero = false;
  for (int i = 0; i < target.rank(); ++i) {
    zero |= i != open && target[i] == 0;
    if (i != open && target[i] != 0) rest = MulDims(rest, target[i]);
  }
  if (!input.HasBound() || (zero && !(asked && input.IsExact()))) return kUnknownDim;
  const int64_t total = input.NumElements();
  int64_t counted = total;
  if (zero) {
    counted = 1;
    for (const Dim dim : input.dims()) counted = MulDims(counted, dim == 0 ? 1 : dim);
  }
  if (!IsExact(rest)) return BoundedDim(total);
  if (!input.IsExact()) return BoundedDim(total / rest);
  if (counted % rest != 0 && !(zero && total == 0)) {
    Throw(Code::kInvalidArgument,
          "Input to reshape is a tensor with {} values, but the requested shape requires a multiple of {}",
          total, rest);
  }
  return counted / rest;
}

// Dimensions from the shape tensor; `open` gets the number of the only one that is not exact, -1 if there is
// none, and -2 if there are several. A value of -1 asks for the dimension that fills the shape.
Shape TargetShape(const Elements& sizes, int* open, bool* asked) {
  Shape target;
  *open = -1;
  *asked = false;
  for (const ValueRange& size : sizes) {
    if (size.exact() && size.low < -1) {
      Throw(Code::kInvalidArgument, "Size {} must be non-negative, not {}", target.rank(), size.low);
    }
    Dim dim = size.exact() || size.low >= 0 ? DimOfRange(size) : kUnknownDim;
    if (size.exact() && dim == kUnknownDim) {
      if (*asked) {
        Throw(Code::kInvalidArgument, "Only one input size may be -1, not both {} and {}", *open,
              target.rank());
      }
      *asked = true;
      *open = target.rank();
    } else if (!IsExact(dim) && !*asked) {
      *open = *open == -1 ? target.rank() : -2;
    }
    target.Append(dim);
  }
  return target;
}

// `values` as (before, after) of every dimension.
void CheckPaddings(const Shape& shape, const Elements& values) {
  if (values.size() != 2 * static_cast<size_t>(shape.rank())) {
    Throw(Code::kInvalidArgument,
          "The first dimension of paddings must be the rank of inputs {}, but there are {} paddings",
          shape.ToString(), values.size());
  }
  for (size_t i = 0; i < values.size(); i += 2) {
    if (values[i].high >= 0 && values[i + 1].high >= 0) continue;
    Throw(Code::kInvalidArgument, "Paddings must be non-negative: {} {}", values[i].high, values[i + 1].high);
  }
}

// A tensor of `dim` elements along an axis has enough of them to be mirrored.
void CheckMirrored(Dim dim, const ValueRange& before, const ValueRange& after, PadMode mode,
                   std::string_view of) {
  if (mode == PadMode::kConstant || !IsExact(dim)) return;
  const bool reflect = mode == PadMode::kReflect;
  const int64_t limit = std::max<int64_t>(0, dim - (reflect ? 1 : 0));
  if (before.low <= limit && after.low <= limit) return;
  Throw(Code::kInvalidArgument, "paddings must be {} the {}dimension size: {}, {} {} {}",
        reflect ? "less than" : "no greater than", of, before.low, after.low,
        reflect ? "not less than" : "greater than", dim);
}

}  // namespace

Shape ReshapedShape(const Shape& input, const Numbers& sizes) {
  if (sizes.shape.known_rank() && sizes.shape.rank() != 1) {
    Throw(Code::kInvalidArgument, "sizes input must be 1-D, not {}", sizes.shape.ToString());
  }
  CheckShapeVector(sizes.shape);
  if (!sizes.elements) return Shape::Unknown();
  int open = -1;
  bool asked = false;
  Shape target = TargetShape(*sizes.elements, &open, &asked);
  if (open >= 0) {
    const Dim filled = FillDim(input, target, open, asked);
    const bool looser = !IsExact(filled) && HasBound(target[open]) && BoundOf(target[open]) < BoundOf(filled);
    if (filled != kUnknownDim && !looser) target.set_dim(open, filled);
  }
  if (input.IsExact() && target.IsExact() && input.NumElements() != target.NumElements()) {
    Throw(Code::kInvalidArgument,
          "Input to reshape is a tensor with {} values, but the requested shape has {}", input.NumElements(),
          target.NumElements());
  }
  return target;
}

Shape ExpandedShape(const Shape& input, int64_t axis) {
  const int rank = input.rank();
  if (axis < -1 - rank || axis > rank) {
    Throw(Code::kInvalidArgument, "Tried to expand dim index {} for tensor with {} dimensions.", axis, rank);
  }
  Shape expanded = input;
  expanded.Insert(static_cast<int>(axis < 0 ? axis + rank + 1 : axis), 1);
  return expanded;
}

Shape SqueezedShape(const Shape& input, std::span<const int64_t> axes) {
  const int rank = input.rank();
  DimSet chosen{};
  for (const int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      Throw(Code::kInvalidArgument, "Tried to squeeze dim index {} for tensor with {} dimensions.", axis,
            rank);
    }
    const auto i = static_cast<int>(axis < 0 ? axis + rank : axis);
    if (IsExact(input[i]) && input[i] != 1) {
      Throw(Code::kInvalidArgument, "Can not squeeze dim[{}], expected a dimension of 1, got {}", i,
            input[i]);
    }
    chosen[static_cast<size_t>(i)] = true;
  }
  // One that only may be 1 leaves the rank open.
  if (axes.empty() && !input.IsExact()) return Shape::Unknown();
  Shape squeezed;
  for (int i = 0; i < rank; ++i) {
    if (!(axes.empty() ? input[i] == 1 : chosen[static_cast<size_t>(i)])) squeezed.Append(input[i]);
  }
  return squeezed;
}

std::vector<int> Permutation(std::span<const int64_t> perm, int rank) {
  if (perm.size() != static_cast<size_t>(rank)) {
    Throw(Code::kInvalidArgument,
          "transpose expects a vector of size {}. But input(1) is a vector of size {}", rank, perm.size());
  }
  std::vector<int> axes;
  DimSet used{};
  for (const int64_t from : perm) {
    if (from < -rank || from >= rank)
      Throw(Code::kInvalidArgument, "{} is out of range [0 .. {})", from, rank);
    axes.push_back(static_cast<int>(from < 0 ? from + rank : from));
    used[static_cast<size_t>(axes.back())] = true;
  }
  const auto missing = std::find(used.begin(), used.begin() + rank, false);
  if (missing != used.begin() + rank) {
    Throw(Code::kInvalidArgument, "{} is missing from {{{}}}.", missing - used.begin(), fmt::join(perm, ","));
  }
  return axes;
}

Shape TiledShape(const Shape& input, const Elements& multiples) {
  if (multiples.size() != static_cast<size_t>(input.rank())) {
    Throw(Code::kInvalidArgument, "Expected multiples argument to be a vector of length {} but got length {}",
          input.rank(), multiples.size());
  }
  Shape tiled;
  for (int d = 0; d < input.rank(); ++d) {
    const ValueRange& times = multiples[static_cast<size_t>(d)];
    if (times.high < 0)
      Throw(Code::kInvalidArgument, "Expected multiples[{}] >= 0, but got {}", d, times.high);
    tiled.Append(MulDims(input[d], DimOfRange(times)));
  }
  return tiled;
}

void CheckBroadcast(const Shape& input, const Shape& to) {
  const int added = to.rank() - input.rank();
  if (added < 0) {
    Throw(Code::kInvalidArgument, "Rank of input ({}) must be no greater than rank of output shape ({}).",
          input.rank(), to.rank());
  }
  for (int d = 0; d < input.rank(); ++d) {
    const Dim wanted = to[added + d];
    if (!IsExact(input[d]) || !IsExact(wanted) || input[d] == 1 || input[d] == wanted) continue;
    Throw(Code::kInvalidArgument, "Incompatible shapes: {} vs. {}", input.ToString(), to.ToString());
  }
}

PadMode PadModeOf(const Node& node) {
  if (!node.op.starts_with("MirrorPad")) return PadMode::kConstant;
  return node.StringAttr("mode") == "REFLECT" ? PadMode::kReflect : PadMode::kSymmetric;
}

Shape PaddedShape(const Shape& input, const Elements& paddings, PadMode mode) {
  CheckPaddings(input, paddings);
  Shape padded;
  for (int d = 0; d < input.rank(); ++d) {
    const ValueRange& before = paddings[2 * static_cast<size_t>(d)];
    const ValueRange& after = paddings[2 * static_cast<size_t>(d) + 1];
    CheckMirrored(input[d], before, after, mode, "");
    padded.Append(AddDims(AddDims(DimOfRange(before), input[d]), DimOfRange(after)));
  }
  return padded;
}

Shape UnpaddedShape(const Shape& gradient, const Elements& paddings, PadMode mode) {
  CheckPaddings(gradient, paddings);
  Shape inner;
  for (int d = 0; d < gradient.rank(); ++d) {
    const ValueRange& before = paddings[2 * static_cast<size_t>(d)];
    const ValueRange& after = paddings[2 * static_cast<size_t>(d) + 1];
    const Dim taken = AddDims(DimOfRange(before), DimOfRange(after));
    Dim left = Loosen(gradient[d]);
    if (IsExact(taken)) {
      if (IsExact(gradient[d]) && gradient[d] < taken) {
        Throw(Code::kInvalidArgument,
              "Total paddings must be less than the input dimension size: {} was not less than {}", taken,
              gradient[d]);
      }
      left = MapDim(gradient[d], [&](int64_t n) { return std::max<int64_t>(0, n - taken); });
    }
    CheckMirrored(left, before, after, mode, "output ");
    inner.Append(left);
  }
  return inner;
}

}  // namespace lanescope::ops
