#include "exec/kernels/resize_plan.h"

#include <algorithm>
#include <cmath>

namespace lanescope::exec {

// In single precision, as TensorFlow reckons: where a pixel falls decides which neighbours it has.
std::vector<ResizedLine> ResizeOp::Lines(int64_t of_image, int64_t of_resized) const {
  const bool corners = rule_.align_corners() && of_resized > 1;
  const float scale = corners ? static_cast<float>(of_image - 1) / static_cast<float>(of_resized - 1)
                              : static_cast<float>(of_image) / static_cast<float>(of_resized);
  std::vector<ResizedLine> lines(static_cast<size_t>(of_resized));
  for (int64_t i = 0; i < of_resized; ++i) {
    const auto number = static_cast<float>(i);
    ResizedLine& line = lines[static_cast<size_t>(i)];
    if (bilinear_) {
      const float at = rule_.half_pixel_centers() ? (number + 0.5f) * scale - 0.5f : number * scale;
      const float below = std::floor(at);
      line = {std::max<int64_t>(static_cast<int64_t>(below), 0),
              std::min(static_cast<int64_t>(std::ceil(at)), of_image - 1), at - below};
    } else {
      const float at = rule_.half_pixel_centers() ? (number + 0.5f) * scale : number * scale;
      const float near = rule_.align_corners() ? std::round(at) : std::floor(at);
      const int64_t pixel = std::clamp<int64_t>(static_cast<int64_t>(near), 0, of_image - 1);
      line = {pixel, pixel, 0};
    }
  }
  return lines;
}

ResizePlan ResizeOp::Plan(KernelContext& context) const {
  const Shape& given = context.input(0).shape;
  const Shape result = gradient_ && bilinear_ ? rule_.ImagesOf(given, context.input(1).shape)
                                              : rule_.ResultOf(given, NumbersOf(context.input(1)));
  ShapeOutput(context, 0, result);
  const Shape& image = gradient_ ? result : given;
  const Shape& resized = gradient_ ? given : result;
  return {image[0], image[3], image[1], image[2], Lines(image[1], resized[1]), Lines(image[2], resized[2])};
}

}  // namespace lanescope::exec
