// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/padding_products.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lanescope::exec {
namespace {

template <typename T>
constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();

template <typename T>
bool AreFinite(const T* values, int64_t count) {
  return std::all_of(values, values + count, [](T value) { return std::isfinite(value); });
}

// Whether the tap of a window lies on a cell of the image.
bool IsInside(const WindowDim& dim, int64_t window, int64_t tap) {
  const int64_t cell = window * dim.stride - dim.before + tap * dim.dilation;
  return cell >= 0 && cell < dim.in;
}

// Whether the tap of some window lies on the cell.
bool IsMet(const WindowDim& dim, int64_t cell, int64_t tap) {
  const int64_t start = cell + dim.before - tap * dim.dilation;
  return start >= 0 && start % dim.stride == 0 && start / dim.stride < dim.out;
}

bool HasPadding(const WindowDim& dim) {
  return dim.before > 0 || (dim.out - 1) * dim.stride - dim.before + dim.reach() > dim.in;
}
bool HasPadding(const ImageWindows& windows) {
  return HasPadding(windows.rows) || HasPadding(windows.columns);
}

// A window all of whose taps are inside; -1: none is.
int64_t WholeWindow(const WindowDim& dim) {
  const int64_t first = (dim.before + dim.stride - 1) / dim.stride;
  return first < dim.out && IsInside(dim, first, dim.size - 1) ? first : -1;
}

// Whether a window lies in the padding with all of its taps.
bool HasEmptyWindow(const WindowDim& dim) {
  const auto is_empty = [&](int64_t window) {
    for (int64_t tap = 0; tap < dim.size; ++tap) {
      if (IsInside(dim, window, tap)) return false;
    }
    return true;
  };
  for (int64_t window = 0; window < dim.out; ++window) {
    if (is_empty(window)) return true;
  }
  return false;
}

// Calls fn(tap) for the taps of a window that lie in the padding.
template <typename Fn>
void ForEachTapOutside(const ImageWindows& windows, int64_t row, int64_t column, const Fn& fn) {
  for (int64_t r = 0; r < windows.rows.size; ++r) {
    for (int64_t c = 0; c < windows.columns.size; ++c) {
      if (!IsInside(windows.rows, row, r) || !IsInside(windows.columns, column, c))
        fn(r * windows.columns.size + c);
    }
  }
}

// The channels of the result whose filters hold a number at one tap that is not finite.
template <typename T>
std::vector<int64_t> ChannelsOf(const T* tap, int64_t depth, int64_t filters) {
  std::vector<int64_t> channels;
  for (int64_t f = 0; f < filters; ++f) {
    bool finite = true;
    for (int64_t d = 0; d < depth; ++d) finite &= std::isfinite(tap[d * filters + f]);
    if (!finite) channels.push_back(f);
  }
  return channels;
}

template <typename T>
std::vector<std::vector<int64_t>> ChannelsOfTaps(const ConvPlan& plan, int64_t depth, const T* filter) {
  std::vector<std::vector<int64_t>> channels;
  for (int64_t tap = 0; tap < plan.windows.rows.size * plan.windows.columns.size; ++tap)
    channels.push_back(ChannelsOf(filter + tap * depth * plan.filters, depth, plan.filters));
  return channels;
}

// A number of a filter that is not finite makes every result under all of its taps so: one of these tells.
template <typename T>
bool HasFiniteFilter(const ConvPlan& plan, const T* results) {
  const int64_t row = WholeWindow(plan.windows.rows), column = WholeWindow(plan.windows.columns);
  return row >= 0 && column >= 0 &&
         AreFinite(results + (row * plan.windows.columns.out + column) * plan.filters, plan.filters);
}

// A number of a gradient that is not finite makes the sums of every tap inside so, at any depth.
template <typename T>
bool HasFiniteGradient(const ConvPlan& plan, int64_t depth, const T* sums) {
  const ImageWindows& windows = plan.windows;
  if (HasEmptyWindow(windows.rows) || HasEmptyWindow(windows.columns)) return false;
  for (int64_t tap = 0; tap < windows.rows.size * windows.columns.size; ++tap) {
    if (!AreFinite(sums + tap * depth * plan.filters, plan.filters)) return false;
  }
  return true;
}

}  // namespace

