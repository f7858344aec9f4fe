// SPDX-License-Identifier: Apache-2.0
// Which convolutions cuDNN does, how its algorithms are chosen, and what happens where it does not help: on a
// stand-in for cuDNN that computes. The numbers of every shape are checked by tests/exec/cuda/gpu.
#include <gtest/gtest.h>

#include "tests/exec/cuda/emulated/cudnn_behaviour.h"
#include "tests/exec/cuda/gpu/convolution_cases.h"

namespace lanescope::exec::test {
namespace {

using Answer = emulator::CudnnBehaviour::Answer;

const ConvSizes kSame = {Shape{2, 6, 5, 3}, Shape{3, 3, 3, 4}, 1, 1, "SAME"};

class EmulatedConvolutions : public ::testing::Test {
 protected:
  EmulatedConvolutions() { Renew(); }
  ~EmulatedConvolutions() override { Renew(); }

  // A stream without a choice of algorithms.
  void Renew(Answer answer = Answer::kConvolves, bool allow_tf32 = false) {
    GpuBackend::Get().RenewLaunch(allow_tf32);
    const int handles = cudnn_.handles;
    cudnn_ = {};
    cudnn_.handles = handles;
    cudnn_.answer = answer;
  }

  emulator::CudnnBehaviour& cudnn_ = emulator::cudnn;
};

// CheckOp launches twice.
TEST_F(EmulatedConvolutions, ChooseOncePerShapeAndDirection) {
  CheckConvolution(kSame, kFloat);
  EXPECT_EQ(cudnn_.rankings, 3);
  EXPECT_EQ(cudnn_.convolutions, 6);
  EXPECT_EQ(cudnn_.runs, 6);
  CheckConvolution(kSame, kFloat);
  EXPECT_EQ(cudnn_.rankings, 3);
  CheckConvolution({Shape{3, 6, 5, 3}, Shape{3, 3, 3, 4}, 1, 1, "SAME"}, kFloat);
  EXPECT_EQ(cudnn_.rankings, 6);
}

TEST_F(EmulatedConvolutions, HaveOneHandleAStream) {
  const int before = cudnn_.handles;
  CheckConvolution(kSame, kFloat);
  EXPECT_EQ(cudnn_.handles, before + 1);
  Renew();
  EXPECT_EQ(cudnn_.handles, before);
}

TEST_F(EmulatedConvolutions, RoundToTf32OnlyWhereTheRunAllowsIt) {
  CheckConvolution(kSame, kFloat);
  EXPECT_TRUE(cudnn_.exact);
  Renew(Answer::kConvolves, true);
  CheckConvolution(kSame, kFloat);
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
  CheckConvolution(kSame, kDouble);
  EXPECT_EQ(cudnn_.rankings, 0);
  EXPECT_EQ(cudnn_.convolutions, 0);
}

// Padded 1, 0: by cuDNN 1, 1, which gives no window more.
TEST_F(EmulatedConvolutions, PadBehindOnlyAsFarAsWindowsReach) {
  CheckConvolution({Shape{2, 6, 6, 3}, Shape{3, 3, 3, 4}, 3, 1, "EXPLICIT", {0, 0, 1, 0, 1, 0, 0, 0}},
                   kFloat);
  EXPECT_EQ(cudnn_.rankings, 3);
  EXPECT_EQ(cudnn_.runs, 6);
}

TEST_F(EmulatedConvolutions, AreProductsWhereNoAlgorithmWillDo) {
  for (const Answer answer :
       {Answer::kNothingSupported, Answer::kOnlyNondeterministic, Answer::kOnlyLargeWorkspaces}) {
    Renew(answer);
    CheckConvolution(kSame, kFloat);
    EXPECT_EQ(cudnn_.rankings, 3);
    EXPECT_EQ(cudnn_.convolutions, 0);
  }
}

TEST_F(EmulatedConvolutions, AreProductsAfterAnAlgorithmRefused) {
  Renew(Answer::kRefusesToRun);
  CheckConvolution(kSame, kFloat);
  EXPECT_EQ(cudnn_.rankings, 3);
  EXPECT_EQ(cudnn_.convolutions, 3);
  EXPECT_EQ(cudnn_.runs, 0);
}

}  // namespace
}  // namespace lanescope::exec::test
