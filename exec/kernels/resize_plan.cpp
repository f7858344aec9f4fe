// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/resize_plan.h"

namespace lanescope::exec {

ResizedAxis ResizeOp::AxisOf(int64_t of_image, int64_t of_resized) const {
  const bool corners = rule_.align_corners() && of_resized > 1;
  const float scale = corners ? static_cast<float>(of_image - 1) / static_cast<float>(of_resized - 1)
                              : static_cast<float>(of_image) / static_cast<float>(of_resized);
  return {of_image, of_resized, scale, rule_.align_corners(), rule_.half_pixel_centers(), bilinear_};
}

ResizePlan ResizeOp::Plan(KernelContext& context) const {
  const Shape& given = context.input(0).shape;
  const Shape result = gradient_ && bilinear_ ? rule_.ImagesOf(given, context.input(1).shape)
                                              : rule_.ResultOf(given, NumbersOf(context.input(1)));
  ShapeOutput(context, 0, result);
  const Shape& image = gradient_ ? result : given;
  const Shape& resized = gradient_ ? given : result;
  ResizePlan plan{
      image[0], image[3], image[1], image[2], AxisOf(image[1], resized[1]), AxisOf(image[2], resized[2])};
  for (int64_t i = 0; i < resized[1]; ++i) plan.rows.push_back(plan.down.At(i));
  for (int64_t i = 0; i < resized[2]; ++i) plan.columns.push_back(plan.across.At(i));
  return plan;
}

}  // namespace lanescope::exec
