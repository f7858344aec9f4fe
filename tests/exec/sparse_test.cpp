// SPDX-License-Identifier: Apache-2.0
// Ops that group or address rows, against loops over the definition.
#include <gtest/gtest.h>

#include <limits>
#include <unordered_map>

#include "tests/exec/kernel_harness.h"
#include "tests/exec/tensor_values.h"

namespace lanescope::exec::test {
namespace {

constexpr DataType kI = DataType::kInt32;
constexpr DataType kL = DataType::kInt64;

std::vector<Tensor> Unique(const Tensor& x, DataType index = kI) {
  return RunKernel(MakeNode("Unique"), {x}, {{x.dtype(), {BoundedDim(x.NumElements())}}, {index, x.shape()}});
}

TEST(Unique, KeepsOrderOfFirstOccurrence) {
  const auto longs = Unique(Longs({7, -1, 7, 3, -1}));
  EXPECT_EQ(ListOf<int64_t>(longs[0]), (std::vector<int64_t>{7, -1, 3}));
  EXPECT_EQ(ListOf<int32_t>(longs[1]), (std::vector<int32_t>{0, 1, 0, 2, 1}));
  const auto words = Unique(Strings({3}, {"b", "a", "b"}), kL);
  EXPECT_EQ(ListOf<std::string>(words[0]), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(ListOf<int64_t>(words[1]), (std::vector<int64_t>{0, 1, 0}));
  EXPECT_EQ(Unique(Longs({}))[0].shape(), Shape({0}));
  EXPECT_EQ(Unique(Floats({2}, {0.0f, -0.0f}))[0].shape(), Shape({1}));
}

TEST(Unique, ManyValuesMatchAMap) {
  std::vector<int64_t> values;
  uint64_t state = 5;
  for (int i = 0; i < 51200; ++i) {
    state = state * 6364136223846793005u + 1;
    values.push_back(static_cast<int64_t>(state >> 40) % 90000 << (i % 3 * 16));
  }
  const auto results = Unique(Longs(values));
  std::unordered_map<int64_t, int32_t> numbers;
  std::vector<int64_t> distinct;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto [found, added] = numbers.emplace(values[i], static_cast<int32_t>(distinct.size()));
    if (added) distinct.push_back(values[i]);
    ASSERT_EQ(results[1].data<int32_t>()[i], found->second) << i;
  }
  EXPECT_EQ(ListOf<int64_t>(results[0]), distinct);
}

TEST(UniqueWithCounts, CountsEachValue) {
  const auto results = RunKernel(MakeNode("UniqueWithCounts"), {Ints({4, 4, 2})},
                                 {{kI, {BoundedDim(3)}}, {kI, {3}}, {kI, {BoundedDim(3)}}});
  EXPECT_EQ(ListOf<int32_t>(results[0]), (std::vector<int32_t>{4, 2}));
  EXPECT_EQ(ListOf<int32_t>(results[2]), (std::vector<int32_t>{2, 1}));
}

TEST(Where, ListsCoordinatesOfTrueElements) {
  const auto result = RunKernel(MakeNode("Where"), {Values<bool>({2, 2}, {true, false, true, true})},
                                {{kL, {BoundedDim(4), 2}}})[0];
  EXPECT_EQ(result.shape(), Shape({3, 2}));
  EXPECT_EQ(ListOf<int64_t>(result), (std::vector<int64_t>{0, 0, 1, 0, 1, 1}));
}

Tensor Unsorted(const std::string& op, const Tensor& data, const Tensor& ids, int32_t segments,
                int workers = 1) {
  Shape shape{segments};
  for (int d = ids.shape().rank(); d < data.shape().rank(); ++d) shape.Append(data.shape()[d]);
  return RunKernel(MakeNode(op), {data, ids, Tensor::Scalar(segments)}, {{data.dtype(), shape}}, workers)[0];
}

TEST(UnsortedSegment, DropsNegativeIdsAndFillsEmptySegments) {
  const Tensor data = Floats({4, 1}, {2, 3, 5, 7});
  const Tensor ids = Ints({2, -1, 0, 2});
  const float low = std::numeric_limits<float>::lowest();
  const float high = std::numeric_limits<float>::max();
  EXPECT_EQ(ListOf<float>(Unsorted("UnsortedSegmentSum", data, ids, 3)), (std::vector<float>{5, 0, 9}));
  EXPECT_EQ(ListOf<float>(Unsorted("UnsortedSegmentProd", data, ids, 3)), (std::vector<float>{5, 1, 14}));
  EXPECT_EQ(ListOf<float>(Unsorted("UnsortedSegmentMax", data, ids, 3)), (std::vector<float>{5, low, 7}));
  EXPECT_EQ(ListOf<float>(Unsorted("UnsortedSegmentMin", data, ids, 3)), (std::vector<float>{5, high, 2}));
  EXPECT_EQ(Unsorted("UnsortedSegmentSum", data, ids, 3).shape(), Shape({3, 1}));
  EXPECT_EQ(Unsorted("UnsortedSegmentSum", Counting({0, 2}), Ints({}), 0).shape(), Shape({0, 2}));
}

TEST(UnsortedSegment, NamesTheBadId) {
  ExpectError(Code::kInvalidArgument, "segment_ids[1] = 3 is out of range [0, 3)", [] {
    Unsorted("UnsortedSegmentSum", Counting({2}), Ints({0, 3}), 3);
  });
  ExpectError(Code::kInvalidArgument, "data.shape = [2] does not start with segment_ids.shape = [3]", [] {
    Unsorted("UnsortedSegmentSum", Counting({2}), Ints({0, 0, 0}), 1);
  });
}

// Large enough to be split over workers: sums in row order, bit by bit, however many there are.
TEST(UnsortedSegment, LargeSumsAreInRowOrder) {
  const int64_t rows = 51200;
  const int64_t inner = 50;
  const int32_t segments = 20000;
  const Tensor data = Noise({rows, inner});
  Tensor ids(kI, {rows});
  for (int64_t i = 0; i < rows; ++i)
    ids.data<int32_t>()[i] = static_cast<int32_t>(i * 7919 % (segments + 100)) - 50;
  for (int64_t i = 0; i < rows; ++i) {
    if (ids.data<int32_t>()[i] >= segments) ids.data<int32_t>()[i] = 0;
  }
  std::vector<float> expected(static_cast<size_t>(segments * inner), 0.0f);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t id = ids.data<int32_t>()[i];
    if (id < 0) continue;
    for (int64_t k = 0; k < inner; ++k)
      expected[static_cast<size_t>(id * inner + k)] += data.data<float>()[i * inner + k];
  }
  const Tensor reference = Tensor::FromValues<float>({segments, inner}, expected);
  for (const int workers : {1, 2, 7})
    ExpectBitwiseEqual(Unsorted("UnsortedSegmentSum", data, ids, segments, workers), reference);
}

Tensor Segment(const std::string& op, std::vector<Tensor> inputs) {
  return RunKernel(MakeNode(op), std::move(inputs), {{kF, {BoundedDim(8), 2}}})[0];
}

TEST(Segment, SortedIdsWithAGap) {
  const Tensor data = Floats({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor ids = Ints({0, 0, 2});
  ExpectBitwiseEqual(Segment("SegmentSum", {data, ids}), Floats({3, 2}, {4, 6, 0, 0, 5, 6}));
  ExpectBitwiseEqual(Segment("SegmentMean", {data, ids}), Floats({3, 2}, {2, 3, 0, 0, 5, 6}));
  ExpectBitwiseEqual(Segment("SegmentMax", {data, ids}), Floats({3, 2}, {3, 4, 0, 0, 5, 6}));
  ExpectBitwiseEqual(Segment("SegmentProd", {data, ids}), Floats({3, 2}, {3, 8, 1, 1, 5, 6}));
  ExpectError(Code::kInvalidArgument, "segment ids are not increasing", [&] {
    Segment("SegmentSum", {data, Ints({1, 0, 0})});
  });
  ExpectError(Code::kInvalidArgument, "Segment id -1 out of range [0, 1)", [&] {
    Segment("SegmentSum", {data, Ints({-1, 0, 0})});
  });
}

TEST(SparseSegment, GathersThenReduces) {
  const Tensor data = Floats({3, 2}, {1, 2, 3, 4, 5, 6});
  ExpectBitwiseEqual(Segment("SparseSegmentSum", {data, Ints({2, 0}), Ints({0, 0})}), Floats({1, 2}, {6, 8}));
  ExpectBitwiseEqual(Segment("SparseSegmentMean", {data, Ints({2, 0}), Ints({0, 0})}),
                     Floats({1, 2}, {3, 4}));
  ExpectError(Code::kInvalidArgument, "Bad: indices[0] == 3 out of range [0, 3)", [&] {
    Segment("SparseSegmentSum", {data, Ints({3}), Ints({0})});
  });
}

TEST(DynamicStitch, LaterRowsWin) {
  const Tensor result = RunKernel(
      MakeNode("DynamicStitch"), {Ints({0, 2}), Ints({2, 1}), Floats({2, 1}, {1, 2}), Floats({2, 1}, {3, 4})},
      {{kF, {BoundedDim(8), 1}}})[0];
  ExpectBitwiseEqual(result, Floats({3, 1}, {1, 4, 3}));
}

TEST(DynamicPartition, KeepsOrderInEachPart) {
  const Node node = MakeNode("DynamicPartition", {{"num_partitions", IntAttr(2)}});
  const auto parts = RunKernel(node, {Floats({3, 1}, {1, 2, 3}), Ints({1, 0, 1})},
                               {{kF, {BoundedDim(3), 1}}, {kF, {BoundedDim(3), 1}}});
  ExpectBitwiseEqual(parts[0], Floats({1, 1}, {2}));
  ExpectBitwiseEqual(parts[1], Floats({2, 1}, {1, 3}));
  ExpectError(Code::kInvalidArgument, "partitions[0] = 2 is not in [0, 2)", [&] {
    RunKernel(node, {Floats({1}, {1}), Ints({2})}, {{kF, {BoundedDim(1)}}, {kF, {BoundedDim(1)}}});
  });
}

TEST(ScatterNd, AddsRepeatedIndices) {
  const Tensor result =
      RunKernel(MakeNode("ScatterNd"),
                {Values<int32_t>({3, 1}, {1, 3, 1}), Floats({3}, {5, 6, 7}), Ints({4})}, {{kF, {4}}})[0];
  ExpectBitwiseEqual(result, Floats({4}, {0, 12, 0, 6}));
  ExpectError(Code::kInvalidArgument, "indices[0] = [5] does not index into", [] {
    RunKernel(MakeNode("ScatterNd"), {Values<int32_t>({1, 1}, {5}), Floats({1}, {5}), Ints({4})},
              {{kF, {4}}});
  });
}

}  // namespace
}  // namespace lanescope::exec::test
