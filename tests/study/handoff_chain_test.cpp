// SPDX-License-Identifier: Apache-2.0
#include "study/measure/handoff_chain.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "sims/engine/delays.h"
#include "sims/engine/simulation_model.h"
#include "sims/fit/fit_chain.h"
#include "sims/steps/measured_steps.h"

namespace lanescope::study {
namespace {

// Every hop of the chain is two copies, one after the other, and all its commands are recorded in every step.
TEST(HandoffChain, RecordsWholeStepsOfAChainOfCopies) {
  const ChainRun run = MeasureHandoffs(VirtualMachine(2, 1));
  ASSERT_NE(run.schedule, nullptr);
  int copies_between_gpus = 0, launches = 0;
  for (const Command& command : run.schedule->commands) {
    launches += command.kind == CommandKind::kLaunch;
    copies_between_gpus +=
        command.kind == CommandKind::kCopy && run.schedule->CopySource(command) != DeviceId(0);
  }
  EXPECT_GE(copies_between_gpus, 20);
  EXPECT_GE(launches, 2 + 20 + 10) << "to copy from, to copy to, and those that wait without data";
  EXPECT_GE(run.events.size(), run.schedule->commands.size() * 10);
  sims::EffectSet effects;
  const Machine machine = VirtualMachine(2, 1);
  sims::FitChain(*run.schedule, machine, sims::GroupSteps(*run.schedule, run.events, 0), &effects);
  const sims::Delays gaps = effects.Model().delays;
  EXPECT_GT(gaps.handoff(sims::QueueClass::kCompute, sims::QueueClass::kCopy), 0);
  EXPECT_GT(gaps.handoff(sims::QueueClass::kCopy, sims::QueueClass::kCompute), 0);
  EXPECT_GT(gaps.handoff(sims::QueueClass::kCompute, sims::QueueClass::kCompute), 0);
  EXPECT_GT(gaps.gap(DeviceKind::kVirtual, sims::QueueClass::kCopy), 0);
  EXPECT_EQ(MeasureHandoffs(VirtualMachine(1, 1)).schedule, nullptr);
}

TEST(HandoffChain, EndsWhenCancelled) {
  Cancellation cancellation;
  cancellation.Cancel();
  EXPECT_THROW(MeasureHandoffs(VirtualMachine(2, 1), &cancellation), Error);
}

}  // namespace
}  // namespace lanescope::study
