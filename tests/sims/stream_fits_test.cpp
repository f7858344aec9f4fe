// SPDX-License-Identifier: Apache-2.0
// Fits to measured steps of the streams of a GPU. Every expected time is counted by hand.
#include <gtest/gtest.h>

#include "sims/effects/front_end.h"
#include "sims/effects/issue.h"
#include "sims/effects/queue_gaps.h"
#include "sims/effects/stream_handoff.h"
#include "sims/steps/step_starts.h"
#include "tests/sims/schedule_maker.h"

namespace lanescope::sims {
namespace {

constexpr int kKernels = 20;
constexpr int64_t kKernelNs = 10'000;

// A recorded segment of a GPU: 20 kernels one after the other, then two copies that wait for none of them.
class StreamFits : public testing::Test {
 protected:
  StreamFits() {
    DeviceSpec& device = machine_.devices[machine_.Gpus()[0]];
    device.kind = DeviceKind::kCuda;
    device.in_order = true;
    const QueueId stream = maker_.Queue(machine_.Gpus()[0], QueueKind::kCompute, true);
    const QueueId copies = maker_.Queue(machine_.Gpus()[0], QueueKind::kCopyOut, true);
    for (int i = 0; i < kKernels; ++i) kernels_.push_back(maker_.Launch(stream, kKernelNs));
    copy_ = maker_.Launch(copies, kKernelNs);
    after_ = maker_.Launch(copies, kKernelNs, {kernels_.back()});
    schedule_ = maker_.Build();
    schedule_.issue.assign(schedule_.commands.size(), StreamIssue::kRecordable);
  }
  // Half of the gaps are 1 us and half of them 2 us, but for one of 60 us; the copy begins after `copy_at`.
  EffectSet Fit(int64_t copy_at) const {
    MeasuredStep step;
    step.command_start_ns.resize(schedule_.commands.size());
    step.command_end_ns.resize(schedule_.commands.size());
    const auto run = [&](CommandId command, int64_t at) {
      step.command_start_ns[command] = at;
      step.command_end_ns[command] = at + kKernelNs;
      return at + kKernelNs;
    };
    int64_t now = 0;
    for (int i = 0; i < kKernels; ++i) {
      const int64_t gap = i == kKernels - 1 ? 60'000 : i % 2 == 1 ? 1'000 : 2'000;
      now = run(kernels_[static_cast<size_t>(i)], now + (i == 0 ? 0 : gap));
    }
    run(copy_, copy_at);
    step.end_ns = run(after_, now + 3'000);
    return FitEffects(StepStarts(schedule_, machine_, std::span(&step, 1)));
  }

  Machine machine_ = StarMachine(1, 1e9, 0, 0);
  ScheduleMaker maker_;
  std::vector<CommandId> kernels_;
  CommandId copy_, after_;
  Schedule schedule_;
};

// Law: the mean of gaps counts, for they add up, but what began late does not; a look is the usual gap.
TEST_F(StreamFits, GapsAreMeansOfThoseInTime) {
  const EffectSet effects = Fit(110'000);
  const auto gaps = effects.Get<StreamGap>();
  EXPECT_EQ(gaps.ns[static_cast<size_t>(DeviceKind::kCuda)][static_cast<size_t>(QueueClass::kStream)], 1'500);
  EXPECT_EQ(effects.Get<StreamHandOff>().between_ns, 3'000);
  EXPECT_GE(effects.Get<FrontEnd>().look_ns, 1'000);
  EXPECT_LE(effects.Get<FrontEnd>().look_ns, 2'000);
}

// Law: a command that waits for nothing begins when the 20 before it have reached the GPU; without such a
// command, and where one is later than that explains, the constant holds.
TEST_F(StreamFits, ALateCommandTellsHowFastASegmentReachesTheDevice) {
  EXPECT_EQ(Fit(110'000).Get<Issue>().times.recorded_ns, 5'500);
  EXPECT_EQ(Fit(0).Get<Issue>().times.recorded_ns, 5'000);
  EXPECT_EQ(Fit(250'000).Get<Issue>().times.recorded_ns, 5'000);
}

}  // namespace
}  // namespace lanescope::sims
