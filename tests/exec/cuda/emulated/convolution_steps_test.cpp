// SPDX-License-Identifier: Apache-2.0
// Whole steps with convolutions by the stand-in for cuDNN: recorded and replayed, and failing.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "tests/exec/cuda/emulated/cudnn_behaviour.h"
#include "tests/exec/sample_run.h"

namespace lanescope::exec::test {
namespace {

using Answer = emulator::CudnnBehaviour::Answer;

class EmulatedConvolutionSteps : public ::testing::Test {
 protected:
  EmulatedConvolutionSteps() { Reset(Answer::kConvolves); }
  ~EmulatedConvolutionSteps() override { Reset(Answer::kConvolves); }

  void Reset(Answer answer) {
    const int handles = cudnn_.handles;
    cudnn_ = {};
    cudnn_.handles = handles;
    cudnn_.answer = answer;
  }

  emulator::CudnnBehaviour& cudnn_ = emulator::cudnn;
  static constexpr int64_t kBatch = 2;

  static Error FailureOf(SampleRun& run) {
    try {
      run.Step();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error";
    return Error(Code::kInternal, "");
  }
};

// Losses of steps that are issued, recorded and replayed. The network has two convolutions, each with both
// gradients but that of the images, which nothing reads.
TEST_F(EmulatedConvolutionSteps, AreRecordedAndReplayed) {
  SampleRun expected("cifar10_single", "single", FastMachine(2), {}, kBatch);
  SampleRun actual("cifar10_single", "single", GpuMachine({0, 1}), {}, kBatch);
  for (int step = 0; step < 4; ++step) {
    const float wanted = expected.Step()[0].data<float>()[0];
    EXPECT_NEAR(actual.Step()[0].data<float>()[0], wanted, 1e-3 * std::abs(wanted)) << "step " << step;
    EXPECT_EQ(cudnn_.convolutions, step == 0 ? 5 : 10) << "step " << step;
    EXPECT_EQ(cudnn_.runs, 5 * (step + 1)) << "step " << step;
  }
  EXPECT_EQ(cudnn_.rankings, 5);
  EXPECT_EQ(actual.session().graph_problem(), "");
}

TEST_F(EmulatedConvolutionSteps, NameTheOpThatFailedAndWhatToDo) {
  const std::pair<Answer, std::pair<Code, const char*>> failures[] = {
      {Answer::kFails, {Code::kInternal, "LANESCOPE_CUDNN=OFF"}},
      {Answer::kOutOfMemory, {Code::kResourceExhausted, "--memory-fraction"}},
      {Answer::kNoHandle, {Code::kResourceExhausted, "--memory-fraction"}}};
  for (const auto& [answer, wanted] : failures) {
    Reset(answer);
    SampleRun run("cifar10_single", "single", GpuMachine({0, 1}), {}, kBatch);
    const Error error = FailureOf(run);
    EXPECT_EQ(error.code(), wanted.first) << error.what();
    EXPECT_NE(error.message().find(wanted.second), std::string::npos) << error.what();
    EXPECT_NE(error.message().find("conv1/Conv2D"), std::string::npos) << error.what();
    EXPECT_NE(error.message().find("GPU:0"), std::string::npos) << error.what();
    // A later step finds nothing half made.
    cudnn_.answer = Answer::kConvolves;
    EXPECT_TRUE(std::isfinite(run.Step()[0].data<float>()[0]));
    EXPECT_EQ(cudnn_.runs, 5);
  }
}

}  // namespace
}  // namespace lanescope::exec::test
