// SPDX-License-Identifier: Apache-2.0
// Values of small integer tensors while a graph is compiled: shape arithmetic. An element is a range; one of
// width zero is known. Known tensors become constants, ranges bound the shapes that are made of them.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/op.h"

namespace lanescope::ops {

// Constants of more elements are not worth folding; ranges serve shape tensors and counts, which are tiny.
inline constexpr int64_t kMaxFolded = 4096;
inline constexpr int64_t kMaxRanges = 64;

// Whether a tensor has an exact shape and few enough elements to fold.
inline bool IsSmall(const Shape& shape) { return shape.IsExact() && shape.NumElements() <= kMaxFolded; }

using Elements = std::vector<ValueRange>;

inline ValueRange Exactly(int64_t value) { return {value, value}; }

// int32, int64 or bool.
bool IsFoldable(DataType dtype);
// Whether any input has a value or ranges; without one no op can fold.
bool AnyKnown(const InferenceContext& context);
// The elements of an input. Where nothing is known of a small tensor of exact shape, they are full ranges.
// Empty for other dtypes, large tensors and shapes that are not exact.
std::optional<Elements> GetElements(const InferenceContext& context, int input);
// Sets the output's shape (exact) and what `elements` tells: a value if all are known, ranges if some are
// bounded.
void SetElements(InferenceContext& context, int output, const Shape& shape, const Elements& elements);

// A range that holds every element of an input, whatever its size; empty where nothing is known.
std::optional<ValueRange> RangeOfAll(const InferenceContext& context, int input);
// Says that every element of the output, whose shape is set, lies in the range.
void SetRangeOfAll(InferenceContext& context, int output, ValueRange range);

ValueRange RangeOfDim(Dim dim);
// Negative values: -1 is an unknown dimension, less throws InvalidArgument.
Dim DimOfRange(ValueRange range);
// An integer tensor as far as it is known.
struct Numbers {
  Shape shape;
  std::optional<Elements> elements;  // those of a large one are not known
};
Numbers NumbersOf(const InferenceContext& context, int input);
// Throws unless the tensor may hold a shape: a vector of not too many numbers.
void CheckShapeVector(const Shape& shape);
// The shape that an integer vector holds, unknown where its elements are. Throws InvalidArgument for a
// negative dimension.
Shape ShapeOf(const Numbers& numbers);
inline Shape ShapeFromInput(const InferenceContext& context, int input) {
  return ShapeOf(NumbersOf(context, input));
}
// The dimension that an integer scalar describes.
Dim DimFromInput(const InferenceContext& context, int input);

// Infinity of the arithmetic below: a range that is open on a side. The negative one lies below -kInfinity,
// which is a number of 64 bits.
inline constexpr __int128 kInfinity = static_cast<__int128>(1) << 63;

// A function of one or two integers. `corners`: over a range its extremes are at the ends of the arguments.
// Returns false where it is undefined (division by zero).
struct IntUnary {
  __int128 (*apply)(__int128);
  bool corners;
};
struct IntBinary {
  bool (*apply)(__int128, __int128, __int128*);
  bool corners;
};
ValueRange ApplyRange(const IntUnary& op, ValueRange a, DataType dtype);
// Empty where the result is undefined.
std::optional<ValueRange> ApplyRange(const IntBinary& op, ValueRange a, ValueRange b, DataType dtype);

// Positions of the elements of `from` (exact) that broadcasting to `to` (exact) reads, in order.
std::vector<int64_t> BroadcastPositions(const Shape& from, const Shape& to);
// Element counts below each dimension: strides of the dense layout.
std::vector<int64_t> DenseStrides(const Shape& shape);

}  // namespace lanescope::ops
