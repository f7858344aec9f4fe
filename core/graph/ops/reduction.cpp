// SPDX-License-Identifier: Apache-2.0
// Sums, means and other reductions over axes, ArgMax, cumulative sums.
#include <algorithm>

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/int_functions.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/ops/shape_rules.h"

namespace lanescope::ops {
namespace {

inline constexpr IntBinary SumInt = AddInt;
inline constexpr IntBinary ProdInt = MulInt;

// Empty where the axes are not constant.
std::optional<DimSet> ConstantAxes(const InferenceContext& context, int rank) {
  const std::optional<std::vector<int64_t>> axes = context.IntValues(1);
  if (!axes) return std::nullopt;
  return ReducedDims(*axes, rank);
}

// Without the axes: every dimension stays or becomes 1.
Shape ShapeWithoutAxes(const Shape& shape, bool keep) {
  if (shape.rank() == 0) return shape;
  if (!keep) return Shape::Unknown();
  Shape result = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1)
      result.set_dim(i,
                     HasBound(shape[i]) ? BoundedDim(std::max<int64_t>(BoundOf(shape[i]), 1)) : kUnknownDim);
  }
  return result;
}

// An axes tensor of no elements, constant or not, reduces nothing.
void InferReduction(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  const bool keep = context.node().BoolAttr("keep_dims", false);
  if (!shape.known_rank()) return;
  const std::optional<DimSet> reduced = ConstantAxes(context, shape.rank());
  if (reduced) {
    context.SetShape(0, ReducedShape(shape, *reduced, keep));
  } else if (context.shape(1) == Shape{0}) {
    context.SetShape(0, shape);
  } else {
    context.SetShape(0, ShapeWithoutAxes(shape, keep));
  }
}

int64_t IdentityOf(const IntBinary& function) {
  if (&function == &ProdInt) return 1;
  if (&function == &MaxInt) return std::numeric_limits<int64_t>::min();
  return &function == &MinInt ? std::numeric_limits<int64_t>::max() : 0;
}

template <const IntBinary& function>
void Reduction(InferenceContext& context) {
  InferReduction(context);
  if (!AnyKnown(context) || !context.output().shape.IsExact()) return;
  const std::optional<Elements> elements = GetElements(context, 0);
  const Shape& shape = context.shape(0);
  const std::optional<DimSet> reduced = ConstantAxes(context, shape.known_rank() ? shape.rank() : 0);
  if (!elements || !reduced) return;
  const std::vector<int64_t> in = DenseStrides(shape);
  const std::vector<int64_t> out = DenseStrides(ReducedShape(shape, *reduced, true));
  const auto size = static_cast<size_t>(context.output().shape.NumElements());
  // An empty maximum or minimum is left to the kernel.
  const bool has_identity = &function == &SumInt || &function == &ProdInt;
  if (elements->empty() && size > 0 && !has_identity) return;
  Elements result(size, Exactly(IdentityOf(function)));
  for (size_t k = 0; k < elements->size(); ++k) {
    int64_t position = 0;
    for (size_t d = 0; d < in.size(); ++d) {
      if (!(*reduced)[d]) position += static_cast<int64_t>(k) / in[d] % shape[static_cast<int>(d)] * out[d];
    }
    ValueRange& total = result[static_cast<size_t>(position)];
    total = ApplyRange(function, total, (*elements)[k], context.output().dtype).value_or(ValueRange{});
  }
  SetElements(context, 0, context.output().shape, result);
}

void InferArgMax(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  if (!shape.known_rank()) return;
  const std::optional<int64_t> axis = context.IntScalar(1);
  if (!axis) {
    context.SetShape(0, shape.rank() <= 1 ? Shape{} : UnknownOfRank(shape.rank() - 1));
    return;
  }
  Shape result = shape;
  result.Erase(ArgDim(shape, *axis));
  context.SetShape(0, result);
}

void InferScan(InferenceContext& context) {
  const std::optional<int64_t> axis = context.IntScalar(1);
  if (axis && context.shape(0).known_rank()) ScanDim(context.shape(0).rank(), *axis);
  SameShape(context);
}

void InferTopK(InferenceContext& context) {
  if (!context.shape(0).known_rank()) return;
  const std::optional<int64_t> given =
      context.num_inputs() > 1 ? context.IntScalar(1) : context.node().IntAttr("k");
  if (given) CheckK(*given);
  const Shape shape = TopKShape(context.shape(0), given ? *given : DimFromInput(context, 1));
  context.SetShape(0, shape);
  context.SetShape(1, shape);
}

void InferInTopK(InferenceContext& context) {
  context.RequireRank(0, 2);
  context.RequireRank(1, 1);
  Shape shape = context.shape(1);
  if (context.shape(0).known_rank()) shape = MergeShapes(shape, SubShape(context.shape(0), 0, 1));
  context.SetShape(0, shape);
}

// A square and an addition for each element.
OpWork EuclideanCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return {SaturatingMul(2, CountOf(inputs[0])), TotalBytes(inputs, outputs)};
}

}  // namespace

DimSet ReducedDims(std::span<const int64_t> axes, int rank) {
  DimSet reduced{};
  for (int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      Throw(Code::kInvalidArgument, "Invalid reduction dimension ({} for input with {} dimension(s))", axis,
            rank);
    }
    if (axis < 0) axis += rank;
    bool& at = reduced[static_cast<size_t>(axis)];
    if (at) {
      Throw(Code::kInvalidArgument, "Invalid reduction arguments: Axes contains duplicate dimension: {}",
            axis);
    }
    at = true;
  }
  return reduced;
}