template <typename T>
void MultiplyPadding(const ConvPlan& plan, int64_t depth, const T* filter, T* results) {
  const ImageWindows& windows = plan.windows;
  if (!HasPadding(windows) || windows.batch == 0 || HasFiniteFilter(plan, results)) return;
  const std::vector<std::vector<int64_t>> channels = ChannelsOfTaps(plan, depth, filter);
  const int64_t positions = windows.rows.out * windows.columns.out;
  for (int64_t position = 0; position < positions; ++position) {
    ForEachTapOutside(windows, position / windows.columns.out, position % windows.columns.out,
                      [&](int64_t tap) {
                        for (int64_t image = 0; image < windows.batch; ++image) {
                          T* result = results + (image * positions + position) * plan.filters;
                          for (const int64_t f : channels[static_cast<size_t>(tap)]) result[f] = kNaN<T>;
                        }
                      });
  }
}

template <typename T>
void MultiplyPaddingOfFilterGrad(const ConvPlan& plan, int64_t depth, const T* gradient, T* sums) {
  const ImageWindows& windows = plan.windows;
  if (!HasPadding(windows) || HasFiniteGradient(plan, depth, sums)) return;
  const int64_t positions = windows.rows.out * windows.columns.out;
  for (int64_t at = 0; at < windows.batch * positions; ++at) {
    const std::vector<int64_t> channels = ChannelsOf(gradient + at * plan.filters, 1, plan.filters);
    if (channels.empty()) continue;
    const int64_t position = at % positions;
    ForEachTapOutside(windows, position / windows.columns.out, position % windows.columns.out,
                      [&](int64_t tap) {
                        for (int64_t d = tap * depth; d < (tap + 1) * depth; ++d) {
                          for (const int64_t f : channels) sums[d * plan.filters + f] = kNaN<T>;
                        }
                      });
  }
}

template <typename T>
void MultiplyPaddingOfInputGrad(const ConvPlan& plan, const T* filter, T* images) {
  const ImageWindows& windows = plan.windows;
  const std::vector<std::vector<int64_t>> channels = ChannelsOfTaps(plan, 1, filter);
  const int64_t cells = windows.rows.in * windows.columns.in;
  for (size_t tap = 0; tap < channels.size(); ++tap) {
    const auto row = static_cast<int64_t>(tap) / windows.columns.size;
    const auto column = static_cast<int64_t>(tap) % windows.columns.size;
    for (int64_t cell = 0; cell < cells && !channels[tap].empty(); ++cell) {
      if (IsMet(windows.rows, cell / windows.columns.in, row) &&
          IsMet(windows.columns, cell % windows.columns.in, column))
        continue;
      for (int64_t image = 0; image < windows.batch; ++image) {
        T* pixel = images + (image * cells + cell) * windows.channels;
        for (const int64_t f : channels[tap]) pixel[f / plan.multiplier] = kNaN<T>;
      }
    }
  }
}

template void MultiplyPadding<float>(const ConvPlan&, int64_t, const float*, float*);
template void MultiplyPadding<double>(const ConvPlan&, int64_t, const double*, double*);
template void MultiplyPaddingOfFilterGrad<float>(const ConvPlan&, int64_t, const float*, float*);
template void MultiplyPaddingOfFilterGrad<double>(const ConvPlan&, int64_t, const double*, double*);
template void MultiplyPaddingOfInputGrad<float>(const ConvPlan&, const float*, float*);
template void MultiplyPaddingOfInputGrad<double>(const ConvPlan&, const double*, double*);

}  // namespace lanescope::exec
