// SPDX-License-Identifier: Apache-2.0
#include "tests/core/graph/op_case.h"

namespace lanescope {
namespace {

using Ints64 = std::vector<int64_t>;
using Attrs = std::vector<std::pair<std::string, AttrValue>>;

Attrs OfVolumes(int64_t stride, const std::string& padding, const std::string& format = "NDHWC") {
  const Ints64 strides =
      format == "NDHWC" ? Ints64{1, stride, stride, stride, 1} : Ints64{1, 1, stride, stride, stride};
  return {{"strides", strides}, {"padding", padding}, {"data_format", format}};
}

Attrs OfPooledVolumes(int64_t size, int64_t stride, const std::string& padding) {
  Attrs attrs = OfVolumes(stride, padding);
  attrs.emplace_back("ksize", Ints64{1, size, size, size, 1});
  return attrs;
}

// Along each dimension as Conv2D. SAME: ceil(n / stride). VALID: floor((n - k) / stride) + 1.
TEST(OpImage, Volumes) {
  CheckCases({
      {"Conv3D", {Float("[8,9,24,25,3]"), Float("[3,5,5,3,4]")}, OfVolumes(2, "SAME"), {"[8,5,12,13,4]"}},
      {"Conv3D",
       {Float("[<=8,9,24,<=25,3]"), Float("[3,5,5,3,4]")},
       OfVolumes(2, "VALID"),
       {"[<=8,4,10,<=11,4]"}},
      {"Conv3D",
       {Float("[8,3,9,24,25]"), Float("[3,5,5,3,4]")},
       OfVolumes(1, "SAME", "NCDHW"),
       {"[8,4,9,24,25]"}},
      {"Conv3D", {Float("<unknown>"), Float("[3,5,5,3,4]")}, OfVolumes(1, "SAME"), {"[?,?,?,?,4]"}},
      {"Conv3DBackpropInputV2",
       {Ints({8, 9, 8, 7, 3}), Float("[3,3,3,3,4]"), Float("[8,9,8,7,4]")},
       OfVolumes(1, "SAME"),
       {"[8,9,8,7,3]"}},
      {"Conv3DBackpropFilterV2",
       {Float("[8,9,8,7,3]"), Ints({3, 3, 3, 3, 4}), Float("[8,9,8,7,4]")},
       OfVolumes(1, "SAME"),
       {"[3,3,3,3,4]"}},
      {"MaxPool3D", {Float("[8,9,8,7,3]")}, OfPooledVolumes(2, 2, "VALID"), {"[8,4,4,3,3]"}},
      {"AvgPool3DGrad",
       {Ints({8, 9, 8, 7, 3}), Float("[8,4,4,3,3]")},
       OfPooledVolumes(2, 2, "VALID"),
       {"[8,9,8,7,3]"}},
  });
  CheckErrors({
      {"Conv3D",
       {Float("[8,9,24,3]"), Float("[3,5,5,3,4]")},
       OfVolumes(1, "SAME"),
       {"input must be 5-dimensional: [8,9,24,3]"}},
      {"Conv3D",
       {Float("[8,9,8,7,4]"), Float("[3,3,3,3,4]")},
       OfVolumes(1, "SAME"),
       {"input depth must be evenly divisible by filter depth: 4 vs 3"}},
      {"AvgPool3DGrad",
       {Ints({8, 9, 8, 7, 3}), Float("[8,5,4,3,3]")},
       OfPooledVolumes(2, 2, "VALID"),
       {"Expected grad shape to be [8,4,4,3,3], but got [8,5,4,3,3]"}},
  });
}

TEST(OpImage, BlocksAndSequences) {
  const Attrs two = {{"block_size", int64_t{2}}};
  const Attrs rows = {{"seq_dim", int64_t{1}}};
  CheckCases({
      {"DepthToSpace", {Float("[<=3,4,5,8]")}, two, {"[<=3,8,10,2]"}},
      {"SpaceToDepth", {Float("[3,8,<=11,2]")}, two, {"[3,4,<=5,8]"}},
      {"ReverseSequence", {Float("[3,4,?]"), Int("[3]")}, rows, {"[3,4,?]"}},
  });
  CheckErrors({
      {"DepthToSpace", {Float("[3,4,5,6]")}, two, {"Input depth dimension 6 should be divisible by: 4"}},
      {"SpaceToDepth", {Float("[3,8,11,2]")}, two, {"Image width 11 should be divisible by block_size: 2"}},
      {"ReverseSequence",
       {Float("[3,4]"), Int("[4]")},
       rows,
       {"Length of seq_lens != input.dims(0), (4 vs. 3)"}},
      {"ReverseSequence", {Float("[3]"), Int("[3]")}, rows, {"seq_dim must be < input rank ( 1 vs. 1)"}},
  });
}

TEST(OpImage, Resized) {
  CheckCases({
      {"ResizeBilinear", {Float("[3,4,5,6]"), Ints({7, 9})}, {}, {"[3,7,9,6]"}},
      {"ResizeNearestNeighbor", {Float("[<=3,4,5,6]"), Int("[2]")}, {}, {"[<=3,?,?,6]"}},
      {"ResizeBilinearGrad", {Float("[3,7,9,6]"), Float("[3,4,5,6]")}, {}, {"[3,4,5,6]"}},
      {"ResizeNearestNeighborGrad", {Float("[3,7,9,6]"), Ints({4, 5})}, {}, {"[3,4,5,6]"}},
  });
  CheckErrors({
      {"ResizeBilinear", {Float("[3,4,5,6]"), Ints({0, 9})}, {}, {"output dimensions must be positive"}},
      {"ResizeBilinear",
       {Float("[3,4,5,6]"), Ints({9})},
       {},
       {"shape_t must be a vector of two elements, not [1]"}},
      {"ResizeBilinear",
       {Float("[3,4,5,6]"), Ints({7, 9})},
       {{"align_corners", true}, {"half_pixel_centers", true}},
       {"If half_pixel_centers is True, align_corners must be False."}},
  });
}

TEST(OpImage, Sampled) {
  const Attrs candidates = {
      {"num_true", int64_t{2}}, {"num_sampled", int64_t{5}}, {"unique", true}, {"range_max", int64_t{9}}};
  Attrs too_many = candidates;
  too_many[1].second = int64_t{10};
  CheckCases({
      {"Multinomial", {Float("[3,9]"), Scalar(4)}, {}, {"[3,4]"}},
      {"Multinomial", {Float("[<=3,9]"), Int("[]")}, {}, {"[<=3,?]"}},
      {"LogUniformCandidateSampler", {Typed(DataType::kInt64, "[3,2]")}, candidates, {"[5]", "[3,2]", "[5]"}},
      {"ComputeAccidentalHits",
       {Typed(DataType::kInt64, "[3,2]"), Typed(DataType::kInt64, "[5]")},
       {{"num_true", int64_t{2}}},
       {"[<=6]", "[<=6]", "[<=6]"}},
  });
  CheckErrors({
      {"Multinomial", {Float("[3,0]"), Scalar(4)}, {}, {"num_classes should be positive, got 0"}},
      {"UniformCandidateSampler",
       {Typed(DataType::kInt64, "[3,2]")},
       too_many,
       {"Sampler's range is too small."}},
      {"UniformCandidateSampler",
       {Typed(DataType::kInt64, "[3,3]")},
       candidates,
       {"true_classes must have num_true columns, expected: 3 was: 2"}},
  });
}

}  // namespace
}  // namespace lanescope
