// SPDX-License-Identifier: Apache-2.0
// Products and layers with a CUDA kernel, each against its host kernel and the same in doubles.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/exec/cuda/gpu/convolution_cases.h"

namespace lanescope::exec::test {
namespace {

TEST(GpuOps, Products) {
  LANESCOPE_NEEDS_GPU();
  for (const bool turn_a : {false, true}) {
    for (const bool turn_b : {false, true}) {
      for (const auto& [m, k, n] :
           {std::array<int64_t, 3>{5, 7, 3}, {1, 1, 1}, {130, 257, 65}, {4, 0, 3}, {0, 4, 3}}) {
        const AttrMap more = {{"transpose_a", AttrValue(turn_a)}, {"transpose_b", AttrValue(turn_b)}};
        const Shape a = turn_a ? Shape{k, m} : Shape{m, k};
        const Shape b = turn_b ? Shape{n, k} : Shape{k, n};
        CheckOp(Case("MatMul", With(kFloat, more), {Random(kFloat, a), Random(kFloat, b, 2)}), 3e-5);
        CheckOp(Case("MatMul", With(kDouble, more), {Random(kDouble, a), Random(kDouble, b, 2)}), 1e-11);
      }
      const AttrMap more = {{"adj_x", AttrValue(turn_a)}, {"adj_y", AttrValue(turn_b)}};
      const std::pair<Shape, Shape> batches[] = {
          {Shape{3}, Shape{3}}, {Shape{2, 3}, Shape{3}}, {Shape{1}, Shape{4}}, {Shape{2, 1}, Shape{1, 3}}};
      for (const auto& [left, right] : batches) {
        Shape a = left;
        Shape b = right;
        a.Append(turn_a ? 6 : 4);
        a.Append(turn_a ? 4 : 6);
        b.Append(turn_b ? 5 : 6);
        b.Append(turn_b ? 6 : 5);
        CheckOp(Case("BatchMatMulV2", With(kFloat, more), {Random(kFloat, a), Random(kFloat, b, 2)}));
      }
    }
  }
}

const ConvSizes kConvolutions[] = {{Shape{2, 6, 5, 3}, Shape{3, 3, 3, 4}, 1, 1, "SAME"},
                                   {Shape{2, 6, 5, 3}, Shape{3, 3, 3, 4}, 1, 1, "VALID"},
                                   {Shape{3, 9, 8, 4}, Shape{2, 3, 4, 5}, 2, 1, "SAME"},
                                   {Shape{1, 12, 9, 8}, Shape{3, 2, 8, 3}, 1, 2, "VALID"},
                                   {Shape{2, 9, 9, 5}, Shape{3, 3, 5, 4}, 2, 1, "SAME"},
                                   {Shape{2, 9, 8, 3}, Shape{3, 3, 3, 4}, 1, 2, "SAME"},
                                   {Shape{2, 11, 8, 3}, Shape{2, 2, 3, 4}, 3, 1, "VALID"},
                                   {Shape{2, 5, 6, 3}, Shape{5, 6, 3, 8}, 1, 1, "VALID"},
                                   {Shape{3, 1, 1, 4}, Shape{3, 3, 4, 2}, 1, 1, "SAME"},
                                   {Shape{4, 1, 80, 50}, Shape{1, 3, 50, 10}, 1, 1, "VALID"},
                                   {Shape{2, 5, 5, 7}, Shape{1, 1, 7, 6}, 1, 1, "VALID"},
                                   {Shape{8, 24, 24, 16}, Shape{5, 5, 16, 32}, 1, 1, "SAME"},
                                   {Shape{0, 5, 5, 3}, Shape{3, 3, 3, 2}, 1, 1, "SAME"}};

TEST(GpuOps, Convolutions) {
  LANESCOPE_NEEDS_GPU();
  for (const ConvSizes& sizes : kConvolutions) {
    for (const DataType t : {kFloat, kDouble}) CheckConvolution(sizes, t);
  }
}

TEST(GpuOps, Pooling) {
  LANESCOPE_NEEDS_GPU();
  struct Sizes {
    Shape images;
    int64_t rows, columns, stride;
    const char* padding;
  };
  for (const Sizes& s :
       {Sizes{Shape{2, 7, 6, 3}, 3, 3, 2, "SAME"}, Sizes{Shape{2, 7, 6, 3}, 2, 2, 2, "VALID"},
        Sizes{Shape{1, 5, 5, 8}, 3, 2, 1, "SAME"}, Sizes{Shape{3, 798, 1, 10}, 798, 1, 1, "VALID"},
        Sizes{Shape{2, 9, 10, 8}, 3, 3, 2, "SAME"}, Sizes{Shape{2, 20, 21, 5}, 9, 10, 3, "SAME"},
        Sizes{Shape{0, 4, 4, 2}, 2, 2, 2, "VALID"}}) {
    const AttrMap more = {{"ksize", IntsAttr({1, s.rows, s.columns, 1})},
                          {"strides", IntsAttr({1, s.stride, s.stride, 1})},
                          {"padding", StringAttr(s.padding)}};
    const Tensor x = Random(kFloat, s.images);
    const OpCase pool = Case("MaxPool", With(kFloat, more), {x});
    CheckOp(pool);
    CheckOp(Case("AvgPool", With(kFloat, more), {x}));
    const Tensor y = RunOnHost(pool)[0];
    const Tensor dy = Random(kFloat, y.shape(), 3);
    CheckOp(Case("MaxPoolGrad", With(kFloat, more), {x, y, dy}));
    CheckOp(Case("MaxPoolGradGrad", With(kFloat, more), {x, y, Random(kFloat, s.images, 4)}));
    std::vector<int32_t> shape;
    for (const Dim dim : s.images.dims()) shape.push_back(static_cast<int32_t>(dim));
    CheckOp(Case("AvgPoolGrad", With(kFloat, more), {Ints(shape), dy}));
  }
}

// Law: of equally large cells the first one of a window takes its gradient: after a Relu most windows have
// such.
TEST(GpuOps, PoolingOfEqualCells) {
  LANESCOPE_NEEDS_GPU();
  for (const int64_t channels : {3, 4}) {
    const AttrMap more = {{"ksize", IntsAttr({1, 3, 3, 1})},
                          {"strides", IntsAttr({1, 2, 2, 1})},
                          {"padding", StringAttr("SAME")}};
    Tensor x = Random(kFloat, Shape{2, 9, 8, channels});
    float* const values = x.data<float>();
    for (int64_t i = 0; i < x.NumElements(); ++i) values[i] = std::max(0.0f, std::round(2 * values[i]));
    const Tensor y = RunOnHost(Case("MaxPool", With(kFloat, more), {x}))[0];
    CheckOp(Case("MaxPoolGrad", With(kFloat, more), {x, y, Random(kFloat, y.shape(), 3)}));
  }
}

TEST(GpuOps, Layers) {
  LANESCOPE_NEEDS_GPU();
  for (const Shape& shape : {Shape{5, 7}, Shape{2, 6, 5, 10}, Shape{1000, 33}, Shape{0, 4}}) {
    const int64_t channels = shape[shape.rank() - 1];
    CheckOp(Case("BiasAdd", With(kFloat), {Random(kFloat, shape), Random(kFloat, Shape{channels}, 2)}));
    CheckOp(Case("BiasAddGrad", With(kFloat), {Random(kFloat, shape)}), 3e-5);
  }
  CheckOp(Case("BiasAdd", With(kFloat, {{"data_format", StringAttr("NCHW")}}),
               {Random(kFloat, Shape{2, 3, 4, 5}), Random(kFloat, Shape{3}, 2)}));
  CheckOp(Case("BiasAddGrad", With(kFloat, {{"data_format", StringAttr("NCHW")}}),
               {Random(kFloat, Shape{2, 3, 4, 5})}));
  for (const float beta : {0.75f, 0.5f, 1.0f, 0.6f}) {
    for (const Shape& shape : {Shape{2, 3, 4, 11}, Shape{2, 2, 2, 64}, Shape{1, 1, 2, 300}}) {
      const AttrMap more = {{"depth_radius", IntAttr(4)},
                            {"bias", AttrValue(1.5f)},
                            {"alpha", AttrValue(0.01f)},
                            {"beta", AttrValue(beta)}};
      const Tensor x = Random(kFloat, shape);
      const OpCase forward = Case("LRN", With(kFloat, more), {x});
      CheckOp(forward);
      CheckOp(Case("LRNGrad", With(kFloat, more), {Random(kFloat, shape, 2), x, RunOnHost(forward)[0]}));
    }
  }
  for (const Shape& shape : {Shape{5, 7}, Shape{3, 2000}, Shape{9, 1}, Shape{0, 4}, Shape{1000, 10}}) {
    for (const char* op : {"Softmax", "LogSoftmax"})
      CheckOp(Case(op, With(kFloat), {Random(kFloat, shape, 1, -9, 9)}));
    CheckOp(Case("SoftmaxCrossEntropyWithLogits", With(kFloat),
                 {Random(kFloat, shape, 1, -9, 9), Random(kFloat, shape, 2, 0, 1)}),
            3e-4);
    CheckOp(Case("SparseSoftmaxCrossEntropyWithLogits", With(kFloat, {{"Tlabels", AttrValue(kInt64)}}),
                 {Random(kFloat, shape, 1, -9, 9), IndicesBelow(shape[1], Shape{shape[0]}, 3)}));
  }
  CheckOp(Case("SoftmaxCrossEntropyWithLogits", With(kFloat),
               {Random(kFloat, Shape{6, 5}), Random(kFloat, Shape{1, 5}, 2, 0, 1)}));
}

TEST(GpuOps, BatchNormalisation) {
  LANESCOPE_NEEDS_GPU();
  for (const char* format : {"NHWC", "NCHW"}) {
    for (const Shape& shape :
         {Shape{2, 3, 5, 7}, Shape{1, 1, 1, 1}, Shape{0, 2, 3, 4}, Shape{3, 40, 9, 33}}) {
      const int64_t channels = shape[std::string(format) == "NHWC" ? 3 : 1];
      const auto vector = [&](uint32_t seed) { return Random(kFloat, Shape{channels}, seed, 0.5, 2); };
      for (const bool training : {true, false}) {
        const AttrMap attrs = {{"U", AttrValue(kFloat)},
                               {"is_training", AttrValue(training)},
                               {"exponential_avg_factor", AttrValue(0.25f)},
                               {"data_format", StringAttr(format)}};
        CheckOp(Case("FusedBatchNormV3", With(kFloat, attrs),
                     {Random(kFloat, shape), vector(2), vector(3), vector(4), vector(5)}),
                1e-4, false);
        CheckOp(Case("FusedBatchNormGradV3", With(kFloat, attrs),
                     {Random(kFloat, shape), Random(kFloat, shape, 2), vector(3), vector(4), vector(5),
                      Tensor(kFloat, Shape{0})}),
                1e-3, false);
      }
    }
  }
}

}  // namespace
}  // namespace lanescope::exec::test
