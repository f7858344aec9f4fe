// SPDX-License-Identifier: Apache-2.0
// Gathering and scattering, Unique, Where, dynamic partitions.
#include <algorithm>

#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/ops/shape_rules.h"

namespace lanescope::ops {
namespace {

void FoldGather(InferenceContext& context, int axis) {
  const Shape& result = context.output().shape;
  if (!AnyKnown(context) || !IsFoldable(context.output().dtype) || !result.IsExact() ||
      result.NumElements() > kMaxFolded) {
    return;
  }
  const std::optional<Elements> elements = GetElements(context, 0);
  const std::optional<std::vector<int64_t>> indices = context.IntValues(1);
  if (!elements || !indices) return;
  const Shape& params = context.shape(0);
  const int64_t inner = SubShape(params, axis + 1, params.rank()).NumElements();
  const int64_t outer = SubShape(params, 0, axis).NumElements();
  Elements gathered;
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t index : *indices) {
      if (index < 0 || index >= params[axis]) {
        Throw(Code::kInvalidArgument, "index {} is outside dimension {} of shape {}", index, axis,
              params.ToString());
      }
      const auto first = elements->begin() + (o * params[axis] + index) * inner;
      gathered.insert(gathered.end(), first, first + inner);
    }
  }
  SetElements(context, 0, result, gathered);
}

void InferGatherAt(InferenceContext& context, std::optional<int64_t> axis, int64_t batch_dims) {
  const Shape& params = context.shape(0);
  const Shape& indices = context.shape(1);
  if (!params.known_rank() || !indices.known_rank()) return;
  if (!axis) {
    const int batch = GatherBatch(params.rank() - 1, indices.rank(), batch_dims);
    return context.SetShape(0, UnknownOfRank(params.rank() - 1 + indices.rank() - batch));
  }
  const GatherRule rule = GatherAlong(params, indices, *axis, batch_dims);
  context.SetShape(0, rule.result);
  if (rule.batch == 0) FoldGather(context, rule.axis);
}

void InferGather(InferenceContext& context) { InferGatherAt(context, 0, 0); }

void InferGatherV2(InferenceContext& context) {
  InferGatherAt(context, context.IntScalar(2), context.node().IntAttr("batch_dims", 0));
}

void InferGatherNd(InferenceContext& context) {
  context.SetShape(0, PickedShape("indices", context.shape(1), context.shape(0)));
}

void InferScatterNd(InferenceContext& context) {
  const Shape shape = ShapeFromInput(context, 2);
  CheckUpdates(context.shape(0), context.shape(1), shape);
  context.SetShape(0, shape);
}

void InferTensorScatter(InferenceContext& context) {
  CheckUpdates(context.shape(1), context.shape(2), context.shape(0));
  SameShape(context);
}

void InferSparseToDense(InferenceContext& context) {
  context.SetShape(0,
                   DenseShape(context.shape(0), NumbersOf(context, 1), context.shape(2), context.shape(3)));
}

// Reads the rows that it takes, not the whole table.
OpWork GatherCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return {0, BytesOf(inputs[1]) + 2 * BytesOf(outputs[0])};
}

// Zeroes the result, reads the updates, adds them in.
OpWork ScatterCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return {CountOf(inputs[1]), BytesOf(outputs[0]) + BytesOf(inputs[0]) + 3 * BytesOf(inputs[1])};
}

// Copies the tensor, reads the updates, combines them with the copy.
OpWork TensorScatterCost(const Node&, std::span<const TensorInfo> inputs,
                         std::span<const TensorInfo> outputs) {
  return {CountOf(inputs[2]), 2 * BytesOf(outputs[0]) + BytesOf(inputs[1]) + 3 * BytesOf(inputs[2])};
}

// At most as many distinct values, or slices across an axis, as there are; y, idx and for the ...WithCounts
// forms count.
void InferUniqueAlong(InferenceContext& context, const Shape& x, int axis) {
  const Dim items = x[axis];
  const Dim distinct = IsExact(items) && items <= 1 ? items : Loosen(items);
  Shape y = x;
  y.set_dim(axis, distinct);
  context.SetShape(0, y);
  context.SetShape(1, {items});
  for (int i = 2; i < context.num_outputs(); ++i) context.SetShape(i, {distinct});
}

