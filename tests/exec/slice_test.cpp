// SPDX-License-Identifier: Apache-2.0
// Ops that take a part of a tensor, by ranges or by indices.
#include <gtest/gtest.h>

#include <limits>

#include "tests/exec/single_output.h"
#include "tests/exec/tensor_values.h"

namespace lanescope::exec::test {
namespace {

TEST(Slice, TakesTheRestForMinusOne) {
  const Tensor x = Counting({3, 4});
  ExpectBitwiseEqual(RunUnplanned(MakeNode("Slice"), {x, Ints({1, 1}), Ints({-1, 2})}),
                     Floats({2, 2}, {5, 6, 9, 10}));
  ExpectError(Code::kInvalidArgument, "Expected begin[0] in [0, 3], but got 4", [&] {
    RunUnplanned(MakeNode("Slice"), {x, Ints({4, 0}), Ints({0, 0})});
  });
  ExpectError(Code::kInvalidArgument, "Expected size[1] in [0, 3], but got 4", [&] {
    RunUnplanned(MakeNode("Slice"), {x, Ints({0, 1}), Ints({1, 4})});
  });
}

struct Masks {
  int64_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink = 0;
};

Node StridedSliceNode(const std::string& op, const Masks& masks) {
  return MakeNode(op, {{"begin_mask", IntAttr(masks.begin)},
                       {"end_mask", IntAttr(masks.end)},
                       {"ellipsis_mask", IntAttr(masks.ellipsis)},
                       {"new_axis_mask", IntAttr(masks.new_axis)},
                       {"shrink_axis_mask", IntAttr(masks.shrink)}});
}

Tensor Sliced(std::vector<int32_t> begin, std::vector<int32_t> end, std::vector<int32_t> strides,
              const Masks& masks) {
  return RunUnplanned(
      StridedSliceNode("StridedSlice", masks),
      {Counting({2, 3, 4}), Ints(std::move(begin)), Ints(std::move(end)), Ints(std::move(strides))});
}

TEST(StridedSlice, FollowsPythonsRules) {
  // x[1], x[..., 2], x[:, None, 0, ::-2], x[-1:, 5:, :]
  ExpectBitwiseEqual(Sliced({1}, {2}, {1}, {.shrink = 1}),
                     Floats({3, 4}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  ExpectBitwiseEqual(Sliced({0, 2}, {0, 3}, {1, 1}, {.ellipsis = 1, .shrink = 2}),
                     Floats({2, 3}, {2, 6, 10, 14, 18, 22}));
  ExpectBitwiseEqual(
      Sliced({0, 0, 0, 0}, {0, 0, 1, 0}, {1, 1, 1, -2}, {.begin = 9, .end = 9, .new_axis = 2, .shrink = 4}),
      Floats({2, 1, 2}, {3, 1, 15, 13}));
  EXPECT_EQ(Sliced({-1, 5}, {0, 0}, {1, 1}, {.end = 3}).shape(), Shape({1, 0, 4}));
  // One element is taken where it stands, whether its begin is masked or not, and never backwards.
  ExpectBitwiseEqual(Sliced({1, 2, -1}, {0, 0, 0}, {1, 1, 1}, {.begin = 7, .end = 7, .shrink = 7}),
                     Floats({}, {23}));
  ExpectError(Code::kInvalidArgument, "only stride 1 allowed on non-range indexing.",
              [] { Sliced({1}, {2}, {-1}, {.shrink = 1}); });
  ExpectError(Code::kInvalidArgument, "slice index 2 of dimension 0 out of bounds.",
              [] { Sliced({2}, {3}, {1}, {.shrink = 1}); });
  ExpectError(Code::kInvalidArgument, "strides[0] must be non-zero", [] { Sliced({0}, {1}, {0}, {}); });
  ExpectError(Code::kInvalidArgument, "input has only 3 dims", [] {
    Sliced({0, 0, 0, 0}, {1, 1, 1, 1}, {1, 1, 1, 1}, {});
  });
}

TEST(StridedSlice, SurvivesExtremeIndices) {
  const int32_t low = std::numeric_limits<int32_t>::min();
  const int32_t high = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(Sliced({low}, {high}, {high}, {}).shape(), Shape({1, 3, 4}));
  EXPECT_EQ(Sliced({high}, {low}, {low}, {}).shape(), Shape({1, 3, 4}));
}

TEST(StridedSliceGrad, PutsTheGradientBack) {
  const Tensor grad =
      RunUnplanned(StridedSliceNode("StridedSliceGrad", {.shrink = 1}),
                   {Ints({2, 3}), Ints({1, 2}), Ints({2, 0}), Ints({1, -2}), Floats({1}, {7})});
  ExpectBitwiseEqual(grad, Floats({2, 3}, {0, 0, 0, 0, 0, 7}));
}

TEST(Gather, TakesRowsOfAnyAxis) {
  const Tensor x = Counting({2, 3, 2});
  const Tensor rows = RunUnplanned(MakeNode("GatherV2", {{"batch_dims", IntAttr(0)}}),
                                   {x, Ints({2, 0}), Tensor::Scalar<int32_t>(1)});
  ExpectBitwiseEqual(rows, Floats({2, 2, 2}, {4, 5, 0, 1, 10, 11, 6, 7}));
  const Tensor batched = RunUnplanned(MakeNode("GatherV2", {{"batch_dims", IntAttr(1)}}),
                                      {x, Values<int32_t>({2, 1}, {2, 1}), Tensor::Scalar<int32_t>(1)});
  ExpectBitwiseEqual(batched, Floats({2, 1, 2}, {4, 5, 8, 9}));
  EXPECT_EQ(RunUnplanned(MakeNode("Gather"), {x, Longs({})}).shape(), Shape({0, 3, 2}));
  ExpectBitwiseEqual(RunUnplanned(MakeNode("Gather"), {Strings({2}, {"a", "b"}), Tensor::Scalar<int64_t>(1)},
                                  64, DataType::kString),
                     Strings({}, {"b"}));
}

TEST(Gather, NamesTheBadIndex) {
  Tensor x(DataType::kFloat, {90000, 1});
  ExpectError(Code::kInvalidArgument, "indices[3] = 90001 is not in [0, 90000)", [&] {
    RunUnplanned(MakeNode("Gather"), {x, Ints({0, 1, 2, 90001, -5})});
  });
  ExpectError(Code::kInvalidArgument, "indices[1,0] = -1 is not in [0, 90000)", [&] {
    RunUnplanned(MakeNode("Gather"), {x, Values<int64_t>({2, 1}, {0, -1})});
  });
}

TEST(GatherNd, TakesElementsAndRows) {
  const Tensor x = Counting({2, 3});
  ExpectBitwiseEqual(RunUnplanned(MakeNode("GatherNd"), {x, Values<int32_t>({2, 2}, {1, 2, 0, 1})}),
                     Floats({2}, {5, 1}));
  ExpectBitwiseEqual(RunUnplanned(MakeNode("GatherNd"), {x, Values<int32_t>({1, 1}, {1})}),
                     Floats({1, 3}, {3, 4, 5}));
  ExpectError(Code::kInvalidArgument, "indices[1] = [2, 0] does not index into param shape [2,3]", [&] {
    RunUnplanned(MakeNode("GatherNd"), {x, Values<int32_t>({2, 2}, {0, 0, 2, 0})});
  });
}

// Element by element from the definition y[i0, i1, i2] = x[...] with x's index p[d] = i_d.

}  // namespace
}  // namespace lanescope::exec::test
