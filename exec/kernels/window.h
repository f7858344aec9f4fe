// SPDX-License-Identifier: Apache-2.0
// Images under the windows of convolution and pooling.
#pragma once

#include "core/graph/ops/window.h"
#include "exec/device/kernel.h"

namespace lanescope::exec {

using ops::WindowDim;

// Images [batch, rows.in, columns.in, channels] under windows.
struct ImageWindows {
  int64_t batch = 0;
  int64_t channels = 0;
  WindowDim rows;
  WindowDim columns;

  int64_t patch_elements() const { return rows.size * columns.size * channels; }
  int64_t positions() const { return batch * rows.out * columns.out; }
  int64_t in_row() const { return columns.in * channels; }
  int64_t out_row() const { return columns.out * channels; }
  // The shape of a result with so many channels.
  Shape OutputShape(int64_t of) const { return {batch, rows.out, columns.out, of}; }
};

// Kernels are for images in the NHWC format alone: throws Unimplemented for another.
void RequireChannelsLast(const Node& node);

}  // namespace lanescope::exec