Shape ReducedShape(const Shape& input, const DimSet& reduced, bool keep) {
  Shape left;
  for (int d = 0; d < input.rank(); ++d) {
    if (!reduced[static_cast<size_t>(d)]) {
      left.Append(input[d]);
    } else if (keep) {
      left.Append(1);
    }
  }
  return left;
}

int ArgDim(const Shape& input, int64_t dimension) {
  const int rank = input.rank();
  if (dimension < -rank || dimension >= rank) {
    Throw(Code::kInvalidArgument, "Expected dimension in the range [{}, {}), but got {}", -rank, rank,
          dimension);
  }
  const auto d = static_cast<int>(dimension < 0 ? dimension + rank : dimension);
  if (input[d] == 0) {
    Throw(Code::kInvalidArgument, "Reduction axis {} is empty in shape {}", d, input.ToString());
  }
  return d;
}

int ScanDim(int rank, int64_t axis) {
  if (axis < -rank || axis >= rank) {
    Throw(Code::kInvalidArgument, "ScanOp: Expected scan axis in the range [{}, {}), but got {}", -rank, rank,
          axis);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Shape TopKShape(const Shape& input, Dim k) {
  if (input.rank() == 0)
    Throw(Code::kInvalidArgument, "input must be >= 1-D, got shape {}", input.ToString());
  const int last = input.rank() - 1;
  if (IsExact(k) && IsExact(input[last]) && input[last] < k) {
    Throw(Code::kInvalidArgument, "input must have at least k columns. Had {}, needed {}", input[last], k);
  }
  Shape top = input;
  top.set_dim(last, k);
  return top;
}

void CheckK(int64_t k) {
  if (k < 0) Throw(Code::kInvalidArgument, "Need k >= 0, got {}", k);
}

void RegisterReductionOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("Sum(input: T, reduction_indices: Tidx) -> (output: T)",
     "keep_dims: bool = false; T: number; Tidx: index = int32")
      .Infer(Reduction<SumInt>)
      .Work(ReductionCost);
  op("Prod(input: T, reduction_indices: Tidx) -> (output: T)",
     "keep_dims: bool = false; T: number; Tidx: index = int32")
      .Infer(Reduction<ProdInt>)
      .Work(ReductionCost);
  op("Max(input: T, reduction_indices: Tidx) -> (output: T)",
     "keep_dims: bool = false; T: {real, qint8, quint8, qint32, qint16, quint16}; Tidx: index = int32")
      .Infer(Reduction<MaxInt>)
      .Work(ReductionCost);
  op("Min(input: T, reduction_indices: Tidx) -> (output: T)",
     "keep_dims: bool = false; T: {real, qint8, quint8, qint32, qint16, quint16}; Tidx: index = int32")
      .Infer(Reduction<MinInt>)
      .Work(ReductionCost);
  op("All(input: bool, reduction_indices: Tidx) -> (output: bool)",
     "keep_dims: bool = false; Tidx: index = int32")
      .Infer(Reduction<MinInt>)
      .Work(ReductionCost);
  op("Any(input: bool, reduction_indices: Tidx) -> (output: bool)",
     "keep_dims: bool = false; Tidx: index = int32")
      .Infer(Reduction<MaxInt>)
      .Work(ReductionCost);
  op("Mean(input: T, reduction_indices: Tidx) -> (output: T)",
     "keep_dims: bool = false; T: number; Tidx: index = int32")
      .Infer(InferReduction)
      .Work(ReductionCost);
  op("EuclideanNorm(input: T, reduction_indices: Tidx) -> (output: T)",
     "keep_dims: bool = false; T: number; Tidx: index = int32")
      .Infer(InferReduction)
      .Work(EuclideanCost);
  op("ArgMax(input: T, dimension: Tidx) -> (output: output_type)",
     "T: {real, bool, qint8, quint8, qint32, qint16, quint16}; Tidx: {index, int16} = int32; output_type: "
     "{index, int16, uint16} = int64")
      .Infer(InferArgMax)
      .Work(ReductionCost);
  op("ArgMin(input: T, dimension: Tidx) -> (output: output_type)",
     "T: {real, bool, qint8, quint8, qint32, qint16, quint16}; Tidx: index = int32; output_type: index = "
     "int64")
      .Infer(InferArgMax)
      .Work(ReductionCost);
  op("Cumsum(x: T, axis: Tidx) -> (out: T)",
     "exclusive: bool = false; reverse: bool = false; T: number; Tidx: index = int32")
      .Infer(InferScan)
      .Work(ReductionCost);
  op("Cumprod(x: T, axis: Tidx) -> (out: T)",
     "exclusive: bool = false; reverse: bool = false; T: number; Tidx: index = int32")
      .Infer(InferScan)
      .Work(ReductionCost);
  op("L2Loss(t: T) -> (output: T)", "T: floating").Infer(ScalarOutput).Work(EuclideanCost);
  op("TopKV2(input: T, k: Tk) -> (values: T, indices: index_type)",
     "sorted: bool = true; T: real; Tk: {index, int16} = int32; index_type: {index, int16} = int32")
      .Infer(InferTopK);
  op("TopK(input: T) -> (values: T, indices: int32)", "k: int >= 0; sorted: bool = true; T: real")
      .Infer(InferTopK);
  op("InTopK(predictions: float, targets: T) -> (precision: bool)", "k: int; T: index = int32")
      .Infer(InferInTopK)
      .Work(ReductionCost);
  op("InTopKV2(predictions: float, targets: T, k: T) -> (precision: bool)", "T: index = int32")
      .Infer(InferInTopK)
      .Work(ReductionCost);
}

}  // namespace lanescope::ops
