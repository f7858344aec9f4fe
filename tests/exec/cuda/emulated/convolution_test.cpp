// SPDX-License-Identifier: Apache-2.0
// Which convolutions cuDNN does, how its algorithms are chosen, and what happens where it does not help: on a
// stand-in for cuDNN that computes. The numbers of every shape are checked by tests/exec/cuda/gpu.
#include <gtest/gtest.h>

#include "tests/exec/cuda/emulated/convolution_fixture.h"

namespace lanescope::exec::test {
namespace {

using EmulatedConvolutions = ConvolutionFixture;

// CheckOp launches twice, in each of three directions; the first launch measures. cuDNN ranks both orders.
TEST_F(EmulatedConvolutions, ChooseOncePerShapeAndDirection) {
  CheckConvolution(same_, kFloat);
  EXPECT_EQ(cudnn_.rankings, 6);
  const int launches = 3 * (kWays * kTries + 2);
  EXPECT_EQ(cudnn_.convolutions, launches);
  EXPECT_EQ(cudnn_.runs, launches);
  CheckConvolution(same_, kFloat);
  EXPECT_EQ(cudnn_.rankings, 6);
  EXPECT_EQ(cudnn_.runs, launches + 6);
  CheckConvolution({Shape{3, 6, 5, 3}, Shape{3, 3, 3, 4}, 1, 1, "SAME"}, kFloat);
  EXPECT_EQ(cudnn_.rankings, 12);
}

TEST_F(EmulatedConvolutions, HaveOneHandleAStream) {
  const int before = cudnn_.handles;
  CheckConvolution(same_, kFloat);
  EXPECT_EQ(cudnn_.handles, before + 1);
  Renew();
  EXPECT_EQ(cudnn_.handles, before);
}

TEST_F(EmulatedConvolutions, RoundToTf32OnlyWhereTheRunAllowsIt) {
  CheckConvolution(same_, kFloat);
  EXPECT_TRUE(cudnn_.exact);
  Renew(Answer::kConvolves, true);
  CheckConvolution(same_, kFloat);
  EXPECT_GT(cudnn_.runs, 0);
  EXPECT_FALSE(cudnn_.exact);
}

// Nothing is asked of cuDNN that it has no words for.
TEST_F(EmulatedConvolutions, LeaveToProductsWhatCudnnCannotExpress) {
  const ConvSizes inexpressible[] = {
      {Shape{2, 6, 6, 3}, Shape{3, 3, 3, 4}, 2, 1, "SAME"},                                // padded 0, 1
      {Shape{2, 6, 5, 3}, Shape{2, 2, 3, 4}, 1, 1, "SAME"},                                // padded 0, 1
      {Shape{2, 6, 5, 3}, Shape{3, 3, 3, 4}, 1, 1, "EXPLICIT", {0, 0, 2, 0, 1, 1, 0, 0}},  // padded 2, 0
      {Shape{0, 5, 5, 3}, Shape{3, 3, 3, 2}, 1, 1, "SAME"},
  };
  for (const ConvSizes& sizes : inexpressible) CheckConvolution(sizes, kFloat);
  CheckConvolution(same_, kDouble);
  EXPECT_EQ(cudnn_.rankings, 0);
  EXPECT_EQ(cudnn_.convolutions, 0);
}

// Padded 1, 0: by cuDNN 1, 1, which gives no window more.
TEST_F(EmulatedConvolutions, PadBehindOnlyAsFarAsWindowsReach) {
  CheckConvolution({Shape{2, 6, 6, 3}, Shape{3, 3, 3, 4}, 3, 1, "EXPLICIT", {0, 0, 1, 0, 1, 0, 0, 0}},
                   kFloat);
  EXPECT_EQ(cudnn_.rankings, 6);
  EXPECT_GT(cudnn_.runs, 0);
}

TEST_F(EmulatedConvolutions, AreProductsWhereNoAlgorithmWillDo) {
  for (const Answer answer :
       {Answer::kNothingSupported, Answer::kOnlyNondeterministic, Answer::kOnlyLargeWorkspaces}) {
    Renew(answer);
    CheckConvolution(same_, kFloat);
    EXPECT_EQ(cudnn_.rankings, 6);
    EXPECT_EQ(cudnn_.convolutions, 0);
  }
}

// Each is asked once, when it is measured.
TEST_F(EmulatedConvolutions, AreProductsAfterAllAlgorithmsRefused) {
  Renew(Answer::kRefusesToRun);
  CheckConvolution(same_, kFloat);
  EXPECT_EQ(cudnn_.rankings, 6);
  EXPECT_EQ(cudnn_.convolutions, 3 * kWays);
  EXPECT_EQ(cudnn_.runs, 0);
}

}  // namespace
}  // namespace lanescope::exec::test
