// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/reduce.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace lanescope::exec {
namespace {

// Elements that one block reads, so that handing it out costs little and its partial result is accurate.
constexpr int64_t kReduceBlockElements = 16384;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Merged dimensions: neighbours that are all kept or all reduced are one; size-1 dimensions vanish.
struct MergedDims {
  std::vector<int64_t> sizes;
  std::vector<bool> reduced;
};

MergedDims Merge(const Shape& shape, const ReducedDims& reduced) {
  MergedDims merged;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    const bool gone = reduced[static_cast<size_t>(i)];
    if (!merged.sizes.empty() && merged.reduced.back() == gone) {
      merged.sizes.back() *= shape[i];
    } else {
      merged.sizes.push_back(shape[i]);
      merged.reduced.push_back(gone);
    }
  }
  return merged;
}

// Element offsets of every combination of the dimensions [0, last) that are (not) reduced, row-major.
std::vector<int64_t> Offsets(const MergedDims& dims, size_t last, bool reduced) {
  std::vector<int64_t> offsets = {0};
  for (size_t i = 0; i < last; ++i) {
    if (dims.reduced[i] != reduced) continue;
    int64_t stride = 1;
    for (size_t j = i + 1; j < dims.sizes.size(); ++j) stride *= dims.sizes[j];
    std::vector<int64_t> next;
    next.reserve(offsets.size() * static_cast<size_t>(dims.sizes[i]));
    for (int64_t offset : offsets) {
      for (int64_t k = 0; k < dims.sizes[i]; ++k) next.push_back(offset + k * stride);
    }
    offsets = std::move(next);
  }
  return offsets;
}

class Reduction {
 public:
  Reduction(WorkerTeam& team, ReduceOp op, LoopType type, int64_t element_bytes, MergedDims dims)
      : team_(team),
        reduce_(HostLoops().reduce[static_cast<size_t>(op)][static_cast<size_t>(type)]),
        reduce_rows_(HostLoops().reduce_rows[static_cast<size_t>(op)][static_cast<size_t>(type)]),
        bytes_(element_bytes),
        dims_(std::move(dims)) {
    // Partial sums of squares are summed, not squared again.
    const ReduceOp join = op == ReduceOp::kSumSquares ? ReduceOp::kSum : op;
    join_ = HostLoops().reduce[static_cast<size_t>(join)][static_cast<size_t>(type)];
    join_rows_ = HostLoops().reduce_rows[static_cast<size_t>(join)][static_cast<size_t>(type)];
  }

  void Run(const char* x, char* result) {
    if (dims_.sizes.empty() || dims_.reduced.back()) {
      ReduceRuns(x, result);
    } else {
      ReduceColumns(x, result);
    }
  }

