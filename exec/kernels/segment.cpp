// SPDX-License-Identifier: Apache-2.0
// Sums (products, extremes) of rows that share a segment number.
#include "core/graph/ops/segment.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exec/kernels/row_access.h"
#include "exec/kernels/segment_plan.h"
#include "exec/kernels/sparse_kernels.h"

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
void CombineUnsorted(const UnsortedSegments& plan, const T* data, const Index* ids, T* out,
                     WorkerTeam& team) {
  const auto [how, rows, inner, segments] = plan;
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

void RunUnsortedSegments(KernelContext& context, const UnsortedSegments& plan) {
  const TensorRef& data = context.input(0);
  const TensorRef& ids = context.input(1);
  DispatchIndex("UnsortedSegment", ids.dtype, [&](auto index) {
    using Index = decltype(index);
    CheckSegmentIds<Index>(ids, plan.segments);
    DispatchNumber("UnsortedSegment", data.dtype, [&](auto tag) {
      using T = decltype(tag);
      CombineUnsorted<T, Index>(plan, data.as<T>(), ids.as<Index>(), context.output().as<T>(),
                                context.team());
    });
  });
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
void ReduceSorted(const SortedSegments& plan, const std::vector<int64_t>& ids, T* out, WorkerTeam& team,
                  const RowOf& row_of) {
  const SegmentUpdate<T> update(plan.how);
  const int64_t inner = plan.inner;
  const int64_t rows = plan.rows;
  const int64_t row_bytes = std::max<int64_t>(1, inner * static_cast<int64_t>(sizeof(T)));
  const int64_t grain = std::max<int64_t>(1, kRowBlockBytes / row_bytes);
  team.ParallelFor(plan.segments, grain, [&](int64_t first, int64_t last) {
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
      if (count == 0) std::fill_n(target, inner, static_cast<T>(plan.empty));
      if (plan.scaling == Scaling::kNone || count <= 1) continue;
      const auto all = static_cast<double>(count);
      const double divisor = plan.scaling == Scaling::kMean ? all : std::sqrt(all);
      for (int64_t i = 0; i < inner; ++i) target[i] = static_cast<T>(target[i] / static_cast<T>(divisor));
    }
  });
}

class SegmentKernel final : public Kernel {
 public:
  explicit SegmentKernel(const Node& node) : op_(node) {}

  void Compute(KernelContext& context) override {
    std::vector<int64_t> ids;
    const auto last = [&](const TensorRef& numbers) {
      ids = ReadInts(numbers);
      ops::SegmentsOf(ids);
      return ids.back();
    };
    const SortedSegments plan = op_.Plan(context, last);
    if (static_cast<int64_t>(ids.size()) != plan.rows) {  // the number of segments was given
      ids = ReadInts(op_.ids(context));
      ops::CheckSorted(ids, plan.segments);
    }
    const TensorRef* indices = op_.indices(context);
    if (indices != nullptr) CheckRows(*indices, plan.data_rows);
    const std::vector<int64_t> rows = indices != nullptr ? ReadInts(*indices) : std::vector<int64_t>();
    const TensorRef& data = context.input(0);
    DispatchNumber("Segment", data.dtype, [&](auto tag) {
      using T = decltype(tag);
      ReduceSorted<T>(plan, ids, context.output().as<T>(), context.team(), [&](int64_t row) {
        return data.as<T>() + (rows.empty() ? row : rows[static_cast<size_t>(row)]) * plan.inner;
      });
    });
  }

 private:
  SegmentOp op_;
};

// Throws unless all of `numbers` are in [0, limit): "NAME 5 out of range [0, 5)."
void CheckNumbers(std::string_view name, const std::vector<int64_t>& numbers, int64_t limit) {
  for (const int64_t number : numbers) {
    if (number >= 0 && number < limit) continue;
    Throw(Code::kInvalidArgument, "{} {} out of range [0, {}).", name, number, limit);
  }
}

// The share of a segment's gradient for each row: all of it, or that over the rows or over their root.
std::vector<double> SegmentWeights(Scaling scaling, const std::vector<int64_t>& ids, int64_t segments) {
  std::vector<double> weights(static_cast<size_t>(segments), 0.0);
  for (const int64_t id : ids) weights[static_cast<size_t>(id)] += 1;
  for (double& weight : weights) {
    const double rows = std::max(weight, 1.0);
    weight = scaling == Scaling::kNone ? 1 : 1 / (scaling == Scaling::kMean ? rows : std::sqrt(rows));
  }
  return weights;
}

// Row rows[i] of the result takes row ids[i] of the gradient.
void AddSegmentGrads(KernelContext& context, const SegmentGrad& plan, const std::vector<int64_t>& rows,
                     const std::vector<int64_t>& ids) {
  const TensorRef& grad = context.input(0);
  const int64_t inner = plan.inner;
  const std::vector<double> weights = SegmentWeights(plan.scaling, ids, plan.segments);
  const RowRanges ranges(plan.rows, plan.updates, inner,
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

void RunSegmentGrad(KernelContext& context, const SegmentGrad& plan) {
  if (plan.rows == 0) return;
  const std::vector<int64_t> rows = ReadInts(context.input(1)), ids = ReadInts(context.input(2));
  CheckNumbers("Segment id", ids, plan.segments);
  CheckNumbers("Index", rows, plan.rows);
  AddSegmentGrads(context, plan, rows, ids);
}

// The rows that the indices name, in order, and their numbers.
void RunSegmentRowsGrad(KernelContext& context, SegmentGrad plan) {
  std::vector<int64_t> rows = ReadInts(context.input(1));
  const std::vector<int64_t> ids = ReadInts(context.input(2));
  CheckNumbers("Segment id", ids, plan.segments);
  CheckNumbers("Index", rows, plan.rows);
  std::vector<int64_t> named = rows;
  std::ranges::sort(named);
  named.erase(std::ranges::unique(named).begin(), named.end());
  for (int64_t& row : rows) row = std::ranges::lower_bound(named, row) - named.begin();
  plan.rows = static_cast<int64_t>(named.size());
  Shape shape = context.input(0).shape;
  shape.set_dim(0, plan.rows);
  ShapeOutput(context, 0, shape);
  WriteInts(context, 1, named);
  if (plan.rows > 0) AddSegmentGrads(context, plan, rows, ids);
}

}  // namespace

void RegisterSegmentKernels(KernelRegistry& registry) {
  RegisterSegmentOps<RunUnsortedSegments, SegmentKernel, RunSegmentGrad>(registry);
  for (const std::string how : {"Sum", "Mean", "SqrtN"}) {
    RegisterOp<SegmentGradOp, RunSegmentRowsGrad>(registry, "SparseSegment" + how + "GradV2");
  }
}

}  // namespace lanescope::exec
