#include "study/measure_handoffs.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace lanescope::study {
namespace {

// Every hop of the chain is a copy, and all its commands are recorded in every step.
TEST(MeasureHandoffs, RecordsWholeStepsOfAChainOfCopies) {
  const HandoffRun run = MeasureHandoffs(VirtualMachine(2, 1));
  ASSERT_NE(run.schedule, nullptr);
  int copies_between_gpus = 0;
  for (const Command& command : run.schedule->commands) {
    copies_between_gpus +=
        command.kind == CommandKind::kCopy && run.schedule->CopySource(command) != DeviceId(0);
  }
  EXPECT_GE(copies_between_gpus, 10);
  EXPECT_GE(run.events.size(), run.schedule->commands.size() * 10);
  EXPECT_EQ(MeasureHandoffs(VirtualMachine(1, 1)).schedule, nullptr);
}

TEST(MeasureHandoffs, EndsWhenCancelled) {
  Cancellation cancellation;
  cancellation.Cancel();
  EXPECT_THROW(MeasureHandoffs(VirtualMachine(2, 1), &cancellation), Error);
}

}  // namespace
}  // namespace lanescope::study
