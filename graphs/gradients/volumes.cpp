// SPDX-License-Identifier: Apache-2.0
// Gradients of volumes, of images that are resized or rearranged, and of reversed sequences.
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

// Attributes of a convolution of volumes, which its gradients share.
class VolumeAttrs {
 public:
  explicit VolumeAttrs(const Node& node)
      : strides_(node.IntListAttr("strides")),
        padding_(node.StringAttr("padding")),
        format_(node.StringAttr("data_format", "NDHWC")) {
    if (node.FindAttr("dilations") != nullptr) dilations_ = node.IntListAttr("dilations");
  }

  Endpoint Forward(Scope& s, Endpoint input, Endpoint filter) const {
    return op::Conv3D(s, input, filter, strides_, padding_,
                      {.data_format = format_, .dilations = dilations_});
  }
  Endpoint OfInput(Scope& s, Endpoint sizes, Endpoint filter, Endpoint grad) const {
    return op::Conv3DBackpropInputV2(s, sizes, filter, grad, strides_, padding_,
                                     {.data_format = format_, .dilations = dilations_});
  }
  Endpoint OfFilter(Scope& s, Endpoint input, Endpoint sizes, Endpoint grad) const {
    return op::Conv3DBackpropFilterV2(s, input, sizes, grad, strides_, padding_,
                                      {.data_format = format_, .dilations = dilations_});
  }

 private:
  std::vector<int64_t> strides_;
  std::string padding_, format_;
  std::vector<int64_t> dilations_ = {1, 1, 1, 1, 1};
};

std::vector<Gradient> Conv3DGradient(const OpGradient& g) {
  const VolumeAttrs conv(g.node());
  const auto shapes = op::ShapeN(g.s, {g.in(0), g.in(1)});
  const Endpoint of_input = conv.OfInput(g.s, shapes[0], g.in(1), g.grad());
  return {of_input, conv.OfFilter(g.s, g.in(0), shapes[1], g.grad())};
}

std::vector<Gradient> Conv3DBackpropInputGradient(const OpGradient& g) {
  const VolumeAttrs conv(g.node());
  const Endpoint of_filter = conv.OfFilter(g.s, g.grad(), ShapeTensor(g.s, g.in(1)), g.in(2));
  return {Gradient(), of_filter, conv.Forward(g.s, g.grad(), g.in(1))};
}

std::vector<Gradient> Conv3DBackpropFilterGradient(const OpGradient& g) {
  const VolumeAttrs conv(g.node());
  const Endpoint of_input = conv.OfInput(g.s, ShapeTensor(g.s, g.in(0)), g.grad(), g.in(2));
  return {of_input, Gradient(), conv.Forward(g.s, g.in(0), g.grad())};
}

std::string VolumeFormatOf(const Node& node) { return node.StringAttr("data_format", "NDHWC"); }

std::vector<Gradient> MaxPool3DGradient(const OpGradient& g) {
  const Node& node = g.node();
  return {op::MaxPool3DGrad(g.s, g.in(0), g.out(), g.grad(), node.IntListAttr("ksize"),
                            node.IntListAttr("strides"), node.StringAttr("padding"),
                            {.data_format = VolumeFormatOf(node)})};
}

std::vector<Gradient> AvgPool3DGradient(const OpGradient& g) {
  const Node& node = g.node();
  return {op::AvgPool3DGrad(g.s, ShapeTensor(g.s, g.in(0)), g.grad(), node.IntListAttr("ksize"),
                            node.IntListAttr("strides"), node.StringAttr("padding"),
                            {.data_format = VolumeFormatOf(node)})};
}

std::vector<Gradient> AvgPool3DGradGradient(const OpGradient& g) {
  const Node& node = g.node();
  return {Gradient(), op::AvgPool3D(g.s, g.grad(), node.IntListAttr("ksize"), node.IntListAttr("strides"),
                                    node.StringAttr("padding"), {.data_format = VolumeFormatOf(node)})};
}

std::vector<Gradient> ResizeBilinearGradient(const OpGradient& g) {
  return {op::ResizeBilinearGrad(g.s, g.grad(), g.in(0),
                                 {.align_corners = g.node().BoolAttr("align_corners", false),
                                  .half_pixel_centers = g.node().BoolAttr("half_pixel_centers", false)})};
}

std::vector<Gradient> ResizeNearestGradient(const OpGradient& g) {
  const bool corners = g.node().BoolAttr("align_corners", false);
  const bool centers = g.node().BoolAttr("half_pixel_centers", false);
  const lanescope::Shape& image = g.shape(g.in(0));
  const bool known = image.known_rank() && image.rank() == 4 && IsExact(image[1]) && IsExact(image[2]);
  const auto gradient = [&](const Input& size) -> std::vector<Gradient> {
    return {op::ResizeNearestNeighborGrad(g.s, g.grad(), size,
                                          {.align_corners = corners, .half_pixel_centers = centers})};
  };
  if (!known) return gradient(Range(g.s, ShapeTensor(g.s, g.in(0)), 1, 3));
  return gradient(Tensor::FromValues(
      lanescope::Shape{2},
      std::vector<int32_t>{static_cast<int32_t>(image[1]), static_cast<int32_t>(image[2])}));
}

std::vector<Gradient> DepthToSpaceGradient(const OpGradient& g) {
  return {op::SpaceToDepth(g.s, g.grad(), g.node().IntAttr("block_size"),
                           {.data_format = g.node().StringAttr("data_format", "NHWC")})};
}

std::vector<Gradient> SpaceToDepthGradient(const OpGradient& g) {
  return {op::DepthToSpace(g.s, g.grad(), g.node().IntAttr("block_size"),
                           {.data_format = g.node().StringAttr("data_format", "NHWC")})};
}

std::vector<Gradient> ReverseSequenceGradient(const OpGradient& g) {
  return {op::ReverseSequence(g.s, g.grad(), g.in(1), g.node().IntAttr("seq_dim"),
                              {.batch_dim = g.node().IntAttr("batch_dim", 0)})};
}

}  // namespace

void AddVolumeGradients(GradientTable& table) {
  table.Add("Conv3D", Conv3DGradient);
  table.Add("Conv3DBackpropInputV2", Conv3DBackpropInputGradient);
  table.Add("Conv3DBackpropFilterV2", Conv3DBackpropFilterGradient);
  table.Add("MaxPool3D", MaxPool3DGradient);
  table.Add("AvgPool3D", AvgPool3DGradient);
  table.Add("AvgPool3DGrad", AvgPool3DGradGradient);
  table.Add("ResizeBilinear", ResizeBilinearGradient);
  table.Add("ResizeNearestNeighbor", ResizeNearestGradient);
  table.Add("DepthToSpace", DepthToSpaceGradient);
  table.Add("SpaceToDepth", SpaceToDepthGradient);
  table.Add("ReverseSequence", ReverseSequenceGradient);
}

}  // namespace lanescope::graphs
