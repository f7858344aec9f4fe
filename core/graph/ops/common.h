// SPDX-License-Identifier: Apache-2.0
// Inference and cost rules that many ops share.
#pragma once

#include <functional>

#include "core/graph/op.h"
#include "core/graph/ops/fold.h"

namespace lanescope::ops {

// A transcendental function counts as this many operations: about what a vectorised polynomial takes.
inline constexpr int64_t kTranscendentalFlops = 10;

using WorkFn = std::function<OpWork(const Node&, std::span<const TensorInfo>, std::span<const TensorInfo>)>;

// Every output has the shape of input 0.
void SameShape(InferenceContext& context);
// All inputs have one shape, and so have the outputs.
void SameShapes(InferenceContext& context);
// Two inputs under NumPy broadcasting.
void Broadcast(InferenceContext& context);
void ScalarOutput(InferenceContext& context);
// Output i is input i, with all that is known of it.
void PassThrough(InferenceContext& context);
// Output 0 has the shape that integer vector `input` holds.
template <int input>
void ShapeOfInput(InferenceContext& context) {
  context.SetShape(0, ShapeFromInput(context, input));
}

// f of a dimension, where f never decreases: bounds stay bounds.
template <typename F>
Dim MapDim(Dim dim, F f) {
  if (!HasBound(dim)) return kUnknownDim;
  return IsExact(dim) ? f(dim) : BoundedDim(f(BoundOf(dim)));
}
// Where the exactness of a dimension is lost but its bound holds.
inline Dim Loosen(Dim dim) { return HasBound(dim) ? BoundedDim(BoundOf(dim)) : kUnknownDim; }
// A shape of `rank` dimensions of which nothing is known.
Shape UnknownOfRank(int rank);
// Whether the two cannot be the same. Open ones may.
bool Contradict(Dim a, Dim b);
bool Contradict(const Shape& a, const Shape& b);
// Whether BroadcastShapes() takes the shapes.
bool CanBroadcast(const Shape& a, const Shape& b);
// The dimension's merge; throws InvalidArgument when the two contradict.
Dim MergeDim(Dim a, Dim b);
// -rank <= axis < rank to 0 <= axis < rank; throws InvalidArgument otherwise.
int NormalizeAxis(int64_t axis, int rank);
// Parts one after the other along an axis; ranks and dimensions may be open, but one rank is known. Throws
// InvalidArgument, in TensorFlow's words, where they do not fit.
Shape JoinedShape(std::span<const Shape> parts, int64_t axis);
// a[from, to) as a shape.
Shape SubShape(const Shape& shape, int from, int to);
Shape ConcatShapes(const Shape& a, const Shape& b);

// Counts of work stop here: far beyond any machine, and a few of them still add up without overflow.
inline constexpr int64_t kMaxCount = int64_t{1} << 56;

// Elements by the bound; 0 where unknown; kMaxCount at most.
int64_t CountOf(const TensorInfo& info);
// Bytes of all inputs and outputs; kMaxCount at most.
int64_t TotalBytes(std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs);
// a * b of counts (not negative); kMaxCount at most.
int64_t SaturatingMul(int64_t a, int64_t b);
// `flops` for each element of output 0.
WorkFn ElementCost(int64_t flops);
// One for each element of input 0: sums, maxima, cumulative sums.
OpWork ReductionCost(const Node& node, std::span<const TensorInfo> inputs,
                     std::span<const TensorInfo> outputs);
// Nothing runs: aliases, constants, handles, shapes.
OpWork NoWork(const Node& node, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs);

}  // namespace lanescope::ops
