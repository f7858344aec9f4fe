// SPDX-License-Identifier: Apache-2.0
#include "tests/core/graph/op_case.h"

namespace lanescope {
namespace {

using IntList = std::vector<int64_t>;

std::vector<std::pair<std::string, AttrValue>> Windowed(int64_t stride, const std::string& padding) {
  return {{"strides", IntList{1, stride, stride, 1}}, {"padding", padding}};
}

std::vector<std::pair<std::string, AttrValue>> Pooled(int64_t size, int64_t stride,
                                                      const std::string& padding) {
  auto attrs = Windowed(stride, padding);
  attrs.emplace_back("ksize", IntList{1, size, size, 1});
  return attrs;
}

// SAME: ceil(n / stride). VALID: floor((n - (k - 1) dilation - 1) / stride) + 1.
TEST(OpNn, ConvolutionShapes) {
  auto dilated = Windowed(1, "VALID");
  dilated.emplace_back("dilations", IntList{1, 2, 2, 1});
  auto channels_first = std::vector<std::pair<std::string, AttrValue>>{{"strides", IntList{1, 1, 2, 2}},
                                                                       {"padding", std::string("SAME")},
                                                                       {"data_format", std::string("NCHW")}};
  auto padded = Windowed(1, "EXPLICIT");
  padded.emplace_back("explicit_paddings", IntList{0, 0, 1, 2, 0, 0, 0, 0});
  CheckCases({
      {"Conv2D", {Float("[128,24,24,3]"), Float("[5,5,3,64]")}, Windowed(1, "SAME"), {"[128,24,24,64]"}},
      {"Conv2D", {Float("[<=8,25,24,3]"), Float("[5,5,3,64]")}, Windowed(2, "SAME"), {"[<=8,13,12,64]"}},
      {"Conv2D", {Float("[8,25,<=24,3]"), Float("[5,4,3,64]")}, Windowed(2, "VALID"), {"[8,11,<=11,64]"}},
      {"Conv2D", {Float("[8,25,24,3]"), Float("[5,5,3,64]")}, dilated, {"[8,17,16,64]"}},
      {"Conv2D", {Float("[8,3,25,24]"), Float("[5,5,3,64]")}, channels_first, {"[8,64,13,12]"}},
      {"Conv2D", {Float("[8,10,10,3]"), Float("[3,3,3,4]")}, padded, {"[8,11,8,4]"}},
      {"Conv2D", {Float("<unknown>"), Float("[5,5,3,64]")}, Windowed(1, "SAME"), {"[?,?,?,64]"}},
      {"Conv2DBackpropInput",
       {Ints({8, 24, 24, 3}), Float("[5,5,3,64]"), Float("[8,24,24,64]")},
       Windowed(1, "SAME"),
       {"[8,24,24,3]"}},
      {"Conv2DBackpropInput",
       {Ranges({UpTo(8), Exactly(24), Exactly(24), Exactly(3)}), Float("[5,5,3,64]"),
        Float("[<=8,24,24,64]")},
       Windowed(1, "SAME"),
       {"[<=8,24,24,3]"}},
      {"Conv2DBackpropFilter",
       {Float("[8,24,24,3]"), Ints({5, 5, 3, 64}), Float("[8,24,24,64]")},
       Windowed(1, "SAME"),
       {"[5,5,3,64]"}},
  });
  CheckErrors({
      {"Conv2D",
       {Float("[8,24,3]"), Float("[5,5,3,64]")},
       Windowed(1, "SAME"),
       {"convolution input must be 4-dimensional: [8,24,3]"}},
      {"Conv2D",
       {Float("[8,24,24,4]"), Float("[5,5,3,64]")},
       Windowed(1, "SAME"),
       {"input depth must be evenly divisible by filter depth: 4 vs 3"}},
      {"Conv2D",
       {Float("[8,3,24,3]"), Float("[5,5,3,64]")},
       Windowed(1, "VALID"),
       {"Computed output size would be negative: -1 [input_size: 3, effective_filter_size: 5, stride: 1]"}},
      {"Conv2D", {Float("[8,24,24,3]"), Float("[5,5,3,64]")}, Windowed(0, "SAME"), {"strides of 0"}},
      {"Conv2DBackpropInput",
       {Ints({8, 24, 24, 3}), Float("[5,5,3,64]"), Float("[8,23,24,64]")},
       Windowed(1, "SAME"),
       {"out_backprop has shape [8,23,24,64], but the convolution's output has [8,24,24,64]"}},
  });
}

TEST(OpNn, PoolingAndNormalisation) {
  CheckCases({
      {"MaxPool", {Float("[128,24,25,64]")}, Pooled(3, 2, "SAME"), {"[128,12,13,64]"}},
      {"AvgPool", {Float("[128,24,25,64]")}, Pooled(3, 2, "VALID"), {"[128,11,12,64]"}},
      {"MaxPoolGrad",
       {Float("[8,24,24,64]"), Float("[8,12,12,64]"), Float("[8,12,12,64]")},
       Pooled(3, 2, "SAME"),
       {"[8,24,24,64]"}},
      {"AvgPoolGrad", {Ints({8, 24, 24, 64}), Float("[8,12,12,64]")}, Pooled(3, 2, "SAME"), {"[8,24,24,64]"}},
      {"LRN", {Float("[8,24,24,64]")}, {}, {"[8,24,24,64]"}},
      {"LRNGrad",
       {Float("[8,24,24,64]"), Float("[8,24,24,64]"), Float("[?,24,24,64]")},
       {},
       {"[8,24,24,64]"}},
      {"FusedBatchNormV3",
       {Float("[8,4,4,6]"), Float("[6]"), Float("[6]"), Float("[0]"), Float("[0]")},
       {},
       {"[8,4,4,6]", "[6]", "[6]", "[6]", "[6]", "[0]"}},
  });
  CheckErrors({{"MaxPoolGrad",
                {Float("[8,24,24,64]"), Float("[8,11,12,64]"), Float("[8,12,12,64]")},
                Pooled(3, 2, "SAME"),
                {"Expected orig_output shape to be [8,12,12,64], but got [8,11,12,64]"}}});
}

TEST(OpNn, BiasAndLosses) {
  CheckCases({
      {"BiasAdd", {Float("[<=8,24,?]"), Float("[64]")}, {}, {"[<=8,24,64]"}},
      {"BiasAdd",
       {Float("[8,?,24,24]"), Float("[64]")},
       {{"data_format", std::string("NCHW")}},
       {"[8,64,24,24]"}},
      {"BiasAddGrad", {Float("[<=8,24,64]")}, {}, {"[64]"}},
      {"Softmax", {Float("[<=8,10]")}, {}, {"[<=8,10]"}},
      {"SoftmaxCrossEntropyWithLogits", {Float("[8,10]"), Float("[8,10]")}, {}, {"[8]", "[8,10]"}},
      {"SparseSoftmaxCrossEntropyWithLogits",
       {Float("[?,10]"), Typed(DataType::kInt64, "[8]")},
       {},
       {"[8]", "[8,10]"}},
  });
  CheckErrors({
      {"BiasAdd",
       {Float("[8,24]"), Float("[64]")},
       {},
       {"Must provide as many biases as the last dimension of the input tensor: [64] vs. [8,24]"}},
      {"Softmax", {Float("[]")}, {}, {"logits must have >= 1 dimension, got []"}},
      {"SparseSoftmaxCrossEntropyWithLogits",
       {Float("[9,10]"), Typed(DataType::kInt64, "[8]")},
       {},
       {"got logits shape [9,10] and labels shape [8]"}},
  });
}

TEST(OpNn, MatrixProducts) {
  CheckCases({
      {"MatMul", {Float("[2,3]"), Float("[3,4]")}, {}, {"[2,4]"}},
      {"MatMul",
       {Float("[3,<=2]"), Float("[4,3]")},
       {{"transpose_a", true}, {"transpose_b", true}},
       {"[<=2,4]"}},
      {"MatMul", {Float("<unknown>"), Float("[3,4]")}, {}, {"[?,4]"}},
      {"BatchMatMulV2", {Float("[5,1,2,3]"), Float("[6,3,4]")}, {}, {"[5,6,2,4]"}},
      {"BatchMatMulV3", {Float("[5,1,2,3]"), Float("[6,3,4]")}, {{"Tout", DataType::kFloat}}, {"[5,6,2,4]"}},
      {"BatchMatMulV2", {Float("[5,3,2]"), Float("[5,3,4]")}, {{"adj_x", true}}, {"[5,2,4]"}},
  });
  CheckErrors({
      {"MatMul",
       {Float("[2,3]"), Float("[4,5]")},
       {},
       {"Matrix size-incompatible: In[0]: [2,3], In[1]: [4,5]"}},
      {"MatMul", {Float("[2]"), Float("[4,5]")}, {}, {"have to be matrices"}},
  });
}

}  // namespace
}  // namespace lanescope
