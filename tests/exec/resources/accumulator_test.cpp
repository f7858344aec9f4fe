// SPDX-License-Identifier: Apache-2.0
// Cases I25 and I27: gradients that are too old are dropped, and how many are waited for.
#include "exec/resources/accumulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/core/base/expect_error.h"

namespace lanescope::exec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor Pair(float a, float b) { return Tensor::FromValues(Shape{2}, std::vector<float>{a, b}); }

// The result of a Take, or its error.
struct Average {
  std::vector<float> values;
  std::string error;

  GradientAccumulator::Taken Taker() {
    return [this](const Error* failed, GradientParts average) {
      if (failed != nullptr) {
        error = failed->what();
      } else {
        const Tensor& mean = average.at(0);
        values.assign(mean.data<float>(), mean.data<float>() + mean.NumElements());
      }
    };
  }
};

TEST(GradientAccumulator, I25WhatIsOlderThanTheStepIsDropped) {
  GradientAccumulator accumulator("a", {.shape = Shape{2}});
  accumulator.SetGlobalStep(3);
  EXPECT_FALSE(accumulator.Apply(2, {Pair(1, 1)}));
  EXPECT_EQ(accumulator.state().count, 0);
  EXPECT_TRUE(accumulator.Apply(3, {Pair(1, 1)}));
  EXPECT_TRUE(accumulator.Apply(7, {Pair(1, 1)}));
  EXPECT_EQ(accumulator.state().count, 2);
}

TEST(GradientAccumulator, I27NoneCannotBeWaitedFor) {
  GradientAccumulator accumulator("a", {});
  for (const int64_t required : {0, -3}) {
    EXPECT_EQ(ErrorOf([&] { accumulator.Take(required, nullptr); }),
              "InvalidArgument: Argument num_required must be positive, but was " + std::to_string(required));
  }
}

// Law: the mean is over all that are there, more than were asked for too; then the step goes on.
TEST(GradientAccumulator, ATakeGetsTheMeanOfAll) {
  GradientAccumulator accumulator("a", {.shape = Shape{2}});
  for (const float x : {1.0f, 2.0f, 6.0f}) accumulator.Apply(0, {Pair(x, -x)});
  Average average;
  accumulator.Take(2, average.Taker());
  EXPECT_THAT(average.values, ElementsAre(3, -3));
  EXPECT_EQ(accumulator.state().count, 0);
  EXPECT_EQ(accumulator.state().global_step, 1);
  EXPECT_FALSE(accumulator.Apply(0, {Pair(1, 1)}));
  GradientAccumulator sum("s", {.reduction = GradientReduction::kSum});
  sum.Apply(0, {Pair(1, 2)});
  sum.Apply(0, {Pair(3, 4)});
  sum.Take(1, average.Taker());
  EXPECT_THAT(average.values, ElementsAre(4, 6));
}

TEST(GradientAccumulator, TakesWaitInOrder) {
  GradientAccumulator accumulator("a", {});
  Average first, second;
  accumulator.Take(2, first.Taker());
  const auto number = accumulator.Take(1, second.Taker());
  accumulator.Apply(0, {Pair(1, 1)});
  EXPECT_TRUE(first.values.empty() && second.values.empty());
  accumulator.Apply(0, {Pair(3, 3)});
  EXPECT_THAT(first.values, ElementsAre(2, 2));
  EXPECT_EQ(accumulator.state().waiting, 1);
  EXPECT_TRUE(accumulator.Cancel(number));
  EXPECT_EQ(second.error, "Cancelled: TakeGrad operation was cancelled");
  EXPECT_FALSE(accumulator.Cancel(number));
}

TEST(GradientAccumulator, OtherTypesAndShapesAreRefused) {
  GradientAccumulator accumulator("a", {.shape = Shape{kUnknownDim}});
  EXPECT_THAT(ErrorOf([&] { accumulator.Apply(0, {Tensor::Scalar(1.0f)}); }), HasSubstr("Shape mismatch"));
  EXPECT_THAT(ErrorOf([&] { accumulator.Apply(0, {Tensor::Scalar(1.0)}); }), HasSubstr("not of double"));
  accumulator.Apply(0, {Pair(1, 1)});
  EXPECT_THAT(ErrorOf([&] { accumulator.Apply(0, {Tensor(DataType::kFloat, Shape{3})}); }),
              HasSubstr("Shape mismatch: expected [2], got [3]"));
  EXPECT_THAT(ErrorOf([] { GradientAccumulator("a", {.dtype = DataType::kInt32}); }),
              HasSubstr("Unimplemented"));
}

