// SPDX-License-Identifier: Apache-2.0
// Pooling of volumes and its gradients on host memory.
#include <algorithm>
#include <limits>

#include "exec/kernels/nn.h"
#include "exec/kernels/volume_plan.h"

namespace lanescope::exec {
namespace {

// Cells [first, last) of one dimension under window `out`.
struct CellRange {
  int64_t first, last;
};
CellRange CellsUnder(const WindowDim& dim, int64_t out) {
  const int64_t start = out * dim.stride - dim.before;
  return {std::max<int64_t>(0, start), std::min(dim.in, start + dim.size)};
}

// Calls visit(cell) for the cells of the volume under one window, in order; returns how many there are.
template <typename Visit>
int64_t ForEachCell(const VolumePlan& plan, int64_t window, const Visit& visit) {
  const auto& [depth, height, width] = plan.dims;
  const CellRange planes = CellsUnder(depth, window / width.out / height.out);
  const CellRange rows = CellsUnder(height, window / width.out % height.out);
  const CellRange columns = CellsUnder(width, window % width.out);
  int64_t count = 0;
  for (int64_t d = planes.first; d < planes.last; ++d) {
    for (int64_t h = rows.first; h < rows.last; ++h) {
      for (int64_t w = columns.first; w < columns.last; ++w, ++count) {
        visit((d * height.in + h) * width.in + w);
      }
    }
  }
  return count;
}

// Calls run(volume, window) for all windows of all volumes, split over the team.
template <typename Run>
void ForEachWindow(WorkerTeam& team, const VolumePlan& plan, const Run& run) {
  team.ParallelFor(plan.batch * plan.out_cells(), std::max<int64_t>(1, plan.dims[2].out),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) run(i / plan.out_cells(), i % plan.out_cells());
                   });
}

void MaxPoolVolumes(KernelContext& context, const VolumePlan& plan) {
  if (context.output().NumElements() == 0) return;
  DispatchReal("MaxPool3D", context.input(0).dtype, [&]<typename T>(T) {
    const int64_t channels = plan.channels;
    ForEachWindow(context.team(), plan, [&](int64_t volume, int64_t window) {
      const T* from = context.input(0).as<const T>() + volume * plan.in_cells() * channels;
      T* to = context.output().as<T>() + (volume * plan.out_cells() + window) * channels;
      std::fill_n(to, channels, std::numeric_limits<T>::lowest());
      ForEachCell(plan, window, [&](int64_t cell) {
        const T* values = from + cell * channels;
        for (int64_t c = 0; c < channels; ++c) to[c] = std::max(to[c], values[c]);
      });
    });
  });
}

void AvgPoolVolumes(KernelContext& context, const VolumePlan& plan) {
  if (context.output().NumElements() == 0) return;
  DispatchReal("AvgPool3D", context.input(0).dtype, [&]<typename T>(T) {
    const int64_t channels = plan.channels;
    ForEachWindow(context.team(), plan, [&](int64_t volume, int64_t window) {
      const T* from = context.input(0).as<const T>() + volume * plan.in_cells() * channels;
      T* to = context.output().as<T>() + (volume * plan.out_cells() + window) * channels;
      std::fill_n(to, channels, T{0});
      const int64_t cells = ForEachCell(plan, window, [&](int64_t cell) {
        const T* values = from + cell * channels;
        for (int64_t c = 0; c < channels; ++c) to[c] += values[c];
      });
      for (int64_t c = 0; c < channels; ++c) to[c] /= static_cast<T>(cells);
    });
  });
}

// Calls add(volume, window) for the windows of each volume in order; a volume is the work of one worker.
template <typename T, typename Add>
void SpreadWindows(KernelContext& context, const VolumePlan& plan, const Add& add) {
  const int64_t size = plan.in_cells() * plan.channels;
  context.team().ParallelFor(plan.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t volume = begin; volume < end; ++volume) {
      std::fill_n(context.output().as<T>() + volume * size, size, T{0});
      for (int64_t window = 0; window < plan.out_cells(); ++window) add(volume, window);
    }
  });
}

