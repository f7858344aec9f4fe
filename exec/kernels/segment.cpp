// Sums (products, extremes) of rows that share a segment number.
#include <algorithm>
#include <cmath>
#include <limits>

#include "exec/kernels/row_access.h"
#include "exec/kernels/row_arithmetic.h"
#include "exec/kernels/sparse_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

template <typename T>
T IdentityOf(Combine how) {
  switch (how) {
    case Combine::kMul:
      return T{1};
    case Combine::kMin:
      return std::numeric_limits<T>::max();
    case Combine::kMax:
      return std::numeric_limits<T>::lowest();
    default:
      return T{0};
  }
}

// Adds a row to its segment. Where a NaN cannot be compared, extremes take the later row, as TensorFlow does.
template <typename T>
class SegmentUpdate {
 public:
  explicit SegmentUpdate(Combine how) : how_(how), update_(how) {}

  void operator()(int64_t n, T* target, const T* row) const {
    if (how_ == Combine::kMin) {
      for (int64_t i = 0; i < n; ++i) target[i] = std::min(row[i], target[i]);
    } else if (how_ == Combine::kMax) {
      for (int64_t i = 0; i < n; ++i) target[i] = std::max(row[i], target[i]);
    } else {
      update_(n, target, row);
    }
  }

 private:
  Combine how_;
  RowUpdate<T> update_;
};

template <typename Index>
void CheckSegmentIds(const TensorRef& ids, int64_t num_segments) {
  const Index* values = ids.as<Index>();
  const int64_t count = ids.NumElements();
  Index largest = -1;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, values[i]);
  if (largest < num_segments) return;
  for (int64_t i = 0; i < count; ++i) {
    if (values[i] >= num_segments) {
      Throw(Code::kInvalidArgument, "segment_ids[{}] = {} is out of range [0, {})", Coordinates(ids.shape, i),
            values[i], num_segments);
    }
  }
}

// out[id] = identity op row op row ..., in row order; rows of a negative id are dropped. The first row of a
// segment is written, not added to a cleared one: the output is touched once for every row.
template <typename T, typename Index>
void UnsortedSegments(Combine how, const T* data, const Index* ids, int64_t rows, int64_t inner,
                      int64_t segments, T* out, WorkerTeam& team) {
  const SegmentUpdate<T> update(how);
  const T identity = IdentityOf<T>(how);
  const int64_t row_bytes = std::min<int64_t>(inner, 256) * static_cast<int64_t>(sizeof(T));
  const RowRanges ranges(segments, rows, inner, [&](int64_t row) { return static_cast<int64_t>(ids[row]); });
  ranges.ForEach(team, [&](int64_t first, int64_t last, std::span<const int64_t> own) {
    std::vector<uint8_t> seen(static_cast<size_t>(last - first), 0);
    for (size_t k = 0; k < own.size(); ++k) {
      if (k + kPrefetchRows < own.size()) {
        const int64_t next = own[k + kPrefetchRows];
        PrefetchRow(data + next * inner, row_bytes);
        PrefetchRow(out + static_cast<int64_t>(ids[next]) * inner, row_bytes);
      }
      const int64_t row = own[k];
      const int64_t id = ids[row];
      T* target = out + id * inner;
      const T* source = data + row * inner;
      if (seen[static_cast<size_t>(id - first)] != 0) {
        update(inner, target, source);
        continue;
      }
      seen[static_cast<size_t>(id - first)] = 1;
      if (how == Combine::kAdd) {
        // Plus zero, so that a lone -0 becomes 0 as a sum from zero does.
        for (int64_t i = 0; i < inner; ++i) target[i] = source[i] + T{0};
      } else {
        std::fill_n(target, inner, identity);
        update(inner, target, source);
      }
    }
    for (int64_t id = first; id < last; ++id) {
      if (!seen[static_cast<size_t>(id - first)]) std::fill_n(out + id * inner, inner, identity);
    }
  });
}