void InferUnique(InferenceContext& context) {
  const std::optional<std::vector<int64_t>> axes =
      context.num_inputs() > 1 ? context.IntValues(1) : std::vector<int64_t>{};
  const bool none = axes ? axes->empty() : context.shape(1) == Shape{0};
  if (none) return InferUniqueAlong(context, MergeShapes(context.shape(0), UnknownOfRank(1)), 0);
  const Shape& x = context.shape(0);
  if (axes && axes->size() > 1) Throw(Code::kInvalidArgument, "{} axes; one at most", axes->size());
  if (!x.known_rank()) return;
  if (x.rank() == 0) Throw(Code::kInvalidArgument, "distinct values of a scalar");
  if (axes || x.rank() == 1)
    return InferUniqueAlong(context, x, axes ? NormalizeAxis(axes->front(), x.rank()) : 0);
  // Any axis.
  Shape y = x;
  Dim items = 0;
  for (int d = 0; d < x.rank(); ++d) {
    y.set_dim(d, Loosen(x[d]));
    items =
        HasBound(items) && HasBound(x[d]) ? BoundedDim(std::max(BoundOf(items), BoundOf(x[d]))) : kUnknownDim;
  }
  context.SetShape(0, y);
  for (int i = 1; i < context.num_outputs(); ++i) context.SetShape(i, {items});
}

// Values of x that y lacks, and where they stood.
void InferListDiff(InferenceContext& context) {
  context.RequireRank(0, 1);
  context.RequireRank(1, 1);
  const Shape& x = context.shape(0);
  for (int i = 0; i < 2; ++i) context.SetShape(i, {x.known_rank() ? Loosen(x[0]) : kUnknownDim});
}

// One row of coordinates for each true element.
void InferWhere(InferenceContext& context) {
  const Shape& shape = context.shape(0);
  if (!shape.known_rank()) return context.SetShape(0, UnknownOfRank(2));
  const int64_t elements = shape.NumElements();
  context.SetShape(0, {elements >= 0 ? BoundedDim(elements) : kUnknownDim, shape.rank()});
}

// Rows of the data, each sent to one of the outputs by a number per row.
void InferDynamicPartition(InferenceContext& context) {
  const Shape& data = context.shape(0);
  const Shape& numbers = context.shape(1);
  if (!data.known_rank() || !numbers.known_rank()) return;
  if (numbers.rank() > data.rank()) {
    Throw(Code::kInvalidArgument, "partitions of shape {} for data of shape {}", numbers.ToString(),
          data.ToString());
  }
  const Shape rows = MergeShapes(numbers, SubShape(data, 0, numbers.rank()));
  const int64_t count = rows.NumElements();
  const Shape part = ConcatShapes(Shape{count >= 0 ? BoundedDim(count) : kUnknownDim},
                                  SubShape(data, numbers.rank(), data.rank()));
  const std::optional<ValueRange> range = RangeOfAll(context, 0);
  for (int i = 0; i < context.num_outputs(); ++i) {
    context.SetShape(i, part);
    if (range) SetRangeOfAll(context, i, *range);
  }
}

// Inputs 0 .. parts-1 of a stitch are indices, the next `parts` the rows that belong to them. Elements that
// no index names are whatever the memory held, so only a complete result folds.
void FoldStitch(InferenceContext& context, const Shape& row) {
  const int parts = context.num_inputs() / 2;
  const Shape result = context.output().shape;
  const auto width = static_cast<size_t>(row.NumElements());
  Elements stitched(static_cast<size_t>(result.NumElements()));
  std::vector<bool> filled(stitched.size(), false);
  for (int i = 0; i < parts; ++i) {
    const std::optional<std::vector<int64_t>> indices = context.IntValues(i);
    const std::optional<Elements> data = GetElements(context, parts + i);
    if (!indices || !data || data->size() != indices->size() * width) return;
    for (size_t k = 0; k < indices->size(); ++k) {
      if ((*indices)[k] < 0) Throw(Code::kInvalidArgument, "index {} is negative", (*indices)[k]);
      const auto at = static_cast<size_t>((*indices)[k]) * width;
      for (size_t j = 0; j < width; ++j) {
        stitched[at + j] = (*data)[k * width + j];
        filled[at + j] = true;
      }
    }
  }
  if (std::ranges::find(filled, false) == filled.end()) SetElements(context, 0, result, stitched);
}

