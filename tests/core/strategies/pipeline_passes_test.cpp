// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/pipeline_passes.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/paths.h"

namespace lanescope {
namespace {

// "1F0": the model's part 1 takes micro-batch 0 forward.
std::string InWordsOfPyTorch(const PipelineOrder& order, int stage) {
  constexpr const char* kKinds[] = {"F", "B", "I", "W"};
  std::string text;
  for (const PipelinePass& pass : PassesOf(order, stage)) {
    if (!text.empty()) text += ' ';
    text += std::to_string(pass.part * order.stages + stage) + kKinds[static_cast<size_t>(pass.kind)] +
            std::to_string(pass.micro_batch);
  }
  return text;
}

// Law: passes are in the order of torch.distributed.pipelining's ScheduleInterleaved1F1B and
// ScheduleInterleavedZeroBubble (recorded from PyTorch 2.15 by tests/python/torch_pipeline_test.py).
TEST(PipelinePassesTest, OrdersAreThoseOfPyTorch) {
  std::ifstream file(test::SourceDir() + "/tests/golden/pipeline_orders.txt");
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    std::istringstream words(line);
    std::string name, rest;
    PipelineOrder order;
    int stage = 0;
    words >> name >> order.stages >> order.parts >> order.micro_batches >> stage;
    std::getline(words >> std::ws, rest);
    order.schedule =
        name == "Interleaved1F1B" ? PipelineSchedule::kInterleaved : PipelineSchedule::kZeroBubble;
    ASSERT_TRUE(MakesRounds(order)) << line;
    EXPECT_EQ(InWordsOfPyTorch(order, stage), rest) << line;
  }
  EXPECT_GT(lines, 100);
}

// Law: of 10 micro-batches over 4 stages there are two rounds of 5; 9 make no two equal ones.
TEST(PipelinePassesTest, RoundsAreEqual) {
  const auto makes = [](PipelineSchedule schedule, int micro) {
    return MakesRounds({schedule, 4, 2, micro});
  };
  EXPECT_TRUE(makes(PipelineSchedule::kInterleaved, 10));
  EXPECT_FALSE(makes(PipelineSchedule::kInterleaved, 9));
  EXPECT_FALSE(makes(PipelineSchedule::kZeroBubble, 9));
  EXPECT_TRUE(makes(PipelineSchedule::k1F1B, 9));
  EXPECT_TRUE(makes(PipelineSchedule::kInterleaved, 3));
}

// Law: a stage of 1F1B holds as many micro-batches as there are stages from it on; ZB-H1 holds no more than
// the first stage of 1F1B (Qi et al., 2023, section 2.3); a part of an interleaved stage, a round and what is
// under way.
TEST(PipelinePassesTest, MicroBatchesUnderWay) {
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(PassesAhead({PipelineSchedule::k1F1B, 4, 1, 8}, stage, 0), 4 - stage);
    EXPECT_EQ(PassesAhead({PipelineSchedule::kGPipe, 4, 1, 8}, stage, 0), 8);
    EXPECT_LE(PassesAhead({PipelineSchedule::kZeroBubble, 4, 1, 8}, stage, 0), 4);
    EXPECT_LE(PassesAhead({PipelineSchedule::kInterleaved, 4, 2, 8}, stage, 0), 8);
  }
}

}  // namespace
}  // namespace lanescope
