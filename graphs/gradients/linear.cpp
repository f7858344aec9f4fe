// SPDX-License-Identifier: Apache-2.0
// Gradients of matrix products and convolutions.
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

std::vector<Gradient> MatMulGradient(const OpGradient& g) {
  const bool ta = g.node().BoolAttr("transpose_a", false), tb = g.node().BoolAttr("transpose_b", false);
  const Endpoint a = g.in(0), b = g.in(1), grad = g.grad();
  const auto product = [&g](Endpoint x, Endpoint y, bool tx, bool ty) {
    return op::MatMul(g.s, x, y, {.transpose_a = tx, .transpose_b = ty});
  };
  const Endpoint ga = ta ? product(b, grad, tb, true) : product(grad, b, false, !tb);
  const Endpoint gb = tb ? product(grad, a, true, ta) : product(a, grad, !ta, false);
  return {ga, gb};
}

// Whichever product fits the version of the op.
Endpoint BatchProduct(const OpGradient& g, Endpoint x, Endpoint y, bool adj_x, bool adj_y) {
  return op::BatchMatMulV2(g.s, x, y, {.name = "MatMul", .adj_x = adj_x, .adj_y = adj_y});
}

lanescope::Shape BatchOf(const lanescope::Shape& shape) {
  if (!shape.known_rank() || shape.rank() < 2) return lanescope::Shape::Unknown();
  return lanescope::Shape(shape.dims().subspan(0, static_cast<size_t>(shape.rank() - 2)));
}

std::vector<Gradient> BatchMatMulGradient(const OpGradient& g) {
  const bool ax = g.node().BoolAttr("adj_x", false), ay = g.node().BoolAttr("adj_y", false);
  const Endpoint x = g.in(0), y = g.in(1), grad = g.grad();
  const Endpoint gx = ax ? BatchProduct(g, y, grad, ay, true) : BatchProduct(g, grad, y, false, !ay);
  const Endpoint gy = ay ? BatchProduct(g, grad, x, true, ax) : BatchProduct(g, x, grad, !ax, false);
  if (g.node().op == "BatchMatMul") return {gx, gy};
  const lanescope::Shape x_shape = g.shape(x), y_shape = g.shape(y);
  const bool matrices =
      x_shape.known_rank() && x_shape.rank() <= 2 && y_shape.known_rank() && y_shape.rank() <= 2;
  const lanescope::Shape x_batch = BatchOf(x_shape), y_batch = BatchOf(y_shape);
  if (matrices || (x_batch.IsExact() && y_batch.IsExact() && x_batch == y_batch)) return {gx, gy};
  const Endpoint sx = ShapeTensor(g.s, x);
  const Endpoint sy = ShapeTensor(g.s, y);
  const Endpoint x_dims = Range(g.s, sx, 0, -2);
  const Endpoint y_dims = Range(g.s, sy, 0, -2);
  const auto axes = op::BroadcastGradientArgs(g.s, x_dims, y_dims);
  const Endpoint of_x = op::Reshape(g.s, SumOver(g.s, gx, axes.r0), sx);
  return {of_x, op::Reshape(g.s, SumOver(g.s, gy, axes.r1), sy)};
}

// The attributes that a convolution and its gradients share.
struct ConvAttrs {
  explicit ConvAttrs(const Node& node)
      : strides(node.IntListAttr("strides")),
        padding(node.StringAttr("padding")),
        use_cudnn(node.BoolAttr("use_cudnn_on_gpu", true)),
        format(node.StringAttr("data_format", "NHWC")) {
    if (node.FindAttr("explicit_paddings") != nullptr)
      explicit_paddings = node.IntListAttr("explicit_paddings");
    if (node.FindAttr("dilations") != nullptr) dilations = node.IntListAttr("dilations");
  }

  Endpoint Forward(Scope& s, Endpoint input, Endpoint filter) const {
    return op::Conv2D(s, input, filter, strides, padding,
                      {.use_cudnn_on_gpu = use_cudnn,
                       .explicit_paddings = explicit_paddings,
                       .data_format = format,
                       .dilations = dilations});
  }
  Endpoint OfInput(Scope& s, Endpoint sizes, Endpoint filter, Endpoint grad) const {
    return op::Conv2DBackpropInput(s, sizes, filter, grad, strides, padding,
                                   {.use_cudnn_on_gpu = use_cudnn,
                                    .explicit_paddings = explicit_paddings,
                                    .data_format = format,
                                    .dilations = dilations});
  }
  Endpoint OfFilter(Scope& s, Endpoint input, Endpoint sizes, Endpoint grad) const {
    return op::Conv2DBackpropFilter(s, input, sizes, grad, strides, padding,
                                    {.use_cudnn_on_gpu = use_cudnn,
                                     .explicit_paddings = explicit_paddings,
                                     .data_format = format,
                                     .dilations = dilations});
  }