template <Combine how>
void ComputeUnsortedSegment(KernelContext& context) {
  const TensorRef& data = context.input(0);
  const TensorRef& ids = context.input(1);
  const int64_t segments = ReadInt(context.input(2), "num_segments");
  if (segments < 0) {
    Throw(Code::kInvalidArgument, "Input num_segments == {} must not be negative.", segments);
  }
  bool prefix = ids.shape.rank() <= data.shape.rank();
  for (int d = 0; prefix && d < ids.shape.rank(); ++d) prefix = ids.shape[d] == data.shape[d];
  if (!prefix) {
    Throw(Code::kInvalidArgument, "data.shape = {} does not start with segment_ids.shape = {}",
          data.shape.ToString(), ids.shape.ToString());
  }
  Shape shape{segments};
  for (int d = ids.shape.rank(); d < data.shape.rank(); ++d) shape.Append(data.shape[d]);
  const int64_t rows = ids.NumElements();
  const int64_t inner = SizeOfDims(data.shape, ids.shape.rank(), data.shape.rank());
  DispatchIndex("UnsortedSegment", ids.dtype, [&](auto index) {
    using Index = decltype(index);
    CheckSegmentIds<Index>(ids, segments);
    ShapeOutput(context, 0, shape);
    DispatchNumber("UnsortedSegment", data.dtype, [&](auto tag) {
      using T = decltype(tag);
      UnsortedSegments<T, Index>(how, data.as<T>(), ids.as<Index>(), rows, inner, segments,
                                 context.output().as<T>(), context.team());
    });
  });
}

enum class Scaling { kNone, kMean, kSqrt };

// Sorted segment numbers: row i of `rows` belongs to segment ids[i]. Segments without rows are `empty`.
struct SortedSegments {
  std::vector<int64_t> ids;
  int64_t segments = 0;
};

SortedSegments ReadSortedSegments(const TensorRef& ids, int64_t rows, int64_t requested,
                                  std::string_view size_message) {
  if (ids.shape.rank() != 1) Throw(Code::kInvalidArgument, "segment_ids should be a vector.");
  if (ids.NumElements() != rows) Throw(Code::kInvalidArgument, "{}", size_message);
  SortedSegments result{ReadInts(ids), requested};
  int64_t previous = 0;
  for (const int64_t id : result.ids) {
    if (id < 0) {
      Throw(Code::kInvalidArgument,
            "Segment id {} out of range [0, {}), possibly because 'segment_ids' input is not sorted.", id,
            requested < 0 ? AddDims(std::max<int64_t>(0, result.ids.back()), 1) : requested);
    }
    if (id < previous) Throw(Code::kInvalidArgument, "segment ids are not increasing");
    previous = id;
  }
  if (requested < 0) {
    result.segments = result.ids.empty() ? 0 : AddDims(previous, 1);
  } else if (!result.ids.empty() && previous >= requested) {
    Throw(Code::kInvalidArgument, "segment ids must be < num_segments");
  }
  return result;
}

// The rows that sparse segments name, in TensorFlow's words for them.
void CheckRows(const TensorRef& indices, int64_t limit) {
  const std::vector<int64_t> rows = ReadInts(indices);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= 0 && rows[i] < limit) continue;
    Throw(Code::kInvalidArgument, "Bad: indices[{}] == {} out of range [0, {})", i, rows[i], limit);
  }
}

// row_of(i) gives the data of row i. A segment is the work of one worker.
template <typename T, typename RowOf>
void ReduceSorted(Combine how, Scaling scaling, const SortedSegments& sorted, int64_t inner, T empty, T* out,
                  WorkerTeam& team, const RowOf& row_of) {
  const SegmentUpdate<T> update(how);
  const std::vector<int64_t>& ids = sorted.ids;
  const auto rows = static_cast<int64_t>(ids.size());
  const int64_t row_bytes = std::max<int64_t>(1, inner * static_cast<int64_t>(sizeof(T)));
  const int64_t grain = std::max<int64_t>(1, kRowBlockBytes / row_bytes);
  team.ParallelFor(sorted.segments, grain, [&](int64_t first, int64_t last) {
    auto row = std::lower_bound(ids.begin(), ids.end(), first) - ids.begin();
    for (int64_t id = first; id < last; ++id) {
      T* target = out + id * inner;
      const int64_t begin = row;
      for (; row < rows && ids[static_cast<size_t>(row)] == id; ++row) {
        if (row == begin) {
          std::copy_n(row_of(row), inner, target);
        } else {
          update(inner, target, row_of(row));
        }
      }
      const int64_t count = row - begin;
      if (count == 0) std::fill_n(target, inner, empty);
      if (scaling == Scaling::kNone || count <= 1) continue;
      const double divisor =
          scaling == Scaling::kMean ? static_cast<double>(count) : std::sqrt(static_cast<double>(count));
      for (int64_t i = 0; i < inner; ++i) target[i] = static_cast<T>(target[i] / static_cast<T>(divisor));
    }
  });
}

