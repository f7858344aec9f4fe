// SPDX-License-Identifier: Apache-2.0
// The gradient of a convolution by its filter: sums over all positions of all images.
#include <algorithm>

#include "exec/kernels/convolution.h"
#include "exec/kernels/element_wise.h"
#include "exec/kernels/padding_products.h"
#include "exec/kernels/scratch.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kMaxParts = 16;
constexpr int64_t kPartsBytes = int64_t{2} << 20;  // of all partial sums together: what a cache holds
constexpr int64_t kFilterTasks = 16;
constexpr int64_t kTaskColumns = 512;  // at most, so that a block's gradients stay in cache
constexpr int64_t kTaskRows = 192;     // at least, since each task packs its gradients itself
constexpr int64_t kRowBorder = 16;

struct PartialSums;
struct PackedGradients;

struct FilterRange {
  int64_t first, last;
};

// How the work is split. Positions are summed up in parts of their own, whose number depends on shapes alone:
// it decides the order of additions. Rows and columns of the filter, [patch elements][filters], do not.
class FilterTasks {
 public:
  FilterTasks(int64_t rows, int64_t columns, int64_t element_bytes, int64_t blocks)
      : rows_(rows), columns_(columns) {
    const int64_t affordable = kPartsBytes / (rows * columns * element_bytes);
    parts = std::clamp<int64_t>(std::min(affordable, blocks), 1, kMaxParts);
    column_groups_ = (columns + kTaskColumns - 1) / kTaskColumns;
    row_groups_ = std::clamp<int64_t>(std::min(kFilterTasks / (parts * column_groups_), rows / kTaskRows), 1,
                                      kFilterTasks);
  }
  int64_t count() const { return parts * column_groups_ * row_groups_; }
  int64_t part(int64_t task) const { return task / (column_groups_ * row_groups_); }
  FilterRange rows(int64_t task) const {
    const int64_t group = task % row_groups_;
    const int64_t last = group + 1 == row_groups_ ? rows_ : RowBorder(group + 1);
    return {RowBorder(group), last};
  }
  FilterRange columns(int64_t task) const {
    const int64_t first = task / row_groups_ % column_groups_ * kTaskColumns;
    return {first, std::min(columns_, first + kTaskColumns)};
  }

  int64_t parts;

 private:
  int64_t RowBorder(int64_t group) const { return rows_ * group / row_groups_ / kRowBorder * kRowBorder; }

  int64_t rows_, columns_;
  int64_t column_groups_, row_groups_;
};

template <typename T>
struct FilterGradient {
  const PatchSource<T>& source;
  int64_t filters;
  const T* gradient;
};

// Adds the positions of a block to rows and columns of the filter's gradient `sums`, or sets them to these.
template <typename T>
void SumBlock(const FilterGradient<T>& of, int64_t index, FilterRange rows, FilterRange columns, bool add,
              T* sums) {
  const ConvLoops<T>& loops = HostLoops().conv<T>();
  const auto block = of.source.block(index);
  const int64_t positions = of.source.num_positions(block);
  const int64_t n = columns.last - columns.first;
  // A line more than a panel takes: else panels would share few sets of the cache.
  const int64_t step = positions * loops.panel + static_cast<int64_t>(64 / sizeof(T));
  T* packed = ThreadScratch<PackedGradients, T>((n + loops.panel - 1) / loops.panel * step);
  loops.pack(positions, n, of.gradient + of.source.first_position(block) * of.filters + columns.first,
             of.filters, packed, step);
  const int64_t length = of.source.run_length();
  for (int64_t first = rows.first; first < rows.last;) {
    const int64_t run = first / length, last = std::min(rows.last, (run + 1) * length);
    const auto runs = of.source.RunsOf(block, run, first - run * length);
    HostLoops().product<T>().filter_grad(last - first, runs.count, runs.from, runs.position, n, packed, step,
                                         add, sums + first * of.filters + columns.first, of.filters);
    first = last;
  }
}

template <typename T>
void SumFilterGradient(WorkerTeam& team, const ImageWindows& geometry, const T* images, const T* gradient,
                       int64_t filters, T* result) {
  const PatchSource<T> source(geometry, images);
  const FilterGradient<T> of{source, filters, gradient};
  const int64_t blocks = source.num_blocks(), size = geometry.patch_elements() * filters;
  const FilterTasks tasks(geometry.patch_elements(), filters, sizeof(T), blocks);
  T* others = ThreadScratch<PartialSums, T>((tasks.parts - 1) * size);  // the first part is the result's
  team.ParallelFor(tasks.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t part = tasks.part(task), first = blocks * part / tasks.parts;
      T* sums = part == 0 ? result : others + (part - 1) * size;
      for (int64_t index = first; index < blocks * (part + 1) / tasks.parts; ++index) {
        team.CheckNotStopped();
        SumBlock(of, index, tasks.rows(task), tasks.columns(task), index > first, sums);
      }
    }
  });
  if (tasks.parts == 1) return;
  team.ParallelFor(size, kElementGrain, [&](int64_t begin, int64_t end) {
    for (int64_t part = 1; part < tasks.parts; ++part)
      HostLoops().pool<T>().add(end - begin, others + (part - 1) * size + begin, result + begin);
  });
}

}  // namespace

void ConvolveFilterGrad(KernelContext& context, const ConvPlan& plan) {
  const TensorRef& images = context.input(0);
  const TensorRef& gradient = context.input(2);
  const TensorRef& out = context.output();
  if (out.NumElements() == 0) return;
  if (gradient.NumElements() == 0) {
    return ZeroElements(out.dtype, out.data, out.NumElements(), context.team());
  }
  DispatchReal("Conv2DBackpropFilter", images.dtype, [&]<typename T>(T) {
    SumFilterGradient<T>(context.team(), plan.windows, images.as<T>(), gradient.as<T>(), plan.filters,
                         out.as<T>());
    MultiplyPaddingOfFilterGrad<T>(plan, plan.windows.channels, gradient.as<T>(), out.as<T>());
  });
}

}  // namespace lanescope::exec