 private:
  // The innermost dimension goes away: every output element is an op over runs of contiguous elements.
  void ReduceRuns(const char* x, char* result) {
    const int64_t run = dims_.sizes.empty() ? 1 : dims_.sizes.back();
    const size_t outer = dims_.sizes.empty() ? 0 : dims_.sizes.size() - 1;
    const std::vector<int64_t> units = Offsets(dims_, outer, false);
    const std::vector<int64_t> runs = Offsets(dims_, outer, true);
    const int64_t per_run = CeilDiv(run, kReduceBlockElements);
    const int64_t per_unit = per_run * static_cast<int64_t>(runs.size());
    const int64_t tasks = per_unit * static_cast<int64_t>(units.size());
    const std::unique_ptr<char[]> partial(per_unit > 1 ? new char[static_cast<size_t>(tasks * bytes_)]
                                                       : nullptr);
    char* to = per_unit > 1 ? partial.get() : result;
    team_.ParallelFor(
        tasks, std::max<int64_t>(1, kReduceBlockElements / run), [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            const int64_t unit = task / per_unit;
            const int64_t part = task % per_unit;
            const int64_t first = part % per_run * kReduceBlockElements;
            const int64_t offset =
                units[static_cast<size_t>(unit)] + runs[static_cast<size_t>(part / per_run)] + first;
            reduce_(std::min(kReduceBlockElements, run - first), x + offset * bytes_, to + task * bytes_);
          }
        });
    if (per_unit == 1) return;
    for (int64_t unit = 0; unit < static_cast<int64_t>(units.size()); ++unit) {
      join_(per_unit, to + unit * per_unit * bytes_, result + unit * bytes_);
    }
  }

  // The innermost dimension stays: rows of it are added up. A task is a strip of columns of a block of rows.
  void ReduceColumns(const char* x, char* result) {
    const size_t last = dims_.sizes.size() - 1;
    const int64_t columns = dims_.sizes[last];
    const int64_t rows = last > 0 ? dims_.sizes[last - 1] : 1;
    const size_t outer = last > 0 ? last - 1 : 0;
    const std::vector<int64_t> units = Offsets(dims_, outer, false);
    const std::vector<int64_t> groups = Offsets(dims_, outer, true);
    const int64_t strip = std::min(columns, kReduceBlockElements);
    const int64_t strips = CeilDiv(columns, strip);
    const int64_t block = std::max<int64_t>(16, kReduceBlockElements / strip);
    const int64_t blocks = CeilDiv(rows, block);
    const int64_t per_unit = blocks * static_cast<int64_t>(groups.size());
    const auto unit_count = static_cast<int64_t>(units.size());
    const std::unique_ptr<char[]> partial(
        per_unit > 1 ? new char[static_cast<size_t>(unit_count * per_unit * columns * bytes_)] : nullptr);
    char* to = per_unit > 1 ? partial.get() : result;
    const int64_t task_elements = strip * std::min(rows, block);
    team_.ParallelFor(
        unit_count * per_unit * strips, std::max<int64_t>(1, kReduceBlockElements / task_elements),
        [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            const int64_t first_column = task % strips * strip;
            const int64_t part = task / strips % per_unit;
            const int64_t unit = task / strips / per_unit;
            const int64_t first_row = part % blocks * block;
            const int64_t offset = units[static_cast<size_t>(unit)] +
                                   groups[static_cast<size_t>(part / blocks)] + first_row * columns +
                                   first_column;
            const int64_t n = std::min(strip, columns - first_column);
            char* totals = to + (task / strips * columns + first_column) * bytes_;
            FillIdentity(n, totals);
            reduce_rows_(std::min(block, rows - first_row), columns, n, x + offset * bytes_, totals);
          }
        });
    if (per_unit == 1) return;
    for (int64_t unit = 0; unit < unit_count; ++unit) {
      char* totals = result + unit * columns * bytes_;
      FillIdentity(columns, totals);
      join_rows_(per_unit, columns, columns, to + unit * per_unit * columns * bytes_, totals);
    }
  }

  void FillIdentity(int64_t n, char* totals) const {
    if (n == 0) return;
    reduce_(0, nullptr, totals);
    // The filled part doubles.
    for (int64_t filled = 1; filled < n; filled *= 2) {
      std::memcpy(totals + filled * bytes_, totals,
                  static_cast<size_t>(std::min(filled, n - filled) * bytes_));
    }
  }

  WorkerTeam& team_;
  ReduceLoop reduce_;
  ReduceRowsLoop reduce_rows_;
  ReduceLoop join_;
  ReduceRowsLoop join_rows_;
  int64_t bytes_;
  MergedDims dims_;
};

}  // namespace

void ReduceTensor(WorkerTeam& team, ReduceOp op, LoopType type, int64_t element_bytes, const Shape& shape,
                  const ReducedDims& reduced, const void* x, void* result) {
  char* to = static_cast<char*>(result);
  if (shape.NumElements() == 0) {  // every kept element is the op of nothing
    int64_t kept = 1;
    for (int i = 0; i < shape.rank(); ++i) kept *= reduced[static_cast<size_t>(i)] ? 1 : shape[i];
    const ReduceLoop reduce = HostLoops().reduce[static_cast<size_t>(op)][static_cast<size_t>(type)];
    for (int64_t i = 0; i < kept; ++i) reduce(0, nullptr, to + i * element_bytes);
    return;
  }
  Reduction(team, op, type, element_bytes, Merge(shape, reduced)).Run(static_cast<const char*>(x), to);
}

}  // namespace lanescope::exec
