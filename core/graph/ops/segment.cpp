// Sums and other reductions over the rows of each segment.
#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

// Segment numbers ascend; the last one says how many there are. Of numbers whose values are not known it is
// taken that they leave no gaps: as many segments as numbers at most; a step in which there are more ends
// with an error.
Dim SegmentsOf(const InferenceContext& context, int input) {
  if (const std::optional<std::vector<int64_t>> ids = context.IntValues(input))
    return ids->empty() ? 0 : DimOfRange(Exactly(ids->back())) + 1;
  const std::optional<ValueRange> all = RangeOfAll(context, input);
  if (all && all->high >= 0 && all->high < std::numeric_limits<int32_t>::max())
    return BoundedDim(all->high + 1);
  const Shape& ids = context.shape(input);
  return ids.known_rank() && ids.rank() == 1 ? Loosen(ids[0]) : kUnknownDim;
}

void InferSegment(InferenceContext& context) {
  context.RequireRank(1, 1);
  const Shape& data = context.shape(0);
  if (!data.known_rank()) return;
  if (data.rank() == 0) Throw(Code::kInvalidArgument, "segments of a scalar");
  Shape result = data;
  result.set_dim(0, SegmentsOf(context, 1));
  context.SetShape(0, result);
}

// [num_segments] + data[rank of the ids:]
void InferUnsortedSegment(InferenceContext& context) {
  const Shape& data = context.shape(0);
  const Shape& ids = context.shape(1);
  context.RequireRank(2, 0);
  const Dim segments = DimFromInput(context, 2);
  if (!data.known_rank() || !ids.known_rank()) return;
  if (ids.rank() > data.rank()) {
    Throw(Code::kInvalidArgument, "segment ids of shape {} for data of shape {}", ids.ToString(),
          data.ToString());
  }
  MergeShapes(ids, SubShape(data, 0, ids.rank()));
  context.SetShape(0, ConcatShapes(Shape{segments}, SubShape(data, ids.rank(), data.rank())));
}

// Rows of the data, picked by indices, summed by segment; `segments` of them.
void InferPickedSegments(InferenceContext& context, Dim segments) {
  context.RequireRank(1, 1);
  context.RequireRank(2, 1);
  MergeShapes(context.shape(1), context.shape(2));
  Shape result = context.shape(0);
  if (!result.known_rank()) return;
  if (result.rank() == 0) Throw(Code::kInvalidArgument, "segments of a scalar");
  result.set_dim(0, segments);
  context.SetShape(0, result);
}

void InferSparseSegment(InferenceContext& context) { InferPickedSegments(context, SegmentsOf(context, 2)); }

// The fourth input says how many rows the result has: segments, or for the gradient rows of the data.
void InferSparseSegmentByCount(InferenceContext& context) {
  context.RequireRank(3, 0);
  InferPickedSegments(context, DimFromInput(context, 3));
}

// One addition for each element picked.
OpWork SparseSegmentCost(const Node&, std::span<const TensorInfo> inputs,
                         std::span<const TensorInfo> outputs) {
  const Shape& data = inputs[0].shape;
  const int64_t width =
      data.known_rank() && data.rank() > 0 ? SubShape(data, 1, data.rank()).NumElements() : 0;
  const int64_t picked = SaturatingMul(CountOf(inputs[1]), std::max<int64_t>(width, 0));
  const auto element = static_cast<int64_t>(ElementSize(inputs[0].dtype));
  return {picked,
          SaturatingMul(picked, element) + BytesOf(inputs[1]) + BytesOf(inputs[2]) + BytesOf(outputs[0])};
}

}  // namespace

void RegisterSegmentOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("SegmentSum(data: T, segment_ids: Tindices) -> (output: T)", "T: number; Tindices: index")
      .Infer(InferSegment)
      .Work(ReductionCost);
  op("SegmentMean(data: T, segment_ids: Tindices) -> (output: T)", "T: number; Tindices: index")
      .Infer(InferSegment)
      .Work(ReductionCost);
  op("SegmentProd(data: T, segment_ids: Tindices) -> (output: T)", "T: number; Tindices: index")
      .Infer(InferSegment)
      .Work(ReductionCost);
  op("SegmentMax(data: T, segment_ids: Tindices) -> (output: T)", "T: real; Tindices: index")
      .Infer(InferSegment)
      .Work(ReductionCost);
  op("SegmentMin(data: T, segment_ids: Tindices) -> (output: T)", "T: real; Tindices: index")
      .Infer(InferSegment)
      .Work(ReductionCost);
  op("UnsortedSegmentSum(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)",
     "T: number; Tindices: {index, int16}; Tnumsegments: index = int32")
      .Infer(InferUnsortedSegment)
      .Work(ReductionCost);
  op("UnsortedSegmentMax(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)",
     "T: real; Tindices: index; Tnumsegments: index = int32")
      .Infer(InferUnsortedSegment)
      .Work(ReductionCost);
  op("UnsortedSegmentMin(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)",
     "T: real; Tindices: index; Tnumsegments: index = int32")
      .Infer(InferUnsortedSegment)
      .Work(ReductionCost);
  op("UnsortedSegmentProd(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)",
     "T: number; Tindices: index; Tnumsegments: index = int32")
      .Infer(InferUnsortedSegment)
      .Work(ReductionCost);
  op("SparseSegmentSum(data: T, indices: Tidx, segment_ids: Tsegmentids) -> (output: T)",
     "T: real; Tidx: index = int32; Tsegmentids: index = int32; sparse_gradient: bool = false")
      .Infer(InferSparseSegment)
      .Work(SparseSegmentCost);
  op("SparseSegmentMean(data: T, indices: Tidx, segment_ids: Tsegmentids) -> (output: T)",
     "T: floating; Tidx: index = int32; Tsegmentids: index = int32; sparse_gradient: bool = false")
      .Infer(InferSparseSegment)
      .Work(SparseSegmentCost);
  op("SparseSegmentSqrtN(data: T, indices: Tidx, segment_ids: Tsegmentids) -> (output: T)",
     "T: floating; Tidx: index = int32; Tsegmentids: index = int32; sparse_gradient: bool = false")
      .Infer(InferSparseSegment)
      .Work(SparseSegmentCost);
  op("SparseSegmentSumWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: "
     "Tnumsegments) -> (output: T)",
     "T: real; Tidx: index = int32; Tnumsegments: index = int32; Tsegmentids: index = int32; "
     "sparse_gradient: bool = false")
      .Infer(InferSparseSegmentByCount)
      .Work(SparseSegmentCost);
  op("SparseSegmentMeanWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: "
     "Tnumsegments) -> (output: T)",
     "T: floating; Tidx: index = int32; Tnumsegments: index = int32; Tsegmentids: index = int32; "
     "sparse_gradient: bool = false")
      .Infer(InferSparseSegmentByCount)
      .Work(SparseSegmentCost);
  op("SparseSegmentSqrtNWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: "
     "Tnumsegments) -> (output: T)",
     "T: floating; Tidx: index = int32; Tnumsegments: index = int32; Tsegmentids: index = int32; "
     "sparse_gradient: bool = false")
      .Infer(InferSparseSegmentByCount)
      .Work(SparseSegmentCost);
  op("SparseSegmentSumGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> (output: "
     "T)",
     "T: floating; Tidx: index = int32; Tsegmentids: index = int32")
      .Infer(InferSparseSegmentByCount)
      .Work(SparseSegmentCost);
  op("SparseSegmentMeanGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> "
     "(output: T)",
     "T: floating; Tidx: index = int32; Tsegmentids: index = int32")
      .Infer(InferSparseSegmentByCount)
      .Work(SparseSegmentCost);
  op("SparseSegmentSqrtNGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> "
     "(output: T)",
     "T: floating; Tidx: index = int32; Tsegmentids: index = int32")
      .Infer(InferSparseSegmentByCount)
      .Work(SparseSegmentCost);
}

}  // namespace lanescope::ops
