// SPDX-License-Identifier: Apache-2.0
// Convolution of volumes and its gradients on host memory: products of the filter with patches, which are
// laid out row by row for some rows of results at a time.
#include <algorithm>

#include "exec/kernels/linear.h"
#include "exec/kernels/product.h"
#include "exec/kernels/scratch.h"
#include "exec/kernels/volume_plan.h"

namespace lanescope::exec {
namespace {

// Elements of patches that are laid out at a time: they stay in a cache.
constexpr int64_t kLaidOut = int64_t{1} << 17;

struct VolumePatches;
struct VolumeSums;

// Rows [first, first + rows) of results of one plane of one volume.
struct VolumeBlock {
  int64_t volume, plane, first, rows;
};

class VolumeBlocks {
 public:
  VolumeBlocks(const VolumePlan& plan, int64_t elements_of_position) : plan_(plan) {
    const int64_t row = std::max<int64_t>(1, plan.dims[2].out * elements_of_position);
    rows_ = std::clamp<int64_t>(kLaidOut / row, 1, std::max<int64_t>(1, plan.dims[1].out));
    per_plane_ = (plan.dims[1].out + rows_ - 1) / rows_;
  }
  int64_t count() const { return plan_.batch * plan_.dims[0].out * per_plane_; }
  int64_t per_plane() const { return per_plane_; }
  VolumeBlock operator[](int64_t i) const {
    const int64_t plane = i / per_plane_, first = i % per_plane_ * rows_;
    return {plane / plan_.dims[0].out, plane % plan_.dims[0].out, first,
            std::min(rows_, plan_.dims[1].out - first)};
  }
  int64_t positions() const { return rows_ * plan_.dims[2].out; }

 private:
  const VolumePlan& plan_;
  int64_t rows_, per_plane_;
};

// Where tap `tap` of window `out` lies; -1: in the padding.
int64_t CellOf(const WindowDim& dim, int64_t out, int64_t tap) {
  const int64_t cell = out * dim.stride - dim.before + tap * dim.dilation;
  return cell < 0 || cell >= dim.in ? -1 : cell;
}

template <typename T>
void LayOutPatch(const VolumePlan& plan, const T* volume, int64_t plane, int64_t row, int64_t column,
                 T* patch) {
  const auto& [depth, height, width] = plan.dims;
  const int64_t channels = plan.channels;
  for (int64_t kd = 0; kd < depth.size; ++kd) {
    const int64_t d = CellOf(depth, plane, kd);
    for (int64_t kh = 0; kh < height.size; ++kh) {
      const int64_t h = CellOf(height, row, kh);
      for (int64_t kw = 0; kw < width.size; ++kw, patch += channels) {
        const int64_t w = CellOf(width, column, kw);
        if (d < 0 || h < 0 || w < 0) {
          std::fill_n(patch, channels, T{0});
        } else {
          std::copy_n(volume + ((d * height.in + h) * width.in + w) * channels, channels, patch);
        }
      }
    }
  }
}

// The patches of rows [begin, end) of a block, one after the other.
template <typename T>
void LayOut(const VolumePlan& plan, const T* volumes, const VolumeBlock& block, int64_t begin, int64_t end,
            T* patches) {
  const T* volume = volumes + block.volume * plan.in_cells() * plan.channels;
  const int64_t columns = plan.dims[2].out, size = plan.patch();
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      LayOutPatch(plan, volume, block.plane, block.first + row, column,
                  patches + (row * columns + column) * size);
    }
  }
}

// The first result of a block.
int64_t FirstOf(const VolumePlan& plan, const VolumeBlock& block) {
  const auto& dims = plan.dims;
  return (((block.volume * dims[0].out + block.plane) * dims[1].out + block.first) * dims[2].out) *
         plan.filters;
}

void ConvolveVolumes(KernelContext& context, const VolumePlan& plan) {
  if (context.output().NumElements() == 0) return;
  DispatchReal("Conv3D", context.input(0).dtype, [&]<typename T>(T) {
    const VolumeBlocks blocks(plan, plan.patch());
    context.team().ParallelFor(blocks.count(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        context.team().CheckNotStopped();
        const VolumeBlock block = blocks[i];
        T* patches = ThreadScratch<VolumePatches, T>(blocks.positions() * plan.patch());
        LayOut<T>(plan, context.input(0).as<const T>(), block, 0, block.rows, patches);
        Multiply<T>(nullptr, block.rows * plan.dims[2].out, plan.filters, plan.patch(),
                    {patches, plan.patch(), false}, {context.input(1).as<const T>(), plan.filters, false},
                    context.output().as<T>() + FirstOf(plan, block));
      }
    });
  });
}

