// SPDX-License-Identifier: Apache-2.0
// Second derivatives of pooling, normalisation, resizing and activations.
#include "core/graph/ops/layers.h"
#include "graphs/gradients/arithmetic.h"
#include "graphs/gradients/registry.h"

namespace lanescope::graphs {
namespace {

// Zeros of a tensor's shape, as array_ops.zeros writes them.
Endpoint ZerosOf(Scope& s, Endpoint x) {
  const Endpoint shape = ShapeTensor(s, x);
  const auto names = s.Name("zeros");
  const std::string full = s.CurrentNames();
  return op::Fill(s, shape, ScalarOf(s, 0, s.TypeOf(x)), {.name = full});
}

std::vector<Gradient> MaxPoolGradGradient(const OpGradient& g) {
  const Node& node = g.node();
  const Endpoint of_x = ZerosOf(g.s, g.in(0)), of_y = ZerosOf(g.s, g.in(1));
  return {of_x, of_y,
          op::MaxPoolGradGrad(g.s, g.in(0), g.in(1), g.grad(), node.IntListAttr("ksize"),
                              node.IntListAttr("strides"), node.StringAttr("padding"),
                              {.data_format = node.StringAttr("data_format", "NHWC")})};
}

std::vector<Gradient> MaxPoolGradGradGradient(const OpGradient& g) {
  const Node& node = g.node();
  const Endpoint of_x = ZerosOf(g.s, g.in(0)), of_y = ZerosOf(g.s, g.in(1));
  return {
      of_x, of_y,
      op::MaxPoolGrad(g.s, g.in(0), g.in(1), g.grad(), node.IntListAttr("ksize"), node.IntListAttr("strides"),
                      node.StringAttr("padding"), {.data_format = node.StringAttr("data_format", "NHWC")})};
}

std::vector<Gradient> MaxPool3DGradGradient(const OpGradient& g) {
  const Node& node = g.node();
  const Endpoint of_x = ZerosLike(g.s, g.in(0)), of_y = ZerosLike(g.s, g.in(1));
  return {of_x, of_y,
          op::MaxPool3DGradGrad(g.s, g.in(0), g.in(1), g.grad(), node.IntListAttr("ksize"),
                                node.IntListAttr("strides"), node.StringAttr("padding"),
                                {.data_format = node.StringAttr("data_format", "NDHWC")})};
}

std::vector<Gradient> MaxPool3DGradGradGradient(const OpGradient& g) {
  const Node& node = g.node();
  const Endpoint of_x = ZerosLike(g.s, g.in(0)), of_y = ZerosLike(g.s, g.in(1));
  return {of_x, of_y,
          op::MaxPool3DGrad(g.s, g.in(0), g.in(1), g.grad(), node.IntListAttr("ksize"),
                            node.IntListAttr("strides"), node.StringAttr("padding"),
                            {.data_format = node.StringAttr("data_format", "NDHWC")})};
}

// Rows and columns of images.
Endpoint ImageSize(Scope& s, Endpoint images) { return Range(s, ShapeTensor(s, images), 1, 3); }

std::vector<Gradient> ResizeBilinearGradGradient(const OpGradient& g) {
  return {op::ResizeBilinear(g.s, g.grad(), ImageSize(g.s, g.in(0)),
                             {.align_corners = g.node().BoolAttr("align_corners", false),
                              .half_pixel_centers = g.node().BoolAttr("half_pixel_centers", false)})};
}

std::vector<Gradient> ResizeNearestGradGradient(const OpGradient& g) {
  return {op::ResizeNearestNeighbor(g.s, g.grad(), ImageSize(g.s, g.in(0)),
                                    {.align_corners = g.node().BoolAttr("align_corners", false),
                                     .half_pixel_centers = g.node().BoolAttr("half_pixel_centers", false)})};
}

// Differentiates dy / (1 + |x|)^2.
std::vector<Gradient> SoftsignGradGradient(const OpGradient& g) {
  Scope& s = g.s;
  const Endpoint dy = g.in(0), x = g.in(1), grad = g.grad();
  const Endpoint of_dy = op::SoftsignGrad(s, grad, x);
  const Endpoint slope = Mul(s, op::Sign(s, x), op::Pow(s, Add(s, op::Abs(s, x), 1), -3));
  return {of_dy, Mul(s, Mul(s, Mul(s, grad, dy), slope), -2)};
}

// FusedBatchNormGrad, written out: its own gradient is that of these nodes.
class WrittenOut {
 public:
  explicit WrittenOut(const OpGradient& g) : g_(g), s_(g.s) {
    const Node& node = g.node();
    channels_first_ = node.StringAttr("data_format", "NHWC") == "NCHW";
    epsilon_ = static_cast<double>(node.FloatAttr("epsilon", 1e-4f));
    dy_ = g.in(0), x_ = g.in(1);
    scale_ = ByChannel(g.in(2));
    if (node.BoolAttr("is_training", true)) {
      OfBatch();
    } else {
      OfPopulation(ByChannel(g.in(3)), ByChannel(g.in(4)));
    }
  }

  std::vector<Gradient> Gradients() const {
    GradientOptions options;
    // The written expression is differentiated, not what its arguments come of.
    for (int i = 0; i < g_.num_inputs(); ++i) options.stop_gradients.push_back(g_.in(i));
    std::vector<Endpoint> ys;
    for (int i = 0; i < 3; ++i) {
      if (g_.is_zero(i)) continue;
      ys.push_back(outputs_[i]);
      options.grad_ys.push_back(g_.raw_grad(i));
    }
    return graphs::Gradients(s_, ys, {g_.in(0), g_.in(1), g_.in(2)}, options);
  }

