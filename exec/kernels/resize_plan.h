// SPDX-License-Identifier: Apache-2.0
// Images of another size: which pixels of the image each pixel of the resized one is made of.
#pragma once

#include <vector>

#include "core/graph/ops/images.h"
#include "exec/kernels/op_kernel.h"
#include "exec/kernels/resized_axis.h"

namespace lanescope::exec {

// `rows` and `columns`: of the larger structure, the resized image, which for a gradient is input 0.
struct ResizePlan {
  int64_t batch = 0, channels = 0;
  int64_t height = 0, width = 0;  // of the image
  ResizedAxis down, across;       // what rows and columns follow from
  std::vector<ResizedLine> rows = {}, columns = {};

  int64_t image_elements() const { return height * width * channels; }
  int64_t resized_elements() const { return static_cast<int64_t>(rows.size() * columns.size()) * channels; }
};

class ResizeOp {
 public:
  explicit ResizeOp(const Node& node)
      : rule_(node), bilinear_(node.op.starts_with("ResizeBilinear")), gradient_(node.op.ends_with("Grad")) {}
  ResizePlan Plan(KernelContext& context) const;

 private:
  ResizedAxis AxisOf(int64_t of_image, int64_t of_resized) const;

  ops::ResizeRule rule_;
  bool bilinear_, gradient_;
};

}  // namespace lanescope::exec
