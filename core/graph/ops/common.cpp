// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/common.h"

#include <algorithm>

#include "core/base/error.h"

namespace lanescope::ops {

void SameShape(InferenceContext& context) {
  for (int i = 0; i < context.num_outputs(); ++i) context.SetShape(i, context.shape(0));
}

void SameShapes(InferenceContext& context) {
  Shape shape = context.shape(0);
  for (int i = 1; i < context.num_inputs(); ++i) shape = MergeShapes(shape, context.shape(i));
  for (int i = 0; i < context.num_outputs(); ++i) context.SetShape(i, shape);
}

void Broadcast(InferenceContext& context) {
  context.SetShape(0, BroadcastShapes(context.shape(0), context.shape(1)));
}

void ScalarOutput(InferenceContext& context) { context.SetShape(0, Shape{}); }

void PassThrough(InferenceContext& context) {
  for (int i = 0; i < context.num_outputs(); ++i) {
    const TensorInfo& input = context.input(i);
    TensorInfo& output = context.output(i);
    output.shape = input.shape;
    output.handle = input.handle;
    if (!IsFoldable(input.dtype)) continue;
    if (input.value == nullptr || input.value->NumElements() <= kMaxFolded) output.value = input.value;
    output.ranges = input.ranges;
  }
}

Shape UnknownOfRank(int rank) {
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.Append(kUnknownDim);
  return shape;
}

bool Contradict(Dim a, Dim b) {
  if (IsExact(a) && IsExact(b)) return a != b;
  return (IsExact(a) && HasBound(b) && a > BoundOf(b)) || (IsExact(b) && HasBound(a) && b > BoundOf(a));
}

bool Contradict(const Shape& a, const Shape& b) {
  if (!a.known_rank() || !b.known_rank()) return false;
  bool contradict = a.rank() != b.rank();
  for (int d = 0; !contradict && d < a.rank(); ++d) contradict = Contradict(a[d], b[d]);
  return contradict;
}

bool CanBroadcast(const Shape& a, const Shape& b) {
  for (int back = 1; back <= std::min(a.rank(), b.rank()); ++back) {
    const Dim left = a[a.rank() - back], right = b[b.rank() - back];
    if (IsExact(left) && IsExact(right) && left != right && left != 1 && right != 1) return false;
  }
  return true;
}

Dim MergeDim(Dim a, Dim b) { return MergeShapes(Shape{a}, Shape{b})[0]; }

int NormalizeAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    Throw(Code::kInvalidArgument, "Expected axis in the range [{}, {}), but got {}", -rank, rank, axis);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Shape JoinedShape(std::span<const Shape> parts, int64_t requested) {
  const auto first =
      std::find_if(parts.begin(), parts.end(), [](const Shape& part) { return part.known_rank(); });
  LANESCOPE_CHECK(first != parts.end());
  const int rank = first->rank();
  if (rank == 0) {
    Throw(Code::kInvalidArgument, "ConcatOp : Can't concatenate scalars (use tf.stack instead)");
  }
  if (requested < -rank || requested >= rank) {
    Throw(Code::kInvalidArgument,
          "ConcatOp : Expected concatenating dimensions in the range [{}, {}), but got {}", -rank, rank,
          requested);
  }
  const int axis = NormalizeAxis(requested, rank);
  Shape joined = UnknownOfRank(rank);
  Dim total = 0;
  for (const Shape& part : parts) {
    if (!part.known_rank()) {
      total = AddDims(total, kUnknownDim);
      continue;
    }
    const auto place = &part - parts.data();
    if (part.rank() != rank) {
      Throw(Code::kInvalidArgument,
            "ConcatOp : Ranks of all input tensors should match: shape[{}] = {} vs. shape[{}] = {}",
            first - parts.begin(), first->ToString(), place, part.ToString());
    }
    for (int d = 0; d < rank; ++d) {
      if (d == axis) continue;
      if (IsExact(part[d]) && IsExact(joined[d]) && part[d] != joined[d]) {
        Throw(Code::kInvalidArgument,
              "ConcatOp : Dimension {} in both shapes must be equal: shape[0] = {} vs. shape[{}] = {}", d,
              parts[0].ToString(), place, part.ToString());
      }
      joined.set_dim(d, MergeDim(joined[d], part[d]));
    }
    total = AddDims(total, part[axis]);
  }
  joined.set_dim(axis, total);
  return joined;
}

Shape SubShape(const Shape& shape, int from, int to) {
  return Shape(shape.dims().subspan(static_cast<size_t>(from), static_cast<size_t>(to - from)));
}

Shape ConcatShapes(const Shape& a, const Shape& b) {
  if (!a.known_rank() || !b.known_rank()) return Shape::Unknown();
  Shape result = a;
  for (const Dim dim : b.dims()) result.Append(dim);
  return result;
}

int64_t CountOf(const TensorInfo& info) {
  return std::clamp<int64_t>(info.shape.NumElements(), 0, kMaxCount);
}

int64_t TotalBytes(std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  int64_t bytes = 0;
  for (const TensorInfo& info : inputs) bytes = std::min(bytes + BytesOf(info), kMaxCount);
  for (const TensorInfo& info : outputs) bytes = std::min(bytes + BytesOf(info), kMaxCount);
  return bytes;
}

int64_t SaturatingMul(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMaxCount : std::min(product, kMaxCount);
}

WorkFn ElementCost(int64_t flops) {
  return [flops](const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
    return OpWork{SaturatingMul(flops, CountOf(outputs[0])), TotalBytes(inputs, outputs)};
  };
}

OpWork ReductionCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return {CountOf(inputs[0]), TotalBytes(inputs, outputs)};
}

OpWork NoWork(const Node&, std::span<const TensorInfo>, std::span<const TensorInfo>) { return {}; }

}  // namespace lanescope::ops
