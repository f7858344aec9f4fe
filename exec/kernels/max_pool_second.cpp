// SPDX-License-Identifier: Apache-2.0
// The gradient of a maximum's gradient: every window takes the gradient at its first maximum.
#include <algorithm>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/nn.h"

namespace lanescope::exec {
namespace {

// The first cell of the window in which x is its maximum, as an offset in the image; none for a maximum that
// is not there (not a number).
int64_t FirstMaximum(const ImageWindows& windows, int64_t row, int64_t column, const auto* image,
                     auto maximum) {
  const int64_t top = row * windows.rows.stride - windows.rows.before;
  const int64_t left = column * windows.columns.stride - windows.columns.before;
  const int64_t bottom = std::min(windows.rows.in, top + windows.rows.size);
  const int64_t right = std::min(windows.columns.in, left + windows.columns.size);
  for (int64_t r = std::max<int64_t>(0, top); r < bottom; ++r) {
    for (int64_t c = std::max<int64_t>(0, left); c < right; ++c) {
      const int64_t at = (r * windows.columns.in + c) * windows.channels;
      if (image[at] == maximum) return at;
    }
  }
  return -1;
}

}  // namespace

void HostLayers::MaxPoolGradGrad(KernelContext& context, const ImageWindows& windows) {
  const int64_t rows = windows.batch * windows.rows.out;
  const int64_t in_image = windows.rows.in * windows.in_row();
  const int64_t grain = std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, windows.out_row()));
  DispatchReal("MaxPoolGradGrad", context.input(0).dtype, [&]<typename T>(T) {
    context.team().ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin * windows.out_row(); at < end * windows.out_row(); ++at) {
        const int64_t channel = at % windows.channels, column = at / windows.channels % windows.columns.out;
        const int64_t row = at / windows.out_row() % windows.rows.out;
        const int64_t image = at / windows.out_row() / windows.rows.out * in_image + channel;
        const int64_t first = FirstMaximum(windows, row, column, context.input(0).as<T>() + image,
                                           context.input(1).as<T>()[at]);
        context.output().as<T>()[at] = first < 0 ? T(0) : context.input(2).as<T>()[image + first];
      }
    });
  });
}

}  // namespace lanescope::exec
