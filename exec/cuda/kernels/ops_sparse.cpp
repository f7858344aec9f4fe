// Distinct values, segments, partitions, updates by coordinates.
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/movement.h"
#include "exec/cuda/kernels/sparse.h"

namespace lanescope::exec::cuda {
namespace {

// Outputs: distinct values, for each element its value's number, and (UniqueWithCounts) how often each
// occurs.
class UniqueKernel final : public UnrecordedKernel {
 public:
  explicit UniqueKernel(const Node& node) : counted_(node.op == "UniqueWithCounts") {
    const DataType dtype = node.TypeAttr("T");
    if (dtype != DataType::kBool && dtype != DataType::kUint8) LoopTypeFor(node.op, dtype);
  }

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    if (x.shape.rank() != 1) Throw(Code::kInvalidArgument, "unique expects a 1D vector.");
    ShapeOutput(context, 1, x.shape);
    const int index_bytes = ReaderOf("Unique", context.output(1)).bytes;
    auto* staging = static_cast<int32_t*>(StagingOf(context, 2 * sizeof(int32_t)));
    // The other outputs have room for as many values as there are elements.
    const int64_t count =
        RunUnique(LaunchOf(context), staging, x.dtype, x.shape[0], x.data, context.output(0).data,
                  index_bytes, context.output(1).data, counted_ ? context.output(2).data : nullptr);
    context.SetOutputShape(0, Shape{count});
    if (counted_) context.SetOutputShape(2, Shape{count});
  }

 private:
  bool counted_;
};

class WhereKernel final : public UnrecordedKernel {
 public:
  explicit WhereKernel(const Node& node) {
    const DataType dtype = node.TypeAttr("T");
    if (ElementSize(dtype) != 1) LoopTypeFor(node.op, dtype);
  }

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    auto* staging = static_cast<int32_t*>(StagingOf(context, 2 * sizeof(int32_t)));
    const int64_t size = x.NumElements();
    const NonZeros found = FindNonZeros(LaunchOf(context), staging, x.dtype, size, x.data);
    ShapeOutput(context, 0, Shape{found.count, x.shape.rank()});
    std::vector<int64_t> extents(x.shape.dims().begin(), x.shape.dims().end());
    WriteNonZeros(LaunchOf(context), found, x.dtype, size, x.data, x.shape.rank(), extents.data(),
                  context.output().as<int64_t>());
  }
};

// Rows of a number out of range are left out: refusing them would make the host wait.
template <Combine how>
void UnsortedSegment(KernelContext& context) {
  const TensorRef& data = context.input(0);
  const TensorRef& ids = context.input(1);
  const int64_t segments = ReadInt(context.input(2), "num_segments");
  const int id_rank = ids.shape.rank();
  bool prefix = segments >= 0 && id_rank <= data.shape.rank();
  for (int d = 0; prefix && d < id_rank; ++d) prefix = ids.shape[d] == data.shape[d];
  if (!prefix) {
    Throw(Code::kInvalidArgument,
          "data.shape = {} must start with segment_ids.shape = {}, and num_segments {} not be negative",
          data.shape.ToString(), ids.shape.ToString(), segments);
  }
  Shape shape{segments};
  for (int d = id_rank; d < data.shape.rank(); ++d) shape.Append(data.shape[d]);
  ShapeOutput(context, 0, shape);
  RunUnsortedSegments(LaunchOf(context), how, LoopTypeFor("UnsortedSegment", data.dtype), ids.NumElements(),
                      SizeOfDims(data.shape, id_rank, data.shape.rank()), segments,
                      ReaderOf("UnsortedSegment", ids), data.data, context.output().data);
}

// How many segments sorted numbers make: the last one and one more.
int64_t SegmentsOf(KernelContext& context, const TensorRef& ids) {
  if (ids.shape.rank() != 1) Throw(Code::kInvalidArgument, "segment_ids should be a vector");
  if (ids.NumElements() == 0) return 0;
  auto* staging = static_cast<int64_t*>(StagingOf(context, sizeof(int64_t)));
  const int64_t last = LastOf(LaunchOf(context), staging, ReaderOf("Segment", ids), ids.NumElements());
  if (last < 0) Throw(Code::kInvalidArgument, "segment ids must be >= 0");
  return AddDims(last, 1);
}

