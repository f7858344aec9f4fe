// SPDX-License-Identifier: Apache-2.0
// Sums (products, extremes) of rows that share a segment number, for every kind of device. Whether numbers
// are in range is the body's matter: in device memory those out of range are left out, since refusing them
// would make the host wait.
#pragma once

#include <functional>

#include "exec/kernels/op_kernel.h"
#include "exec/kernels/row_arithmetic.h"

namespace lanescope::exec {

// result[id] = identity op row op row ..., over the rows of id.
struct UnsortedSegments {
  Combine how = Combine::kAdd;
  int64_t rows = 0;
  int64_t inner = 0;  // elements of a row
  int64_t segments = 0;
};
class UnsortedSegmentOp {
 public:
  explicit UnsortedSegmentOp(const Node& node);
  UnsortedSegments Plan(KernelContext& context) const;  // inputs data, segment_ids, num_segments

 private:
  Combine how_;
};

enum class Scaling : int { kNone, kMean, kSquareRoot };

// Segment numbers are sorted. Row i of the segments is data row i, or data row row_of[i]; segments without
// rows are `empty`.
struct SortedSegments {
  Combine how = Combine::kAdd;
  Scaling scaling = Scaling::kNone;
  int64_t rows = 0;
  int64_t data_rows = 0;
  int64_t inner = 0;
  int64_t segments = 0;
  int empty = 0;
};
class SegmentOp {
 public:
  explicit SegmentOp(const Node& node);

  // Inputs data, [indices,] segment_ids [, and in host memory num_segments]. `last` gives the last of the
  // segment numbers, of which there is one at least, where nobody says how many segments there are.
  SortedSegments Plan(KernelContext& context, const std::function<int64_t(const TensorRef&)>& last) const;
  const TensorRef& ids(const KernelContext& context) const { return context.input(indexed_ ? 2 : 1); }
  const TensorRef* indices(const KernelContext& context) const {
    return indexed_ ? &context.input(1) : nullptr;
  }

 private:
  Combine how_;
  Scaling scaling_;
  bool indexed_;
};

// The gradient of sums of rows of data: update u adds row ids[u] of the gradient, weighted by the rows of
// that segment, to row row_of[u] out of `rows` of the result. The ids are sorted.
struct SegmentGrad {
  Scaling scaling = Scaling::kNone;
  int64_t rows = 0;
  int64_t updates = 0;
  int64_t inner = 0;
  int64_t segments = 0;
};
// Inputs grad, indices, segment_ids, and in host memory the rows of the data: those of the result, but for
// V2, whose result has the rows that the indices name alone.
class SegmentGradOp {
 public:
  explicit SegmentGradOp(const Node& node);
  SegmentGrad Plan(KernelContext& context) const;

 private:
  Scaling scaling_;
};

// Segment: a kernel of a SegmentOp.
template <void (*unsorted)(KernelContext&, const UnsortedSegments&), typename Segment,
          void (*grad)(KernelContext&, const SegmentGrad&)>
void RegisterSegmentOps(KernelRegistry& registry) {
  for (const std::string how : {"Sum", "Prod", "Max", "Min"}) {
    RegisterOp<UnsortedSegmentOp, unsorted>(registry, "UnsortedSegment" + how);
  }
  for (const std::string how : {"Sum", "Mean", "Prod", "Max", "Min"}) {
    registry.Register("Segment" + how, MakeKernel<Segment>);
  }
  for (const std::string how : {"Sum", "Mean", "SqrtN"}) {
    registry.Register("SparseSegment" + how, MakeKernel<Segment>);
    registry.Register("SparseSegment" + how + "WithNumSegments", MakeKernel<Segment>);
    RegisterOp<SegmentGradOp, grad>(registry, "SparseSegment" + how + "Grad");
  }
}

}  // namespace lanescope::exec
