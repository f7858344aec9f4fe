// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/segment.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

// Numbers whose values are unknown are taken to leave no gaps: there are as many segments as numbers at
// most; a step in which there are more ends with an error.
Dim SortedSegments(const InferenceContext& context, int input) {
  if (const std::optional<std::vector<int64_t>> ids = context.IntValues(input)) return SegmentsOf(*ids);
  const std::optional<ValueRange> all = RangeOfAll(context, input);
  if (all && all->high >= 0 && all->high < std::numeric_limits<int32_t>::max())
    return BoundedDim(all->high + 1);
  const Shape& ids = context.shape(input);
  return ids.known_rank() && ids.rank() == 1 ? Loosen(ids[0]) : kUnknownDim;
}

void RequireVector(std::string_view name, const Shape& shape) {
  if (!shape.known_rank() || shape.rank() == 1) return;
  Throw(Code::kInvalidArgument, "{} should be a vector.", name);
}

// `rows` rows like those of `data`.
Shape RowsLike(const Shape& data, Dim rows) {
  Shape shape = data;
  if (shape.known_rank()) shape.set_dim(0, rows);
  return shape;
}

void CheckData(const Shape& data) {
  if (data.rank() == 0) Throw(Code::kInvalidArgument, "input must be at least rank 1");
}

void InferSegment(InferenceContext& context) {
  const Shape result = SegmentShape(context.shape(0), context.shape(1), kUnknownDim);
  context.SetShape(0, RowsLike(result, SortedSegments(context, 1)));
}

void InferUnsortedSegment(InferenceContext& context) {
  context.SetShape(0, UnsortedSegmentShape(context.shape(0), context.shape(1), NumbersOf(context, 2)));
}

void InferSparseSegment(InferenceContext& context) {
  const Shape result = PickedSegmentShape(context.shape(0), context.shape(1), context.shape(2), kUnknownDim);
  context.SetShape(0, RowsLike(result, SortedSegments(context, 2)));
}

// The fourth input says how many segments there are.
void InferSparseSegmentByCount(InferenceContext& context) {
  const Dim segments = GivenCount("num_segments", NumbersOf(context, 3));
  context.SetShape(0, PickedSegmentShape(context.shape(0), context.shape(1), context.shape(2), segments));
  const std::optional<std::vector<int64_t>> ids = context.IntValues(2);
  if (ids && IsExact(segments)) CheckSorted(*ids, segments);
}

// The fourth input says how many rows the data has.
void InferSparseSegmentGrad(InferenceContext& context) {
  const Dim rows = GivenCount("output_dim0", NumbersOf(context, 3));
  context.SetShape(0, PickedSegmentShape(context.shape(0), context.shape(1), context.shape(2), rows));
}

// Only the rows that the indices name are there, and their numbers beside them.
void InferSparseSegmentRowsGrad(InferenceContext& context) {
  GivenCount("dense_output_dim0", NumbersOf(context, 3));
  const Shape& indices = context.shape(1);
  const Dim most = indices.known_rank() && indices.rank() == 1 ? Loosen(indices[0]) : kUnknownDim;
  context.SetShape(0, PickedSegmentShape(context.shape(0), indices, context.shape(2), most));
  context.SetShape(1, {most});
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

Dim GivenCount(std::string_view name, const Numbers& count) {
  if (count.shape.known_rank() && count.shape.rank() != 0) {
    Throw(Code::kInvalidArgument, "{} should be a scalar, not shape {}", name, count.shape.ToString());
  }
  if (!count.elements) return kUnknownDim;
  const ValueRange number = count.elements->front();
  if (number.exact() && number.low < 0) {
    Throw(Code::kInvalidArgument, "Input {} == {} must not be negative.", name, number.low);
  }
  return DimOfRange(number);
}

void CheckSorted(std::span<const int64_t> ids, int64_t limit) {
  int64_t previous = 0;
  for (const int64_t id : ids) {
    if (id < 0) {
      Throw(Code::kInvalidArgument,
            "Segment id {} out of range [0, {}), possibly because 'segment_ids' input is not sorted.", id,
            limit);
    }
    if (id < previous) Throw(Code::kInvalidArgument, "segment ids are not increasing");
    previous = id;
  }
  if (!ids.empty() && previous >= limit) Throw(Code::kInvalidArgument, "segment ids must be < num_segments");
}

int64_t SegmentsOf(std::span<const int64_t> ids) {
  const int64_t segments = ids.empty() ? 0 : AddDims(std::max<int64_t>(0, ids.back()), 1);
  CheckSorted(ids, segments);
  return segments;
}

Shape UnsortedSegmentShape(const Shape& data, const Shape& ids, const Numbers& count) {
  const Dim segments = GivenCount("num_segments", count);
  if (!data.known_rank() || !ids.known_rank()) return Shape::Unknown();
  if (ids.rank() > data.rank() || Contradict(ids, SubShape(data, 0, ids.rank()))) {
    Throw(Code::kInvalidArgument, "data.shape = {} does not start with segment_ids.shape = {}",
          data.ToString(), ids.ToString());
  }
  return ConcatShapes(Shape{segments}, SubShape(data, ids.rank(), data.rank()));
}

Shape SegmentShape(const Shape& data, const Shape& ids, Dim segments) {
  CheckData(data);
  RequireVector("segment_ids", ids);
  if (data.known_rank() && ids.known_rank() && Contradict(data[0], ids[0])) {
    Throw(Code::kInvalidArgument, "segment_ids should be the same size as dimension 0 of input.");
  }
  return RowsLike(data, segments);
}

Shape PickedSegmentShape(const Shape& data, const Shape& indices, const Shape& ids, Dim rows) {
  CheckData(data);
  RequireVector("indices", indices);
  RequireVector("segment_ids", ids);
  if (Contradict(indices, ids)) {
    Throw(Code::kInvalidArgument, "segment_ids and indices should have same size.");
  }
  return RowsLike(data, rows);
}

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
      .Infer(InferSparseSegmentGrad)
      .Work(SparseSegmentCost);
  op("SparseSegmentMeanGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> "
     "(output: T)",
     "T: floating; Tidx: index = int32; Tsegmentids: index = int32")
      .Infer(InferSparseSegmentGrad)
      .Work(SparseSegmentCost);
  op("SparseSegmentSqrtNGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> "
     "(output: T)",
     "T: floating; Tidx: index = int32; Tsegmentids: index = int32")
      .Infer(InferSparseSegmentGrad)
      .Work(SparseSegmentCost);
  op("SparseSegmentSumGradV2(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32) -> "
     "(output: T, sorted_unique_indices: Tidx)",
     "T: floating; Tidx: index = int32; Tsegmentids: index = int32")
      .Infer(InferSparseSegmentRowsGrad)
      .Work(SparseSegmentCost);
  op("SparseSegmentMeanGradV2(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32) -> "
     "(output: T, sorted_unique_indices: Tidx)",
     "T: floating; Tidx: index = int32; Tsegmentids: index = int32")
      .Infer(InferSparseSegmentRowsGrad)
      .Work(SparseSegmentCost);
  op("SparseSegmentSqrtNGradV2(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32) "
     "-> (output: T, sorted_unique_indices: Tidx)",
     "T: floating; Tidx: index = int32; Tsegmentids: index = int32")
      .Infer(InferSparseSegmentRowsGrad)
      .Work(SparseSegmentCost);
}

}  // namespace lanescope::ops
