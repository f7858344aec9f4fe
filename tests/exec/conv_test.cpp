// SPDX-License-Identifier: Apache-2.0
// Convolution and its gradients against seven nested loops in double. The gradients' law: for every dy,
// <dy, conv(x, w)> is bilinear in x and w, so both gradients are the loops' scatter.
#include <gtest/gtest.h>

#include "tests/exec/kernel_harness.h"
#include "tests/exec/reference_math.h"

namespace lanescope::exec::test {
namespace {

struct Case {
  Shape images;
  Shape filter;
  std::vector<int64_t> strides;    // height, width
  std::vector<int64_t> dilations;  // height, width
  std::string padding;
  std::vector<int64_t> pads;  // EXPLICIT: top, bottom, left, right
};

struct Side {
  int64_t out;
  int64_t before;
};

Side SideOf(const Case& c, int axis) {
  const int64_t in = c.images[axis + 1];
  const int64_t reach = (c.filter[axis] - 1) * c.dilations[static_cast<size_t>(axis)] + 1;
  const int64_t stride = c.strides[static_cast<size_t>(axis)];
  if (c.padding == "SAME") {
    const int64_t out = (in + stride - 1) / stride;
    return {out, std::max<int64_t>(0, (out - 1) * stride + reach - in) / 2};
  }
  const int64_t before = c.padding == "EXPLICIT" ? c.pads[static_cast<size_t>(2 * axis)] : 0;
  const int64_t after = c.padding == "EXPLICIT" ? c.pads[static_cast<size_t>(2 * axis + 1)] : 0;
  return {(in + before + after - reach) / stride + 1, before};
}

// Calls fn(image element, filter element, output element) for every product of the convolution.
template <typename Fn>
void ForEachProduct(const Case& c, const Fn& fn) {
  const Side h = SideOf(c, 0);
  const Side w = SideOf(c, 1);
  const int64_t channels = c.images[3];
  const int64_t filters = c.filter[3];
  for (int64_t n = 0; n < c.images[0]; ++n) {
    for (int64_t oh = 0; oh < h.out; ++oh) {
      for (int64_t ow = 0; ow < w.out; ++ow) {
        for (int64_t kh = 0; kh < c.filter[0]; ++kh) {
          for (int64_t kw = 0; kw < c.filter[1]; ++kw) {
            const int64_t ih = oh * c.strides[0] - h.before + kh * c.dilations[0];
            const int64_t iw = ow * c.strides[1] - w.before + kw * c.dilations[1];
            if (ih < 0 || ih >= c.images[1] || iw < 0 || iw >= c.images[2]) continue;
            for (int64_t ch = 0; ch < channels; ++ch) {
              for (int64_t f = 0; f < filters; ++f) {
                fn(static_cast<size_t>(((n * c.images[1] + ih) * c.images[2] + iw) * channels + ch),
                   static_cast<size_t>(((kh * c.filter[1] + kw) * channels + ch) * filters + f),
                   static_cast<size_t>(((n * h.out + oh) * w.out + ow) * filters + f));
              }
            }
          }
        }
      }
    }
  }
}

Node ConvNode(const std::string& op, const Case& c, DataType dtype) {
  AttrMap attrs = {{"T", dtype},
                   {"strides", IntsAttr({1, c.strides[0], c.strides[1], 1})},
                   {"dilations", IntsAttr({1, c.dilations[0], c.dilations[1], 1})},
                   {"padding", StringAttr(c.padding)},
                   {"data_format", StringAttr("NHWC")}};
  if (c.padding == "EXPLICIT") {
    attrs["explicit_paddings"] = IntsAttr({0, 0, c.pads[0], c.pads[1], c.pads[2], c.pads[3], 0, 0});
  }
  return MakeNode(op, attrs);
}

Tensor SizesOf(const Shape& shape) {
  std::vector<int32_t> sizes;
  for (int64_t dim : shape.dims()) sizes.push_back(static_cast<int32_t>(dim));
  return Tensor::FromValues<int32_t>(Shape{4}, sizes);
}

const std::vector<Case> kCases = {
    {Shape{2, 1, 80, 50}, Shape{1, 3, 50, 10}, {1, 1}, {1, 1}, "VALID", {}},
    {Shape{2, 24, 24, 3}, Shape{5, 5, 3, 64}, {1, 1}, {1, 1}, "SAME", {}},
    {Shape{3, 12, 12, 40}, Shape{5, 5, 40, 33}, {1, 1}, {1, 1}, "SAME", {}},
    {Shape{1, 7, 9, 2}, Shape{3, 2, 2, 5}, {2, 1}, {1, 1}, "SAME", {}},
    {Shape{1, 9, 8, 3}, Shape{3, 3, 3, 4}, {2, 3}, {1, 1}, "VALID", {}},
    {Shape{2, 10, 11, 3}, Shape{3, 3, 3, 4}, {1, 1}, {2, 3}, "SAME", {}},
    {Shape{2, 10, 11, 3}, Shape{2, 3, 3, 4}, {2, 1}, {1, 2}, "VALID", {}},
    {Shape{2, 6, 7, 2}, Shape{3, 3, 2, 3}, {1, 2}, {1, 1}, "EXPLICIT", {2, 1, 0, 3}},
    {Shape{1, 5, 5, 2}, Shape{2, 2, 2, 3}, {1, 1}, {1, 1}, "EXPLICIT", {3, 3, 3, 3}},
    {Shape{2, 6, 6, 8}, Shape{1, 1, 8, 16}, {1, 1}, {1, 1}, "SAME", {}},
    {Shape{2, 6, 6, 8}, Shape{1, 1, 8, 16}, {2, 2}, {1, 1}, "VALID", {}},
    {Shape{1, 2, 2, 1}, Shape{4, 4, 1, 1}, {1, 1}, {1, 1}, "SAME", {}},
    {Shape{0, 6, 6, 2}, Shape{3, 3, 2, 4}, {1, 1}, {1, 1}, "SAME", {}},
    // Strides over images of many channels: taps that meet some phases, all, or none.
    {Shape{2, 9, 8, 20}, Shape{3, 3, 20, 6}, {2, 3}, {1, 1}, "VALID", {}},
    {Shape{2, 9, 11, 20}, Shape{3, 4, 20, 6}, {2, 2}, {1, 1}, "SAME", {}},
    {Shape{1, 9, 9, 20}, Shape{1, 1, 20, 6}, {2, 2}, {1, 1}, "SAME", {}},
    {Shape{1, 13, 12, 20}, Shape{2, 3, 20, 6}, {4, 3}, {2, 2}, "VALID", {}},
    {Shape{1, 13, 12, 20}, Shape{3, 3, 20, 6}, {2, 2}, {2, 3}, "SAME", {}},
    {Shape{2, 7, 6, 20}, Shape{3, 3, 20, 6}, {3, 1}, {1, 1}, "EXPLICIT", {4, 1, 2, 5}},
    {Shape{1, 3, 2, 20}, Shape{5, 5, 20, 6}, {7, 7}, {1, 1}, "SAME", {}},
    // Blocks of several images, and filters of several groups of panels.
    {Shape{5, 4, 4, 17}, Shape{3, 3, 17, 150}, {1, 1}, {1, 1}, "SAME", {}},
    {Shape{3, 14, 14, 17}, Shape{1, 1, 17, 150}, {1, 1}, {1, 1}, "SAME", {}},
    {Shape{3, 23, 23, 3}, Shape{11, 11, 3, 10}, {4, 4}, {1, 1}, "VALID", {}},
    {Shape{2, 3, 80, 1}, Shape{2, 70, 1, 3}, {1, 1}, {1, 1}, "SAME", {}},
    {Shape{1, 300, 260, 2}, Shape{3, 3, 2, 2}, {1, 1}, {1, 1}, "SAME", {}},
    // Filters whose gradients are made by groups of rows, which cut through a tap's, and of columns.
    {Shape{2, 5, 6, 50}, Shape{3, 3, 50, 130}, {1, 1}, {1, 1}, "SAME", {}},
    {Shape{2, 5, 6, 450}, Shape{1, 1, 450, 530}, {1, 1}, {1, 1}, "VALID", {}},
    {Shape{4, 9, 7, 410}, Shape{1, 1, 410, 33}, {2, 2}, {1, 1}, "SAME", {}},
};

double ConvTolerance(DataType dtype) { return dtype == DataType::kFloat ? 1e-4 : 1e-11; }

TEST(ConvKernels, ForwardAndBothGradients) {
  for (const Case& c : kCases) {
    for (DataType dtype : {DataType::kFloat, DataType::kDouble}) {
      const Shape out{c.images[0], SideOf(c, 0).out, SideOf(c, 1).out, c.filter[3]};
      const Tensor x = RandomTensor(dtype, c.images, 1);
      const Tensor w = RandomTensor(dtype, c.filter, 2);
      const Tensor dy = RandomTensor(dtype, out, 3);
      const std::vector<double> vx = Values(x);
      const std::vector<double> vw = Values(w);
      const std::vector<double> vdy = Values(dy);
      std::vector<double> y(vdy.size());
      std::vector<double> dx(vx.size());
      std::vector<double> dw(vw.size());
      ForEachProduct(c, [&](size_t i, size_t f, size_t o) {
        y[o] += vx[i] * vw[f];
        dx[i] += vdy[o] * vw[f];
        dw[f] += vdy[o] * vx[i];
      });
      const std::string name = c.images.ToString() + c.filter.ToString() + c.padding;
      for (int workers : {1, 2}) {
        ExpectClose(RunKernel(ConvNode("Conv2D", c, dtype), {x, w}, {{dtype, out}}, workers)[0], y,
                    ConvTolerance(dtype), "forward " + name);
        ExpectClose(RunKernel(ConvNode("Conv2DBackpropInput", c, dtype), {SizesOf(c.images), w, dy},
                              {{dtype, c.images}}, workers)[0],
                    dx, ConvTolerance(dtype), "images " + name);
        ExpectClose(RunKernel(ConvNode("Conv2DBackpropFilter", c, dtype), {x, SizesOf(c.filter), dy},
                              {{dtype, c.filter}}, workers)[0],
                    dw, ConvTolerance(dtype), "filter " + name);
      }
    }
  }
}

TEST(ConvKernels, ResultsDoNotDependOnWorkers) {
  for (const Case& c : kCases) {
    const Shape out{c.images[0], SideOf(c, 0).out, SideOf(c, 1).out, c.filter[3]};
    const DataType dtype = DataType::kFloat;
    const Tensor x = RandomTensor(dtype, c.images, 1);
    const Tensor w = RandomTensor(dtype, c.filter, 2);
    const Tensor dy = RandomTensor(dtype, out, 3);
    const auto run = [&](int workers) {
      return std::vector<Tensor>{RunKernel(ConvNode("Conv2D", c, dtype), {x, w}, {{dtype, out}}, workers)[0],
                                 RunKernel(ConvNode("Conv2DBackpropInput", c, dtype),
                                           {SizesOf(c.images), w, dy}, {{dtype, c.images}}, workers)[0],
                                 RunKernel(ConvNode("Conv2DBackpropFilter", c, dtype),
                                           {x, SizesOf(c.filter), dy}, {{dtype, c.filter}}, workers)[0]};
    };
    const std::vector<Tensor> one = run(1);
    const std::vector<Tensor> three = run(3);
    for (size_t i = 0; i < one.size(); ++i)
      EXPECT_TRUE(SameBytes(one[i], three[i])) << i << c.images.ToString();
  }
}

TEST(ConvKernels, BadInputsAreErrors) {
  const Case c = {Shape{1, 4, 4, 2}, Shape{3, 3, 2, 1}, {1, 1}, {1, 1}, "VALID", {}};
  const Tensor x(DataType::kFloat, c.images);
  const std::vector<OutputPlan> plan = {{DataType::kFloat, Shape{1, 2, 2, 1}}};
  const Tensor wrong_depth(DataType::kFloat, Shape{3, 3, 5, 1});
  EXPECT_THROW(RunKernel(ConvNode("Conv2D", c, DataType::kFloat), {x, wrong_depth}, plan), Error);
  const Tensor too_large(DataType::kFloat, Shape{7, 7, 2, 1});
  EXPECT_THROW(RunKernel(ConvNode("Conv2D", c, DataType::kFloat), {x, too_large}, plan), Error);
  Node channels_first = ConvNode("Conv2D", c, DataType::kFloat);
  channels_first.attrs["data_format"] = StringAttr("NCHW");
  EXPECT_THROW(KernelRegistry::Host().Create(channels_first), Error);
}

}  // namespace
}  // namespace lanescope::exec::test
