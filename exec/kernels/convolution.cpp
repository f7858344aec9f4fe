// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/convolution.h"

#include <algorithm>

#include "exec/kernels/linear.h"
#include "exec/kernels/padding_products.h"
#include "exec/kernels/scratch.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kConvolutionTasks = 16;

struct ForwardPanels;

void ConvolveForward(KernelContext& context, const ConvPlan& plan) {
  if (context.output().NumElements() == 0) return;
  const TensorRef& images = context.input(0);
  DispatchReal("Conv2D", images.dtype, [&]<typename T>(T) {
    const ConvLoops<T>& loops = HostLoops().conv<T>();
    const int64_t k = plan.windows.patch_elements();
    T* panels = ThreadScratch<ForwardPanels, T>(PanelElements(k, plan.filters, loops.panel));
    loops.pack(k, plan.filters, context.input(1).as<T>(), plan.filters, panels, k * loops.panel);
    const int64_t row = plan.windows.columns.out * plan.filters;
    Convolve<T>(context.team(), plan.windows, images.as<T>(), panels, plan.filters,
                {context.output().as<T>(), plan.windows.rows.out * row, row, plan.filters});
    MultiplyPadding<T>(plan, plan.windows.channels, context.input(1).as<T>(), context.output().as<T>());
  });
}

// `columns` of a product, in whole panels, as `count` tasks of almost equal size: enough for the workers of
// any device, none of fewer than three panels.
struct ColumnGroups {
  ColumnGroups(int64_t columns, int64_t panel, int64_t other_tasks);
  int64_t first(int64_t group) const;  // column; first(count) is `columns`
  int64_t count;

 private:
  int64_t columns_, panel_, panels_;
};

ColumnGroups::ColumnGroups(int64_t columns, int64_t panel, int64_t other_tasks)
    : columns_(columns), panel_(panel), panels_((columns + panel - 1) / panel) {
  const int64_t wanted = (kConvolutionTasks + other_tasks - 1) / std::max<int64_t>(1, other_tasks);
  count = std::clamp<int64_t>(std::min(wanted, panels_ / 3), 1, kConvolutionTasks);
}

int64_t ColumnGroups::first(int64_t group) const {
  return std::min(columns_, panels_ * group / count * panel_);
}

}  // namespace

template <typename T>
void Convolve(WorkerTeam& team, const ImageWindows& geometry, const T* images, const T* panels, int64_t n,
              const PositionedOutput<T>& out) {
  const ConvLoops<T>& loops = HostLoops().conv<T>();
  const PatchSource<T> source(geometry, images);
  const int64_t k = geometry.patch_elements();
  const ColumnGroups groups(n, loops.panel, source.num_blocks());
  team.ParallelFor(source.num_blocks() * groups.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const auto positions = source.Groups(source.block(task / groups.count), out);
      const int64_t last = groups.first(task % groups.count + 1);
      for (int64_t first = groups.first(task % groups.count); first < last; first += loops.panel) {
        for (const auto& group : positions) {
          loops.forward(group.taps, group.count, group.patches,
                        panels + first * k + group.element * loops.panel, std::min(loops.panel, n - first),
                        group.out, first);
        }
      }
    }
  });
}

template void Convolve<float>(WorkerTeam&, const ImageWindows&, const float*, const float*, int64_t,
                              const PositionedOutput<float>&);
template void Convolve<double>(WorkerTeam&, const ImageWindows&, const double*, const double*, int64_t,
                               const PositionedOutput<double>&);

void RegisterConvolutionKernels(KernelRegistry& registry) {
  RegisterConvolutionOps<ConvolveForward, ConvolveInputGrad, ConvolveFilterGrad>(registry, "Conv2D");
}

}  // namespace lanescope::exec