// Numbers past the last segment are left out: refusing them would make the host wait.
int64_t RequestedSegments(KernelContext& context, const TensorRef& ids) {
  if (ids.shape.rank() != 1) Throw(Code::kInvalidArgument, "segment_ids should be a vector");
  const int64_t segments = ReadInt(context.input(3), "num_segments");
  if (segments < 0) Throw(Code::kInvalidArgument, "num_segments must be >= 0, got {}", segments);
  return segments;
}

// data, [indices,] segment_ids [, and in host memory the number of segments].
template <Combine how, Scaling scaling, bool kIndexed>
class SegmentKernel final : public UnrecordedKernel {
 public:
  explicit SegmentKernel(const Node&) {}
  void Compute(KernelContext& context) override {
    const TensorRef& data = context.input(0);
    const TensorRef& ids = context.input(kIndexed ? 2 : 1);
    if (data.shape.rank() < 1) Throw(Code::kInvalidArgument, "input must be at least rank 1");
    SortedSegments spec;
    spec.how = how;
    spec.scaling = scaling;
    spec.segments =
        kIndexed && context.num_inputs() == 4 ? RequestedSegments(context, ids) : SegmentsOf(context, ids);
    spec.rows = ids.NumElements();
    spec.data_rows = data.shape[0];
    const int64_t named = kIndexed ? context.input(1).NumElements() : data.shape[0];
    if (named != spec.rows) {
      Throw(Code::kInvalidArgument,
            "segment_ids should be a vector of the same size as dimension 0 of input: {}", named);
    }
    spec.inner = SizeOfDims(data.shape, 1, data.shape.rank());
    spec.empty = how == Combine::kMul ? 1 : 0;
    Shape shape = data.shape;
    shape.set_dim(0, spec.segments);
    ShapeOutput(context, 0, shape);
    const IndexReader rows = kIndexed ? ReaderOf("SparseSegment", context.input(1)) : IndexReader{};
    RunSortedSegments(LaunchOf(context), spec, LoopTypeFor("Segment", data.dtype), ReaderOf("Segment", ids),
                      rows, data.data, context.output().data);
  }
};

// grad, indices, segment_ids, and in host memory the rows of the result.
template <Scaling scaling>
void SparseSegmentGrad(KernelContext& context) {
  const TensorRef& grad = context.input(0);
  const TensorRef& indices = context.input(1);
  const TensorRef& ids = context.input(2);
  if (grad.shape.rank() < 1) Throw(Code::kInvalidArgument, "input must be at least rank 1");
  if (indices.shape.rank() != 1) Throw(Code::kInvalidArgument, "indices should be a vector.");
  if (ids.shape.rank() != 1) Throw(Code::kInvalidArgument, "segment_ids should be a vector.");
  if (!(indices.shape == ids.shape)) {
    Throw(Code::kInvalidArgument, "segment_ids and indices should have same size.");
  }
  SegmentGrad spec{scaling, ReadInt(context.input(3), "output_dim0"), ids.NumElements(),
                   SizeOfDims(grad.shape, 1, grad.shape.rank()), grad.shape[0]};
  if (spec.rows < 0) Throw(Code::kInvalidArgument, "Expected a non-negative size, got {}", spec.rows);
  Shape shape = grad.shape;
  shape.set_dim(0, spec.rows);
  ShapeOutput(context, 0, shape);
  const LoopType type = LoopTypeFor("SparseSegmentGrad", grad.dtype);
  RunSegmentGrad(LaunchOf(context), spec, type == LoopType::kDouble, ReaderOf("SparseSegmentGrad", indices),
                 ReaderOf("SparseSegmentGrad", ids), grad.data, context.output().data);
}

