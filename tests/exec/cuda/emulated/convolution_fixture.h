// SPDX-License-Identifier: Apache-2.0
// Convolutions by the stand-in for cuDNN, on streams that keep nothing of earlier tests.
#pragma once

#include <gtest/gtest.h>

#include "tests/exec/cuda/emulated/cudnn_behaviour.h"
#include "tests/exec/cuda/emulated/emulator.h"
#include "tests/exec/cuda/emulated/kept_times.h"
#include "tests/exec/cuda/gpu/convolution_cases.h"

namespace lanescope::exec::test {

using Answer = emulator::CudnnBehaviour::Answer;

class ConvolutionFixture : public ::testing::Test {
 protected:
  static constexpr int kNhwc = 0, kNchw = 1;
  // The ways of the stand-in that sums of one order allow, and how often a measurement runs each.
  static constexpr int kWays = 3, kTries = 4;

  ConvolutionFixture() { Renew(); }
  ~ConvolutionFixture() override { Renew(); }

  // A stream without a choice of algorithms, on a GPU that nothing was measured on.
  void Renew(Answer answer = Answer::kConvolves, bool allow_tf32 = false, bool any_algorithm = false) {
    ForgetTimes();
    RenewStream(allow_tf32, any_algorithm);
    const int handles = cudnn_.handles;
    cudnn_ = {};
    cudnn_.handles = handles;
    cudnn_.answer = answer;
    emulator::kernel_ns = 0;
  }

  // A stream without a choice of algorithms.
  static void RenewStream(bool allow_tf32 = false, bool any_algorithm = false) {
    GpuBackend::Get().RenewLaunch(allow_tf32, any_algorithm);
  }

  // From now on this way takes 100 us and all others 500.
  void MakeQuickest(int order, int algorithm) {
    cudnn_.takes_ns = [=](int o, int a, int) { return o == order && a == algorithm ? 100'000 : 500'000; };
  }

  emulator::CudnnBehaviour& cudnn_ = emulator::cudnn;
  const ConvSizes same_ = {Shape{2, 6, 5, 3}, Shape{3, 3, 3, 4}, 1, 1, "SAME"};
};

}  // namespace lanescope::exec::test