// Rows of a [4, 2] tensor.
GradientParts Rows(const std::vector<int64_t>& numbers, const std::vector<float>& values,
                   const std::vector<int64_t>& whole = {4, 2}) {
  const auto count = static_cast<Dim>(numbers.size());
  return {Tensor::FromValues(Shape{count}, numbers), Tensor::FromValues(Shape{count, 2}, values),
          Tensor::FromValues(Shape{static_cast<Dim>(whole.size())}, whole)};
}

// Law: each row is divided by how many gradients have it, whatever the order in which they name their rows;
// one that a gradient names twice is added up.
TEST(GradientAccumulator, RowsAreAddedByTheirNumbers) {
  GradientAccumulator accumulator("a", {.shape = Shape{kUnknownDim, 2}, .rows = true});
  accumulator.Apply(0, Rows({3, 1}, {1, 2, 3, 4}));
  accumulator.Apply(0, Rows({1, 0, 0}, {5, 8, 3, 3, 4, 4}));
  GradientParts mean;
  accumulator.Take(2, [&](const Error* error, GradientParts average) {
    ASSERT_EQ(error, nullptr);
    mean = std::move(average);
  });
  ASSERT_EQ(mean.size(), 3u);
  const auto longs = [](const Tensor& t) {
    return std::vector<int64_t>(t.data<int64_t>(), t.data<int64_t>() + t.NumElements());
  };
  EXPECT_THAT(longs(mean[0]), ElementsAre(0, 1, 3));
  EXPECT_EQ(mean[1].shape(), (Shape{3, 2}));
  EXPECT_THAT(std::vector<float>(mean[1].data<float>(), mean[1].data<float>() + 6),
              ElementsAre(7, 7, 4, 6, 1, 2));
  EXPECT_THAT(longs(mean[2]), ElementsAre(-1, 2));
}

TEST(GradientAccumulator, RowsThatDoNotFitAreRefused) {
  GradientAccumulator accumulator("a", {.shape = Shape{4, 2}, .rows = true});
  const auto error = [&](const GradientParts& gradient) {
    return ErrorOf([&] { accumulator.Apply(0, gradient); });
  };
  EXPECT_THAT(error(Rows({4}, {1, 1})), HasSubstr("index of slice 0 exceeded limits of shape"));
  EXPECT_THAT(error(Rows({-1}, {1, 1})), HasSubstr("index of slice 0 exceeded limits of shape"));
  EXPECT_THAT(error(Rows({1}, {1, 1}, {5, 2})), HasSubstr("expected shape dim 0 to be 4, got 5"));
  EXPECT_THAT(error(Rows({1}, {1, 1}, {4})), HasSubstr("expected shape rank at least 2, got 1"));
  EXPECT_THAT(error({Tensor::Scalar<int64_t>(1), Pair(1, 1), Tensor(DataType::kInt64, Shape{0})}),
              HasSubstr("int64 vector"));
  EXPECT_THAT(error({Tensor::FromValues(Shape{1}, std::vector<int64_t>{1}),
                     Tensor(DataType::kFloat, Shape{1, 3}), Tensor(DataType::kInt64, Shape{0})}),
              HasSubstr("Shape mismatch"));
  EXPECT_EQ(accumulator.state().count, 0);
}

// Law: no gradient is lost or counted twice, whichever thread brings it.
TEST(GradientAccumulatorThreads, AllArrive) {
  constexpr int kThreads = 4, kEach = 500;
  GradientAccumulator accumulator("a", {.reduction = GradientReduction::kSum});
  Average sum;
  accumulator.Take(kThreads * kEach, sum.Taker());
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < kEach; ++k) accumulator.Apply(0, {Pair(1, 2)});
      });
    }
  }
  EXPECT_THAT(sum.values, ElementsAre(kThreads * kEach, 2 * kThreads * kEach));
}

}  // namespace
}  // namespace lanescope::exec
