// SPDX-License-Identifier: Apache-2.0
// Ops that move elements: every output written down, or computed index by index.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/exec/single_output.h"
#include "tests/exec/tensor_values.h"

namespace lanescope::exec::test {
namespace {

constexpr DataType kI = DataType::kInt32;

TEST(Identity, CopiesElements) {
  const Tensor x = Counting({2, 3});
  ExpectBitwiseEqual(RunOne(MakeNode("Identity"), {x}, {2, 3}), x);
  const Tensor words = Strings({2}, {"a", "b"});
  ExpectBitwiseEqual(RunOne(MakeNode("Identity"), {words}, {2}, DataType::kString), words);
}

TEST(Placeholder, MustBeFed) {
  Node node = MakeNode("Placeholder", {{"dtype", kF}});
  node.name = "x";
  ExpectError(Code::kInvalidArgument, "You must feed a value for placeholder tensor 'x' with dtype float",
              [&] { RunOne(node, {}, {}); });
}

TEST(CheckNumerics, NamesWhatItFound) {
  const Node node = MakeNode("CheckNumerics", {{"message", StringAttr("loss")}});
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ExpectBitwiseEqual(RunOne(node, {Floats({1}, {2})}, {1}), Floats({1}, {2}));
  ExpectError(Code::kInvalidArgument, "loss : Tensor had NaN values",
              [&] { RunOne(node, {Floats({1}, {nan})}, {1}); });
  ExpectError(Code::kInvalidArgument, "loss : Tensor had Inf values",
              [&] { RunOne(node, {Floats({1}, {inf})}, {1}); });
  ExpectError(Code::kInvalidArgument, "Inf and NaN", [&] { RunOne(node, {Floats({2}, {inf, nan})}, {2}); });
}

TEST(Assert, ShowsItsData) {
  const Node node = MakeNode("Assert", {{"summarize", IntAttr(2)}});
  RunKernel(node, {Tensor::Scalar(true), Ints({1})}, {});
  ExpectError(Code::kInvalidArgument, "assertion failed: [1 2...] [no]", [&] {
    RunKernel(node, {Tensor::Scalar(false), Ints({1, 2, 3}), Strings({}, {"no"})}, {});
  });
}

TEST(Reshape, FindsTheOpenDimension) {
  EXPECT_EQ(RunUnplanned(MakeNode("Reshape"), {Counting({2, 6}), Ints({3, -1})}).shape(), Shape({3, 4}));
  EXPECT_EQ(RunUnplanned(MakeNode("Reshape"), {Counting({0, 6}), Ints({0, -1})}).shape(), Shape({0, 6}));
  ExpectError(Code::kInvalidArgument,
              "Input to reshape is a tensor with 6 values, but the requested shape has 4", [] {
                RunUnplanned(MakeNode("Reshape"), {Counting({6}), Ints({2, 2})});
              });
  ExpectError(Code::kInvalidArgument, "requires a multiple of 4", [] {
    RunUnplanned(MakeNode("Reshape"), {Counting({6}), Ints({4, -1})});
  });
  ExpectError(Code::kInvalidArgument, "Only one input size may be -1, not both 0 and 1", [] {
    RunUnplanned(MakeNode("Reshape"), {Counting({6}), Ints({-1, -1})});
  });
  ExpectError(Code::kInvalidArgument, "Size 1 must be non-negative, not -2", [] {
    RunUnplanned(MakeNode("Reshape"), {Counting({6}), Ints({3, -2})});
  });
}

TEST(ExpandDims, CountsAxesFromBothEnds) {
  const auto shape = [](int32_t axis) {
    return RunUnplanned(MakeNode("ExpandDims"), {Counting({2, 3}), Tensor::Scalar(axis)}).shape();
  };
  EXPECT_EQ(shape(0), Shape({1, 2, 3}));
  EXPECT_EQ(shape(-1), Shape({2, 3, 1}));
  EXPECT_EQ(shape(-3), Shape({1, 2, 3}));
  ExpectError(Code::kInvalidArgument, "Tried to expand dim index 3 for tensor with 2 dimensions.",
              [&] { shape(3); });
}

TEST(Squeeze, RemovesOnesAlone) {
  const auto shape = [](std::vector<int64_t> axes) {
    return RunUnplanned(MakeNode("Squeeze", {{"squeeze_dims", IntsAttr(std::move(axes))}}),
                        {Counting({1, 2, 1})})
        .shape();
  };
  EXPECT_EQ(shape({}), Shape({2}));
  EXPECT_EQ(shape({-1}), Shape({1, 2}));
  ExpectError(Code::kInvalidArgument, "Can not squeeze dim[1], expected a dimension of 1, got 2",
              [&] { shape({1}); });
  ExpectError(Code::kInvalidArgument, "Tried to squeeze dim index 3", [&] { shape({3}); });
}

TEST(Metadata, ReadsShapes) {
  EXPECT_EQ(ListOf<int32_t>(RunOne(MakeNode("Shape"), {Counting({2, 3})}, {2}, kI)),
            (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(ListOf<int64_t>(RunOne(MakeNode("Size"), {Counting({2, 3})}, {}, DataType::kInt64)),
            (std::vector<int64_t>{6}));
  EXPECT_EQ(ListOf<int32_t>(RunOne(MakeNode("Rank"), {Counting({2, 3})}, {}, kI)), (std::vector<int32_t>{2}));
  const auto shapes = RunKernel(MakeNode("ShapeN"), {Counting({2}), Counting({})}, {{kI, {1}}, {kI, {0}}});
  EXPECT_EQ(ListOf<int32_t>(shapes[0]), (std::vector<int32_t>{2}));
  EXPECT_EQ(shapes[1].NumElements(), 0);
}

TEST(BroadcastGradientArgs, ListsRepeatedDimensions) {
  const auto reduced = [](std::vector<int32_t> a, std::vector<int32_t> b) {
    const auto results =
        RunKernel(MakeNode("BroadcastGradientArgs"), {Ints(std::move(a)), Ints(std::move(b))},
                  {{kI, {BoundedDim(8)}}, {kI, {BoundedDim(8)}}});
    return std::make_pair(ListOf<int32_t>(results[0]), ListOf<int32_t>(results[1]));
  };
  using Axes = std::vector<int32_t>;
  EXPECT_EQ(reduced({2, 3}, {3}), std::make_pair(Axes{}, Axes{0}));
  EXPECT_EQ(reduced({2, 1}, {1, 3}), std::make_pair(Axes{1}, Axes{0}));
  EXPECT_EQ(reduced({1, 3}, {1, 3}), std::make_pair(Axes{}, Axes{}));
  EXPECT_EQ(reduced({1, 3}, {1, 1}), std::make_pair(Axes{0}, Axes{0, 1}));
  ExpectError(Code::kInvalidArgument, "Incompatible shapes: [2] vs. [3]", [&] { reduced({2}, {3}); });
  ExpectError(Code::kUnimplemented, "shapes of 9 dimensions",
              [&] { reduced({1}, std::vector<int32_t>(9, 1)); });
}

TEST(ConcatOffset, AddsUpAlongTheAxis) {
  const auto results =
      RunKernel(MakeNode("ConcatOffset"), {Tensor::Scalar<int32_t>(-1), Ints({2, 3}), Ints({2, 4})},
                {{kI, {2}}, {kI, {2}}});
  EXPECT_EQ(ListOf<int32_t>(results[0]), (std::vector<int32_t>{0, 0}));
  EXPECT_EQ(ListOf<int32_t>(results[1]), (std::vector<int32_t>{0, 3}));
}

TEST(InvertPermutation, RefusesWhatIsNone) {
  const Node node = MakeNode("InvertPermutation");
  EXPECT_EQ(ListOf<int32_t>(RunOne(node, {Ints({2, 0, 1})}, {3}, kI)), (std::vector<int32_t>{1, 2, 0}));
  ExpectError(Code::kInvalidArgument, "0 is duplicated", [&] { RunOne(node, {Ints({0, 0})}, {2}, kI); });
  ExpectError(Code::kInvalidArgument, "2 is not between 0 and 2", [&] {
    RunOne(node, {Ints({0, 2})}, {2}, kI);
  });
}

TEST(Generators, FillRangeLinSpace) {
  ExpectBitwiseEqual(RunUnplanned(MakeNode("Fill"), {Ints({2, 2}), Tensor::Scalar(3.0f)}),
                     Floats({2, 2}, {3, 3, 3, 3}));
  const auto range = [](int32_t start, int32_t limit, int32_t delta) {
    return ListOf<int32_t>(RunUnplanned(
        MakeNode("Range"), {Tensor::Scalar(start), Tensor::Scalar(limit), Tensor::Scalar(delta)}, 64, kI));
  };
  EXPECT_EQ(range(3, 10, 3), (std::vector<int32_t>{3, 6, 9}));
  EXPECT_EQ(range(3, 0, -2), (std::vector<int32_t>{3, 1}));
  EXPECT_EQ(range(3, 3, 1), std::vector<int32_t>{});
  EXPECT_EQ(range(2147483600, 2147483647, 40), (std::vector<int32_t>{2147483600, 2147483640}));
  ExpectError(Code::kInvalidArgument, "Requires delta != 0", [&] { range(0, 1, 0); });
  ExpectError(Code::kInvalidArgument, "Requires start <= limit when delta > 0: 5/1", [&] { range(5, 1, 1); });
  ExpectBitwiseEqual(RunUnplanned(MakeNode("LinSpace"),
                                  {Tensor::Scalar(0.0f), Tensor::Scalar(1.0f), Tensor::Scalar<int32_t>(5)}),
                     Floats({5}, {0, 0.25f, 0.5f, 0.75f, 1}));
}

TEST(OneHot, PutsDepthOnAnyAxis) {
  const auto one_hot = [](int64_t axis) {
    return RunUnplanned(
        MakeNode("OneHot", {{"axis", IntAttr(axis)}}),
        {Ints({1, -1, 0}), Tensor::Scalar<int32_t>(2), Tensor::Scalar(5.0f), Tensor::Scalar(1.0f)});
  };
  ExpectBitwiseEqual(one_hot(-1), Floats({3, 2}, {1, 5, 1, 1, 5, 1}));
  ExpectBitwiseEqual(one_hot(0), Floats({2, 3}, {1, 1, 5, 5, 1, 1}));
}

TEST(Concat, JoinsAlongAnyAxis) {
  const Tensor a = Floats({2, 1}, {1, 2});
  const Tensor b = Floats({2, 2}, {3, 4, 5, 6});
  ExpectBitwiseEqual(RunOne(MakeNode("ConcatV2"), {a, b, Tensor::Scalar<int32_t>(-1)}, {2, 3}),
                     Floats({2, 3}, {1, 3, 4, 2, 5, 6}));
  ExpectBitwiseEqual(RunOne(MakeNode("Concat"), {Tensor::Scalar<int32_t>(0), b, b}, {4, 2}),
                     Floats({4, 2}, {3, 4, 5, 6, 3, 4, 5, 6}));
  ExpectBitwiseEqual(
      RunOne(MakeNode("ConcatV2"), {Strings({0}, {}), Strings({1}, {"x"}), Tensor::Scalar<int32_t>(0)}, {1},
             DataType::kString),
      Strings({1}, {"x"}));
  ExpectError(Code::kInvalidArgument,
              "ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [2,1] vs. shape[1] = [2,2]",
              [&] {
                RunUnplanned(MakeNode("ConcatV2"), {a, b, Tensor::Scalar<int32_t>(0)});
              });
  ExpectError(Code::kInvalidArgument, "Expected concatenating dimensions in the range [-2, 2), but got 2",
              [&] {
                RunUnplanned(MakeNode("ConcatV2"), {a, b, Tensor::Scalar<int32_t>(2)});
              });
}

TEST(PackUnpack, AreInverse) {
  const Tensor a = Floats({2}, {1, 2});
  const Tensor b = Floats({2}, {3, 4});
  const Node pack = MakeNode("Pack", {{"axis", IntAttr(-1)}});
  const Tensor packed = RunOne(pack, {a, b}, {2, 2});
  ExpectBitwiseEqual(packed, Floats({2, 2}, {1, 3, 2, 4}));
  const auto parts = RunKernel(MakeNode("Unpack", {{"axis", IntAttr(1)}}), {packed}, {{kF, {2}}, {kF, {2}}});
  ExpectBitwiseEqual(parts[0], a);
  ExpectBitwiseEqual(parts[1], b);
  ExpectError(Code::kInvalidArgument, "Shapes of all inputs must match", [&] {
    RunUnplanned(pack, {a, Counting({3})});
  });
}

TEST(Split, CutsEvenlyOrBySizes) {
  const Tensor x = Counting({2, 4});
  const auto halves =
      RunKernel(MakeNode("Split"), {Tensor::Scalar<int32_t>(1), x}, {{kF, {2, 2}}, {kF, {2, 2}}});
  ExpectBitwiseEqual(halves[1], Floats({2, 2}, {2, 3, 6, 7}));
  const auto parts = RunKernel(MakeNode("SplitV"), {x, Ints({1, -1}), Tensor::Scalar<int32_t>(-1)},
                               {{kF, {2, 1}}, {kF, {2, 3}}});
  ExpectBitwiseEqual(parts[0], Floats({2, 1}, {0, 4}));
  ExpectBitwiseEqual(parts[1], Floats({2, 3}, {1, 2, 3, 5, 6, 7}));
  ExpectError(
      Code::kInvalidArgument, "Number of ways to split should evenly divide the split dimension", [&] {
        RunKernel(MakeNode("Split"), {Tensor::Scalar<int32_t>(0), Counting({3})}, {{kF, {1}}, {kF, {1}}});
      });
}

TEST(Transpose, EveryPermutationOfThree) {
  const Shape shape{5, 40, 37};
  const Tensor x = Counting(shape);
  std::vector<int32_t> perm{0, 1, 2};
  do {
    const Shape out{shape[perm[0]], shape[perm[1]], shape[perm[2]]};
    const Tensor y = RunOne(MakeNode("Transpose"), {x, Ints(perm)}, out, kF, 3);
    int64_t index[3];
    int64_t at = 0;
    for (index[0] = 0; index[0] < out[0]; ++index[0]) {
      for (index[1] = 0; index[1] < out[1]; ++index[1]) {
        for (index[2] = 0; index[2] < out[2]; ++index[2], ++at) {
          int64_t source[3];
          for (size_t d = 0; d < 3; ++d) source[perm[d]] = index[d];
          ASSERT_EQ(y.data<float>()[at], static_cast<float>((source[0] * 40 + source[1]) * 37 + source[2]));
        }
      }
    }
  } while (std::next_permutation(perm.begin(), perm.end()));
  ExpectError(Code::kInvalidArgument, "transpose expects a vector of size 3", [&] {
    RunUnplanned(MakeNode("Transpose"), {x, Ints({0, 1})});
  });
  ExpectError(Code::kInvalidArgument, "2 is missing from {0,1,1}.", [&] {
    RunUnplanned(MakeNode("Transpose"), {x, Ints({0, 1, 1})});
  });
}

TEST(Tile, RepeatsEveryDimension) {
  const Tensor x = Floats({1, 2}, {1, 2});
  ExpectBitwiseEqual(RunUnplanned(MakeNode("Tile"), {x, Ints({2, 2})}),
                     Floats({2, 4}, {1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(RunUnplanned(MakeNode("Tile"), {x, Ints({0, 2})}).shape(), Shape({0, 4}));
  ExpectError(Code::kInvalidArgument, "Expected multiples[1] >= 0, but got -1", [&] {
    RunUnplanned(MakeNode("Tile"), {x, Ints({1, -1})});
  });
}

TEST(BroadcastTo, AddsAndStretchesDimensions) {
  ExpectBitwiseEqual(RunUnplanned(MakeNode("BroadcastTo"), {Floats({2, 1}, {1, 2}), Ints({2, 2, 3})}),
                     Floats({2, 2, 3}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  ExpectError(Code::kInvalidArgument, "Incompatible shapes: [2] vs. [3]", [] {
    RunUnplanned(MakeNode("BroadcastTo"), {Counting({2}), Ints({3})});
  });
}

TEST(Pad, ZeroConstantAndMirror) {
  const Tensor x = Floats({1, 3}, {1, 2, 3});
  const Tensor borders = Values<int32_t>({2, 2}, {1, 0, 1, 2});
  ExpectBitwiseEqual(RunUnplanned(MakeNode("Pad"), {x, borders}),
                     Floats({2, 6}, {0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0}));
  ExpectBitwiseEqual(RunUnplanned(MakeNode("PadV2"), {x, borders, Tensor::Scalar(9.0f)}),
                     Floats({2, 6}, {9, 9, 9, 9, 9, 9, 9, 1, 2, 3, 9, 9}));
  const Tensor y = Floats({2, 2}, {1, 2, 3, 4});
  const Tensor ones = Values<int32_t>({2, 2}, {1, 1, 1, 1});
  ExpectBitwiseEqual(RunUnplanned(MakeNode("MirrorPad", {{"mode", StringAttr("REFLECT")}}), {y, ones}),
                     Floats({4, 4}, {4, 3, 4, 3, 2, 1, 2, 1, 4, 3, 4, 3, 2, 1, 2, 1}));
  ExpectBitwiseEqual(RunUnplanned(MakeNode("MirrorPad", {{"mode", StringAttr("SYMMETRIC")}}), {y, ones}),
                     Floats({4, 4}, {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
  ExpectError(Code::kInvalidArgument, "Paddings must be non-negative: -1 0", [&] {
    RunUnplanned(MakeNode("Pad"), {x, Values<int32_t>({2, 2}, {-1, 0, 0, 0})});
  });
  ExpectError(Code::kInvalidArgument, "paddings must be less than the dimension size", [&] {
    RunUnplanned(MakeNode("MirrorPad", {{"mode", StringAttr("REFLECT")}}), {x, borders});
  });
}

TEST(ReverseV2, TurnsChosenAxes) {
  const Tensor x = Counting({2, 3});
  ExpectBitwiseEqual(RunOne(MakeNode("ReverseV2"), {x, Ints({-1})}, {2, 3}),
                     Floats({2, 3}, {2, 1, 0, 5, 4, 3}));
  ExpectBitwiseEqual(RunOne(MakeNode("ReverseV2"), {x, Ints({0, 1})}, {2, 3}),
                     Floats({2, 3}, {5, 4, 3, 2, 1, 0}));
  ExpectError(Code::kInvalidArgument, "specified more than once", [&] {
    RunOne(MakeNode("ReverseV2"), {x, Ints({1, -1})}, {2, 3});
  });
}

TEST(ArrayKernels, DoNotDependOnWorkers) {
  const Tensor x = Noise({300, 7, 50});
  const auto same = [&](const Node& node, const std::vector<Tensor>& inputs, const Shape& shape) {
    const Tensor one = RunOne(node, inputs, shape, kF, 1);
    for (const int workers : {2, 5}) ExpectBitwiseEqual(RunOne(node, inputs, shape, kF, workers), one);
  };
  same(MakeNode("Transpose"), {x, Ints({2, 0, 1})}, {50, 300, 7});
  same(MakeNode("Tile"), {x, Ints({1, 3, 1})}, {300, 21, 50});
  same(MakeNode("ConcatV2"), {x, x, Tensor::Scalar<int32_t>(1)}, {300, 14, 50});
  same(MakeNode("Gather"), {x, Ints({299, 0, 7, 7})}, {4, 7, 50});
}

}  // namespace
}  // namespace lanescope::exec::test
