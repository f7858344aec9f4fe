#include "study/message_times.h"

#include <gtest/gtest.h>

#include "tests/sims/schedule_maker.h"

namespace lanescope::study {
namespace {

Machine TwoTasks() {
  return ParseMachine(R"({"devices": [{"name": "/job:w/task:0/CPU:0", "kind": "host"},
    {"name": "/job:w/task:1/CPU:0", "kind": "host"}],
    "links": [{"between": ["/job:w/task:0/CPU:0", "/job:w/task:1/CPU:0"], "bandwidth": "1GB/s"}]})");
}

// Two messages of so many bytes, and one that says that a launch has ended.
ChainRun Chain(int64_t bytes, int64_t steps, int64_t messaging_ns) {
  sims::ScheduleMaker maker;
  const QueueId here = maker.Queue(DeviceId(0)), there = maker.Queue(DeviceId(1));
  const QueueId network = maker.Queue(DeviceId(0), QueueKind::kCopyOut);
  for (int i = 0; i < 2; ++i) maker.Copy(network, DeviceId(0), DeviceId(1), bytes, 1000);
  const CommandId told = maker.Launch(here, 10);
  maker.Launch(there, 10, {told});
  return {std::make_shared<Schedule>(maker.Build()), {}, steps, messaging_ns};
}

// Law: a message has two ends; what both do not explain of the chain with long ones is in their bytes.
TEST(MessageTimes, EachEndAndEachByteTakeTheirPartOfAProcessor) {
  const Machine machine = TwoTasks();
  const ChainRun small = Chain(1024, 5, 5 * 6 * 30'000);
  const MessageOverhead overhead =
      OverheadOfMessages(machine, small, Chain(1'000'000, 4, 4 * (6 * 30'000 + 500'000)));
  EXPECT_EQ(overhead.end_ns, 30'000);
  EXPECT_DOUBLE_EQ(overhead.byte_ns, 0.25);
  EXPECT_EQ(OverheadOfMessages(machine, small, Chain(1'000'000, 4, 100)).byte_ns, 0)
      << "never less than none";
  EXPECT_EQ(OverheadOfMessages(machine, {}, {}).end_ns, 0) << "a process alone has no messages";
  EXPECT_EQ(OverheadOfMessages(machine, Chain(1024, 0, 0), Chain(1024, 0, 0)).end_ns, 0);
}

}  // namespace
}  // namespace lanescope::study