// The largest index of a stitch; an open range where some index is not bounded.
ValueRange LastIndex(const InferenceContext& context) {
  ValueRange last = Exactly(-1);
  for (int i = 0; i < context.num_inputs() / 2; ++i) {
    if (const std::optional<Elements> indices = GetElements(context, i)) {
      for (const ValueRange& index : *indices) {
        last = {std::max(last.low, index.low), std::max(last.high, index.high)};
      }
    } else if (const std::optional<ValueRange> all = RangeOfAll(context, i)) {
      last.high = std::max(last.high, all->high);  // there may be none of them
    } else {
      return {};
    }
  }
  return last;
}

// As many rows as there are indices.
Dim RowsByCount(const InferenceContext& context) {
  Dim rows = 0;
  for (int i = 0; i < context.num_inputs() / 2; ++i) {
    const Shape& indices = context.shape(i);
    const int64_t count = indices.known_rank() ? indices.NumElements() : -1;
    rows = AddDims(rows, count < 0 ? kUnknownDim : BoundedDim(count));
  }
  return rows;
}

// Rows of several tensors put where their indices say: as many rows as the largest index asks for. Of indices
// whose values are not known it is taken that they leave no gaps; a step in which they do ends with an error.
void InferDynamicStitch(InferenceContext& context) {
  const int parts = context.num_inputs() / 2;
  Shape row = Shape::Unknown();
  for (int i = 0; i < parts; ++i) {
    const Shape& indices = context.shape(i);
    const Shape& data = context.shape(parts + i);
    if (!indices.known_rank() || !data.known_rank()) continue;
    if (data.rank() < indices.rank()) {
      Throw(Code::kInvalidArgument, "data of shape {} for indices of shape {}", data.ToString(),
            indices.ToString());
    }
    row = MergeShapes(row, SubShape(data, indices.rank(), data.rank()));
  }
  const ValueRange last = LastIndex(context);
  const bool bounded = last.high < std::numeric_limits<int32_t>::max();
  const Dim rows = bounded ? DimOfRange({last.low + 1, last.high + 1}) : RowsByCount(context);
  const Shape result = ConcatShapes(Shape{rows}, row);
  context.SetShape(0, result);
  const bool small = result.IsExact() && result.NumElements() <= kMaxFolded;
  if (small && AnyKnown(context) && IsFoldable(context.output().dtype)) FoldStitch(context, row);
}

}  // namespace

int GatherBatch(int last_axis, int rank, int64_t batch_dims) {
  if (last_axis < 0) Throw(Code::kInvalidArgument, "params must be at least 1 dimensional");
  if (batch_dims < -rank || batch_dims > rank) {
    Throw(Code::kInvalidArgument, "Expected batch_dims in the range [{}, {}], but got {}", -rank, rank,
          batch_dims);
  }
  const auto batch = static_cast<int>(batch_dims < 0 ? batch_dims + rank : batch_dims);
  if (batch > last_axis) {
    Throw(Code::kInvalidArgument, "batch_dims ({}) must be less than or equal to axis ({}).", batch,
          last_axis);
  }
  return batch;
}