// Inputs: N index tensors in host memory, then N data tensors data[i] = indices[i].shape + row. Later rows
// win.
void DynamicStitch(KernelContext& context) {
  const int pairs = context.num_inputs() / 2;
  int64_t rows = 0;
  Shape row_shape;
  std::vector<std::vector<int64_t>> targets;
  for (int p = 0; p < pairs; ++p) {
    const TensorRef& indices = context.input(p);
    const TensorRef& data = context.input(pairs + p);
    bool prefix = indices.shape.rank() <= data.shape.rank();
    for (int d = 0; prefix && d < indices.shape.rank(); ++d) prefix = indices.shape[d] == data.shape[d];
    Shape shape;
    for (int d = indices.shape.rank(); prefix && d < data.shape.rank(); ++d) shape.Append(data.shape[d]);
    if (!prefix || (p > 0 && !(shape == row_shape))) {
      Throw(Code::kInvalidArgument,
            "data[{}].shape = {} does not consist of indices[{}].shape = {} and rows of {}", p,
            data.shape.ToString(), p, indices.shape.ToString(), row_shape.ToString());
    }
    row_shape = shape;
    targets.push_back(ReadInts(indices));
    for (const int64_t index : targets.back()) {
      if (index < 0) Throw(Code::kInvalidArgument, "indices[{}] = {} is out of range", p, index);
      rows = std::max(rows, AddDims(index, 1));
    }
  }
  Shape shape = row_shape;
  shape.Insert(0, rows);
  ShapeOutput(context, 0, shape);
  // Of rows with one target the last is kept, so that none is written twice.
  std::vector<bool> written(static_cast<size_t>(rows), false);
  for (size_t p = targets.size(); p-- > 0;) {
    for (size_t i = targets[p].size(); i-- > 0;) {
      int64_t& target = targets[p][i];
      if (written[static_cast<size_t>(target)]) {
        target = -1;
      } else {
        written[static_cast<size_t>(target)] = true;
      }
    }
  }
  const TensorRef& out = context.output();
  Launch& launch = LaunchOf(context);
  ZeroBytes(launch, out.data, out.NumElements() * ElementBytes(out.dtype));
  for (int p = 0; p < pairs; ++p) {
    const std::vector<int64_t>& rows_of = targets[static_cast<size_t>(p)];
    RunPlaceRows(launch, ElementBytes(out.dtype), static_cast<int64_t>(rows_of.size()),
                 row_shape.NumElements(), rows_of.data(), context.input(pairs + p).data, out.data);
  }
}

class DynamicPartitionKernel final : public UnrecordedKernel {
 public:
  explicit DynamicPartitionKernel(const Node& node) : parts_(node.IntAttr("num_partitions")) {}

  void Compute(KernelContext& context) override {
    const TensorRef& data = context.input(0);
    const TensorRef& partitions = context.input(1);
    const int rank = partitions.shape.rank();
    bool prefix = rank <= data.shape.rank();
    for (int d = 0; prefix && d < rank; ++d) prefix = partitions.shape[d] == data.shape[d];
    if (!prefix) {
      Throw(Code::kInvalidArgument,
            "data.shape must start with partitions.shape, got data.shape = {}, partitions.shape = {}",
            data.shape.ToString(), partitions.shape.ToString());
    }
    Launch& launch = LaunchOf(context);
    const int64_t rows = partitions.NumElements();
    auto* first =
        static_cast<int64_t*>(StagingOf(context, (parts_ + 1) * static_cast<int64_t>(sizeof(int64_t))));
    const int32_t* order =
        PlanPartition(launch, first, rows, parts_, ReaderOf("DynamicPartition", partitions));
    if (first[parts_] != rows) {
      Throw(Code::kInvalidArgument, "{} of the partitions are not in [0, {})", rows - first[parts_], parts_);
    }
    const int64_t inner = SizeOfDims(data.shape, rank, data.shape.rank());
    for (int part = 0; part < static_cast<int>(parts_); ++part) {
      const int64_t size = first[part + 1] - first[part];
      Shape shape{size};
      for (int d = rank; d < data.shape.rank(); ++d) shape.Append(data.shape[d]);
      ShapeOutput(context, part, shape);
      if (size == 0) continue;
      RunGather(launch, ElementBytes(data.dtype), 1, 1, rows, inner, size,
                IndexReader{order + first[part], 4}, data.data, context.output(part).data);
    }
  }