template <Combine how, Scaling scaling>
void ComputeSegment(KernelContext& context) {
  const TensorRef& data = context.input(0);
  if (data.shape.rank() < 1) Throw(Code::kInvalidArgument, "input must be at least rank 1");
  const SortedSegments sorted = ReadSortedSegments(
      context.input(1), data.shape[0], -1, "segment_ids should be the same size as dimension 0 of input.");
  Shape shape = data.shape;
  shape.set_dim(0, sorted.segments);
  ShapeOutput(context, 0, shape);
  const int64_t inner = SizeOfDims(data.shape, 1, data.shape.rank());
  DispatchNumber("Segment", data.dtype, [&](auto tag) {
    using T = decltype(tag);
    // Gaps hold the identity of a sum or a product; TensorFlow leaves 0 for extremes.
    const T empty = how == Combine::kMul ? T{1} : T{0};
    ReduceSorted<T>(how, scaling, sorted, inner, empty, context.output().as<T>(), context.team(),
                    [&](int64_t row) { return data.as<T>() + row * inner; });
  });
}

// data, indices, segment_ids [, num_segments]: rows data[indices[i]].
template <Scaling scaling>
void ComputeSparseSegment(KernelContext& context) {
  const TensorRef& data = context.input(0);
  const TensorRef& indices = context.input(1);
  if (data.shape.rank() < 1) Throw(Code::kInvalidArgument, "input must be at least rank 1");
  const int64_t requested = context.num_inputs() == 4 ? ReadInt(context.input(3), "num_segments") : -1;
  if (context.num_inputs() == 4 && requested < 0) {
    Throw(Code::kInvalidArgument, "num_segments must be >= 0, got {}", requested);
  }
  const SortedSegments sorted = ReadSortedSegments(context.input(2), indices.NumElements(), requested,
                                                   "segment_ids and indices should have same size.");
  CheckRows(indices, data.shape[0]);
  const std::vector<int64_t> rows = ReadInts(indices);
  Shape shape = data.shape;
  shape.set_dim(0, sorted.segments);
  ShapeOutput(context, 0, shape);
  const int64_t inner = SizeOfDims(data.shape, 1, data.shape.rank());
  DispatchReal("SparseSegment", data.dtype, [&](auto tag) {
    using T = decltype(tag);
    ReduceSorted<T>(Combine::kAdd, scaling, sorted, inner, T{0}, context.output().as<T>(), context.team(),
                    [&](int64_t row) { return data.as<T>() + rows[static_cast<size_t>(row)] * inner; });
  });
}

// Throws unless all of `numbers` are in [0, limit): "NAME 5 out of range [0, 5)."
void CheckNumbers(std::string_view name, const std::vector<int64_t>& numbers, int64_t limit) {
  for (const int64_t number : numbers) {
    if (number >= 0 && number < limit) continue;
    Throw(Code::kInvalidArgument, "{} {} out of range [0, {}).", name, number, limit);
  }
}

// What a row of a segment passes on: all of the segment's gradient, or that over the rows or their root.
std::vector<double> SegmentWeights(Scaling scaling, const std::vector<int64_t>& ids, int64_t segments) {
  std::vector<double> weights(static_cast<size_t>(segments), 0.0);
  for (const int64_t id : ids) weights[static_cast<size_t>(id)] += 1;
  for (double& weight : weights) {
    const double rows = std::max(weight, 1.0);
    weight = scaling == Scaling::kNone ? 1 : 1 / (scaling == Scaling::kMean ? rows : std::sqrt(rows));
  }
  return weights;
}