// Every cell that holds the maximum takes the whole gradient, as in TensorFlow.
void MaxPoolVolumesGrad(KernelContext& context, const VolumePlan& plan) {
  if (context.output().NumElements() == 0) return;
  DispatchReal("MaxPool3DGrad", context.output().dtype, [&]<typename T>(T) {
    const int64_t channels = plan.channels;
    SpreadWindows<T>(context, plan, [&](int64_t volume, int64_t window) {
      const int64_t first = volume * plan.in_cells();
      const int64_t result = (volume * plan.out_cells() + window) * channels;
      const T* largest = context.input(1).as<const T>() + result;
      const T* grads = context.input(2).as<const T>() + result;
      ForEachCell(plan, window, [&](int64_t cell) {
        const T* values = context.input(0).as<const T>() + (first + cell) * channels;
        T* to = context.output().as<T>() + (first + cell) * channels;
        for (int64_t c = 0; c < channels; ++c) to[c] += values[c] == largest[c] ? grads[c] : T{0};
      });
    });
  });
}

// Every window takes the gradient at its first maximum.
void MaxPoolVolumesSecond(KernelContext& context, const VolumePlan& plan) {
  if (context.output().NumElements() == 0) return;
  DispatchReal("MaxPool3DGradGrad", context.output().dtype, [&]<typename T>(T) {
    const int64_t channels = plan.channels;
    ForEachWindow(context.team(), plan, [&](int64_t volume, int64_t window) {
      const int64_t first = volume * plan.in_cells() * channels;
      const int64_t result = (volume * plan.out_cells() + window) * channels;
      const T* values = context.input(0).as<const T>() + first;
      const T* largest = context.input(1).as<const T>() + result;
      const T* grads = context.input(2).as<const T>() + first;
      T* to = context.output().as<T>() + result;
      for (int64_t c = 0; c < channels; ++c) {
        bool found = false;
        to[c] = T{0};
        ForEachCell(plan, window, [&](int64_t cell) {
          if (found || values[cell * channels + c] != largest[c]) return;
          found = true;
          to[c] = grads[cell * channels + c];
        });
      }
    });
  });
}

void AvgPoolVolumesGrad(KernelContext& context, const VolumePlan& plan) {
  if (context.output().NumElements() == 0) return;
  DispatchReal("AvgPool3DGrad", context.output().dtype, [&]<typename T>(T) {
    const int64_t channels = plan.channels;
    SpreadWindows<T>(context, plan, [&](int64_t volume, int64_t window) {
      const int64_t cells = ForEachCell(plan, window, [](int64_t) {});
      const T* grads = context.input(1).as<const T>() + (volume * plan.out_cells() + window) * channels;
      ForEachCell(plan, window, [&](int64_t cell) {
        T* to = context.output().as<T>() + (volume * plan.in_cells() + cell) * channels;
        for (int64_t c = 0; c < channels; ++c) to[c] += grads[c] / static_cast<T>(cells);
      });
    });
  });
}

}  // namespace

void RegisterVolumePoolingKernels(KernelRegistry& registry) {
  RegisterOp<VolumePoolOp, MaxPoolVolumes>(registry, "MaxPool3D");
  RegisterOp<VolumePoolOp, AvgPoolVolumes>(registry, "AvgPool3D");
  RegisterOp<VolumeMaxPoolGradOp, MaxPoolVolumesGrad>(registry, "MaxPool3DGrad");
  RegisterOp<VolumeMaxPoolSecondOp, MaxPoolVolumesSecond>(registry, "MaxPool3DGradGrad");
  RegisterOp<VolumeAvgPoolGradOp, AvgPoolVolumesGrad>(registry, "AvgPool3DGrad");
}

}  // namespace lanescope::exec