 private:
  int64_t parts_;
};

// Combines updates at coordinates with what `out` holds. Coordinates out of range are left out.
void ApplyUpdates(KernelContext& context, Combine how, const TensorRef& indices, const TensorRef& updates,
                  const TensorRef& out) {
  const CoordinatesOf at = ResolveCoordinates("indices", indices.shape, out.shape);
  if (!(updates.shape == at.result_shape)) {
    Throw(Code::kInvalidArgument,
          "Must have updates.shape = indices.shape[:-1] + shape[indices.shape[-1]:], got updates.shape {}, "
          "indices.shape {}, shape {}",
          updates.shape.ToString(), indices.shape.ToString(), out.shape.ToString());
  }
  if (out.NumElements() == 0 || updates.NumElements() == 0) return;
  const RowUpdates spec{how, out.NumElements() / at.row_elements, at.rows, at.row_elements, 1};
  RunRowUpdatesNd(LaunchOf(context), spec, LoopTypeFor("ScatterNd", out.dtype), at.map,
                  ReaderOf("ScatterNd", indices), updates.data, out.data);
}

void ScatterNd(KernelContext& context) {
  ShapeOutput(context, 0, ReadShape(context.input(2)));
  const TensorRef& out = context.output();
  ZeroBytes(LaunchOf(context), out.data, out.NumElements() * ElementBytes(out.dtype));
  ApplyUpdates(context, Combine::kAdd, context.input(0), context.input(1), out);
}

template <Combine how>
void TensorScatter(KernelContext& context) {
  const TensorRef& x = context.input(0);
  ShapeOutput(context, 0, x.shape);
  CopyBytes(LaunchOf(context), context.output().data, x.data, x.NumElements() * ElementBytes(x.dtype));
  ApplyUpdates(context, how, context.input(1), context.input(2), context.output());
}

// The variable itself is the output.
template <Combine how>
void ScatterNdUpdate(KernelContext& context) {
  ApplyUpdates(context, how, context.input(1), context.input(2), context.variable(0).tensor);
}

// Coordinates (one, a vector, or rows of a matrix), and in host memory the shape; values, and in host memory
// what stands elsewhere. Coordinates out of range are left out.
void SparseToDense(KernelContext& context) {
  const TensorRef& indices = context.input(0);
  const TensorRef& values = context.input(2);
  const TensorRef& fallback = context.input(3);
  const Shape shape = ReadShape(context.input(1));
  const int rank = indices.shape.rank();
  const Shape rows{rank == 0 ? 1 : indices.shape[0], rank == 2 ? indices.shape[1] : 1};
  if (rank > 2 || rows[1] != shape.rank() || fallback.shape.rank() != 0 ||
      (values.shape.rank() != 0 && !(values.shape == Shape{rows[0]}))) {
    Throw(Code::kInvalidArgument,
          "sparse_indices {}, sparse_values {} and default_value {} do not fit shape {}",
          indices.shape.ToString(), values.shape.ToString(), fallback.shape.ToString(), shape.ToString());
  }
  ShapeOutput(context, 0, shape);
  const TensorRef& out = context.output();
  RunFillFromHost(LaunchOf(context), ElementBytes(out.dtype), out.NumElements(), out.data, fallback.data);
  if (out.NumElements() == 0 || rows[0] == 0) return;
  const CoordinatesOf at = ResolveCoordinates("indices", rows, shape);
  const RowUpdates spec{Combine::kAssign, out.NumElements(), rows[0], 1, values.shape.rank()};
  RunRowUpdatesNd(LaunchOf(context), spec, LoopTypeFor("SparseToDense", out.dtype), at.map,
                  ReaderOf("SparseToDense", indices), values.data, out.data);
}