// grad, indices, segment_ids, output_dim0: row indices[i] of the result takes row segment_ids[i] of the
// gradient.
template <Scaling scaling>
void ComputeSparseSegmentGrad(KernelContext& context) {
  const TensorRef& grad = context.input(0);
  if (grad.shape.rank() < 1) Throw(Code::kInvalidArgument, "input must be at least rank 1");
  if (context.input(1).shape.rank() != 1) Throw(Code::kInvalidArgument, "indices should be a vector.");
  if (context.input(2).shape.rank() != 1) Throw(Code::kInvalidArgument, "segment_ids should be a vector.");
  if (context.input(3).shape.rank() != 0) Throw(Code::kInvalidArgument, "output_dim0 should be a scalar.");
  const std::vector<int64_t> rows = ReadInts(context.input(1)), ids = ReadInts(context.input(2));
  if (rows.size() != ids.size()) {
    Throw(Code::kInvalidArgument, "segment_ids and indices should have same size.");
  }
  const int64_t count = ReadInt(context.input(3), "output_dim0");
  if (count < 0) Throw(Code::kInvalidArgument, "Expected a non-negative size, got {}", count);
  Shape shape = grad.shape;
  shape.set_dim(0, count);
  ShapeOutput(context, 0, shape);
  if (count == 0) return;
  CheckNumbers("Segment id", ids, grad.shape[0]);
  CheckNumbers("Index", rows, count);
  const int64_t inner = SizeOfDims(grad.shape, 1, grad.shape.rank());
  const std::vector<double> weights = SegmentWeights(scaling, ids, grad.shape[0]);
  const RowRanges ranges(count, static_cast<int64_t>(rows.size()), inner,
                         [&](int64_t i) { return rows[static_cast<size_t>(i)]; });
  DispatchReal("SparseSegmentGrad", grad.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* out = context.output().as<T>();
    ranges.ForEach(context.team(), [&](int64_t first, int64_t last, std::span<const int64_t> own) {
      std::fill(out + first * inner, out + last * inner, T{0});
      for (const int64_t i : own) {
        const int64_t id = ids[static_cast<size_t>(i)];
        const T weight = static_cast<T>(weights[static_cast<size_t>(id)]);
        const T* from = grad.as<T>() + id * inner;
        T* to = out + rows[static_cast<size_t>(i)] * inner;
        for (int64_t k = 0; k < inner; ++k) to[k] += from[k] * weight;
      }
    });
  });
}

}  // namespace

void RegisterSegmentKernels(KernelRegistry& registry) {
  registry.Register("UnsortedSegmentSum", MakeFunctionKernel<ComputeUnsortedSegment<Combine::kAdd>>);
  registry.Register("UnsortedSegmentProd", MakeFunctionKernel<ComputeUnsortedSegment<Combine::kMul>>);
  registry.Register("UnsortedSegmentMax", MakeFunctionKernel<ComputeUnsortedSegment<Combine::kMax>>);
  registry.Register("UnsortedSegmentMin", MakeFunctionKernel<ComputeUnsortedSegment<Combine::kMin>>);
  registry.Register("SegmentSum", MakeFunctionKernel<ComputeSegment<Combine::kAdd, Scaling::kNone>>);
  registry.Register("SegmentMean", MakeFunctionKernel<ComputeSegment<Combine::kAdd, Scaling::kMean>>);
  registry.Register("SegmentProd", MakeFunctionKernel<ComputeSegment<Combine::kMul, Scaling::kNone>>);
  registry.Register("SegmentMax", MakeFunctionKernel<ComputeSegment<Combine::kMax, Scaling::kNone>>);
  registry.Register("SegmentMin", MakeFunctionKernel<ComputeSegment<Combine::kMin, Scaling::kNone>>);
  registry.Register("SparseSegmentSumGrad", MakeFunctionKernel<ComputeSparseSegmentGrad<Scaling::kNone>>);
  registry.Register("SparseSegmentMeanGrad", MakeFunctionKernel<ComputeSparseSegmentGrad<Scaling::kMean>>);
  registry.Register("SparseSegmentSqrtNGrad", MakeFunctionKernel<ComputeSparseSegmentGrad<Scaling::kSqrt>>);
  for (const std::string suffix : {"", "WithNumSegments"}) {
    registry.Register("SparseSegmentSum" + suffix, MakeFunctionKernel<ComputeSparseSegment<Scaling::kNone>>);
    registry.Register("SparseSegmentMean" + suffix, MakeFunctionKernel<ComputeSparseSegment<Scaling::kMean>>);
    registry.Register("SparseSegmentSqrtN" + suffix,
                      MakeFunctionKernel<ComputeSparseSegment<Scaling::kSqrt>>);
  }
}

}  // namespace lanescope::exec