// Adds `grads` of one plane of results, times the filter's plane `tap`, to a plane of the volume.
template <typename T>
void AddPlane(const VolumePlan& plan, const T* grads, const T* filter, const VolumeBlocks& blocks, T* plane) {
  const auto& [depth, height, width] = plan.dims;
  const int64_t taps = height.size * width.size * plan.channels;
  for (int64_t i = 0; i < blocks.per_plane(); ++i) {
    const VolumeBlock block = blocks[i];
    T* parts = ThreadScratch<VolumePatches, T>(blocks.positions() * taps);
    Multiply<T>(nullptr, block.rows * width.out, taps, plan.filters,
                {grads + block.first * width.out * plan.filters, plan.filters, false},
                {filter, plan.filters, true}, parts);
    for (int64_t row = block.first; row < block.first + block.rows; ++row) {
      for (int64_t column = 0; column < width.out; ++column) {
        for (int64_t kh = 0; kh < height.size; ++kh) {
          const int64_t h = CellOf(height, row, kh);
          for (int64_t kw = 0; kw < width.size; ++kw, parts += plan.channels) {
            const int64_t w = CellOf(width, column, kw);
            if (h < 0 || w < 0) continue;
            T* cell = plane + (h * width.in + w) * plan.channels;
            for (int64_t c = 0; c < plan.channels; ++c) cell[c] += parts[c];
          }
        }
      }
    }
  }
}

// A plane of the volume is the work of one worker.
void ConvolveVolumesInputGrad(KernelContext& context, const VolumePlan& plan) {
  if (context.output().NumElements() == 0) return;
  const auto& [depth, height, width] = plan.dims;
  const int64_t taps = height.size * width.size * plan.channels;
  DispatchReal("Conv3DBackpropInputV2", context.output().dtype, [&]<typename T>(T) {
    const T* grads = context.input(2).as<const T>();
    const VolumeBlocks blocks(plan, taps);
    context.team().ParallelFor(plan.batch * depth.in, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* plane = context.output().as<T>() + i * height.in * width.in * plan.channels;
        std::fill_n(plane, height.in * width.in * plan.channels, T{0});
        for (int64_t kd = 0; kd < depth.size; ++kd) {
          context.team().CheckNotStopped();
          const int64_t behind = i % depth.in + depth.before - kd * depth.dilation;
          if (behind < 0 || behind % depth.stride != 0 || behind / depth.stride >= depth.out) continue;
          const int64_t from = i / depth.in * depth.out + behind / depth.stride;
          AddPlane<T>(plan, grads + from * height.out * width.out * plan.filters,
                      context.input(1).as<const T>() + kd * taps * plan.filters, blocks, plane);
        }
      }
    });
  });
}

// Blocks of results one after the other, so that sums do not depend on who works.
void ConvolveVolumesFilterGrad(KernelContext& context, const VolumePlan& plan) {
  const int64_t size = context.output().NumElements();
  if (size == 0) return;
  DispatchReal("Conv3DBackpropFilterV2", context.output().dtype, [&]<typename T>(T) {
    T* filter = context.output().as<T>();
    std::fill_n(filter, size, T{0});
    const VolumeBlocks blocks(plan, plan.patch());
    T* sums = ThreadScratch<VolumeSums, T>(size);
    T* patches = ThreadScratch<VolumePatches, T>(blocks.positions() * plan.patch());
    WorkerTeam& team = context.team();
    for (int64_t i = 0; i < blocks.count(); ++i) {
      const VolumeBlock block = blocks[i];
      team.ParallelFor(block.rows, 1, [&](int64_t begin, int64_t end) {
        LayOut<T>(plan, context.input(0).as<const T>(), block, begin, end, patches);
      });
      Multiply<T>(&team, plan.patch(), plan.filters, block.rows * plan.dims[2].out,
                  {patches, plan.patch(), true},
                  {context.input(2).as<const T>() + FirstOf(plan, block), plan.filters, false}, sums);
      for (int64_t k = 0; k < size; ++k) filter[k] += sums[k];
    }
  });
}

}  // namespace

void RegisterVolumeConvolutionKernels(KernelRegistry& registry) {
  RegisterOp<VolumeConvOp, ConvolveVolumes>(registry, "Conv3D");
  RegisterOp<VolumeConvInputGradOp, ConvolveVolumesInputGrad>(registry, "Conv3DBackpropInputV2");
  RegisterOp<VolumeConvFilterGradOp, ConvolveVolumesFilterGrad>(registry, "Conv3DBackpropFilterV2");
}

}  // namespace lanescope::exec
