// SPDX-License-Identifier: Apache-2.0
#include "study/measure/gathered_run.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/core/base/expect_error.h"

namespace lanescope::study {
namespace {

HandedInRun FullRun() {
  HandedInRun run;
  run.begin_ns = 1000;
  run.end_ns = 9000;
  run.step_ns = {10, 20, 30};
  run.fetches = {Tensor::FromValues(Shape{2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}), Tensor::Scalar(7),
                 Tensor::FromValues(Shape{2}, std::vector<std::string>{"", "a string"}),
                 Tensor(DataType::kFloat, Shape{0})};
  run.oversubscribed = true;
  Event event;
  event.start_ns = 2000;
  event.end_ns = 3000;
  event.command = CommandId(4);
  event.step = 1;
  run.events = {event};
  run.input.threads = {{1, "fill", "queue"}};
  run.input.queues = {{2, "queue 'q'", 50, 10}};
  run.input.steps = {{1, 3, 4000, 5000}};
  run.input.waits = {{kNoInputThread, 1, 6, 2, 6000, 7000}};
  run.input.works = {{1, 6, 3, 300}};
  run.input.fills = {{2, 8000, 40}};
  return run;
}

// Law: what was handed in comes out, times less what the other's clock is ahead; durations stay.
TEST(HandedInRun, ComesOutAsItWas) {
  const HandedInRun was = FullRun(), is = HandedInRunOf(BytesOf(was), 100);
  EXPECT_EQ(is.begin_ns, 900);
  EXPECT_EQ(is.end_ns, 8900);
  EXPECT_EQ(is.step_ns, was.step_ns);
  EXPECT_TRUE(is.oversubscribed);
  ASSERT_EQ(is.fetches.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(is.fetches[i].dtype(), was.fetches[i].dtype()) << i;
    EXPECT_EQ(is.fetches[i].shape(), was.fetches[i].shape()) << i;
  }
  EXPECT_EQ(is.fetches[0].data<float>()[5], 6);
  EXPECT_EQ(is.fetches[1].data<int32_t>()[0], 7);
  EXPECT_EQ(is.fetches[2].data<std::string>()[0], "");
  EXPECT_EQ(is.fetches[2].data<std::string>()[1], "a string");
  ASSERT_EQ(is.events.size(), 1U);
  EXPECT_EQ(is.events[0].start_ns, 1900);
  EXPECT_EQ(is.events[0].end_ns, 2900);
  EXPECT_EQ(is.events[0].command, CommandId(4));
  ASSERT_EQ(is.input.size(), 6U);
  EXPECT_EQ(is.input.threads[0].op, "fill");
  EXPECT_EQ(is.input.threads[0].queue, "queue");
  EXPECT_EQ(is.input.queues[0].name, "queue 'q'");
  EXPECT_EQ(is.input.queues[0].kept, 10);
  EXPECT_EQ(is.input.steps[0].start_ns, 3900);
  EXPECT_EQ(is.input.waits[0].end_ns, 6900);
  EXPECT_EQ(is.input.works[0].ns, 300);
  EXPECT_EQ(is.input.fills[0].time_ns, 7900);
}

TEST(HandedInRun, WhatIsCutShortIsRefused) {
  std::string bytes = BytesOf(FullRun());
  bytes.pop_back();
  EXPECT_THAT(ErrorOf([&] { HandedInRunOf(bytes, 0); }), testing::HasSubstr("DataLoss"));
}

}  // namespace
}  // namespace lanescope::study