GatherRule GatherAlong(const Shape& params, const Shape& indices, int64_t axis, int64_t batch_dims) {
  GatherRule rule;
  if (params.rank() > 0) rule.axis = NormalizeAxis(axis, params.rank());
  rule.batch = GatherBatch(params.rank() == 0 ? -1 : rule.axis, indices.rank(), batch_dims);
  rule.result = SubShape(params, 0, rule.axis);
  for (int d = 0; d < rule.batch; ++d) {
    if (IsExact(params[d]) && IsExact(indices[d]) && params[d] != indices[d]) {
      Throw(Code::kInvalidArgument, "params.shape[{}]: {} should be equal to indices.shape[{}]: {}", d,
            params[d], d, indices[d]);
    }
    rule.result.set_dim(d, MergeDim(params[d], indices[d]));
  }
  rule.result = ConcatShapes(ConcatShapes(rule.result, SubShape(indices, rule.batch, indices.rank())),
                             SubShape(params, rule.axis + 1, params.rank()));
  return rule;
}

GatherRule GatherRows(const Shape& params, const Shape& indices, int64_t batch_dims) {
  if (params.rank() < 1 || batch_dims < 0 || batch_dims >= params.rank()) {
    Throw(Code::kInvalidArgument, "params must be at least {} dimensional",
          AddDims(std::max<int64_t>(0, batch_dims), 1));
  }
  return GatherAlong(params, indices, batch_dims, batch_dims);
}

Shape PickedShape(std::string_view name, const Shape& indices, const Shape& params) {
  if (indices.rank() == 0) Throw(Code::kInvalidArgument, "{} must be at least a vector", name);
  if (!indices.known_rank() || !params.known_rank()) return Shape::Unknown();
  const int outer = indices.rank() - 1;
  const Dim depth = indices[outer];
  if (!IsExact(depth)) return Shape::Unknown();
  if (depth > params.rank()) {
    Throw(Code::kInvalidArgument, "index innermost dimension length must be <= params rank; saw: {} vs. {}",
          depth, params.rank());
  }
  return ConcatShapes(SubShape(indices, 0, outer), SubShape(params, static_cast<int>(depth), params.rank()));
}

void CheckUpdates(const Shape& indices, const Shape& updates, const Shape& shape) {
  const Shape picked = PickedShape("indices", indices, shape);
  if (!indices.known_rank() || !updates.known_rank()) return;
  const int outer = indices.rank() - 1;
  if (updates.rank() < outer || Contradict(SubShape(indices, 0, outer), SubShape(updates, 0, outer))) {
    Throw(Code::kInvalidArgument,
          "Dimensions [0,{}) of indices[shape={}] must match dimensions [0,{}) of updates[shape={}]", outer,
          indices.ToString(), outer, updates.ToString());
  }
  if (!Contradict(updates, picked)) return;
  Throw(Code::kInvalidArgument,
        "Must have updates.shape = indices.shape[:-1] + shape[indices.shape[-1]:], got updates.shape {}, "
        "indices.shape {}, shape {}",
        updates.ToString(), indices.ToString(), shape.ToString());
}

void CheckRowUpdates(const Shape& variable, const Shape& indices, const Shape& updates) {
  if (variable.rank() == 0) {
    Throw(Code::kInvalidArgument, "params must be at least 1-D, got shape {}", variable.ToString());
  }
  if (!variable.known_rank() || !indices.known_rank() || updates.rank() <= 0) return;
  if (!Contradict(updates, ConcatShapes(indices, SubShape(variable, 1, variable.rank())))) return;
  Throw(Code::kInvalidArgument,
        "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = "
        "[], got updates.shape {}, indices.shape {}, params.shape {}",
        updates.ToString(), indices.ToString(), variable.ToString());
}