template <Combine how, Scaling scaling, bool kIndexed>
void RegisterSegment(KernelRegistry& registry, const char* op) {
  registry.Register(op, MakeKernel<SegmentKernel<how, scaling, kIndexed>>);
}

}  // namespace

void RegisterSparseOps(KernelRegistry& registry) {
  registry.Register("Unique", MakeKernel<UniqueKernel>);
  registry.Register("UniqueWithCounts", MakeKernel<UniqueKernel>);
  registry.Register("Where", MakeKernel<WhereKernel>);
  registry.Register("UnsortedSegmentSum", MakeFunctionKernel<UnsortedSegment<Combine::kAdd>>);
  registry.Register("UnsortedSegmentProd", MakeFunctionKernel<UnsortedSegment<Combine::kMul>>);
  registry.Register("UnsortedSegmentMax", MakeFunctionKernel<UnsortedSegment<Combine::kMax>>);
  registry.Register("UnsortedSegmentMin", MakeFunctionKernel<UnsortedSegment<Combine::kMin>>);
  RegisterSegment<Combine::kAdd, Scaling::kNone, false>(registry, "SegmentSum");
  RegisterSegment<Combine::kAdd, Scaling::kMean, false>(registry, "SegmentMean");
  RegisterSegment<Combine::kMul, Scaling::kNone, false>(registry, "SegmentProd");
  RegisterSegment<Combine::kMax, Scaling::kNone, false>(registry, "SegmentMax");
  RegisterSegment<Combine::kMin, Scaling::kNone, false>(registry, "SegmentMin");
  RegisterSegment<Combine::kAdd, Scaling::kNone, true>(registry, "SparseSegmentSum");
  RegisterSegment<Combine::kAdd, Scaling::kMean, true>(registry, "SparseSegmentMean");
  RegisterSegment<Combine::kAdd, Scaling::kSquareRoot, true>(registry, "SparseSegmentSqrtN");
  RegisterSegment<Combine::kAdd, Scaling::kNone, true>(registry, "SparseSegmentSumWithNumSegments");
  RegisterSegment<Combine::kAdd, Scaling::kMean, true>(registry, "SparseSegmentMeanWithNumSegments");
  RegisterSegment<Combine::kAdd, Scaling::kSquareRoot, true>(registry, "SparseSegmentSqrtNWithNumSegments");
  registry.Register("SparseSegmentSumGrad", MakeFunctionKernel<SparseSegmentGrad<Scaling::kNone>>);
  registry.Register("SparseSegmentMeanGrad", MakeFunctionKernel<SparseSegmentGrad<Scaling::kMean>>);
  registry.Register("SparseSegmentSqrtNGrad", MakeFunctionKernel<SparseSegmentGrad<Scaling::kSquareRoot>>);
  registry.Register("DynamicStitch", MakeFunctionKernel<DynamicStitch>);
  registry.Register("DynamicPartition", MakeKernel<DynamicPartitionKernel>);
  registry.Register("ScatterNd", MakeFunctionKernel<ScatterNd>);
  registry.Register("ScatterNdUpdate", MakeFunctionKernel<ScatterNdUpdate<Combine::kAssign>>);
  registry.Register("ScatterNdAdd", MakeFunctionKernel<ScatterNdUpdate<Combine::kAdd>>);
  registry.Register("ScatterNdSub", MakeFunctionKernel<ScatterNdUpdate<Combine::kSub>>);
  registry.Register("SparseToDense", MakeFunctionKernel<SparseToDense>);
  registry.Register("TensorScatterUpdate", MakeFunctionKernel<TensorScatter<Combine::kAssign>>);
  registry.Register("TensorScatterAdd", MakeFunctionKernel<TensorScatter<Combine::kAdd>>);
  registry.Register("TensorScatterSub", MakeFunctionKernel<TensorScatter<Combine::kSub>>);
  registry.Register("TensorScatterMin", MakeFunctionKernel<TensorScatter<Combine::kMin>>);
  registry.Register("TensorScatterMax", MakeFunctionKernel<TensorScatter<Combine::kMax>>);
}

}  // namespace lanescope::exec::cuda
