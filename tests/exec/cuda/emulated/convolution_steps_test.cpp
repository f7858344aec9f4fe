// SPDX-License-Identifier: Apache-2.0
// Whole steps with convolutions by the stand-in for cuDNN: recorded and replayed, and failing.
#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <utility>

#include "core/base/error.h"
#include "core/record/recorder.h"
#include "tests/exec/cuda/emulated/cudnn_behaviour.h"
#include "tests/exec/cuda/emulated/kept_times.h"
#include "tests/exec/sample_run.h"

namespace lanescope::exec::test {
namespace {

using Answer = emulator::CudnnBehaviour::Answer;

class NoEvents : public EventSink {
 public:
  void Consume(std::span<const Event>) override {}
  void CountDropped(int64_t) override {}
};

class EmulatedConvolutionSteps : public ::testing::Test {
 protected:
  EmulatedConvolutionSteps() { Reset(Answer::kConvolves); }
  ~EmulatedConvolutionSteps() override { Reset(Answer::kConvolves); }

  void Reset(Answer answer) {
    ForgetTimes();
    const int handles = cudnn_.handles;
    cudnn_ = {};
    cudnn_.handles = handles;
    cudnn_.answer = answer;
  }

  emulator::CudnnBehaviour& cudnn_ = emulator::cudnn;
  static constexpr int64_t kBatch = 1;

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
// gradients but that of the images, which nothing reads. The first step measures three ways of each, four
// times; the second one is captured.
TEST_F(EmulatedConvolutionSteps, AreRecordedAndReplayed) {
  constexpr int kMeasured = 5 * 3 * 4;
  SampleRun expected("cifar10_single", "single", FastMachine(2), {}, kBatch);
  SampleRun actual("cifar10_single", "single", GpuMachine({0, 1}), {}, kBatch);
  for (int step = 0; step < 4; ++step) {
    const float wanted = expected.Step()[0].data<float>()[0];
    EXPECT_NEAR(actual.Step()[0].data<float>()[0], wanted, 1e-3 * std::abs(wanted)) << "step " << step;
    EXPECT_EQ(cudnn_.convolutions, kMeasured + (step == 0 ? 5 : 10)) << "step " << step;
    EXPECT_EQ(cudnn_.runs, kMeasured + 5 * (step + 1)) << "step " << step;
  }
  EXPECT_EQ(cudnn_.rankings, 10);
  EXPECT_EQ(actual.session().graph_problem(), "");
}

// A step whose time is recorded is no place to try things out, be it the first: cuDNN's first in NHWC runs.
// The next one that is not recorded measures, and it is the quickest from then on.
TEST_F(EmulatedConvolutionSteps, MeasureInNoRecordedStep) {
  cudnn_.takes_ns = [](int order, int algorithm, int) {
    return order == 1 && algorithm == emulator::kPlanes ? 100'000 : 500'000;
  };
  NoEvents events;
  Recorder recorder(&events);
  SampleRun run("cifar10_single", "single", GpuMachine({0, 1}), {.graphs = false}, kBatch);
  const RunRequest request = run.Request();
  PreparedStep& step = run.session().Prepare(request);
  run.session().Record(&recorder, &step, 0);
  for (const bool timed : {true, false}) {
    cudnn_.runs = 0;
    run.session().SetTiming(timed);
    run.session().Run(step, request.feeds);
    EXPECT_EQ(cudnn_.runs, 5) << timed;
    EXPECT_EQ(cudnn_.last_order, 0) << timed;
  }
  run.session().SetRecording(false);
  cudnn_.runs = 0;
  run.session().Run(step, request.feeds);
  EXPECT_EQ(cudnn_.runs, 5 * 3 * 4 + 5);
  run.session().SetRecording(true);
  cudnn_.runs = 0;
  run.session().Run(step, request.feeds);
  EXPECT_EQ(cudnn_.runs, 5);
  EXPECT_EQ(cudnn_.last_order, 1);
  EXPECT_EQ(cudnn_.last_algorithm, emulator::kPlanes);
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
    EXPECT_GE(cudnn_.runs, 5);
  }
}

}  // namespace
}  // namespace lanescope::exec::test
