// SPDX-License-Identifier: Apache-2.0
// The gradient of a convolution by its images.
#include <algorithm>
#include <numeric>
#include <vector>

#include "exec/kernels/convolution.h"
#include "exec/kernels/product.h"
#include "exec/kernels/scratch.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

struct TurnedPanels;
struct PatchGradients;

// The cells phase, phase + stride, ... of one dimension of the images. They are met by the taps first_tap,
// first_tap + tap_step, ... alone, and under those they are a convolution of stride 1 over the output's
// gradient: `window`, whose taps come last to first.
struct StridePhase {
  int64_t phase;
  int64_t first_tap, tap_step;
  WindowDim window;

  int64_t tap(int64_t turned) const { return first_tap + (window.size - 1 - turned) * tap_step; }
};

// Cell i takes from output o by tap r where i + before == o * stride + r * dilation. Phases that no tap meets
// are left out: their gradient is zero.
std::vector<StridePhase> PhasesOf(const WindowDim& dim) {
  const int64_t common = std::gcd(dim.dilation, dim.stride);
  std::vector<StridePhase> phases;
  for (int64_t tap = 0; tap < std::min(dim.size, dim.stride / common); ++tap) {
    StridePhase phase;
    phase.first_tap = tap;
    phase.tap_step = dim.stride / common;
    const int64_t met = (tap * dim.dilation - dim.before) % dim.stride;
    phase.phase = met < 0 ? met + dim.stride : met;
    if (phase.phase >= dim.in) continue;
    WindowDim& window = phase.window;
    window.in = dim.out;
    window.out = (dim.in - phase.phase - 1) / dim.stride + 1;
    window.size = (dim.size - tap - 1) / phase.tap_step + 1;
    window.dilation = dim.dilation / common;
    // The output that the last tap takes the phase's first cell from, counted backwards.
    window.before = window.reach() - 1 - (phase.phase + dim.before - tap * dim.dilation) / dim.stride;
    phases.push_back(phase);
  }
  return phases;
}

// Whether the phases are all cells.
bool CoverAll(const WindowDim& dim, const std::vector<StridePhase>& phases) {
  return static_cast<int64_t>(phases.size()) == std::min(dim.stride, dim.in);
}

template <typename T>
struct InputGradient {
  const ImageWindows& forward;
  int64_t filters;
  const T* filter;
  const T* gradient;
  T* result;
};

template <typename T>
void ConvolvePhase(WorkerTeam& team, const InputGradient<T>& of, const StridePhase& rows,
                   const StridePhase& columns) {
  const ConvLoops<T>& loops = HostLoops().conv<T>();
  const int64_t channels = of.forward.channels;
  ImageWindows geometry;
  geometry.batch = of.forward.batch;
  geometry.channels = of.filters;
  geometry.rows = rows.window;
  geometry.columns = columns.window;
  const int64_t k = geometry.patch_elements();
  T* panels = ThreadScratch<TurnedPanels, T>(PanelElements(k, channels, loops.panel));
  int64_t done = 0;
  for (int64_t r = 0; r < rows.window.size; ++r) {
    for (int64_t c = 0; c < columns.window.size; ++c, done += of.filters) {
      const int64_t tap = rows.tap(r) * of.forward.columns.size + columns.tap(c);
      loops.pack_turned(of.filters, channels, of.filter + tap * channels * of.filters, of.filters,
                        panels + done * loops.panel, k * loops.panel);
    }
  }
  const int64_t row = of.forward.columns.in * channels;
  Convolve<T>(team, geometry, of.gradient, panels, channels,
              {of.result + rows.phase * row + columns.phase * channels, of.forward.rows.in * row,
               of.forward.rows.stride * row, of.forward.columns.stride * channels});
}