Shape DenseShape(const Shape& indices, const Numbers& sizes, const Shape& values, const Shape& fill) {
  if (indices.known_rank() && indices.rank() > 2) {
    Throw(Code::kInvalidArgument, "sparse_indices should be a scalar, vector, or matrix, got shape {}",
          indices.ToString());
  }
  if (sizes.shape.known_rank() && sizes.shape.rank() != 1) {
    Throw(Code::kInvalidArgument, "output_shape must be rank 1, got shape {}", sizes.shape.ToString());
  }
  const Dim rows = indices.rank() < 0 ? kUnknownDim : indices.rank() == 0 ? 1 : indices[0];
  const Dim depth = indices.rank() < 0 ? kUnknownDim : indices.rank() == 2 ? indices[1] : 1;
  if (sizes.shape.known_rank() && Contradict(sizes.shape[0], depth)) {
    Throw(Code::kInvalidArgument, "output_shape has incorrect number of elements: {} should be: {}",
          BoundOf(sizes.shape[0]), BoundOf(depth));
  }
  if (values.rank() != 0 && Contradict(values, Shape{rows})) {
    Throw(Code::kInvalidArgument, "sparse_values has incorrect shape {}, should be [] or {}",
          values.ToString(), Shape{rows}.ToString());
  }
  if (fill.known_rank() && fill.rank() != 0) {
    Throw(Code::kInvalidArgument, "default_value should be a scalar.");
  }
  return ShapeOf(sizes);
}

void RegisterSparseOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("Gather(params: Tparams, indices: Tindices) -> (output: Tparams)",
     "validate_indices: bool = true; Tparams: type; Tindices: index")
      .Infer(InferGather)
      .Work(GatherCost);
  op("GatherV2(params: Tparams, indices: Tindices, axis: Taxis) -> (output: Tparams)",
     "batch_dims: int = 0; Tparams: type; Tindices: {index, int16}; Taxis: index")
      .Infer(InferGatherV2)
      .Work(GatherCost);
  op("GatherNd(params: Tparams, indices: Tindices) -> (output: Tparams)",
     "Tparams: type; Tindices: {index, int16}")
      .Infer(InferGatherNd)
      .Work(GatherCost);
  op("ScatterNd(indices: Tindices, updates: T, shape: Tindices) -> (output: T)",
     "T: type; Tindices: {index, int16}")
      .Infer(InferScatterNd)
      .Work(ScatterCost);
  for (const char* how : {"Update", "Add", "Sub", "Min", "Max"}) {
    op(fmt::format("TensorScatter{}(tensor: T, indices: Tindices, updates: T) -> (output: T)", how),
       "T: type; Tindices: {index, int16, uint16}")
        .Infer(InferTensorScatter)
        .Work(TensorScatterCost);
  }
  op("Unique(x: T) -> (y: T, idx: out_idx)", "T: type; out_idx: index = int32").Infer(InferUnique);
  op("UniqueV2(x: T, axis: Taxis) -> (y: T, idx: out_idx)",
     "T: type; Taxis: index = int64; out_idx: index = int32")
      .Infer(InferUnique);
  op("UniqueWithCounts(x: T) -> (y: T, idx: out_idx, count: out_idx)", "T: type; out_idx: index = int32")
      .Infer(InferUnique);
  op("UniqueWithCountsV2(x: T, axis: Taxis) -> (y: T, idx: out_idx, count: out_idx)",
     "T: type; Taxis: index = int64; out_idx: index = int32")
      .Infer(InferUnique);
  op("Where(input: T) -> (index: int64)", "T: {number, bool} = bool").Infer(InferWhere);
  op("DynamicPartition(data: T, partitions: int32) -> (outputs: num_partitions * T)",
     "num_partitions: int >= 1; T: type")
      .Infer(InferDynamicPartition);
  op("DynamicStitch(indices: N * int32, data: N * T) -> (merged: T)", "N: int >= 1; T: type")
      .Infer(InferDynamicStitch);
  op("ParallelDynamicStitch(indices: N * int32, data: N * T) -> (merged: T)", "N: int >= 1; T: type")
      .Infer(InferDynamicStitch);
  op("SparseToDense(sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T) -> "
     "(dense: T)",
     "validate_indices: bool = true; T: type; Tindices: index")
      .Infer(InferSparseToDense);
  op("ListDiff(x: T, y: T) -> (out: T, idx: out_idx)", "T: type; out_idx: index = int32")
      .Infer(InferListDiff);
}

}  // namespace lanescope::ops
