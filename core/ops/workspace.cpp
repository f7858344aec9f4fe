#include "core/ops/workspace.h"

#include <algorithm>

#include "core/ops/common.h"
#include "core/ops/window.h"

namespace lanescope::ops {
namespace {

// The filter's and the output's shape, wherever the convolution or its gradient has them.
struct Convolution {
  const TensorInfo& filter;
  const TensorInfo& convolved;
};

Convolution ConvolutionOf(const Node& node, std::span<const TensorInfo> inputs,
                          std::span<const TensorInfo> outputs) {
  if (node.op == "Conv2DBackpropInput") return {inputs[1], inputs[2]};
  if (node.op == "Conv2DBackpropFilter") return {outputs[0], inputs[2]};
  return {inputs[1], outputs[0]};
}

}  // namespace

int64_t Conv2DWorkspace(const Node& node, std::span<const TensorInfo> inputs,
                        std::span<const TensorInfo> outputs) {
  const Convolution convolution = ConvolutionOf(node, inputs, outputs);
  const Shape& filter = convolution.filter.shape;
  const Shape& convolved = convolution.convolved.shape;
  if (!filter.HasBound() || filter.rank() != 4 || !convolved.HasBound() || convolved.rank() != 4) return 0;
  const ImageAxes axes = AxesOf(node);
  const auto element = static_cast<int64_t>(ElementSize(convolution.convolved.dtype));
  const int64_t patch = SaturatingMul(SubShape(filter, 0, 3).NumElements(), element);
  const int64_t pixels =
      Shape{convolved[axes.batch], convolved[axes.height], convolved[axes.width]}.NumElements();
  return std::min(SaturatingMul(pixels, patch), std::max(patch, kIm2colTileBytes));
}

int64_t MaxPoolGradWorkspace(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo>) {
  return SaturatingMul(CountOf(inputs[1]), sizeof(int64_t));
}

int64_t SegmentWorkspace(const Node&, std::span<const TensorInfo> inputs,
                         std::span<const TensorInfo> outputs) {
  const Shape& result = outputs[0].shape;
  const int64_t segments =
      result.known_rank() && result.rank() > 0 && HasBound(result[0]) ? BoundOf(result[0]) : 0;
  return SaturatingMul(segments + 1 + CountOf(inputs[1]), sizeof(int64_t));
}

}  // namespace lanescope::ops