// One dense convolution for every phase of the strides.
template <typename T>
void ConvolvePhases(WorkerTeam& team, const InputGradient<T>& of) {
  const std::vector<StridePhase> rows = PhasesOf(of.forward.rows);
  const std::vector<StridePhase> columns = PhasesOf(of.forward.columns);
  if (!CoverAll(of.forward.rows, rows) || !CoverAll(of.forward.columns, columns)) {
    ZeroElements(std::is_same_v<T, float> ? DataType::kFloat : DataType::kDouble, of.result,
                 of.forward.batch * of.forward.rows.in * of.forward.columns.in * of.forward.channels, team);
  }
  for (const StridePhase& row : rows) {
    for (const StridePhase& column : columns) ConvolvePhase(team, of, row, column);
  }
}

// Adds the gradient of one patch, [rows.size][columns.size][channels], to the image's.
template <typename T>
void AddPatch(const ImageWindows& geometry, int64_t row, int64_t column, const T* patch, T* image) {
  const WindowDim& rows = geometry.rows;
  const WindowDim& columns = geometry.columns;
  const int64_t channels = geometry.channels;
  const auto add = HostLoops().pool<T>().add;
  const int64_t left = column * columns.stride - columns.before;
  for (int64_t r = 0; r < rows.size; ++r, patch += columns.size * channels) {
    const int64_t y = row * rows.stride - rows.before + r * rows.dilation;
    if (y < 0 || y >= rows.in) continue;
    T* to = image + y * columns.in * channels;
    if (columns.dilation == 1) {
      const int64_t first = std::max<int64_t>(0, -left);
      const int64_t last = std::min(columns.size, columns.in - left);
      if (first < last)
        add((last - first) * channels, patch + first * channels, to + (left + first) * channels);
      continue;
    }
    for (int64_t c = 0; c < columns.size; ++c) {
      const int64_t x = left + c * columns.dilation;
      if (x >= 0 && x < columns.in) add(channels, patch + c * channels, to + x * channels);
    }
  }
}

// For images of few channels, which would leave most of a panel empty: a product gives the gradients of
// patches, which are added up image by image.
template <typename T>
void AddPatches(WorkerTeam& team, const InputGradient<T>& of) {
  constexpr int64_t kPatchElements = 64 * 1024;
  const ImageWindows& geometry = of.forward;
  const int64_t k = geometry.patch_elements();
  const int64_t positions = geometry.rows.out * geometry.columns.out;
  const int64_t image = geometry.rows.in * geometry.columns.in * geometry.channels;
  const int64_t at_once = std::clamp<int64_t>(kPatchElements / k, 1, std::max<int64_t>(1, positions));
  team.ParallelFor(geometry.batch, 1, [&](int64_t begin, int64_t end) {
    T* patches = ThreadScratch<PatchGradients, T>(at_once * k);
    for (int64_t i = begin; i < end; ++i) {
      std::fill_n(of.result + i * image, image, T(0));
      for (int64_t first = 0; first < positions; first += at_once) {
        team.CheckNotStopped();
        const int64_t count = std::min(at_once, positions - first);
        Multiply<T>(nullptr, count, k, of.filters,
                    {of.gradient + (i * positions + first) * of.filters, of.filters, false},
                    {of.filter, of.filters, true}, patches);
        for (int64_t p = 0; p < count; ++p) {
          AddPatch(geometry, (first + p) / geometry.columns.out, (first + p) % geometry.columns.out,
                   patches + p * k, of.result + i * image);
        }
      }
    }
  });
}

}  // namespace

void ConvolveInputGrad(KernelContext& context, const ConvPlan& plan) {
  const TensorRef& filter = context.input(1);
  const TensorRef& gradient = context.input(2);
  const TensorRef& out = context.output();
  if (out.NumElements() == 0) return;
  if (gradient.NumElements() == 0) {
    return ZeroElements(out.dtype, out.data, out.NumElements(), context.team());
  }
  DispatchReal("Conv2DBackpropInput", gradient.dtype, [&]<typename T>(T) {
    const InputGradient<T> of{plan.windows, plan.filters, filter.as<T>(), gradient.as<T>(), out.as<T>()};
    const bool few_channels = 4 * plan.windows.channels <= HostLoops().conv<T>().panel;
    few_channels ? AddPatches(context.team(), of) : ConvolvePhases(context.team(), of);
  });
}

}  // namespace lanescope::exec
