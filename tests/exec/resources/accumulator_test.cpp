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

// What a Take gives, or its error.
struct Average {
  std::vector<float> values;
  std::string error;

  GradientAccumulator::Taken Taker() {
    return [this](const Error* failed, Tensor average) {
      if (failed != nullptr) {
        error = failed->what();
      } else {
        values.assign(average.data<float>(), average.data<float>() + average.NumElements());
      }
    };
  }
};

TEST(GradientAccumulator, I25WhatIsOlderThanTheStepIsDropped) {
  GradientAccumulator accumulator("a", {.shape = Shape{2}});
  accumulator.SetGlobalStep(3);
  EXPECT_FALSE(accumulator.Apply(2, Pair(1, 1)));
  EXPECT_EQ(accumulator.state().count, 0);
  EXPECT_TRUE(accumulator.Apply(3, Pair(1, 1)));
  EXPECT_TRUE(accumulator.Apply(7, Pair(1, 1)));
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
  for (const float x : {1.0f, 2.0f, 6.0f}) accumulator.Apply(0, Pair(x, -x));
  Average average;
  accumulator.Take(2, average.Taker());
  EXPECT_THAT(average.values, ElementsAre(3, -3));
  EXPECT_EQ(accumulator.state().count, 0);
  EXPECT_EQ(accumulator.state().global_step, 1);
  EXPECT_FALSE(accumulator.Apply(0, Pair(1, 1)));
  GradientAccumulator sum("s", {.reduction = GradientReduction::kSum});
  sum.Apply(0, Pair(1, 2));
  sum.Apply(0, Pair(3, 4));
  sum.Take(1, average.Taker());
  EXPECT_THAT(average.values, ElementsAre(4, 6));
}

TEST(GradientAccumulator, TakesWaitInOrder) {
  GradientAccumulator accumulator("a", {});
  Average first, second;
  accumulator.Take(2, first.Taker());
  const auto number = accumulator.Take(1, second.Taker());
  accumulator.Apply(0, Pair(1, 1));
  EXPECT_TRUE(first.values.empty() && second.values.empty());
  accumulator.Apply(0, Pair(3, 3));
  EXPECT_THAT(first.values, ElementsAre(2, 2));
  EXPECT_EQ(accumulator.state().waiting, 1);
  EXPECT_TRUE(accumulator.Cancel(number));
  EXPECT_EQ(second.error, "Cancelled: TakeGrad operation was cancelled");
  EXPECT_FALSE(accumulator.Cancel(number));
}

TEST(GradientAccumulator, OtherTypesAndShapesAreRefused) {
  GradientAccumulator accumulator("a", {.shape = Shape{kUnknownDim}});
  EXPECT_THAT(ErrorOf([&] { accumulator.Apply(0, Tensor::Scalar(1.0f)); }), HasSubstr("Shape mismatch"));
  EXPECT_THAT(ErrorOf([&] { accumulator.Apply(0, Tensor::Scalar(1.0)); }), HasSubstr("not of double"));
  accumulator.Apply(0, Pair(1, 1));
  EXPECT_THAT(ErrorOf([&] { accumulator.Apply(0, Tensor(DataType::kFloat, Shape{3})); }),
              HasSubstr("Shape mismatch: expected [2], got [3]"));
  EXPECT_THAT(ErrorOf([] { GradientAccumulator("a", {.dtype = DataType::kInt32}); }),
              HasSubstr("Unimplemented"));
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
        for (int k = 0; k < kEach; ++k) accumulator.Apply(0, Pair(1, 2));
      });
    }
  }
  EXPECT_THAT(sum.values, ElementsAre(kThreads * kEach, 2 * kThreads * kEach));
}

}  // namespace
}  // namespace lanescope::exec