 private:
  // As it broadcasts over the images.
  Endpoint ByChannel(Endpoint vector) {
    if (!channels_first_) return vector;
    return op::Reshape(s_, vector, {1, -1, 1, 1});
  }
  Input Axes() const { return channels_first_ ? Input({0, 2, 3}) : Input({0, 1, 2}); }
  Endpoint MeanOf(Endpoint x) { return op::Mean(s_, x, Axes(), {.keep_dims = channels_first_}); }
  Endpoint SumOf(Endpoint x) { return op::Sum(s_, x, Axes()); }
  Endpoint RootOf(Endpoint variance) { return op::Rsqrt(s_, Add(s_, variance, epsilon_)); }

  void OfBatch() {
    const Endpoint mean_dy = MeanOf(dy_), mean_x = MeanOf(x_);
    const Endpoint variance = MeanOf(op::SquaredDifference(s_, x_, op::StopGradient(s_, mean_x)));
    const Endpoint dy_offset = Sub(s_, dy_, mean_dy), x_offset = Sub(s_, x_, mean_x);
    const Endpoint product = Mul(s_, dy_, x_offset);
    const Endpoint mean = MeanOf(product);
    const Endpoint root = RootOf(variance);
    const Endpoint inverse = op::Reciprocal(s_, Add(s_, variance, epsilon_));
    const Endpoint pulled = Mul(s_, Mul(s_, inverse, mean), x_offset);
    outputs_[0] = Mul(s_, Mul(s_, scale_, root), Sub(s_, dy_offset, pulled));
    outputs_[1] = SumOf(Mul(s_, root, product));
    outputs_[2] = SumOf(dy_);
  }

  void OfPopulation(Endpoint mean, Endpoint variance) {
    const Endpoint root = RootOf(variance);
    outputs_[2] = SumOf(dy_);
    outputs_[1] = SumOf(Mul(s_, Mul(s_, dy_, Sub(s_, x_, mean)), root));
    outputs_[0] = Mul(s_, Mul(s_, dy_, scale_), root);
  }

  const OpGradient& g_;
  Scope& s_;
  bool channels_first_ = false;
  double epsilon_ = 0;
  Endpoint dy_, x_, scale_;
  Endpoint outputs_[3];  // by x, scale and offset
};

std::vector<Gradient> BatchNormGradGradient(const OpGradient& g) { return WrittenOut(g).Gradients(); }

// LRNGrad, written out: with n the norms, dx = dy n^-beta - 2 alpha beta x sum(dy y / n) over the neighbours,
// by a product with a matrix of ones near the diagonal.
std::vector<Gradient> LrnGradGradient(const OpGradient& g) {
  Scope& s = g.s;
  const Node& node = g.node();
  const Endpoint dy = g.in(0), x = g.in(1), y = g.in(2);
  const DataType type = g.type(x);
  const double alpha = node.FloatAttr("alpha", 1.0f), beta = node.FloatAttr("beta", 0.5f);
  const Endpoint depth = Element(s, ShapeTensor(s, x), 3);
  const Endpoint square = op::Pack(s, {depth, depth});
  const Endpoint radius = op::Minimum(s, depth, static_cast<int>(ops::LrnRadius(node)));
  const Endpoint band = op::MatrixBandPart(s, OnesOf(s, square, type), radius, radius);
  const auto near = [&](Endpoint of) {
    const Endpoint rows = op::Reshape(s, of, op::Pack(s, {Input(-1), depth}));
    return op::Reshape(s, op::MatMul(s, rows, band), ShapeTensor(s, x));
  };
  const Endpoint norm = Add(s, Mul(s, near(op::Square(s, x)), alpha), double{node.FloatAttr("bias", 1.0f)});
  const Endpoint pulled = Mul(s, x, near(Div(s, Mul(s, dy, y), norm)));
  const Endpoint dx = Sub(s, Mul(s, dy, op::Pow(s, norm, -beta)), Mul(s, pulled, 2 * alpha * beta));
  return Gradients(s, {dx}, {dy, x, y}, {.grad_ys = {g.raw_grad()}, .stop_gradients = {dy, x, y}});
}

}  // namespace

void AddSecondNetworkGradients(GradientTable& table) {
  table.Add("MaxPoolGrad", MaxPoolGradGradient);
  table.Add("MaxPoolGradGrad", MaxPoolGradGradGradient);
  table.Add("MaxPool3DGrad", MaxPool3DGradGradient);
  table.Add("MaxPool3DGradGrad", MaxPool3DGradGradGradient);
  table.Add("LRNGrad", LrnGradGradient);
  table.Add("ResizeBilinearGrad", ResizeBilinearGradGradient);
  table.Add("ResizeNearestNeighborGrad", ResizeNearestGradGradient);
  table.Add("SoftsignGrad", SoftsignGradGradient);
  table.Add("FusedBatchNormGrad", BatchNormGradGradient);
  table.Add("FusedBatchNormGradV2", BatchNormGradGradient);
  table.Add("FusedBatchNormGradV3", BatchNormGradGradient);
}

}  // namespace lanescope::graphs
