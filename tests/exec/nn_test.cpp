// SPDX-License-Identifier: Apache-2.0
// Bias, pooling, normalisation, softmax and cross entropy against plain loops in double.
#include <gtest/gtest.h>

#include <limits>

#include "tests/exec/kernel_harness.h"
#include "tests/exec/reference_math.h"

namespace lanescope::exec::test {
namespace {

constexpr DataType kFloat = DataType::kFloat;

TEST(NnKernels, BiasInBothLayouts) {
  const Tensor x = RandomTensor(kFloat, Shape{3, 4, 5, 6}, 1);
  for (bool first : {false, true}) {
    const int channel = first ? 1 : 3;
    const Tensor bias = RandomTensor(kFloat, Shape{x.shape()[channel]}, 2);
    const AttrMap attrs = {{"T", kFloat}, {"data_format", StringAttr(first ? "NCHW" : "NHWC")}};
    const std::vector<double> vx = Values(x);
    const std::vector<double> vb = Values(bias);
    std::vector<double> y;
    std::vector<double> sums(vb.size());
    for (size_t i = 0; i < vx.size(); ++i) {
      const size_t c = first ? i / 30 % 4 : i % 6;
      y.push_back(vx[i] + vb[c]);
      sums[c] += vx[i];
    }
    ExpectClose(RunKernel(MakeNode("BiasAdd", attrs), {x, bias}, {{kFloat, x.shape()}}, 2)[0], y, 1e-6,
                "BiasAdd");
    ExpectClose(RunKernel(MakeNode("BiasAddGrad", attrs), {x}, {{kFloat, bias.shape()}}, 2)[0], sums, 1e-5,
                "BiasAddGrad");
  }
}

struct PoolCase {
  Shape images;
  int64_t size[2];
  int64_t stride[2];
  bool same;
};
const std::vector<PoolCase> kPools = {
    {Shape{2, 1, 40, 10}, {1, 2}, {1, 1}, false}, {Shape{2, 24, 24, 17}, {3, 3}, {2, 2}, true},
    {Shape{1, 7, 6, 3}, {2, 3}, {1, 1}, true},    {Shape{2, 7, 5, 1}, {2, 2}, {3, 2}, false},
    {Shape{0, 4, 4, 2}, {2, 2}, {2, 2}, true},    {Shape{1, 1, 1, 4}, {3, 3}, {1, 1}, true},
    {Shape{2, 9, 8, 21}, {3, 3}, {1, 1}, true},   {Shape{1, 13, 11, 5}, {5, 2}, {2, 3}, true},
    {Shape{1, 8, 9, 33}, {8, 9}, {1, 1}, false},  {Shape{1, 5, 4, 6}, {7, 6}, {1, 1}, true},
    {Shape{1, 11, 10, 2}, {1, 1}, {4, 3}, false}};

struct Side {
  int64_t out;
  int64_t before;
};
Side SideOf(const PoolCase& c, int axis) {
  const int64_t in = c.images[axis + 1];
  const int64_t stride = c.stride[axis];
  if (!c.same) return {(in - c.size[axis]) / stride + 1, 0};
  const int64_t out = (in + stride - 1) / stride;
  return {out, std::max<int64_t>(0, (out - 1) * stride + c.size[axis] - in) / 2};
}
Shape PooledShape(const PoolCase& c) {
  return Shape{c.images[0], SideOf(c, 0).out, SideOf(c, 1).out, c.images[3]};
}

// Calls fn(output element, cells of its window) with the cells in row-major order.
template <typename Fn>
void ForEachWindow(const PoolCase& c, const Fn& fn) {
  const Shape out = PooledShape(c);
  for (int64_t o = 0; o < out.NumElements(); ++o) {
    const int64_t ch = o % out[3];
    const int64_t left = o / out[3] % out[2] * c.stride[1] - SideOf(c, 1).before;
    const int64_t top = o / out[3] / out[2] % out[1] * c.stride[0] - SideOf(c, 0).before;
    const int64_t image = o / out[3] / out[2] / out[1];
    std::vector<size_t> cells;
    for (int64_t h = std::max<int64_t>(0, top); h < std::min(c.images[1], top + c.size[0]); ++h) {
      for (int64_t w = std::max<int64_t>(0, left); w < std::min(c.images[2], left + c.size[1]); ++w) {
        cells.push_back(
            static_cast<size_t>(((image * c.images[1] + h) * c.images[2] + w) * c.images[3] + ch));
      }
    }
    fn(static_cast<size_t>(o), cells);
  }
}

Node PoolNode(const std::string& op, const PoolCase& c) {
  return MakeNode(op, {{"T", kFloat},
                       {"ksize", IntsAttr({1, c.size[0], c.size[1], 1})},
                       {"strides", IntsAttr({1, c.stride[0], c.stride[1], 1})},
                       {"padding", StringAttr(c.same ? "SAME" : "VALID")},
                       {"data_format", StringAttr("NHWC")}});
}

TEST(NnKernels, MaxPoolAndItsGradientWithTies) {
  for (const PoolCase& c : kPools) {
    Tensor x = RandomTensor(kFloat, c.images, 1);
    for (int64_t i = 0; i < x.NumElements(); ++i)
      x.data<float>()[i] = std::round(2 * x.data<float>()[i]);  // ties
    const Tensor dy = RandomTensor(kFloat, PooledShape(c), 2);
    const std::vector<double> vx = Values(x);
    const std::vector<double> vdy = Values(dy);
    std::vector<double> y(vdy.size());
    std::vector<double> dx(vx.size());
    ForEachWindow(c, [&](size_t o, const std::vector<size_t>& cells) {
      size_t best = cells[0];
      for (size_t cell : cells) best = vx[cell] > vx[best] ? cell : best;
      y[o] = vx[best];
      dx[best] += vdy[o];
    });
    const Tensor pooled = RunKernel(PoolNode("MaxPool", c), {x}, {{kFloat, PooledShape(c)}}, 2)[0];
    ExpectClose(pooled, y, 0, "MaxPool");
    ExpectClose(RunKernel(PoolNode("MaxPoolGrad", c), {x, pooled, dy}, {{kFloat, c.images}}, 2)[0], dx, 1e-5,
                "MaxPoolGrad");
  }
}

TEST(NnKernels, AvgPoolAndItsGradientCountCellsInside) {
  for (const PoolCase& c : kPools) {
    const Tensor x = RandomTensor(kFloat, c.images, 1);
    const Tensor dy = RandomTensor(kFloat, PooledShape(c), 2);
    const std::vector<double> vx = Values(x);
    const std::vector<double> vdy = Values(dy);
    std::vector<double> y(vdy.size());
    std::vector<double> dx(vx.size());
    ForEachWindow(c, [&](size_t o, const std::vector<size_t>& cells) {
      for (size_t cell : cells) {
        y[o] += vx[cell] / static_cast<double>(cells.size());
        dx[cell] += vdy[o] / static_cast<double>(cells.size());
      }
    });
    std::vector<int32_t> sizes;
    for (int64_t dim : c.images.dims()) sizes.push_back(static_cast<int32_t>(dim));
    const Tensor shape = Tensor::FromValues<int32_t>(Shape{4}, sizes);
    ExpectClose(RunKernel(PoolNode("AvgPool", c), {x}, {{kFloat, PooledShape(c)}}, 2)[0], y, 1e-6, "AvgPool");
    ExpectClose(RunKernel(PoolNode("AvgPoolGrad", c), {shape, dy}, {{kFloat, c.images}}, 2)[0], dx, 1e-5,
                "AvgPoolGrad");
  }
}

// y_i = x_i n_i^-beta with n_i = bias + alpha * sum of squares; the gradient by differences of L = sum(dy *
// y).
TEST(NnKernels, LrnAndItsGradient) {
  const int64_t depth = 11;
  const int64_t radius = 3;
  const Tensor x = RandomTensor(kFloat, Shape{2, 3, 1, depth}, 1);
  const Tensor dy = RandomTensor(kFloat, x.shape(), 2);
  for (float beta : {0.75f, 0.5f, 1.0f, 0.6f}) {
    const auto forward = [&](const std::vector<double>& v) {
      std::vector<double> y(v.size());
      for (int64_t i = 0; i < static_cast<int64_t>(v.size()); ++i) {
        double norm = 1.5;
        for (int64_t k = std::max<int64_t>(0, i % depth - radius);
             k <= std::min(depth - 1, i % depth + radius); ++k) {
          const double value = v[static_cast<size_t>(i - i % depth + k)];
          norm += 0.3f * value * value;
        }
        y[static_cast<size_t>(i)] = v[static_cast<size_t>(i)] * std::pow(norm, -static_cast<double>(beta));
      }
      return y;
    };
    const AttrMap attrs = {
        {"T", kFloat}, {"depth_radius", IntAttr(radius)}, {"bias", 1.5f}, {"alpha", 0.3f}, {"beta", beta}};
    std::vector<double> vx = Values(x);
    const std::vector<double> vdy = Values(dy);
    const Tensor y = RunKernel(MakeNode("LRN", attrs), {x}, {{kFloat, x.shape()}}, 2)[0];
    ExpectClose(y, forward(vx), 2e-6, "LRN");
    std::vector<double> dx;
    for (double& value : vx) {
      const double step = 1e-6;
      value += step;
      const std::vector<double> up = forward(vx);
      value -= 2 * step;
      const std::vector<double> down = forward(vx);
      value += step;
      double slope = 0;
      for (size_t i = 0; i < up.size(); ++i) slope += vdy[i] * (up[i] - down[i]) / (2 * step);
      dx.push_back(slope);
    }
    ExpectClose(RunKernel(MakeNode("LRNGrad", attrs), {dy, x, y}, {{kFloat, x.shape()}}, 2)[0], dx, 1e-5,
                "LRNGrad");
  }
}

std::vector<double> Softmax(const std::vector<double>& x, size_t classes) {
  std::vector<double> y(x.size());
  for (size_t row = 0; row < x.size(); row += classes) {
    double total = 0;
    for (size_t c = 0; c < classes; ++c) total += std::exp(x[row + c]);
    for (size_t c = 0; c < classes; ++c) y[row + c] = std::exp(x[row + c]) / total;
  }
  return y;
}

TEST(NnKernels, SoftmaxAndCrossEntropy) {
  for (int64_t classes : {1, 10, 33, 300}) {
    const Tensor x = RandomTensor(kFloat, Shape{7, classes}, 1, -4, 4);
    const std::vector<double> p = Softmax(Values(x), static_cast<size_t>(classes));
    std::vector<double> log_p;
    for (double value : p) log_p.push_back(std::log(value));
    const AttrMap attrs = {{"T", kFloat}, {"Tlabels", DataType::kInt64}};
    ExpectClose(RunKernel(MakeNode("Softmax", attrs), {x}, {{kFloat, x.shape()}}, 2)[0], p, 1e-6, "Softmax");
    ExpectClose(RunKernel(MakeNode("LogSoftmax", attrs), {x}, {{kFloat, x.shape()}}, 2)[0], log_p, 2e-6,
                "LogSoftmax");

    Tensor labels(DataType::kInt64, Shape{7});
    Tensor one_hot(kFloat, x.shape());
    std::vector<double> loss;
    std::vector<double> gradient = p;
    for (int64_t row = 0; row < 7; ++row) {
      const int64_t label = row * 5 % classes;
      labels.data<int64_t>()[row] = label;
      one_hot.data<float>()[row * classes + label] = 1;
      loss.push_back(-log_p[static_cast<size_t>(row * classes + label)]);
      gradient[static_cast<size_t>(row * classes + label)] -= 1;
    }
    const std::vector<OutputPlan> plan = {{kFloat, Shape{7}}, {kFloat, x.shape()}};
    for (const auto& [op, second] :
         {std::pair<const char*, Tensor>{"SparseSoftmaxCrossEntropyWithLogits", labels},
          std::pair<const char*, Tensor>{"SoftmaxCrossEntropyWithLogits", one_hot}}) {
      const std::vector<Tensor> results = RunKernel(MakeNode(op, attrs), {x, second}, plan, 2);
      ExpectClose(results[0], loss, 2e-6, op);
      ExpectClose(results[1], gradient, 1e-6, op);
    }
  }
}

TEST(NnKernels, SoftmaxDoesNotOverflow) {
  const Tensor x = Tensor::FromValues<float>(Shape{1, 3}, {1000, 1000, -1000});
  const AttrMap attrs = {{"T", kFloat}};
  ExpectClose(RunKernel(MakeNode("Softmax", attrs), {x}, {{kFloat, x.shape()}})[0], {0.5, 0.5, 0}, 1e-7,
              "Softmax");
}

TEST(NnKernels, LabelsOutOfRangeAreErrors) {
  const Tensor x(kFloat, Shape{2, 3});
  const Node node =
      MakeNode("SparseSoftmaxCrossEntropyWithLogits", {{"T", kFloat}, {"Tlabels", DataType::kInt32}});
  const std::vector<OutputPlan> plan = {{kFloat, Shape{2}}, {kFloat, Shape{2, 3}}};
  EXPECT_THROW(RunKernel(node, {x, Tensor::FromValues<int32_t>(Shape{2}, {1, 3})}, plan), Error);
  EXPECT_THROW(RunKernel(node, {x, Tensor::FromValues<int32_t>(Shape{2}, {-1, 0})}, plan), Error);
}

TEST(NnKernels, LeakyRelu) {
  const Tensor x = Tensor::FromValues<float>(Shape{3}, {-1, 0, 2});
  const Tensor dy = Tensor::FromValues<float>(Shape{3}, {1, 1, 1});
  const AttrMap attrs = {{"T", kFloat}, {"alpha", 0.25f}};
  EXPECT_EQ(Values(RunKernel(MakeNode("LeakyRelu", attrs), {x}, {{kFloat, x.shape()}})[0]),
            (std::vector<double>{-0.25, 0, 2}));
  EXPECT_EQ(Values(RunKernel(MakeNode("LeakyReluGrad", attrs), {dy, x}, {{kFloat, x.shape()}})[0]),
            (std::vector<double>{0.25, 0.25, 1}));
}

}  // namespace
}  // namespace lanescope::exec::test