  Endpoint DepthwiseForward(Scope& s, Endpoint input, Endpoint filter) const {
    return op::DepthwiseConv2dNative(
        s, input, filter, strides, padding,
        {.explicit_paddings = explicit_paddings, .data_format = format, .dilations = dilations});
  }
  Endpoint OfDepthwiseInput(Scope& s, Endpoint sizes, Endpoint filter, Endpoint grad) const {
    return op::DepthwiseConv2dNativeBackpropInput(
        s, sizes, filter, grad, strides, padding,
        {.explicit_paddings = explicit_paddings, .data_format = format, .dilations = dilations});
  }
  Endpoint OfDepthwiseFilter(Scope& s, Endpoint input, Endpoint sizes, Endpoint grad) const {
    return op::DepthwiseConv2dNativeBackpropFilter(
        s, input, sizes, grad, strides, padding,
        {.explicit_paddings = explicit_paddings, .data_format = format, .dilations = dilations});
  }

  std::vector<int64_t> strides;
  std::string padding;
  bool use_cudnn;
  std::string format;
  std::vector<int64_t> explicit_paddings;
  std::vector<int64_t> dilations = {1, 1, 1, 1};
};

std::vector<Gradient> Conv2DGradient(const OpGradient& g) {
  const ConvAttrs conv(g.node());
  const auto shapes = op::ShapeN(g.s, {g.in(0), g.in(1)});
  const Endpoint of_input = conv.OfInput(g.s, shapes[0], g.in(1), g.grad());
  return {of_input, conv.OfFilter(g.s, g.in(0), shapes[1], g.grad())};
}

std::vector<Gradient> Conv2DBackpropInputGradient(const OpGradient& g) {
  const ConvAttrs conv(g.node());
  const Endpoint of_filter = conv.OfFilter(g.s, g.grad(), ShapeTensor(g.s, g.in(1)), g.in(2));
  return {Gradient(), of_filter, conv.Forward(g.s, g.grad(), g.in(1))};
}

std::vector<Gradient> Conv2DBackpropFilterGradient(const OpGradient& g) {
  const ConvAttrs conv(g.node());
  const Endpoint of_input = conv.OfInput(g.s, ShapeTensor(g.s, g.in(0)), g.grad(), g.in(2));
  return {of_input, Gradient(), conv.Forward(g.s, g.in(0), g.grad())};
}

std::vector<Gradient> DepthwiseGradient(const OpGradient& g) {
  const ConvAttrs conv(g.node());
  const Endpoint of_input = conv.OfDepthwiseInput(g.s, ShapeTensor(g.s, g.in(0)), g.in(1), g.grad());
  return {of_input, conv.OfDepthwiseFilter(g.s, g.in(0), ShapeTensor(g.s, g.in(1)), g.grad())};
}

std::vector<Gradient> DepthwiseBackpropInputGradient(const OpGradient& g) {
  const ConvAttrs conv(g.node());
  const Endpoint of_filter = conv.OfDepthwiseFilter(g.s, g.grad(), ShapeTensor(g.s, g.in(1)), g.in(2));
  return {Gradient(), of_filter, conv.DepthwiseForward(g.s, g.grad(), g.in(1))};
}

std::vector<Gradient> DepthwiseBackpropFilterGradient(const OpGradient& g) {
  const ConvAttrs conv(g.node());
  const Endpoint of_input = conv.OfDepthwiseInput(g.s, ShapeTensor(g.s, g.in(0)), g.grad(), g.in(2));
  return {of_input, Gradient(), conv.DepthwiseForward(g.s, g.in(0), g.grad())};
}

}  // namespace

void AddLinearGradients(GradientTable& table) {
  table.Add("MatMul", MatMulGradient);
  table.Add("BatchMatMul", BatchMatMulGradient);
  table.Add("BatchMatMulV2", BatchMatMulGradient);
  table.Add("BatchMatMulV3", BatchMatMulGradient);
  table.Add("DepthwiseConv2dNative", DepthwiseGradient);
  table.Add("DepthwiseConv2dNativeBackpropInput", DepthwiseBackpropInputGradient);
  table.Add("DepthwiseConv2dNativeBackpropFilter", DepthwiseBackpropFilterGradient);
  table.Add("Conv2D", Conv2DGradient);
  table.Add("Conv2DBackpropInput", Conv2DBackpropInputGradient);
  table.Add("Conv2DBackpropFilter", Conv2DBackpropFilterGradient);
}

}  // namespace lanescope::graphs
