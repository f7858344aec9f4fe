// SPDX-License-Identifier: Apache-2.0
#include "tests/core/graph/op_case.h"

namespace lanescope {
namespace {

const DataType kInt64Type = DataType::kInt64;

TEST(OpSparse, Gathers) {
  CheckCases({
      {"GatherV2", {Float("[100,50]"), Int("[32,<=9]"), Scalar(0)}, {}, {"[32,<=9,50]"}},
      {"GatherV2", {Float("[2,100,50]"), Int("[7]"), Scalar(1)}, {}, {"[2,7,50]"}},
      {"GatherV2",
       {Float("[2,100,50]"), Int("[2,7]"), Scalar(1)},
       {{"batch_dims", int64_t{1}}},
       {"[2,7,50]"}},
      {"GatherV2", {Float("[2,3]"), Int("[7]"), Int("[]")}, {}, {"[?,?]"}},
      {"GatherV2", {Ints({10, 20, 30}), Ints({2, 0}), Scalar(0)}, {}, {"[2]={30,10}"}},
      {"GatherV2", {Ranges({UpTo(9), Exactly(3)}), Ints({1}), Scalar(0)}, {}, {"[1]={3}"}},
      {"Gather", {Float("[100,50]"), Int("[]")}, {}, {"[50]"}},
      {"GatherNd", {Float("[4,5,6]"), Int("[7,2]")}, {}, {"[7,6]"}},
      {"ScatterNd", {Int("[7,1]"), Float("[7,6]"), Ints({9, 6})}, {}, {"[9,6]"}},
      {"TensorScatterAdd", {Float("[9,6]"), Int("[7,1]"), Float("[7,6]")}, {}, {"[9,6]"}},
  });
  CheckErrors({
      {"GatherV2", {Ints({10, 20, 30}), Ints({3}), Scalar(0)}, {}, {"index 3 is outside"}},
      {"GatherV2", {Float("[]"), Int("[3]"), Scalar(0)}, {}, {"params must be at least 1 dimensional"}},
      {"GatherNd",
       {Float("[4,5]"), Int("[7,3]")},
       {},
       {"index innermost dimension length must be <= params rank; saw: 3 vs. 2"}},
  });
}

// The number of distinct values, of true elements and of a partition's rows is bounded, not known.
TEST(OpSparse, DataDependentSizesAreBounded) {
  CheckCases({
      {"Unique", {Typed(kInt64Type, "[51200]")}, {}, {"[<=51200]", "[51200]"}},
      {"Unique", {Typed(kInt64Type, "[1]")}, {}, {"[1]", "[1]"}},
      {"UniqueWithCounts", {Typed(kInt64Type, "[<=9]")}, {}, {"[<=9]", "[<=9]", "[<=9]"}},
      {"Where", {Typed(DataType::kBool, "[3,4]")}, {}, {"[<=12,2]"}},
      {"DynamicPartition",
       {Float("[8,5]"), Int("[8]")},
       {{"num_partitions", int64_t{2}}},
       {"[<=8,5]", "[<=8,5]"}},
      {"DynamicStitch",
       {Ints({0, 2}), Ints({1}), Ints({10, 12}), Ints({11})},
       {{"N", int64_t{2}}},
       {"[3]={10,11,12}"}},
      {"DynamicStitch",
       {Int("[2]"), Ints({1}), Float("[2,7]"), Float("[1,7]")},
       {{"N", int64_t{2}}},
       {"[<=3,7]"}},
      // Rows of a partition are those of its data, so a stitch by them has as many rows.
      {"DynamicPartition",
       {Ints({0, 1, 2}), Int("[3]")},
       {{"num_partitions", int64_t{2}}},
       {"[<=3]~{0..2}", "[<=3]~{0..2}"}},
      {"DynamicStitch",
       {Ranges({UpTo(7)}, "[<=8]"), Ranges({UpTo(7)}, "[<=8]"), Float("[<=8,5]"), Float("[<=8,5]")},
       {{"N", int64_t{2}}},
       {"[<=8,5]"}},
      {"ParallelDynamicStitch",
       {Int("[<=8]"), Int("[<=8]"), Float("[<=8,5]"), Float("[<=8,5]")},
       {{"N", int64_t{2}}},
       {"[<=16,5]"}},
  });
}

// y has as many slices across the axis as differ.
TEST(OpSparse, DistinctSlices) {
  CheckCases({
      {"UniqueV2", {Float("[3,4]"), Ints({0})}, {}, {"[<=3,4]", "[3]"}},
      {"UniqueV2", {Float("[3,4]"), Ints({-1})}, {}, {"[3,<=4]", "[4]"}},
      {"UniqueV2", {Float("[1,4]"), Ints({0})}, {}, {"[1,4]", "[1]"}},
      {"UniqueV2", {Float("[3,4]"), Int("[1]")}, {}, {"[<=3,<=4]", "[<=4]"}},
      {"UniqueV2", {Float("[9]"), Int("[1]")}, {}, {"[<=9]", "[9]"}},
      {"UniqueV2", {Float("[9]"), Int("[0]")}, {}, {"[<=9]", "[9]"}},
      {"UniqueWithCountsV2", {Float("[2,3,4]"), Ints({1})}, {}, {"[2,<=3,4]", "[3]", "[<=3]"}},
  });
  CheckErrors({
      {"UniqueV2", {Float("[3,4]"), Ints({2})}, {}, {"Expected axis in the range [-2, 2), but got 2"}},
      {"UniqueV2", {Float("[3,4]"), Ints({0, 1})}, {}, {"2 axes"}},
      {"UniqueV2", {Float("[3,4]"), Int("[0]")}, {}, {"contradict"}},
  });
}

TEST(OpSparse, Segments) {
  CheckCases({
      {"UnsortedSegmentSum", {Float("[9,50]"), Int("[9]"), Scalar(4)}, {}, {"[4,50]"}},
      {"UnsortedSegmentSum", {Float("[9,50]"), Int("[9]"), Ranges({UpTo(9)}, "[]")}, {}, {"[<=9,50]"}},
      {"UnsortedSegmentSum", {Float("[9,50]"), Int("[9]"), Int("[]")}, {}, {"[?,50]"}},
      {"UnsortedSegmentSum", {Float("[3,4,50]"), Int("[3,4]"), Scalar(4)}, {}, {"[4,50]"}},
      {"SegmentSum", {Float("[9,50]"), Int("[9]")}, {}, {"[<=9,50]"}},
      {"SegmentSum", {Float("[9,50]"), Ranges({UpTo(20)}, "[9]")}, {}, {"[<=21,50]"}},
      {"SparseSegmentMean", {Float("[9,50]"), Int("[6]"), Int("[6]")}, {}, {"[<=6,50]"}},
      {"SegmentSum", {Float("[3,50]"), Ints({0, 0, 4})}, {}, {"[5,50]"}},
      {"SparseSegmentSumWithNumSegments",
       {Float("[9,50]"), Int("[6]"), Int("[6]"), Scalar(4)},
       {},
       {"[4,50]"}},
      {"SparseSegmentMeanGrad", {Float("[4,50]"), Int("[6]"), Int("[6]"), Scalar(9)}, {}, {"[9,50]"}},
  });
  CheckErrors({
      {"UnsortedSegmentSum",
       {Float("[9,50]"), Int("[8]"), Scalar(4)},
       {},
       {"data.shape = [9,50] does not start with segment_ids.shape = [8]"}},
      {"SparseSegmentSum",
       {Float("[9,50]"), Int("[6]"), Int("[5]")},
       {},
       {"segment_ids and indices should have same size."}},
  });
}

TEST(OpSparse, RandomTensorsHaveTheShapeAskedFor) {
  const std::pair<std::string, AttrValue> dtype{"dtype", DataType::kFloat};
  CheckCases({
      {"RandomUniform", {Ints({3, 4})}, {dtype}, {"[3,4]"}},
      {"TruncatedNormal", {Ranges({UpTo(3), Exactly(4)})}, {dtype}, {"[<=3,4]"}},
      {"RandomShuffle", {Float("[3,4]")}, {}, {"[3,4]"}},
      {"AsString", {Int("[3,<=4]")}, {}, {"[3,<=4]"}},
  });
}

// A sum over the rows of equal words: Unique bounds the rows, and the bound reaches all that follows.
TEST(OpSparse, BoundsReachWhatFollowsUnique) {
  GraphBuilder builder;
  const Endpoint ids = builder.Placeholder("ids", kInt64Type, {100});
  const Endpoint gradient = builder.Placeholder("gradient", DataType::kFloat, {100, 50});
  const Endpoint unique = builder.Op("Unique", "unique").Input(ids).Build();
  const Endpoint shape = builder.Op("Shape", "shape").Input(unique).Build();
  const auto constant = [&](const std::string& name, int value) {
    return builder.Const(name, Tensor::FromValues<int32_t>({1}, {value}));
  };
  const Endpoint rows =
      builder.Op("StridedSlice", "rows")
          .Inputs(std::vector<Endpoint>{shape, constant("b", 0), constant("e", 1), constant("s", 1)})
          .Attr("shrink_axis_mask", 1)
          .Build();
  const Endpoint sum = builder.Op("UnsortedSegmentSum", "sum")
                           .Inputs(std::vector<Endpoint>{gradient, {unique.node, 1}, rows})
                           .Build();
  const Endpoint root = builder.Op("Sqrt", "root").Input(sum).Build();
  const GraphInfo info = InferGraph(builder.graph(), {});
  EXPECT_EQ(Describe(info.of(unique)), "[<=100]");
  EXPECT_EQ(Describe(info.of(rows)), "[]~{0..100}");
  EXPECT_EQ(Describe(info.of(root)), "[<=100,50]");
}

}  // namespace
}  // namespace lanescope
