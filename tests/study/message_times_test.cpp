// SPDX-License-Identifier: Apache-2.0
#include "study/measure/message_times.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/sims/schedule_maker.h"

namespace lanescope::study {
namespace {

Machine TwoTasks() {
  return ParseMachine(R"({"devices": [{"name": "/job:w/task:0/CPU:0", "kind": "host"},
    {"name": "/job:w/task:1/CPU:0", "kind": "host"}],
    "links": [{"between": ["/job:w/task:0/CPU:0", "/job:w/task:1/CPU:0"], "bandwidth": "1GB/s"}]})");
}

// Two messages of so many bytes, and one that says that a launch has ended.
ChainRun Chain(int64_t bytes, std::vector<int64_t> messaging_ns) {
  sims::ScheduleMaker maker;
  const QueueId here = maker.Queue(DeviceId(0)), there = maker.Queue(DeviceId(1));
  const QueueId network = maker.Queue(DeviceId(0), QueueKind::kCopyOut);
  for (int i = 0; i < 2; ++i) maker.Copy(network, DeviceId(0), DeviceId(1), bytes, 1000);
  const CommandId told = maker.Launch(here, 10);
  maker.Launch(there, 10, {told});
  return {std::make_shared<Schedule>(maker.Build()), {}, std::move(messaging_ns)};
}

// Law: a message has two ends; what both do not explain of the chain with long ones is in their bytes.
TEST(MessageTimes, EachEndAndEachByteTakeTheirPartOfAProcessor) {
  const Machine machine = TwoTasks();
  constexpr int64_t kSmall = 6 * 30'000, kLong = kSmall + 500'000;
  const ChainRun small = Chain(1024, {kSmall, kSmall, kSmall});
  const MessageOverhead overhead = OverheadOfMessages(machine, small, Chain(1'000'000, {kLong, kLong}));
  EXPECT_EQ(overhead.end_ns, 30'000);
  EXPECT_DOUBLE_EQ(overhead.byte_ns, 0.25);
  EXPECT_EQ(OverheadOfMessages(machine, small, Chain(1'000'000, {100})).byte_ns, 0) << "never less than none";
  EXPECT_EQ(OverheadOfMessages(machine, {}, {}).end_ns, 0) << "a process alone has no messages";
  EXPECT_EQ(OverheadOfMessages(machine, Chain(1024, {}), Chain(1024, {})).end_ns, 0);
}

// Law: what is taken from the machine during some of the steps is not of messages.
TEST(MessageTimes, FewDisturbedStepsChangeNothing) {
  const MessageOverhead overhead =
      OverheadOfMessages(TwoTasks(), Chain(1024, {180'000, 180'000, 9'000'000, 180'000, 700'000}),
                         Chain(1'000'000, {680'000, 5'000'000, 680'000}));
  EXPECT_EQ(overhead.end_ns, 30'000);
  EXPECT_DOUBLE_EQ(overhead.byte_ns, 0.25);
}

}  // namespace
}  // namespace lanescope::study
