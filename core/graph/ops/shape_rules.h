// SPDX-License-Identifier: Apache-2.0
// Shapes of outputs by the rules that inference and kernels share. Dimensions may be open and numbers ranges;
// a kernel knows all of them, and gets an exact shape. All throw InvalidArgument, in TensorFlow's words, for
// what does not fit. Others: convolution.h, pooling.h, segment.h, strided_slice.h, ShapeOf, JoinedShape.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/ops/fold.h"

namespace lanescope::ops {

// By dimension.
using DimSet = std::array<bool, Shape::kMaxRank>;

// One size of -1 takes what the others leave. Where a size of 0 is asked for, dimensions of 0 do not count.
Shape ReshapedShape(const Shape& input, const Numbers& sizes);
Shape ExpandedShape(const Shape& input, int64_t axis);
// Without axes every dimension of 1 goes; then of unknown rank where a dimension may be 1.
Shape SqueezedShape(const Shape& input, std::span<const int64_t> axes);
// Every axis of the rank once.
std::vector<int> Permutation(std::span<const int64_t> perm, int rank);
Shape TiledShape(const Shape& input, const Elements& multiples);
void CheckBroadcast(const Shape& input, const Shape& to);
// `paddings`: before and after, dimension by dimension. Mirrored ones take from the tensor itself, with its
// edge or without.
enum class PadMode : int { kConstant, kReflect, kSymmetric };
PadMode PadModeOf(const Node& node);
Shape PaddedShape(const Shape& input, const Elements& paddings, PadMode mode);
// The gradient of a mirrored padding has the shape without the padding.
Shape UnpaddedShape(const Shape& gradient, const Elements& paddings, PadMode mode);
// A size of -1: all that follows.
Shape SlicedShape(const Shape& input, const Elements& begin, const Elements& size);

// The dimensions that a reduction over `axes` takes away.
DimSet ReducedDims(std::span<const int64_t> axes, int rank);
Shape ReducedShape(const Shape& input, const DimSet& reduced, bool keep);
// The dimension in which the largest element is looked for; it must have one.
int ArgDim(const Shape& input, int64_t dimension);
int ScanDim(int rank, int64_t axis);
void CheckK(int64_t k);
Shape TopKShape(const Shape& input, Dim k);

// MatMul and BatchMatMul of operands of known rank: leading dimensions are batches; those of V2 and V3
// broadcast.
struct MatMulRule {
  explicit MatMulRule(const Node& node);
  Shape ResultOf(const Shape& a, const Shape& b) const;

  bool batches, broadcasts, turn_a, turn_b;
};

// params[:axis] + indices[batch:] + params[axis + 1:]
struct GatherRule {
  int axis = 0, batch = 0;
  Shape result;
};
GatherRule GatherAlong(const Shape& params, const Shape& indices, int64_t axis, int64_t batch_dims);
// The axis follows the batch dimensions.
GatherRule GatherRows(const Shape& params, const Shape& indices, int64_t batch_dims);
// The batch dimensions of indices of `rank` dimensions; the axis is not beyond `last_axis`.
int GatherBatch(int last_axis, int rank, int64_t batch_dims);

// Coordinates [..., k], called `name`, pick params[i0, .., ik-1, ...]: no more than there are dimensions. Of
// unknown rank where k is.
Shape PickedShape(std::string_view name, const Shape& indices, const Shape& params);
// Updates at coordinates have the shape of what those pick.
void CheckUpdates(const Shape& indices, const Shape& updates, const Shape& shape);
// Updates of rows of a variable, or one number for all.
void CheckRowUpdates(const Shape& variable, const Shape& indices, const Shape& updates);
// SparseToDense puts values at coordinates, or one number at all, and `fill` elsewhere.
Shape DenseShape(const Shape& indices, const Numbers& sizes, const Shape& values, const Shape& fill);

void RequireScalar(std::string_view what, const Shape& shape);
// Checks for random ops that follow from a seed alone, or from key, counter and the number of an algorithm.
void CheckSeed(const Shape& seed);
void CheckStream(const Shape& key, const Shape& counter, const Shape& algorithm);

}  // namespace lanescope::ops
